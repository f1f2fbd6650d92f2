"""The turns and sessions of Claude Code."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, ResultMessage, query

from hookline import Hooks, add_context, deny, message, stop
from hookline._support.notices import heard_warnings
from hookline.adapters.claude_agent import hooked
from tests.adapters.claude_agent.messages import MessagesApi, call, clean_environment, say
from tests.adapters.claude_agent.playing import Event, note, play

ALL = ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd")


def names(noted: list[Event]) -> list[str]:
    return [event["hook_event_name"] for event in noted]


async def test_a_session_starts_with_its_first_prompt_and_goes_on_when_it_is_resumed(
    tmp_path: Path,
) -> None:
    hooks = Hooks()
    hooks.on("SessionStart")(lambda event: add_context(f"a {event['source']}"))
    noted = note(hooks, "SessionStart", "BeforeAgent")
    first = await play(tmp_path, hooks, ["One.", "Two."], prompts=["a", "b"])
    assert names(noted) == ["SessionStart", "BeforeAgent", "BeforeAgent"]
    assert "a startup" in first.sent(0)
    noted.clear()
    second = await play(tmp_path, hooks, ["Three."], options={"resume": first.session_id})
    assert [(e["hook_event_name"], e["session_id"]) for e in noted] == [
        ("SessionStart", first.session_id),
        ("BeforeAgent", first.session_id),
    ]
    assert noted[0]["source"] == "resume"
    assert "a resume" in second.sent(0)


async def test_a_history_that_is_compressed_or_cleared_is_told_of(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("SessionStart", matcher="compress")(lambda _event: add_context("mind the cat"))
    noted = note(hooks, *ALL)
    prompts = ["a", "/compact", "b", "/clear", "c"]
    played = await play(tmp_path, hooks, ["One.", "Two.", "Three."], prompts=prompts)
    told = [(e["hook_event_name"], e.get("source") or e.get("trigger")) for e in noted]
    turn = [("BeforeAgent", None), ("AfterAgent", None)]
    assert told == [
        ("SessionStart", "startup"),
        *turn,
        ("PreCompress", "manual"),
        ("SessionStart", "compress"),
        *turn,
        ("SessionEnd", None),
        ("SessionStart", "clear"),
        *turn,
    ]
    assert noted[-4]["reason"] == "clear"
    assert "mind the cat" in played.sent(1)
    ids = [event["session_id"] for event in noted]
    assert len(set(ids[:-3])) == 1
    assert len(set(ids[-3:])) == 1


async def test_a_refused_prompt_is_shown_to_nobody(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.on("BeforeAgent")
    def before(event: Event) -> Any:
        return deny("no passwords here") if "swordfish" in event["prompt"] else None

    noted = note(hooks, "AfterAgent")
    prompts = ["It is swordfish.", "Good morning."]
    played = await play(tmp_path, hooks, ["Hello."], prompts=prompts)
    assert "no passwords here" in played.results[0]
    assert played.results[1] == "Hello."
    assert "swordfish" not in str(played.seen) + played.sent()
    assert names(noted) == ["AfterAgent"]
    assert (noted[0]["prompt"], noted[0]["prompt_response"]) == ("Good morning.", "Hello.")
    resumed = await play(tmp_path, hooks, ["Hi."], options={"resume": played.session_id})
    assert "Good morning." in resumed.sent()
    assert "swordfish" not in resumed.sent()


async def test_a_turn_goes_on_without_a_prompt_that_is_refused_meanwhile() -> None:
    hooks = Hooks()

    @hooks.on("BeforeAgent")
    def before(event: Event) -> Any:
        return deny("no passwords here") if "swordfish" in event["prompt"] else None

    hooks.on("AfterTool")(lambda _event: stop("enough"))
    noted = note(hooks, "AfterAgent")
    callbacks = hooked(None, hooks).hooks or {}

    async def fire(event: Any, **fields: Any) -> Any:
        given: Any = {"hook_event_name": event, "session_id": "s", **fields}
        return await callbacks[event][0].hooks[0](given, None, {"signal": None})

    assert await fire("UserPromptSubmit", prompt="Go on.") == {}
    bash = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "1", "tool_response": {}}
    await fire("PostToolUse", **bash)
    assert (await fire("UserPromptSubmit", prompt="swordfish"))["decision"] == "block"
    assert (await fire("PostToolBatch", tool_calls=[]))["stopReason"] == "enough"
    await fire("Stop", stop_hook_active=False)
    assert noted[0]["prompt"] == "Go on."


async def test_a_stop_at_a_prompt_keeps_the_prompt(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.on("BeforeAgent")
    def before(event: Event) -> Any:
        return stop("not now") if event["prompt"] == "First." else None

    played = await play(tmp_path, hooks, ["Hello."], prompts=["First.", "Second."])
    assert "not now" in played.results[0]
    assert len(played.requests) == 1
    assert "First." in played.sent()


async def test_an_agent_is_sent_back_a_few_times_at_most(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(lambda _event: deny("once more"))
    noted = note(hooks, "AfterAgent")
    with heard_warnings() as warnings:
        played = await play(tmp_path, hooks, [f"Answer {n}." for n in range(20)])
    assert len(played.requests) == 9
    assert [event["stop_hook_active"] for event in noted] == [False] + [True] * 8
    assert played.results == ["Answer 8."]
    assert any("sent the turn back 8 times" in w for w in warnings)


async def test_a_message_after_the_turn_is_for_the_next_and_an_empty_context_is_warned_of(
    tmp_path: Path,
) -> None:
    hooks = Hooks()
    hooks.on("AfterAgent")(lambda _event: message("be brief"))
    hooks.on("AfterAgent")(lambda _event: {"hookSpecificOutput": {"clearContext": True}})
    with heard_warnings() as warnings:
        played = await play(tmp_path, hooks, ["One.", "Two."], prompts=["a", "b"])
    assert "[System] be brief" in played.sent(1)
    assert any("asked to clear the context" in w for w in warnings)


async def test_hooks_of_the_model_are_warned_of_once(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("AfterModel", name="redact")(lambda _event: None)
    hooks.on("BeforeToolSelection", name="narrow")(lambda _event: None)
    with heard_warnings() as warnings:
        played = await play(tmp_path, hooks, ["One.", "Two."], prompts=["a", "b"])
    assert played.results == ["One.", "Two."]
    told = [w for w in warnings if "do not run: " in w]
    assert len(told) == 1
    assert told[0].endswith("BeforeToolSelection do not run: redact, narrow")


async def test_in_strict_mode_no_turn_begins_with_hooks_that_would_not_run(tmp_path: Path) -> None:
    hooks = Hooks(strict=True)
    hooks.on("AfterModel", name="redact")(lambda _event: None)
    played = await play(tmp_path, hooks, ["Never said."])
    assert not played.requests
    assert "do not run: redact" in played.results[0]


@pytest.mark.parametrize("is_string", [True, False])
async def test_query_takes_a_text_and_a_stream_of_messages(tmp_path: Path, is_string: bool) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: deny("not on Sundays"))
    noted = note(hooks, *ALL)

    async def talk() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "Go on."}}

    with MessagesApi(say(call("Bash", command="ls"), "Done.")) as api:
        options = ClaudeAgentOptions(
            cwd=tmp_path,
            env=clean_environment(api, tmp_path),
            tools=["Bash"],
            setting_sources=[],
            include_partial_messages=True,
        )
        async with hooked(options, hooks) as guarded:
            prompt = "Go on." if is_string else talk()
            messages = [message async for message in query(prompt=prompt, options=guarded)]
            assert names(noted) == ["SessionStart", "BeforeAgent", "AfterAgent"]
        assert names(noted)[3:] == ["SessionEnd"]
        assert "not on Sundays" in json.dumps(api.bodies[1])
    result = messages[-1]
    assert isinstance(result, ResultMessage)
    assert {event["session_id"] for event in noted} == {result.session_id}


async def test_clients_of_the_same_options_keep_their_sessions_apart(tmp_path: Path) -> None:
    hooks = Hooks()
    noted = note(hooks, "SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent")

    def reply(messages: Any, _tools: Any) -> Any:
        mine = next(m.text for m in messages if m.text.startswith("I am "))
        is_over = any(m.role == "tool" for m in messages)
        return say(f"bye {mine}")((), ()) if is_over else call("Bash", command=f"echo {mine}")

    with MessagesApi(reply) as api:
        guarded = hooked(
            ClaudeAgentOptions(
                cwd=tmp_path,
                env=clean_environment(api, tmp_path),
                tools=["Bash"],
                setting_sources=[],
            ),
            hooks,
        )

        async def talk(number: int) -> str:
            async with ClaudeSDKClient(guarded) as client:
                await client.query(f"I am {number}-")
                found = [message async for message in client.receive_response()]
            assert isinstance(found[-1], ResultMessage)
            assert found[-1].result == f"bye I am {number}-"
            return found[-1].session_id

        ids = await asyncio.gather(*map(talk, range(2)))
    for number, id in enumerate(ids):
        mine = [event for event in noted if event["session_id"] == id]
        assert names(mine) == [
            *("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"),
        ]
        assert all(f"I am {number}-" in str(event) for event in mine[1:])


async def test_notifications_of_claude_codes_reach_hooks() -> None:
    hooks = Hooks()
    noted = note(hooks, "Notification")
    (matcher,) = (hooked(None, hooks).hooks or {})["Notification"]
    for kind in ("idle_prompt", "permission_prompt"):
        given: Any = {
            "hook_event_name": "Notification",
            "session_id": "s",
            "transcript_path": "",
            "cwd": "/",
            "message": "waiting",
            "notification_type": kind,
        }
        assert await matcher.hooks[0](given, None, {"signal": None}) == {}
    kinds = [event["notification_type"] for event in noted]
    assert kinds == ["idle_prompt", "ToolPermission"]
    assert noted[0]["message"] == "waiting"
