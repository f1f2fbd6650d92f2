"""An HTTP server of bytes: it answers as a test says, right or wrong, and keeps the requests."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Request:
    """A request, and how to answer it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    writer: asyncio.StreamWriter = field(repr=False)

    @property
    def message(self) -> Any:
        return json.loads(self.body)

    @property
    def rpc(self) -> str:
        """The method of the message; "" for a response."""
        return str(self.message.get("method", "")) if self.body else ""

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self, body: bytes = b"", kind: str = "application/json", status: int = 200, extra: str = ""
    ) -> None:
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
        await self.write(f"{head}{extra}\r\n".encode() + body)

    async def result(self, result: Any = None, extra: str = "") -> None:
        await self.answer(self.response(result), extra=extra)

    def response(self, result: Any = None) -> bytes:
        message = {"jsonrpc": "2.0", "id": self.message["id"], "result": result or {}}
        return json.dumps(message).encode()

    async def begin_events(self) -> None:
        """A stream that ends with its connection."""
        await self.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")

    async def event(self, data: bytes, id: str = "") -> None:
        head = f"id: {id}\n" if id else ""
        await self.write(head.encode() + b"data: " + data + b"\n\n")

    def hang_up(self, *, reset: bool = False) -> None:
        if reset:
            self.writer.transport.abort()
        else:
            self.writer.close()


Handler = Callable[[Request], Awaitable[None]]


class RawServer:
    """``handle`` answers a request; its connection is the test's until it returns, then it waits
    for the next request or for the client to go (``left`` counts these)."""

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self.tls: ssl.SSLContext | None = None
        self.requests: list[Request] = []
        self.connections = 0
        self.left = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "RawServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        scheme = "http" if self.tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def sent(self, rpc: str) -> list[Request]:
        return [request for request in self.requests if request.rpc == rpc]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while not writer.is_closing():
                    await self._serve_one(reader, writer)
        finally:
            self.left += 1
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split()
        request = Request(method, path, headers, body, writer)
        self.requests.append(request)
        answering = asyncio.ensure_future(self._handle(request))
        # Of a client that waits for an answer comes only that it is gone.
        leaving = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait([answering, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                raise ConnectionResetError
            answering.result()
        finally:
            for task in (answering, leaving):
                task.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)


def serve(**by_rpc: Handler) -> RawServer:
    """A server of the handshake's generation: what is not given it does right, with a session."""

    async def handle(request: Request) -> None:
        if request.method == "GET":
            await by_rpc.get("get", no_stream)(request)
        elif request.method == "DELETE":
            await by_rpc.get("delete", accept)(request)
        elif (handler := by_rpc.get(request.rpc.replace("/", "_"))) is not None:
            await handler(request)
        elif request.rpc == "initialize":
            await welcome(request)
        elif "id" in request.message and request.rpc:
            await request.result({"ok": request.rpc})
        else:
            await accept(request)

    return RawServer(handle)


async def accept(request: Request) -> None:
    await request.answer(status=202)


async def no_stream(request: Request) -> None:
    await request.answer(status=405)


async def welcome(request: Request, session: str = "s-1", version: str = "2025-11-25") -> None:
    result = {
        "protocolVersion": version,
        "capabilities": {},
        "serverInfo": {"name": "raw", "version": "1"},
    }
    await request.result(result, extra=f"mcp-session-id: {session}\r\n" if session else "")
