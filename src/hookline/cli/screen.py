"""Where verbs show things: they name roles, and only here is it known what a terminal does.

Piped output is plain, whole lines: nothing is cut and nothing wrapped. A terminal gets colour, and
lines and tables that fit. What people must see beside the result goes to stderr. Text of hooks and
settings may come from a project nobody has reviewed yet, so nothing in it may steer the terminal or
pass for a line of ours: further lines of a text are indented, and a name has none.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Literal, TextIO, TypeAlias

from hookline._support.escapes import count as count
from hookline._support.escapes import escape_unseen, spell

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
# Blanks of other kinds are shown as the one that all terminals know.
_BLANKS = dict.fromkeys(
    [*map(ord, "\t\r\xa0\u1680\u202f\u205f\u3000"), *range(0x2000, 0x200B)], " "
)
# A cell wider than this does not push the rows of a table without a width apart.
_WIDEST = 32
# The least a column is cut to, and the least the last one is wrapped to, before that moves below;
# and the least a column is cut to then.
_LEAST_CUT = 12
_LEAST_WRAP = 26
_BARE = 4
_HANG = 4
_WORDS = r"\n|[^\S\n]+|\S+"
# A word of a command line, with the quotes that hold it together; an option with its value is one.
_ARGUMENT = r"""(?:'[^']*'|"[^"]*"|[^\s'"])+"""
_PARTS = rf"--\w[\w-]* (?!--){_ARGUMENT}|{_ARGUMENT}"
_COMMANDS_AND_WORDS = r"\n|[^\S\n]+|`hookline [^`\n]*`\S*|\S+"
# Role -> how a terminal is told to show it, as ECMA-48 numbers it: 1 bold, 2 faint, 3x a colour.
STYLES: dict[str, str] = {
    "title": "1",
    "name": "1",
    "faint": "2",
    "matcher": "36",
    "good": "32",
    "bad": "1;31",
    "care": "33",
    "change": "35",
}
_WRAPPED = "↪"
# The roles of what is a name, and has one line.
_NAMES = frozenset({"title", "name", "matcher"})


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self, stdout: TextIO | None, stderr: TextIO | None) -> None:
        self._out = _Writer(stdout)
        self._err = _Writer(stderr)
        self.is_terminal = self._out.is_terminal
        # The number of columns, None for unlimited.
        self.width = self._out.width

    @property
    def lost(self) -> OSError | None:
        """The error that kept output from being written, if any; a closed pipe is not one."""
        return self._out.lost

    def line(self, *spans: Span, indent: int = 0) -> None:
        """One line, empty without spans."""
        self._out.write(fit_line(self._out.encode(spans), indent=indent, width=self.width))

    def quote(self, *spans: Span, indent: int = 4) -> None:
        """A line of a file or a command; where it has to be wrapped, that is marked."""
        mark = _WRAPPED if self._out.can_encode(_WRAPPED) else ">"
        encoded = self._out.encode(spans)
        self._out.write(fit_line(encoded, indent=indent, width=self.width, mark=mark))

    def command(self, command: str, *, indent: int = 2) -> None:
        """A command to copy; on a terminal a long one goes on behind a backslash."""
        for line in break_command(command, width=self.width and self.width - indent):
            self.line((line, "name"), indent=indent)

    def raw_line(self, text: str) -> None:
        """A line for a program to read: neither wrapped nor styled."""
        (encoded,) = self._out.encode([printable(text)])
        self._out.use(lambda stream: stream.write(f"{encoded}\n"))

    def table(self, rows: Sequence[Row], columns: Sequence[Column], *, indent: int = 2) -> None:
        """Rows whose cells stand below each other; the last column, which wraps, is not named."""
        encoded = [self._out.encode(row) for row in rows]
        self._out.write(fit_table(encoded, columns, indent=indent, width=self.width))

    def note(self, *spans: Span) -> None:
        """A line on stderr, below everything that was shown before it."""
        self.flush()
        self._err.write(fit_line(self._err.encode(spans), indent=0, width=self._err.width))

    def warning(self, text: str) -> None:
        """A warning, which people must see; the command goes on."""
        self.note(("warning:", "care"), f" {text}")

    def document(self, value: object) -> None:
        """The one JSON document of ``--json``: a line, or pretty for people at a terminal."""
        from hookline.wire import codec

        encoded = codec.encode_seen(value)
        if self.is_terminal:
            import msgspec

            encoded = msgspec.json.format(encoded, indent=2)

        def put(stream: TextIO) -> None:
            # JSON is UTF-8 whatever the stream's encoding.
            buffer = getattr(stream, "buffer", None)
            if buffer is None:
                stream.write(encoded.decode("utf-8") + "\n")
            else:
                stream.flush()
                buffer.write(encoded + b"\n")

        self._out.use(put)

    def flush(self) -> None:
        """Write out what was shown so far."""
        self._out.use(lambda stream: stream.flush())


