"""Finds the answer in what a hook printed: a JSON object, one among noise, or plain text.

A denial must not get lost to a stray log line, a second document or a typing error. So of several
objects the strictest counts, and text that was meant as an answer but cannot be read is a failure,
never a message. A hook may print anything, so the work is bounded.
"""

import re
from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from hookline.wire import codec
from hookline.wire.outputs import TOP_LEVEL_FIELDS
from hookline.wire.results import FailedKind

if TYPE_CHECKING:
    from json import JSONDecoder

# How much an object holds an agent back: 3 if it blocks or stops, 2 if it asks, less if neither.
Strictness: TypeAlias = Callable[[dict[str, Any]], int]
BLOCKS = 3
# What the hook may have meant to hold the agent back with, and what happens instead.
Doubt: TypeAlias = tuple[str, str]

# How many characters may be parsed in vain, and what an attempt and an object cost on top: a few
# seconds' work, which only megabytes of broken JSON reach.
_BUDGET = 24 * 1024 * 1024
_ATTEMPT_COST = 100
_OBJECT_COST = 20
# An attempt parses this much at first: a parser that fails counts the lines of its whole input.
_WINDOW = 4_096

# Compiled by the first hook that prints more than its answer; a carriage return ends a line too.
_LINE_START = r"(?<![^\r\n])[ \t]*"
_OBJECT_START = _LINE_START + r'(?=\{\s*")'
_REST_OF_LINE = r"[ \t]*(?:[\r\n]|\Z)"
_KNOWN_FIELD = rf'"(?:{"|".join(TOP_LEVEL_FIELDS)})"'
_DECIDING_FIELDS = ("decision", "continue", "hookSpecificOutput", "permissionDecision")
# As JSON and Python, Ruby or JavaScript print it.
_ANSWER_FIELD = r"(?:decision|continue|hookSpecificOutput)"
_MEANT_AS_ANSWER = rf"""["']{_ANSWER_FIELD}["']\s*(?::|=>)|[{{,]\s*{_ANSWER_FIELD}\s*:\s*["'{{tf]"""


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How a hook ended and what it answered, as a dialect reads its exit code and output, or its
    return value."""

    success: bool
    output: dict[str, Any] | None = None
    output_format: Literal["json", "text"] | None = None
    failed: FailedKind | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


class Said(msgspec.Struct, frozen=True):
    """What a hook printed: an object, a text, or nothing that counts.

    ``garbled`` says why a text that was meant as an answer cannot be read. A hook that fails closed
    has failed if there are ``doubts``.
    """

    object: dict[str, Any] | None = None
    text: str | None = None
    garbled: str | None = None
    warnings: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def parse_stdout(stdout: str, strictness: Strictness) -> Said:
    """Read a hook's trimmed stdout; never raises."""
    if not stdout:
        return Said()
    said = _read_text(stdout, strictness)
    if isinstance(said, str):
        said = _read_text(said.strip(), strictness)
        if isinstance(said, Said) and said.object is None and said.garbled is None:
            return Said(text=stdout)
    if isinstance(said, Said):
        return said
    problem, outcome = f"the answer is JSON but not an object: {stdout[:80]}", "it was ignored"
    if isinstance(said, list):
        return Said(doubts=((problem, outcome),))
    return Said(warnings=(f"{problem}; {outcome}",))


def may_repeat_field(text: str) -> bool:
    """True if a deciding field may be there twice, perhaps with escaped letters."""
    if "\\u006" in text or "\\u007" in text:
        return True
    return any(text.count(f'"{name}"') > 1 for name in _DECIDING_FIELDS)


