"""The sentences about aggregation, each with an example."""

from typing import Any, get_args

import pytest

from hookline.dialects.claude.events import ClaudeEventName
from hookline.pipeline.aggregator import HookAggregator, merge_outputs
from hookline.wire.events import EventName, HookEventName
from hookline.wire.hooks import CommandHook, OnFailure
from hookline.wire.outputs import BeforeToolHookOutput
from hookline.wire.results import (
    AggregatedHookResult,
    FailedKind,
    HookExecutionPlan,
    HookExecutionResult,
)
from tests.eleven import Json

E = HookEventName
DECIDING = [E.BEFORE_TOOL, E.AFTER_TOOL, E.BEFORE_AGENT, E.AFTER_AGENT, E.SESSION_START]
MODEL = [E.BEFORE_MODEL, E.AFTER_MODEL]
ADVISORY = [E.SESSION_END, E.PRE_COMPRESS, E.NOTIFICATION]
ALLOWED = {"continue": True, "suppressOutput": False, "decision": "allow"}


def merged(event: EventName, *answers: Json) -> Json:
    output = merge_outputs(event, answers)
    assert output is not None
    return output.to_wire()


def specific(event: HookEventName, *parts: Json) -> Any:
    return merged(event, *({"hookSpecificOutput": part} for part in parts))["hookSpecificOutput"]


def ran(
    output: Json | None = None,
    *,
    name: str = "h",
    success: bool = True,
    failed: FailedKind | None = None,
    on_failure: OnFailure = "allow",
) -> HookExecutionResult:
    return HookExecutionResult(
        hook=CommandHook(name=name, command="true", on_failure=on_failure),
        event_name=E.BEFORE_TOOL,
        success=success,
        output=output,
        failed=failed,
        error="it broke" if failed else None,
        duration=2.0,
    )


def aggregated(*results: HookExecutionResult) -> AggregatedHookResult:
    plan = HookExecutionPlan(E.BEFORE_TOOL, tuple(result.hook for result in results))
    return HookAggregator().aggregate_results(plan, results)


def test_success_is_execution_health_and_never_policy() -> None:
    denied = aggregated(ran({"decision": "deny"}), ran())
    assert denied.success
    blocked = aggregated(ran({"decision": "deny"}, success=False), ran())
    assert not blocked.success
    assert blocked.errors == []
    assert blocked.final_output is not None
    assert blocked.final_output.is_blocking_decision()


@pytest.mark.requirement("GUAR-3")
def test_errors_hold_one_error_for_each_failed_hook_and_partial_success_is_kept() -> None:
    result = aggregated(
        ran({"systemMessage": "a"}, name="a"),
        ran(name="b", success=False, failed="timeout"),
        ran({"systemMessage": "c"}, name="c"),
        ran(name="d", success=False, failed="exit"),
    )
    assert not result.success
    assert [(e.code, e.hook, e.message) for e in result.errors] == [
        ("hook_timeout", "b", "b failed: it broke"),
        ("hook_exit", "d", "d failed: it broke"),
    ]
    assert result.all_outputs == [{"systemMessage": "a"}, {"systemMessage": "c"}]
    assert result.final_output is not None
    assert result.final_output.system_message == "a\nc"


def test_the_total_duration_is_the_sum_over_hooks_and_results_are_in_plan_order() -> None:
    results = (ran(name="a"), ran(name="b"), ran(name="c"))
    result = aggregated(*results)
    assert result.total_duration == 6.0
    assert result.results == results
    assert result.plan is not None
    assert [hook.name for hook in result.plan.hooks] == ["a", "b", "c"]


def test_no_outputs_mean_no_final_output() -> None:
    result = aggregated(ran(), ran(success=False, failed="exit"))
    assert result.final_output is None
    assert result.all_outputs == []


@pytest.mark.parametrize("kind", get_args(FailedKind))
def test_a_hook_that_fails_closed_contributes_a_denial_whatever_it_failed_of(
    kind: FailedKind,
) -> None:
    failure = ran(name="guard", success=False, failed=kind, on_failure="block")
    result = aggregated(ran({"decision": "allow"}), failure)
    assert result.all_outputs[1] == {"decision": "deny", "reason": "guard failed: it broke"}
    assert result.final_output is not None
    assert result.final_output.is_blocking_decision()
    assert result.final_output.get_effective_reason() == "guard failed: it broke"
    assert len(result.errors) == 1


