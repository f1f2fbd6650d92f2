"""Takes samples of everything that is compared one by one, in random order, and compares medians.

The speed of a shared machine drifts from second to second by more than the differences that
matter. What runs alternately drifts alike, and a median does not mind the sample that was hit.
"""

import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import msgspec

# Long compared with reading the clock, but short enough that a process which has just slept is not
# interrupted: above about two milliseconds a busy machine affects every sample.
SAMPLE_SECONDS = 0.001
WARM_UP_SECONDS = 0.2
UNITS = {"ns": 1e9, "µs": 1e6, "ms": 1e3, "s": 1.0}

Run: TypeAlias = Callable[[int], float]


class Workload(msgspec.Struct, frozen=True, eq=False):
    """Something to measure: ``run`` does it a number of times and returns the seconds."""

    name: str
    run: Run


class Measurement(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One line of the table; ``target`` is the highest ratio of ours to the baseline we accept.

    Where no ratio says what is good, ``bound`` is the most that ours may be, in the unit, ``more``
    the most that it may be beyond the baseline. ``peer`` is the name the peer's driver has for the
    same work, where it can do it.
    """

    ours: Workload
    baseline: Workload
    unit: str = "µs"
    target: float | None = None
    bound: float | None = None
    more: float | None = None
    peer: str | None = None
    peer_target: float | None = None


class Group(msgspec.Struct, frozen=True, eq=False):
    """Measurements whose samples are taken in turn.

    ``batch`` is for what does not say how long it took: the iterations of each sample.
    """

    samples: int
    measurements: Sequence[Measurement]
    batch: int | None = None


class Result(msgspec.Struct, frozen=True):
    """A measured line, in the form it has in ``results.json``."""

    name: str
    unit: str
    ours: float
    baseline: float
    baseline_name: str
    ratio: float
    target: float | None
    bound: float | None
    more: float | None

    def is_missed(self) -> bool:
        """True if it is more than we accept."""
        limits = (
            (self.ratio, self.target),
            (self.ours, self.bound),
            (self.ours - self.baseline, self.more),
        )
        return any(limit is not None and value > limit for value, limit in limits)


class Loop(Protocol):
    """Runs a coroutine to its end (``asyncio.Runner``)."""

    def run(self, coro: Any) -> Any: ...


def calling(call: Callable[..., object], *arguments: Any) -> Run:
    """Return a function that measures plain calls."""

    def run(iterations: int) -> float:
        started = time.perf_counter()
        for _ in range(iterations):
            call(*arguments)
        return time.perf_counter() - started

    return run


def awaiting(loop: Loop, call: Callable[..., Awaitable[object]], *arguments: Any) -> Run:
    """Return a function that measures awaited calls, without entering and leaving the loop."""

    async def batch(iterations: int) -> float:
        started = time.perf_counter()
        for _ in range(iterations):
            await call(*arguments)
        return time.perf_counter() - started

    def run(iterations: int) -> float:
        seconds: float = loop.run(batch(iterations))
        return seconds

    return run


def measure(group: Group, *, samples: int | None = None) -> list[Result]:
    """Sample a group's workloads in turn, in a new random order each round.

    A given number of samples is for a quick look, with a short warm-up.
    """
    rounds = samples or group.samples
    warm_up_seconds = WARM_UP_SECONDS if samples is None else SAMPLE_SECONDS
    workloads = _distinct(group.measurements)
    iterations = {
        workload: group.batch or _calibrated(workload.run, warm_up_seconds)
        for workload in workloads
    }
    seconds: dict[Workload, list[float]] = {workload: [] for workload in workloads}
    warm_up = rounds // 10
    for number in range(warm_up + rounds):
        random.shuffle(workloads)
        for workload in workloads:
            taken = _sample(workload.run, iterations[workload])
            if number >= warm_up:
                seconds[workload].append(taken)
    medians = {workload: statistics.median(taken) for workload, taken in seconds.items()}
    return [_result(measurement, medians) for measurement in group.measurements]


def _distinct(measurements: Iterable[Measurement]) -> list[Workload]:
    both = (side for m in measurements for side in (m.ours, m.baseline))
    return list(dict.fromkeys(both))


def _calibrated(run: Run, warm_up_seconds: float = WARM_UP_SECONDS) -> int:
    """The number of iterations that fill a sample, after warming up.

    A just-in-time compiler needs thousands of calls for that. The fastest of several tries counts,
    since any of them may be interrupted.
    """
    iterations, best, spent = 1, float("inf"), 0.0
    while spent < warm_up_seconds:
        taken = run(iterations)
        spent += taken
        best = min(best, taken / iterations)
        if taken < SAMPLE_SECONDS / 2:
            iterations *= 2
    return max(1, round(SAMPLE_SECONDS / best))


def _sample(run: Run, iterations: int) -> float:
    """The seconds of one iteration."""
    # The scheduler prefers a process that has slept, as the peer's does between samples.
    time.sleep(SAMPLE_SECONDS)
    if iterations >= 4:
        # The workload before has filled the caches: some iterations warm them up again.
        run(iterations // 4)
    return run(iterations) / iterations


def _result(measurement: Measurement, medians: dict[Workload, float]) -> Result:
    scale = UNITS[measurement.unit]
    ours, baseline = medians[measurement.ours], medians[measurement.baseline]
    return Result(
        name=measurement.ours.name,
        unit=measurement.unit,
        ours=_rounded(ours * scale),
        baseline=_rounded(baseline * scale),
        baseline_name=measurement.baseline.name,
        ratio=_rounded(ours / baseline),
        target=measurement.target,
        bound=measurement.bound,
        more=measurement.more,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")
