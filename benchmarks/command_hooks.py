"""Measures command hooks against the bare cost of starting their processes."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from benchmarks import fixtures
from benchmarks.floor import Floor
from benchmarks.hooks import CommandCase, Scripts
from benchmarks.sampling import Group, Loop, Measurement, Run, Workload, awaiting
from hookline import HookSystem, ProcessedHookResult

Fire: TypeAlias = Callable[[], Awaitable[ProcessedHookResult]]


class _Line(NamedTuple):
    """The number of samples that fit into a few seconds, and the highest accepted ratios."""

    samples: int
    floor_target: float | None
    peer_target: float


_LINES = {
    "command": _Line(150, 1.15, 0.7),
    "command-10": _Line(40, 1.15, 0.7),
    "command-50": _Line(15, 1.15, 0.7),
    "in-1": _Line(60, None, 0.7),
    "in-10": _Line(20, None, 0.5),
    "out-1": _Line(40, None, 0.85),
}


def commands(loop: Loop, scripts: Scripts, floor: Floor, stack: ExitStack) -> list[Group]:
    """One hook, ten and fifty on an event, and hooks with long input or output."""
    groups = []
    for case in (*scripts.parallel(), *scripts.large()):
        line = _LINES[case.name]
        measurement = Measurement(
            ours=firing_case(case, loop, scripts.directory, stack),
            baseline=floor.workload(case),
            unit="ms",
            target=line.floor_target if floor.is_the_least else None,
            peer=case.name,
            peer_target=line.peer_target,
        )
        groups.append(Group(line.samples, [measurement]))
    return groups


def stalls(loop: Loop, scripts: Scripts, stack: ExitStack) -> Group:
    """How long other tasks of the event loop wait while many hooks are started."""
    many = scripts.parallel()[-1]
    fire = _prepared(many, loop, scripts.directory, stack)
    name = f"longest stall while {many.count} command hooks start"
    ours = Workload(name, _longest_stall(loop, fire))
    idle = Workload("while nothing happens", _longest_stall(loop, _nothing))
    return Group(15, [Measurement(ours=ours, baseline=idle, unit="ms", bound=15)], batch=1)


def firing_case(
    case: CommandCase, loop: Loop, directory: Path, stack: ExitStack, **more: Any
) -> Workload:
    """The event fired through our handler, its hooks run as an agent's would be."""
    fire = _prepared(case, loop, directory, stack, **more)
    return Workload(case.title, awaiting(loop, fire))


def _prepared(
    case: CommandCase, loop: Loop, directory: Path, stack: ExitStack, **more: Any
) -> Fire:
    system = HookSystem(case.config(directory, **more))
    stack.callback(system.dispose)
    system.initialize_blocking()
    handler = system.get_event_handler()

    def fire() -> Awaitable[ProcessedHookResult]:
        return handler.fire_before_tool_event(fixtures.TOOL_NAME, case.tool_input)

    _expect_success(loop, fire, case)
    return fire


def _expect_success(loop: Loop, fire: Fire, case: CommandCase) -> None:
    """Check that hooks succeed without a warning: a failing hook would be fast."""

    async def once() -> ProcessedHookResult:
        return await fire()

    processed: ProcessedHookResult = loop.run(once())
    warnings = [warning for result in processed.results for warning in result.warnings]
    if not processed.success or len(processed.all_outputs) != case.count or warnings:
        raise RuntimeError(f"{case.title}: {processed.errors or warnings or processed}")


def _longest_stall(loop: Loop, call: Callable[[], Awaitable[object]]) -> Run:
    """The longest time between two turns of another task, summed over the iterations."""

    async def longest() -> float:
        task = asyncio.ensure_future(call())
        worst, last = 0.0, time.perf_counter()
        while not task.done():
            await asyncio.sleep(0)
            now = time.perf_counter()
            worst, last = max(worst, now - last), now
        await task
        return worst

    def run(iterations: int) -> float:
        stalls: list[float] = [loop.run(longest()) for _ in range(iterations)]
        return sum(stalls)

    return run


async def _nothing() -> None:
    await asyncio.sleep(0.1)
