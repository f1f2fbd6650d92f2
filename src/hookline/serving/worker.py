"""A worker executes its own configured hooks and nothing else: what a request holds is data for
them to read.

Told to end, it takes nothing new, finishes and answers what it holds, and then leaves the bus. Told
so again, it ends its hooks, and answers that it did.
"""

import asyncio
import os
import socket
from collections.abc import Callable

import msgspec

from hookline.bus.nats import BusConnectionError, ConnectionState, NatsMessageBus
from hookline.config import Config
from hookline.notices import warn
from hookline.system import HookSystem, ReloadReport
from hookline.watching import WatchError


class WorkerStatus(msgspec.Struct, frozen=True):
    """How a worker is, as it tells whoever asks on the bus; times in milliseconds and of the last
    two thousand answers. ``handed_back`` are requests that it had no place for."""

    worker: str
    hooks: int
    state: str
    running: int
    waiting: int
    reconnects: int
    uptime_s: float
    received: int
    answered: int
    handed_back: int
    hook_failures: int
    refused: dict[str, int]
    failed: dict[str, int]
    latency_ms: dict[str, float]

    def __str__(self) -> str:
        took = ", ".join(f"{name} {value:.0f} ms" for name, value in self.latency_ms.items())
        return (
            f"{self.state}; {self.answered} answered, {sum(self.failed.values())} failed, "
            f"{sum(self.refused.values())} refused; {self.running} running, "
            f"{self.waiting} waiting" + (f"; {took}" if took else "")
        )


class Worker:
    """Serves a bus with the hooks of a configuration; ``say`` is told what people may like to
    know, every ``health_seconds`` how it is."""

    def __init__(
        self,
        bus: NatsMessageBus,
        config: Config,
        *,
        say: Callable[[str], None] = lambda _text: None,
        health_seconds: float = 60.0,
    ) -> None:
        self._bus = bus
        self._config = config
        self._say = say
        self._health_seconds = health_seconds
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._system: HookSystem | None = None
        self._ending = asyncio.Event()
        self._ending_at_once = asyncio.Event()

    def end(self) -> None:
        """Finish what it holds and leave; called again, leave without finishing."""
        (self._ending_at_once if self._ending.is_set() else self._ending).set()

    async def run(self) -> None:
        """Serve until told to end; raises BusConnectionError when there is no bus to serve, or no
        more."""

        def hear_reload(_report: ReloadReport) -> None:
            # What is wrong in the settings is in the log already.
            self._say(f"settings have changed; serving {self._count_hooks()} now")

        bus = self._bus
        system = HookSystem(self._config, message_bus=bus, watch=True, on_reload=hear_reload)
        try:
            system.initialize_blocking()
        except WatchError as error:
            system.dispose()
            warn(f"changed settings are read after a restart only: {error}")
            system = HookSystem(self._config, message_bus=bus)
            system.initialize_blocking()
        self._system = system
        try:
            await bus.connect()
            await bus.answer_workers(lambda: msgspec.to_builtins(self.status()))
            self._say(f"serving {self._count_hooks()} of {self._config.get_working_dir()}")
            await self._wait_for_end()
            if bus.state is ConnectionState.CLOSED:
                raise BusConnectionError(f"the connection to {bus.address} has ended")
            self._say("ending: finishing what was taken")
            draining = asyncio.ensure_future(bus.drain())
            hurrying = asyncio.ensure_future(self._ending_at_once.wait())
            await asyncio.wait({draining, hurrying}, return_when=asyncio.FIRST_COMPLETED)
            if not draining.done():
                self._say("ending at once: what was taken is answered as failed")
            for task in (draining, hurrying):
                task.cancel()
            await asyncio.wait({draining, hurrying})
            self._say(f"ended: {self.status()}")
        finally:
            system.dispose()
            await bus.close()

    def status(self) -> WorkerStatus:
        """How the worker is."""
        told = {"worker": self._name, "hooks": self._hooks(), **self._bus.serving_status()}
        return msgspec.convert(told, WorkerStatus)

    def _count_hooks(self) -> str:
        return "1 hook" if self._hooks() == 1 else f"{self._hooks()} hooks"

    def _hooks(self) -> int:
        """How many there are that may run."""
        known = self._system.get_all_hooks() if self._system is not None else ()
        return sum(entry.enabled and entry.trusted for entry in known)

    async def _wait_for_end(self) -> None:
        """Wait to be told to end, or for the bus to be gone for good."""

        def hear(state: ConnectionState) -> None:
            if state is ConnectionState.CLOSED:
                self._ending.set()

        stop = self._bus.listen(hear)
        hear(self._bus.state)
        try:
            while not self._ending.is_set():
                try:
                    async with asyncio.timeout(self._health_seconds):
                        await self._ending.wait()
                except TimeoutError:
                    self._say(str(self.status()))
        finally:
            stop()
