"""Lifecycle: each event once and in order, however the session goes."""

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from hookline import Hooks, deny
from hookline.agent import Agent, CallResult, FunctionCall, ScriptedProvider, Text, Tool
from hookline.agent.providers.scripted import call
from hookline.wire.events import HookEventName
from tests.agent.scripts import Bench, hooks, say
from tests.eleven import until

CALL = [call("note", text="one")]


def audit(*events: str) -> dict[str, Any]:
    """Hooks that append each event's name to a file."""
    settings: dict[str, Any] = {}
    for event in events or [name.value for name in HookEventName]:
        settings |= hooks(event, f"echo {event} >> audit.txt")
    return settings


def audited() -> list[str]:
    return Path("audit.txt").read_text().split()


async def test_all_eleven_events_fire_in_order() -> None:
    ask = {"type": "command", "command": say({"decision": "ask"})}
    settings = audit()
    settings["BeforeTool"].append({"hooks": [ask]})
    bench = Bench(settings, [CALL, "ok", "two"], confirm=lambda _request: True, keep_turns=1)
    async with bench.agent as agent:
        await agent.run("a")
        await agent.run("b")
        await agent.compress()
    call_model = ["BeforeToolSelection", "BeforeModel", "AfterModel"]
    assert audited() == [
        *("SessionStart", "BeforeAgent", *call_model, "BeforeTool", "Notification", "AfterTool"),
        *(*call_model, "AfterAgent", "BeforeAgent", *call_model, "AfterAgent"),
        *("PreCompress", *call_model, "SessionStart", "SessionEnd"),
    ]


async def test_the_session_ends_once_however_often_it_is_ended() -> None:
    bench = Bench(audit("SessionStart", "SessionEnd"), ["ok"])
    async with bench.agent as agent:
        await agent.start()
        await agent.end()
    await bench.agent.end()
    assert audited() == ["SessionStart", "SessionEnd"]


async def test_a_hook_that_stops_the_loop_still_lets_the_turn_and_the_session_end() -> None:
    settings = {
        **audit("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"),
        **hooks("BeforeTool", say({"continue": False, "stopReason": "enough"})),
    }
    bench = Bench(settings, [CALL])
    assert (await bench.run()).stop_reason == "enough"
    assert audited() == ["SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"]


SLOW = {"hook": hooks("BeforeTool", "touch began; sleep 30"), "tool": {}, "stream": {}}


@pytest.mark.parametrize("where", SLOW)
async def test_a_cancelled_turn_leaves_nothing_running_and_ends_the_session_once(
    where: str,
) -> None:
    began = Path("began")

    async def forever(_given: dict[str, Any]) -> str:
        began.touch()
        await asyncio.sleep(30)
        return ""

    settings = {**SLOW[where], **audit("SessionEnd")}
    replies: list[Any] = [[call("forever" if where == "tool" else "note", text="x")]]
    bench = Bench(settings, replies, tools=[Tool(name="forever", run=forever)])
    bench.provider.delay = 30 if where == "stream" else 0
    running = asyncio.create_task(bench.run())
    await until(lambda: began.exists() or (where == "stream" and bool(bench.provider.requests)))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert audited() == ["SessionEnd"]


async def test_a_confirmation_is_announced_with_what_it_is_about() -> None:
    settings = {
        **hooks("BeforeTool", say({"decision": "ask"})),
        **hooks("Notification", "cat > seen.json", matcher="ToolPermission"),
    }
    shell = Tool(name="shell", run=lambda _given: "ran", kind="exec")
    replies = [[call("shell", command="git push origin")], "ok"]
    await Bench(settings, replies, tools=[shell], confirm=lambda _request: True).run()
    seen = json.loads(Path("seen.json").read_text())
    assert seen["message"] == "Tool shell requires execution"
    assert seen["details"] == {
        "type": "exec",
        "title": "shell",
        "command": "git push origin",
        "rootCommand": "git",
    }


