"""What all adapters share: conversations, and the runs, model calls and tool calls in them."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from hookline import Hooks, add_context, deny, stop
from hookline.adapters.conversations import Conversation, Conversations, check_version
from hookline.adapters.steps import (
    Keep,
    ModelStep,
    Replace,
    Reply,
    RunState,
    Send,
    SendBack,
    ToolStep,
    announce_question,
    complete,
    find_record,
    outer_run,
    split_json,
)
from hookline.calls.tool import ConfirmationRequest
from hookline.errors import BlockedByHook, StoppedByHook


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
    ("answer", "refusal", "stops"),
    [(None, None, False), (deny("no"), "no", False), (stop("enough"), "enough", True)],
)
async def test_a_turn_begins_unless_hooks_refuse_or_stop_it(
    hooks: Hooks, answer: Any, refusal: str | None, stops: bool
) -> None:
    hooks.on("BeforeAgent")(lambda _event: answer)
    run = RunState(Conversation(hooks))
    run.keep("kept")
    start = await run.open_turn("go")
    assert (start.refusal, start.stop) == (refusal, stops)
    assert start.texts == (("kept",) if refusal is None else ())
    # What a refused turn did not send waits for the next.
    assert run.conversation.take() == ([] if refusal is None else ["kept"])
    decision = await ModelStep(run).open(lambda _texts: request())
    assert isinstance(decision, Reply if refusal else Send)


async def test_texts_that_were_kept_come_before_those_of_the_turn(hooks: Hooks) -> None:
    hooks.on("SessionStart")(lambda _event: add_context("first"))
    hooks.on("BeforeAgent")(lambda _event: add_context("then"))
    assert (await RunState(Conversation(hooks)).open_turn("go")).texts == ("first", "then")


async def test_a_turn_is_sent_back_with_the_reason_as_the_next_prompt(hooks: Hooks) -> None:
    seen: list[Any] = []

    @hooks.on("AfterAgent")
    def check(event: Any) -> Any:
        seen.append((event["prompt"], event["prompt_response"], event["stop_hook_active"]))
        return deny("again") if len(seen) == 1 else None

    run = RunState(Conversation(hooks))
    assert (await run.close_turn("none")).send_back is None
    await run.open_turn("go")
    assert (await run.close_turn("one")).send_back == "again"
    assert (await run.close_turn("two")).send_back is None
    assert seen == [("go", "one", False), ("again", "two", True)]
    assert run.sent_back == 1


@pytest.mark.parametrize("before", [6, 7, 8])
async def test_a_turn_is_sent_back_eight_times_at_most_and_then_warned_of(
    hooks: Hooks, before: int, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("AfterAgent")(lambda _event: deny("again"))
    run = RunState(Conversation(hooks))
    await run.open_turn("go", goes_on=True, sent_back=before)
    assert (await run.close_turn("one")).send_back == ("again" if before < 8 else None)
    assert run.prompt == ("again" if before < 8 else "go")
    assert ("sent the turn back 8 times; it ends here: again" in caplog.text) == (before == 8)


async def test_a_turn_that_was_stopped_is_not_sent_back(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("AfterAgent")(lambda _event: deny("again"))
    run = RunState(Conversation(hooks))
    await run.open_turn("go")
    run.end("enough")
    assert (await run.close_turn("one")).send_back is None
    assert "sent a turn back that other hooks had ended; it stays ended: again" in caplog.text


async def test_a_stop_at_the_end_of_a_turn_is_told_with_all_else_that_hooks_want(
    hooks: Hooks,
) -> None:
    answer = {"continue": False, "stopReason": "enough", "systemMessage": "mind"}
    hooks.on("AfterAgent")(lambda _e: {**answer, "hookSpecificOutput": {"clearContext": True}})
    run = RunState(Conversation(hooks))
    await run.open_turn("go")
    end = await run.close_turn("one")
    assert (end.stop, end.send_back, end.clear_context) == ("enough", None, True)
    assert run.stop == "enough"
    assert run.take_texts() == ["[System] mind"]


async def test_a_run_inside_a_tool_is_a_sub_agents_and_has_no_turn_of_its_own(
    hooks: Hooks,
) -> None:
    events = heard(hooks, "BeforeAgent", "BeforeTool", "AfterAgent")
    conversation = Conversations(hooks).of("s")
    outer = RunState(conversation, agent="main", turn_id="t")
    await outer.open_turn("go")
    with outer.inside_tool():
        run = RunState(Conversation(hooks), outer=outer_run(), agent="helper", agent_id="a")
    assert outer_run() is None
    await run.open_turn("look")
    await ToolStep(run, "shell", {}).open()
    await run.close_turn("done")
    await outer.close_turn("done")
    names = [event["hook_event_name"] for event in events]
    assert names == ["BeforeAgent", "BeforeTool", "AfterAgent"]
    assert [event.get("turn_id") for event in events] == ["t"] * 3
    helper = {"name": "helper", "id": "a", "parent": "main", "depth": 1}
    assert [event.get("agent") for event in events] == [None, helper, None]
    assert {event["session_id"] for event in events} == {"s"}
    run.keep("for the helper")
    assert (outer.take_texts(), run.take_texts()) == ([], ["for the helper"])
    run.end("enough")
    assert (outer.stop, run.is_ended) == ("enough", True)


async def test_a_sub_agent_with_other_hooks_has_their_session_and_does_not_stop_the_outer_run(
    hooks: Hooks,
) -> None:
    outer = RunState(Conversation(Hooks()), agent="main", turn_id="t")
    run = RunState(Conversation(hooks), outer=outer, agent="helper")
    assert (run.turn_id, run.agent.parent, run.agent.depth) == ("t", "main", 1)
    run.end("enough")
    assert (run.stop, outer.stop) == ("enough", None)


async def test_labels_of_the_session_are_in_the_events_of_its_runs(hooks: Hooks) -> None:
    events = heard(hooks, "BeforeAgent", "SessionStart")
    session = hooks.session("s", labels={"user": "ada"})
    run = RunState(Conversations(session).of("thread"), turn_id="t")
    await run.open_turn("go")
    assert [event["labels"] for event in events] == [{"user": "ada"}] * 2
    # A session belongs to no turn.
    assert [event.get("turn_id") for event in events] == [None, "t"]


def request() -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


def response(text: str) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


async def test_a_model_call_that_no_hook_touches_goes_on_with_its_own_objects(
    hooks: Hooks,
) -> None:
    heard(hooks, "BeforeModel", "AfterModel")
    step, given, answer = ModelStep(RunState(Conversation(hooks))), request(), response("Hello.")
    opening = await step.open(lambda _texts: given)
    assert isinstance(opening, Send)
    assert opening.request is given
    assert await step.close(answer) == Keep()


async def test_a_message_of_a_hook_waits_for_the_next_request_of_the_run(hooks: Hooks) -> None:
    hooks.on("AfterModel")(lambda _event: {"systemMessage": "mind"})
    run, shown = RunState(Conversation(hooks)), list[list[str]]()

    def show(texts: list[str]) -> Any:
        shown.append(texts)
        return request()

    for _ in range(2):
        step = ModelStep(run)
        await step.open(show)
        await step.close(response("Hello."))
    assert shown == [[], ["[System] mind"]]


async def test_a_response_that_a_hook_hides_is_kept_and_warned_of(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    hooks.on("AfterModel")(lambda _event: {"suppressOutput": True})
    step = ModelStep(RunState(Conversation(hooks)))
    await step.open(lambda _texts: request())
    assert await step.close(response("Hello.")) == Keep(hidden=True)
    assert "a hook wants this response hidden" in caplog.text


async def test_a_response_that_hooks_change_is_replaced_and_one_they_reject_ends_the_turn(
    hooks: Hooks,
) -> None:
    answers: list[Any] = [
        {"hookSpecificOutput": {"llm_response": {"text": "Good day."}}},
        deny("no"),
        stop("enough"),
    ]
    hooks.on("AfterModel")(lambda _event: answers.pop(0))
    step = ModelStep(RunState(Conversation(hooks)))
    closings = []
    for _ in range(3):
        await step.open(lambda _texts: request())
        closings.append(await step.close(response("Hello.")))
    replaced, blocked, stopped = closings
    assert isinstance(replaced, Replace)
    assert replaced.response["choices"][0]["message"]["content"] == "Good day."
    assert isinstance(blocked, Reply)
    assert (blocked.text, blocked.blocked, blocked.stop) == ("no", True, None)
    assert isinstance(blocked.error, BlockedByHook)
    assert isinstance(stopped, Reply)
    assert (stopped.text, stopped.response, stopped.stop) == ("enough", None, "enough")
    # From now on no model is called and no tool runs.
    last = await step.open(lambda _texts: request())
    assert isinstance(last, Reply)
    assert isinstance(last.error, StoppedByHook)


async def test_a_block_can_be_sent_back_where_the_model_call_ends_the_turn(hooks: Hooks) -> None:
    hooks.on("AfterModel")(lambda _event: deny("no"))
    hooks.on("AfterAgent")(lambda _event: deny("say it in French"))
    run = RunState(Conversation(hooks))
    await run.open_turn("go")
    step = ModelStep(run, ends_turns=True)
    await step.open(lambda _texts: request())
    assert await step.close(response("Hello.")) == SendBack("no", "say it in French")


async def test_a_tool_that_selection_does_not_allow_is_refused_where_it_is_called(
    hooks: Hooks, caplog: pytest.LogCaptureFixture
) -> None:
    chosen = {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["mail"]}}
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": chosen})
    run = RunState(Conversation(hooks))
    step = ModelStep(run, available_tools=["mail", "shell"])
    await step.open(lambda _texts: request())
    assert await step.close(response(""), calls=["shell", "mail"]) == Keep(refused=("shell",))
    assert caplog.text.count("the model called shell, which hooks do not allow") == 1
    refused = await ToolStep(run, "shell", {}).open()
    assert refused is not None
    assert refused.text == "The tool shell is not allowed in this call."
    assert await ToolStep(run, "mail", {}).open() is None


async def test_what_hooks_answered_is_taken_up_for_the_same_tool_and_input_alone(
    hooks: Hooks,
) -> None:
    rewritten = {"hookSpecificOutput": {"tool_input": {"amount": 1}}}
    events = heard(hooks, "BeforeTool", "Notification")
    hooks.on("BeforeTool")(lambda _event: {"decision": "ask", "reason": "sure?", **rewritten})
    run = RunState(Conversation(hooks))
    step = ToolStep(run, "pay", {"to": "ann"}, defers=True)
    assert await step.open() is None
    assert step.question is not None
    assert (step.question.reason, step.input) == ("sure?", {"to": "ann", "amount": 1})
    await step.announce()
    record = step.write_record()
    assert find_record([record], "pay", {"to": "eve"}) is None
    answered = find_record([record], "pay", {"to": "ann"})
    resumed = ToolStep(run, "pay", {"to": "ann"}, defers=True)
    assert await resumed.open(answered=answered, approved=True) is None
    assert (resumed.question, resumed.input) == (None, {"to": "ann", "amount": 1})
    refused = await ToolStep(run, "pay", {"to": "ann"}).open(answered=answered, approved=False)
    assert refused is not None
    assert "The user did not allow this call of pay: sure?" in refused.text
    assert [event["hook_event_name"] for event in events] == ["BeforeTool", "Notification"]


async def test_a_stop_of_a_sub_agent_is_in_the_outcome_of_the_tool_that_ran_it(
    hooks: Hooks,
) -> None:
    heard(hooks, "AfterTool")
    run = RunState(Conversation(hooks))

    def delegate(_given: Any) -> str:
        helper = RunState(run.conversation, outer=outer_run(run.conversation))
        helper.end("enough")
        return "done"

    outcome = await ToolStep(run, "delegate", {}).run(delegate)
    assert (outcome.text, outcome.ran, outcome.stop) == ("done", True, "enough")


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
