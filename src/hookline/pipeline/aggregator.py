"""Merges the answers of an event's hooks into one; a table gives each event its rule.

Wherever a block or a stop has an effect, no later hook can undo it. A malformed value never
replaces another hook's good one.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import or_
from typing import Any, TypeAlias

from hookline.dialects import DIALECTS
from hookline.wire import codec
from hookline.wire.events import EventName, HookEventName
from hookline.wire.outputs import (
    BLOCKING_WORDS,
    TOOL_MODES,
    DefaultHookOutput,
    TranslatedCall,
    create_hook_output,
    is_tail_tool_call,
    read_mode,
    read_removed,
)
from hookline.wire.results import (
    AggregatedHookResult,
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
)

Outputs: TypeAlias = Sequence[DefaultHookOutput]
Merged: TypeAlias = dict[str, Any]

_LONGEST_REMEMBERED = 4_096


class HookAggregator:
    """Merges many results into one; stateless."""

    def aggregate_results(
        self,
        plan: HookExecutionPlan,
        results: Sequence[HookExecutionResult],
        *,
        call: TranslatedCall | None = None,
    ) -> AggregatedHookResult:
        """Merge the results, which are in plan order, by the rule of their event."""
        answers: list[dict[str, Any]] = []
        errors: list[HookError] = []
        success, duration = True, 0.0
        for result in results:
            success = success and result.success
            duration += result.duration
            answer = result.output
            if result.failed:
                name = result.hook.name
                message = f"{name} failed: {result.error}"
                errors.append(
                    HookError(
                        code=f"hook_{result.failed}",
                        message=message,
                        stage="execution",
                        event_name=result.event_name,
                        hook=name,
                    )
                )
                if result.hook.on_failure == "block":
                    answer = DIALECTS[result.hook.dialect].write_failure(result.hook, message)
            if answer is not None:
                answers.append(answer)
        final = merge_outputs(plan.event_name, answers, call=call)
        return AggregatedHookResult(success, final, answers, errors, duration, plan, tuple(results))


def merge_outputs(
    event: EventName,
    answers: Sequence[dict[str, Any]],
    *,
    call: TranslatedCall | None = None,
) -> DefaultHookOutput | None:
    """Merge several answers into one; None if there are none."""
    if not answers:
        return None
    is_plain = call is None and event in _PLAIN_EVENTS
    if is_plain and len(answers) == 1 and "hookSpecificOutput" not in answers[0]:
        written = codec.encode(answers[0])
        if len(written) <= _LONGEST_REMEMBERED:
            return _merge_one(event, written)
    outputs = [create_hook_output(event, answer) for answer in answers]
    return create_hook_output(event, MERGE_RULES.get(event, _decide)(outputs), call)


@lru_cache(maxsize=256)
def _merge_one(event: EventName, answer: bytes) -> DefaultHookOutput:
    """Make the output of a single answer, remembered because most hooks repeat a few answers.

    The same output is returned again and again, so nothing in it may be mutable.
    """
    output = create_hook_output(event, codec.decode(answer))
    return create_hook_output(event, MERGE_RULES[event]([output]))


def _decide(outputs: Outputs) -> Merged:
    """Tool, agent and session-start events: the strictest decision wins, all texts are kept."""
    word = None
    stopping = suppressing = False
    stop_reasons, reasons, messages, specifics = [], [], [], []
    # One pass, because nearly every event comes through here.
    for output in outputs:
        if output.decision in BLOCKING_WORDS or (output.decision == "ask" and word is None):
            word = output.decision
        if output.continue_ is False:
            stopping = True
            stop_reasons.append(output.stop_reason)
        if output.suppress_output:
            suppressing = True
        if output.reason:
            reasons.append(output.reason)
        if output.system_message:
            messages.append(output.system_message)
        if output.hook_specific_output is not None:
            specifics.append(output.hook_specific_output)
    merged: Merged = {"continue": not stopping, "suppressOutput": suppressing}
    if word or not stopping:
        merged["decision"] = word or "allow"
    if stop_reasons:
        merged["stopReason"] = _join_lines(stop_reasons)
    if reasons:
        merged["reason"] = _join_lines(reasons)
    if messages:
        merged["systemMessage"] = _join_lines(messages)
    if specifics:
        merged["hookSpecificOutput"] = united = _unite_specifics(specifics) or {}
        if "decision" not in merged:
            # A decision that its own hook overruled must not become everyone's.
            united.pop("permissionDecision", None)
    return merged


def _replace(outputs: Outputs) -> Merged:
    """Advisory events: later fields replace earlier ones."""
    merged: Merged = {}
    for output in outputs:
        merged.update(output.to_wire())
    specifics = [o.hook_specific_output for o in outputs if o.hook_specific_output is not None]
    if specifics:
        kept = ("userMessage", "keepHistory")
        united = _unite_specifics([{k: v for k, v in s.items() if k in kept} for s in specifics])
        merged["hookSpecificOutput"] = {**specifics[-1], **(united or {})}
    return merged


def _permit(outputs: Outputs) -> Merged:
    """A question to the user: answered only if a hook decides, with the strictest decision."""
    merged = _decide(outputs)
    if not any(output.decision for output in outputs):
        merged.pop("decision", None)
    return merged


_BINDING_FIELDS = ("continue", "stopReason", "decision", "reason")


def _replace_but_stand(outputs: Outputs) -> Merged:
    """Model events: later fields replace earlier ones, but no hook undoes a block or a stop."""
    merged = _replace(outputs)
    blocking = [o for o in outputs if _blocks(o)]
    stopping = [o for o in outputs if o.should_stop_execution()]
    if blocking or stopping:
        # Another hook's reason would look like the reason of the block or the stop.
        for name in _BINDING_FIELDS:
            merged.pop(name, None)
        merged.update(_collect_last(stopping, "continue", "stopReason", "reason"))
        merged.update(_collect_last(blocking, "decision", "reason"))
        if not stopping:
            merged.update(_collect_last(blocking, "stopReason"))
    merged["hookSpecificOutput"] = _unite_specifics([o.hook_specific_output for o in outputs]) or {}
    return merged


def _collect_last(outputs: Outputs, *names: str) -> Merged:
    said: Merged = {}
    for output in outputs:
        fields = output.to_wire().items()
        said.update({name: value for name, value in fields if name in names and value != ""})
    return said


def _select_tools(outputs: Outputs) -> Merged:
    """Tool selection: hooks can only narrow, and a block leaves no tool."""
    stopping = [o for o in outputs if o.should_stop_execution()]
    blocking = [o for o in outputs if _blocks(o)]
    mode, lists = -1, []
    for output in outputs:
        config = (output.hook_specific_output or {}).get("toolConfig")
        if isinstance(config, dict):
            word, names = read_mode(config.get("mode")), config.get("allowedFunctionNames")
            mode = max(mode, TOOL_MODES.index(word) if word in TOOL_MODES else 0)
            if isinstance(names, list) and all(isinstance(name, str) for name in names):
                lists.append(set(names))
    allowed = sorted(set.intersection(*lists)) if lists else None
    specific: Merged = {"hookEventName": HookEventName.BEFORE_TOOL_SELECTION.value}
    if blocking or mode == TOOL_MODES.index("NONE") or allowed == []:
        specific["toolConfig"] = {"mode": "NONE", "allowedFunctionNames": []}
    elif mode >= 0:
        named = {} if allowed is None else {"allowedFunctionNames": allowed}
        specific["toolConfig"] = {"mode": TOOL_MODES[mode], **named}
    merged: Merged = {
        "continue": False if stopping else None,
        "stopReason": _join_lines([o.stop_reason for o in stopping]),
        "suppressOutput": True if any(o.suppress_output for o in outputs) else None,
        "decision": blocking[-1].decision if blocking else None,
        "reason": _join_lines(
            [o.reason for o in outputs if _blocks(o) or o.should_stop_execution()]
        ),
        "systemMessage": _join_lines([o.system_message for o in outputs]),
        "hookSpecificOutput": specific,
    }
    return {name: value for name, value in merged.items() if value is not None}


def _blocks(output: DefaultHookOutput) -> bool:
    return output.decision in BLOCKING_WORDS


def _join_lines(texts: Sequence[str | None]) -> str | None:
    return "\n".join(filter(None, texts)) or None


def _unite_specifics(specifics: Sequence[dict[str, Any] | None]) -> Merged | None:
    """All keys of all hooks; a later value replaces an earlier one unless its key has a rule."""
    given = [specific for specific in specifics if specific is not None]
    if not given:
        return None
    united: Merged = {}
    for specific in given:
        for key, value in specific.items():
            rule = _KEY_RULES.get(key)
            if rule is None:
                united[key] = value
            elif (merged := rule(united.get(key), value)) is not None:
                united[key] = merged
        _forget_removed(united, specific)
    return united


def _forget_removed(united: Merged, specific: dict[str, Any]) -> None:
    """Drop the values that earlier hooks gave to fields that this one removes."""
    before, own = united.get("tool_input"), specific.get("tool_input")
    if "removeToolInput" in specific and isinstance(before, dict):
        gone = read_removed(specific).difference(own if isinstance(own, dict) else ())
        if not gone.isdisjoint(before):
            united["tool_input"] = {n: value for n, value in before.items() if n not in gone}


def _join_names(before: list[Any], value: list[Any]) -> list[str]:
    return [*dict.fromkeys(name for name in (*before, *value) if isinstance(name, str))]


def _join_if(kind: type, join: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Join two values of a type; if only one is of that type, keep that one."""

    def merge(before: Any, value: Any) -> Any:
        if not isinstance(before, kind):
            return value
        return join(before, value) if isinstance(value, kind) else before

    return merge


