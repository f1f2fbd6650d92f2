"""The mcp package's own server behind HTTP on loopback, in a thread."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage
from pydantic import BaseModel, Field

MAX_BODY = 32 * 2**20


class Answer(BaseModel):
    word: str


class Person(BaseModel):
    name: str
    secret: str


@dataclass
class Seen:
    """What the tools saw."""

    calls: list[Any] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)


def make_server(seen: Seen) -> MCPServer:
    server = MCPServer("real")

    @server.tool()
    async def add(a: int, b: int) -> str:
        seen.calls.append((a, b))
        return str(a + b)

    @server.tool()
    async def hold() -> str:
        seen.held.set()
        try:
            while not seen.release.is_set():
                await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            seen.cancelled.set()
            raise
        return "released"

    @server.tool()
    async def count(steps: int, ctx: Context) -> str:
        for step in range(steps):
            await ctx.report_progress(step, steps)
        return "counted"

    @server.tool()
    async def ask_back(ctx: Context) -> str:
        answer = await ctx.elicit("which word?", Answer)
        return f"{answer.action} {answer.data.word if answer.action == 'accept' else ''}".strip()

    @server.tool()
    async def deploy(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
        replicas: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Replicas"})] = 1,
    ) -> str:
        return f"{replicas} in {region}"

    @server.tool()
    async def person() -> Person:
        return Person(name="Ann", secret="hush-4711")

    @server.tool()
    async def echo(text: str) -> str:
        return text

    @server.tool()
    async def poll(ctx: Context) -> str:
        await ctx.close_sse_stream()
        await asyncio.sleep(0.3)
        return "polled"

    return server


class Events(EventStore):
    """Keeps all, in order."""

    def __init__(self) -> None:
        self._events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        number = int(last_event_id)
        stream = self._events[number - 1][0]
        for later, (name, message) in enumerate(self._events[number:], number + 1):
            if name == stream and message is not None:
                await send_callback(EventMessage(message, str(later)))
        return stream


def say_instead(app: Any, status: int) -> Any:
    """The app, with another status in place of 404."""

    async def respond(scope: Any, receive: Any, send: Any) -> None:
        async def replace(message: Any) -> None:
            if message.get("status") == 404:
                message = {**message, "status": status}
            await send(message)

        await app(scope, receive, replace)

    return respond


@contextmanager
def serve_real(
    seen: Seen | None = None, *, port: int = 0, unknown_session: int = 404, **settings: Any
) -> Iterator[str]:
    """The URL of a server; ``settings`` are those of ``streamable_http_app``."""
    app = make_server(seen or Seen()).streamable_http_app(
        max_request_body_size=MAX_BODY, **settings
    )
    app = say_instead(app, unknown_session)
    config = uvicorn.Config(
        app, log_level="critical", timeout_graceful_shutdown=1, ws="none", lifespan="on"
    )
    server = uvicorn.Server(config)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    listening.listen(100)
    thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
