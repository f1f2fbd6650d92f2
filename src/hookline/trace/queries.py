"""Answers questions about events: which match, how long hooks take, what each did last."""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from hookline.errors import HooklineError
from hookline.trace.events import Entry, HookRun, TracedEvent, describe_run
from hookline.trace.log import read_tail
from hookline.trace.records import default_trace_path

_AGO = re.compile(
    r"(\d+(?:\.\d+)?|an?)\s*"
    r"(s|sec|second|m|min|minute|h|hour|d|day|w|week)s?(?:\s+ago)?"
)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAYS = {"today": 0, "yesterday": 1}
_CLOCK = re.compile(r"(?:(today|yesterday)\s*(?:at\s+)?)?(\d{1,2}:\d{2}(?::\d{2})?)?")
_BLOCKS = frozenset({"stopped", "blocked", "answered"})
# A listing must not wait until the whole log is read.
_TAIL_BYTES = 1024 * 1024


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on an event; one that is None or empty always holds.

    At least one of ``decisions`` must be among the event's words. ``session`` may be the beginning
    of an id and ``hook`` a part of a name, as both are long. ``within`` is the directory of the
    hooks, or one above it.
    """

    events: frozenset[str] = frozenset()
    decisions: frozenset[str] = frozenset()
    hook: str | None = None
    session: str | None = None
    failures: bool = False
    since: str | None = None
    slow: float | None = None
    within: str | None = None

    def accepts_entry(self, entry: Entry) -> bool:
        """Return True if the entry's event matches; the event is put together only if the last
        record is not enough."""
        last = entry.last
        if self.events and last.event not in self.events:
            return False
        if self.session is not None and not last.session_id.startswith(self.session):
            return False
        # An event begins before its last record is written.
        if self.since is not None and last.time.endswith("Z") and last.time < self.since:
            return False
        inside = (self.since, self.hook, self.slow, self.within)
        looks_inside = self.decisions or self.failures or any(each is not None for each in inside)
        return not looks_inside or self.accepts(entry.event)

    def accepts(self, event: TracedEvent) -> bool:
        """Return True if the event matches."""
        return (
            (not self.events or event.event in self.events)
            and (not self.decisions or not self.decisions.isdisjoint(event.words))
            and (self.session is None or event.session_id.startswith(self.session))
            and (self.since is None or event.time >= self.since)
            and (not self.failures or event.has_failures)
            and (self.hook is None or any(self.hook in run.hook for run in event.hooks))
            and (self.slow is None or slowest(event) >= self.slow)
            and (self.within is None or is_within(event.input, self.within))
        )


def find_entry(entries: Iterable[Entry], id: str) -> Entry:
    """Return the entry of an id, or of the only id that begins so; raises HooklineError."""
    matches = {entry.id: entry for entry in entries if entry.id.startswith(id)}
    if id in matches or len(matches) == 1:
        return matches.get(id) or next(iter(matches.values()))
    if not matches:
        raise HooklineError(
            f"there is no event {id} in the log; `hookline trace` lists the newest by id"
        )
    ids = ", ".join([*matches][:5]) + (", …" if len(matches) > 5 else "")
    raise HooklineError(f"{id} is the beginning of {ids}; write more of it")


def slowest(event: TracedEvent) -> float:
    """Return how long the slowest hook took, in milliseconds."""
    return max((run.duration_ms for run in event.hooks), default=0.0)


def is_within(payload: object, directory: str) -> bool:
    """Return True if an event's hooks ran in a directory or below it."""
    cwd = payload.get("cwd") if isinstance(payload, dict) else None
    if not isinstance(cwd, str):
        return False
    return cwd == directory or cwd.startswith(directory.rstrip("/") + "/")


