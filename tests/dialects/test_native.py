"""The exit code decides, stdout explains; what is wrong in an answer is dropped and said."""

import json
from collections import UserDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects import DIALECTS, EventDocument, HookAnswer
from hookline.errors import PayloadEncodingError
from hookline.wire.events import HookEventName
from hookline.wire.outputs import TOP_LEVEL_FIELDS, create_hook_output
from tests.eleven import Json
from tests.settings.strategies import answers, events

EVENT = HookEventName.BEFORE_TOOL
NATIVE = DIALECTS["native"]


def answer(
    code: int,
    stdout: str = "",
    stderr: str = "",
    event: HookEventName = EVENT,
    *,
    strict: bool = False,
) -> HookAnswer:
    return NATIVE.read_answer(
        EventDocument(event, {}), "guard", code, stdout, stderr, strict=strict
    )


def warnings_of(event: HookEventName, **output: Any) -> tuple[str, ...]:
    return NATIVE.read_value(EventDocument(event, {}), output).warnings


def error_of(event: HookEventName, **output: Any) -> str | None:
    """What a hook that fails closed has failed with, None if it has not."""
    read = NATIVE.read_value(EventDocument(event, {}), output, strict=True)
    assert read.success is (read.failed is None) is (read.error is None)
    assert read.failed in (None, "malformed")
    assert read.success or read.output is None
    return read.error


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
    assert said == HookAnswer(success=True)


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
        ('{"reason": "r"}\n{"decision": "deny", "reason": "s"}\n{"reason": "t"}', "", "s"),
        ('{"decision": "deny", "reason": "r"', "", '{"decision": "deny", "reason": "r"'),
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
@pytest.mark.parametrize("value", [7, ["x"]])
def test_a_known_field_of_the_wrong_type_is_dropped_with_a_warning(
    name: str, value: object
) -> None:
    read = NATIVE.read_value(EventDocument(EVENT, {}), {name: value, "novel": None})
    assert read.output == {"novel": None}
    assert len(read.warnings) == 1
    assert read.warnings[0].startswith(f"{name} must be ")
    assert f"{name} must be " in str(error_of(EVENT, **{name: value, "novel": None}))


@pytest.mark.parametrize("name", TOP_LEVEL_FIELDS)
def test_null_is_a_field_that_was_left_out(name: str) -> None:
    for strict in (False, True):
        read = NATIVE.read_value(EventDocument(EVENT, {}), {name: None}, strict=strict)
        assert (read.success, read.output, read.warnings) == (True, {}, ())


def test_the_denial_beside_a_field_of_the_wrong_type_stands() -> None:
    said = answer(0, '{"hookSpecificOutput": "oops", "decision": "deny"}')
    assert said.output == {"decision": "deny"}
    assert said.success


@pytest.mark.parametrize("word", ["maybe", "den y", "deny.", ""])
def test_an_unknown_decision_word_is_warned_of(word: str) -> None:
    (warning,) = warnings_of(EVENT, decision=word)
    assert repr(word) in warning
    assert "it has no effect" in warning
    assert repr(word) in (error_of(EVENT, decision=word) or "")


@pytest.mark.parametrize("word", ["Deny", " deny ", "DENY\n", "\tdENY"])
def test_case_and_blanks_of_a_decision_word_do_not_matter_but_are_warned_of(word: str) -> None:
    for said in ({"decision": word}, {"hookSpecificOutput": {"permissionDecision": word}}):
        for strict in (False, True):
            read = NATIVE.read_value(EventDocument(EVENT, {}), said, strict=strict)
            assert read.output is not None
            assert create_hook_output(EVENT, read.output).is_blocking_decision()
            [warning] = read.warnings
            assert f"{word!r} counts as deny" in warning
    assert NATIVE.read_value(EventDocument(EVENT, {}), {"decision": word}).output == {
        "decision": "deny"
    }


@pytest.mark.parametrize("word", ["allow", "approve", "ask", "block", "deny"])
def test_a_known_decision_word_is_not_warned_of(word: str) -> None:
    assert warnings_of(EVENT, decision=word) == ()
    assert warnings_of(EVENT, hookSpecificOutput={"permissionDecision": word}) == ()


@pytest.mark.parametrize("word", ["never", 7, ["deny"], {}])
def test_an_unknown_permission_decision_is_warned_of(word: object) -> None:
    (warning,) = warnings_of(EVENT, hookSpecificOutput={"permissionDecision": word})
    assert warning.startswith("permissionDecision ")
    assert error_of(EVENT, hookSpecificOutput={"permissionDecision": word}) is not None


