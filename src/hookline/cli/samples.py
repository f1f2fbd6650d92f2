"""Sample events: a value for each required field, of our events and of Claude Code's."""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from hookline.dialects import load_foreign
from hookline.dialects.matcher import MatchTimeout
from hookline.dialects.tools import ToolAlias
from hookline.pipeline.registry import HookRegistryEntry
from hookline.wire import codec
from hookline.wire.events import EVENTS, FIELD_KINDS, HookEventName, find_event

_REQUEST = {"model": "gemini-2.5-flash", "contents": "Hello"}
_RESPONSE = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]}
_OURS: Mapping[str, dict[str, Any]] = {
    HookEventName.BEFORE_TOOL: {"tool_name": "write_file", "tool_input": {"content": "hi"}},
    HookEventName.AFTER_TOOL: {"tool_name": "read_file", "tool_input": {}, "tool_response": "hi"},
    HookEventName.BEFORE_AGENT: {"prompt": "Fix the tests"},
    HookEventName.AFTER_AGENT: {"prompt": "Fix it", "prompt_response": "Done"},
    HookEventName.BEFORE_MODEL: {"model_request": _REQUEST},
    HookEventName.AFTER_MODEL: {"model_request": _REQUEST, "model_response": _RESPONSE},
    HookEventName.BEFORE_TOOL_SELECTION: {"model_request": _REQUEST},
    HookEventName.SESSION_START: {"source": "startup"},
    HookEventName.SESSION_END: {"reason": "exit"},
    HookEventName.PRE_COMPRESS: {"trigger": "manual"},
    HookEventName.NOTIFICATION: {"message": "Build finished"},
}
_CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
# Events of Claude Code that are fired as one of our own.
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
_TARGETS = (
    *("write_file", "read_file", "run_shell_command", "replace", "startup", "exit", "manual"),
    *("Bash", "Write", "Edit", "Read", "other", "permission_prompt"),
)


def sample_fields(name: str, *, is_claude: bool = False) -> dict[str, Any]:
    """Return sample fields for the event of a name; some events of Claude Code have one of ours."""
    if name in _OURS and not is_claude:
        return dict(_OURS[name])
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


def example(name: str) -> str:
    """Return a command line that fires the event of a name, ours or Claude Code's."""
    fields = sample_fields(name)
    words = []
    if "tool_name" in fields:
        tool, arguments = fields.pop("tool_name"), codec.encode(fields.pop("tool_input")).decode()
        words += ["--tool", tool, "--tool-input", f"'{arguments}'"]
    if fields:
        words += ["--input", f"'{codec.encode(fields).decode()}'"]
    return " ".join(["hookline", "fire", name, *words])


def make_fields(
    entry: HookRegistryEntry, tools: Mapping[str, ToolAlias] | None
) -> dict[str, Any] | None:
    """Return the fields of an event that runs a hook, in the words of its dialect; None if its
    matcher matches no sample name."""
    key, spec = entry.hook.dialect_event, EVENTS[entry.event]
    fields = sample_fields(key or entry.event.value, is_claude=bool(key))
    if "tool_input" in fields:
        # Fields for any of the tools.
        fields["tool_input"] = {"command": "ls", "file_path": "README.md", "content": "Hello\n"}
    if spec.target is None or spec.target not in fields:
        return fields
    sample, dialect = fields[spec.target], load_foreign(entry.hook.dialect) if key else None
    for name in (*re.findall(r"[\w-]+", str(entry.matcher or "")), sample, *_TARGETS):
        if not key and spec.trigger is not None and name not in list(spec.trigger):
            continue
        target = name
        if dialect is not None and spec.search:
            target = dialect.show_to_host(name, {}, tools=tools).name
        with suppress(MatchTimeout):
            if entry.matches(target):
                return {**fields, spec.target: name}
    return None
