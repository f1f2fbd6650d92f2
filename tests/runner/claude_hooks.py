"""Runs command hooks in Claude Code's dialect."""

from pathlib import Path
from typing import Any

from hookline.runner.command import CommandRunner
from hookline.runner.context import InputDocument, RunContext, RunLimits
from hookline.wire.events import EventName, HookEventName
from hookline.wire.fired import NO_FACTS
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionResult
from tests.eleven import Json
from tests.runner.planned import GRACE

INPUT = b'{"hook_event_name":"any"}'


def claude_hook(command: str, **fields: Any) -> CommandHook:
    return CommandHook(name="c", command=command, dialect="claude", **fields)


def claude_document(event: EventName) -> InputDocument:
    """The document of an event, whatever Claude Code has in it."""
    return InputDocument(event, {}, NO_FACTS, None, "", {"claude": INPUT})


async def run_claude(
    *hooks: CommandHook,
    event: EventName = HookEventName.SESSION_START,
    cwd: Path | None = None,
    **fields: Any,
) -> list[HookExecutionResult]:
    """The results of hooks that run one after the other, by one runner."""
    here = str(cwd or Path.cwd())
    options: Json = {"cwd": here, "project_dir": here, "session_id": "s-1", **fields}
    options.setdefault("limits", RunLimits(kill_grace=GRACE))
    context = RunContext(why_untrusted=lambda _hook: None, **options)
    runner = CommandRunner(warn=lambda _said: None)
    try:
        return [await runner.run(hook, claude_document(event), context) for hook in hooks]
    finally:
        runner.dispose()
