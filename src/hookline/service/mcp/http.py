"""An MCP server over streamable HTTP, of either protocol generation.

Each message of the client is one POST. The server answers a request with JSON or with a stream of
events, in which other messages and requests may come before the response; messages that belong to
no request come in the stream of a GET. Until 2025-11-25 there is a session; from 2026-07-28 on each
request stands alone, and closing its stream cancels it.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from types import TracebackType

from hookline._support.escapes import one_line
from hookline._support.eventstream import EventReader, EventTooLarge
from hookline._support.notices import warn
from hookline.service.mcp.address import read_address
from hookline.service.mcp.connection import (
    Endpoint,
    Failed,
    HttpAnswer,
    NotSent,
    Unreachable,
    make_size_error,
)
from hookline.service.mcp.http_session import HEADER_VALUE, SESSION, HttpSession
from hookline.service.mcp.lines import MAX_MESSAGE
from hookline.service.mcp.messages import (
    CANCELLED,
    INITIALIZE,
    LIST,
    METHOD_NOT_FOUND,
    SERVER_GONE,
    Fault,
    Key,
    Message,
    key_of,
    make_error,
    make_message,
    read_messages,
)
from hookline.service.mcp.requests import make_id
from hookline.service.mcp.routes import (
    VERSION,
    Mirrored,
    begins_listing,
    build_routing_headers,
    find_mirrored_arguments,
)
from hookline.service.mcp.server import ServerGone
from hookline.service.mcp.work import Work

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
# How long a server that answered before is waited for, as while it restarts; and the first pause.
AWAY_SECONDS = 10.0
AWAY_PAUSE = 0.1
# For the answer to the question whether a session is alive.
PING_SECONDS = 10.0

_INITIALIZED = "notifications/initialized"
_UNKNOWN_STATE = "; whether the request ran is not known, so hookline did not send it again"


class _NotFound(Failed):
    """Nothing is at the URL; a client that tried the newest protocol then tries an older one."""


class _SessionLost(Failed):
    """The server refused a request because it no longer knows the session, so it did not run."""


@dataclass(eq=False)
class _Exchange:
    """A request of the client that waits for its response."""

    message: Message
    # The headers that repeat parts of the message; empty in the protocol with a handshake.
    routing: Mapping[str, str]
    # Set when the client's next message may go out.
    on_its_way: asyncio.Event = field(default_factory=asyncio.Event)
    is_sent: bool = False
    is_answered: bool = False
    # Sent by us; the client does not see the response.
    is_own: bool = False
    response: Message | None = None
    task: "asyncio.Task[None] | None" = None

    @property
    def is_stateless(self) -> bool:
        return bool(self.routing)

    @property
    def needs_session(self) -> bool:
        return not self.is_stateless and self.message.method != INITIALIZE

    def mark_sent(self) -> None:
        self.is_sent = True
        if self.message.method != INITIALIZE:  # the next messages need its session
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
        if HEADER_VALUE.fullmatch(reader.last_id):
            self.last_id = reader.last_id

    def headers(self) -> dict[str, str]:
        return {"last-event-id": self.last_id} if self.last_id else {}


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
        self._endpoint = Endpoint(address, limit=max_message)
        self._request = self._endpoint.request
        self._name = self._endpoint.name
        self._outgoing: asyncio.Queue[Message] = asyncio.Queue(16)
        self._incoming: asyncio.Queue[Message | Fault | None] = asyncio.Queue(4)
        self._slots = asyncio.Semaphore(MAX_CALLS)
        self._exchanges: dict[Key | None, _Exchange] = {}
        self._work = Work()
        self._listener: asyncio.Task[None] | None = None
        self._is_closed = False
        self._warnings: set[str] = set()
        self._tools: dict[str, Mirrored] = {}
        self._session = HttpSession()
        self._renewal = asyncio.Lock()

    @property
    def lost_sessions(self) -> int:
        """How many sessions the server forgot."""
        return self._session.losses

    async def __aenter__(self) -> "HttpServer":
        self._work.spawn(self._send_queued())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def send(self, message: Message) -> None:
        if self._is_closed:
            raise ServerGone(f"the connection to {self._name} is closed")
        await self._outgoing.put(message)

    async def receive(self) -> Message | Fault | None:
        if self._is_closed and self._incoming.empty():
            return None
        return await self._incoming.get()

    async def close(self) -> int:
        if self._is_closed:
            return 0
        self._is_closed = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._outgoing.join()
            await self._work.end(DELETE_SECONDS)
            if self._session.id is not None:
                with suppress(Failed, TimeoutError):
                    async with (
                        asyncio.timeout(DELETE_SECONDS),
                        self._request("DELETE", self._session.headers),
                    ):
                        pass
        finally:
            await self._work.end(0)
            with suppress(TimeoutError):
                async with asyncio.timeout(DELETE_SECONDS):
                    await self._endpoint.close()
            while not self._incoming.empty():
                self._incoming.get_nowait()
            self._incoming.put_nowait(None)
            while not self._outgoing.empty():  # wake senders that wait for room in the queue
                self._outgoing.get_nowait()
                await asyncio.sleep(0)
        return 0

    def _warn_once(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.add(text)
            warn(text)

    async def _send_queued(self) -> None:
        """Send the queued messages in order: each one after the one before it is on its way."""
        while True:
            message = await self._outgoing.get()
            try:
                await self._send_message(message)
            except Exception as error:
                warn("internal error of the MCP proxy, please report it", error=error)
            finally:
                self._outgoing.task_done()

    async def _send_message(self, message: Message) -> None:
        if message.method == CANCELLED and self._cancel_exchange(message):
            return
        if not message.is_request:
            notice = self._work.spawn(self._send_notice(message))
            await asyncio.wait([notice], timeout=ORDER_SECONDS)
            return
        call = _Exchange(message, build_routing_headers(message, self._tools))
        if message.method == INITIALIZE:
            self._session.begin(message)
            self._stop_listening()
        elif self._session.hello is None:
            self._session.version = call.routing.get(VERSION)
        self._exchanges[message.key] = call
        call.task = self._work.spawn(self._run_exchange(call))
        await call.on_its_way.wait()

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.cancel()
            self._listener = None

    def _cancel_exchange(self, notification: Message) -> bool:
        """Cancel a request of the client; return False if the server must be told by a message."""
        key = key_of(notification.params.get("requestId"))
        if key is None:
            return False
        call = self._exchanges.get(key)
        if call is None:
            return self._session.hello is None
        assert call.task is not None
        if call.is_stateless or not call.is_sent:
            call.task.cancel()
            return True
        asyncio.get_running_loop().call_later(CANCEL_SECONDS, call.task.cancel)
        return False

    async def _send_notice(self, message: Message) -> None:
        """Send a message that has no answer: a notification or a response."""
        headers = self._build_headers(message, build_routing_headers(message, self._tools))
        session = self._session.id
        what = "a response" if message.method is None else one_line(message.method[:100])
        try:
            async with (
                asyncio.timeout(ACCEPT_SECONDS),
                self._request("POST", headers, message.raw) as answer,
            ):
                if not answer.is_success:
                    if answer.status == HTTPStatus.NOT_FOUND and session is not None:
                        self._session.lose(session, self._name)
                    raise self._explain_refusal(answer)
                await answer.drain()
        except (Failed, TimeoutError) as error:
            reason = str(error) or f"{self._name} did not accept it in {ACCEPT_SECONDS:.0f} s"
            warn(f"{what} did not reach the server: {reason}")
        if message.method == _INITIALIZED and self._session.hello is not None:
            self._session.ready = message
            self._stop_listening()
            self._listener = self._work.spawn(self._follow_session_stream())

    async def _run_exchange(self, call: _Exchange) -> None:
        """Send a request, and pass on all messages up to its response."""
        try:
            if self._slots.locked() or (self._session.is_lost and call.needs_session):
                call.on_its_way.set()  # it has to wait, and must not hold up the next messages
            async with self._slots:
                await self._deliver(call)
        except Failed as failure:
            await self._answer_failure(call, failure)
        except Exception:
            await self._answer_failure(call, Failed("internal error of hookline mcp"))
            raise
        finally:
            call.on_its_way.set()
            if self._exchanges.get(call.message.key) is call:
                del self._exchanges[call.message.key]

    async def _answer_failure(self, call: _Exchange, failure: Failed) -> None:
        if not call.is_answered:
            call.is_answered = True
            code = METHOD_NOT_FOUND if isinstance(failure, _NotFound) else SERVER_GONE
            await self._incoming.put(make_error(call.message.id, code, str(failure)))

    async def _deliver(self, call: _Exchange) -> None:
        """Send a request; again only if the server cannot have run it: it was not there, or it no
        longer knew the session. The new session may list other tools, as it may at any moment: the
        request goes out under the name that hooks have seen."""
        has_been_refused = False
        attempts = 0
        while True:
            try:
                if self._session.is_lost and call.needs_session:
                    await self._renew_session()
                await self._exchange(call)
                return
            except NotSent:
                call.on_its_way.set()
                if not await self._wait_for_server(attempts):
                    raise
                attempts += 1
            except _SessionLost:
                if has_been_refused:
                    raise
                has_been_refused = True
                # Cancelling it now does not concern the server.
                call.is_sent = False
            except Unreachable as failure:
                raise Failed(f"{failure}{_UNKNOWN_STATE}") from failure

    async def _wait_for_server(self, attempts: int) -> bool:
        """Pause after an attempt to reach the server; return False if it is not worth another: the
        server was never there, or has been away for long."""
        endpoint = self._endpoint
        if not endpoint.has_answered:
            return False
        pause = min(AWAY_PAUSE * 2.0 ** min(attempts, 10), RETRY_SECONDS)
        if endpoint.away_since is None:
            # It is there, and broke off the connection as the request was written.
            can_wait = attempts < 2
        else:
            can_wait = time.monotonic() - endpoint.away_since + pause <= AWAY_SECONDS
        if can_wait:
            await asyncio.sleep(pause)
        return can_wait

    async def _exchange(self, call: _Exchange) -> None:
        session = self._session.id if call.needs_session else None
        position = _Position()
        headers = self._build_headers(call.message, call.routing)
        async with self._request(
            "POST", headers, call.message.raw, on_sent=call.mark_sent
        ) as answer:
            if call.message.method == INITIALIZE and answer.is_success:
                self._session.id = self._read_session(answer)
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

    async def _resume_stream(
        self, call: _Exchange, position: _Position, session: str | None
    ) -> None:
        """Ask for the rest of a stream that broke off, if the server can resume it."""
        failures = 0
        broken = f"{self._name} ended its answer before the response"
        while not call.is_answered:
            is_over = session is not None and session != self._session.id
            if call.is_stateless or is_over or not position.last_id or failures == MAX_RESUMES:
                raise Failed(f"{broken}{_UNKNOWN_STATE}")
            await asyncio.sleep(position.delay(failures))
            before = position.last_id
            with suppress(Unreachable):
                async with self._request(
                    "GET", self._session.headers | position.headers()
                ) as answer:
                    if answer.is_event_stream:
                        await self._follow_stream(answer, position, call)
                    elif answer.status < 500:
                        if answer.status == HTTPStatus.NOT_FOUND and session is not None:
                            self._session.lose(session, self._name)
                        refusal = self._explain_refusal(answer)
                        raise Failed(f"{broken}, and does not resume it: {refusal}{_UNKNOWN_STATE}")
            failures = 0 if position.last_id != before else failures + 1

    async def _follow_stream(
        self, answer: HttpAnswer, position: _Position, call: _Exchange | None
    ) -> None:
        """Pass on the messages of a stream, up to the response to the call or to the end."""
        reader = EventReader(self._endpoint.limit)
        try:
            async for piece in answer.pieces:
                for event in reader.feed(piece):
                    if event.kind == "message" and event.data:
                        position.messages += 1
                        await self._pass_on_body(event.data, call)
                    position.read_from(reader)
                    if call is not None and call.is_answered:
                        await answer.drain()
                        return
                position.read_from(reader)
        except EventTooLarge:
            raise make_size_error(self._name, self._endpoint.limit) from None
        except Unreachable:
            return  # as if the server had closed the stream

    async def _pass_on_body(self, data: bytes, call: _Exchange | None) -> None:
        """Pass on one message or a batch; ``call`` is the request whose answer it is part of."""
        for message in read_messages(data):
            if isinstance(message, Message):
                await self._pass_on_message(message, call)
            elif call is None:
                self._warn_once(
                    f"{self._name} sent something that is not a JSON-RPC message; it is dropped"
                )
            else:
                raise Failed(
                    f"{self._name} sent something that is not a JSON-RPC message: {message.problem}"
                )

    async def _pass_on_message(self, message: Message, call: _Exchange | None) -> None:
        if message.is_response:
            call = self._exchanges.get(message.key) if call is None else call
            # A server may refuse a message without having read its id.
            is_nameless = message.id is None and message.fields.get("error") is not None
            is_answer = call is not None and (is_nameless or message.key == call.message.key)
            if call is None or call.is_answered or not is_answer:
                self._warn_once(
                    f"{self._name} sent a response that no request waits for; it is dropped"
                )
                return
            if is_nameless:
                message = make_message(id=call.message.id, error=message.fields["error"])
            call.is_answered, call.response = True, message
            self._learn_from(call, message)
            if call.is_own:
                return
        await self._incoming.put(message)

    def _learn_from(self, call: _Exchange, response: Message) -> None:
        result = response.fields.get("result")
        if call.message.method == INITIALIZE and response.fields.get("error") is None:
            self._session.note_version(result)
        elif call.message.method == LIST and call.is_stateless and isinstance(result, dict):
            if begins_listing(call.message):
                self._tools.clear()
            self._tools |= find_mirrored_arguments(result)

    async def _pass_on_refusal(
        self, answer: HttpAnswer, call: _Exchange, session: str | None
    ) -> None:
        """Pass on the server's own error; if there is none, raise one that explains the status."""
        error: Message | None = None
        if answer.media_type == "application/json":
            body = next(read_messages(await answer.read()))
            if isinstance(body, Message) and body.fields.get("error") is not None:
                error = body
        is_of_request = error is not None and error.id is not None
        if session is not None and not is_of_request and await self._is_lost(answer, session):
            self._session.lose(session, self._name)
            raise _SessionLost(
                f"{self._name} no longer knows this session, so the request did not run, and the "
                "server's state of the session is lost; the next request begins a new session"
            )
        if error is not None:
            await self._pass_on_message(error, call)
        if not call.is_answered:
            raise self._explain_refusal(answer)

    async def _is_lost(self, answer: HttpAnswer, session: str) -> bool:
        """Return True if a refusal that names no request means that the server no longer knows the
        session: 404 says so. Some servers say 400, which may be about the request too: then no
        other request gets through either."""
        if answer.status == HTTPStatus.NOT_FOUND:
            return True
        if answer.status != HTTPStatus.BAD_REQUEST:
            return False
        if session != self._session.id or self._session.is_lost:
            return True
        ping = make_message(id=make_id(), method="ping")
        headers = self._build_headers(ping, {})
        try:
            async with (
                asyncio.timeout(PING_SECONDS),
                self._request("POST", headers, ping.raw) as pong,
            ):
                return pong.status in (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST)
        except (Failed, TimeoutError):
            return False

    def _explain_refusal(self, answer: HttpAnswer) -> Failed:
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
        if status in (404, 405) and self._session.id is None:
            return (_NotFound if status == 404 else Failed)(
                f"{self._name} answered with {meaning}: there is no MCP server at this URL, or it "
                "uses the HTTP+SSE transport of 2024-11-05, which hookline does not support"
            )
        return Failed(f"{self._name} answered with {meaning}")

    async def _renew_session(self) -> None:
        """Begin the session again as the client began it; raises ``Failed``."""
        session = self._session
        async with self._renewal:
            if not session.is_lost or session.hello is None:
                return
            hello = _Exchange(session.hello, {}, is_own=True)
            version, session.id, session.version = session.version, None, None
            try:
                await self._exchange(hello)
                if hello.response is None or hello.response.fields.get("error") is not None:
                    raise Failed(f"{self._name} refused a new session")
                if session.version != version:
                    raise Failed(
                        f"{self._name} now speaks version {session.version} of MCP, not {version}; "
                        "restart hookline mcp"
                    )
                session.is_lost = False
            except NotSent:
                raise
            except Unreachable as failure:
                text = f"{failure}, so there is no new session, and the request did not run"
                raise Failed(text) from failure
            finally:
                session.version = version
            if session.ready is not None:
                await self._send_notice(session.ready)

    async def _follow_session_stream(self) -> None:
        """Pass on messages that belong to no request, as long as the session lasts."""
        position, failures = _Position(), 0
        while True:
            before = position.messages
            try:
                async with self._request(
                    "GET", self._session.headers | position.headers()
                ) as answer:
                    if answer.is_event_stream:
                        await self._follow_stream(answer, position, None)
                    elif answer.status < 500 and answer.status != 429:
                        if answer.status in (401, 403):
                            self._explain_refusal(answer)
                        return  # the server has no such stream, or lost the session
            except Unreachable:
                pass  # requests report that
            except Failed as failure:
                self._warn_once(str(failure))
            failures = 0 if position.messages != before else failures + 1
            await asyncio.sleep(position.delay(failures - 1 if failures else 0))

    def _build_headers(self, message: Message, routing: Mapping[str, str]) -> dict[str, str]:
        headers = {"content-type": "application/json", **routing}
        if routing or message.method == INITIALIZE:
            return headers
        return headers | self._session.headers

    def _read_session(self, answer: HttpAnswer) -> str | None:
        session = answer.header(SESSION)
        if session is not None and not HEADER_VALUE.fullmatch(session):
            raise Failed(f"{self._name} sent a session id that cannot be a header")
        return session
