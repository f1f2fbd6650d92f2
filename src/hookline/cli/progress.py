"""A line that is written over as work goes on, for people at a terminal alone."""

import os
from typing import TextIO

from hookline.cli.text import printable, width_of

# What a terminal puts behind the text for a Ctrl-C: ^C.
_ECHO = 2


class Progress:
    """Shows one short text at a time on a terminal; anywhere else nothing at all.

    ``with`` clears it however the work ends.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._width = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_how: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        """Put a text in the place of the last one."""
        if self._stream is None:
            return
        encoding = self._stream.encoding or "utf-8"
        text = printable(text).replace("\n", " ").encode(encoding, "replace").decode(encoding)
        text = _fitting(text, _columns(self._stream))
        width = width_of(text)
        self._stream.write(f"\r{text}{' ' * (self._width - width)}")
        self._stream.flush()
        self._width = width

    def clear(self) -> None:
        """Leave the line as if nothing had been there."""
        if self._stream is not None and self._width:
            blank = min(self._width + _ECHO, _columns(self._stream) - 1)
            self._stream.write(f"\r{' ' * blank}\r")
            self._stream.flush()
            self._width = 0


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _fitting(text: str, columns: int) -> str:
    """As much as fits in a line and leaves the last column free: a line that wraps cannot be
    written over."""
    while width_of(text) >= columns and text:
        text = text[:-1]
    return text
