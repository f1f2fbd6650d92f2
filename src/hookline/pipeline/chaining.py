"""How, in a sequential plan, one hook's answer changes what the next one reads."""

from collections.abc import Callable, Mapping
from typing import Any

from hookline.wire.events import HookEventName


def chain_input(
    event: HookEventName, payload: dict[str, Any], output: dict[str, Any]
) -> dict[str, Any]:
    """The next hook's input; the same object when the answer changes nothing in it."""
    specific = output.get("hookSpecificOutput")
    rule = _RULES.get(event)
    if rule is None or not isinstance(specific, dict):
        return payload
    return rule(payload, specific)


def _append_context(payload: dict[str, Any], specific: dict[str, Any]) -> dict[str, Any]:
    context = specific.get("additionalContext")
    if not isinstance(context, str) or not context:
        return payload
    return {**payload, "prompt": f"{payload['prompt']}\n\n{context}"}


def _merge_tool_input(payload: dict[str, Any], specific: dict[str, Any]) -> dict[str, Any]:
    before, changed = payload["tool_input"], specific.get("tool_input")
    if not isinstance(changed, dict) or not isinstance(before, Mapping):
        return payload
    return {**payload, "tool_input": {**before, **changed}}


def _merge_request(payload: dict[str, Any], specific: dict[str, Any]) -> dict[str, Any]:
    # The model's format is loaded by the events of a model alone.
    from hookline.wire.model import merge_llm_request

    changed = specific.get("llm_request")
    if not isinstance(changed, dict):
        return payload
    return {**payload, "llm_request": merge_llm_request(payload["llm_request"], changed)}


_RULES: dict[HookEventName, Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]] = {
    HookEventName.BEFORE_AGENT: _append_context,
    HookEventName.BEFORE_TOOL: _merge_tool_input,
    HookEventName.BEFORE_MODEL: _merge_request,
}
