"""What hooks say about a model call of an ADK agent is what is sent, shown and stored."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent, LoopAgent
from google.adk.apps import ResumabilityConfig
from google.adk.code_executors import BuiltInCodeExecutor
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.planners import PlanReActPlanner
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.telemetry import node_tracing, tracing
from google.genai import types
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

from hookline import Hooks, deny, message, stop
from hookline.adapters.adk import HooklinePlugin
from tests.adapters.adk.models import (
    DEPRECATED,
    EXPERIMENTAL,
    Chat,
    Script,
    Shell,
    agent,
    call,
    noting,
    results,
    texts,
)

SECRET = "swordfish"


def redact(event: dict[str, Any]) -> Any:
    text = event["llm_response"].get("text", "")
    if SECRET not in text:
        return None
    changed = {"text": text.replace(SECRET, "[hidden]")}
    return {"hookSpecificOutput": {"llm_response": changed}}


def hide_in_request(event: dict[str, Any]) -> Any:
    messages = [
        {**each, "content": each["content"].replace(SECRET, "[hidden]")}
        for each in event["llm_request"]["messages"]
    ]
    return {"hookSpecificOutput": {"llm_request": {"messages": messages}}}


both_ways = pytest.mark.parametrize("stream", [False, True])


@both_ways
async def test_redacted_text_leaves_no_trace_in_events_or_session(stream: bool) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(redact)
    model = Script([f"I know {SECRET}.", call("shell", command="ls")], f"It is {SECRET}.", "Bye.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks), stream=stream)
    events = [*await chat.say("Tell me."), *await chat.say("Thanks.")]
    dumped = "\n".join(event.model_dump_json() for event in events)
    assert "swor" not in dumped, "a piece of it was shown"
    assert "swor" not in await chat.stored()
    assert all(SECRET not in model.sent(number) for number in range(3))
    assert texts(events) == ["I know [hidden].", "It is [hidden].", "Bye."]
    assert shell.ran == ["ls"]


async def test_a_stream_flows_untouched_where_no_after_model_hook_exists() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(hide_in_request)
    model = Script("Hello there.")
    events = await Chat(agent(model), HooklinePlugin(hooks), stream=True).say(f"I am {SECRET}.")
    pieces = [event for event in events if event.partial]
    assert texts(pieces) == ["Hell", "o th", "ere."]
    assert SECRET not in model.sent()


async def test_a_stream_that_breaks_has_shown_nothing() -> None:
    class Breaking(Script):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            async for response in super().generate_content_async(llm_request, stream):
                if not response.partial:
                    raise ConnectionError("cut")
                yield response

    hooks = Hooks()
    fired: list[Any] = []
    hooks.on("AfterModel")(fired.append)
    chat = Chat(agent(Breaking.of(f"It is {SECRET}.")), HooklinePlugin(hooks), stream=True)
    shown: list[Any] = []
    with pytest.raises(ConnectionError):
        shown += await chat.say("Tell me.")
    assert "swor" not in await chat.stored()
    assert (shown, fired) == ([], [])


@both_ways
async def test_a_denied_response_ends_the_turn_and_its_calls_do_not_run(stream: bool) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(
        lambda event: deny("not that") if SECRET in str(event["llm_response"]) else None
    )
    model = Script([f"It is {SECRET}.", call("shell", command="ls")], "Bye.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks), stream=stream)
    assert texts(await chat.say("Tell me.")) == ["not that"]
    assert shell.ran == []
    await chat.say("Thanks.")
    assert "swor" not in await chat.stored()
    assert SECRET not in model.sent()


@both_ways
@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel", "BeforeToolSelection"])
async def test_a_stop_at_the_model_ends_the_loop(event: str, stream: bool) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on(event)(lambda _: stop("enough for today"))
    model = Script([SECRET, call("shell", command="ls")], "Done.")
    chat = Chat(agent(model, shell.tool), HooklinePlugin(hooks), stream=stream)
    events = await chat.say("Go on.")
    assert texts(events) == ["enough for today"]
    assert (len(model.requests), shell.ran) == (int(event == "AfterModel"), [])
    assert "swor" not in await chat.stored()


@DEPRECATED
async def test_a_denied_model_call_ends_a_loop_agent_that_has_no_end() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _: deny("the budget is spent"))
    root = LoopAgent(name="root", sub_agents=[agent(Script(), name="worker")])
    async with asyncio.timeout(10):
        events = await Chat(root, HooklinePlugin(hooks)).say("Go on.")
    assert texts(events) == ["the budget is spent"]


async def test_a_rewritten_request_keeps_calls_results_thoughts_and_the_stored_prompt() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeModel")(hide_in_request)
    hooks.on("BeforeModel")(lambda _: message("be brief"))
    thought = types.Part(text=f"{SECRET}!", thought=True, thought_signature=b"signed")
    model = Script([thought, call("shell", command="ls")], "Done.")
    chat = Chat(agent(model, shell.tool, instruction="Be kind."), HooklinePlugin(hooks))
    await chat.say(f"I am {SECRET}.")
    sent = model.requests[-1]
    [kept] = [p for c in sent.contents for p in c.parts or [] if p.thought]
    assert (kept.text, kept.thought_signature) == (f"{SECRET}!", b"signed")
    assert "I am [hidden]." in model.sent()
    assert "shell({'command': 'ls'})" in model.sent()
    assert "output of ls" in model.sent()
    assert "[System] be brief" in model.sent()
    assert "Be kind." in str(sent.config.system_instruction)
    # The session is the user's; hooks change what a model is sent.
    assert f"I am {SECRET}." in await chat.stored()


async def test_thoughts_and_calls_survive_a_redaction_in_their_place() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(redact)
    thought = types.Part(text="Hm.", thought=True)
    model = Script([thought, f"I know {SECRET}.", call("shell", command="ls")], "Done.")
    [said, *_] = await Chat(agent(model, shell.tool), HooklinePlugin(hooks)).say("Go on.")
    parts = (said.content and said.content.parts) or []
    assert [bool(part.thought) for part in parts] == [True, False, False]
    assert [part.text for part in parts] == ["Hm.", "I know [hidden].", None]
    assert shell.ran == ["ls"]


async def test_nothing_beside_the_text_quotes_what_was_taken_out() -> None:
    class Quoting(Script):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            async for response in super().generate_content_async(llm_request, stream):
                segment = types.Segment(text=SECRET)
                support = types.GroundingSupport(segment=segment)
                response.grounding_metadata = types.GroundingMetadata(
                    grounding_supports=[support], web_search_queries=["fish"]
                )
                token = types.LogprobsResultCandidate(token=SECRET)
                response.logprobs_result = types.LogprobsResult(chosen_candidates=[token])
                response.output_transcription = types.Transcription(text=SECRET)
                yield response

    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    chat = Chat(agent(Quoting.of(f"It is {SECRET}.")), HooklinePlugin(hooks), stream=True)
    events = await chat.say("Tell me.")
    assert "swor" not in "".join(event.model_dump_json() for event in events)
    assert "swor" not in await chat.stored()
    assert events[-1].grounding_metadata is not None
    assert events[-1].grounding_metadata.web_search_queries == ["fish"]


async def test_a_hook_answers_in_the_models_place() -> None:
    hooks = Hooks()
    hooks.on("BeforeModel")(
        lambda _: {"hookSpecificOutput": {"llm_response": {"text": "From the cache."}}}
    )
    model = Script("Hello.")
    events = await Chat(agent(model), HooklinePlugin(hooks)).say("Hi")
    assert texts(events) == ["From the cache."]
    assert not model.requests


async def test_a_hook_chooses_model_and_options() -> None:
    hooks = Hooks()
    change = {"model": "small", "config": {"temperature": 0.5}}
    hooks.on("BeforeModel")(lambda _: {"hookSpecificOutput": {"llm_request": change}})
    model = Script("Hello.")
    root = agent(model, generate_content_config=types.GenerateContentConfig(top_k=3))
    await Chat(root, HooklinePlugin(hooks)).say("Hi")
    [request] = model.requests
    assert (request.model, request.config.temperature) == ("small", 0.5)
    assert request.config.top_k == 3
    assert root.generate_content_config == types.GenerateContentConfig(top_k=3)


@both_ways
async def test_calls_outside_the_allowed_tools_do_not_run(stream: bool) -> None:
    hooks, shell, mailed = Hooks(), Shell(), list[str]()

    def mail(to: str) -> str:
        """Send a mail."""
        mailed.append(to)
        return "sent"

    chosen = [{"mode": "AUTO", "allowedFunctionNames": ["shell"]}, None]
    hooks.on("BeforeToolSelection")(
        lambda _: (
            {"hookSpecificOutput": {"toolConfig": given}}
            if (given := chosen.pop(0) if chosen else None)
            else None
        )
    )
    model = Script(
        [call("mail", to="you"), call("shell", command="ls")], call("mail", to="me"), "Done."
    )
    chat = Chat(agent(model, shell.tool, mail), HooklinePlugin(hooks), stream=stream)
    events = await chat.say("Go on.")
    assert (shell.ran, mailed) == (["ls"], ["me"]), "the choice holds for its own call alone"
    assert {"error": "The tool mail is not allowed in this call."} in results(events)
    config = model.requests[0].config.tool_config
    assert config is not None
    assert config.function_calling_config is not None
    assert config.function_calling_config.allowed_function_names == ["shell"]


@EXPERIMENTAL
async def test_calls_outside_the_allowed_tools_do_not_run_when_another_process_resumes() -> None:
    """The run was cut short before any call had its result."""
    hooks, shell, tries = Hooks(), Shell(), list[asyncio.Event]()
    chosen = {"mode": "ANY", "allowedFunctionNames": ["wait"]}
    hooks.on("BeforeToolSelection")(lambda _: {"hookSpecificOutput": {"toolConfig": chosen}})

    async def wait() -> str:
        """Wait, the first time for good."""
        tries.append(asyncio.Event())
        if len(tries) == 1:
            await tries[0].wait()
        return "waited"

    resumable = ResumabilityConfig(is_resumable=True)
    root = agent(Script([call("shell", command="ls"), call("wait")], "Done."), shell.tool, wait)
    first = Chat(root, HooklinePlugin(hooks), resumability_config=resumable)
    running = asyncio.create_task(first.say("Go on."))
    while not tries:
        await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    id = (await first.events())[0].invocation_id
    later = Chat(root, HooklinePlugin(hooks), service=first.service, resumability_config=resumable)
    resumed = later.runner.run_async(user_id="user", session_id="chat", invocation_id=id)
    events = [event async for event in resumed]
    assert texts(events) == ["Done."]
    assert results(events)[0] == {"error": "The tool shell is not allowed in this call."}
    assert shell.ran == []


class Capital(BaseModel):
    name: str
    note: str = ""


def asks_for_capital(model: Script, *tools: Any) -> LlmAgent:
    return agent(model, *tools, output_schema=Capital, output_key="capital")


@both_ways
async def test_a_structured_answer_given_by_a_tool_is_shown_as_its_json(stream: bool) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(redact)
    tools: list[Any] = []
    hooks.on("BeforeToolSelection")(lambda event: tools.append(event["available_tools"]))
    fired: list[Any] = []
    hooks.on("BeforeTool")(fired.append)
    model = Script(call("set_model_response", name="Bern", note=SECRET))
    chat = Chat(asks_for_capital(model, shell.tool), HooklinePlugin(hooks), stream=stream)
    events = await chat.say("Which?")
    assert '"Bern"' in texts(events)[-1]
    assert "[hidden]" in texts(events)[-1]
    assert "swor" not in await chat.stored()
    assert (tools, fired) == ([["shell"]], [])
    assert (await chat.state())["capital"] == {"name": "Bern", "note": "[hidden]"}


@pytest.mark.parametrize("by_tool", [False, True])
@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel"])
@pytest.mark.parametrize("reply", [deny("not this one"), stop("not this one")])
async def test_a_denied_structured_answer_is_a_clear_error_and_nothing_is_raised(
    by_tool: bool, event: str, reply: Any
) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on(event)(lambda _: reply)
    said = call("set_model_response", name=SECRET) if by_tool else f'{{"name": "{SECRET}"}}'
    root = asks_for_capital(Script(said), *([shell.tool] if by_tool else []))
    chat = Chat(root, HooklinePlugin(hooks))
    events = await chat.say("Which?")
    assert (events[-1].error_code, events[-1].error_message) == ("BLOCKED_BY_HOOK", "not this one")
    assert "swor" not in await chat.stored()


@pytest.mark.parametrize("by_tool", [False, True])
async def test_a_text_that_is_no_answer_of_the_schema_is_a_clear_error(by_tool: bool) -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(
        lambda _: {"hookSpecificOutput": {"llm_response": {"text": "nothing to see"}}}
    )
    said = call("set_model_response", name="Bern") if by_tool else '{"name": "Bern"}'
    root = asks_for_capital(Script(said), *([shell.tool] if by_tool else []))
    events = await Chat(root, HooklinePlugin(hooks)).say("Which?")
    assert events[-1].error_code == "BLOCKED_BY_HOOK"
    assert "hooks left no structured answer" in (events[-1].error_message or "")


async def test_a_choice_of_tools_leaves_the_one_for_structured_answers() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("BeforeToolSelection")(
        lambda _: {
            "hookSpecificOutput": {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["shell"]}}
        }
    )
    model = Script(call("set_model_response", name="Bern"))
    events = await Chat(asks_for_capital(model, shell.tool), HooklinePlugin(hooks)).say("Which?")
    assert '"Bern"' in texts(events)[-1]
    config = model.requests[0].config.tool_config
    assert config is not None
    assert config.function_calling_config is not None
    names = config.function_calling_config.allowed_function_names
    assert names == ["shell", "set_model_response"]


async def test_what_a_hook_says_after_a_model_is_read_with_the_next_request() -> None:
    hooks, shell = Hooks(), Shell()
    hooks.on("AfterModel")(lambda _: message("be brief"))
    model = Script(call("shell", command="ls"), "Done.")
    await Chat(agent(model, shell.tool), HooklinePlugin(hooks)).say("Go on.")
    assert "[System] be brief" in model.sent()


@pytest.mark.parametrize("event", ["BeforeModel", "AfterModel", "AfterAgent"])
async def test_what_a_hook_says_while_it_ends_a_turn_is_read_in_the_next_one(event: Any) -> None:
    hooks, model = Hooks(), Script("One.", "Two.")
    said = iter([{} if event == "AfterAgent" else deny("not this")])
    hooks.on(event)(lambda _event: next(({**each, **message("mind it")} for each in said), None))
    chat = Chat(agent(model), HooklinePlugin(hooks))
    assert texts(await chat.say("Go.")) == ["One." if event == "AfterAgent" else "not this"]
    await chat.say("And?")
    assert [model.sent(n).count("[System] mind it") for n in range(len(model.requests))] == (
        [1] if event == "BeforeModel" else [0, 1]
    )


async def test_a_model_that_fails_and_is_recovered_is_seen_by_after_model() -> None:
    class Failing(Script):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            async for _response in super().generate_content_async(llm_request, stream):
                raise ConnectionError("no network")
            yield LlmResponse()

    class Recovering(BasePlugin):
        async def on_model_error_callback(self, **_given: Any) -> LlmResponse:
            part = types.Part(text=f"Sorry, {SECRET}.")
            return LlmResponse(content=types.Content(role="model", parts=[part]))

    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    chat = Chat(agent(Failing()), Recovering("other"), HooklinePlugin(hooks))
    assert texts(await chat.say("Hi")) == ["Sorry, [hidden]."]


async def test_a_denied_model_call_is_no_error_that_another_plugin_recovers() -> None:
    class Recovering(BasePlugin):
        async def on_model_error_callback(self, **_given: Any) -> LlmResponse:
            raise AssertionError("a denial is no error")

    hooks = Hooks()
    hooks.on("BeforeModel")(lambda _: deny("the budget is spent"))
    model = Script("Hello.")
    chat = Chat(agent(model), HooklinePlugin(hooks), Recovering("other"))
    assert texts(await chat.say("Hi")) == ["the budget is spent"]
    assert not model.requests


async def test_a_planner_does_not_come_between_hooks_and_the_text() -> None:
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    model = Script(f"/*PLANNING*/ say {SECRET} /*FINAL_ANSWER*/ It is {SECRET}.")
    chat = Chat(agent(model, planner=PlanReActPlanner()), HooklinePlugin(hooks))
    await chat.say("Tell me.")
    assert "swor" not in await chat.stored()


async def test_code_that_the_model_runs_itself_survives_and_is_not_shown_to_hooks() -> None:
    hooks = Hooks()
    seen: list[Any] = []
    hooks.on("AfterModel")(noting(seen, "llm_response", redact))
    code = types.Part(
        executable_code=types.ExecutableCode(code="print(1)", language=types.Language.PYTHON)
    )
    ran = types.Part(
        code_execution_result=types.CodeExecutionResult(
            outcome=types.Outcome.OUTCOME_OK, output="1"
        )
    )
    model = Script([code, ran, f"It is {SECRET}."])
    model.model = "gemini-2.5-flash"
    root = agent(model, code_executor=BuiltInCodeExecutor())
    chat = Chat(root, HooklinePlugin(hooks))
    events = await chat.say("Count.")
    assert texts(events) == ["It is [hidden]."]
    assert "print(1)" in events[-1].model_dump_json()
    assert seen[0]["text"] == f"It is {SECRET}."


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """The spans that ADK writes."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for module in (tracing, node_tracing):
        monkeypatch.setattr(module, "tracer", provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


async def read_spans(spans: InMemorySpanExporter, stream: bool) -> list[tuple[str, str]]:
    """What is in the spans of a turn whose every secret hooks take out."""
    hooks = Hooks()
    hooks.on("AfterModel")(redact)
    hooks.on("BeforeModel")(hide_in_request)
    hooks.on("AfterTool")(lambda _: deny("[removed]"))

    def peek() -> str:
        """Look."""
        return SECRET

    model = Script(call("peek"), f"It is {SECRET}.")
    chat = Chat(agent(model, peek), HooklinePlugin(hooks), stream=stream)
    await chat.say(f"I am {SECRET}.")
    return [(span.name, str(span.attributes)) for span in spans.get_finished_spans()]


@both_ways
@pytest.mark.parametrize("schema", ["1", "2"])
async def test_the_spans_of_adk_hold_what_hooks_left(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, stream: bool, schema: str
) -> None:
    monkeypatch.setenv("ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN", schema)
    written = await read_spans(spans, stream)
    assert [name for name, attributes in written if "swor" in attributes] == []
    if schema == "1":
        assert any("[hidden]" in attributes for _, attributes in written)


async def test_messages_that_opentelemetry_is_told_to_capture_are_the_models_own(
    spans: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The span of the call itself is out of a plugin's reach, so people are warned of it."""
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    written = await read_spans(spans, stream=False)
    names = {name for name, attributes in written if "swor" in attributes}
    assert names == {"generate_content script"}
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in caplog.text
