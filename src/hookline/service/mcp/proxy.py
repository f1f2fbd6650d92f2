"""Connects an MCP client and an MCP server, and lets hooks decide about tool calls.

A response reaches the client only as the answer to an open request, so a result cannot bypass the
hooks. Messages that hooks do not see pass at once, in order.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from hookline._support.notices import warn
from hookline.dialects.matcher import Match
from hookline.errors import describe
from hookline.hooks import Face, HookSession
from hookline.service.mcp.calls import Call, has_no_handshake, read_call
from hookline.service.mcp.client import McpClient
from hookline.service.mcp.lines import MessageTooLong
from hookline.service.mcp.messages import (
    CALL,
    CANCELLED,
    DISCOVER,
    INITIALIZE,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LIST,
    LIST_CHANGED,
    PARSE_ERROR,
    SERVER_GONE,
    TASK_RESULTS,
    Fault,
    Key,
    Message,
    key_of,
    make_error,
)
from hookline.service.mcp.requests import OpenRequests
from hookline.service.mcp.results import Reply
from hookline.service.mcp.server import Server, ServerGone
from hookline.service.mcp.session import ClientSession
from hookline.service.mcp.tasks import TaskResults
from hookline.service.mcp.toolcalls import GuardedCalls
from hookline.service.mcp.tools import Identity, ServerTools
from hookline.service.mcp.work import run_to_end
from hookline.wire.events import SessionEndReason

# Seconds for open calls when one side is gone, and for the last lines.
LAST_CALLS = 3.0
_LAST_LINES = 1.0
_MOST_QUOTED = 500
_JSON = (b"{", b"[")
_GONE = "the MCP server has ended"


class Proxy:
    """One session; ``allows`` says which tools of the server are allowed, None allows all.

    It reads both sides, and hands each message to the part whose it is: ``ClientSession``,
    ``GuardedCalls`` or ``TaskResults``. All of them know the same ``OpenRequests``.
    """

    def __init__(
        self,
        hooks: HookSession,
        server: Server,
        client: McpClient,
        *,
        identity: Identity,
        allows: Match | None = None,
    ) -> None:
        face = Face(hooks.view.heard)
        self._server, self._client = server, client
        self._tools = ServerTools(hooks, identity, allows)
        self._requests = OpenRequests(server)
        self._session = ClientSession(hooks, face, self._tools, self._requests)
        self._task_results = TaskResults(hooks, self._tools)
        self._calls = GuardedCalls(
            hooks,
            face,
            server,
            client,
            tools=self._tools,
            requests=self._requests,
            session=self._session,
            task_results=self._task_results,
        )
        self._has_failed = False
        self._closing: asyncio.Task[int] | None = None

    async def run(self) -> int:
        """Serve until one side is gone, and leave nothing running; return the server's exit code, 1
        if a message was too long to pass on."""
        client = asyncio.create_task(self._read_client())
        server = asyncio.create_task(self._read_server())
        reason = SessionEndReason.OTHER
        try:
            await asyncio.wait({client, server}, return_when=asyncio.FIRST_COMPLETED)
            if self._client.is_gone:
                reason = SessionEndReason.EXIT
            elif not self._has_failed:
                if not server.done():
                    reason = SessionEndReason.EXIT
                    self._session.expect_no_introduction()
                    await self._requests.wait_until_settled(server, LAST_CALLS)
                    # A server may answer only after its input ended.
                    await asyncio.wait([self._close_server()])
                    await asyncio.wait([server], timeout=_LAST_LINES)
                self._requests.fail(ServerGone(_GONE))
                await asyncio.gather(self._calls.wait(LAST_CALLS), self._session.wait(LAST_CALLS))
        finally:
            code = await run_to_end(self._end_all(client, server, reason))
        for pump in (client, server):
            if not pump.cancelled():
                pump.result()
        return 1 if self._has_failed else code

    def _close_server(self) -> "asyncio.Task[int]":
        """End the server, once."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._server.close())
        return self._closing

    async def _end_all(
        self,
        client: "asyncio.Task[None]",
        server: "asyncio.Task[None]",
        reason: SessionEndReason,
    ) -> int:
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)
        await self._calls.end()
        await self._session.cancel()
        why = _GONE if server.done() else "the session has ended"
        for _, id in await self._requests.end():
            self._client.answer_error(id, SERVER_GONE, why)
        ends = self._close_server(), self._session.end(reason)
        code, _ = await asyncio.gather(*ends, return_exceptions=True)
        server.cancel()
        await asyncio.gather(server, return_exceptions=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._client.drain(below=0), _LAST_LINES)
        if isinstance(code, int):
            return code
        warn(f"the MCP server did not end well: {describe(code)}")
        return 1

    async def _read_client(self) -> None:
        try:
            while (message := await self._client.receive()) is not None:
                await self._handle(message, self._handle_client_message(message))
                if self._client.is_gone:
                    return
        except MessageTooLong as error:
            self._has_failed = True
            warn(f"the MCP client sent {error}; the session ends")

    async def _read_server(self) -> None:
        try:
            while (message := await self._server.receive()) is not None:
                await self._handle(message, self._handle_server_message(message))
                await self._client.drain()
                if self._client.is_gone:
                    return
        except ServerGone as error:
            self._has_failed = True
            warn(f"{error}; the session ends")

    async def _handle(self, message: Message | Fault, work: Coroutine[Any, Any, None]) -> None:
        """Handle a message; an error with one must not end the session."""
        try:
            await work
        except ServerGone as error:
            # _read_server sees the end of the server; the client may wait for this answer.
            if isinstance(message, Message) and message.is_request:
                self._requests.close(message.key)
                self._client.answer_error(message.id, SERVER_GONE, str(error))
        except Exception as error:
            warn("internal error of the MCP proxy, please report it", error=error)
            if isinstance(message, Message) and message.id is not None:
                self._requests.close(message.key)
                problem = "internal error of hookline mcp"
                self._client.answer_error(message.id, INTERNAL_ERROR, problem)

    async def _handle_client_message(self, message: Message | Fault) -> None:
        if isinstance(message, Fault):
            await self._refuse_fault(message)
        elif message.is_response:
            if not self._calls.questions.take(message):
                await self._server.send(message)
        elif message.method == CALL:
            await self._handle_call(message)
        elif message.method == CANCELLED:
            await self._cancel_request(message)
        else:
            await self._handle_request(message)

    async def _refuse_fault(self, fault: Fault) -> None:
        warn(f"a message of the MCP client was refused (id {fault.id!r}): {fault.problem}")
        # A response has the server's id, which another request of the client may have too.
        id = None if fault.is_response else fault.id
        problem = f"hookline mcp does not pass this on: {fault.problem}"
        await self._client.turn_down(id, fault.code, problem)

    async def _handle_call(self, message: Message) -> None:
        if not message.is_request:
            warn("a tools/call of the MCP client has no id, so it was dropped")
            return
        call = read_call(message)
        if isinstance(call, Fault):
            await self._refuse_fault(call)
        elif not await self._refuse_open_id(call.key):
            await self._calls.take(call)

    async def _handle_request(self, message: Message) -> None:
        """Pass on a request or notification that no hook sees."""
        key = message.key
        if key is not None:
            if await self._refuse_open_id(key):
                return
            if message.method in TASK_RESULTS and not self._task_results.may_fetch(message):
                problem = (
                    "hooks must see the results of tools, and the result of a task bypasses them"
                )
                await self._client.turn_down(message.id, INVALID_REQUEST, problem)
                return
            self._requests.open(key, message)
            # Without an id there is no answer in which the server introduces itself.
            if message.method == INITIALIZE:
                self._session.begin_handshake(message.params.get("capabilities"))
            if message.method in (INITIALIZE, DISCOVER):
                self._session.start()
        await self._server.send(message)

    async def _refuse_open_id(self, key: Key) -> bool:
        """Refuse a request with the id of one that the server may still answer, whose answer could
        be taken for that of this one; return True if it was refused."""
        if not self._requests.may_be_answered(key):
            return False
        problem = f"a request with the id {key[1]!r} is still open; use a new id"
        await self._client.turn_down(key[1], INVALID_REQUEST, problem)
        return True

    async def _cancel_request(self, message: Message) -> None:
        """Forget a request that the client cancelled, and tell the server if it has it."""
        key = key_of(message.params.get("requestId"))
        request = self._requests.find(key)
        if request is None or key is None:
            await self._server.send(message)
            return
        if isinstance(request, Message) and request.method == INITIALIZE:
            # The protocol forbids it, and the server's name comes with the answer.
            warn("the MCP client cancelled initialize, which cannot be cancelled; it goes on")
            return
        self._requests.close(key)
        open_key: Key | None = key
        notification: Message | None = message
        if isinstance(request, Call):
            open_key, notification = self._calls.cancel(request, message)
        if open_key is not None:
            self._requests.abandon(open_key)
        if notification is not None:
            await self._server.send(notification)

    async def _handle_server_message(self, message: Message | Fault) -> None:
        if isinstance(message, Fault):
            response = _answer_for(message)
            if response is not None:
                self._handle_response(response)
        elif message.is_response:
            self._handle_response(message)
        elif not self._task_results.may_pass(message):
            warn("the result of a task was dropped, as hooks must see the results of tools")
        else:
            if message.method == LIST_CHANGED:
                self._calls.listing.expire()
            self._client.send(message)

    def _handle_response(self, message: Message) -> None:
        reply = Reply(message.fields.get("result"), message.fields.get("error"))
        plain = reply
        if message.is_doubled:
            problem = "an object in the MCP server's answer has a key twice"
            reply = Reply(error={"code": INTERNAL_ERROR, "message": problem})
        if self._requests.take_own_answer(message.id, reply):
            return
        key = message.key
        if key is None and plain.error is not None:
            # The server could not read a message, nor its id.
            self._client.send(message)
            return
        request = self._requests.find(key)
        if isinstance(request, Message):
            self._requests.close(key)
            self._answer_request(request, message, plain)
            return
        is_answer = request is not None and self._calls.take_answer(request, reply)
        if not is_answer and not self._requests.take_late_answer(key):
            # Not its content: hooks must see a result first.
            warn(f"the MCP server answered a request that is not open (id {message.id!r})")

    def _answer_request(self, request: Message, message: Message, reply: Reply) -> None:
        """Pass on the answer to a request that no hook sees."""
        if reply.error is None and _introduces(request):
            self._session.note_introduction(reply.result, is_whole=request.method != LIST)
        self._session.release_calls()
        if request.method in (INITIALIZE, DISCOVER):
            self._session.pass_on_introduction(message, self._client)
            return
        if request.method == LIST and isinstance(reply.result, dict):
            self._calls.listing.note_page(request.params, reply.result)
            result = self._tools.narrow(reply.result)
            if result is not reply.result or message.is_doubled:
                self._client.answer(message.id, Reply(result))
                return
        self._client.send(message)


def _answer_for(fault: Fault) -> Message | None:
    """Report a line of the server that is not a message; return an error in place of the answer
    that it may be."""
    # Log plain text, but no JSON: that may be a result, which hooks must see first.
    is_shown = fault.code == PARSE_ERROR and not fault.raw.strip().startswith(_JSON)
    text = fault.raw[:_MOST_QUOTED].decode(errors="replace") if is_shown else "…"
    warn(f"the MCP server wrote a line that is not a message: {fault.problem}: {text}")
    if not fault.is_response or fault.id is None:
        return None
    problem = f"the MCP server's answer was refused: {fault.problem}"
    return make_error(fault.id, INTERNAL_ERROR, problem)


def _introduces(request: Message) -> bool:
    """True if the server names itself in the answer to a request."""
    if request.method == INITIALIZE:
        return True
    return request.method in (DISCOVER, LIST) and has_no_handshake(request.params.get("_meta"))
