"""The log's files as one stream of records, while others go on writing and rotating them.

A line that is not a record is counted and skipped.
"""

import errno
import itertools
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Any, BinaryIO

import msgspec

from hookline._support.escapes import count
from hookline._support.files import open_regular
from hookline.errors import HooklineError
from hookline.wire import codec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a line; which are present depends on the kind."""

    kind: str
    time: str
    id: str = ""
    session_id: str = ""
    event: str = ""
    target: str = ""
    message: str = ""
    code: str | None = None
    hook: str = ""
    type: str = ""
    source: str = ""
    duration_ms: float = 0.0
    success: bool = True
    exit_code: int | None = None
    signal: str | None = None
    failed: str | None = None
    error: str | None = None
    input: Any = None
    output: Any = None
    stdout: str | None = None
    stderr: str | None = None
    hook_count: int = 0
    sequential: bool = False
    started: bool = False
    background: bool = msgspec.field(default=False, name="async")


class Skipped(msgspec.Struct):
    """Counts of what was skipped in a log."""

    foreign: int = 0
    torn: int = 0
    truncated: int = 0

    def __str__(self) -> str:
        """Say what was skipped, empty if nothing was."""
        lines = count(self.foreign, "line that is", "lines that are")
        texts = {
            f"left out {lines} no record of hookline's": self.foreign,
            "left out a line that was only half written": self.torn,
            "the log was cut short while it was read": self.truncated,
        }
        return "; ".join(text for text, times in texts.items() if times)


_decoder = msgspec.json.Decoder(Record)
# How much of a log is in memory at a time, whatever its size.
_PIECE_BYTES = 1024 * 1024
# No hook runs for months.
_LONGEST_MS = 1e10


def read_record(line: bytes) -> Record | None:
    """Return the record in a line, None if there is none."""
    try:
        try:
            record: Record = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            # msgspec rejects lone surrogates, and numbers beyond a double.
            record = msgspec.convert(codec.decode(line), Record)
        time = datetime.fromisoformat(record.time)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    # Durations are subtracted from times: the result must be a valid date.
    is_moment = time.tzinfo is not None and 1970 <= time.year < 9999
    return record if is_moment and 0 <= record.duration_ms <= _LONGEST_MS else None


class TraceLog:
    """Reads each record once, the oldest first; ``skipped`` counts lines that are no records.

    A file stays open until it was read to its end, so nothing is missed when it is rotated.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.skipped = Skipped()
        # The time of the last record read, empty before the first.
        self.newest = ""
        self._file: BinaryIO | None = None
        self._rest = b""

    def poll(self) -> Iterator[Record]:
        """Yield the records written since the last call."""
        while True:
            if self._file is not None:
                yield from self._read_records(self._file)
            newer = self._find_newer_files()
            if not newer:
                return
            if self._file is not None:
                # More may have been written before it was rotated.
                yield from self._read_records(self._file)
            for file in newer:
                self.close()
                self._file = file
                yield from self._read_records(file)

    def close(self) -> None:
        """Close the file; the rest of it is not a whole line."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.skipped.torn += bool(self._rest.strip())
        self._rest = b""

    def _find_newer_files(self) -> list[BinaryIO]:
        """Open the files newer than the current one; return them, the oldest first."""
        current = None if self._file is None else os.fstat(self._file.fileno())
        with suppress(FileNotFoundError):
            if current is not None and os.path.samestat(current, os.stat(self.path)):
                return []
        files: dict[tuple[int, int], BinaryIO] = {}
        # The newest first: a file rotated meanwhile is then found twice, not missed. During a
        # rotation one number has no file.
        missing = 0
        for number in itertools.count():
            file = _open_log_file(f"{self.path}.{number}" if number else self.path)
            missing = missing + 1 if file is None else 0
            if missing > 1:
                break
            if file is None:
                continue
            status = os.fstat(file.fileno())
            if current is not None and os.path.samestat(current, status):
                file.close()
                break
            if files.setdefault((status.st_dev, status.st_ino), file) is not file:
                file.close()
        return [*reversed(files.values())]

    def _read_records(self, file: BinaryIO) -> Iterator[Record]:
        if os.fstat(file.fileno()).st_size < file.tell():
            self.skipped.truncated += 1
            self._rest = b""
            file.seek(0)
        while piece := file.read(_PIECE_BYTES):
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in filter(bytes.strip, lines):
                record = read_record(line)
                if record is None:
                    self.skipped.foreign += 1
                    # A record may follow the remains of one that a full disk or a crash cut off.
                    start = line.rfind(b'{"kind":')
                    record = read_record(line[start:]) if start > 0 else None
                if record is not None:
                    self.newest = record.time
                    yield record


def read_tail(path: str | os.PathLike[str], *, max_bytes: int) -> list[Record]:
    """Return the records in the last bytes of the log, the newest first."""
    records: list[Record] = []
    left = max_bytes
    for name in (os.fspath(path), f"{os.fspath(path)}.1"):
        file = _open_log_file(name) if left > 0 else None
        if file is None:
            continue
        with file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - left))
            lines = file.read().split(b"\n")
            whole = lines[1:-1] if size > left else lines[:-1]
            left -= size
        newest = (read_record(line) for line in reversed(whole))
        records += [record for record in newest if record is not None]
    return records


def _open_log_file(path: str) -> BinaryIO | None:
    try:
        return open_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EISDIR):
            raise
        raise HooklineError(
            f"{path} is not a regular file, so there is no log to read in it"
        ) from None
