"""What an answer of Claude Code's hooks may say: its fields with their types, and its decisions.

One known field of the wrong type voids the whole object. A field that Claude Code does not know has
no effect, as there, and a warning names it. null counts as a field that was left out: scripts print
it for a value that they do not have, and it must not void a denial beside it.

A denial must not get lost: one in a place that its event does not read, or in capitals, still
counts, with a warning. A word that allows counts only where and as Claude Code reads it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from hookline._support.nearest import Unread, describe_unread
from hookline.wire.outputs import TYPE_WORDS

Word: TypeAlias = Literal["deny", "ask", "allow"]
Words: TypeAlias = Mapping[str, Word]

_DECISIONS: Words = {"approve": "allow", "block": "deny"}
_PERMISSIONS: Words = {"allow": "allow", "deny": "deny", "ask": "ask"}
_BEHAVIORS: Words = {"allow": "allow", "deny": "deny"}
_ACTIONS: Words = {"accept": "allow", "decline": "deny", "cancel": "deny"}
_PERMISSION = "hookSpecificOutput.permissionDecision"

_ACTED_ON: Mapping[str, Words] = {"hookSpecificOutput.action": _ACTIONS}
_DECIDED: Mapping[str, Words] = {"decision": _DECISIONS}

# Event -> where its decision stands -> the words it may be.
_PLACES: Mapping[str, Mapping[str, Words]] = {
    "PreToolUse": {_PERMISSION: {**_PERMISSIONS, "defer": "ask"}, "decision": _DECISIONS},
    "PreModelSwitch": {_PERMISSION: _PERMISSIONS},
    "PermissionRequest": {"hookSpecificOutput.decision": _BEHAVIORS},
    "Elicitation": _ACTED_ON,
    "ElicitationResult": _ACTED_ON,
    **dict.fromkeys(("PostToolUse", "PostToolUseFailure", "PostToolBatch"), _DECIDED),
    **dict.fromkeys(("UserPromptSubmit", "UserPromptExpansion", "TaskCreated"), _DECIDED),
    **dict.fromkeys(("Stop", "SubagentStop", "ConfigChange", "PreCompact"), _DECIDED),
}
# Words that hold the agent back, in any capitals and any place.
_DENIALS: Words = {"deny": "deny", "block": "deny"}
_QUESTIONS: Words = {"ask": "ask", "defer": "ask"}
# What exit code 2 does, on the events where it does anything: it blocks, or the model or the user
# reads stderr. On a PermissionRequest Claude Code may ignore it; here it denies, because a denial
# must not get lost.
EFFECTS: Mapping[str, Literal["blocks", "model", "user"]] = {
    **dict.fromkeys(
        (
            *("PreToolUse", "PermissionRequest", "UserPromptSubmit", "UserPromptExpansion"),
            *("Stop", "SubagentStop", "TeammateIdle", "TaskCreated", "TaskCompleted"),
            *("ConfigChange", "PostToolBatch", "PreCompact", "Elicitation", "ElicitationResult"),
            *("WorktreeCreate", "PreModelSwitch"),
        ),
        "blocks",
    ),
    **dict.fromkeys(("PostToolUse", "PostToolUseFailure"), "model"),
    **dict.fromkeys(
        (
            *("SessionStart", "Setup", "SubagentStart", "SessionEnd", "CwdChanged", "FileChanged"),
            "PostCompact",
        ),
        "user",
    ),
}
# A field that decides -> the field beside it with the reason.
_REASONS = {
    "decision": "reason",
    "permissionDecision": "permissionDecisionReason",
    "behavior": "message",
}
# If an object has one of these fields twice, the stricter counts.
DECIDING_FIELDS = (*_REASONS, "action", "continue", "hookSpecificOutput")
# Without the decision words: those are read in every place.
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
# Further fields of an answer: decisions, in any place, and their reasons.
_DECIDING = frozenset(
    {"decision", "permissionDecision", "permissionDecisionReason", "behavior", "action", "reason"}
)
_KNOWN_AT_TOP = _TOP_LEVEL.keys() | _DECIDING | {"asyncTimeout"}
_KNOWN_EVERYWHERE = _DECIDING | {"hookEventName"}
# Fields for Claude Code's own screen and sessions, on events that are ours too.
_FOR_CLAUDE_ALONE = frozenset(
    {
        *("terminalSequence", "classifierContext", "sessionTitle", "suppressOriginalPrompt"),
        *("initialUserMessage", "reloadSkills", "watchPaths"),
    }
)
# On these events a message and a stop have no effect.
MUTE_EVENTS = frozenset({"PreCompact", "PostCompact", "Notification"})


def has_known_field(answer: Mapping[str, Any]) -> bool:
    """True if Claude Code knows one of the fields at the top of an answer."""
    return not _KNOWN_AT_TOP.isdisjoint(answer)


def find_faults(event: str, answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what Claude Code refuses in an answer, except for decision words."""
    yield from _find_wrong_types("", answer, _TOP_LEVEL)
    specific = answer.get("hookSpecificOutput")
    if not isinstance(specific, dict):
        return
    own_event = specific.get("hookEventName")
    if own_event is not None and own_event != event:
        quoted = repr(own_event)[:80] if isinstance(own_event, str) else "not a string"
        yield f"hookSpecificOutput.hookEventName is {quoted}, but the event is {event}"
    yield from _find_wrong_types("hookSpecificOutput.", specific, OWN_FIELDS.get(event, {}))
    decision = specific.get("decision")
    if event == "PermissionRequest" and isinstance(decision, dict):
        yield from _find_wrong_types("hookSpecificOutput.decision.", decision, _PERMISSION_FIELDS)