def test_a_hook_that_fails_open_contributes_nothing() -> None:
    result = aggregated(ran(success=False, failed="timeout"))
    assert result.final_output is None
    assert not result.success


def test_a_block_by_exit_code_is_no_failure_that_could_fail_closed() -> None:
    blocked = ran({"decision": "deny", "reason": "no"}, success=False, on_failure="block")
    assert aggregated(blocked).all_outputs == [{"decision": "deny", "reason": "no"}]


@pytest.mark.parametrize("event", DECIDING)
def test_a_deciding_event_always_has_continue_suppress_output_and_a_decision(
    event: HookEventName,
) -> None:
    assert merged(event, {}) == ALLOWED
    assert merged(event, {"decision": "approve"}) == ALLOWED


@pytest.mark.parametrize("event", DECIDING)
@pytest.mark.parametrize(
    ("words", "decision"),
    [
        (["allow", "deny", "allow"], "deny"),
        (["deny", "block"], "block"),
        (["block", "deny"], "deny"),
        (["deny", "ask"], "deny"),
        (["ask", "block"], "block"),
        (["allow", "ask", "approve"], "ask"),
        (["maybe", "allow"], "allow"),
        (["Deny"], "allow"),
    ],
)
def test_the_last_blocking_word_decides_else_ask_else_allow(
    event: HookEventName, words: list[str], decision: str
) -> None:
    assert merged(event, *({"decision": word} for word in words))["decision"] == decision


@pytest.mark.parametrize("event", DECIDING)
def test_the_default_allow_is_left_out_when_a_hook_stopped(event: HookEventName) -> None:
    stopped = merged(event, {"continue": False}, {"continue": True})
    assert stopped == {"continue": False, "suppressOutput": False}
    asked = merged(event, {"continue": False}, {"decision": "ask"})
    assert asked["decision"] == "ask"


@pytest.mark.parametrize("event", DECIDING)
def test_reasons_and_messages_are_joined_in_plan_order_and_empty_ones_skipped(
    event: HookEventName,
) -> None:
    said = merged(
        event,
        {"reason": "a", "systemMessage": ""},
        {"reason": "", "systemMessage": "x"},
        {"reason": "b", "systemMessage": "y"},
    )
    assert said == {**ALLOWED, "reason": "a\nb", "systemMessage": "x\ny"}


@pytest.mark.parametrize("event", DECIDING)
def test_stop_reasons_are_those_of_hooks_that_stop(event: HookEventName) -> None:
    said = merged(
        event,
        {"continue": False, "stopReason": "a"},
        {"stopReason": "not stopping"},
        {"continue": False, "stopReason": ""},
        {"continue": False, "stopReason": "b"},
    )
    assert said["stopReason"] == "a\nb"


@pytest.mark.parametrize("event", DECIDING)
def test_additional_context_is_joined_with_empty_ones_kept(event: HookEventName) -> None:
    parts = [{"additionalContext": text} for text in ("<a>", "", "b")]
    assert specific(event, *parts)["additionalContext"] == "<a>\n\nb"


@pytest.mark.parametrize("bad", [7, None, ["x"], {}])
def test_a_context_that_is_no_string_takes_no_other_with_it(bad: object) -> None:
    for parts in ([bad, "a", "b"], ["a", bad, "b"], ["a", "b", bad]):
        contexts = [{"additionalContext": part} for part in parts]
        assert specific(E.BEFORE_AGENT, *contexts)["additionalContext"] == "a\nb"


@pytest.mark.parametrize("event", DECIDING)
def test_stop_suppression_and_clearing_win(event: HookEventName) -> None:
    yes: Json = {
        "continue": False,
        "suppressOutput": True,
        "hookSpecificOutput": {"clearContext": True},
    }
    no: Json = {
        "continue": True,
        "suppressOutput": False,
        "hookSpecificOutput": {"clearContext": False},
    }
    for answers in ([yes, no], [no, yes]):
        said = merged(event, *answers)
        assert (said["continue"], said["suppressOutput"]) == (False, True)
        assert said["hookSpecificOutput"] == {"clearContext": True}


