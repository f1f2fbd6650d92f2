"""What holds of every answer: none makes the reading raise, and none that Claude Code would take as
a block is lost."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hookline.dialects import HookAnswer
from hookline.wire import codec
from tests.arbitrary import JSON, TEXT
from tests.dialects.claude.answering import (
    CLAUDE,
    EVENTS,
    apply,
    behavior,
    document_of,
    permission,
    read,
)
from tests.eleven import Json
from tests.settings.strategies import odd

FIELDS = (
    *("hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput"),
    *("additionalContext", "updatedToolOutput", "updatedMCPToolOutput", "decision", "behavior"),
    *("message", "interrupt", "updatedPermissions", "retry", "action", "content", "watchPaths"),
    *("continue", "stopReason", "suppressOutput", "systemMessage", "reason", "async"),
    *("terminalSequence", "sessionTitle", "worktreePath", "displayContent", "novel"),
)
events = st.sampled_from(sorted(EVENTS))
words = st.sampled_from(["allow", "deny", "ask", "defer", "block", "approve", "Deny", "accept", ""])
objects = st.dictionaries(st.sampled_from(FIELDS), odd | words | JSON, max_size=4)
named = st.builds(lambda fields, event: {**fields, "hookEventName": event}, objects, events)
answers: st.SearchStrategy[Json] = st.builds(
    lambda top, own: {**top, **own},
    objects,
    st.fixed_dictionaries({}, optional={"hookSpecificOutput": odd | objects | named}),
)
codes = st.sampled_from([0, 1, 2, 3, 127, 255])


def is_sound(said: HookAnswer) -> bool:
    """Whether an answer is one thing: a failure with its cause, or an output that has JSON."""
    if said.failed is not None:
        return not said.success and bool(said.error) and said.output is None
    return said.error is None and (said.output is None or bool(codec.encode(said.output)))


@given(events, codes, answers, TEXT, st.booleans())
def test_no_object_makes_the_reading_raise(
    event: str, code: int, answer: Json, stderr: str, strict: bool
) -> None:
    said = CLAUDE.read_answer(
        *(document_of(event), "guard", code, json.dumps(answer), stderr), strict=strict
    )
    assert is_sound(said)
    apply(event, said, strict=strict).view()
    assert is_sound(CLAUDE.read_value(document_of(event), answer, strict=strict))


@given(events, codes, TEXT | st.text(max_size=20).map("{".__add__), st.booleans())
@example("PreToolUse", 0, '{"hookSpecificOutput":' * 950 + "1" + "}" * 950, False)
@example("PreToolUse", 0, '{"decision":1,"decision":' * 900 + "1" + "}" * 900, False)
@example("PreToolUse", 0, '{"hookSpecificOutput":{"hookEventName":' + "[" * 900 + "]" * 900, True)
@example("UserPromptSubmit", 0, "{" * 100_000, False)
@example("UserPromptSubmit", 0, ", " * 100_000, False)
@example("Stop", 2, '{"a": ' + "9" * 5000 + "}", False)
def test_no_text_makes_the_reading_raise(event: str, code: int, text: str, strict: bool) -> None:
    assert is_sound(read(event, code, text, strict=strict))


@given(events, JSON, JSON)
def test_no_payload_makes_the_reading_raise(event: str, tool_input: Any, name: Any) -> None:
    fields = {"tool_name": name, "tool_input": tool_input, "cwd": name, "tool_response": tool_input}
    document = document_of(event, **fields)
    for answer in (permission("allow", updatedInput={"a": 1}), behavior("allow", updatedInput={})):
        assert is_sound(CLAUDE.read_value(document, answer))


def is_refused(event: str, said: HookAnswer, *, strict: bool = False) -> bool:
    """Whether the agent is kept from what it wants, or reads what is against it."""
    answer = apply(event, said, strict=strict)
    if event in ("PostToolUse", "PostToolUseFailure"):
        return answer.blocked or bool(answer.context)
    return answer.keep_history if event == "PreCompact" else answer.blocked


DECIDED = (
    *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "UserPromptSubmit"),
    *("UserPromptExpansion", "Stop", "SubagentStop", "TaskCreated", "ConfigChange", "PreCompact"),
)
BLOCKED_BY_EXIT = (
    *(*DECIDED, "PermissionRequest", "TaskCompleted", "TeammateIdle", "Elicitation"),
    *("ElicitationResult", "WorktreeCreate", "PreModelSwitch"),
)
# What Claude Code's schema lets stand beside a decision.
beside: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "continue": st.booleans(),
        "stopReason": st.text(max_size=3),
        "suppressOutput": st.booleans(),
        "systemMessage": st.text(max_size=3),
        "terminalSequence": st.text(max_size=3),
        "novel": JSON,
    },
)
own_fields: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "additionalContext": st.text(max_size=3),
        "updatedInput": st.dictionaries(TEXT, JSON, max_size=2),
        "permissionDecisionReason": st.text(max_size=3),
        "novel": JSON,
    },
)


@given(st.sampled_from(BLOCKED_BY_EXIT), answers | TEXT, TEXT, st.booleans())
def test_exit_code_2_blocks_whatever_is_printed(
    event: str, stdout: Json | str, stderr: str, strict: bool
) -> None:
    said = read(event, 2, stdout, stderr, strict=strict)
    # What stands beside a result may have been meant to replace it.
    assert said.failed is None or (strict and event.startswith("PostToolUse"))
    assert is_refused(event, said, strict=strict)


@given(st.sampled_from(DECIDED), codes, beside, own_fields, st.booleans(), st.booleans())
def test_a_block_is_not_lost_whatever_stands_beside_it(
    event: str, code: int, more: Json, fields: Json, strict: bool, has_own: bool
) -> None:
    answer = {**more, "decision": "block", "reason": "no"}
    if has_own:
        answer["hookSpecificOutput"] = {"hookEventName": event, **fields}
        if event == "PreToolUse":
            answer["hookSpecificOutput"]["permissionDecision"] = "allow"
    said = read(event, code, answer, strict=strict)
    assert is_refused(event, said, strict=strict)


@given(codes, beside, own_fields, st.booleans())
def test_a_denied_permission_is_not_lost_whatever_stands_beside_it(
    code: int, more: Json, fields: Json, strict: bool
) -> None:
    denied = permission("deny", **fields)
    assert is_refused("PreToolUse", read("PreToolUse", code, {**more, **denied}), strict=strict)
    asked = {**more, **behavior("deny", message="no")}
    assert is_refused("PermissionRequest", read("PermissionRequest", code, asked), strict=strict)


@given(answers, st.sampled_from(["PreToolUse", "PermissionRequest"]))
def test_only_what_claude_code_reads_allows_anything(answer: Json, event: str) -> None:
    output = CLAUDE.read_value(document_of(event), answer).output or {}
    if output.get("decision") == "allow":
        own = answer.get("hookSpecificOutput")
        own = own if isinstance(own, dict) else {}
        decision = own.get("decision")
        behaves = decision.get("behavior") if isinstance(decision, dict) else None
        is_approved = (
            answer.get("decision") == "approve" or own.get("permissionDecision") == "allow"
        )
        assert is_approved if event == "PreToolUse" else behaves == "allow"
