"""A proxy between a client that a test plays over pipes and a server that it plays in memory."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias

from hookline import Hooks
from hookline.dialects.matcher import compile_matcher
from hookline.service.mcp.client import McpClient
from hookline.service.mcp.lines import Lines, Outlet
from hookline.service.mcp.messages import Fault, Message, key_of, read_messages
from hookline.service.mcp.proxy import Proxy
from hookline.service.mcp.server import ServerGone
from hookline.service.mcp.tools import Identity

Json: TypeAlias = dict[str, Any]
SECONDS = 20
CLIENT: Json = {"elicitation": {}}
MODERN: Json = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


def text(value: str, **more: Any) -> Json:
    """A result of one text."""
    return {"content": [{"type": "text", "text": value}], **more}


def call(id: Any, tool: str = "read", arguments: Any = None, **params: Any) -> Json:
    named: Json = {"name": tool, "arguments": {} if arguments is None else arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {**named, **params}}


def modern(id: Any, tool: str = "read", arguments: Any = None, **params: Any) -> Json:
    return call(id, tool, arguments, **{"_meta": MODERN, **params})


def result_of(id: Any, result: Any) -> Json:
    return {"jsonrpc": "2.0", "id": id, "result": result}


# What servers list unless a test says otherwise.
LISTED = ("read", "note", "other", "slow", "last", "rm", "show", "write", "a", "b")


def page(*names: str, **more: Any) -> Json:
    """A page of a listing."""
    return {"tools": [{"name": name, "inputSchema": {}} for name in names], **more}


class PlayedServer:
    """Keeps what it is sent; ``answer`` gives the result of a request, None for one that the test
    answers itself. It lists its tools to the proxy, and keeps how often it was asked."""

    def __init__(self, answer: Callable[[Json], Any], listed: Callable[[Json], Any]) -> None:
        self.raw: list[bytes] = []
        self.lost_sessions = 0
        self.listings: list[Json] = []
        self.answer = answer
        self._listed = listed
        self._sent: asyncio.Queue[Json] = asyncio.Queue()
        self.outbox: asyncio.Queue[Message | Fault | None] = asyncio.Queue()
        # Requests that it has not answered, and nobody has cancelled.
        self.open_ids: set[Any] = set()
        self.is_gone = False
        self.is_closed = False

    async def send(self, message: Message) -> None:
        if self.is_gone:
            raise ServerGone("the MCP server takes no more messages")
        read = json.loads(message.raw)
        if message.is_request:
            self.open_ids.add(message.key)
        if message.method == "notifications/cancelled":
            self.open_ids.discard(key_of(message.params.get("requestId")))
        if read.get("method") == "tools/list" and str(read.get("id")).startswith("hookline-"):
            self.listings.append(read["params"])
            if (answer := self._listed(read["params"])) is not None:
                self.say({"jsonrpc": "2.0", "id": read["id"], **answer})
            return
        self.raw.append(message.raw)
        self._sent.put_nowait(read)
        if "method" in read and "id" in read:
            result = self.answer(read)
            if result is not None:
                self.say(result_of(read["id"], result))

    async def receive(self) -> Message | Fault | None:
        return await self.outbox.get()

    async def close(self) -> int:
        self.is_closed = True
        self.outbox.put_nowait(None)
        return 7

    def say(self, message: Json | bytes | str) -> None:
        if isinstance(message, dict):
            message = json.dumps(message)
        for each in read_messages(message.encode() if isinstance(message, str) else message):
            if isinstance(each, Message) and each.is_response:
                self.open_ids.discard(each.key)
            self.outbox.put_nowait(each)

    def die(self) -> None:
        self.is_gone = True
        self.outbox.put_nowait(None)

    async def next(self) -> Json:
        """The next message that it was sent."""
        return await asyncio.wait_for(self._sent.get(), SECONDS)

    @property
    def calls(self) -> list[Json]:
        """The tool calls it was sent: what each one of them calls."""
        read = [json.loads(raw) for raw in self.raw]
        return [message["params"] for message in read if message.get("method") == "tools/call"]


class Session:
    """What a client sees of the proxy."""

    def __init__(self, server: PlayedServer, proxy: Proxy, lines: Lines, outlet: Outlet) -> None:
        self.server = server
        self._proxy = proxy
        self.lines = lines
        self._outlet = outlet
        self.running = asyncio.create_task(proxy.run())

    def send(self, message: Json | bytes | str | list[Any]) -> None:
        if isinstance(message, dict | list):
            message = json.dumps(message)
        self._outlet.write(message.encode() if isinstance(message, str) else message)

    async def receive_raw(self) -> bytes:
        line = await asyncio.wait_for(self.lines.next(), SECONDS)
        assert line is not None
        return line

    async def receive(self) -> Json:
        message: Json = json.loads(await self.receive_raw())
        return message

    async def request(self, message: Json | bytes | str) -> Json:
        """Send a request, and have the next message."""
        self.send(message)
        return await self.receive()

    async def call(self, id: Any, tool: str = "read", arguments: Any = None, **more: Any) -> Any:
        """The result of a call."""
        answer = await self.request(call(id, tool, arguments, **more))
        assert answer["id"] == id
        return answer["result"]

    async def initialize(self, capabilities: Json | None = None) -> Json:
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities or {}}
        message = {"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": params}
        answer = await self.request(message)
        await self.server.next()
        return answer

    def leave(self) -> None:
        """Close the client's side."""
        self._outlet.close()

    async def end(self) -> int:
        return await asyncio.wait_for(self.running, SECONDS)


def answer_usually(request: Json) -> Any:
    if request["method"] == "initialize":
        info = {"name": "files", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    if request["method"] == "tools/call":
        return text(f"ran {request['params']['name']}")
    return {}


@asynccontextmanager
async def play(
    hooks: Hooks | None = None,
    answer: Callable[[Json], Any] = answer_usually,
    *,
    name: str | None = "files",
    tools: str | None = None,
    listed: Callable[[Json], Any] = lambda _params: {"result": page(*LISTED)},
    limit: int = 1_000_000,
) -> AsyncIterator[Session]:
    """A session; it is ended with the block."""
    allows = None if tools is None else compile_matcher(tools, search=False)[0]
    to_proxy, from_client = os.pipe()
    to_client, from_proxy = os.pipe()
    server = PlayedServer(answer, listed)
    ends = Lines(to_proxy, limit=limit), Outlet(from_proxy)
    place = {"command": "files-server", "args": ["--quiet"], "cwd": "/srv"}
    identity = Identity(name=name, fallback="files-server", place=place)
    client = McpClient(*ends)
    proxy = Proxy(hooks or Hooks(), server, client, identity=identity, allows=allows)
    mine = Lines(to_client), Outlet(from_client)
    session = Session(server, proxy, *mine)
    try:
        yield session
    finally:
        session.leave()
        if server.open_ids:  # which nobody is going to answer
            server.die()
        with suppress(asyncio.CancelledError):
            await session.end()
        for end in (*ends, *mine):
            end.close()
