"""What the no of a model does that a prompt hook of Claude Code's asks."""

from typing import Any

from hookline.dialects.document import EventDocument
from hookline.wire.hooks import PromptHook

# Events where a no ends the turn, unless the hook says otherwise; then the reason of those after a
# tool stands beside its result.
_ENDS_TURN = frozenset({"PreToolUse", "PostToolUse", "PostToolBatch"})
_FEEDBACK = frozenset({"PostToolUse", "PostToolUseFailure", "PostToolBatch"})
_ENDS_AGENT = frozenset({"Stop", "SubagentStop"})


def refuse(
    hook: PromptHook, document: EventDocument, reason: str, *, impossible: bool
) -> dict[str, Any] | None:
    """Return a no as an answer in native words; None if it changes nothing."""
    event = hook.dialect_event
    if event == "PermissionRequest" or (event in _ENDS_AGENT and impossible):
        return None
    if event == "TeammateIdle" or (event in _ENDS_TURN and not hook.continue_on_block):
        return {"continue": False, "stopReason": reason}
    if event in _FEEDBACK:
        specific = {"hookEventName": document.event.value, "additionalContext": reason}
        return {"hookSpecificOutput": specific}
    return {"decision": "deny" if event == "PreToolUse" else "block", "reason": reason}
