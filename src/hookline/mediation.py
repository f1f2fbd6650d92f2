"""The way of an event over a bus: exactly one response for every request, whatever happens."""

import asyncio
from collections.abc import Awaitable, Callable

from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBus,
    correlation_of,
    failure_response,
    read_request,
    success_response,
)
from hookline.errors import HooklineError, message_of
from hookline.executor import Executor
from hookline.fired import FiredEvent, read_fired_event
from hookline.wire.events import narrow_event
from hookline.wire.results import HookError


class Mediator:
    """Answers requests on the bus they came from.

    ``ready`` is awaited before an event is planned, until it has succeeded once.
    """

    def __init__(
        self,
        executor: Executor,
        bus: MessageBus | None,
        *,
        ready: Callable[[], Awaitable[None]] | None,
        warn: Callable[[str], None],
    ) -> None:
        self._executor = executor
        self._bus = bus
        self._ready = ready
        self._warn = warn

    async def __call__(self, message: object) -> None:
        """Carry out one request and publish its one response."""
        correlation_id = correlation_of(message)
        try:
            response = await self._respond(message, correlation_id)
        except asyncio.CancelledError:
            cancelled = HooklineError("the request was cancelled before its hooks had answered")
            await self._publish(self._failed_response(cancelled, "execution", correlation_id))
            raise
        await self._publish(response)

    def respond(self, message: object) -> Awaitable[HookExecutionResponse]:
        """Carry out one request; only cancellation gets out."""
        return self._respond(message, correlation_of(message))

    async def _respond(self, message: object, correlation_id: str) -> HookExecutionResponse:
        try:
            stage, fired = "envelope", None
            try:
                name, input = read_request(message)
                event = narrow_event(name)
                stage, fired = "validation", FiredEvent(event, correlation_id=correlation_id)
                fired = read_fired_event(event, input, correlation_id=correlation_id)
            except Exception as error:
                return self._failed_response(error, stage, correlation_id, fired)
            if self._ready is not None:
                try:
                    await self._ready()
                except Exception as error:
                    return self._failed_response(error, "planning", correlation_id, fired)
                self._ready = None
            answer = await self._executor.execute(fired)
            if answer.plan is None and not answer.success:
                return failure_response(correlation_id, answer.errors[0])
            try:
                return success_response(correlation_id, answer.aggregated)
            except Exception as error:
                return self._failed_response(error, "response", correlation_id, fired)
        except Exception as error:
            return self._internal_failure(error, correlation_id)

    def _failed_response(
        self, error: Exception, stage: str, correlation_id: str, fired: FiredEvent | None = None
    ) -> HookExecutionResponse:
        failed = self._executor.fail(error, stage, fired)
        return failure_response(correlation_id, failed.errors[0])

    def _internal_failure(self, error: Exception, correlation_id: str) -> HookExecutionResponse:
        said = message_of(error)
        self._warn(f"a hook request failed for a reason nobody foresaw: {said}")
        failure = HookError(code="internal_error", message=said, stage="execution")
        return failure_response(correlation_id, failure)

    async def _publish(self, response: HookExecutionResponse) -> None:
        if self._bus is None:
            self._warn("a hook request was answered, but there is no bus to answer on")
            return
        try:
            await self._bus.publish(response)
        except Exception as error:
            self._warn(f"a hook response could not be published: {message_of(error)}")
