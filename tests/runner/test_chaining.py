"""How one hook's answer changes what the next one of a sequence reads."""

import copy
from typing import Any

import pytest
from hypothesis import given

from hookline.runner.context import chain_input
from hookline.wire import codec
from hookline.wire.events import HookEventName
from tests.eleven import ONE_EACH, SHOWN_REQUEST, Json
from tests.settings.strategies import answers, events

CHAINED = {
    HookEventName.BEFORE_AGENT: "prompt",
    HookEventName.BEFORE_MODEL: "llm_request",
    HookEventName.BEFORE_TOOL: "tool_input",
}
INPUTS = {firing.event: firing.own for firing in ONE_EACH}


def chained(event: HookEventName, payload: Json, **specific: Any) -> Json:
    return chain_input(event, payload, {"hookSpecificOutput": specific})


def test_before_agent_appends_the_context_to_the_prompt_after_a_blank_line() -> None:
    event = HookEventName.BEFORE_AGENT
    once = chained(event, {"prompt": "hello"}, additionalContext="be brief")
    assert once == {"prompt": "hello\n\nbe brief"}
    assert chained(event, once, additionalContext="<b>") == {"prompt": "hello\n\nbe brief\n\n<b>"}
    assert chained(event, once, additionalContext="") is once


def test_before_tool_merges_the_tool_input_shallowly() -> None:
    payload: Json = {"tool_name": "t", "tool_input": {"a": {"x": 1}, "b": 1}}
    after = chained(HookEventName.BEFORE_TOOL, payload, tool_input={"a": {"y": 2}, "c": 3})
    assert after == {"tool_name": "t", "tool_input": {"a": {"y": 2}, "b": 1, "c": 3}}
    assert payload["tool_input"] == {"a": {"x": 1}, "b": 1}


def test_before_model_merges_the_request_with_config_and_tool_config_key_by_key() -> None:
    payload: Json = {"llm_request": {**SHOWN_REQUEST, "toolConfig": {"mode": "ANY"}}}
    change = {
        "model": "model-b",
        "config": {"topP": 1},
        "toolConfig": {"allowedFunctionNames": ["x"]},
    }
    after = chained(HookEventName.BEFORE_MODEL, payload, llm_request=change)["llm_request"]
    assert after == {
        "model": "model-b",
        "messages": SHOWN_REQUEST["messages"],
        "config": {"temperature": 0.5, "topP": 1},
        "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["x"]},
    }


def test_messages_a_hook_gives_replace_the_conversation_for_the_next() -> None:
    said = [{"role": "user", "content": "redacted"}]
    payload = {"llm_request": SHOWN_REQUEST}
    after = chained(HookEventName.BEFORE_MODEL, payload, llm_request={"messages": said})
    assert after["llm_request"] == {**SHOWN_REQUEST, "messages": said}


@pytest.mark.parametrize(
    ("event", "field", "value"),
    [
        ("BeforeAgent", "additionalContext", 7),
        ("BeforeAgent", "additionalContext", ["x"]),
        ("BeforeAgent", "additionalContext", None),
        ("BeforeTool", "tool_input", [1]),
        ("BeforeTool", "tool_input", "x"),
        ("BeforeTool", "tool_input", None),
        ("BeforeModel", "llm_request", "x"),
        ("BeforeModel", "llm_request", {"messages": [{"content": {}}]}),
        ("BeforeModel", "llm_request", {"model": 7}),
        ("BeforeModel", "llm_request", {"config": 7}),
    ],
)
def test_a_value_of_the_wrong_shape_changes_nothing(event: str, field: str, value: Any) -> None:
    name = HookEventName(event)
    assert chained(name, INPUTS[name], **{field: value}) == INPUTS[name]


@pytest.mark.parametrize("specific", [None, "text", 7, [], ["x"]])
def test_a_specific_output_that_is_no_object_changes_nothing(specific: object) -> None:
    for event, payload in INPUTS.items():
        assert chain_input(event, payload, {"hookSpecificOutput": specific}) is payload
        assert chain_input(event, payload, {}) is payload


@pytest.mark.parametrize("event", [e for e in HookEventName if e not in CHAINED])
def test_other_events_are_not_chained(event: HookEventName) -> None:
    after = chained(
        event,
        INPUTS[event],
        additionalContext="x",
        tool_input={"x": 1},
        llm_request={"model": "x"},
        llm_response={"text": "x"},
    )
    assert after is INPUTS[event]


def test_a_tool_input_that_is_no_object_itself_is_left_as_it_is() -> None:
    payload = {"tool_name": "t", "tool_input": None}
    assert chained(HookEventName.BEFORE_TOOL, payload, tool_input={"a": 1}) is payload


@given(events, answers)
def test_no_answer_whatever_raises_or_changes_what_others_read(
    event: HookEventName, answer: Json
) -> None:
    payload = copy.deepcopy(INPUTS[event])
    after = chain_input(event, payload, answer)
    assert payload == INPUTS[event]
    assert after.keys() == payload.keys()
    assert codec.copy(after) is not None
    for name in payload:
        assert name == CHAINED.get(event) or after[name] == payload[name]
