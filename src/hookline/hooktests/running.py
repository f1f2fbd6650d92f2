"""Runs tests one after the other in this process, each through a hook system of its own.

A hook that did not run because nobody trusts it, or that no longer exists, fails the test: an
expectation that holds because nothing happened is worth nothing.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from hookline.answer import Answer
from hookline.config import Config, PathLike
from hookline.debuglog import DebugLogger
from hookline.errors import HooklineError
from hookline.executor import read_named_event
from hookline.fired import FiredEvent
from hookline.hooktests.cases import HookTest, Outcome
from hookline.hooktests.comparing import Failure, unmet
from hookline.nearest import name_hint
from hookline.notices import heard_warnings
from hookline.pipeline.matcher import MatchTimeout
from hookline.pipeline.runner.context import RunContext
from hookline.pipeline.settings import SettingsReader, find_project_dir
from hookline.places import home_dir
from hookline.problem import Problem
from hookline.system import HookSystem
from hookline.wire.hooks import HookSource

# Fires an event and gives the document of ``hookline fire --json``.
Fire: TypeAlias = Callable[[HookSystem, FiredEvent], Answer]

_SESSION = "hooktest"


class CannotRun(HooklineError):
    """A test that says nothing about its hooks, because they cannot run."""


class NotTrusted(CannotRun):
    """The same because nobody has reviewed them."""


class HookTestRunner:
    """Runs tests in the project each test's file is in, or in that of ``cwd``.

    ``trusted`` says whether the project's own hooks may run; None asks who the user trusts, and
    ``trust_option`` is how the caller's user says it. ``alone`` leaves the settings of the user
    and of the system unread.
    """

    def __init__(
        self,
        fire: Fire,
        *,
        cwd: str | None = None,
        settings_files: Sequence[str] | None = None,
        trusted: bool | None = None,
        claude: bool | None = None,
        plugins: Sequence[str] = (),
        alone: bool = False,
        trust_option: str = "--trust",
    ) -> None:
        self._fire = fire
        self._is_alone = alone
        self._trust_option = trust_option
        self._cwd = None if cwd is None else os.path.abspath(cwd)
        self._settings_files = settings_files
        self._claude = claude
        self._plugins = plugins
        self._trusted = trusted
        self._problems: dict[str, Problem] = {}

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was wrong in the settings of the tests so far."""
        return tuple(self._problems.values())

    def run(self, test: HookTest) -> Outcome:
        """What becomes of a test; raises nothing but what ends the command."""
        if test.skip is not None:
            return Outcome(test=test, status="skipped")
        started = time.perf_counter()
        document: dict[str, Any] | None = None
        heard: list[str] = []
        untrusted = False
        try:
            test, answer, document, heard = self.fire(test)
        except (HooklineError, OSError, ValueError) as error:
            untrusted, message = isinstance(error, NotTrusted), str(error)
            if isinstance(error, OSError) and error.strerror:
                message = f"{error.filename}: {error.strerror}"
            if not isinstance(error, HooklineError):
                message = f"the test cannot be set up: {message}"
            failures: tuple[Failure, ...] = (Failure(message=message),)
        else:
            # What hooks said was ignored is among the warnings already.
            with heard_warnings():
                failures = tuple(unmet(test, answer, document))
        return Outcome(
            test=test,
            status="failed" if failures else "passed",
            failures=failures,
            warnings=tuple(heard),
            document=document,
            duration=(time.perf_counter() - started) * 1000,
            untrusted=untrusted,
        )

    def fire(self, test: HookTest) -> tuple[HookTest, Answer, dict[str, Any], list[str]]:
        """Fire a test's event: the test with its places filled in, the answer and its document,
        and what people were warned of; raises HooklineError or OSError if its hooks cannot run."""
        place = self._cwd or os.path.dirname(os.path.abspath(test.file))
        claude = self._claude if test.claude is None else test.claude
        project = project_of(place, claude=claude)
        with working_dir(test.files, self._cwd or project) as cwd:
            places = {"cwd": cwd, "project": project}
            test = msgspec.structs.replace(
                test,
                input=put_places(test.input, places),
                expect=put_places(test.expect, places),
                env=put_places(test.env, places),
            )
            load = ProjectConfig.load_alone if self._is_alone else ProjectConfig.load
            config = load(
                cwd,
                project_dir=project,
                settings_files=self._settings_files,
                claude=claude,
                plugins=self._plugins,
                session_id=_SESSION,
                # What tests do is no part of what happened.
                debug_logger=DebugLogger(),
                trusted=self._trusted,
            )
            assert isinstance(config, ProjectConfig)
            config.inherited = _read_variables(test.env)
            tools = config.get_settings().tools
            fired = read_named_event(test.event_name, test.input, lambda: tools, sdk_objects=False)
            system = self._prepare(test, config, fired)
            with heard_warnings() as heard:
                answer = self._fire(system, fired)
                document = answer.document(test.event.value, config.get_translator())
            return test, answer, document, heard

    def _prepare(self, test: HookTest, config: Config, fired: FiredEvent) -> HookSystem:
        """A system with the hooks that the test is about; raises CannotRun."""
        settings = config.get_settings()
        for problem in settings.problems:
            if problem.kind != "untrusted":
                self._problems[str(problem)] = problem
        if test.code and not config.trusts_test(test.file):
            # PATH alone would be enough to run anything in the name of the user's own hooks.
            raise NotTrusted(
                f"{test.code} that nobody has reviewed, so it did not run; "
                f"`hookline trust` reviews it, {self._trust_option} runs it"
            )
        system = config.get_hook_system()
        if system is None:
            raise CannotRun("hooks are disabled in the user's or the system's settings")
        with heard_warnings():
            system.initialize_blocking()
        entries = system.get_all_hooks()
        for name in test.hooks or ():
            named = [entry for entry in entries if entry.name == name]
            if not named:
                known = tuple(dict.fromkeys(entry.name for entry in entries))
                hint = f"; {name_hint(name, known)}" if known else ""
                raise CannotRun(f"no hook is named {name!r}{hint}")
            if not any(entry.enabled for entry in named):
                raise CannotRun(f"{name!r} is disabled, so it did not run")
        chosen = [e for e in entries if test.hooks is None or e.name in test.hooks]
        held_back: list[str] = []
        for entry in chosen:
            # Two events of Claude Code's may be one of ours.
            is_named = test.event_name in (test.event, entry.hook.dialect_event)
            is_fired = entry.event is test.event and (is_named or not entry.hook.dialect_event)
            if entry.enabled and not entry.trusted and is_fired:
                try:
                    is_matched = entry.matches(fired.matched)
                except MatchTimeout:
                    is_matched = True
                held_back += [entry.name] if is_matched else []
        if held_back:
            names = ", ".join(dict.fromkeys(held_back))
            are = "is" if len(held_back) == 1 else "are"
            raise NotTrusted(f"{names} {are} not trusted and did not run")
        system.get_registry().load(chosen)
        return system


