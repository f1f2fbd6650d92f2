"""A failure in words and in lines that begin with what they are: - expected, + found."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from hookline.hooktests.cases import Failure
from hookline.hooktests.comparing import TESTS
from hookline.wire import codec

NOTHING = "(nothing)"


def told(failure: Failure) -> str:
    """The failure in one sentence."""
    if isinstance(failure.message, str):
        where = f"{failure.at}: " if isinstance(failure.at, str) else ""
        return where + failure.message
    expected, actual = (_lines(value) for value in (failure.expected, failure.actual))
    return f"{failure.at}: expected {_first(expected)}, found {_first(actual)}"


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


def _first(lines: Sequence[str]) -> str:
    return lines[0] if len(lines) == 1 else f"{lines[0]} …"


def _lines(value: Any, *, pretty: bool = False) -> list[str]:
    if value is UNSET or value is None:
        return [NOTHING]
    if isinstance(value, str):
        return value.split("\n")
    is_test = isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in TESTS
    if is_test and not pretty:
        ((word, wanted),) = value.items()
        return [f"{word} {_compact(wanted)}"]
    compact = _compact(value)
    if len(compact) <= 60 and not pretty:
        return [compact]
    return msgspec.json.format(codec.encode(value), indent=2).decode().split("\n")


def _compact(value: Any) -> str:
    return msgspec.json.format(codec.encode(value), indent=0).decode()
