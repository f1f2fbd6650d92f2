"""What an agent should do after an event: the one place that works it out.

``fire --json``, the trace, hook tests, the triggers, the adapters and every screen read an
``Answer``; none of them interprets a hook's output itself.
"""

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from hookline._support.escapes import one_line
from hookline.dialects import ROWS
from hookline.errors import TranslationError
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.fired import FiredEvent
from hookline.wire.outputs import (
    BLOCKING_WORDS,
    NO_REASON,
    SPECIFIC_FIELDS,
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolHookOutput,
    BeforeToolSelectionHookOutput,
    DefaultHookOutput,
    TranslatedCall,
    change_tool_input,
    create_hook_output,
    find_fault,
    read_mode,
    read_removed,
)
from hookline.wire.results import (
    AggregatedHookResult,
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
    make_empty_success_result,
)

if TYPE_CHECKING:
    from hookline.translate import HookTranslator

EventWord: TypeAlias = Literal["allowed", "blocked", "stop", "ask", "no hook matched", "failed"]
Tone: TypeAlias = Literal["good", "bad", "care", "change", "faint"]

# The effect of an answer on its event -> how it is shown; the strongest first.
EFFECTS: dict[str, Tone] = {
    "stopped": "bad",
    "blocked": "bad",
    "asked": "care",
    "answered": "change",
    "redacted": "change",
    "rewritten": "change",
    "restricted": "change",
    "sent back": "change",
    "history cleared": "change",
    "history kept": "change",
    "tail call": "change",
    "variables set": "change",
    "context added": "change",
}
# Every word for the outcome of an event or a hook -> how it is shown, on every screen and page.
TONES: dict[str, Tone] = {
    **EFFECTS,
    "allowed": "good",
    "allow": "good",
    "approve": "good",
    "ok": "good",
    "block": "bad",
    "deny": "bad",
    "stop": "bad",
    "failed": "bad",
    "ask": "care",
    "warning": "care",
    "refused": "bad",
    "added": "change",
    "started": "faint",
    "async": "faint",
    "no hook matched": "faint",
    "no hook": "faint",
}
# The words for a hook that lets its event go on.
_GOES_ON = frozenset({"ok", "allow", "approve"})
# The events at which hooks can send an agent back to work.
_ENDS_OF_WORK = frozenset({HookEventName.AFTER_AGENT.value, "SubagentStop"})


def most_sent_back() -> int:
    """Return how often hooks may send one turn back to work: 8 times, or what the variable says
    that the agent of another dialect reads, too."""
    for row in ROWS.values():
        text = os.environ.get(row.most_sent_back, "")
        if text.isascii() and text.isdigit() and len(text) < 10 and int(text):
            return int(text)
    return 8


class ProcessedHookResult(msgspec.Struct, frozen=True):
    """The merged result of an event, with the fields that all events share already interpreted.

    ``stop_reason`` is set exactly when ``should_stop`` is True; ``system_message`` is the text to
    display, None if a hook suppressed it (the raw text is in ``final_output``).
    """

    aggregated: AggregatedHookResult
    should_stop: bool = False
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool = False

    @property
    def success(self) -> bool:
        """True if no hook failed."""
        return self.aggregated.success

    @property
    def final_output(self) -> DefaultHookOutput | None:
        """The merged output, None if no hook gave one."""
        return self.aggregated.final_output

    @property
    def all_outputs(self) -> list[dict[str, Any]]:
        """Every hook's own output, in plan order."""
        return self.aggregated.all_outputs

    @property
    def errors(self) -> list[HookError]:
        """The failures of hooks, or of the engine."""
        return self.aggregated.errors

    @property
    def total_duration(self) -> float:
        """The sum of the hooks' durations, in milliseconds."""
        return self.aggregated.total_duration

    @property
    def plan(self) -> HookExecutionPlan | None:
        """The hooks that matched, None if none did."""
        return self.aggregated.plan

    @property
    def results(self) -> tuple[HookExecutionResult, ...]:
        """Each hook's own result in plan order."""
        return self.aggregated.results


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """How hooks changed the one value of an event that they can change; ``before`` is None if the
    original is not known."""

    what: str
    before: Any
    after: Any


class HookPart(NamedTuple):
    """What one hook did, in one word, with its reason, and the ``EFFECTS`` that its answer alone
    has on the event."""

    word: str
    why: str
    effects: tuple[str, ...]