def describe_unread_fields(event: str, answer: Mapping[str, Any], *, is_ours: bool) -> Unread:
    """Describe each field of a valid answer that has no effect; ``is_ours`` for an event that we
    have too."""
    own = OWN_FIELDS.get(event, {})
    slips: list[str] = []
    others: list[str] = []

    def add(unread: Unread) -> None:
        slips.extend(unread.slips)
        others.extend(unread.others)

    if not answer.keys() <= _KNOWN_AT_TOP:
        unknown = [
            name for name in answer if name not in _KNOWN_AT_TOP and answer[name] is not None
        ]
        where = f"at the top of an answer to {event}"
        for name in [name for name in unknown if name in own]:
            unknown.remove(name)
            slips.append(f"{name} is not read {where}; write hookSpecificOutput.{name}")
        add(describe_unread(unknown, _KNOWN_AT_TOP, where=where))
    if answer.get("terminalSequence") is not None:
        others.append("terminalSequence is only for Claude Code; it has no effect here")
    if event in MUTE_EVENTS or event == "SessionEnd":
        dropped = [name for name in ("systemMessage", "stopReason") if answer.get(name)]
        dropped += ["continue"] if answer.get("continue") is False else []
        if event == "SessionEnd" and answer.get("hookSpecificOutput"):
            dropped.append("hookSpecificOutput")
        add(describe_unread(dropped, (), where=f"on {event}"))
    specific = answer.get("hookSpecificOutput") or {}
    if not specific or event == "SessionEnd":
        return Unread(slips, others)
    fields = own.keys() | _KNOWN_EVERYWHERE
    if event == "Notification":
        # Its schema has a context, which nobody reads.
        fields = fields - _CONTEXT.keys()
    unread = [name for name in specific if name not in fields and specific[name] is not None]
    prefix = "hookSpecificOutput."
    add(describe_unread(unread, fields, where=f"on {event}", prefix=prefix))
    others += [
        f"{prefix}{name} is only for Claude Code; it has no effect here"
        for name in sorted(_FOR_CLAUDE_ALONE & own.keys() & specific.keys())
        if is_ours and specific[name] is not None
    ]
    return Unread(slips, others)


def _find_wrong_types(
    place: str, values: Mapping[str, Any], types: Mapping[str, type]
) -> Iterator[str]:
    for name, kind in types.items():
        value = values.get(name)
        if value is not None and not isinstance(value, kind):
            yield f"{place}{name} must be {TYPE_WORDS[kind]}"


