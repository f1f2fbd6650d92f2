"""The three pipes of a process on an event loop, where neither side can hold up the other."""

import contextlib
import os
from collections.abc import Callable, Iterator

from hookline.pipeline.runner.loop import Loop

# What a pipe holds by itself, and as much as an unprivileged process can make one hold on Linux.
_CHUNK = 65_536
_MOST = 1_048_576


@contextlib.contextmanager
def open_pipes() -> Iterator[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Their ends and ours of three pipes: they read from the first and write to the others.

    Theirs are closed in the end, and ours too if the process could not be started.
    """
    made: list[int] = []
    try:
        made += os.pipe()
        made += os.pipe()
        made += os.pipe()
        stdin, our_stdin, our_stdout, stdout, our_stderr, stderr = made
        yield (stdin, stdout, stderr), (our_stdin, our_stdout, our_stderr)
        made = [stdin, stdout, stderr]
    finally:
        for fd in made:
            os.close(fd)


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

    def __init__(self, fd: int, *, keep: Head | Tail, on_change: Callable[[], None]) -> None:
        self._fd = fd
        self._keep = keep
        self._on_change = on_change
        self._loop: Loop | None = None
        self._chunk = _CHUNK
        self.is_open = True

    def start(self, loop: Loop) -> None:
        os.set_blocking(self._fd, False)
        loop.add_reader(self._fd, self._read)
        self._loop = loop

    def sweep(self) -> None:
        """Read what is in the pipe now, bounded in case somebody keeps filling it."""
        left = _MOST
        while self.is_open and left > 0 and self._read():
            left -= self._chunk

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            if self._loop is not None:
                self._loop.remove_reader(self._fd)
            os.close(self._fd)

    def _read(self) -> bool:
        try:
            chunk = os.read(self._fd, self._chunk)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if chunk:
            self._keep.add(chunk)
            if len(chunk) == _CHUNK == self._chunk:
                # There is more where that came from: have it in fewer pieces.
                self._chunk = _MOST
                _enlarge(self._fd, _MOST)
        else:
            self.close()
        self._on_change()
        return True


class Inflow:
    """What a process is to read; one that does not care for it closes the pipe and that is fine."""

    def __init__(self, fd: int, content: bytes) -> None:
        self._fd = fd
        self._rest = memoryview(content)
        self._loop: Loop | None = None
        self._is_open = True

    def start(self, loop: Loop) -> None:
        os.set_blocking(self._fd, False)
        if len(self._rest) > _CHUNK:
            _enlarge(self._fd, len(self._rest))
        if not self._write():
            loop.add_writer(self._fd, self._write)
            self._loop = loop

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            if self._loop is not None:
                self._loop.remove_writer(self._fd)
            os.close(self._fd)

    def _write(self) -> bool:
        """Write what fits; whether that was the last of it."""
        try:
            self._rest = self._rest[os.write(self._fd, self._rest) :]
        except BlockingIOError:
            return False
        except OSError:
            self._rest = self._rest[:0]
        if self._rest:
            return False
        self.close()
        return True


def _enlarge(fd: int, size: int) -> None:
    """Let a pipe hold more, where the system has that and the process may.

    Without it, ten megabytes take an eighth to a fifth longer to reach a hook.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, min(size, _MOST))