def _read_text(text: str, strictness: Strictness) -> object:
    """Return what the text says, or its JSON value if that is not an object."""
    is_json = True
    try:
        value = codec.decode(text)
    except codec.DecodeError:
        is_json = False
    if is_json and not isinstance(value, dict):
        return value
    if is_json and not may_repeat_field(text):
        return Said(object=value)
    repeated: dict[str, Doubt] = {}

    def keep_stricter(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Text that a guard quotes without escaping it must not undo the guard's decision.
        fields = dict(pairs)
        for name in _DECIDING_FIELDS if len(fields) < len(pairs) else ():
            given = [{name: each} for key, each in pairs if key == name]
            if len(given) > 1:
                repeated[name] = (f"{name} is given twice", "the stricter one counts")
                is_top = name in TOP_LEVEL_FIELDS
                answers = [each if is_top else {"hookSpecificOutput": each} for each in given]
                weights = [strictness(answer) for answer in answers]
                _, last = max((weight, index) for index, weight in enumerate(weights))
                fields |= given[last]
        return fields

    decoder = codec.lenient_decoder(strict=False, object_pairs_hook=keep_stricter)
    try:
        value = decoder.decode(text)
    except (ValueError, RecursionError):
        said = _search_text(text, strictness, decoder)
    else:
        if not isinstance(value, dict):
            return value
        raw = "its strings hold raw line breaks or other control characters; print them as \\n"
        said = Said(object=value, warnings=() if is_json else (raw,))
    if said.object is None:
        return said
    return msgspec.structs.replace(said, doubts=(*repeated.values(), *said.doubts))


def _search_text(text: str, strictness: Strictness, decoder: "JSONDecoder") -> Said:
    """Find the strictest answer in a text that is not JSON as a whole."""
    found, found_strictness = None, -1
    budget, read_to, answer_to = _BUDGET, 0, 0
    beside: list[str] = []
    rest_of_line = re.compile(_REST_OF_LINE)
    starts = re.finditer(_OBJECT_START, text) if re.search(_KNOWN_FIELD, text) else iter(())
    for start in (match.end() for match in starts):
        # An object inside an answer is part of it.
        if start < answer_to:
            continue
        value, end, cost = _read_object_at(start, text, decoder)
        # Objects side by side are read once each; reading anything again costs its length.
        budget -= cost if value is None or start < read_to else _OBJECT_COST
        if budget < 0:
            break
        if value is None:
            continue
        if start >= read_to:
            beside.append(text[read_to:start])
        read_to = max(read_to, end)
        if not TOP_LEVEL_FIELDS.keys().isdisjoint(value) and rest_of_line.match(text, end):
            answer_to = end
            weight = strictness(value)
            if weight >= found_strictness:
                found, found_strictness = value, weight
    beside.append(text[read_to:])
    if budget < 0 and found_strictness < BLOCKS:
        return Said(text=text, garbled="holds more broken pieces of JSON than can be read")
    if found is None:
        return Said(text=text, garbled=_why_garbled(text, decoder))
    doubts: tuple[Doubt, ...] = ()
    if found_strictness < BLOCKS and _find_garbled_answer("".join(beside)) is not None:
        problem = "text beside the JSON answer looks like another answer that cannot be read"
        doubts = ((problem, "it was ignored"),)
    around = "text around the JSON answer was ignored; print only JSON"
    return Said(object=found, warnings=(around,), doubts=doubts)


def _read_object_at(
    start: int, text: str, decoder: "JSONDecoder"
) -> tuple[dict[str, Any] | None, int, int]:
    """Read the object at ``start``; return it or None, its end, and what the reading cost."""
    size, cost = _WINDOW, _ATTEMPT_COST
    while True:
        window = text[start : start + size]
        try:
            value, length = decoder.raw_decode(window)
        except RecursionError:
            return None, start, cost + len(window)
        except ValueError as error:
            at: int = getattr(error, "pos", -1)
            # Only strings are longer than 16 characters, of all tokens.
            is_cut = at > size - 16 or str(error).startswith("Unterminated string")
            if not is_cut or start + size >= len(text):
                return None, start, cost + (at if at >= 0 else len(window))
        else:
            return value, start + length, cost + length
        cost += size
        size *= 16


def _why_garbled(text: str, decoder: "JSONDecoder") -> str | None:
    """Say why a text that was meant as an answer cannot be read; None for other text."""
    at = _find_garbled_answer(text)
    if at is None:
        is_wide = "\0" in text and _find_garbled_answer(text.replace("\0", "")) is not None
        return "holds NUL bytes, as UTF-16 does" if is_wide else None
    try:
        decoder.decode(text[at:])
        problem = "has no field of an answer at its top"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError as error:
        problem = f"cannot be read: {getattr(error, 'msg', error)}"
        at += getattr(error, "pos", 0)
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return f"{problem} (line {line}, column {column})"


def _find_garbled_answer(text: str) -> int | None:
    """Find where a line begins that was meant as an answer: one that starts like an object, or
    the last one, where a logger may have put a prefix before the object."""
    first = re.search(_LINE_START + r"\{", text)
    last_line = max(text.rfind("\n"), text.rfind("\r")) + 1
    brace = text.find("{", last_line) if first is None else first.end() - 1
    field = re.compile(_MEANT_AS_ANSWER).search(text, brace) if brace >= 0 else None
    if field is None or first is None:
        return None if field is None else last_line
    starts = (match.start() for match in re.finditer(_LINE_START + r"\{", text))
    return max(takewhile(lambda start: start <= field.start(), starts))
