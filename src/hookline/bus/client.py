"""The caller's side of mediated execution: publish a request, wait for its one response."""

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any, cast

from hookline.bus.messages import (
    HookExecutionRequest,
    HookExecutionResponse,
    MessageBus,
    MessageBusType,
    failure_response,
    make_request,
)
from hookline.errors import message_of
from hookline.wire.results import HookError

DEFAULT_REQUEST_TIMEOUT = 70.0
# Longer than a hook that is told to end may take; somebody else's handler may not end at all.
_END_SECONDS = 10.0


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
    request = make_request(event_name, input, correlation_id)
    ask = getattr(bus, "request", None)
    if ask is not None:
        return cast(HookExecutionResponse, await ask(request, timeout=timeout))
    return await _ask_by_publishing(bus, request, timeout)


async def _ask_by_publishing(
    bus: MessageBus, request: HookExecutionRequest, timeout: float
) -> HookExecutionResponse:
    correlation_id = request["correlationId"]
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
    publishing = asyncio.ensure_future(bus.publish(request))
    try:
        return await _first_answer(answered, publishing, correlation_id, timeout)
    finally:
        unsubscribe()
        await _end(publishing)


async def _first_answer(
    answered: "asyncio.Future[HookExecutionResponse]",
    publishing: "asyncio.Future[None]",
    correlation_id: str,
    timeout: float,
) -> HookExecutionResponse:
    deadline = asyncio.get_running_loop().time() + timeout
    # A bus may return from publish when all who heard the request are done with it. They are not
    # cut short because one of them has answered.
    while not (answered.done() and publishing.done()) and await _wait(
        {answered, publishing}, deadline
    ):
        if publishing.done() and not answered.done() and (problem := _problem_of(publishing)):
            return _failed(correlation_id, "internal_error", f"publishing failed: {problem}")
    if answered.done():
        return answered.result()
    return _failed(correlation_id, "timeout", f"no response within {timeout:g} s")


async def _wait(futures: "set[asyncio.Future[Any]]", deadline: float) -> bool:
    """Wait for one more of them to be done; False when there was no time left."""
    left = deadline - asyncio.get_running_loop().time()
    if left <= 0:
        return False
    waiting = {future for future in futures if not future.done()}
    await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
    return True


def _problem_of(publishing: "asyncio.Future[None]") -> str | None:
    if publishing.cancelled():
        return "the bus gave up"
    error = publishing.exception()
    return None if error is None else message_of(error)


async def _end(publishing: "asyncio.Future[None]") -> None:
    """Cancel what is left of the request and see it end, so that no process outlives it."""
    if not publishing.done():
        publishing.cancel()
        await asyncio.wait({publishing}, timeout=_END_SECONDS)
    if publishing.done() and not publishing.cancelled():
        publishing.exception()


def _failed(correlation_id: str, code: str, message: str) -> HookExecutionResponse:
    return failure_response(correlation_id, HookError(code=code, message=message, stage="response"))
