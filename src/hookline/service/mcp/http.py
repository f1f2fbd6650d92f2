"""An MCP server over streamable HTTP, of either protocol generation.

Each message of the client is one POST. The server answers a request with JSON or with a stream of
events, in which other messages and requests may come before the response; messages that belong to
no request come in the stream of a GET. Until 2025-11-25 there is a session; from 2026-07-28 on each
request stands alone, and closing its stream cancels it.
"""

import asyncio
import re
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType
from typing import Any

import msgspec
from msgspec import UNSET

from hookline._support.escapes import one_line
from hookline._support.eventstream import EventReader, EventTooLarge
from hookline._support.notices import warn
from hookline.service.mcp.address import read_address
from hookline.service.mcp.connection import Answer, Connection, Failed, Unreachable, make_size_error
from hookline.service.mcp.lines import MAX_MESSAGE
from hookline.service.mcp.routes import (
    VERSION,
    Id,
    Message,
    Mirrored,
    begins_listing,
    build_routing_headers,
    find_mirrored_arguments,
    read_cancelled_id,
    read_message,
)
from hookline.service.mcp.server import ServerGone

# For messages without an answer: a notification, a response, the end of a session.
ACCEPT_SECONDS = 30.0
# Then the next message goes out anyway: some servers accept a message only when done with it.
ORDER_SECONDS = 2.0
DELETE_SECONDS = 2.0
FLUSH_SECONDS = 1.0
# A server with a handshake need not answer a cancelled request, nor end its stream.
CANCEL_SECONDS = 5.0
# Each holds a connection; macOS allows 256 descriptors by default.
MAX_CALLS = 100
RETRY_SECONDS = 1.0
MAX_RETRY_SECONDS = 60.0
MIN_RETRY_SECONDS = 0.1
MAX_RESUMES = 5

SESSION = "mcp-session-id"
_HEADER_VALUE = re.compile(r"[\x21-\x7e]{1,4096}")
METHOD_NOT_FOUND = -32601
TRANSPORT_FAILED = -32000


class _NotFound(Failed):
    """Nothing is at the URL; a client that tried the newest protocol then tries an older one."""


@dataclass(eq=False)
class _Call:
    """A request of the client that waits for its response."""

    message: Message
    data: bytes
    # The headers that repeat parts of the message; empty in the protocol with a handshake.
    routing: Mapping[str, str]
    # Set when the client's next message may go out.
    on_its_way: asyncio.Event = field(default_factory=asyncio.Event)
    sent: bool = False
    answered: bool = False
    # Sent by us; the client does not see the response.
    own: bool = False
    response: Message | None = None
    task: "asyncio.Task[None] | None" = None

    @property
    def id(self) -> Id:
        assert self.message.id is not UNSET
        return self.message.id

    @property
    def is_stateless(self) -> bool:
        return bool(self.routing)

    def mark_sent(self) -> None:
        self.sent = True
        if self.message.method != "initialize":  # the next messages need its session
            self.on_its_way.set()


@dataclass
class _Position:
    """How far a stream of events was read, and when to ask for the rest."""

    last_id: str = ""
    retry: int | None = None
    messages: int = 0

    def delay(self, failures: int) -> float:
        first = RETRY_SECONDS if self.retry is None else self.retry / 1000
        first = min(max(first, MIN_RETRY_SECONDS), MAX_RETRY_SECONDS)
        return min(first * 2.0 ** min(failures, 10), MAX_RETRY_SECONDS)

    def read_from(self, reader: EventReader) -> None:
        self.retry = reader.retry if reader.retry is not None else self.retry
        if _HEADER_VALUE.fullmatch(reader.last_id):
            self.last_id = reader.last_id

    def headers(self) -> dict[str, str]:
        return {"last-event-id": self.last_id} if self.last_id else {}


class _ErrorResponse(msgspec.Struct):
    id: Id
    error: Any
    jsonrpc: str = "2.0"


class _Initialized(msgspec.Struct):
    protocolVersion: str  # noqa: N815 - as it is spelled on the wire


