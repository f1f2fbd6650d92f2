"""Runs one plan: all hooks at once, or one after the other with their answers chained.

A hook's failure is an outcome, never an exception: whatever a hook does, there is a result for it.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from hookline.errors import HooklineError, describe
from hookline.notices import warn
from hookline.pipeline.runner.command import CommandRunner
from hookline.pipeline.runner.context import InputDocument, RunContext, failed_result
from hookline.pipeline.runner.loop import gather
from hookline.wire.hooks import HookConfig, RuntimeHook
from hookline.wire.results import HookExecutionPlan, HookExecutionResult

Results: TypeAlias = tuple[HookExecutionResult, ...]
# The hook is of the type that the table below has this for.
Run: TypeAlias = Callable[[Any, InputDocument, RunContext], Awaitable[HookExecutionResult]]
# A hook, and when it began, in seconds of ``time.monotonic``.
RunningHook: TypeAlias = tuple[HookConfig, float]


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
        if plan.sequential or len(plan.hooks) == 1:
            return self._run_in_turn(plan.hooks, document, context)
        return self._run_at_once(plan.hooks, document, context)

    def follow(self, running: list[RunningHook]) -> None:
        """Keep in ``running``, from now on, the command hooks that are under way; who does not
        ask for it pays nothing for it."""
        run = self._runs["command"]

        async def run_followed(
            hook: HookConfig, document: InputDocument, context: RunContext
        ) -> HookExecutionResult:
            under_way = (hook, time.monotonic())
            running.append(under_way)
            try:
                return await run(hook, document, context)
            finally:
                running.remove(under_way)

        self._runs["command"] = run_followed

    def dispose(self) -> None:
        """End what serves hooks from call to call; plans under way finish, later ones run too."""
        self._commands.dispose()

    async def _run_at_once(
        self, hooks: Sequence[HookConfig], document: InputDocument, context: RunContext
    ) -> Results:
        runs = [self._run_in_turn((hook,), document, context) for hook in hooks]
        return tuple(result for (result,) in await gather(runs))

    async def _run_in_turn(
        self, hooks: Sequence[HookConfig], document: InputDocument, context: RunContext
    ) -> Results:
        results: Results = ()
        for hook in hooks:
            if results and results[-1].success:
                document = document.followed_by(results[-1].output)
            try:
                untrusted = context.why_untrusted(hook)
                if untrusted is not None:
                    result = failed_result(hook, document, "untrusted", untrusted)
                elif document.cut and hook.on_failure == "block":
                    error = f"its input could not be shown whole: {document.cut}"
                    result = failed_result(hook, document, "malformed", error)
                elif hook.dialect_event and (unshown := _find_unshown(hook, document)):
                    result = failed_result(hook, document, "malformed", unshown)
                else:
                    result = await self._runs[hook.type](hook, document, context)
            except Exception as raised:
                result = failed_result(hook, document, "error", describe(raised))
            results += (result,)
        return results

    def _run_function(
        self, hook: RuntimeHook, document: InputDocument, context: RunContext
    ) -> Awaitable[HookExecutionResult]:
        # It needs asyncio, which a command line that only starts processes is spared.
        from hookline.pipeline.runner.function import run_function

        self._runs["runtime"] = run_function
        return run_function(hook, document, context)


def _find_unshown(hook: HookConfig, document: InputDocument) -> str | None:
    """Why the event has no document in the dialect of a hook; None where it has."""
    try:
        document.encoded(hook.dialect)
    except HooklineError as error:
        return str(error)
    return None
