"""One word for what a hook did, one for what an event came to, the same wherever it is shown."""

from typing import Any, Literal, TypeAlias

from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.outputs import (
    NO_REASON,
    BeforeModelHookOutput,
    DefaultHookOutput,
    create_hook_output,
)

EventWord: TypeAlias = Literal["allowed", "blocked", "stop", "ask"]

# What a hook does that decides nothing, by the field it answers with.
_DOES: dict[str, str] = {
    "tool_input": "rewrites",
    "llm_request": "rewrites",
    "llm_response": "rewrites",
    "toolConfig": "restricts",
    "additionalContext": "adds",
}


def event_decision(
    event: HookEventName, output: DefaultHookOutput | None
) -> tuple[EventWord, str | None]:
    """What the merged output means; an event that cannot be blocked goes on whatever it says."""
    if output is None:
        return "allowed", None
    if EVENTS[event].blockable:
        if output.should_stop_execution():
            return "stop", output.get_effective_reason()
        if output.is_blocking_decision():
            return "blocked", _reason(output)
    if output.is_ask_decision():
        return "ask", output.get_effective_reason()
    return "allowed", None


def hook_decision(
    event: HookEventName,
    output: dict[str, Any] | None,
    *,
    failed: str | None = None,
    exit_code: int | None = None,
    signal: str | None = None,
) -> tuple[str, str]:
    """A hook's own decision and its reason, in a few words where it failed."""
    if failed is not None:
        if failed == "exit":
            return "failed", f"exit {exit_code}"
        killed = signal if failed == "signal" else None
        return "failed", killed or failed.replace("_", " ")
    if output is None:
        return "ok", ""
    said = create_hook_output(event, output)
    return _word(said), said.stop_reason or said.reason or ""


def _reason(output: DefaultHookOutput) -> str:
    reason = output.get_effective_reason()
    if reason == NO_REASON and isinstance(output, BeforeModelHookOutput):
        # The model's format is loaded by the events of a model alone.
        from hookline.wire.model import is_llm_response

        response = (output.hook_specific_output or {}).get("llm_response")
        return "a hook answers in the model's place" if is_llm_response(response) else reason
    return reason


def _word(output: DefaultHookOutput) -> str:
    if output.should_stop_execution():
        return "stop"
    if output.is_blocking_decision():
        return output.decision or "answers"
    given = output.hook_specific_output or {}
    did = next((word for field, word in _DOES.items() if given.get(field)), "ok")
    return output.decision or did
