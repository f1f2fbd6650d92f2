"""Events as Claude Code's hooks are asked about them, and what an agent makes of an answer."""

from typing import Any

from hookline.dialects import DIALECTS, EventDocument, HookAnswer
from hookline.dialects.claude import ClaudeDialect
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.answer import Answer, process_common_hook_output_fields
from hookline.wire import codec
from hookline.wire.events import EVENTS as SPECS
from hookline.wire.fired import FiredEvent
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionPlan, HookExecutionResult
from tests.eleven import Json

CLAUDE = DIALECTS["claude"]
_SHELL: Json = {"tool_name": "run_shell_command", "tool_input": {"command": "ls", "timeout": 5}}
_FAILED: Json = {"llmContent": "", "error": {"type": "x", "message": "broke"}}
_SUBAGENT: Json = {"agent_id": "a1", "agent_type": "Explore"}
_TASK: Json = {"task_id": "1", "task_subject": "s"}
_TEAMMATE: Json = {"teammate_name": "n", "team_name": "t"}
_MODELS: Json = {"from_model": "a", "to_model": "b"}
_ELICITED: Json = {"mcp_server_name": "s"}

# Every event of Claude Code's -> its own fields as native hooks read them.
EVENTS: dict[str, Json] = {
    "PreToolUse": _SHELL,
    "PermissionRequest": _SHELL,
    "PermissionDenied": {**_SHELL, "tool_use_id": "t1", "reason": "r"},
    "PostToolUse": {**_SHELL, "tool_response": {"llmContent": "secret"}},
    "PostToolUseFailure": {**_SHELL, "tool_response": _FAILED},
    "PostToolBatch": {"tool_calls": []},
    "UserPromptSubmit": {"prompt": "p"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command",
        "command_name": "c",
        "command_args": "",
        "prompt": "p",
    },
    "Stop": {"prompt": "p", "prompt_response": "done", "stop_hook_active": False},
    "SubagentStop": {**_SUBAGENT, "stop_hook_active": False, "agent_transcript_path": ""},
    "SubagentStart": _SUBAGENT,
    "StopFailure": {"error": "e"},
    "SessionStart": {"source": "startup"},
    "Setup": {"trigger": "init"},
    "SessionEnd": {"reason": "other"},
    "PreCompact": {"trigger": "manual"},
    "PostCompact": {"trigger": "manual", "compact_summary": "s"},
    "Notification": {"message": "m", "notification_type": "permission_prompt"},
    "PreModelSwitch": _MODELS,
    "PostModelSwitch": _MODELS,
    "TaskCreated": _TASK,
    "TaskCompleted": _TASK,
    "TeammateIdle": _TEAMMATE,
    "ConfigChange": {"source": "user_settings"},
    "InstructionsLoaded": {"file_path": "f", "memory_type": "User", "load_reason": "include"},
    "CwdChanged": {"old_cwd": "/a", "new_cwd": "/b"},
    "DirectoryAdded": {"directory": "/a", "source": "slash_command"},
    "FileChanged": {"file_path": "f", "event": "change"},
    "WorktreeCreate": {"name": "w"},
    "WorktreeRemove": {"worktree_path": "/w"},
    "Elicitation": {**_ELICITED, "message": "m"},
    "ElicitationResult": {**_ELICITED, "action": "accept"},
    "MessageDisplay": {
        "turn_id": "t",
        "message_id": "m",
        "index": 0,
        "final": True,
        "delta": "d",
    },
}


def document_of(event: str, **fields: Any) -> EventDocument:
    """What a hook of one of Claude Code's events is asked about."""
    name = ClaudeDialect().event_for(event)
    assert name is not None
    payload = {"session_id": "s", "transcript_path": "", "cwd": "/repo", **EVENTS[event], **fields}
    return EventDocument(name, payload)


def read(
    event: str,
    code: int,
    stdout: object = "",
    stderr: str = "",
    *,
    strict: bool = False,
    **fields: Any,
) -> HookAnswer:
    """What a command said that printed a text, or an object as JSON."""
    text = stdout if isinstance(stdout, str) else codec.encode(stdout).decode()
    document = document_of(event, **fields)
    return CLAUDE.read_answer(document, "guard", code, text, stderr, strict=strict)


def apply(event: str, *answers: HookAnswer, strict: bool = False, **fields: Any) -> Answer:
    """What an agent should do about the answers of hooks, in the order of the plan."""
    document = document_of(event, **fields)
    hooks = tuple(
        CommandHook(
            name=f"guard {index}",
            command="true",
            dialect="claude",
            dialect_event=event,
            on_failure="block" if strict else "allow",
        )
        for index in range(len(answers))
    )
    results = [
        HookExecutionResult(
            hook=hook,
            event_name=document.event,
            success=answer.success,
            output=answer.output,
            failed=answer.failed,
            error=answer.error,
        )
        for hook, answer in zip(hooks, answers, strict=True)
    ]
    plan = HookExecutionPlan(document.event, hooks)
    aggregated = HookAggregator().aggregate_results(plan, results)
    spec = SPECS[document.event]
    values = tuple(document.payload.get(name) for name in (*spec.required, *spec.optional))
    fired = FiredEvent(document.event, "", values)
    return process_common_hook_output_fields(aggregated, fired)


def own(event: str, **fields: Any) -> Json:
    """An answer with the event's own fields."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def permission(word: str, **fields: Any) -> Json:
    """An answer to PreToolUse."""
    return own("PreToolUse", permissionDecision=word, **fields)


def behavior(word: str, **fields: Any) -> Json:
    """An answer to PermissionRequest."""
    return own("PermissionRequest", decision={"behavior": word, **fields})
