"""What hooks did, as structured records for whoever listens; local only, and free when nobody does.

Warnings take a second way: they always reach Python's ``logging`` as ``hookline``, so that a
failure is never silent just because no records are kept.
"""

import contextlib
import logging
import os
import stat
import threading
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from hookline.wire import codec
from hookline.wire.clock import timestamp
from hookline.wire.results import HookExecutionResult, ProcessedHookResult

Record: TypeAlias = dict[str, Any]
Sink: TypeAlias = Callable[[Record], None]

MAX_FILE_BYTES = 10 * 1024 * 1024
KEPT_FILES = 3
CLIP_CHARACTERS = 8_192
CLIP_ITEMS = 1_000

_log = logging.getLogger("hookline")


class DebugLogger:
    """Hands records to a sink; ``warn`` replaces Python's logging for what people must see."""

    def __init__(
        self, sink: Sink | None = None, *, warn: Callable[[str], None] | None = None
    ) -> None:
        self._sink = sink
        self._warn = warn or _log.warning

    @classmethod
    def from_environment(cls, **options: Any) -> "DebugLogger":
        """Records to the user's trace file if ``HOOKLINE_TRACE`` asks for it, else to nobody."""
        asked = os.environ.get("HOOKLINE_TRACE", "").strip().lower()
        wanted = asked not in ("", "0", "false", "no", "off")
        return cls(JsonLinesSink(default_trace_file()) if wanted else None, **options)

    @property
    def enabled(self) -> bool:
        """Whether anybody listens; callers build no record when not."""
        return self._sink is not None

    def warning(self, message: str, **fields: Any) -> None:
        """Say something people must see, and record it."""
        self._guarded(self._warn, message)
        if self._sink is not None:
            self.record("warning", message=message, **fields)

    def record(self, kind: str, **fields: Any) -> None:
        """Hand one record to the sink; a sink that fails is reported and the event goes on."""
        if self._sink is not None:
            self._guarded(self._sink, {"kind": kind, "time": timestamp(), **fields})

    def event(
        self,
        processed: ProcessedHookResult,
        payload: Mapping[str, Any] | None,
        *,
        session_id: str,
        event: str,
        target: str,
    ) -> None:
        """Everything about one fired event: each hook, each failure, and the summary."""
        if self._sink is None:
            for result in processed.results:
                if result.warnings or result.failed:
                    self._tell(result, {})
            return
        common = {"session_id": session_id, "event": event, "target": target}
        for result in processed.results:
            self._tell(result, common)
            self._record_hook(result, payload, common)
        failures = sum(1 for result in processed.results if not result.success)
        self.record(
            "batch",
            **common,
            hook_count=len(processed.results),
            success_count=len(processed.results) - failures,
            failure_count=failures,
            total_duration_ms=round(processed.total_duration, 3),
            success=processed.success,
        )

    def _tell(self, result: HookExecutionResult, common: Record) -> None:
        who = f"hook {result.hook.name!r} on {result.event_name.value}"
        for warning in result.warnings:
            self.warning(f"{who}: {warning}", **common, hook=result.hook.name)
        if result.failed is not None:
            self._guarded(self._warn, f"{who} failed: {result.error}")

    def _record_hook(
        self, result: HookExecutionResult, payload: Mapping[str, Any] | None, common: Record
    ) -> None:
        facts = _facts(result)
        self.record("hook", **common, **facts, input=payload)
        if result.failed is not None:
            self.record("diagnostic", **common, **facts)

    def _guarded(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            call(*arguments)
        except Exception:
            _log.warning("the hook log could not be written", exc_info=True)


class JsonLinesSink:
    """A file with one JSON object a line, readable by its owner only, rotated by size.

    Any number of threads and processes may write to it: a line is one append, which the system
    keeps whole, and only one of them rotates.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int = MAX_FILE_BYTES) -> None:
        self.path = Path(path)
        self._max_bytes = max_bytes
        self._lock = threading.Lock()

    def __call__(self, record: Record) -> None:
        line = codec.encode(clipped(record)) + b"\n"
        with self._lock:
            if not self._append(line, rotating=True):
                self._append(line, rotating=False)

    def _append(self, line: bytes, *, rotating: bool) -> bool:
        """Whether the line was written; not if the file was full and made room for a new one."""
        descriptor = self._open()
        try:
            size = os.fstat(descriptor).st_size
            full = size > 0 and size + len(line) > self._max_bytes
            if rotating and full and self._rotate(descriptor):
                return False
            os.write(descriptor, line)
            return True
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, 0o600)
        return descriptor

    def _rotate(self, descriptor: int) -> bool:
        """Whether the file at the path is a new one now; not if another process is about it."""
        if not _try_lock(descriptor):
            return False
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                self._shift()
        return True

    def _shift(self) -> None:
        kept = [self.path, *(Path(f"{self.path}.{n}") for n in range(1, KEPT_FILES + 1))]
        for newer, older in reversed([*pairwise(kept)]):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)


def _try_lock(descriptor: int) -> bool:
    """Take the file for as long as it is open here, without ever waiting for it."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks: one process at a time is the common case
    return True


def default_trace_file() -> Path:
    """Where the trace goes when no other place was named."""
    import platformdirs

    return Path(platformdirs.user_state_dir("hookline", appauthor=False)) / "trace.jsonl"


def clipped(value: Any) -> Any:
    """A copy of a JSON value in which no text, list or object is longer than its clip."""
    if isinstance(value, str):
        over = len(value) - CLIP_CHARACTERS
        return f"{value[:CLIP_CHARACTERS]}… (+{over} characters)" if over > 0 else value
    if isinstance(value, Mapping):
        kept = {key: clipped(item) for key, item in islice(value.items(), CLIP_ITEMS)}
        over = len(value) - CLIP_ITEMS
        return {**kept, "…": f"(+{over} items)"} if over > 0 else kept
    if isinstance(value, list | tuple):
        over = len(value) - CLIP_ITEMS
        items = [clipped(item) for item in value[:CLIP_ITEMS]]
        return [*items, f"… (+{over} items)"] if over > 0 else items
    return value


def _facts(result: HookExecutionResult) -> Record:
    return {
        "hook": result.hook.name,
        "type": result.hook.type,
        "source": result.hook.source.value,
        "duration_ms": round(result.duration, 3),
        "success": result.success,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "failed": result.failed,
        "output": result.output,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "error": result.error,
    }
