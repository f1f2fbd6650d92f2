"""Reads JSON with comments and trailing commas, and remembers where in the text each value stood.

Positions are why this is not a library: a message about a settings file names line and column.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from hookline.wire import codec

Path: TypeAlias = tuple[str | int, ...]

# What some editors put before a text. By hand, as the codec that knows it is a module to load.
BOM = b"\xef\xbb\xbf"
# The byte order mark is not in the class: that would make a table of all characters of it.
SKIP = re.compile(r"(?:[ \t\r\n]+|\ufeff|//[^\n]*|/\*.*?\*/)*", re.DOTALL)

_MAX_DEPTH = 200
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")


class JsoncError(ValueError):
    """Text that is not JSON, with the place (1-based) where it stops being it."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        self.problem = problem
        self.line = line
        self.column = column
        super().__init__(f"{line}:{column}: {problem}")


class Document(msgspec.Struct, frozen=True):
    """A parsed text: its value, the offset of every value by path, and keys given twice."""

    text: str
    value: Any
    offsets: dict[Path, int]
    duplicates: list[Path]

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column, 1-based, of the value at a path or of its nearest known parent."""
        while path and path not in self.offsets:
            path = path[:-1]
        return line_and_column(self.text, self.offsets.get(path, 0))


def parse(text: str) -> Document:
    """Parse one document; raises JsoncError."""
    reader = _Reader(text)
    value = reader.document()
    return Document(text, value, reader.offsets, reader.duplicates)


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The 1-based place of an offset."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def value_at(value: Any, path: Path) -> Any:
    """What is at a path in a value, None where nothing is."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def spoken(path: Path) -> str:
    """``hooks.BeforeTool[0].hooks[1].timeout`` for a path."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else step)
    return text


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.offsets: dict[Path, int] = {}
        self.duplicates: list[Path] = []

    def document(self) -> Any:
        value = self._value(())
        self._skip()
        if self.at < len(self.text):
            raise self._error("expected the end of the file, found more text")
        return value

    def _value(self, path: Path) -> Any:
        self._skip()
        if len(path) > _MAX_DEPTH:
            raise self._error("nested too deeply")
        self.offsets[path] = self.at
        first = self.text[self.at : self.at + 1]
        if first == "{":
            return self._object(path)
        if first == "[":
            return self._array(path)
        if first == '"':
            return self._string()
        return self._scalar()

    def _object(self, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self.at += 1
        while not self._closes("}"):
            if self.text[self.at] != '"':
                raise self._error("expected a key in double quotes, or '}'")
            key = self._string()
            if key in result:
                self.duplicates.append((*path, key))
            self._expect(":", "expected ':' after the key")
            result[key] = self._value((*path, key))
            self._separator("}")
        return result

    def _array(self, path: Path) -> list[Any]:
        result: list[Any] = []
        self.at += 1
        while not self._closes("]"):
            result.append(self._value((*path, len(result))))
            self._separator("]")
        return result

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise self._error("this string is not closed on its line")
        return str(self._scalar_text(match))

    def _scalar(self) -> Any:
        match = _SCALAR.match(self.text, self.at)
        if match is None:
            found = self.text[self.at : self.at + 1]
            raise self._error(
                f"expected a value, found {found!r}" if found else "the file ends here"
            )
        return self._scalar_text(match)

    def _scalar_text(self, match: re.Match[str]) -> Any:
        try:
            value = codec.decode(match.group())
        except codec.DecodeError:
            raise self._error(f"{match.group()[:40]} is not a JSON value") from None
        self.at = match.end()
        return value

    def _closes(self, bracket: str) -> bool:
        self._skip()
        if self.at >= len(self.text):
            raise self._error(f"the file ends here, but a {bracket!r} is missing")
        if self.text[self.at] != bracket:
            return False
        self.at += 1
        return True

    def _separator(self, bracket: str) -> None:
        self._skip()
        if self.text[self.at : self.at + 1] != bracket:
            self._expect(",", f"expected ',' or {bracket!r}")

    def _expect(self, character: str, problem: str) -> None:
        self._skip()
        if self.text[self.at : self.at + 1] != character:
            raise self._error(problem)
        self.at += 1

    def _skip(self) -> None:
        match = SKIP.match(self.text, self.at)
        assert match is not None
        self.at = match.end()
        if self.text.startswith("/*", self.at):
            raise self._error("this comment is not closed")

    def _error(self, problem: str) -> JsoncError:
        return JsoncError(problem, *line_and_column(self.text, self.at))
