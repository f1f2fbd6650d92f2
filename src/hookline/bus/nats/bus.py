"""The bus over NATS: a request reaches exactly one of the workers, wherever it runs.

The bus belongs to the event loop in which ``connect()`` was awaited. A request from anywhere else
(another loop, a thread without one, or when nobody ever connected) goes through a connection in a
thread of the bus's own, made on first use: slower by two changes of thread, and safe.
"""

import asyncio
import os
import ssl
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from hookline.bus.client import DEFAULT_REQUEST_TIMEOUT
from hookline.bus.memory import InProcessMessageBus, kind_of
from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBusType,
    MessageHandler,
    unanswered_response,
)
from hookline.bus.nats.connection import ConnectionState
from hookline.bus.nats.intake import Counters, ServingOptions
from hookline.bus.nats.link import Link
from hookline.bus.nats.options import BusConnectionError, connection_options, url_options
from hookline.bus.nats.protocol import Incoming, subjects_of
from hookline.errors import message_of
from hookline.notices import warn
from hookline.wire import codec

T = TypeVar("T")
StateListener = Callable[[ConnectionState], None]

_REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
_RESPONSE = MessageBusType.HOOK_EXECUTION_RESPONSE


class NatsMessageBus:
    """A ``MessageBus`` over NATS; ``async with`` connects and closes it.

    Handlers of requests hear them from ``connect()`` on, as one member of the queue group of
    ``serving``; all handlers of one bus hear each request that it takes. ``publish`` returns when
    a message is on its way. ``request`` is how to ask: it gives back the one response, or a
    failed one in time. ``servers`` is one URL or several; ``prefix`` begins every subject, so that
    deployments can share a server. ``nkey`` and ``credentials`` are files.
    """

    def __init__(
        self,
        servers: str | Sequence[str],
        *,
        prefix: str = "hookline",
        inbox_prefix: str | None = None,
        serving: ServingOptions | None = None,
        user: str | None = None,
        password: str | None = None,
        token: str | None = None,
        nkey: str | os.PathLike[str] | None = None,
        credentials: str | os.PathLike[str] | None = None,
        tls: ssl.SSLContext | None = None,
        **connection: Any,
    ) -> None:
        self._options = connection_options(
            servers,
            user=user,
            password=password,
            token=token,
            nkey=nkey,
            credentials=credentials,
            tls=tls,
            **connection,
        )
        self._subjects = subjects_of(prefix, inbox_prefix)
        self._serving = serving or ServingOptions()
        self._lock = threading.Lock()
        self._local = InProcessMessageBus()
        self._counters = Counters()
        self._listeners: list[StateListener] = []
        self._link: Link | None = None
        self._opening: list[Link] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._background: _BackgroundLoop | None = None
        self._background_link: Link | None = None

    @classmethod
    def from_url(cls, text: str, **options: Any) -> "NatsMessageBus":
        """A bus that one text describes: ``nats://host?credentials=FILE&tls_ca=FILE&prefix=team``;
        raises BusConnectionError for one that it cannot read."""
        servers, said = url_options(text)
        return cls(servers, **{**said, **options})

    @property
    def address(self) -> str:
        """The servers, without who signs in there."""
        return self._options.shown

    @property
    def served_events(self) -> tuple[str, ...] | None:
        """The events whose requests this bus takes where it serves, None for all."""
        return self._serving.events

    @property
    def state(self) -> ConnectionState:
        """Where the connection is in its life."""
        link = self._open_link() or self._background_link
        return link.state if link is not None else ConnectionState.CLOSED

    def serving_status(self) -> dict[str, Any]:
        """How serving goes: the state of the connection, what is held, and what was counted."""
        link = self._open_link()
        intake = link.intake if link is not None else None
        return {
            "state": self.state.value,
            "reconnects": link.reconnects if link is not None else 0,
            "running": intake.running if intake is not None else 0,
            "waiting": intake.waiting if intake is not None else 0,
            **self._counters.snapshot(),
        }

    def _open_link(self) -> Link | None:
        """The link, unless the loop that it lived in has ended without closing it."""
        link = self._link
        return None if link is None or link.loop.is_closed() else link

    def listen(self, listener: StateListener) -> Callable[[], None]:
        """Call with each new state of the connection, in its loop, until the function returned
        is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def connect(self) -> None:
        """Connect in this event loop; raises BusConnectionError with the reason."""
        if self._open_link() is not None:
            return
        link = Link(self._options, self._subjects, changed=self._become)
        self._opening.append(link)
        try:
            await link.open()
            if self._open_link() is not None:
                # Another caller has connected in the meantime.
                await link.close()
                return
            link.serve(
                self._serving,
                self._counters,
                execute=self._local.publish,
                is_wanted=lambda: self._local.hears(_REQUEST),
            )
            self._link = link
            await self._update()
            await link.flush()
        except BaseException:
            if self._link is link:
                self._link = None
            await link.close()
            raise
        finally:
            self._opening.remove(link)

    async def drain(self) -> None:
        """Take no more requests, and return when those that were taken are answered."""
        if (link := self._open_link()) is not None:
            await _in_loop_of(link, link.drain())

    async def close(self) -> None:
        """Disconnect; what is being carried out is ended, and callers that wait are told."""

        async def close_link(link: Link) -> None:
            # This may be one of them: a handler may close the bus.
            tasks = self._tasks - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            # The requests that are ended have an answer to send yet.
            await link.close()
            self._link = None

        try:
            for opening in tuple(self._opening):
                # Its connect() raises then, as soon as the server answers.
                await _in_loop_of(opening, opening.close())
            if (link := self._open_link()) is not None:
                await _in_loop_of(link, close_link(link))
        finally:
            with self._lock:
                background, self._background = self._background, None
                behind, self._background_link = self._background_link, None
            if background is not None:
                if behind is not None:
                    await asyncio.wrap_future(background.submit(behind.close()))
                background.stop()

    def close_blocking(self) -> None:
        """``close()`` for synchronous callers; raises BusConnectionError in an event loop, which
        would wait for itself."""
        if asyncio._get_running_loop() is not None:
            raise BusConnectionError("an event loop is running here: await close() in it")
        link = self._open_link()
        if link is not None and not link.loop.is_running():
            # Nobody else can end what was begun there.
            link.loop.run_until_complete(self.close())
            return
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            runner.run(self.close())

    async def __aenter__(self) -> "NatsMessageBus":
        await self.connect()
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Callable[[], None]:
        """Hear messages of one type until the returned function is called."""
        end = self._local.subscribe(type, handler)
        self._update_soon()

        def unsubscribe() -> None:
            end()
            self._update_soon()

        return unsubscribe

    async def publish(self, message: Mapping[str, Any]) -> None:
        """Send a message; one of no known type is refused. What answers a request goes to its
        caller, and the answer to a request is delivered to the handlers of responses here."""
        kind = kind_of(message)
        if kind is None:
            return
        link = self._connected_link()

        async def ask() -> None:
            response = await link.ask(message, timeout=DEFAULT_REQUEST_TIMEOUT)
            await self._local.publish(response)

        async def send() -> None:
            if kind is _REQUEST:
                await self._update()
                self._soon(ask())
                return
            intake = link.intake
            held = intake.claim(str(message.get("correlationId"))) if intake is not None else None
            if intake is not None and held is not None:
                await intake.answer(held, message)
                return
            await self._update()
            await link.publish(self._subjects.response, codec.encode(message))

        await _in_loop_of(link, send())

    async def request(
        self, message: Mapping[str, Any], *, timeout: float = DEFAULT_REQUEST_TIMEOUT
    ) -> HookExecutionResponse:
        """Have a request carried out by one of the workers; what keeps its response from coming
        within ``timeout`` seconds is a failed response, not an exception."""
        link = self._link
        if link is not None and link.loop is asyncio.get_running_loop():
            return await link.ask(message, timeout=timeout)

        def become(state: ConnectionState) -> None:
            if self._link is None:
                self._become(state)

        async def ask_in_background() -> HookExecutionResponse:
            if self._background_link is None:
                self._background_link = Link(self._options, self._subjects, changed=become)
            try:
                return await self._background_link.ask(message, timeout=timeout)
            except asyncio.CancelledError:
                # The bus is being closed: the caller, in another loop, is told.
                return unanswered_response(message, "disconnected", "the bus was closed")

        with self._lock:
            if self._background is None:
                self._background = _BackgroundLoop()
            # Whoever closes the bus finds either no loop, or one that knows of the request.
            asking = self._background.submit(ask_in_background())
        return await asyncio.wrap_future(asking)

    async def ask_workers(self, *, wait: float = 2.0, silence: float = 0.3) -> list[Any]:
        """What every worker says of itself; raises BusConnectionError."""
        link = self._connected_link()
        asking = link.ask_all(self._subjects.stats, wait=wait, silence=silence)
        said = map(_read, await _in_loop_of(link, asking))
        return [status for status in said if status is not None]

    async def answer_workers(self, describe: Callable[[], Mapping[str, Any]]) -> None:
        """Say this whenever somebody asks how the workers are."""
        link = self._connected_link()

        async def tell(reply: str) -> None:
            try:
                await link.publish(reply, codec.encode(describe()))
            except BusConnectionError as error:
                warn(f"this worker's status could not be sent: {message_of(error)}")

        def hear(question: Incoming) -> None:
            if question.reply:
                self._soon(tell(question.reply))

        await _in_loop_of(link, link.hear(self._subjects.stats, hear))

    def _connected_link(self) -> Link:
        if (link := self._open_link()) is None:
            raise BusConnectionError(f"the bus at {self.address} is not connected")
        return link

    def _update_soon(self) -> None:
        if (link := self._open_link()) is not None:
            # In its own loop at once, so that what is published next finds the subscription made.
            link.loop.call_soon_threadsafe(lambda: self._soon(self._update()))

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _update(self) -> None:
        """Have the server know which messages are heard here."""
        link = self._link
        if link is None or link.intake is None:
            return

        def hear(said: Incoming) -> None:
            message = _read(said.data)
            if message is not None and kind_of(message) is _RESPONSE:
                self._soon(self._local.publish(message))

        try:
            await link.intake.update()
            if self._local.hears(_RESPONSE) and not link.hears(self._subjects.response):
                await link.hear(self._subjects.response, hear)
        except BusConnectionError as error:
            warn(f"the bus cannot be heard: {message_of(error)}")

    def _become(self, state: ConnectionState) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(state)
            except Exception as error:
                warn("a listener to the bus's state failed", error=error)


class _BackgroundLoop:
    """An event loop in a thread of its own, for callers that have none that lasts; it runs from
    the start until ``stop()``."""

    def __init__(self) -> None:
        runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = runner.get_loop()

        def run() -> None:
            # Its end cancels the tasks that are left, so that no caller elsewhere waits for ever.
            with runner:
                self._loop.run_forever()

        # A program that forgets to stop it still ends.
        self._thread = threading.Thread(target=run, name="hookline nats", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel what still runs in the loop, and end it and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


def _read(data: bytes) -> Any:
    try:
        return codec.decode(data)
    except codec.DecodeError as error:
        warn(f"a message on the bus is not JSON: {error}")
        return None


async def _in_loop_of(link: Link, work: Coroutine[Any, Any, T]) -> T:
    if link.loop is asyncio.get_running_loop():
        return await work
    if not link.loop.is_running():
        work.close()
        raise BusConnectionError("the event loop in which the bus was connected does not run")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, link.loop))
