"""A connection with its two sides, asking and serving, all in the event loop it was opened in; and
an event loop in a thread of its own, for callers that have none that lasts."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from hookline.bus.messages import HookExecutionResponse, unanswered_response
from hookline.bus.nats.asking import Asker
from hookline.bus.nats.client import Receive
from hookline.bus.nats.connection import Connection, ConnectionState
from hookline.bus.nats.intake import Counters, Intake, ServingOptions
from hookline.bus.nats.options import BusConnectionError, ConnectionOptions
from hookline.bus.nats.protocol import Subjects
from hookline.errors import message_of

T = TypeVar("T")

# How long after a failed attempt the next request fails at once instead of trying again.
_FIRST_REST = 0.5
_LONGEST_REST = 5.0


class Link:
    """Lives in one event loop; every method is called there."""

    def __init__(
        self,
        options: ConnectionOptions,
        subjects: Subjects,
        *,
        changed: Callable[[ConnectionState], None],
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._options = options
        self._subjects = subjects
        self._changed = changed
        self._opening = asyncio.Lock()
        self._rest, self._retry_at, self._trouble = _FIRST_REST, 0.0, ""
        self._connection: Connection | None = None
        self._asker: Asker | None = None
        self._heard: list[tuple[str, Receive]] = []
        self._closed = False
        self.intake: Intake | None = None

    @property
    def state(self) -> ConnectionState:
        """Where the connection is in its life."""
        return self._connection.state if self._connection else ConnectionState.CLOSED

    @property
    def reconnects(self) -> int:
        """How often the connection was lost and made again."""
        return self._connection.reconnects if self._connection else 0

    async def open(self) -> None:
        """Connect, and hear answers; raises BusConnectionError."""
        connection = Connection(self._options, self._become)
        await connection.open()
        asker = Asker(connection, self._subjects)
        try:
            await asker.open()
            for subject, receive in self._heard:
                await connection.subscribe(subject, receive)
            if self._closed:
                raise BusConnectionError("the bus was closed")
        except BaseException:
            await connection.close()
            raise
        self._connection, self._asker = connection, asker
        if self.intake is not None:
            self.intake.use(connection)

    async def ask(self, message: Mapping[str, Any], *, timeout: float) -> HookExecutionResponse:
        """The response to a request; whatever keeps it from coming is a failed one."""
        asker = self._ready_asker()
        if asker is None:
            deadline = self.loop.time() + timeout
            try:
                asker = await self._open_within(timeout)
            except BusConnectionError as error:
                return unanswered_response(message, error.code, message_of(error))
            timeout = deadline - self.loop.time()
        return await asker.ask(message, timeout=timeout)

    async def ask_all(self, subject: str, *, wait: float, silence: float) -> list[bytes]:
        """What everybody who hears a subject answers; raises BusConnectionError."""
        asker = self._ready_asker() or await self._open_within(wait)
        return await asker.ask_all(subject, wait=wait, silence=silence)

    async def publish(self, subject: str, body: bytes, *, reply: str = "") -> None:
        """Send one message; raises BusConnectionError."""
        await self._open_connection().publish(subject, body, reply=reply)

    async def hear(self, subject: str, receive: Receive) -> None:
        """Hear a subject until the link is closed; raises BusConnectionError."""
        connection = self._open_connection()
        self._heard.append((subject, receive))
        await connection.subscribe(subject, receive)

    def hears(self, subject: str) -> bool:
        """True if a subject is heard, over this connection or the next."""
        return any(subject == known for known, _ in self._heard)

    def serve(
        self,
        options: ServingOptions,
        counters: Counters,
        *,
        execute: Callable[[dict[str, Any]], Coroutine[Any, Any, None]],
        is_wanted: Callable[[], bool],
    ) -> None:
        """Begin to take requests, as soon as they are wanted."""
        connection = self._open_connection()
        self.intake = Intake(
            connection, self._subjects, options, counters, execute=execute, is_wanted=is_wanted
        )

    async def drain(self) -> None:
        """Take no more requests, and return when those that were taken are answered."""
        if self.intake is not None:
            await self.intake.drain()
        await self.flush()

    async def flush(self) -> None:
        """Return when the server has everything that was said."""
        if self._connection is not None:
            await self._connection.flush()

    async def close(self) -> None:
        """End what is being carried out, tell those who wait, and disconnect."""
        self._closed = True
        if self.intake is not None:
            await self.intake.stop()
        if self._asker is not None:
            self._asker.close()
        if self._connection is not None:
            await self._connection.close()

    def _ready_asker(self) -> Asker | None:
        return None if self.state is ConnectionState.CLOSED else self._asker

    async def _open_within(self, seconds: float) -> Asker:
        try:
            async with asyncio.timeout(seconds), self._opening:
                return self._ready_asker() or await self._reopen()
        except TimeoutError:
            raise BusConnectionError(
                f"cannot connect to {self._options.shown} within {seconds:g} s"
            ) from None

    async def _reopen(self) -> Asker:
        if self.loop.time() < self._retry_at:
            raise BusConnectionError(self._trouble)
        try:
            await self.open()
        except BusConnectionError as error:
            self._trouble = message_of(error)
            self._retry_at = self.loop.time() + self._rest
            self._rest = min(self._rest * 2, _LONGEST_REST)
            raise
        self._rest = _FIRST_REST
        assert self._asker is not None
        return self._asker

    def _open_connection(self) -> Connection:
        if self._connection is None or self.state is ConnectionState.CLOSED:
            raise BusConnectionError(f"there is no connection to {self._options.shown}")
        return self._connection

    def _become(self, state: ConnectionState) -> None:
        if state is ConnectionState.CONNECTED and self.intake is not None:
            self.intake.reconnected()
        self._changed(state)


class BackgroundLoop:
    """Runs from the start until ``stop()``."""

    def __init__(self, name: str) -> None:
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = self._runner.get_loop()
        # A program that forgets to stop it still ends.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel what still runs in the loop, and end it and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        # Its end cancels the tasks that are left, so that no caller elsewhere waits for ever.
        with self._runner:
            self._loop.run_forever()