def _merge_requests(before: Any, value: Any) -> Any:
    from hookline.wire.model import llm_request_problem, merge_llm_request

    if before is None or llm_request_problem(before) is not None:
        return value
    return merge_llm_request(before, value)


def _is_response(value: object) -> bool:
    # The model's format is imported for model events only.
    from hookline.wire.model import is_llm_response

    return is_llm_response(value)


def _keep_last_good(good: Callable[[object], bool]) -> Callable[[Any, Any], Any]:
    return lambda before, value: before if good(before) and not good(value) else value


_KEY_RULES: dict[str, Callable[[Any, Any], Any]] = {
    "additionalContext": _join_if(str, "{}\n{}".format),
    "clearContext": lambda before, value: before is True or value is True or None,
    "llm_request": _merge_requests,
    "llm_response": _keep_last_good(_is_response),
    "exports": _join_if(dict, or_),
    "keepHistory": lambda before, value: before is True or value is True or None,
    "userMessage": _join_if(str, "{}\n{}".format),
    "removeToolInput": _join_if(list, _join_names),
    "tailToolCallRequest": _keep_last_good(is_tail_tool_call),
    "tool_input": _join_if(dict, or_),
}

# Events that only other dialects have are merged like tool events, except for one.
MERGE_RULES: dict[str, Callable[[Outputs], Merged]] = {
    "PermissionRequest": _permit,
    HookEventName.BEFORE_TOOL: _decide,
    HookEventName.AFTER_TOOL: _decide,
    HookEventName.BEFORE_AGENT: _decide,
    HookEventName.AFTER_AGENT: _decide,
    HookEventName.SESSION_START: _decide,
    HookEventName.BEFORE_MODEL: _replace_but_stand,
    HookEventName.AFTER_MODEL: _replace_but_stand,
    HookEventName.BEFORE_TOOL_SELECTION: _select_tools,
    HookEventName.SESSION_END: _replace,
    HookEventName.PRE_COMPRESS: _replace,
    HookEventName.NOTIFICATION: _replace,
}
# Events whose merged output has a hookSpecificOutput only if a hook gave one.
_PLAIN_EVENTS = frozenset(e for e, rule in MERGE_RULES.items() if rule in (_decide, _replace))
