"""Runs one plan: all hooks at once, or one after the other with their answers chained.

A hook's failure is an outcome, never an exception: every hook has a result, whatever it does.
"""

import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline._support.notices import warn
from hookline.dialects import DIALECTS
from hookline.errors import HooklineError, describe
from hookline.runner.command import CommandRunner
from hookline.runner.context import InputDocument, RunContext, failed_result
from hookline.runner.loop import gather
from hookline.wire.hooks import CommandHook, HookConfig, HttpHook, PromptHook, RuntimeHook
from hookline.wire.results import HookExecutionPlan, HookExecutionResult

# Loaded with the first hook that needs them.
if TYPE_CHECKING:
    from hookline.runner.background import Background, OnEnd

Results: TypeAlias = tuple[HookExecutionResult, ...]
# The hook has the type under which the table below lists the function.
Run: TypeAlias = Callable[[Any, InputDocument, RunContext], Awaitable[HookExecutionResult]]
# A hook, and its start as a time of ``time.monotonic``.
RunningHook: TypeAlias = tuple[HookConfig, float]


class HookRunner:
    """Runs plans, any number at a time; owns the processes that serve hooks from call to call.

    ``on_end`` is called when an async hook ends, on the thread of the async hooks.
    """

    def __init__(
        self,
        *,
        warn: Callable[[str], None] = warn,
        on_end: "OnEnd" = lambda _result, _document, _context: None,
    ) -> None:
        self._warn = warn
        self._on_end = on_end
        self._lock = threading.RLock()
        self._commands: CommandRunner | None = None
        self._background: Background | None = None
        self._is_disposed = False
        # Hook type -> the function that runs it.
        self._runs: dict[str, Run] = {
            "command": self._run_command,
            "runtime": self._run_function,
            "prompt": self._run_prompt,
            "http": self._run_http,
        }

    def execute_plan(
        self, plan: HookExecutionPlan, document: InputDocument, context: RunContext
    ) -> Awaitable[Results]:
        """Run a plan; returns the results in plan order, raises only cancellation, which ends all
        hooks. In a sequence, a hook whose condition does not fit the changed call has no result."""
        if plan.sequential or len(plan.hooks) == 1:
            return self._run_in_turn(plan.hooks, document, context)
        return self._run_at_once(plan.hooks, document, context)

    def follow(self, running: list[RunningHook]) -> None:
        """Keep the running command hooks in ``running`` from now on."""
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

    def wait_for_background(self, timeout: float | None = None) -> bool:
        """Wait until all async hooks have ended; return False if some still run after ``timeout``
        seconds."""
        return self._background is None or self._background.wait(timeout)

    def end_warm(self) -> None:
        """End the processes that wait for the next call; it starts new ones."""
        if self._commands is not None:
            self._commands.end_warm()

    def dispose(self) -> None:
        """End the processes kept from call to call, and async hooks; running plans finish, and
        later plans still run."""
        with self._lock:
            self._is_disposed = True
        if self._background is not None:
            self._background.close()
        if self._commands is not None:
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
                is_open = results and hook.condition
                if is_open and not DIALECTS[hook.dialect].applies(hook, document):
                    continue
                untrusted = context.why_untrusted(hook)
                if untrusted is not None:
                    result = failed_result(hook, document, "untrusted", untrusted)
                elif document.cut and hook.on_failure == "block":
                    error = f"its input could not be shown whole: {document.cut}"
                    result = failed_result(hook, document, "malformed", error)
                elif hook.dialect_event and (unshown := _find_unshown(hook, document)):
                    result = failed_result(hook, document, "malformed", unshown)
                elif isinstance(hook, CommandHook) and not hook.is_waited_for:
                    result = self._start_in_background(hook, document, context)
                else:
                    result = await self._runs[hook.type](hook, document, context)
            except Exception as raised:
                result = failed_result(hook, document, "error", describe(raised))
            results += (result,)
        return results

    def _run_command(
        self, hook: CommandHook, document: InputDocument, context: RunContext
    ) -> Awaitable[HookExecutionResult]:
        with self._lock:
            if self._commands is None:
                self._commands = CommandRunner(warn=self._warn)
                if self._is_disposed:
                    self._commands.dispose()
        return self._commands.run(hook, document, context)

    def _run_function(
        self, hook: RuntimeHook, document: InputDocument, context: RunContext
    ) -> Awaitable[HookExecutionResult]:
        # Imports asyncio, which a command line that only starts processes does not need.
        from hookline.runner.function import run_function

        self._runs["runtime"] = run_function
        return run_function(hook, document, context)

    def _start_in_background(
        self, hook: CommandHook, document: InputDocument, context: RunContext
    ) -> HookExecutionResult:
        from hookline.runner.background import Background

        with self._lock:
            if self._background is None:
                self._background = Background(self._run_command, self._on_end)
                if self._is_disposed:
                    self._background.close()
            background = self._background
        return background.start(hook, document, context)

    def _run_prompt(
        self, hook: PromptHook, document: InputDocument, context: RunContext
    ) -> Awaitable[HookExecutionResult]:
        from hookline.runner.prompt import run_prompt

        self._runs["prompt"] = run_prompt
        return run_prompt(hook, document, context)

    def _run_http(
        self, hook: HttpHook, document: InputDocument, context: RunContext
    ) -> Awaitable[HookExecutionResult]:
        from hookline.runner.http import HttpRunner

        # A second one, made by another thread meanwhile, does no harm: it keeps nothing to close.
        run = self._runs["http"] = HttpRunner().run
        return run(hook, document, context)


def _find_unshown(hook: HookConfig, document: InputDocument) -> str | None:
    """Return why the event cannot be written in the hook's dialect; None if it can."""
    try:
        document.encoded(hook.dialect)
    except HooklineError as error:
        return str(error)
    return None
