"""Lines of the log as typed records; a line that is none is counted, and never the end."""

from datetime import datetime
from typing import Any

import msgspec

from hookline.wire import codec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What a line may say; which of it is there depends on the kind."""

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


class Skipped(msgspec.Struct):
    """What a log held beside records."""

    foreign: int = 0
    torn: int = 0
    truncated: int = 0

    def __str__(self) -> str:
        """What people should know of it, empty if there is nothing to know."""
        lines = "1 line that is" if self.foreign == 1 else f"{self.foreign} lines that are"
        said = {
            f"left out {lines} no record of hookline's": self.foreign,
            "left out a line that was only half written": self.torn,
            "the log was cut short while it was read": self.truncated,
        }
        return "; ".join(text for text, times in said.items() if times)


_decoder = msgspec.json.Decoder(Record)


def read_record(line: bytes) -> Record | None:
    """The record of a line, None for a line that holds none."""
    try:
        record: Record | None = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        record = _read_leniently(line)
    return record if record is not None and _is_moment(record.time) else None


def _read_leniently(line: bytes) -> Record | None:
    """What msgspec turns down at first: lone surrogates, and numbers beyond a double."""
    try:
        return msgspec.convert(codec.decode(line), Record)
    except (msgspec.DecodeError, RecursionError):
        return None


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
