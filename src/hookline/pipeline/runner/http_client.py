"""Sends requests on a thread with an event loop of its own, whatever loop the caller is on.

A connection belongs to the loop that made it, and callers that are not async have a new loop for
every event: only so are connections there for the next event too.
"""

import asyncio
import os
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias

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
# Where a connection leads. One of another reach is not for it: an address was judged when it was
# made.
_Place: TypeAlias = tuple[Reach, str, str, int]


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
        # Those that wait for a next request, the oldest first. A pool of httpcore's keeps what a
        # request that was cancelled has left, with its descriptor.
        self._idle: dict[httpcore.AsyncHTTP11Connection, _Place] = {}
        self._tls: ssl.SSLContext | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name="hookline http", daemon=True)
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

    def _run_loop(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end_requests())
        finally:
            self._loop.close()

    async def _end_requests(self) -> None:
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        for connection in self._idle:
            await connection.aclose()
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
        connection = await self._find_connection(request, url.origin)
        try:
            response = await connection.handle_async_request(posted)
            read = await _read_response(response, request)
            await response.aclose()
        except BaseException:
            await connection.aclose()
            raise
        if connection.is_idle() and not _has_leftover(connection):
            self._idle[connection] = _find_place(request)
        else:
            await connection.aclose()
        if len(self._idle) > MOST_IDLE:
            await self._close_idle(next(iter(self._idle)))
        return read

    async def _find_connection(
        self, request: Request, origin: "httpcore.Origin"
    ) -> "httpcore.AsyncHTTP11Connection":
        """One that is there and waits, or else a new one."""
        while expired := next((each for each in self._idle if each.has_expired()), None):
            await self._close_idle(expired)
        place = _find_place(request)
        known = next((each for each in reversed(self._idle) if self._idle[each] == place), None)
        if known is not None:
            del self._idle[known]
            return known
        stream = await _connect(request.reach, request.target)
        if request.target.scheme == "https":
            try:
                if self._tls is None:
                    # Authorities take tens of milliseconds to load.
                    self._tls = load_authorities()
                    self._tls.set_alpn_protocols(["http/1.1"])
                stream = await stream.start_tls(self._tls, request.target.host)
            except BaseException:
                await stream.aclose()
                raise
        return httpcore.AsyncHTTP11Connection(origin, stream, keepalive_expiry=IDLE_SECONDS)

    async def _close_idle(self, connection: "httpcore.AsyncHTTP11Connection") -> None:
        del self._idle[connection]
        await connection.aclose()


def _find_place(request: Request) -> _Place:
    return request.reach, request.target.scheme, request.target.host, request.target.port


async def _read_response(response: "httpcore.Response", request: Request) -> Response:
    shown = request.target.shown
    headers = {name.lower(): value for name, value in response.headers}
    is_success = 200 <= response.status < 300
    if is_success and headers.get(b"content-encoding", b"identity").lower() != b"identity":
        why = f"{shown} sent a compressed response, which nobody asked for"
        raise Unanswered("malformed", why)
    limit = request.limit if is_success else min(request.limit, _MOST_OF_A_REFUSAL)
    body = bytearray()
    async for piece in response.aiter_stream():
        body += piece
        if len(body) > limit:
            break
    if is_success and len(body) > limit:
        raise Unanswered("output_limit", f"{shown} sent more than {limit} bytes and was stopped")
    location = headers.get(b"location", b"").decode("latin-1")
    return Response(response.status, location, bytes(body[:limit]))


def _has_leftover(connection: "httpcore.AsyncHTTP11Connection") -> bool:
    """Whether more came with a response than belongs to it, or that cannot be told: the next
    request would find it there and take it for its own response."""
    state = getattr(connection, "_h11_state", None)
    return state is None or bool(state.trailing_data[0])


async def _connect(reach: Reach, target: Target) -> "httpcore.AsyncNetworkStream":
    """A connection to one of the addresses of a host, which were looked up once and are all within
    reach."""
    host, port = target.host, target.port
    literal = read_literal(host)
    addresses = await _look_up(host, port) if literal is None else [literal]
    for address in addresses:
        if not reach.includes(address):
            raise Unanswered("error", _describe_refusal(reach, host, address))
    backend, options = httpcore.AnyIOBackend(), keep_alive_options()
    *others, last = addresses[:_MOST_ADDRESSES]
    for address in others:
        with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
            return await backend.connect_tcp(str(address), port, _NEXT_ADDRESS, None, options)
    return await backend.connect_tcp(str(last), port, None, None, options)


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
        f"{leads}, which is no public address, so a project's hook is sent there only if the "
        f"user's or the system's settings name {host} in security.privateHookHosts"
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
