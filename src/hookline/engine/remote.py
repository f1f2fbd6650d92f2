"""Fires events over a bus: workers run the hooks, and the answer is the same as from hooks here.

Of a model's request and response only the part that hooks read leaves the machine. Anything but a
completed execution is an outage: ``on_unavailable`` says what to do then, and the result and the
log report it. In strict mode, or if hooks or a policy are required, an outage blocks every event
that can be blocked.
"""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from hookline.bus.client import DEFAULT_REQUEST_TIMEOUT, request_hook_execution
from hookline.bus.messages import MessageBus
from hookline.bus.responses import Completed, IncompleteExecution, read_completed
from hookline.engine.event import translate_values
from hookline.engine.executor import LocalExecutor
from hookline.errors import HooklineError, message_of
from hookline.pipeline.aggregator import merge_outputs
from hookline.pipeline.answer import Answer, process_common_hook_output_fields
from hookline.pipeline.modelcall import ModelCall
from hookline.settings.reader import Required
from hookline.wire.codec import show
from hookline.wire.events import EventName
from hookline.wire.fired import FiredEvent
from hookline.wire.outputs import DefaultHookOutput, create_hook_output
from hookline.wire.results import (
    AggregatedHookResult,
    FailureMeta,
    HookError,
    build_failure_envelope,
)
from hookline.wire.validators import ALIASES

if TYPE_CHECKING:
    from hookline.translate import HookTranslator

Execution: TypeAlias = Literal["local", "remote", "local+remote"]
OnUnavailable: TypeAlias = Literal["allow", "block", "local"]

# A worker's codes for a request that it took and could not run. If an outage means "allow", these
# stay errors, as they are here: a caller that gates by an exit status must not go on just because
# it asked a worker.
_ENGINE_CODES = frozenset(
    {
        *("unsupported_event", "invalid_payload", "planning_failed", "translation_failed"),
        "aggregation_failed",
    }
)
# What happens to an event without an answer.
_MEANINGS: dict[str, str] = {
    "allow": "it goes on without hooks",
    "block": "it is blocked",
    "local": "the hooks here run instead",
}
# A worker answered that may not decide.
_NOT_IN_FORCE = frozenset({"required_hook_missing", "policy_mismatch"})
# A worker answered, but its hooks did not.
_UNDECIDED = _NOT_IN_FORCE | {"policy_changed", "execution_failed", "response_failed"}


class RemoteFiring(msgspec.Struct, frozen=True, kw_only=True):
    """The bus that runs events instead of the hooks here or, with ``besides_local``, beside them;
    ``timeout`` is in seconds."""

    bus: MessageBus
    besides_local: bool = False
    on_unavailable: OnUnavailable = "allow"
    timeout: float = DEFAULT_REQUEST_TIMEOUT


class RemoteFiringError(HooklineError):
    """The configuration of remote firing contradicts itself."""


def remote_firing(
    bus: MessageBus | None,
    *,
    execution: str | None,
    on_unavailable: str,
    timeout: float,
) -> RemoteFiring | None:
    """Make the configuration of remote firing, None for local; raises RemoteFiringError."""
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
        raise RemoteFiringError(f"remote_timeout must be more than 0 seconds, not {timeout!r}")
    return RemoteFiring(
        bus=bus,
        besides_local=execution == "local+remote",
        on_unavailable=on_unavailable,  # type: ignore[arg-type]
        timeout=timeout,
    )


class _Demand(msgspec.Struct, frozen=True):
    """The hooks and the policy that a worker must have in force to decide about an event, and what
    to do in an outage."""

    required: tuple[str, ...]
    policy: str | None
    meaning: OnUnavailable


