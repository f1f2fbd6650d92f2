"""The client's side of the proxy, as messages."""

import asyncio
import json
from typing import Any

from hookline.service.mcp.http import HttpServer
from hookline.service.mcp.messages import Message, make_message, read_messages

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def read(data: bytes) -> Message:
    """The one message of a line."""
    [message] = read_messages(data)
    assert isinstance(message, Message)
    return message


async def send(server: HttpServer, method: str, id: Any = None, **params: Any) -> None:
    """A request where it has an id, else a notification."""
    fields = {"method": method, "params": params}
    await server.send(make_message(**fields, **({} if id is None else {"id": id})))


async def receive(server: HttpServer, seconds: float = 10) -> Any:
    async with asyncio.timeout(seconds):
        message = await server.receive()
    assert isinstance(message, Message)
    assert b"\n" not in message.raw
    return json.loads(message.raw)


async def ask(server: HttpServer, method: str, id: Any = 1, **params: Any) -> Any:
    await send(server, method, id, **params)
    return await receive(server)


async def shake_hands(server: HttpServer, version: str = "2025-11-25") -> Any:
    answer = await ask(
        server,
        "initialize",
        0,
        protocolVersion=version,
        capabilities={"elicitation": {}},
        clientInfo={"name": "test", "version": "1"},
    )
    await send(server, "notifications/initialized")
    return answer


async def until(condition: Any, seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)