class HttpServer:
    """A ``Server`` at a URL; use it as an async context manager."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        allow_http: bool = False,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        """Raises ``AddressError`` if the URL or a header cannot be used."""
        address = read_address(url, headers, allow_http=allow_http)
        self._connection = Connection(address, limit=max_message)
        self._request = self._connection.request
        self._name = self._connection.name
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
        # The messages that began the session, to begin another when it is lost.
        self._hello: bytes | None = None
        self._ready: bytes | None = None
        self._lost = False
        self.lost_sessions = 0
        self._renewing = asyncio.Lock()

    async def __aenter__(self) -> "HttpServer":
        self._spawn(self._send_queued())
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
                with suppress(Failed, TimeoutError):
                    async with (
                        asyncio.timeout(DELETE_SECONDS),
                        self._request("DELETE", self._build_session_headers()),
                    ):
                        pass
        finally:
            for task in self._tasks:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(DELETE_SECONDS):
                    await self._connection.close()
            while not self._incoming.empty():
                self._incoming.get_nowait()
            self._incoming.put_nowait(None)
            while not self._outgoing.empty():  # wake senders that wait for room in the queue
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

    async def _send_queued(self) -> None:
        """Send the queued messages in order: each one after the one before it is on its way."""
        while True:
            data = await self._outgoing.get()
            try:
                message = read_message(data)
            except msgspec.MsgspecError:
                message = Message()  # the server will say what is wrong with it
            try:
                await self._send_message(message, data)
            except Exception as error:
                warn("internal error of hookline mcp, please report it", error=error)
            finally:
                self._outgoing.task_done()

    async def _send_message(self, message: Message, data: bytes) -> None:
        cancelled = read_cancelled_id(message)
        if cancelled is not None and self._cancel_call(cancelled):
            return
        if not message.is_request:
            telling = self._spawn(self._send_notice(message, data))
            await asyncio.wait([telling], timeout=ORDER_SECONDS)
            return
        call = _Call(message, data, build_routing_headers(message, self._tools))
        if message.method == "initialize":
            self._begin_session(data)
        elif self._hello is None:
            self._version = call.routing.get(VERSION)
        self._calls[call.id] = call
        call.task = self._spawn(self._run_call(call))
        await call.on_its_way.wait()

    def _begin_session(self, hello: bytes) -> None:
        self._hello, self._ready = hello, None
        self._session = self._version = None
        self._lost = False
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None

    def _cancel_call(self, request: Id) -> bool:
        """Cancel a request of the client; return False if the server must be told by a message."""
        call = self._calls.get(request)
        if call is None:
            return self._hello is None
        assert call.task is not None
        if call.is_stateless or not call.sent:
            call.task.cancel()
            return True
        asyncio.get_running_loop().call_later(CANCEL_SECONDS, call.task.cancel)
        return False

    async def _send_notice(self, message: Message, data: bytes) -> None:
        """Send a message that has no answer: a notification or a response."""
        headers = self._build_headers(message, build_routing_headers(message, self._tools))
        what = "a response" if message.method is UNSET else one_line(message.method[:100])
        try:
            async with (
                asyncio.timeout(ACCEPT_SECONDS),
                self._request("POST", headers, data) as answer,
            ):
                if not answer.is_success:
                    raise self._explain_refusal(answer, self._session)
                await answer.drain()
        except (Failed, TimeoutError) as error:
            reason = str(error) or f"{self._name} did not accept it in {ACCEPT_SECONDS:.0f} s"
            warn(f"{what} did not reach the server: {reason}")
        if message.method == "notifications/initialized" and self._hello is not None:
            self._ready = data
            if self._listener is not None:
                self._listener.cancel()
            self._listener = self._spawn(self._follow_session_stream())

    async def _run_call(self, call: _Call) -> None:
        """Send a request, and pass on all messages up to its response."""
        try:
            is_lost = self._lost and not call.is_stateless and call.message.method != "initialize"
            if self._slots.locked() or is_lost:
                call.on_its_way.set()  # it has to wait, and must not hold up the next messages
            async with self._slots:
                if is_lost:
                    await self._renew_session()
                await self._exchange(call)
        except Failed as failure:
            await self._answer_failure(call, failure)
        except Exception:
            await self._answer_failure(call, Failed("internal error of hookline mcp"))
            raise
        finally:
            call.on_its_way.set()
            if self._calls.get(call.id) is call:
                del self._calls[call.id]

    async def _answer_failure(self, call: _Call, failure: Failed) -> None:
        if not call.answered:
            call.answered = True
            code = METHOD_NOT_FOUND if isinstance(failure, _NotFound) else TRANSPORT_FAILED
            error = {"code": code, "message": str(failure)}
            await self._incoming.put(msgspec.json.encode(_ErrorResponse(call.id, error)))

    async def _exchange(self, call: _Call) -> None:
        session = self._session
        position = _Position()
        headers = self._build_headers(call.message, call.routing)
        async with self._request("POST", headers, call.data, on_sent=call.mark_sent) as answer:
            if call.message.method == "initialize" and answer.is_success:
                self._session = self._read_session(answer)
            call.on_its_way.set()
            if not answer.is_success:
                await self._pass_on_refusal(answer, call, session)
            elif answer.is_event_stream:
                await self._follow_stream(answer, position, call)
            elif answer.status == 200 and answer.media_type == "application/json":
                await self._pass_on_body(await answer.read(), call)
            else:
                raise Failed(
                    f"{self._name} answered with HTTP {answer.status} and "
                    f"{one_line(answer.media_type[:100]) or 'nothing'}, not with a response; "
                    "check the URL"
                )
        await self._resume_stream(call, position, session)

    async def _resume_stream(self, call: _Call, position: _Position, session: str | None) -> None:
        """Ask for the rest of a stream that broke off, if the server can resume it."""
        failures = 0
        while not call.answered:
            is_over = session is not None and session != self._session
            if call.is_stateless or is_over or not position.last_id or failures == MAX_RESUMES:
                raise Failed(f"{self._name} ended its answer before the response")
            await asyncio.sleep(position.delay(failures))
            before = position.last_id
            headers = self._build_session_headers() | position.headers()
            with suppress(Unreachable):
                async with self._request("GET", headers) as answer:
                    if answer.is_event_stream:
                        await self._follow_stream(answer, position, call)
                    elif answer.status < 500:
                        raise self._explain_refusal(answer, session)
            failures = 0 if position.last_id != before else failures + 1

    async def _follow_stream(self, answer: Answer, position: _Position, call: _Call | None) -> None:
        """Pass on the messages of a stream, up to the response to the call or to the end."""
        reader = EventReader(self._connection.limit)
        try:
            async for piece in answer.pieces:
                for event in reader.feed(piece):
                    if event.kind == "message" and event.data:
                        position.messages += 1
                        await self._pass_on_body(event.data, call)
                    position.read_from(reader)
                    if call is not None and call.answered:
                        await answer.drain()
                        return
                position.read_from(reader)
        except EventTooLarge:
            raise make_size_error(self._name, self._connection.limit) from None
        except Unreachable:
            return  # as if the server had closed the stream

    async def _pass_on_body(self, data: bytes, call: _Call | None) -> None:
        """Pass on one message or a batch; ``call`` is the request whose answer it is part of."""
        if data.lstrip()[:1] == b"[":
            try:
                batch = msgspec.json.decode(data, type=list[msgspec.Raw])
            except (msgspec.MsgspecError, RecursionError):
                batch = [msgspec.Raw(data)]
            for one in batch:
                await self._pass_on_message(bytes(one), call)
        else:
            await self._pass_on_message(data, call)

    async def _pass_on_message(self, data: bytes, call: _Call | None) -> None:
        try:
            if not data.isascii():
                data.decode()
            message = read_message(data)
            # Line ends are between tokens, the only place where JSON has them.
            data = data.replace(b"\n", b" ").replace(b"\r", b" ")
        except (msgspec.MsgspecError, UnicodeDecodeError):
            problem = f"{self._name} sent something that is not a JSON-RPC message"
            if call is not None:
                raise Failed(problem) from None
            self._warn_once(f"{problem}; it is dropped")
            return
        if message.is_response:
            call = self._calls.get(_get_id(message)) if call is None else call
            # A server may refuse a message without having read its id.
            is_nameless = _get_id(message) is None and message.error is not UNSET
            if call is None or call.answered or not (is_nameless or _get_id(message) == call.id):
                self._warn_once(
                    f"{self._name} sent a response that no request waits for; it is dropped"
                )
                return
            if is_nameless:
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
            self._tools |= find_mirrored_arguments(response.result)

    async def _pass_on_refusal(self, answer: Answer, call: _Call, session: str | None) -> None:
        """Pass on the server's own error; if there is none, raise one that explains the status."""
        error: Message | None = None
        if answer.media_type == "application/json":
            body = await answer.read()
            with suppress(msgspec.MsgspecError):
                error = read_message(body)
        if error is None or error.error is UNSET:
            raise self._explain_refusal(answer, session)
        # An error without an id may mean that the server lost the session.
        refusal = self._explain_refusal(answer, session if _get_id(error) is None else None)
        if answer.status == 404 and _get_id(error) is None and session is not None:
            raise refusal
        await self._pass_on_body(body, call)
        if not call.answered:
            raise refusal

    def _explain_refusal(self, answer: Answer, session: str | None) -> Failed:
        status = answer.status
        try:
            meaning = f"HTTP {status} {HTTPStatus(status).phrase}"
        except ValueError:
            meaning = f"HTTP {status}"
        if answer.is_redirect:
            return Failed(
                f"{self._name} answered with a redirect to {answer.location}, which "
                "hookline does not follow; if the server is there, use that URL"
            )
        if status in (401, 403):
            text = (
                f"{self._name} refused the request with {meaning}; give credentials with "
                '--header "Authorization: Bearer TOKEN", as hookline does not sign in by itself'
            )
            self._warn_once(text)
            return Failed(text)
        if status == 404 and session is not None:
            if session == self._session and not self._lost:
                self._lost = True
                self.lost_sessions += 1
                warn(f"{self._name} no longer knows the session; the next request begins another")
            return Failed(
                f"{self._name} no longer knows this session, so the request did not run, and the "
                "server's state of the session is lost; the next request begins a new session"
            )
        if status in (404, 405) and self._session is None:
            return (_NotFound if status == 404 else Failed)(
                f"{self._name} answered with {meaning}: there is no MCP server at this URL, or it "
                "uses the HTTP+SSE transport of 2024-11-05, which hookline does not support"
            )
        return Failed(f"{self._name} answered with {meaning}")

    async def _renew_session(self) -> None:
        async with self._renewing:
            if not self._lost or self._hello is None:
                return
            hello = _Call(read_message(self._hello), self._hello, {}, own=True)
            version, self._session, self._version = self._version, None, None
            try:
                await self._exchange(hello)
                if hello.response is None or hello.response.result is UNSET:
                    raise Failed(f"{self._name} refused a new session")
                if self._version != version:
                    raise Failed(
                        f"{self._name} now speaks version {self._version} of MCP, not {version}; "
                        "restart hookline mcp"
                    )
                self._lost = False
            finally:
                self._version = version
            if self._ready is not None:
                await self._send_notice(read_message(self._ready), self._ready)

    async def _follow_session_stream(self) -> None:
        """Pass on messages that belong to no request, as long as the session lasts."""
        position, failures = _Position(), 0
        while True:
            before = position.messages
            try:
                async with self._request(
                    "GET", self._build_session_headers() | position.headers()
                ) as answer:
                    if answer.is_event_stream:
                        await self._follow_stream(answer, position, None)
                    elif answer.status < 500 and answer.status != 429:
                        if answer.status in (401, 403):
                            self._explain_refusal(answer, None)
                        return  # the server has no such stream, or lost the session
            except Unreachable:
                pass  # requests report that
            except Failed as failure:
                self._warn_once(str(failure))
            failures = 0 if position.messages != before else failures + 1
            await asyncio.sleep(position.delay(failures - 1 if failures else 0))

    def _build_headers(self, message: Message, routing: Mapping[str, str]) -> dict[str, str]:
        headers = {"content-type": "application/json", **routing}
        if routing or message.method == "initialize":
            return headers
        return headers | self._build_session_headers()

    def _build_session_headers(self) -> dict[str, str]:
        pairs = {SESSION: self._session, VERSION: self._version}
        return {name: value for name, value in pairs.items() if value is not None}

    def _read_session(self, answer: Answer) -> str | None:
        session = answer.header(SESSION)
        if session is not None and not _HEADER_VALUE.fullmatch(session):
            raise Failed(f"{self._name} sent a session id that cannot be a header")
        return session


def _get_id(message: Message) -> Id:
    return None if message.id is UNSET else message.id
