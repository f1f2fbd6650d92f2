"""The names that Claude Code has for events, and its words for what matchers are compared with."""

from collections.abc import Mapping

from hookline.wire.claude_events import ClaudeEventName
from hookline.wire.events import EventName, HookEventName

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
# The events of one call of a tool.
CALL_EVENTS = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"}
)
# What a matcher is compared with: our word -> Claude Code's.
CLAUDE_WORDS: Mapping[EventName, Mapping[str, str]] = {
    HookEventName.SESSION_START: {"compress": "compact"},
    HookEventName.SESSION_END: {"exit": "prompt_input_exit"},
    HookEventName.NOTIFICATION: {"ToolPermission": "permission_prompt"},
}