@pytest.mark.parametrize(
    ("event", "field", "value"),
    [
        ("BeforeTool", "tool_input", [1]),
        ("BeforeTool", "permissionDecisionReason", 7),
        ("AfterTool", "tailToolCallRequest", {"name": "x"}),
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
    assert error_of(HookEventName(event), hookSpecificOutput={field: value}) is not None
    assert warnings_of(HookEventName(event), hookSpecificOutput={field: None}) == ()
    assert error_of(HookEventName(event), hookSpecificOutput={field: None}) is None


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


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ("BeforeTool", {"hookSpecificOutput": {"decision": "deny"}}),
        ("BeforeTool", {"hookSpecificOutput": {"continue": False}}),
        ("BeforeTool", {"reason": "no", "permissionDecision": " Deny "}),
        ("BeforeTool", {"reason": "no", "permission_decision": "ask"}),
        ("AfterTool", {"hookSpecificOutput": {"permissionDecision": "deny"}}),
        ("BeforeAgent", {"hookSpecificOutput": {"decision": "block", "hookEventName": "x"}}),
    ],
)
def test_a_denial_in_a_place_where_none_is_read_fails_a_hook_that_fails_closed(
    event: str, said: Json
) -> None:
    read = NATIVE.read_value(EventDocument(HookEventName(event), {}), said, strict=True)
    assert read.failed == "malformed"
    open_read = NATIVE.read_value(EventDocument(HookEventName(event), {}), said)
    assert (open_read.failed, len(open_read.warnings)) == (None, 1)


@pytest.mark.parametrize(
    ("event", "field", "instead"),
    [
        ("BeforeModel", "llmResponse", "write hookSpecificOutput.llm_response"),
        ("BeforeModel", "llm_respons", "write hookSpecificOutput.llm_response"),
        ("BeforeModel", "llmRequest", "write hookSpecificOutput.llm_request"),
        ("BeforeModel", "additionalContext", "write systemMessage at the top of the answer"),
        ("BeforeModel", "tool_config", "write it into hookSpecificOutput.llm_request"),
        ("BeforeModel", "contents", "write hookSpecificOutput.llm_request.messages"),
        ("AfterModel", "llm-response", "write hookSpecificOutput.llm_response"),
        ("AfterModel", "llm_request", "it is read only on BeforeModel"),
        ("BeforeTool", "toolInput", "write hookSpecificOutput.tool_input"),
        ("BeforeTool", "updatedInput", "write hookSpecificOutput.tool_input"),
        ("BeforeTool", "permission_decision", "write hookSpecificOutput.permissionDecision"),
        ("BeforeTool", "decision", "write it at the top of the answer"),
        ("AfterTool", "tool_input", "it is read only on BeforeTool"),
        ("AfterTool", "tool_output", "write hookSpecificOutput.updatedToolOutput"),
        ("AfterTool", "updated_tool_output", "write hookSpecificOutput.updatedToolOutput"),
        ("AfterTool", "updated-tool-output", "write hookSpecificOutput.updatedToolOutput"),
        ("AfterTool", "additional_context", "write hookSpecificOutput.additionalContext"),
        ("AfterTool", "permissionDecision", "write decision at the top of the answer"),
        ("BeforeAgent", "prompt", "write hookSpecificOutput.additionalContext"),
        ("BeforeAgent", "clearContext", "it is read only on AfterAgent"),
        ("BeforeToolSelection", "tool_config", "write hookSpecificOutput.toolConfig"),
        ("BeforeToolSelection", "mode", "write it into hookSpecificOutput.toolConfig"),
        ("Notification", "tool_input", "it is read only on BeforeTool"),
        ("BeforeTool", "modifiedInput", "write hookSpecificOutput.tool_input"),
        ("AfterTool", "tool_response", "write hookSpecificOutput.updatedToolOutput"),
        ("AfterTool", "updatedMCPToolOutput", "write hookSpecificOutput.updatedToolOutput"),
        ("AfterTool", "permissionDecisionReason", "write reason at the top of the answer"),
        ("BeforeAgent", "updatedPrompt", "write hookSpecificOutput.additionalContext"),
        ("BeforeModel", "messages", "write hookSpecificOutput.llm_request.messages"),
        ("BeforeModel", "candidates", "write it into hookSpecificOutput.llm_response"),
        ("AfterModel", "candidates", "write it into hookSpecificOutput.llm_response"),
        (
            "BeforeToolSelection",
            "allowedFunctionNames",
            "write it into hookSpecificOutput.toolConfig",
        ),
        ("SessionEnd", "additionalContext", "write systemMessage at the top of the answer"),
    ],
)
def test_a_field_that_is_not_read_there_is_warned_of_with_what_to_write(
    event: str, field: str, instead: str
) -> None:
    said = {"reason": "r", "hookSpecificOutput": {field: {"x": 1}, "hookEventName": event}}
    warning = f"hookSpecificOutput.{field} is not read on {event}; {instead}"
    assert warnings_of(HookEventName(event), **said) == (warning,)
    assert error_of(HookEventName(event), **said) == f"its answer is not clear: {warning}"


