"""Merges the answers of an event's hooks into one; a table gives each event its rule.

What holds in every rule: a block stands whatever a later hook says, so does a stop, and a value of
the wrong shape never displaces another hook's good one.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from hookline.wire.events import HookEventName
from hookline.wire.model import is_llm_response, llm_request_problem, merge_llm_request
from hookline.wire.outputs import (
    BLOCKING_WORDS,
    DefaultHookOutput,
    ModelCall,
    create_hook_output,
    is_tail_tool_call,
)
from hookline.wire.results import (
    AggregatedHookResult,
    HookError,
    HookExecutionPlan,
    HookExecutionResult,
)

Outputs: TypeAlias = Sequence[DefaultHookOutput]
Merged: TypeAlias = dict[str, Any]


class HookAggregator:
    """Makes one result of many; stateless."""

    def aggregate_results(
        self,
        plan: HookExecutionPlan,
        results: Sequence[HookExecutionResult],
        *,
        call: ModelCall | None = None,
    ) -> AggregatedHookResult:
        """Merge the results, which are in plan order, by the rule of their event."""
        event = plan.event_name
        answers = [output for result in results if (output := _contribution(result)) is not None]
        return AggregatedHookResult(
            all(result.success for result in results),
            merge_outputs(event, answers, call=call),
            answers,
            [_error(result) for result in results if result.failed],
            sum(result.duration for result in results),
            plan,
            tuple(results),
        )


def merge_outputs(
    event: HookEventName,
    answers: Sequence[dict[str, Any]],
    *,
    call: ModelCall | None = None,
) -> DefaultHookOutput | None:
    """The one answer that several make; None when there was none."""
    if not answers:
        return None
    outputs = [create_hook_output(event, answer) for answer in answers]
    return create_hook_output(event, MERGE_RULES[event](outputs), call)


def _contribution(result: HookExecutionResult) -> dict[str, Any] | None:
    if result.failed and result.hook.on_failure == "block":
        return {"decision": "deny", "reason": f"{result.hook.name} failed: {result.error}"}
    return result.output


def _error(result: HookExecutionResult) -> HookError:
    return HookError(
        code=f"hook_{result.failed}",
        message=f"{result.hook.name} failed: {result.error}",
        stage="execution",
        event_name=result.event_name,
        hook=result.hook.name,
    )


def _decide(outputs: Outputs) -> Merged:
    """Tool, agent and session-start events: the strictest word, everything said is kept."""
    stopping = [o for o in outputs if o.should_stop_execution()]
    merged: Merged = {
        "continue": not stopping,
        "suppressOutput": any(o.suppress_output for o in outputs),
        "decision": _strictest(outputs) or (None if stopping else "allow"),
        "stopReason": _joined([o.stop_reason for o in stopping]),
        "reason": _joined([o.reason for o in outputs]),
        "systemMessage": _joined([o.system_message for o in outputs]),
        "hookSpecificOutput": _united([o.hook_specific_output for o in outputs]),
    }
    return {name: value for name, value in merged.items() if value is not None}


def _replace(outputs: Outputs) -> Merged:
    """Advisory events: later fields replace earlier ones."""
    merged: Merged = {}
    for output in outputs:
        merged.update(output.to_wire())
    return merged


_BINDING_FIELDS = ("continue", "stopReason", "decision", "reason")


def _replace_but_stand(outputs: Outputs) -> Merged:
    """Model events: later fields replace earlier ones, but no hook undoes a block or a stop."""
    merged = _replace(outputs)
    binding = [o for o in outputs if _blocks(o) or o.should_stop_execution()]
    if binding:
        for name in _BINDING_FIELDS:
            merged.pop(name, None)
        for output in binding:
            fields = output.to_wire()
            if not output.should_stop_execution():
                fields.pop("continue", None)
            if not _blocks(output):
                fields.pop("decision", None)
            merged.update({n: fields[n] for n in _BINDING_FIELDS if n in fields})
    merged["hookSpecificOutput"] = _united([o.hook_specific_output for o in outputs]) or {}
    return merged


def _select_tools(outputs: Outputs) -> Merged:
    """Tool selection: hooks can only narrow, and a block leaves no tool."""
    stopping = [o for o in outputs if o.should_stop_execution()]
    blocking = [o for o in outputs if _blocks(o)]
    specific: Merged = {"hookEventName": HookEventName.BEFORE_TOOL_SELECTION.value}
    tool_config = _NO_TOOLS if blocking else _narrowest(outputs)
    if tool_config is not None:
        specific["toolConfig"] = dict(tool_config)
    merged: Merged = {
        "continue": False if stopping else None,
        "stopReason": _joined([o.stop_reason for o in stopping]),
        "decision": blocking[-1].decision if blocking else None,
        "reason": _joined([o.reason for o in outputs if o in stopping or o in blocking]),
        "systemMessage": _joined([o.system_message for o in outputs]),
        "hookSpecificOutput": specific,
    }
    return {name: value for name, value in merged.items() if value is not None}


_NO_TOOLS: Merged = {"mode": "NONE", "allowedFunctionNames": []}
_MODES = ("AUTO", "ANY", "NONE")


def _narrowest(outputs: Outputs) -> Merged | None:
    configs = [
        config
        for output in outputs
        if isinstance(config := (output.hook_specific_output or {}).get("toolConfig"), dict)
    ]
    if not configs:
        return None
    modes = [config.get("mode") for config in configs]
    mode = max(_MODES.index(m) if m in _MODES else 0 for m in modes)
    lists = [set(names) for c in configs if (names := _names(c)) is not None]
    allowed = sorted(set.intersection(*lists)) if lists else None
    if _MODES[mode] == "NONE" or allowed == []:
        return _NO_TOOLS
    narrowed: Merged = {"mode": _MODES[mode]}
    return narrowed if allowed is None else {**narrowed, "allowedFunctionNames": allowed}


def _names(config: Merged) -> list[str] | None:
    value = config.get("allowedFunctionNames")
    named = isinstance(value, list) and all(isinstance(name, str) for name in value)
    return value if named else None


def _blocks(output: DefaultHookOutput) -> bool:
    return output.decision in BLOCKING_WORDS


def _strictest(outputs: Outputs) -> str | None:
    blocking = [o.decision for o in outputs if _blocks(o)]
    if blocking:
        return blocking[-1]
    return "ask" if any(o.is_ask_decision() for o in outputs) else None


def _joined(texts: Sequence[str | None]) -> str | None:
    return "\n".join(text for text in texts if text) or None


def _united(specifics: Sequence[dict[str, Any] | None]) -> Merged | None:
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
    return united


def _join_context(before: Any, value: Any) -> Any:
    if isinstance(before, str):
        return f"{before}\n{value}" if isinstance(value, str) else before
    return value


def _merge_objects(before: Any, value: Any) -> Any:
    if isinstance(before, dict):
        return {**before, **value} if isinstance(value, dict) else before
    return value


def _merge_requests(before: Any, value: Any) -> Any:
    if before is None or llm_request_problem(before) is not None:
        return value
    return merge_llm_request(before, value)


def _only_true(before: Any, value: Any) -> Any:
    return True if before is True or value is True else None


def _last_good(good: Callable[[object], bool]) -> Callable[[Any, Any], Any]:
    return lambda before, value: before if good(before) and not good(value) else value


_KEY_RULES: dict[str, Callable[[Any, Any], Any]] = {
    "additionalContext": _join_context,
    "clearContext": _only_true,
    "llm_request": _merge_requests,
    "llm_response": _last_good(is_llm_response),
    "tailToolCallRequest": _last_good(is_tail_tool_call),
    "tool_input": _merge_objects,
}

MERGE_RULES: dict[HookEventName, Callable[[Outputs], Merged]] = {
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
