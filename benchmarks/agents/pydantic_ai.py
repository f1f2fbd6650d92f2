"""The agent in Pydantic AI."""

import time

from hookline.adapters.pydantic_ai import HooklineCapability
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks

TITLE = "Pydantic AI"


def make_turn(hooks: Hooks | None) -> Turn:
    times: list[float] = []

    def reply(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        times.append(time.perf_counter())
        if len(times) % (ROUNDS + 1):
            return ModelResponse([ToolCallPart("shell", {"command": "ls"}, f"call-{len(times)}")])
        return ModelResponse([TextPart("All is done.")])

    capabilities: list[AbstractCapability[None]] = (
        [] if hooks is None else [HooklineCapability(hooks)]
    )
    agent: Agent[None, str] = Agent(FunctionModel(reply), capabilities=capabilities)

    @agent.tool_plain
    async def shell(command: str) -> str:
        return f"ran {command}"

    return Turn(lambda: agent.run("Go on."), times)