class RemoteExecutor:
    """Lets the workers of a bus run events, instead of ``local`` or beside it.

    ``find_missing`` says which of the required hooks are not in force here, and why.
    """

    def __init__(
        self,
        local: LocalExecutor,
        remote: RemoteFiring,
        *,
        find_missing: Callable[[Iterable[Required]], Mapping[Required, str]],
    ) -> None:
        self._local = local
        self._remote = remote
        self._find_missing = find_missing
        self._lock = threading.Lock()
        self._unchecked: Counter[str] = Counter()

    def count_unchecked(self) -> dict[str, int]:
        """Return how many events went on without the hooks of a worker, by the code of the
        outage."""
        with self._lock:
            return dict(self._unchecked)

    def answer_at_once(self, fired: FiredEvent) -> Answer | None:  # noqa: ARG002
        """Return None: only a worker knows whether one of its hooks matches."""
        return None

    def needs_asyncio(self, fired: FiredEvent) -> bool:  # noqa: ARG002
        """Return True: a bus needs asyncio."""
        return True

    def needs_no_loop(self, fired: FiredEvent) -> bool:  # noqa: ARG002
        """Return False: a worker is waited for."""
        return False

    def may_answer(self, event: EventName | str, target: str = "") -> bool:  # noqa: ARG002
        """Return True: only a worker knows its hooks."""
        return True

    def may_decide(self, event: EventName | str, target: str = "") -> bool:  # noqa: ARG002
        """Return True: only a worker knows its hooks."""
        return True

    async def execute(self, fired: FiredEvent) -> Answer:
        """Ask a worker; if it does not answer, do what an outage means."""
        demand = self._find_demand(fired)
        if not self._remote.besides_local:
            answer = await self._ask_worker(fired, demand)
            if isinstance(answer, HookError):
                if demand.meaning == "local":
                    here = await self._local.execute(fired)
                    return self._add_outage(fired, here, answer, demand.meaning)
                answer = self._answer_without_worker(fired, answer, demand.meaning)
            if self._local.debug_log.enabled:
                self._local.log_event(answer, fired, None)
            self._local.warn_of_no_effect(answer, fired.event)
            return answer
        async with asyncio.TaskGroup() as group:
            working = group.create_task(self._local.execute(fired))
            asking = group.create_task(self._ask_worker(fired, demand))
        here, there = working.result(), asking.result()
        if isinstance(there, HookError):
            if demand.meaning != "block":
                return self._add_outage(fired, here, there, demand.meaning)
            there = self._answer_without_worker(fired, there, demand.meaning)
        # The log already has what the hooks here answered.
        answers = [*_collect_outputs(here, fired), *_collect_outputs(there, fired)]
        merged = AggregatedHookResult(
            here.success and there.success,
            merge_outputs(fired.event, answers, call=self._get_model_call(fired)),
            answers,
            [*here.errors, *there.errors],
            here.total_duration + there.total_duration,
            here.plan,
            here.results,
        )
        self._local.warn_of_no_effect(there, fired.event)
        return process_common_hook_output_fields(merged, fired)

    def judge_failure(self, failed: Answer) -> Answer:
        """Turn a failure before any worker was asked into a denial, if an outage means a block."""
        fired = failed.fired
        if fired is None or self._find_demand(fired).meaning != "block":
            return failed
        return self._answer_without_worker(fired, failed.errors[0], "block")

    def _find_demand(self, fired: FiredEvent) -> _Demand:
        project, meaning = self._local.project, self._remote.on_unavailable
        try:
            required, policy = project.get_settings().required, project.options.policy
            missing_here = tuple(each.text for each in self._find_missing(required))
        except Exception:
            # The settings could not be read: any hook may be required.
            return _Demand((), project.options.policy, "block" if fired.spec.blockable else meaning)
        # If hooks here run anyway, a worker need not have the same ones.
        asked = missing_here
        if not self._remote.besides_local:
            asked = tuple(each.text for each in required)
        unguarded = missing_here if meaning == "local" else asked
        if fired.spec.blockable and (project.in_force.strict or policy is not None or unguarded):
            meaning = "block"
        return _Demand(asked, policy, meaning)

    async def _ask_worker(self, fired: FiredEvent, demand: _Demand) -> Answer | HookError:
        """Return the answer of a worker's hooks, or why there is none."""
        try:
            input, cuts = self._build_input(fired)
        except Exception as error:
            meta = FailureMeta(event_name=fired.event)
            return build_failure_envelope(error, "translation", meta).errors[0]
        if cuts:
            why = "; ".join(cuts)
            if demand.meaning == "block":
                # The worker's hooks that fail closed are not known here, and any of them could need
                # what is cut off.
                return _make_outage(
                    fired, "invalid_payload", f"its input cannot be sent whole: {why}"
                )
            message = f"a worker cannot read the whole input of {fired.event}: {why}"
            self._local.debug_log.warning(message)
        named = demand.required if demand.required or demand.policy is not None else None
        try:
            response = await request_hook_execution(
                self._remote.bus,
                fired.event.value,
                input,
                required=named,
                timeout=self._remote.timeout,
            )
            completed = read_completed(response, fired.event)
            answer = self._make_answer(fired, completed)
        except IncompleteExecution as failed:
            outage = _make_outage(fired, failed.code, str(failed), failed.stage)
            if failed.denial is None:
                return outage
            message = f"the response to {fired.event} failed, but its denial counts: {failed}"
            self._local.debug_log.warning(message, code=failed.code)
            return self._make_denial(fired, failed.denial, outage)
        except Exception as error:
            return _make_outage(fired, "internal_error", message_of(error))
        if completed.output.errors or completed.warnings:
            self._warn_of_hooks(fired, completed)
        lack = _find_lack(fired, completed, demand)
        if lack is None or answer.blocked:
            return answer
        if fired.spec.blockable:
            return lack
        self._local.debug_log.warning(f"{lack.message}; {fired.event} cannot be blocked")
        return answer

    def _build_input(self, fired: FiredEvent) -> tuple[dict[str, Any], list[str]]:
        """Build the input of a request, and list what is cut off; of a model's request and response
        it has only what hooks read."""
        spec, values, project = fired.spec, fired.values, self._local.project
        session_id, transcript = fired.session_id, fired.transcript_path
        given: dict[str, Any] = {
            "session_id": project.get_session_id() if session_id is None else session_id,
            "transcript_path": project.options.transcript_path
            if transcript is None
            else transcript,
        }
        if spec.model:
            translator = self._local.get_translator()
            values = translate_values(
                fired,
                translator,
                lambda request: reduce_request(translator, request),
                lambda response: reduce_response(translator, response),
            )
        own = {
            ALIASES.get(name, name): value
            for name, value in zip((*spec.required, *spec.optional), values, strict=False)
            if value is not None or name in spec.required
        }
        if spec.model:
            further, cuts, _ = show(fired.further)
            return {**given, **own, **further}, cuts
        shown, cuts, _ = show({**own, **fired.further})
        return {**given, **shown}, cuts

    def _make_answer(self, fired: FiredEvent, completed: Completed) -> Answer:
        output, final = completed.output, None
        if output.final_output is not None:
            final = create_hook_output(
                fired.event, output.final_output, self._get_model_call(fired)
            )
        aggregated = AggregatedHookResult(
            output.success, final, output.all_outputs, output.errors, output.total_duration
        )
        return process_common_hook_output_fields(aggregated, fired)

    def _make_denial(self, fired: FiredEvent, denial: dict[str, Any], error: HookError) -> Answer:
        final = merge_outputs(fired.event, [denial], call=self._get_model_call(fired))
        return process_common_hook_output_fields(
            AggregatedHookResult(False, final, [denial], [error]), fired
        )

    def _answer_without_worker(
        self, fired: FiredEvent, outage: HookError, meaning: OnUnavailable
    ) -> Answer:
        """Make the answer to an event in an outage: a denial if that means "block", else empty."""
        if meaning == "block":
            error = self._warn_of_outage(fired, outage, meaning, meant=meaning)
            why = error.message
            reason = why if error.code in _NOT_IN_FORCE else f"the hooks did not answer: {why}"
            return self._make_denial(fired, {"decision": "deny", "reason": reason}, error)
        self._count(outage, meaning)
        if outage.code in _ENGINE_CODES:
            error = outage
            self._local.debug_log.warning(
                f"{fired.event} failed at {outage.stage}: {outage.message}",
                kind="event-failed",
                code=outage.code,
            )
        else:
            error = self._warn_of_outage(fired, outage, meaning, meant=meaning)
        return process_common_hook_output_fields(
            AggregatedHookResult(False, None, [], [error]), fired
        )

    def _add_outage(
        self, fired: FiredEvent, here: Answer, outage: HookError, meaning: OnUnavailable
    ) -> Answer:
        """Add an outage to the answer of the hooks here."""
        self._count(outage, meaning)
        errors = [*here.errors, self._warn_of_outage(fired, outage, meaning, meant="local")]
        partial = msgspec.structs.replace(here.aggregated, success=False, errors=errors)
        return process_common_hook_output_fields(partial, fired)

    def _count(self, outage: HookError, meaning: OnUnavailable) -> None:
        if meaning == "allow":
            with self._lock:
                self._unchecked[outage.code] += 1

    def _warn_of_hooks(self, fired: FiredEvent, completed: Completed) -> None:
        """Tell people which of the worker's hooks failed, and its warnings about others."""
        warn = self._local.debug_log.warning
        for error in completed.output.errors:
            if error.hook is None:
                warn(f"a worker answered to {fired.event}: {error.message}", code=error.code)
                continue
            why = error.message.removeprefix(f"{error.hook} failed: ")
            message = f"hook {error.hook!r} of a worker failed on {fired.event}: {why}"
            warn(message, kind="worker-hook-failed", code=error.code, hook=error.hook)
        for warning in completed.warnings:
            message = f"hook {warning.hook!r} of a worker on {fired.event}: {warning.message}"
            warn(message, hook=warning.hook)

    def _warn_of_outage(
        self, fired: FiredEvent, outage: HookError, meaning: OnUnavailable, *, meant: OnUnavailable
    ) -> HookError:
        """Tell people about an outage; return it with what it means."""
        message = outage.message
        if outage.code in _UNDECIDED:
            told = f"the hooks of a worker did not decide on {fired.event}: {message}"
        else:
            told = f"no worker answered {fired.event}: {message}"
        told += f"; {_MEANINGS[meant]}"
        if outage.code == "request_too_large":
            # The guarded agent could have made it so large on purpose.
            asked = "no hook of a worker" if meant == "local" else "no hook"
            then = "it goes on unchecked" if meant == "allow" else _MEANINGS[meant]
            message = f"{asked} was asked: the request is larger than the bus takes ({message})"
            message += f"; {then}"
            told = f"{fired.event}: {message}"
        self._local.debug_log.warning(told, code=outage.code, on_unavailable=meaning)
        return msgspec.structs.replace(outage, message=message, details={"onUnavailable": meaning})

    def _get_model_call(self, fired: FiredEvent) -> ModelCall | None:
        if not fired.spec.model:
            return None
        return ModelCall(self._local.get_translator(), fired.values[0])


