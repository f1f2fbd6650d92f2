"""Reads JSON with comments and trailing commas, and remembers where each key and value is.

No library gives the positions: a message about a settings file names line and column, and an edit
changes one value and leaves the text around it alone.
"""

import errno
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from hookline._support.problem import Problem
from hookline.errors import EXHAUSTED, HooklineError
from hookline.wire import codec

Path: TypeAlias = tuple[str | int, ...]

# Unreviewed settings must not keep their reader busy.
MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
# Some editors write it before a text. Stripped by hand, to avoid loading the codec for it.
BOM = b"\xef\xbb\xbf"

# The byte order mark is not in the class, which would make re build a large table.
_BLANKS = r"(?:[ \t\r\n]+|\ufeff|//[^\n]*|/\*.*?\*/)*"
_STRING = r'"[^"\\\x00-\x1f]*(?:\\[^\n][^"\\\x00-\x1f]*)*"'
_TOKEN = re.compile(rf"{_BLANKS}({_STRING}|[{{}}\[\]:,]|[\w.+-]+|)", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}


class JsoncError(ValueError):
    """Text that is not JSON, or is too large or too deep, with its 1-based line and column.

    ``kind`` is "not-json", "too-large" or "too-deep".
    """

    def __init__(self, problem: str, line: int, column: int, *, kind: str = "not-json") -> None:
        self.problem = problem
        self.line = line
        self.column = column
        self.kind = kind
        super().__init__(f"{line}:{column}: {problem}")

    def problem_of(self, file: str) -> Problem:
        """The error as a problem of the file with this text."""
        is_json = self.kind != "not-json"
        return Problem(
            kind=self.kind,
            message=self.problem if is_json else f"is not valid JSON: {self.problem}",
            file=file,
            line=self.line,
            column=self.column,
        )


