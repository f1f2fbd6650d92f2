"""Fires events over a bus instead of here: the answer, and its views, are those of firing directly.

What no hook would be shown does not leave the machine: of a model's request and response only that
part is sent which hooks read. When the bus does not answer, ``on_unavailable`` says what that
means, and the result and the log say that it happened.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from hookline.bus.client import DEFAULT_REQUEST_TIMEOUT, request_hook_execution
from hookline.bus.messages import HookExecutionResponse, MessageBus
from hookline.errors import HooklineError, message_of
from hookline.handler import HookEventHandler
from hookline.inputs import FiredEvent
from hookline.pipeline.aggregator import merge_outputs
from hookline.pipeline.processing import process_common_hook_output_fields
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.outputs import ModelCall, create_hook_output
from hookline.wire.results import (
    AggregatedHookResult,
    FailureMeta,
    HookError,
    ProcessedHookResult,
)
from hookline.wire.validators import ALIASES

if TYPE_CHECKING:
    from hookline.translate import HookTranslator

Execution: TypeAlias = Literal["local", "remote", "local+remote"]
OnUnavailable: TypeAlias = Literal["allow", "block", "local"]

# With these codes a worker says what went wrong in a request that it took, as it would here.
# Every other failure leaves open what its hooks say: so does ``execution_failed``, which is what
# becomes of a request whose worker is ended.
_ENGINE_CODES = frozenset(
    {
        *("unsupported_event", "invalid_payload", "planning_failed", "translation_failed"),
        "aggregation_failed",
    }
)
# What becomes of an event that nobody answered.
_MEANINGS: dict[str, str] = {
    "allow": "it goes on without them",
    "block": "it is blocked",
    "local": "those here run instead",
}


class RemoteFiring(msgspec.Struct, frozen=True, kw_only=True):
    """Where events are fired instead of here or, with ``besides_local``, as well; ``timeout`` is
    in seconds."""

    bus: MessageBus
    besides_local: bool = False
    on_unavailable: OnUnavailable = "allow"
    timeout: float = DEFAULT_REQUEST_TIMEOUT


class RemoteFiringError(HooklineError):
    """A configuration of remote firing that contradicts itself."""


def remote_firing(
    bus: MessageBus | None,
    *,
    execution: str | None,
    on_unavailable: str,
    timeout: float,
) -> RemoteFiring | None:
    """How events are fired remotely, None for not at all; raises RemoteFiringError."""
    execution = execution or ("local" if bus is None else "remote")
    if execution not in ("local", "remote", "local+remote"):
        raise RemoteFiringError(
            f'execution must be "local", "remote" or "local+remote", not {execution!r}'
        )
    if on_unavailable not in _MEANINGS:
        raise RemoteFiringError(
            f'on_unavailable must be "allow", "block" or "local", not {on_unavailable!r}'
        )
    if execution == "local":
        return None
    if bus is None:
        raise RemoteFiringError(f'execution="{execution}" needs a remote_bus')
    if not isinstance(timeout, int | float) or not timeout > 0:
        raise RemoteFiringError(f"remote_timeout must be seconds, more than 0, not {timeout!r}")
    return RemoteFiring(
        bus=bus,
        besides_local=execution == "local+remote",
        on_unavailable=on_unavailable,  # type: ignore[arg-type]
        timeout=timeout,
    )


class RemoteEventHandler(HookEventHandler):
    """Has events carried out by who serves a bus; requests of the bus that is served here are
    carried out here."""

    needs_asyncio = True

    def __init__(self, *parts: Any, remote: RemoteFiring, **options: Any) -> None:
        super().__init__(*parts, **options)
        self._remote = remote

    async def _execute(
        self,
        event: HookEventName,
        target: str,
        values: tuple[Any, ...],
        fired: FiredEvent | None = None,
        correlation_id: str | None = None,
    ) -> ProcessedHookResult:
        # Nothing but a request that came over a bus has an id.
        if correlation_id is not None:
            return await super()._execute(event, target, values, fired, correlation_id)
        fired = fired or FiredEvent(event, target, values)
        if self._remote.besides_local:
            return await self._execute_both(fired)
        answer = await self._ask(fired)
        if isinstance(answer, HookError):
            return await self._without_worker(fired, answer)
        return self._logged(fired, answer)

    async def _execute_here(self, fired: FiredEvent) -> ProcessedHookResult:
        return await super()._execute(fired.event, fired.target, fired.values, fired)

    async def _execute_both(self, fired: FiredEvent) -> ProcessedHookResult:
        async with asyncio.TaskGroup() as group:
            working = group.create_task(self._execute_here(fired))
            asking = group.create_task(self._ask(fired))
        here, answer = working.result(), asking.result()
        if not isinstance(answer, HookError):
            return self._merged(fired, here.aggregated, answer)
        if self._remote.on_unavailable == "block":
            error = self._told(fired, answer, "block")
            return self._merged(fired, here.aggregated, self._unanswered(fired, error))
        return self._besides_outage(fired, here, answer)

    async def _ask(self, fired: FiredEvent) -> AggregatedHookResult | HookError:
        """What the hooks of a worker answer, or why it is not known."""
        try:
            input = self._input_of(fired)
        except Exception as error:
            meta = FailureMeta(event_name=fired.event)
            return self.failure(error, "translation", meta).aggregated
        try:
            response = await request_hook_execution(
                self._remote.bus, fired.event.value, input, timeout=self._remote.timeout
            )
            return self._read(fired, response)
        except Exception as error:
            return _outage(fired, "internal_error", message_of(error))

    def _input_of(self, fired: FiredEvent) -> dict[str, Any]:
        spec, session = fired.spec, self._session
        values = iter(self._shown(fired) if spec.model else fired.values)
        own = {ALIASES.get(name, name): next(values) for name in (*spec.required, *spec.optional)}
        given = {"session_id": fired.session_id, "transcript_path": fired.transcript_path}
        if fired.session_id is None:
            given["session_id"] = session.get_session_id()
        if fired.transcript_path is None:
            given["transcript_path"] = session.get_transcript_path()
        left_out = {name for name in spec.optional if own[name] is None}
        return {
            **given,
            **{name: value for name, value in own.items() if name not in left_out},
            **fired.extra,
        }

    def _shown(self, fired: FiredEvent) -> tuple[Any, ...]:
        """A request and a response that show hooks what those at hand would, and have no more."""
        translator = self._get_translator()
        request, *rest = fired.values
        sent = sent_request(translator, request)
        if fired.event is HookEventName.AFTER_MODEL:
            return (sent, sent_response(translator, rest[0]))
        if fired.event is HookEventName.BEFORE_TOOL_SELECTION:
            given = rest[0]
            return (sent, translator.tool_names(request) if given is None else given)
        return (sent,)

    def _read(
        self, fired: FiredEvent, response: HookExecutionResponse
    ) -> AggregatedHookResult | HookError:
        try:
            read = msgspec.convert(response, _Response)
        except msgspec.ValidationError as error:
            return _outage(fired, "invalid_response", f"the response is none: {error}")
        if read.success and read.output is not None:
            return read.output.aggregated(fired.event, self._call_of(fired))
        failure = read.error
        if failure.code not in _ENGINE_CODES:
            return _outage(fired, failure.code, failure.message)
        failed = failure.as_error(fired.event)
        self._log.warning(
            f"{fired.event} failed at {failed.stage}, remotely: {failed.message}",
            kind="event-failed",
            code=failed.code,
        )
        return AggregatedHookResult(False, None, [], [failed])

    async def _without_worker(self, fired: FiredEvent, outage: HookError) -> ProcessedHookResult:
        meaning = self._remote.on_unavailable
        if meaning == "local":
            return self._besides_outage(fired, await self._execute_here(fired), outage)
        error = self._told(fired, outage, meaning)
        return self._logged(fired, self._unanswered(fired, error))

    def _told(self, fired: FiredEvent, outage: HookError, meant: OnUnavailable) -> HookError:
        """An outage with what it is taken to mean, once people have been told."""
        meaning = self._remote.on_unavailable
        self._log.warning(
            f"no hooks of a worker answered to {fired.event}: {outage.message}; {_MEANINGS[meant]}",
            code=outage.code,
            on_unavailable=meaning,
        )
        return msgspec.structs.replace(outage, details={"onUnavailable": meaning})

    def _besides_outage(
        self, fired: FiredEvent, here: ProcessedHookResult, outage: HookError
    ) -> ProcessedHookResult:
        """What the hooks of this machine answered, and that there was an outage."""
        errors = [*here.errors, self._told(fired, outage, "local")]
        partial = msgspec.structs.replace(here.aggregated, success=False, errors=errors)
        return msgspec.structs.replace(here, aggregated=partial)

    def _unanswered(self, fired: FiredEvent, error: HookError) -> AggregatedHookResult:
        denial = {"decision": "deny", "reason": f"hooks could not be asked: {error.message}"}
        is_denied = self._remote.on_unavailable == "block"
        answers: list[dict[str, Any]] = [denial] if is_denied else []
        final = merge_outputs(fired.event, answers, call=self._call_of(fired))
        return AggregatedHookResult(False, final, answers, [error])

    def _merged(
        self, fired: FiredEvent, here: AggregatedHookResult, there: AggregatedHookResult
    ) -> ProcessedHookResult:
        answers = [*here.all_outputs, *there.all_outputs]
        merged = AggregatedHookResult(
            here.success and there.success,
            merge_outputs(fired.event, answers, call=self._call_of(fired)),
            answers,
            [*here.errors, *there.errors],
            here.total_duration + there.total_duration,
            here.plan,
            here.results,
        )
        if not EVENTS[fired.event].blockable:
            self._warn_of_no_effect(process_common_hook_output_fields(there), fired.event)
        # What ran here is in the log already.
        return process_common_hook_output_fields(merged)

    def _logged(self, fired: FiredEvent, aggregated: AggregatedHookResult) -> ProcessedHookResult:
        processed = process_common_hook_output_fields(aggregated)
        if self._log.enabled or not EVENTS[fired.event].blockable:
            self._log_event(processed, None, fired.event, fired.target)
        return processed

    def _call_of(self, fired: FiredEvent) -> ModelCall | None:
        return ModelCall(self._get_translator(), fired.values[0]) if fired.spec.model else None


def sent_request(translator: "HookTranslator", request: Any) -> Any:
    """A request as JSON that shows hooks what this one does, and as a rule has nothing else."""
    return _reduced(request, translator.to_hook_llm_request, translator.from_hook_llm_request)


def sent_response(translator: "HookTranslator", response: Any) -> Any:
    """The same of a response."""
    return _reduced(response, translator.to_hook_llm_response, translator.from_hook_llm_response)


def _reduced(value: Any, show: Callable[[Any], Any], rebuild: Callable[[Any], Any]) -> Any:
    shown = show(value)
    reduced = rebuild(shown)
    # What is empty may get lost on the way; hooks must not be able to tell.
    return value if isinstance(value, Mapping) and show(reduced) != shown else reduced


class _Failure(msgspec.Struct, frozen=True):
    message: str = "the worker gave no reason"
    code: str = "internal_error"
    details: Any = None

    def as_error(self, event: HookEventName) -> HookError:
        details = self.details if isinstance(self.details, dict) else {}
        return HookError(
            code=self.code,
            message=self.message,
            stage=str(details.get("stage", "response")),
            event_name=event,
            details=details.get("details"),
        )


class _Output(msgspec.Struct, frozen=True, rename="camel"):
    success: bool
    final_output: dict[str, Any] | None
    all_outputs: list[dict[str, Any]]
    errors: list[HookError]
    total_duration: float

    def aggregated(self, event: HookEventName, call: ModelCall | None) -> AggregatedHookResult:
        final = self.final_output
        return AggregatedHookResult(
            self.success,
            None if final is None else create_hook_output(event, final, call),
            self.all_outputs,
            self.errors,
            self.total_duration,
        )


class _Response(msgspec.Struct, frozen=True):
    success: bool
    output: _Output | None = None
    error: _Failure = _Failure()


def _outage(fired: FiredEvent, code: str, message: str) -> HookError:
    return HookError(code=code, message=message, stage="response", event_name=fired.event)
