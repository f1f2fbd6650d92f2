"""Reads test files: one test, a list of them, or an object whose ``tests`` share what it says.

What is wrong gets its place in the file, and the tests beside it still run.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from hookline.errors import InvalidPayloadError, UnknownEventError
from hookline.hooktests.cases import SUFFIX, HookTest, HookTestFile
from hookline.hooktests.expectations import problem_of
from hookline.nearest import name_hint
from hookline.pipeline.definitions import Origin
from hookline.pipeline.jsonc import Document, JsoncError, Path, parse
from hookline.problem import Problem
from hookline.wire.events import EVENTS, HookEventName, narrow_event
from hookline.wire.validators import find_problem

# What a field must be, in words and as a test.
_Kind: TypeAlias = tuple[str, Callable[[Any], bool]]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_names(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_variables(value: object) -> bool:
    return isinstance(value, dict) and all(v is None or _is_text(v) for v in value.values())


def _is_files(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


_TEXT: _Kind = ("a string", _is_text)
_OBJECT: _Kind = ("an object", lambda value: isinstance(value, dict))
_FIELDS: dict[str, _Kind] = {
    "name": _TEXT,
    "event": _TEXT,
    "input": _OBJECT,
    "tool": _TEXT,
    "tool_input": _OBJECT,
    "session_id": _TEXT,
    "hooks": ("a list of hook names", _is_names),
    "env": ("an object of strings, or null for a variable to take away", _is_variables),
    "files": ("an object of file contents", _is_files),
    "skip": ("a string that says why", _is_text),
    "expect": _OBJECT,
}
# What an object with ``tests`` may say for all of them; those merged are merged key by key.
_SHARED = tuple(name for name in _FIELDS if name not in ("name", "expect"))
_MERGED = ("input", "env", "files")


class _Wrong(Exception):
    """A test that cannot run, and the path of the value that keeps it from it."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(problem)


def read_test_file(path: str) -> HookTestFile:
    """The tests of a file; never raises for what is in it, or for a file that cannot be read."""
    try:
        with open(path, "rb") as file:
            document = parse(file.read().decode("utf-8-sig"))
    except OSError as error:
        message = f"cannot be read: {error.strerror or error}"
        problem = Problem(kind="unreadable", message=message, file=path)
    except UnicodeDecodeError as error:
        message = f"is not UTF-8 at byte {error.start}"
        problem = Problem(kind="unreadable", message=message, file=path)
    except JsoncError as error:
        problem = error.problem_of(path)
    else:
        return _Reader(path, document).read()
    return HookTestFile(path, (), (problem,))


