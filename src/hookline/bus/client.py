"""The caller's side of mediated execution: publish a request, wait for its one response."""

import asyncio
import contextlib
import uuid
from collections.abc import Mapping
from typing import Any

from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBus,
    MessageBusType,
    failure_response,
    make_request,
)
from hookline.wire.results import HookError

DEFAULT_REQUEST_TIMEOUT = 70.0


async def request_hook_execution(
    bus: MessageBus,
    event_name: str,
    input: Mapping[str, Any],
    *,
    correlation_id: str | None = None,
    timeout: float = DEFAULT_REQUEST_TIMEOUT,
) -> HookExecutionResponse:
    """Have the hooks of an event executed over a bus; ``timeout`` is in seconds.

    Running out of time is a failed response with code ``timeout``, not an exception; what was
    executing on behalf of the request in this process is stopped then.
    """
    correlation_id = correlation_id or str(uuid.uuid4())
    event_name = str(event_name)
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[HookExecutionResponse] = loop.create_future()

    def settle(response: HookExecutionResponse) -> None:
        if not answered.done():
            answered.set_result(response)

    def receive(response: HookExecutionResponse) -> None:
        if response.get("correlationId") == correlation_id:
            # The bus may deliver from another thread's loop.
            loop.call_soon_threadsafe(settle, response)

    unsubscribe = bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, receive)
    publishing = asyncio.ensure_future(bus.publish(make_request(event_name, input, correlation_id)))
    try:
        return await _first_answer(answered, publishing, correlation_id, timeout)
    finally:
        unsubscribe()
        publishing.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await publishing


async def _first_answer(
    answered: "asyncio.Future[HookExecutionResponse]",
    publishing: "asyncio.Future[None]",
    correlation_id: str,
    timeout: float,
) -> HookExecutionResponse:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout
    waiting: set[asyncio.Future[Any]] = {answered, publishing}
    while not answered.done() and (left := deadline - loop.time()) > 0:
        done, _ = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if publishing in done:
            waiting.discard(publishing)
            if (error := publishing.exception()) is not None:
                return _failed(correlation_id, "internal_error", f"publishing failed: {error}")
    if answered.done():
        return answered.result()
    return _failed(correlation_id, "timeout", f"no response within {timeout:g} s")


def _failed(correlation_id: str, code: str, message: str) -> HookExecutionResponse:
    return failure_response(correlation_id, HookError(code=code, message=message, stage="response"))
