"""Takes texts out of a list in a settings text and leaves the rest of it alone, comments too."""

import re
from collections.abc import Iterator

from hookline.edit.inserting import TOKEN
from hookline.pipeline.jsonc import Path, parse, value_at

_EMPTY = re.compile(r"\[\s*\]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def without(text: str, path: Path, item: str) -> str:
    """The text without an item of the list at a path, as often as it is there.

    Raises JsoncError for a text that is no JSON; where there is no list, nothing changes.
    """
    while (index := _index(text, path, item)) is not None:
        text = _without(text, path, index)
    return text


def _index(text: str, path: Path, item: str) -> int | None:
    value = value_at(parse(text).value, path)
    return value.index(item) if isinstance(value, list) and item in value else None


def _without(text: str, path: Path, index: int) -> str:
    offsets = parse(text).offsets
    start = offsets[(*path, index)]
    found = _STRING.match(text, start)
    assert found is not None
    end, commas = found.end(), list(_commas(text, offsets[path]))
    if index < len(commas):
        comma = commas[index]
        # What stands between the two is a comment, and stays.
        text = text[:start] + text[end:comma] + text[comma + 1 :]
    else:
        text = text[:start] + text[end:]
        if index:
            comma = commas[index - 1]
            text, start = text[:comma] + text[comma + 1 :], start - 1
    text = _tidied(text, start)
    empty = _EMPTY.match(text, offsets[path])
    return text[: empty.start()] + "[]" + text[empty.end() :] if empty else text


def _commas(text: str, start: int) -> Iterator[int]:
    """Where the commas of a list are; the one with an item's number follows the item."""
    depth = 0
    for token in TOKEN.finditer(text, start):
        word = token[0]
        depth += (word in "[{") - (word in "]}")
        if not depth:
            return
        if word == "," and depth == 1:
            yield token.start()


def _tidied(text: str, at: int) -> str:
    """Without the line that is left empty, or the blanks that stood around what has gone."""
    line = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at) + 1
    if end and not text[line:end].strip():
        return text[:line] + text[end:]
    before, after = text[:at], text[at:].lstrip(" \t")
    if after.startswith("]"):
        return (before.rstrip(" \t") if text[line:at].strip() else before) + after
    return before + (after if before.endswith((" ", "\t", "\n", "[")) else text[at:])
