"""Sends an http hook's request to an address that was checked, on a connection of its own.

A connection serves one request: bytes that a server sends behind its response are nobody's answer,
and nothing is left that belongs to an event loop or has to be closed with the agent. h11 reads and
writes HTTP; a client above it takes longer to set up than such a connection.
"""

import asyncio
import socket
import ssl
import threading
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias

import h11
import msgspec

from hookline._support.escapes import one_line
from hookline.runner.addresses import Reach, Target, read_literal
from hookline.wire.results import FailedKind

# Seconds to wait for a connection before the next address of the host is tried.
_NEXT_ADDRESS = 1.0
_MOST_ADDRESSES = 8
# How much of a refusal is read, to show to people.
_MOST_OF_A_REFUSAL = 64 * 1024
# What is read at once, how long the head of a response may be, and how many may come before it.
_PIECE = 64 * 1024
_MOST_OF_A_HEAD = 100 * 1024
_MOST_INTERIM = 100

# Lookups that wait for the DNS, each a thread that cannot be stopped.
_LOOKUPS = threading.Semaphore(64)

_Address: TypeAlias = IPv4Address | IPv6Address


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
    is_delimited: bool

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Unanswered(Exception):
    """Raised for a request without a valid response."""

    def __init__(self, failed: FailedKind, why: str) -> None:
        super().__init__(why)
        self.failed = failed


class _NotConnected(Exception):
    """No connection to an address was made; the text says why."""


class Client:
    """Sends requests from any event loop of asyncio; remembers the certificate authorities, as
    loading them takes tens of milliseconds."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None

    async def send(self, request: Request) -> Response:
        """Send a request; raises ``Unanswered``. Cancelling the caller ends the request too."""
        # Before the time runs: loading them may take longer than the hook has.
        tls = self._choose_tls(request.target)
        try:
            async with asyncio.timeout(request.seconds):
                return await _try_addresses(request, tls)
        except TimeoutError:
            why = f"ran longer than its timeout of {request.seconds * 1000:g} ms and was stopped"
            raise Unanswered("timeout", why) from None
        except h11.LocalProtocolError:
            # The message of the exception may contain a header.
            why = f"the request to {request.target.shown} is not valid HTTP; correct its headers"
            raise Unanswered("error", why) from None
        except _NotConnected as error:
            why = f"{request.target.shown} cannot be reached: {error}"
            raise Unanswered("spawn", why) from None

    def _choose_tls(self, target: Target) -> ssl.SSLContext | None:
        if target.scheme != "https":
            return None
        if self._tls is None:
            try:
                from hookline._support.transport import load_authorities
            except ImportError as error:
                raise Unanswered("spawn", str(error)) from None
            self._tls = load_authorities()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


async def _try_addresses(request: Request, tls: ssl.SSLContext | None) -> Response:
    """Send it to the first of the host's addresses that can be connected to; they are looked up
    once, and must all be within reach."""
    host, port = request.target.host, request.target.port
    literal = read_literal(host)
    addresses = await _look_up(host, port) if literal is None else [literal]
    for address in addresses:
        if not request.reach.includes(address):
            raise Unanswered("error", request.reach.describe_refusal(host, address))
    *others, last = addresses[:_MOST_ADDRESSES]
    for address in others:
        with suppress(_NotConnected):
            return await _post(request, address, tls, connect_seconds=_NEXT_ADDRESS)
    return await _post(request, last, tls, connect_seconds=None)


async def _post(
    request: Request,
    address: _Address,
    tls: ssl.SSLContext | None,
    *,
    connect_seconds: float | None,
) -> Response:
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_OF_A_HEAD)
    head = connection.send(
        h11.Request(method="POST", target=request.target.path, headers=request.headers)
    )
    connection.send(h11.Data(data=request.body))
    connection.send(h11.EndOfMessage())
    try:
        async with asyncio.timeout(connect_seconds):
            reader, writer = await asyncio.open_connection(
                str(address),
                request.target.port,
                ssl=tls,
                # The certificate must be for the name in the URL, whatever the address is.
                server_hostname=None if tls is None else request.target.host,
            )
    except OSError as error:
        raise _NotConnected(_explain(error)) from error
    try:
        # It goes out while the answer is read: a server may refuse what it has not read yet.
        writer.write(head + request.body)
        return await _Exchange(connection, reader, request).read_response()
    finally:
        # Closing would wait for the server: to take the rest, and with TLS to say goodbye.
        writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


class _Exchange:
    """Reads the response on a connection; what the server sends behind it is not looked at."""

    def __init__(
        self, connection: h11.Connection, reader: asyncio.StreamReader, request: Request
    ) -> None:
        self._connection, self._reader = connection, reader
        self._request = request
        self._shown = request.target.shown

    async def read_response(self) -> Response:
        """Read the whole response, or as much of it as may be; raises ``Unanswered``."""
        try:
            head = await self._read_head()
            return await self._read_body(head)
        except h11.RemoteProtocolError:
            # The message of the exception may contain a header.
            why = f"{self._shown} sent malformed HTTP, or closed the connection before its response"
            raise Unanswered("error", why) from None
        except OSError:
            raise Unanswered("error", f"the connection to {self._shown} broke") from None

    async def _read_head(self) -> h11.Response:
        for _ in range(_MOST_INTERIM):
            event = await self._read_event()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                break
        why = f"{self._shown} sent an interim response in place of its answer"
        raise Unanswered("error", why)

    async def _read_body(self, head: h11.Response) -> Response:
        headers = dict(head.headers)
        is_success = 200 <= head.status_code < 300
        if is_success and headers.get(b"content-encoding", b"identity").lower() != b"identity":
            why = f"{self._shown} sent a compressed response; turn compression off there"
            raise Unanswered("malformed", why)
        limit = self._request.limit
        if not is_success:
            limit = min(limit, _MOST_OF_A_REFUSAL)
        body = bytearray()
        while len(body) <= limit and isinstance(event := await self._read_event(), h11.Data):
            body += event.data
        if is_success and len(body) > limit:
            why = f"{self._shown} sent more than {limit} bytes and was stopped"
            raise Unanswered("output_limit", why)
        return Response(
            head.status_code,
            headers.get(b"location", b"").decode("latin-1"),
            bytes(body[:limit]),
            # A status without a body needs neither.
            head.status_code == 204
            or b"content-length" in headers
            or b"transfer-encoding" in headers,
        )

    async def _read_event(self) -> Any:
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            self._connection.receive_data(await self._reader.read(_PIECE))
        return event


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
        _LOOKUPS.release()
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver, addresses, failure)

    if not _LOOKUPS.acquire(blocking=False):
        raise Unanswered("spawn", f"the host {host} cannot be found: the DNS does not answer")
    try:
        threading.Thread(target=work, name=f"hookline looks up {host}", daemon=True).start()
    except RuntimeError:
        _LOOKUPS.release()
        raise Unanswered("spawn", f"the host {host} cannot be found: no thread is left") from None
    return await found


def _explain(error: OSError) -> str:
    """Return what the system or the TLS library says about a failed connection."""
    return one_line(str(error.strerror or error)[:300]) or "no response"