def test_a_clear_context_that_is_not_true_vanishes() -> None:
    assert specific(E.AFTER_AGENT, {"clearContext": "yes"}, {"clearContext": False}) == {}


def test_tool_inputs_are_merged_shallowly_in_plan_order() -> None:
    parts: list[Json] = [
        {"tool_input": {"a": {"x": 1}, "b": 1}},
        {"tool_input": {"a": {"y": 2}}},
        {"tool_input": {"c": 3}},
    ]
    assert specific(E.BEFORE_TOOL, *parts) == {"tool_input": {"a": {"y": 2}, "b": 1, "c": 3}}


@pytest.mark.parametrize("bad", [7, None, "x", [1]])
def test_a_tool_input_that_is_no_object_takes_no_other_with_it(bad: object) -> None:
    for parts in ([bad, {"a": 1}], [{"a": 1}, bad]):
        changes = [{"tool_input": part} for part in parts]
        assert specific(E.BEFORE_TOOL, *changes) == {"tool_input": {"a": 1}}


def test_a_field_that_a_hook_removes_is_gone_unless_a_later_one_gives_it_again() -> None:
    removing: Json = {"tool_input": {"c": 2}, "removeToolInput": ["a", "b"]}
    changing: Json = {"tool_input": {"a": 2}}

    def left(*parts: Json) -> object:
        output = merge_outputs(E.BEFORE_TOOL, [{"hookSpecificOutput": part} for part in parts])
        assert isinstance(output, BeforeToolHookOutput)
        return output.apply_to_tool_input({"a": 1, "b": 1, "c": 1, "d": 1})

    assert left(removing) == {"c": 2, "d": 1}
    assert left(changing, removing) == {"c": 2, "d": 1}
    assert left(removing, changing) == {"a": 2, "c": 2, "d": 1}
    assert left(removing, {"removeToolInput": ["d", "a"]}) == {"c": 2}
    # What a hook gives and removes at once, it gives.
    assert left({"tool_input": {"a": 2}, "removeToolInput": ["a", "b", "c", "d"]}) == {"a": 2}
    assert changing == {"tool_input": {"a": 2}}
    # As many as a model may think up.
    many = {str(number): 1 for number in range(50_000)}
    assert left({"tool_input": many}, {"removeToolInput": [*many, "a"]}) == {"b": 1, "c": 1, "d": 1}


@pytest.mark.parametrize("bad", [7, None, "a", [{}, 1], [["a"]]])
def test_names_that_are_no_strings_take_no_others_with_them(bad: object) -> None:
    for parts in ([bad, ["a"]], [["a"], bad]):
        removals = [{"removeToolInput": part} for part in parts]
        assert specific(E.BEFORE_TOOL, *removals) == {"removeToolInput": ["a"]}


def test_a_text_for_the_user_is_joined_on_every_event_and_variables_are_united() -> None:
    for event in HookEventName:
        if event not in (E.BEFORE_TOOL_SELECTION,):
            told = specific(event, {"userMessage": "a"}, {"userMessage": 7}, {"userMessage": "b"})
            assert told["userMessage"] == "a\nb"
    first, second = {"A": "1", "B": "1"}, {"B": "2"}
    united = specific(E.SESSION_START, {"exports": first}, {"exports": second}, {"exports": "x"})
    assert united == {"exports": {"A": "1", "B": "2"}}


@pytest.mark.parametrize("other", [False, None, "yes", 1])
def test_one_hook_that_keeps_the_history_is_enough(other: object) -> None:
    for parts in ([True, other], [other, True]):
        kept = specific(E.PRE_COMPRESS, *({"keepHistory": part} for part in parts))
        assert kept["keepHistory"] is True


def test_a_permission_that_no_hook_decides_has_no_decision() -> None:
    event = ClaudeEventName.PERMISSION_REQUEST
    told: Json = {"hookSpecificOutput": {"userMessage": "m"}}
    assert "decision" not in merged(event, told, {})
    assert merged(event, told, {"decision": "allow"})["decision"] == "allow"
    words = [{"decision": word, "reason": word} for word in ("allow", "deny", "allow")]
    assert merged(event, *words)["decision"] == "deny"
    assert "decision" not in merged(event, {"continue": False})


