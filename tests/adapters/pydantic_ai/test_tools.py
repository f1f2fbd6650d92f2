"""Tool calls of an agent of Pydantic AI between BeforeTool and AfterTool."""

import asyncio
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, model_validator
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    ToolFailed,
    ToolReturn,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    CallDeferred,
    SkipToolExecution,
    SkipToolValidation,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset

from hookline import Hooks, add_context, ask, combine, deny, message, replace_result, rewrite, stop
from hookline.adapters.pydantic_ai import HooklineCapability
from tests.adapters.pydantic_ai.playing import (
    PLAYS,
    Event,
    Play,
    Script,
    call,
    note,
    tool_returns,
)


def make_agent(script: Script, hooks: Hooks, **given: Any) -> Agent[None, Any]:
    return Agent(script.model, capabilities=[HooklineCapability(hooks)], **given)


async def test_a_blocked_call_does_not_run_and_uses_no_retry_up() -> None:
    hooks, script = Hooks(), Script(*[call("shell", command="rm")] * 6, "Fine.")
    hooks.on("BeforeTool")(lambda _event: deny("not here"))
    agent = make_agent(script, hooks, retries=1)

    @agent.tool_plain
    def shell(command: str) -> str:
        raise AssertionError(command)

    result = await agent.run("Go on.")
    assert result.output == "Fine."
    assert [part.content for part in tool_returns(result.all_messages())] == ["not here"] * 6


