"""Breaks one thing after the other, again and again: requests may lose their answers meanwhile, but
nothing else may happen."""

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

from tools.soak_bus.scene import Scene

# Longer than any wait for a confirmation of the server, so that clients give up in between.
_LONG_STALL = 3.0


class Faults:
    """Raises one fault after the other, about ``pause`` seconds apart; ``moment`` changes whenever
    one begins or is over, which is ``settle`` seconds after its end, so that clients reconnect."""

    def __init__(self, scene: Scene, *, seed: int, pause: float, settle: float) -> None:
        self.moment = 0
        self._pause = pause
        self._settle = settle
        self._ending = asyncio.Event()
        self.raised: Counter[str] = Counter()
        self._random = chance = random.Random(f"faults {seed}")
        networks = (scene.agents_network, scene.workers_network)
        self._kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "worker killed": lambda: scene.kill_worker(chance),
            "server restarted": lambda: scene.restart_server(chance.uniform(0, 0.5)),
            "network cut": lambda: chance.choice(networks).cut(0.5),
            "bytes lost": lambda: chance.choice(networks).lose(0.3),
            "worker paused": lambda: scene.pause_worker(chance, 1.0),
            "network stalled": lambda: chance.choice(networks).stall(_LONG_STALL),
        }

    @property
    def is_raging(self) -> bool:
        return self.moment % 2 == 1

    @property
    def rounds(self) -> int:
        """The number of times that every kind was raised."""
        return min(self.raised[name] for name in self._kinds)

    async def rage(self) -> None:
        """Raise every kind in turn until ``end`` is called; finish the last one."""
        for name, strike in itertools.cycle(self._kinds.items()):
            if await self._is_ending(within=self._random.uniform(0.5, 1.5) * self._pause):
                return
            async with self._marked():
                await strike()
                await asyncio.sleep(self._settle)
            self.raised[name] += 1

    def end(self) -> None:
        """Raise no more."""
        self._ending.set()

    async def _is_ending(self, *, within: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._ending.wait()
        return self._ending.is_set()

    @contextlib.asynccontextmanager
    async def _marked(self) -> AsyncIterator[None]:
        self.moment += 1
        try:
            yield
        finally:
            self.moment += 1
