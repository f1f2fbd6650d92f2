"""Runs an in-process hook: an async one on the caller's loop, a plain one on its own thread, or
where it is called if it is quick or a guard.

Most async hooks answer without ever waiting, and then need neither a task nor a timer.
"""

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from inspect import isawaitable
from typing import Any

from hookline._support.waits import TimedOut, first_step, go_on
from hookline.dialects import DIALECTS, EventDocument, HookAnswer
from hookline.errors import describe
from hookline.runner.context import InputDocument, RunContext, failed_result
from hookline.runner.loop import cannot_await, run_blocking
from hookline.wire import codec
from hookline.wire.events import EventName
from hookline.wire.hooks import RuntimeHook
from hookline.wire.outputs import DefaultHookOutput
from hookline.wire.results import HookExecutionResult


async def run_function(
    hook: RuntimeHook, document: InputDocument, context: RunContext
) -> HookExecutionResult:
    """Call the function with a copy of the input; the hook fails with what it raises."""
    started = time.perf_counter()
    late = ""
    try:
        argument = document.copy()
        if hook.is_async:
            waiting, value = first_step(hook.function(argument))
            if waiting is not None:
                value = await go_on(waiting, value, hook.timeout / 1000, context.limits.kill_grace)
        elif hook.is_inline:
            value = await call_inline(hook, argument, context.limits.kill_grace)
            late = _find_delay(hook, time.perf_counter() - started)
        else:
            seconds, grace = hook.timeout / 1000, context.limits.kill_grace
            value = await call_on_thread(lambda: hook.function(argument), hook.name, seconds, grace)
        if value is None and not late:
            duration = (time.perf_counter() - started) * 1000
            return HookExecutionResult(
                hook=hook, event_name=document.event, success=True, duration=duration
            )
        answer = _read_value(hook, document, {} if value is None else value)
    except TimedOut as timed_out:
        error = f"ran longer than its timeout of {hook.timeout:g} ms{timed_out}"
        return failed_result(hook, document, "timeout", error, started=started)
    except (Exception, SystemExit) as raised:
        return failed_result(hook, document, "error", describe(raised), started=started)
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=answer.success,
        # A cached short answer is shared, so each result gets a copy.
        output=answer.output and dict(answer.output),
        output_format=answer.output_format,
        failed=answer.failed,
        error=answer.error,
        duration=(time.perf_counter() - started) * 1000,
        warnings=(*answer.warnings, late) if late else answer.warnings,
    )


async def call_inline(hook: RuntimeHook, argument: dict[str, Any], grace: float) -> Any:
    """Call a plain function in this thread and return its result, awaited if it is awaitable. No
    timeout can interrupt the function itself."""
    started = time.perf_counter()
    try:
        value = hook.function(argument)
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        # Nobody could cancel it, so the function itself has raised this.
        raise RuntimeError(describe(error)) from None
    if not isawaitable(value):
        return value
    seconds = max(hook.timeout / 1000 - (time.perf_counter() - started), 0)

    async def wait() -> Any:
        waiting, result = first_step(value)
        return result if waiting is None else await go_on(waiting, result, seconds, grace)

    return run_blocking(wait) if cannot_await() else await wait()


def _find_delay(hook: RuntimeHook, seconds: float) -> str:
    """Return what to say of an inline hook that took longer than its timeout, "" if it did not;
    raises TimedOut if it fails closed, as its answer came too late."""
    if seconds * 1000 <= hook.timeout:
        return ""
    if hook.on_failure == "block":
        raise TimedOut("; it ran inline, where nothing can stop it")
    return (
        f"ran for {seconds * 1000:.0f} ms, longer than its timeout of {hook.timeout:g} ms, and its "
        "caller waited: nothing can stop an inline hook; make it quicker, or leave inline out"
    )


def _read_value(hook: RuntimeHook, document: InputDocument, value: object) -> HookAnswer:
    """Read what a function returned as the same JSON from a script would be read."""
    if isinstance(value, dict):
        output = value
    elif isinstance(value, DefaultHookOutput):
        output = value.to_wire()
    elif isinstance(value, Mapping):
        output = dict(value)
    else:
        error = f"returned {type(value).__name__}; a hook returns a mapping or None"
        return HookAnswer(success=False, failed="error", error=error)
    text, strict = codec.encode(output), hook.on_failure == "block"
    answer = None
    if len(text) <= _SHORT:
        answer = _read_short_answer(document.event, text, strict)
    return answer or DIALECTS["native"].read_value(document, codec.decode(text), strict=strict)


# A hook answers with the same few bytes nearly every time, and reading them anew would add 15 % to
# an event with one in-process hook. Outputs with objects inside are not cached: copies share them.
_SHORT = 512


@lru_cache(maxsize=256)
def _read_short_answer(event: EventName, text: bytes, strict: bool) -> HookAnswer | None:
    document = EventDocument(event, {})
    answer = DIALECTS["native"].read_value(document, codec.decode(text), strict=strict)
    values = (answer.output or {}).values()
    return None if any(isinstance(value, dict | list) for value in values) else answer


async def call_on_thread(
    function: Callable[[], Any], name: str, seconds: float, grace: float
) -> Any:
    """Call a plain function on a thread and return its result, awaited if it is awaitable; raises
    TimedOut.

    Each call has its own thread, not one of a pool: no thread is left after the call, and a call
    that never returns cannot starve the others.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    finished: asyncio.Future[tuple[Any, Exception | None]] = loop.create_future()

    def deliver(value: object, error: Exception | None) -> None:
        def settle() -> None:
            if not finished.done():
                finished.set_result((value, error))

        # The loop may be closed by now if the function overran its timeout.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(settle)

    def work() -> None:
        try:
            value = function()
        except Exception as error:
            deliver(None, error)
        except BaseException as error:
            # On its own thread only the function itself can have raised this.
            deliver(None, RuntimeError(describe(error)))
        else:
            deliver(value, None)

    context = contextvars.copy_context()
    thread = threading.Thread(
        target=context.run, args=(work,), name=f"hookline {name}", daemon=True
    )
    thread.start()
    try:
        async with asyncio.timeout_at(deadline):
            value, error = await finished
    except TimeoutError:
        raise TimedOut(
            "; a plain function cannot be stopped, its thread ends when it returns"
        ) from None
    thread.join()
    if error is not None:
        raise error
    if not isawaitable(value):
        return value
    waiting, value = first_step(value)
    if waiting is None:
        return value
    return await go_on(waiting, value, max(deadline - loop.time(), 0), grace)
