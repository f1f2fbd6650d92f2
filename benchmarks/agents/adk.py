"""The agent in ADK."""

import itertools
import logging
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks
from hookline.adapters.adk import HooklinePlugin

TITLE = "ADK"
IDLE = "a plugin that does nothing"


class _Scripted(BaseLlm):
    model: str = "scripted"
    times: list[float]

    async def generate_content_async(
        self,
        llm_request: LlmRequest,  # noqa: ARG002 - the base names them
        stream: bool = False,  # noqa: ARG002
    ) -> AsyncGenerator[LlmResponse, None]:
        self.times.append(time.perf_counter())
        part = types.Part(text="All is done.")
        if len(self.times) % (ROUNDS + 1):
            id = f"call-{len(self.times)}"
            call = types.FunctionCall(id=id, name="shell", args={"command": "ls"})
            part = types.Part(function_call=call)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


class _Idle(BasePlugin):
    """Has only the callbacks of the base, which ADK calls as well."""


def make_turn(hooks: Hooks | None) -> Turn:
    return _make_turn([] if hooks is None else [HooklinePlugin(hooks)])


def make_idle_turn() -> Turn:
    return _make_turn([_Idle("idle")])


async def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def _make_turn(plugins: Sequence[BasePlugin]) -> Turn:
    # ADK warns about each response without token counts.
    logging.getLogger("google_adk").setLevel(logging.ERROR)
    # The model does not copy this list.
    times: list[float] = []
    model = _Scripted(times=[])
    model.times = times
    root = LlmAgent(name="root", model=model, tools=[shell])
    app = App(name="bench", root_agent=root, plugins=[*plugins])
    service, numbers = InMemorySessionService(), itertools.count()
    runner = Runner(app=app, session_service=service)
    message = types.Content(role="user", parts=[types.Part(text="Go on.")])

    async def run() -> None:
        # A session for each turn, since ADK copies all of it with every event.
        given: Any = {"app_name": "bench", "user_id": "u", "session_id": str(next(numbers))}
        await service.create_session(**given)
        events = runner.run_async(user_id="u", session_id=given["session_id"], new_message=message)
        async for _event in events:
            pass
        await service.delete_session(**given)

    return Turn(run, times)
