"""A worker executes its own configured hooks and nothing else: what a request holds is data for
them to read.

Without a policy that somebody meant it would allow everything to everybody. So it does not start
with settings that are broken, with hooks that nobody has reviewed or without any; and settings of
that kind that it finds later leave it with those it has.

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
from hookline.errors import HooklineError
from hookline.notices import warn
from hookline.pipeline.settings import Settings
from hookline.system import HookSystem, ReloadReport, SettingsRefusedError
from hookline.watching import WatchError


class WorkerStatus(msgspec.Struct, frozen=True):
    """How a worker is, as it tells whoever asks on the bus; times in milliseconds and of the last
    two thousand answers. ``handed_back`` are requests that it had no place for. ``policy`` is a
    digest of the hooks in force, ``refused_settings`` says why those of the settings are not."""

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
    policy: str = ""
    refused_settings: str = ""

    def __str__(self) -> str:
        took = ", ".join(f"{name} {value:.0f} ms" for name, value in self.latency_ms.items())
        refused = self.refused_settings
        return (
            f"{self.state}; {self.answered} answered, {sum(self.failed.values())} failed, "
            f"{sum(self.refused.values())} refused; {self.running} running, "
            f"{self.waiting} waiting"
            + (f"; {took}" if took else "")
            # Last, as it may be long.
            + (f"; changed settings are not used: {refused}" if refused else "")
        )


class PolicyError(HooklineError):
    """A worker has no policy to serve."""


class Worker:
    """Serves a bus with the hooks of a configuration; ``say`` is told what people may like to
    know, every ``health_seconds`` how it is. ``allow_empty`` has it start without any hook."""

    def __init__(
        self,
        bus: NatsMessageBus,
        config: Config,
        *,
        say: Callable[[str], None] = lambda _text: None,
        health_seconds: float = 60.0,
        allow_empty: bool = False,
    ) -> None:
        self._bus = bus
        self._config = config
        self._say = say
        self._health_seconds = health_seconds
        self._allow_empty = allow_empty
        self._refused_settings = ""
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._system: HookSystem | None = None
        self._ending = asyncio.Event()
        self._ending_at_once = asyncio.Event()

    def end(self) -> None:
        """Finish what it holds and leave; called again, leave without finishing."""
        (self._ending_at_once if self._ending.is_set() else self._ending).set()

    async def run(self) -> None:
        """Serve until told to end; raises BusConnectionError when there is no bus to serve, or no
        more, and PolicyError before it has heard anything of one."""

        def hear_reload(report: ReloadReport) -> None:
            self._refused_settings = report.refused
            if not report.refused:
                # What is wrong in the settings, or why they are refused, is in the log already.
                self._say(
                    f"settings have changed; serving {self._describe_count()} now, {policy()}"
                )

        def policy() -> str:
            return f"policy {system.get_policy_digest()}"

        bus = self._bus
        system = HookSystem(
            self._config,
            message_bus=bus,
            watch=True,
            on_reload=hear_reload,
            accept=self._explain_refusal,
        )
        try:
            try:
                system.initialize_blocking()
            except WatchError as error:
                system.dispose()
                warn(f"changed settings are read after a restart only: {error}")
                system = HookSystem(self._config, message_bus=bus, accept=self._explain_refusal)
                system.initialize_blocking()
        except SettingsRefusedError as error:
            system.dispose()
            raise PolicyError(f"the worker does not start: {error}") from None
        self._system = system
        try:
            await bus.connect()
            await bus.answer_workers(lambda: msgspec.to_builtins(self.status()))
            served = f"{self._describe_count()} of {self._config.get_working_dir()}"
            self._say(f"serving {served}, {policy()}")
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
        told = {
            "worker": self._name,
            "hooks": self._count_active_hooks(),
            "policy": self._system.get_policy_digest() if self._system is not None else "",
            "refused_settings": self._refused_settings,
            **self._bus.serving_status(),
        }
        return msgspec.convert(told, WorkerStatus)

    def _explain_refusal(self, settings: Settings) -> str | None:
        """Why these settings are no policy to serve; None if they are."""
        for problem in settings.problems:
            if problem.broken or problem.skipped:
                return f"{problem.place}: {problem.message}; `hookline check` says what to mend"
        entries = [entry for entry in settings.entries if entry.enabled]
        untrusted = [entry.name for entry in entries if not entry.trusted]
        if untrusted:
            are, them = ("hook is", "it") if len(untrusted) == 1 else ("hooks are", "them")
            names = ", ".join(map(repr, dict.fromkeys(untrusted)))
            remedy = f"review {them} with `hookline trust`"
            return f"{len(untrusted)} {are} not trusted ({names}); {remedy}"
        events = self._bus.served_events
        served = [entry for entry in entries if events is None or entry.event.value in events]
        if self._allow_empty or (settings.enabled and served):
            return None
        remedy = "--cwd names the directory of the policy, --allow-empty serves without any hook"
        if settings.entries and not (settings.enabled and entries):
            return f"all of its hooks are disabled; {remedy}"
        on = f" on {' and '.join(sorted(events))}" if events is not None else ""
        return f"it has no hook to serve{on}; {remedy}"

    def _describe_count(self) -> str:
        return (
            "1 hook" if self._count_active_hooks() == 1 else f"{self._count_active_hooks()} hooks"
        )

    def _count_active_hooks(self) -> int:
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
