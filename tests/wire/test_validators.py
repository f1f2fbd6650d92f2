"""The eleven type predicates that guard the mediated entry."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.validators import DEFAULTS, VALIDATORS, find_problem
from tests.arbitrary import JSON_PAYLOADS, PAYLOADS
from tests.eleven import FIRINGS, ONE_EACH, Firing, Json, label

ALIASES = {"llm_request": "model_request", "llm_response": "model_response"}
WRONG: dict[str, tuple[object, ...]] = {
    "text": (None, 7, True, ["x"], {"x": 1}),
    "object": (None, "x", 7, [], [["a", 1]]),
    "flag": (None, 0, 1, "true"),
}
REQUIRED = {
    HookEventName.BEFORE_TOOL: {"tool_name": "text", "tool_input": "object"},
    HookEventName.AFTER_TOOL: {"tool_name": "text", "tool_input": "object"},
    HookEventName.BEFORE_AGENT: {"prompt": "text"},
    HookEventName.AFTER_AGENT: {
        "prompt": "text",
        "prompt_response": "text",
        "stop_hook_active": "flag",
    },
    HookEventName.BEFORE_MODEL: {"model_request": "object"},
    HookEventName.AFTER_MODEL: {"model_request": "object", "model_response": "object"},
    HookEventName.BEFORE_TOOL_SELECTION: {"model_request": "object"},
    HookEventName.SESSION_START: {"source": "text"},
    HookEventName.SESSION_END: {"reason": "text"},
    HookEventName.PRE_COMPRESS: {"trigger": "text"},
    HookEventName.NOTIFICATION: {"message": "text"},
}
OPTIONAL: dict[HookEventName, Json] = {
    HookEventName.BEFORE_TOOL: {"mcp_context": 7, "original_request_name": 7},
    HookEventName.AFTER_TOOL: {
        "original_tool_input": "x",
        "mcp_context": [],
        "original_request_name": {},
    },
    HookEventName.BEFORE_TOOL_SELECTION: {"available_tools": "read"},
    HookEventName.NOTIFICATION: {"notification_type": 1, "level": 2, "details": "x"},
}


def good(event: HookEventName) -> Json:
    return next(dict(firing.payload) for firing in ONE_EACH if firing.event is event)


def is_valid(event: HookEventName, value: object) -> bool:
    return VALIDATORS[event](value)


@pytest.mark.requirement("DELTA-HPAY-005")
@pytest.mark.parametrize("firing", FIRINGS, ids=label)
def test_a_payload_with_what_its_event_requires_is_valid(firing: Firing) -> None:
    assert is_valid(firing.event, firing.payload)


@pytest.mark.parametrize("event", HookEventName)
def test_extra_fields_pass(event: HookEventName) -> None:
    assert is_valid(event, {**good(event), "session_id": 7, "novel": {"x": [None]}})


@pytest.mark.parametrize("event", HookEventName)
def test_every_required_field_must_be_there(event: HookEventName) -> None:
    for name in good(event):
        lacking = {key: value for key, value in good(event).items() if key != name}
        assert not is_valid(event, lacking), name
        assert "is missing" in str(find_problem(event, lacking))


@pytest.mark.parametrize("event", HookEventName)
def test_every_required_field_must_have_its_type(event: HookEventName) -> None:
    for name, kind in REQUIRED[event].items():
        for value in WRONG[kind]:
            assert not is_valid(event, {**good(event), name: value}), (name, value)


@pytest.mark.parametrize("event", OPTIONAL)
def test_an_optional_field_of_the_wrong_type_is_refused(event: HookEventName) -> None:
    for name, value in OPTIONAL[event].items():
        assert not is_valid(event, {**good(event), name: value}), name
        assert name in str(find_problem(event, {**good(event), name: value}))


@pytest.mark.parametrize("event", OPTIONAL)
def test_an_optional_field_that_is_null_counts_as_absent(event: HookEventName) -> None:
    for name in EVENTS[event].optional:
        assert is_valid(event, {**good(event), name: None}), name


@pytest.mark.parametrize("event", HookEventName)
@pytest.mark.parametrize("value", [None, "text", 7, True, [], [{}], object()])
def test_what_is_not_an_object_is_refused(event: HookEventName, value: object) -> None:
    assert not is_valid(event, value)
    assert "must be an object" in str(find_problem(event, value))


@pytest.mark.parametrize(
    "event",
    [
        HookEventName.BEFORE_MODEL,
        HookEventName.AFTER_MODEL,
        HookEventName.BEFORE_TOOL_SELECTION,
    ],
)
def test_model_requests_and_responses_go_by_either_name(event: HookEventName) -> None:
    required = EVENTS[event].required
    assert is_valid(event, {name: {} for name in required})
    assert is_valid(event, {ALIASES[name]: {} for name in required})
    assert not is_valid(event, dict.fromkeys(required, "x"))
    assert not is_valid(event, {})


@pytest.mark.parametrize("value", [["a", 1], [None], [["a"]], {"a": 1}, "a"])
def test_available_tools_are_a_list_of_names(value: object) -> None:
    event = HookEventName.BEFORE_TOOL_SELECTION
    assert is_valid(event, {"llm_request": {}, "available_tools": ["a", "b"]})
    assert not is_valid(event, {"llm_request": {}, "available_tools": value})


@pytest.mark.parametrize("response", [None, "", 0, False, [], {}])
def test_a_tool_response_may_be_anything_but_absent(response: object) -> None:
    payload = {"tool_name": "t", "tool_input": {}}
    assert not is_valid(HookEventName.AFTER_TOOL, payload)
    assert is_valid(HookEventName.AFTER_TOOL, {**payload, "tool_response": response})


def test_stop_hook_active_may_be_left_out() -> None:
    payload = {"prompt": "p", "prompt_response": "r"}
    assert DEFAULTS == {"stop_hook_active": False}
    assert is_valid(HookEventName.AFTER_AGENT, payload)


@pytest.mark.parametrize(
    ("event", "name", "value"),
    [
        (HookEventName.SESSION_START, "source", "reboot"),
        (HookEventName.SESSION_START, "source", "Startup"),
        (HookEventName.SESSION_END, "reason", "startup"),
        (HookEventName.PRE_COMPRESS, "trigger", ""),
    ],
)
def test_a_trigger_must_be_one_the_event_knows(event: HookEventName, name: str, value: str) -> None:
    assert not is_valid(event, {name: value})
    assert str(find_problem(event, {name: value})).startswith(f"{name} must be one of ")


@given(st.sampled_from(HookEventName), PAYLOADS)
def test_no_value_whatever_makes_a_validator_raise(event: HookEventName, value: Any) -> None:
    assert is_valid(event, value) is (find_problem(event, value) is None)


@given(st.sampled_from(HookEventName), JSON_PAYLOADS)
def test_what_is_valid_has_its_required_fields(event: HookEventName, value: Any) -> None:
    if is_valid(event, value):
        for name in EVENTS[event].required:
            assert name in DEFAULTS or name in value or ALIASES[name] in value
