"""A plugin for pytest: a ``hooks`` fixture for hooks that are functions, and ``*.hooktest.json``
files as tests. It is loaded only on request: ``pytest_plugins = ["hookline.testing.plugin"]`` in
the topmost conftest.py, or ``pytest -p hookline.testing.plugin``.

An agent survives a failing hook with a warning, but a test must not ignore it. So every warning
during a test fails it, unless the test expects it.

PYTEST_DONT_REWRITE: a conftest.py may import names of this module before pytest loads it.
"""

import logging
import os
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

try:
    import pytest
except ImportError as error:
    raise ImportError(
        "hookline.testing.plugin is a plugin for pytest, which is not installed: pip install pytest"
    ) from error

from hookline._support.escapes import one_line
from hookline._support.notices import Notice, warn
from hookline._support.problem import Problem
from hookline.contract import Config
from hookline.engine.engine import Engine
from hookline.engine.options import LoadOptions, Options, PathLike, Trusted, takes
from hookline.engine.project import Project
from hookline.hooks import Hooks
from hookline.hooktests.cases import SUFFIX, HookTest, Outcome, read_test_file
from hookline.hooktests.explanation import explain_outcome
from hookline.hooktests.runs import HookTestRunner, project_of
from hookline.pipeline.answer import Answer
from hookline.trace.records import DebugLogger
from hookline.wire.fired import FiredEvent