def project_of(directory: str, *, claude: bool | None = None) -> str:
    """The project that a directory belongs to."""
    return find_project_dir(directory, home_dir(), claude=claude or False)


@contextmanager
def working_dir(files: Mapping[str, str] | None, otherwise: str) -> Iterator[str]:
    """A directory with the files, gone afterwards; without files the one that is there anyway."""
    if files is None:
        yield otherwise
        return
    import tempfile

    with tempfile.TemporaryDirectory(
        prefix="hookline-test-", ignore_cleanup_errors=True
    ) as directory:
        # A shell calls a directory by its real name, and so do paths in what hooks say.
        scratch = os.path.realpath(directory)
        for name, content in files.items():
            path = os.path.join(scratch, name)
            if path.endswith("/"):
                os.makedirs(path, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(content)
            if content.startswith("#!"):
                os.chmod(path, 0o755)
        yield scratch


class ProjectConfig(Config):
    """A configuration whose hooks inherit the variables of a test. This process does not have them:
    they could say where the trust store and the user's settings are."""

    inherited: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def load_alone(
        cls, working_dir: PathLike, *, project_dir: PathLike, **options: Any
    ) -> "Config":
        """The configuration of a project by its own settings, whatever those of the user and of
        the system say; options are those of ``load``."""
        config = cls.load(working_dir, project_dir=project_dir, **options)
        files = (file for file in config.get_sources() if file.source is HookSource.PROJECT)
        config._reader = SettingsReader(files)
        of_claude = (file for file in config._claude_files if file.source is HookSource.PROJECT)
        config._claude_files = tuple(of_claude)
        return config

    def run_context(self, session_id: str) -> RunContext:
        """The rules hooks of one event run under."""
        return msgspec.structs.replace(super().run_context(session_id), inherited=self.inherited)


def _read_variables(env: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    """A test's variables; raises ValueError for one that no process can have."""
    for name, value in env.items():
        if "\0" in name or "\0" in (value or ""):
            raise ValueError(f"embedded null byte in the variable {name!r}")
        if not name or "=" in name:
            raise ValueError(f"{name!r} is no name for a variable")
        os.fsencode(name + (value or ""))
    return tuple(env.items())


def put_places(value: Any, places: Mapping[str, str]) -> Any:
    """A JSON value in whose texts each ``${name}`` of a place is the place."""
    return replace_texts(value, [(f"${{{name}}}", place) for name, place in places.items()])


def name_places(value: Any, places: Mapping[str, str]) -> Any:
    """A JSON value in whose texts each place is ``${name}``; of two that fit the longer counts."""
    pairs = [(place, f"${{{name}}}") for name, place in places.items()]
    return replace_texts(value, sorted(pairs, key=lambda pair: -len(pair[0])))


def replace_texts(value: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """A JSON value with the second of each pair for the first, in its texts and its keys."""
    if isinstance(value, str):
        for old, new in pairs:
            value = value.replace(old, new)
        return value
    if isinstance(value, Mapping):
        return {replace_texts(k, pairs): replace_texts(v, pairs) for k, v in value.items()}
    return [replace_texts(item, pairs) for item in value] if isinstance(value, list) else value