class _Reader:
    def __init__(self, path: str, document: Document) -> None:
        self._path = path
        self._document = document
        self._problems: list[Problem] = []

    def read(self) -> HookTestFile:
        tests: list[HookTest] = []
        names: set[str] = set()
        try:
            for at, fields, shared in self._entries():
                test = self._guarded(at, fields, shared)
                if test is not None and test.name in names:
                    self._report((*at, "name"), f"another test is named {test.name!r} already")
                elif test is not None:
                    names.add(test.name)
                    tests.append(test)
        except _Wrong as wrong:
            self._report(wrong.path, wrong.problem)
        return HookTestFile(self._path, tuple(tests), tuple(self._problems))

    def _entries(self) -> Iterator[tuple[Path, Any, Mapping[str, Any]]]:
        """Where each test is, its fields, and those it shares with others."""
        value = self._document.value
        if isinstance(value, list):
            yield from (((index,), fields, {}) for index, fields in enumerate(value))
        elif not isinstance(value, dict):
            raise _Wrong((), "must hold a test, {…}, or a list of tests")
        elif "tests" not in value:
            yield (), value, {}
        else:
            shared = {name: fields for name, fields in value.items() if name != "tests"}
            _check_fields((), shared, _SHARED, "at the top of a file")
            if not isinstance(value["tests"], list):
                raise _Wrong(("tests",), "tests must be a list of tests")
            for index, fields in enumerate(value["tests"]):
                yield ("tests", index), fields, shared

    def _guarded(self, at: Path, fields: Any, shared: Mapping[str, Any]) -> HookTest | None:
        try:
            if not isinstance(fields, dict):
                raise _Wrong(at, "a test must be an object, {…}")
            _check_fields(at, fields, tuple(_FIELDS), "in a test")
            return self._test(at, {**shared, **fields, **_merged(shared, fields)})
        except _Wrong as wrong:
            self._report(wrong.path, wrong.problem)
            return None

    def _test(self, at: Path, fields: Mapping[str, Any]) -> HookTest:
        event = _event(at, fields)
        hooks = fields.get("hooks")
        return HookTest(
            name=fields.get("name") or self._unnamed(at),
            file=self._path,
            line=self._document.place(at)[0],
            event=event,
            input=_input(at, event, fields),
            expect=_expect(at, event, fields),
            hooks=None if hooks is None else tuple(hooks),
            env=fields.get("env", {}),
            files=_files(at, fields),
            skip=fields.get("skip"),
        )

    def _unnamed(self, at: Path) -> str:
        if not at:
            return os.path.basename(self._path).removesuffix(SUFFIX)
        return f"test {int(at[-1]) + 1}"

    def _report(self, path: Path, problem: str) -> None:
        origin = Origin(self._path, self._document)
        self._problems.append(origin.problem(path, "bad-test", problem))


def _check_fields(at: Path, fields: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for name, value in fields.items():
        if name not in known:
            raise _Wrong((*at, name), f"{name!r} has no meaning {where}; {name_hint(name, known)}")
        words, is_kind = _FIELDS[name]
        if not is_kind(value):
            raise _Wrong((*at, name), f"{name} must be {words}")


def _merged(shared: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    both = [name for name in _MERGED if name in shared and name in fields]
    return {name: {**shared[name], **fields[name]} for name in both}


def _event(at: Path, fields: Mapping[str, Any]) -> HookEventName:
    if "event" not in fields:
        raise _Wrong(at, f"event is missing; there are {', '.join(HookEventName)}")
    try:
        return narrow_event(fields["event"])
    except UnknownEventError as error:
        hint = "" if error.nearest else f"; there are {', '.join(HookEventName)}"
        raise _Wrong((*at, "event"), f"{error}{hint}") from None


def _input(at: Path, event: HookEventName, fields: Mapping[str, Any]) -> dict[str, Any]:
    names = {"tool": "tool_name", "tool_input": "tool_input", "session_id": "session_id"}
    short = {names[name]: fields[name] for name in names if name in fields}
    if "tool_name" not in EVENTS[event].required and "tool" in fields:
        raise _Wrong((*at, "tool"), f"tool is for BeforeTool and AfterTool, not for {event.value}")
    payload = {**fields.get("input", {}), **short}
    problem = find_problem(event, payload)
    if problem is not None:
        raise _Wrong((*at, "input"), str(InvalidPayloadError(event.value, problem)))
    return payload


def _expect(at: Path, event: HookEventName, fields: Mapping[str, Any]) -> dict[str, Any]:
    if "expect" not in fields:
        raise _Wrong(at, 'expect is missing: say what the hooks should do, as {"decision": "deny"}')
    expect: dict[str, Any] = fields["expect"]
    wrong = problem_of(event, expect)
    if wrong is not None:
        name, problem = wrong
        raise _Wrong((*at, "expect", name), problem)
    return expect


def _files(at: Path, fields: Mapping[str, Any]) -> Mapping[str, str] | None:
    files: Mapping[str, str] | None = fields.get("files")
    for name in files or ():
        steps = name.replace(os.sep, "/").split("/")
        if os.path.isabs(name) or ".." in steps or "\0" in name or not name.strip("/."):
            raise _Wrong((*at, "files", name), f"{name!r} must be a path inside the directory")
    return files
