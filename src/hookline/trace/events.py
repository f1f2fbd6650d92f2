"""Puts a fired event together from the records that its hooks and the engine wrote."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any
from zlib import crc32

import msgspec

from hookline.pipeline.answer import EFFECTS, Answer, Change, HookPart, describe_hook
from hookline.trace.log import Record
from hookline.wire.events import find_event
from hookline.wire.fired import FiredEvent

# Events that wait for their end at a time. More than these have lost it: their agents were killed.
_MOST_OPEN = 1_000
# Every word for the outcome of an event, the strongest first.
DECISIONS = (*EFFECTS, "failed", "allowed", "no hook", "async", "warning")


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """One hook's part in an event; ``start_ms`` counts from the event's start, if that is known. An
    async hook is ``started`` in its event's entry, and ``background`` in the entry of its end.

    ``decision`` is the hook's own word, ``effects`` are what its answer alone does to the event.
    """

    hook: str
    type: str
    source: str
    decision: str
    reason: str
    effects: tuple[str, ...] = ()
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

    @property
    def words(self) -> tuple[str, ...]:
        """The effects of the hook on its event, the strongest first; without any, its decision."""
        return self.effects or (self.decision,)


class TracedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event; ``time`` is when it began. ``complete`` is False when its end was not written.

    ``effects`` are those of ``EFFECTS`` that the hooks' answer had, and ``decision`` the strongest
    of them; without any it is allowed or no hook, failed for an event that the engine could not
    carry out, warning for a warning outside any event, and async for the end of an async hook.
    """

    id: str
    time: str
    session_id: str
    event: str = ""
    target: str = ""
    decision: str
    effects: tuple[str, ...] = ()
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
        """True if the event or one of its hooks failed; a block is no failure."""
        return self.decision == "failed" or any(run.failed is not None for run in self.hooks)

    @property
    def words(self) -> tuple[str, ...]:
        """The effects on the event, the strongest first; without any, its decision."""
        return self.effects or (self.decision,)

    def find_change(self, run: HookRun | None = None) -> Change | None:
        """Return what the hooks together, or one of them alone, changed in their input."""
        output = self.output if run is None else run.output
        event = find_event(self.event)
        if event is None or not isinstance(output, dict) or (run is not None and run.background):
            return None
        return Answer.read(FiredEvent(event), output).find_change(_read_fields(self.input))


