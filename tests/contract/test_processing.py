"""The one reading of stop, message and suppression."""

from typing import Any

import pytest
from hypothesis import given

from hookline.pipeline.aggregator import merge_outputs
from hookline.pipeline.answer import ProcessedHookResult, process_common_hook_output_fields
from hookline.wire.events import HookEventName
from hookline.wire.outputs import create_hook_output
from hookline.wire.results import (
    AggregatedHookResult,
    build_failure_envelope,
    make_empty_success_result,
)
from tests.eleven import Json
from tests.settings.strategies import answers, events


def processed(**output: Any) -> ProcessedHookResult:
    final = create_hook_output(HookEventName.BEFORE_TOOL, output)
    return process_common_hook_output_fields(AggregatedHookResult(True, final))


@pytest.mark.requirement("DELTA-HRUN-002")
@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ({"stopReason": "s", "reason": "r"}, "s"),
        ({"reason": "r"}, "r"),
        ({}, "No reason provided"),
    ],
)
def test_a_stop_has_one_canonical_reason(output: Json, reason: str) -> None:
    result = processed(**{"continue": False}, **output)
    assert result.should_stop
    assert result.stop_reason == reason


@pytest.mark.requirement("DELTA-HRUN-002")
@pytest.mark.parametrize("word", ["allow", "deny"])
def test_without_a_stop_there_is_no_stop_reason(word: str) -> None:
    result = processed(decision=word, reason="r", stopReason="s", **{"continue": True})
    assert not result.should_stop
    assert result.stop_reason is None


@pytest.mark.requirement("DELTA-HRUN-003")
def test_a_message_is_displayed_unless_it_is_suppressed() -> None:
    shown = processed(systemMessage="hello")
    assert (shown.system_message, shown.suppress_output) == ("hello", False)
    hidden = processed(systemMessage="hello", suppressOutput=True)
    assert (hidden.system_message, hidden.suppress_output) == (None, True)
    assert hidden.final_output is not None
    assert hidden.final_output.system_message == "hello"


@pytest.mark.requirement("DELTA-HRUN-003")
def test_an_empty_message_is_none_to_display() -> None:
    assert processed(systemMessage="").system_message is None


@pytest.mark.requirement("DELTA-HRUN-004")
def test_a_result_without_output_is_processed_to_its_defaults() -> None:
    for aggregated in (
        make_empty_success_result(),
        build_failure_envelope(ValueError("x"), "planning"),
    ):
        result = process_common_hook_output_fields(aggregated)
        common = (result.should_stop, result.stop_reason, result.system_message)
        assert (*common, result.suppress_output) == (False, None, None, False)
        assert isinstance(result, ProcessedHookResult)
        assert result.aggregated is aggregated


@pytest.mark.requirement("DELTA-HRUN-001")
@pytest.mark.requirement("DELTA-HRUN-004")
@given(events, answers)
def test_every_merged_answer_is_processed_consistently(event: HookEventName, answer: Json) -> None:
    output = merge_outputs(event, [answer])
    assert output is not None
    result = process_common_hook_output_fields(AggregatedHookResult(True, output))
    assert result.should_stop is output.should_stop_execution()
    assert (result.stop_reason is not None) is result.should_stop
    assert not (result.suppress_output and result.system_message)
    assert result.final_output is output
