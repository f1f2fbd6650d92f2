"""A worker runs its own configured hooks and nothing else: a request is only data for them to read.

Without a policy that a user meant, it would allow everything to everybody. So it does not start
with broken settings, with hooks that nobody has reviewed or without any hook; if it finds such
settings later, it keeps those it has.

Told to end, it takes no new request, finishes and answers those it holds, and leaves the bus. Told
again, it cancels its hooks, and answers their requests as failed.
"""

import asyncio
import os
import socket
from collections.abc import Callable

import msgspec

from hookline._support.escapes import count
from hookline._support.notices import warn
from hookline._support.watch import WatchError
from hookline.bus.nats import BusConnectionError, ConnectionState, NatsMessageBus
from hookline.engine.engine import Engine, ReloadReport, SettingsRefusedError
from hookline.engine.project import Project
from hookline.errors import HooklineError
from hookline.settings.reader import EffectiveSettings


class WorkerStatus(msgspec.Struct, frozen=True):
    """The status that a worker reports on the bus; times are in milliseconds, of the last two
    thousand responses. ``handed_back`` counts the requests it had no place for. ``policy`` is a
    digest of the hooks in force, ``refused_settings`` says why changed settings are not used."""

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
            # At the end, as it may be long.
            + (f"; changed settings are not used: {refused}" if refused else "")
        )


class PolicyError(HooklineError):
    """The worker has no policy to serve."""


class Worker:
    """Serves a bus with the hooks of a project. It calls ``say`` with news for people, and
    every ``health_seconds`` with its status. ``allow_empty`` lets it start without any hook."""

    def __init__(
        self,
        bus: NatsMessageBus,
        project: Project,
        *,
        say: Callable[[str], None] = lambda _text: None,
        health_seconds: float = 60.0,
        allow_empty: bool = False,
    ) -> None:
        self._bus = bus
        self._project = project
        self._say = say
        self._health_seconds = health_seconds
        self._allow_empty = allow_empty
        self._refused_settings = ""
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._engine: Engine | None = None
        self._ending = asyncio.Event()
        self._ending_at_once = asyncio.Event()

    def end(self) -> None:
        """Finish the requests it holds and leave; called again, leave without finishing."""
        (self._ending_at_once if self._ending.is_set() else self._ending).set()

    async def run(self) -> None:
        """Serve until told to end; raises BusConnectionError if the bus cannot be reached or is
        lost for good, and before that PolicyError if there is no policy to serve."""

        def hear_reload(report: ReloadReport) -> None:
            self._refused_settings = report.refused
            if not report.refused:
                # The log already says what is wrong in the settings, or why they are refused.
                self._say(
                    f"settings have changed; serving {self._describe_count()} now, {policy()}"
                )

        def policy() -> str:
            return f"policy {engine.get_policy_digest()}"

        bus = self._bus
        engine = Engine(
            self._project,
            message_bus=bus,
            watch=True,
            on_reload=hear_reload,
            accept=self._explain_refusal,
        )
        try:
            try:
                engine.load()
            except WatchError as error:
                engine.dispose()
                warn(f"cannot watch the settings, restart the worker after changing them: {error}")
                engine = Engine(self._project, message_bus=bus, accept=self._explain_refusal)
                engine.load()
        except SettingsRefusedError as error:
            engine.dispose()
            raise PolicyError(f"the worker does not start: {error}") from None
        self._engine = engine
        try:
            await bus.connect()
            await bus.answer_workers(lambda: msgspec.to_builtins(self.status()))
            served = f"{self._describe_count()} of {self._project.working_dir}"
            self._say(f"serving {served}, {policy()}")
            await self._wait_for_end()
            if bus.state is ConnectionState.CLOSED:
                raise BusConnectionError(f"the connection to {bus.address} has ended")
            self._say("ending: finishing accepted requests")
            draining = asyncio.ensure_future(bus.drain())
            hurrying = asyncio.ensure_future(self._ending_at_once.wait())
            await asyncio.wait({draining, hurrying}, return_when=asyncio.FIRST_COMPLETED)
            if not draining.done():
                self._say("ending at once: accepted requests are answered as failed")
            for task in (draining, hurrying):
                task.cancel()
            await asyncio.wait({draining, hurrying})
            self._say(f"ended: {self.status()}")
        finally:
            engine.dispose()
            await bus.close()

    def status(self) -> WorkerStatus:
        """Return the status of the worker."""
        fields = {
            "worker": self._name,
            "hooks": self._count_active_hooks(),
            "policy": self._engine.get_policy_digest() if self._engine is not None else "",
            "refused_settings": self._refused_settings,
            **self._bus.serving_status(),
        }
        return msgspec.convert(fields, WorkerStatus)

    def _explain_refusal(self, settings: EffectiveSettings) -> str | None:
        """Say why these settings are not a policy to serve; None if they are."""
        for problem in settings.problems:
            if problem.broken or problem.skipped:
                return f"{problem.place}: {problem.message}; `hookline check` says what to fix"
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
        return count(self._count_active_hooks(), "hook")

    def _count_active_hooks(self) -> int:
        """Count the hooks that may run."""
        known = self._engine.registry.get_all_hooks() if self._engine is not None else ()
        return sum(entry.enabled and entry.trusted for entry in known)

    async def _wait_for_end(self) -> None:
        """Wait until told to end, or until the bus is lost for good."""

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
