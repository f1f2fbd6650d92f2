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


_WRAPPED = "↪"


class Writer(Protocol):
    """One stream: how wide it is, None for no end, and how a line gets there."""

    width: int | None

    def encodable(self, text: str) -> str: ...

    def write(self, line: Line) -> None: ...


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self, stdout: TextIO | None, stderr: TextIO | None) -> None:
        self.is_terminal = _is_terminal(stdout)
        self._stdout = stdout
        # What became of standard output; where errors go there is nobody left to tell.
        self._lost: list[OSError] = []
        self._out = _writer(stdout, self._lost, styled=self.is_terminal)
        # Colour on stderr alone is not worth the import.
        self._err = _writer(stderr, [], styled=self.is_terminal and _is_terminal(stderr))

    def status(self, status: int) -> int:
        """What a command exits with that has shown all it had to show."""
        if not self._lost:
            return status
        from hookline.cli.failures import unwritten

        return unwritten(self._lost[0], status)

    @property
    def width(self) -> int | None:
        """How many columns there are, None for no end."""
        return self._out.width

    def line(self, *spans: Span, indent: int = 0) -> None:
        """One line, empty without spans."""
        for line in fit_line(_shown(spans, self._out), indent=indent, width=self._out.width):
            self._out.write(line)

    def quote(self, *spans: Span, indent: int = 4) -> None:
        """A line of a file or a command; where it has to be wrapped, that is marked."""
        mark = _WRAPPED if self._out.encodable(_WRAPPED) == _WRAPPED else ">"
        shown = _shown(spans, self._out)
        for line in fit_line(shown, indent=indent, width=self._out.width, mark=mark):
            self._out.write(line)

    def table(self, rows: Sequence[Row], columns: Sequence[Column], *, indent: int = 2) -> None:
        """Rows whose cells stand below each other; the last column, which wraps, is not named."""
        shown = [_shown(row, self._out) for row in rows]
        for line in fit_table(shown, columns, indent=indent, width=self._out.width):
            self._out.write(line)

    def note(self, *spans: Span) -> None:
        """A line on stderr, below everything that was shown before it."""
        self.flush()
        for line in fit_line(_shown(spans, self._err), indent=0, width=self._err.width):
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
        guarded(self._stdout, lambda stream: _write_bytes(stream, encoded + b"\n"), self._lost)

    def flush(self) -> None:
        """Put out what was shown so far."""
        guarded(self._stdout, lambda stream: stream.flush(), self._lost)


class PlainWriter:
    """Lines as they are, however long."""

    width: int | None = None

    def __init__(self, stream: TextIO | None, lost: list[OSError]) -> None:
        self._stream = stream
        self._lost = lost

    def encodable(self, text: str) -> str:
        """Nothing has to fit here, so that can wait until it is written."""
        return text

    def write(self, line: Line) -> None:
        """Text alone; roles mean nothing here."""
        text = "".join(text for text, _ in line).rstrip() + "\n"
        guarded(self._stream, lambda stream: stream.write(encodable(text, stream)), self._lost)


def _shown(spans: Row, writer: Writer) -> Row:
    return [
        writer.encodable(span) if isinstance(span, str) else (writer.encodable(span[0]), span[1])
        for span in spans
    ]


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _writer(stream: TextIO | None, lost: list[OSError], *, styled: bool) -> Writer:
    if stream is None or not styled:
        return PlainWriter(stream, lost)
    from hookline.cli.terminal import TerminalWriter

    return TerminalWriter(stream, lost, colour=not os.environ.get("NO_COLOR"))


def encodable(text: str, stream: TextIO) -> str:
    """The text with what the stream's encoding lacks written out: that must not end a command."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _write_bytes(stream: TextIO, data: bytes) -> None:
    """JSON is UTF-8 whatever the stream's encoding."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(data.decode("utf-8"))
    else:
        stream.flush()
        buffer.write(data)


def guarded(stream: TextIO | None, use: Callable[[TextIO], Any], lost: list[OSError]) -> None:
    """A reader who has gone, or a full disk, must not keep a command from its outcome."""
    if stream is None:
        return
    try:
        use(stream)
    except BrokenPipeError:
        discard(stream)
    except OSError as error:
        discard(stream)
        lost.append(error)


def _without_controls(encoded: bytes) -> bytes:
    text = encoded.decode("utf-8")
    if text.isprintable():
        return encoded
    return "".join(c if c == "\n" or c.isprintable() else _escaped(c) for c in text).encode()


def _escaped(character: str) -> str:
    """As JSON writes it, in two halves where it is beyond the sixteen bits of one."""
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
