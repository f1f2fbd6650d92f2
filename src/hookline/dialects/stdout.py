"""Finds the answer in what a hook printed, in one of two ways.

A hook that fails closed prints one JSON object, or text without a brace, or nothing; anything else
is no answer. No heuristic decides there, because a model may have written part of what is printed.
For other hooks a stray log line or a second document must not lose a denial: of several objects the
strictest counts, and text that was meant as an answer but cannot be read is a failure, never a
message. A hook may print anything, so the work is bounded.
"""

import re
from collections.abc import Callable
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
# Ends the error of every answer that is no answer.
REMEDY = "print one JSON object and nothing else, and print progress to stderr"

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
_LAST_OBJECT_START = rf"(?s:.*){_LINE_START}(?=\{{)"
_REST_OF_LINE = r"[ \t]*(?:[\r\n]|\Z)"
_KNOWN_FIELD = rf'"(?:{"|".join(TOP_LEVEL_FIELDS)})"'
_DECIDING_FIELDS = ("decision", "continue", "hookSpecificOutput", "permissionDecision")
_MEANT_AS_ANSWER = r"""(["'])(?:decision|continue|hookSpecificOutput)\1\s*:"""
# White space, byte order marks, and what terminals read as colours, as grep and tput print it too.
_MARGIN = r"(?:[\s\ufeff]|\x1b(?:\[[0-9;:]*[mK]|\(B))+"
_BACKWARD_MARGIN = r"(?:[\s\ufeff]|(?:[mK][0-9;:]*\[|B\()\x1b)+"


class HookAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How a hook ended and what it answered, as a dialect reads its exit code and output, or its
    return value."""

    success: bool
    output: dict[str, Any] | None = None
    output_format: Literal["json", "text"] | None = None
    failed: FailedKind | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()


class StdoutContent(msgspec.Struct, frozen=True):
    """What a hook printed: an object, a text, or nothing that counts. ``garbled`` says why it
    cannot be read as an answer although it may be one."""

    object: dict[str, Any] | None = None
    text: str | None = None
    garbled: str | None = None
    warnings: tuple[str, ...] = ()


def trim(text: str) -> str:
    """Remove white space, byte order marks and the colour codes of terminals from both ends."""
    if "\x1b" not in text:
        return text.strip().strip("\ufeff").strip()
    if (start := re.match(_MARGIN, text)) is not None:
        text = text[start.end() :]
    # Searching for the end from the front would try every blank of a long text.
    end = re.match(_BACKWARD_MARGIN, text[::-1])
    return text if end is None else text[: len(text) - end.end()]


def parse_strictly(stdout: str) -> StdoutContent:
    """Read the trimmed stdout of a hook that fails closed; never raises."""
    if "{" in stdout:
        value = read_whole_object(stdout)
        return (
            StdoutContent(garbled=value) if isinstance(value, str) else StdoutContent(object=value)
        )
    content = parse_stdout(stdout, lambda _: 0)
    # A JSON string may hold an object with its braces escaped.
    if content.object is not None or content.garbled is not None:
        return StdoutContent(garbled="is a JSON string and not an object")
    if content.text is None and "[" in stdout:
        return StdoutContent(garbled="is a JSON array and not an object")
    return content


def read_whole_object(text: str) -> dict[str, Any] | str:
    """Return the object if a text is exactly one and no key stands twice in it or in an object
    within it; else what is wrong. Raw control characters in strings are read."""
    try:
        value = codec.decode(text)
    except codec.DecodeError:
        value = None
    if isinstance(value, dict) and has_every_key(text, value):
        return value
    try:
        value = codec.lenient_decoder(strict=False, object_pairs_hook=refuse_repeats).decode(text)
    except RecursionError:
        return "is nested too deeply"
    except _RepeatedKey as error:
        return str(error)
    except ValueError as error:
        return _describe_fault(text, error)
    return value if isinstance(value, dict) else "is JSON but not an object"


def has_every_key(text: str, value: Any) -> bool:
    """True if it is certain that no key of a JSON text stands twice in one object: a decoder keeps
    one of them, so the text has more quotation marks than the strings of its value explain."""
    if "\\u0022" in text:
        return False
    quotes, values = 0, [value]
    while values:
        each = values.pop()
        if isinstance(each, str):
            quotes += 2 + each.count('"')
        elif isinstance(each, dict):
            values += each
            values += each.values()
        elif isinstance(each, list):
            values += each
    return quotes == text.count('"')


class _RepeatedKey(ValueError):
    """Raised for a key that stands twice in one object."""


def refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of a JSON decoder's pairs; raises ValueError for a key that stands twice."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            raise _RepeatedKey(f"has the key {name!r:.80} twice in one object")
        names.add(name)
    return fields


def _describe_fault(text: str, error: ValueError) -> str:
    """Say why a text with a brace is not one JSON object."""
    if not text.startswith("{"):
        return "is text with a { in it, or an object with text before it"
    at, words = getattr(error, "pos", 0), getattr(error, "msg", error)
    problem = "has text after its object" if words == "Extra data" else f"cannot be read: {words}"
    return f"{problem} ({_name_place(text, at)})"


def parse_stdout(stdout: str, strictness: Strictness) -> StdoutContent:
    """Read the trimmed stdout of a hook that fails open; never raises."""
    if not stdout:
        return StdoutContent()
    content = _read_text(stdout, strictness)
    if isinstance(content, str):
        content = _read_text(content.strip(), strictness)
        if (
            isinstance(content, StdoutContent)
            and content.object is None
            and content.garbled is None
        ):
            return StdoutContent(text=stdout)
    if isinstance(content, StdoutContent):
        return content
    problem = f"the answer is JSON but not an object: {stdout[:80]}; it was ignored"
    return StdoutContent(warnings=(problem,))


def _read_text(text: str, strictness: Strictness) -> object:
    """Return what the text says, or its JSON value if that is not an object."""
    is_json = True
    try:
        value = codec.decode(text)
    except codec.DecodeError:
        is_json = False
    if is_json and not (isinstance(value, dict) and not has_every_key(text, value)):
        return StdoutContent(object=value) if isinstance(value, dict) else value
    repeated: dict[str, str] = {}

    def keep_stricter(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        # Text that a guard quotes without escaping it must not undo the guard's decision.
        fields = dict(pairs)
        for name in _DECIDING_FIELDS if len(fields) < len(pairs) else ():
            repeats = [{name: each} for key, each in pairs if key == name]
            if len(repeats) > 1:
                repeated[name] = f"{name} is given twice; the stricter one counts"
                is_top = name in TOP_LEVEL_FIELDS
                answers = [each if is_top else {"hookSpecificOutput": each} for each in repeats]
                weights = [strictness(answer) for answer in answers]
                _, last = max((weight, index) for index, weight in enumerate(weights))
                fields |= repeats[last]
        return fields

    decoder = codec.lenient_decoder(strict=False, object_pairs_hook=keep_stricter)
    try:
        value = decoder.decode(text)
    except (ValueError, RecursionError):
        content = _search_text(text, strictness, decoder)
    else:
        if not isinstance(value, dict):
            return value
        raw = "its strings hold raw line breaks or other control characters; print them as \\n"
        content = StdoutContent(object=value, warnings=() if is_json else (raw,))
    if content.object is None:
        return content
    return msgspec.structs.replace(content, warnings=(*content.warnings, *repeated.values()))


def _search_text(text: str, strictness: Strictness, decoder: "JSONDecoder") -> StdoutContent:
    """Find the strictest answer in a text that is not JSON as a whole."""
    strictest, highest = None, -1
    budget, read_to, answer_to = _BUDGET, 0, 0
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
        read_to = max(read_to, end)
        if not TOP_LEVEL_FIELDS.keys().isdisjoint(value) and rest_of_line.match(text, end):
            answer_to = end
            weight = strictness(value)
            if weight >= highest:
                strictest, highest = value, weight
    if budget < 0 and highest < BLOCKS:
        return StdoutContent(text=text, garbled="holds more broken pieces of JSON than can be read")
    if strictest is None:
        return StdoutContent(text=text, garbled=_why_garbled(text, decoder))
    return StdoutContent(
        object=strictest, warnings=("text around the JSON answer was ignored; print only JSON",)
    )


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
        return None
    try:
        decoder.decode(text[at:])
        problem = "has no field of an answer at its top"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError as error:
        problem = f"cannot be read: {getattr(error, 'msg', error)}"
        at += getattr(error, "pos", 0)
    return f"{problem} ({_name_place(text, at)})"


def _find_garbled_answer(text: str) -> int | None:
    """Find where a text begins that was meant as an answer: at the last line that starts like an
    object, or at the last line, where a logger may have put a prefix before the object."""
    last_line = max(text.rfind("\n"), text.rfind("\r")) + 1
    start = re.match(_LAST_OBJECT_START, text)
    starts = [start.end()] if start is not None else []
    if "{" in text[last_line:]:
        starts.append(last_line)
    for at in starts:
        if means_answer(text, text.index("{", at)):
            return at
    return None


def means_answer(text: str, start: int = 0) -> bool:
    """True if a deciding field with a colon behind it is in a text, in quotes of either kind."""
    return re.compile(_MEANT_AS_ANSWER).search(text, start) is not None


def _name_place(text: str, at: int) -> str:
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return f"line {line}, column {column}"
