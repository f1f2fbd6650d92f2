"""The tool calls of a client, each between its hooks, from the first look at it to its answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from hookline._support.notices import warn
from hookline.calls.question import tool_notification
from hookline.calls.tool import ConfirmationRequest, FollowingTool, ToolInput
from hookline.hooks import Face, HookSession
from hookline.service.mcp.calls import CAPABILITIES, Call, can_be_asked
from hookline.service.mcp.catalog import Listing
from hookline.service.mcp.client import McpClient
from hookline.service.mcp.messages import (
    CALL,
    DISCOVER,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    SERVER_GONE,
    Json,
    Key,
    Message,
    encode,
)
from hookline.service.mcp.questions import InputNeeded, Questions
from hookline.service.mcp.requests import OpenRequests, make_id
from hookline.service.mcp.results import Reply, apply_outcome, read_reply, refuse
from hookline.service.mcp.server import Server, ServerGone
from hookline.service.mcp.session import HOLD_SECONDS, ClientSession
from hookline.service.mcp.tasks import TaskResults
from hookline.service.mcp.tools import ServerTools
from hookline.service.mcp.work import Work
from hookline.wire.codec import MAX_DEPTH, is_json
from hookline.wire.events import HookEventName

_BEFORE, _AFTER = HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL
# Calls whose hooks run at the same time; others wait. A hook takes three descriptors, a process may
# have 256 on macOS, and a hook that cannot start would let its call pass.
_MOST_TURNS = 16
# Calls that run, or wait for their turn or for the server; more are refused.
MOST_CALLS = 1000
# How deep a result may be nested; hooks read it within the objects of ``tool_response``.
_DEEPEST = MAX_DEPTH - 5
_UNNAMED = (
    "hooks match the tools of a server under its name, and the MCP server has not answered "
    "initialize; send initialize before calls, or start hookline mcp with --name"
)
_NAMELESS = (
    "hooks match the tools of a server under its name, and the MCP server does not say its name; "
    "start hookline mcp with --name"
)


class _ServerInput(Exception):
    """The server wants input before it goes on."""

    def __init__(self, result: Json) -> None:
        self.result = result
        super().__init__("the server asks for input")


class _Stopped(Exception):
    """Hooks stopped the session while other hooks looked at this call."""


class GuardedCalls:
    """The calls of one session. A call that hooks look at is a task of its own; ``end`` cancels all
    that are left."""

    def __init__(
        self,
        hooks: HookSession,
        face: Face,
        server: Server,
        client: McpClient,
        *,
        tools: ServerTools,
        requests: OpenRequests,
        session: ClientSession,
        task_results: TaskResults,
    ) -> None:
        self._hooks, self._face = hooks, face
        self._server, self._client = server, client
        self._tools = tools
        self._requests = requests
        self._session = session
        self._task_results = task_results
        self.listing = Listing(server, self._ask)
        self.questions = Questions(client.send)
        self._work = Work()
        self._turns = asyncio.Semaphore(_MOST_TURNS)
        self._stop_reason: str | None = None

    async def take(self, call: Call) -> None:
        """Take a call of the client: refuse it, send it on, or begin its hooks. Raises
        ServerGone."""
        refusal = self._stop_reason
        if refusal is None:
            refusal = self._tools.find_refusal(call.name)
        if refusal is not None:
            self._client.answer(call.id, refuse(refusal, is_modern=call.is_modern))
            await self._client.drain()
            return
        self._requests.open(call.key, call)
        self._session.start()
        is_ready = self._session.is_ready and self.listing.has(call.name)
        name = self._tools.name_for_hooks(call.name) if is_ready else ""
        if is_ready and self._hooks.may_skip(_BEFORE, _AFTER, target=name):
            await self._server.send(call.to_server(call.arguments))
        elif len(self._work) >= MOST_CALLS:
            self._requests.close(call.key)
            problem = f"{MOST_CALLS} calls are open; wait until one of them is answered"
            await self._client.turn_down(call.id, SERVER_GONE, problem)
        else:
            call.task = self._work.spawn(self._run(call))

    def take_answer(self, call: Call, reply: Reply) -> bool:
        """Take the server's answer to an open call; return False if it cannot have been one: the
        server does not have the call yet, or has answered it already."""
        if call.task is None:
            self._requests.close(call.key)
            self._client.answer(call.id, self._task_results.check_reply(call, reply))
            return True
        if call.reply is None or call.reply.done():
            return False
        call.reply.set_result(reply)
        return True

    def cancel(self, call: Call, notification: Message) -> tuple[Key | None, Message | None]:
        """Stop a call that the client cancelled. Return the id of the request that the server may
        still answer, and what to tell the server; None for neither."""
        if call.task is None:
            return call.key, notification
        is_open = call.reply is not None and not call.reply.done()
        # This also ends its wait for the reply.
        call.task.cancel()
        if not call.is_sent:
            return None, None
        if call.following is None:
            return call.key if is_open else None, notification
        params = {**notification.params, "requestId": call.following}
        fields = {**notification.fields, "params": params}
        return ("text", call.following), Message(encode(fields), fields)

    async def wait(self, seconds: float) -> None:
        """Wait for the calls, but no longer than this."""
        await self._work.wait(seconds)

    async def end(self) -> None:
        """Cancel the calls and the listing that are left."""
        await self.listing.close()
        await self._work.end()

    async def _run(self, call: Call) -> None:
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
            problem = {"code": INTERNAL_ERROR, "message": "internal error of hookline mcp"}
            reply = Reply(error=problem)
        finally:
            self._end_turn(call)
        self._requests.close(call.key)
        self._client.answer(call.id, reply)
        await self._client.drain()

    async def _admit(self, call: Call) -> Reply | None:
        """Hold a call until its tool has a name that hooks can match; return the refusal of a call
        whose tool never gets one."""
        is_alone = call.is_modern and not self._tools.is_named
        if not is_alone and not await self._session.wait_for_name():
            return Reply(error={"code": INVALID_REQUEST, "message": _UNNAMED})
        await self._session.wait_for_start()
        meta = call.lasting_meta if call.is_modern else {}
        refusal = await self.listing.find_refusal(call.name, meta)
        if refusal is None and not self._tools.is_named:
            # No handshake introduces the server to a client that does not ask for it.
            with suppress(TimeoutError):
                async with asyncio.timeout(HOLD_SECONDS):
                    await self._ask(DISCOVER, {"_meta": meta})
            refusal = None if self._tools.is_named else _NAMELESS
        return None if refusal is None else refuse(refusal, is_modern=call.is_modern)

    async def _ask(self, method: str, params: Json) -> Reply:
        """Ask the server in the proxy's own name; raises ServerGone."""
        reply = await self._requests.ask(method, params)
        if reply.error is None:
            self._session.note_introduction(reply.result, is_whole=method == DISCOVER)
        return reply

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
        if not is_json(call.arguments):
            return refuse("hooks cannot read all of its arguments", is_modern=call.is_modern)
        if (refusal := self._task_results.find_refusal(call)) is not None:
            return refusal
        resumed = self.questions.resume(call)

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
                return await self.questions.ask(request)

        can_ask = self._session.can_be_asked
        if call.is_modern:
            can_ask = can_be_asked(call.meta.get(CAPABILITIES))
        try:
            outcome = await self._hooks.call_tool(
                self._tools.name_for_hooks(call.name),
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
            return self.questions.defer(call, question.request)
        except _ServerInput as wish:
            self.questions.allow_again(call, wish.result.get("requestState"))
            return Reply(wish.result)
        except _Stopped as stop:
            return refuse(str(stop), is_modern=call.is_modern)
        if outcome.stop is not None:
            self._stop_reason = outcome.stop
        return apply_outcome(outcome, is_modern=call.is_modern)

    def _check_stop(self) -> None:
        if self._stop_reason is not None:
            raise _Stopped(self._stop_reason)

    async def _run_tool(self, call: Call, arguments: ToolInput) -> Reply:
        """Let the server run the tool; raises _ServerInput if the server wants input first."""
        self._check_stop()
        call.reply = asyncio.get_running_loop().create_future()
        async with self._leave_turn(call):
            await self._server.send(call.to_server(arguments))
            reply = _check_depth(await call.reply)
        if reply.needs_input:
            # Drop the rest: no hook has seen it.
            input_keys = ("resultType", "inputRequests", "requestState")
            raise _ServerInput({k: v for k, v in reply.result.items() if k in input_keys})
        return self._task_results.check_reply(call, reply)

    def _find_following(self, call: Call, name: str) -> FollowingTool | None:
        """Find another tool of this server, by its name for hooks or for the server."""
        tool = name.removeprefix(self._tools.name_for_hooks(""))
        if self._tools.find_refusal(tool) is not None or not self.listing.has_listed(tool):
            return None

        async def run(arguments: ToolInput) -> Reply:
            self._check_stop()
            id = call.following = make_id()
            meta = call.lasting_meta
            params = {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})}
            try:
                async with self._leave_turn(call):
                    reply = _check_depth(await self._requests.exchange(id, CALL, params))
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
        notification = tool_notification(
            {
                "type": "mcp",
                "title": request.tool_name,
                "serverName": self._tools.server_name,
                "toolName": tool,
                "toolDisplayName": tool,
            }
        )
        await self._face.notification(
            notification.message,
            notification_type=notification.notification_type,
            details=notification.details,
        )


def _check_depth(reply: Reply) -> Reply:
    """Return the reply, or an error if hooks cannot read all of it."""
    if is_json(reply.result, _DEEPEST) and is_json(reply.error, _DEEPEST):
        return reply
    problem = "the MCP server's answer cannot be passed on: hooks cannot read all of it"
    return Reply(error={"code": INTERNAL_ERROR, "message": problem})