async def test_a_rewritten_input_is_validated_by_the_tools_schema() -> None:
    hooks, script = Hooks(), Script(call("book", day="2026-11-16"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: rewrite(day="2026-12-24"))
    agent, days = make_agent(script, hooks), list[date]()
    noted = note(hooks, "AfterTool")

    @agent.tool_plain
    async def book(day: date, seats: int = 2) -> str:
        days.append(day)
        return f"{seats} seats"

    await agent.run("Go on.")
    assert days == [date(2026, 12, 24)]
    assert noted[0]["tool_input"] == {"day": "2026-12-24"}
    assert noted[0]["original_tool_input"] == {"day": "2026-11-16"}


async def test_a_rewritten_input_that_the_schema_refuses_is_a_clear_error_for_the_model() -> None:
    hooks, script = Hooks(), Script(*[call("book", day="2026-11-16")] * 4, "Fine.")
    hooks.on("BeforeTool")(lambda _event: rewrite(day="some day"))
    agent = make_agent(script, hooks, retries=1)

    @agent.tool_plain
    def book(day: date) -> str:
        raise AssertionError(day)

    result = await agent.run("Go on.")
    assert result.output == "Fine."
    (read,) = script.results(1)
    assert read.startswith("hooks rewrote the input of book into an invalid one, so it did")
    assert "some day" in read


@pytest.mark.parametrize("given", ['{"day": ', '["2026-11-16"]'])
async def test_arguments_that_are_no_object_are_the_frameworks_to_refuse(given: str) -> None:
    hooks, script = Hooks(), Script(ToolCallPart("book", given), "Fine.")
    noted = note(hooks, "BeforeTool")
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def book(day: date) -> str:
        raise AssertionError(day)

    assert (await agent.run("Go on.")).output == "Fine."
    assert not noted
    assert [part.outcome for part in tool_returns(script.requests[1])] == ["retried"]


async def test_arguments_as_json_are_read_and_rewritten_as_json() -> None:
    hooks = Hooks()
    script = Script(ToolCallPart("book", '{"day": "2026-11-16", "seats": 1}'), "Fine.")
    noted = note(hooks, "BeforeTool")
    hooks.on("BeforeTool")(lambda _event: rewrite(seats=3))
    agent = make_agent(script, hooks)

    @agent.tool_plain(strict=True)
    def book(day: date, seats: int) -> str:
        return f"{seats} on {day}"

    await agent.run("Go on.")
    assert noted[0]["tool_input"] == {"day": "2026-11-16", "seats": 1}
    assert script.results() == ["3 on 2026-11-16"]


async def test_a_stop_ends_the_run_with_its_reason_and_runs_no_tool_beside_it() -> None:
    hooks = Hooks()
    script = Script([call("wait", name="one"), call("shell"), call("wait", name="two")], "No.")
    hooks.on("BeforeTool", matcher="shell")(lambda _event: stop("enough"))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    async def wait(name: str) -> str:
        raise AssertionError(name)

    @agent.tool_plain
    def shell() -> str:
        raise AssertionError

    result = await agent.run("Go on.")
    assert result.output == "enough"
    assert len(script.requests) == 1
    # The history can be gone on with: every call has its answer.
    assert [part.content for part in tool_returns(result.all_messages())] == ["enough"] * 3


async def test_tools_in_parallel_each_have_their_own_hooks() -> None:
    hooks = Hooks()
    script = Script([call("echo", text=f"t{number}") for number in range(20)], "Fine.")

    @hooks.on("BeforeTool")
    async def before(event: Event) -> Any:
        text = event["tool_input"]["text"]
        await asyncio.sleep(0.001 * (int(text[1:]) % 5))
        return deny(f"no {text}") if int(text[1:]) % 4 == 0 else rewrite(text=f"{text}!")

    hooks.on("AfterTool")(lambda event: add_context(f"after {event['tool_input']['text']}"))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def echo(text: str) -> str:
        return text

    await agent.run("Go on.")
    assert script.results() == [
        f"no t{n}" if n % 4 == 0 else f"t{n}!\n\nafter t{n}!" for n in range(20)
    ]


async def test_sync_tools_run_in_threads_and_toolsets_are_hooked_by_the_names_the_model_calls() -> (
    None
):
    hooks, script = Hooks(), Script(call("files_read", path="a"), "Fine.")
    noted = note(hooks, "BeforeTool", "AfterTool")
    toolset = FunctionToolset[None]()

    @toolset.tool_plain
    def read(path: str) -> str:
        return f"content of {path}"

    agent = make_agent(script, hooks, toolsets=[toolset.prefixed("files")])
    await agent.run("Go on.")
    assert [event["tool_name"] for event in noted] == ["files_read", "files_read"]


# -- what tools return


class Seat(BaseModel):
    row: int
    letter: str


PICTURE = BinaryContent(data=b"png", media_type="image/png")


@pytest.mark.parametrize(
    "value",
    [
        Seat(row=3, letter="C"),
        {"row": 3},
        [1, 2],
        None,
        3,
        PICTURE,
        ["a picture:", PICTURE],
        ToolReturn(return_value={"row": 3}, content=["look", PICTURE], metadata={"trace": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("adds", [False, True], ids=["unchanged", "with context"])
async def test_a_tools_own_object_survives(value: Any, adds: bool) -> None:
    """Hooks that change nothing leave the very object; what they add stands beside it."""
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    noted = note(hooks, "AfterTool")
    if adds:
        hooks.on("AfterTool")(lambda _event: add_context("the note"))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> Any:
        return value

    result = await agent.run("Go on.")
    (part,) = tool_returns(result.all_messages())
    is_wrapped = isinstance(value, ToolReturn)
    assert part.content is (value.return_value if is_wrapped else value)
    assert part.metadata == (value.metadata if is_wrapped else None)
    sent = str(script.requests[1])
    assert ("the note" in sent) is adds
    assert not is_wrapped or "look" in sent
    assert "error" not in noted[0]["tool_response"]


async def test_hooks_are_shown_results_as_the_model_reads_them() -> None:
    hooks = Hooks()
    script = Script(call("look", what="seat"), call("look", what="list"), call("look", what="all"))
    noted = note(hooks, "AfterTool")
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look(what: str) -> Any:
        return {
            "seat": Seat(row=3, letter="C"),
            "list": [1, 2],
            "all": ToolReturn("text", content=["more", PICTURE], metadata={"trace": 1}),
        }[what]

    await agent.run("Go on.")
    shown = [event["tool_response"] for event in noted]
    assert shown[0]["llmContent"] == '{"row":3,"letter":"C"}'
    assert shown[1]["llmContent"] == "[1,2]"
    parts = shown[2]["llmContent"]
    assert parts[:2] == [{"text": "text"}, {"text": "more"}]
    assert parts[2]["mediaType"] == "image/png"
    assert shown[2]["metadata"] == {"trace": 1}


async def test_a_rejected_result_is_replaced_whatever_its_type() -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    hooks.on("AfterTool")(lambda _event: replace_result("[removed]"))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> ToolReturn:
        return ToolReturn(Seat(row=3, letter="C"), content="secret", metadata={"secret": 1})

    result = await agent.run("Go on.")
    assert script.results() == ["[removed]"]
    assert b"secret" not in result.all_messages_json()


async def test_system_messages_before_and_after_a_tool_are_read_by_the_model() -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: message("be quick"))
    hooks.on("AfterTool")(lambda _event: combine(message("well done"), add_context("a sandbox")))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        return "seen"

    await agent.run("Go on.")
    assert script.results() == ["seen\n\na sandbox\n\n[System] be quick\n\n[System] well done"]


# -- tools that raise


@pytest.mark.parametrize("answer", [None, replace_result("no disk")])
async def test_a_raising_tool_fires_after_tool_with_its_error_and_raises_on(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hooks, script = Hooks(), Script(call("look"))
    hooks.on("AfterTool")(lambda _event: answer)
    noted = note(hooks, "AfterTool")
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        await agent.run("Go on.")
    assert "the disk is full" in noted[0]["tool_response"]["error"]["message"]
    warning = "its exception still goes on to the caller: no disk"
    assert (warning in caplog.text) is (answer is not None)


@pytest.mark.parametrize("error", [ModelRetry, ToolFailed])
async def test_what_a_tool_raises_for_the_model_is_seen_by_hooks_first(error: Any) -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    noted = note(hooks, "AfterTool")
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        raise error("ask for a seat first")

    assert (await agent.run("Go on.")).output == "Fine."
    assert "ask for a seat first" in noted[0]["tool_response"]["error"]["message"]
    assert "ask for a seat first" in script.results()[0]


@pytest.mark.parametrize("error", [ModelRetry, ToolFailed])
async def test_what_a_tool_raises_for_the_model_can_be_replaced(error: Any) -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    hooks.on("AfterTool")(lambda _event: replace_result("[removed]"))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        raise error("the password is swordfish")

    result = await agent.run("Go on.")
    assert script.results() == ["[removed]"]
    assert b"swordfish" not in result.all_messages_json()


# -- calls that follow at once


def tail(name: str, **args: Any) -> Any:
    request = {"name": name, "args": args}
    return {"hookSpecificOutput": {"tailToolCallRequest": request}}


async def test_a_tail_call_runs_another_tool_through_its_own_validation_and_hooks() -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    hooks.on("AfterTool", matcher="look")(lambda _event: tail("book", day="2026-11-16"))
    noted = note(hooks, "BeforeTool", "AfterTool")
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        return "seen"

    @agent.tool_plain
    def book(day: date) -> Seat:
        assert isinstance(day, date)
        return Seat(row=day.day, letter="C")

    result = await agent.run("Go on.")
    (part,) = tool_returns(result.all_messages())
    assert part.content == Seat(row=16, letter="C")
    names = [(event["hook_event_name"], event["tool_name"]) for event in noted]
    assert names == [
        *(("BeforeTool", "look"), ("AfterTool", "look")),
        *(("BeforeTool", "book"), ("AfterTool", "book")),
    ]
    assert noted[2]["original_request_name"] == "look"


@pytest.mark.parametrize(
    ("following", "read"),
    [
        (tail("book", day="some day"), "hooks called book with an invalid input"),
        (tail("approve"), "seen"),
        (tail("nothing"), "seen"),
    ],
)
async def test_a_tail_call_that_cannot_run_does_not_break_the_run(
    following: Any, read: str
) -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    hooks.on("AfterTool", matcher="look")(lambda _event: following)
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        return "seen"

    @agent.tool_plain
    def book(day: date) -> str:
        raise AssertionError(day)

    @agent.tool_plain(requires_approval=True)
    def approve() -> str:
        raise AssertionError

    hooks.on("BeforeTool", matcher="approve")(lambda _event: None)
    assert (await agent.run("Go on.")).output == "Fine."
    assert script.results()[0].startswith(read)


# -- capabilities beside ours


class Skipping(AbstractCapability[Any]):
    """Takes every input as valid."""

    async def before_tool_validate(self, *_: Any, args: Any, **_given: Any) -> Any:
        raise SkipToolValidation(args)


class Caching(AbstractCapability[Any]):
    """Answers every call from a cache."""

    async def before_tool_execute(self, *_: Any, **_given: Any) -> Any:
        raise SkipToolExecution("from the cache")


@pytest.mark.parametrize("is_first", [True, False])
async def test_a_capability_that_skips_validation_does_not_skip_before_tool(is_first: bool) -> None:
    hooks, script = Hooks(), Script(call("shell", command="rm"), call("shell", command="ls"))

    @hooks.on("BeforeTool")
    def before(event: Event) -> Any:
        is_safe = event["tool_input"]["command"] == "ls"
        return rewrite(command="ls -l") if is_safe else deny("not here")

    beside: list[Any] = [Skipping(), HooklineCapability(hooks)]
    agent = Agent(script.model, capabilities=beside if is_first else beside[::-1])

    @agent.tool_plain
    def shell(command: str) -> str:
        return f"output of {command}"

    await agent.run("Go on.")
    assert script.results() == ["not here", "output of ls -l"]


class Order(BaseModel):
    command: str

    @model_validator(mode="before")
    @classmethod
    def read_text(cls, value: Any) -> Any:
        return {"command": value} if isinstance(value, str) else value


@pytest.mark.parametrize(
    "rewritten", [{"command": 5}, {"command": None}, {"order": {"command": []}}]
)
@pytest.mark.parametrize("beside", [[], [Skipping()]], ids=["a text as input", "skipped"])
async def test_a_rewritten_input_is_validated_wherever_before_tool_is_fired(
    beside: list[Any], rewritten: Any
) -> None:
    hooks = Hooks()
    order = ToolCallPart("shell", {"order": Order(command="rm")} if beside else '"rm"')
    script = Script(order, "Fine.")
    hooks.on("BeforeTool")(lambda _event: rewrite(**rewritten))
    noted = note(hooks, "BeforeTool")
    agent = Agent(script.model, capabilities=[*beside, HooklineCapability(hooks)])

    @agent.tool_plain
    def shell(order: Order) -> str:
        raise AssertionError(order)

    assert (await agent.run("Go on.")).output == "Fine."
    assert [event["tool_input"] for event in noted] == [{"order": {"command": "rm"}}]
    assert script.results()[0].startswith("hooks rewrote the input of shell into an invalid one")


async def test_a_result_of_another_capability_goes_through_after_tool() -> None:
    hooks, script = Hooks(), Script(call("shell"), "Fine.")
    hooks.on("AfterTool")(lambda _event: add_context("a sandbox"))
    agent = Agent(script.model, capabilities=[HooklineCapability(hooks), Caching()])

    @agent.tool_plain
    def shell() -> str:
        raise AssertionError

    await agent.run("Go on.")
    assert script.results() == ["from the cache\n\na sandbox"]


async def test_two_capabilities_with_hooks_both_count() -> None:
    script = Script(call("shell", command="rm"), call("shell", command="mv"), "Fine.")
    one, two = Hooks(), Hooks()
    one.on("BeforeTool")(lambda e: deny("rm") if e["tool_input"]["command"] == "rm" else None)
    two.on("BeforeTool")(lambda e: deny("mv") if e["tool_input"]["command"] == "mv" else None)
    agent = Agent(script.model, capabilities=[HooklineCapability(one), HooklineCapability(two)])

    @agent.tool_plain
    def shell(command: str) -> str:
        raise AssertionError(command)

    await agent.run("Go on.")
    assert script.results() == ["rm", "mv"]


# -- deferred tools of the framework's own


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_blocked_call_of_an_external_tool_is_not_handed_out(play: Play) -> None:
    hooks, script = Hooks(), Script([call("remote", n=1), call("remote", n=2)], "Fine.")
    hooks.on("BeforeTool")(
        lambda event: deny("not here") if event["tool_input"]["n"] == 1 else None
    )
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    external = ExternalToolset[None]([ToolDefinition(name="remote", parameters_json_schema=schema)])
    agent = make_agent(script, hooks, toolsets=[external], output_type=[str, DeferredToolRequests])
    played = await play(agent, "Go on.")
    assert isinstance(played.output, DeferredToolRequests)
    assert [handed.args_as_dict() for handed in played.output.calls] == [{"n": 2}]
    results = DeferredToolResults(calls={played.output.calls[0].tool_call_id: "done"})
    played = await play(agent, None, message_history=played.messages, deferred_tool_results=results)
    assert played.output == "Fine."
    assert script.results() == ["not here", "done"]


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_call_of_a_deferred_tool_that_hooks_do_not_choose_is_not_handed_out(
    play: Play,
) -> None:
    hooks, script = Hooks(), Script([call("remote"), call("pay")], "Fine.")
    hooks.on("BeforeToolSelection")(
        lambda _e: {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}
    )
    external = ExternalToolset[None]([ToolDefinition(name="remote")])
    agent = make_agent(script, hooks, toolsets=[external], output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def pay() -> str:
        raise AssertionError

    assert (await play(agent, "Go on.")).output == "Fine."
    assert "remote is not allowed" in script.results()[0]
    assert "pay is not allowed" in script.results()[1]


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
@pytest.mark.parametrize("is_text", [True, False])
async def test_an_external_tool_is_handed_out_with_the_input_that_hooks_rewrote(
    play: Play, is_text: bool
) -> None:
    hooks = Hooks()
    called = [ToolCallPart("remote", '{"n": 1}' if is_text else {"n": 1}), call("local", n=1)]
    script = Script(called, "Fine.")
    hooks.on("BeforeTool")(lambda _event: rewrite(n=2))
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    external = ExternalToolset[None]([ToolDefinition(name="remote", parameters_json_schema=schema)])
    agent = make_agent(script, hooks, toolsets=[external], output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    def local(n: int) -> str:
        assert n == 2
        raise CallDeferred

    played = await play(agent, "Go on.")
    assert isinstance(played.output, DeferredToolRequests)
    assert [handed.args_as_dict() for handed in played.output.calls] == [{"n": 2}] * 2


async def test_run_stream_does_not_hand_out_a_blocked_call_beside_a_text() -> None:
    hooks, script = Hooks(), Script(["I call.", call("remote")])
    hooks.on("BeforeTool")(lambda _event: deny("not here"))
    external = ExternalToolset[None]([ToolDefinition(name="remote")])
    agent = make_agent(script, hooks, toolsets=[external], output_type=[str, DeferredToolRequests])
    played = await PLAYS["run_stream"](agent, "Go on.")
    assert played.output == "I call."
    assert [part.content for part in tool_returns(played.messages)] == ["not here"]


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_an_external_call_is_handed_out_once_the_user_has_approved_it(play: Play) -> None:
    hooks, script = Hooks(), Script(call("remote", n=1), "Fine.")
    hooks.on("BeforeTool")(lambda _event: combine(ask("really?"), rewrite(n=2)))
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    external = ExternalToolset[None]([ToolDefinition(name="remote", parameters_json_schema=schema)])
    agent = make_agent(script, hooks, toolsets=[external], output_type=[str, DeferredToolRequests])
    played = await play(agent, "Go on.")
    (asked,) = played.output.approvals
    assert not played.output.calls
    assert [*played.output.metadata.values()] == [{"reason": "really?", "tool_input": {"n": 2}}]
    answers = DeferredToolResults(approvals={asked.tool_call_id: True})
    played = await play(agent, None, message_history=played.messages, deferred_tool_results=answers)
    assert not played.output.approvals
    (handed,) = played.output.calls
    assert handed.args_as_dict() == {"n": 2}
    results = DeferredToolResults(calls={handed.tool_call_id: "done"})
    played = await play(agent, None, message_history=played.messages, deferred_tool_results=results)
    assert played.output == "Fine."
    assert script.results() == ["done"]


@pytest.mark.parametrize("is_confirmed", [True, False])
async def test_a_callback_is_asked_before_an_external_call_is_handed_out(
    is_confirmed: bool,
) -> None:
    hooks, script = Hooks(), Script(call("remote"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    agent = Agent(
        script.model,
        toolsets=[ExternalToolset[None]([ToolDefinition(name="remote")])],
        output_type=[str, DeferredToolRequests],
        capabilities=[HooklineCapability(hooks, confirm=lambda _request: is_confirmed)],
    )
    output = (await agent.run("Go on.")).output
    if is_confirmed:
        assert isinstance(output, DeferredToolRequests)
        assert len(output.calls) == 1
    else:
        assert script.results() == ["The user did not allow this call of remote: really?"]


async def test_a_tool_that_is_always_approved_is_asked_about_once() -> None:
    hooks, script = Hooks(), Script(call("shell"), "Fine.")
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    noted = note(hooks, "Notification")
    agent = make_agent(script, hooks, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def shell() -> str:
        return "ran"

    result = await agent.run("Go on.")
    assert isinstance(result.output, DeferredToolRequests)
    assert len(result.output.approvals) == len(noted) == 1
    assert [*result.output.metadata.values()] == [{"reason": "really?"}]
    answers = DeferredToolResults(approvals={result.output.approvals[0].tool_call_id: True})
    result = await agent.run(message_history=result.all_messages(), deferred_tool_results=answers)
    assert result.output == "Fine."
    assert script.results() == ["ran"]


# -- the framework's own rules


async def test_a_model_that_uses_ids_again_gets_no_hooks_of_an_earlier_call() -> None:
    hooks = Hooks()
    script = Script(
        ToolCallPart("book", {"day": "some day"}, "0"),
        ToolCallPart("look", {"at": "it"}, "0"),
        ToolCallPart("look", {"at": 7}, "0"),
        ToolCallPart("remote", {"n": 1}, "0"),
    )
    hooks.on("BeforeTool", matcher="book")(lambda _e: combine(ask("really?"), rewrite(day="none")))
    noted = note(hooks, "AfterTool")
    external = ExternalToolset[None]([ToolDefinition(name="remote")])
    agent = make_agent(script, hooks, toolsets=[external], output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    def book(day: date) -> str:
        raise AssertionError(day)

    @agent.tool_plain
    def look(at: str) -> str:
        return f"seen {at}"

    output = (await agent.run("Go on.")).output
    assert [handed.args for handed in output.calls] == [{"n": 1}]
    assert "rewrote the input of book" in script.results()[0]
    assert script.results()[1] == "seen it"
    assert "rewrote" not in script.results()[2]
    assert [event["tool_name"] for event in noted] == ["look"]


async def test_a_models_own_mistakes_still_use_its_retries_up() -> None:
    hooks, script = Hooks(), Script(*[call("book", day="some day")] * 3)
    note(hooks, "BeforeTool", "AfterTool")
    agent = make_agent(script, hooks, retries=1)

    @agent.tool_plain
    def book(day: date) -> str:
        raise AssertionError(day)

    with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries"):
        await agent.run("Go on.")


async def test_output_tools_are_no_tools_for_hooks() -> None:
    hooks = Hooks()
    noted = note(hooks, "BeforeTool", "AfterTool")
    agent = Agent(TestModel(), output_type=Seat, capabilities=[HooklineCapability(hooks)])
    assert isinstance((await agent.run("Go on.")).output, Seat)
    assert not noted
