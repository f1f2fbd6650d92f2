"""The event names and their enums, narrowed from whatever a caller has."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hookline.errors import InvalidPayloadError, UnknownEventError
from hookline.wire.events import (
    EVENTS,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
    narrow_event,
    narrow_trigger,
)

TRIGGERS = {
    HookEventName.SESSION_START: SessionStartSource,
    HookEventName.SESSION_END: SessionEndReason,
    HookEventName.PRE_COMPRESS: PreCompressTrigger,
}


def test_there_are_eleven_events_and_each_is_described() -> None:
    assert [event.value for event in HookEventName] == [
        *("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent"),
        *("BeforeModel", "AfterModel", "BeforeToolSelection"),
        *("SessionStart", "SessionEnd", "PreCompress", "Notification"),
    ]
    assert list(EVENTS) == list(HookEventName)


@pytest.mark.requirement("DELTA-HFAIL-005")
@pytest.mark.parametrize("event", HookEventName)
def test_an_event_is_narrowed_from_its_name_and_stays_itself(event: HookEventName) -> None:
    assert narrow_event(str(event)) is event
    assert narrow_event(event) is event


@pytest.mark.requirement("DELTA-HFAIL-005")
@pytest.mark.parametrize("name", ["beforetool", "BeforeTool ", "", None, 7, ["BeforeTool"], {}])
def test_a_name_that_is_no_event_raises_the_unsupported_event_error(name: object) -> None:
    with pytest.raises(UnknownEventError) as caught:
        narrow_event(name)
    assert caught.value.code == "unsupported_event"
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("BeforTool", "BeforeTool"),
        ("beforetool", "BeforeTool"),
        ("before_tool", "BeforeTool"),
        ("session-start", "SessionStart"),
        ("notifications", "Notification"),
        ("PreCompres", "PreCompress"),
    ],
)
def test_a_misspelt_event_comes_with_the_name_it_could_mean(written: str, meant: str) -> None:
    with pytest.raises(UnknownEventError, match=f"did you mean {meant}") as caught:
        narrow_event(written)
    assert caught.value.nearest[0] == meant


@given(st.text(max_size=30))
def test_any_text_has_nearest_events_or_none(name: str) -> None:
    assume(name not in EVENTS)
    with pytest.raises(UnknownEventError) as caught:
        narrow_event(name)
    assert set(caught.value.nearest) <= {event.value for event in HookEventName}


@pytest.mark.requirement("DELTA-HPAY-006")
@pytest.mark.parametrize("event", TRIGGERS)
def test_a_trigger_is_narrowed_from_the_enum_and_from_its_text(event: HookEventName) -> None:
    for member in TRIGGERS[event]:
        assert narrow_trigger(EVENTS[event], member) == member.value
        assert type(narrow_trigger(EVENTS[event], member.value)) is str


@pytest.mark.requirement("DELTA-HPAY-006")
@pytest.mark.parametrize("event", TRIGGERS)
@pytest.mark.parametrize("value", ["reboot", "", None, 3, ["startup"], {}])
def test_a_trigger_outside_the_enum_is_an_invalid_payload(
    event: HookEventName, value: object
) -> None:
    with pytest.raises(InvalidPayloadError, match="must be one of") as caught:
        narrow_trigger(EVENTS[event], value)
    assert caught.value.code == "invalid_payload"


def test_the_enums_have_the_values_scripts_know() -> None:
    assert [s.value for s in SessionStartSource] == ["startup", "resume", "clear", "compress"]
    assert [r.value for r in SessionEndReason] == [
        *("exit", "clear", "logout", "prompt_input_exit", "other"),
    ]
    assert [t.value for t in PreCompressTrigger] == ["manual", "auto"]
