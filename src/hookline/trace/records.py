"""Structured records of what hooks did, for a sink on this machine; free when there is none.

Warnings always reach Python's ``logging`` as ``hookline`` as well, so that a failure is never
silent because no records are kept.
"""

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Mapping
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline._support.fork import owned_by_process
from hookline._support.notices import Notice
from hookline._support.notices import warn as warn_people
from hookline._support.places import user_state_dir
from hookline._support.secrets import Secrets
from hookline.errors import HooklineError
from hookline.pipeline.answer import ProcessedHookResult
from hookline.wire import codec
from hookline.wire.codec import timestamp
from hookline.wire.results import HookExecutionResult

# Only a trace needs pathlib: Python 3.11 takes longer to load it than a hook runs.
if TYPE_CHECKING:
    from pathlib import Path

Record: TypeAlias = dict[str, Any]
Sink: TypeAlias = Callable[[Record], None]

MAX_FILE_BYTES = 10 * 1024 * 1024
# Full files beside the one that is written.
OLDER_FILES = 3
CLIP_CHARACTERS = 8_192
CLIP_ITEMS = 1_000
# No letter that could be mistaken for another.
_ID_LETTERS = "23456789abcdefghijkmnpqrstuvwxyz"


class DebugLogger:
    """Passes records to a sink; ``warn`` replaces Python's logging for warnings."""

    def __init__(
        self, sink: Sink | None = None, *, warn: Callable[[str], None] | None = None
    ) -> None:
        self._sink = sink
        self._warn = warn or warn_people
        self._secrets: Secrets | None = None

    @classmethod
    def from_environment(
        cls,
        *,
        default: bool = False,
        max_bytes: int | None = None,
        older_files: int | None = None,
        **options: Any,
    ) -> "DebugLogger":
        """Return a logger that writes to the user's trace file if ``HOOKLINE_TRACE``, or else
        ``default``, asks for it. If there is no directory for the file, the logger warns and keeps
        no records. ``max_bytes`` and ``older_files``, or else ``HOOKLINE_TRACE_MB`` and
        ``HOOKLINE_TRACE_FILES``, limit what the trace takes on the disk."""
        log = cls(**options)
        if is_trace_wanted(default=default):
            if max_bytes is None:
                mebibytes = log._read_number("HOOKLINE_TRACE_MB", least=1)
                max_bytes = MAX_FILE_BYTES if mebibytes is None else mebibytes * 1024 * 1024
            if older_files is None:
                number = log._read_number("HOOKLINE_TRACE_FILES", least=0)
                older_files = OLDER_FILES if number is None else number
            try:
                path = default_trace_file()
                log._sink = JsonLinesSink(path, max_bytes=max_bytes, older_files=older_files)
            except HooklineError as error:
                log.warning(str(error))
        return log

    def _read_number(self, variable: str, *, least: int) -> int | None:
        """Return a variable's whole number; None, with a warning, if it has none."""
        text = os.environ.get(variable, "").strip()
        if not text:
            return None
        if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= least:
            return int(text)
        self.warning(f"{variable} is {text!r}; set it to a whole number from {least} on")
        return None

    @property
    def enabled(self) -> bool:
        """True if there is a sink; without one, callers build no records."""
        return self._sink is not None

    def warning(self, message: str, *, kind: str = "", **fields: Any) -> None:
        """Log a warning, and record it; ``kind`` is that of a Notice."""
        self._warn_people(message, kind, fields.get("hook", ""))
        if self._sink is not None:
            self.record("warning", message=message, **fields)

    def record(self, kind: str, **fields: Any) -> None:
        """Pass one record to the sink; if the sink fails, that is logged and the event goes on."""
        if self._sink is not None:
            hidden = fields if self._secrets is None else self._secrets.hidden(fields)
            self._call_guarded(self._sink, {"kind": kind, "time": timestamp(), **hidden})

    def event(
        self,
        processed: ProcessedHookResult,
        payload: Mapping[str, Any] | None,
        *,
        session_id: str,
        event: str,
        target: str,
        actor: Mapping[str, Any] | None = None,
    ) -> None:
        """Record everything about one fired event: each hook, each failure, and the summary, which
        has the fields of the ``actor`` too."""
        if self._sink is None:
            for result in processed.results:
                if result.warnings or result.failed:
                    self._warn_of_hook(result, {})
            return
        common = {"id": _make_id(), "session_id": session_id, "event": event, "target": target}
        for result in processed.results:
            self._record_hook(result, common, payload)
        output = processed.final_output
        failures = sum(1 for result in processed.results if not result.success)
        self.record(
            "batch",
            **common,
            hook_count=len(processed.results),
            success_count=len(processed.results) - failures,
            failure_count=failures,
            total_duration_ms=round(processed.total_duration, 3),
            success=processed.success,
            sequential=processed.plan is not None and processed.plan.sequential,
            output=output.to_wire() if output is not None else None,
            **(actor or {}),
        )

    def ended(
        self,
        result: HookExecutionResult,
        payload: Mapping[str, Any],
        *,
        session_id: str,
        target: str,
    ) -> None:
        """Record the end of an async hook under an id of its own, as its event was recorded
        before."""
        if self._sink is None:
            self._warn_of_hook(result, {})
            return
        event = result.event_name.value
        about = {"id": _make_id(), "session_id": session_id, "event": event, "target": target}
        common = {**about, "async": True}
        self._record_hook(result, common, payload)
        self.record("batch", **common, hook_count=1, success=result.success)

    def _record_hook(
        self, result: HookExecutionResult, common: Record, payload: Mapping[str, Any] | None
    ) -> None:
        self._warn_of_hook(result, common)
        facts = {
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
        if result.started:
            facts["started"] = True
        self.record("hook", **common, **facts, input=payload)
        if result.failed is not None:
            self.record("diagnostic", **common, **facts)

    def _warn_of_hook(self, result: HookExecutionResult, common: Record) -> None:
        if env := getattr(result.hook, "env", None):
            self._secrets = self._secrets or Secrets()
            self._secrets.learn(env)
        who = f"hook {result.hook.name!r} on {result.event_name.value}"
        for warning in result.warnings:
            self.warning(f"{who}: {warning}", **common, hook=result.hook.name)
        if result.failed is not None:
            self._warn_people(f"{who} failed: {result.error}", "hook-failed", result.hook.name)

    def _warn_people(self, message: str, kind: str, hook: str) -> None:
        """Log a warning without secrets, as the log may be kept."""

        def warn() -> None:
            hidden = Secrets(os.environ).hidden(message)
            if self._secrets is not None:
                hidden = self._secrets.hidden(hidden)
            self._warn(Notice(hidden, kind, hook))

        self._call_guarded(warn)

    def _call_guarded(self, call: Callable[..., object], *arguments: object) -> None:
        try:
            call(*arguments)
        except Exception as error:
            warn_people("cannot write the hook log", error=error)


class JsonLinesSink:
    """A file with one JSON object per line, readable by its owner only, rotated by size.

    Secrets of this process's environment are hidden wherever they appear. Any number of threads
    and processes may write to the file: a line is one append, which the system keeps whole, and
    only one of them rotates. ``max_bytes`` is the size at which a file is full, ``older_files`` the
    number of full files that are kept beside it.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_FILE_BYTES,
        older_files: int = OLDER_FILES,
    ) -> None:
        from pathlib import Path

        self.path: Path = Path(path)
        self._max_bytes = max_bytes
        self._older_files = older_files
        self._secrets = Secrets()
        self.forget()
        owned_by_process.add(self)

    def forget(self) -> None:
        """Replace the lock in a forked child, where a thread that is gone may hold it."""
        self._lock = threading.Lock()

    def __call__(self, record: Record) -> None:
        # The environment may have changed; earlier secrets stay hidden.
        self._secrets.learn(os.environ)
        line = codec.encode_seen(clip(self._secrets.hidden(record))) + b"\n"
        with self._lock:
            if not self._append(line, rotating=True):
                self._append(line, rotating=False)

    def _append(self, line: bytes, *, rotating: bool) -> bool:
        """Write the line and return True; return False if the full file was rotated instead."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                with contextlib.suppress(OSError):
                    os.fchmod(descriptor, 0o600)
            full = status.st_size > 0 and status.st_size + len(line) > self._max_bytes
            if rotating and full and self._rotate(descriptor):
                return False
            if os.write(descriptor, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(self.path))
            return True
        finally:
            os.close(descriptor)

    def _rotate(self, descriptor: int) -> bool:
        """Move the full file away and return True; return False if another process is doing it."""
        # On a file system without locks, one process at a time is the common case.
        with contextlib.suppress(ImportError, OSError):
            import fcntl

            try:
                # Held until the file is closed; a process that does not get it does not wait.
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                numbers = range(1, self._older_files + 1)
                files = [
                    self.path,
                    *(self.path.with_name(f"{self.path.name}.{n}") for n in numbers),
                ]
                for newer, older in reversed([*pairwise(files)]):
                    with contextlib.suppress(FileNotFoundError):
                        newer.replace(older)
                if not self._older_files:
                    self.path.unlink()
        return True


def _make_id() -> str:
    """Return an id for the records of one event, short enough to type."""
    return "".join(_ID_LETTERS[byte & 31] for byte in os.urandom(6))


def is_trace_wanted(*, default: bool) -> bool:
    """True if a trace should be kept: HOOKLINE_TRACE decides, or else ``default``."""
    word = os.environ.get("HOOKLINE_TRACE", "").strip().lower()
    return word not in ("0", "false", "no", "off") if word else default


def default_trace_path() -> str:
    """Return the path of the user's trace file; raises HooklineError if there is no directory."""
    directory = user_state_dir()
    if directory is None:
        raise HooklineError("no home directory for the trace; set HOME or XDG_STATE_HOME")
    return os.path.join(directory, "trace.jsonl")


def default_trace_file() -> "Path":
    """Return ``default_trace_path()`` as a Path."""
    from pathlib import Path

    return Path(default_trace_path())


def clip(value: Any) -> Any:
    """Return a copy of a JSON value with long texts, lists and objects cut to their limits."""
    if isinstance(value, str):
        over = len(value) - CLIP_CHARACTERS
        return f"{value[:CLIP_CHARACTERS]}… (+{over} characters)" if over > 0 else value
    if isinstance(value, Mapping):
        fields = {key: clip(item) for key, item in islice(value.items(), CLIP_ITEMS)}
        over = len(value) - CLIP_ITEMS
        return {**fields, "…": f"(+{over} items)"} if over > 0 else fields
    if isinstance(value, list | tuple):
        over = len(value) - CLIP_ITEMS
        items = [clip(item) for item in value[:CLIP_ITEMS]]
        return [*items, f"… (+{over} items)"] if over > 0 else items
    return value
