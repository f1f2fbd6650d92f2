"""Sends requests on a thread with its own event loop, whatever loop the caller is on.

A connection belongs to the loop that made it, and synchronous callers have a new loop for every
event: without this loop, no connection could be kept for the next event.
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

from hookline._support.escapes import one_line
from hookline._support.transport import (
    IDLE_SECONDS,
    MOST_IDLE,
    keep_alive_options,
    load_authorities,
)
from hookline.runner.addresses import Reach, Target, read_literal
from hookline.wire.results import FailedKind

# Seconds to wait for a connection before the next address of the host is tried.
_NEXT_ADDRESS = 1.0
_MOST_ADDRESSES = 8
# How much of a refusal is read, to show to people.
_MOST_OF_A_REFUSAL = 64 * 1024
# Closing takes no time; this bound is for a thread that the system does not schedule.
_END_SECONDS = 5.0

_Address: TypeAlias = IPv4Address | IPv6Address
# Where a connection leads. The reach is part of it: addresses are checked when connecting, so a
# connection serves only requests with the same reach.
_Place: TypeAlias = tuple[Reach, str, str, int]


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A POST; ``seconds`` bounds all of it, ``limit`` the bytes of the response's body."""

    target: Target
    reach: Reach
    headers: list[tuple[bytes, bytes]]
    body: bytes
    seconds: float
    limit: int


class Response(msgspec.Struct, frozen=True):
    """A response, with as much of its body as was read; ``is_delimited`` if the response itself
    says where its body ends, not the end of the connection."""

    status: int
    location: str
    body: bytes
    is_delimited: bool = True

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Unanswered(Exception):
    """Raised for a request without a valid response."""

    def __init__(self, failed: FailedKind, why: str) -> None:
        super().__init__(why)
        self.failed = failed


class Client:
    """Sends requests until ``close``, which its owner may wrap as ``finish``; ``users`` counts the
    callers that wait for a response."""

    def __init__(self) -> None:
        self.users = 0
        self.finish: Callable[[], object] = self.close
        self._process = os.getpid()
        # Connections that wait for a next request, the oldest first. httpcore's own pool would leak
        # the descriptors of cancelled requests.
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
        """Send a request; raises ``Unanswered``. Cancelling the caller ends the request too."""
        here = asyncio.get_running_loop()
        over = here.create_future()
        tasks: list[asyncio.Task[Response]] = []

        def settle() -> None:
            if not over.done():
                over.set_result(None)

        def tell(_task: object) -> None:
            # The caller may have closed its loop without waiting.
            with suppress(RuntimeError):
                here.call_soon_threadsafe(settle)

        def begin() -> None:
            tasks.append(self._loop.create_task(self._exchange(request)))
            tasks[0].add_done_callback(tell)

        self._loop.call_soon_threadsafe(begin)
        try:
            # Unlike ``await over``, this does not cancel the future with the caller.
            await asyncio.wait([over])
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            await asyncio.wait([over])
            raise
        return tasks[0].result()

    def close(self) -> None:
        """Close all connections and end the thread; does nothing in a forked child."""
        if os.getpid() != self._process:
            return
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)
        # The garbage collector may call this on the thread itself.
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
            # The message of the exception may contain a header.
            why = f"{shown} sent malformed HTTP, or closed the connection before its response"
            raise Unanswered("error", why) from None
        except (httpcore.NetworkError, httpcore.TimeoutException):
            raise Unanswered("error", f"the connection to {shown} broke") from None

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
        """Return an idle connection, or else a new one."""
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
                    # Loading the authorities takes tens of milliseconds.
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
        why = f"{shown} sent a compressed response; turn compression off there"
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
    # A status without a body needs neither.
    is_delimited = response.status == 204 or b"content-length" in headers
    is_delimited = is_delimited or b"transfer-encoding" in headers
    return Response(response.status, location, bytes(body[:limit]), is_delimited)


def _has_leftover(connection: "httpcore.AsyncHTTP11Connection") -> bool:
    """Return whether bytes are left behind a response, or that is unknown: the next request would
    read them as its own response."""
    state = getattr(connection, "_h11_state", None)
    return state is None or bool(state.trailing_data[0])


async def _connect(reach: Reach, target: Target) -> "httpcore.AsyncNetworkStream":
    """Connect to one of the addresses of a host, which are looked up once and must all be within
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
    """Return all addresses of a name. A daemon thread for each call: a lookup whose server does not
    answer cannot be stopped, and must not delay the end of the program."""
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
    where = f"{host} resolves to {address}" if host != str(address) else host
    if reach is Reach.THIS_MACHINE:
        return f"{where}, which is not this machine, and plain http reaches no other; use https"
    return (
        f"{where}, which is not a public address; for a project's hook to reach it, the user's or "
        f"the system's settings must list {host} in security.privateHookHosts"
    )


def _explain(error: BaseException) -> str:
    """Return what the system or the TLS library says about a failed connection."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[-1]
        said = getattr(cause, "strerror", None)
        if said:
            return one_line(said[:300])
        cause = cause.__cause__ or cause.__context__
    return one_line(str(error)[:300]) or "no response"
