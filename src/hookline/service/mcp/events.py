"""Parses server-sent events from a body in pieces, as the HTML standard says, with a limit.

It works on bytes: fields and line ends are ASCII, so a character that was cut between two pieces is
whole again before it is decoded.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """An event has more bytes than the limit."""


class Event(NamedTuple):
    kind: str
    data: bytes


class EventParser:
    """The parser of one stream; it keeps at most ``limit`` bytes.

    ``last_id`` is the id of the last complete event, ``retry`` the milliseconds that the server
    asks a client to wait before it connects again.
    """

    def __init__(self, limit: int) -> None:
        self.last_id = ""
        self.retry: int | None = None
        self._limit = limit
        self._line = bytearray()
        self._data = bytearray()
        self._kind = self._id = b""
        self._after_cr = False
        self._first_line = True

    def feed(self, piece: bytes) -> Iterator[Event]:
        """Yield the events that end in this piece; raises ``EventTooLarge``."""
        if not piece:
            return
        if self._after_cr and piece[0] == 0x0A:
            piece = piece[1:]
        self._after_cr = piece.endswith(b"\r")
        start = 0
        for end in _LINE_END.finditer(piece):
            self._keep(piece[start : end.start()])
            start = end.end()
            line = bytes(self._line)
            self._line.clear()
            if self._first_line:
                self._first_line = False
                line = line.removeprefix(_BOM)
            if line:
                self._take_field(line)
            elif (event := self._end_event()) is not None:
                yield event
        self._keep(piece[start:])

    def _keep(self, part: bytes) -> None:
        self._line += part
        if len(self._line) + len(self._data) > self._limit:
            raise EventTooLarge

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data += value + b"\n"
            case b"event":
                self._kind = value
            case b"id" if b"\0" not in value:
                self._id = value
            case b"retry" if value.isdigit() and len(value) < 10:
                self.retry = int(value)

    def _end_event(self) -> Event | None:
        self.last_id = self._id.decode("utf-8", "replace")
        kind, data = self._kind.decode("utf-8", "replace"), bytes(self._data)
        self._kind = b""
        self._data.clear()
        return Event(kind or "message", _replace_invalid_utf8(data[:-1])) if data else None


def _replace_invalid_utf8(data: bytes) -> bytes:
    return data if data.isascii() else data.decode("utf-8", "replace").encode()