def test_a_specific_field_at_the_top_is_warned_of_by_name() -> None:
    event = HookEventName.BEFORE_MODEL
    for name in ("llm_response", "llmResponse"):
        (warning,) = warnings_of(event, **{name: {"text": "x"}, "reason": "r"})
        assert warning.startswith(f"{name} is not read at the top of an answer to BeforeModel; ")
        assert warning.endswith("; write hookSpecificOutput.llm_response")
    (warning,) = warnings_of(EVENT, permissionDecision="deny", reason="r")
    assert warning.endswith("write hookSpecificOutput.permissionDecision")


def test_a_field_that_is_not_read_there_is_warned_of_by_name_and_is_no_failure() -> None:
    specific = {"novel": 7, "toolInput": None}
    assert warnings_of(EVENT, hookSpecificOutput=specific) == (
        "hookSpecificOutput.novel is not read on BeforeTool; it has no effect",
    )
    assert error_of(EVENT, hookSpecificOutput=specific) is None
    many = {"tool_inputs_new": {}, **{f"f{number}": 1 for number in range(200)}}
    guessed, others = warnings_of(EVENT, hookSpecificOutput=many)
    assert "tool_inputs_new is not read on BeforeTool, did you mean tool_input?" in guessed
    assert others.endswith(
        "hookSpecificOutput.f4 and 195 more are not read on BeforeTool; they have no effect"
    )


def test_a_slip_is_looked_for_in_fifty_fields_and_a_guard_may_not_have_more() -> None:
    for others, is_found in ((49, True), (50, False)):
        unknown = {f"zz{number}": 1 for number in range(others)}
        error = error_of(EVENT, reason="r", **unknown, decison="deny")
        assert error is not None
        assert ("unknown fields" in error) is not is_found
        error = error_of(EVENT, hookSpecificOutput={**unknown, "decison": "deny"})
        assert (error is not None and "51 unknown fields" in error) is not is_found
    for others, word in ((49, "write hookSpecificOutput.tool_input"), (50, "it has no effect")):
        specific: Json = {**{f"zz{number}": None for number in range(others)}, "toolInput": {}}
        (warning,) = warnings_of(EVENT, hookSpecificOutput=specific)
        assert warning.endswith(word)


def test_what_documented_answers_say_of_themselves_is_not_warned_of() -> None:
    boundary = {"llm_request_boundary": {"pendingMessageStartIndex": 2}, "hookEventName": "x"}
    assert warnings_of(HookEventName.BEFORE_MODEL, hookSpecificOutput=boundary) == ()


def test_what_a_tool_config_or_a_call_to_follow_does_not_have_is_named() -> None:
    event = HookEventName.BEFORE_TOOL_SELECTION
    # Without its list every tool is allowed, which a hook that fails closed did not mean.
    for name in ("allowedTools", "allowed_function_names"):
        specific = {"toolConfig": {"mode": "ANY", name: ["a"]}}
        (warning,) = warnings_of(event, hookSpecificOutput=specific)
        assert warning.endswith(f".{name} is not read; write mode or allowedFunctionNames")
        assert error_of(event, hookSpecificOutput=specific) is not None
    call = {"tailToolCallRequest": {"name": "ls", "args": {}, "why": "x"}}
    assert warnings_of(HookEventName.AFTER_TOOL, hookSpecificOutput=call) == (
        "hookSpecificOutput.tailToolCallRequest.why is not read; it has no effect",
    )


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "named"),
    [
        (1, '{"decision": "deny", "reason": "r"}', "", "decision, reason"),
        (2, '{"decision": "allow", "systemMessage": "m"}', "no", "systemMessage, decision"),
        (2, '{"decision": "block", "reason": "r"}', "no", "reason"),
        (2, '{"continue": false, "reason": "r"}', "", "continue"),
        (2, '{"decision": "deny", "reason": "r"}', "", None),
        (2, '{"decision": "deny", "reason": "no"}', "no", None),
        (2, '{"decision": []}', "no", "decision"),
        (2, '{"novel": 1}', "no", None),
        (3, "[1, 2]", "", None),
        (3, "working…", "", None),
    ],
)
def test_an_answer_beside_an_exit_code_that_overrules_it_is_named(
    code: int, stdout: str, stderr: str, named: str | None
) -> None:
    warnings = answer(code, stdout, stderr).warnings
    assert [f"its answer on stdout ({named}) is not read: " in each for each in warnings] == (
        [] if named is None else [True]
    )