class Answer(ProcessedHookResult, frozen=True, dict=True):
    """What the hooks of one event said, and what an agent should do about it.

    Where nothing matched, or hooks are off, it says "go on" and changes nothing.
    """

    fired: FiredEvent | None = None

    @classmethod
    def read(
        cls, fired: FiredEvent, output: Mapping[str, Any] | None, call: TranslatedCall | None = None
    ) -> "Answer":
        """Return the answer to an event from its merged output, which a log kept, for instance."""
        merged = None if output is None else create_hook_output(fired.event, output, call)
        return _read_answer(fired, merged)

    def __repr__(self) -> str:
        """Describe the outcome and what each hook did, for failed assertions."""
        of = f" of {self.fired.target}" if self.fired is not None and self.fired.target else ""
        why = "" if self.why is None else f", {self.why!r}"
        did = []
        for result in self.results:
            word, reason, _ = describe_hook(
                result.event_name,
                result.output,
                failed=result.failed,
                exit_code=result.exit_code,
                signal=result.signal,
            )
            reason = f", {result.error or reason}" if result.failed else ""
            did.append(f"{result.hook.name}: {word}{reason}")
        hooks = f" ({'; '.join(did)})" if did else ""
        return one_line(f"<Answer to {self.event or 'no event'}{of}: {self.word}{why}{hooks}>")

    @property
    def raw(self) -> ProcessedHookResult:
        """This answer, as a ``ProcessedHookResult``."""
        return self

    @property
    def event(self) -> EventName | None:
        """The event that was fired; None if its name was unknown."""
        return self.fired.event if self.fired is not None else None

    @property
    def stopped(self) -> bool:
        """True if the agent loop should end; always False for events that cannot be blocked."""
        return self.should_stop and self._is_blockable

    @property
    def denied(self) -> bool:
        """True if hooks forbid what is about to happen, or reject what happened; always False for
        events that cannot be blocked."""
        output = self.final_output
        return output is not None and self._is_blockable and output.is_blocking_decision()

    @property
    def blocked(self) -> bool:
        """True if the hooks deny the event or stop the loop, so it must not go on."""
        return self.stopped or self.denied

    @property
    def asks(self) -> bool:
        """True if the user must confirm the tool call first; block it if nobody can be asked."""
        output, is_tool = self.final_output, self.event is HookEventName.BEFORE_TOOL
        return output is not None and is_tool and output.is_ask_decision() and not self.blocked

    @property
    def reason(self) -> str | None:
        """Why the event is blocked or stopped, or must be confirmed; None if it goes on."""
        output = self.final_output
        if output is None or not (self.blocked or self.asks):
            return None
        reason = output.get_effective_reason()
        if reason == NO_REASON and self._is_answered:
            return "a hook answers in the model's place"
        return reason

    @property
    def context(self) -> str | None:
        """Text that hooks add to what the model reads; None for events that take none."""
        output, event = self.final_output, self.event
        if output is None or event is None or "additionalContext" not in SPECIFIC_FIELDS[event]:
            return None
        return output.get_additional_context()

    @property
    def tool_output(self) -> str | None:
        """Text that replaces the tool's result for the model though no hook rejected the result;
        None if the result stays (AfterTool)."""
        output, is_tool = self.final_output, self.event is HookEventName.AFTER_TOOL
        return output.get_updated_tool_output() if output is not None and is_tool else None

    @property
    def send_back(self) -> str | None:
        """The prompt that sends the agent back to work: the reason of the hooks that do not let
        it end, and the context they add; None if it may end (AfterAgent, SubagentStop)."""
        if self.event not in _ENDS_OF_WORK or self.stopped:
            return None
        texts = [self.reason] if self.denied else []
        texts += [self.context] if self.context else []
        return "\n\n".join(filter(None, texts)) if texts else None

    @property
    def message(self) -> str | None:
        """The hooks' system message, suppressed or not; ``system_message`` is what to display."""
        return self.final_output.system_message or None if self.final_output else None

    @property
    def user_message(self) -> str | None:
        """The part of ``system_message`` that is for the user alone; None if suppressed."""
        output = self.final_output
        return None if output is None or self.suppressed else output.get_user_message()

    @property
    def texts_for_model(self) -> list[str]:
        """The texts that the model should read beside a prompt: the context, and the system
        message."""
        context, message = self.context, self.message
        return [*([context] if context else []), *([f"[System] {message}"] if message else [])]

    @property
    def suppressed(self) -> bool:
        """True if the user should not be shown the output; the model still reads it."""
        return self.suppress_output

    @property
    def exports(self) -> dict[str, str]:
        """Environment variables for the commands that the agent runs in this session
        (SessionStart)."""
        output, is_start = self.final_output, self.event is HookEventName.SESSION_START
        return output.get_exports() if output is not None and is_start else {}

    @property
    def keep_history(self) -> bool:
        """True if the history should not be compressed (PreCompress)."""
        output, is_compress = self.final_output, self.event is HookEventName.PRE_COMPRESS
        return output is not None and is_compress and output.should_keep_history()

    @property
    def clear_context(self) -> bool:
        """True if the agent should forget the conversation so far (AfterAgent)."""
        output, is_end = self.final_output, self.event is HookEventName.AFTER_AGENT
        return output is not None and is_end and output.should_clear_context()

    @property
    def tail_call(self) -> dict[str, Any] | None:
        """The tool call, ``{name, args}``, that should run at once (AfterTool)."""
        if self.final_output is None or self.event is not HookEventName.AFTER_TOOL:
            return None
        return self.final_output.get_tail_tool_call_request()

    @property
    def failures(self) -> tuple[HookError, ...]:
        """The failures of hooks, or of the engine itself."""
        return tuple(self.errors)

    @property
    def tool_input(self) -> Any:
        """The tool's whole input after the hooks; the caller's own object if none changed it."""
        given = self._get_field("tool_input")
        output = self.final_output
        if not isinstance(output, BeforeToolHookOutput):
            return given
        return output.apply_to_tool_input(given)

    @cached_property
    def request(self) -> Any:
        """The model's request after the hooks, in the caller's own type; the caller's own object
        if none changed it."""
        request = self._get_field("llm_request")
        output = self.final_output
        if isinstance(output, BeforeModelHookOutput):
            return output.apply_llm_request_modifications(request)
        if isinstance(output, BeforeToolSelectionHookOutput):
            from hookline.pipeline.modelcall import restrict_tools

            return restrict_tools(output, request)
        return request

    @cached_property
    def response(self) -> Any:
        """The model's response after the hooks, in the caller's own type. On BeforeModel it is
        None if the model should be called, else the response that a hook gives instead. If a hook
        blocks without a response, or rejects one, the response contains only the reason."""
        response = self._get_field("llm_response")
        output = self.final_output
        if isinstance(output, BeforeModelHookOutput) and self.blocked:
            synthetic = output.get_synthetic_response()
            return self._make_empty_response() if synthetic is None else synthetic
        if isinstance(output, BeforeToolSelectionHookOutput) and self.stopped:
            return self._make_empty_response()
        if isinstance(output, AfterModelHookOutput):
            if self.denied:
                return self._make_empty_response(response)
            changed = output.get_modified_response(response)
            return response if changed is None else changed
        return response

    @cached_property
    def tools(self) -> frozenset[str] | None:
        """The names of the tools that the model may call; None for all."""
        output = self.final_output
        if not isinstance(output, BeforeToolSelectionHookOutput) or self.fired is None:
            return None
        from hookline.pipeline.modelcall import find_allowed_tools

        return find_allowed_tools(output, self.fired.field("llm_request"))

    @property
    def is_synthetic(self) -> bool:
        """True if a hook answers in the model's place, with ``response``."""
        return self.blocked and self._is_answered

    @property
    def word(self) -> EventWord:
        """The outcome of the event, in a word."""
        if self.plan is None and self.final_output is None:
            # An event goes on after a hook failed, and after an outage with on_unavailable="allow".
            for error in () if self.success else self.errors:
                details = error.details if isinstance(error.details, dict) else {}
                if error.hook is None and details.get("onUnavailable") != "allow":
                    return "failed"
            # A worker reports no plan, only how long its hooks took.
            if self.success and not self.total_duration:
                return "no hook matched"
        if self.stopped:
            return "stop"
        if self.blocked:
            return "blocked"
        return "ask" if self.asks else "allowed"

    @property
    def decision(self) -> Literal["stop", "deny", "ask", "allow"]:
        """What the agent should do, in the words that hooks use."""
        if self.stopped:
            return "stop"
        if self.denied:
            return "deny"
        return "ask" if self.asks else "allow"

    @property
    def why(self) -> str | None:
        """The reason for ``word``: what the hooks say, or the message of the failure."""
        return self.errors[0].message if self.word == "failed" else self.reason

    def find_change(self, given: Mapping[str, Any]) -> Change | None:
        """Return what the hooks changed in the event, None if nothing. ``given`` is the event as
        hooks read it, empty if that is not known."""
        output, event = self.final_output, self.event
        if output is None or event is None or self.stopped:
            return None
        return _find_change(event, output, given, is_denied=self.denied)

    def find_effects(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the ``EFFECTS`` that this answer had on the event, the strongest first; empty if
        the event went on unchanged. ``given`` is the event as hooks read it."""
        output, event = self.final_output, self.event
        if output is None or event is None:
            return ()
        if self.stopped:
            return ("stopped",)
        denied, specific = self.denied, output.hook_specific_output or {}
        if not denied and not specific:
            return ("asked",) if self.asks else ()
        is_answered = denied and self._is_answered
        # Context added to a denied prompt is dropped with it; at the end of a turn it is sent back.
        is_context = "additionalContext" in specific and event not in _ENDS_OF_WORK
        is_forgotten = denied and event is HookEventName.BEFORE_AGENT
        found = {
            "blocked": denied and (not is_answered or output.decision in BLOCKING_WORDS),
            "asked": not denied and self.asks,
            "answered": is_answered,
            "sent back": event in _ENDS_OF_WORK and self.send_back is not None,
            "history cleared": "clearContext" in specific and self.clear_context,
            "history kept": "keepHistory" in specific and self.keep_history,
            "tail call": "tailToolCallRequest" in specific and self.tail_call is not None,
            "variables set": "exports" in specific and bool(self.exports),
            "context added": is_context and not is_forgotten and bool(self.context),
        }
        is_changed = _find_change(event, output, given, is_denied=denied) is not None
        if is_changed or _forces_tool(event, specific, given):
            found[_CHANGES[event][0]] = True
        return tuple([word for word in EFFECTS if found.get(word)])

    def view(self, translator: "HookTranslator | None" = None) -> dict[str, Any]:
        """Return what of the merged output is applied, as a JSON object: the ``view`` of
        ``fire --json`` and of the conformance cases. ``translator`` is for a model event that no
        hook answered."""
        output, request = self.final_output, self._get_field("llm_request")
        if output is None:
            call = None
            if translator is not None:
                from hookline.pipeline.modelcall import ModelCall

                call = ModelCall(translator, request)
            event = self.event
            output = DefaultHookOutput() if event is None else create_hook_output(event, {}, call)
        view: dict[str, Any] = {
            "blocked": output.is_blocking_decision(),
            "ask": output.is_ask_decision(),
            "stop": output.should_stop_execution(),
            "effective_reason": output.get_effective_reason(),
            "additional_context": self.context,
            "clear_context": self.clear_context,
            "tail_tool_call": self.tail_call,
        }
        if isinstance(output, BeforeToolHookOutput):
            view["tool_input"] = output.get_modified_tool_input()
            if removed := output.get_removed_tool_input():
                view["removed_tool_input"] = removed
        elif self.tool_output is not None:
            view["tool_output"] = self.tool_output
        elif self.exports:
            view["exports"] = self.exports
        elif self.keep_history:
            view["keep_history"] = True
        elif isinstance(output, BeforeModelHookOutput):
            view["synthetic_response"] = output.get_synthetic_response()
            view["modified_request"] = self.request
        elif isinstance(output, AfterModelHookOutput):
            response = self._get_field("llm_response")
            view["modified_response"] = output.get_modified_response(response)
        elif isinstance(output, BeforeToolSelectionHookOutput):
            # No hook answered, and without a translator the request's tools are not known.
            from hookline.pipeline.modelcall import select_tools

            selection = select_tools(output, request)
            named = (("toolConfig", selection.tool_config), ("tools", selection.tools))
            view["tool_selection"] = {name: value for name, value in named if value is not None}
        return view

    def document(self, name: str, translator: "HookTranslator | None" = None) -> dict[str, Any]:
        """Return everything about the event ``name`` as the JSON object that ``fire --json``
        prints."""
        plan, final = self.plan, self.final_output
        try:
            view = self.view(translator)
        except TranslationError:
            # The request could not be read, so no hook saw it; the errors say so.
            view = Answer.read(FiredEvent(HookEventName.BEFORE_AGENT), {}).view()
        hooks = plan and [hook.name for hook in plan.hooks]
        return {
            "event": name,
            "plan": plan and {"sequential": plan.sequential, "hooks": hooks},
            "results": [result_document(result) for result in self.results],
            "success": self.success,
            "errors": [
                {"code": error.code, "message": error.message, "stage": error.stage}
                | ({} if error.hook is None else {"hook": error.hook})
                for error in self.errors
            ],
            "all_outputs": self.all_outputs,
            "final_output": final.to_wire() if final is not None else None,
            "view": view,
            "should_stop": self.should_stop,
            "stop_reason": self.stop_reason,
            "system_message": self.system_message,
            "suppress_output": self.suppress_output,
            "total_duration_ms": round(self.total_duration, 3),
        }

    def _get_field(self, name: str) -> Any:
        return self.fired.field(name) if self.fired is not None else None

    @property
    def _is_blockable(self) -> bool:
        return self.fired is None or EVENTS[self.fired.event].blockable

    @property
    def _is_answered(self) -> bool:
        output = self.final_output
        return isinstance(output, BeforeModelHookOutput) and output.answers_call()

    def _make_empty_response(self, rejected: Any = None) -> Any:
        assert self.final_output is not None
        # Only model events load what translates their answers.
        from hookline.pipeline.modelcall import make_empty_response

        return make_empty_response(self.final_output, self.reason or NO_REASON, rejected)


def _find_input_change(output: DefaultHookOutput, given: Mapping[str, Any]) -> Change | None:
    said = output.hook_specific_output or {}
    if not said.get("tool_input") and not read_removed(said):
        return None
    before = given.get("tool_input")
    after = change_tool_input(before, said)
    return Change(what="tool input", before=before, after=after)


def _find_result_change(output: DefaultHookOutput, given: Mapping[str, Any]) -> Change | None:
    is_denied = output.is_blocking_decision()
    after = output.get_effective_reason() if is_denied else output.get_updated_tool_output()
    if after is None:
        return None
    # Native results hold what the model reads as llmContent; others have any shape.
    before = given.get("tool_response")
    if isinstance(before, dict):
        before = before.get("llmContent", before)
    return Change(what="tool result", before=before, after=after)


def _find_request_change(output: DefaultHookOutput, given: Mapping[str, Any]) -> Change | None:
    said = (output.hook_specific_output or {}).get("llm_request")
    if said is None:
        return None
    # Only model events load the model's format.
    from hookline.wire.model import merge_llm_request

    request = given.get("llm_request")
    before = request if isinstance(request, dict) else {}
    return Change(what="model request", before=before, after=merge_llm_request(before, said))


def _find_response_change(output: DefaultHookOutput, given: Mapping[str, Any]) -> Change | None:
    said = (output.hook_specific_output or {}).get("llm_response")
    fault = find_fault(HookEventName.AFTER_MODEL, "llm_response", said)
    if fault is not None or not isinstance(said, dict):
        return None
    after = {name: value for name, value in said.items() if value is not None}
    response = given.get("llm_response")
    # A hook names the fields it changes; the others stay.
    known = response if isinstance(response, dict) else {}
    before = {name: value for name, value in known.items() if name in after} or None
    return Change(what="model response", before=before, after=after)


def _find_tools_change(output: DefaultHookOutput, given: Mapping[str, Any]) -> Change | None:
    said = (output.hook_specific_output or {}).get("toolConfig")
    before = _select_names(_read_tool_config(given), given.get("available_tools"))
    if output.is_blocking_decision():
        return Change(what="tools", before=before, after=[])
    if find_fault(HookEventName.BEFORE_TOOL_SELECTION, "toolConfig", said) is not None:
        return None
    return Change(what="tools", before=before, after=_select_names(said, before))


def _forces_tool(event: EventName, specific: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """True if the hooks make the model call a tool, and the request itself did not."""
    if event is not HookEventName.BEFORE_TOOL_SELECTION:
        return False
    return _read_mode(specific.get("toolConfig")) == "ANY" != _read_mode(_read_tool_config(given))


def _read_tool_config(given: Mapping[str, Any]) -> Any:
    request = given.get("llm_request")
    return request.get("toolConfig") if isinstance(request, dict) else None


def _read_mode(config: Any) -> str | None:
    return read_mode(config.get("mode")) if isinstance(config, dict) else None


def _select_names(config: Any, available: Any) -> Any:
    """Return the available tool names that a tool config allows; None if they are not known."""
    if _read_mode(config) == "NONE":
        return []
    names = config.get("allowedFunctionNames") if isinstance(config, dict) else None
    if not isinstance(names, list) or not isinstance(available, list):
        return names if isinstance(names, list) else available
    return [name for name in available if name in names]


# Event -> the word for a change, the function that finds it, and whether a denial changes
# something too.
_CHANGES: dict[
    str, tuple[str, Callable[[DefaultHookOutput, Mapping[str, Any]], Change | None], bool]
] = {
    HookEventName.BEFORE_TOOL: ("rewritten", _find_input_change, False),
    "PermissionRequest": ("rewritten", _find_input_change, False),
    HookEventName.AFTER_TOOL: ("redacted", _find_result_change, True),
    HookEventName.BEFORE_MODEL: ("rewritten", _find_request_change, False),
    HookEventName.AFTER_MODEL: ("redacted", _find_response_change, False),
    HookEventName.BEFORE_TOOL_SELECTION: ("restricted", _find_tools_change, True),
}


def _find_change(
    event: EventName, output: DefaultHookOutput, given: Mapping[str, Any], *, is_denied: bool
) -> Change | None:
    """Return what an answer without a stop changes, None if nothing."""
    _, find, by_denial = _CHANGES.get(event, ("", None, False))
    if find is None or (is_denied and not by_denial):
        return None
    change = find(output, given)
    return None if change is None or change.after == change.before else change


def process_common_hook_output_fields(
    aggregated: AggregatedHookResult, fired: FiredEvent | None = None
) -> Answer:
    """Return the answer to an event, with the fields that all events share interpreted."""
    output = aggregated.final_output
    if output is None:
        return Answer(aggregated, fired=fired)
    stop = output.should_stop_execution()
    suppress = output.suppress_output is True
    return Answer(
        aggregated,
        stop,
        output.get_effective_reason() if stop else None,
        None if suppress else output.get_displayed_message(),
        suppress,
        fired,
    )


def _read_answer(fired: FiredEvent, output: DefaultHookOutput | None) -> Answer:
    return process_common_hook_output_fields(AggregatedHookResult(True, output), fired)


def make_empty_answer(fired: FiredEvent | None = None) -> Answer:
    """Return the answer to an event that no hook matched, or while hooks are off: go on."""
    return Answer(make_empty_success_result(), fired=fired)


def describe_hook(
    event: EventName,
    output: Mapping[str, Any] | None,
    given: Mapping[str, Any] | None = None,
    *,
    failed: str | None = None,
    exit_code: int | None = None,
    signal: str | None = None,
    is_late: bool = False,
) -> HookPart:
    """Return what one hook did: its decision; if that lets the event go on, the effect of its
    answer; or how it failed. ``given`` is the event as hooks read it. With ``is_late`` it is the
    answer of an async hook, which comes too late to have an effect."""
    word, why = "ok", ""
    effects: tuple[str, ...] = ()
    if output is not None:
        said = create_hook_output(event, output)
        word = "stop" if said.should_stop_execution() else said.decision or "ok"
        why = said.stop_reason or said.reason or ""
        goes_on = word in _GOES_ON
        # Most answers in a log have no effect; looking only at the others keeps the trace fast.
        if not is_late and (said.hook_specific_output or not goes_on):
            effects = _read_answer(FiredEvent(event), said).find_effects(given or {})
            word = effects[0] if effects and goes_on else word
    if failed is not None:
        word, why = "failed", failed.replace("_", " ")
        if failed == "exit":
            why = f"exit {exit_code}"
        elif failed == "signal" and signal:
            why = signal
    return HookPart(word, why, effects)


def result_document(result: HookExecutionResult) -> dict[str, Any]:
    """Return one hook's result as ``fire --json`` shows it; an async hook is ``started``."""
    optional = {
        "exit_code": result.exit_code,
        "signal": result.signal,
        "failed": result.failed,
        "output": result.output,
        "warnings": list(result.warnings) or None,
        "started": result.started or None,
    }
    return {
        "hook": result.hook.name,
        "type": result.hook.type,
        "source": result.hook.source.value,
        "success": result.success,
        "duration_ms": round(result.duration, 3),
        "stdout": result.stdout,
        "stderr": result.stderr,
        **{name: value for name, value in optional.items() if value is not None},
    }
