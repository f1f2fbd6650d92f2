"""Hooks that are servers of bytes on loopback, and what a runner makes of them."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from hookline.wire.hooks import HookSource, HttpHook
from hookline.wire.results import HookExecutionResult
from tests.adapters.mcp_http.rawserver import RawServer, Request
from tests.runner.planned import run_one

Handler = Callable[[Request], Awaitable[None]]


def http_hook(url: str, *, source: HookSource = HookSource.USER, **fields: Any) -> HttpHook:
    return HttpHook(url=url, source=source, **{"name": "h", "timeout": 10_000, **fields})


def answer(value: Any, *, status: int = 200, extra: str = "") -> Handler:
    """A handler that answers with JSON, or with bytes as they are."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()

    async def handler(request: Request) -> None:
        await request.answer(body, status=status, extra=extra)

    return handler


def write(data: bytes, *, hang_up: bool = True) -> Handler:
    """A handler that writes bytes, with no HTTP of its own."""

    async def handler(request: Request) -> None:
        await request.write(data)
        if hang_up:
            request.hang_up()

    return handler


async def ask(handler: Handler, *, path: str = "", **fields: Any) -> HookExecutionResult:
    """What became of a hook whose server answers so; ``context`` are fields of the context."""
    context = fields.pop("context", {})
    async with RawServer(handler) as server:
        return await run_one(http_hook(server.url + path, **fields), **context)