class _Writer:
    """One stream, its width (None for unlimited), and how lines are written to it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.is_terminal = stream is not None and stream.isatty()
        self.width = terminal_width(stream) if self.is_terminal else None
        is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
        self._is_styled = self.is_terminal and not is_dumb and not os.environ.get("NO_COLOR")
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        # The error after which the rest of the output is discarded.
        self.lost: OSError | None = None

    def can_encode(self, text: str) -> bool:
        """True if the stream's encoding has all characters of the text."""
        return self._encode(text) == text

    def encode(self, spans: Row) -> Row:
        """The spans with what the stream's encoding lacks written out, which may take more columns:
        it must not end a command."""
        return [
            self._encode(span) if isinstance(span, str) else (self._encode(span[0]), span[1])
            for span in spans
        ]

    def write(self, lines: Iterable[Line]) -> None:
        """Lines that fit, in the style of their roles."""
        text = ""
        for line in lines:
            # The end of a line has no blanks.
            left = len("".join(piece for piece, _ in line).rstrip())
            for role, group in groupby(line, key=itemgetter(1)):
                piece = "".join(piece for piece, _ in group)[:left]
                left -= len(piece)
                is_styled = self._is_styled and role and piece
                text += f"\x1b[{STYLES[role]}m{piece}\x1b[0m" if is_styled else piece
            text += "\n"
        # What was cut to fit ends with a sign of one column, on every terminal.
        if not text.isascii() and not self.can_encode("…"):
            text = text.replace("…", ".")
        self.use(lambda stream: stream.write(text))

    def use(self, action: Callable[[TextIO], object]) -> None:
        """Run an action on the stream; a closed pipe or a full disk must not end the command."""
        if self._stream is None:
            return
        try:
            action(self._stream)
        except OSError as error:
            discard(self._stream)
            if not isinstance(error, BrokenPipeError):
                self.lost = self.lost or error

    def _encode(self, text: str) -> str:
        if text.isascii():
            return text
        return text.encode(self._encoding, "backslashreplace").decode(self._encoding)


