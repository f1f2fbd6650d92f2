"""Sends requests on a thread with an event loop of its own, whatever loop the caller is on.

A connection belongs to the loop that made it, and callers that are not async have a new loop for
every event: only so are connections there for the next event too.
"""

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias, cast

import httpcore
import msgspec

from hookline.notices import one_line
from hookline.pipeline.runner.addresses import Reach, Target, read_literal
from hookline.web.transport import (
    IDLE_SECONDS,
    MOST_IDLE,
    keep_alive_options,
    load_authorities,
)
from hookline.wire.results import FailedKind

# How long an address may keep the next one of its host waiting, in seconds.
_NEXT_ADDRESS = 1.0
_MOST_ADDRESSES = 8
# What is read of a response that is no answer, for people to see.
_MOST_OF_A_REFUSAL = 64 * 1024
# Connections are closed at once; it is for a thread that the system does not let run.
_END_SECONDS = 5.0

_Address: TypeAlias = IPv4Address | IPv6Address


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A POST. ``seconds`` bound all of it, ``limit`` the bytes of the response's body."""

    target: Target
    reach: Reach
    headers: list[tuple[bytes, bytes]]
    body: bytes
    seconds: float
    limit: int


class Response(msgspec.Struct, frozen=True):
    """A response, with its body as far as it was read."""

    status: int
    location: str
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Unanswered(Exception):
    """A request without a response that counts."""

    def __init__(self, failed: FailedKind, why: str) -> None:
        super().__init__(why)
        self.failed = failed


class Client:
    """Lives until ``close``, which its owner may have wrapped as ``finish``; ``users`` are the
    callers that wait for a response."""

    def __init__(self) -> None:
        self.users = 0
        self.finish: Callable[[], object] = self.close
        self._process = os.getpid()
        # Connections of one reach are not for another: an address was judged when they were made.
        self._pools: dict[tuple[Reach, str], httpcore.AsyncConnectionPool] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="hookline http", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._loop.close()
            raise

    async def send(self, request: Request) -> Response:
        """Raises ``Unanswered``. When the caller is cancelled the request has ended too."""
        here = asyncio.get_running_loop()
        over = here.create_future()
        tasks: list[asyncio.Task[Response]] = []

        def settle() -> None:
            if not over.done():
                over.set_result(None)

        def tell(_task: object) -> None:
            # A caller that did not wait for it may have closed its loop.
            with suppress(RuntimeError):
                here.call_soon_threadsafe(settle)

        def begin() -> None:
            tasks.append(self._loop.create_task(self._exchange(request)))
            tasks[0].add_done_callback(tell)

        self._loop.call_soon_threadsafe(begin)
        try:
            # Other than to await it, this leaves it as it is when the caller is cancelled.
            await asyncio.wait([over])
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            await asyncio.wait([over])
            raise
        return tasks[0].result()

    def close(self) -> None:
        """Close all connections and end the thread, but not in a process forked from its own."""
        if os.getpid() != self._process:
            return
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)
        # Garbage is collected on any thread.
        if threading.current_thread() is not self._thread:
            self._thread.join(_END_SECONDS)

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end())
        finally:
            self._loop.close()

    async def _end(self) -> None:
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for pool in self._pools.values():
            await pool.aclose()
        await self._loop.shutdown_asyncgens()

    async def _exchange(self, request: Request) -> Response:
        shown = request.target.shown
        try:
            async with asyncio.timeout(request.seconds):
                return await self._post(request)
        except TimeoutError:
            why = f"ran longer than its timeout of {request.seconds * 1000:g} ms and was stopped"
            raise Unanswered("timeout", why) from None
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise Unanswered("spawn", f"{shown} cannot be reached: {_explain(error)}") from None
        except httpcore.ProtocolError:
            # Its own words may have a header in them.
            why = f"{shown} broke HTTP, or ended the connection before its response"
            raise Unanswered("error", why) from None
        except (httpcore.NetworkError, httpcore.TimeoutException):
            raise Unanswered("error", f"{shown} broke the connection") from None

    async def _post(self, request: Request) -> Response:
        target = request.target
        url = httpcore.URL(
            scheme=target.scheme.encode(),
            host=target.host.encode(),
            port=target.port,
            target=target.path.encode(),
        )
        posted = httpcore.Request(b"POST", url, headers=request.headers, content=request.body)
        response = await self._find_pool(request.reach, target.scheme).handle_async_request(posted)
        try:
            headers = {name.lower(): value for name, value in response.headers}
            is_success = 200 <= response.status < 300
            if is_success and headers.get(b"content-encoding", b"identity").lower() != b"identity":
                why = f"{target.shown} sent a compressed response, which nobody asked for"
                raise Unanswered("malformed", why)
            limit = request.limit if is_success else min(request.limit, _MOST_OF_A_REFUSAL)
            body = bytearray()
            async for piece in response.aiter_stream():
                body += piece
                if len(body) > limit:
                    break
            if is_success and len(body) > limit:
                why = f"{target.shown} sent more than {limit} bytes and was stopped"
                raise Unanswered("output_limit", why)
            if _has_leftover(response):
                # The next request would find it there and take it for its own response.
                await response.extensions["network_stream"].aclose()
            location = headers.get(b"location", b"").decode("latin-1")
            return Response(response.status, location, bytes(body[:limit]))
        finally:
            await response.aclose()

    def _find_pool(self, reach: Reach, scheme: str) -> "httpcore.AsyncConnectionPool":
        pool = self._pools.get((reach, scheme))
        if pool is None:
            # Authorities take tens of milliseconds to load, and plain HTTP never asks for them.
            is_https = scheme == "https"
            tls = load_authorities() if is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            pool = self._pools[reach, scheme] = httpcore.AsyncConnectionPool(
                ssl_context=tls,
                max_connections=None,
                max_keepalive_connections=MOST_IDLE,
                keepalive_expiry=IDLE_SECONDS,
                network_backend=cast("httpcore.AsyncNetworkBackend", _Network(reach)),
                socket_options=keep_alive_options(),
            )
        return pool


