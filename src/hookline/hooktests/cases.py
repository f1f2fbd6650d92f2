"""Finds test files and reads them: one test, a list, or an object whose ``tests`` share its other
fields. A mistake in a file is reported with its place, and the other tests still run."""

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from hookline._support.files import open_regular
from hookline._support.nearest import name_hint
from hookline._support.problem import Problem
from hookline.dialects import find_named_event, read_named_event
from hookline.errors import HooklineError, UnknownEventError
from hookline.hooktests.comparison import Failure, find_bad_word
from hookline.settings.jsonc import MAX_BYTES, Document, JsoncError, Path, parse, text_of
from hookline.settings.reader import Origin
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.results import HookExecutionResult

SUFFIX = ".hooktest.json"
# Folders that are not searched: dependencies, caches, and the data of version control.
PASSED_BY = frozenset(
    {
        *(".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", "site-packages"),
        *(".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)

MOST_FOLDERS = 100_000

Status: TypeAlias = Literal["passed", "failed", "skipped"]


class HookTestError(HooklineError):
    """Tests cannot be found, run or recorded; the message says what to do."""


class HookTest(msgspec.Struct, frozen=True, kw_only=True):
    """One event, where it happens, and what is expected of the hooks.

    ``worded`` is the test's name of the event, ours if left out; the input is in the same words.
    ``hooks`` names the only hooks that take part, None for all. ``files`` is the content of the
    scratch directory that the hooks run in. A variable of ``env`` that is None is removed.
    ``claude`` is True if Claude Code's settings are read, None if the caller decides.
    """

    name: str
    file: str
    line: int
    event: EventName
    input: Mapping[str, Any]
    expect: Mapping[str, Any]
    worded: str = ""
    claude: bool | None = None
    hooks: tuple[str, ...] | None = None
    env: Mapping[str, str | None] = {}
    files: Mapping[str, str] | None = None
    skip: str | None = None

    @property
    def event_name(self) -> str:
        """The test's name of its event."""
        return self.worded or self.event.value

    @property
    def code(self) -> str:
        """How the test could make hooks run code that nobody has reviewed; empty if it cannot."""
        return "it brings files" if self.files else "it sets variables" if self.env else ""


class HookTestFile(msgspec.Struct, frozen=True):
    """The tests of one file, and its problems."""

    path: str
    tests: tuple[HookTest, ...] = ()
    problems: tuple[Problem, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a test; ``document`` is that of ``hookline fire --json``, None if nothing was
    fired, ``results`` are those of the hooks, and ``duration`` is in milliseconds. ``untrusted`` if
    the hooks are not trusted."""

    test: HookTest
    status: Status
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    document: Mapping[str, Any] | None = None
    results: tuple[HookExecutionResult, ...] = ()
    duration: float = 0.0
    untrusted: bool = False


def find_test_files(*places: str) -> list[str]:
    """Find every test file in the places, each once: files as they are, directories recursively;
    raises HookTestError for a place that does not exist or has too many directories."""
    files: dict[str, str] = {}
    left = MOST_FOLDERS
    for place in places:
        if not os.path.exists(place):
            raise HookTestError(f"there is no file or directory {place}; name one that exists")
        if not os.path.isdir(place):
            files.setdefault(os.path.realpath(place), place)
        for here, folders, names in os.walk(place):
            left -= 1
            if left < 0:
                raise HookTestError(
                    f"{place} has more than {MOST_FOLDERS:,} directories; "
                    "name the one that the tests are in"
                )
            folders[:] = sorted(name for name in folders if name not in PASSED_BY)
            for name in sorted(names):
                if name.endswith(SUFFIX):
                    file = os.path.normpath(os.path.join(here, name))
                    files.setdefault(os.path.realpath(file), file)
    return list(files.values())


# Each field's type, in words and as a type.
_FIELDS: dict[str, tuple[str, Any]] = {
    "name": ("a string", str),
    "event": ("a string", str),
    "input": ("an object", dict),
    "tool": ("a string", str),
    "tool_input": ("an object", dict),
    "llm_request": ("an object", dict),
    "llm_response": ("an object", dict),
    "session_id": ("a string", str),
    "claude": ("true or false", bool),
    "hooks": ("a list of hook names", Annotated[list[str], msgspec.Meta(min_length=1)]),
    "env": ("an object of strings, or null for a variable to take away", dict[str, str | None]),
    "files": ("an object of file contents", dict[str, str]),
    "skip": ("a string that says why", str),
    "expect": ("an object", dict),
    "$schema": ("a string", str),
}
FIELD_TYPES: dict[str, Any] = {name: kind for name, (_, kind) in _FIELDS.items()}
# The fields that an object with ``tests`` may share; those in _MERGED are merged key by key.
_SHARED = tuple(name for name in _FIELDS if name not in ("name", "expect"))
_MERGED = ("input", "env", "files")
# A short name -> the field of the input that it stands for.
SHORT_FIELDS = {
    "tool": "tool_name",
    "tool_input": "tool_input",
    "llm_request": "llm_request",
    "llm_response": "llm_response",
    "session_id": "session_id",
}
# Those of them that only some events have, and which events.
_SHORT_FOR = {
    "tool": "BeforeTool and AfterTool",
    "llm_request": "BeforeModel, AfterModel and BeforeToolSelection",
    "llm_response": "AfterModel",
}


class _Wrong(Exception):
    """A mistake in a test, and the path of the wrong value."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(problem)


def read_test_file(path: str) -> HookTestFile:
    """Read the tests of a file; never raises, whatever the file holds."""
    try:
        with open_regular(path) as file:
            document = parse(text_of(file.read(MAX_BYTES + 1)))
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        return HookTestFile(path, (), (Problem(kind="unreadable", message=message, file=path),))
    except JsoncError as error:
        return HookTestFile(path, (), (error.problem_of(path),))
    value: Any = document.value
    if isinstance(value, dict):
        # It is for editors, not for the tests.
        value = {name: part for name, part in value.items() if name != "$schema"}
    shared: dict[str, Any] = {}
    tests: dict[str, HookTest] = {}
    wrongs: list[_Wrong] = []
    listed: list[tuple[Path, Any]] = []
    try:
        if isinstance(value, dict) and "tests" in value:
            shared = {name: fields for name, fields in value.items() if name != "tests"}
            _check_fields((), shared, _SHARED, "at the top of a file")
            if not isinstance(value["tests"], list):
                raise _Wrong(("tests",), "tests must be a list of tests")
            listed = [(("tests", index), fields) for index, fields in enumerate(value["tests"])]
        elif isinstance(value, list):
            listed = [((index,), fields) for index, fields in enumerate(value)]
        elif isinstance(value, dict):
            listed = [((), value)]
        else:
            raise _Wrong((), "the file must hold a test, {…}, or a list of tests")
    except _Wrong as wrong:
        wrongs.append(wrong)
    for at, fields in listed:
        try:
            test = _read_test(path, document, at, fields, shared)
            if test.name in tests:
                raise _Wrong((*at, "name"), f"another test is named {test.name!r}; rename one")
            tests[test.name] = test
        except _Wrong as wrong:
            wrongs.append(wrong)
    origin = Origin(path, document)
    problems = (origin.problem(wrong.path, "bad-test", wrong.problem) for wrong in wrongs)
    return HookTestFile(path, tuple(tests.values()), tuple(problems))


def brings_code(path: str) -> bool:
    """True if a test of the file has files or variables, so that it needs a review."""
    return any(test.code for test in read_test_file(path).tests)


def _check_fields(
    at: Path, fields: Mapping[str, Any], allowed: tuple[str, ...], where: str
) -> None:
    for name, value in fields.items():
        if name not in allowed:
            raise _Wrong(
                (*at, name), f"{name!r} has no meaning {where}; {name_hint(name, allowed)}"
            )
        words, kind = _FIELDS[name]
        try:
            msgspec.convert(value, kind)
        except msgspec.ValidationError:
            raise _Wrong((*at, name), f"{name} must be {words}") from None


def _read_test(
    path: str, document: Document, at: Path, fields: Any, shared: Mapping[str, Any]
) -> HookTest:
    if not isinstance(fields, dict):
        raise _Wrong(at, "a test must be an object, {…}")
    _check_fields(at, fields, tuple(_FIELDS), "in a test")
    both = [name for name in _MERGED if name in shared and name in fields]
    merged = {name: {**shared[name], **fields[name]} for name in both}
    fields = {**shared, **fields, **merged}
    events = f"there are {', '.join(HookEventName)}, and Claude Code's (PreToolUse, …)"
    if "event" not in fields:
        raise _Wrong(at, f"event is missing; {events}")
    try:
        event = find_named_event(fields["event"])
    except UnknownEventError as error:
        hint = "" if error.nearest else f"; {events}"
        raise _Wrong((*at, "event"), f"{error}{hint}") from None
    for name, events in _SHORT_FOR.items():
        if name in fields and SHORT_FIELDS[name] not in EVENTS[event].required:
            raise _Wrong((*at, name), f"{name} is for {events}, not for {fields['event']}")
    short = {field: fields[name] for name, field in SHORT_FIELDS.items() if name in fields}
    payload = {**fields.get("input", {}), **short}
    try:
        read_named_event(fields["event"], payload, sdk_objects=False)
    except HooklineError as error:
        raise _Wrong((*at, "input"), str(error)) from None
    if "expect" not in fields:
        raise _Wrong(at, 'expect is missing: say what the hooks should do, as {"decision": "deny"}')
    bad = find_bad_word(event, fields["expect"])
    if bad is not None:
        raise _Wrong((*at, "expect", bad[0]), bad[1])
    for name in fields.get("files", ()):
        steps = name.replace(os.sep, "/").split("/")
        if os.path.isabs(name) or ".." in steps or "\0" in name or not name.strip("/."):
            raise _Wrong((*at, "files", name), f"{name!r} must be a path inside the directory")
    unnamed = f"test {int(at[-1]) + 1}" if at else os.path.basename(path).removesuffix(SUFFIX)
    return HookTest(
        name=fields.get("name") or unnamed,
        file=path,
        line=document.place(at)[0],
        event=event,
        input=payload,
        expect=fields["expect"],
        worded=fields["event"],
        claude=fields.get("claude"),
        hooks=tuple(fields["hooks"]) if "hooks" in fields else None,
        env=fields.get("env", {}),
        files=fields.get("files"),
        skip=fields.get("skip"),
    )
