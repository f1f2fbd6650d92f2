"""One event in, one processed result out, whichever way it came: called directly or over a bus.

Both ways meet in one routine (``_execute``): plan, translate, build the input, run, aggregate,
process, log. When nothing matches, nothing is built, translated or awaited. No method raises but
for cancellation, which kills what is running; whatever else goes wrong is a failure envelope.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from hookline.debuglog import DebugLogger
from hookline.inputs import FiredEvent, build_payload, read_fired_event
from hookline.notices import warn
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.planner import HookPlanner
from hookline.pipeline.processing import process_common_hook_output_fields
from hookline.pipeline.runner.context import InputDocument, RunContext
from hookline.pipeline.runner.runner import HookRunner
from hookline.wire.events import (
    EVENTS,
    HookEventName,
    PreCompressTrigger,
    SessionEndReason,
    SessionStartSource,
    narrow_event,
    narrow_trigger,
)
from hookline.wire.outputs import ModelCall
from hookline.wire.results import (
    FailureMeta,
    HookExecutionResult,
    ProcessedHookResult,
    build_failure_envelope,
    make_empty_success_result,
)

# What it takes to serve a bus, or to show a model's calls, is loaded with the first.
if TYPE_CHECKING:
    from hookline.bus.messages import MessageBus
    from hookline.mediation import Mediator
    from hookline.translate import HookTranslator


class Session(Protocol):
    """What the handler asks about the session each time an event fires."""

    def get_session_id(self) -> str: ...

    def get_working_dir(self) -> str: ...

    def get_transcript_path(self) -> str: ...

    def get_translator(self) -> "HookTranslator": ...

    def run_context(self, session_id: str) -> RunContext: ...


class HookEventHandler:
    """Fires events; ``ready`` is awaited before the first request of a bus is carried out.

    Without a translator the session's own is used, from the first event of a model on.
    """

    # Whether events can be fired in a loop of asyncio's alone.
    needs_asyncio = False

    def __init__(
        self,
        session: Session,
        planner: HookPlanner,
        runner: HookRunner,
        aggregator: HookAggregator,
        *,
        translator: "HookTranslator | None" = None,
        message_bus: "MessageBus | None" = None,
        debug_logger: DebugLogger | None = None,
        ready: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._session = session
        self._planner = planner
        self._runner = runner
        self._aggregator = aggregator
        self._translator = translator
        self._bus = message_bus
        self._log = DebugLogger() if debug_logger is None else debug_logger
        self._ready = ready
        self._disposed = False
        self._mediator: Mediator | None = None
        self._unsubscribe: Callable[[], None] | None = None
        if message_bus is not None:
            from hookline.bus.messages import MessageBusType

            self._unsubscribe = message_bus.subscribe(
                MessageBusType.HOOK_EXECUTION_REQUEST, self._get_mediator()
            )

    async def fire_before_tool_event(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        *,
        mcp_context: dict[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> ProcessedHookResult:
        """Before a tool runs."""
        values = (tool_name, tool_input, mcp_context, original_request_name)
        return await self._execute(HookEventName.BEFORE_TOOL, tool_name, values)

    async def fire_after_tool_event(
        self,
        tool_name: str,
        tool_input: dict[str, Any],
        tool_response: Any,
        *,
        original_tool_input: dict[str, Any] | None = None,
        mcp_context: dict[str, Any] | None = None,
        original_request_name: str | None = None,
    ) -> ProcessedHookResult:
        """After a tool ran; ``original_tool_input`` is what it was before a hook rewrote it."""
        values = (
            tool_name,
            tool_input,
            tool_response,
            original_tool_input,
            mcp_context,
            original_request_name,
        )
        return await self._execute(HookEventName.AFTER_TOOL, tool_name, values)

    async def fire_before_agent_event(self, prompt: str) -> ProcessedHookResult:
        """Before a turn begins."""
        return await self._execute(HookEventName.BEFORE_AGENT, "", (prompt,))

    async def fire_after_agent_event(
        self, prompt: str, prompt_response: str, stop_hook_active: bool = False
    ) -> ProcessedHookResult:
        """After a turn; ``stop_hook_active`` when it was a hook that asked for this one."""
        values = (prompt, prompt_response, stop_hook_active)
        return await self._execute(HookEventName.AFTER_AGENT, "", values)

    async def fire_session_start_event(self, source: SessionStartSource) -> ProcessedHookResult:
        """When a session starts."""
        return await self._fire_trigger(HookEventName.SESSION_START, source)

    async def fire_session_end_event(self, reason: SessionEndReason) -> ProcessedHookResult:
        """When a session ends."""
        return await self._fire_trigger(HookEventName.SESSION_END, reason)

    async def fire_pre_compress_event(self, trigger: PreCompressTrigger) -> ProcessedHookResult:
        """Before the history is compressed."""
        return await self._fire_trigger(HookEventName.PRE_COMPRESS, trigger)

    async def fire_before_model_event(self, llm_request: Any) -> ProcessedHookResult:
        """Before a request goes to the model; the request is the SDK's."""
        return await self._execute(HookEventName.BEFORE_MODEL, "", (llm_request,))

    async def fire_after_model_event(
        self, llm_request: Any, llm_response: Any
    ) -> ProcessedHookResult:
        """After the model answered; request and response are the SDK's."""
        return await self._execute(HookEventName.AFTER_MODEL, "", (llm_request, llm_response))

    async def fire_before_tool_selection_event(
        self, llm_request: Any, available_tools: list[str] | None = None
    ) -> ProcessedHookResult:
        """Before the model is offered its tools; the names default to the request's own."""
        values = (llm_request, available_tools)
        return await self._execute(HookEventName.BEFORE_TOOL_SELECTION, "", values)

    async def fire_notification_event(
        self,
        message: str,
        *,
        notification_type: str | None = None,
        level: str | None = None,
        details: dict[str, Any] | None = None,
    ) -> ProcessedHookResult:
        """When the user should be told something."""
        values = (message, notification_type, level, details)
        return await self._execute(HookEventName.NOTIFICATION, notification_type or "", values)

    async def fire(
        self, event_name: str | HookEventName, input: Mapping[str, Any]
    ) -> ProcessedHookResult:
        """Fire an event whose name and fields are at hand as data."""
        event = None
        try:
            event = narrow_event(event_name)
            fired = read_fired_event(event, input, sdk_objects=True)
        except Exception as error:
            return self.failure(error, "validation", FailureMeta(event_name=event))
        return await self.execute_fired(fired)

    def handle_hook_execution_request(self, message: object) -> Awaitable[None]:
        """Carry out one request of a bus and publish its one response, whatever happens; after
        ``dispose()`` do nothing."""
        return _nothing() if self._disposed else self._get_mediator()(message)

    def dispose(self) -> None:
        """Serve the bus no longer; calls under way finish."""
        self._disposed = True
        unsubscribe, self._unsubscribe = self._unsubscribe, None
        if unsubscribe is not None:
            unsubscribe()

    async def _fire_trigger(self, event: HookEventName, value: object) -> ProcessedHookResult:
        try:
            trigger = narrow_trigger(EVENTS[event], value)
        except Exception as error:
            return self.failure(error, "validation", FailureMeta(event_name=event))
        return await self._execute(event, trigger, (trigger,))

    def execute_fired(
        self, fired: FiredEvent, correlation_id: str | None = None
    ) -> Awaitable[ProcessedHookResult]:
        """Fire an event whose fields were read and checked."""
        return self._execute(fired.event, fired.target, fired.values, fired, correlation_id)

    async def _execute(
        self,
        event: HookEventName,
        target: str,
        values: tuple[Any, ...],
        fired: FiredEvent | None = None,
        correlation_id: str | None = None,
    ) -> ProcessedHookResult:
        stage, started = "planning", 0.0
        try:
            plan = self._planner.create_execution_plan(event, target)
            if plan is None:
                return self._unmatched(event, target)
            stage, started = "translation", time.perf_counter()
            fired = fired or FiredEvent(event, target, values)
            spec = EVENTS[event]
            translator = self._get_translator() if spec.model else None
            payload = build_payload(fired, self._session, translator)
            stage = "validation"
            document = InputDocument.checked(event, payload)
            stage = "execution"
            context = self._session.run_context(payload["session_id"])
            results = await self._runner.execute_plan(plan, document, context)
            stage = "aggregation"
            call = ModelCall(translator, fired.values[0]) if translator else None
            aggregated = self._aggregator.aggregate_results(plan, results, call=call)
            processed = process_common_hook_output_fields(aggregated)
        except Exception as error:
            meta = FailureMeta(
                event_name=event,
                correlation_id=correlation_id,
                duration=(time.perf_counter() - started) * 1000 if started else 0.0,
            )
            return self.failure(error, stage, meta)
        if self._log.enabled or not spec.blockable or any(map(_is_news, results)):
            self._log_event(processed, payload, event, target)
        return processed

    def _get_mediator(self) -> "Mediator":
        if self._mediator is None:
            from hookline.mediation import Mediator

            warn = self._log.warning
            self._mediator = Mediator(self, self._bus, ready=self._ready, warn=warn)
        return self._mediator

    def _get_translator(self) -> "HookTranslator":
        if self._translator is None:
            self._translator = self._session.get_translator()
        return self._translator

    def _unmatched(self, event: HookEventName, target: str) -> ProcessedHookResult:
        processed = ProcessedHookResult(make_empty_success_result())
        if self._log.enabled:
            self._log_event(processed, None, event, target)
        return processed

    def _log_event(
        self,
        processed: ProcessedHookResult,
        payload: Mapping[str, Any] | None,
        event: HookEventName,
        target: str,
    ) -> None:
        try:
            session_id = payload["session_id"] if payload else self._session.get_session_id()
            self._log.event(
                processed, payload, session_id=session_id, event=event.value, target=target
            )
            self._warn_of_no_effect(processed, event)
        except Exception as error:
            warn(f"what hooks did on {event.value} could not be logged", error=error)

    def _warn_of_no_effect(self, processed: ProcessedHookResult, event: HookEventName) -> None:
        output = processed.final_output
        if output is None or EVENTS[event].blockable:
            return
        if output.is_blocking_decision() or output.should_stop_execution():
            self._log.warning(
                f"a hook tried to block or stop {event.value}, which has no effect: "
                f"{output.get_effective_reason()}"
            )

    def failure(
        self, error: Exception, stage: str, meta: FailureMeta | None = None
    ) -> ProcessedHookResult:
        """The result of an event that failed at a stage, which people are told of."""
        envelope = build_failure_envelope(error, stage, meta)
        failure = envelope.errors[0]
        what = failure.event_name or "an event"
        self._log.warning(
            f"{what} failed at {stage}: {failure.message}", code=failure.code, stage=stage
        )
        return process_common_hook_output_fields(envelope)


async def _nothing() -> None:
    """What is left to do after ``dispose()``."""


def _is_news(result: HookExecutionResult) -> bool:
    """Whether people must hear of a result even when no records are kept."""
    return bool(result.failed or result.warnings)
