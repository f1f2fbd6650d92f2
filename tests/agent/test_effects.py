"""Every cell of the table of effects: a real script does it, and the agent behaves differently."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.agent.providers.scripted import call
from hookline.contract import ConfirmationRequest
from tests.agent.scripts import Bench, hooks, say, specific

CALL = [call("note", text="one")]
DENY = say({"decision": "deny", "reason": "not so"})
STOP = say({"continue": False, "stopReason": "enough"})


async def test_before_tool_block_keeps_the_tool_from_running_and_tells_the_model_why() -> None:
    bench = Bench(hooks("BeforeTool", DENY), [CALL, "ok"])
    result = await bench.run()
    assert bench.notes == []
    assert '"error": "not so"' in bench.sent()
    assert result.text == "ok"


async def test_before_tool_stop_ends_the_loop_without_running_the_tool() -> None:
    bench = Bench(hooks("BeforeTool", STOP), [CALL, "never"])
    result = await bench.run()
    assert bench.notes == []
    assert len(bench.provider.requests) == 1
    assert result.stop_reason == "enough"


@pytest.mark.parametrize("yes", [True, False, "no"])
async def test_before_tool_ask_is_the_users_to_decide(yes: Any) -> None:
    asked: list[ConfirmationRequest] = []

    def confirm(request: ConfirmationRequest) -> Any:
        asked.append(request)
        return yes

    settings = hooks("BeforeTool", say({"decision": "ask", "reason": "sure?"}))
    bench = Bench(settings, [CALL, "ok"], confirm=confirm)
    await bench.run()
    assert [request.reason for request in asked] == ["sure?"]
    assert bench.notes == ([{"text": "one"}] if yes is True else [])


async def test_before_tool_rewrites_what_the_tool_gets_and_after_tool_sees_both() -> None:
    settings = {
        **hooks("BeforeTool", specific(tool_input={"text": "two"})),
        **hooks("AfterTool", "cat > after.json"),
    }
    bench = Bench(settings, [[call("note", text="one", kept=1)], "ok"])
    await bench.run()
    assert bench.notes == [{"text": "two", "kept": 1}]
    seen = json.loads(Path("after.json").read_text())
    assert seen["tool_input"] == {"text": "two", "kept": 1}
    assert seen["original_tool_input"] == {"text": "one", "kept": 1}


async def test_system_messages_before_and_after_a_tool_reach_the_model() -> None:
    settings = {
        **hooks("BeforeTool", say({"systemMessage": "first"})),
        **hooks("AfterTool", say({"systemMessage": "then", "suppressOutput": True})),
    }
    bench = Bench(settings, [CALL, "ok"])
    await bench.run()
    assert r"noted one\n\n[System] first\n\n[System] then" in bench.sent()


async def test_after_tool_deny_replaces_the_result() -> None:
    bench = Bench(hooks("AfterTool", DENY), [CALL, "ok"])
    await bench.run()
    assert bench.notes == [{"text": "one"}]
    assert "noted one" not in bench.sent()
    assert "not so" in bench.sent()


async def test_after_tool_stop_ends_the_loop() -> None:
    bench = Bench(hooks("AfterTool", STOP), [CALL, "never"])
    assert (await bench.run()).stop_reason == "enough"
    assert len(bench.provider.requests) == 1


async def test_after_tool_adds_context_for_the_model() -> None:
    bench = Bench(hooks("AfterTool", specific(additionalContext="<mind> the gap")), [CALL, "ok"])
    await bench.run()
    assert r"noted one\n\n<mind> the gap" in bench.sent()


async def test_after_tool_suppresses_the_display_and_not_what_the_model_reads() -> None:
    published: list[Any] = []
    bench = Bench(
        hooks("AfterTool", say({"suppressOutput": True})), [CALL, "ok"], publish=published.append
    )
    await bench.run()
    assert [done.display for done in published] == [None]
    assert "noted one" in bench.sent()


async def test_after_tool_asks_for_another_tool_whose_result_takes_the_place() -> None:
    tail = specific(tailToolCallRequest={"name": "note", "args": {"text": "tail"}})
    bench = Bench(hooks("AfterTool", tail, matcher="other"), [[call("other", x=1)], "ok"])
    await bench.run()
    assert bench.notes == [{"text": "tail"}]
    assert "noted tail" in bench.sent()


async def test_tail_calls_are_bounded() -> None:
    tail = specific(tailToolCallRequest={"name": "note", "args": {"text": "again"}})
    bench = Bench(hooks("AfterTool", tail), [CALL, "ok"])
    await bench.run()
    assert len(bench.notes) == 9


async def test_before_agent_block_refuses_the_turn_and_forgets_the_prompt() -> None:
    bench = Bench(hooks("BeforeAgent", DENY), ["never"])
    result = await bench.run()
    assert result.refused
    assert result.reason == "not so"
    assert bench.history == []
    assert bench.provider.requests == []


async def test_before_agent_stop_ends_the_turn_and_keeps_the_prompt() -> None:
    bench = Bench(hooks("BeforeAgent", STOP), ["never"])
    assert (await bench.run("hello")).stop_reason == "enough"
    assert "hello" in repr(bench.history)
    assert bench.provider.requests == []


async def test_before_agent_adds_context_to_the_prompt() -> None:
    bench = Bench(hooks("BeforeAgent", specific(additionalContext="be brief")), ["ok"])
    await bench.run("hello")
    assert r"hello\n\nbe brief" in bench.sent()


async def test_after_agent_deny_sends_the_reason_back_as_a_new_prompt() -> None:
    again = "grep -q '\"stop_hook_active\":true' || " + DENY
    bench = Bench(hooks("AfterAgent", again), ["first", "second"])
    result = await bench.run("hello")
    assert result.text == "second"
    assert "not so" in bench.sent()


async def test_after_agent_sends_back_what_it_adds() -> None:
    again = "grep -q '\"stop_hook_active\":true' || " + specific(additionalContext="and the docs?")
    bench = Bench(hooks("AfterAgent", again), ["first", "second"])
    result = await bench.run("hello")
    assert result.text == "second"
    assert "and the docs?" in bench.sent()


async def test_after_agent_sends_back_at_most_eight_times() -> None:
    bench = Bench(hooks("AfterAgent", DENY), [])
    await bench.run("hello")
    assert len(bench.provider.requests) == 9


async def test_after_agent_stop_ends_and_clear_context_forgets() -> None:
    stop = {"continue": False, "stopReason": "enough"}
    clear = say({**stop, "hookSpecificOutput": {"clearContext": True}})
    bench = Bench(hooks("AfterAgent", clear), ["ok"])
    assert (await bench.run()).stop_reason == "enough"
    assert bench.history == []


async def test_before_model_block_makes_no_call_and_shows_the_reason() -> None:
    bench = Bench(hooks("BeforeModel", DENY), ["never"])
    result = await bench.run()
    assert result.blocked
    assert bench.provider.requests == []
    assert bench.shown == ["not so"]


async def test_before_model_stop_ends_the_loop() -> None:
    bench = Bench(hooks("BeforeModel", STOP), ["never"])
    assert (await bench.run()).stop_reason == "enough"
    assert bench.provider.requests == []


async def test_before_model_answers_in_the_models_place() -> None:
    answer = {"candidates": [{"content": {"role": "model", "parts": ["cached"]}}]}
    bench = Bench(hooks("BeforeModel", specific(llm_response=answer)), ["never"])
    result = await bench.run()
    assert (result.text, result.blocked) == ("cached", False)
    assert bench.provider.requests == []
    assert "cached" in repr(bench.history)


async def test_before_model_rewrites_the_request_and_adds_a_system_message() -> None:
    output = {
        "systemMessage": "note well",
        "hookSpecificOutput": {"llm_request": {"model": "small", "config": {"temperature": 0}}},
    }
    bench = Bench(hooks("BeforeModel", say(output)), ["ok"])
    await bench.run()
    request = bench.provider.requests[0]
    assert (request["model"], request["config"]["temperature"]) == ("small", 0)
    assert request["contents"][-1]["parts"] == [{"text": "[System] note well"}]
    assert "note well" not in repr(bench.history)


async def test_after_model_block_discards_the_response_and_ends_the_turn() -> None:
    bench = Bench(hooks("AfterModel", DENY), [["secret", *CALL]])
    result = await bench.run()
    assert (result.blocked, result.reason) == (True, "not so")
    assert bench.notes == []
    assert "secret" not in repr(bench.history)


async def test_after_model_stop_ends_the_loop() -> None:
    bench = Bench(hooks("AfterModel", STOP), [CALL])
    assert (await bench.run()).stop_reason == "enough"
    assert bench.notes == []


async def test_after_model_rewrites_what_is_kept_and_shown_when_the_display_waits() -> None:
    bench = Bench(
        hooks("AfterModel", specific(llm_response={"text": "[redacted]"})),
        [["name: Ann", *CALL], "done"],
        display="after_hooks",
    )
    await bench.run()
    assert "Ann" not in repr(bench.history)
    assert bench.notes == [{"text": "one"}]
    assert bench.shown == ["[redacted]", "[redacted]"]


async def test_after_model_suppressed_output_is_kept_and_not_shown() -> None:
    bench = Bench(
        hooks("AfterModel", say({"suppressOutput": True})), ["quiet"], display="after_hooks"
    )
    await bench.run()
    assert bench.shown == []
    assert "quiet" in repr(bench.history)


async def test_after_model_system_message_is_in_the_next_request() -> None:
    bench = Bench(hooks("AfterModel", say({"systemMessage": "later"})), ["a", "b"])
    await bench.run("one", "two")
    assert "later" not in bench.sent(0)
    assert "[System] later" in bench.sent(1)


async def test_after_model_system_message_is_sent_again_after_a_stream_that_breaks() -> None:
    replies = ["a", ("half", OSError("gone")), "b"]
    bench = Bench(hooks("AfterModel", say({"systemMessage": "later"})), replies)
    async with bench.agent as agent:
        await agent.run("one")
        with pytest.raises(OSError, match="gone"):
            await agent.run("two")
        await agent.run("three")
    assert [bench.sent(place).count("[System] later") for place in range(3)] == [0, 1, 1]


async def test_session_start_context_is_sent_again_after_a_stream_that_breaks() -> None:
    settings = hooks("SessionStart", specific(additionalContext="house rules"))
    bench = Bench(settings, [("half", OSError("gone")), "a", "b"])
    async with bench.agent as agent:
        with pytest.raises(OSError, match="gone"):
            await agent.run("one")
        await agent.run("two")
        await agent.run("three")
    assert [bench.sent(place).count("house rules") for place in range(3)] == [1, 1, 1]


async def test_tool_selection_narrows_what_may_be_called_and_it_is_enforced() -> None:
    narrow = specific(toolConfig={"mode": "AUTO", "allowedFunctionNames": ["other"]})
    bench = Bench(hooks("BeforeToolSelection", narrow), [CALL, "ok"])
    await bench.run()
    calling = bench.provider.requests[0]["config"]["toolConfig"]["functionCallingConfig"]
    assert calling == {"mode": "AUTO", "allowedFunctionNames": ["other"]}
    assert bench.notes == []
    assert "not allowed" in bench.sent()


async def test_tool_selection_block_leaves_no_tool() -> None:
    bench = Bench(hooks("BeforeToolSelection", DENY), [CALL, "ok"])
    await bench.run()
    calling = bench.provider.requests[0]["config"]["toolConfig"]["functionCallingConfig"]
    assert calling["mode"] == "NONE"
    assert bench.notes == []


async def test_tool_selection_stop_ends_the_loop() -> None:
    bench = Bench(hooks("BeforeToolSelection", STOP), ["never"])
    assert (await bench.run()).stop_reason == "enough"
    assert bench.provider.requests == []


async def test_session_start_adds_context_and_cannot_block(
    caplog: pytest.LogCaptureFixture,
) -> None:
    output = {"decision": "deny", "reason": "x", "hookSpecificOutput": {"additionalContext": "hi"}}
    bench = Bench(hooks("SessionStart", say(output)), ["ok"])
    result = await bench.run("hello")
    assert result.text == "ok"
    assert r"hi\n\nhello" in bench.sent()
    assert "no effect" in caplog.text


@pytest.mark.parametrize("event", ["SessionEnd", "PreCompress", "Notification"])
async def test_advisory_events_cannot_block(event: str, caplog: pytest.LogCaptureFixture) -> None:
    settings = {**hooks(event, DENY), **hooks("BeforeTool", say({"decision": "ask"}))}
    bench = Bench(settings, [CALL, "ok", "more"], confirm=lambda _request: True)
    async with bench.agent as agent:
        await agent.run("one")
        await agent.run("two")
        await agent.compress()
    assert bench.notes == [{"text": "one"}]
    assert f"{event}, which has no effect" in caplog.text


FAILURES = {
    "crash": "exit 1",
    "killed": "kill -9 $$",
    "garbage": 'printf \'{"decision": "den\'',
    "missing": "./nowhere.sh",
    "not executable": "/",
    "timeout": "sleep 5",
}


@pytest.mark.requirement("GUAR-1", "INV-5")
@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool", "BeforeModel", "AfterAgent"])
@pytest.mark.parametrize("failure", FAILURES)
async def test_a_hook_that_fails_changes_nothing(
    event: str, failure: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(hooks(event, FAILURES[failure], timeout=300), [CALL, "ok"])
    result = await bench.run()
    assert (bench.notes, result.text) == ([{"text": "one"}], "ok")
    assert failure == "garbage" or f"{event}-0' on {event} failed" in caplog.text


async def test_a_tool_selection_hook_that_only_says_something_leaves_all_tools() -> None:
    bench = Bench(hooks("BeforeToolSelection", say({"systemMessage": "hello"})), [CALL, "ok"])
    await bench.run()
    assert bench.notes == [{"text": "one"}]
