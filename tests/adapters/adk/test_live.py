"""Live runs: hooks guard the tools, and say that they see nothing else."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.run_config import RunConfig
from google.adk.events.event import Event
from google.adk.models.base_llm_connection import BaseLlmConnection
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from hookline import Hooks, ask, deny, replace_result, rewrite, stop
from hookline.adapters.adk import HooklinePlugin
from tests.adapters.adk.models import Chat, Script, Shell, agent, call, results, texts


class Connection(BaseLlmConnection):
    """Calls a tool, and says something once it has the result."""

    def __init__(self) -> None:
        self.results: asyncio.Queue[types.Content | None] = asyncio.Queue()
        self.commands = ["ls", "date"]

    async def send_history(self, history: list[types.Content]) -> None:
        pass

    async def send_content(self, content: types.Content) -> None:
        if any(part.function_response for part in content.parts or []):
            self.results.put_nowait(content)

    async def send_realtime(self, blob: Any) -> None:
        pass

    async def receive(self) -> AsyncGenerator[LlmResponse, None]:
        if not self.commands:
            return
        while self.commands:
            command = self.commands.pop(0)
            content = types.Content(role="model", parts=[call("shell", command, command=command)])
            yield LlmResponse(content=content)
            if await self.results.get() is None:
                self.commands.clear()
                return
        said = types.Content(role="model", parts=[types.Part(text="Done.")])
        yield LlmResponse(content=said, turn_complete=True)

    async def close(self) -> None:
        self.results.put_nowait(None)


class Live(Script):
    @asynccontextmanager
    async def connect(self, llm_request: LlmRequest) -> AsyncGenerator[BaseLlmConnection, None]:  # noqa: ARG002
        yield Connection()


async def talk(hooks: Hooks, shell: Shell) -> list[Event]:
    chat = Chat(agent(Live(), shell.tool), HooklinePlugin(hooks))
    await chat.service.create_session(app_name="app", user_id="user", session_id="chat")
    queue = LiveRequestQueue()
    queue.send_content(types.Content(role="user", parts=[types.Part(text="Go on.")]))
    events: list[Event] = []
    async with asyncio.timeout(20):
        async for event in chat.runner.run_live(
            user_id="user", session_id="chat", live_request_queue=queue
        ):
            events.append(event)
            if event.turn_complete:
                queue.close()
    return events


async def test_tools_of_a_live_run_are_guarded() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(
        lambda event: (
            deny("never") if event["tool_input"]["command"] == "date" else rewrite(command="ls -l")
        )
    )
    hooks.on("AfterTool")(lambda _: replace_result("[removed]"))
    events = await talk(hooks, shell)
    assert shell.ran == ["ls -l"]
    assert results(events) == [{"result": "[removed]"}, {"error": "never"}]
    assert texts(events) == ["Done."]


async def test_a_stop_ends_a_live_run() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: stop("enough for today"))
    events = await talk(hooks, shell)
    assert shell.ran == []
    assert results(events)[0] == {"error": "enough for today"}
    assert texts(events) == []


async def test_nobody_can_be_asked_in_a_live_run() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeTool")(lambda _: ask("really?"))
    events = await talk(hooks, shell)
    assert shell.ran == []
    assert results(events)[0] == {"error": "really? (nobody can be asked to confirm it)"}


@pytest.mark.parametrize("strict", [False, True])
async def test_what_hooks_do_not_see_of_a_live_run_is_warned_of_and_refused_in_strict_mode(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks, shell = Hooks(strict=strict), Shell()
    hooks.on("AfterModel")(lambda _: None)
    events = await talk(hooks, shell)
    assert "hooks see only the tool calls of a live run" in caplog.text
    assert shell.ran == ([] if strict else ["ls", "date"])
    assert (texts(events) == ["Done."]) is not strict


async def test_a_live_connection_of_a_run_that_is_not_live_is_warned_of_and_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks(strict=True)
    hooks.on("BeforeModel")(lambda _: None)
    chat = Chat(agent(Live(model="gemini-2.5-flash")), HooklinePlugin(hooks))
    chat.config = RunConfig(support_cfc=True)
    [said] = texts(await chat.say("Hi"))
    assert "hooks cannot change model requests with support_cfc=True" in said
    assert said in caplog.text
