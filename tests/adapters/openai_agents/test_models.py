"""Model calls of an agent, in each of the ways to run it."""

import asyncio
import json
from typing import Any

import pytest
from agents import (
    Agent,
    Model,
    ModelProvider,
    ModelSettings,
    RunConfig,
    Runner,
    SQLiteSession,
    WebSearchTool,
    function_tool,
    trace,
)
from agents.exceptions import ModelBehaviorError
from agents.testing import ModelStep, assistant_message
from agents.tracing import get_trace_provider, set_trace_processors, set_tracing_disabled
from agents.tracing.processor_interface import TracingProcessor
from openai.types.responses import Response, ResponseCreatedEvent, ResponseIncompleteEvent
from pydantic import BaseModel

from hookline import BlockedByHook, Hooks, StoppedByHook, deny, message, stop
from hookline.adapters.openai_agents import hooked
from tests.adapters.openai_agents.models import TalkingModel
from tests.adapters.openai_agents.playing import PLAYS, call, note, results, script, texts

SECRET = "swordfish"
each_play = pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)


class Seat(BaseModel):
    row: int


@function_tool
def shell(command: str) -> str:
    """Run a command."""
    return f"ran {command}"


def redact(event: Any) -> Any:
    text = event["llm_response"].get("text", "")
    if SECRET not in text:
        return None
    return {"hookSpecificOutput": {"llm_response": {"text": text.replace(SECRET, "[hidden]")}}}


def make_agent(model: Any, **options: Any) -> Agent[Any]:
    return Agent(name="clerk", model=model, tools=[shell], **options)


@each_play
async def test_what_after_model_hooks_take_out_leaves_no_trace(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    model = script([f"Look, {SECRET}.", call("shell", command="ls")], f"It is {SECRET}.", "Yes.")
    agent, session = hooked(make_agent(model), hooks), SQLiteSession("s")
    played = await play(agent, "Tell.", session=session)
    assert played.output == "It is [hidden]."
    assert SECRET not in played.traces
    assert SECRET not in str(await session.get_items())
    assert "Look, [hidden]." in str(await session.get_items())
    await play(agent, "Sure?", session=session)
    assert all(SECRET not in texts(model, number) for number in range(3))
    assert results(model, 1) == ["ran ls"]
    session.close()


@each_play
async def test_a_denied_response_leaves_its_reason_alone(play: Any) -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(lambda _event: deny("no passwords here"))
    model = script([f"It is {SECRET}.", call("shell", command="ls")])
    played = await play(hooked(make_agent(model), hooks), "Tell.")
    assert played.output == "no passwords here"
    assert SECRET not in played.traces
    assert "function_call" not in played.traces


@pytest.mark.parametrize("option", ["conversation_id", "previous_response_id", "none"])
async def test_people_are_told_of_a_changed_response_that_the_provider_keeps(
    option: str, caplog: pytest.LogCaptureFixture
) -> None:
    options: Any = {} if option == "none" else {option: "x"}
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    agent = hooked(make_agent(script("Hello.", f"It is {SECRET}.")), hooks)
    await Runner.run(agent, "Hi.", **options)
    assert not caplog.text
    assert (await Runner.run(agent, "Tell.", **options)).final_output == "It is [hidden]."
    assert ("the provider has stored" in caplog.text) == (option != "none")


@each_play
async def test_a_model_that_is_not_called_leaves_a_reply_that_the_sdk_can_go_on_with(
    play: Any,
) -> None:
    hooks = Hooks()
    answers = iter([deny("the budget is spent"), None])
    hooks.on("BeforeModel")(lambda _event: next(answers))
    model = script("Hello.")
    agent = hooked(make_agent(model), hooks)
    played = await play(agent, "Hi.")
    assert played.output == "the budget is spent"
    assert not model.calls
    again = [*played.result.to_input_list(), {"role": "user", "content": "Again."}]
    assert (await play(agent, again)).output == "Hello."


async def test_a_stream_passes_as_it_comes_where_no_after_model_hook_exists() -> None:
    hooks = Hooks()
    seen = note(hooks, "BeforeModel", "AfterAgent", "BeforeTool")
    model = script([call("shell", command="ls")], "A rather long answer.")
    bare = await PLAYS["run_streamed"](
        make_agent(script(call("shell", command="ls"), "A rather long answer.")), "Hi."
    )
    played = await PLAYS["run_streamed"](hooked(make_agent(model), hooks), "Hi.")
    assert [e.type for e in played.events] == [e.type for e in bare.events]
    deltas = [
        e.data.delta
        for e in played.events
        if e.type == "raw_response_event" and e.data.type == "response.output_text.delta"
    ]
    assert len(deltas) > 2
    assert [e["hook_event_name"] for e in seen] == [
        *("BeforeModel", "BeforeTool", "BeforeModel", "AfterAgent")
    ]


async def test_a_stream_that_breaks_off_shows_nothing_that_hooks_would_have_judged() -> None:
    def respond(_call: Any) -> Any:
        async def events() -> Any:
            response = Response.model_construct(id="r", output=[assistant_message(SECRET)])
            yield ResponseCreatedEvent(
                type="response.created", sequence_number=0, response=response
            )
            yield ResponseIncompleteEvent.model_construct(
                type="response.incomplete", sequence_number=1, response=response
            )

        return events()

    hooks = Hooks()
    seen = note(hooks, "AfterModel")
    model = TalkingModel([ModelStep.stream(respond)])
    result = Runner.run_streamed(hooked(make_agent(model), hooks), "Hi.")
    events: list[Any] = []

    async def read() -> None:
        async for event in result.stream_events():
            events.append(event)  # noqa: PERF401 - what came before it raised counts

    with pytest.raises(ModelBehaviorError, match="incomplete"):
        await read()
    assert SECRET not in str(events)
    assert not seen


async def test_a_stream_that_its_reader_leaves_ends_the_models_stream() -> None:
    closed = asyncio.Event()

    def respond(_call: Any) -> Any:
        async def events() -> Any:
            try:
                response = Response.model_construct(id="r", output=[])
                while True:
                    yield ResponseCreatedEvent(
                        type="response.created", sequence_number=0, response=response
                    )
                    await asyncio.sleep(0.001)
            finally:
                closed.set()

        return events()

    model = TalkingModel([ModelStep.stream(respond)])
    hooks = Hooks()
    note(hooks, "BeforeModel")
    result = Runner.run_streamed(hooked(make_agent(model), hooks), "Hi.")
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            result.cancel()
    async with asyncio.timeout(5):
        await closed.wait()


@each_play
async def test_a_reply_in_the_place_of_a_structured_answer_is_an_exception(play: Any) -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: deny("the budget is spent"))
    with pytest.raises(BlockedByHook, match="the budget is spent"):
        await play(hooked(make_agent(script(), output_type=Seat), hooks), "Hi.")
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: stop("enough"))
    model = script(call("shell", command="ls"))
    with pytest.raises(StoppedByHook, match="enough"):
        await play(hooked(make_agent(model, output_type=Seat), hooks), "Hi.")


