"""One session of a client: its start and end for hooks, and the introduction of the server, whose
name hooks match its tools by."""

import asyncio
from contextlib import suppress
from typing import Any

from hookline.hooks import Face, HookSession
from hookline.service.mcp.calls import can_be_asked
from hookline.service.mcp.client import McpClient
from hookline.service.mcp.messages import Message, encode
from hookline.service.mcp.requests import OpenRequests
from hookline.service.mcp.tools import ServerTools
from hookline.service.mcp.work import Work
from hookline.wire.events import HookEventName, SessionEndReason, SessionStartSource

# Seconds that a call waits for the server to introduce itself.
HOLD_SECONDS = 30.0


class ClientSession:
    """A session; it begins with the first request that says so, and ends once."""

    def __init__(
        self, hooks: HookSession, face: Face, tools: ServerTools, requests: OpenRequests
    ) -> None:
        self._hooks, self._face = hooks, face
        self._tools, self._requests = tools, requests
        self._work = Work()
        # Set when calls need not wait for the server to introduce itself.
        self._is_introduced = asyncio.Event()
        if tools.is_named:
            self._is_introduced.set()
        self._has_started = False
        self._start_hooks: asyncio.Task[None] | None = None
        self._instructions: list[str] = []
        self.can_be_asked = False

    @property
    def is_ready(self) -> bool:
        """True if calls need not wait for the server's name, nor for SessionStart hooks."""
        return self._is_introduced.is_set() and not self._is_starting

    @property
    def _is_starting(self) -> bool:
        return self._start_hooks is not None and not self._start_hooks.done()

    def start(self) -> None:
        """Fire SessionStart, once; tool calls wait for its hooks."""
        if self._has_started:
            return
        self._has_started = True
        if not self._hooks.may_skip(HookEventName.SESSION_START, target=SessionStartSource.STARTUP):
            self._start_hooks = self._work.spawn(self._fire_start())

    def begin_handshake(self, capabilities: Any) -> None:
        """Hold calls until the server has answered the client's initialize."""
        self.can_be_asked = can_be_asked(capabilities)
        self._is_introduced.clear()

    def note_introduction(self, result: Any, *, is_whole: bool) -> None:
        """Take the server's name from a result; only a whole introduction must have one."""
        self._tools.identify(result, is_introduction=is_whole)
        self.release_calls()

    def release_calls(self) -> None:
        """Let calls go on, unless the server has no name yet or is about to give one."""
        if self._tools.is_named and not self._requests.is_initializing:
            self._is_introduced.set()

    def expect_no_introduction(self) -> None:
        """Note that the client sends no more, so that calls do not wait for its initialize."""
        if not self._requests.is_initializing:
            self._is_introduced.set()

    async def wait_for_name(self) -> bool:
        """Wait until the server has introduced itself; return whether it has a name."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_introduced.wait(), HOLD_SECONDS)
        return self._tools.is_named

    async def wait_for_start(self) -> None:
        """Wait for SessionStart hooks."""
        if self._start_hooks is not None:
            await asyncio.wait([self._start_hooks])

    def pass_on_introduction(self, message: Message, client: McpClient) -> None:
        """Pass on the server's introduction, with what SessionStart hooks say to the model."""
        if not self._is_starting:
            client.send(self._add_instructions(message))
            return

        async def wait() -> None:
            await self.wait_for_start()
            client.send(self._add_instructions(message))

        self._work.spawn(wait())

    async def wait(self, seconds: float) -> None:
        """Wait for its hooks, but no longer than this."""
        await self._work.wait(seconds)

    async def cancel(self) -> None:
        """Stop what still waits for SessionStart hooks."""
        await self._work.end()

    async def end(self, reason: SessionEndReason) -> None:
        """Fire SessionEnd, if the session began."""
        if self._has_started:
            await self._face.session_end(reason)

    async def _fire_start(self) -> None:
        answer = await self._face.session_start(SessionStartSource.STARTUP)
        self._instructions = answer.texts_for_model

    def _add_instructions(self, message: Message) -> Message:
        result = message.fields.get("result")
        if not self._instructions or not isinstance(result, dict):
            return message
        own = result.get("instructions")
        texts = [*([own] if isinstance(own, str) and own else []), *self._instructions]
        fields = {**message.fields, "result": {**result, "instructions": "\n\n".join(texts)}}
        return Message(encode(fields), fields)
