"""Runs one plan: all hooks at once, or one after the other with their answers chained.

A hook's failure is an outcome, never an exception: whatever a hook does, there is a result for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from hookline.errors import describe
from hookline.pipeline.runner.command import run_command
from hookline.pipeline.runner.context import RunContext
from hookline.pipeline.runner.document import InputDocument
from hookline.pipeline.runner.function import run_function
from hookline.wire.hooks import HookConfig, HookSource
from hookline.wire.results import HookExecutionPlan, HookExecutionResult

Results: TypeAlias = tuple[HookExecutionResult, ...]
Run: TypeAlias = Callable[[HookConfig, InputDocument, RunContext], Awaitable[HookExecutionResult]]

# Looking a member up in its class is slow enough to show in the time an event takes.
_PROJECT = HookSource.PROJECT

# Hook type -> what runs it.
RUNNERS: dict[str, Run] = {"command": run_command, "runtime": run_function}


class HookRunner:
    """Runs plans; stateless, so any number of events may use one at a time."""

    def execute_plan(
        self, plan: HookExecutionPlan, document: InputDocument, context: RunContext
    ) -> Awaitable[Results]:
        """The results in plan order; only cancellation gets out, and nothing survives it."""
        if len(plan.hooks) == 1:
            return _run(plan.hooks[0], document, context)
        way = _one_after_the_other if plan.sequential else _all_at_once
        return way(plan, document, context)


async def _all_at_once(
    plan: HookExecutionPlan, document: InputDocument, context: RunContext
) -> Results:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_run(hook, document, context)) for hook in plan.hooks]
    return tuple(result for task in tasks for result in task.result())


async def _one_after_the_other(
    plan: HookExecutionPlan, document: InputDocument, context: RunContext
) -> Results:
    results = []
    for hook in plan.hooks:
        (result,) = await _run(hook, document, context)
        results.append(result)
        if result.success:
            document = document.followed_by(result.output)
    return tuple(results)


async def _run(hook: HookConfig, document: InputDocument, context: RunContext) -> Results:
    """One hook's result, as all there is to a plan of one: the most common by far."""
    started = time.perf_counter()
    try:
        if hook.source is _PROJECT and not context.is_trusted():
            result = _untrusted(hook, document)
        else:
            result = await RUNNERS[hook.type](hook, document, context)
    except Exception as error:
        result = HookExecutionResult(
            hook=hook,
            event_name=document.event,
            success=False,
            failed="error",
            error=describe(error),
        )
    # Nobody has seen the result yet, so its time can still be put in, for less than a copy costs.
    msgspec.structs.force_setattr(result, "duration", (time.perf_counter() - started) * 1000)
    return (result,)


def _untrusted(hook: HookConfig, document: InputDocument) -> HookExecutionResult:
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=False,
        failed="untrusted",
        error="the project is not trusted, so its hooks do not run",
    )