async def test_a_history_past_its_size_is_compressed_by_itself() -> None:
    bench = Bench(audit("PreCompress"), [], compress_above=4, keep_turns=1)
    await bench.run("a", "b", "c", "d")
    assert audited() == ["PreCompress"]
    assert "[Summary]" in bench.history[0].text


async def test_what_hooks_keep_from_the_model_is_not_in_what_it_summarizes() -> None:
    hooks = Hooks()

    @hooks.on("BeforeModel")
    def hide(event: Any) -> Any:
        shown = json.dumps(event["llm_request"]["messages"]).replace("jane@example.org", "[mail]")
        return {"hookSpecificOutput": {"llm_request": {"messages": json.loads(shown)}}}

    @hooks.on("AfterModel")
    def shout(event: Any) -> Any:
        text = event["llm_response"]["text"].upper()
        return {"hookSpecificOutput": {"llm_response": {"text": text}}}

    provider = ScriptedProvider(["ok", "ok", "the gist"])
    async with Agent(hooks, provider, keep_turns=1) as agent:
        await agent.run("I am jane@example.org")
        await agent.run("go on")
        await agent.compress()
    assert len(provider.requests) == 3
    assert "jane@example.org" not in repr(provider.requests)
    assert agent.chat.history[0].text == "[Summary] THE GIST"


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
async def test_a_conversation_that_hooks_do_not_let_the_model_summarize_stays_as_it_is(
    event: Literal["BeforeModel", "AfterModel"], caplog: pytest.LogCaptureFixture
) -> None:
    hooks, asked = Hooks(), []

    def summarize(turns: Any) -> str:
        asked.append(turns)
        return "the gist"

    provider = ScriptedProvider(["ok", "ok"], summary=summarize)
    async with Agent(hooks, provider, keep_turns=1) as agent:
        await agent.run("the ledger")
        await agent.run("go on")
        before = list(agent.chat.history)
        hooks.on(event)(lambda _event: deny("the ledger is not for models"))
        await agent.compress()
    assert len(asked) == (event == "AfterModel")
    assert agent.chat.history == before
    assert "do not let the model summarize the conversation: the ledger is not" in caplog.text


async def test_an_ask_cannot_weaken_a_deny() -> None:
    answers = say({"decision": "deny", "reason": "no"}), say({"decision": "ask"})
    bench = Bench(hooks("BeforeTool", *answers), [CALL, "ok"], confirm=lambda _request: True)
    await bench.run()
    assert bench.notes == []


async def test_a_turn_after_a_stopped_one_answers_the_calls_that_were_left_open() -> None:
    stop = say({"continue": False, "stopReason": "enough"})
    bench = Bench(hooks("AfterModel", stop), [CALL, "ok"])
    async with bench.agent as agent:
        await agent.run("one")
        await agent.run("two")
    contents = bench.provider.requests[1]["contents"]
    assert "functionCall" in contents[1]["parts"][0]
    answer = contents[2]["parts"][0]["functionResponse"]
    assert answer == {"name": "note", "response": {"error": "This call was not carried out."}}


async def test_a_system_message_never_stands_between_a_call_and_its_answer() -> None:
    bench = Bench(hooks("AfterModel", say({"systemMessage": "note"})), [CALL, "ok"])
    await bench.run()
    kinds = [type(part) for turn in bench.history for part in turn.parts]
    assert kinds == [Text, FunctionCall, CallResult, Text, Text]
    assert [turn.role for turn in bench.history] == ["user", "model", "user", "system", "model"]


async def test_a_session_cancelled_while_it_starts_still_ends() -> None:
    slow = hooks("SessionStart", "touch began; sleep 30")
    bench = Bench({**slow, **audit("SessionEnd")}, [])
    running = asyncio.create_task(bench.run())
    await until(Path("began").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert audited() == ["SessionEnd"]
