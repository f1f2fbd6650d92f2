"""Runs a hook many times, in turn with what it is compared with, and sums the times up."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from hookline.cli.firing import run_to_end
from hookline.config import Config
from hookline.pipeline.registry import HookRegistryEntry
from hookline.system import HookSystem
from hookline.wire.hooks import HookConfig
from hookline.wire.results import HookExecutionResult

# Not counted: the first finds nothing in the system's caches, and a warm hook starts for it.
_FIRST_ROUNDS = 2
# When nobody says how many: as many as are worth waiting for.
_DEFAULT_RUNS = 50
_LEAST_RUNS = 10
_PATIENCE_SECONDS = 10.0


class Times(msgspec.Struct, frozen=True):
    """A summary of durations in milliseconds."""

    min: float
    mean: float
    p50: float
    p95: float
    p99: float


class Runs(msgspec.Struct, frozen=True):
    """What one way of running took each time; ``errors`` are how runs failed, and how often."""

    durations: tuple[float, ...]
    errors: Mapping[str, int]
    warnings: tuple[str, ...]

    @property
    def times(self) -> Times:
        """The durations, summed up."""
        ordered = sorted(self.durations)
        return Times(
            min=ordered[0],
            mean=sum(ordered) / len(ordered),
            p50=percentile(ordered, 50),
            p95=percentile(ordered, 95),
            p99=percentile(ordered, 99),
        )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The value below which that share of the sorted values is, between two of them if need be."""
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def run_in_turn(
    config: Config,
    entry: HookRegistryEntry,
    hooks: Mapping[str, HookConfig],
    payload: Mapping[str, Any],
    *,
    runs: int | None,
    tell: Callable[[int, int], None],
) -> dict[str, Runs]:
    """Run each of the hooks in the entry's place, one after the other, again and again."""
    systems = {name: _system_with(config, entry, hook) for name, hook in hooks.items()}
    try:
        return run_to_end(_rounds(systems, entry, payload, runs, tell))
    finally:
        for system in systems.values():
            system.dispose()


def _system_with(config: Config, entry: HookRegistryEntry, hook: HookConfig) -> HookSystem:
    system = HookSystem(config)
    system.initialize_blocking()
    alone = msgspec.structs.replace(entry, hook=hook, matches=lambda _: True, enabled=True)
    system.get_registry().load([alone])
    return system


async def _rounds(
    systems: Mapping[str, HookSystem],
    entry: HookRegistryEntry,
    payload: Mapping[str, Any],
    runs: int | None,
    tell: Callable[[int, int], None],
) -> dict[str, Runs]:
    results: dict[str, list[HookExecutionResult]] = {name: [] for name in systems}
    wanted = runs or _DEFAULT_RUNS
    end = time.monotonic() + _PATIENCE_SECONDS
    for number in range(-_FIRST_ROUNDS, wanted):
        if runs is None and number >= _LEAST_RUNS and time.monotonic() > end:
            break
        tell(max(number, 0), wanted)
        for name, system in systems.items():
            fired = await system.get_event_handler().fire(entry.event, payload)
            if number >= 0:
                results[name] += fired.results
    return {name: _summed_up(found) for name, found in results.items()}


def _summed_up(results: Sequence[HookExecutionResult]) -> Runs:
    errors: dict[str, int] = {}
    for result in results:
        if result.error is not None:
            errors[result.error] = errors.get(result.error, 0) + 1
    return Runs(
        tuple(result.duration for result in results),
        errors,
        tuple(dict.fromkeys(text for result in results for text in result.warnings)),
    )
