"""The log's files as one stream of records, while others go on writing and rotating them."""

import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from hookline.debuglog import KEPT_FILES
from hookline.errors import HooklineError
from hookline.trace.records import Record, Skipped, read_record


class TraceLog:
    """Reads each record once, the oldest first; ``skipped`` counts what was no record.

    A file is kept open until its end was read, so nothing is missed when it is moved away.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.skipped = Skipped()
        self._file: BinaryIO | None = None
        self._rest = b""

    def poll(self) -> Iterator[Record]:
        """The records that came since the last time."""
        while True:
            if self._file is not None:
                yield from self._read(self._file)
            newer = self._newer()
            if not newer:
                return
            if self._file is not None:
                # Something may have been written before it was moved away.
                yield from self._read(self._file)
            for file in newer:
                self.close()
                self._file = file
                yield from self._read(file)

    def close(self) -> None:
        """Let go of the file; what is left of it is no whole line."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.skipped.torn += bool(self._rest.strip())
        self._rest = b""

    def _newer(self) -> list[BinaryIO]:
        """The files that are newer than the one at hand, the oldest first, opened."""
        known = None if self._file is None else _identity(self._file)
        if known is not None and known == _identity_at(self.path):
            return []
        found: dict[tuple[int, int], BinaryIO] = {}
        # The newest first: a file that is moved meanwhile is then met twice, and not missed.
        for number in range(KEPT_FILES + 1):
            file = _open(f"{self.path}.{number}" if number else self.path)
            if file is None:
                continue
            identity = _identity(file)
            if identity == known:
                file.close()
                break
            if identity in found:
                file.close()
            else:
                found[identity] = file
        return [*reversed(found.values())]

    def _read(self, file: BinaryIO) -> Iterator[Record]:
        if os.fstat(file.fileno()).st_size < file.tell():
            self.skipped.truncated += 1
            self._rest = b""
            file.seek(0)
        *lines, self._rest = (self._rest + file.read()).split(b"\n")
        for line in filter(bytes.strip, lines):
            record = read_record(line)
            if record is None:
                self.skipped.foreign += 1
                record = _after_a_torn_one(line)
            if record is not None:
                yield record


def read_tail(path: str | os.PathLike[str], *, max_bytes: int) -> list[Record]:
    """The newest records, the newest first: as many as stand in the last bytes of the log."""
    records: list[Record] = []
    left = max_bytes
    for name in (os.fspath(path), f"{os.fspath(path)}.1"):
        file = _open(name) if left > 0 else None
        if file is None:
            continue
        with file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - left))
            lines = file.read().split(b"\n")
            whole = lines[1:-1] if size > left else lines[:-1]
            left -= size
        found = (read_record(line) for line in reversed(whole))
        records += [record for record in found if record is not None]
    return records


def _after_a_torn_one(line: bytes) -> Record | None:
    """The record that stands behind what a full disk or a crash has left of another."""
    start = line.rfind(b'{"kind":')
    return read_record(line[start:]) if start > 0 else None


def _open(path: str) -> BinaryIO | None:
    try:
        # Opening a pipe would wait for its writer.
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise HooklineError(f"{path} is not a regular file, so there is no log to read in it")
        return open(path, "rb")
    except FileNotFoundError:
        return None


def _identity(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def _identity_at(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
