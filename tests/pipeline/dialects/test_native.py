"""The exit code decides, stdout explains; what is wrong in an answer is dropped and said."""

import json
from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errors import PayloadEncodingError
from hookline.pipeline.dialects import Answer, dialect_of
from hookline.pipeline.dialects.native import clean_output
from hookline.wire.events import HookEventName
from hookline.wire.outputs import TOP_LEVEL_FIELDS
from tests.eleven import Json
from tests.pipeline.strategies import answers, events

EVENT = HookEventName.BEFORE_TOOL
NATIVE = dialect_of("native")


def answer(code: int, stdout: str = "", stderr: str = "", event: HookEventName = EVENT) -> Answer:
    return NATIVE.read_answer(event, "guard", code, stdout, stderr)


def warnings_of(event: HookEventName, **output: Any) -> tuple[str, ...]:
    return clean_output(event, output)[1]


@pytest.mark.requirement("INV-6")
def test_exit_0_with_json_is_that_output() -> None:
    said = answer(0, '{"decision": "deny", "novel": 1}', "a log line")
    assert said.success
    assert said.failed is None
    assert said.output == {"decision": "deny", "novel": 1}
    assert said.output_format == "json"


@pytest.mark.requirement("INV-6")
def test_exit_0_with_text_allows_with_the_text_as_message() -> None:
    said = answer(0, "all fine\nhere")
    assert said.success
    assert said.output == {"decision": "allow", "systemMessage": "all fine\nhere"}
    assert said.output_format == "text"


def test_exit_0_with_nothing_has_no_output_and_stderr_is_never_parsed() -> None:
    said = answer(0, "", '{"decision": "deny"}')
    assert said == Answer(success=True)


@pytest.mark.requirement("INV-6")
@pytest.mark.parametrize(
    ("stdout", "stderr", "reason"),
    [
        ("", "real reason", "real reason"),
        ("debug chatter", "real reason", "real reason"),
        ('{"decision": "allow", "reason": "r"}', "", "r"),
        ('{"stopReason": "s"}', "", "s"),
        ('{"reason": "r", "stopReason": "s"}', "", "r"),
        ('log\n{"reason": "r"}', "", "r"),
        ("plain text", "", "plain text"),
        ("", "", "Blocked by hook guard"),
        ('{"decision": "deny"}', "", "Blocked by hook guard"),
        ('{"reason": 7}', "", "Blocked by hook guard"),
        ("42", "", "Blocked by hook guard"),
    ],
)
def test_exit_2_denies_with_stderr_else_what_stdout_gives_else_a_fixed_reason(
    stdout: str, stderr: str, reason: str
) -> None:
    said = answer(2, stdout, stderr)
    assert not said.success
    assert said.failed is None
    assert said.output == {"decision": "deny", "reason": reason}


def test_an_interpreter_without_its_script_blocks_and_says_why() -> None:
    said = answer(2, "", "python3: can't open file '/x.py': [Errno 2] No such file")
    assert said.output is not None
    assert "could not open the hook's script" in said.warnings[0]


@pytest.mark.parametrize("code", [1, 3, 126, 127, 255])
@pytest.mark.parametrize("stdout", ["", "text", '{"decision": "deny"}'])
def test_any_other_exit_is_a_failure_whatever_was_printed(code: int, stdout: str) -> None:
    said = answer(code, stdout, "disk is slow")
    assert not said.success
    assert said.output is None
    assert said.failed == "exit"
    assert said.error == f"exited with code {code}: disk is slow"


@pytest.mark.parametrize("name", TOP_LEVEL_FIELDS)
@pytest.mark.parametrize("value", [None, 7, ["x"]])
def test_a_known_field_of_the_wrong_type_is_dropped_with_a_warning(
    name: str, value: object
) -> None:
    output, warnings = clean_output(EVENT, {name: value, "novel": value})
    assert output == {"novel": value}
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{name} must be ")


def test_the_denial_beside_a_field_of_the_wrong_type_stands() -> None:
    said = answer(0, '{"hookSpecificOutput": "oops", "decision": "deny"}')
    assert said.output == {"decision": "deny"}
    assert said.success


@pytest.mark.parametrize("word", ["maybe", "Deny", " deny ", ""])
def test_an_unknown_decision_word_is_warned_of(word: str) -> None:
    (warning,) = warnings_of(EVENT, decision=word)
    assert repr(word) in warning
    assert "counts as none" in warning


