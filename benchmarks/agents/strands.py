"""The agent in Strands."""

import json
import time
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent, tool
from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent
from strands.middleware import ExecuteToolStage, InvokeModelStage
from strands.models import Model
from strands.plugins import Plugin

from benchmarks.adapters import ROUNDS, Turn
from hookline import Hooks
from hookline.adapters.strands import HooklinePlugin

TITLE = "Strands"
IDLE = "a plugin that does nothing"


class _Scripted(Model):
    def __init__(self) -> None:
        self.times: list[float] = []

    async def stream(self, *_args: Any, **_options: Any) -> AsyncIterator[Any]:
        self.times.append(time.perf_counter())
        has_call = bool(len(self.times) % (ROUNDS + 1))
        yield {"messageStart": {"role": "assistant"}}
        if has_call:
            call = {"name": "shell", "toolUseId": f"call-{len(self.times)}"}
            yield {"contentBlockStart": {"start": {"toolUse": call}}}
            given = json.dumps({"command": "ls"})
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": given}}}}
        else:
            yield {"contentBlockDelta": {"delta": {"text": "All is done."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use" if has_call else "end_turn"}}

    def structured_output(self, *_args: Any, **_options: Any) -> Any:
        raise NotImplementedError

    def update_config(self, **_config: Any) -> None:
        return None

    def get_config(self) -> Any:
        return {}


@tool
async def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


class _Idle(Plugin):
    name = "idle"

    def init_agent(self, agent: Agent) -> None:
        agent.add_hook(self._hear, BeforeInvocationEvent)
        agent.add_hook(self._hear, AfterInvocationEvent)
        agent.add_middleware(InvokeModelStage, self._pass)
        agent.add_middleware(ExecuteToolStage, self._pass)

    async def _hear(self, event: Any) -> None:
        del event

    async def _pass(self, context: Any, next_fn: Any) -> Any:
        async for event in next_fn(context):
            yield event


def make_turn(hooks: Hooks | None) -> Turn:
    return _make_turn([] if hooks is None else [HooklinePlugin(hooks)])


def make_idle_turn() -> Turn:
    return _make_turn([_Idle()])


def _make_turn(plugins: list[Plugin]) -> Turn:
    model = _Scripted()
    agent = Agent(model, tools=[shell], plugins=plugins, callback_handler=None)

    async def run() -> None:
        agent.messages.clear()
        await agent.invoke_async("Go on.")

    return Turn(run, model.times)
