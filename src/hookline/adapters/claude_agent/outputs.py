"""What our callbacks answer, in Claude Code's words. None of them ever says "allow" before a tool:
that would override Claude Code's own rules."""

from typing import Any, TypeAlias

Output: TypeAlias = dict[str, Any]

NOTHING: Output = {}


def specific(event: str, **fields: Any) -> Output:
    """The part of an answer that an event has for itself."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def deny_call(reason: str) -> Output:
    """The tool does not run; the model reads the reason."""
    return specific(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason=reason or "denied"
    )


def refuse_prompt(reason: str) -> Output:
    """The turn does not begin, and the prompt is forgotten; the user reads the reason alone."""
    return {
        "decision": "block",
        "reason": reason,
        **specific("UserPromptSubmit", suppressOriginalPrompt=True),
    }


def block(reason: str) -> Output:
    """The model reads the reason: beside a tool's result, or as why it is to go on."""
    return {"decision": "block", "reason": reason or "a hook sent it back"}


def stop(reason: str, *, tell: bool = True) -> Output:
    """The loop ends. Claude Code keeps the reason of a stop to itself, so that the user is told
    it."""
    told = {"systemMessage": reason} if tell and reason else {}
    return {"continue_": False, "stopReason": reason, **told}
