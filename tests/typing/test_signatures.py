"""What the signatures promise a type checker; ``api.py`` shows what it makes of it."""

import inspect
import typing

import pytest
import typing_extensions

from hookline.contract import HookEventHandler
from hookline.pipeline.answer import ProcessedHookResult
from hookline.wire import inputs, validators
from hookline.wire.events import (
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
)

FIRE_METHODS = [
    method
    for name, method in inspect.getmembers(HookEventHandler, inspect.iscoroutinefunction)
    if name.startswith("fire")
]


@pytest.mark.requirement("DELTA-HPAY-005")
@pytest.mark.parametrize("event", HookEventName)
def test_each_validator_is_a_type_predicate_over_the_input_of_its_event(
    event: HookEventName,
) -> None:
    # What only a type checker reads is not loaded with the validators.
    names = {"inputs": inputs, "TypeIs": typing_extensions.TypeIs}
    hints = typing.get_type_hints(validators.VALIDATORS[event], localns=names)
    returned = hints.pop("return")
    assert hints == {"value": object}
    assert typing.get_origin(returned) is typing_extensions.TypeIs
    assert typing.get_args(returned) == (getattr(inputs, f"{event.value}Input"),)


@pytest.mark.requirement("DELTA-HPAY-006")
@pytest.mark.parametrize(
    ("method", "name", "enum"),
    [
        (HookEventHandler.fire_session_start_event, "source", SessionStartSource),
        (HookEventHandler.fire_session_end_event, "reason", SessionEndReason),
        (HookEventHandler.fire_pre_compress_event, "trigger", PreCompressTrigger),
    ],
)
def test_session_events_take_their_enum(method: object, name: str, enum: type) -> None:
    assert typing.get_type_hints(method)[name] is enum


@pytest.mark.requirement("DELTA-HRUN-004")
@pytest.mark.parametrize("method", FIRE_METHODS, ids=lambda method: method.__name__)
def test_every_fire_method_returns_a_processed_result(method: object) -> None:
    assert len(FIRE_METHODS) == 12
    assert issubclass(typing.get_type_hints(method)["return"], ProcessedHookResult)
