"""Fits lines and tables into a width, or into none: then nothing is cut and nothing wrapped."""

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from hookline.cli.text import printable, width_of

# A piece of a line: plain text, or text and its role.
Span: TypeAlias = str | tuple[str, str]
Row: TypeAlias = Sequence[Span]
Piece: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Piece]
# How a column other than the last is set; the last takes what is left and wraps.
Column: TypeAlias = Literal["keep", "right", "cut"]

GAP = 2
# A cell wider than this does not push the rows of a table without a width apart.
_WIDEST = 32
# The least a column is cut to, and the least the last one is wrapped to, before that moves below;
# and the least a column is cut to then.
_LEAST_CUT = 12
_LEAST_WRAP = 26
_BARE = 4
_HANG = 4


def fit_line(spans: Row, *, indent: int, width: int | None, mark: str = "") -> Iterator[Line]:
    """A line, wrapped between words; what goes on is indented as its beginning, and has a mark
    before it where it must not be taken for a line of its own."""
    start: Piece = (" " * indent, "")
    for line in _wrap([_piece(span) for span in spans], _room(width, indent)):
        yield [start, *line]
        start = (f"{mark} ".rjust(indent) if mark else start[0], "faint" if mark else "")


def fit_table(
    rows: Sequence[Row], columns: Sequence[Column], *, indent: int, width: int | None
) -> Iterator[Line]:
    """Rows whose cells stand below each other."""
    if width is None:
        columns = ["keep" if kind == "cut" else kind for kind in columns]
    cells = [[*map(_flat, row[:-1]), _piece(row[-1])] for row in rows]
    widths = _column_widths(cells, columns, _room(width, indent))
    start = indent + sum(widths) + GAP * len(widths)
    for *fixed, last in cells:
        head = [(" " * indent, ""), *_set(fixed, widths, columns)]
        needed = width_of(last[0])
        if width is not None and width - start < min(needed, _LEAST_WRAP):
            yield head
            yield from fit_line([last], indent=indent + _HANG, width=width) if needed else ()
            continue
        for line in _wrap([last], _room(width, start)):
            yield [*head, *line]
            head = [(" " * start, "")]


def _piece(span: Span) -> Piece:
    text, role = (span, "") if isinstance(span, str) else span
    return printable(text), role


def _flat(span: Span) -> Piece:
    """A command may have several lines; a cell before the last has one."""
    text, role = _piece(span)
    return text.replace("\n", " "), role


def _room(width: int | None, used: int) -> int | None:
    return None if width is None else max(width - used, 1)


def _column_widths(
    cells: Sequence[Sequence[Piece]], columns: Sequence[Column], room: int | None
) -> list[int]:
    texts = [[row[index][0] for row in cells] for index in range(len(columns))]
    if room is None:
        return [_widest([text for text in column if len(text) <= _WIDEST]) for column in texts]
    natural = [_widest(column) for column in texts]
    beside = room - GAP * len(columns) - min(_widest([row[-1][0] for row in cells]), _LEAST_WRAP)
    least = _least(natural, columns, max(_LEAST_CUT, room // 3))
    if sum(least) <= beside:
        return _narrowed(natural, least, beside)
    modest = _least(natural, columns, max(_LEAST_CUT, room // 2))
    return _narrowed(modest, _least(natural, columns, _BARE), room - GAP * (len(columns) - 1))


def _least(widths: Sequence[int], columns: Sequence[Column], bound: int) -> list[int]:
    pairs = zip(widths, columns, strict=True)
    return [min(width, bound) if kind == "cut" else width for width, kind in pairs]


def _narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths with as much taken off as is needed, and can be."""
    over = sum(widths) - room
    narrowed = []
    for width, bound in zip(widths, least, strict=True):
        taken = max(0, min(over, width - bound))
        narrowed.append(width - taken)
        over -= taken
    return narrowed


def _widest(texts: Sequence[str]) -> int:
    return max(map(width_of, texts), default=0)


def _set(fixed: Sequence[Piece], widths: Sequence[int], columns: Sequence[Column]) -> Line:
    line: Line = []
    for (text, role), width, kind in zip(fixed, widths, columns, strict=True):
        text = _cut(text, width) if kind == "cut" and width_of(text) > width else text
        space = " " * (width - width_of(text))
        line += [(space, ""), (text, role)] if kind == "right" else [(text, role), (space, "")]
        line.append((" " * GAP, ""))
    return line


def _wrap(pieces: Sequence[Piece], room: int | None) -> Iterator[Line]:
    line: Line = []
    used, wrapped = 0, False
    for text, role in pieces:
        for word in _fitting_words(text, room):
            size = width_of(word)
            if word == "\n" or (room is not None and used + size > room and used):
                yield line
                line, used, wrapped = [], 0, word != "\n"
            if word == "\n" or (wrapped and not used and word.isspace()):
                continue
            while room is not None and size > room:
                head = _head(word, room)
                yield [(head, role)]
                word = word[len(head) :]
                size = width_of(word)
            line.append((word, role))
            used += size
    yield line


def _fitting_words(text: str, room: int | None) -> Iterator[str]:
    """Words and the blanks between them; a command is one word where it can be."""
    if room is None or "`hookline " not in text:
        yield from _words().findall(text)
        return
    for word in _commands_and_words().findall(text):
        yield from [word] if width_of(word) <= room else _words().findall(word)


def _cut(text: str, width: int) -> str:
    return _head(text, width - 1).rstrip() + "…"


def _head(text: str, width: int) -> str:
    """As much of the text as fits, one character at least."""
    used = 0
    for index, character in enumerate(text):
        used += width_of(character)
        if index and used > width:
            return text[:index]
    return text


@functools.cache
def _commands_and_words() -> "re.Pattern[str]":
    return re.compile(r"\n|[^\S\n]+|`hookline [^`\n]*`\S*|\S+")


@functools.cache
def _words() -> "re.Pattern[str]":
    return re.compile(r"\n|[^\S\n]+|\S+")
