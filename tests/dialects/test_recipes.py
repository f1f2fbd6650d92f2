"""What the documented hooks of LLxprt Code and Gemini CLI print: each is read under strict rules
without a failure, and without a warning unless something of it has no effect."""

import json
from typing import Any

import pytest

from hookline.dialects import DIALECTS, EventDocument
from hookline.wire.events import HookEventName

TOOLS = ["glob", "list_directory", "read_file"]
ANSWER = {"content": {"role": "model", "parts": ["From the cache."]}, "finishReason": "STOP"}
RECIPES: list[tuple[str, Any]] = [
    *((event.value, text) for event in HookEventName for text in ("", "{}", "Logged: read_file")),
    ("BeforeTool", {"decision": "allow"}),
    ("BeforeTool", {"decision": "deny", "reason": "not there", "systemMessage": "blocked"}),
    ("BeforeTool", {"decision": "allow", "hookSpecificOutput": {"tool_input": {"command": "ls"}}}),
    (
        "BeforeTool",
        {
            "hookSpecificOutput": {
                "hookEventName": "BeforeTool",
                "permissionDecision": "deny",
                "permissionDecisionReason": "no",
            }
        },
    ),
    ("AfterTool", {"systemMessage": "Tests passed: a.ts"}),
    ("AfterTool", {"decision": "deny", "reason": "the output holds a secret"}),
    (
        "AfterTool",
        {"hookSpecificOutput": {"hookEventName": "AfterTool", "additionalContext": "mind it"}},
    ),
    (
        "BeforeAgent",
        {
            "hookSpecificOutput": {
                "hookEventName": "BeforeAgent",
                "additionalContext": "Recent commits:\n1",
            },
            "systemMessage": "2 memories recalled",
        },
    ),
    ("AfterAgent", {"decision": "deny", "reason": "try again"}),
    ("AfterAgent", {"continue": False, "hookSpecificOutput": {"clearContext": True}}),
    ("BeforeModel", {"continue": True}),
    ("BeforeModel", {"continue": False, "stopReason": "Rate limit exceeded."}),
    (
        "BeforeModel",
        {
            "hookSpecificOutput": {
                "hookEventName": "BeforeModel",
                "llm_request": {
                    "model": "small",
                    "messages": [{"role": "system", "content": "be brief"}],
                    "config": {"temperature": 0.2},
                },
                "llm_request_boundary": {"version": 1, "pendingMessageStartIndex": 0},
            }
        },
    ),
    ("BeforeModel", {"hookSpecificOutput": {"llm_response": {"candidates": [ANSWER]}}}),
    (
        "AfterModel",
        {
            "hookSpecificOutput": {
                "hookEventName": "AfterModel",
                "llm_response": {
                    "candidates": [{"content": {"role": "model", "parts": [{"text": "[x]"}]}}]
                },
            }
        },
    ),
    (
        "BeforeToolSelection",
        {
            "hookSpecificOutput": {
                "hookEventName": "BeforeToolSelection",
                "toolConfig": {"mode": "AUTO", "allowedFunctionNames": TOOLS},
            }
        },
    ),
    (
        "BeforeToolSelection",
        {
            "hookSpecificOutput": {
                "toolConfig": {
                    "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": TOOLS}
                }
            },
            "systemMessage": "3 of 40 tools",
        },
    ),
    (
        "SessionStart",
        {
            "hookSpecificOutput": {
                "hookEventName": "SessionStart",
                "additionalContext": "3 memories",
            },
            "systemMessage": "3 memories loaded",
        },
    ),
    ("SessionEnd", {"systemMessage": "2 learnings saved"}),
    ("Notification", {"suppressOutput": True}),
    ("PreCompress", {"systemMessage": "compressing"}),
]


@pytest.mark.parametrize(("event", "said"), RECIPES)
def test_a_documented_answer_passes_under_strict_rules_without_a_word(
    event: str, said: Any
) -> None:
    stdout = said if isinstance(said, str) else json.dumps(said)
    document = EventDocument(HookEventName(event), {})
    read = DIALECTS["native"].read_answer(document, "h", 0, stdout, "", strict=True)
    assert (read.failed, read.warnings) == (None, ())


@pytest.mark.parametrize("said", ["[]", '{"decision": 1}', '{"foo": 1}', '{"decision": "nope"}'])
def test_an_answer_that_may_have_been_a_denial_still_fails_there(said: str) -> None:
    document = EventDocument(HookEventName.BEFORE_TOOL, {})
    read = DIALECTS["native"].read_answer(document, "h", 0, said, "", strict=True)
    assert read.failed == "malformed"
