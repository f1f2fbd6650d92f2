"""Runs tests one after the other in this process, each through an engine of its own.

A hook that did not run because it is not trusted, or does not exist, fails the test: an expectation
that is met because nothing happened proves nothing.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import msgspec

from hookline._support.nearest import name_hint
from hookline._support.notices import heard_warnings
from hookline._support.places import home_dir
from hookline._support.problem import Problem
from hookline.dialects import read_named_event
from hookline.dialects.matcher import MatchTimeout
from hookline.engine.engine import Engine
from hookline.engine.options import LoadOptions
from hookline.engine.project import Project
from hookline.errors import HooklineError
from hookline.hooktests.cases import HookTest, Outcome
from hookline.hooktests.comparison import Failure, unmet
from hookline.pipeline.answer import Answer
from hookline.settings.reader import find_project_dir
from hookline.trace.records import DebugLogger
from hookline.wire.fired import FiredEvent
from hookline.wire.results import HookExecutionResult

# Fires an event and returns the answer.
Fire: TypeAlias = Callable[[Engine, FiredEvent], Answer]

_SESSION = "hooktest"


class CannotRun(HooklineError):
    """The hooks of a test cannot run, so the test proves nothing."""


class NotTrusted(CannotRun):
    """The hooks of a test cannot run because nobody has reviewed them."""


class HookTestRunner:
    """Runs tests in the project of each test's file, or in that of ``cwd``.

    ``trusted`` says whether the project's own hooks may run; None looks it up in the trust store,
    and ``trust_option`` is the caller's option for it. With ``alone``, the settings of the user and
    of the system are not read.
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
        """The problems in the settings of the tests so far."""
        return tuple(self._problems.values())

    def run(self, test: HookTest) -> Outcome:
        """Run a test; raises only exceptions that end the command."""
        if test.skip is not None:
            return Outcome(test=test, status="skipped")
        started = time.perf_counter()
        document: dict[str, Any] | None = None
        results: tuple[HookExecutionResult, ...] = ()
        warnings: list[str] = []
        untrusted = False
        try:
            test, answer, document, warnings = self.fire(test)
        except (HooklineError, OSError, ValueError) as error:
            untrusted, message = isinstance(error, NotTrusted), str(error)
            if isinstance(error, OSError) and error.strerror:
                message = f"{error.filename}: {error.strerror}"
            if not isinstance(error, HooklineError):
                message = f"the test cannot be set up: {message}"
            failures: tuple[Failure, ...] = (Failure(message=message),)
        else:
            results = answer.results
            # The warnings about ignored fields are among these already.
            with heard_warnings():
                failures = tuple(unmet(test, answer, document))
        return Outcome(
            test=test,
            status="failed" if failures else "passed",
            failures=failures,
            warnings=tuple(warnings),
            document=document,
            results=results,
            duration=(time.perf_counter() - started) * 1000,
            untrusted=untrusted,
        )

    def fire(self, test: HookTest) -> tuple[HookTest, Answer, dict[str, Any], list[str]]:
        """Fire a test's event; return the test with its places filled in, the answer, its document
        and the warnings. Raises HooklineError or OSError if its hooks cannot run."""
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
            options = LoadOptions(
                cwd,
                project_dir=project,
                settings_files=self._settings_files,
                claude=claude,
                plugins=self._plugins,
                session_id=_SESSION,
                # Tests do not write to the debug log or the trace.
                debug_logger=DebugLogger(),
                trusted=self._trusted,
                copies=True,
            )
            # This process does not get the test's variables: they could change where it looks for
            # the trust store and the user's settings.
            inherited = _read_variables(test.env)
            engine = Engine(Project(options, alone=self._is_alone, inherited=inherited))
            tools = engine.project.get_settings().tools
            fired = read_named_event(test.event_name, test.input, lambda: tools, sdk_objects=False)
            self._prepare(test, engine, fired)
            with heard_warnings() as warnings:
                answer = self._fire(engine, fired)
                document = answer.document(test.event.value, engine.get_translator())
            return test, answer, document, warnings

    def _prepare(self, test: HookTest, engine: Engine, fired: FiredEvent) -> None:
        """Load the hooks that the test is about; raises CannotRun."""
        project = engine.project
        settings = project.get_settings()
        for problem in settings.problems:
            if problem.kind != "untrusted":
                self._problems[str(problem)] = problem
        if test.code and not project.trusts_test(test.file):
            # Setting PATH would be enough to make the user's own hooks run anything.
            raise NotTrusted(
                f"{test.code} that nobody has reviewed, so it did not run; "
                f"`hookline trust` reviews it, {self._trust_option} runs it"
            )
        if project.is_off():
            raise CannotRun(
                "hooks are disabled in the user's or the system's settings; enable them there"
            )
        with heard_warnings():
            engine.load()
        entries = engine.registry.get_all_hooks()
        for name in test.hooks or ():
            namesakes = [entry for entry in entries if entry.name == name]
            if not namesakes:
                all_names = tuple(dict.fromkeys(entry.name for entry in entries))
                hint = f"; {name_hint(name, all_names)}" if all_names else ""
                raise CannotRun(f"no hook is named {name!r}{hint}")
            if not any(entry.enabled for entry in namesakes):
                raise CannotRun(f"{name!r} is disabled, so it did not run; enable it")
        chosen = [e for e in entries if test.hooks is None or e.name in test.hooks]
        held_back: list[str] = []
        for entry in chosen:
            # Two of Claude Code's events may be one event of ours.
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
        engine.registry.load(chosen)


def project_of(directory: str, *, claude: bool | None = None) -> str:
    """Return the project that a directory belongs to."""
    return find_project_dir(directory, home_dir(), foreign=claude or False)


@contextmanager
def working_dir(files: Mapping[str, str] | None, otherwise: str) -> Iterator[str]:
    """Make a directory with the files, removed afterwards; without files use ``otherwise``."""
    if files is None:
        yield otherwise
        return
    import tempfile

    with tempfile.TemporaryDirectory(
        prefix="hookline-test-", ignore_cleanup_errors=True
    ) as directory:
        # Hooks print the real path of a directory, as a shell knows it.
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


def _read_variables(env: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    """Read a test's variables; raises ValueError for one that no process can have."""
    for name, value in env.items():
        if "\0" in name or "\0" in (value or ""):
            raise ValueError(f"embedded null byte in the variable {name!r}")
        if not name or "=" in name:
            raise ValueError(f"{name!r} cannot be the name of a variable")
        os.fsencode(name + (value or ""))
    return tuple(env.items())


def put_places(value: Any, places: Mapping[str, str]) -> Any:
    """Replace each ``${name}`` of a place in the strings of a JSON value with the place."""
    return replace_texts(value, [(f"${{{name}}}", place) for name, place in places.items()])


def name_places(value: Any, places: Mapping[str, str]) -> Any:
    """Replace each place in the strings of a JSON value with ``${name}``, the longest first."""
    pairs = [(place, f"${{{name}}}") for name, place in places.items()]
    return replace_texts(value, sorted(pairs, key=lambda pair: -len(pair[0])))


def replace_texts(value: Any, pairs: Sequence[tuple[str, str]]) -> Any:
    """Replace the first of each pair with the second, in the strings and keys of a JSON value."""
    if isinstance(value, str):
        for old, new in pairs:
            value = value.replace(old, new)
        return value
    if isinstance(value, Mapping):
        return {replace_texts(k, pairs): replace_texts(v, pairs) for k, v in value.items()}
    return [replace_texts(item, pairs) for item in value] if isinstance(value, list) else value
