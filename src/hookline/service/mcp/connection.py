"""HTTP to one address: bounded, follows no redirect, takes nothing from the environment."""

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, cast

from hookline._support.escapes import one_line
from hookline.service.mcp.address import Address

try:
    import httpx
except ImportError as error:
    raise ImportError("MCP over HTTP needs httpx; run pip install 'hookline[http]'") from error

from hookline._support.transport import (
    IDLE_SECONDS,
    MOST_IDLE,
    keep_alive_options,
    load_authorities,
)

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0
# Rest of a body after its response: the connection is used again only if the rest comes.
DRAIN_SECONDS = 1.0
DRAIN_BYTES = 64 * 1024


class Failed(Exception):
    """A request without an answer; the text tells people and the client why."""


class Unreachable(Failed):
    """The connection broke; the server may have read the request."""


class NotSent(Unreachable):
    """The server cannot have read all of the request, so it has not acted on it."""


class HttpAnswer:
    """The answer of a server, its body unread; ``pieces`` can be read once."""

    def __init__(self, response: "httpx.Response", name: str, limit: int) -> None:
        self.status: int = response.status_code
        kind: str = response.headers.get("content-type", "")
        self.media_type = kind.partition(";")[0].strip().lower()
        self.pieces = self._read_pieces()
        self._response = response
        self._name = name
        self._limit = limit

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_event_stream(self) -> bool:
        return self.status == 200 and self.media_type == "text/event-stream"

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status < 400

    @property
    def location(self) -> str:
        """Where a redirect leads, without secrets."""
        if self._response.next_request is None:
            return "nowhere"
        url = self._response.next_request.url
        url = url.copy_with(username=None, password=None, query=None, fragment=None)
        return one_line(str(url)[:200])

    def header(self, name: str) -> str | None:
        value: str | None = self._response.headers.get(name)
        return value

    async def read(self) -> bytes:
        """Read the whole body; raises ``Failed`` if it is too large."""
        body = bytearray()
        async for piece in self.pieces:
            body += piece
            if len(body) > self._limit:
                raise make_size_error(self._name, self._limit)
        return bytes(body)

    async def drain(self) -> None:
        """Read the rest, if it is short and comes soon."""
        size = 0
        with suppress(TimeoutError, Unreachable):
            async with asyncio.timeout(DRAIN_SECONDS):
                async for piece in self.pieces:
                    size += len(piece)
                    if size > DRAIN_BYTES:
                        return

    async def _read_pieces(self) -> AsyncGenerator[bytes, None]:
        raw = cast("AsyncGenerator[bytes, None]", self._response.aiter_raw())
        async with aclosing(raw):
            try:
                async for piece in raw:
                    yield piece
            except httpx.HTTPError as error:
                raise Unreachable(f"{self._name} {_explain(error)}") from error


class Endpoint:
    """Sends requests to one server; ``limit`` is the most bytes it reads of a body. It
    ``has_answered`` if the server was there once; ``away_since`` is when it was looked for first
    and not found, None while it answers."""

    def __init__(self, address: Address, *, limit: int) -> None:
        self.name = f"the MCP server at {address.shown}"
        self.limit = limit
        self.has_answered = False
        self.away_since: float | None = None
        self._url = address.url
        self._client = _make_client(address)

    @asynccontextmanager
    async def request(
        self,
        method: str,
        headers: dict[str, str],
        data: bytes | None = None,
        *,
        on_sent: Callable[[], None] | None = None,
    ) -> AsyncIterator[HttpAnswer]:
        """Send a request; ``on_sent`` is called when all of it is on its way. Raises ``Failed``,
        and ``NotSent`` if it did not get that far."""
        accept = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        # Without compression the limit holds for memory too.
        headers = {"accept": accept, "accept-encoding": "identity", **headers}

        started, is_sent = time.monotonic(), False

        async def trace(step: str, _: dict[str, Any]) -> None:
            nonlocal is_sent
            if step.endswith(".send_request_body.complete"):
                is_sent = True
                if on_sent is not None:
                    on_sent()

        try:
            async with self._client.stream(
                method, self._url, headers=headers, content=data, extensions={"trace": trace}
            ) as response:
                self.has_answered, self.away_since = True, None
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise Failed(
                        f"{self.name} sent a compressed answer, which hookline did not ask for"
                    )
                answer = HttpAnswer(response, self.name, self.limit)
                async with aclosing(answer.pieces):
                    yield answer
        except httpx.HTTPError as error:
            if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
                self.away_since = self.away_since or started
            kind: type[Failed] = Unreachable if is_sent else NotSent
            if isinstance(error, httpx.WriteTimeout):
                # It is there and takes nothing; another attempt would take as long.
                kind = Failed
            raise kind(f"{self.name} {_explain(error)}") from error

    async def close(self) -> None:
        await self._client.aclose()


def make_size_error(name: str, limit: int) -> Failed:
    return Failed(f"{name} sent a message of more than {limit} bytes")


def _make_client(address: Address) -> "httpx.AsyncClient":
    transport = httpx.AsyncHTTPTransport(
        # Authorities take tens of milliseconds to load, and plain HTTP does not need them.
        verify=load_authorities() if address.is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=False,
        limits=httpx.Limits(
            max_connections=None,
            max_keepalive_connections=MOST_IDLE,
            keepalive_expiry=IDLE_SECONDS,
        ),
        socket_options=keep_alive_options(),
    )
    return httpx.AsyncClient(
        transport=transport,
        headers=[("user-agent", "hookline"), *address.headers],
        # No timeout for reading: a call may take minutes, and a stream may be silent for hours.
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS, write=WRITE_SECONDS),
        follow_redirects=False,
        trust_env=False,
    )


def _explain(error: "httpx.HTTPError") -> str:
    """Say what went wrong, without the error's own text, which may have a header or the URL."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"did not accept a connection in {CONNECT_SECONDS:.0f} s"
    if isinstance(error, httpx.ConnectError):
        return f"cannot be reached: {one_line(str(error)[:300])}"
    if isinstance(error, httpx.WriteTimeout):
        return f"accepted no data for {WRITE_SECONDS:.0f} s"
    if isinstance(error, httpx.RemoteProtocolError):
        return "violated HTTP, or closed the connection before its answer"
    return "closed the connection"
