"""The two factories, and the result that answers for its aggregate."""

import msgspec
import pytest

from hookline.errors import (
    HooklineError,
    InvalidPayloadError,
    PayloadEncodingError,
    TranslationError,
    UnknownEventError,
)
from hookline.pipeline.answer import ProcessedHookResult
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook
from hookline.wire.outputs import DefaultHookOutput
from hookline.wire.results import (
    AggregatedHookResult,
    FailureMeta,
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
    build_failure_envelope,
    make_empty_success_result,
)

HOOK = CommandHook(name="h", command="true")


@pytest.mark.requirement("DELTA-HFAIL-003")
def test_the_empty_success_has_no_outputs_no_errors_and_no_duration() -> None:
    result = make_empty_success_result()
    assert result.success
    assert result.final_output is None
    assert result.all_outputs == []
    assert result.errors == []
    assert result.total_duration == 0
    assert result.plan is None
    assert result.results == ()


@pytest.mark.requirement("DELTA-HFAIL-004")
def test_every_empty_success_is_a_fresh_object_with_lists_of_its_own() -> None:
    first, second = make_empty_success_result(), make_empty_success_result()
    assert first is not second
    first.all_outputs.append({"decision": "deny"})
    first.errors.append(HookError(code="c", message="m", stage="execution"))
    assert second == make_empty_success_result()
    assert second.all_outputs == []
    assert second.errors == []


@pytest.mark.requirement("DELTA-HFAIL-004")
def test_a_result_cannot_be_changed_in_place() -> None:
    result = make_empty_success_result()
    with pytest.raises(AttributeError):
        result.success = False  # type: ignore[misc]


@pytest.mark.parametrize(
    ("stage", "code"),
    [
        ("envelope", "invalid_request"),
        ("validation", "invalid_payload"),
        ("planning", "planning_failed"),
        ("translation", "translation_failed"),
        ("execution", "execution_failed"),
        ("aggregation", "aggregation_failed"),
        ("response", "response_failed"),
        ("nowhere", "internal_error"),
    ],
)
def test_the_stage_gives_a_failure_its_code(stage: str, code: str) -> None:
    envelope = build_failure_envelope(ValueError("broken"), stage)
    assert not envelope.success
    assert envelope.final_output is None
    assert envelope.all_outputs == []
    assert [(e.code, e.message, e.stage) for e in envelope.errors] == [(code, "broken", stage)]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownEventError("X"), "unsupported_event"),
        (InvalidPayloadError("BeforeTool", "x is missing"), "invalid_payload"),
        (PayloadEncodingError("a cycle"), "invalid_payload"),
        (TranslationError("no form"), "translation_failed"),
        (HooklineError("other"), "execution_failed"),
    ],
)
def test_an_error_of_ours_brings_its_own_code(error: HooklineError, code: str) -> None:
    assert build_failure_envelope(error, "execution").errors[0].code == code


def test_the_code_of_a_foreign_error_is_not_taken_for_ours() -> None:
    class Foreign(Exception):
        code = "E1234"

    failure = build_failure_envelope(Foreign("x"), "planning").errors[0]
    assert failure.code == "planning_failed"


def test_a_failure_says_what_is_known_of_the_event() -> None:
    meta = FailureMeta(
        event_name=HookEventName.BEFORE_TOOL,
        correlation_id="c-1",
        hook="guard",
        details={"a": 1},
        duration=12.5,
    )
    envelope = build_failure_envelope("in words", "execution", meta)
    failure = envelope.errors[0]
    assert failure.message == "in words"
    assert (failure.event_name, failure.correlation_id) == (HookEventName.BEFORE_TOOL, "c-1")
    assert (failure.hook, failure.details) == ("guard", {"a": 1})
    assert envelope.total_duration == 12.5
    assert build_failure_envelope("x", "execution").total_duration == 0


def test_an_error_without_words_is_called_by_its_type() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise Mute

    assert build_failure_envelope(KeyError(), "planning").errors[0].message == "KeyError"
    assert build_failure_envelope(Mute(), "planning").errors[0].message == "Mute"


def test_an_error_is_written_in_wire_names_without_what_is_unknown() -> None:
    failure = HookError(
        code="c", message="m", stage="execution", event_name=HookEventName.AFTER_TOOL, hook="h"
    )
    assert msgspec.to_builtins(failure) == {
        "code": "c",
        "message": "m",
        "stage": "execution",
        "eventName": "AfterTool",
        "hook": "h",
    }


@pytest.mark.requirement("DELTA-HRUN-004")
def test_a_processed_result_answers_for_its_aggregate() -> None:
    event = HookEventName.BEFORE_TOOL
    aggregated = AggregatedHookResult(
        False,
        DefaultHookOutput(decision="deny"),
        [{"decision": "deny"}],
        [HookError(code="c", message="m", stage="execution")],
        3.5,
        HookExecutionPlan(event, (HOOK,)),
        (HookExecutionResult(hook=HOOK, event_name=event, success=False),),
    )
    processed = ProcessedHookResult(aggregated)
    for name in AggregatedHookResult.__struct_fields__:
        assert getattr(processed, name) is getattr(aggregated, name), name
