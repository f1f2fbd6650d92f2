"""Sends an http hook's request to an address that was checked, on a connection of its own.

A connection serves one request: bytes that a server sends behind its response are nobody's answer,
and nothing is left that belongs to an event loop or has to be closed with the agent.
"""

import asyncio
import socket
import ssl
import threading
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias

import httpx
import msgspec

from hookline._support.address import netloc_of
from hookline._support.escapes import one_line
from hookline._support.transport import load_authorities
from hookline.runner.addresses import Reach, Target, read_literal
from hookline.wire.results import FailedKind

# Seconds to wait for a connection before the next address of the host is tried.
_NEXT_ADDRESS = 1.0
_MOST_ADDRESSES = 8
# How much of a refusal is read, to show to people.
_MOST_OF_A_REFUSAL = 64 * 1024
# For plain http, which uses none; without it httpx would load the authorities.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

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


class Client:
    """Sends requests from any event loop of asyncio; remembers the certificate authorities, as
    loading them takes tens of milliseconds."""

    def __init__(self) -> None:
        self._tls: ssl.SSLContext | None = None

    async def send(self, request: Request) -> Response:
        """Send a request; raises ``Unanswered``. Cancelling the caller ends the request too."""
        shown = request.target.shown
        # Before the time runs: it may take so long that a connection would be cancelled as it is
        # made, which leaves its socket open.
        tls = self._choose_tls(request.target)
        try:
            async with asyncio.timeout(request.seconds):
                return await _try_addresses(request, tls)
        except TimeoutError:
            why = f"ran longer than its timeout of {request.seconds * 1000:g} ms and was stopped"
            raise Unanswered("timeout", why) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unanswered("spawn", f"{shown} cannot be reached: {_explain(error)}") from None
        except httpx.ProtocolError:
            # The message of the exception may contain a header.
            why = f"{shown} sent malformed HTTP, or closed the connection before its response"
            raise Unanswered("error", why) from None
        except httpx.TransportError:
            raise Unanswered("error", f"the connection to {shown} broke") from None

    def _choose_tls(self, target: Target) -> ssl.SSLContext:
        if target.scheme != "https":
            return _NO_TLS
        if self._tls is None:
            self._tls = load_authorities()
        return self._tls


async def _try_addresses(request: Request, tls: ssl.SSLContext) -> Response:
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
        with suppress(httpx.ConnectError, httpx.ConnectTimeout):
            return await _post(request, address, tls, connect_seconds=_NEXT_ADDRESS)
    return await _post(request, last, tls, connect_seconds=None)


async def _post(
    request: Request, address: _Address, tls: ssl.SSLContext, *, connect_seconds: float | None
) -> Response:
    target = request.target
    sockets: list[httpx.AsyncByteStream] = []
    extensions: dict[str, Any] = {
        "timeout": {"connect": connect_seconds, "read": None, "write": None, "pool": None}
    }
    if target.scheme == "https":
        # The name that the certificate must be for, as the URL has the address.
        extensions["sni_hostname"] = target.host

        async def note_socket(step: str, facts: dict[str, Any]) -> None:
            if step == "connection.connect_tcp.complete":
                sockets.append(facts["return_value"])

        extensions["trace"] = note_socket
    post = httpx.Request(
        "POST",
        f"{target.scheme}://{netloc_of(str(address), target.port)}{target.path}",
        headers=request.headers,
        content=request.body,
        extensions=extensions,
    )
    try:
        async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
            response = await transport.handle_async_request(post)
            try:
                return await _read_response(response, request)
            finally:
                await response.aclose()
    finally:
        # The transport forgets a connection that is cancelled while it shakes hands.
        for each in sockets:
            await each.aclose()


async def _read_response(response: "httpx.Response", request: Request) -> Response:
    shown = request.target.shown
    is_success = 200 <= response.status_code < 300
    if is_success and response.headers.get("content-encoding", "identity").lower() != "identity":
        why = f"{shown} sent a compressed response; turn compression off there"
        raise Unanswered("malformed", why)
    limit = request.limit if is_success else min(request.limit, _MOST_OF_A_REFUSAL)
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > limit:
            break
    if is_success and len(body) > limit:
        raise Unanswered("output_limit", f"{shown} sent more than {limit} bytes and was stopped")
    return Response(
        response.status_code,
        response.headers.get("location", ""),
        bytes(body[:limit]),
        # A status without a body needs neither.
        response.status_code == 204
        or "content-length" in response.headers
        or "transfer-encoding" in response.headers,
    )


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


def _explain(error: BaseException) -> str:
    """Return what the system or the TLS library says about a failed connection."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[-1]
        message = getattr(cause, "strerror", None)
        if message:
            return one_line(message[:300])
        cause = cause.__cause__ or cause.__context__
    return one_line(str(error)[:300]) or "no response"
