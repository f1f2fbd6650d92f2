"""A request under way within a process: whatever becomes of it, it has one response in time.

It is carried out in the caller's own task, because most are answered before anything waits.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBus,
    MessageBusType,
    failure_response,
)
from hookline.errors import message_of
from hookline.stepping import TimedOut, first_step, go_on
from hookline.wire.results import HookError

# Longer than a hook that is told to end may take; somebody else's handler may not end at all.
_END_SECONDS = 10.0


async def answer_within(
    timeout: float, responding: Awaitable[HookExecutionResponse], request: Mapping[str, Any]
) -> HookExecutionResponse:
    """The response of who serves the request; a failed one if it is not there in time."""
    try:
        waiting, response = first_step(responding)
        if waiting is not None:
            response = await go_on(waiting, response, timeout, _END_SECONDS)
    except TimedOut:
        return _late(request, timeout)
    except Exception as error:
        return _failed(request, "internal_error", message_of(error))
    return cast(HookExecutionResponse, response)


async def ask_by_publishing(
    bus: MessageBus, request: Mapping[str, Any], timeout: float
) -> HookExecutionResponse:
    """Ask over a bus that can do no more than a bus must; a failed response if none came in time.

    A bus may return from publishing when all who heard the request are done with it. They are not
    cut short because one of them has answered, but they are by the end of the time.
    """
    arriving = _Arriving(request["correlationId"], timeout)
    unsubscribe = bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, arriving.hear)
    try:
        waiting, first = first_step(bus.publish(request))
        if waiting is not None:
            await go_on(waiting, first, timeout, _END_SECONDS)
        await arriving.wait()
    except TimedOut:
        pass
    except Exception as error:
        if arriving.response is None:
            return _failed(request, "internal_error", f"publishing failed: {message_of(error)}")
    finally:
        unsubscribe()
    return arriving.response or _late(request, timeout)


class _Arriving:
    """The first response with an id, in whichever thread it comes.

    One that comes too late is none: whoever is stopped at the deadline answers for that, too.
    """

    def __init__(self, correlation_id: str, timeout: float) -> None:
        self.response: HookExecutionResponse | None = None
        self._correlation_id = correlation_id
        self._deadline = time.monotonic() + timeout
        self._wake: Callable[[], object] | None = None

    def hear(self, response: HookExecutionResponse) -> None:
        is_ours = response.get("correlationId") == self._correlation_id
        if is_ours and self.response is None and time.monotonic() < self._deadline:
            self.response = response
            if self._wake is not None:
                self._wake()

    async def wait(self) -> None:
        """Return when it has come, or it is too late."""
        if self.response is not None:
            return
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        self._wake = lambda: loop.call_soon_threadsafe(arrived.set)
        # It may have come from another thread just before somebody was there to be woken.
        if self.response is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._deadline - time.monotonic()):
                    await arrived.wait()


def _late(request: Mapping[str, Any], timeout: float) -> HookExecutionResponse:
    return _failed(request, "timeout", f"no response within {timeout:g} s")


def _failed(request: Mapping[str, Any], code: str, message: str) -> HookExecutionResponse:
    failure = HookError(code=code, message=message, stage="response")
    return failure_response(request["correlationId"], failure)
