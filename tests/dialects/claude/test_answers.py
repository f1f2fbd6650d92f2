"""Table C5 of Claude Code's hooks, event by event: what a hook prints and exits with, what native
words say the same, and what an agent does about it."""

from typing import Any, NamedTuple

import pytest

from hookline.dialects import HookAnswer
from hookline.wire.events import EVENTS as SPECS
from tests.dialects.claude.answering import (
    CLAUDE,
    EVENTS,
    apply,
    behavior,
    document_of,
    own,
    permission,
    read,
)
from tests.eleven import Json

BLOCK: Json = {"decision": "block", "reason": "no"}
DENIED: Json = {"decision": "deny", "reason": "no"}
STOP: Json = {"continue": False, "stopReason": "enough"}


class Case(NamedTuple):
    """``output`` is None where nothing is decided; ``does`` are properties of the Answer."""

    event: str
    code: int
    stdout: object
    stderr: str
    output: Json | None
    does: dict[str, Any]


def specific(**fields: Any) -> Json:
    return {"hookSpecificOutput": fields}


GOES_ON: dict[str, Any] = {"blocked": False, "asks": False, "context": None, "system_message": None}
ASKED: Json = {"decision": "ask", "reason": "sure?"}

CASES = [
    # PreToolUse
    Case("PreToolUse", 0, "", "noise", None, GOES_ON),
    Case("PreToolUse", 0, {}, "", None, GOES_ON),
    Case("PreToolUse", 0, "checked", "", None, GOES_ON),
    Case("PreToolUse", 0, permission("allow"), "", {"decision": "allow"}, GOES_ON),
    Case(
        *("PreToolUse", 0, permission("allow", permissionDecisionReason="safe"), ""),
        {"decision": "allow", **specific(userMessage="safe")},
        {"blocked": False, "system_message": "safe", "message": None, "texts_for_model": []},
    ),
    Case(
        *("PreToolUse", 0, permission("deny", permissionDecisionReason="no"), "", DENIED),
        {"denied": True, "reason": "no", "system_message": None},
    ),
    Case("PreToolUse", 0, permission("deny"), "", {"decision": "deny"}, {"denied": True}),
    Case(
        *("PreToolUse", 0, {**permission("deny"), "reason": "no"}, "", DENIED),
        {"denied": True, "reason": "no"},
    ),
    Case(
        *("PreToolUse", 0, permission("ask", permissionDecisionReason="sure?"), "", ASKED),
        {"asks": True, "reason": "sure?", "blocked": False},
    ),
    Case(
        *("PreToolUse", 0, permission("defer", permissionDecisionReason="sure?"), "", ASKED),
        {"asks": True, "reason": "sure?"},
    ),
    Case("PreToolUse", 0, BLOCK, "", DENIED, {"denied": True, "reason": "no"}),
    Case(
        *("PreToolUse", 0, {"decision": "approve", "reason": "safe"}, ""),
        {"decision": "allow", **specific(userMessage="safe")},
        {"blocked": False, "system_message": "safe"},
    ),
    Case(
        *("PreToolUse", 0, {**BLOCK, **permission("allow")}, "", DENIED),
        {"denied": True, "reason": "no"},
    ),
    Case(
        *("PreToolUse", 0, {"decision": "approve", **permission("ask")}, ""),
        *({"decision": "ask"}, {"asks": True}),
    ),
    Case("PreToolUse", 1, permission("deny"), "trace", {"decision": "deny"}, {"denied": True}),
    Case("PreToolUse", 1, {"continue": True}, "trace", None, GOES_ON),
    Case("PreToolUse", 2, "", "no", DENIED, {"denied": True, "reason": "no"}),
    Case(
        *("PreToolUse", 2, "chatter", "", {"decision": "deny", "reason": "Blocked by hook guard"}),
        {"denied": True, "reason": "Blocked by hook guard"},
    ),
    Case("PreToolUse", 2, permission("allow"), "no", DENIED, {"denied": True, "reason": "no"}),
    Case("PreToolUse", 2, permission("ask"), "no", DENIED, {"denied": True, "asks": False}),
    Case("PreToolUse", 2, BLOCK, "from stderr", DENIED, {"denied": True, "reason": "no"}),
    Case("PreToolUse", 2, permission("deny"), "no", DENIED, {"denied": True, "reason": "no"}),
    Case("PreToolUse", 2, '{"decision": "appr', "no", DENIED, {"denied": True, "reason": "no"}),
    Case("PreToolUse", 2, {"continue": "no"}, "no", DENIED, {"denied": True, "stopped": False}),
    Case("PreToolUse", 2, {"async": True}, "no", DENIED, {"denied": True}),
    Case(
        *("PreToolUse", 2, {**permission("allow", additionalContext="c"), **STOP}, "no"),
        {**DENIED, **STOP, **specific(additionalContext="c")},
        {"stopped": True, "reason": "enough", "context": "c"},
    ),
    Case(
        *("PreToolUse", 0, own("PreToolUse", updatedInput={"command": "ls -l", "timeout": 5}), ""),
        specific(tool_input={"command": "ls -l"}),
        {"tool_input": {"command": "ls -l", "timeout": 5}, "blocked": False},
    ),
    Case(
        *("PreToolUse", 0, permission("allow", updatedInput={"command": "ls -l"}), ""),
        {
            "decision": "allow",
            **specific(tool_input={"command": "ls -l"}, removeToolInput=["timeout"]),
        },
        {"tool_input": {"command": "ls -l"}},
    ),
    Case(
        *("PreToolUse", 0, own("PreToolUse", updatedInput={}), ""),
        specific(removeToolInput=["command", "timeout"]),
        {"tool_input": {}},
    ),
    Case(
        *("PreToolUse", 0, own("PreToolUse", updatedInput={"timeout": 5, "command": "ls"}), ""),
        *(None, {"tool_input": {"command": "ls", "timeout": 5}}),
    ),
    Case(
        *("PreToolUse", 0, permission("defer", updatedInput={"command": "x"}), ""),
        *({"decision": "ask"}, {"asks": True, "tool_input": {"command": "ls", "timeout": 5}}),
    ),
    Case(
        *("PreToolUse", 0, own("PreToolUse", additionalContext="c"), ""),
        *(specific(additionalContext="c"), {"context": "c", "texts_for_model": ["c"]}),
    ),
    Case("PreToolUse", 0, STOP, "", STOP, {"stopped": True, "reason": "enough"}),
    Case(
        *("PreToolUse", 0, {"systemMessage": "look", "suppressOutput": True}, ""),
        specific(userMessage="look"),
        {"system_message": "look", "suppressed": False, "message": None, "texts_for_model": []},
    ),
    Case("PreToolUse", 0, {"terminalSequence": "\x07", "novel": [1]}, "", None, GOES_ON),
    Case("PreToolUse", 0, {"async": True, "asyncTimeout": 5}, "", None, GOES_ON),
    Case("PreToolUse", 0, '{"async": true}\n{"decision": "block"}', "", None, GOES_ON),
    Case("PreToolUse", 0, {"decision": None, "reason": None}, "", None, GOES_ON),
    Case(
        "PreToolUse", 0, '\ufeff \n{"decision": "block"}', "", {"decision": "deny"}, {"denied": 1}
    ),
    Case("PreToolUse", 0, '"deny"', "", None, GOES_ON),
    # PermissionRequest
    Case("PermissionRequest", 0, {}, "", None, GOES_ON),
    Case("PermissionRequest", 0, behavior("allow"), "", {"decision": "allow"}, {"blocked": False}),
    Case(
        *("PermissionRequest", 0, behavior("allow", updatedInput={"command": "x"}), ""),
        {
            "decision": "allow",
            **specific(tool_input={"command": "x"}, removeToolInput=["timeout"]),
        },
        {"tool_input": {"command": "x"}},
    ),
    Case(
        *("PermissionRequest", 0, behavior("deny", message="no"), "", DENIED),
        {"denied": True, "reason": "no", "stopped": False},
    ),
    Case(
        *("PermissionRequest", 0, behavior("deny", message="no", interrupt=True), ""),
        {**DENIED, "continue": False, "stopReason": "no"},
        {"stopped": True, "reason": "no"},
    ),
    Case(
        *("PermissionRequest", 2, behavior("allow", updatedInput={"command": "x"}), "no", DENIED),
        {"denied": True, "tool_input": {"command": "ls", "timeout": 5}},
    ),
    Case("PermissionRequest", 2, "", "no", DENIED, {"denied": True, "reason": "no"}),
    # PostToolUse and PostToolUseFailure
    Case(
        *("PostToolUse", 0, BLOCK, "", specific(additionalContext="no")),
        {"blocked": False, "context": "no", "tool_output": None},
    ),
    Case(
        *("PostToolUse", 0, {"decision": "block"}, ""),
        *(specific(additionalContext="Blocked by hook"), {"blocked": False}),
    ),
    Case(
        *("PostToolUse", 0, {**BLOCK, **own("PostToolUse", additionalContext="c")}, ""),
        *(specific(additionalContext="no\nc"), {"blocked": False, "context": "no\nc"}),
    ),
    Case(
        *("PostToolUse", 2, own("PostToolUse", additionalContext="c"), "fix it"),
        *(specific(additionalContext="fix it\nc"), {"blocked": False, "context": "fix it\nc"}),
    ),
    Case("PostToolUse", 2, BLOCK, "err", specific(additionalContext="no"), {"context": "no"}),
    Case("PostToolUse", 0, "formatted", "", None, GOES_ON),
    Case("PostToolUse", 0, STOP, "", STOP, {"stopped": True, "reason": "enough"}),
    Case(
        *("PostToolUse", 0, own("PostToolUse", updatedToolOutput="[redacted]"), ""),
        *(specific(updatedToolOutput="[redacted]"), {"tool_output": "[redacted]"}),
    ),
    Case(
        *("PostToolUse", 0, own("PostToolUse", updatedToolOutput={"stdout": "o", "stderr": "e"})),
        *("", specific(updatedToolOutput="o\ne"), {"tool_output": "o\ne"}),
    ),
    Case(
        *("PostToolUse", 0, own("PostToolUse", updatedToolOutput={"stdout": "", "stderr": ""})),
        *("", specific(updatedToolOutput=""), {"tool_output": ""}),
    ),
    Case(
        *("PostToolUse", 0),
        own("PostToolUse", updatedMCPToolOutput=[{"type": "text", "text": "a"}, {"type": "image"}]),
        "",
        *(specific(updatedToolOutput="a"), {"tool_output": "a"}),
    ),
    Case(
        *("PostToolUse", 0, own("PostToolUse", updatedToolOutput={"odd": 1}), "", None),
        {"tool_output": None},
    ),
    Case(
        *("PostToolUse", 0, own("PostToolUse", updatedToolOutput={"stdout": 1}), "", None),
        {"tool_output": None},
    ),
    Case("PostToolUse", 0, own("PostToolUse", updatedToolOutput=5), "", None, GOES_ON),
    Case(
        *("PostToolUseFailure", 0, own("PostToolUseFailure", additionalContext="c"), ""),
        *(specific(additionalContext="c"), {"context": "c"}),
    ),
    Case("PostToolUseFailure", 0, BLOCK, "", specific(additionalContext="no"), {"blocked": False}),
    Case("PostToolUseFailure", 2, "", "no", specific(additionalContext="no"), {"context": "no"}),
    Case(
        *("PostToolUseFailure", 0, own("PostToolUseFailure", updatedToolOutput="x"), "", None),
        {"tool_output": None},
    ),
    # PostToolBatch
    Case(
        *("PostToolBatch", 0, BLOCK, "", {"continue": False, "stopReason": "no"}),
        {"stopped": True, "reason": "no"},
    ),
    Case(
        *("PostToolBatch", 2, "", "no", {"continue": False, "stopReason": "no"}),
        {"stopped": True, "reason": "no"},
    ),
    Case(
        *("PostToolBatch", 0, own("PostToolBatch", additionalContext="c"), ""),
        *(specific(additionalContext="c"), {"context": "c", "blocked": False}),
    ),
    # UserPromptSubmit and UserPromptExpansion
    Case(
        *("UserPromptSubmit", 0, "the date\n", "", specific(additionalContext="the date")),
        {"context": "the date"},
    ),
    Case(
        *("UserPromptSubmit", 0, '["a"]', "", specific(additionalContext='["a"]')),
        {"context": '["a"]'},
    ),
    Case("UserPromptSubmit", 0, BLOCK, "", DENIED, {"denied": True, "reason": "no"}),
    Case("UserPromptSubmit", 2, "text", "no", DENIED, {"denied": True, "context": None}),
    Case(
        *("UserPromptSubmit", 0),
        own(
            "UserPromptSubmit", additionalContext="c", sessionTitle="t", suppressOriginalPrompt=True
        ),
        "",
        *(specific(additionalContext="c"), {"context": "c"}),
    ),
    Case("UserPromptExpansion", 0, "more", "", specific(additionalContext="more"), {"blocked": 0}),
    Case("UserPromptExpansion", 0, BLOCK, "", DENIED, {"denied": True}),
    Case("UserPromptExpansion", 2, "", "no", DENIED, {"denied": True}),
    # Stop and SubagentStop
    Case("Stop", 0, BLOCK, "", DENIED, {"denied": True, "send_back": "no"}),
    Case("Stop", 2, "", "no", DENIED, {"denied": True, "send_back": "no"}),
    Case("Stop", 0, "bye", "", None, {**GOES_ON, "send_back": None}),
    Case(
        "Stop", 0, {**BLOCK, **STOP}, "", {**DENIED, **STOP}, {"stopped": True, "send_back": None}
    ),
    Case(
        *("Stop", 0, own("Stop", additionalContext="c"), "", specific(additionalContext="c")),
        {"denied": False, "send_back": "c"},
    ),
    Case(
        *("Stop", 2, own("Stop", additionalContext="c"), "no"),
        *({**DENIED, **specific(additionalContext="c")}, {"send_back": "no\n\nc"}),
    ),
    Case("Stop", 0, {"decision": "approve"}, "", None, {"send_back": None}),
    Case("Stop", 2, {"decision": "block"}, "no", DENIED, {"send_back": "no"}),
    Case("SubagentStop", 0, BLOCK, "", DENIED, {"denied": True, "send_back": "no"}),
    Case("SubagentStop", 2, "", "no", DENIED, {"denied": True, "send_back": "no"}),
    Case("SubagentStop", 0, STOP, "", STOP, {"stopped": True, "send_back": None}),
    # Sessions
    Case("SessionStart", 0, "rules", "", specific(additionalContext="rules"), {"context": "rules"}),
    Case(
        *("SessionStart", 0, own("SessionStart", additionalContext="c", watchPaths=["/a"]), ""),
        *(specific(additionalContext="c"), {"context": "c"}),
    ),
    Case(
        *("SessionStart", 2, "text", "broken", specific(userMessage="broken")),
        {"blocked": False, "system_message": "broken", "texts_for_model": []},
    ),
    Case("SessionStart", 0, BLOCK, "", None, GOES_ON),
    Case("SessionEnd", 0, {**STOP, "systemMessage": "bye", "decision": "block"}, "", None, GOES_ON),
    Case("SessionEnd", 2, {"systemMessage": "bye"}, "err", specific(userMessage="err"), {}),
    Case("SessionEnd", 0, "bye", "", None, GOES_ON),
    # Compaction
    Case(
        *("PreCompact", 0, BLOCK, "", specific(keepHistory=True, userMessage="no")),
        {"keep_history": True, "system_message": "no", "blocked": False},
    ),
    Case(
        *("PreCompact", 2, "", "no", specific(keepHistory=True, userMessage="no")),
        {"keep_history": True, "system_message": "no"},
    ),
    Case("PreCompact", 0, {**STOP, "systemMessage": "m"}, "", None, {"keep_history": False}),
    Case("PostCompact", 0, {**STOP, "systemMessage": "m"}, "", None, GOES_ON),
    Case("PostCompact", 2, "", "err", specific(userMessage="err"), {"system_message": "err"}),
    # Those that only tell
    Case("Notification", 0, {**STOP, "systemMessage": "m"}, "", None, GOES_ON),
    Case("Notification", 0, own("Notification", additionalContext="c"), "", None, GOES_ON),
    Case("Notification", 2, "", "err", None, GOES_ON),
    Case("Setup", 0, own("Setup", additionalContext="c"), "", specific(additionalContext="c"), {}),
    Case("Setup", 2, "", "err", specific(userMessage="err"), {"blocked": False}),
    Case(
        *("SubagentStart", 0, own("SubagentStart", additionalContext="c"), ""),
        *(specific(additionalContext="c"), {"context": "c"}),
    ),
    Case("SubagentStart", 0, "text", "", None, GOES_ON),
    Case("SubagentStart", 2, "", "err", specific(userMessage="err"), {"blocked": False}),
    *(
        Case(event, 2, "", "err", specific(userMessage="err"), {"blocked": False})
        for event in ("CwdChanged", "FileChanged")
    ),
    *(
        Case(event, 2, BLOCK, "err", None, GOES_ON)
        for event in (
            *("PermissionDenied", "StopFailure", "InstructionsLoaded", "MessageDisplay"),
            *("WorktreeRemove", "DirectoryAdded", "PostModelSwitch"),
        )
    ),
    # What a host fires by name
    Case("PermissionDenied", 0, own("PermissionDenied", retry=True), "", specific(retry=True), {}),
    Case(
        "CwdChanged", 0, own("CwdChanged", watchPaths=["/a"]), "", specific(watchPaths=["/a"]), {}
    ),
    Case(
        *("MessageDisplay", 0, own("MessageDisplay", displayContent="d"), ""),
        *(specific(displayContent="d"), {}),
    ),
    Case("TaskCreated", 0, {**BLOCK, **STOP}, "", DENIED, {"denied": True, "stopped": False}),
    Case("TaskCompleted", 0, STOP, "", STOP, {"stopped": True}),
    *(
        Case(event, 2, "", "no", DENIED, {"denied": True, "reason": "no"})
        for event in ("TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange")
    ),
    Case("ConfigChange", 0, BLOCK, "", DENIED, {"denied": True}),
    Case(
        *("PreModelSwitch", 0, own("PreModelSwitch", permissionDecision="deny"), ""),
        *({"decision": "deny"}, {"denied": True}),
    ),
    Case(
        *("PreModelSwitch", 0, own("PreModelSwitch", permissionDecision="ask"), ""),
        *({"decision": "deny"}, {"denied": True}),
    ),
    Case("PreModelSwitch", 2, "", "no", DENIED, {"denied": True}),
    Case(
        *("Elicitation", 0, own("Elicitation", action="accept", content={"a": 1}), ""),
        *(specific(action="accept", content={"a": 1}), {"blocked": False}),
    ),
    Case(
        *("Elicitation", 0, own("Elicitation", action="decline"), ""),
        *({"decision": "deny", **specific(action="decline")}, {"denied": True}),
    ),
    Case(
        *("ElicitationResult", 2, own("ElicitationResult", action="accept"), "no", DENIED),
        {"denied": True, "reason": "no"},
    ),
    Case(
        *("WorktreeCreate", 0, "made\n\x1b[32m/w/tree\x1b[0m\n\n", ""),
        *(specific(worktreePath="/w/tree"), {"blocked": False}),
    ),
    Case("WorktreeCreate", 1, "/w/tree", "no", DENIED, {"denied": True, "reason": "no"}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.event}-{case.code}")
def test_what_a_hook_says_is_what_the_agent_does(case: Case) -> None:
    said = read(case.event, case.code, case.stdout, case.stderr)
    assert said.failed is said.error is None
    assert said.output == case.output
    refused = case.code == 2 or (case.event == "WorktreeCreate" and case.code != 0)
    assert said.success is not refused
    answer = apply(case.event, said)
    assert {name: getattr(answer, name) for name in case.does} == case.does
    told = (case.output or {}).get("hookSpecificOutput", {}).get("userMessage")
    assert told is None or told not in answer.texts_for_model


def test_the_table_names_every_event_and_is_no_smaller_than_it_was() -> None:
    assert {case.event for case in CASES} == EVENTS.keys() == {*CLAUDE.event_names()}
    assert len(CASES) >= 120


FAILURES: list[tuple[str, int, object, str, str]] = [
    # An object that cannot be read is never a text, not even where text is context.
    ("PreToolUse", 0, '{"decision": "block"', "malformed", "cannot be read"),
    ("UserPromptSubmit", 0, "{'decision': 'block'}", "malformed", "cannot be read"),
    ("SessionStart", 0, '{"decision": "block"} trailing', "malformed", "nothing else"),
    ("PreToolUse", 0, '{"a": NaN}', "malformed", "cannot be read"),
    ("PreToolUse", 0, '{"a": "raw\nbreak"}', "malformed", "cannot be read"),
    ("PreToolUse", 0, "{\0}", "malformed", "cannot be read"),
    ("PreToolUse", 0, '{"a":' * 5000 + "1" + "}" * 5000, "malformed", "too deeply"),
    # Types
    ("PreToolUse", 0, {"continue": "false"}, "malformed", "continue must be true or false"),
    ("PreToolUse", 0, {"continue": 0}, "malformed", "continue must be true or false"),
    ("PreToolUse", 0, {"stopReason": 1}, "malformed", "stopReason must be a string"),
    ("PreToolUse", 0, {"suppressOutput": "yes"}, "malformed", "suppressOutput must be"),
    ("PreToolUse", 0, {"systemMessage": ["m"]}, "malformed", "systemMessage must be a string"),
    ("PreToolUse", 0, {"terminalSequence": 7}, "malformed", "terminalSequence must be"),
    ("PreToolUse", 0, {"reason": {}}, "malformed", "reason must be a string"),
    ("PreToolUse", 0, {"async": "true"}, "malformed", "async must be true or false"),
    ("PreToolUse", 0, {"hookSpecificOutput": "x"}, "malformed", "hookSpecificOutput must be"),
    ("PreToolUse", 0, {"decision": True}, "malformed", "decision must be one of approve, block"),
    ("PreToolUse", 0, {"decision": "allow"}, "malformed", "approve, block, not 'allow'"),
    ("PreToolUse", 0, permission("maybe"), "malformed", "allow, deny, ask, defer, not 'maybe'"),
    ("PreToolUse", 0, permission("ALLOW"), "malformed", "allow, deny, ask, defer"),
    ("PreToolUse", 0, permission("allow", updatedInput=[]), "malformed", "updatedInput must be"),
    (
        "PreToolUse",
        0,
        own("PreToolUse", additionalContext=5),
        "malformed",
        "additionalContext must",
    ),
    ("UserPromptSubmit", 0, {"decision": "ask"}, "malformed", "approve, block"),
    ("Elicitation", 0, own("Elicitation", action="maybe"), "malformed", "accept, decline, cancel"),
    ("PermissionRequest", 0, behavior("maybe"), "malformed", 'behavior "allow" or "deny"'),
    ("PermissionRequest", 0, own("PermissionRequest", decision="allow"), "malformed", "behavior"),
    (
        "PermissionRequest",
        0,
        behavior("allow", updatedInput=1),
        "malformed",
        "updatedInput must be",
    ),
    ("PermissionRequest", 0, behavior("deny", interrupt="yes"), "malformed", "interrupt must be"),
    *(
        (event, 0, own(event, **{name: 7}), "malformed", f"{name} must be")
        for event, name in (
            ("PreToolUse", "permissionDecisionReason"),
            ("PreModelSwitch", "permissionDecisionReason"),
            ("PermissionDenied", "retry"),
            ("PostToolUse", "classifierContext"),
            ("UserPromptSubmit", "sessionTitle"),
            ("UserPromptSubmit", "suppressOriginalPrompt"),
            ("UserPromptExpansion", "suppressOriginalPrompt"),
            ("SessionStart", "initialUserMessage"),
            ("SessionStart", "sessionTitle"),
            ("SessionStart", "reloadSkills"),
            ("SessionStart", "watchPaths"),
            ("SubagentStart", "additionalContext"),
            ("CwdChanged", "watchPaths"),
            ("FileChanged", "watchPaths"),
            ("ElicitationResult", "content"),
            ("MessageDisplay", "displayContent"),
        )
    ),
    *(
        ("PermissionRequest", 0, behavior("allow", **{name: 7}), "malformed", f"{name} must be")
        for name in ("message", "updatedPermissions")
    ),
    # The event that an answer is to
    ("PreToolUse", 0, own("PostToolUse"), "malformed", "but the event is PreToolUse"),
    ("PreToolUse", 0, own("BeforeTool"), "malformed", "but the event is PreToolUse"),
    ("PostToolUseFailure", 0, own("PostToolUse"), "malformed", "is PostToolUseFailure"),
    ("SubagentStop", 0, own("Stop"), "malformed", "but the event is SubagentStop"),
    ("Stop", 0, {"hookSpecificOutput": {"hookEventName": 5}}, "malformed", "not a string"),
    # Valid or not, an object is looked at before the exit code; other text is not.
    ("PreToolUse", 1, {"continue": "false"}, "malformed", "continue must be true or false"),
    ("PreToolUse", 1, '{"decision": "block"', "exit", "exited with code 1: first"),
    ("SessionStart", 1, "text", "exit", "exited with code 1: first"),
    ("Stop", 127, "", "exit", "exited with code 127: first"),
]


@pytest.mark.parametrize(("event", "code", "stdout", "failed", "error"), FAILURES)
def test_an_answer_that_claude_code_refuses_is_a_failure_that_lets_the_agent_go_on(
    event: str, code: int, stdout: object, failed: str, error: str
) -> None:
    said = read(event, code, stdout, "first\nsecond")
    assert (said.success, said.failed, said.output) == (False, failed, None)
    assert error in (said.error or "")
    assert "second" not in (said.error or "")
    assert not apply(event, said).blocked


@pytest.mark.parametrize(("event", "code", "stdout", "failed"), [row[:4] for row in FAILURES])
def test_a_hook_that_fails_closed_blocks_with_it(
    event: str, code: int, stdout: object, failed: str
) -> None:
    said = read(event, code, stdout, "first", strict=True)
    assert said.failed == (failed if code == 0 else "exit")
    assert apply(event, said, strict=True).blocked is SPECS[document_of(event).event].blockable


@pytest.mark.parametrize(
    ("event", "code", "stdout", "error"),
    [
        ("PreToolUse", 1, permission("allow"), "exited with code 1"),
        ("PreToolUse", 1, permission("deny"), "exited with code 1"),
        ("PreToolUse", 0, 'log\n{"decision": "block"}', "text before it"),
        ("PreToolUse", 0, '{"decision": "block"}\nlog', "text after its object"),
        ("PreToolUse", 0, "allowed {ok}", "text with a { in it"),
        ("SessionStart", 0, "Use {braces} here", "text with a { in it"),
        ("UserPromptSubmit", 0, '["a"]', "is a JSON array"),
        ("PreToolUse", 0, r'"{\"decision\": \"block\"}"', "not an object"),
        ("PreToolUse", 0, r'"\u007b\"decision\": \"block\"}"', "not an object"),
        ("PreToolUse", 0, '[{"decision": "block"}]', "not an object"),
        ("PreToolUse", 0, '\0{\0"\0decision"\0:\0"block"\0}', "text before it"),
        ("PreToolUse", 0, {"novel": 1}, "none of its fields"),
        ("PreToolUse", 0, {"desicion": "block", "reason": "no"}, "did you mean decision?"),
        ("PreToolUse", 0, {"async": True}, "must wait for a hook that fails closed"),
        ("PreToolUse", 0, '{"decision": "block", "decision": "approve"}', "'decision' twice"),
        (
            "PostToolUse",
            0,
            own("PostToolUse", updatedToolOutput={"odd": 1}),
            "is not in the form of the tool's output",
        ),
    ],
)
def test_a_hook_that_fails_closed_is_read_strictly(
    event: str, code: int, stdout: object, error: str
) -> None:
    said = read(event, code, stdout, strict=True)
    assert said.output is None
    assert said.failed == ("malformed" if code == 0 else "exit")
    assert error in (said.error or "")
    assert read(event, code, stdout).failed in (None, "malformed")


@pytest.mark.parametrize("stdout", ["", "text", "[INFO] text", "42", "{}", permission("allow")])
def test_a_hook_that_fails_closed_may_have_nothing_against_it(stdout: object) -> None:
    assert read("PreToolUse", 0, stdout, strict=True).failed is None


def test_raw_control_characters_in_strings_are_read_from_a_hook_that_fails_closed() -> None:
    said = read("PreToolUse", 0, '{"decision": "block", "reason": "one\ntwo"}', strict=True)
    assert said.output == {"decision": "deny", "reason": "one\ntwo"}


def test_text_with_an_answer_in_it_is_still_the_context_it_is_in_claude_code() -> None:
    text = 'log\n{"decision": "block", "reason": "no"}'
    assert read("SessionStart", 0, text).output == specific(additionalContext=text)
    assert read("PreToolUse", 0, text).output is None


MISPLACED: list[tuple[str, Json]] = [
    ("PreToolUse", permission("Deny", permissionDecisionReason="no")),
    ("PreToolUse", permission(" deny\n", permissionDecisionReason="no")),
    ("PreToolUse", permission("block", permissionDecisionReason="no")),
    ("PreToolUse", {"decision": "deny", "reason": "no"}),
    ("PreToolUse", {"decision": "BLOCK", "reason": "no"}),
    ("PreToolUse", {"permissionDecision": "deny", "permissionDecisionReason": "no"}),
    ("PreToolUse", {"permissionDecision": "deny", "reason": "no"}),
    ("PreToolUse", own("PreToolUse", decision="block", reason="no")),
    ("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "deny"}, "reason": "no"}),
    ("PermissionRequest", {"decision": "block", "reason": "no"}),
    ("PermissionRequest", {"decision": {"behavior": "deny", "message": "no"}}),
    ("PermissionRequest", {"behavior": "deny", "message": "no"}),
    ("PermissionRequest", own("PermissionRequest", permissionDecision="deny", reason="no")),
    ("PermissionRequest", {**own("PermissionRequest", decision="deny"), "reason": "no"}),
    ("PermissionRequest", {**behavior("DENY"), "reason": "no"}),
    ("UserPromptSubmit", {"decision": "deny", "reason": "no"}),
    ("UserPromptSubmit", own("UserPromptSubmit", decision="block", reason="no")),
    ("Stop", {"decision": "Block", "reason": "no"}),
    ("SubagentStop", own("SubagentStop", decision="block", reason="no")),
    ("PreModelSwitch", {"decision": "block", "reason": "no"}),
    ("TaskCompleted", {"decision": "block", "reason": "no"}),
    ("Elicitation", {**own("Elicitation", action="Decline"), "reason": "no"}),
]


@pytest.mark.parametrize(("event", "stdout"), MISPLACED)
@pytest.mark.parametrize("strict", [False, True])
def test_a_denial_in_other_letters_or_in_another_place_counts_with_a_warning(
    event: str, stdout: Json, strict: bool
) -> None:
    said = read(event, 0, stdout, strict=strict)
    assert said.failed is None
    assert said.warnings
    answer = apply(event, said)
    assert answer.denied
    assert answer.reason == "no"


@pytest.mark.parametrize(
    ("event", "stdout"),
    [
        ("PreToolUse", {"permissionDecision": "allow"}),
        ("PreToolUse", own("PreToolUse", decision="approve")),
        ("PermissionRequest", {"decision": "approve"}),
        ("PermissionRequest", own("PermissionRequest", permissionDecision="allow")),
        ("PermissionRequest", {"behavior": "allow"}),
    ],
)
def test_an_allowance_in_another_place_allows_nothing(event: str, stdout: Json) -> None:
    said = read(event, 0, stdout)
    assert said.failed is None
    assert said.output is None


@pytest.mark.parametrize(
    ("stdout", "asks"),
    [
        (permission("ASK"), True),
        ({"decision": "ask"}, True),
        ({"permissionDecision": "ask"}, True),
        ({"permissionDecision": "maybe"}, False),
    ],
)
def test_a_question_is_not_lost_either(stdout: Json, asks: bool) -> None:
    said = read("PreToolUse", 0, stdout)
    assert apply("PreToolUse", said).asks is asks
    assert ("it counts as ask" in said.warnings[0]) is asks


@pytest.mark.parametrize(
    "stdout",
    [
        '{"decision": "block", "reason": "quoted", "decision": "approve"}',
        '{"decision": "approve", "\\u0064ecision": "block"}',
        '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecision": "allow"}}',
        '{"hookSpecificOutput": {"permissionDecision": "deny"}, "hookSpecificOutput": {}}',
        '{"continue": false, "continue": true}',
    ],
)
def test_of_a_field_that_is_given_twice_the_stricter_one_counts(stdout: str) -> None:
    said = read("PreToolUse", 0, stdout)
    assert apply("PreToolUse", said).blocked
    assert any("given twice" in warning for warning in said.warnings)


def warnings_of(event: str, stdout: object, code: int = 0, **fields: Any) -> str:
    return "\n".join(read(event, code, stdout, "err", **fields).warnings)


def test_what_has_no_effect_is_said() -> None:
    assert "no hookEventName" in warnings_of("Stop", {"hookSpecificOutput": {"a": 1}})
    assert "defer is not supported" in warnings_of("PreToolUse", permission("defer"))
    assert "cannot be blocked" in warnings_of("SessionStart", BLOCK)
    unread = own("PreCompact", additionalContext="c")
    assert "additionalContext is not read on PreCompact" in warnings_of("PreCompact", unread)
    ruled = behavior("allow", updatedPermissions=[{"type": "setMode"}])
    assert "updatedPermissions is not supported" in warnings_of("PermissionRequest", ruled)
    asked = own("PreModelSwitch", permissionDecision="ask")
    assert "the user cannot be asked" in warnings_of("PreModelSwitch", asked)
    invalid = warnings_of("PreToolUse", {"continue": "no"}, 2)
    assert "beside exit code 2 was ignored" in invalid


@pytest.mark.parametrize(
    ("event", "answer", "warning"),
    [
        ("PreToolUse", {"novel": 1, "reason": "r"}, "novel is not read at the top of an answer to"),
        ("PreToolUse", {"sysMessage": "m"}, "sysMessage is not read at the top of an answer to"),
        ("PreToolUse", {"sysMessage": "m"}, "did you mean systemMessage?"),
        ("PreToolUse", {"desicion": "block"}, "did you mean decision?"),
        ("PreToolUse", {"updatedInput": {}}, "; write hookSpecificOutput.updatedInput"),
        ("Stop", {"terminalSequence": "x"}, "terminalSequence is only for Claude Code"),
        ("PreCompact", {"systemMessage": "m"}, "systemMessage is not read on PreCompact"),
        ("Notification", {"continue": False}, "continue is not read on Notification"),
        ("SessionEnd", {"systemMessage": "m", "stopReason": "r"}, "systemMessage, stopReason are"),
        ("SessionStart", {"decision": "approve"}, "decision is not read on SessionStart"),
        *(
            (event, {"hookSpecificOutput": {"hookEventName": event, name: value}}, warning)
            for event, name, value, warning in (
                ("PreToolUse", "novel", 1, "hookSpecificOutput.novel is not read on PreToolUse"),
                ("PreToolUse", "updated_inputs", {}, "did you mean updatedInput?"),
                ("PreToolUse", "permisionDecision", "deny", "did you mean permissionDecision?"),
                ("Stop", "permissionDecision", "allow", "permissionDecision is not read on Stop"),
                ("Notification", "additionalContext", "c", "additionalContext is not read on Not"),
                (
                    "PostToolUse",
                    "classifierContext",
                    "c",
                    "classifierContext is only for Claude Code",
                ),
                ("UserPromptSubmit", "sessionTitle", "t", "sessionTitle is only for Claude Code"),
                (
                    "SessionStart",
                    "initialUserMessage",
                    "m",
                    "initialUserMessage is only for Claude",
                ),
                ("SessionEnd", "novel", 1, "hookSpecificOutput is not read on SessionEnd"),
            )
        ),
    ],
)
def test_every_field_without_effect_is_named_and_only_a_slip_fails_a_guard(
    event: str, answer: dict[str, Any], warning: str
) -> None:
    said = read(event, 0, answer, "")
    assert (said.success, len(said.warnings)) == (True, 1)
    assert warning in said.warnings[0]
    strictly = CLAUDE.read_value(document_of(event), answer, strict=True)
    # With a slip of the pen it may have meant to hold the agent back.
    is_slip = "did you mean" in warning or "; write hookSpecificOutput." in warning
    assert is_slip <= (strictly.failed == "malformed")
    assert (strictly.failed is None) is not (is_slip or answer.keys() == {"sysMessage"})


def test_what_has_no_effect_in_claude_code_either_is_not_warned_of() -> None:
    title = own("CwdChanged", watchPaths=[])
    for event, answer in (("UserPromptSubmit", {"continue": True}), ("CwdChanged", title)):
        said = read(event, 0, {**answer, "suppressOutput": True, "novel": None})
        assert (said.success, said.warnings) == (True, ())


def test_a_change_of_policy_settings_cannot_be_blocked() -> None:
    said = read("ConfigChange", 2, "", "no", source="policy_settings")
    assert said.output is None
    assert "cannot be blocked" in said.warnings[0]


def test_an_object_of_a_server_is_read_as_what_a_command_prints() -> None:
    document = document_of("PreToolUse")
    assert CLAUDE.read_value(document, BLOCK).output == DENIED
    assert CLAUDE.read_value(document, {}) == HookAnswer(success=True)
    assert CLAUDE.read_value(document, {"async": True}) == HookAnswer(success=True)
    assert CLAUDE.read_value(document, {"continue": "no"}).failed == "malformed"
    assert CLAUDE.read_value(document, {"async": True}, strict=True).failed == "malformed"
    made = CLAUDE.read_value(
        document_of("WorktreeCreate"), own("WorktreeCreate", worktreePath="/w")
    )
    assert made.output == specific(worktreePath="/w")
    wrong = CLAUDE.read_value(document_of("WorktreeCreate"), own("WorktreeCreate", worktreePath=7))
    assert wrong.failed == "malformed"


def test_hooks_in_parallel_are_merged_with_the_strictest_word_and_every_context() -> None:
    first = read("PreToolUse", 0, permission("allow", additionalContext="a"))
    second = read("PreToolUse", 0, permission("ask", additionalContext="b"))
    third = read("PreToolUse", 2, "", "no")
    assert apply("PreToolUse", first).decision == "allow"
    assert apply("PreToolUse", second, first).asks
    answer = apply("PreToolUse", first, third, second)
    assert answer.denied
    assert answer.context == "a\nb"


def test_a_permission_is_asked_of_the_user_unless_a_hook_answers() -> None:
    told = read("PermissionRequest", 0, {"systemMessage": "m"})
    allowed = read("PermissionRequest", 0, behavior("allow"))
    denied = read("PermissionRequest", 0, behavior("deny", message="no"))

    def decision(*answers: HookAnswer) -> str | None:
        output = apply("PermissionRequest", *answers).final_output
        return output.decision if output is not None else None

    assert decision(told) is None
    assert decision(told, allowed) == "allow"
    assert decision(denied, allowed) == "deny"
    assert apply("PermissionRequest", allowed, denied).reason == "no"


def test_an_answer_is_read_as_that_to_the_event_which_the_hook_was_told() -> None:
    failed = {"isError": True, "content": [{"type": "text", "text": "broke"}]}
    said = read(
        "PostToolUseFailure",
        0,
        own("PostToolUseFailure", additionalContext="try again"),
        tool_response=failed,
    )
    assert apply("PostToolUseFailure", said, tool_response=failed).context == "try again"
