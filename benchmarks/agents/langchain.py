"""The agent in LangChain."""

import time
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import tool

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks
from hookline.adapters.langchain import HooklineMiddleware

TITLE = "LangChain"
IDLE = "a middleware that does nothing"


class _Scripted(BaseChatModel):
    times: list[float]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_args: Any, **_options: Any) -> Runnable[Any, AIMessage]:
        return self

    def _generate(self, *_args: Any, **_options: Any) -> ChatResult:
        self.times.append(time.perf_counter())
        message = AIMessage("All is done.")
        if len(self.times) % (ROUNDS + 1):
            id = f"call-{len(self.times)}"
            call = {"name": "shell", "args": {"command": "ls"}, "id": id}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, *args: Any, **options: Any) -> ChatResult:
        return self._generate(*args, **options)


@tool
async def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


class _Idle(AgentMiddleware[Any, Any, Any]):
    async def abefore_agent(self, *_args: Any) -> None:
        return None

    async def aafter_agent(self, *_args: Any) -> None:
        return None

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


def make_turn(hooks: Hooks | None) -> Turn:
    return _make_turn([] if hooks is None else [HooklineMiddleware(hooks)])


def make_idle_turn() -> Turn:
    return _make_turn([_Idle()])


def _make_turn(middleware: Sequence[AgentMiddleware[Any, Any, Any]]) -> Turn:
    model = _Scripted(times=[])
    agent = create_agent(model, [shell], middleware=middleware)
    asked: Any = {"messages": [{"role": "user", "content": "Go on."}]}
    return Turn(lambda: agent.ainvoke(asked), model.times)
