"""Runs one plan: all hooks at once, or one after the other with their answers chained.

A hook's failure is an outcome, never an exception: whatever a hook does, there is a result for it.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec

from hookline.errors import describe
from hookline.notices import warn
from hookline.pipeline.runner.command import CommandRunner
from hookline.pipeline.runner.context import RunContext
from hookline.pipeline.runner.document import InputDocument
from hookline.pipeline.runner.loop import gather
from hookline.wire.hooks import HookConfig, HookSource
from hookline.wire.results import HookExecutionPlan, HookExecutionResult

Results: TypeAlias = tuple[HookExecutionResult, ...]
Run: TypeAlias = Callable[[HookConfig, InputDocument, RunContext], Awaitable[HookExecutionResult]]
# A hook, and when it began, in seconds of ``time.monotonic``.
RunningHook: TypeAlias = tuple[HookConfig, float]

# Looking a member up in its class is slow enough to show in the time an event takes.
_PROJECT = HookSource.PROJECT


class HookRunner:
    """Runs plans, any number at a time; owns the processes that serve hooks from call to call."""

    def __init__(self, *, warn: Callable[[str], None] = warn) -> None:
        self._commands = CommandRunner(warn=warn)
        # Hook type -> what runs it.
        self._runs: dict[str, Run] = {"command": self._commands.run, "runtime": self._run_function}

    def execute_plan(
        self, plan: HookExecutionPlan, document: InputDocument, context: RunContext
    ) -> Awaitable[Results]:
        """The results in plan order; only cancellation gets out, and nothing survives it."""
        if len(plan.hooks) == 1:
            return self._run(plan.hooks[0], document, context)
        way = self._one_after_the_other if plan.sequential else self._all_at_once
        return way(plan, document, context)

    def follow(self, running: list[RunningHook]) -> None:
        """Keep in ``running``, from now on, the command hooks that are under way; who does not
        ask for it pays nothing for it."""
        self._runs["command"] = _followed(self._runs["command"], running)

    def dispose(self) -> None:
        """End what serves hooks from call to call; plans under way finish, later ones run too."""
        self._commands.dispose()

    async def _all_at_once(
        self, plan: HookExecutionPlan, document: InputDocument, context: RunContext
    ) -> Results:
        results = await gather([self._run(hook, document, context) for hook in plan.hooks])
        return tuple(result for (result,) in results)

    async def _one_after_the_other(
        self, plan: HookExecutionPlan, document: InputDocument, context: RunContext
    ) -> Results:
        results = []
        for hook in plan.hooks:
            (result,) = await self._run(hook, document, context)
            results.append(result)
            if result.success:
                document = document.followed_by(result.output)
        return tuple(results)

    async def _run(self, hook: HookConfig, document: InputDocument, context: RunContext) -> Results:
        """One hook's result, as all there is to a plan of one: the most common by far."""
        started = time.perf_counter()
        try:
            if hook.source is _PROJECT and not context.is_trusted(hook):
                result = _untrusted(hook, document)
            else:
                result = await self._runs[hook.type](hook, document, context)
        except Exception as error:
            result = HookExecutionResult(
                hook=hook,
                event_name=document.event,
                success=False,
                failed="error",
                error=describe(error),
            )
        # Nobody has seen the result yet: its time can be put in, for less than a copy costs.
        msgspec.structs.force_setattr(result, "duration", (time.perf_counter() - started) * 1000)
        return (result,)

    def _run_function(
        self, hook: HookConfig, document: InputDocument, context: RunContext
    ) -> Awaitable[HookExecutionResult]:
        # It needs asyncio, which a command line that only starts processes is spared.
        from hookline.pipeline.runner.function import run_function

        self._runs["runtime"] = run_function
        return run_function(hook, document, context)


def _followed(run: Run, running: list[RunningHook]) -> Run:
    async def followed(
        hook: HookConfig, document: InputDocument, context: RunContext
    ) -> HookExecutionResult:
        under_way = (hook, time.monotonic())
        running.append(under_way)
        try:
            return await run(hook, document, context)
        finally:
            running.remove(under_way)

    return followed


def _untrusted(hook: HookConfig, document: InputDocument) -> HookExecutionResult:
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=False,
        failed="untrusted",
        error="the project is not trusted, so its hooks do not run",
    )
