"""What an answer means: the questions callers ask an output."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errors import HooklineError
from hookline.pipeline.modelcall import (
    ModelCall,
    find_allowed_tools,
    make_empty_response,
    restrict_tools,
)
from hookline.translate.genai import GenAITranslator
from hookline.wire.events import HookEventName
from hookline.wire.outputs import (
    AfterAgentHookOutput,
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolHookOutput,
    BeforeToolSelectionHookOutput,
    DefaultHookOutput,
    create_hook_output,
    find_fault,
)
from tests.arbitrary import JSON
from tests.eleven import REQUEST, RESPONSE

CALL = ModelCall(GenAITranslator(), REQUEST)
FULL = {
    "continue": False,
    "stopReason": "enough",
    "suppressOutput": True,
    "systemMessage": "hello",
    "decision": "deny",
    "reason": "no",
    "hookSpecificOutput": {"additionalContext": "context"},
}
FIELDS = st.sampled_from([*FULL, "novel"])


def output(**data: Any) -> DefaultHookOutput:
    return create_hook_output(HookEventName.BEFORE_TOOL, data)


def specific(event: HookEventName, **data: Any) -> Any:
    return create_hook_output(event, {"hookSpecificOutput": data}, CALL)


@pytest.mark.parametrize("event", HookEventName)
def test_the_seven_fields_are_read_and_written_in_wire_names(event: HookEventName) -> None:
    read = create_hook_output(event, FULL)
    assert read.continue_ is False
    assert (read.stop_reason, read.system_message, read.reason) == ("enough", "hello", "no")
    assert read.to_wire() == FULL
    assert list(read.to_wire()) == list(FULL)
    assert create_hook_output(event, {}).to_wire() == {}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (HookEventName.BEFORE_TOOL, BeforeToolHookOutput),
        (HookEventName.BEFORE_MODEL, BeforeModelHookOutput),
        (HookEventName.AFTER_MODEL, AfterModelHookOutput),
        (HookEventName.BEFORE_TOOL_SELECTION, BeforeToolSelectionHookOutput),
        (HookEventName.AFTER_AGENT, AfterAgentHookOutput),
        (HookEventName.NOTIFICATION, DefaultHookOutput),
    ],
)
def test_an_event_has_the_output_that_knows_its_fields(event: HookEventName, kind: type) -> None:
    assert type(create_hook_output(event, {})) is kind


@pytest.mark.parametrize(
    ("word", "blocks", "asks"),
    [
        ("block", True, False),
        ("deny", True, False),
        ("ask", False, True),
        ("allow", False, False),
        ("approve", False, False),
        ("maybe", False, False),
        ("Deny", False, False),
        (" deny ", False, False),
        (None, False, False),
    ],
)
def test_block_and_deny_block_and_ask_asks(word: str | None, blocks: bool, asks: bool) -> None:
    said = output(decision=word)
    assert said.is_blocking_decision() is blocks
    assert said.is_ask_decision() is asks


def test_an_unknown_decision_word_is_none() -> None:
    assert output(decision="maybe").decision is None


@pytest.mark.parametrize(("said", "stops"), [(False, True), (True, False), (None, False)])
def test_only_continue_false_stops(said: bool | None, stops: bool) -> None:
    assert output(**{"continue": said}).should_stop_execution() is stops


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"stopReason": "s", "reason": "r"}, "s"),
        ({"reason": "r"}, "r"),
        ({"stopReason": "", "reason": "r"}, "r"),
        ({}, "No reason provided"),
        ({"reason": ""}, "No reason provided"),
    ],
)
def test_the_effective_reason_is_the_stop_reason_else_the_reason_else_a_fixed_text(
    fields: dict[str, str], reason: str
) -> None:
    assert output(**fields).get_effective_reason() == reason


def test_a_blocking_error_has_the_effective_reason() -> None:
    blocked = output(decision="block", reason="no").get_blocking_error()
    assert (blocked.blocked, blocked.reason) == (True, "no")
    free = output(decision="allow", reason="fine").get_blocking_error()
    assert (free.blocked, free.reason) == (False, "")


@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize("value", [None, 7, [], ["deny"], 0.5])
def test_a_known_field_of_the_wrong_type_is_none(name: str, value: object) -> None:
    assert create_hook_output(HookEventName.BEFORE_TOOL, {name: value}).to_wire() == {}


@given(st.sampled_from(HookEventName), st.dictionaries(FIELDS | st.text(max_size=5), JSON))
def test_no_answer_whatever_raises(event: HookEventName, data: dict[str, Any]) -> None:
    read = create_hook_output(event, data, CALL)
    assert isinstance(read.is_blocking_decision(), bool)
    assert isinstance(read.should_clear_context(), bool)
    assert isinstance(read.get_effective_reason(), str)
    assert isinstance(read.get_additional_context(), str | None)
    assert isinstance(read.get_tail_tool_call_request(), dict | None)
    assert set(read.to_wire()) <= set(data) | {"decision", "reason"}


def test_permission_decision_counts_for_before_tool_where_the_decision_is_absent() -> None:
    permission = {"permissionDecision": "deny", "permissionDecisionReason": "secret"}
    said = output(hookSpecificOutput=permission)
    assert said.is_blocking_decision()
    assert said.get_effective_reason() == "secret"
    own = output(decision="allow", reason="mine", hookSpecificOutput=permission)
    assert (own.decision, own.reason) == ("allow", "mine")


def test_permission_decision_counts_on_no_other_event() -> None:
    said = specific(HookEventName.AFTER_TOOL, permissionDecision="deny")
    assert not said.is_blocking_decision()


@pytest.mark.parametrize("word", ["never", 7, None, ["deny"]])
def test_an_unknown_permission_decision_is_none(word: object) -> None:
    assert output(hookSpecificOutput={"permissionDecision": word}).decision is None


def test_additional_context_is_handed_out_as_written() -> None:
    text = "<b>&amp;\n  '\"</b>"
    assert specific(HookEventName.AFTER_TOOL, additionalContext=text).get_additional_context() == (
        text
    )
    assert specific(HookEventName.AFTER_TOOL, additionalContext=7).get_additional_context() is None


@pytest.mark.parametrize(("said", "clears"), [(True, True), (1, False), ("true", False)])
def test_only_true_clears_the_context(said: object, clears: bool) -> None:
    read = specific(HookEventName.AFTER_AGENT, clearContext=said)
    assert read.should_clear_context() is clears


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ({"name": "read", "args": {"path": "a"}}, True),
        ({"name": "read"}, False),
        ({"name": 7, "args": {}}, False),
        ({"name": "read", "args": []}, False),
        ("read", False),
    ],
)
def test_a_tail_tool_call_has_a_name_and_arguments(said: Any, counts: bool) -> None:
    read = specific(HookEventName.AFTER_TOOL, tailToolCallRequest=said)
    assert read.get_tail_tool_call_request() == (said if counts else None)


def test_a_rewritten_tool_input_is_an_object() -> None:
    event = HookEventName.BEFORE_TOOL
    assert specific(event, tool_input={"a": 1}).get_modified_tool_input() == {"a": 1}
    assert specific(event, tool_input=[1]).get_modified_tool_input() is None


def test_removed_fields_of_a_tool_input_are_named_by_strings() -> None:
    event, given = HookEventName.BEFORE_TOOL, {"a": 1, "b": 1}
    read = specific(event, removeToolInput=["a", 1, {}])
    assert read.get_removed_tool_input() == ["a"]
    assert read.apply_to_tool_input(given) == {"b": 1}
    assert specific(event, removeToolInput="a").get_removed_tool_input() == []
    assert specific(event, removeToolInput="a").apply_to_tool_input(given) is given
    assert specific(event, removeToolInput=[]).apply_to_tool_input(given) is given
    assert specific(event, removeToolInput=["a"]).apply_to_tool_input(None) == {}


@pytest.mark.parametrize(
    ("event", "name", "value", "fault"),
    [
        (HookEventName.BEFORE_TOOL, "removeToolInput", ["a"], None),
        (HookEventName.BEFORE_TOOL, "removeToolInput", "a", "must be a list"),
        (HookEventName.BEFORE_TOOL, "removeToolInput", [1], "must hold only strings"),
        (HookEventName.SESSION_START, "exports", {"A": "1"}, None),
        (HookEventName.SESSION_START, "exports", {"A": 1}, "must hold only strings"),
        (HookEventName.PRE_COMPRESS, "keepHistory", "yes", "must be true or false"),
        (HookEventName.NOTIFICATION, "userMessage", 1, "must be a string"),
    ],
)
def test_a_field_of_the_wrong_kind_is_said_to_be_so(
    event: HookEventName, name: str, value: object, fault: str | None
) -> None:
    assert find_fault(event, name, value) == fault


def test_variables_and_texts_of_the_wrong_kind_are_none() -> None:
    start = specific(HookEventName.SESSION_START, exports={"A": "1", "B": 2})
    assert start.get_exports() == {"A": "1"}
    assert specific(HookEventName.SESSION_START, exports=["A"]).get_exports() == {}
    assert specific(HookEventName.PRE_COMPRESS, keepHistory=1).should_keep_history() is False
    assert specific(HookEventName.NOTIFICATION, userMessage=1).get_user_message() is None


def test_a_response_of_a_before_model_hook_answers_the_call_without_a_decision() -> None:
    read = specific(HookEventName.BEFORE_MODEL, llm_response={"text": "cached"})
    assert read.is_blocking_decision()
    parts = read.get_synthetic_response()["candidates"][0]["content"]["parts"]
    assert parts == [{"text": "cached"}]


@pytest.mark.parametrize("response", [None, "text", {"candidates": "x"}, {}])
def test_a_malformed_response_neither_answers_nor_hides_a_denial(response: object) -> None:
    read = specific(HookEventName.BEFORE_MODEL, llm_response=response)
    assert not read.is_blocking_decision()
    assert read.get_synthetic_response() is None
    denied = {"decision": "deny", "hookSpecificOutput": {"llm_response": response}}
    assert create_hook_output(HookEventName.BEFORE_MODEL, denied, CALL).is_blocking_decision()


def test_a_request_nobody_changed_is_the_very_same_object() -> None:
    read: Any = create_hook_output(HookEventName.BEFORE_MODEL, {}, CALL)
    assert read.apply_llm_request_modifications(REQUEST) is REQUEST
    refused = specific(HookEventName.BEFORE_MODEL, llm_request={"messages": [{"content": {}}]})
    assert refused.apply_llm_request_modifications(REQUEST) is REQUEST


def test_a_changed_request_keeps_what_the_hook_did_not_name() -> None:
    read = specific(HookEventName.BEFORE_MODEL, llm_request={"model": "model-b"})
    assert read.apply_llm_request_modifications(REQUEST) == {**REQUEST, "model": "model-b"}


def test_a_response_nobody_changed_is_none() -> None:
    untouched: Any = create_hook_output(HookEventName.AFTER_MODEL, {}, CALL)
    assert untouched.get_modified_response(RESPONSE) is None
    assert specific(HookEventName.AFTER_MODEL, llm_response=7).get_modified_response() is None
    changed = specific(HookEventName.AFTER_MODEL, llm_response={"text": "bye"})
    content = changed.get_modified_response(RESPONSE)["candidates"][0]["content"]
    assert content["parts"] == [{"text": "bye"}]


@pytest.mark.parametrize("said", [None, "ANY", ["a"]])
def test_a_tool_config_of_the_wrong_shape_leaves_the_requests_own(said: object) -> None:
    read = specific(HookEventName.BEFORE_TOOL_SELECTION, toolConfig=said)
    own = {"functionCallingConfig": {"mode": "ANY"}}
    selection = read.apply_tool_config_modifications(own, ["tools"])
    assert selection.tool_config is own
    assert selection.tools == ["tools"]


def test_an_output_made_without_a_translator_says_so_when_it_needs_one() -> None:
    read = create_hook_output(
        HookEventName.BEFORE_MODEL, {"hookSpecificOutput": {"llm_request": {"model": "m"}}}
    )
    assert isinstance(read, BeforeModelHookOutput)
    with pytest.raises(HooklineError, match="without a translator"):
        read.apply_llm_request_modifications(REQUEST)


def with_tools(**calling: Any) -> Any:
    return {
        "model": "m",
        "contents": "q",
        "config": {"toolConfig": {"functionCallingConfig": calling}},
    }


@pytest.mark.parametrize(
    ("request_", "said", "allowed"),
    [
        (REQUEST, {}, None),
        (REQUEST, {"mode": "AUTO"}, None),
        (REQUEST, {"mode": "none"}, set()),
        (REQUEST, {"mode": "NONE", "allowedFunctionNames": ["a"]}, set()),
        (REQUEST, {"allowedFunctionNames": ["a", "b"]}, {"a", "b"}),
        (REQUEST, {"allowedFunctionNames": []}, set()),
        (REQUEST, {"allowedFunctionNames": "a"}, None),
        (REQUEST, "a", None),
        (with_tools(allowedFunctionNames=["own"]), {}, {"own"}),
        (with_tools(allowedFunctionNames=["own"]), {"allowedFunctionNames": None}, {"own"}),
        (with_tools(allowedFunctionNames=["own"]), {"allowedFunctionNames": ["a"]}, {"a"}),
        (with_tools(allowedFunctionNames=["own"]), {"allowedFunctionNames": [1]}, {"own"}),
        (with_tools(mode="NONE"), {"mode": "AUTO"}, None),
        (5, {"allowedFunctionNames": ["a"]}, {"a"}),
    ],
)
def test_the_tools_that_may_be_called_are_those_that_request_and_hooks_leave(
    request_: Any, said: Any, allowed: set[str] | None
) -> None:
    read = specific(HookEventName.BEFORE_TOOL_SELECTION, toolConfig=said)
    assert find_allowed_tools(read, request_) == allowed


@pytest.mark.parametrize(
    ("event", "field", "use"),
    [
        (HookEventName.BEFORE_MODEL, "llm_response", lambda read: read.get_synthetic_response()),
        (
            HookEventName.BEFORE_MODEL,
            "llm_request",
            lambda read: read.apply_llm_request_modifications(None),
        ),
        (HookEventName.AFTER_MODEL, "llm_response", lambda read: read.get_modified_response()),
        (
            HookEventName.BEFORE_TOOL_SELECTION,
            "toolConfig",
            lambda read: read.apply_tool_config_modifications(None, None).tool_config,
        ),
        (
            HookEventName.BEFORE_TOOL_SELECTION,
            "toolConfig",
            lambda read: restrict_tools(read, None),
        ),
    ],
)
def test_a_malformed_change_has_no_effect_and_is_told(
    event: HookEventName, field: str, use: Any, caplog: pytest.LogCaptureFixture
) -> None:
    said = {"allowedFunctionNames": 5, "messages": 5, "candidates": 5}
    assert use(specific(event, **{field: said})) is None
    assert f"a hook's {field} was ignored: " in caplog.text


def test_a_rejected_response_is_replaced_in_its_own_form_if_it_can_be_read() -> None:
    read = create_hook_output(HookEventName.AFTER_MODEL, {"decision": "deny"}, CALL)
    for rejected in (RESPONSE, None, 5):
        made = make_empty_response(read, "why", rejected)
        assert made["candidates"][0]["content"]["parts"] == [{"text": "why"}]
