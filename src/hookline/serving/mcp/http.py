"""An MCP server over streamable HTTP, of either protocol generation.

Each message of the client is a POST of its own. The answer to a request comes as JSON or as a
stream of events, in which the server may first say and ask other things; what belongs to no
request comes in the stream of a GET. Until 2025-11-25 there is a session; from 2026-07-28 on each
request stands alone, and closing its stream cancels it.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any, cast

import msgspec
from msgspec import UNSET

from hookline.notices import one_line, warn
from hookline.serving.mcp.address import Address, read_address
from hookline.serving.mcp.events import EventParser, EventTooLarge
from hookline.serving.mcp.routing import (
    VERSION,
    Id,
    Message,
    Mirrored,
    begins_listing,
    cancelled_request,
    mirrored_arguments,
    read_message,
    routing_headers,
    version_of,
)
from hookline.serving.mcp.server import ServerGone

try:
    import httpx
except ImportError as error:
    raise ImportError(
        "an MCP server over HTTP needs httpx: pip install 'hookline[http]'"
    ) from error

MAX_MESSAGE = 64 * 2**20
CONNECT_SECONDS = 10.0
WRITE_SECONDS = 60.0
# For what has no answer: a notification, a response, the end of a session.
ACCEPT_SECONDS = 30.0
DELETE_SECONDS = 2.0
FLUSH_SECONDS = 1.0
# A server of the handshake's generation need not answer what was cancelled, nor end its stream.
CANCEL_SECONDS = 5.0
# After its response a stream ends, and the connection can be used again; a little is waited for it.
DRAIN_SECONDS = 1.0
DRAIN_BYTES = 64 * 1024
# Shorter than the five seconds after which most servers close a connection that nobody uses.
IDLE_SECONDS = 3.0
# Each holds a connection; the default of macOS are 256 descriptors.
MAX_CALLS = 100
RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 60.0
MIN_RETRY_SECONDS = 0.1
MAX_RESUMES = 5

SESSION = "mcp-session-id"
_HEADER_VALUE = re.compile(r"[\x21-\x7e]{1,4096}")
METHOD_NOT_FOUND = -32601
TRANSPORT_FAILED = -32000


class _Failed(Exception):
    """A request that gets no response; the text says why, and goes to the client as an error."""

    def __init__(self, text: str, code: int = TRANSPORT_FAILED) -> None:
        super().__init__(text)
        self.code = code


class _Unreachable(_Failed):
    """The connection could not be made, or broke: it may work when tried again."""


@dataclass(eq=False)
class _Call:
    """A request of the client, until its response has come."""

    message: Message
    data: bytes
    # What the client sent next may go out.
    on_its_way: asyncio.Event = field(default_factory=asyncio.Event)
    sent: bool = False
    answered: bool = False
    # Of our own: the client does not see its response.
    own: bool = False
    response: Message | None = None
    task: "asyncio.Task[None] | None" = None

    @property
    def id(self) -> Id:
        assert self.message.id is not UNSET
        return self.message.id

    @property
    def is_stateless(self) -> bool:
        return version_of(self.message) is not None

    def mark_sent(self) -> None:
        self.sent = True
        if self.message.method != "initialize":  # what follows it needs its session
            self.on_its_way.set()


@dataclass
class _Position:
    """How far a stream of events was read, and when to ask for its rest."""

    last_id: str = ""
    retry: int | None = None
    messages: int = 0

    def delay(self, failures: int) -> float:
        first = RETRY_SECONDS if self.retry is None else self.retry / 1000
        first = min(max(first, MIN_RETRY_SECONDS), MAX_RETRY_SECONDS)
        return min(first * 2.0 ** min(failures, 10), MAX_RETRY_SECONDS)

    def headers(self) -> dict[str, str]:
        return {"last-event-id": self.last_id} if self.last_id else {}


class _ErrorResponse(msgspec.Struct):
    id: Id
    error: Any
    jsonrpc: str = "2.0"


class _Initialized(msgspec.Struct):
    protocolVersion: str  # noqa: N815 - as it is spelled on the wire


class HttpServer:
    """A ``Server`` at a URL. To be entered before it is used; leaving closes it."""

    def __init__(
        self,
        url: str,
        *,
        headers: Iterable[tuple[str, str]] = (),
        allow_http: bool = False,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        """Raises ``AddressError`` where the URL or a header cannot be used."""
        self._address = read_address(url, headers, allow_http=allow_http)
        self._name = f"the MCP server at {self._address.shown}"
        self._max_message = max_message
        self._client = _make_client(self._address)
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue(16)
        self._incoming: asyncio.Queue[bytes | None] = asyncio.Queue(4)
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._calls: dict[Id, _Call] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener: asyncio.Task[None] | None = None
        self._closed = False
        self._warned: set[str] = set()
        self._tools: dict[str, Mirrored] = {}
        self._version: str | None = None
        self._session: str | None = None
        # Messages with which the client began its session, to begin another when it is lost.
        self._hello: bytes | None = None
        self._ready: bytes | None = None
        self._lost = False
        self._renewing = asyncio.Lock()

    async def __aenter__(self) -> "HttpServer":
        self._spawn(self._send_all())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def send(self, message: bytes) -> None:
        if self._closed:
            raise ServerGone(f"the connection to {self._name} is closed")
        await self._outgoing.put(message)

    async def receive(self) -> bytes | None:
        if self._closed and self._incoming.empty():
            return None
        return await self._incoming.get()

    async def close(self) -> int:
        if self._closed:
            return 0
        self._closed = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._outgoing.join()
            await self._end_tasks()
            if self._session is not None:
                with suppress(_Failed, TimeoutError):
                    async with (
                        asyncio.timeout(DELETE_SECONDS),
                        self._request("DELETE", self._session_headers()),
                    ):
                        pass
        finally:
            for task in self._tasks:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(DELETE_SECONDS):
                    await self._client.aclose()
            while not self._incoming.empty():
                self._incoming.get_nowait()
            self._incoming.put_nowait(None)
            while not self._outgoing.empty():  # who waits to put more there does not wait on
                self._outgoing.get_nowait()
                await asyncio.sleep(0)
        return 0

    async def _end_tasks(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=DELETE_SECONDS)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            warn("internal error of hookline mcp, please report it", error=error)

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            warn(text)

    async def _send_all(self) -> None:
        """In order: nothing is sent before what the client sent earlier is on its way."""
        while True:
            data = await self._outgoing.get()
            try:
                message = read_message(data)
            except msgspec.MsgspecError:
                message = Message()  # the server says what is wrong with it
            try:
                await self._send_one(message, data)
            finally:
                self._outgoing.task_done()

    async def _send_one(self, message: Message, data: bytes) -> None:
        cancelled = cancelled_request(message)
        if cancelled is not None and self._cancel(cancelled):
            return
        if not message.is_request:
            await self._tell(message, data)
            return
        call = _Call(message, data)
        if message.method == "initialize":
            self._begin_session(data)
        elif self._hello is None:
            self._version = version_of(message)
        self._calls[call.id] = call
        call.task = self._spawn(self._ask(call))
        await call.on_its_way.wait()

    def _begin_session(self, hello: bytes) -> None:
        self._hello, self._ready = hello, None
        self._session = self._version = None
        self._lost = False
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None

    def _cancel(self, request: Id) -> bool:
        """End a request that the client no longer waits for; False where the server is to be told
        by a message."""
        call = self._calls.get(request)
        if call is None:
            return self._hello is None
        assert call.task is not None
        if call.is_stateless or not call.sent:
            call.task.cancel()
            return True
        asyncio.get_running_loop().call_later(CANCEL_SECONDS, call.task.cancel)
        return False

    async def _tell(self, message: Message, data: bytes) -> None:
        """Send what has no answer."""
        what = "a response" if message.method is UNSET else one_line(message.method[:100])
        try:
            async with (
                asyncio.timeout(ACCEPT_SECONDS),
                self._request("POST", self._headers(message), data) as response,
            ):
                if response.status_code >= 300:
                    raise self._refusal(response, self._session)
                async with _body(response) as pieces:
                    await _drain(pieces)
        except (_Failed, TimeoutError) as error:
            reason = str(error) or f"{self._name} did not accept it in {ACCEPT_SECONDS:.0f} s"
            warn(f"{what} did not reach the server: {reason}")
        if message.method == "notifications/initialized" and self._hello is not None:
            self._ready = data
            self._start_listening()

    async def _ask(self, call: _Call) -> None:
        """Send a request, and pass on what is said until its response."""
        try:
            if self._slots.locked():
                call.on_its_way.set()
            async with self._slots:
                if self._lost and not call.is_stateless and call.message.method != "initialize":
                    await self._renew_session()
                await self._exchange(call)
        except _Failed as failure:
            await self._answer_failure(call, failure)
        except Exception as error:
            await self._answer_failure(call, _Failed("internal error of hookline mcp"))
            raise error
        finally:
            call.on_its_way.set()
            if self._calls.get(call.id) is call:
                del self._calls[call.id]

    async def _answer_failure(self, call: _Call, failure: _Failed) -> None:
        if not call.answered:
            call.answered = True
            error = {"code": failure.code, "message": str(failure)}
            await self._incoming.put(msgspec.json.encode(_ErrorResponse(call.id, error)))

    async def _exchange(self, call: _Call) -> None:
        session = self._session
        position = _Position()
        headers = self._headers(call.message)
        async with self._request("POST", headers, call.data, on_sent=call.mark_sent) as response:
            if call.message.method == "initialize" and response.is_success:
                self._session = self._session_of(response)
            call.on_its_way.set()
            if not response.is_success:
                await self._pass_on_refusal(response, call, session)
                return
            kind = _media_type(response)
            if kind == "text/event-stream":
                await self._follow(response, position, call)
            elif kind == "application/json":
                await self._pass_on(await self._read_body(response), call)
            else:
                raise _Failed(
                    f"{self._name} answered with HTTP {response.status_code} and "
                    f"{one_line(kind[:100]) or 'no content'}, not with a response; check the URL"
                )
        await self._resume(call, position, session)

    async def _resume(self, call: _Call, position: _Position, session: str | None) -> None:
        """Ask for the rest of a stream that broke off, where the server can send it again."""
        failures = 0
        while not call.answered:
            if call.is_stateless or not position.last_id or failures == MAX_RESUMES:
                raise _Failed(f"{self._name} ended its answer before the response")
            await asyncio.sleep(position.delay(failures))
            before = position.last_id
            headers = self._session_headers() | position.headers()
            with suppress(_Unreachable):
                async with self._request("GET", headers) as response:
                    if response.status_code < 500 and not _is_event_stream(response):
                        raise self._refusal(response, session)
                    if response.is_success:
                        await self._follow(response, position, call)
            failures = 0 if position.last_id != before else failures + 1

    async def _follow(
        self, response: "httpx.Response", position: _Position, call: _Call | None
    ) -> None:
        """Pass on the messages of a stream up to the response to the call, or to its end."""
        parser = EventParser(self._max_message)
        try:
            async with _body(response) as pieces:
                async for piece in pieces:
                    for event in parser.feed(piece):
                        if event.kind == "message" and event.data:
                            position.messages += 1
                            await self._pass_on(event.data, call)
                        _update(position, parser)
                        if call is not None and call.answered:
                            await _drain(pieces)
                            return
                    _update(position, parser)
        except EventTooLarge:
            raise self._too_large() from None
        except httpx.TransportError:
            return  # its end, as if the server had closed it

    async def _pass_on(self, data: bytes, call: _Call | None) -> None:
        """Hand the client what the server said: in a stream of a call, or in none (None)."""
        if data.lstrip()[:1] == b"[":
            try:
                batch = msgspec.json.decode(data, type=list[msgspec.Raw])
            except (msgspec.MsgspecError, RecursionError):
                batch = [msgspec.Raw(data)]
            for one in batch:
                await self._pass_on_one(bytes(one), call)
        else:
            await self._pass_on_one(data, call)

    async def _pass_on_one(self, data: bytes, call: _Call | None) -> None:
        try:
            if not data.isascii():
                data.decode()
            message = read_message(data)
            if b"\n" in data or b"\r" in data:
                data = msgspec.json.format(data, indent=-1)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            problem = f"{self._name} sent something that is no JSON-RPC message"
            if call is not None:
                raise _Failed(problem) from None
            warn(f"{problem}; it is left out")
            return
        if message.is_response:
            call = self._calls.get(_id_of(message)) if call is None else call
            if call is None or call.answered or _id_of(message) not in (None, call.id):
                warn(f"{self._name} sent a response that no request waits for; it is left out")
                return
            if _id_of(message) is None:
                # A server that refuses a message need not have read its id.
                data = msgspec.json.encode(_ErrorResponse(call.id, message.error))
            call.answered, call.response = True, message
            self._learn_from(call, message)
            if call.own:
                return
        await self._incoming.put(data)

    def _learn_from(self, call: _Call, response: Message) -> None:
        if response.result is UNSET:
            return
        if call.message.method == "initialize":
            with suppress(msgspec.MsgspecError):
                version = msgspec.json.decode(response.result, type=_Initialized).protocolVersion
                self._version = version if _HEADER_VALUE.fullmatch(version) else None
        elif call.message.method == "tools/list" and call.is_stateless:
            if begins_listing(call.message):
                self._tools.clear()
            self._tools |= mirrored_arguments(response.result)

    async def _pass_on_refusal(
        self, response: "httpx.Response", call: _Call, session: str | None
    ) -> None:
        """The server's own error where it gives one, else one that says what its status means."""
        error: Message | None = None
        if _media_type(response) == "application/json":
            body = await self._read_body(response)
            with suppress(msgspec.MsgspecError):
                error = read_message(body)
        if error is None or error.error is UNSET:
            raise self._refusal(response, session)
        # One that names no request may be for the session, which is gone then.
        refusal = self._refusal(response, session if _id_of(error) is None else None)
        if response.status_code == 404 and _id_of(error) is None and session is not None:
            raise refusal
        await self._pass_on(body, call)
        if not call.answered:
            raise refusal

    def _refusal(self, response: "httpx.Response", session: str | None) -> _Failed:
        status = response.status_code
        try:
            meaning = f"HTTP {status} {HTTPStatus(status).phrase}"
        except ValueError:
            meaning = f"HTTP {status}"
        if response.is_redirect:
            return _Failed(
                f"{self._name} answered with a redirect to {_shown_location(response)}, which "
                "hookline does not follow; if that is the server, use its URL"
            )
        if status in (401, 403):
            text = (
                f"{self._name} refused the request with {meaning}; hookline does not sign in by "
                'itself: give credentials with --header "Authorization: Bearer TOKEN"'
            )
            self._warn_once(text)
            return _Failed(text)
        if status == 404 and session is not None:
            if session == self._session and not self._lost:
                self._lost = True
                warn(f"{self._name} no longer knows the session; the next request begins another")
            return _Failed(
                f"{self._name} no longer knows this session, so the request was not run and what "
                "the server kept for the session is gone; the next request begins a new session"
            )
        if status in (404, 405) and self._session is None:
            return _Failed(
                f"{self._name} answered with {meaning}: there is no MCP server at this URL, or one "
                "of the HTTP+SSE transport of 2024-11-05, which hookline does not speak",
                METHOD_NOT_FOUND if status == 404 else TRANSPORT_FAILED,
            )
        return _Failed(f"{self._name} answered with {meaning}")

    async def _renew_session(self) -> None:
        async with self._renewing:
            if not self._lost or self._hello is None:
                return
            hello = _Call(read_message(self._hello), self._hello, own=True)
            version, self._session, self._version = self._version, None, None
            try:
                await self._exchange(hello)
                if hello.response is None or hello.response.result is UNSET:
                    raise _Failed(f"{self._name} refused a new session")
                if self._version != version:
                    raise _Failed(
                        f"{self._name} now speaks version {self._version} of MCP, not {version}; "
                        "start hookline mcp again"
                    )
            except _Failed:
                self._version = version
                raise
            self._lost = False
            if self._ready is not None:
                await self._tell(read_message(self._ready), self._ready)

    def _start_listening(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
        self._listener = self._spawn(self._listen())

    async def _listen(self) -> None:
        """Pass on what belongs to no request, as long as the session lasts."""
        position, failures = _Position(), 0
        while True:
            before = position.messages
            try:
                async with self._request(
                    "GET", self._session_headers() | position.headers()
                ) as response:
                    if response.is_success and _is_event_stream(response):
                        await self._follow(response, position, None)
                    elif response.status_code < 500 and response.status_code != 429:
                        if response.status_code in (401, 403):
                            self._refusal(response, None)
                        return  # the server has no such stream, or no longer this session
            except _Unreachable:
                pass  # requests say so
            except _Failed as failure:
                self._warn_once(str(failure))
            failures = 0 if position.messages != before else failures + 1
            await asyncio.sleep(position.delay(failures - 1 if failures else 0))

    def _headers(self, message: Message) -> dict[str, str]:
        headers = {"content-type": "application/json"}
        if routing := routing_headers(message, self._tools):
            return headers | routing
        if message.method == "initialize":
            return headers
        return headers | self._session_headers()

    def _session_headers(self) -> dict[str, str]:
        pairs = {SESSION: self._session, VERSION: self._version}
        return {name: value for name, value in pairs.items() if value is not None}

    def _session_of(self, response: "httpx.Response") -> str | None:
        session: str | None = response.headers.get(SESSION)
        if session is not None and not _HEADER_VALUE.fullmatch(session):
            raise _Failed(f"{self._name} gave a session id that no header can have")
        return session

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        headers: dict[str, str],
        data: bytes | None = None,
        *,
        on_sent: Callable[[], None] | None = None,
    ) -> AsyncIterator["httpx.Response"]:
        """The response, its body unread. Raises ``_Failed``."""
        accept = "text/event-stream" if method == "GET" else "application/json, text/event-stream"
        # No compression: what is bounded is what comes over the wire.
        headers = {"accept": accept, "accept-encoding": "identity", **headers}

        async def trace(step: str, _: dict[str, Any]) -> None:
            if on_sent is not None and step.endswith(".send_request_body.complete"):
                on_sent()

        try:
            async with self._client.stream(
                method,
                self._address.url,
                headers=headers,
                content=data,
                extensions={"trace": trace},
            ) as response:
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise _Failed(f"{self._name} sent a compressed answer, which nobody asked for")
                yield response
        except httpx.HTTPError as error:
            raise _Unreachable(f"{self._name} {_explain(error)}") from error

    async def _read_body(self, response: "httpx.Response") -> bytes:
        body = bytearray()
        async with _body(response) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > self._max_message:
                    raise self._too_large()
        return bytes(body)

    def _too_large(self) -> _Failed:
        return _Failed(f"{self._name} sent a message of more than {self._max_message} bytes")


