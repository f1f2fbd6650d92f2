"""The answers of hookline's callbacks, in Claude Code's form. None says "allow" before a tool,
since that would override Claude Code's own rules."""

from typing import Any, TypeAlias

Output: TypeAlias = dict[str, Any]

NOTHING: Output = {}


def specific(event: str, **fields: Any) -> Output:
    """Make the event-specific part of an answer."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def deny_call(reason: str) -> Output:
    """Keep the tool from running; the model reads the reason."""
    return specific(
        "PreToolUse", permissionDecision="deny", permissionDecisionReason=reason or "denied"
    )


def refuse_prompt(reason: str) -> Output:
    """Keep the turn from beginning and forget the prompt; only the user reads the reason."""
    return {
        "decision": "block",
        "reason": reason,
        **specific("UserPromptSubmit", suppressOriginalPrompt=True),
    }


def block(reason: str) -> Output:
    """Make the model read the reason: beside a tool's result, or as why it must go on."""
    return {"decision": "block", "reason": reason or "a hook sent it back"}


def stop(reason: str, *, tell: bool = True) -> Output:
    """End the loop. Claude Code does not show the reason of a stop, so a system message does."""
    told = {"systemMessage": reason} if tell and reason else {}
    return {"continue_": False, "stopReason": reason, **told}
