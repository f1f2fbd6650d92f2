"""What is read from ADK's events, contents and contexts, and what is written to them."""

from types import SimpleNamespace
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel

from hookline import Hooks, replace_result
from hookline.adapters.adk.modelcalls import (
    hold_back,
    mend_output,
)
from hookline.adapters.adk.runs import AdkModelCall, Run, mark, read_marks, read_prompt, show_text
from hookline.adapters.adk.toolcalls import (
    ToolCalls,
)
from hookline.adapters.conversations import Conversation

SAID = types.Part(text="so")
RESULT = types.Part(function_response=types.FunctionResponse(id="1", name="f", response={"a": 1}))


def called(id: str, name: str = "f") -> Event:
    part = types.Part(function_call=types.FunctionCall(id=id, name=name, args={"x": 1}))
    return Event(author="root", content=types.Content(role="model", parts=[part]))


@pytest.mark.parametrize(
    ("parts", "prompt"),
    [
        ([SAID, types.Part(text=""), SAID], "so\n\nso"),
        ([SAID, RESULT], "so"),
        ([RESULT], None),
        ([types.Part(text=""), RESULT], None),
        ([types.Part(inline_data=types.Blob(data=b"", mime_type="image/png"))], ""),
        (None, ""),
    ],
)
def test_a_prompt_is_the_text_of_a_message_and_results_alone_are_none(
    parts: Any, prompt: str | None
) -> None:
    assert read_prompt(types.Content(role="user", parts=parts)) == prompt


async def test_every_result_in_a_message_is_seen_and_only_those_of_known_calls() -> None:
    hooks = Hooks()
    hooks.on("AfterTool", matcher="f")(lambda _event: replace_result("new"))
    events = [called("1"), called("2", "g"), called("3", "adk_request_confirmation"), called("4")]
    results = [
        types.Part(function_response=types.FunctionResponse(id=id, name="f", response={"a": 1}))
        for id in ("0", "2", "3", "1", "4")
    ]
    message = types.Content(role="user", parts=[SAID, *results])
    run = Run(Conversation(hooks))
    assert await ToolCalls(None).see_results(run, events, message) is True
    read = [p.function_response.response for p in message.parts or [] if p.function_response]
    assert read == [{"a": 1}] * 3 + [{"result": "new"}] * 2
    unknown = types.Content(role="user", parts=[SAID, results[0]])
    assert await ToolCalls(None).see_results(run, events, unknown) is False


class Seat(BaseModel):
    row: int


def model_call(run: Run, **fields: Any) -> AdkModelCall:
    agent: Any = SimpleNamespace(**fields)
    return AdkModelCall(run, EventActions(), LlmRequest(), agent)


def stored(call: AdkModelCall, run: Run, text: str, value: Any, own: str) -> Any:
    content = types.Content(role="model", parts=[types.Part(text=text)])
    event = Event(author="root", content=content)
    event.actions.state_delta = {"k": value}
    mend_output(run, call, event, own)
    return event.actions.state_delta


def test_the_texts_that_adk_joined_are_corrected_one_after_the_other() -> None:
    run = Run(Conversation(Hooks()))
    call = model_call(run, output_key="k")
    assert stored(call, run, "[1]", "one", "one") == {"k": "[1]"}
    assert stored(call, run, "[2]", "onetwo", "two") == {"k": "[1][2]"}
    assert stored(call, run, "three", "onetwothree", "three") == {"k": "[1][2]three"}
    assert stored(call, Run(Conversation(Hooks())), "b", "ab", "b") == {"k": "ab"}
    assert stored(model_call(run, output_key="x"), run, "[1]", "one", "one") == {"k": "one"}
    assert stored(model_call(run), run, "[1]", "one", "one") == {"k": "one"}
    structured = model_call(run, output_key="k", output_schema=Seat)
    assert stored(structured, run, '{"row": 4}', {"row": 3}, '{"row": 3}') == {"k": {"row": 4}}
    value = {"row": 3}
    assert stored(structured, run, "same", value, "same")["k"] is value


@pytest.mark.parametrize("strict", [True, False])
def test_an_answer_that_the_next_node_has_read_is_told_if_hooks_changed_it(
    strict: bool, caplog: pytest.LogCaptureFixture
) -> None:
    run = Run(Conversation(Hooks(strict=strict)))
    event = Event(author="root", content=types.Content(parts=[SAID]), output="so")
    mend_output(run, model_call(run), event, "so")
    assert (event.output, run.stop, caplog.text) == ("so", None, "")
    mend_output(run, model_call(run), event, "secret")
    assert event.output == "so"
    assert "reads the unchanged answer" in caplog.text
    assert (run.stop is not None) == strict


def test_a_chunk_that_is_held_back_quotes_nothing() -> None:
    grounding = types.GroundingMetadata(web_search_queries=["q"])
    chunk = LlmResponse(
        content=types.Content(parts=[SAID]),
        partial=True,
        grounding_metadata=grounding,
        custom_metadata={"a": "so"},
        avg_logprobs=0.5,
        output_transcription=types.Transcription(text="so"),
    )
    hold_back(chunk)
    assert chunk.model_dump(exclude_none=True) == {"partial": True}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        (types.Content(), ""),
        (
            types.Content(
                parts=[
                    *(types.Part(text="a"), types.Part(text="hm", thought=True)),
                    *(types.Part(), types.Part(text="b")),
                ]
            ),
            "ab",
        ),
    ],
)
def test_a_text_is_shown_without_thoughts(content: Any, text: str) -> None:
    assert show_text(content) == text


def test_marks_are_added_to_others_and_to_what_else_an_event_holds() -> None:
    event = Event(author="user", custom_metadata={"own": 1})
    assert read_marks(event) == {}
    mark(event, allowed=["a"])
    mark(event, calls={})
    assert read_marks(event) == {"allowed": ["a"], "calls": {}}
    assert (event.custom_metadata or {})["own"] == 1
    assert read_marks(Event(author="user", custom_metadata={"hookline": "forged"})) == {}