def _make_client(address: Address) -> "httpx.AsyncClient":
    # Without one TCP notices only when it sends that the other machine is gone.
    keep_alive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    idle = getattr(socket, "TCP_KEEPIDLE", None) or getattr(socket, "TCP_KEEPALIVE", None)
    for option, seconds in ((idle, 60), (getattr(socket, "TCP_KEEPINTVL", None), 15)):
        if option is not None:
            keep_alive.append((socket.IPPROTO_TCP, option, seconds))
    transport = httpx.AsyncHTTPTransport(
        # Only https needs them, and to load them takes as long as a call.
        verify=_trusted() if address.is_https else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=False,
        limits=httpx.Limits(
            max_connections=None, max_keepalive_connections=10, keepalive_expiry=IDLE_SECONDS
        ),
        socket_options=keep_alive,
    )
    return httpx.AsyncClient(
        transport=transport,
        headers=[("user-agent", "hookline"), *address.headers],
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS, write=WRITE_SECONDS),
        follow_redirects=False,
        trust_env=False,
    )


def _trusted() -> ssl.SSLContext:
    """Who may vouch for a server: the authorities that everybody knows, and this system's."""
    context: ssl.SSLContext = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _update(position: _Position, parser: EventParser) -> None:
    position.retry = parser.retry if parser.retry is not None else position.retry
    if _HEADER_VALUE.fullmatch(parser.last_id):
        position.last_id = parser.last_id