def discard(stream: TextIO | None) -> None:
    """Redirect a stream to /dev/null, so that the interpreter's last flush cannot fail."""
    if stream is None:
        return
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def terminal_width(stream: TextIO | None) -> int:
    """How many columns a terminal has; ``COLUMNS`` overrules it."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    try:
        return (stream and os.get_terminal_size(stream.fileno()).columns) or 80
    except (OSError, ValueError):
        return 80


def printable(text: str) -> str:
    """The text with control and invisible characters written out, lone surrogates too."""
    return escape_unseen(text.translate(_BLANKS), spell, exceptions="\n")


def duration(milliseconds: float) -> str:
    """A time as people say it."""
    if milliseconds >= 1000:
        seconds = milliseconds / 1000
        return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 1 else f"{milliseconds:.1f} ms"


def shorten_path(path: str) -> str:
    """The path from here if it is below, else from ``~`` if it is below that, else whole."""
    for start, sign in ((os.getcwd(), ""), (os.path.expanduser("~"), f"~{os.sep}")):
        below = os.path.join(start, "")
        if path.startswith(below):
            return sign + path.removeprefix(below)
    return path


def shorten_place(file: str | None, line: int | None) -> str:
    """``file:line``, as short as can be."""
    return "" if file is None else f"{shorten_path(file)}:{line}"


def width_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(c) in ("Mn", "Me", "Cf") else 2 if east_asian_width(c) in "WF" else 1
        for c in text
    )


def measure_columns(rows: Iterable[Row]) -> list[int]:
    """How wide each column of a table is, without the gap behind it."""
    columns = zip(*rows, strict=True)
    return [max(width_of(_make_piece(cell)[0]) for cell in column) for column in columns]


def measure_table(rows: Iterable[Row]) -> int:
    """How wide a table is, with the gap behind each column."""
    return sum(width + GAP for width in measure_columns(rows))


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


def break_command(command: str, *, width: int | None) -> Iterator[str]:
    """A command in lines that a shell puts together again, broken where they would not fit."""
    # What stays on one line, and what follows it there: a blank, nothing within a word.
    pieces: list[tuple[str, str]] = []
    parts = [
        word
        for part in re.findall(_PARTS, command)
        for word in ([part] if not width or len(part) + 4 <= width else re.findall(_ARGUMENT, part))
    ]
    for part in parts:
        # Inside of quotes a new line is white space between two members of an object.
        *first, last = part.replace(',"', ',\0"').split("\0") if "'{" in part else [part]
        pieces += [*((piece, "") for piece in first), (last, " ")]
    line = ""
    for piece, glue in pieces:
        if width is not None and line.strip() and len(line) + len(piece) + 2 > width:
            yield f"{line}\\" if line.endswith(" ") else line
            line = "  "
        line += piece + glue
    yield line.rstrip()


def diff(before: Sequence[str], after: Sequence[str], *, around: int) -> list[str]:
    """The lines that differ, each behind its sign, with some of those around them."""
    from difflib import unified_diff

    # The first two lines name files.
    return list(unified_diff(before, after, lineterm="", n=around))[2:]


def fit_line(spans: Row, *, indent: int, width: int | None, mark: str = "") -> Iterator[Line]:
    """A line, wrapped between words; what goes on is indented as its beginning, and has a mark
    before it where it must not be taken for a line of its own. Lines that are in the text itself
    are indented further."""
    start: Piece = (" " * indent, "")
    for line in _wrap(
        [_make_piece(span) for span in spans], _measure_room(width, indent), hang=_HANG
    ):
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
        *fixed, last = map(_make_piece, row)
        # A command may have several lines; a cell before the last has one.
        cells.append([*((text.replace("\n", " "), role) for text, role in fixed), last])
    widths = _fit_columns(cells, columns, _measure_room(width, indent))
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
        for wrapped in _wrap([last], _measure_room(width, start)):
            yield [*line, *wrapped]
            line = [(" " * start, "")]


def _make_piece(span: Span) -> Piece:
    text, role = (span, "") if isinstance(span, str) else span
    return printable(text.replace("\n", "\\n") if role in _NAMES else text), role


def _measure_room(width: int | None, used: int) -> int | None:
    return None if width is None else max(width - used, 1)


def _fit_columns(
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
    widths, narrow = natural, least(max(_LEAST_CUT, room // 3))
    if sum(narrow) > beside:
        widths, narrow = least(max(_LEAST_CUT, room // 2)), least(_BARE)
        beside = room - GAP * (len(columns) - 1)
    # As much is taken off as is needed, and can be.
    over = sum(widths) - beside
    for index, (size, bound) in enumerate(zip(widths, narrow, strict=True)):
        excess = max(0, min(over, size - bound))
        widths[index] -= excess
        over -= excess
    return widths


def _wrap(pieces: Sequence[Piece], room: int | None, *, hang: int = 0) -> Iterator[Line]:
    """Lines of so many columns; those behind the end of a line in a text are indented by ``hang``,
    where there is room for it."""
    line: Line = []
    used, margin, wrapped = 0, 0, False
    hang = hang if room is None or room > 2 * hang else 0
    for text, role in pieces:
        words = re.findall(_WORDS, text)
        if room is not None and "`hookline " in text:
            # A command is one word where it can be.
            parts = re.findall(_COMMANDS_AND_WORDS, text)
            fits = ([w] if width_of(w) <= room else re.findall(_WORDS, w) for w in parts)
            words = [word for part in fits for word in part]
        for word in words:
            size = width_of(word)
            if word == "\n" or (room is not None and used + size > room and used > margin):
                yield line
                margin, wrapped = hang if word == "\n" else margin, word != "\n"
                line, used = [(" " * margin, "")] if margin else [], margin
            if word == "\n" or (wrapped and used == margin and word.isspace()):
                continue
            while room is not None and size > room - margin:
                first = head(word, room - margin)
                yield [*line, (first, role)]
                word = word[len(first) :]
                size = width_of(word)
            line.append((word, role))
            used += size
    yield line