def moment(text: str, *, now: datetime) -> str:
    """Read a time as people write it (``10m``, ``2 days ago``, ``yesterday``, ``14:30``,
    ``2026-03-01``); return it as the log writes it. A day begins at local midnight."""
    words = " ".join(text.lower().split())
    try:
        if ago := _AGO.fullmatch(words):
            number = 1.0 if ago[1].startswith("a") else float(ago[1])
            try:
                time = now - timedelta(**{_UNITS[ago[2][0]]: number})
            except OverflowError:
                return ""
        elif words and (clock := _CLOCK.fullmatch(words)):
            day = now.astimezone().date() - timedelta(days=_DAYS[clock[1] or "today"])
            time = datetime.fromisoformat(f"{day}T{clock[2] or '00:00':0>5}")
        else:
            time = datetime.fromisoformat(text.strip())
        # A time without a zone is local.
        return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        raise HooklineError(
            f"--since: {text!r} is not a time; write 90s, 10m, 2h or 3d for how long ago, today, "
            "yesterday, 14:30 for today, or 2026-03-01T14:30"
        ) from None


class HookLatency(msgspec.Struct, frozen=True, kw_only=True):
    """The latency of one hook over all its runs, in milliseconds."""

    hook: str
    runs: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    failures: int
    blocks: int


class _Durations:
    """The durations of one hook, rounded to three digits and counted: thousands of different ones
    at most, however many runs there are."""

    def __init__(self) -> None:
        self._counts: Counter[float] = Counter()
        self.failures = self.blocks = 0
        self.longest = 0.0

    def add(self, run: HookRun) -> None:
        self._counts[float(f"{run.duration_ms:.3g}")] += 1
        self.longest = max(self.longest, run.duration_ms)
        self.failures += run.failed is not None
        self.blocks += not _BLOCKS.isdisjoint(run.effects)

    def summarize(self, hook: str) -> HookLatency:
        p50, p95, p99 = (self._find_percentile(percent) for percent in (50, 95, 99))
        return HookLatency(
            hook=hook,
            runs=self._counts.total(),
            p50_ms=p50,
            p95_ms=p95,
            p99_ms=p99,
            max_ms=self.longest,
            failures=self.failures,
            blocks=self.blocks,
        )

    def _find_percentile(self, percent: int) -> float:
        left = rank(self._counts.total(), percent)
        for duration in sorted(self._counts):
            left -= self._counts[duration]
            if left <= 0:
                break
        return min(duration, self.longest)


def latencies(
    events: Iterable[TracedEvent | Entry], *, hook: str | None = None
) -> list[HookLatency]:
    """Return a row for each hook whose name contains ``hook``, the slowest first; percentiles have
    three digits, so that the memory it takes does not grow with the number of runs."""
    hooks: defaultdict[str, _Durations] = defaultdict(_Durations)
    for event in events:
        for run in event.hooks:
            if (hook is None or hook in run.hook) and not run.started:
                hooks[run.hook].add(run)
    rows = [durations.summarize(name) for name, durations in hooks.items()]
    return sorted(rows, key=lambda row: (-row.p95_ms, row.hook))


def percentile(ascending: Sequence[float], percent: int) -> float:
    """Return the smallest value that this percentage of the values does not exceed, always a
    measured one."""
    return ascending[rank(len(ascending), percent) - 1]


def rank(number: int, percent: int) -> int:
    """Return which of so many values, in ascending order and counted from 1, is the percentile."""
    return max(-(-number * percent // 100), 1)


class LastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one hook: when it ended, what it decided, and why or how it failed."""

    id: str
    time: str
    decision: str
    reason: str
    duration_ms: float


def last_outcomes(
    *, within: str | None = None, path: str | os.PathLike[str] | None = None
) -> dict[tuple[str, str], LastRun]:
    """Return the last outcome by event and hook name, from the end of the log.

    ``within`` counts only runs in that directory or below it, because hooks of other projects may
    have the same names. Without a readable log the result is empty.
    """
    outcomes: dict[tuple[str, str], LastRun] = {}
    try:
        records = read_tail(default_trace_path() if path is None else path, max_bytes=_TAIL_BYTES)
    except (OSError, HooklineError):
        return {}
    for record in records:
        key = (record.event, record.hook)
        if record.kind != "hook" or record.started or key in outcomes:
            continue
        if within is not None and not is_within(record.input, within):
            continue
        word, why, _ = describe_run(record)
        outcomes[key] = LastRun(
            id=record.id,
            time=record.time,
            decision=word,
            reason=why,
            duration_ms=record.duration_ms,
        )
    return outcomes
