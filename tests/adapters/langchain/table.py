"""LangChain's agents in the table, with a scripted chat model."""

import asyncio
from collections.abc import Iterable
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from hookline.adapters.langchain import HookedSummarization, HooklineMiddleware
from tests.adapters.langchain.models import ScriptedModel
from tests.kit.adapters import DELEGATE, HELPER, Harness, Limit, Message, Run

_ROLES = {"human": "user", "ai": "model", "system": "system", "tool": "tool"}


async def run(run: Run) -> None:
    hooks = HooklineMiddleware(run.hooks)
    middleware: list[Any] = [hooks]
    if run.compresses:
        middleware.append(
            HookedSummarization(
                _make_model(run),
                hooks=hooks,
                trigger=("messages", 5),
                keep=("messages", 1),
                summarizer=lambda messages: f"{len(messages)} messages",
            )
        )
    tools = [
        StructuredTool.from_function(
            tool.function, tool.coroutine, name=tool.name, description=tool.description
        )
        for tool in run.tools
    ]
    if run.delegates:
        helper = create_agent(_make_model(run), tools, middleware=[hooks], name=HELPER)
        tools = [*tools, _make_delegate(helper)]
    agent = create_agent(
        _make_model(run), tools, middleware=middleware, checkpointer=InMemorySaver()
    )
    with hooks:
        for prompt in run.prompts:
            await _talk(run, agent, {"messages": [HumanMessage(prompt)]})


def _make_delegate(helper: Any) -> StructuredTool:
    def delegate(task: str) -> str:
        """Run the helper."""
        return str(helper.invoke({"messages": [HumanMessage(task)]})["messages"][-1].text)

    async def delegate_async(task: str) -> str:
        """Run the helper."""
        state = await helper.ainvoke({"messages": [HumanMessage(task)]})
        return str(state["messages"][-1].text)

    return StructuredTool.from_function(delegate, delegate_async, name=DELEGATE)


async def _talk(run: Run, agent: Any, given: Any) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": run.session_id}}
    while given is not None:
        state = await _invoke(run, agent, given, config)
        asked = state.get("__interrupt__", ())
        given = Command(resume={i.id: _decide(run, i.value) for i in asked}) if asked else None
    run.finish(str(state["messages"][-1].text))


def _decide(run: Run, question: Any) -> Any:
    said = "; ".join(
        f"{r['name']} {r['args']}: {r['description']}" for r in question["action_requests"]
    )
    return {"decisions": [{"type": "approve" if run.approve(said) else "reject"}]}


async def _invoke(run: Run, agent: Any, given: Any, config: RunnableConfig) -> dict[str, Any]:
    if run.mode == "sync":
        return _show(run, await asyncio.to_thread(agent.invoke, given, config))
    if run.mode == "async":
        return _show(run, await agent.ainvoke(given, config))
    if run.mode == "events stream":
        async for event in agent.astream_events(given, config, version="v2"):
            _show_event(run, event)
        return await _read_state(agent, config)
    if run.mode == "async stream":
        async for message, _ in agent.astream(given, config, stream_mode="messages"):
            _show_message(run, message)
        return await _read_state(agent, config)

    def stream() -> None:
        modes: Any = ["messages", "updates", "values"]
        for mode, part in agent.stream(given, config, stream_mode=modes):
            if mode == "messages":
                _show_message(run, part[0])
            else:
                _show_state(run, part)

    await asyncio.to_thread(stream)
    return await _read_state(agent, config)


async def _read_state(agent: Any, config: RunnableConfig) -> dict[str, Any]:
    state = await agent.aget_state(config)
    return {**state.values, "__interrupt__": state.interrupts}


def _show(run: Run, state: dict[str, Any]) -> dict[str, Any]:
    for message in state["messages"]:
        _show_message(run, message)
    return state


def _show_message(run: Run, message: BaseMessage, told: str = "") -> None:
    if isinstance(message, AIMessage) and message.text:
        run.show(f"{told}{message.text}")


def _show_state(run: Run, part: Any) -> None:
    """What a program sees of a state beside the stream of the model's texts."""
    for message in _messages_in(part):
        _show_message(run, message, "in the state: ")


def _show_event(run: Run, event: Any) -> None:
    if event["event"] == "on_chat_model_stream":
        _show_message(run, event["data"]["chunk"])
    else:
        _show_state(run, [event["data"].get("chunk"), event["data"].get("output")])


def _messages_in(part: Any) -> Iterable[BaseMessage]:
    if isinstance(part, BaseMessage):
        yield part
    elif isinstance(part, dict):
        for value in part.values():
            yield from _messages_in(value)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from _messages_in(value)
    elif isinstance(part, Command):
        yield from _messages_in(part.update)


def _make_model(run: Run) -> ScriptedModel:
    def reply(messages: list[BaseMessage], tools: list[str]) -> AIMessage:
        sent = [Message(_ROLES[message.type], str(message.text)) for message in messages]
        said = run.next_reply(sent, tools)
        calls = [ToolCall(name=call.name, args=call.args, id=call.id) for call in said.calls]
        return AIMessage(said.text, tool_calls=calls)

    return ScriptedModel(reply=reply)


HARNESS = Harness(
    name="langchain",
    title="LangChain 1.4",
    modes=("sync", "async", "sync stream", "async stream", "events stream"),
    limits={
        "ask": Limit("✓", note="interrupt"),
        "SessionStart": Limit(
            "◐", note="first use", why="LangChain does not say that a chat begins"
        ),
        "SessionEnd": Limit("◐", note="close()", why="LangChain does not say that a chat is over"),
    },
    run=run,
    delegates=True,
)
