"""Sample events, Claude Code's and others: a value for each required field."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hookline.dialects import load_foreign
from hookline.dialects.matcher import MatchTimeout
from hookline.dialects.tools import ToolAlias
from hookline.pipeline.registry import HookRegistryEntry
from hookline.wire import codec
from hookline.wire.events import EVENTS, FIELD_KINDS, find_event

_CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
# Events that are fired as one of our own.
_MAPPED: Mapping[str, dict[str, Any]] = {
    "PreToolUse": _CALL,
    "PostToolUse": {**_CALL, "tool_response": {"stdout": "README.md", "stderr": ""}},
    "PostToolUseFailure": {**_CALL, "error": "it failed"},
    "UserPromptSubmit": {"prompt": "Fix the tests"},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "Done"},
    "SessionStart": {"source": "startup"},
    "SessionEnd": {"reason": "other"},
    "PreCompact": {"trigger": "manual"},
    "Notification": {"message": "Claude needs you", "notification_type": "permission_prompt"},
}
# Field -> a value; EVENT.FIELD where one event needs another value.
_VALUES: Mapping[str, Any] = {
    **_CALL,
    "tool_use_id": "toolu_1",
    "tool_calls": [],
    "reason": "not allowed",
    "expansion_type": "slash_command",
    "command_name": "review",
    "command_args": "",
    "prompt": "Fix the tests",
    "Setup.trigger": "init",
    "PostCompact.trigger": "manual",
    "compact_summary": "The tests were fixed.",
    "agent_id": "agent-1",
    "agent_type": "Explore",
    "agent_transcript_path": "",
    "stop_hook_active": False,
    "error": "rate_limit",
    "from_model": "opus",
    "to_model": "sonnet",
    "requested_model": None,
    "task_id": "1",
    "task_subject": "Fix the tests",
    "teammate_name": "ann",
    "team_name": "tests",
    "ConfigChange.source": "project_settings",
    "DirectoryAdded.source": "slash_command",
    "file_path": "README.md",
    "memory_type": "Project",
    "load_reason": "session_start",
    "old_cwd": "/",
    "new_cwd": "/tmp",
    "directory": "/tmp",
    "event": "change",
    "name": "try",
    "worktree_path": "/tmp/try",
    "mcp_server_name": "github",
    "message": "Which one?",
    "action": "accept",
    "turn_id": "1",
    "message_id": "1",
    "index": 0,
    "final": True,
    "delta": "Hi",
}
_OF_KIND: Mapping[str, Any] = {
    "a string": "text",
    "an object": {},
    "true or false": False,
    "a list of strings": [],
}
_TARGETS = ("Bash", "Write", "Edit", "Read", "startup", "other", "manual", "permission_prompt")


def sample_fields(name: str) -> dict[str, Any]:
    """Return sample fields for an event, Claude Code's by its name for it."""
    if name in _MAPPED:
        return dict(_MAPPED[name])
    event = find_event(name)
    assert event is not None
    spec = EVENTS[event]
    fields: dict[str, Any] = {}
    for field in spec.required:
        usual = _VALUES.get(field, _OF_KIND.get(FIELD_KINDS.get(field, "")))
        fields[field] = _VALUES.get(f"{name}.{field}", usual)
        if spec.trigger is not None and field == spec.target:
            fields[field] = spec.triggers[0]
    return fields


def sample_arguments(name: str) -> str:
    """Return the arguments of ``hookline fire`` for a sample of this event."""
    fields = sample_fields(name)
    words = []
    if "tool_name" in fields:
        tool, called = fields.pop("tool_name"), codec.encode(fields.pop("tool_input")).decode()
        words += ["--tool", tool, "--tool-input", f"'{called}'"]
    if fields:
        words += ["--input", f"'{codec.encode(fields).decode()}'"]
    return " ".join(words)


def make_fields(
    entry: HookRegistryEntry, tools: Mapping[str, ToolAlias] | None
) -> dict[str, Any] | None:
    """Return the fields of an event that runs a Claude Code hook; None if its matcher matches no
    sample name."""
    fields, spec = sample_fields(entry.hook.dialect_event), EVENTS[entry.event]
    if "tool_input" in fields:
        # Fields for any of the tools.
        fields["tool_input"] = {"command": "ls", "file_path": "README.md", "content": "Hello\n"}
    if spec.target is None:
        return fields
    sample, dialect = fields[spec.target], load_foreign(entry.hook.dialect)
    for name in (sample, *re.findall(r"[\w-]+", str(entry.matcher or "")), *_TARGETS):
        ours = dialect.show_to_host(name, {}, tools=tools).name if spec.search else name
        with suppress(MatchTimeout):
            if entry.matches(ours):
                return {**fields, spec.target: name}
    return None
