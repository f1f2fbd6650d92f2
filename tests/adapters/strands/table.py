"""Strands' agents in the table, with a scripted model."""

import asyncio
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace
from strands import Agent
from strands.agent.conversation_manager import SummarizingConversationManager
from strands.session.file_session_manager import FileSessionManager
from strands.tools.tools import PythonAgentTool
from strands.types.exceptions import ContextWindowOverflowException

from hookline.adapters.strands import HooklinePlugin
from tests.adapters.strands.models import ScriptedModel, Sent, read_message
from tests.kit.adapters import DELEGATE, HELPER, Harness, Limit, Reply, Run, Tool


async def run(run: Run) -> None:
    plugin = HooklinePlugin(run.hooks)
    tools = [_make_tool(tool, is_async=run.mode != "sync") for tool in run.tools]
    if run.delegates:
        # Without the plugin: it finds the agents that an agent has as tools.
        helper = Agent(_make_model(run), tools=tools, name=HELPER, callback_handler=None)
        tools = [*tools, helper.as_tool(name=DELEGATE)]
    with TemporaryDirectory() as folder:
        agent = Agent(
            _make_model(run),
            tools=tools,
            plugins=[plugin],
            callback_handler=None,
            conversation_manager=SummarizingConversationManager(
                preserve_recent_messages=1,
                summarization_agent=Agent(
                    ScriptedModel(lambda _sent: Reply("A summary.")), callback_handler=None
                ),
            ),
            session_manager=FileSessionManager(run.session_id, storage_dir=folder),
        )
        with plugin:
            for prompt in run.prompts:
                await _talk(run, agent, prompt)


async def _talk(run: Run, agent: Agent, prompt: Any) -> None:
    while prompt is not None:
        before = len(agent.messages)
        result = await _invoke(run, agent, prompt)
        if not run.streams:
            for message in agent.messages[before:]:
                if message["role"] == "assistant":
                    run.show(read_message(message))
        asked = result.interrupts or () if result.stop_reason == "interrupt" else ()
        prompt = [_decide(run, each) for each in asked] or None
    run.finish(str(result).removesuffix("\n"))


def _decide(run: Run, question: Any) -> Any:
    answer = run.approve(str(question.reason))
    return {"interruptResponse": {"interruptId": question.id, "response": answer}}


async def _invoke(run: Run, agent: Agent, prompt: Any) -> Any:
    if run.mode == "sync":
        return await asyncio.to_thread(agent, prompt)
    if run.mode == "async":
        return await agent.invoke_async(prompt)
    async for event in agent.stream_async(prompt):
        if "data" in event:
            run.show(event["data"])
        elif "event" in event:
            delta = event["event"].get("contentBlockDelta", {}).get("delta", {})
            if "text" in delta:
                run.show(f"in a chunk: {delta['text']}")
        elif "message" in event and event["message"]["role"] == "assistant":
            run.show(f"in a message: {read_message(event['message'])}")
        elif "result" in event:
            result = event["result"]
    return result


def _make_tool(tool: Tool, *, is_async: bool) -> Any:
    async def run_async(tool_use: Any, **_state: Any) -> Any:
        return _make_result(tool_use, await tool.coroutine(**tool_use["input"]))

    def run_sync(tool_use: Any, **_state: Any) -> Any:
        return _make_result(tool_use, tool.function(**tool_use["input"]))

    spec: Any = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": tool.schema},
    }
    return PythonAgentTool(tool.name, spec, run_async if is_async else run_sync)


def _make_result(tool_use: Any, text: str) -> Any:
    return {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": text}]}


def _make_model(run: Run) -> ScriptedModel:
    has_overflown = False

    def reply(sent: Sent) -> Reply:
        nonlocal has_overflown
        if run.compresses and len(sent.messages) > 4 and not has_overflown:
            has_overflown = True
            raise ContextWindowOverflowException("too long")
        said = run.next_reply(sent.read(), sent.tools)
        # Strands' own name for the prompt of an agent that is a tool.
        calls = [
            replace(call, args={"input": call.args["task"]}) if call.name == DELEGATE else call
            for call in said.calls
        ]
        return replace(said, calls=tuple(calls))

    return ScriptedModel(reply)


HARNESS = Harness(
    name="strands",
    title="Strands 1.62",
    modes=("sync", "async", "async stream"),
    limits={
        "ask": Limit("✓", note="interrupt"),
        "SessionStart": Limit("◐", note="first use", why="Strands does not say that a chat begins"),
        "SessionEnd": Limit("◐", note="close()", why="Strands does not say that a chat is over"),
    },
    run=run,
    delegates=True,
)