class Entry:
    """The records of one event, or one warning outside any event; they are put together only on
    access, because most entries of a long log are skipped."""

    def __init__(self, records: list[Record], batch: Record | None) -> None:
        self._records = records
        self._batch = batch
        # The last record has the facts of the whole event.
        self.last = batch or records[-1]

    @property
    def id(self) -> str:
        """The event's id, or one derived from the record, the same each time the log is read."""
        facts = (self.last.time, self.last.event, self.last.message)
        return self.last.id or f"{crc32(msgspec.json.encode(facts)):08x}"

    @cached_property
    def hooks(self) -> tuple[HookRun, ...]:
        """Each hook's part."""
        payload, warnings = _read_fields(self._input), self._warnings
        is_sequential = self._batch is not None and self._batch.sequential
        runs: list[HookRun] = []
        start = 0.0
        for record in self._records:
            if record.kind != "hook":
                continue
            word, why, effects = describe_run(record, payload)
            run = HookRun(
                hook=record.hook,
                type=record.type,
                source=record.source,
                duration_ms=record.duration_ms,
                success=record.success,
                exit_code=record.exit_code,
                signal=record.signal,
                failed=record.failed,
                error=record.error,
                output=record.output,
                decision=word,
                reason=why,
                effects=effects,
                start_ms=round(start, 3),
                stdout=record.stdout or "",
                stderr=record.stderr or "",
                warnings=tuple([w.message for w in warnings if w.hook == record.hook]),
                started=record.started,
                background=record.background,
            )
            runs.append(run)
            start += record.duration_ms if is_sequential else 0.0
        return tuple(runs)

    @cached_property
    def event(self) -> TracedEvent:
        """The event that the records describe."""
        last, batch, runs = self.last, self._batch, self.hooks
        if last.kind == "warning" and not last.event:
            return TracedEvent(
                id=self.id,
                time=last.time,
                session_id=last.session_id,
                decision="failed" if last.code else "warning",
                reason=last.message,
            )
        decision, effects, reason = self._decide()
        span = max((run.start_ms + run.duration_ms for run in runs), default=0.0)
        began = datetime.fromisoformat(last.time) - timedelta(milliseconds=span)
        hook_names = {run.hook for run in runs}
        return TracedEvent(
            id=self.id,
            time=began.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            session_id=last.session_id,
            event=last.event,
            target=last.target,
            decision=decision,
            effects=effects,
            reason=reason,
            duration_ms=round(span, 3),
            sequential=batch is not None and batch.sequential,
            complete=batch is not None and batch.hook_count == len(runs),
            hooks=runs,
            input=self._input,
            output=batch.output if batch else None,
            warnings=tuple(each.message for each in self._warnings if each.hook not in hook_names),
        )

    def _decide(self) -> tuple[str, tuple[str, ...], str | None]:
        """Return the decision, all effects of the hooks, and the reason."""
        batch, event = self._batch, find_event(self.last.event)
        if self.last.background:
            return "async", (), None
        if batch is not None and isinstance(batch.output, dict) and event is not None:
            answer = Answer.read(FiredEvent(event), batch.output)
            effects = answer.find_effects(_read_fields(self._input))
            reason = answer.reason if effects else None
        elif batch is not None and batch.hook_count == 0:
            return "no hook", (), None
        else:
            # The end of the event was never written, so the effects are those of its hooks.
            reasons = {word: run.reason for run in reversed(self.hooks) for word in run.effects}
            effects = tuple([word for word in EFFECTS if word in reasons]) if reasons else ()
            reason = reasons[effects[0]] or None if effects else None
        return (effects[0] if effects else "allowed"), effects, reason

    @property
    def _input(self) -> Any:
        """The input of the hooks, None if no hook ran."""
        return next((each.input for each in self._records if each.kind == "hook"), None)

    @property
    def _warnings(self) -> list[Record]:
        return [record for record in self._records if record.kind == "warning"]


class Assembler:
    """Groups records into entries, in whatever order several processes wrote them."""

    def __init__(self) -> None:
        self._open: dict[object, list[Record]] = {}

    def gather(self, record: Record) -> Entry | None:
        """Take a record; return an entry that is complete, or that has waited for its end longest
        of too many."""
        if record.kind == "warning" and not record.event:
            return Entry([record], None)
        if record.kind not in ("hook", "warning", "batch"):
            return None
        key = record.id or (record.session_id, record.event, record.target)
        if record.kind == "batch":
            return Entry(self._open.pop(key, []), record)
        self._open.setdefault(key, []).append(record)
        if len(self._open) <= _MOST_OPEN:
            return None
        return Entry(self._open.pop(next(iter(self._open))), None)

    def gather_rest(self) -> list[Entry]:
        """Return the entries without an end, and forget them."""
        left, self._open = self._open, {}
        return [Entry(records, None) for records in left.values()]


def read_entries(records: Iterable[Record]) -> Iterator[Entry]:
    """Yield the entries that records make up, those without an end last."""
    assembler = Assembler()
    yield from filter(None, map(assembler.gather, records))
    yield from assembler.gather_rest()


def _read_fields(payload: Any) -> dict[str, Any]:
    return payload if isinstance(payload, dict) else {}


def describe_run(record: Record, payload: Mapping[str, Any] | None = None) -> HookPart:
    """Return a hook's part in its event, from the record of its run; ``payload`` is its input."""
    if record.started:
        return HookPart("started", "", ())
    event = find_event(record.event)
    if event is None:
        # A log of a later version may have more events.
        return HookPart(record.failed or "ok", "", ())
    return describe_hook(
        event,
        record.output if isinstance(record.output, dict) else None,
        _read_fields(record.input) if payload is None else payload,
        failed=record.failed,
        exit_code=record.exit_code,
        signal=record.signal,
        is_late=record.background,
    )