def test_a_guard_of_compaction_that_fails_closed_keeps_the_history() -> None:
    hook = CommandHook(
        name="h",
        command="true",
        on_failure="block",
        dialect="claude",
        dialect_event="PreCompact",
    )
    result = HookExecutionResult(
        hook=hook, event_name=E.PRE_COMPRESS, success=False, failed="timeout", error="late"
    )
    plan = HookExecutionPlan(E.PRE_COMPRESS, (hook,))
    output = HookAggregator().aggregate_results(plan, [result]).final_output
    assert output is not None
    assert output.should_keep_history()
    assert output.get_user_message() == "h failed: late"


@pytest.mark.parametrize("event", DECIDING)
def test_of_other_specific_keys_the_later_wins_and_all_are_united(event: HookEventName) -> None:
    united = specific(event, {"x": {"a": 1}, "y": 1}, {"x": {"b": 2}, "z": None})
    assert united == {"x": {"b": 2}, "y": 1, "z": None}


def test_the_last_good_tail_call_wins() -> None:
    first, second = {"name": "a", "args": {}}, {"name": "b", "args": {}}
    calls = [{"tailToolCallRequest": call} for call in (first, second, {"name": "c"}, "x")]
    assert specific(E.AFTER_TOOL, *calls) == {"tailToolCallRequest": second}


@pytest.mark.parametrize("event", HookEventName)
def test_unknown_top_level_fields_stay_in_all_outputs_and_are_not_in_the_final_one(
    event: HookEventName,
) -> None:
    answer = {"novel": 1, "systemMessage": "m", "hook_specific_output": {}}
    plan = HookExecutionPlan(event, ())
    result = HookAggregator().aggregate_results(plan, (ran(answer),))
    assert result.all_outputs == [answer]
    assert result.final_output is not None
    assert "novel" not in result.final_output.to_wire()
    assert result.final_output.system_message == "m"


@pytest.mark.parametrize("event", MODEL)
def test_on_model_events_later_fields_replace_earlier_ones(event: HookEventName) -> None:
    said = merged(
        event,
        {"systemMessage": "A", "reason": "ra", "suppressOutput": True, "decision": "ask"},
        {"systemMessage": "B", "suppressOutput": False, "decision": "allow"},
    )
    assert said == {
        "systemMessage": "B",
        "reason": "ra",
        "suppressOutput": False,
        "decision": "allow",
        "hookSpecificOutput": {},
    }


@pytest.mark.parametrize("event", MODEL)
def test_on_model_events_specific_output_is_always_there_and_merged(event: HookEventName) -> None:
    assert merged(event, {}) == {"hookSpecificOutput": {}}
    assert specific(event, {"a": 1, "b": 1}, {"b": 2}) == {"a": 1, "b": 2}


def test_two_hooks_that_change_different_things_of_a_request_both_count() -> None:
    united = specific(
        E.BEFORE_MODEL,
        {"llm_request": {"model": "a", "config": {"temperature": 1, "topP": 0.5}}},
        {"llm_request": {"config": {"temperature": 0}, "toolConfig": {"mode": "ANY"}}},
        {"llm_request": {"toolConfig": {"allowedFunctionNames": ["x"]}}},
    )
    assert united["llm_request"] == {
        "model": "a",
        "config": {"temperature": 0, "topP": 0.5},
        "toolConfig": {"mode": "ANY", "allowedFunctionNames": ["x"]},
    }


@pytest.mark.parametrize("bad", [7, "x", {"messages": [{"content": {}}]}, {"config": 1}])
def test_a_malformed_request_or_response_takes_no_other_with_it(bad: object) -> None:
    good = {"llm_request": {"model": "a"}, "llm_response": {"text": "t"}}
    worse = {"llm_request": bad, "llm_response": bad}
    assert specific(E.BEFORE_MODEL, good, worse) == good
    assert specific(E.BEFORE_MODEL, worse, good) == good


