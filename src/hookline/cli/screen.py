"""Where verbs show things: they name roles, and only here is it known what a terminal does.

Piped output is plain, whole lines, and costs no import of rich; a terminal gets colour, and
lines that fit. What people must see beside the result goes to stderr.
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TextIO

from hookline.cli.failures import discard
from hookline.cli.layout import Column, Line, Row, Span, fit_line, fit_table

# Role -> style, in rich's words.
STYLES: dict[str, str] = {
    "title": "bold",
    "name": "bold",
    "faint": "dim",
    "matcher": "cyan",
    "good": "green",
    "bad": "bold red",
    "care": "yellow",
    "change": "magenta",
}


class Writer(Protocol):
    """One stream: how wide it is, None for no end, and how a line gets there."""

    width: int | None

    def write(self, line: Line) -> None: ...


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self, stdout: TextIO | None, stderr: TextIO | None) -> None:
        self.is_terminal = _is_terminal(stdout)
        self._stdout = stdout
        self._out = _writer(stdout, styled=self.is_terminal)
        # Colour on stderr alone is not worth the import.
        self._err = _writer(stderr, styled=self.is_terminal and _is_terminal(stderr))

    @property
    def width(self) -> int | None:
        """How many columns there are, None for no end."""
        return self._out.width

    def line(self, *spans: Span, indent: int = 0) -> None:
        """One line, empty without spans."""
        for line in fit_line(spans, indent=indent, width=self._out.width):
            self._out.write(line)

    def table(self, rows: Sequence[Row], columns: Sequence[Column], *, indent: int = 2) -> None:
        """Rows whose cells stand below each other; the last column, which wraps, is not named."""
        for line in fit_table(rows, columns, indent=indent, width=self._out.width):
            self._out.write(line)

    def note(self, *spans: Span) -> None:
        """A line on stderr, below everything that was shown before it."""
        self.flush()
        for line in fit_line(spans, indent=0, width=self._err.width):
            self._err.write(line)

    def warning(self, text: str) -> None:
        """Something that people must see and that ends nothing."""
        self.note(("warning:", "care"), f" {text}")

    def document(self, value: object) -> None:
        """The one JSON document of ``--json``: a line, or pretty for people at a terminal."""
        from hookline.wire import codec

        encoded = codec.encode(value)
        if self.is_terminal:
            import msgspec

            encoded = _without_controls(msgspec.json.format(encoded, indent=2))
        _guarded(self._stdout, lambda stream: _write_bytes(stream, encoded + b"\n"))

    def flush(self) -> None:
        """Put out what was shown so far."""
        _guarded(self._stdout, lambda stream: stream.flush())


class PlainWriter:
    """Lines as they are, however long."""

    width: int | None = None

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, line: Line) -> None:
        """Text alone; roles mean nothing here."""
        _write(self._stream, "".join(text for text, _ in line).rstrip() + "\n")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _writer(stream: TextIO | None, *, styled: bool) -> Writer:
    if stream is None or not styled:
        return PlainWriter(stream)
    from hookline.cli.terminal import TerminalWriter

    return TerminalWriter(stream, colour=not os.environ.get("NO_COLOR"))


def _write(stream: TextIO | None, text: str) -> None:
    def write(stream: TextIO) -> object:
        # A character that the stream's encoding lacks must not end the command.
        encoding = stream.encoding or "utf-8"
        return stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    _guarded(stream, write)


def _write_bytes(stream: TextIO, data: bytes) -> None:
    """JSON is UTF-8 whatever the stream's encoding."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8"))
    else:
        stream.flush()
        buffer.write(data)


def _guarded(stream: TextIO | None, use: Callable[[TextIO], Any]) -> None:
    """A reader who has gone must not change the command's outcome."""
    if stream is None:
        return
    try:
        use(stream)
    except BrokenPipeError:
        discard(stream)


def _without_controls(encoded: bytes) -> bytes:
    # JSON escapes the controls below a space itself.
    text = encoded.decode("utf-8")
    return "".join(c if c < "\x7f" or c > "\x9f" else f"\\u{ord(c):04x}" for c in text).encode()
