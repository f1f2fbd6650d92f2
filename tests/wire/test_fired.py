"""What was fired, and the document hooks read of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.engine.event import build_payload
from hookline.errors import InvalidPayloadError, TranslationError
from hookline.runner.context import RunContext
from hookline.translate import HookTranslator
from hookline.translate.genai import GenAITranslator
from hookline.wire import codec
from hookline.wire.claude_events import ClaudeEventName
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.fired import Facts, FiredEvent, read_fired_event
from tests.arbitrary import JSON_PAYLOADS
from tests.eleven import FIRINGS, REQUEST, WITH_TOOLS, Firing, Json, label

BASE = ["session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"]


class Session:
    def get_session_id(self) -> str:
        return "s-1"

    def get_working_dir(self) -> str:
        return "/work"

    def get_transcript_path(self) -> str:
        return ""

    def get_translator(self) -> HookTranslator:
        return GenAITranslator()

    def get_tools(self) -> None:
        return None

    def is_strict(self) -> bool:
        return False

    def run_context(self, session_id: str) -> RunContext:
        raise NotImplementedError


def payload(event: HookEventName, given: Json) -> Any:
    return build_payload(read_fired_event(event, given), Session(), GenAITranslator())[0]


@pytest.mark.requirement("INV-6")
@pytest.mark.parametrize("firing", FIRINGS, ids=label)
def test_base_fields_come_first_then_the_events_own_in_order(firing: Firing) -> None:
    built = payload(firing.event, firing.payload)
    own = {name: value for name, value in built.items() if name not in BASE}
    assert list(built) == [*BASE, *firing.own]
    assert own == firing.own
    assert list(own) == list(firing.own)
    assert (built["session_id"], built["transcript_path"]) == ("s-1", "")
    assert (built["cwd"], built["hook_event_name"]) == ("/work", firing.event.value)
    assert built["timestamp"].endswith("Z")


def test_optional_fields_that_are_absent_or_null_are_left_out() -> None:
    given: Json = {"message": "m", "level": None, "details": {}}
    built = payload(HookEventName.NOTIFICATION, given)
    assert list(built)[len(BASE) :] == ["message", "details"]


def test_required_fields_stay_even_when_they_are_null() -> None:
    given: Json = {"tool_name": "t", "tool_input": {}, "tool_response": None}
    assert payload(HookEventName.AFTER_TOOL, given)["tool_response"] is None


def test_session_and_transcript_of_the_input_are_taken_over_and_the_rest_is_ours() -> None:
    given: Json = {
        "prompt": "p",
        "session_id": "theirs",
        "transcript_path": "/t",
        "cwd": "/elsewhere",
        "timestamp": "yesterday",
        "hook_event_name": "AfterTool",
    }
    built = payload(HookEventName.BEFORE_AGENT, given)
    assert (built["session_id"], built["transcript_path"]) == ("theirs", "/t")
    assert (built["cwd"], built["hook_event_name"]) == ("/work", "BeforeAgent")
    assert built["timestamp"] != "yesterday"


@pytest.mark.parametrize("value", [7, None, ["s"], {}])
def test_a_session_or_transcript_that_is_no_string_is_not_taken_over(value: object) -> None:
    given = {"prompt": "p", "session_id": value, "transcript_path": value}
    built = payload(HookEventName.BEFORE_AGENT, given)
    assert (built["session_id"], built["transcript_path"]) == ("s-1", "")


def test_further_fields_of_an_input_pass_through_to_hooks_at_the_end() -> None:
    given = {"novel": [1], "prompt": "p", "tool_name": "x"}
    built = payload(HookEventName.BEFORE_AGENT, given)
    assert list(built)[len(BASE) :] == ["prompt", "novel", "tool_name"]


@pytest.mark.parametrize(
    ("event", "given", "target"),
    [
        ("BeforeTool", {"tool_name": "read", "tool_input": {}}, "read"),
        ("SessionStart", {"source": "resume"}, "resume"),
        ("SessionEnd", {"reason": "exit"}, "exit"),
        ("PreCompress", {"trigger": "auto"}, "auto"),
        ("Notification", {"message": "m", "notification_type": "T"}, "T"),
        ("Notification", {"message": "m", "notification_type": None}, ""),
        ("Notification", {"message": "m"}, ""),
        ("BeforeAgent", {"prompt": "p"}, ""),
    ],
)
def test_the_target_is_what_matchers_are_compared_with(
    event: str, given: Json, target: str
) -> None:
    assert read_fired_event(HookEventName(event), given).target == target


def test_both_names_of_a_model_request_give_hooks_the_same() -> None:
    event = HookEventName.BEFORE_MODEL
    by_name = [payload(event, {name: REQUEST}) for name in ("llm_request", "model_request")]
    assert by_name[0]["llm_request"] == by_name[1]["llm_request"]
    assert "model_request" not in by_name[1]


def test_a_payload_with_a_field_missing_is_invalid() -> None:
    with pytest.raises(InvalidPayloadError, match="BeforeTool input: tool_input is missing"):
        read_fired_event(HookEventName.BEFORE_TOOL, {"tool_name": "t"})


def test_sdk_objects_are_admitted_only_where_they_are_asked_for() -> None:
    request = object()
    fired = read_fired_event(HookEventName.BEFORE_MODEL, {"llm_request": request}, sdk_objects=True)
    assert fired.values == (request,)
    with pytest.raises(InvalidPayloadError):
        read_fired_event(HookEventName.BEFORE_MODEL, {"llm_request": request})
    with pytest.raises(TranslationError):
        build_payload(fired, Session(), GenAITranslator())


def test_a_fired_event_knows_how_it_is_written() -> None:
    fired = FiredEvent(HookEventName.BEFORE_AGENT, "", ("p",))
    assert fired.spec is EVENTS[HookEventName.BEFORE_AGENT]


@given(st.sampled_from(HookEventName), JSON_PAYLOADS)
def test_any_json_is_an_event_or_an_error_of_ours(event: HookEventName, given: Any) -> None:
    try:
        built = payload(event, given)
    except (InvalidPayloadError, TranslationError):
        return
    assert list(built)[: len(BASE)] == BASE
    assert codec.copy(built) is not None


def test_a_second_request_under_the_other_name_hides_nothing() -> None:
    given = {"model_request": {"contents": []}, "llm_request": REQUEST}
    with pytest.raises(InvalidPayloadError, match="model_request and llm_request are one field"):
        read_fired_event(HookEventName.BEFORE_MODEL, given)
    same = {"model_request": REQUEST, "llm_request": dict(REQUEST)}
    assert read_fired_event(HookEventName.BEFORE_MODEL, same).values == (REQUEST,)


SERVER: Json = {"server_name": "git hub"}


@pytest.mark.parametrize(
    ("fired", "elsewhere"),
    [
        (FiredEvent(HookEventName.BEFORE_TOOL, "t", ("t", {}, SERVER, None)), "mcp__git_hub__t"),
        (FiredEvent(HookEventName.BEFORE_TOOL, "t", ("t", {}, None, None)), None),
        (FiredEvent(HookEventName.BEFORE_TOOL, "t", ("t", {}, {}, None)), None),
        (FiredEvent(HookEventName.BEFORE_TOOL, "t", ("t", {}, {"a": 1}, None)), None),
        (FiredEvent(HookEventName.BEFORE_TOOL, "t"), None),
        (
            FiredEvent(HookEventName.AFTER_TOOL, "t", ("t", {}, {}, None, SERVER, None)),
            "mcp__git_hub__t",
        ),
        (FiredEvent(HookEventName.AFTER_TOOL, "t", ("t", {}, {}, SERVER, None, None)), None),
        (
            FiredEvent(ClaudeEventName.PERMISSION_REQUEST, "t", ("t", {}, [], {"name": "s"})),
            "mcp__s__t",
        ),
        (
            FiredEvent(ClaudeEventName.PERMISSION_REQUEST, "t", ("t", {}), {"mcp_context": SERVER}),
            "mcp__git_hub__t",
        ),
        (
            FiredEvent(ClaudeEventName.PERMISSION_DENIED, "t", ("t", {}, "id", "r", {"name": "s"})),
            "mcp__s__t",
        ),
        (FiredEvent(HookEventName.NOTIFICATION, "t", ("m", "t", SERVER)), None),
        (
            FiredEvent(HookEventName.BEFORE_TOOL, "t", facts=Facts(original={"tool_name": "Bash"})),
            "Bash",
        ),
        (FiredEvent(HookEventName.BEFORE_TOOL, "t", facts=Facts(original={})), None),
    ],
)
def test_an_event_says_what_claude_code_calls_its_target(
    fired: FiredEvent, elsewhere: str | None
) -> None:
    matched = fired.matched
    assert matched == fired.target
    assert getattr(matched, "elsewhere", None) == elsewhere


def test_an_event_has_its_own_fields_by_their_names() -> None:
    fired = FiredEvent(HookEventName.BEFORE_TOOL, "t", ("t", {"a": 1}))
    assert (fired.field("tool_input"), fired.field("mcp_context")) == ({"a": 1}, None)
    assert fired.field("prompt") is None


def test_the_tools_of_a_selection_are_the_requests_own_unless_they_are_named() -> None:
    event, declared = HookEventName.BEFORE_TOOL_SELECTION, WITH_TOOLS
    given = {"llm_request": declared}
    assert payload(event, given)["available_tools"] == GenAITranslator().tool_names(declared) != []
    assert payload(event, {**given, "available_tools": ["x"]})["available_tools"] == ["x"]
    assert payload(event, {**given, "available_tools": []})["available_tools"] == []


def test_only_model_fields_may_be_sdk_objects() -> None:
    given = {"tool_name": object(), "tool_input": {}}
    with pytest.raises(InvalidPayloadError, match="tool_name must be a string"):
        read_fired_event(HookEventName.BEFORE_TOOL, given, sdk_objects=True)
