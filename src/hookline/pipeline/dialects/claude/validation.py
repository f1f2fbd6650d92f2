"""The schema of Claude Code's answers: one known field of the wrong type voids the whole object.

A field that Claude Code does not know is passed over, as it is there. null is a field that was left
out: scripts print it for what they have not got, and it must not void a denial beside it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hookline.wire.outputs import TYPE_WORDS

# The words of a decision are not here: they are read wherever they stand.
_TOP_LEVEL: Mapping[str, type] = {
    "continue": bool,
    "stopReason": str,
    "suppressOutput": bool,
    "systemMessage": str,
    "terminalSequence": str,
    "reason": str,
    "async": bool,
    "hookSpecificOutput": dict,
}
_CONTEXT: Mapping[str, type] = {"additionalContext": str}
_ELICITED: Mapping[str, type] = {"content": dict}
_WATCHED: Mapping[str, type] = {"watchPaths": list}

# Event -> the fields of its ``hookSpecificOutput``.
OWN_FIELDS: Mapping[str, Mapping[str, type]] = {
    "PreToolUse": {"permissionDecisionReason": str, "updatedInput": dict, **_CONTEXT},
    "PreModelSwitch": {"permissionDecisionReason": str},
    "PermissionDenied": {"retry": bool},
    "PostToolUse": {
        "updatedToolOutput": object,
        "updatedMCPToolOutput": object,
        "classifierContext": str,
        **_CONTEXT,
    },
    "UserPromptSubmit": {"sessionTitle": str, "suppressOriginalPrompt": bool, **_CONTEXT},
    "UserPromptExpansion": {"suppressOriginalPrompt": bool, **_CONTEXT},
    "SessionStart": {
        "initialUserMessage": str,
        "sessionTitle": str,
        "reloadSkills": bool,
        **_WATCHED,
        **_CONTEXT,
    },
    **dict.fromkeys(("PostToolUseFailure", "PostToolBatch", "Stop", "SubagentStop"), _CONTEXT),
    **dict.fromkeys(("Setup", "SubagentStart", "PostModelSwitch", "Notification"), _CONTEXT),
    **dict.fromkeys(("CwdChanged", "FileChanged"), _WATCHED),
    **dict.fromkeys(("Elicitation", "ElicitationResult"), _ELICITED),
    "WorktreeCreate": {"worktreePath": str},
    "MessageDisplay": {"displayContent": str},
}
_PERMISSION_FIELDS: Mapping[str, type] = {
    "message": str,
    "interrupt": bool,
    "updatedInput": dict,
    "updatedPermissions": list,
}
_ALL_OWN_FIELDS = frozenset(name for fields in OWN_FIELDS.values() for name in fields)


def find_faults(event: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """What Claude Code refuses in an answer to its event, but for the words of decisions."""
    yield from _find_wrong_types("", answer, _TOP_LEVEL)
    specific = answer.get("hookSpecificOutput")
    if not isinstance(specific, dict):
        return
    named = specific.get("hookEventName")
    if named is not None and named != event:
        said = repr(named)[:80] if isinstance(named, str) else "no string"
        yield f"hookSpecificOutput.hookEventName is {said}, but the event is {event}"
    yield from _find_wrong_types("hookSpecificOutput.", specific, OWN_FIELDS.get(event, {}))
    decision = specific.get("decision")
    if event == "PermissionRequest" and isinstance(decision, dict):
        yield from _find_wrong_types("hookSpecificOutput.decision.", decision, _PERMISSION_FIELDS)


def find_unread(event: str, specific: Mapping[str, Any]) -> list[str]:
    """The fields of a ``hookSpecificOutput`` that other events read and this one does not."""
    own = OWN_FIELDS.get(event, {})
    return sorted(name for name in specific if name in _ALL_OWN_FIELDS and name not in own)


def _find_wrong_types(
    place: str, values: Mapping[str, Any], types: Mapping[str, type]
) -> Iterator[str]:
    for name, kind in types.items():
        value = values.get(name)
        if value is not None and not isinstance(value, kind):
            yield f"{place}{name} must be {TYPE_WORDS[kind]}"
