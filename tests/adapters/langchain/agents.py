"""Agents for tests, each run in the four ways in which people run one."""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from hookline.adapters.langchain import HooklineMiddleware
from hookline.hooks import Hooks
from tests.adapters.langchain.models import Recorded

Way = Literal["sync", "async", "stream", "astream"]
every_way = pytest.mark.parametrize("way", ["sync", "async", "stream", "astream"])


@tool
def shell(command: str) -> str:
    """Run a command."""
    RAN.append(command)
    if command == "fill":
        raise OSError("the disk is full")
    return f"output of {command}"


@tool
def mail(to: str, text: str = "hello") -> str:
    """Send a mail."""
    RAN.append(f"mail {to}: {text}")
    return f"sent to {to}"


RAN: list[str] = []


def make_agent(
    hooks: Hooks,
    script: Recorded,
    *,
    tools: Sequence[Any] = (shell, mail),
    saver: Any = None,
    confirm: Any = None,
    **options: Any,
) -> Any:
    """An agent with hooks, a checkpointer and two tools; the list of what ran starts anew."""
    RAN.clear()
    middleware = [HooklineMiddleware(hooks, confirm=confirm), *options.pop("after", ())]
    return create_agent(
        script.model,
        [*tools],
        middleware=middleware,
        checkpointer=InMemorySaver() if saver is None else saver or None,
        **options,
    )


async def talk(
    agent: Any, given: Any, way: Way = "sync", thread: str = "chat-1", **config: Any
) -> dict[str, Any]:
    """One turn; a text is the user's. The state after it, with its interrupts."""
    if isinstance(given, str):
        given = {"messages": [("user", given)]}
    settings = {"configurable": {"thread_id": thread}, **config}
    states: list[dict[str, Any]]
    if way == "sync":
        states = [await asyncio.to_thread(agent.invoke, given, settings)]
    elif way == "async":
        states = [await agent.ainvoke(given, settings)]
    elif way == "astream":
        states = [s async for s in agent.astream(given, settings, stream_mode="values")]
    else:
        states = await asyncio.to_thread(
            lambda: [*agent.stream(given, settings, stream_mode="values")]
        )
    asked = [question for state in states for question in state.get("__interrupt__", ())]
    last = {name: value for state in states for name, value in state.items()}
    return {**last, "__interrupt__": asked}


def results(state: dict[str, Any]) -> list[ToolMessage]:
    """The results of tools in a state."""
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


def answer(state: dict[str, Any]) -> str:
    """The text of the last message, which is the agent's."""
    last: BaseMessage = state["messages"][-1]
    assert isinstance(last, AIMessage)
    return str(last.text)
