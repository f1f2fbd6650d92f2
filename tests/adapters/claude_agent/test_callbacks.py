"""What each callback answers, called as the SDK calls it, without the command line."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, PermissionResultAllow

from hookline import Hooks, add_context, allow, ask, combine, deny, rewrite, stop
from hookline.adapters.claude_agent import hooked
from tests.adapters.claude_agent.playing import note

Fire = Callable[..., Awaitable[Any]]


def callbacks_of(hooks: Any, **options: Any) -> Fire:
    """Fires an event of Claude Code at the callbacks of an agent."""
    found: Any = hooked(ClaudeAgentOptions(**options), hooks).hooks

    async def fire(event: str, **fields: Any) -> Any:
        given = {"hook_event_name": event, "session_id": "s", **fields}
        if "Tool" in event or event == "PermissionRequest":
            call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "1"}
            given = {**call, "tool_response": {"stdout": "a", "stderr": ""}, **given}
        return await found[event][0].hooks[0](given, None, {"signal": None})

    return fire


async def confirm(*_given: Any) -> PermissionResultAllow:
    return PermissionResultAllow()


async def test_a_stop_denies_every_further_call_and_tells_the_user_once() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: stop("enough"))
    fire = callbacks_of(hooks)
    first, second = await fire("PreToolUse"), await fire("PreToolUse", tool_use_id="2")
    for output in (first, second):
        assert output["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert (output["continue_"], output["stopReason"]) == (False, "enough")
    assert (first.get("systemMessage"), second.get("systemMessage")) == ("enough", None)
    assert (await fire("PostToolBatch", tool_calls=[]))["continue_"] is False


async def test_the_halves_of_calls_with_one_id_are_matched_by_their_inputs() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda event: add_context(f"about {event['tool_input']['command']}"))
    fire = callbacks_of(hooks)
    inputs = [{"command": command} for command in ("ls", "rm")]
    for given in inputs:
        await fire("PreToolUse", tool_input=given)
    for given in inputs:
        output = await fire("PostToolUse", tool_input=given)
        assert output["hookSpecificOutput"]["additionalContext"] == f"about {given['command']}"


async def test_the_user_is_not_told_of_a_stop_by_what_a_subagent_is_told() -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: stop("enough"))
    fire = callbacks_of(hooks)
    output = await fire("PostToolUse", agent_id="a")
    assert (output["stopReason"], output.get("systemMessage")) == ("enough", None)
    assert (await fire("PostToolBatch", tool_calls=[]))["systemMessage"] == "enough"


async def test_a_new_prompt_begins_a_turn_in_which_nothing_is_stopped() -> None:
    hooks = Hooks()
    said = iter([stop("enough"), None])
    hooks.on("BeforeTool")(lambda _event: next(said))
    fire = callbacks_of(hooks)
    await fire("PreToolUse")
    assert await fire("UserPromptSubmit", prompt="Go on.") == {}
    assert await fire("PreToolUse", tool_use_id="2") == {}


@pytest.mark.parametrize(
    ("mode", "can_ask", "decision"),
    [
        ("default", True, "ask"),
        ("acceptEdits", True, "ask"),
        ("bypassPermissions", True, "ask"),
        ("dontAsk", True, "deny"),
        ("plan", True, "deny"),
        (None, True, "ask"),
        ("default", False, "ask"),
    ],
)
async def test_a_hook_asks_only_where_claude_code_asks(
    mode: str | None, can_ask: bool, decision: str
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: {**ask("sure?"), "systemMessage": "mind"})
    noted = note(hooks, "Notification")
    fire = callbacks_of(hooks, **({"can_use_tool": confirm} if can_ask else {}))
    output = await fire("PreToolUse", **({"permission_mode": mode} if mode else {}))
    answer = output["hookSpecificOutput"]
    assert answer["permissionDecision"] == decision
    said = answer["permissionDecisionReason"]
    assert ("nobody can be asked" in said) == (decision == "deny" or not can_ask)
    assert ("[System] mind" in said) == (decision == "ask")
    assert len(noted) == (decision == "ask" and can_ask)


async def test_an_input_that_hooks_rewrote_and_left_is_told_apart() -> None:
    hooks = Hooks()
    said = iter([rewrite(command="pwd"), None])
    hooks.on("BeforeTool")(lambda _event: next(said))
    fire = callbacks_of(hooks)
    changed = await fire("PreToolUse")
    assert changed["hookSpecificOutput"]["updatedInput"] == {"command": "pwd"}
    assert await fire("PreToolUse", tool_use_id="2") == {}


@pytest.mark.parametrize(
    ("said", "output"),
    [
        (None, {}),
        (stop("enough"), {"continue_": False, "stopReason": "enough", "systemMessage": "enough"}),
        (deny("not yet"), {"decision": "block", "reason": "not yet"}),
    ],
)
async def test_the_end_of_a_turn_is_left_stopped_or_sent_back(said: Any, output: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(lambda _event: said)
    fire = callbacks_of(hooks)
    await fire("UserPromptSubmit", prompt="Go on.")
    given = {"stop_hook_active": False, "last_assistant_message": "Done."}
    assert await fire("Stop", **given) == output


@pytest.mark.parametrize(("active", "seen"), [(False, False), (True, True)])
async def test_a_turn_that_nobody_saw_begin_was_sent_back_if_claude_code_says_so(
    active: bool, seen: bool
) -> None:
    hooks = Hooks()
    noted = note(hooks, "AfterAgent")
    await callbacks_of(hooks)("Stop", stop_hook_active=active)
    [event] = noted
    assert (event["stop_hook_active"], event["prompt"], event["prompt_response"]) == (seen, "", "")


@pytest.mark.parametrize(
    ("options", "event", "source"),
    [
        ({}, {"prompt": "Hi."}, "startup"),
        ({"resume": "s"}, {"prompt": "Hi."}, "resume"),
        ({"continue_conversation": True}, {"prompt": "Hi."}, "resume"),
        ({}, {"source": "clear"}, "clear"),
        ({"resume": "s"}, {"source": "startup"}, "resume"),
        ({}, {"source": "compact"}, "compress"),
    ],
)
async def test_hooks_read_how_a_session_began(
    options: dict[str, Any], event: dict[str, Any], source: str
) -> None:
    hooks = Hooks()
    noted = note(hooks, "SessionStart")
    hooks.on("SessionStart")(lambda _event: add_context("be brief"))
    fire = callbacks_of(hooks, **options)
    output = await fire("UserPromptSubmit" if "prompt" in event else "SessionStart", **event)
    assert [each["source"] for each in noted] == [source]
    # What is said at the start waits for the first prompt, unless the history was compressed.
    is_told = "prompt" in event or source == "compress"
    assert output.get("hookSpecificOutput", {}).get("additionalContext") == (
        "be brief" if is_told else None
    )


@pytest.mark.parametrize(
    ("given", "read"),
    [("clear", "clear"), ("logout", "logout"), ("other", "other"), ("bypass_x", "other")],
)
async def test_hooks_read_why_a_session_ended(given: str, read: str) -> None:
    hooks = Hooks()
    noted = note(hooks, "SessionEnd")
    fire = callbacks_of(hooks)
    assert await fire("SessionEnd", reason=given) == {}
    assert noted == []
    await fire("UserPromptSubmit", prompt="Hi.")
    await fire("SessionEnd", reason=given)
    assert [event["reason"] for event in noted] == [read]


@pytest.mark.parametrize(
    ("said", "output"),
    [
        ({}, {}),
        ({"systemMessage": "mind"}, {"systemMessage": "mind"}),
        (
            {"hookSpecificOutput": {"keepHistory": True}},
            {"decision": "block", "reason": "a hook wants the history kept"},
        ),
        (
            {"hookSpecificOutput": {"keepHistory": True}, "systemMessage": "mind"},
            {"decision": "block", "reason": "mind", "systemMessage": "mind"},
        ),
    ],
)
async def test_a_history_is_compressed_unless_hooks_keep_it(said: Any, output: Any) -> None:
    hooks = Hooks()
    hooks.on("PreCompress")(lambda _event: said)
    noted = note(hooks, "PreCompress")
    assert await callbacks_of(hooks)("PreCompact", trigger="manual") == output
    assert noted[0]["trigger"] == "manual"


@pytest.mark.parametrize(
    ("kind", "read"), [("permission_prompt", "ToolPermission"), ("idle_prompt", "idle_prompt")]
)
async def test_a_question_of_claude_codes_is_a_tool_permission(kind: str, read: str) -> None:
    hooks = Hooks()
    noted = note(hooks, "Notification")
    await callbacks_of(hooks)("Notification", message="Hm?", notification_type=kind)
    assert (noted[0]["message"], noted[0]["notification_type"]) == ("Hm?", read)


async def test_a_replacement_that_claude_code_did_not_use_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: deny("[hidden]"))
    fire = callbacks_of(hooks)
    for id, shown in (("1", "[hidden]"), ("2", "a")):
        await fire("PreToolUse", tool_use_id=id)
        output = await fire("PostToolUse", tool_use_id=id)
        assert "updatedToolOutput" in output["hookSpecificOutput"]
        read = {"tool_use_id": id, "tool_name": "Bash", "tool_response": shown}
        assert await fire("PostToolBatch", tool_calls=[read]) == {}
        assert ("did not use the result" in caplog.text) == (id == "2")


async def test_the_first_of_two_stops_is_why_the_turn_ends() -> None:
    hooks = Hooks()
    reasons = iter(["first", "second"])
    hooks.on("AfterTool")(lambda _event: stop(next(reasons)))
    fire = callbacks_of(hooks)
    await fire("PostToolUse")
    assert await fire("PostToolUseFailure", error="no", tool_use_id="2") == {}
    ended = await fire("PostToolBatch", tool_calls=[])
    assert (ended["stopReason"], ended["systemMessage"]) == ("first", "first")


async def test_what_claude_code_cannot_show_the_user_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    said = iter([{}, {"systemMessage": "mind"}])
    hooks.on("SubagentStart")(lambda _event: next(said))
    fire = callbacks_of(hooks)
    given = {"agent_id": "a", "agent_type": "t"}
    assert await fire("SubagentStart", **given) == {}
    assert "tells the user" not in caplog.text
    await fire("SubagentStart", **given)
    assert "a hook tells the user: mind" in caplog.text


@pytest.mark.parametrize("has_after", [True, False])
async def test_an_agent_runs_in_the_foreground_where_hooks_see_its_report(has_after: bool) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(prompt="be brief"))
    if has_after:
        hooks.on("AfterTool")(lambda _event: None)
    given = {"prompt": "go", "description": "d", "run_in_background": True}
    output = await callbacks_of(hooks)("PreToolUse", tool_name="Task", tool_input=given)
    assert output["hookSpecificOutput"]["updatedInput"] == {
        **given,
        "prompt": "be brief",
        "run_in_background": not has_after,
    }


@pytest.mark.parametrize(
    ("event", "fields", "is_told"),
    [
        ("AfterTool", {"tool_response": {"status": "async_launched"}}, True),
        ("AfterTool", {"tool_response": {"status": "done"}}, False),
        ("AfterTool", {"tool_name": "Monitor", "tool_response": "x"}, True),
        ("BeforeTool", {"tool_name": "Monitor", "tool_response": "x"}, False),
    ],
    ids=str,
)
async def test_output_in_the_background_is_told_of_where_hooks_would_see_it(
    event: Any, fields: dict[str, Any], is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks()
    hooks.on(event)(lambda _event: None)
    fire = callbacks_of(hooks)
    call = {"tool_name": "Task", "tool_input": {"prompt": "go"}, **fields}
    for id in "12":
        await fire("PreToolUse", **{**call, "tool_use_id": id})
        await fire("PostToolUse", **{**call, "tool_use_id": id})
    assert caplog.text.count("do not see the background output") == is_told


@pytest.mark.parametrize("strict", [True, False])
async def test_every_replacement_of_a_batch_is_looked_for(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = Hooks(strict=strict)
    hooks.on("AfterTool")(lambda _event: deny("[hidden]"))
    fire = callbacks_of(hooks)
    for id in "12":
        await fire("PreToolUse", tool_use_id=id)
        await fire("PostToolUse", tool_use_id=id)
    shown = {"1": "[hidden]", "2": "a", "3": "b"}
    calls = [{"tool_use_id": id, "tool_name": "Bash", "tool_response": shown[id]} for id in shown]
    ended = await fire("PostToolBatch", tool_calls=calls)
    assert caplog.text.count("did not use the result") == 1
    assert ("did not use the result" in ended.get("stopReason", "")) == strict
    assert caplog.text.count("that of Bash") == 1


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        (None, None),
        (deny("no"), {"behavior": "deny", "message": "no", "interrupt": False}),
        (stop("enough"), {"behavior": "deny", "message": "enough", "interrupt": True}),
        (allow(), {"behavior": "allow"}),
        (
            combine(allow(), rewrite(command="pwd")),
            {"behavior": "allow", "updatedInput": {"command": "pwd"}},
        ),
    ],
    ids=str,
)
async def test_hooks_answer_a_question_of_claude_codes(said: Any, decision: Any) -> None:
    hooks = Hooks()
    hooks.on("PermissionRequest")(lambda _event: said)
    noted = note(hooks, "Notification")
    output = await callbacks_of(hooks)("PermissionRequest")
    assert output.get("hookSpecificOutput", {}).get("decision") == decision
    assert len(noted) == 1


async def test_a_question_of_a_hook_is_announced_once_and_another_by_itself() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: combine(ask("sure?"), rewrite(command="pwd")))
    noted = note(hooks, "Notification")
    fire = callbacks_of(hooks, permission_prompt_tool_name="mcp__x__ask")
    await fire("PreToolUse")
    for count, command in ((1, "pwd"), (2, "pwd"), (3, "ls")):
        await fire("PermissionRequest", tool_input={"command": command})
        assert len(noted) == count


@pytest.mark.parametrize(
    ("said", "output"),
    [
        (None, {}),
        (stop("enough"), {"continue_": False, "stopReason": "enough", "systemMessage": "enough"}),
        (deny("again"), {"decision": "block", "reason": "again"}),
    ],
)
async def test_an_event_of_claude_codes_own_is_left_stopped_or_sent_back(
    said: Any, output: Any
) -> None:
    hooks = Hooks()
    hooks.on("SubagentStop")(lambda _event: said)
    given = {"agent_id": "a", "agent_type": "t", "stop_hook_active": False}
    assert await callbacks_of(hooks)("SubagentStop", **given) == output


@pytest.mark.parametrize(
    ("fields", "read"),
    [
        ({"tool_response": None}, ""),
        ({"tool_response": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"tool_response": [{"type": "text", "text": "a"}, {"type": "image"}]}, None),
        ({"tool_response": {"n": 1}}, '{"n":1}'),
    ],
    ids=str,
)
async def test_hooks_read_a_result_as_the_model_does(fields: dict[str, Any], read: Any) -> None:
    hooks = Hooks()
    noted = note(hooks, "AfterTool")
    await callbacks_of(hooks)("PostToolUse", tool_name="mcp__x__look", tool_input={}, **fields)
    [event] = noted
    shown = event["tool_response"]["llmContent"]
    assert shown == (fields["tool_response"] if read is None else read)


async def test_events_say_whose_they_are_and_in_which_turn_they_fire() -> None:
    hooks = Hooks()
    noted: list[Any] = []
    for event in ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "Notification"):
        hooks.on(event)(noted.append)
    fire = callbacks_of(hooks.session("s", labels={"user": "ada"}))
    await fire("UserPromptSubmit", prompt="Hi", prompt_id="p1")
    await fire("PreToolUse")
    await fire("PostToolUse")
    await fire("Notification", message="Hm?", agent_id="a", agent_type="scout")
    await fire("Stop", stop_hook_active=False)
    await fire("UserPromptSubmit", prompt="And then?")
    assert [event["turn_id"] for event in noted[:5]] == ["p1"] * 5
    assert noted[5]["turn_id"] not in ("p1", None)
    assert [event["labels"] for event in noted] == [{"user": "ada"}] * 6
    agents = [event.get("agent") for event in noted]
    assert agents.pop(3) == {"name": "scout", "id": "a", "parent": "main", "depth": 1}
    assert agents == [None] * 5
