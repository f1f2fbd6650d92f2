"""nats-py's client, changed where it gives up or is slow: no message from outside can end it.

Only this module uses private parts of nats-py. It takes messages right after nats-py parsed them,
before the queue and the task of each subscription, and sends without a dictionary of headers: over
the public API one round trip, or 64 at once, took 15 % longer.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, TypeAlias

try:
    from nats import errors as nats_errors
    from nats.aio.client import Client
    from nats.aio.subscription import Subscription
except ImportError as error:
    raise ImportError("a bus over NATS needs nats-py; run pip install 'hookline[nats]'") from error

from hookline._support.notices import warn
from hookline.bus.nats.options import BusConnectionError, check_credentials
from hookline.bus.nats.protocol import Incoming
from hookline.errors import message_of

__all__ = ["Incoming", "NatsClient", "Receive", "Subscription", "nats_errors"]

# Our own headers take less; longer ones may be an attempt to slow us down.
_MOST_HEADER_BYTES = 4 * 1024
_CLOSE_SECONDS = 2.0
# Tasks that nats-py cancels when it closes, but does not wait for.
_TASKS = ("_reading_task", "_ping_interval_task", "_flusher_task", "_reconnection_task")

Receive: TypeAlias = Callable[[Incoming], None]


class NatsClient(Client):
    """Of nats-py's own methods only ``connect`` and ``flush`` are used."""

    def __init__(self) -> None:
        super().__init__()
        self._receivers: dict[int, Receive] = {}

    async def hear(self, subject: str, receive: Receive, *, queue: str = "") -> Subscription:
        """Subscribe; raises BusConnectionError."""
        # The id that nats-py will assign: a message may come before subscribe() returns.
        number = self._sid + 1
        self._receivers[number] = receive
        try:
            return await self.subscribe(subject, queue=queue)
        except nats_errors.Error as error:
            del self._receivers[number]
            raise BusConnectionError(f"{subject}: {message_of(error)}") from None

    async def forget(self, subscription: Subscription) -> None:
        """Unsubscribe, and drop even the messages that are on their way."""
        self._receivers.pop(subscription._id, None)
        with contextlib.suppress(nats_errors.Error):
            await subscription.unsubscribe()

    async def pause(self, subscription: Subscription) -> None:
        """Tell the server to send no more. Messages on their way are still received, which they
        would not be after unsubscribing."""
        await self._send_unsubscribe(subscription._id)

    async def resume(self, subscription: Subscription) -> None:
        """Tell the server to send again."""
        await self._send_subscribe(subscription)

    async def send(
        self,
        subject: str,
        body: bytes,
        *,
        reply: str = "",
        headers: bytes = b"",
        until: float | None = None,
    ) -> None:
        """Publish; waits only while the network takes no more, until that loop time at most. Raises
        BusConnectionError.

        The subjects are not checked: they are our own, or came over the wire.
        """
        if self.is_closed:
            raise BusConnectionError("nats: connection closed")
        size = len(headers) + len(body)
        if size > self.max_payload:
            # The server would close the connection.
            raise BusConnectionError("nats: maximum payload exceeded")
        line = f"HPUB {subject} {reply} {len(headers)}" if headers else f"PUB {subject} {reply}"
        encoded = line.encode("utf-8", "surrogateescape")
        command = b"%b %d\r\n%b%b\r\n" % (encoded, size, headers, body)
        pending = self.pending_data_size + len(command)
        is_full = pending > self._max_pending_size
        if is_full and not self.is_connected:
            raise BusConnectionError("nats: outbound buffer limit exceeded")
        self._pending.append(command)
        self._pending_data_size = pending
        assert self._flush_queue is not None
        if is_full:
            # nats-py's own wait would swallow a cancellation.
            flush: asyncio.Future[Any] = asyncio.Future()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._flush_queue.put(flush)
                    await flush
        elif self._flush_queue.empty():
            await self._flush_pending()

    async def end(self) -> None:
        """Close in bounded time; leaves no task and no descriptor behind."""
        tasks = [getattr(self, name) for name in _TASKS]
        try:
            if self._flush_queue is not None:
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self.close()
        finally:
            self.hang_up()
            tasks += [getattr(self, name) for name in _TASKS]
            left = {task for task in tasks if task is not None and not task.done()}
            left.discard(asyncio.current_task())
            for task in left:
                task.cancel()
            if left:
                await asyncio.wait(left, timeout=_CLOSE_SECONDS)

    def hang_up(self) -> None:
        """Drop the connection at once: the server does not respond any more."""
        transport, self._transport = self._transport, None
        writer = getattr(transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()
        elif transport is not None:
            transport.close()  # type: ignore[no-untyped-call]

    async def _send_ping(self, future: "asyncio.Future[bool] | None" = None) -> None:
        # nats-py writes a PING ahead of all pending data, so its PONG would not confirm that data.
        pending, self._pending, self._pending_data_size = self._pending, [], 0
        if pending and self._transport is not None:
            self._transport.writelines(pending)
        await super()._send_ping(future)

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        receive = self._receivers.get(sid)
        if receive is None:
            return
        try:
            # Not every client writes UTF-8, and the response must still reach it.
            came_by = subject.decode("utf-8", "surrogateescape")
            answer_to = reply.decode("utf-8", "surrogateescape")
            receive(Incoming(came_by, answer_to, data, _read_headers(headers)))
        except Exception as error:
            # Raised further, it would end the connection.
            warn(f"a message on {subject!r} could not be received", error=error)

    async def _process_pong(self) -> None:
        if self._pongs and self._pongs[0].done():
            # The caller of flush gave up; nats-py would raise and stop reading for good.
            self._pongs.pop(0)
            self._pings_outstanding = 0
            return
        await super()._process_pong()

    async def _process_connect_init(self) -> None:
        try:
            await super()._process_connect_init()
        except (OSError, nats_errors.Error):
            raise
        except Exception as error:
            # nats-py would stop reconnecting without a word.
            raise nats_errors.Error(message_of(error)) from error

    def _connect_command(self) -> bytes:
        # The server says whether it wants TLS before it has proved its identity. A user who asked
        # for TLS must not sign in without it because a man in the middle said no.
        if "tls" in self.options and not self._server_info.get("tls_required"):
            raise nats_errors.SecureConnWantedError
        if isinstance(self._user_credentials, str):
            # The file may have changed since, and nats-py would search a broken one forever.
            check_credentials(self._user_credentials)
        return super()._connect_command()


def _read_headers(raw: bytes | None) -> dict[str, str] | None:
    """Read ``NATS/1.0 503``, which is a status, or ``NATS/1.0`` and lines of name and value."""
    if not raw:
        return None
    text = raw[:_MOST_HEADER_BYTES].decode("utf-8", "replace")
    first, *lines = text.rstrip("\r\n").split("\r\n")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip()] = value.strip()
    # Set last, as a line may use that name.
    headers["Status"] = first[8:].strip()[:3]
    return headers
