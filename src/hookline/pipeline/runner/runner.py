"""Runs one plan: all hooks at once, or one after the other with their answers chained.

A hook's failure is an outcome, never an exception: whatever a hook does, there is a result for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from hookline.pipeline.runner.command import run_command
from hookline.pipeline.runner.context import RunContext
from hookline.pipeline.runner.document import InputDocument
from hookline.pipeline.runner.function import run_function
from hookline.wire.hooks import HookConfig, HookSource
from hookline.wire.results import HookExecutionPlan, HookExecutionResult

Run: TypeAlias = Callable[[HookConfig, InputDocument, RunContext], Awaitable[HookExecutionResult]]

# Hook type -> what runs it.
RUNNERS: dict[str, Run] = {"command": run_command, "runtime": run_function}


class HookRunner:
    """Runs plans; stateless, so any number of events may use one at a time."""

    async def execute_plan(
        self, plan: HookExecutionPlan, document: InputDocument, context: RunContext
    ) -> tuple[HookExecutionResult, ...]:
        """The results in plan order; only cancellation gets out, and nothing survives it."""
        if len(plan.hooks) == 1:
            return (await _run(plan.hooks[0], document, context),)
        if plan.sequential:
            return await _one_after_the_other(plan, document, context)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_run(hook, document, context)) for hook in plan.hooks]
        return tuple(task.result() for task in tasks)


async def _one_after_the_other(
    plan: HookExecutionPlan, document: InputDocument, context: RunContext
) -> tuple[HookExecutionResult, ...]:
    results = []
    for hook in plan.hooks:
        result = await _run(hook, document, context)
        results.append(result)
        if result.success:
            document = document.followed_by(result.output)
    return tuple(results)


async def _run(
    hook: HookConfig, document: InputDocument, context: RunContext
) -> HookExecutionResult:
    started = time.perf_counter()
    try:
        if hook.source is HookSource.PROJECT and not context.is_trusted():
            result = _untrusted(hook, document)
        else:
            result = await RUNNERS[hook.type](hook, document, context)
    except Exception as error:
        result = HookExecutionResult(
            hook=hook,
            event_name=document.event,
            success=False,
            failed="error",
            error=f"{type(error).__name__}: {error}",
        )
    return _timed(result, (time.perf_counter() - started) * 1000)


def _timed(result: HookExecutionResult, duration: float) -> HookExecutionResult:
    return msgspec.structs.replace(result, duration=duration)


def _untrusted(hook: HookConfig, document: InputDocument) -> HookExecutionResult:
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=False,
        failed="untrusted",
        error="the project is not trusted, so its hooks do not run",
    )
