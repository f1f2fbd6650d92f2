"""The agent in OpenAI's Agents SDK."""

import time
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    Tool,
    Usage,
    function_tool,
)
from agents.testing import assistant_message, function_call

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks
from hookline.adapters.openai_agents import hooked

TITLE = "OpenAI Agents"
IDLE = "a model wrapper that does nothing"


class _Scripted(Model):
    def __init__(self) -> None:
        self.times: list[float] = []

    async def get_response(self, *_args: Any, **_options: Any) -> ModelResponse:
        self.times.append(time.perf_counter())
        output: Any = assistant_message("All is done.")
        if len(self.times) % (ROUNDS + 1):
            output = function_call("shell", {"command": "ls"}, call_id=f"call-{len(self.times)}")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_args: Any, **_options: Any) -> Any:
        raise NotImplementedError


class _Passing(Model):
    def __init__(self, model: Model) -> None:
        self._model = model

    async def get_response(self, *args: Any, **options: Any) -> ModelResponse:
        return await self._model.get_response(*args, **options)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        return self._model.stream_response(*args, **options)


class _Idle(Agent[Any]):
    async def get_all_tools(self, run_context: Any) -> list[Tool]:
        return [*await super().get_all_tools(run_context)]


@function_tool
async def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def make_turn(hooks: Hooks | None) -> Turn:
    model = _Scripted()
    agent: Agent[Any] = Agent(name="clerk", model=model, tools=[shell])
    return _make_turn(agent if hooks is None else hooked(agent, hooks), model)


def make_idle_turn() -> Turn:
    model = _Scripted()
    return _make_turn(_Idle(name="clerk", model=_Passing(model), tools=[shell]), model)


def _make_turn(agent: Agent[Any], model: _Scripted) -> Turn:
    config = RunConfig(tracing_disabled=True)
    return Turn(lambda: Runner.run(agent, "Go on.", run_config=config, max_turns=99), model.times)
