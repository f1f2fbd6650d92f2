"""The three pipes of a process on an event loop, where neither side can hold up the other."""

import asyncio
import os
from collections.abc import Callable
from typing import IO

_CHUNK = 65_536
# As much as an unprivileged process can make a pipe hold on Linux.
_SWEEP_CHUNKS = 16


class Head:
    """Keeps the first ``limit`` bytes and knows when there were more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self.is_over = False

    def add(self, chunk: bytes) -> None:
        room = self._limit - len(self._kept)
        self._kept += chunk[:room]
        self.is_over = self.is_over or len(chunk) > room

    def value(self) -> bytes:
        return bytes(self._kept)


class Tail:
    """Keeps the last ``limit`` bytes; trims at twice that, so every byte is moved at most once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()

    def add(self, chunk: bytes) -> None:
        self._kept += chunk
        if len(self._kept) > 2 * self._limit:
            self._trim()

    def value(self) -> bytes:
        self._trim()
        return bytes(self._kept)

    def _trim(self) -> None:
        del self._kept[: max(0, len(self._kept) - self._limit)]


class Outflow:
    """What a process prints, read as it comes; ``on_change`` is called after every read."""

    def __init__(
        self,
        pipe: IO[bytes],
        loop: asyncio.AbstractEventLoop,
        *,
        keep: Head | Tail,
        on_change: Callable[[], None],
    ) -> None:
        self._pipe = pipe
        self._loop = loop
        self._keep = keep
        self._on_change = on_change
        os.set_blocking(pipe.fileno(), False)
        loop.add_reader(pipe.fileno(), self._read)

    @property
    def is_open(self) -> bool:
        return not self._pipe.closed

    def sweep(self) -> None:
        """Read what is in the pipe now, bounded in case somebody keeps filling it."""
        for _ in range(_SWEEP_CHUNKS):
            if not self.is_open or not self._read():
                break

    def close(self) -> None:
        if self.is_open:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()

    def _read(self) -> bool:
        try:
            chunk = os.read(self._pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if chunk:
            self._keep.add(chunk)
        else:
            self.close()
        self._on_change()
        return True


class Inflow:
    """What a process is to read; one that does not care for it closes the pipe and that is fine."""

    def __init__(self, pipe: IO[bytes], loop: asyncio.AbstractEventLoop, content: bytes) -> None:
        self._pipe = pipe
        self._loop = loop
        self._rest = memoryview(content)
        self._is_waiting = False
        os.set_blocking(pipe.fileno(), False)
        self._write()

    def close(self) -> None:
        if self._pipe.closed:
            return
        if self._is_waiting:
            self._loop.remove_writer(self._pipe.fileno())
        self._pipe.close()

    def _write(self) -> None:
        try:
            self._rest = self._rest[os.write(self._pipe.fileno(), self._rest) :]
        except BlockingIOError:
            pass
        except OSError:
            self._rest = self._rest[:0]
        if not self._rest:
            self.close()
        elif not self._is_waiting:
            self._loop.add_writer(self._pipe.fileno(), self._write)
            self._is_waiting = True
