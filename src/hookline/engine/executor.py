"""One event in, one answer out: plan, translate, build the input, run, aggregate, log.

When no hook matches, nothing is built, translated or awaited. Only cancellation is raised, which
kills running hooks; any other error becomes a failure envelope, and a denial if a hook must answer.
"""

import threading
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline._support.notices import warn
from hookline.engine.event import build_payload
from hookline.errors import EXHAUSTED, EventHeldError, message_of
from hookline.pipeline.aggregator import HookAggregator, merge_outputs
from hookline.pipeline.answer import Answer, make_empty_answer, process_common_hook_output_fields
from hookline.pipeline.planner import HookPlanner, narrow_plan
from hookline.runner.context import InputDocument, RunContext
from hookline.runner.runner import HookRunner
from hookline.trace.records import DebugLogger
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.fired import FiredEvent
from hookline.wire.hooks import RuntimeHook
from hookline.wire.results import (
    AggregatedHookResult,
    FailureMeta,
    HookExecutionResult,
    build_failure_envelope,
)

if TYPE_CHECKING:
    from hookline.engine.project import Project
    from hookline.pipeline.modelcall import ModelCall
    from hookline.runner.background import LateTexts
    from hookline.translate import HookTranslator


class Executor(Protocol):
    """Carries out events: on this machine, or over a bus (``hookline.engine.remote``)."""

    def answer_at_once(self, fired: FiredEvent) -> Answer | None:
        """Return the answer if no hook matches; None if one does, and must be waited for."""
        ...

    def needs_asyncio(self, fired: FiredEvent) -> bool:
        """True if carrying out this event requires asyncio."""
        ...

    def needs_no_loop(self, fired: FiredEvent) -> bool:
        """True if carrying out this event never waits, so that no event loop is needed."""
        ...

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook would answer such an event now."""
        ...

    def may_decide(self, event: EventName | str, target: str = "") -> bool:
        """False if it is certain that no hook that is waited for would answer such an event now:
        then hooks may observe it, but neither judge nor change anything."""
        ...

    def execute(self, fired: FiredEvent) -> Coroutine[Any, Any, Answer]:
        """Carry out an event; only cancellation is raised."""
        ...

    def judge_failure(self, failed: Answer) -> Answer:
        """Return the answer to an event that failed before it was carried out."""
        ...


class LocalExecutor:
    """Runs the hooks of an event on this machine."""

    def __init__(
        self,
        project: "Project",
        planner: HookPlanner,
        runner: HookRunner,
        aggregator: HookAggregator,
        *,
        translator: "HookTranslator | None" = None,
        debug_logger: DebugLogger | None = None,
        late_ends: "LateEnds | None" = None,
    ) -> None:
        self.project = project
        self._translator = translator
        self.debug_log: DebugLogger = DebugLogger() if debug_logger is None else debug_logger
        self._ends = LateEnds(self.debug_log) if late_ends is None else late_ends
        self.planner = planner
        self.runner = runner
        self.aggregator = aggregator

    def answer_at_once(self, fired: FiredEvent) -> Answer | None:
        """Return the answer if no hook matches, None if one does."""
        try:
            if self.planner.plan(fired) is not None:
                return None
        except Exception as error:
            return self.fail(error, "planning", fired)
        return self._answer_unmatched(fired)

    def needs_asyncio(self, fired: FiredEvent) -> bool:
        """True if one of the hooks requires asyncio, as functions and HTTP hooks do."""
        try:
            plan = self.planner.plan(fired)
            if plan is None or not any(hook.needs_asyncio for hook in plan.hooks):
                return False
            kinds = {hook.type for hook in plan.hooks if hook.needs_asyncio}
            # Without a judge, prompt hooks do not run.
            return kinds != {"prompt"} or self.project.in_force.context.judge is not None
        except Exception:
            return False

    def needs_no_loop(self, fired: FiredEvent) -> bool:
        """True if all that runs is one inline function, or several in turn."""
        try:
            plan = self.planner.plan(fired)
        except Exception:
            return False
        if plan is None or not (plan.sequential or len(plan.hooks) == 1):
            return False
        return all(isinstance(hook, RuntimeHook) and hook.is_inline for hook in plan.hooks)

    def may_answer(self, event: EventName | str, target: str = "") -> bool:
        """True if a hook matches, if an async hook left a text for this event, or if planning
        fails."""
        if self._ends.texts and event == HookEventName.BEFORE_AGENT:
            return True
        try:
            return self.planner.may_match(event, target)
        except Exception:
            return True

    def may_decide(self, event: EventName | str, target: str = "") -> bool:
        """True if a hook that is waited for matches, or if planning fails."""
        try:
            return self.planner.may_decide(event, target)
        except Exception:
            return True

    async def execute(self, fired: FiredEvent) -> Answer:
        """Run the hooks that match an event, and merge their answers."""
        stage, started = "planning", 0.0
        try:
            plan = self.planner.plan(fired)
            if plan is None:
                return self._answer_unmatched(fired)
            stage, started, spec = "translation", time.perf_counter(), EVENTS[fired.event]
            translator = self.get_translator() if spec.model else None
            payload, cuts, as_text = build_payload(fired, self.project, translator)
            stage = "validation"
            rules = self.project.in_force.context
            context = msgspec.structs.replace(rules, session_id=payload["session_id"])
            cut = "; ".join(cuts)
            document = InputDocument.checked(
                fired.event, payload, cut, facts=fired.facts, tools=context.tools
            )
            plan = narrow_plan(plan, document)
            if plan is None:
                return self._answer_unmatched(fired)
            stage = "execution"
            results = await self.runner.execute_plan(plan, document, context)
            if len(results) < len(plan.hooks):
                plan = msgspec.structs.replace(plan, hooks=tuple(r.hook for r in results))
            stage = "aggregation"
            call = None if translator is None else make_model_call(translator, fired)
            aggregated = self.aggregator.aggregate_results(plan, results, call=call)
            answer = process_common_hook_output_fields(aggregated, fired)
            if self._ends.texts and fired.event is HookEventName.BEFORE_AGENT:
                answer = self._add_late_texts(answer, fired, self._ends.texts)
        except Exception as error:
            passed = (time.perf_counter() - started) * 1000 if started else 0.0
            return self.fail(error, stage, fired, duration=passed)
        if document.cut:
            told = f"hooks did not get the whole input of {fired.event}: {document.cut}"
            self.debug_log.warning(told)
        if as_text:
            kinds = ", ".join(sorted(set(as_text)))
            told = f"hooks got only the repr of a value on {fired.event}: {kinds}"
            self.debug_log.warning(told)
        for result in results:
            if result.failed or result.warnings or self.debug_log.enabled:
                self.log_event(answer, fired, payload)
                break
        output = aggregated.final_output
        if output is not None and (output.decision == "ask" or not spec.blockable):
            self.warn_of_no_effect(answer, fired.event)
        return answer

    def judge_failure(self, failed: Answer) -> Answer:
        """Return the failure unchanged."""
        return failed

    def get_translator(self) -> "HookTranslator":
        """Return the translator between the model SDK's types and what hooks read: the project's,
        unless there is another."""
        return self.project.get_translator() if self._translator is None else self._translator

    def fail(
        self,
        error: Exception,
        stage: str,
        fired: FiredEvent | None = None,
        *,
        duration: float = 0.0,
    ) -> Answer:
        """Warn, and return the answer to an event that failed at a stage.

        It denies in strict mode, and if a hook that must answer could not.
        """
        meta = FailureMeta(
            event_name=fired.event if fired else None,
            correlation_id=fired.correlation_id if fired else None,
            duration=duration,
        )
        envelope = build_failure_envelope(error, stage, meta)
        failure = envelope.errors[0]
        what = failure.event_name or "an event"
        self.debug_log.warning(
            f"{what} failed at {stage}: {failure.message}",
            kind="event-failed",
            code=failure.code,
            stage=stage,
        )
        if not self._must_block(error, fired):
            return process_common_hook_output_fields(envelope, fired)
        return deny_failed(envelope, fired, self.get_translator)

    def _must_block(self, error: Exception, fired: FiredEvent | None) -> bool:
        lacks = is_exhausted(error)
        if fired is None and not lacks:
            # What is no event has no hooks; but a name may be one that could not be looked up.
            return False
        if fired is not None and (
            isinstance(error, EventHeldError) or self.project.in_force.strict
        ):
            return True
        event, target = None if fired is None else fired.event, None
        try:
            # An event whose input could not be read has no target.
            if fired is not None and fired.values:
                with suppress(Exception):
                    target = fired.matched
            return self.planner.must_answer(event, target, is_exhausted=lacks)
        except Exception as again:
            return lacks or is_exhausted(again)

    def _add_late_texts(self, answer: Answer, fired: FiredEvent, late: "LateTexts") -> Answer:
        """Add the texts of async hooks that have ended since; if the turn is blocked, the next
        turn gets them."""
        session_id = fired.session_id
        if session_id is None:
            session_id = self.project.get_session_id()
        said = None if answer.blocked else late.take(session_id)
        if said is None:
            return answer
        outputs = [*answer.all_outputs, said]
        added = msgspec.structs.replace(
            answer.aggregated,
            final_output=merge_outputs(fired.event, outputs),
            all_outputs=outputs,
        )
        return process_common_hook_output_fields(added, fired)

    def _answer_unmatched(self, fired: FiredEvent) -> Answer:
        answer = make_empty_answer(fired)
        if self._ends.texts and fired.event is HookEventName.BEFORE_AGENT:
            answer = self._add_late_texts(answer, fired, self._ends.texts)
        if self.debug_log.enabled:
            self.log_event(answer, fired, None)
        return answer

    def log_event(
        self, answer: Answer, fired: FiredEvent, payload: Mapping[str, Any] | None
    ) -> None:
        """Record what hooks did on an event."""
        event = fired.event
        try:
            session_id = payload["session_id"] if payload else fired.session_id
            if session_id is None:
                session_id = self.project.get_session_id()
            self.debug_log.event(
                answer,
                payload,
                session_id=session_id,
                event=event.value,
                target=fired.target,
                actor=fired.describe_actor(),
            )
        except Exception as error:
            warn(f"cannot log what hooks did on {event.value}", error=error)

    def warn_of_no_effect(self, answer: Answer, event: EventName) -> None:
        """Warn if a hook blocks, stops or asks on an event that does not support it."""
        output = answer.final_output
        if output is None:
            return
        what = None
        if output.is_ask_decision() and event is not HookEventName.BEFORE_TOOL:
            what = f"ask for confirmation on {event.value}"
        elif not EVENTS[event].blockable and (
            output.is_blocking_decision() or output.should_stop_execution()
        ):
            what = f"block or stop {event.value}"
        if what is not None:
            why = output.get_effective_reason()
            self.debug_log.warning(f"a hook tried to {what}, which has no effect: {why}")


def make_model_call(translator: "HookTranslator", fired: FiredEvent) -> "ModelCall":
    """Return the call that a model event is about."""
    # Only model events load it.
    from hookline.pipeline.modelcall import ModelCall

    return ModelCall(translator, fired.values[0])


class LateEnds:
    """Reports the end of each async hook, and keeps its texts for the next turn.

    It has no reference to the session or the system, so that a running hook keeps neither alive.
    """

    def __init__(self, debug_log: DebugLogger) -> None:
        self._log = debug_log
        self._lock = threading.Lock()
        self.texts: LateTexts | None = None
        self.listeners: list[Callable[[HookExecutionResult], object]] = []

    def tell(
        self, result: HookExecutionResult, document: InputDocument, context: RunContext
    ) -> None:
        """Record the end of a hook; call it when the hook's process is gone."""
        from hookline.runner.background import LateTexts, describe_ignored, read_late_output

        if (output := read_late_output(result)) is not None:
            with self._lock:
                if self.texts is None:
                    self.texts = LateTexts(self._log.warning)
            self.texts.add(context.session_id, output)
            if (ignored := describe_ignored(output)) is not None:
                warnings = (*result.warnings, ignored)
                result = msgspec.structs.replace(result, warnings=warnings)
        for listener in self.listeners:
            listener(result)
        field = EVENTS[document.event].target
        target = document.payload.get(field) if field is not None else None
        self._log.ended(
            result, document.payload, session_id=context.session_id, target=str(target or "")
        )


def is_exhausted(error: Exception) -> bool:
    """True if the process ran out of a resource, which says nothing about the event. Without a
    descriptor nothing can be imported; without a thread Python raises a plain RuntimeError."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    is_threadless = type(error) is RuntimeError and "start new thread" in message_of(error)
    return is_threadless or isinstance(error, ImportError | MemoryError)


def deny_failed(
    envelope: AggregatedHookResult,
    fired: FiredEvent | None,
    get_translator: "Callable[[], HookTranslator]",
) -> Answer:
    """Return a denial for an event that failed and must not go on; the failure alone if the event
    cannot be blocked. ``fired`` is None if it is not known which event it is."""
    if fired is None or fired.spec.blockable:
        event, call = HookEventName.BEFORE_TOOL if fired is None else fired.event, None
        if fired is not None and fired.spec.model and fired.values:
            # Without a translator the denial stands, but no response can be made of it.
            with suppress(Exception):
                call = make_model_call(get_translator(), fired)
        denial = {"decision": "deny", "reason": envelope.errors[0].message}
        final = merge_outputs(event, [denial], call=call)
        envelope = msgspec.structs.replace(envelope, final_output=final)
    return process_common_hook_output_fields(envelope, fired)
