"""What one fired event was, put together from the records that hooks and the engine left of it."""

from datetime import datetime, timedelta
from typing import Any
from zlib import crc32

import msgspec

from hookline.answer import Answer, hook_word
from hookline.fired import FiredEvent
from hookline.trace.log import Record
from hookline.wire.events import EVENTS, EventName, find_event

# A hook's word -> what it makes of the event where its end was never written, strongest first.
_STRONGEST = {"stop": "stop", "deny": "blocked", "block": "blocked", "answers": "blocked"}
_STRONGEST |= {"ask": "ask"}
# What a run has from its record as it is.
_KEPT = (
    *("hook", "type", "source", "duration_ms", "success"),
    *("exit_code", "signal", "failed", "error", "output"),
)


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """One hook's part; ``start_ms`` counts from the event's start, as far as it is known. One that
    nobody waited for was ``started`` by its event, and is ``background`` in the entry of its end.
    """

    hook: str
    type: str
    source: str
    decision: str
    reason: str
    start_ms: float
    duration_ms: float
    success: bool
    exit_code: int | None
    signal: str | None
    failed: str | None
    error: str | None
    output: Any
    stdout: str
    stderr: str
    warnings: tuple[str, ...] = ()
    started: bool = False
    background: bool = msgspec.field(default=False, name="async")


class TracedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event; ``time`` is when it began. ``complete`` is False when its end was not written.

    ``decision`` is allowed, blocked, stop, ask or no hook; failed for an event that the engine
    could not carry out, warning for what was said apart from any event, and async for the end of a
    hook that nobody waited for.
    """

    id: str
    time: str
    session_id: str
    event: str = ""
    target: str = ""
    decision: str
    reason: str | None
    duration_ms: float = 0.0
    sequential: bool = False
    complete: bool = True
    hooks: tuple[HookRun, ...] = ()
    input: Any = None
    output: Any = None
    warnings: tuple[str, ...] = ()

    @property
    def has_failures(self) -> bool:
        """Whether something went wrong, a block not counted."""
        return self.decision == "failed" or any(run.failed is not None for run in self.hooks)


class Assembler:
    """Puts records together, in whatever order several processes have written them."""

    def __init__(self) -> None:
        self._open: dict[object, list[Record]] = {}

    def add(self, record: Record) -> TracedEvent | None:
        """The event that this record completes."""
        if record.kind == "warning" and not record.event:
            return TracedEvent(
                id=_id_of(record),
                time=record.time,
                session_id=record.session_id,
                decision="failed" if record.code else "warning",
                reason=record.message,
            )
        if record.kind not in ("hook", "warning", "batch"):
            return None
        key = record.id or (record.session_id, record.event, record.target)
        if record.kind != "batch":
            self._open.setdefault(key, []).append(record)
            return None
        return _event(self._open.pop(key, []), record)

    def unfinished(self) -> list[TracedEvent]:
        """The events whose end has not come, which are forgotten here."""
        left, self._open = self._open, {}
        return [_event(records, None) for records in left.values()]


def event_named(name: str) -> EventName | None:
    """The event of that name; a log of a later version may have more of them."""
    return find_event(name)


def _event(records: list[Record], batch: Record | None) -> TracedEvent:
    last = batch or records[-1]
    sequential = batch is not None and batch.sequential
    hooks = [record for record in records if record.kind == "hook"]
    warnings = [record for record in records if record.kind == "warning"]
    runs: list[HookRun] = []
    span = start = 0.0
    for record in hooks:
        word, why = decision_of(record)
        run = HookRun(
            **{name: getattr(record, name) for name in _KEPT},
            decision=word,
            reason=why,
            start_ms=round(start, 3),
            stdout=record.stdout or "",
            stderr=record.stderr or "",
            warnings=tuple(each.message for each in warnings if each.hook == record.hook),
            started=record.started,
            background=record.background,
        )
        runs.append(run)
        span = max(span, run.start_ms + record.duration_ms)
        start += record.duration_ms if sequential else 0.0
    event = event_named(last.event)
    decision, reason = "allowed", None
    if last.background:
        # Whatever it says comes too late to decide anything.
        decision = "async"
    elif batch is not None and isinstance(batch.output, dict) and event is not None:
        answer = Answer.read(FiredEvent(event), batch.output)
        decision, reason = answer.word, answer.why
    elif batch is not None and batch.hook_count == 0:
        decision = "no hook"
    else:
        blockable = event is not None and EVENTS[event].blockable
        meant = {word: said for word, said in _STRONGEST.items() if blockable or said == "ask"}
        deciding = [run for word in meant for run in runs if run.decision == word]
        if deciding:
            decision, reason = meant[deciding[0].decision], deciding[0].reason or None
    named = {run.hook for run in runs}
    began = datetime.fromisoformat(last.time) - timedelta(milliseconds=span)
    return TracedEvent(
        id=_id_of(last),
        time=began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        session_id=last.session_id,
        event=last.event,
        target=last.target,
        decision=decision,
        reason=reason,
        duration_ms=round(span, 3),
        sequential=sequential,
        complete=batch is not None and batch.hook_count == len(runs),
        hooks=tuple(runs),
        input=hooks[0].input if hooks else None,
        output=batch.output if batch else None,
        warnings=tuple(warning.message for warning in warnings if warning.hook not in named),
    )


def decision_of(record: Record) -> tuple[str, str]:
    """A hook's own decision and its reason, from the record of its run."""
    if record.started:
        return "started", ""
    event = event_named(record.event)
    if event is None:
        return record.failed or "ok", ""
    return hook_word(
        event,
        record.output if isinstance(record.output, dict) else None,
        failed=record.failed,
        exit_code=record.exit_code,
        signal=record.signal,
    )


def _id_of(record: Record) -> str:
    """Its own, or one made up that is the same each time the log is read."""
    facts = (record.time, record.event, record.message)
    return record.id or f"{crc32(msgspec.json.encode(facts)):08x}"
