"""An event's input on its way to hooks."""

import pytest

from hookline.errors import PayloadEncodingError
from hookline.runner.context import InputDocument
from hookline.wire.events import HookEventName
from hookline.wire.fired import Facts, Original

EVENT = HookEventName.BEFORE_TOOL


def document(**tool_input: object) -> InputDocument:
    return InputDocument(EVENT, {"tool_name": "t", "tool_input": tool_input})


def test_a_document_is_encoded_once() -> None:
    shared = document(a=1)
    assert shared.encoded() is shared.encoded()
    assert shared.encoded() == b'{"tool_name":"t","tool_input":{"a":1}}'


def test_every_copy_is_its_own_and_what_a_script_would_read() -> None:
    shared = document(pair=(1, 2), nothing=float("nan"))
    first, second = shared.copy(), shared.copy()
    first["tool_input"]["pair"].append(3)
    assert second == {"tool_name": "t", "tool_input": {"pair": [1, 2], "nothing": None}}


def test_a_payload_that_is_no_json_says_so_when_it_is_encoded() -> None:
    with pytest.raises(PayloadEncodingError):
        document(a=object()).encoded()


@pytest.mark.parametrize("output", [None, {}, {"decision": "deny"}, {"hookSpecificOutput": {}}])
def test_an_answer_that_changes_nothing_is_followed_by_the_same_document(
    output: dict[str, object] | None,
) -> None:
    first = document(a=1)
    assert first.followed_by(output) is first


def test_an_answer_that_changes_the_input_is_followed_by_another_document() -> None:
    first = document(a=1)
    first.encoded()
    second = first.followed_by({"hookSpecificOutput": {"tool_input": {"b": 2}}})
    assert second.copy()["tool_input"] == {"a": 1, "b": 2}
    assert first.copy()["tool_input"] == {"a": 1}


def test_a_checked_document_is_what_it_was_when_it_was_checked() -> None:
    payload = {"tool_name": "t", "tool_input": {"a": 1}}
    checked = InputDocument.checked(EVENT, payload)
    payload["tool_name"] = "changed"
    assert checked.encoded() == b'{"tool_name":"t","tool_input":{"a":1}}'
    with pytest.raises(PayloadEncodingError):
        InputDocument.checked(EVENT, {"tool_input": object()})


def test_what_claude_code_worded_is_not_what_a_changed_input_says() -> None:
    facts = Facts(call_id="c-1", original=Original("claude", {"tool_name": "Read"}))
    first = InputDocument(EVENT, {"tool_name": "t", "tool_input": {"a": 1}}, facts, cut="cut")
    second = first.followed_by({"hookSpecificOutput": {"tool_input": {"b": 2}}})
    assert second.facts == Facts(call_id="c-1")
    assert (second.cut, first.facts) == ("cut", facts)