class SettingsFileError(HooklineError):
    """A settings file cannot be read or written; it is unchanged."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        super().__init__(str(problem))


class Span(msgspec.Struct, gc=False):
    """The start and end of a value in the text, and the spans of its members.

    ``key`` and ``key_end`` are those of its key, both ``start`` if it has none.
    """

    key: int
    key_end: int
    start: int
    end: int = 0
    members: "dict[str | int, Span] | list[Span] | None" = None


class Document:
    """A parsed text: its value and the spans of all values in it.

    ``duplicates`` are the keys that occur more than once, with the offset of the last.
    """

    def __init__(self, text: str, value: Any, root: Span, duplicates: dict[Path, int]) -> None:
        self.text = text
        self.value = value
        self.root = root
        self.duplicates = duplicates
        self._line_starts: list[int] | None = None

    def span(self, path: Path) -> Span | None:
        """The span of the value at a path, None if there is none."""
        span, left = self._find_nearest(path)
        return None if left else span

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column, 1-based, of the value at a path or of its nearest known parent."""
        return self.place_of(self._find_nearest(path)[0].start)

    def place_of(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of an offset."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def _find_nearest(self, path: Path) -> tuple[Span, int]:
        """The span at a path or of its nearest known parent, and how many steps are missing."""
        span = self.root
        for depth, step in enumerate(path):
            try:
                span = span.members[step]  # type: ignore[index]
            except (LookupError, TypeError):
                return span, len(path) - depth
        return span, 0


def parse(text: str) -> Document:
    """Parse one document; raises JsoncError."""
    reader = _JsoncReader(text)
    root = Span(0, 0, 0)
    value = reader.value(reader.token(), root)
    if reader.token() or reader.start < len(text):
        raise reader.error("expected the end of the file, found more text")
    root.key = root.key_end = root.start
    return Document(text, value, root, reader.duplicates)


def text_of(content: bytes) -> str:
    """Decode the text of a file, without a byte order mark; raises JsoncError if it is not UTF-8
    or is too large."""
    if len(content) > MAX_BYTES:
        before = content[:MAX_BYTES].decode(errors="replace")
        problem = f"is larger than {MAX_BYTES:,} bytes, the most that is read"
        raise JsoncError(problem, *line_and_column(before, len(before)), kind="too-large")
    try:
        return content.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        before = content.removeprefix(BOM)[: error.start].decode()
        raise JsoncError("this is not UTF-8", *line_and_column(before, len(before))) from None


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """The 1-based line and column of an offset."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def skip_blanks(text: str, offset: int) -> int:
    """Where the next token begins, behind blanks and comments."""
    match = _TOKEN.match(text, offset)
    assert match is not None
    return match.start(1)


def value_at(value: Any, path: Path) -> Any:
    """What is at a path in a value, None if nothing is."""
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def spoken(path: Path) -> str:
    """Write a path as ``hooks.BeforeTool[0].hooks[1].timeout``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else (f".{step}" if text else step)
    return text


class _JsoncReader:
    """Reads token by token; the last one is from ``start`` to ``at``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = 0
        self.at = 0
        self.path: list[str | int] = []
        self.duplicates: dict[Path, int] = {}

    def token(self) -> str:
        """Read the next string, sign or word; "" at the end of the text and at anything else."""
        match = _TOKEN.match(self.text, self.at)
        assert match is not None
        self.start, self.at = match.span(1)
        return match[1]

    def value(self, token: str, span: Span) -> Any:
        """Read the value that begins with a token, and fill in its span."""
        span.start, first = self.start, token[:1]
        value: Any
        if first == '"':
            value = self._read_string(token)
        elif first in ("{", "["):
            value = self._read_members("}" if first == "{" else "]", span)
        elif token in _WORDS:
            value = _WORDS[token]
        elif first == "-" or first.isdigit():
            value = self._decode(token)
        else:
            problem = f"expected a value, found {self._character!r}"
            raise self.error(problem, at_end="the file ends here")
        span.end = self.at
        return value

    def _read_members(self, bracket: str, span: Span) -> Any:
        """Read an object or a list up to its closing ``bracket``."""
        is_object = bracket == "}"
        values: dict[str | int, Any] = {}
        members: dict[str | int, Span] = {}
        self.path.append("")
        if len(self.path) > MAX_DEPTH:
            problem = f"is nested more than {MAX_DEPTH} deep, the most that is read"
            raise JsoncError(problem, *line_and_column(self.text, self.start), kind="too-deep")
        token = self.token()
        while token != bracket:
            if is_object:
                if token[:1] != '"':
                    raise self._make_unclosed_error(
                        bracket, "expected a key in double quotes, or '}'"
                    )
                key: str | int = self._read_string(token)
                member = Span(self.start, self.at, 0)
                if self.token() != ":":
                    raise self._make_unclosed_error(bracket, "expected ':' after the key")
                token = self.token()
            elif token:
                key, member = len(values), Span(self.start, self.start, 0)
            else:
                raise self._make_unclosed_error(
                    bracket, f"expected a value, found {self._character!r}"
                )
            self.path[-1] = key
            is_known = key in values
            values[key] = self.value(token, member)
            members[key] = member
            if is_known:
                self.duplicates[tuple(self.path)] = member.start
            token = self.token()
            if token == ",":
                token = self.token()
            elif token != bracket:
                raise self.error(f"expected ',' or {bracket!r}")
        self.path.pop()
        span.members = members if is_object else list(members.values())
        return values if is_object else list(values.values())

    def _read_string(self, token: str) -> str:
        return str(self._decode(token)) if "\\" in token else token[1:-1]

    def _decode(self, token: str) -> Any:
        try:
            return codec.decode(token)
        except codec.DecodeError:
            raise self.error(f"{token[:40]} is not a JSON value") from None

    @property
    def _character(self) -> str:
        return self.text[self.start : self.start + 1]

    def _make_unclosed_error(self, bracket: str, problem: str) -> JsoncError:
        return self.error(problem, at_end=f"the file ends here, but a {bracket!r} is missing")

    def error(self, problem: str, *, at_end: str = "") -> JsoncError:
        """Make the error for the last token; ``at_end`` is its text if the file ends there."""
        if self.start == len(self.text) and at_end:
            problem = at_end
        elif self.text.startswith("/*", self.start):
            problem = "this comment is not closed"
        elif self._character == '"' and self.at == self.start:
            problem = "this string is not closed on its line"
        return JsoncError(problem, *line_and_column(self.text, self.start))


def read_settings_file(path: str, *, blank: str = "") -> tuple[bytes, Document] | None:
    """Read a file and the object in it, None if there is no file; an empty file is read as
    ``blank``. Raises SettingsFileError for a file that cannot be used, and OSError if the system
    has run out of memory or descriptors."""
    try:
        # Opening a pipe would wait for its writer, reading a device might never end.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = text_of(content)
        document = parse(text if text.strip() or not blank else blank)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in EXHAUSTED:
            # This is not about the file: it must not look as if it had no hooks.
            raise
        problem = Problem(
            kind="unreadable", message=f"cannot be read: {error.strerror or error}", file=path
        )
        raise SettingsFileError(problem) from None
    except JsoncError as error:
        raise SettingsFileError(error.problem_of(path)) from None
    if not isinstance(document.value, dict):
        line, column = document.place(())
        message = "must hold an object, {…}"
        raise SettingsFileError(
            Problem(kind="not-an-object", message=message, file=path, line=line, column=column)
        )
    return content, document
