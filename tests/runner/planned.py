"""Runs hooks of any kind through a plan, with short limits."""

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from hookline.runner.context import InputDocument, RunContext, RunLimits
from hookline.runner.runner import HookRunner
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookConfig, HookSource, RuntimeHook
from hookline.wire.results import HookExecutionPlan, HookExecutionResult
from tests.eleven import Json

GRACE = 0.2
TOOL: Json = {"tool_name": "read", "tool_input": {"path": "a"}}


def function(call: Callable[..., Any], *, name: str = "f", **fields: Any) -> RuntimeHook:
    is_async = iscoroutinefunction(call) or iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004
    return RuntimeHook(name=name, function=call, is_async=is_async, **fields)


def script(command: str, *, name: str = "c", **fields: Any) -> CommandHook:
    return CommandHook(name=name, command=command, **fields)


def rules(
    is_trusted: Callable[[HookConfig], bool] = lambda _hook: True, **context: Any
) -> RunContext:
    """What hooks run with here, in the working directory."""
    here = str(Path.cwd())
    options: Json = {"cwd": here, "project_dir": here, "session_id": "s-1", **context}
    options.setdefault("limits", RunLimits(kill_grace=GRACE))
    return RunContext(
        why_untrusted=lambda hook: (
            None if hook.source is not HookSource.PROJECT or is_trusted(hook) else "not trusted"
        ),
        **options,
    )


async def run(
    *hooks: HookConfig,
    event: HookEventName = HookEventName.BEFORE_TOOL,
    payload: Json | None = None,
    sequential: bool = False,
    cut: str = "",
    is_trusted: Callable[[HookConfig], bool] = lambda _hook: True,
    **context: Any,
) -> Sequence[HookExecutionResult]:
    """The results of a plan of these hooks."""
    runner = HookRunner()
    try:
        return await runner.execute_plan(
            HookExecutionPlan(event, hooks, sequential),
            InputDocument(event, TOOL if payload is None else payload, cut=cut),
            rules(is_trusted, **context),
        )
    finally:
        runner.dispose()


async def run_one(hook: HookConfig, **options: Any) -> HookExecutionResult:
    (result,) = await run(hook, **options)
    return result
