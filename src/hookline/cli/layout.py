"""Makes text safe to show, and fits lines and tables into a width, or into none: then nothing is
cut and nothing wrapped.

Text of hooks and settings may come from a project nobody has reviewed yet, so nothing in it may
steer the terminal.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

# A piece of a line: plain text, or text and its role.
Span: TypeAlias = str | tuple[str, str]
Row: TypeAlias = Sequence[Span]
Piece: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Piece]
# How a column other than the last is set; the last takes what is left and wraps.
Column: TypeAlias = Literal["keep", "right", "cut"]

GAP = 2
# What a line of a diff begins with -> the role of that line.
DIFF_ROLES = {"+": "good", "-": "bad", "@": "faint"}
_KEPT = frozenset("\n\u200d")  # the joiner holds emoji together
# A cell wider than this does not push the rows of a table without a width apart.
_WIDEST = 32
# The least a column is cut to, and the least the last one is wrapped to, before that moves below;
# and the least a column is cut to then.
_LEAST_CUT = 12
_LEAST_WRAP = 26
_BARE = 4
_HANG = 4
_WORDS = r"\n|[^\S\n]+|\S+"
_COMMANDS_AND_WORDS = r"\n|[^\S\n]+|`hookline [^`\n]*`\S*|\S+"


def printable(text: str) -> str:
    """The text with control and invisible characters written out, lone surrogates too."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character in _KEPT or character.isprintable()
        else " "
        if character.isspace()
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def duration(milliseconds: float) -> str:
    """A time as people say it."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.3g} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 1 else f"{milliseconds:.1f} ms"


def count(number: int, noun: str) -> str:
    """``1 hook``, ``2 hooks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown_path(path: str) -> str:
    """The path from here if it is below, else from ``~`` if it is below that, else whole."""
    for start, sign in ((os.getcwd(), ""), (os.path.expanduser("~"), f"~{os.sep}")):
        below = os.path.join(start, "")
        if path.startswith(below):
            return sign + path.removeprefix(below)
    return path


def shown_place(file: str | None, line: int | None) -> str:
    """``file:line``, as short as can be."""
    return "" if file is None else f"{shown_path(file)}:{line}"


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def head(text: str, width: int) -> str:
    """As much of the text as fits, one character at least."""
    used = 0
    for index, character in enumerate(text):
        used += width_of(character)
        if index and used > width:
            return text[:index]
    return text


def cut(text: str, width: int) -> str:
    """The text in one line that fits, with a sign at its end where something is missing."""
    text = text.replace("\n", " ")
    return text if width_of(text) <= width else head(text, width - 1).rstrip() + "…"


def diff(before: Sequence[str], after: Sequence[str], *, around: int) -> list[str]:
    """The lines that differ, each behind its sign, with some of those around them."""
    from difflib import unified_diff

    # The first two lines name files.
    return list(unified_diff(before, after, lineterm="", n=around))[2:]


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
    cells: list[Line] = []
    for row in rows:
        *fixed, last = map(_piece, row)
        # A command may have several lines; a cell before the last has one.
        cells.append([*((text.replace("\n", " "), role) for text, role in fixed), last])
    widths = _column_widths(cells, columns, _room(width, indent))
    start = indent + sum(widths) + GAP * len(widths)
    for *fixed, last in cells:
        line: Line = [(" " * indent, "")]
        for (text, role), size, kind in zip(fixed, widths, columns, strict=True):
            text = cut(text, size) if kind == "cut" else text
            space = (" " * (size - width_of(text)), "")
            line += [space, (text, role)] if kind == "right" else [(text, role), space]
            line.append((" " * GAP, ""))
        needed = width_of(last[0])
        if width is not None and width - start < min(needed, _LEAST_WRAP):
            yield line
            yield from fit_line([last], indent=indent + _HANG, width=width) if needed else ()
            continue
        for wrapped in _wrap([last], _room(width, start)):
            yield [*line, *wrapped]
            line = [(" " * start, "")]


def _piece(span: Span) -> Piece:
    text, role = (span, "") if isinstance(span, str) else span
    return printable(text), role


def _room(width: int | None, used: int) -> int | None:
    return None if width is None else max(width - used, 1)


def _column_widths(
    cells: Sequence[Sequence[Piece]], columns: Sequence[Column], room: int | None
) -> list[int]:
    """How wide each column but the last is."""

    def widest(texts: Sequence[str]) -> int:
        return max(map(width_of, texts), default=0)

    def least(bound: int) -> list[int]:
        pairs = zip(natural, columns, strict=True)
        return [min(width, bound) if kind == "cut" else width for width, kind in pairs]

    texts = [[row[index][0] for row in cells] for index in range(len(columns))]
    if room is None:
        return [widest([text for text in column if len(text) <= _WIDEST]) for column in texts]
    natural = [widest(column) for column in texts]
    beside = room - GAP * len(columns) - min(widest([row[-1][0] for row in cells]), _LEAST_WRAP)
    narrow = least(max(_LEAST_CUT, room // 3))
    if sum(narrow) <= beside:
        return _narrow(natural, narrow, beside)
    modest = least(max(_LEAST_CUT, room // 2))
    return _narrow(modest, least(_BARE), room - GAP * (len(columns) - 1))


def _narrow(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths with as much taken off as is needed, and can be."""
    over = sum(widths) - room
    narrowed = []
    for width, bound in zip(widths, least, strict=True):
        taken = max(0, min(over, width - bound))
        narrowed.append(width - taken)
        over -= taken
    return narrowed


def _wrap(pieces: Sequence[Piece], room: int | None) -> Iterator[Line]:
    line: Line = []
    used, wrapped = 0, False
    for text, role in pieces:
        for word in _words(text, room):
            size = width_of(word)
            if word == "\n" or (room is not None and used + size > room and used):
                yield line
                line, used, wrapped = [], 0, word != "\n"
            if word == "\n" or (wrapped and not used and word.isspace()):
                continue
            while room is not None and size > room:
                first = head(word, room)
                yield [(first, role)]
                word = word[len(first) :]
                size = width_of(word)
            line.append((word, role))
            used += size
    yield line


def _words(text: str, room: int | None) -> Iterator[str]:
    """Words and the blanks between them; a command is one word where it can be."""
    if room is None or "`hookline " not in text:
        yield from re.findall(_WORDS, text)
        return
    for word in re.findall(_COMMANDS_AND_WORDS, text):
        yield from [word] if width_of(word) <= room else re.findall(_WORDS, word)