TRUST_OPTION = "--hookline-trust"
_TRUST = "hookline_trust"
_USER_SETTINGS = "hookline_user_settings"
_FOLDER = ".hookline"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that say which hooks may run, and whose settings count."""
    group = parser.getgroup("hookline")
    group.addoption(
        TRUST_OPTION,
        action="store_true",
        help="run the project's hooks whether they were reviewed (hookline trust) or not",
    )
    parser.addini(_TRUST, f"the same as {TRUST_OPTION}", type="bool", default=False)
    parser.addini(
        _USER_SETTINGS,
        "read the hooks of the user's and the system's settings too",
        type="bool",
        default=False,
    )


class CheckedHooks(Hooks):
    """Hooks for a test: a hook that fails, or any other warning, fails the test unless it expects
    that."""

    _warnings: "_Warnings"

    @classmethod
    def check(cls, engine: Engine, warnings: "_Warnings") -> "CheckedHooks":
        """The hooks of an engine, whose warnings go to ``warnings``."""
        hooks = cls.of(Config.of(engine))
        assert isinstance(hooks, CheckedHooks)
        hooks._warnings = warnings
        return hooks

    @contextmanager
    def expect_failure(self, match: str | None = None) -> Iterator[list[str]]:
        """Expect at least one failure or warning in the block, in whose text the regular
        expression is found; the list has them after the block. Others still fail the test."""
        __tracebackhide__ = True
        before = len(self._warnings.heard)
        expected: list[str] = []
        yield expected
        here = self._warnings.heard[before:]
        expected += [text for text in here if match is None or re.search(match, text)]
        if not expected:
            what = "a hook to fail" if match is None else f"a failure that matches {match!r}"
            found = "\n".join(["and there was only:", *here]) if here else "and there was none"
            pytest.fail(f"expected {what}, {found}")
        self._warnings.heard[before:] = [text for text in here if text not in expected]


class LoadHooks(Protocol):
    """Loads the hooks of the project that a directory is in: that of the test itself if none is
    named. ``trusted`` says whether they may run, None to go by the user's review (``hookline
    trust``) or ``hookline_trust``; ``claude`` has Claude Code's settings read too, and the options
    are those of ``Hooks.load``."""

    @takes(LoadOptions)
    def __call__(self, directory: PathLike | None = None, **options: Any) -> CheckedHooks: ...


class _Warnings(logging.Handler):
    """Keeps the warnings of a test, even if hookline's logger is silenced, and passes them on to
    that logger."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []
        self._is_telling = False

    def tell(self, text: str) -> None:
        """Keep a warning of the hooks under test, and log it."""
        assert self.lock is not None
        with self.lock:
            if not (isinstance(text, Notice) and text.kind == "told-user"):
                self.heard.append(one_line(text))
            self._is_telling = True
            try:
                warn(text)
            finally:
                self._is_telling = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a warning that was logged elsewhere."""
        if not self._is_telling:
            self.heard.append(record.getMessage())

    def take(self) -> str:
        """Remove and return all warnings as the reason why a test fails; "" if there are none."""
        heard, self.heard = self.heard, []
        remedy = "if the test expects this, wrap it: with hooks.expect_failure():"
        return "\n".join([*heard, remedy]) if heard else ""


_WARNINGS = pytest.StashKey[_Warnings]()


@pytest.fixture
def _hook_warnings(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[_Warnings]:
    # HOOKLINE_STRICT in the user's environment must not change the test.
    monkeypatch.delenv("HOOKLINE_STRICT", raising=False)
    warnings = request.node.stash[_WARNINGS] = _Warnings()
    logger = logging.getLogger("hookline")
    logger.addHandler(warnings)
    yield warnings
    logger.removeHandler(warnings)
    if late := warnings.take():
        pytest.fail(late, pytrace=False)


@pytest.fixture
def hooks(_hook_warnings: _Warnings) -> Iterator[CheckedHooks]:
    """Fresh hooks that read no settings: register functions on them (``hooks.on("BeforeTool")
    (guard)``), ask ``hooks.sync.before_tool(…)`` or ``await hooks.before_tool(…)``."""
    options = Options(debug_logger=DebugLogger(warn=_hook_warnings.tell))
    hooks = CheckedHooks.check(Engine(Project(options)), _hook_warnings)
    yield hooks
    hooks.close()


@pytest.fixture
def load_hooks(request: pytest.FixtureRequest, _hook_warnings: _Warnings) -> Iterator[LoadHooks]:
    """Loads the hooks of a project by its settings: ``load_hooks()``, ``load_hooks("app")``."""
    loaded: list[Hooks] = []

    def load(
        directory: PathLike | None = None,
        *,
        trusted: Trusted | None = None,
        claude: bool | None = None,
        **options: Any,
    ) -> CheckedHooks:
        here = os.path.abspath(directory or request.path.parent)
        options.setdefault("debug_logger", DebugLogger(warn=_hook_warnings.tell))
        loading = LoadOptions(
            here,
            project_dir=project_of(here, claude=claude),
            trusted=_trusts(request.config) if trusted is None else trusted,
            claude=claude,
            **options,
        )
        project = Project(loading, alone=not _reads_user_settings(request.config))
        hooks = CheckedHooks.check(Engine(project), _hook_warnings)
        loaded.append(hooks)
        return hooks

    yield load
    for hooks in loaded:
        hooks.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that passed although hooks failed; if a test failed, show what hooks failed."""
    try:
        result = yield
    except BaseException:
        if (warnings := item.stash.get(_WARNINGS, None)) and (text := warnings.take()):
            item.add_report_section("call", "hookline", text)
        raise
    if (warnings := item.stash.get(_WARNINGS, None)) and (text := warnings.take()):
        pytest.fail(text, pytrace=False)
    return result


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect from .hookline, where tests are recorded, although pytest skips hidden folders. Only
    hook tests are collected there, unless a file is named: a hook may be called test_edits.py."""
    above = (collection_path, *collection_path.parents)
    folder = next((path for path in above if path.name == _FOLDER), None)
    if folder is None or not folder.is_relative_to(config.rootpath):
        return None
    if collection_path.is_dir():
        ignored = [os.path.abspath(path) for path in config.getoption("ignore") or ()]
        is_left_out = str(folder) in ignored or _FOLDER in config.getini("norecursedirs")
        return False if collection_path == folder and not is_left_out else None
    named = (config.invocation_params.dir / arg.partition("::")[0] for arg in config.args)
    if any(path.is_relative_to(folder) for path in named):
        return None
    return None if collection_path.name.endswith(SUFFIX) else True


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "HookTestModule | None":
    """Collect each test of a ``*.hooktest.json`` file."""
    if not file_path.name.endswith(SUFFIX):
        return None
    return HookTestModule.from_parent(parent, path=file_path)


class HookSettingsWarning(pytest.PytestWarning):
    """The settings of a project have a problem."""


class HookTestModule(pytest.File):
    """A file of hook tests."""

    def collect(self) -> Iterable["HookTestItem"]:
        """Its tests; raises CollectError with the place of every problem."""
        file = read_test_file(str(self.path))
        if file.problems:
            raise self.CollectError("\n".join(map(self._describe_problem, file.problems)))
        for test in file.tests:
            yield HookTestItem.from_parent(self, name=one_line(test.name), test=test)

    def _describe_problem(self, problem: Problem) -> str:
        name = os.path.relpath(self.path, self.config.invocation_params.dir)
        return one_line(str(msgspec.structs.replace(problem, file=name)))


class HookTestItem(pytest.Item):
    """One hook test."""

    def __init__(self, *, test: HookTest, **options: Any) -> None:
        super().__init__(**options)
        self.test = test
        if test.skip is not None:
            self.add_marker(pytest.mark.skip(reason=one_line(test.skip)))

    def runtest(self) -> None:
        """Run it; raises HookTestFailed."""
        runner = _find_runner(self.config)
        known = len(runner.problems)
        outcome = runner.run(self.test)
        for problem in runner.problems[known:]:
            self.warn(HookSettingsWarning(one_line(str(problem))))
        if outcome.status == "failed":
            raise HookTestFailed(outcome)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text that ``hookline test`` shows."""
        # With -W error the warning is raised.
        if isinstance(excinfo.value, HookTestFailed | HookSettingsWarning):
            place = os.path.relpath(self.path, self.config.invocation_params.dir)
            return f"{excinfo.value}\n\n{one_line(place)}:{self.test.line}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file and line of the test."""
        return self.path, self.test.line - 1, self.name