def test_what_a_models_format_does_not_have_is_warned_of_by_name() -> None:
    event = HookEventName.BEFORE_MODEL
    request = {
        "contents": [],
        "config": {"max_tokens": 1},
        "messages": [{"content": "x", "parts": []}] * 2,
    }
    (warning,) = warnings_of(event, hookSpecificOutput={"llm_request": request})
    assert "llm_request has fields that are not read: contents, config.max_tokens, mess" in warning
    assert warning.endswith("messages.parts; it may have model, messages, config, toolConfig")
    response = {"text": "x", "content": "y"}
    (warning,) = warnings_of(event, hookSpecificOutput={"llm_response": response})
    assert "not read: content; it may have text, candidates, usageMetadata" in warning


@pytest.mark.parametrize(("mode", "meant"), [("none", "NONE"), (" Any\t", "ANY")])
def test_the_mode_of_a_model_request_is_read_in_any_case_too(mode: str, meant: str) -> None:
    from hookline.wire.model import read_llm_request

    change = read_llm_request({"toolConfig": {"mode": mode}}).tool_config
    assert change is not None
    assert change.named() == {"mode": meant}
    assert (
        warnings_of(
            HookEventName.BEFORE_MODEL,
            hookSpecificOutput={"llm_request": {"toolConfig": {"mode": mode}}},
        )
        == ()
    )
    wrong = {"llm_request": {"toolConfig": {"mode": "nothing"}}}
    assert "'nothing' is not one of" in str(
        error_of(HookEventName.BEFORE_MODEL, hookSpecificOutput=wrong)
    )


def test_a_tool_config_as_gemini_has_it_and_a_mode_in_small_letters_count() -> None:
    event = HookEventName.BEFORE_TOOL_SELECTION
    names = {"allowedFunctionNames": ["a"]}
    for config in (
        {"functionCallingConfig": {"mode": "ANY", **names}},
        {"mode": "any", **names},
        {"mode": " Any", **names},
    ):
        output = {"hookSpecificOutput": {"toolConfig": config}}
        said = NATIVE.read_value(EventDocument(event, {}), output, strict=True)
        assert said.output == {"hookSpecificOutput": {"toolConfig": {"mode": "ANY", **names}}}
        assert said.warnings == ()


@pytest.mark.parametrize("mode", ["NOTHING", 5, ["NONE"], ""])
def test_a_mode_that_is_none_is_warned_of_and_fails_a_hook_that_fails_closed(mode: object) -> None:
    event = HookEventName.BEFORE_TOOL_SELECTION
    (warning,) = warnings_of(event, hookSpecificOutput={"toolConfig": {"mode": mode}})
    assert warning.endswith("is not one of AUTO, ANY, NONE; it counts as AUTO")
    assert error_of(event, hookSpecificOutput={"toolConfig": {"mode": mode}}) is not None
    assert error_of(event, hookSpecificOutput={"toolConfig": {"mode": "VALIDATED"}}) is None


@pytest.mark.parametrize(
    ("decision", "permission", "stricter"),
    [
        ("allow", "deny", "deny"),
        ("allow", "ask", "ask"),
        ("ask", "Deny", "deny"),
        ("approve", "block", "block"),
        ("deny", "allow", "deny"),
        ("ask", "allow", "ask"),
        ("block", "deny", "block"),
    ],
)
def test_of_two_decisions_of_a_hook_that_fails_closed_the_stricter_counts(
    decision: str, permission: str, stricter: str
) -> None:
    specific = {"permissionDecision": permission, "permissionDecisionReason": "why"}
    said = {"decision": decision, "hookSpecificOutput": specific}
    read = NATIVE.read_value(EventDocument(EVENT, {}), said, strict=True)
    assert read.output is not None
    output = create_hook_output(EVENT, read.output)
    assert (output.decision, output.reason) == (stricter, "why")


