"""Where verbs show things: they name roles, and only here is it known what a terminal does.

Piped output is plain, whole lines; a terminal gets colour, and lines that fit. What people must
see beside the result goes to stderr.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TextIO

from hookline.cli.failures import discard, report_unwritten
from hookline.cli.layout import Column, Line, Row, Span, fit_line, fit_table

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


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self, stdout: TextIO | None, stderr: TextIO | None) -> None:
        self._out = _Writer(stdout)
        self._err = _Writer(stderr)
        self.is_terminal = self._out.is_terminal
        # How many columns there are, None for no end.
        self.width = self._out.width

    def status(self, status: int) -> int:
        """What a command exits with that has shown all it had to show."""
        return status if self._out.lost is None else report_unwritten(self._out.lost, status)

    def line(self, *spans: Span, indent: int = 0) -> None:
        """One line, empty without spans."""
        self._out.write(fit_line(self._out.encode(spans), indent=indent, width=self.width))

    def quote(self, *spans: Span, indent: int = 4) -> None:
        """A line of a file or a command; where it has to be wrapped, that is marked."""
        mark = _WRAPPED if self._out.can_encode(_WRAPPED) else ">"
        shown = self._out.encode(spans)
        self._out.write(fit_line(shown, indent=indent, width=self.width, mark=mark))

    def table(self, rows: Sequence[Row], columns: Sequence[Column], *, indent: int = 2) -> None:
        """Rows whose cells stand below each other; the last column, which wraps, is not named."""
        shown = [self._out.encode(row) for row in rows]
        self._out.write(fit_table(shown, columns, indent=indent, width=self.width))

    def note(self, *spans: Span) -> None:
        """A line on stderr, below everything that was shown before it."""
        self.flush()
        self._err.write(fit_line(self._err.encode(spans), indent=0, width=self._err.width))

    def warning(self, text: str) -> None:
        """Something that people must see and that ends nothing."""
        self.note(("warning:", "care"), f" {text}")

    def document(self, value: object) -> None:
        """The one JSON document of ``--json``: a line, or pretty for people at a terminal."""
        from hookline.wire import codec

        encoded = codec.encode(value)
        if self.is_terminal:
            import msgspec

            encoded = _escape_controls(msgspec.json.format(encoded, indent=2))
        self._out.write_bytes(encoded + b"\n")

    def flush(self) -> None:
        """Put out what was shown so far."""
        self._out.use(lambda stream: stream.flush())


class _Writer:
    """One stream: how wide it is, None for no end, and how a line gets there."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.is_terminal = stream is not None and stream.isatty()
        self.width = terminal_width(stream) if self.is_terminal else None
        is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
        self._is_styled = self.is_terminal and not is_dumb and not os.environ.get("NO_COLOR")
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        # Why the rest of the output goes nowhere; a reader who has gone is no reason to complain.
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
        style = _style if self._is_styled else _join
        text = "".join(style(line) + "\n" for line in lines)
        # What was cut to fit ends with a sign of one column, on every terminal.
        if not text.isascii() and not self.can_encode("…"):
            text = text.replace("…", ".")
        self.use(lambda stream: stream.write(text))

    def write_bytes(self, data: bytes) -> None:
        """JSON is UTF-8 whatever the stream's encoding."""

        def put(stream: TextIO) -> None:
            buffer = getattr(stream, "buffer", None)
            if buffer is None:
                stream.write(data.decode("utf-8"))
            else:
                stream.flush()
                buffer.write(data)

        self.use(put)

    def use(self, action: Callable[[TextIO], object]) -> None:
        """A reader who has gone, or a full disk, must not keep a command from its outcome."""
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


def _style(line: Line) -> str:
    styled = ""
    left = len(_join(line))
    for role, group in groupby(line, key=itemgetter(1)):
        # The end of a line has no blanks.
        text = "".join(text for text, _ in group)[:left]
        left -= len(text)
        styled += f"\x1b[{STYLES[role]}m{text}\x1b[0m" if role and text else text
    return styled


def _join(line: Line) -> str:
    return "".join(text for text, _ in line).rstrip()


def terminal_width(stream: TextIO | None) -> int:
    """How many columns a terminal has; ``COLUMNS`` overrules it."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return int(columns)
    try:
        return (stream and os.get_terminal_size(stream.fileno()).columns) or 80
    except (OSError, ValueError):
        return 80


def _escape_controls(encoded: bytes) -> bytes:
    """A JSON text that cannot steer a terminal: a character beyond sixteen bits is written in two
    halves."""

    def escape(character: str) -> str:
        units = character.encode("utf-16-be")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    text = encoded.decode("utf-8")
    return "".join(c if c == "\n" or c.isprintable() else escape(c) for c in text).encode()
