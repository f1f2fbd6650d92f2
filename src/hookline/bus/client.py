"""The caller's side of mediated execution: send a request, wait for its one response."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from hookline._support.waits import TimedOut, first_step, go_on
from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBus,
    MessageBusType,
    make_request,
    new_correlation_id,
    unanswered_response,
)
from hookline.errors import message_of

DEFAULT_REQUEST_TIMEOUT = 70.0
# Longer than a cancelled hook takes to end; a handler of another kind may never end.
_END_SECONDS = 10.0


async def request_hook_execution(
    bus: MessageBus,
    event_name: str,
    input: Mapping[str, Any],
    *,
    correlation_id: str | None = None,
    required: Iterable[str] | None = None,
    timeout: float = DEFAULT_REQUEST_TIMEOUT,
) -> HookExecutionResponse:
    """Ask a worker on the bus to run the hooks of an event; ``timeout`` is in seconds. With
    ``required`` the response says which of these hooks the worker has in force, and its policy.

    Running out of time is a failed response with code ``timeout``, not an exception; handlers that
    still run the request in this process are cancelled then.
    """
    request = make_request(event_name, input, correlation_id or new_correlation_id(), required)
    ask: Callable[..., Awaitable[HookExecutionResponse]] | None = getattr(bus, "request", None)
    if ask is not None:
        return await ask(request, timeout=timeout)
    # This bus has no request(): publish, and wait for the response. publish() may return only when
    # all handlers are done. A response does not cut the others short; the deadline does.
    correlation_id, deadline = request["correlationId"], time.monotonic() + timeout
    loop, thread = asyncio.get_running_loop(), threading.get_ident()
    arrived = asyncio.Event()
    responses: list[HookExecutionResponse] = []

    def hear(response: HookExecutionResponse) -> None:
        # A handler that is cancelled at the deadline answers too, but too late.
        is_ours = response.get("correlationId") == correlation_id
        if is_ours and not responses and time.monotonic() < deadline:
            responses.append(response)
            if threading.get_ident() == thread:
                arrived.set()
            else:
                loop.call_soon_threadsafe(arrived.set)

    unsubscribe = bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, hear)
    try:
        # Run in this task, and set no timer until something waits: most requests never wait.
        waiting, first = first_step(bus.publish(request))
        if waiting is not None:
            await go_on(waiting, first, timeout, _END_SECONDS)
        if not responses:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(deadline - time.monotonic()):
                    await arrived.wait()
    except TimedOut:
        pass
    except Exception as error:
        if not responses:
            reason = f"publishing failed: {message_of(error)}"
            return unanswered_response(request, "internal_error", reason)
    finally:
        unsubscribe()
    if responses:
        return responses[0]
    return unanswered_response(request, "timeout", f"no response within {timeout:g} s")
