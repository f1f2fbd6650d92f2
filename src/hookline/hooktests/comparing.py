"""Compares what is expected with what there is, and says where the two differ.

An object is expected in part; null is a value that is not there. Where a text, a number or a list
is found, an expected object holds tests of it (``{"contains": "key"}``): so a word such as
``contains`` never means two things. ``exact`` takes all of this back: then values are just equal.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET

from hookline.wire import codec

NOTHING = "(nothing)"

_Test: TypeAlias = Callable[[Any, Any], bool]


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as expected: two values that differ, or a sentence.

    UNSET is a value that is not there.
    """

    at: str | msgspec.UnsetType = UNSET
    expected: Any = UNSET
    actual: Any = UNSET
    message: str | msgspec.UnsetType = UNSET


class _BadTest(ValueError):
    """A test inside another that makes no sense."""


def differences(expected: Any, actual: Any, *, at: str, exact: bool = False) -> Iterator[Failure]:
    """What of the expected is not so; ``at`` is the path of the values."""
    is_test = isinstance(expected, Mapping) and not exact
    if is_test and isinstance(actual, Mapping):
        # Tests that mean something for objects too stand alone.
        is_test = len(expected) == 1 and next(iter(expected)) in ("equals", "not")
    if is_test and (unknown := [word for word in expected if word not in TESTS]):
        message: Any = UNSET
        if actual is not UNSET and actual is not None:
            message = f"{unknown[0]!r} is no test of a value; there are {', '.join(TESTS)}"
        yield Failure(at=at, expected=expected, actual=actual, message=message)
    elif is_test:
        for word, wanted in expected.items():
            message = UNSET
            try:
                if TESTS[word](wanted, actual):
                    continue
            except _BadTest as error:
                message = str(error)
            except (re.error, TypeError) as error:
                message = f"{wanted!r} is not a regular expression: {error}"
            yield Failure(at=at, expected={word: wanted}, actual=actual, message=message)
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key in dict.fromkeys((*expected, *actual)) if exact else expected:
            below = f"{at}.{key}" if at else key
            pair = (expected.get(key, UNSET), actual.get(key, UNSET))
            yield from differences(*pair, at=below, exact=exact)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, at=f"{at}[{index}]", exact=exact)
    else:
        # For JSON true is no 1.
        is_equal = expected == actual and isinstance(expected, bool) is isinstance(actual, bool)
        if not exact and (expected is None or actual is None or actual is UNSET):
            is_equal = expected is None and (actual is None or actual is UNSET)
        elif not exact and isinstance(expected, str) and isinstance(actual, str):
            # What a script prints ends with a newline that nobody means.
            is_equal = expected in (actual, actual.rstrip("\n"))
        if not is_equal:
            yield Failure(at=at, expected=expected, actual=actual)


def _agrees(expected: Any, actual: Any) -> bool:
    found = list(differences(expected, actual, at=""))
    for failure in found:
        # A test that makes no sense must not count as one that does not hold.
        if isinstance(failure.message, str):
            raise _BadTest(failure.message)
    return not found


def _contains(wanted: Any, actual: Any) -> bool:
    if isinstance(actual, list):
        return any(_agrees(wanted, item) for item in actual)
    words = wanted if isinstance(wanted, list) else [wanted]
    return isinstance(actual, str) and all(isinstance(w, str) and w in actual for w in words)


def _compared(holds: Callable[[float, float], bool]) -> _Test:
    def compare(wanted: Any, actual: Any) -> bool:
        numbers = (int, float)
        is_number = isinstance(actual, numbers) and not isinstance(actual, bool)
        return is_number and isinstance(wanted, numbers) and holds(actual, wanted)

    return compare


TESTS: dict[str, _Test] = {
    "contains": _contains,
    "matches": lambda wanted, actual: isinstance(actual, str) and bool(re.search(wanted, actual)),
    "below": _compared(lambda actual, wanted: actual < wanted),
    "above": _compared(lambda actual, wanted: actual > wanted),
    "equals": lambda wanted, actual: not any(differences(wanted, actual, at="", exact=True)),
    "not": lambda wanted, actual: not _agrees(wanted, actual),
}


def describe_failure(failure: Failure) -> str:
    """The failure in one sentence."""
    if isinstance(failure.message, str):
        where = f"{failure.at}: " if isinstance(failure.at, str) else ""
        return where + failure.message
    expected, actual = (
        lines[0] if len(lines) == 1 else f"{lines[0]} …"
        for lines in (_lines(failure.expected), _lines(failure.actual))
    )
    return f"{failure.at}: expected {expected}, found {actual}"


def failure_lines(failure: Failure) -> Iterator[tuple[str, str]]:
    """Expected and found as a diff: each line with - or +, or a blank where they agree."""
    if failure.at is UNSET:
        return
    wanted, found = failure.expected, failure.actual
    if isinstance(wanted, Mapping) and [*wanted] == ["equals"]:
        wanted = wanted["equals"]
    is_nested = all(isinstance(value, Mapping | list) for value in (wanted, found))
    expected, actual = _lines(wanted, pretty=is_nested), _lines(found, pretty=is_nested)
    if len(expected) == 1 or len(actual) == 1:
        yield from (("-", line) for line in expected)
        yield from (("+", line) for line in actual)
        return
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(None, expected, actual, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            yield from ((" ", line) for line in expected[start:end])
        else:
            yield from (("-", line) for line in expected[start:end])
            yield from (("+", line) for line in actual[other_start:other_end])


def _lines(value: Any, *, pretty: bool = False) -> list[str]:
    if value is UNSET or value is None:
        return [NOTHING]
    if isinstance(value, str):
        return value.split("\n")
    is_test = isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in TESTS
    if is_test and not pretty:
        ((word, wanted),) = value.items()
        return [f"{word} {_compact(wanted)}"]
    if not pretty and len(compact := _compact(value)) <= 60:
        return [compact]
    return msgspec.json.format(codec.encode(value), indent=2).decode().split("\n")


def _compact(value: Any) -> str:
    return msgspec.json.format(codec.encode(value), indent=0).decode()
