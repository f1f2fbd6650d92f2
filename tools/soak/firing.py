"""Fires the events, many at once, some cancelled half way, and judges every answer."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hookline.contract import HookSystem
from hookline.pipeline.answer import ProcessedHookResult
from tools.soak.kinds import Json, Kind
from tools.soak.memory import Memory
from tools.soak.storms import Storms

GRACE = 0.2
# Seconds beyond timeout and grace: what the kernel gets to carry out a SIGKILL, what a cancelled
# call waits for an orderly end, and what a busy machine of two cores may add to anything.
_KILL = 0.5
_CANCEL = 0.5
_SLACK = 4.0

_CANCELLED = 0.15
_BLOCKING = 0.05
# The share of events that have a guard, and of those the share that it can only read in part.
_GUARDED = 0.8
_DEEP = 0.05
_PADDING = (*[100] * 300, *[100_000] * 30, 10_000_000)
_SHOWN = 20
_SAMPLED = 50


class Event(NamedTuple):
    """One event, the same for the same seed and number; ``cancel_after`` is in seconds."""

    mark: str
    kinds: tuple[Kind, ...]
    padding: int
    cancel_after: float | None
    blocking: bool
    deep: bool = False

    @property
    def tool(self) -> str:
        return "+".join(kind.name for kind in self.kinds)

    @property
    def input(self) -> Json:
        given: Json = {"mark": self.mark, "padding": "x" * self.padding}
        if self.deep:
            # Deeper than any parser goes, so that hooks can only read a part of it.
            nested: Json = {}
            for _ in range(3_000):
                nested = {"in": nested}
            given["nested"] = nested
        return given

    @property
    def guarded(self) -> bool:
        """True if it must be blocked."""
        return any(kind.guards for kind in self.kinds)

    @property
    def bound(self) -> float:
        """The seconds within which it must be answered."""
        each = [kind.timeout + GRACE + _KILL for kind in self.kinds]
        in_order = any(kind.sequential for kind in self.kinds)
        return (sum(each) if in_order else max(each)) + _SLACK


def draw(kinds: Sequence[Kind], *, seed: int, number: int) -> Event:
    """The event of that number."""
    chance = random.Random(f"{seed} {number}")
    guards = [kind for kind in kinds if kind.guards]
    others = [kind for kind in kinds if not kind.guards]
    drawn: list[Kind] = []
    if others:
        weights = [kind.weight for kind in others]
        drawn += chance.choices(others, weights, k=chance.choice((1, 1, 1, 2, 2, 3, 5)))
    is_guarded = bool(guards) and (not others or chance.random() < _GUARDED)
    if is_guarded:
        # Most events have a guard and little else, so that there can be many.
        drawn = drawn[: chance.choice((0, 0, 0, 1, 1, len(drawn)))]
        drawn += chance.choices(guards, [kind.weight for kind in guards])
    is_cancelled = chance.random() < _CANCELLED
    return Event(
        mark=f"mark-{number}",
        kinds=tuple({kind.name: kind for kind in drawn}.values()),
        padding=chance.choice(_PADDING),
        cancel_after=chance.random() * chance.choice((0, 0.02, 0.4)) if is_cancelled else None,
        blocking=not is_cancelled and chance.random() < _BLOCKING,
        deep=is_guarded and chance.random() < _DEEP,
    )


class Tally:
    """The results of the events so far."""

    def __init__(self) -> None:
        self.events = 0
        self.cancelled = 0
        self.results: Counter[str] = Counter()
        self.right: Counter[str] = Counter()
        self.lost = 0
        self.guarded = 0
        self.lost_denials = 0
        self.longest = (0.0, 0.0, "")
        self.violations: list[str] = []

    def violated(self, event: Event, what: str) -> None:
        if len(self.violations) < _SHOWN:
            self.violations.append(f"{event.mark} ({event.tool}): {what}")

    def took(self, event: Event, seconds: float, bound: float) -> None:
        """Note how long an answer took, measured against its bound."""
        if seconds / bound > self.longest[0] / (self.longest[1] or 1):
            self.longest = seconds, bound, event.tool
        if seconds > bound:
            self.violated(event, f"answered after {seconds:.2f} s, its limit is {bound:.2f} s")


class Soak:
    """Keeps ``at_once`` events in flight until there are enough or the time is over.

    ``commands`` has no functions: its blocking calls take another path than those of ``system``.
    """

    def __init__(
        self,
        system: HookSystem,
        commands: HookSystem,
        kinds: Sequence[Kind],
        storms: Storms,
        *,
        seed: int,
        at_once: int,
    ) -> None:
        self.tally = Tally()
        self.memory = Memory()
        self._system = system
        self._commands = commands
        self._kinds = kinds
        self._storms = storms
        self._seed = seed
        self._at_once = at_once
        self._number = 0

    async def run(self, *, events: float, seconds: float) -> None:
        """Fire the given number of events, or for the given time."""
        deadline = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._work(events, deadline))

    async def _work(self, events: float, deadline: float) -> None:
        while self._number < events and time.monotonic() < deadline:
            self._number += 1
            event = draw(self._kinds, seed=self._seed, number=self._number)
            moment = self._storms.moment
            was_calm = not self._storms.is_raging
            processed = await self._fire(event)
            self.tally.events += 1
            if self.tally.events % _SAMPLED == 0:
                self.memory.sample()
            if processed is not None:
                calm = was_calm and moment == self._storms.moment
                self._judge(event, processed, calm=calm)

    async def _fire(self, event: Event) -> ProcessedHookResult | None:
        """Return the answer; None if the call was cancelled, or not answered in time."""
        started = time.monotonic()
        firing = asyncio.create_task(self._answer(event))
        if event.cancel_after is not None:
            await asyncio.wait([firing], timeout=event.cancel_after)
            return await self._cancel(event, firing)
        await asyncio.wait([firing], timeout=2 * event.bound)
        self.tally.took(event, time.monotonic() - started, event.bound)
        if not firing.done():
            firing.cancel()
            return None
        return self._taken(event, firing)

    async def _answer(self, event: Event) -> ProcessedHookResult:
        if event.blocking:
            payload = {"tool_name": event.tool, "tool_input": event.input}
            only_commands = all(kind.is_command for kind in event.kinds)
            system = self._commands if only_commands else self._system
            return await asyncio.to_thread(system.fire_blocking, "BeforeTool", payload)
        handler = self._system.get_event_handler()
        return await handler.fire_before_tool_event(event.tool, event.input)

    async def _cancel(
        self, event: Event, firing: "asyncio.Task[ProcessedHookResult]"
    ) -> ProcessedHookResult | None:
        started = time.monotonic()
        firing.cancel()
        bound = _CANCEL + _KILL + _SLACK
        await asyncio.wait([firing], timeout=2 * bound)
        self.tally.took(event, time.monotonic() - started, bound)
        if firing.cancelled() or not firing.done():
            self.tally.cancelled += 1
            return None
        return self._taken(event, firing)

    def _taken(
        self, event: Event, firing: "asyncio.Task[ProcessedHookResult]"
    ) -> ProcessedHookResult | None:
        error = firing.exception()
        if error is not None:
            self.tally.violated(event, f"raised {error!r}")
            return None
        return firing.result()

    def _judge(self, event: Event, processed: ProcessedHookResult, *, calm: bool) -> None:
        results = {result.hook.name: result for result in processed.results}
        if event.guarded:
            # During a storm as well: a guard that cannot answer blocks.
            self.tally.guarded += 1
            output = processed.final_output
            if output is None or not output.is_blocking_decision():
                self.tally.lost_denials += 1
                self.tally.violated(event, f"went on past its guard: {processed.errors}")
        if calm and results.keys() != {kind.name for kind in event.kinds}:
            self.tally.violated(event, f"has results of {sorted(results)} only")
        for kind in event.kinds:
            result = results.get(kind.name)
            is_right = result is not None and (
                kind.is_right(result, event.mark)
                # A guard does not run on input that it can only read in part.
                or (event.deep and kind.guards and result.failed == "malformed")
            )
            self.tally.right[kind.name] += is_right and calm
            self.tally.lost += not is_right
            if result is None:
                continue
            self.tally.results[result.failed or "none"] += 1
            if calm and not is_right:
                said = f"{result.failed}, {result.error}, {result.output}, {result.stderr!r}"
                self.tally.violated(event, f"{kind.name}: {said[:400]}")


def judged(counts: Mapping[str, int]) -> str:
    """Counts by name, the most frequent first."""
    ordered = sorted(counts.items(), key=lambda each: -each[1])
    return ", ".join(f"{name} {count:,}" for name, count in ordered)