@pytest.mark.parametrize("event", MODEL)
def test_a_block_stands_with_its_reason_whatever_a_later_hook_says(event: HookEventName) -> None:
    block = {"decision": "deny", "reason": "no"}
    later: Json = {
        "decision": "allow",
        "reason": "fine",
        "stopReason": "aside",
        "continue": True,
        "systemMessage": "ok",
    }
    for answers in ([block, later], [later, block]):
        said = merged(event, *answers)
        assert (said["decision"], said["reason"]) == ("deny", "no")
        assert "stopReason" not in said
        assert said["systemMessage"] == "ok"


@pytest.mark.parametrize("event", HookEventName)
@pytest.mark.parametrize("word", ["deny", "block"])
def test_a_block_keeps_the_message_that_came_with_it(event: HookEventName, word: str) -> None:
    block: Json = {"decision": word, "reason": "no", "systemMessage": "ask Ann"}
    others: list[Json] = [{"suppressOutput": True}, {"hookSpecificOutput": {"x": 1}}]
    for answers in ([block], [block, *others], [*others, block]):
        said = merged(event, *answers)
        assert (said["decision"], said["reason"]) == (word, "no")
        assert said["systemMessage"] == "ask Ann"


@pytest.mark.parametrize("event", [*DECIDING, E.BEFORE_TOOL_SELECTION])
def test_a_block_and_a_message_of_two_hooks_are_both_kept(event: HookEventName) -> None:
    block: Json = {"decision": "deny", "reason": "no", "systemMessage": "one"}
    said = merged(event, block, {"systemMessage": "two"})
    assert (said["decision"], said["systemMessage"]) == ("deny", "one\ntwo")


@pytest.mark.parametrize("event", MODEL)
def test_a_stop_stands_with_its_reason_whatever_a_later_hook_says(event: HookEventName) -> None:
    stop: Json = {"continue": False, "reason": "enough"}
    later: Json = {"continue": True, "decision": "allow", "reason": "go on", "stopReason": "x"}
    for answers in ([stop, later], [later, stop]):
        output = merge_outputs(event, answers)
        assert output is not None
        assert output.should_stop_execution()
        assert output.get_effective_reason() == "enough"


@pytest.mark.parametrize("event", MODEL)
def test_a_block_and_a_stop_of_two_hooks_both_stand(event: HookEventName) -> None:
    block = {"decision": "block", "reason": "no", "stopReason": "aside"}
    stop: Json = {"continue": False, "stopReason": "enough", "reason": "other"}
    for answers in ([block, stop], [stop, block]):
        assert merged(event, *answers) == {
            "continue": False,
            "stopReason": "enough",
            "decision": "block",
            "reason": "no",
            "hookSpecificOutput": {},
        }


@pytest.mark.parametrize("event", MODEL)
def test_a_later_block_without_a_reason_keeps_the_reason_of_the_earlier_one(
    event: HookEventName,
) -> None:
    said = merged(event, {"decision": "deny", "reason": "no"}, {"decision": "block", "reason": ""})
    assert (said["decision"], said["reason"]) == ("block", "no")


@pytest.mark.parametrize("event", ADVISORY)
def test_on_advisory_events_later_fields_replace_earlier_ones(event: HookEventName) -> None:
    first: Json = {"systemMessage": "a", "reason": "r", "hookSpecificOutput": {"x": 1}}
    second: Json = {"systemMessage": "b", "decision": "deny", "hookSpecificOutput": {"y": 2}}
    third = {"decision": "allow"}
    assert merged(event, first, second, third) == {
        "systemMessage": "b",
        "reason": "r",
        "decision": "allow",
        "hookSpecificOutput": {"y": 2},
    }


@pytest.mark.parametrize("event", HookEventName)
def test_what_is_done_to_one_output_does_not_reach_the_next(event: HookEventName) -> None:
    answer = {"decision": "deny", "reason": "no"}
    first = merge_outputs(event, [answer])
    assert first is not None
    expected = repr(first)
    if first.hook_specific_output is not None:
        first.hook_specific_output["spoilt"] = True
    assert repr(merge_outputs(event, [dict(answer)])) == expected
    assert answer == {"decision": "deny", "reason": "no"}
