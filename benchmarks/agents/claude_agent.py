"""The callbacks of the Claude Agent SDK, whose agent does not run in Python."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from benchmarks.adapters import hooks_with
from benchmarks.sampling import Group, Loop, Measurement, Workload, awaiting
from hookline import Hooks
from hookline.adapters.claude_agent import hooked

# Microseconds that a tool call may take more if no hook matches.
_MORE = 50
_IDLE = "a callback that does nothing"
_TITLE = "Claude Agent SDK"


def make_group(loop: Loop) -> Group:
    """The callbacks before and after a tool."""
    idle = Workload(_IDLE, awaiting(loop, _run_call, _idle, _idle))
    lines = [
        ("Pre- and PostToolUse, no match", Hooks(), _MORE),
        ("the same, one in-process hook", hooks_with("BeforeTool"), None),
    ]
    return Group(
        100,
        [
            Measurement(
                ours=Workload(
                    f"{_TITLE}: {name}",
                    awaiting(
                        loop, _run_call, _find(hooks, "PreToolUse"), _find(hooks, "PostToolUse")
                    ),
                ),
                baseline=idle,
                more=more,
            )
            for name, hooks, more in lines
        ],
    )


def _find(hooks: Hooks, event: str) -> Callable[..., Awaitable[Any]]:
    found: Any = hooked(None, hooks).hooks
    callback: Callable[..., Awaitable[Any]] = found[event][0].hooks[0]
    return callback


async def _idle(_given: Any, _id: str | None, _context: Any) -> Any:
    return {}


_numbers = count()


async def _run_call(
    before: Callable[..., Awaitable[Any]], after: Callable[..., Awaitable[Any]]
) -> None:
    """Call the callbacks as the SDK does for a call of Bash."""
    id = f"toolu_{next(_numbers)}"
    given = {
        "session_id": "s",
        "transcript_path": "/t.jsonl",
        "cwd": "/",
        "prompt_id": "p",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_use_id": id,
        "tool_input": {"command": "ls", "description": "List files"},
    }
    await before({**given, "hook_event_name": "PreToolUse"}, id, {"signal": None})
    response = {"stdout": "a", "stderr": "", "interrupted": False}
    ended = {**given, "hook_event_name": "PostToolUse", "tool_response": response}
    await after(ended, id, {"signal": None})