@each_play
async def test_a_structured_answer_is_json_text_for_hooks_and_what_they_make_of_it_counts(
    play: Any,
) -> None:
    hooks = Hooks()
    answers = iter(['{"row": 4}', "none"])
    hooks.on("AfterModel")(
        lambda _event: {"hookSpecificOutput": {"llm_response": {"text": next(answers)}}}
    )
    seen = note(hooks, "AfterModel")
    agent = hooked(make_agent(script('{"row": 3}', '{"row": 3}'), output_type=Seat), hooks)
    assert (await play(agent, "Where?")).output == Seat(row=4)
    assert json.loads(seen[0]["llm_response"]["text"]) == {"row": 3}
    with pytest.raises(BlockedByHook, match="output type"):
        await play(agent, "Where?")


async def test_a_synthetic_answer_of_the_right_form_is_a_structured_output() -> None:
    hooks = Hooks()
    said = {"hookSpecificOutput": {"llm_response": {"text": '{"row": 9}'}}}
    hooks.on("BeforeModel")(lambda _event: said)
    result = await Runner.run(hooked(make_agent(script(), output_type=Seat), hooks), "Where?")
    assert result.final_output == Seat(row=9)


async def test_settings_that_a_hook_changes_reach_the_model_and_its_name_does_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    wanted = {"model": "other", "config": {"temperature": 0.1, "maxOutputTokens": 5}}
    hooks.on("BeforeModel")(lambda _event: {"hookSpecificOutput": {"llm_request": wanted}})
    model = script("Hello.")
    settings = ModelSettings(temperature=0.9, top_p=0.5)
    await Runner.run(hooked(make_agent(model, model_settings=settings), hooks), "Hi.")
    used = model.calls[0].model_settings
    assert (used.temperature, used.max_tokens, used.top_p) == (0.1, 5, 0.5)
    assert "a hook set the model 'other'" in caplog.text


async def test_tools_are_taken_away_where_hooks_restrict_them_hosted_ones_and_handoffs_too() -> (
    None
):
    other: Agent[Any] = Agent(name="other", model=script("I am another."))
    chosen = {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["shell"]}}
    hooks = Hooks()
    hooks.on("BeforeToolSelection")(lambda _event: {"hookSpecificOutput": chosen})
    seen = note(hooks, "BeforeToolSelection")
    model = script(["Wait.", call("transfer_to_other"), call("shell", command="ls")], "Done.")
    agent = Agent(name="clerk", model=model, tools=[shell, WebSearchTool()], handoffs=[other])
    result = await Runner.run(hooked(agent, hooks), "Hi.")
    assert seen[0]["available_tools"] == ["shell", "web_search", "transfer_to_other"]
    first = model.calls[0]
    assert [tool.name for tool in first.tools] == ["shell"]
    assert (first.handoffs, first.model_settings.tool_choice) == ([], "required")
    assert results(model) == ["ran ls"]
    assert result.last_agent.name == "clerk"


