"""Connects an MCP client and an MCP server, and lets hooks decide about tool calls.

A response reaches the client only as the answer to an open request, so a result cannot bypass the
hooks. Messages that hooks do not see pass at once, in order.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from hookline._support.notices import warn
from hookline.calls.question import tool_notification
from hookline.calls.tool import ConfirmationRequest, FollowingTool, ToolInput
from hookline.dialects.matcher import Match
from hookline.errors import describe
from hookline.hooks import Face, Hooks
from hookline.service.mcp.calls import (
    CAPABILITIES,
    Call,
    can_be_asked,
    has_no_handshake,
    read_call,
)
from hookline.service.mcp.catalog import Listing
from hookline.service.mcp.lines import Lines, MessageTooLong, Outlet
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
    Json,
    Key,
    Message,
    encode,
    find_variant,
    key_of,
    read_messages,
)
from hookline.service.mcp.questions import InputNeeded, Questions
from hookline.service.mcp.results import Reply, apply_outcome, read_reply, refuse
from hookline.service.mcp.server import Server, ServerGone
from hookline.service.mcp.tools import Identity, Tools
from hookline.wire.codec import MAX_DEPTH, is_json
from hookline.wire.events import HookEventName, SessionEndReason, SessionStartSource

T = TypeVar("T")

_BEFORE, _AFTER = HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL
# Seconds for open calls when one side is gone, and for the last lines.
LAST_CALLS = 3.0
_LAST_LINES = 1.0
# Seconds that a call waits for the server to introduce itself.
HOLD_SECONDS = 30.0
# Calls whose hooks run at the same time; others wait. A hook takes three descriptors, a process may
# have 256 on macOS, and a hook that cannot start would let its call pass.
_MOST_TURNS = 16
# Calls that run, or wait for their turn or for the server; more are refused.
MOST_CALLS = 1000
MOST_CANCELLED = 10_000
MOST_TASKS = 10_000
_MOST_QUOTED = 500
_JSON = (b"{", b"[")
# How deep a result may be nested; hooks read it within the objects of ``tool_response``.
_DEEPEST = MAX_DEPTH - 5
_TASK_ID = frozenset({"taskId"})
# Requests that stay open as long as the connection.
_LASTING = "subscriptions/"
_GONE = "the MCP server has ended"
_UNNAMED = (
    "hooks match the tools of a server under its name, and the MCP server has not answered "
    "initialize; send initialize before calls, or start hookline mcp with --name"
)
_NAMELESS = (
    "hooks match the tools of a server under its name, and the MCP server does not say its name; "
    "start hookline mcp with --name"
)
_NO_LATER_RESULT = (
    "hooks must see the result of {tool}, and a task would give it later; call it without a task"
)


class _ServerInput(Exception):
    """The server wants input before it goes on."""

    def __init__(self, result: Json) -> None:
        self.result = result
        super().__init__("the server asks for input")


class _Stopped(Exception):
    """Hooks stopped the session while other hooks looked at this call."""


class Proxy:
    """One session; ``allows`` says which tools of the server are allowed, None allows all."""

    def __init__(
        self,
        hooks: Hooks,
        server: Server,
        incoming: Lines,
        outgoing: Outlet,
        *,
        identity: Identity,
        allows: Match | None = None,
    ) -> None:
        self._hooks, self._face = hooks, Face(hooks.view.heard)
        self._tools = Tools(hooks, identity, allows)
        self._listing = Listing(server, self._ask_server)
        self._server = server
        self._incoming = incoming
        self._outgoing = outgoing
        self._questions = Questions(outgoing.write)
        # The client's open requests, and our own.
        self._open: dict[Key, Call | Message] = {}
        self._own: dict[str, asyncio.Future[Reply]] = {}
        # Requests that the client cancelled, and the server may still answer; oldest first.
        self._cancelled: dict[Key, None] = {}
        # By the id of a task, the tool whose result it will give.
        self._results_of: dict[str, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._turns = asyncio.Semaphore(_MOST_TURNS)
        self._settled: asyncio.Future[None] | None = None
        # Set when calls need not wait for the server to introduce itself.
        self._is_introduced = asyncio.Event()
        if self._tools.is_named:
            self._is_introduced.set()
        self._has_started = False
        self._session: asyncio.Task[None] | None = None
        self._instructions: list[str] = []
        self._can_be_asked = False
        self._stop_reason: str | None = None
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
            if self._outgoing.lost is not None:
                reason = SessionEndReason.EXIT
            elif not self._has_failed:
                if not server.done():
                    reason = SessionEndReason.EXIT
                    if not self._is_initializing:
                        # Nothing will introduce the server any more.
                        self._is_introduced.set()
                    await self._wait_for_answers(server)
                    # A server may answer only after its input ended.
                    await asyncio.wait([self._close_server()])
                self._fail_calls()
                if self._tasks:
                    await asyncio.wait(self._tasks, timeout=LAST_CALLS)
        finally:
            code = await _run_to_end(self._end_all(client, server, reason))
        for pump in (client, server):
            if not pump.cancelled():
                pump.result()
        return 1 if self._has_failed else code

    async def _wait_for_answers(self, server: "asyncio.Task[None]") -> None:
        """The client sends no more: wait a moment for answers to open requests."""
        if any(not _is_lasting(request) for request in self._open.values()):
            self._settled = asyncio.get_running_loop().create_future()
            ends = asyncio.FIRST_COMPLETED
            await asyncio.wait({server, self._settled}, timeout=LAST_CALLS, return_when=ends)

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
        await self._listing.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(client, *self._tasks, return_exceptions=True)
        why = _GONE if server.done() else "the session has ended"
        for key in [*self._open]:
            self._answer_error(key[1], SERVER_GONE, why)
            self._close_request(key)
        closing = self._close_server(), self._end_session(reason)
        code, _ = await asyncio.gather(*closing, return_exceptions=True)
        server.cancel()
        await asyncio.gather(server, return_exceptions=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._outgoing.drain(below=0), _LAST_LINES)
        if isinstance(code, int):
            return code
        warn(f"the MCP server did not end well: {describe(code)}")
        return 1

    async def _read_client(self) -> None:
        try:
            while (line := await self._incoming.next()) is not None:
                for message in read_messages(line):
                    await self._handle_message(message, self._handle_client_message(message))
                if self._outgoing.lost is not None:
                    return
        except MessageTooLong as error:
            self._has_failed = True
            warn(f"the MCP client sent {error}; the session ends")

    async def _read_server(self) -> None:
        try:
            while (line := await self._server.receive()) is not None:
                for message in read_messages(line):
                    await self._handle_message(message, self._handle_server_message(message))
                await self._outgoing.drain()
                if self._outgoing.lost is not None:
                    return
        except ServerGone as error:
            self._has_failed = True
            warn(f"{error}; the session ends")

    async def _handle_message(
        self, message: Message | Fault, work: Coroutine[Any, Any, None]
    ) -> None:
        """Handle a message; an error with one must not end the session."""
        try:
            await work
        except ServerGone as error:
            # _read_server sees the end of the server; the client may wait for this answer.
            if isinstance(message, Message) and message.is_request:
                self._close_request(key_of(message.id))
                self._answer_error(message.id, SERVER_GONE, str(error))
        except Exception as error:
            warn("internal error of the MCP proxy, please report it", error=error)
            if isinstance(message, Message) and message.id is not None:
                self._close_request(key_of(message.id))
                self._answer_error(message.id, INTERNAL_ERROR, "internal error of hookline mcp")

    async def _handle_client_message(self, message: Message | Fault) -> None:
        if isinstance(message, Fault):
            warn(f"a message of the MCP client was refused (id {message.id!r}): {message.problem}")
            # A response has the server's id, which another request of the client may have too.
            id = None if message.is_response else message.id
            problem = f"hookline mcp does not pass this on: {message.problem}"
            await self._turn_down(id, message.code, problem)
            return
        method, key = message.method, key_of(message.id)
        if message.is_response:
            if not self._questions.take(message):
                await self._server.send(message.raw)
            return
        if method == CALL:
            await self._take_call(message)
            return
        if method == CANCELLED:
            await self._cancel_request(message)
            return
        if key is not None:
            if await self._refuse_open_id(key):
                return
            if method in TASK_RESULTS and not await self._may_fetch(message):
                return
            self._open[key] = message
        # Without an id there is no answer in which the server introduces itself.
        if method == INITIALIZE and key is not None:
            self._can_be_asked = can_be_asked(message.params.get("capabilities"))
            self._is_introduced.clear()
        if method in (INITIALIZE, DISCOVER) and key is not None:
            self._start_session()
        await self._server.send(message.raw)

    async def _refuse_open_id(self, key: Key) -> bool:
        """Refuse a request with the id of one that the server may still answer, whose answer could
        be taken for that of this one; return True if it was refused."""
        if key not in self._open and key not in self._cancelled:
            return False
        problem = f"a request with the id {key[1]!r} is still open; use a new id"
        await self._turn_down(key[1], INVALID_REQUEST, problem)
        return True

    async def _take_call(self, message: Message) -> None:
        if not message.is_request:
            warn("a tools/call of the MCP client has no id, so it was dropped")
            return
        call = read_call(message)
        if isinstance(call, Fault):
            await self._handle_client_message(call)
            return
        if await self._refuse_open_id(call.key):
            return
        refusal = self._stop_reason
        if refusal is None:
            refusal = self._tools.find_refusal(call.name)
        if refusal is not None:
            self._write_answer(call.id, refuse(refusal, is_modern=call.is_modern))
            await self._outgoing.drain()
            return
        self._open[call.key] = call
        self._start_session()
        is_ready = self._is_introduced.is_set() and self._listing.has(call.name)
        is_ready = is_ready and (self._session is None or self._session.done())
        name = self._tools.name_for_hooks(call.name) if is_ready else ""
        if is_ready and self._hooks.may_skip(_BEFORE, _AFTER, target=name):
            await self._server.send(call.to_server(call.arguments))
        elif len(self._tasks) >= MOST_CALLS:
            self._close_request(call.key)
            problem = f"{MOST_CALLS} calls are open; wait until one of them is answered"
            await self._turn_down(call.id, SERVER_GONE, problem)
        else:
            call.task = self._spawn(self._run_call(call))

    async def _run_call(self, call: Call) -> None:
        try:
            refusal = await self._admit(call)
            if refusal is None:
                await self._take_turn(call)
                reply = await self._call_with_hooks(call)
            else:
                reply = refusal
        except ServerGone as error:
            reply = Reply(error={"code": SERVER_GONE, "message": str(error)})
        except Exception as error:
            warn("internal error of the MCP proxy, please report it", error=error)
            said = {"code": INTERNAL_ERROR, "message": "internal error of hookline mcp"}
            reply = Reply(error=said)
        finally:
            self._end_turn(call)
        self._close_request(call.key)
        self._write_answer(call.id, reply)
        await self._outgoing.drain()

    async def _admit(self, call: Call) -> Reply | None:
        """Hold a call until its tool has a name that hooks can match; return the refusal of a call
        whose tool never gets one."""
        is_alone = call.is_modern and not self._tools.is_named
        if not is_alone:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_introduced.wait(), HOLD_SECONDS)
            if not self._tools.is_named:
                return Reply(error={"code": INVALID_REQUEST, "message": _UNNAMED})
        if self._session is not None:
            await asyncio.wait([self._session])
        meta = call.lasting_meta if call.is_modern else {}
        refusal = await self._listing.find_refusal(call.name, meta)
        if refusal is None and not self._tools.is_named:
            # No handshake introduces the server to a client that does not ask for it.
            refusal = await self._discover_name(meta)
        return None if refusal is None else refuse(refusal, is_modern=call.is_modern)

    async def _discover_name(self, meta: Json) -> str | None:
        """Ask the server for its name; return why it cannot be known, None if it is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HOLD_SECONDS):
                await self._ask_server(DISCOVER, {"_meta": meta})
        return None if self._tools.is_named else _NAMELESS

    async def _ask_server(self, method: str, params: Json) -> Reply:
        """Send a request of our own, and return the answer to it; raises ServerGone."""
        id = _make_id()
        try:
            reply = await self._exchange(id, method, params)
        except asyncio.CancelledError:
            self._expect_late_answer(("text", id))
            self._spawn(self._withdraw(id))
            raise
        if reply.error is None:
            self._note_introduction(reply.result, is_whole=method == DISCOVER)
        return reply

    async def _withdraw(self, id: str) -> None:
        """Tell the server that nobody waits for the answer to a request of our own."""
        params = {"requestId": id, "reason": "hookline mcp no longer waits for it"}
        with suppress(ServerGone):
            await self._server.send(
                encode({"jsonrpc": "2.0", "method": CANCELLED, "params": params})
            )

    async def _exchange(self, id: str, method: str, params: Json) -> Reply:
        fields = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self._own[id] = asyncio.get_running_loop().create_future()
        try:
            await self._server.send(encode(fields))
            return await self._own[id]
        finally:
            del self._own[id]

    def _note_introduction(self, result: Any, *, is_whole: bool) -> None:
        """Take the server's name from a result; only a whole introduction must have one."""
        self._tools.identify(result, is_introduction=is_whole)
        self._release_calls()

    def _release_calls(self) -> None:
        """Let calls go on, unless the server has no name yet or is about to give one."""
        if self._tools.is_named and not self._is_initializing:
            self._is_introduced.set()

    @property
    def _is_initializing(self) -> bool:
        requests = (request for request in self._open.values() if isinstance(request, Message))
        return any(request.method == INITIALIZE for request in requests)

    async def _take_turn(self, call: Call) -> None:
        await self._turns.acquire()
        call.has_turn = True

    def _end_turn(self, call: Call) -> None:
        if call.has_turn:
            call.has_turn = False
            self._turns.release()

    @asynccontextmanager
    async def _leave_turn(self, call: Call) -> AsyncIterator[None]:
        """Let the hooks of other calls run while this call waits for the server or the user."""
        self._end_turn(call)
        try:
            yield
        finally:
            await self._take_turn(call)

    async def _call_with_hooks(self, call: Call) -> Reply:
        name = self._tools.name_for_hooks(call.name)
        if not is_json(call.arguments):
            return refuse(
                "hooks cannot read all of its arguments",
                is_modern=call.is_modern,
            )
        if call.is_task and self._hooks.may_answer(_AFTER, name):
            return refuse(_NO_LATER_RESULT.format(tool=call.name), is_modern=call.is_modern)
        resumed = self._questions.resume(call)

        async def confirm(request: ConfirmationRequest) -> bool:
            nonlocal resumed
            if resumed is not None and not call.is_sent:
                call.answered, is_allowed = resumed.answered, resumed.is_allowed
                resumed = None
                return is_allowed
            if call.is_modern and call.is_sent:
                raise RuntimeError("another call ran already, and would run again with the answer")
            await self._fire_notification(request)
            if call.is_modern:
                raise InputNeeded(request)
            async with self._leave_turn(call):
                return await self._questions.ask(request)

        can_ask = self._can_be_asked
        if call.is_modern:
            can_ask = can_be_asked(call.meta.get(CAPABILITIES))
        try:
            outcome = await self._hooks.call_tool(
                name,
                call.arguments,
                partial(self._run_tool, call),
                read=read_reply,
                find_tool=partial(self._find_following, call),
                confirm=confirm if can_ask or resumed is not None else None,
                deferrals=(_ServerInput, _Stopped),
                mcp_context=self._tools.describe(call.name),
                answered=None if resumed is None else resumed.answered,
            )
        except InputNeeded as question:
            return self._questions.defer(call, question.request)
        except _ServerInput as wanted:
            self._questions.allow_again(call, wanted.result.get("requestState"))
            return Reply(wanted.result)
        except _Stopped as stopped:
            return refuse(str(stopped), is_modern=call.is_modern)
        if outcome.stop is not None:
            self._stop_reason = outcome.stop
        return apply_outcome(outcome, is_modern=call.is_modern)

    async def _run_tool(self, call: Call, arguments: ToolInput) -> Reply:
        """Let the server run the tool; raises _ServerInput if the server wants input first."""
        if self._stop_reason is not None:
            raise _Stopped(self._stop_reason)
        call.reply = asyncio.get_running_loop().create_future()
        async with self._leave_turn(call):
            await self._server.send(call.to_server(arguments))
            reply = _check_depth(await call.reply)
        if reply.needs_input:
            # Drop the rest: no hook has seen it.
            wanted = ("resultType", "inputRequests", "requestState")
            raise _ServerInput({k: v for k, v in reply.result.items() if k in wanted})
        return self._check_finished(call, reply)

    def _check_finished(self, call: Call, reply: Reply) -> Reply:
        """Return the reply, or a refusal if its result comes later and hooks must see it."""
        if not reply.is_unfinished:
            return reply
        name = self._tools.name_for_hooks(call.name)
        if self._hooks.may_answer(_AFTER, name):
            warn(f"the MCP server made a task of {call.name}: {_NO_LATER_RESULT.format(tool=name)}")
            return refuse(_NO_LATER_RESULT.format(tool=call.name), is_modern=call.is_modern)
        if reply.task_id is not None and len(self._results_of) < MOST_TASKS:
            self._results_of[reply.task_id] = name
        return reply

    def _find_following(self, call: Call, name: str) -> FollowingTool | None:
        """Find another tool of this server, by its name for hooks or for the server."""
        tool = name.removeprefix(self._tools.name_for_hooks(""))
        if self._tools.find_refusal(tool) is not None or not self._listing.has_listed(tool):
            return None

        async def run(arguments: ToolInput) -> Reply:
            if self._stop_reason is not None:
                raise _Stopped(self._stop_reason)
            id = call.following = _make_id()
            meta = call.lasting_meta
            params = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
            try:
                async with self._leave_turn(call):
                    reply = _check_depth(await self._exchange(id, CALL, params))
            finally:
                call.following = None
            if reply.is_unfinished:
                problem = (
                    f"{tool} wants input or gives its result later, so it cannot follow a call"
                )
                return refuse(problem, is_modern=call.is_modern)
            return reply

        return FollowingTool(run, self._tools.name_for_hooks(tool), self._tools.describe(tool))

    async def _fire_notification(self, request: ConfirmationRequest) -> None:
        """Fire the Notification event for a question to the user."""
        tool = request.tool_name.removeprefix(self._tools.name_for_hooks(""))
        told = tool_notification(
            {
                "type": "mcp",
                "title": request.tool_name,
                "serverName": self._tools.server_name,
                "toolName": tool,
                "toolDisplayName": tool,
            }
        )
        await self._face.notification(
            told.message, notification_type=told.notification_type, details=told.details
        )

    async def _cancel_request(self, message: Message) -> None:
        """Forget a request that the client cancelled, and tell the server if it has it."""
        key = key_of(message.params.get("requestId"))
        request = self._open.get(key) if key is not None else None
        if request is None or key is None:
            await self._server.send(message.raw)
            return
        if isinstance(request, Message) and request.method == INITIALIZE:
            # The protocol forbids it, and the server's name comes with the answer.
            warn("the MCP client cancelled initialize, which cannot be cancelled; it goes on")
            return
        self._close_request(key)
        raw, may_be_answered = message.raw, True
        if isinstance(request, Call) and request.task is not None:
            may_be_answered = request.reply is not None and not request.reply.done()
            # This also ends its wait for the reply.
            request.task.cancel()
            if not request.is_sent:
                return
            if request.following is not None:
                key, may_be_answered = ("text", request.following), True
                params = {**message.params, "requestId": request.following}
                raw = encode({**message.fields, "params": params})
        if may_be_answered:
            self._expect_late_answer(key)
        await self._server.send(raw)

    def _expect_late_answer(self, key: Key) -> None:
        """Note that nobody waits for the answer to a request any more."""
        self._cancelled[key] = None
        if len(self._cancelled) > MOST_CANCELLED:
            del self._cancelled[next(iter(self._cancelled))]

    async def _may_fetch(self, message: Message) -> bool:
        """Return True if a task's result may pass; if not, refuse the request."""
        has_variant = find_variant(message.params, _TASK_ID) is not None
        if not has_variant and not self._must_be_seen(message.params.get("taskId")):
            return True
        problem = "hooks must see the results of tools, and the result of a task bypasses them"
        await self._turn_down(message.id, INVALID_REQUEST, problem)
        return False

    def _must_be_seen(self, task_id: Any) -> bool:
        name = self._results_of.get(task_id) if isinstance(task_id, str) else None
        if name is not None:
            return self._hooks.may_answer(_AFTER, name)
        # The task may be of any tool.
        system = self._hooks.config.get_hook_system()
        if system is None:
            return False
        hooks = system.get_all_hooks()
        return self._hooks.may_answer(_AFTER) or any(hook.event is _AFTER for hook in hooks)

    async def _handle_server_message(self, message: Message | Fault) -> None:
        if isinstance(message, Fault):
            # Log plain text, but no JSON: that may be a result, which hooks must see first.
            is_shown = message.code == PARSE_ERROR and not message.raw.strip().startswith(_JSON)
            text = message.raw[:_MOST_QUOTED].decode(errors="replace") if is_shown else "…"
            warn(f"the MCP server wrote a line that is not a message: {message.problem}: {text}")
            if not message.is_response or message.id is None:
                return
            problem = f"the MCP server's answer was refused: {message.problem}"
            error = {"code": INTERNAL_ERROR, "message": problem}
            fields = {"jsonrpc": "2.0", "id": message.id, "error": error}
            message = Message(encode(fields), fields, is_doubled=False)
        if not message.is_response:
            is_of_task = str(message.method).startswith("notifications/tasks")
            has_result = is_of_task and "result" in message.params
            if has_result and self._must_be_seen(message.params.get("taskId")):
                warn("the result of a task was dropped, as hooks must see the results of tools")
            else:
                if message.method == LIST_CHANGED:
                    self._listing.expire()
                self._outgoing.write(message.raw)
            return
        reply = Reply(message.fields.get("result"), message.fields.get("error"))
        if message.is_doubled:
            problem = "an object in the MCP server's answer has a key twice"
            doubtful = Reply(error={"code": INTERNAL_ERROR, "message": problem})
        else:
            doubtful = reply
        if isinstance(message.id, str) and message.id in self._own:
            own = self._own[message.id]
            if not own.done():
                own.set_result(doubtful)
            return
        key = key_of(message.id)
        if key is None and reply.error is not None:
            # The server could not read a message, nor its id.
            self._outgoing.write(message.raw)
            return
        request = self._open.get(key) if key is not None else None
        if isinstance(request, Call) and request.task is not None:
            if request.reply is not None and not request.reply.done():
                request.reply.set_result(doubtful)
                return
            # The server does not have the call yet, or has answered it already.
            request = None
        if key is None or request is None:
            if key is not None and key in self._cancelled:
                del self._cancelled[key]
            else:
                # Not its content: hooks must see a result first.
                warn(f"the MCP server answered a request that is not open (id {message.id!r})")
            return
        if isinstance(request, Call):
            self._close_request(key)
            self._write_answer(request.id, self._check_finished(request, doubtful))
            return
        self._close_request(key)
        if reply.error is None and _introduces(request):
            self._note_introduction(reply.result, is_whole=request.method != LIST)
        self._release_calls()
        if request.method in (INITIALIZE, DISCOVER):
            if self._session is not None and not self._session.done():
                self._spawn(self._pass_on_introduction(message, self._session))
            else:
                self._outgoing.write(self._add_instructions(message))
            return
        if request.method == LIST and isinstance(reply.result, dict):
            self._listing.note_page(request.params, reply.result)
            narrowed = self._tools.narrow(reply.result)
            if narrowed is not reply.result or message.is_doubled:
                self._write_answer(message.id, Reply(narrowed))
                return
        self._outgoing.write(message.raw)

    def _start_session(self) -> None:
        """Fire SessionStart, once; tool calls wait for its hooks."""
        if self._has_started:
            return
        self._has_started = True
        source = SessionStartSource.STARTUP

        async def start() -> None:
            self._instructions = (await self._face.session_start(source)).texts_for_model

        if not self._hooks.may_skip(HookEventName.SESSION_START, target=source):
            self._session = self._spawn(start())

    async def _pass_on_introduction(self, message: Message, session: "asyncio.Task[None]") -> None:
        """Pass on the server's answer to initialize when SessionStart hooks have answered."""
        await asyncio.wait([session])
        self._outgoing.write(self._add_instructions(message))

    def _add_instructions(self, message: Message) -> bytes:
        """Add what SessionStart hooks tell the model to the server's answer to initialize."""
        result = message.fields.get("result")
        if not self._instructions or not isinstance(result, dict):
            return message.raw
        given = result.get("instructions")
        said = [*([given] if isinstance(given, str) and given else []), *self._instructions]
        return encode({**message.fields, "result": {**result, "instructions": "\n\n".join(said)}})

    async def _end_session(self, reason: SessionEndReason) -> None:
        if self._has_started:
            await self._face.session_end(reason)

    def _fail_calls(self) -> None:
        """Fail the calls that wait for the server: it is gone."""
        calls = [request for request in self._open.values() if isinstance(request, Call)]
        for waiting in (*(call.reply for call in calls), *self._own.values()):
            if waiting is not None and not waiting.done():
                waiting.set_exception(ServerGone(_GONE))

    def _close_request(self, key: Key | None) -> None:
        if key is not None:
            self._open.pop(key, None)
        is_settled = all(_is_lasting(request) for request in self._open.values())
        if is_settled and self._settled is not None and not self._settled.done():
            self._settled.set_result(None)

    async def _turn_down(self, id: Any, code: int, problem: str) -> None:
        """Refuse a message; wait until the client reads, before taking more."""
        self._answer_error(id, code, problem)
        await self._outgoing.drain()

    def _answer_error(self, id: Any, code: int, message: str) -> None:
        self._write_answer(id, Reply(error={"code": code, "message": message}))

    def _write_answer(self, id: Any, reply: Reply) -> None:
        said = {"result": reply.result} if reply.error is None else {"error": reply.error}
        try:
            line = encode({"jsonrpc": "2.0", "id": id, **said})
        except ValueError as error:
            problem = f"the MCP server's answer cannot be passed on: {error}"
            said = {"error": {"code": INTERNAL_ERROR, "message": problem}}
            line = encode({"jsonrpc": "2.0", "id": id, **said})
        self._outgoing.write(line)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _check_depth(reply: Reply) -> Reply:
    """Return the reply, or an error if hooks cannot read all of it."""
    if is_json(reply.result, _DEEPEST) and is_json(reply.error, _DEEPEST):
        return reply
    problem = "the MCP server's answer cannot be passed on: hooks cannot read all of it"
    return Reply(error={"code": INTERNAL_ERROR, "message": problem})


def _is_lasting(request: Call | Message) -> bool:
    return isinstance(request, Message) and str(request.method).startswith(_LASTING)


def _introduces(request: Message) -> bool:
    """True if the server names itself in the answer to a request."""
    if request.method == INITIALIZE:
        return True
    return request.method in (DISCOVER, LIST) and has_no_handshake(request.params.get("_meta"))


def _make_id() -> str:
    """Make the id of a request of our own, which no client can have."""
    return f"hookline-{secrets.token_hex(16)}"


async def _run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, however often the caller is cancelled; return its result."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
        except Exception:
            break
    return task.result()
