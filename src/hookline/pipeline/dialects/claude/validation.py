"""The schema of Claude Code's answers: one known field of the wrong type voids the whole object.

A field that Claude Code does not know is passed over, as it is there, and named. null is a field
that was left out: scripts print it for what they have not got, and it must not void a denial beside
it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hookline.nearest import describe_unread
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
# What an answer may have besides: words that decide, wherever they stand, and their reasons.
_DECIDING = frozenset(
    {"decision", "permissionDecision", "permissionDecisionReason", "behavior", "action", "reason"}
)
_KNOWN_AT_TOP = _TOP_LEVEL.keys() | _DECIDING | {"asyncTimeout"}
_KNOWN_EVERYWHERE = _DECIDING | {"hookEventName"}
# What Claude Code has for its own screen and its own sessions, on events that are ours as well.
_FOR_CLAUDE_ALONE = frozenset(
    {
        *("terminalSequence", "classifierContext", "sessionTitle", "suppressOriginalPrompt"),
        *("initialUserMessage", "reloadSkills", "watchPaths"),
    }
)
# These drop a message and a stop.
MUTE_EVENTS = frozenset({"PreCompact", "PostCompact", "Notification"})


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


def describe_unread_fields(
    event: str, answer: Mapping[str, Any], *, is_ours: bool
) -> Iterator[str]:
    """What to say of each field of a valid answer that has no effect; ``is_ours`` for an event
    that is not Claude Code's alone."""
    own = OWN_FIELDS.get(event, {})
    if not answer.keys() <= _KNOWN_AT_TOP:
        unknown = [
            name for name in answer if name not in _KNOWN_AT_TOP and answer[name] is not None
        ]
        for name in [name for name in unknown if name in own]:
            unknown.remove(name)
            yield (
                f"{name} is not read at the top of an answer to {event}; "
                f"write hookSpecificOutput.{name}"
            )
        where = f"at the top of an answer to {event}"
        yield from describe_unread(unknown, _KNOWN_AT_TOP, where=where)
    if answer.get("terminalSequence") is not None:
        yield "terminalSequence is for Claude Code alone; it has no effect here"
    if event in MUTE_EVENTS or event == "SessionEnd":
        dropped = [name for name in ("systemMessage", "stopReason") if answer.get(name)]
        dropped += ["continue"] if answer.get("continue") is False else []
        if event == "SessionEnd" and answer.get("hookSpecificOutput"):
            dropped.append("hookSpecificOutput")
        yield from describe_unread(dropped, (), where=f"on {event}")
    specific = answer.get("hookSpecificOutput") or {}
    if not specific or event == "SessionEnd":
        return
    known = own.keys() | _KNOWN_EVERYWHERE
    unread = [name for name in specific if name not in known and specific[name] is not None]
    if event == "Notification" and specific.get("additionalContext"):
        unread.append("additionalContext")
    prefix = "hookSpecificOutput."
    yield from describe_unread(unread, known, where=f"on {event}", prefix=prefix)
    for name in sorted(_FOR_CLAUDE_ALONE & own.keys() & specific.keys()) if is_ours else ():
        if specific[name] is not None:
            yield f"{prefix}{name} is for Claude Code alone; it has no effect here"


def _find_wrong_types(
    place: str, values: Mapping[str, Any], types: Mapping[str, type]
) -> Iterator[str]:
    for name, kind in types.items():
        value = values.get(name)
        if value is not None and not isinstance(value, kind):
            yield f"{place}{name} must be {TYPE_WORDS[kind]}"