@pytest.mark.parametrize("word", ["deny", "ask"])
def test_a_denial_beside_an_approval_is_not_passed_over_in_silence(word: str) -> None:
    specific = {"permissionDecision": word}
    (warning,) = warnings_of(EVENT, decision="allow", hookSpecificOutput=specific)
    assert f"permissionDecision '{word}' is not read beside decision 'allow'" in warning


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("decison", "decision"), ("decisions", "decision"), ("descision", "decision")),
        ("desicion", "decision"),
        *(("dceision", "decision"), ("Decision", "decision"), ("decision ", "decision")),
        *(("stop_reason", "stopReason"), ("hook_specific_output", "hookSpecificOutput")),
        *(("hookSpecificOuput", "hookSpecificOutput"), ("contine", "continue")),
        *(("resaon", "reason"), ("system-message", "systemMessage"), ("supressOutput", "suppre")),
    ],
)
def test_a_field_one_slip_away_from_a_known_one_is_warned_of_by_that_name(
    name: str, meant: str
) -> None:
    said = {name: "x", "stopReason": "r", "reason": "r"}
    (warning,) = warnings_of(EVENT, **said)
    assert "is not read at the top of an answer to BeforeTool, did you mean " + meant in warning
    assert f"did you mean {meant}" in str(error_of(EVENT, **said))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        *((name, name) for name in ("novel", "season2", "deciding", "message", "d" * 40, "_")),
        *(("", "''"), ("two words", "'two words'"), ("\x1b[2J", "'\\x1b[2J'")),
        ("e" * 100_000, repr("e" * 80)),
    ],
)
def test_any_other_unknown_field_is_named_and_fails_no_hook(name: str, shown: str) -> None:
    assert warnings_of(EVENT, **{name: "x", "reason": "r"}) == (
        f"{shown} is not read at the top of an answer to BeforeTool; it has no effect",
    )
    assert error_of(EVENT, **{name: "x", "reason": "r"}) is None
    assert warnings_of(EVENT, **{name: None, "reason": "r"}) == ()


def test_a_field_like_a_known_one_is_named_with_it() -> None:
    (warning,) = warnings_of(EVENT, sysMessage="x", reason="r")
    assert "sysMessage is not read at the top" in warning
    assert "did you mean systemMessage?" in warning


def test_an_answer_without_a_single_known_field_names_what_it_has() -> None:
    (warning,) = warnings_of(EVENT, **{f"f{number}": 1 for number in range(9)})
    assert warning.startswith("none of its fields (f0, f1, f2, f3, f4 and 4 more) is one of cont")


