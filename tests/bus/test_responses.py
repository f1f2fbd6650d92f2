"""Reading a worker's response: what is malformed is no response, and a denial in it counts."""

from typing import Any

import pytest

from hookline.bus.responses import (
    IncompleteExecution,
    find_denial,
    read_completed,
    shorten_denial,
)
from hookline.wire.events import HookEventName
from tests.eleven import RESPONSE, Json

TOOL, AGENT = HookEventName.BEFORE_TOOL, HookEventName.BEFORE_AGENT


def executed(final: Any = None, outputs: Any = (), **fields: Any) -> Json:
    output = {"success": True, "finalOutput": final, "allOutputs": list(outputs)}
    return {"success": True, "output": {**output, "errors": [], "totalDuration": 0.5}, **fields}


def problem_of(response: Any, event: HookEventName = TOOL) -> IncompleteExecution:
    with pytest.raises(IncompleteExecution) as caught:
        read_completed(response, event)
    return caught.value


def test_a_failed_response_has_its_code_message_and_stage() -> None:
    error = {"code": "planning_failed", "message": "why", "details": {"stage": "planning"}}
    problem = problem_of({"success": False, "error": error})
    assert (problem.code, str(problem), problem.stage) == ("planning_failed", "why", "planning")
    bare = problem_of({"success": False})
    assert (bare.code, bare.stage, bare.denial) == ("internal_error", "response", None)
    assert str(bare) == "the worker gave no reason"


def test_the_denial_of_a_failed_response_is_kept() -> None:
    output = {"finalOutput": {"decision": "deny", "reason": "no"}}
    problem = problem_of({"success": False, "output": output})
    assert problem.denial == {"decision": "deny", "reason": "no"}


def test_outputs_of_hooks_without_a_final_output_are_malformed() -> None:
    assert read_completed(executed(), TOOL).output.final_output is None
    assert problem_of(executed(None, [{}])).code == "invalid_response"
    assert read_completed(executed({}, [{}]), TOOL).output.all_outputs == [{}]


def test_a_field_that_looks_misspelled_is_malformed_and_an_unknown_one_is_not() -> None:
    assert "'decision'" in str(problem_of(executed({"decison": "deny"})))
    read_completed(executed({"somethingElse": 1}), TOOL)


@pytest.mark.parametrize(
    ("final", "event", "is_read"),
    [
        ({"hookSpecificOutput": {"permissionDecision": "maybe"}}, TOOL, False),
        ({"hookSpecificOutput": {"permissionDecision": 5}}, TOOL, False),
        ({"hookSpecificOutput": {"permissionDecision": "deny"}}, TOOL, True),
        ({"hookSpecificOutput": {"permissionDecision": "maybe"}}, AGENT, True),
        ({"hookSpecificOutput": {"permissionDecision": "maybe"}, "decision": "deny"}, TOOL, True),
        ({"hookSpecificOutput": {"permissionDecision": "maybe"}, "continue": False}, TOOL, True),
        ({"hookSpecificOutput": {}, "continue": True}, TOOL, True),
    ],
)
def test_a_permission_is_a_decision_where_it_decides(
    final: Json, event: HookEventName, is_read: bool
) -> None:
    if is_read:
        assert read_completed(executed(final), event).output.final_output == final
    else:
        assert "is not a decision" in str(problem_of(executed(final), event))


@pytest.mark.parametrize(
    ("answer", "denial"),
    [
        ({"decision": " Block "}, {"decision": "deny"}),
        ({"decision": "deny", "reason": 5}, {"decision": "deny"}),
        ({"hookSpecificOutput": {"permissionDecision": "deny"}}, {"decision": "deny"}),
        ({"continue": False, "stopReason": "s"}, {"continue": False, "stopReason": "s"}),
        ({"continue": "No"}, {"continue": False}),
        ({"continue": 0}, {"continue": False}),
        ({"decision": "allow", "reason": "r"}, None),
        ({"decision": "ask"}, None),
        ({"continue": True}, None),
        ({"continue": "yes"}, None),
        ({"continue": None}, None),
        ({"continue": []}, None),
        ([], None),
    ],
)
def test_a_denial_is_found_however_it_is_written(answer: Any, denial: Json | None) -> None:
    assert find_denial({"finalOutput": answer}) == denial
    assert find_denial({"finalOutput": {}, "allOutputs": [5, answer]}) == denial


def test_the_final_output_goes_before_those_of_hooks_and_its_reason_before_the_permissions() -> (
    None
):
    specific = {"permissionDecision": "deny", "permissionDecisionReason": "inner"}
    first = {"reason": "outer", "hookSpecificOutput": specific}
    output = {"finalOutput": first, "allOutputs": [{"decision": "deny", "reason": "other"}]}
    assert find_denial(output) == {"decision": "deny", "reason": "outer"}
    del first["reason"]
    assert find_denial(output) == {"decision": "deny", "reason": "inner"}
    assert find_denial({"finalOutput": None, "allOutputs": {}}) is None
    assert find_denial(None) is None


def test_a_shortened_denial_keeps_ten_thousand_characters_of_its_reasons() -> None:
    def shortened(length: int) -> Json:
        final = {"decision": "deny", "reason": "x" * length, "systemMessage": "gone"}
        response = executed(final, [final], policy="p")
        short = shorten_denial(response, "BeforeTool", "too long")
        assert short is not None
        return dict(short)

    exact, longer = shortened(10_000), shortened(10_001)
    output = exact["output"]
    assert output["finalOutput"] == {"decision": "deny", "reason": "x" * 10_000}
    assert output["allOutputs"] == [output["finalOutput"]]
    assert (output["success"], output["totalDuration"], exact["policy"]) == (False, 0.5, "p")
    assert output["errors"][0]["code"] == "response_shortened"
    assert output["errors"][0]["message"] == "only the denial was sent: too long"
    reason = longer["output"]["finalOutput"]["reason"]
    assert reason == "x" * 10_000 + "… (+1 characters)"
    read_completed(longer, TOOL)


def test_only_an_answer_in_the_models_place_is_shortened_to_a_denial_that_it_is_not() -> None:
    final = {"hookSpecificOutput": {"llm_response": RESPONSE}}
    short = shorten_denial(executed(final), "BeforeModel", "too long")
    assert short is not None
    assert short["output"]["finalOutput"] == {
        "decision": "deny",
        "reason": "a hook answered in the model's place, but its response is too long to send",
    }
    assert shorten_denial(executed(final), "AfterModel", "too long") is None
    assert shorten_denial(executed({"decision": "allow"}), "BeforeModel", "too long") is None
    for nothing in ({}, {"output": None}, {"output": {"finalOutput": None}}):
        assert shorten_denial(nothing, "BeforeTool", "too long") is None
