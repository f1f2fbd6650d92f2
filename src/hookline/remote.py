"""Fires events over a bus instead of here: the answer is that of firing directly.

What no hook would be shown does not leave the machine: of a model's request and response only that
part is sent which hooks read. When the bus does not answer, ``on_unavailable`` says what that
means, and the result and the log say that it happened.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from hookline.answer import Answer, process_common_hook_output_fields
from hookline.bus.client import DEFAULT_REQUEST_TIMEOUT, request_hook_execution
from hookline.bus.messages import HookExecutionResponse, MessageBus
from hookline.errors import HooklineError, message_of
from hookline.executor import LocalExecutor
from hookline.fired import FiredEvent, translate_values
from hookline.pipeline.aggregator import merge_outputs
from hookline.wire.codec import show
from hookline.wire.outputs import ModelCall, create_hook_output
from hookline.wire.results import AggregatedHookResult, HookError
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


class RemoteExecutor:
    """Has events carried out by who serves a bus, in place of ``local`` or beside it."""

    def __init__(self, local: LocalExecutor, remote: RemoteFiring) -> None:
        self._local = local
        self._remote = remote

    def answer_at_once(self, fired: FiredEvent) -> Answer | None:  # noqa: ARG002
        """None: only a worker knows whether one of its hooks matches."""
        return None

    def needs_asyncio(self, fired: FiredEvent) -> bool:  # noqa: ARG002
        """True: a bus is asyncio's."""
        return True

    async def execute(self, fired: FiredEvent) -> Answer:
        """Ask a worker, and where it does not answer, do what ``on_unavailable`` says."""
        meaning = self._remote.on_unavailable
        if not self._remote.besides_local:
            answer = await self._ask(fired)
            if isinstance(answer, HookError):
                if meaning == "local":
                    return self._add_outage(fired, await self._local.execute(fired), answer)
                answer = self._answer_without_worker(fired, answer)
            if self._local.debug_log.enabled:
                self._local.log_event(answer, fired, None)
            self._local.warn_of_no_effect(answer, fired.event)
            return answer
        async with asyncio.TaskGroup() as group:
            working = group.create_task(self._local.execute(fired))
            asking = group.create_task(self._ask(fired))
        here, there = working.result(), asking.result()
        if isinstance(there, HookError):
            if meaning != "block":
                return self._add_outage(fired, here, there)
            there = self._answer_without_worker(fired, there)
        # What the hooks here answered is in the log already.
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
        self._local.warn_of_no_effect(there, fired.event)
        return process_common_hook_output_fields(merged, fired)

    async def _ask(self, fired: FiredEvent) -> Answer | HookError:
        """What the hooks of a worker answer, or why it is not known."""
        try:
            input, cuts = self._build_input(fired)
        except Exception as error:
            return self._local.fail(error, "translation", fired)
        if cuts:
            why = "; ".join(cuts)
            if self._remote.on_unavailable == "block":
                # Nobody here knows which of a worker's hooks fail closed: to each of them something
                # could hide below a cut.
                return _outage(fired, "invalid_payload", f"its input cannot be shown whole: {why}")
            told = f"a worker is not shown the whole input of {fired.event}: {why}"
            self._local.debug_log.warning(told)
        try:
            response = await request_hook_execution(
                self._remote.bus, fired.event.value, input, timeout=self._remote.timeout
            )
            return self._read_response(fired, response)
        except Exception as error:
            return _outage(fired, "internal_error", message_of(error))

    def _build_input(self, fired: FiredEvent) -> tuple[dict[str, Any], list[str]]:
        """The input of a request, and what of the event it does not hold: of a model's request and
        response, only what hooks are shown."""
        spec, values, session = fired.spec, fired.values, self._local.session
        session_id, transcript = fired.session_id, fired.transcript_path
        given: dict[str, Any] = {
            "session_id": session.get_session_id() if session_id is None else session_id,
            "transcript_path": session.get_transcript_path() if transcript is None else transcript,
        }
        if spec.model:
            translator = self._local.get_translator()
            values = translate_values(
                fired,
                translator,
                lambda request: sent_request(translator, request),
                lambda response: sent_response(translator, response),
            )
        own = {
            ALIASES.get(name, name): value
            for name, value in zip((*spec.required, *spec.optional), values, strict=False)
            if value is not None or name in spec.required
        }
        if spec.model:
            further, cuts, _ = show(fired.extra)
            return {**given, **own, **further}, cuts
        shown, cuts, _ = show({**own, **fired.extra})
        return {**given, **shown}, cuts

    def _read_response(
        self, fired: FiredEvent, response: HookExecutionResponse
    ) -> Answer | HookError:
        try:
            read = msgspec.convert(response, _Response)
        except msgspec.ValidationError as error:
            return _outage(fired, "invalid_response", f"malformed response: {error}")
        if read.success and read.output is not None:
            output, final = read.output, None
            if output.final_output is not None:
                final = create_hook_output(fired.event, output.final_output, self._call_of(fired))
            aggregated = AggregatedHookResult(
                output.success, final, output.all_outputs, output.errors, output.total_duration
            )
            return process_common_hook_output_fields(aggregated, fired)
        failure = read.error
        if failure.code not in _ENGINE_CODES:
            return _outage(fired, failure.code, failure.message)
        details = failure.details if isinstance(failure.details, dict) else {}
        failed = HookError(
            code=failure.code,
            message=failure.message,
            stage=str(details.get("stage", "response")),
            event_name=fired.event,
            details=details.get("details"),
        )
        self._local.debug_log.warning(
            f"{fired.event} failed at {failed.stage}, remotely: {failed.message}",
            kind="event-failed",
            code=failed.code,
        )
        return process_common_hook_output_fields(
            AggregatedHookResult(False, None, [], [failed]), fired
        )

    def _answer_without_worker(self, fired: FiredEvent, outage: HookError) -> Answer:
        """The answer of nobody: a denial where an outage means "block", else none."""
        meaning = self._remote.on_unavailable
        error = self._warn_of_outage(fired, outage, meaning)
        denial = {"decision": "deny", "reason": f"hooks could not be asked: {error.message}"}
        answers: list[dict[str, Any]] = [denial] if meaning == "block" else []
        final = merge_outputs(fired.event, answers, call=self._call_of(fired))
        return process_common_hook_output_fields(
            AggregatedHookResult(False, final, answers, [error]), fired
        )

    def _add_outage(self, fired: FiredEvent, here: Answer, outage: HookError) -> Answer:
        """What the hooks of this machine answered, and that there was an outage."""
        errors = [*here.errors, self._warn_of_outage(fired, outage, "local")]
        partial = msgspec.structs.replace(here.aggregated, success=False, errors=errors)
        return process_common_hook_output_fields(partial, fired)

    def _warn_of_outage(
        self, fired: FiredEvent, outage: HookError, meant: OnUnavailable
    ) -> HookError:
        """The outage with what it is taken to mean; people are told of it."""
        meaning = self._remote.on_unavailable
        self._local.debug_log.warning(
            f"no worker answered to {fired.event}: {outage.message}; {_MEANINGS[meant]}",
            code=outage.code,
            on_unavailable=meaning,
        )
        return msgspec.structs.replace(outage, details={"onUnavailable": meaning})

    def _call_of(self, fired: FiredEvent) -> ModelCall | None:
        if not fired.spec.model:
            return None
        return ModelCall(self._local.get_translator(), fired.values[0])


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


class _Output(msgspec.Struct, frozen=True, rename="camel"):
    success: bool
    final_output: dict[str, Any] | None
    all_outputs: list[dict[str, Any]]
    errors: list[HookError]
    total_duration: float


class _Response(msgspec.Struct, frozen=True):
    success: bool
    output: _Output | None = None
    error: _Failure = _Failure()


def _outage(fired: FiredEvent, code: str, message: str) -> HookError:
    return HookError(code=code, message=message, stage="response", event_name=fired.event)