class _Network:
    """Connects to addresses that were looked up once and are all within reach."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: "Iterable[httpcore.SOCKET_OPTION] | None" = None,
    ) -> "httpcore.AsyncNetworkStream":
        """What httpcore calls for every connection."""
        literal = read_literal(host)
        addresses = await _look_up(host, port) if literal is None else [literal]
        for address in addresses:
            if not self._reach.includes(address):
                raise Unanswered("error", _describe_refusal(self._reach, host, address))
        *others, last = addresses[:_MOST_ADDRESSES]
        for address in others:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                return await self._connect(
                    str(address), port, _NEXT_ADDRESS, local_address, socket_options
                )
        return await self._connect(str(last), port, timeout, local_address, socket_options)

    async def _connect(self, *connection: Any) -> "httpcore.AsyncNetworkStream":
        stream = _Stream(await self._backend.connect_tcp(*connection))
        return cast("httpcore.AsyncNetworkStream", stream)


class _Stream:
    """A connection without TLS, that is closed too when a handshake is cancelled."""

    def __init__(self, stream: "httpcore.AsyncNetworkStream") -> None:
        self.read = stream.read
        self.write = stream.write
        self.aclose = stream.aclose
        self.get_extra_info = stream.get_extra_info
        self._stream = stream

    async def start_tls(self, **options: Any) -> "httpcore.AsyncNetworkStream":
        try:
            return await self._stream.start_tls(**options)
        except BaseException:
            await self._stream.aclose()
            raise


def _has_leftover(response: "httpcore.Response") -> bool:
    """Whether more came with a response than belongs to it, which httpcore does not tell."""
    state: Any = response.stream
    for name in ("_stream", "_connection", "_h11_state"):
        state = getattr(state, name, None)
    return state is not None and bool(state.trailing_data[0])


async def _look_up(host: str, port: int) -> list[_Address]:
    """All addresses of a name. A thread for each call: one that waits for a server that does not
    answer cannot be stopped, and nobody waits for it when the program ends."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[_Address]] = loop.create_future()

    def deliver(addresses: list[_Address], error: Exception | None) -> None:
        if found.done():
            return
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(addresses)

    def work() -> None:
        addresses: list[_Address] = []
        failure: Exception | None = None
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(ip_address(entry[4][0]) for entry in entries))
        except (OSError, ValueError) as error:
            failure = error
        if not addresses:
            why = getattr(failure, "strerror", None) or "it has no address"
            failure = Unanswered("spawn", f"the host {host} cannot be found: {why}")
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver, addresses, failure)

    threading.Thread(target=work, name=f"hookline looks up {host}", daemon=True).start()
    return await found


def _describe_refusal(reach: Reach, host: str, address: _Address) -> str:
    leads = f"{host} leads to {address}" if host != str(address) else host
    if reach is Reach.THIS_MACHINE:
        return f"{leads}, which is not this machine, and plain http goes no further; use https"
    return (
        f"{leads}, which is no public address, so a project's hook is not sent there; the user's "
        f"or the system's settings can allow {host}"
    )


def _explain(error: BaseException) -> str:
    """What the system or the TLS library says about a connection that could not be made."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[-1]
        said = getattr(cause, "strerror", None)
        if said:
            return one_line(said[:300])
        cause = cause.__cause__ or cause.__context__
    return one_line(str(error)[:300]) or "it does not answer"
