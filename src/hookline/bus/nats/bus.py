"""The bus over NATS: a request reaches exactly one of the workers, wherever it runs.

The bus belongs to the event loop in which ``connect()`` was awaited. A request from anywhere else
(from another loop, or before any ``connect()``) goes through a second connection, in a thread that
the bus starts on first use: that is safe, but costs two changes of thread.
"""

import asyncio
import os
import ssl
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from hookline._support.notices import warn
from hookline.bus.client import DEFAULT_REQUEST_TIMEOUT
from hookline.bus.memory import InProcessMessageBus, read_kind
from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBusType,
    MessageHandler,
    unanswered_response,
)
from hookline.bus.nats.connection import ConnectionState
from hookline.bus.nats.intake import Counters, ServingOptions
from hookline.bus.nats.link import Link
from hookline.bus.nats.options import BusConnectionError, make_connection_options, read_url_options
from hookline.bus.nats.protocol import Incoming, make_subjects
from hookline.errors import message_of
from hookline.wire import codec

T = TypeVar("T")
StateListener = Callable[[ConnectionState], None]

_REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
_RESPONSE = MessageBusType.HOOK_EXECUTION_RESPONSE


class NatsMessageBus:
    """A ``MessageBus`` over NATS; ``async with`` connects and closes it.

    Handlers get requests from ``connect()`` on, as one member of the queue group of ``serving``;
    each request that this bus takes goes to all its handlers. ``publish`` returns when a message is
    on its way. ``request`` returns the response to a request, or a failed one in time. ``servers``
    is one URL or several; ``prefix`` begins every subject, so that deployments can share a server.
    ``nkey`` and ``credentials`` are files.
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
        self._options = make_connection_options(
            servers,
            user=user,
            password=password,
            token=token,
            nkey=nkey,
            credentials=credentials,
            tls=tls,
            **connection,
        )
        self._subjects = make_subjects(prefix, inbox_prefix)
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
        """Make a bus from a URL with options: ``nats://host?credentials=FILE&prefix=team``; raises
        BusConnectionError for a malformed one."""
        servers, url_options = read_url_options(text)
        return cls(servers, **{**url_options, **options})

    @property
    def address(self) -> str:
        """The URLs of the servers, without credentials."""
        return self._options.shown

    @property
    def served_events(self) -> tuple[str, ...] | None:
        """The events that this bus serves, None for all."""
        return self._serving.events

    @property
    def state(self) -> ConnectionState:
        """The state of the connection."""
        link = self._get_open_link() or self._background_link
        return link.state if link is not None else ConnectionState.CLOSED

    def serving_status(self) -> dict[str, Any]:
        """Return the state of the connection, the requests in hand, and the counters."""
        link = self._get_open_link()
        intake = link.intake if link is not None else None
        return {
            "state": self.state.value,
            "reconnects": link.reconnects if link is not None else 0,
            "running": intake.running if intake is not None else 0,
            "waiting": intake.waiting if intake is not None else 0,
            **self._counters.snapshot(),
        }

    def _get_open_link(self) -> Link | None:
        """Return the link, or None if its event loop was closed without closing the bus."""
        link = self._link
        return None if link is None or link.loop.is_closed() else link

    def listen(self, listener: StateListener) -> Callable[[], None]:
        """Call the listener with each new state of the connection, in its loop, until the returned
        function is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def connect(self) -> None:
        """Connect in this event loop; raises BusConnectionError with the reason."""
        if self._get_open_link() is not None:
            return
        link = Link(self._options, self._subjects, changed=self._tell_listeners)
        self._opening.append(link)
        try:
            await link.open()
            if self._get_open_link() is not None:
                # Another task connected in the meantime.
                await link.close()
                return
            link.serve(
                self._serving,
                self._counters,
                execute=self._local.publish,
                is_wanted=lambda: self._local.hears(_REQUEST),
            )
            self._link = link
            await self._update_subscriptions()
            await link.flush()
        except BaseException:
            if self._link is link:
                self._link = None
            await link.close()
            raise
        finally:
            self._opening.remove(link)

    async def drain(self) -> None:
        """Take no more requests, and return when all accepted ones are answered."""
        if (link := self._get_open_link()) is not None:
            await _run_in_loop_of(link, link.drain())

    async def close(self) -> None:
        """Disconnect; cancels the requests that run here and fails the callers that wait."""

        async def close_link(link: Link) -> None:
            # A handler may close the bus, so this task may be one of them.
            tasks = self._tasks - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            # Last, as the cancelled requests still send their responses.
            await link.close()
            self._link = None

        try:
            for opening in tuple(self._opening):
                # Its connect() then raises as soon as the server answers.
                await _run_in_loop_of(opening, opening.close())
            if (link := self._get_open_link()) is not None:
                await _run_in_loop_of(link, close_link(link))
        finally:
            with self._lock:
                background, self._background = self._background, None
                behind, self._background_link = self._background_link, None
            if background is not None:
                if behind is not None:
                    await asyncio.wrap_future(background.submit(behind.close()))
                background.stop()

    def close_blocking(self) -> None:
        """Close from synchronous code; raises BusConnectionError in a running event loop, which
        would wait for itself."""
        if asyncio._get_running_loop() is not None:
            raise BusConnectionError("an event loop is running here; await close() instead")
        link = self._get_open_link()
        if link is not None and not link.loop.is_running():
            # Its tasks can only be ended in that loop.
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
        """Call the handler with each message of one type, until the returned function is called."""
        end = self._local.subscribe(type, handler)
        self._schedule_update()

        def unsubscribe() -> None:
            end()
            self._schedule_update()

        return unsubscribe

    async def publish(self, message: Mapping[str, Any]) -> None:
        """Send a message; drop one of an unknown type. A response goes to the caller of its
        request; the response to a request published here goes to the response handlers here."""
        kind = read_kind(message)
        if kind is None:
            return
        link = self._require_link()

        async def ask() -> None:
            response = await link.ask(message, timeout=DEFAULT_REQUEST_TIMEOUT)
            await self._local.publish(response)

        async def send() -> None:
            if kind is _REQUEST:
                await self._update_subscriptions()
                self._start_task(ask())
                return
            intake = link.intake
            request = (
                intake.claim(str(message.get("correlationId"))) if intake is not None else None
            )
            if intake is not None and request is not None:
                await intake.answer(request, message)
                return
            await self._update_subscriptions()
            await link.publish(self._subjects.response, codec.encode(message))

        await _run_in_loop_of(link, send())

    async def request(
        self, message: Mapping[str, Any], *, timeout: float = DEFAULT_REQUEST_TIMEOUT
    ) -> HookExecutionResponse:
        """Send a request to one of the workers and return its response; if none comes within
        ``timeout`` seconds, return a failed response."""
        link = self._link
        if link is not None and link.loop is asyncio.get_running_loop():
            return await link.ask(message, timeout=timeout)

        def become(state: ConnectionState) -> None:
            if self._link is None:
                self._tell_listeners(state)

        async def ask_in_background() -> HookExecutionResponse:
            if self._background_link is None:
                self._background_link = Link(self._options, self._subjects, changed=become)
            return await self._background_link.ask(message, timeout=timeout)

        with self._lock:
            if self._background is None:
                self._background = _BackgroundLoop()
            # Under the lock: close() finds either no loop, or one that has this request.
            asking = self._background.submit(ask_in_background())
        caller = asyncio.current_task()
        try:
            return await asyncio.wrap_future(asking)
        except asyncio.CancelledError:
            if caller is None or caller.cancelling():
                raise
            # close() cancels the task in the other loop, even before its first step.
            return unanswered_response(message, "disconnected", "the bus was closed")

    async def ask_workers(self, *, wait: float = 2.0, silence: float = 0.3) -> list[Any]:
        """Return the status of every worker; raises BusConnectionError."""
        link = self._require_link()
        asking = link.ask_all(self._subjects.stats, wait=wait, silence=silence)
        statuses = map(_decode_message, await _run_in_loop_of(link, asking))
        return [status for status in statuses if status is not None]

    async def answer_workers(self, describe: Callable[[], Mapping[str, Any]]) -> None:
        """Send what ``describe`` returns whenever a caller asks for the status of the workers."""
        link = self._require_link()

        async def tell(reply: str) -> None:
            try:
                await link.publish(reply, codec.encode(describe()))
            except BusConnectionError as error:
                warn(f"this worker's status could not be sent: {message_of(error)}")

        def hear(question: Incoming) -> None:
            if question.reply:
                self._start_task(tell(question.reply))

        await _run_in_loop_of(link, link.hear(self._subjects.stats, hear))

    def _require_link(self) -> Link:
        if (link := self._get_open_link()) is None:
            raise BusConnectionError(
                f"the bus at {self.address} is not connected; call connect() first"
            )
        return link

    def _schedule_update(self) -> None:
        if (link := self._get_open_link()) is not None:
            # A task in the link's loop, which runs before a publish() that follows.
            link.loop.call_soon_threadsafe(lambda: self._start_task(self._update_subscriptions()))

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _update_subscriptions(self) -> None:
        """Subscribe at the server to what handlers here wait for."""
        link = self._link
        if link is None or link.intake is None:
            return

        def hear(incoming: Incoming) -> None:
            message = _decode_message(incoming.data)
            if message is not None and read_kind(message) is _RESPONSE:
                self._start_task(self._local.publish(message))

        try:
            await link.intake.update()
            if self._local.hears(_RESPONSE) and not link.hears(self._subjects.response):
                await link.hear(self._subjects.response, hear)
        except BusConnectionError as error:
            warn(f"cannot subscribe to messages of the bus: {message_of(error)}")

    def _tell_listeners(self, state: ConnectionState) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(state)
            except Exception as error:
                warn("a listener to the state of the bus failed", error=error)


class _BackgroundLoop:
    """An event loop in its own thread, for callers without a lasting loop; it runs until
    ``stop()``."""

    def __init__(self) -> None:
        runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop = runner.get_loop()

        def run() -> None:
            # Closing the runner cancels the tasks that are left, so that no caller waits forever.
            with runner:
                self._loop.run_forever()

        # A daemon, so that a program that forgets to stop it still ends.
        self._thread = threading.Thread(target=run, name="hookline nats", daemon=True)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine in that loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """Cancel the tasks of the loop, and end it and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


def _decode_message(data: bytes) -> Any:
    try:
        return codec.decode(data)
    except codec.DecodeError as error:
        warn(f"a message on the bus is not JSON: {error}")
        return None


async def _run_in_loop_of(link: Link, work: Coroutine[Any, Any, T]) -> T:
    if link.loop is asyncio.get_running_loop():
        return await work
    if not link.loop.is_running():
        work.close()
        raise BusConnectionError("the event loop in which the bus was connected is not running")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, link.loop))
