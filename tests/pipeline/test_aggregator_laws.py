"""What holds of every merge, whatever hooks answer."""

import copy

from hypothesis import example, given
from hypothesis import strategies as st

from hookline.pipeline.aggregator import HookAggregator, merge_outputs
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook
from hookline.wire.outputs import TOP_LEVEL_FIELDS
from hookline.wire.results import HookExecutionPlan, HookExecutionResult
from tests.eleven import Json
from tests.settings.strategies import answers, events, guarded_events, tidy_answers

several = st.lists(answers, max_size=4)


@given(events, several)
def test_no_answers_whatever_make_a_merge_raise(event: HookEventName, given: list[Json]) -> None:
    output = merge_outputs(event, given)
    if output is None:
        assert given == []
    else:
        assert output.to_wire().keys() <= TOP_LEVEL_FIELDS.keys()
        assert codec.copy(output.to_wire()) is not None


@given(events, several)
def test_a_merge_is_a_function_of_its_answers_and_changes_none(
    event: HookEventName, given: list[Json]
) -> None:
    before = repr(given)
    first = merge_outputs(event, given)
    second = merge_outputs(event, copy.deepcopy(given))
    assert repr(first) == repr(second)
    assert repr(given) == before


@given(guarded_events, several, several, st.sampled_from(["deny", "block"]))
def test_a_block_is_never_lost_whatever_stands_beside_it(
    event: HookEventName, before: list[Json], after: list[Json], word: str
) -> None:
    block = {"decision": word, "reason": "the guard says no"}
    output = merge_outputs(event, [*before, block, *after])
    assert output is not None
    assert output.is_blocking_decision()
    assert output.get_blocking_error().blocked


@given(guarded_events, several, several)
def test_a_stop_is_never_lost_whatever_stands_beside_it(
    event: HookEventName, before: list[Json], after: list[Json]
) -> None:
    output = merge_outputs(event, [*before, {"continue": False}, *after])
    assert output is not None
    assert output.should_stop_execution()


@given(guarded_events, several)
@example(
    HookEventName.BEFORE_TOOL,
    [
        {"continue": False},
        {"decision": "allow", "hookSpecificOutput": {"permissionDecision": "block"}},
    ],
)
def test_nothing_blocks_or_stops_unless_some_hook_did(
    event: HookEventName, given: list[Json]
) -> None:
    output = merge_outputs(event, given)
    alone = [merge_outputs(event, [answer]) for answer in given]
    if output is not None and output.is_blocking_decision():
        assert any(one and one.is_blocking_decision() for one in alone)
    if output is not None and output.should_stop_execution():
        assert any(one and one.should_stop_execution() for one in alone)


@given(events, several, several)
def test_a_hook_without_an_opinion_changes_nothing(
    event: HookEventName, before: list[Json], after: list[Json]
) -> None:
    with_it = merge_outputs(event, [*before, {}, *after])
    without = merge_outputs(event, [*before, *after] or [{}])
    assert repr(with_it) == repr(without)


@given(events, tidy_answers, tidy_answers, tidy_answers)
def test_merging_in_two_steps_keeps_the_same_blocks_and_stops(
    event: HookEventName, first: Json, second: Json, third: Json
) -> None:
    half = merge_outputs(event, [first, second])
    assert half is not None
    in_two = merge_outputs(event, [half.to_wire(), third])
    at_once = merge_outputs(event, [first, second, third])
    assert in_two is not None
    assert at_once is not None
    assert in_two.is_blocking_decision() == at_once.is_blocking_decision()
    assert in_two.should_stop_execution() == at_once.should_stop_execution()


@given(events, several)
def test_all_outputs_are_the_answers_as_given_in_plan_order(
    event: HookEventName, given: list[Json]
) -> None:
    hook = CommandHook(name="h", command="true")
    results = [
        HookExecutionResult(hook=hook, event_name=event, success=True, output=answer)
        for answer in given
    ]
    aggregated = HookAggregator().aggregate_results(HookExecutionPlan(event, ()), results)
    assert repr(aggregated.all_outputs) == repr(given)
    assert aggregated.success
    assert aggregated.errors == []
