"""Compares what is expected with what there is, by the kind of value that there is.

An object is expected in part; null is a value that is not there. Where a text, a number or a list
is found, an expected object holds tests of it (``{"contains": "key"}``): so a word such as
``contains`` never means two things.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import UNSET

from hookline.hooktests.cases import Failure

_Test: TypeAlias = Callable[[Any, Any], bool]


class _BadTest(ValueError):
    """A test inside another that makes no sense."""


def differences(expected: Any, actual: Any, *, at: str) -> Iterator[Failure]:
    """What of the expected is not so; ``at`` is the path of the values."""
    if isinstance(expected, Mapping):
        if isinstance(actual, Mapping) and not _is_test_of_any(expected):
            for key, value in expected.items():
                yield from differences(value, actual.get(key, UNSET), at=_below(at, key))
        else:
            yield from _tested(expected, actual, at)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, at=f"{at}[{index}]")
    elif not _holds(expected, actual):
        yield Failure(at=at, expected=expected, actual=actual)


def _below(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _holds(expected: Any, actual: Any) -> bool:
    if expected is None or actual is None or actual is UNSET:
        return expected is None and (actual is None or actual is UNSET)
    if isinstance(expected, str) and isinstance(actual, str):
        # What a script prints ends with a newline that nobody means.
        return expected in (actual, actual.rstrip("\n"))
    return _is_same(expected, actual)


def _is_same(expected: Any, actual: Any) -> bool:
    """Equality of JSON values, for which true is no 1."""
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        if expected.keys() != actual.keys():
            return False
        return all(_is_same(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return False
        return all(map(_is_same, expected, actual))
    if isinstance(expected, bool) is not isinstance(actual, bool):
        return False
    return bool(expected == actual)


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


def _matches(wanted: Any, actual: Any) -> bool:
    return isinstance(actual, str) and re.search(wanted, actual) is not None


def _compared(holds: Callable[[float, float], bool]) -> _Test:
    def compare(wanted: Any, actual: Any) -> bool:
        numbers = (int, float)
        is_number = isinstance(actual, numbers) and not isinstance(actual, bool)
        return is_number and isinstance(wanted, numbers) and holds(actual, wanted)

    return compare


TESTS: dict[str, _Test] = {
    "contains": _contains,
    "matches": _matches,
    "below": _compared(lambda actual, wanted: actual < wanted),
    "above": _compared(lambda actual, wanted: actual > wanted),
    "equals": _is_same,
    "not": lambda wanted, actual: not _agrees(wanted, actual),
}
# Tests that mean something for objects too, standing alone.
_OF_ANY = ("equals", "not")


def _is_test_of_any(expected: Mapping[str, Any]) -> bool:
    return len(expected) == 1 and next(iter(expected)) in _OF_ANY


def _tested(expected: Mapping[str, Any], actual: Any, at: str) -> Iterator[Failure]:
    unknown = [word for word in expected if word not in TESTS]
    if unknown and actual is not UNSET and actual is not None:
        message = f"{unknown[0]!r} is no test of a value; there are {', '.join(TESTS)}"
        yield Failure(at=at, expected=expected, actual=actual, message=message)
    elif unknown:
        yield Failure(at=at, expected=expected, actual=actual)
    else:
        yield from _all_tested(expected, actual, at)


def _all_tested(expected: Mapping[str, Any], actual: Any, at: str) -> Iterator[Failure]:
    for word, wanted in expected.items():
        try:
            holds = TESTS[word](wanted, actual)
        except _BadTest as error:
            yield Failure(at=at, expected={word: wanted}, actual=actual, message=str(error))
        except (re.error, TypeError) as error:
            message = f"{wanted!r} is not a regular expression: {error}"
            yield Failure(at=at, expected={word: wanted}, actual=actual, message=message)
        else:
            if not holds:
                yield Failure(at=at, expected={word: wanted}, actual=actual)