def reduce_request(translator: "HookTranslator", request: Any) -> Any:
    """Reduce a model's request to JSON with, as a rule, only what hooks read."""
    return _reduce(request, translator.to_hook_llm_request, translator.from_hook_llm_request)


def reduce_response(translator: "HookTranslator", response: Any) -> Any:
    """Reduce a model's response to JSON with, as a rule, only what hooks read."""
    return _reduce(response, translator.to_hook_llm_response, translator.from_hook_llm_response)


def _reduce(value: Any, show: Callable[[Any], Any], rebuild: Callable[[Any], Any]) -> Any:
    shown = show(value)
    reduced = rebuild(shown)
    # Empty values may get lost on the way; hooks must not see a difference.
    return value if isinstance(value, Mapping) and show(reduced) != shown else reduced


def _collect_outputs(answer: Answer, fired: FiredEvent) -> list[dict[str, Any]]:
    """Return the outputs of hooks, and their merged output if that denies and they do not."""
    outputs, final = answer.all_outputs, answer.final_output
    if final is None or _read_force(final) == _read_force(merge_outputs(fired.event, outputs)):
        return outputs
    return [*outputs, final.to_wire()]


def _read_force(output: DefaultHookOutput | None) -> tuple[bool, bool] | None:
    if output is None:
        return None
    return output.is_blocking_decision(), output.should_stop_execution()


def _find_lack(fired: FiredEvent, completed: Completed, demand: _Demand) -> HookError | None:
    """Say why a worker that answered may not decide; None if it may."""
    if demand.policy is not None and completed.policy != demand.policy:
        has = f"is {completed.policy}" if completed.policy else "is not named in its response"
        said = f"the policy of the worker {has}; only {demand.policy} is accepted"
        return _make_outage(fired, "policy_mismatch", said)
    in_force = completed.required
    for name in demand.required:
        if in_force is None or name not in in_force:
            why = completed.missing.get(name) or "its response does not name it"
            said = f"required hook {name!r} is not in force on the worker: {why}"
            return _make_outage(fired, "required_hook_missing", said)
    return None


def _make_outage(fired: FiredEvent, code: str, message: str, stage: str = "response") -> HookError:
    return HookError(code=code, message=message, stage=stage, event_name=fired.event)