class HookTestFailed(Exception):
    """A hook test failed; the text says how."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        lines: list[str] = []
        for line in explain_outcome(outcome, say_time=lambda took: f"{took:.0f} ms"):
            indent = "  " if line.is_quoted else ""
            for number, text in enumerate(line.text.split("\n")):
                # Further lines of a text must not look like lines of this report.
                lines.append(f"{indent}{'    ' if number else ''}{one_line(text)}")
        if outcome.untrusted:
            remedy = f"pass {TRUST_OPTION}, or set {_TRUST} = true in pytest's settings"
            lines.append(f"review the project's hooks with `hookline trust`, or {remedy}")
        super().__init__("\n".join(lines))


_RUNNER = pytest.StashKey[HookTestRunner]()


def _find_runner(config: pytest.Config) -> HookTestRunner:
    if _RUNNER not in config.stash:
        config.stash[_RUNNER] = HookTestRunner(
            _fire,
            trusted=_trusts(config),
            alone=not _reads_user_settings(config),
            trust_option=TRUST_OPTION,
        )
    return config.stash[_RUNNER]


def _trusts(config: pytest.Config) -> bool | None:
    """True if all hooks of a project may run, None if the user's review decides."""
    return True if config.getoption(TRUST_OPTION) or config.getini(_TRUST) else None


def _reads_user_settings(config: pytest.Config) -> bool:
    return bool(config.getini(_USER_SETTINGS))


def _fire(engine: Engine, fired: FiredEvent) -> Answer:
    """Fire an event to its end, async hooks included."""
    try:
        answer = engine.execute_blocking(fired)
        engine.wait_for_background()
        return answer
    finally:
        engine.dispose()
