"""The way of an event over a bus: exactly one response for every request, whatever happens."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBus,
    correlation_of,
    failure_response,
    read_request,
    success_response,
)
from hookline.errors import HooklineError, message_of
from hookline.inputs import FiredEvent, read_fired_event
from hookline.wire.events import HookEventName, narrow_event
from hookline.wire.results import FailureMeta, HookError, ProcessedHookResult


class Executor(Protocol):
    """What carries out the event of a request; neither method raises but for cancellation."""

    async def execute_fired(
        self, fired: FiredEvent, correlation_id: str | None = None
    ) -> ProcessedHookResult: ...

    def failure(
        self, error: Exception, stage: str, meta: FailureMeta | None = None
    ) -> ProcessedHookResult: ...


class Mediator:
    """Answers requests on the bus they came from; ``ready`` is awaited before each is planned."""

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

    async def handle(self, message: object) -> None:
        """Carry out one request and publish its one response."""
        correlation_id = correlation_of(message)
        try:
            response = await self._respond(message, correlation_id)
        except asyncio.CancelledError:
            cancelled = HooklineError("the request was cancelled before its hooks had answered")
            await self._publish(self._failed_response(cancelled, "execution", correlation_id))
            raise
        except Exception as error:
            response = self._internal_failure(error, correlation_id)
        await self._publish(response)

    async def _respond(self, message: object, correlation_id: str) -> HookExecutionResponse:
        stage, event = "envelope", None
        try:
            request = read_request(message)
            event = narrow_event(request.event_name)
            stage = "validation"
            fired = read_fired_event(event, request.input)
            stage = "planning"
            if self._ready is not None:
                await self._ready()
        except Exception as error:
            return self._failed_response(error, stage, correlation_id, event)
        processed = await self._executor.execute_fired(fired, correlation_id)
        if processed.plan is None and not processed.success:
            return failure_response(correlation_id, processed.errors[0])
        try:
            return success_response(correlation_id, processed.aggregated)
        except Exception as error:
            return self._failed_response(error, "response", correlation_id, event)

    def _failed_response(
        self,
        error: Exception,
        stage: str,
        correlation_id: str,
        event: HookEventName | None = None,
    ) -> HookExecutionResponse:
        meta = FailureMeta(event_name=event, correlation_id=correlation_id)
        return failure_response(
            correlation_id, self._executor.failure(error, stage, meta).errors[0]
        )

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
