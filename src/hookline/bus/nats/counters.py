"""What a worker counts: enough to see whether it keeps up, in a few integers and recent times."""

import time
from collections import Counter, deque
from typing import Any

_RECENT = 2_048


class Counters:
    """Counts since the start; ``refused`` and ``failed`` by their code."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._durations: deque[float] = deque(maxlen=_RECENT)
        self.received = 0
        self.answered = 0
        self.handed_back = 0
        self.hook_failures = 0
        self.refused: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()

    def answer(self, response: Any, seconds: float) -> None:
        """One request was answered, so many seconds after it came."""
        self.answered += 1
        self._durations.append(seconds)
        if response.get("success") is not True:
            self.failed[str((response.get("error") or {}).get("code"))] += 1
        elif (response.get("output") or {}).get("errors"):
            self.hook_failures += 1

    def snapshot(self) -> dict[str, Any]:
        """Everything as JSON; times in milliseconds, of the last two thousand answers."""
        return {
            "uptime_s": round(time.monotonic() - self._started, 3),
            "received": self.received,
            "answered": self.answered,
            "handed_back": self.handed_back,
            "hook_failures": self.hook_failures,
            "refused": dict(self.refused),
            "failed": dict(self.failed),
            "latency_ms": self._latencies(),
        }

    def _latencies(self) -> dict[str, float]:
        times = sorted(self._durations)
        if not times:
            return {}
        return {
            name: round(times[min(len(times) - 1, int(len(times) * share))] * 1000, 3)
            for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
        }
