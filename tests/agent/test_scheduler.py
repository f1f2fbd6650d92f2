"""The tool calls of one turn: at once, in order, and nothing left when they are cancelled."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.agent import CallStatus, FunctionCall, ScheduledCall, Tool, ToolScheduler
from hookline.triggers import ToolResult
from tests.agent.scripts import hooks, say
from tests.eleven import until


async def _sleepy(given: dict[str, Any]) -> str:
    await asyncio.sleep(given["seconds"])
    return f"slept {given['seconds']}"


SLEEP = {"sleep": Tool(name="sleep", run=_sleepy)}


def calls(*seconds: float) -> list[FunctionCall]:
    return [FunctionCall("sleep", {"seconds": each}) for each in seconds]


async def test_calls_run_at_once_and_are_published_in_call_order() -> None:
    published: list[ScheduledCall] = []
    scheduler = ToolScheduler(Config(), SLEEP, publish=published.append)
    async with asyncio.timeout(5):
        done = await scheduler.run(calls(0.3, 0.0, 0.2))
    assert [each.result.llm_content for each in done] == ["slept 0.3", "slept 0.0", "slept 0.2"]
    assert published == done


async def test_a_call_goes_from_scheduled_over_executing_to_idle() -> None:
    seen: list[CallStatus] = []
    scheduler = ToolScheduler(Config(), SLEEP, on_status=lambda _call, status: seen.append(status))
    await scheduler.run(calls(0))
    assert seen == [CallStatus.SCHEDULED, CallStatus.EXECUTING, CallStatus.IDLE]


async def test_a_blocked_call_is_completed_and_published() -> None:
    seen: list[CallStatus] = []
    config = Config(hooks=hooks("BeforeTool", say({"decision": "block", "reason": "no"})))
    scheduler = ToolScheduler(config, SLEEP, on_status=lambda _call, status: seen.append(status))
    [done] = await scheduler.run(calls(0))
    assert done.result.llm_content == "no"
    assert done.result.error is not None
    assert done.result.error.type == "blocked_by_hook"
    assert seen[-1] is CallStatus.IDLE


async def test_a_tool_that_raises_tells_the_model_and_spares_the_others() -> None:
    def broken(_given: dict[str, Any]) -> str:
        raise OSError("disk full")

    tools = {**SLEEP, "broken": Tool(name="broken", run=broken)}
    done = await ToolScheduler(Config(), tools).run([FunctionCall("broken", {}), *calls(0)])
    assert [each.result.llm_content for each in done] == [
        "broken failed: OSError: disk full",
        "slept 0",
    ]


@pytest.mark.parametrize(
    ("said", "read", "stop"),
    [
        (
            {"hookSpecificOutput": {"additionalContext": "so"}},
            "broken failed: OSError: full\n\nso",
            None,
        ),
        ({"decision": "deny", "reason": "hidden"}, "hidden", None),
        ({"continue": False, "stopReason": "enough"}, "enough", "enough"),
    ],
)
async def test_what_hooks_say_of_a_tool_that_raised_counts(
    said: dict[str, Any], read: str, stop: str | None
) -> None:
    def broken(_given: dict[str, Any]) -> str:
        raise OSError("full")

    config = Config(hooks=hooks("AfterTool", say(said)))
    tools = {"broken": Tool(name="broken", run=broken)}
    [done] = await ToolScheduler(config, tools).run([FunctionCall("broken", {})])
    assert done.result.llm_content == read
    assert done.result.stop_reason == stop
    assert ("full" in repr(done)) == ("full" in read)


async def test_what_tool_selection_left_out_is_not_executed() -> None:
    [done] = await ToolScheduler(Config(), SLEEP).run(calls(0), allowed={"other"})
    assert done.result.error is not None
    assert "not allowed" in str(done.result.llm_content)


async def test_parts_are_kept_and_text_is_added_as_one_more() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    tools = {"draw": Tool(name="draw", run=lambda _given: ToolResult([{"text": "a cat"}, image]))}
    config = Config(hooks=hooks("AfterTool", say({"systemMessage": "look"})))
    [done] = await ToolScheduler(config, tools).run([FunctionCall("draw", {})])
    assert done.result.llm_content == [{"text": "a cat"}, image, {"text": "[System] look"}]


@pytest.mark.parametrize("where", ["tool", "hook"])
async def test_cancelling_ends_tools_and_hooks(where: str) -> None:
    started: list[str] = []
    ended: list[str] = []

    async def waits(_given: dict[str, Any]) -> str:
        started.append("tool")
        try:
            await asyncio.sleep(30)
        finally:
            ended.append("tool")
        return ""

    settings = hooks("BeforeTool", "touch started-$$; sleep 30") if where == "hook" else {}
    tools = {"wait": Tool(name="wait", run=waits)}
    statuses: dict[str, CallStatus] = {}
    scheduler = ToolScheduler(
        Config(hooks=settings),
        tools,
        on_status=lambda call, status: statuses.update({call.id or "": status}),
    )
    both = [FunctionCall("wait", {}, id=id) for id in ("one", "two")]
    running = asyncio.create_task(scheduler.run(both))
    await until(lambda: len([*started, *Path.cwd().glob("started-*")]) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == (["tool", "tool"] if where == "tool" else [])
    assert statuses == {"one": CallStatus.IDLE, "two": CallStatus.IDLE}