async def test_a_call_of_a_tool_that_hooks_do_not_allow_is_refused_and_the_model_reads_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Hooks()
    chosen = iter([{"mode": "NONE"}, {"mode": "AUTO"}])
    hooks.on("BeforeToolSelection")(
        lambda _event: {"hookSpecificOutput": {"toolConfig": next(chosen)}}
    )
    model = script(call("shell", command="ls"), "Done.")
    settings = ModelSettings(tool_choice="required")
    await Runner.run(hooked(make_agent(model, model_settings=settings), hooks), "Hi.")
    assert results(model) == ["The tool shell is not allowed in this call."]
    assert caplog.text.count("the model called shell, which hooks do not allow") == 1
    assert model.calls[0].model_settings.tool_choice is None


async def test_a_hooks_message_goes_with_the_request_and_with_the_next_one() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _event: message("be brief"))
    hooks.on("AfterModel")(lambda _event: message("be kind"))
    model = script(call("shell", command="ls"), "Done.")
    await Runner.run(hooked(make_agent(model), hooks), "Hi.")
    assert "be brief" in texts(model, 0)
    assert "be kind" not in texts(model, 0)
    assert "[System] be kind" in texts(model, 1)


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel", "AfterAgent"])
async def test_what_a_hook_says_while_it_ends_a_turn_is_read_in_the_next_one(event: Any) -> None:
    hooks = Hooks()
    said = iter([{} if event == "AfterAgent" else deny("not this")])
    hooks.on(event)(lambda _event: next(({**each, **message("mind it")} for each in said), None))
    model, config = script("One.", "Two."), RunConfig(group_id="one")
    agent = hooked(make_agent(model), hooks)
    played = await Runner.run(agent, "Go.", run_config=config)
    assert played.final_output == ("One." if event == "AfterAgent" else "not this")
    await Runner.run(agent, "And?", run_config=config)
    assert [texts(model, n).count("[System] mind it") for n in range(len(model.calls))] == (
        [1] if event == "BeforeModel" else [0, 1]
    )


async def test_spans_of_a_model_hold_no_data_where_after_model_hooks_exist() -> None:
    spans: list[Any] = []

    class Keep(TracingProcessor):
        def on_trace_start(self, trace: Any) -> None: ...
        def on_trace_end(self, trace: Any) -> None: ...
        def on_span_start(self, span: Any) -> None: ...
        def on_span_end(self, span: Any) -> None:
            spans.append(span)

        def shutdown(self) -> None: ...
        def force_flush(self) -> None: ...

    set_trace_processors([Keep()])
    set_tracing_disabled(False)
    try:
        hooks = Hooks()
        hooks.on("AfterModel")(redact)
        model = script([f"It is {SECRET}.", call("shell", command="ls")], "Done.")
        with trace("test"):
            await Runner.run(hooked(make_agent(model), hooks), "Tell.")
    finally:
        set_tracing_disabled(True)
        set_trace_processors([])
        get_trace_provider().shutdown()
    assert {call.tracing.name for call in model.calls} == {"ENABLED_WITHOUT_DATA"}
    assert spans
    assert all(SECRET not in str(span.export()) for span in spans)


async def test_prompts_with_variables_are_not_shown_as_if_they_were_empty() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel", on_failure="block")(lambda _event: None)
    prompt: Any = {"id": "p", "variables": {"name": SECRET}}
    model = script("Hello.")
    result = await Runner.run(hooked(make_agent(model, prompt=prompt), hooks), "Hi.")
    assert not model.calls
    assert "prompt.variables" in str(result.final_output)


async def test_run_config_may_name_the_model_and_the_provider() -> None:
    class Provider(ModelProvider):
        def __init__(self) -> None:
            self.asked: list[str | None] = []

        def get_model(self, model_name: str | None) -> Model:
            self.asked.append(model_name)
            return script(f"I am {model_name}, {SECRET}.")

    for config_model, agent_model, name in (
        (None, "small", "small"),
        (None, None, None),
        ("big", "small", "big"),
    ):
        for as_dict in (False, True):
            provider, hooks = Provider(), Hooks()
            hooks.on("AfterModel")(redact)
            options: Any = {"model": config_model, "model_provider": provider}
            config: Any = options if as_dict else RunConfig(**options)
            agent = hooked(make_agent(agent_model), hooks)
            result = await Runner.run(agent, "Hi.", run_config=config)
            assert result.final_output == f"I am {name}, [hidden]."
            assert provider.asked == [name]
