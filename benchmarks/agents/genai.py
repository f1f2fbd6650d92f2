"""The agent in google-genai used directly: automatic function calling over a transport that
replies at once."""

import functools
import importlib.util
import json
import time
from importlib import import_module
from typing import Any

from google import genai
from google.genai import types

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks
from hookline.adapters.genai import hooked

TITLE = "google-genai"
IDLE = "a transport and a wrapped tool that do nothing"

_HTTPX: Any = import_module("httpx" if importlib.util.find_spec("httpx") else "httpx2")
_CALL = {"functionCall": {"name": "shell", "args": {"command": "ls"}}}


async def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


@functools.wraps(shell)
async def _idle_shell(*args: Any, **kwargs: Any) -> Any:
    return await shell(*args, **kwargs)


def make_turn(hooks: Hooks | None) -> Turn:
    return _make_turn(hooks, shell)


def make_idle_turn() -> Turn:
    return _make_turn(None, _idle_shell, is_idle=True)


def _make_turn(hooks: Hooks | None, tool: Any, *, is_idle: bool = False) -> Turn:
    times: list[float] = []

    def reply(_request: Any) -> Any:
        times.append(time.perf_counter())
        part = _CALL if len(times) % (ROUNDS + 1) else {"text": "All is done."}
        said = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        return _HTTPX.Response(200, content=json.dumps({"candidates": [said]}).encode())

    transport = _HTTPX.MockTransport(reply)
    if is_idle:
        transport = _HTTPX.MockTransport(transport.handle_async_request)
    options = types.HttpOptions(async_client_args={"transport": transport})
    if hooks is None:
        client = genai.Client(api_key="none", http_options=options)
    else:
        client = hooked(genai.Client, hooks=hooks, api_key="none", http_options=options)
    config = types.GenerateContentConfig(tools=[tool])

    def run() -> Any:
        return client.aio.models.generate_content(model="m", contents="Go on.", config=config)

    return Turn(run, times)
