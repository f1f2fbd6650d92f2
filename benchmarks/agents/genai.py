"""The agent on google-genai itself: a tool as the SDK calls it, a request as it sends it.

The SDK itself takes some 15 ms for a tool call and a model call, and a tenth of a millisecond
cannot be seen beside them: the loop here is its loop without that.
"""

import functools
import importlib.util
import json
import time
from importlib import import_module
from typing import Any

from google.genai.types import GenerateContentConfig, HttpOptions

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks
from hookline.adapters.conversations import Conversations
from hookline.adapters.genai.http import HTTPClients
from hookline.adapters.genai.models import Call, ModelCalls
from hookline.adapters.genai.tools import ToolGuard

TITLE = "google-genai"
IDLE = "a wrapper of both that does nothing"

_HTTPX: Any = import_module("httpx" if importlib.util.find_spec("httpx") else "httpx2")
_URL = "http://127.0.0.1/v1beta/models/m:generateContent"
_ASKED = json.dumps({"contents": [{"role": "user", "parts": [{"text": "Go on."}]}]})
_SAID = json.dumps({"candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}}]})


async def shell(command: str) -> str:
    return f"ran {command}"


def make_turn(hooks: Hooks | None) -> Turn:
    client, times = _make_client()
    if hooks is None:
        return _make_turn(shell, client, times)
    conversation = Conversations(hooks).of(None)
    call = Call(conversation)
    options = HttpOptions(httpx_client=_HTTPX.Client(), httpx_async_client=client)
    guarded = HTTPClients(options, ModelCalls(lambda: conversation).exchange).options
    config = ToolGuard(lambda: call, None).guard(GenerateContentConfig(tools=[shell]))
    return _make_turn(config.tools[0], guarded.httpx_async_client, times, call)


def make_idle_turn() -> Turn:
    client, times = _make_client()
    send = client.send

    async def idle_send(request: Any, **options: Any) -> Any:
        return await send(request, **options)

    @functools.wraps(shell)
    async def idle_shell(*args: Any, **kwargs: Any) -> str:
        return await shell(*args, **kwargs)

    client.send = idle_send
    return _make_turn(idle_shell, client, times)


def _make_client() -> tuple[Any, list[float]]:
    times: list[float] = []

    def reply(_request: Any) -> Any:
        times.append(time.perf_counter())
        return _HTTPX.Response(200, content=_SAID)

    return _HTTPX.AsyncClient(transport=_HTTPX.MockTransport(reply)), times


def _make_turn(tool: Any, client: Any, times: list[float], call: Call | None = None) -> Turn:
    async def ask() -> None:
        await client.request("POST", _URL, content=_ASKED)

    async def run() -> None:
        await ask()
        for _ in range(ROUNDS):
            await tool(command="ls")
            await ask()

    async def run_in_call() -> None:
        assert call is not None
        with call.running():
            await run()

    return Turn(run if call is None else run_in_call, times)
