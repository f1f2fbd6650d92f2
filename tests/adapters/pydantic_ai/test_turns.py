"""Turns, sessions and model calls of an agent of Pydantic AI."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelRetry, NativeOutput, PromptedOutput, RunContext, TextOutput
from pydantic_ai.capabilities import AbstractCapability, BatchModelRequests
from pydantic_ai.exceptions import UnexpectedModelBehavior, UserError
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage, UsageLimits
from pydantic_graph import End

from hookline import Config, DebugLogger, Hooks, add_context, deny, message, stop
from hookline.adapters.pydantic_ai import HooklineCapability
from hookline.errors import BlockedByHook, StoppedByHook
from hookline.pipeline.answer import most_sent_back
from tests.adapters.pydantic_ai.playing import PLAYS, Event, Play, Script, call, note

ADDRESS = "ann@example.org"


class Seat(BaseModel):
    row: int


STRUCTURED: dict[str, Any] = {
    "tool": Seat,
    "native": NativeOutput(Seat),
    "prompted": PromptedOutput(Seat),
}


def make_agent(script: Script, hooks: Hooks, **given: Any) -> Agent[None, Any]:
    return Agent(script.model, capabilities=[HooklineCapability(hooks)], **given)


def answer(**response: Any) -> Any:
    return {"hookSpecificOutput": {"llm_response": response}}


def redact(event: Event) -> Any:
    text = event["llm_response"].get("text", "")
    return answer(text=text.replace(ADDRESS, "[address]")) if ADDRESS in text else None


async def test_a_log_has_the_events_that_no_hook_matches() -> None:
    logged: list[str] = []

    class Log(DebugLogger):
        enabled = True

        def event(self, *_arguments: Any, event: str, **_more: Any) -> None:
            logged.append(event)

    await make_agent(Script("Fine."), Hooks(debug_logger=Log())).run("Go on.")
    assert logged == [
        *("SessionStart", "BeforeAgent", "BeforeToolSelection"),
        *("BeforeModel", "AfterModel", "AfterAgent"),
    ]


# -- redaction


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_redaction_leaves_no_trace(play: Play) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    script = Script(call("look"), f"Write to {ADDRESS} today.", "Fine.")
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        return "seen"

    played = await play(agent, "Whom do I ask?")
    assert played.output == "Write to [address] today."
    assert ADDRESS not in repr(played.events)
    assert ADDRESS not in "".join(
        getattr(getattr(event, "delta", None), "content_delta", None) or ""
        for event in played.events
    )
    assert ADDRESS.encode() not in played.json
    assert ADDRESS.encode() not in ModelMessagesTypeAdapter.dump_json(played.messages)
    await play(agent, "Thank you.", message_history=played.messages)
    assert "[address]" in str(script.requests[-1])
    assert ADDRESS not in str(script.requests)


async def test_a_stream_is_held_back_only_where_hooks_can_change_it(tmp_path: Path) -> None:
    observer = {"type": "command", "command": "cat >> seen", "async": True}
    hooks = Hooks(working_dir=tmp_path, hooks={"AfterModel": [{"hooks": [observer]}]})
    sent: list[str] = []

    async def stream(_messages: list[ModelMessage], _info: Any) -> AsyncIterator[str]:
        for piece in ("A ", "long ", "answer."):
            sent.append(piece)
            yield piece

    model = FunctionModel(stream_function=stream)
    agent = Agent(model, capabilities=[HooklineCapability(hooks)])

    async def count_sent() -> list[int]:
        """How much the model had sent when each piece was read."""
        sent.clear()
        async with agent.run_stream("Go on.") as result:
            pieces = result.stream_text(delta=True, debounce_by=None)
            return [len(sent) async for _ in pieces]

    with hooks:
        assert await count_sent() == [1, 2, 3]
        assert hooks.config.engine.wait_for_background(30)
        assert (tmp_path / "seen").read_text("utf-8").count('"text":"A long answer."') == 1
        hooks.on("AfterModel")(lambda _event: None)
        assert await count_sent() == [3, 3, 3]
        assert hooks.config.engine.wait_for_background(30)


async def test_usage_and_model_of_a_denied_response_are_counted() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: deny("not this"))

    def reply(_messages: list[ModelMessage], _info: Any) -> ModelResponse:
        return ModelResponse([TextPart("x")], usage=RequestUsage(input_tokens=7, output_tokens=5))

    agent = Agent(FunctionModel(reply), capabilities=[HooklineCapability(hooks)])
    result = await agent.run("Go on.")
    assert result.output == "not this"
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 5)


# -- requests


async def test_before_model_rewrites_messages_and_settings_and_adds_a_system_message() -> None:
    hooks, script = Hooks(), Script("Fine.")

    @hooks.on("BeforeModel")
    def before(event: Event) -> Any:
        shown = event["llm_request"]["messages"]
        assert [each["role"] for each in shown] == ["system", "user"]
        shown[1]["content"] = "Good evening."
        request = {"messages": shown, "config": {"temperature": 0.25, "maxOutputTokens": 9}}
        return {"systemMessage": "be kind", "hookSpecificOutput": {"llm_request": request}}

    agent = make_agent(script, hooks, system_prompt="You are a clerk.", model_settings={"seed": 3})
    result = await agent.run("Good morning.")
    settings: Any = script.infos[0].model_settings
    assert (settings["temperature"], settings["max_tokens"], settings["seed"]) == (0.25, 9, 3)
    sent = [part.content for part in script.requests[0][0].parts]  # type: ignore[union-attr]
    assert sent[:2] == ["You are a clerk.", "Good evening."]
    assert "be kind" in str(script.requests[0])
    # What is stored is the user's own: hooks see each request, and change it again.
    assert b"Good morning." in result.all_messages_json()


class Counting(FunctionModel):
    """Counts tokens as a provider does: by being sent the messages."""

    def __init__(self) -> None:
        super().__init__(lambda _messages, _info: ModelResponse([TextPart("Fine.")]))
        self.counted: list[str] = []

    async def count_tokens(self, messages: list[ModelMessage], *_: Any) -> RequestUsage:
        self.counted.append(str(messages))
        return RequestUsage(input_tokens=3)


@pytest.mark.parametrize("is_denied", [True, False])
async def test_tokens_are_counted_of_the_request_that_hooks_leave(is_denied: bool) -> None:
    hooks, model = Hooks(), Counting()

    @hooks.on("BeforeModel")
    def before(event: Event) -> Any:
        shown = event["llm_request"]["messages"]
        shown[0]["content"] = shown[0]["content"].replace("swordfish", "[word]")
        edit = {"hookSpecificOutput": {"llm_request": {"messages": shown}}}
        return deny("no") if is_denied else edit

    noted = note(hooks, "BeforeModel")
    agent = Agent(model, capabilities=[HooklineCapability(hooks)])
    limits = UsageLimits(input_tokens_limit=99, count_tokens_before_request=True)
    result = await agent.run("It is swordfish.", usage_limits=limits)
    assert result.output == ("no" if is_denied else "Fine.")
    assert ["[word]" in counted for counted in model.counted] == ([] if is_denied else [True])
    assert "swordfish" not in str(model.counted)
    assert len(noted) == 1


async def test_a_system_message_after_a_response_is_read_with_the_next_request() -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.", "Fine.")
    hooks.on("AfterModel")(lambda _event: message("mind the gap"))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        return "seen"

    result = await agent.run("Go on.")
    assert "mind the gap" not in str(script.requests[0])
    assert str(script.requests[1]).count("[System] mind the gap") == 1
    await agent.run("And then?", message_history=result.all_messages())
    assert str(script.requests[2]).count("[System] mind the gap") == 1
    # The history keeps the user's own messages.
    assert "mind the gap" not in str(result.all_messages())


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel", "AfterAgent"])
async def test_what_a_hook_says_while_it_ends_a_turn_is_read_in_the_next_one(event: Any) -> None:
    hooks, script = Hooks(), Script("One.", "Two.")
    said = iter([{} if event == "AfterAgent" else deny("not this")])
    hooks.on(event)(lambda _event: next(({**each, **message("mind it")} for each in said), None))
    capability = HooklineCapability(hooks, session_id=lambda _ctx: "one")
    agent = Agent(script.model, capabilities=[capability])
    assert (await agent.run("Go.")).output == ("One." if event == "AfterAgent" else "not this")
    await agent.run("And?")
    counts = [str(request).count("[System] mind it") for request in script.requests]
    assert counts == ([1] if event == "BeforeModel" else [0, 1])


async def test_tools_that_hooks_do_not_choose_are_not_offered_and_output_tools_are() -> None:
    hooks, script = Hooks(), Script(call("mail"), call("final_result", row=3))
    chosen = {"mode": "AUTO", "allowedFunctionNames": ["look"]}
    hooks.on("BeforeToolSelection")(lambda _e: {"hookSpecificOutput": {"toolConfig": chosen}})
    noted = note(hooks, "BeforeToolSelection", "BeforeTool")
    agent = make_agent(script, hooks, output_type=Seat)

    @agent.tool_plain
    def look() -> str:
        raise AssertionError

    @agent.tool_plain
    def mail() -> str:
        raise AssertionError

    result = await agent.run("Go on.")
    assert result.output == Seat(row=3)
    assert noted[0]["available_tools"] == ["look", "mail"]
    assert [tool.name for tool in script.infos[0].function_tools] == ["look"]
    assert [tool.name for tool in script.infos[0].output_tools] == ["final_result"]
    assert script.results() == ["The tool mail is not allowed in this call."]
    assert all(event["hook_event_name"] != "BeforeTool" for event in noted)


async def test_under_none_a_structured_answer_still_comes_back() -> None:
    hooks = Hooks()
    hooks.on("BeforeToolSelection")(
        lambda _e: {"hookSpecificOutput": {"toolConfig": {"mode": "NONE"}}}
    )
    agent = Agent(TestModel(), output_type=Seat, capabilities=[HooklineCapability(hooks)])

    @agent.tool_plain
    def look() -> str:
        raise AssertionError

    assert isinstance((await agent.run("Go on.")).output, Seat)


class Contact(BaseModel):
    address: str


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
@pytest.mark.parametrize(
    "beside",
    [(), ("Here it is:",), ("Here {it} is:",)],
    ids=["alone", "beside a text", "beside a text with braces"],
)
async def test_a_structured_answer_is_redacted_too(play: Play, beside: tuple[str, ...]) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    script = Script([*beside, call("final_result", address=ADDRESS)], "Fine.")
    agent = make_agent(script, hooks, output_type=Contact)
    played = await play(agent, "Whom do I ask?")
    assert played.output == Contact(address="[address]")
    assert ADDRESS not in repr(played.events)
    assert ADDRESS not in repr(played.messages)
    if beside and play is PLAYS["run"]:
        assert beside[0] in repr(played.messages)


async def test_a_structured_answer_that_hooks_leave_alone_is_the_models_own() -> None:
    hooks = Hooks()
    noted = note(hooks, "AfterModel")
    script = Script(call("final_result", address=ADDRESS))
    result = await make_agent(script, hooks, output_type=Contact).run("Whom do I ask?")
    assert result.output == Contact(address=ADDRESS)
    assert noted[0]["llm_response"]["text"] == f'{{"address":"{ADDRESS}"}}'


@pytest.mark.parametrize("text", ["none of your business", "[1]", ""])
async def test_a_structured_answer_that_hooks_make_none_is_a_clear_block(text: str) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: answer(text=text))
    script = Script(call("final_result", address=ADDRESS))
    with pytest.raises(BlockedByHook, match="no JSON object in place of its structured answer"):
        await make_agent(script, hooks, output_type=Contact).run("Whom do I ask?")
    assert len(script.requests) == 1


# -- ends


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
@pytest.mark.parametrize(
    "event", ["BeforeAgent", "BeforeToolSelection", "BeforeModel", "AfterModel"]
)
async def test_a_stop_ends_the_run_with_its_reason(play: Play, event: str) -> None:
    hooks, script = Hooks(), Script(call("look"), "Fine.")
    hooks.on(event)(lambda _event: stop("enough"))
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        raise AssertionError

    played = await play(agent, "Go on.")
    assert played.output == "enough"
    assert len(script.requests) == (1 if event == "AfterModel" else 0)
    assert "Go on." in str(played.messages)


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
@pytest.mark.parametrize("output", STRUCTURED.values(), ids=STRUCTURED)
@pytest.mark.parametrize(
    ("event", "said", "error"),
    [
        ("BeforeAgent", stop("enough"), StoppedByHook),
        ("BeforeAgent", deny("no"), BlockedByHook),
        ("BeforeModel", deny("no"), BlockedByHook),
        ("BeforeModel", answer(text="From the cache."), BlockedByHook),
        ("AfterModel", deny("no"), BlockedByHook),
        ("AfterModel", stop("enough"), StoppedByHook),
    ],
)
async def test_with_a_structured_output_an_early_end_is_a_clear_exception(
    play: Play, output: Any, event: str, said: Any, error: type[Exception]
) -> None:
    hooks, script = Hooks(), Script("A text.", "A text.", "A text.")
    hooks.on(event)(lambda _event: said)
    agent = make_agent(script, hooks, output_type=output)
    with pytest.raises(error) as raised:
        await play(agent, "Go on.")
    assert (
        said.get("reason") or said.get("stopReason") or "in the model's place" in str(raised.value)
    )
    assert len(script.requests) == (1 if event == "AfterModel" else 0)


async def test_an_output_that_takes_texts_too_ends_with_the_reason() -> None:
    hooks, script = Hooks(), Script("Fine.")
    hooks.on("BeforeModel")(lambda _event: deny("no"))
    both: Any = [str, Seat]
    assert (await make_agent(script, hooks, output_type=both).run("Go on.")).output == "no"

    def shout(text: str) -> str:
        return text.upper()

    shouted = make_agent(script, hooks, output_type=TextOutput(shout))
    assert (await shouted.run("Go on.")).output == "NO"


async def test_a_validator_that_does_not_take_the_reason_gets_no_second_answer() -> None:
    hooks, script = Hooks(), Script("Fine.")
    hooks.on("BeforeModel")(lambda _event: deny("no"))
    noted = note(hooks, "BeforeModel")
    agent = make_agent(script, hooks, retries=5)

    @agent.output_validator
    def check(_output: str) -> str:
        raise ModelRetry("try again")

    with pytest.raises(BlockedByHook, match="no"):
        await agent.run("Go on.")
    assert len(noted) == 1
    assert not script.requests


class Following(AbstractCapability[Any]):
    """Has something more to say when the run is about to end."""

    def __init__(self) -> None:
        self.said = False

    async def after_node_run(self, ctx: RunContext[Any], *, result: Any, **_given: Any) -> Any:
        if isinstance(result, End) and not self.said:
            self.said = True
            ctx.enqueue("One more thing.")
        return result


async def test_a_run_that_goes_on_after_an_answer_in_the_models_place_asks_hooks_anew() -> None:
    hooks, script = Hooks(), Script("Fine.")
    answers = iter([answer(text="From the cache."), None])
    hooks.on("BeforeModel")(lambda _event: next(answers))
    beside: list[AbstractCapability[Any]] = [Following(), HooklineCapability(hooks)]
    agent = Agent(script.model, capabilities=beside)
    assert (await agent.run("Go on.")).output == "Fine."
    assert "One more thing." in str(script.requests[0])


async def test_a_model_that_returns_nothing_is_the_frameworks_to_ask_again() -> None:
    hooks, script = Hooks(), Script([], [], [])
    noted = note(hooks, "AfterModel")
    with pytest.raises(UnexpectedModelBehavior):
        await make_agent(script, hooks).run("Go on.")
    assert len(noted) == 2
    script = Script([], "Fine.")
    assert (await make_agent(script, hooks).run("Go on.")).output == "Fine."


# -- turns


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_refused_prompt_is_forgotten(play: Play) -> None:
    hooks, script = Hooks(), Script("Fine.")
    hooks.on("BeforeAgent")(lambda e: deny("no") if "swordfish" in e["prompt"] else None)
    noted = note(hooks, "AfterAgent", "BeforeModel")
    agent = make_agent(script, hooks)
    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart("Hello.")]),
        ModelResponse([TextPart("Hello.")]),
    ]
    played = await play(agent, "It is swordfish.", message_history=history)
    assert played.output == "no"
    assert not noted
    assert b"swordfish" not in played.json
    assert "swordfish" not in str(played.messages)
    await play(agent, "Good morning.", message_history=played.messages)
    assert "swordfish" not in str(script.requests)
    assert len(history) == 2


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
async def test_a_prompt_in_the_history_alone_is_a_prompt_too(play: Play) -> None:
    hooks, script = Hooks(), Script("Fine.")
    hooks.on("BeforeAgent")(lambda e: deny("no") if "swordfish" in e["prompt"] else None)
    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart("Hello.")]),
        ModelResponse([TextPart("Hello.")]),
        ModelRequest([UserPromptPart(["It is", " swordfish."])]),
    ]
    played = await play(make_agent(script, hooks), None, message_history=history)
    assert played.output == "no"
    assert not script.requests
    assert "Hello." in str(played.messages)
    assert "swordfish" not in str(played.messages)
    assert len(history) == 3


async def test_what_hooks_add_to_a_prompt_stands_beside_it() -> None:
    hooks, script = Hooks(), Script("Fine.", "Fine.")
    hooks.on("SessionStart")(lambda _event: add_context("you are in Berlin"))
    hooks.on("BeforeAgent")(lambda _event: add_context("today is Monday"))
    agent = make_agent(script, hooks)
    result = await agent.run("Go on.")
    assert "you are in Berlin\\n\\ntoday is Monday" in repr(script.requests[0])
    await agent.run("And then?", message_history=result.all_messages())
    assert repr(script.requests[1]).count("Berlin") == 1
    assert repr(script.requests[1]).count("Monday") == 2


@pytest.mark.parametrize("name", [name for name in PLAYS if name != "run_stream"])
async def test_a_turn_is_sent_back_a_few_times_at_most(name: str) -> None:
    hooks, script = Hooks(), Script(*["Not yet."] * 20)
    hooks.on("AfterAgent")(lambda _event: deny("go on"))
    noted = note(hooks, "AfterAgent")
    played = await PLAYS[name](make_agent(script, hooks), "Go on.")
    assert played.output == "Not yet."
    assert len(script.requests) == most_sent_back() + 1
    assert [event["stop_hook_active"] for event in noted] == [False] + [True] * most_sent_back()


async def test_run_stream_cannot_be_sent_back_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks, script = Hooks(), Script("Not yet.", "Fine.")
    hooks.on("AfterAgent")(lambda _event: deny("go on"))
    played = await PLAYS["run_stream"](make_agent(script, hooks), "Go on.")
    assert played.output == "Not yet."
    assert len(script.requests) == 1
    assert "run_stream cannot go on; use run instead: go on" in caplog.text


async def test_a_structured_answer_is_sent_back_too() -> None:
    hooks = Hooks()
    script = Script(call("final_result", row=1), call("final_result", row=2))
    hooks.on("AfterAgent")(lambda e: None if e["stop_hook_active"] else deny("another row"))
    noted = note(hooks, "AfterAgent")
    agent = make_agent(script, hooks, output_type=Seat)
    assert (await agent.run("Go on.")).output == Seat(row=2)
    assert [event["prompt_response"] for event in noted] == ['{"row":1}', '{"row":2}']


async def test_hooks_can_clear_the_context() -> None:
    hooks, script = Hooks(), Script("Fine.")
    hooks.on("AfterAgent")(lambda _e: {"hookSpecificOutput": {"clearContext": True}})
    result = await make_agent(script, hooks).run("Go on.")
    assert result.output == "Fine."
    assert result.all_messages() == []


# -- sessions


async def test_a_conversation_is_a_session_and_goes_on_with_its_history() -> None:
    hooks, script = Hooks(), Script()
    noted = note(hooks, "SessionStart", "BeforeAgent", "SessionEnd")
    with HooklineCapability(hooks) as capability:
        agent = Agent(script.model, capabilities=[capability])
        first = await agent.run("One.")
        await agent.run("Two.", message_history=first.all_messages())
        await agent.run("Three.")
    names = [event["hook_event_name"] for event in noted]
    assert names == [
        *("SessionStart", "BeforeAgent", "BeforeAgent", "SessionStart", "BeforeAgent"),
        *("SessionEnd", "SessionEnd"),
    ]
    ids = [event["session_id"] for event in noted]
    assert ids[0] == ids[1] == ids[2] == ids[5] == first.conversation_id
    assert ids[3] == ids[4] == ids[6] != ids[0]


async def test_the_sessions_of_an_async_with_end_with_it() -> None:
    hooks = Hooks()
    noted = note(hooks, "SessionEnd")
    async with HooklineCapability(hooks) as capability:
        await Agent(Script().model, capabilities=[capability]).run("One.")
        assert noted == []
    assert len(noted) == 1


async def test_a_session_can_be_named_given_or_loaded_from_a_path(tmp_path: Path) -> None:
    hooks, script = Hooks(), Script()
    noted = note(hooks, "BeforeAgent")

    def name(ctx: RunContext[Any]) -> str:
        return f"user-{ctx.deps}"

    agent = Agent(
        script.model, deps_type=int, capabilities=[HooklineCapability(hooks, session_id=name)]
    )
    await agent.run("Go on.", deps=7)
    given = Agent(script.model, capabilities=[HooklineCapability(hooks.session("mine"))])
    await given.run("Go on.")
    assert [event["session_id"] for event in noted] == ["user-7", "mine"]
    script_file = tmp_path / "deny.sh"
    script_file.write_text("#!/bin/sh\necho 'not in this project' >&2; exit 2\n")
    script_file.chmod(0o755)
    settings = {"BeforeAgent": [{"hooks": [{"type": "command", "command": str(script_file)}]}]}
    config = Config(hooks=settings, trusted=True, working_dir=tmp_path)
    loaded = Agent(script.model, capabilities=[HooklineCapability(config)])
    assert (await loaded.run("Go on.")).output == "not in this project"
    here = Agent(script.model, capabilities=[HooklineCapability(tmp_path)])
    assert (await here.run("Go on.")).output == "Nothing more."


# -- failures


@pytest.mark.parametrize("event", ["BeforeAgent", "BeforeModel", "AfterModel", "BeforeTool"])
@pytest.mark.parametrize("fails_closed", [True, False])
async def test_a_failing_hook_blocks_only_where_it_fails_closed(
    event: str, fails_closed: bool
) -> None:
    hooks, script, ran = Hooks(), Script(call("look"), "Fine."), list[str]()

    def fail(_event: Event) -> Any:
        raise LookupError("no policy")

    hooks.on(event, on_failure="block" if fails_closed else "allow")(fail)
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        ran.append("look")
        return "seen"

    result = await agent.run("Go on.")
    if not fails_closed:
        assert (result.output, ran) == ("Fine.", ["look"])
    else:
        assert not ran
        assert "no policy" in (script.results()[0] if event == "BeforeTool" else result.output)


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
@pytest.mark.parametrize(
    ("event", "ran", "asked"),
    [
        ("BeforeAgent", 0, 0),
        ("BeforeToolSelection", 0, 2),
        ("BeforeModel", 0, 0),
        ("AfterModel", 0, 1),
        ("BeforeTool", 0, 2),
        ("AfterTool", 1, 2),
    ],
)
async def test_in_strict_mode_every_failing_hook_blocks(
    play: Play, event: str, ran: int, asked: int
) -> None:
    hooks, script, done = Hooks(strict=True), Script(call("look"), "Fine."), list[str]()

    def fail(_event: Event) -> Any:
        raise LookupError("no policy")

    hooks.on(event)(fail)
    agent = make_agent(script, hooks)

    @agent.tool_plain
    def look() -> str:
        done.append("look")
        return "seen"

    played = await play(agent, "Go on.")
    assert (len(done), len(script.requests)) == (ran, asked)
    read = script.results()[0] if asked == 2 else played.output
    assert ("not allowed" if event == "BeforeToolSelection" else "no policy") in read


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
@pytest.mark.parametrize(
    ("is_strict", "fails_closed"), [(True, False), (False, True), (False, False)]
)
async def test_messages_that_hooks_cannot_be_shown_block_where_hooks_fail_closed(
    event: str, is_strict: bool, fails_closed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    strange: Any = FilePart(BinaryContent(data=b"x", media_type="image/png"))
    strange.part_kind = "hologram"
    told: list[Any] = [TextPart("Fine."), *([strange] if event == "BeforeModel" else [])]
    answered: list[Any] = [TextPart("Fine."), *([strange] if event == "AfterModel" else [])]

    class Model(TestModel):
        async def request(self, *_: Any) -> ModelResponse:
            asked.append("asked")
            return ModelResponse(answered)

    asked = list[str]()
    hooks = Hooks(strict=is_strict)
    hooks.on(event, on_failure="block" if fails_closed else "allow")(lambda _event: None)
    agent = Agent(Model(), capabilities=[HooklineCapability(hooks)])
    history: list[ModelMessage] = [ModelRequest([UserPromptPart("Hello.")]), ModelResponse(told)]
    output = (await agent.run("Go on.", message_history=history)).output
    assert "hologram" in caplog.text
    if is_strict or fails_closed:
        assert "hologram" in output
        assert len(asked) == (1 if event == "AfterModel" else 0)
    else:
        assert output == "Fine."


async def test_batched_requests_that_hooks_would_not_see_are_refused() -> None:
    hooks = Hooks()
    note(hooks, "BeforeModel")
    beside: list[AbstractCapability[Any]] = [BatchModelRequests(), HooklineCapability(hooks)]
    agent = Agent(TestModel(), capabilities=beside)
    with pytest.raises(UserError, match="batch"):
        await agent.run("Go on.")


def test_fifty_runs_in_threads_keep_their_sessions() -> None:
    """``run_sync`` in threads, each with a loop of its own."""
    hooks = Hooks()
    noted = note(hooks, "BeforeAgent", "BeforeModel", "BeforeTool", "AfterTool", "AfterAgent")
    capability = HooklineCapability(hooks)

    def talk(id: str) -> None:
        asyncio.set_event_loop(loop := asyncio.new_event_loop())
        try:
            agent = Agent(Script(call("echo", text=id), id).model, capabilities=[capability])
            agent.tool_plain(echo)
            assert agent.run_sync(f"I am {id}", conversation_id=id).output == id
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    def echo(text: str) -> str:
        return text

    ids = [f"talk-{number:02}" for number in range(50)]
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(talk, ids))
    assert len(noted) == 50 * 6
    assert all(event["session_id"] in str(event.get("prompt", event)) for event in noted)
