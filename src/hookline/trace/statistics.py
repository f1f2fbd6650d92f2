"""How long each hook takes: percentiles by nearest rank, so each is a time that was measured."""

from collections.abc import Iterable

import msgspec

from hookline.trace.events import HookRun, TracedEvent

_BLOCKS = frozenset({"deny", "block", "stop", "answers"})


class HookLatency(msgspec.Struct, frozen=True, kw_only=True):
    """One hook over all its runs; times are in milliseconds."""

    hook: str
    runs: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    failures: int
    blocks: int


def latencies(events: Iterable[TracedEvent], *, hook: str | None = None) -> list[HookLatency]:
    """A row for each hook whose name contains ``hook``, the slowest first."""
    runs: dict[str, list[tuple[float, bool, bool]]] = {}
    for event in events:
        for run in event.hooks:
            if hook is None or hook in run.hook:
                runs.setdefault(run.hook, []).append(_facts(run))
    rows = [_latency(name, measured) for name, measured in runs.items()]
    return sorted(rows, key=lambda row: (-row.p95_ms, row.hook))


def percentile(ascending: list[float], percent: int) -> float:
    """The least of the values that this many percent of them do not exceed."""
    rank = -(-len(ascending) * percent // 100)
    return ascending[max(rank, 1) - 1]


def _facts(run: HookRun) -> tuple[float, bool, bool]:
    # The whole run with its output would fill the memory with the log.
    return run.duration_ms, run.failed is not None, run.decision in _BLOCKS


def _latency(hook: str, runs: list[tuple[float, bool, bool]]) -> HookLatency:
    times = sorted(duration for duration, _, _ in runs)
    return HookLatency(
        hook=hook,
        runs=len(times),
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
        p99_ms=percentile(times, 99),
        max_ms=times[-1],
        failures=sum(failed for _, failed, _ in runs),
        blocks=sum(blocked for _, _, blocked in runs),
    )
