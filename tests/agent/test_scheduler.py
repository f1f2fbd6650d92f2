"""The tool calls of one turn: at once, in order, and nothing left when they are cancelled."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hookline import Config
from hookline.agent import CallStatus, FunctionCall, ScheduledCall, Tool, ToolScheduler
from hookline.contract import ToolResult
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
async def test_cancelling_ends_tools_and_hooks_and_every_call_is_idle_again(where: str) -> None:
    seen: dict[str, list[CallStatus]] = {}
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
    scheduler = ToolScheduler(
        Config(hooks=settings),
        {"wait": Tool(name="wait", run=waits)},
        on_status=lambda call, status: seen.setdefault(str(call.id), []).append(status),
        publish=lambda done: pytest.fail(f"{done} was published"),
    )
    calls = [FunctionCall("wait", {}, id="a"), FunctionCall("wait", {}, id="b")]
    running = asyncio.create_task(scheduler.run(calls))
    await until(lambda: len([*started, *Path.cwd().glob("started-*")]) == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ended == (["tool", "tool"] if where == "tool" else [])
    assert seen == {call_id: [*CallStatus] for call_id in "ab"}


async def test_a_result_waits_for_those_before_it_and_no_longer() -> None:
    published: list[str] = []
    may_end = {name: asyncio.Event() for name in "abc"}

    async def wait(given: dict[str, Any]) -> str:
        await may_end[given["name"]].wait()
        return str(given["name"])

    scheduler = ToolScheduler(
        Config(),
        {"wait": Tool(name="wait", run=wait)},
        publish=lambda done: published.append(str(done.result.llm_content)),
    )
    asked = [FunctionCall("wait", {"name": name}) for name in "abc"]
    running = asyncio.create_task(scheduler.run(asked))
    for ended, seen in (("b", []), ("a", ["a", "b"]), ("c", ["a", "b", "c"])):
        may_end[ended].set()
        # Longer than it takes to run a call without hooks, however late the loop comes to it.
        for _ in range(100):
            await asyncio.sleep(0)
        assert published == seen
    assert len(await running) == 3


async def test_no_calls_have_no_results() -> None:
    assert await ToolScheduler(Config(), SLEEP).run([]) == []


async def test_all_calls_are_scheduled_before_the_first_is_executed() -> None:
    seen: list[tuple[Any, CallStatus]] = []
    scheduler = ToolScheduler(
        Config(), SLEEP, on_status=lambda call, status: seen.append((call.id, status))
    )
    await scheduler.run([FunctionCall("sleep", {"seconds": 0}, id=id) for id in "ab"])
    assert seen[:2] == [("a", CallStatus.SCHEDULED), ("b", CallStatus.SCHEDULED)]


async def test_a_tool_that_does_not_exist_is_answered_and_fires_no_hook() -> None:
    config = Config(hooks=hooks("BeforeTool", "touch fired"))
    [done] = await ToolScheduler(config, SLEEP).run([FunctionCall("nap", {})])
    assert done.result.llm_content == "There is no tool named nap."
    assert done.result.error is not None
    assert done.result.error.type == "unknown_tool"
    assert not Path("fired").exists()


@pytest.mark.parametrize("allowed", [None, {"sleep"}])
async def test_what_tool_selection_left_is_executed(allowed: set[str] | None) -> None:
    [done] = await ToolScheduler(Config(), SLEEP).run(calls(0), allowed=allowed)
    assert done.result.error is None


async def test_a_tool_that_hooks_call_after_it_and_that_does_not_exist_is_told_to_the_model() -> (
    None
):
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "nap", "args": {}}}}
    config = Config(hooks=hooks("AfterTool", say(tail), matcher="sleep"))
    [done] = await ToolScheduler(config, SLEEP).run(calls(0))
    assert "There is no tool named nap." in str(done.result.llm_content)


async def test_a_tool_that_hooks_call_after_it_and_that_raises_is_told_to_the_model() -> None:
    def broken(_given: dict[str, Any]) -> str:
        raise OSError("disk full")

    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "broken", "args": {}}}}
    config = Config(hooks=hooks("AfterTool", say(tail), matcher="sleep"))
    tools = {**SLEEP, "broken": Tool(name="broken", run=broken)}
    [done] = await ToolScheduler(config, tools).run(calls(0))
    assert done.result.llm_content == "sleep failed: OSError: disk full"
    assert done.result.error is not None
    assert done.result.error.type == "tool_failed"


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (ToolResult("read"), "read"),
        (ToolResult("read", return_display="seen"), "seen"),
        (ToolResult("read", return_display=""), ""),
        (ToolResult("read", return_display="seen", suppress_display=True), None),
    ],
)
def test_a_user_is_shown_what_is_meant_for_the_display_and_else_what_the_model_reads(
    result: ToolResult, shown: Any
) -> None:
    assert ScheduledCall(FunctionCall("sleep", {}), result).display == shown
