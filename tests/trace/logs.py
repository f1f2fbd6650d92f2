"""Logs as the engine writes them, with times that a test can know beforehand."""

import json
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
DAY = "2026-03-01"


def ran(hook: str, duration_ms: float = 5.0, **facts: Any) -> Json:
    """What one hook did; ``failed`` and a nonzero ``exit_code`` make it a failure."""
    exit_code = facts.setdefault("exit_code", 0)
    return {
        "hook": hook,
        "type": "command",
        "source": "project",
        "duration_ms": duration_ms,
        "success": exit_code == 0 and "failed" not in facts,
        "signal": None,
        "failed": None,
        "output": None,
        "stdout": "",
        "stderr": "",
        "error": None,
        **facts,
    }


def fired(
    id: str,
    clock: str,
    event: str,
    *hooks: Json,
    target: str = "",
    session: str = "s-1",
    output: Json | None = None,
    sequential: bool = False,
    cwd: str = "/home/ada/project",
    **own: Any,
) -> list[Json]:
    """The records of one event that ended at that time of the day."""
    common = {
        "time": f"{DAY}T{clock}.000Z",
        "id": id,
        "session_id": session,
        "event": event,
        "target": target,
    }
    payload = {"session_id": session, "cwd": cwd, "hook_event_name": event, **own}
    total = sum(hook["duration_ms"] for hook in hooks)
    failures = sum(not hook["success"] for hook in hooks)
    return [
        *({"kind": "hook", **common, **hook, "input": payload} for hook in hooks),
        {
            "kind": "batch",
            **common,
            "hook_count": len(hooks),
            "success_count": len(hooks) - failures,
            "failure_count": failures,
            "total_duration_ms": total,
            "success": not failures,
            "sequential": sequential,
            "output": output,
        },
    ]


def warned(clock: str, message: str, **fields: Any) -> list[Json]:
    return [{"kind": "warning", "time": f"{DAY}T{clock}.000Z", "message": message, **fields}]


def written(path: Path, *events: list[Json]) -> Path:
    """A log that holds these events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record) + "\n" for records in events for record in records]
    path.write_text("".join(lines), encoding="utf-8")
    return path


KEY = "that is a key"
FAILED = ran("format", 210.0, exit_code=3, failed="exit", stderr="oh dear\n", error="exited with 3")
DENIED = ran(
    "secret-scan", 12.4, exit_code=2, stderr=KEY, output={"decision": "deny", "reason": KEY}
)


def session() -> list[list[Json]]:
    """A little of everything."""
    return [
        fired("start2", "14:03:00", "SessionStart", ran("notes", 31.0), target="startup"),
        fired("model2", "14:03:05", "BeforeModel"),
        fired(
            "block2",
            "14:03:09",
            "BeforeTool",
            DENIED,
            ran("path-guard", 4.0),
            target="write_file",
            output={"continue": True, "decision": "deny", "reason": KEY},
            tool_name="write_file",
            tool_input={"content": "AKIA"},
        ),
        fired("after2", "14:03:11", "AfterTool", FAILED, target="write_file"),
        fired(
            "agent2",
            "14:03:20",
            "BeforeAgent",
            ran("budget", 7.0, output={"decision": "ask", "reason": "go on?"}),
            ran("rules", 1500.0),
            output={"decision": "ask", "reason": "go on?"},
            sequential=True,
            session="s-2",
        ),
    ]


def effects() -> list[list[Json]]:
    """An event for each thing that hooks can do to one."""

    def answered(id: str, event: str, output: Json, **own: Any) -> list[Json]:
        clock = f"15:00:{len(made):02}"
        made.append(fired(id, clock, event, ran(f"{id}-hook", output=output), output=output, **own))
        return made[-1]

    made: list[list[Json]] = []
    specific = "hookSpecificOutput"
    tool: Json = {"target": "run_shell_command", "tool_name": "run_shell_command"}
    request = {"model": "m", "messages": [{"role": "user", "content": "my key is AKIA1"}]}
    response = {"text": "key AKIA1", "candidates": [{"content": {"parts": ["key AKIA1"]}}]}
    push = {"command": "git push --force", "note": "first\nsecond\nthird"}
    answered("stopit", "BeforeTool", {"continue": False, "stopReason": "enough"}, **tool)
    answered("askhim", "BeforeTool", {"decision": "ask", "reason": "sure?"}, **tool)
    safe = {"command": "git push", "note": "first\n2nd\nthird"}
    answered("rewrit", "BeforeTool", {specific: {"tool_input": safe}}, tool_input=push, **tool)
    result = {"llmContent": "one\nAKIA1\nthree", "returnDisplay": "shown"}
    clean = {"decision": "allow", specific: {"updatedToolOutput": "one\n[key]\nthree"}}
    answered("redact", "AfterTool", clean, tool_response=result, **tool)
    rejected = {"decision": "deny", "reason": "the result holds a key"}
    answered("reject", "AfterTool", rejected, tool_response=result, **tool)
    hidden = {"messages": [{"role": "user", "content": "my key is [key]"}]}
    answered("reqchg", "BeforeModel", {specific: {"llm_request": hidden}}, llm_request=request)
    answered("synthe", "BeforeModel", {specific: {"llm_response": response}}, llm_request=request)
    said = {"text": "key [key]"}
    both: Json = {"llm_request": request, "llm_response": response}
    answered("respon", "AfterModel", {specific: {"llm_response": said}}, **both)
    names = ["read_file", "write_file", "run_shell_command"]
    config = {"mode": "ANY", "allowedFunctionNames": ["read_file"]}
    asked: Json = {"llm_request": request, "available_tools": names}
    answered("narrow", "BeforeToolSelection", {specific: {"toolConfig": config}}, **asked)
    note = {specific: {"additionalContext": "be kind"}}
    answered("adding", "BeforeAgent", note, prompt="hi")
    answered("goback", "AfterAgent", {"decision": "block", "reason": "run the tests"}, prompt="hi")
    answered("forget", "AfterAgent", {specific: {"clearContext": True}}, prompt="hi")
    answered("keepit", "PreCompress", {specific: {"keepHistory": True}}, target="auto")
    call = {"name": "lint", "args": {}}
    answered("tailed", "AfterTool", {specific: {"tailToolCallRequest": call}}, **tool)
    answered("export", "SessionStart", {specific: {"exports": {"A": "1"}}}, target="startup")
    return made
