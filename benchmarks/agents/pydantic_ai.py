"""The agent in Pydantic AI."""

import time
from collections.abc import Sequence
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks
from hookline.adapters.pydantic_ai import HooklineCapability

TITLE = "Pydantic AI"
IDLE = "a capability that does nothing"


class _Idle(AbstractCapability[None]):
    async def wrap_run(self, *_args: Any, handler: Any) -> Any:
        return await handler()

    async def before_tool_validate(self, *_args: Any, args: Any, **_options: Any) -> Any:
        return args

    async def wrap_tool_execute(self, *_args: Any, args: Any, handler: Any, **_options: Any) -> Any:
        return await handler(args)

    def get_wrapper_model(self, model: Model) -> Model:
        return WrapperModel(model)


def make_turn(hooks: Hooks | None) -> Turn:
    return _make_turn([] if hooks is None else [HooklineCapability(hooks)])


def make_idle_turn() -> Turn:
    return _make_turn([_Idle()])


def _make_turn(capabilities: Sequence[AbstractCapability[None]]) -> Turn:
    times: list[float] = []

    def reply(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        times.append(time.perf_counter())
        if len(times) % (ROUNDS + 1):
            return ModelResponse([ToolCallPart("shell", {"command": "ls"}, f"call-{len(times)}")])
        return ModelResponse([TextPart("All is done.")])

    agent: Agent[None, str] = Agent(FunctionModel(reply), capabilities=capabilities)

    @agent.tool_plain
    async def shell(command: str) -> str:
        return f"ran {command}"

    return Turn(lambda: agent.run("Go on."), times)
