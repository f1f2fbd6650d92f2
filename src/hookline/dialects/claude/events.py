"""Claude Code's events: its names for those that hookline has too, its words for what matchers are
compared with, and the events that only it has, which a host fires by name."""

from collections.abc import Mapping
from typing import Any

from hookline.wire.events import EventName, EventSpec, HookEventName

NAME = "claude"
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


class ClaudeEventName(EventName):
    """The names of the events that only Claude Code has."""

    __hash__ = str.__hash__

    PERMISSION_REQUEST = "PermissionRequest"
    PERMISSION_DENIED = "PermissionDenied"
    POST_TOOL_BATCH = "PostToolBatch"
    USER_PROMPT_EXPANSION = "UserPromptExpansion"
    SETUP = "Setup"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    STOP_FAILURE = "StopFailure"
    POST_COMPACT = "PostCompact"
    PRE_MODEL_SWITCH = "PreModelSwitch"
    POST_MODEL_SWITCH = "PostModelSwitch"
    TASK_CREATED = "TaskCreated"
    TASK_COMPLETED = "TaskCompleted"
    TEAMMATE_IDLE = "TeammateIdle"
    CONFIG_CHANGE = "ConfigChange"
    INSTRUCTIONS_LOADED = "InstructionsLoaded"
    CWD_CHANGED = "CwdChanged"
    DIRECTORY_ADDED = "DirectoryAdded"
    FILE_CHANGED = "FileChanged"
    WORKTREE_CREATE = "WorktreeCreate"
    WORKTREE_REMOVE = "WorktreeRemove"
    ELICITATION = "Elicitation"
    ELICITATION_RESULT = "ElicitationResult"
    MESSAGE_DISPLAY = "MessageDisplay"


def _make_spec(
    event: ClaudeEventName,
    *required: str,
    optional: tuple[str, ...] = (),
    target: str | None = None,
    blockable: bool = False,
) -> EventSpec:
    return EventSpec(
        event, required, optional, target=target, search=target == "tool_name", blockable=blockable
    )


_E = ClaudeEventName
_STOP = ("stop_hook_active",)
_LAST_MESSAGE = ("last_assistant_message", "background_tasks", "session_crons")
_MODELS = ("from_model", "to_model", "requested_model")
_SWITCH = (
    *("source", "context_tokens", "prompt_cache_warm", "cache_ttl", "estimated_cache_write_usd"),
    "pricing",
)
# Required fields that a host may leave out.
CLAUDE_DEFAULTS: dict[str, Any] = {
    "stop_hook_active": False,
    "agent_transcript_path": "",
    "requested_model": None,
}

# Only what EventSpec says is applied here; the host applies what else hooks may answer.
CLAUDE_EVENTS: dict[str, EventSpec] = {
    spec.event: spec
    for spec in (
        _make_spec(
            *(_E.PERMISSION_REQUEST, "tool_name", "tool_input"),
            optional=("permission_suggestions", "mcp_server"),
            target="tool_name",
            blockable=True,
        ),
        _make_spec(
            *(_E.PERMISSION_DENIED, "tool_name", "tool_input", "tool_use_id", "reason"),
            optional=("mcp_server",),
            target="tool_name",
        ),
        _make_spec(_E.POST_TOOL_BATCH, "tool_calls", blockable=True),
        _make_spec(
            *(_E.USER_PROMPT_EXPANSION, "expansion_type", "command_name", "command_args", "prompt"),
            optional=("command_source",),
            target="command_name",
            blockable=True,
        ),
        _make_spec(_E.SETUP, "trigger", target="trigger"),
        _make_spec(_E.SUBAGENT_START, "agent_id", "agent_type", target="agent_type"),
        _make_spec(
            *(_E.SUBAGENT_STOP, *_STOP, "agent_id", "agent_type", "agent_transcript_path"),
            optional=_LAST_MESSAGE,
            target="agent_type",
            blockable=True,
        ),
        _make_spec(
            *(_E.STOP_FAILURE, "error"),
            optional=("error_details", "last_assistant_message"),
            target="error",
        ),
        _make_spec(_E.POST_COMPACT, "trigger", "compact_summary", target="trigger"),
        _make_spec(_E.PRE_MODEL_SWITCH, *_MODELS, optional=_SWITCH, blockable=True),
        _make_spec(_E.POST_MODEL_SWITCH, *_MODELS, optional=_SWITCH),
        _make_spec(
            *(_E.TASK_CREATED, "task_id", "task_subject"),
            optional=("task_description", "teammate_name", "team_name"),
            blockable=True,
        ),
        _make_spec(
            *(_E.TASK_COMPLETED, "task_id", "task_subject"),
            optional=("task_description", "teammate_name", "team_name"),
            blockable=True,
        ),
        _make_spec(_E.TEAMMATE_IDLE, "teammate_name", "team_name", blockable=True),
        _make_spec(
            _E.CONFIG_CHANGE, "source", optional=("file_path",), target="source", blockable=True
        ),
        _make_spec(
            *(_E.INSTRUCTIONS_LOADED, "file_path", "memory_type", "load_reason"),
            optional=("globs", "trigger_file_path", "parent_file_path"),
            target="load_reason",
        ),
        _make_spec(_E.CWD_CHANGED, "old_cwd", "new_cwd"),
        _make_spec(_E.DIRECTORY_ADDED, "directory", "source", target="source"),
        _make_spec(_E.FILE_CHANGED, "file_path", "event", target="file_path"),
        _make_spec(_E.WORKTREE_CREATE, "name", blockable=True),
        _make_spec(_E.WORKTREE_REMOVE, "worktree_path"),
        _make_spec(
            *(_E.ELICITATION, "mcp_server_name", "message"),
            optional=("mode", "url", "elicitation_id", "requested_schema"),
            target="mcp_server_name",
            blockable=True,
        ),
        _make_spec(
            *(_E.ELICITATION_RESULT, "mcp_server_name", "action"),
            optional=("content", "mode", "elicitation_id"),
            target="mcp_server_name",
            blockable=True,
        ),
        _make_spec(_E.MESSAGE_DISPLAY, "turn_id", "message_id", "index", "final", "delta"),
    )
}
EVENT_NAMES = (*MAPPED_EVENTS, *(event.value for event in ClaudeEventName))
# The events of one call of a tool.
CALL_EVENTS = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"}
)
# Triggers that only Claude Code has, on events that both call by the same name.
OWN_TRIGGERS: Mapping[EventName, tuple[str, frozenset[str]]] = {
    HookEventName.SESSION_START: ("source", frozenset({"compact", "fork"})),
    HookEventName.SESSION_END: ("reason", frozenset({"resume"})),
}
# What a matcher is compared with: our word -> Claude Code's.
CLAUDE_WORDS: Mapping[EventName, Mapping[str, str]] = {
    HookEventName.SESSION_START: {"compress": "compact"},
    HookEventName.SESSION_END: {"exit": "prompt_input_exit"},
    HookEventName.NOTIFICATION: {"ToolPermission": "permission_prompt"},
}