@pytest.mark.parametrize("word", ["allow", "approve", "ask", "block", "deny"])
def test_a_known_decision_word_is_not_warned_of(word: str) -> None:
    assert warnings_of(EVENT, decision=word) == ()
    assert warnings_of(EVENT, hookSpecificOutput={"permissionDecision": word}) == ()


@pytest.mark.parametrize("word", ["never", 7, ["deny"], {}])
def test_an_unknown_permission_decision_is_warned_of(word: object) -> None:
    (warning,) = warnings_of(EVENT, hookSpecificOutput={"permissionDecision": word})
    assert warning.startswith("permissionDecision ")


@pytest.mark.parametrize(
    ("event", "field", "value"),
    [
        ("BeforeTool", "tool_input", [1]),
        ("BeforeTool", "additionalContext", 7),
        ("AfterTool", "tailToolCallRequest", {"name": "x"}),
        ("AfterTool", "additionalContext", None),
        ("BeforeAgent", "additionalContext", ["x"]),
        ("AfterAgent", "clearContext", "yes"),
        ("SessionStart", "additionalContext", {}),
        ("BeforeModel", "llm_request", {"messages": [{"content": {}}]}),
        ("BeforeModel", "llm_response", {"text": 7}),
        ("AfterModel", "llm_response", "text"),
        ("BeforeToolSelection", "toolConfig", "ANY"),
        ("BeforeToolSelection", "toolConfig", {"allowedFunctionNames": "abc"}),
    ],
)
def test_a_specific_field_of_the_wrong_shape_is_warned_of(
    event: str, field: str, value: object
) -> None:
    (warning,) = warnings_of(HookEventName(event), hookSpecificOutput={field: value})
    assert warning.startswith(f"hookSpecificOutput.{field} ")
    assert warning.endswith("; it was ignored")


def test_a_specific_field_of_the_right_shape_is_not_warned_of() -> None:
    config = {"mode": "ANY", "allowedFunctionNames": ["a"]}
    event = HookEventName.BEFORE_TOOL_SELECTION
    assert warnings_of(event, hookSpecificOutput={"toolConfig": config}) == ()
    assert warnings_of(event, hookSpecificOutput={"toolConfig": {}}) == ()
    call = {"name": "read", "args": {}}
    assert (
        warnings_of(HookEventName.AFTER_TOOL, hookSpecificOutput={"tailToolCallRequest": call})
        == ()
    )


def test_fields_an_event_does_not_know_are_not_looked_at() -> None:
    assert warnings_of(HookEventName.NOTIFICATION, hookSpecificOutput={"tool_input": 7}) == ()
    assert warnings_of(EVENT, hookSpecificOutput={"novel": 7, "llm_request": 7}) == ()


@given(events, st.integers(0, 3), answers | st.text(max_size=20), st.text(max_size=5))
def test_no_answer_whatever_raises_or_blocks_by_accident(
    event: HookEventName, code: int, said: Any, stderr: str
) -> None:
    stdout = said if isinstance(said, str) else json.dumps(said)
    read = answer(code, stdout.strip(), stderr, event)
    assert read.success is (code == 0)
    assert (read.failed == "exit") is (code in (1, 3))
    if code == 2:
        assert read.output is not None
        assert read.output["decision"] == "deny"
    elif code:
        assert read.output is None


@pytest.mark.parametrize("kind", [dict, UserDict, MappingProxyType])
def test_a_returned_mapping_of_any_kind_is_the_output_as_a_copy(kind: Any) -> None:
    inner = {"path": "a"}
    returned: Json = {"decision": "deny", "hookSpecificOutput": {"tool_input": inner}}
    read = NATIVE.read_value(EVENT, kind(returned))
    inner["path"] = "changed"
    assert read.success
    assert read.output == {
        "decision": "deny",
        "hookSpecificOutput": {"tool_input": {"path": "a"}},
    }


def test_a_returned_value_that_is_no_json_is_an_error() -> None:
    with pytest.raises(PayloadEncodingError):
        NATIVE.read_value(EVENT, {"decision": object()})


def test_a_dialect_nobody_knows_is_read_as_the_native_one() -> None:
    assert dialect_of("klingon") is NATIVE
    assert NATIVE.timeout_ms(250) == 250
    assert NATIVE.event_for("BeforeTool") is EVENT
    assert NATIVE.event_for("beforeTool") is None
