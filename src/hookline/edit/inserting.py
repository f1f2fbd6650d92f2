"""Adds to a settings text and leaves the rest of it alone: comments, order and layout stay."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from hookline.errors import HooklineError
from hookline.pipeline.jsonc import Document, Path, parse

# What is written between two offsets in place of what stands there.
_Edit: TypeAlias = tuple[int, int, str]

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|\S', re.DOTALL)
_WIDTH = 96
# A list of plain objects still reads well on one line; what is deeper does not.
_DEEPEST_LINE = 2


class InsertionError(HooklineError):
    """A text that cannot take what is to be added; ``line`` and ``column`` say where."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        self.problem = problem
        self.line = line
        self.column = column
        super().__init__(f"{line}:{column}: {problem}")


class _Container(msgspec.Struct, frozen=True):
    """An object or a list in a text: where it opens, where its last token ends, where it closes."""

    start: int
    first: int
    last_end: int
    close: int

    def is_empty(self) -> bool:
        return self.last_end == self.start + 1


def inserted(text: str, additions: Mapping[str, Any]) -> str:
    """The text with ``additions`` in it: objects get the members they lack, lists the items.

    Raises JsoncError for a text that is no JSON and InsertionError for one where an addition finds
    something of another kind in its place.
    """
    if not text.strip():
        text = "{}\n"
    document = parse(text)
    for path in document.duplicates:
        raise InsertionError(f"the key {path[-1]!r} is given twice", *document.place(path))
    edits = list(_edits(document, (), document.value, additions))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    assert parse(text).value == merged(document.value, additions)
    return text


def merged(value: Any, additions: Any) -> Any:
    """What a value is with additions to it."""
    if isinstance(value, Mapping) and isinstance(additions, Mapping):
        both = {key: merged(value[key], new) for key, new in additions.items() if key in value}
        return {**value, **additions, **both}
    return [*value, *additions]


def _edits(document: Document, path: Path, value: Any, additions: Any) -> Iterator[_Edit]:
    problem = _mismatch(value, additions)
    if problem is not None:
        name = ".".join(map(str, path)) or "the file"
        raise InsertionError(f"{name} {problem}", *document.place(path))
    new: Any = additions
    if isinstance(additions, Mapping):
        for key in additions.keys() & set(value):
            yield from _edits(document, (*path, key), value[key], additions[key])
        new = {key: item for key, item in additions.items() if key not in value}
    if new:
        yield _insertion(document, document.offsets[path], new)


def _mismatch(value: Any, additions: Any) -> str | None:
    if isinstance(additions, Mapping):
        return None if isinstance(value, Mapping) else "must be an object, {…}"
    if isinstance(additions, list | tuple):
        return None if isinstance(value, list) else "must be a list, […]"
    return "is there already"


def _insertion(document: Document, start: int, new: Any) -> _Edit:
    text = document.text
    container = _container(text, start)
    between = text[container.last_end : container.close]
    has_comma = text[container.last_end - 1] == ","
    comma = "" if container.is_empty() or has_comma else ","
    if "\n" not in text[start : container.close] and not (container.is_empty() and _depth(new) > 1):
        items = ", ".join(_members(new))
        gap = "" if text[container.last_end - 1] in "[{" and not between.strip() else " "
        return container.last_end, container.close, f"{comma}{between.rstrip()}{gap}{items}"
    outer = _indent_at(text, start)
    unit = _unit(document)
    inner = _child_indent(text, container, outer, unit)
    lines = f",\n{inner}".join(_members(new, inner, unit))
    body = f"{comma}{between.rstrip()}\n{inner}{lines}{',' if has_comma else ''}\n{outer}"
    if "\r\n" in text:
        body = re.sub(r"\r?\n", "\r\n", body)
    return container.last_end, container.close, body


def _container(text: str, start: int) -> _Container:
    depth, first, last_end = 0, 0, start + 1
    for token in TOKEN.finditer(text, start):
        word = token[0]
        if word.startswith(("//", "/*")):
            continue
        if word in "]}":
            depth -= 1
            if not depth:
                return _Container(start, first, last_end, token.start())
        first = first or (token.start() if depth else 0)
        depth += word in "[{"
        last_end = token.end()
    raise AssertionError("the text was parsed before")


def _child_indent(text: str, container: _Container, outer: str, unit: str) -> str:
    """As the first child has it, if that begins a line."""
    if container.first:
        line = text.rfind("\n", 0, container.first) + 1
        before = text[line : container.first]
        if line > container.start and not before.strip():
            return before
    return outer + unit


def _indent_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip())]


def _unit(document: Document) -> str:
    """What one level is set in by, told by the first member of the file."""
    container = _container(document.text, document.offsets[()])
    return _child_indent(document.text, container, "", "  ") or "  "


def _members(new: Any, indent: str | None = None, unit: str = "") -> Sequence[str]:
    """The members of an object or the items of a list, each in its own text."""
    if isinstance(new, Mapping):
        pairs = [(f"{_quoted(key)}: ", value) for key, value in new.items()]
    else:
        pairs = [("", item) for item in new]
    return [label + _written(value, indent, unit, len(label)) for label, value in pairs]


def _written(value: Any, indent: str | None, unit: str, used: int = 0) -> str:
    """A value on one line where it fits, and is not too deep to be read there."""
    flat = _flat(value)
    if indent is None or not isinstance(value, Mapping | list | tuple) or not value:
        return flat
    if len(indent) + used + len(flat) < _WIDTH and _depth(value) <= _DEEPEST_LINE:
        return flat
    inner = indent + unit
    body = f",\n{inner}".join(_members(value, inner, unit))
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    return f"{opening}\n{inner}{body}\n{indent}{closing}"


def _flat(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(_members(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_members(value)) + "]"
    return _quoted(value)


def _depth(value: Any) -> int:
    if isinstance(value, Mapping):
        value = list(value.values())
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list | tuple) else 0


def _quoted(value: object) -> str:
    from hookline.wire import codec

    return codec.encode(value).decode()
