"""Runs an in-process hook: async ones on the caller's loop, plain ones on a thread of their own.

An async hook takes its first step inline, in the caller's task: most answer without ever waiting,
and then neither a task nor a timer is needed. One that waits is driven on by the same task, so
whatever it bound to its task in the first step (a timeout, a task group) stays valid.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from inspect import isawaitable
from typing import Any

from hookline.pipeline.dialects import dialect_of
from hookline.pipeline.runner.context import RunContext
from hookline.pipeline.runner.document import InputDocument
from hookline.wire.hooks import HookConfig, RuntimeHook
from hookline.wire.outputs import DefaultHookOutput
from hookline.wire.results import HookExecutionResult


async def run_function(
    hook: HookConfig, document: InputDocument, context: RunContext
) -> HookExecutionResult:
    """Call the function with a copy of the input; what it raises is this hook's failure."""
    assert isinstance(hook, RuntimeHook)
    seconds = hook.timeout / 1000
    grace = context.limits.kill_grace
    try:
        if hook.is_async:
            value = await _drive(hook.function(document.copy(hook.dialect)), seconds, grace)
        else:
            value = await _on_thread(hook, document.copy(hook.dialect), seconds, grace)
    except _TimedOut as late:
        error = f"ran longer than its timeout of {hook.timeout:g} ms{late}"
        return _failed(hook, document, "timeout", error)
    except (Exception, SystemExit) as error:
        return _failed(hook, document, "error", f"{type(error).__name__}: {error}")
    return _answered(hook, document, value)


class _TimedOut(Exception):
    """The function used up its time."""


def _failed(
    hook: RuntimeHook, document: InputDocument, kind: Any, error: str
) -> HookExecutionResult:
    return HookExecutionResult(
        hook=hook, event_name=document.event, success=False, failed=kind, error=error
    )


def _answered(hook: RuntimeHook, document: InputDocument, value: object) -> HookExecutionResult:
    if value is None:
        return HookExecutionResult(hook=hook, event_name=document.event, success=True)
    if isinstance(value, DefaultHookOutput):
        value = value.to_wire()
    if not isinstance(value, Mapping):
        error = f"returned {type(value).__name__}; a hook returns a mapping or None"
        return _failed(hook, document, "error", error)
    answer = dialect_of(hook.dialect).read_value(document.event, value)
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=answer.success,
        output=answer.output,
        output_format=answer.output_format,
        failed=answer.failed,
        error=answer.error,
        warnings=answer.warnings,
    )


async def _drive(awaitable: Awaitable[Any], seconds: float, grace: float) -> Any:
    if not isinstance(awaitable, Coroutine):
        awaitable = _awaiting(awaitable)
    try:
        first = awaitable.send(None)
    except StopIteration as done:
        return done.value
    except asyncio.CancelledError:
        raise RuntimeError(_CANCELLED_ITSELF) from None
    task = asyncio.current_task()
    assert task is not None
    cancelled_before = task.cancelling()
    clock = asyncio.timeout(seconds)
    try:
        async with clock:
            value = await _Resumed(awaitable, first, grace)
    except TimeoutError:
        if clock.expired():
            raise _TimedOut from None
        raise
    except asyncio.CancelledError:
        if task.cancelling() > cancelled_before:
            raise
        raise RuntimeError(_CANCELLED_ITSELF) from None
    if clock.expired():
        raise _TimedOut
    if task.cancelling() > cancelled_before:
        # The hook swallowed a cancellation that was meant for its caller.
        raise asyncio.CancelledError
    return value


_CANCELLED_ITSELF = "the hook raised CancelledError though nobody cancelled it"


async def _awaiting(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


class _Resumed:
    """Goes on with a coroutine that has yielded once already, and gives up on one that will not
    end: after a cancellation it has ``grace`` seconds to clean up."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], first: Any, grace: float) -> None:
        self._coroutine = coroutine
        self._first = first
        self._grace = grace
        self._force: asyncio.TimerHandle | None = None
        self._forced = False

    def __await__(self) -> Generator[Any, Any, Any]:
        yielded = self._first
        try:
            while True:
                try:
                    sent = yield yielded
                except BaseException as error:
                    yielded = self._interrupt(error)
                else:
                    yielded = self._coroutine.send(sent)
        except StopIteration as done:
            return done.value
        finally:
            if self._force is not None:
                self._force.cancel()

    def _interrupt(self, error: BaseException) -> Any:
        if self._forced or isinstance(error, GeneratorExit):
            self._abandon()
            raise error
        if isinstance(error, asyncio.CancelledError) and self._force is None:
            task = asyncio.current_task()
            assert task is not None
            self._force = task.get_loop().call_later(self._grace, self._give_up, task)
        return self._coroutine.throw(error)

    def _give_up(self, task: "asyncio.Task[Any]") -> None:
        self._forced = True
        task.cancel()
        # This second cancellation is ours: whoever asked for the first must count only its own.
        task.uncancel()

    def _abandon(self) -> None:
        # One that ignores even GeneratorExit raises RuntimeError; it is never resumed either way.
        with contextlib.suppress(RuntimeError):
            self._coroutine.close()


async def _on_thread(
    hook: RuntimeHook, argument: dict[str, Any], seconds: float, grace: float
) -> Any:
    """A thread for each call, not a pool: none is left when the call is over, and one that never
    returns cannot starve the others."""
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[Callable[[], Any]] = loop.create_future()

    def deliver(outcome: Callable[[], Any]) -> None:
        if not finished.done():
            finished.set_result(outcome)

    def work() -> None:
        outcome = _outcome_of(hook.function, argument)
        # The loop may have closed while the function overran its time.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver, outcome)

    context = contextvars.copy_context()
    thread = threading.Thread(
        target=context.run, args=(work,), name=f"hookline {hook.name}", daemon=True
    )
    thread.start()
    try:
        async with asyncio.timeout(seconds):
            outcome = await finished
    except TimeoutError:
        raise _TimedOut(
            "; a plain function cannot be stopped, its thread ends when it returns"
        ) from None
    thread.join()
    value = outcome()
    return await _drive(value, seconds, grace) if isawaitable(value) else value


def _outcome_of(function: Callable[..., Any], argument: dict[str, Any]) -> Callable[[], Any]:
    try:
        value = function(argument)
    except Exception as error:
        return _raising(error)
    except BaseException as error:
        # On a thread of its own nothing but the function itself can have raised this.
        return _raising(RuntimeError(f"{type(error).__name__}: {error}"))
    return lambda: value


def _raising(error: Exception) -> Callable[[], Any]:
    def outcome() -> Any:
        raise error

    return outcome
