"""Reads server-sent events from a body in pieces, as the HTML standard says, with a limit.

It works on bytes: fields and line ends are ASCII, so a character that was cut between two pieces is
whole again before it is decoded.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hookline.errors import HooklineError

_LINE_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class EventTooLarge(HooklineError):
    """An event has more bytes than the limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"a server-sent event has more than {limit:,} bytes")


class ServerSentEvent(NamedTuple):
    """Lines up to an empty one: ``raw`` as they came, ``data`` of their data fields; None if they
    have none, which the standard does not take for an event."""

    kind: str
    data: bytes | None
    raw: bytes


class EventReader:
    """Reads one stream; it keeps at most ``limit`` bytes, those of one event.

    ``last_id`` is the id of the last complete event, ``retry`` the milliseconds that the server
    asks a client to wait before it connects again.
    """

    def __init__(self, limit: int) -> None:
        self.last_id = ""
        self.retry: int | None = None
        self._limit = limit
        self._raw = bytearray()
        self._line_start = 0
        self._data: list[bytes] = []
        self._kind = self._id = b""
        self._after_cr = False
        self._is_first_line = True

    def feed(self, piece: bytes) -> Iterator[ServerSentEvent]:
        """Yield the events that end in this piece; raises ``EventTooLarge``."""
        if not piece:
            return
        if self._after_cr:
            piece = piece.removeprefix(b"\n")
        self._after_cr = piece.endswith(b"\r")
        start = 0
        for end in _LINE_END.finditer(piece):
            self._keep(piece[start : end.start()])
            line = bytes(self._raw[self._line_start :])
            if self._is_first_line:
                self._is_first_line = False
                if line.startswith(_BOM):
                    del self._raw[: len(_BOM)]
                    line = line.removeprefix(_BOM)
            self._raw += end[0]
            self._line_start = len(self._raw)
            start = end.end()
            if line:
                self._take_field(line)
            elif (event := self._end_event()) is not None:
                yield event
        self._keep(piece[start:])

    def end(self) -> ServerSentEvent | None:
        """Return what came after the last empty line, which the standard leaves out; None if that
        is nothing."""
        if len(self._raw) > self._line_start:
            self._take_field(bytes(self._raw[self._line_start :]))
        return self._end_event()

    def _keep(self, part: bytes) -> None:
        self._raw += part
        # A line end, which is added to a whole line, breaks no limit by itself.
        if part and len(self._raw) > self._limit:
            raise EventTooLarge(self._limit)

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._kind = value
            case b"id" if b"\0" not in value:
                self._id = value
            case b"retry" if value.isdigit() and len(value) < 10:
                self.retry = int(value)

    def _end_event(self) -> ServerSentEvent | None:
        self.last_id = self._id.decode("utf-8", "replace")
        kind = self._kind.decode("utf-8", "replace") or "message"
        data = _replace_invalid_utf8(b"\n".join(self._data)) if self._data else None
        raw = bytes(self._raw)
        self._kind = b""
        self._data.clear()
        self._raw.clear()
        self._line_start = 0
        return ServerSentEvent(kind, data, raw) if raw.strip(b"\r\n") else None


def _replace_invalid_utf8(data: bytes) -> bytes:
    return data if data.isascii() else data.decode("utf-8", "replace").encode()