def _id_of(message: Message) -> Id:
    return None if message.id is UNSET else message.id


def _media_type(response: "httpx.Response") -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _is_event_stream(response: "httpx.Response") -> bool:
    return response.status_code == 200 and _media_type(response) == "text/event-stream"


def _body(response: "httpx.Response") -> "aclosing[AsyncGenerator[bytes, None]]":
    return aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_raw()))


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    size = 0
    with suppress(TimeoutError, httpx.TransportError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for piece in pieces:
                size += len(piece)
                if size > DRAIN_BYTES:
                    return


def _shown_location(response: "httpx.Response") -> str:
    location = response.next_request.url if response.next_request is not None else None
    if location is None:
        return "nowhere"
    shown = str(location.copy_with(username=None, password=None, query=None, fragment=None))
    return one_line(shown[:200])


def _explain(error: "httpx.HTTPError") -> str:
    """Without the error's own text where it can have a header or the URL."""
    if isinstance(error, httpx.ConnectTimeout):
        return f"did not accept a connection in {CONNECT_SECONDS:.0f} s"
    if isinstance(error, httpx.ConnectError):
        return f"cannot be reached: {one_line(str(error)[:300])}"
    if isinstance(error, httpx.WriteTimeout):
        return f"took nothing of a message in {WRITE_SECONDS:.0f} s"
    if isinstance(error, httpx.RemoteProtocolError):
        return "broke HTTP, or ended the connection before its answer"
    return "broke the connection"
