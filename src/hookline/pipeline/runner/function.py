"""Runs an in-process hook: async ones on the caller's loop, plain ones on a thread of their own.

Most async hooks answer without ever waiting, and then neither a task nor a timer is needed.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from inspect import isawaitable
from typing import Any

from hookline.errors import describe
from hookline.pipeline.dialects import HookAnswer, dialect_of
from hookline.pipeline.runner.context import RunContext
from hookline.pipeline.runner.document import InputDocument
from hookline.stepping import TimedOut, first_step, go_on
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookConfig, RuntimeHook
from hookline.wire.outputs import DefaultHookOutput
from hookline.wire.results import HookExecutionResult


async def run_function(
    hook: HookConfig, document: InputDocument, context: RunContext
) -> HookExecutionResult:
    """Call the function with a copy of the input; what it raises is this hook's failure."""
    assert isinstance(hook, RuntimeHook)
    try:
        argument = document.copy(hook.dialect)
        if hook.is_async:
            waiting, value = first_step(hook.function(argument))
            if waiting is not None:
                value = await go_on(waiting, value, hook.timeout / 1000, context.limits.kill_grace)
        else:
            value = await _on_thread(hook, argument, context.limits.kill_grace)
    except TimedOut as late:
        error = f"ran longer than its timeout of {hook.timeout:g} ms{late}"
        return _failed(hook, document, "timeout", error)
    except (Exception, SystemExit) as error:
        return _failed(hook, document, "error", describe(error))
    return _answered(hook, document, value)


def _failed(
    hook: RuntimeHook, document: InputDocument, kind: Any, error: str
) -> HookExecutionResult:
    return HookExecutionResult(
        hook=hook, event_name=document.event, success=False, failed=kind, error=error
    )


def _answered(hook: RuntimeHook, document: InputDocument, value: object) -> HookExecutionResult:
    if value is None:
        return HookExecutionResult(hook=hook, event_name=document.event, success=True)
    if isinstance(value, dict):
        given = value
    elif isinstance(value, DefaultHookOutput):
        given = value.to_wire()
    elif isinstance(value, Mapping):
        given = dict(value)
    else:
        error = f"returned {type(value).__name__}; a hook returns a mapping or None"
        return _failed(hook, document, "error", error)
    text = codec.encode(given)
    strict = hook.on_failure == "block"
    answer = None
    if len(text) <= _SHORT:
        answer = _short_answer(hook.dialect, document.event, text, strict)
    if answer is None:
        copy = codec.decode(text)
        answer = dialect_of(hook.dialect).read_value(document.event, copy, strict=strict)
        output = answer.output
    else:
        output = answer.output and dict(answer.output)
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=answer.success,
        output=output,
        output_format=answer.output_format,
        failed=answer.failed,
        error=answer.error,
        warnings=answer.warnings,
    )


# Bytes: what a hook says that has no objection is short, and it says it again and again.
_SHORT = 512


@lru_cache(maxsize=256)
def _short_answer(
    dialect: str, event: HookEventName, text: bytes, strict: bool
) -> HookAnswer | None:
    """An answer that is read once and handed out often, its output as a copy; None for one with
    objects in its output, which such copies would share."""
    answer = dialect_of(dialect).read_value(event, codec.decode(text), strict=strict)
    values = (answer.output or {}).values()
    return None if any(isinstance(value, dict | list) for value in values) else answer


async def _on_thread(hook: RuntimeHook, argument: dict[str, Any], grace: float) -> Any:
    """A thread for each call, not a pool: none is left when the call is over, and one that never
    returns cannot starve the others."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + hook.timeout / 1000
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
        async with asyncio.timeout_at(deadline):
            outcome = await finished
    except TimeoutError:
        raise TimedOut(
            "; a plain function cannot be stopped, its thread ends when it returns"
        ) from None
    thread.join()
    value = outcome()
    if not isawaitable(value):
        return value
    waiting, value = first_step(value)
    if waiting is None:
        return value
    return await go_on(waiting, value, max(deadline - loop.time(), 0), grace)


def _outcome_of(function: Callable[..., Any], argument: dict[str, Any]) -> Callable[[], Any]:
    try:
        value = function(argument)
    except Exception as error:
        return _raising(error)
    except BaseException as error:
        # On a thread of its own nothing but the function itself can have raised this.
        return _raising(RuntimeError(describe(error)))
    return lambda: value


def _raising(error: Exception) -> Callable[[], Any]:
    def outcome() -> Any:
        raise error

    return outcome
