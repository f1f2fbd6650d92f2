"""What Claude Code calls events and tools: which event a key of its settings is here, which hooks
may be on it and for how long, and which names a matcher picks."""

from collections.abc import Mapping

from hookline.pipeline.dialects.tools import ToolAlias, claude_names
from hookline.pipeline.matcher import Match
from hookline.problem import Problem
from hookline.wire.claude_events import ClaudeEventName
from hookline.wire.events import EventName, HookEventName, find_event

# Claude Code's name -> our event, where they are not called the same.
MAPPED_EVENTS: Mapping[str, HookEventName] = {
    "PreToolUse": HookEventName.BEFORE_TOOL,
    "PostToolUse": HookEventName.AFTER_TOOL,
    "PostToolUseFailure": HookEventName.AFTER_TOOL,
    "UserPromptSubmit": HookEventName.BEFORE_AGENT,
    "Stop": HookEventName.AFTER_AGENT,
    "SessionStart": HookEventName.SESSION_START,
    "SessionEnd": HookEventName.SESSION_END,
    "PreCompact": HookEventName.PRE_COMPRESS,
    "Notification": HookEventName.NOTIFICATION,
}
EVENT_NAMES = (*MAPPED_EVENTS, *(event.value for event in ClaudeEventName))


def find_claude_event(name: str) -> EventName | None:
    """The event that is fired here under one of Claude Code's names."""
    if name in MAPPED_EVENTS:
        return MAPPED_EVENTS[name]
    event = find_event(name)
    return event if isinstance(event, ClaudeEventName) else None


def default_timeout(key: str, kind: str) -> float:
    """The timeout in milliseconds of a hook that says none."""
    return 600_000 if kind == "command" else 30_000


def refuse_kind(key: str, kind: str) -> str | None:
    """Why hooks of a type cannot be on an event, None if they can."""
    return None


def compile_claude_matcher(
    event: EventName, text: str | None, tools: Mapping[str, ToolAlias] | None
) -> tuple[Match, Problem | None]:
    """The test a matcher stands for."""
    names = (text or "").split("|")
    if names in ([""], ["*"]):
        return (lambda _name: True), None
    return (lambda name: not {*names}.isdisjoint(claude_names(name, tools=tools))), None
