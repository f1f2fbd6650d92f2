"""Finds the answer in what a hook printed: one JSON object, plain text, or an object among noise.

A stray log line must not turn a denial into an allowance, so a mix of text and JSON is searched
for the last object that stands on lines of its own and has a field we know.
"""

import re
from typing import Any

import msgspec

from hookline.wire import codec
from hookline.wire.outputs import TOP_LEVEL_FIELDS

# A hostile hook could print megabytes of half-open objects; what is searched is bounded.
_MAX_CANDIDATES = 2_000
_MAX_FAILED_CHARACTERS = 4 * 1024 * 1024

_OBJECT_STARTS = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_REST_OF_LINE = re.compile(r"[ \t\r]*(?:\n|\Z)")


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
    import json

    def refuse(constant: str) -> object:
        raise ValueError(f"{constant} is not JSON")

    scanner = json.JSONDecoder(parse_constant=refuse)
    starts = [match.end() for match in _OBJECT_STARTS.finditer(text)][-_MAX_CANDIDATES:]
    found: dict[str, Any] | None = None
    found_end = -1
    budget = _MAX_FAILED_CHARACTERS
    for start in reversed(starts):
        try:
            value, end = scanner.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            budget -= getattr(error, "pos", start) - start + 1
            if budget < 0:
                break
            continue
        # Going backwards, an object that reaches beyond the one found contains it.
        if (
            end > found_end
            and _REST_OF_LINE.match(text, end)
            and not TOP_LEVEL_FIELDS.keys().isdisjoint(value)
        ):
            found, found_end = value, end
    return found
