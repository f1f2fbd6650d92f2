"""Reads and writes lines over descriptors in asyncio: bounded in size, and never half a line.

asyncio's own streams take only pipes and sockets, cannot cancel a write, and would leave the
parent's standard streams non-blocking when this process ends.
"""

import asyncio
import contextlib
import errno
import os
import select
from collections import deque
from collections.abc import Iterator

from hookline.service.mcp.messages import Fault, Message, read_messages

# Larger than any host sends; a message is in memory a few times while hooks read it.
MAX_MESSAGE = 64 * 1024 * 1024
_CHUNK = 1024 * 1024
# Linux lets programs raise it to this.
_MOST_IN_A_PIPE = 4 * _CHUNK
# A writer waits while more than this is unread.
_HIGH_WATER = 256 * 1024


class MessageTooLong(Exception):
    """A line is longer than the limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"a message of more than {limit:,} bytes")


class Lines:
    """The lines of a descriptor, which it owns and closes."""

    def __init__(self, fd: int, *, limit: int = MAX_MESSAGE) -> None:
        self._fd = fd
        self._limit = limit
        self._buffer = bytearray()
        self._searched = 0
        self._has_ended = False
        self._is_abandoned = False
        self._waiter: asyncio.Future[None] | None = None

    async def next(self) -> bytes | None:
        """Return the next line that is not blank, without its end; None after the last. Raises
        MessageTooLong."""
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if max(end, 0) > self._limit or (end < 0 and len(self._buffer) > self._limit):
                raise MessageTooLong(self._limit)
            if end < 0 and not self._has_ended:
                self._searched = len(self._buffer)
                await self._read_chunk()
                continue
            line = bytes(self._buffer if end < 0 else self._buffer[:end])
            del self._buffer[: len(line) + 1]
            self._searched = 0
            if line.strip():
                return line
            if end < 0:
                return None

    def abandon(self) -> None:
        """Return what can be read now, and then the end: the writer is gone, though another
        process may hold the other side open."""
        self._is_abandoned = True
        self._wake()

    def finish(self) -> None:
        """Take what can be read now, and close: all writers are gone, or should be."""
        for _ in range(_MOST_IN_A_PIPE // _CHUNK):
            if self._fd < 0 or self._has_ended or not self._is_readable():
                break
            self._take_chunk()
        self.close()

    def close(self) -> None:
        """Stop reading; ``next`` still returns the lines that were read."""
        if self._fd >= 0:
            self._unwatch()
            os.close(self._fd)
            self._fd = -1
        self._has_ended = True
        self._wake()

    def _unwatch(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _read_chunk(self) -> None:
        if not self._is_abandoned:
            await self._wait_until_readable()
        if self._has_ended:
            return
        if self._is_abandoned and not self._is_readable():
            self._has_ended = True
            return
        self._take_chunk()

    def _is_readable(self) -> bool:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return bool(poll.poll(0))

    def _take_chunk(self) -> None:
        try:
            chunk = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._buffer += chunk
        if not chunk:
            self._has_ended = True

    async def _wait_until_readable(self) -> None:
        """Wait until the descriptor has data, without making it non-blocking."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        try:
            loop.add_reader(self._fd, self._wake)
        except OSError:
            # A regular file, which is always readable.
            await asyncio.sleep(0)
            return
        try:
            await self._waiter
        finally:
            self._waiter = None
            # If it was closed in the meantime, its number may be in use again.
            if self._fd >= 0:
                self._unwatch()


class MessageReader:
    """The messages in the lines of a descriptor, those of a batch one by one."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._line: Iterator[Message | Fault] = iter(())

    async def next(self) -> Message | Fault | None:
        """Return the next message; None after the last. Raises MessageTooLong."""
        while (message := next(self._line, None)) is None:
            line = await self._lines.next()
            if line is None:
                return None
            self._line = read_messages(line)
        return message


class Outlet:
    """Writes lines to a descriptor, which it owns and closes, in order.

    ``write`` never waits, ``drain`` does: so a caller that is cancelled leaves no half a line.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._was_blocking = os.get_blocking(fd)
        os.set_blocking(fd, False)
        self._waiting: deque[memoryview] = deque()
        self._size = 0
        self._is_watched = False
        self._drained: asyncio.Future[None] | None = None
        self.lost: OSError | None = None

    def write(self, line: bytes) -> None:
        """Queue a line, given without its end; dropped once ``lost`` says why nobody reads."""
        if self.lost is None:
            self._waiting.append(memoryview(line + b"\n"))
            self._size += len(line) + 1
            if not self._is_watched:
                self._flush()

    async def drain(self, *, below: int = _HIGH_WATER) -> None:
        """Wait until at most ``below`` bytes are left to write."""
        while self._size > below and self.lost is None:
            if self._drained is None:
                self._drained = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._drained)

    def close(self) -> None:
        """Stop writing; drops what is not written yet."""
        if self._fd >= 0:
            self._unwatch()
            with contextlib.suppress(OSError):
                # Other processes may share the pipe or terminal.
                os.set_blocking(self._fd, self._was_blocking)
            os.close(self._fd)
            self._fd = -1
        self._record_loss(BrokenPipeError(errno.EPIPE, "closed"))

    def _flush(self) -> None:
        try:
            while self._waiting:
                part = self._waiting[0]
                written = os.write(self._fd, part)
                self._size -= written
                if written == len(part):
                    self._waiting.popleft()
                else:
                    self._waiting[0] = part[written:]
        except BlockingIOError:
            if not self._is_watched:
                asyncio.get_running_loop().add_writer(self._fd, self._flush)
                self._is_watched = True
        except OSError as error:
            self._record_loss(error)
            return
        if not self._waiting:
            self._unwatch()
        if self._size <= _HIGH_WATER:
            self._wake_drainers()

    def _record_loss(self, error: OSError) -> None:
        if self.lost is None:
            self.lost = error
        self._unwatch()
        self._waiting.clear()
        self._size = 0
        self._wake_drainers()

    def _wake_drainers(self) -> None:
        """Let all callers of ``drain`` look again."""
        if self._drained is not None:
            drained, self._drained = self._drained, None
            drained.set_result(None)

    def _unwatch(self) -> None:
        if self._is_watched:
            asyncio.get_running_loop().remove_writer(self._fd)
            self._is_watched = False
