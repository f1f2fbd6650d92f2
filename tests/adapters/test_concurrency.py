"""Fifty conversations at once on one ``Hooks``: no event comes under another's session id."""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hookline import Hooks
from tests.adapters.harnesses import HARNESSES
from tests.kit.adapters import (
    SCENARIOS,
    Call,
    Harness,
    Observed,
    Reply,
    Run,
    check_sessions,
)

TOOL_EVENTS = ("BeforeTool", "AfterTool")
TURN_EVENTS = ("BeforeAgent", "AfterAgent")
MODEL_EVENTS = ("BeforeToolSelection", "BeforeModel", "AfterModel")


def request_of(id: str) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": f"I am {id}"}]}


async def test_wrapped_functions_keep_fifty_conversations_apart() -> None:
    hooks = Hooks()

    def shell(command: str) -> str:
        time.sleep(0.001)
        return f"output of {command}"

    async def shell_async(command: str) -> str:
        await asyncio.sleep(0.001)
        return f"output of {command}"

    def talk(id: str) -> None:
        guarded = hooks.session(id).wrap(shell)
        assert [guarded(id) for _ in range(3)] == [f"output of {id}"] * 3

    async def talk_async(id: str) -> None:
        guarded = hooks.session(id).wrap(shell_async)
        results = await asyncio.gather(*(guarded(id) for _ in range(3)))
        assert results == [f"output of {id}"] * 3

    await check_sessions(hooks, TOOL_EVENTS, talk=talk, talk_async=talk_async)


async def test_a_loop_of_ones_own_keeps_fifty_conversations_apart() -> None:
    hooks = Hooks()

    def talk(id: str) -> None:
        session = hooks.session(id).sync
        session.session_start()
        session.before_agent(f"I am {id}")
        gate = session.model_gate(request_of(id))
        outcome = gate.finish({"text": f"hello {id}"})
        assert outcome.response == {"text": f"hello {id}"}
        session.run_tool(lambda text: text, {"text": id}, name="echo")
        session.after_agent(f"I am {id}", f"hello {id}")
        session.session_end()

    async def talk_async(id: str) -> None:
        session = hooks.session(id)
        await session.session_start()
        await session.before_agent(f"I am {id}")
        gate = await session.model_gate(request_of(id))
        await asyncio.sleep(0.001)
        outcome = await gate.finish({"text": f"hello {id}"})
        assert outcome.response == {"text": f"hello {id}"}
        await session.run_tool(lambda text: text, {"text": id}, name="echo")
        await session.after_agent(f"I am {id}", f"hello {id}")
        await session.session_end()

    events = [*TOOL_EVENTS, *MODEL_EVENTS, *TURN_EVENTS, "SessionStart", "SessionEnd"]
    await check_sessions(hooks, events, talk=talk, talk_async=talk_async)


@pytest.mark.parametrize(
    ("harness", "mode"),
    [
        pytest.param(harness, mode, id=f"{harness.name}-{mode}")
        for harness in HARNESSES
        for mode in harness.modes
    ],
)
async def test_every_adapter_keeps_fifty_conversations_apart(harness: Harness, mode: str) -> None:
    """Each is a turn with a tool call, and says its own id in every text."""
    hooks, runs = Hooks(), dict[str, Run]()
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(50))

    async def talk(id: str) -> None:
        runs[id] = Run(
            hooks,
            Observed(mode=mode, session_id=id),
            prompts=[f"I am {id}"],
            replies=[Reply(f"hello {id}", (Call("shell", {"command": id}),)), Reply(f"bye {id}")],
        )
        await harness.run(runs[id])

    events, many = [*events_of(harness)], harness.conversations
    await check_sessions(hooks, events, talk_async=talk, conversations=many)
    for id, run in runs.items():
        assert run.observed.inputs("shell") == [{"command": id}]
        assert f"bye {id}" in run.observed.answer


def events_of(harness: Harness) -> Iterator[str]:
    """The events of a turn that the adapter has a seam for."""
    yield from TOOL_EVENTS
    for cell, events in (("BeforeModel deny", MODEL_EVENTS), ("BeforeAgent block", TURN_EVENTS)):
        row = next(scenario.row for scenario in SCENARIOS if scenario.cell == cell)
        limit = harness.limits.get(cell) or harness.limits.get(row)
        if limit is None or limit.mark in "✓◐":
            yield from events


async def test_the_check_notices_an_event_under_another_conversations_id() -> None:
    async def talk_under(rename: Callable[[str], str]) -> None:
        hooks = Hooks()

        async def talk(id: str) -> None:
            await hooks.session(rename(id)).before_tool("shell", {"command": id})

        await check_sessions(hooks, ["BeforeTool"], talk_async=talk)

    await talk_under(lambda id: id)
    with pytest.raises(AssertionError, match="not equally often"):
        await talk_under(lambda id: f"{id[:7]}0-")
    with pytest.raises(AssertionError, match=r"of loop-\d+- has the session id loop-\d+-"):
        await talk_under(lambda id: f"loop-{(int(id[5:8]) + 1) % 50:03}-")


async def test_the_check_notices_a_conversation_without_events_and_an_id_of_none() -> None:
    hooks, ids = Hooks(), list[str]()

    async def be_silent(id: str) -> None:
        ids.append(id)

    async def say_too_much(id: str) -> None:
        await hooks.session(id).before_tool("shell", {"command": id})
        await hooks.session("nobody").before_tool("shell", {})

    with pytest.raises(AssertionError, match=r"BeforeTool fired \[0\] times"):
        await check_sessions(hooks, ["BeforeTool"], talk_async=be_silent)
    assert len(set(ids)) == 50
    with pytest.raises(AssertionError, match="'nobody', which no conversation has"):
        await check_sessions(hooks, ["BeforeTool"], talk_async=say_too_much, conversations=2)
