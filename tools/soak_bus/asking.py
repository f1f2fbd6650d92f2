"""Keeps requests in flight and notes the outcome of each, its duration and its id."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hookline.bus import request_hook_execution
from hookline.bus.messages import MessageBus
from tools.soak_bus.faults import Faults
from tools.soak_bus.guarding import Guarding
from tools.soak_bus.judging import SLACK, Fate, Verdict
from tools.soak_bus.scene import EVENT, TOOL

# The share of events that a hook must block.
_GUARDED = 0.7


class Asking:
    """Sends ``requests`` requests, or more until every fault was raised in ``rounds``; ``at_once``
    are in flight, each with a timeout of ``timeout`` seconds. Some go through ``guarding``."""

    def __init__(
        self,
        bus: MessageBus,
        faults: Faults,
        guarding: Guarding,
        *,
        seed: int,
        requests: int,
        rounds: int,
        at_once: int,
        timeout: float,
    ) -> None:
        self._bus = bus
        self._faults = faults
        self._guarding = guarding
        self._random = random.Random(f"asking {seed}")
        self._requests = requests
        self._rounds = rounds
        self._at_once = at_once
        self._timeout = timeout
        self.sent = 0
        self.fates: list[Fate] = []
        self.verdicts: list[Verdict] = []
        self.seconds = 0.0

    async def run(self) -> None:
        """Send all requests; return when each has an outcome."""
        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._work())
        self.seconds = time.monotonic() - started

    @property
    def codes(self) -> Counter[str]:
        """The number of failures by code."""
        return Counter(fate.code for fate in self.fates if fate.code is not None)

    def latencies(self, *shares: float) -> Sequence[float]:
        """The seconds within which these shares of the answers came."""
        times = sorted(fate.seconds for fate in self.fates if fate.code is None) or [0.0]
        return [times[min(len(times) - 1, int(len(times) * share))] for share in shares]

    async def _work(self) -> None:
        while self.sent < self._requests or self._faults.rounds < self._rounds:
            self.sent += 1
            id = f"request-{self.sent}"
            moment, was_calm = self._faults.moment, not self._faults.is_raging
            started, verdict = time.monotonic(), None
            if self._random.random() < _GUARDED:
                verdict = await self._guarding.fire(id)
            else:
                code, said = await self._fate_of(id)
            calm = was_calm and moment == self._faults.moment
            if verdict is None:
                self.fates.append(Fate(id, code, time.monotonic() - started, said, calm))
            else:
                self.verdicts.append(verdict._replace(is_calm=calm))

    async def _fate_of(self, id: str) -> tuple[str | None, str]:
        input = {"tool_name": TOOL, "tool_input": {"id": id, "kind": "plain"}}
        asking = asyncio.ensure_future(
            request_hook_execution(
                self._bus, EVENT, input, correlation_id=id, timeout=self._timeout
            )
        )
        await asyncio.wait([asking], timeout=2 * (self._timeout + SLACK))
        if not asking.done():
            asking.cancel()
            return "lost", "nothing came back"
        if (error := asking.exception()) is not None:
            return "raised", repr(error)
        return _read(asking.result())


def _read(response: Any) -> tuple[str | None, str]:
    if not response["success"]:
        return response["error"]["code"], response["error"]["message"]
    if response["output"]["errors"]:
        return "hook_failed", str(response["output"]["errors"])
    return None, str((response["output"]["finalOutput"] or {}).get("reason"))
