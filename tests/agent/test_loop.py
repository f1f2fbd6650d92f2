"""Lifecycle: each event once and in order, however the session goes."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest

from hookline import Hooks, deny
from hookline.agent import Agent, CallResult, FunctionCall, ScriptedProvider, Text, Tool
from hookline.agent.providers.scripted import call
from hookline.agent.turns import text_turn
from hookline.wire.events import HookEventName, SessionEndReason, SessionStartSource
from tests.agent.scripts import Bench, hooks, say, specific
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


OLD = [text_turn("user", "[Summary] gist"), text_turn("user", "x"), text_turn("model", "y")]
TAIL = [text_turn("user", "go on"), text_turn("model", "ok")]


@pytest.mark.parametrize("old", [0, 1, 2, 3])
async def test_two_turns_or_more_before_those_that_stay_are_replaced_by_a_summary(
    old: int,
) -> None:
    """A summary of one turn, which may be a summary itself, would gain nothing."""
    bench = Bench(audit("SessionStart"), [], keep_turns=1, history=[*OLD[:old], *TAIL])
    async with bench.agent as agent:
        await agent.compress()
    if old < 2:
        assert bench.history == [*OLD[:old], *TAIL]
    else:
        assert bench.history[0].text == "[Summary] (summary of the conversation so far)"
        assert bench.history[1:] == TAIL
    assert audited() == ["SessionStart"] * (1 if old < 2 else 2)


@pytest.mark.parametrize(("old", "above", "is_compressed"), [
    (1, 2, False), (2, 3, True), (2, 4, False),
])  # fmt: skip
async def test_a_history_is_compressed_by_itself_when_it_is_larger_and_there_is_enough_to_sum_up(
    old: int, above: int, is_compressed: bool
) -> None:
    settings = hooks("PreCompress", "cat > compressed.json")
    history = [*OLD[:old], *TAIL]
    bench = Bench(settings, [], keep_turns=1, compress_above=above, history=history)
    await bench.run()
    assert Path("compressed.json").exists() == is_compressed
    if is_compressed:
        assert json.loads(Path("compressed.json").read_text())["trigger"] == "auto"


@pytest.mark.parametrize(("keep", "kept"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 3)])
async def test_the_last_turns_that_begin_with_a_users_text_stay(keep: int, kept: int) -> None:
    bench = Bench({}, [], keep_turns=keep, history=[text_turn("model", "hello")] * 2)
    async with bench.agent as agent:
        for prompt in "abc":
            await agent.run(prompt)
        await agent.compress()
    texts = [turn.text for turn in bench.history if turn.role == "user"]
    is_compressed = keep < 4
    assert texts[0].startswith("[Summary]") == is_compressed
    assert texts[is_compressed:] == list("abc")[-kept:]


async def test_hooks_may_keep_the_whole_history() -> None:
    keep = hooks("PreCompress", specific(keepHistory=True))
    bench = Bench(keep, [], keep_turns=1, history=[*OLD, *TAIL])
    async with bench.agent as agent:
        await agent.compress()
    assert bench.history == [*OLD, *TAIL]


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
    assert "summarize the conversation, so it is kept whole: the ledger is not" in caplog.text


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


def break_off(_request: Any) -> OSError:
    """A reply that breaks; made anew, since an exception keeps all that it passed."""
    return OSError("reset")


async def test_what_hooks_said_at_the_start_waits_for_a_stream_that_does_not_break() -> None:
    bench = Bench(hooks("SessionStart", specific(additionalContext="be brief")), [break_off, "ok"])
    async with bench.agent as agent:
        with pytest.raises(OSError, match="reset"):
            await agent.run("one")
        await agent.run("two")
        await agent.run("three")
    assert [turn.text for turn in bench.history[::2]] == ["be brief\n\ntwo", "three"]


async def test_what_tools_did_is_told_though_the_stream_after_them_broke() -> None:
    bench = Bench({}, [CALL, break_off, "ok"], transcript="transcript.jsonl")
    async with bench.agent as agent:
        with pytest.raises(OSError, match="reset"):
            await agent.run("one")
        await agent.run("two")
    answer = bench.provider.requests[2]["contents"][2]["parts"][0]["functionResponse"]
    assert answer == {"name": "note", "response": {"output": "noted one"}}
    assert [turn.role for turn in bench.history] == ["user", "model", "user", "user", "model"]
    assert Path("transcript.jsonl").read_text().count('"tool_result"') == 1


async def test_what_hooks_say_at_a_compression_within_a_turn_is_kept_for_the_next() -> None:
    settings = hooks("SessionStart", specific(additionalContext="fresh"), matcher="compress")
    bench = Bench(settings, [], keep_turns=1, compress_above=3, history=[*OLD, *TAIL])
    await bench.run("one", "two")
    assert [turn.text for turn in bench.history[1:] if turn.role == "user"] == [
        *("one", "fresh\n\ntwo"),
    ]


@pytest.mark.parametrize("most", [1, 2])
async def test_a_turn_ends_after_so_many_model_calls_with_its_calls_answered(most: int) -> None:
    bench = Bench({}, [["so", *CALL]] * 3, max_model_calls=most)
    result = await bench.run()
    assert len(bench.provider.requests) == len(bench.notes) == most
    assert result.reason == f"the turn ended after {most} model calls"
    assert (result.text, result.stop_reason, result.blocked) == ("so", None, False)
    assert isinstance(bench.history[-1].parts[0], CallResult)


async def test_a_session_that_never_began_has_no_end() -> None:
    bench = Bench(audit("SessionStart", "SessionEnd"), [])
    await bench.agent.end()
    assert not Path("audit.txt").exists()


async def test_a_turn_begins_the_session_and_only_once() -> None:
    bench = Bench(audit("SessionStart"), [])
    await bench.agent.run("one")
    await bench.agent.run("two")
    await bench.agent.end()
    assert audited() == ["SessionStart"]


@pytest.mark.parametrize("reason", ["exit", "other"])
async def test_hooks_read_whether_the_session_ended_with_an_error(reason: str) -> None:
    bench = Bench(hooks("SessionEnd", "cat > end.json"), [])
    with suppress(KeyError):
        async with bench.agent:
            if reason == "other":
                raise KeyError
    assert json.loads(Path("end.json").read_text())["reason"] == reason


async def test_hooks_read_how_the_session_began_and_the_reason_that_the_caller_ends_it_with() -> (
    None
):
    settings = hooks("SessionStart", "cat > start.json") | hooks("SessionEnd", "cat > end.json")
    bench = Bench(settings, [], source=SessionStartSource.RESUME)
    async with bench.agent as agent:
        await agent.end(SessionEndReason.LOGOUT)
    assert json.loads(Path("start.json").read_text())["source"] == "resume"
    assert json.loads(Path("end.json").read_text())["reason"] == "logout"


async def test_variables_that_hooks_set_at_the_start_and_at_a_compression_are_kept() -> None:
    settings = hooks("SessionStart", specific(exports={"A": "1", "B": "1"}), matcher="startup")
    settings["SessionStart"] += hooks(
        "SessionStart", specific(exports={"B": "2"}), matcher="compress"
    )["SessionStart"]
    bench = Bench(settings, [], keep_turns=1, history=[*OLD, *TAIL])
    async with bench.agent as agent:
        assert agent.exports == {"A": "1", "B": "1"}
        await agent.compress()
    assert agent.exports == {"A": "1", "B": "2"}


async def test_a_message_after_a_turn_stands_before_the_next_prompt_once() -> None:
    hook = Hooks()
    said = iter(["mind", None, None])
    hook.on("AfterAgent")(lambda _event: {"systemMessage": next(said)})
    async with Agent(hook, ScriptedProvider()) as agent:
        for prompt in "abc":
            await agent.run(prompt)
    assert [turn.text for turn in agent.chat.history[::2]] == ["a", "[System] mind\n\nb", "c"]


async def test_after_agent_reads_the_prompt_that_was_sent_back_and_that_it_was() -> None:
    hook, seen = Hooks(), []

    @hook.on("AfterAgent")
    def check(event: Any) -> Any:
        seen.append((event["prompt"], event["prompt_response"], event["stop_hook_active"]))
        return deny("again") if len(seen) == 1 else None

    async with Agent(hook, ScriptedProvider(["one", "two"])) as agent:
        result = await agent.run("go")
    assert seen == [("go", "one", False), ("again", "two", True)]
    assert (result.text, result.reason) == ("two", None)


async def test_a_turn_that_is_sent_back_too_often_ends_with_the_last_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hook = Hooks()
    hook.on("AfterAgent")(lambda _event: deny("again"))
    async with Agent(hook, ScriptedProvider()) as agent:
        result = await agent.run("go")
    assert (result.reason, result.stop_reason) == ("again", None)
    assert "AfterAgent hooks sent the turn back 8 times" in caplog.text


async def test_a_stop_by_a_tools_hook_ends_the_turn_before_hooks_can_send_it_back() -> None:
    hook = Hooks()
    hook.on("AfterTool")(lambda _event: {"continue": False, "stopReason": "enough"})
    hook.on("AfterAgent")(lambda _event: deny("again"))
    tools = [Tool(name="note", run=lambda _given: "noted")]
    provider = ScriptedProvider([["so", *CALL], "never"])
    async with Agent(hook, provider, tools) as agent:
        result = await agent.run("go")
    assert (result.stop_reason, result.text) == ("enough", "so")
    assert len(provider.requests) == 1
    assert isinstance(agent.chat.history[-1].parts[0], CallResult)


@pytest.mark.parametrize("yes", [True, False])
async def test_a_user_may_be_asked_by_a_coroutine(yes: bool) -> None:
    async def confirm(_request: Any) -> bool:
        return yes

    bench = Bench(hooks("BeforeTool", say({"decision": "ask"})), [CALL, "ok"], confirm=confirm)
    await bench.run()
    assert len(bench.notes) == yes


async def test_a_transcript_holds_what_was_said_called_and_answered_in_order() -> None:
    deny_other = hooks("BeforeTool", say({"decision": "deny", "reason": "no"}), matcher="other")
    replies = [["so", *CALL, call("other")], "done"]
    await Bench(deny_other, replies, transcript="t.jsonl").run()
    lines = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    blocks = [(line["type"], line["message"]["content"][0]) for line in lines]
    assert [(role, block["type"]) for role, block in blocks] == [
        *(("user", "text"), ("assistant", "text"), ("assistant", "tool_use")),
        *(("assistant", "tool_use"), ("user", "tool_result"), ("user", "tool_result")),
        ("assistant", "text"),
    ]
    assert blocks[2][1]["id"] == blocks[4][1]["tool_use_id"] != blocks[5][1]["tool_use_id"]
    assert [block.get("is_error", False) for _, block in blocks[4:6]] == [False, True]


@pytest.mark.parametrize(
    ("kind", "given", "details"),
    [
        ("exec", {"command": "git push"}, {"command": "git push", "rootCommand": "git"}),
        ("exec", {"command": 3}, {}),
        ("edit", {"file_path": "/a/b.py"}, {"fileName": "b.py", "filePath": "/a/b.py"}),
        ("edit", {"path": "b.py"}, {"fileName": "b.py", "filePath": "b.py"}),
        ("edit", {"file_path": "b", "path": "c"}, {"fileName": "b", "filePath": "b"}),
        ("edit", {"path": None}, {}),
        ("info", {"command": "ls", "path": "b.py"}, {}),
    ],
)
def test_a_confirmation_shows_the_command_or_the_file_that_it_is_about(
    kind: Any, given: dict[str, Any], details: dict[str, Any]
) -> None:
    tool = Tool(name="t", run=str, kind=kind)
    assert tool.confirmation(given) == {"type": kind, "title": "t", **details}


async def test_a_prompt_at_which_hooks_stop_stays_in_the_history() -> None:
    stop = say({"continue": False, "stopReason": "enough"})
    bench = Bench(hooks("BeforeAgent", stop), [])
    async with bench.agent as agent:
        result = await agent.run("one")
        assert agent.chat.history == [text_turn("user", "one")]
    assert (result.reason, result.stop_reason, result.refused) == ("enough", "enough", False)