@pytest.mark.parametrize(
    ("stdout", "problem"),
    [
        *(('[{"decision": "deny"}]', "not an object"), ("[]", "array"), ('"[]"', "array")),
        ('["deny"]', "array"),
        ('{"novel": 1}', "none of its fields (novel)"),
        ('{"decison": "deny", "reason": "r"}', "did you mean decision?"),
        ('{"continue": "false"}', "continue must be"),
        ('{"decision": "denied"}', "'denied' is not one of"),
        ('{"hookSpecificOutput": "deny"}', "hookSpecificOutput must be"),
        ('{"hookSpecificOutput": {"tool_input": []}}', "tool_input must be"),
        ('{"decision": "deny", "decision": "allow"}', "'decision' twice"),
        ('{"reason": "r", "x": [{"a": 1, "\\u0061": 2}]}', "'a' twice"),
        ('{"reason": "\\u0022", "reason": ""}', "'reason' twice"),
        ('{"decision": "deny",}', "line 1, column "),
        ('{"decision": "deny"', "line 1, column "),
        ("{'decision': 'deny'}", "double quotes"),
        ('{"decision" => "deny"}', "line 1, column "),
        ('{"reason": NaN}', "NaN"),
        ('log\n{"decision": "allow"}', "text before it"),
        ('{"decision": "allow"}\nlog', "text after its object (line 2"),
        ('{"decision": "allow"}{}', "text after its object"),
        ("Checked ${HOME}: fine", "text with a { in it"),
        ('"{\\"decision\\": \\"deny\\"}"', "not an object"),
        ('"\\u007b\\"decision\\": \\"deny\\"}"', "not an object"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
        ('{"decision": "deny"}'.encode("utf-16-le").decode(), "line 1, column "),
    ],
)
def test_a_hook_that_fails_closed_fails_with_anything_but_one_object(
    stdout: str, problem: str
) -> None:
    said = answer(0, stdout, strict=True)
    assert (said.success, said.failed, said.output) == (False, "malformed", None)
    assert said.error is not None
    assert said.error.startswith("its answer ")
    assert problem in said.error
    is_garbled = "not clear" not in said.error
    assert said.error.endswith("print progress to stderr") is is_garbled


@pytest.mark.parametrize(
    "stdout",
    [
        *("", "{}", "plain text", "[INFO] all fine", "42", "null", "true", '"words"'),
        *('{"decision": null}', '{"decision": "Deny"}', '{"reason": "r", "novel": 1}'),
        '{"hookSpecificOutput": {"additionalContext": null}}',
        '{"reason": "a \\"quoted\\" word and \\u0022 another"}',
        '{"reason": "\\ud800"}',
    ],
)
def test_a_hook_that_fails_closed_may_say_nothing_or_one_object(stdout: str) -> None:
    assert answer(0, stdout, strict=True) == answer(0, stdout)
    assert answer(0, stdout, strict=True).success


@pytest.mark.parametrize("character", ["\n", "\t", "\0", "\x1b[31m"])
def test_raw_control_characters_in_the_strings_of_a_guard_are_read(character: str) -> None:
    said = answer(0, f'{{"decision": "deny", "reason": "a{character}b"}}', strict=True)
    assert said.output == {"decision": "deny", "reason": f"a{character}b"}


def test_a_garbled_answer_is_a_failure_that_adds_nothing_and_says_where() -> None:
    said = answer(0, '{"decision": "deny",}')
    assert (said.success, said.failed, said.output) == (False, "malformed", None)
    assert said.error is not None
    assert "line 1, column " in said.error
    assert "print one JSON object and nothing else" in said.error


def test_the_permission_of_the_event_decides_which_of_several_documents_blocks() -> None:
    denial = '{"hookSpecificOutput": {"permissionDecision": "Deny"}}'
    said = answer(0, f'{denial}\n{{"decision": "allow"}}')
    assert said.output == {"hookSpecificOutput": {"permissionDecision": "deny"}}
    after = answer(0, f'{denial}\n{{"decision": "ask"}}', event=HookEventName.AFTER_TOOL)
    assert after.output == {"decision": "ask"}
    response = '{"hookSpecificOutput": {"llm_response": {"text": "t"}}}'
    model = answer(0, f'{response}\n{{"decision": "ask"}}', event=HookEventName.BEFORE_MODEL)
    assert model.output == json.loads(response)


@given(events, st.integers(0, 3), answers | st.text(max_size=20), st.text(max_size=5))
def test_no_answer_whatever_raises_or_blocks_by_accident(
    event: HookEventName, code: int, said: Any, stderr: str
) -> None:
    stdout = said if isinstance(said, str) else json.dumps(said)
    read = answer(code, stdout.strip(), stderr, event)
    strictly = answer(code, stdout.strip(), stderr, event, strict=True)
    is_kept = strictly.output == read.output or _blocks(event, strictly.output)
    assert strictly.failed == "malformed" or is_kept
    assert read.success is (code == 0 and read.failed is None)
    assert (read.failed == "exit") is (code in (1, 3))
    if code == 2:
        assert read.output is not None
        assert read.output["decision"] == "deny"
    elif code:
        assert read.output is None


def _blocks(event: HookEventName, output: Json | None) -> bool:
    made = create_hook_output(event, output or {})
    return made.is_blocking_decision() or made.is_ask_decision()


@pytest.mark.parametrize("kind", [dict, UserDict, MappingProxyType])
def test_a_returned_mapping_of_any_kind_is_the_output_as_a_copy(kind: Any) -> None:
    inner = {"path": "a"}
    returned: Json = {"decision": "deny", "hookSpecificOutput": {"tool_input": inner}}
    read = NATIVE.read_value(EventDocument(EVENT, {}), kind(returned))
    inner["path"] = "changed"
    assert read.success
    assert read.output == {
        "decision": "deny",
        "hookSpecificOutput": {"tool_input": {"path": "a"}},
    }


def test_a_returned_value_that_is_no_json_is_an_error() -> None:
    with pytest.raises(PayloadEncodingError):
        NATIVE.read_value(EventDocument(EVENT, {}), {"decision": object()})


def test_a_dialect_nobody_knows_is_read_as_the_native_one() -> None:
    assert DIALECTS["klingon"] is NATIVE
    assert NATIVE.timeout_ms(250) == 250
    assert NATIVE.event_for("BeforeTool") is EVENT
    assert NATIVE.event_for("beforeTool") is None
