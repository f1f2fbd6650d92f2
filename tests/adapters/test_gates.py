"""What all adapters share: conversations that start once, turns that end, texts that are kept."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks, add_context, deny, stop
from hookline.adapters.gates import (
    Conversation,
    Conversations,
    TurnGate,
    announce_question,
    check_version,
    complete,
    split_json,
)
from hookline.calls.tool import ConfirmationRequest


def test_a_framework_that_is_one_patch_too_old_is_refused() -> None:
    found = version("msgspec")
    major, minor, patch = found.split(".")
    check_version("msgspec", "x", found, "999")
    with pytest.raises(ImportError, match=f"but {found} is installed"):
        check_version("msgspec", "x", f"{major}.{minor}.{int(patch) + 1}", "999")


@pytest.fixture
def hooks() -> Hooks:
    return Hooks()


def heard(hooks: Hooks, *events: Any) -> list[Any]:
    """What hooks of these events read from now on."""
    noted: list[Any] = []
    for event in events:
        hooks.on(event)(noted.append)
    return noted


async def test_a_session_starts_once_and_ends_once_for_each_start(hooks: Hooks) -> None:
    noted = heard(hooks, "SessionStart", "SessionEnd")
    conversation = Conversation(hooks)
    await conversation.end(conversation.face)
    for _ in range(2):
        await conversation.start(conversation.face)
        await conversation.start(conversation.face, "resume")
        await conversation.end(conversation.face, "logout")
        await conversation.end(conversation.face)
    assert [event.get("source", event.get("reason")) for event in noted] == [
        *("startup", "logout"),
        *("startup", "logout"),
    ]


async def test_what_is_said_at_the_start_is_kept_in_order_and_taken_once(hooks: Hooks) -> None:
    said = {"systemMessage": "b", "hookSpecificOutput": {"additionalContext": "a"}}
    hooks.on("SessionStart")(lambda _event: said)
    conversation = Conversation(hooks)
    await conversation.start(conversation.face)
    conversation.keep("c")
    assert conversation.take() == ["a", "[System] b", "c"]
    assert conversation.take() == []


@pytest.mark.parametrize("exports", [{}, {"A": "1", "B": "2"}])
async def test_variables_that_an_adapter_cannot_set_are_warned_of(
    hooks: Hooks, exports: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("SessionStart")(lambda _event: {"hookSpecificOutput": {"exports": exports}})
    conversation = Conversation(hooks)
    await conversation.start(conversation.face)
    assert ("SessionStart hooks export A, B, but" in caplog.text) == bool(exports)


async def test_each_id_is_a_conversation_of_its_own_and_none_is_that_of_the_hooks(
    hooks: Hooks,
) -> None:
    conversations = Conversations(hooks)
    one, other, nameless = (conversations.of(id) for id in ("1", "2", None))
    assert len({one, other, nameless}) == 3
    assert conversations.of("1") is one
    assert conversations.of(None) is nameless
    noted = heard(hooks, "SessionStart")
    await one.start(one.face)
    assert [event["session_id"] for event in noted] == ["1"]


def test_a_session_that_was_given_serves_every_id(hooks: Hooks) -> None:
    conversations = Conversations(hooks.session("mine"))
    assert conversations.of("1") is conversations.of("2") is conversations.of(None)


async def test_a_new_conversation_is_recorded_where_its_framework_records_it(
    hooks: Hooks,
) -> None:
    conversation = Conversations(hooks).of("1", transcript_path="/t.jsonl")
    noted = heard(hooks, "SessionStart")
    await conversation.start(conversation.face)
    assert noted[0]["transcript_path"] == "/t.jsonl"


def test_the_conversation_that_was_unused_for_longest_is_forgotten(
    hooks: Hooks,
) -> None:
    conversations = Conversations(hooks)
    first, second = conversations.of("1"), conversations.of("2")
    for number in range(100_000):
        conversations.of(f"other {number}")
        assert conversations.of("1") is first
    assert conversations.of("2") is not second


async def test_all_sessions_that_began_end_and_are_forgotten(hooks: Hooks) -> None:
    conversations = Conversations(hooks)
    noted = heard(hooks, "SessionEnd")
    for id in "12":
        begun = conversations.of(id)
        await begun.start(begun.face)
    conversations.of("3")
    await conversations.end_all(blocking=False)
    assert [(event["session_id"], event["reason"]) for event in noted] == [
        ("1", "exit"),
        ("2", "exit"),
    ]
    assert conversations.of("2") is not begun


@pytest.mark.parametrize("is_given", [True, False])
async def test_hooks_are_closed_with_their_sessions_if_they_were_loaded_here(
    hooks: Hooks, tmp_path: Path, is_given: bool
) -> None:
    conversations = Conversations(hooks if is_given else tmp_path)
    assert isinstance(conversations.hooks, Hooks)
    system = conversations.hooks.config.get_hook_system()
    assert system is not None
    ended: list[Any] = []
    system.engine.follow_background(ended)
    system.register_hook("SessionStart", {"type": "command", "command": "sleep 60", "async": True})
    begun = conversations.of("1")
    await begun.start(begun.face)
    await conversations.end_all(blocking=False)
    assert len(ended) == (0 if is_given else 1)
    conversations.hooks.close()
    assert len(ended) == 1


def test_sessions_end_for_callers_that_do_not_await_too(hooks: Hooks) -> None:
    conversations = Conversations(hooks)
    noted = heard(hooks, "SessionEnd")
    begun = conversations.of("1")
    complete(begun.start(begun.blocking))
    complete(conversations.end_all(blocking=True))
    assert len(noted) == 1


def test_a_warning_is_given_once_and_another_is_given_as_well(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    conversations = Conversations(hooks)
    for message in ("mind the gap", "mind the step", "mind the gap"):
        conversations.warn_once(message)
    assert caplog.text.count("mind the gap") == 1
    assert caplog.text.count("mind the step") == 1


@pytest.mark.parametrize(
    ("said", "refusal", "stops"),
    [(None, None, False), (deny("no"), "no", False), (stop("enough"), "enough", True)],
)
async def test_a_turn_begins_unless_hooks_refuse_or_stop_it(
    hooks: Hooks, said: Any, refusal: str | None, stops: bool
) -> None:
    hooks.on("BeforeAgent")(lambda _event: said)
    conversation = Conversation(hooks)
    conversation.keep("kept")
    start = await TurnGate(conversation, "go").open(conversation.face)
    assert (start.refusal, start.stop) == (refusal, stops)
    assert start.texts == (("kept",) if refusal is None else ())
    # What a refused turn did not send waits for the next.
    assert conversation.take() == ([] if refusal is None else ["kept"])


async def test_texts_that_were_kept_come_before_those_of_the_turn(hooks: Hooks) -> None:
    hooks.on("SessionStart")(lambda _event: add_context("first"))
    hooks.on("BeforeAgent")(lambda _event: add_context("then"))
    conversation = Conversation(hooks)
    assert (await TurnGate(conversation, "go").open(conversation.face)).texts == ("first", "then")


async def test_a_turn_is_sent_back_with_the_reason_as_the_next_prompt(hooks: Hooks) -> None:
    seen: list[Any] = []

    @hooks.on("AfterAgent")
    def check(event: Any) -> Any:
        seen.append((event["prompt"], event["prompt_response"], event["stop_hook_active"]))
        return deny("again") if len(seen) == 1 else None

    conversation = Conversation(hooks)
    turn = TurnGate(conversation, "go")
    first = await turn.close(conversation.face, "one")
    second = await turn.close(conversation.face, "two")
    assert (first.send_back, second.send_back) == ("again", None)
    assert seen == [("go", "one", False), ("again", "two", True)]
    assert turn.sent_back == 1


@pytest.mark.parametrize("before", [6, 7, 8])
async def test_a_turn_is_sent_back_eight_times_at_most_and_then_warned_of(
    hooks: Hooks, before: int, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("AfterAgent")(lambda _event: deny("again"))
    conversation = Conversation(hooks)
    turn = TurnGate(conversation, "go", sent_back=before)
    end = await turn.close(conversation.face, "one")
    assert end.send_back == ("again" if before < 8 else None)
    assert turn.prompt == ("again" if before < 8 else "go")
    assert ("sent the turn back 8 times; it ends here: again" in caplog.text) == (before == 8)


async def test_a_stop_at_the_end_of_a_turn_is_told_with_all_else_that_hooks_want(
    hooks: Hooks,
) -> None:
    said = {"continue": False, "stopReason": "enough", "systemMessage": "mind"}
    hooks.on("AfterAgent")(lambda _e: {**said, "hookSpecificOutput": {"clearContext": True}})
    conversation = Conversation(hooks)
    end = await TurnGate(conversation, "go").close(conversation.face, "one")
    assert (end.stop, end.send_back, end.clear_context) == ("enough", None, True)
    assert end.texts == ("[System] mind",)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('{"a": 1}', ("", {"a": 1})),
        ('so: {"a": 1}', ("so: ", {"a": 1})),
        ('a { b {"a": {"b": 1}}', ("a { b ", {"a": {"b": 1}})),
    ],
)
def test_a_text_is_split_from_the_json_object_at_its_end(text: str, parts: Any) -> None:
    assert split_json(text) == parts


@pytest.mark.parametrize("text", ["", "so", "{", '{"a": 1} so', "[1]"])
def test_a_text_that_does_not_end_with_a_json_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not end with a JSON object"):
        split_json(text)


@pytest.mark.parametrize(
    ("given", "details"),
    [
        ({"command": "git push"}, {"type": "exec", "title": "shell", "command": "git push"}),
        ({"command": 3}, {"type": "info", "title": "shell", "prompt": "sure?"}),
        ({}, {"type": "info", "title": "shell", "prompt": "sure?"}),
    ],
)
async def test_notification_hooks_read_what_the_user_is_asked_about(
    hooks: Hooks, given: dict[str, Any], details: dict[str, Any]
) -> None:
    noted = heard(hooks, "Notification")
    request = ConfirmationRequest("shell", given, "sure?")
    await announce_question(Conversation(hooks).face, request)
    [event] = noted
    assert event["notification_type"] == "ToolPermission"
    assert details.items() <= event["details"].items()
