"""Finds the answer in what a hook printed: one JSON object, plain text, or an object among noise.

A stray log line must not turn a denial into an allowance, so a mix of text and JSON is searched
for the last object that stands on lines of its own and has a field we know.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from hookline.wire import codec
from hookline.wire.outputs import TOP_LEVEL_FIELDS

# A hostile hook could print megabytes of half-open objects: only so many places are tried, those
# near the end and, for the sake of one long object, those near the beginning.
_LAST_STARTS = 2_000
_FIRST_STARTS = 50
# Characters read for each of the two; about a second's work.
_MAX_CHARACTERS = 24 * 1024 * 1024

# Compiled by the first hook that prints more than its answer.
_OBJECT_STARTS = r"(?m)^[ \t]*(?=\{\s*\")"
_REST_OF_LINE = r"[ \t]*(?:\n|\Z)"


class Said(msgspec.Struct, frozen=True):
    """What was printed: an object, or a text, or nothing that counts."""

    object: dict[str, Any] | None = None
    text: str | None = None
    warnings: tuple[str, ...] = ()


def parse_stdout(stdout: str) -> Said:
    """Read a hook's trimmed stdout; never raises."""
    if not stdout:
        return Said()
    try:
        value = codec.decode(stdout)
    except codec.DecodeError:
        return _among_noise(stdout)
    if isinstance(value, str):
        try:
            value = codec.decode(value)
        except codec.DecodeError:
            return Said(text=stdout)
    if isinstance(value, dict):
        return Said(object=value)
    return Said(
        warnings=(f"the answer is JSON but not an object, so it was ignored: {stdout[:80]}",)
    )


def _among_noise(stdout: str) -> Said:
    found = _last_object(stdout)
    if found is None:
        return Said(text=stdout)
    return Said(
        object=found, warnings=("text around the JSON answer was ignored; print only JSON",)
    )


def _last_object(text: str) -> dict[str, Any] | None:
    text = text.replace("\r", "\n")
    matches = re.finditer(_OBJECT_STARTS, text)
    rest_of_line = re.compile(_REST_OF_LINE)
    first = [match.end() for match in islice(matches, _FIRST_STARTS)]
    last = deque((match.end() for match in matches), maxlen=_LAST_STARTS)
    found: dict[str, Any] | None = None
    found_end = -1
    # Going backwards, an object that reaches beyond the one found contains it.
    for starts in (reversed(last), reversed(first)):
        for value, end in _objects_at(starts, text):
            if end > found_end and _is_answer(value) and rest_of_line.match(text, end):
                found, found_end = value, end
                if text.find("}", end) < 0:
                    return found
    return found


def _objects_at(starts: Iterable[int], text: str) -> Iterator[tuple[dict[str, Any], int]]:
    """The objects that begin there, each with its end, until too much has been read."""
    decoder = codec.lenient_decoder()
    budget = _MAX_CHARACTERS
    for start in starts:
        if budget < 0:
            return
        # The error of a failed attempt counts the lines before it, so there must not be many.
        rest = text[start:]
        budget -= len(rest) // 8
        try:
            value, length = decoder.raw_decode(rest)
        except (ValueError, RecursionError) as error:
            budget -= getattr(error, "pos", len(rest))
        else:
            budget -= length
            yield value, start + length


def _is_answer(value: dict[str, Any]) -> bool:
    return not TOP_LEVEL_FIELDS.keys().isdisjoint(value)