class Decision(NamedTuple):
    """A word and its reason."""

    word: Word
    reason: str | None


class Decisions(NamedTuple):
    """The decisions of an answer; ``faults`` are words that Claude Code refuses."""

    verdicts: list[Decision]
    faults: list[str]
    warnings: list[str]

    def find(self, word: Word) -> Decision | None:
        """Return the decision of that word, with the first reason for it; None without one."""
        decisions = [decision for decision in self.verdicts if decision.word == word]
        return next(
            (decision for decision in decisions if decision.reason),
            decisions[0] if decisions else None,
        )


def read_decisions(event: str, answer: Mapping[str, Any]) -> Decisions:
    """Read every word of an answer that decides, in any place."""
    read = Decisions([], [], [])
    official = _PLACES.get(event, {})
    specific = answer.get("hookSpecificOutput")
    own = specific if isinstance(specific, dict) else {}
    for prefix, fields in (("hookSpecificOutput.", own), ("", answer)):
        for name in (*_REASONS, "action"):
            place = f"{prefix}{name}"
            # Claude Code's schema has a decision at the top of every answer.
            words = official.get(place, _DECISIONS if place == "decision" else None)
            if fields.get(name) is not None and (words is not None or name != "action"):
                _read_place(event, place, fields, words, read)
    for index, decision in enumerate(read.verdicts):
        reason = decision.reason or answer.get("reason") or own.get("reason")
        read.verdicts[index] = Decision(decision.word, reason if isinstance(reason, str) else None)
    return read


def _read_place(
    event: str, place: str, fields: Mapping[str, Any], words: Words | None, read: Decisions
) -> None:
    name = place.rpartition(".")[2]
    value, why = fields[name], fields.get(_REASONS.get(name, ""))
    is_behavior = isinstance(value, dict)
    if is_behavior:
        value, why = value.get("behavior"), value.get("message")
    reason = why if isinstance(why, str) and why else None
    word, official = value if isinstance(value, str) else "", _PLACES.get(event, {})
    exact = words.get(word) if words is not None and is_behavior is (words is _BEHAVIORS) else None
    if exact is not None and (place in official or exact == "allow"):
        if word == "defer":
            read.warnings.append("permissionDecision defer is not supported; it counts as ask")
        if place in official:
            read.verdicts.append(Decision(exact, reason))
        else:
            read.warnings.append(_describe_unread(event, place))
        return
    asks = event in ("PreToolUse", "PreModelSwitch")
    verdict = {**(words or {}), **_DENIALS, **(_QUESTIONS if asks else {})}.get(
        word.strip().lower()
    )
    if verdict in ("deny", "ask"):
        read.verdicts.append(Decision(verdict, reason))
        if EFFECTS.get(event) in ("blocks", "model"):
            instead = " or ".join(official) or "continue, or exit with code 2"
            problem = f"{place} {word!r:.80} is not what Claude Code reads on {event}"
            read.warnings.append(f"{problem}; it counts as {verdict}, write {instead}")
    elif words is _BEHAVIORS:
        read.faults.append(f'{place} must be an object with the behavior "allow" or "deny"')
    elif words is not None:
        instead_of = f", not {word!r:.80}" if word else ""
        read.faults.append(f"{place} must be one of {', '.join(words)}{instead_of}")
    else:
        read.warnings.append(_describe_unread(event, place))


def _describe_unread(event: str, place: str) -> str:
    instead = " or ".join(_PLACES.get(event, {}))
    return (
        f"{place} is not read on {event}; {f'write {instead}' if instead else 'it has no effect'}"
    )


def weigh(name: str, value: object) -> int:
    """Return how much a field holds the agent back: 2 if it forbids, 1 if it asks."""
    if isinstance(value, dict):
        return max((weigh(key, value[key]) for key in DECIDING_FIELDS if key in value), default=0)
    if name == "continue":
        return 2 if value is False else 0
    text = value.strip().lower() if isinstance(value, str) else ""
    word = {**_DENIALS, **_QUESTIONS, **_ACTIONS}.get(text)
    return {"deny": 2, "ask": 1}.get(word or "", 0)
