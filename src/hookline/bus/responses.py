"""Reads the response of a worker. A malformed response counts as no response, except for a denial
in it, which always counts."""

from collections.abc import Mapping
from typing import Any, Literal, cast

import msgspec

from hookline._support.nearest import only_one
from hookline.bus.messages import HookExecutionResponse
from hookline.errors import HooklineError
from hookline.wire.events import EventName, HookEventName
from hookline.wire.model import is_llm_response
from hookline.wire.outputs import BLOCKING_WORDS, DECISION_WORDS, TOP_LEVEL_FIELDS
from hookline.wire.results import HookError

# Characters of a reason in a response that is cut down to its denial.
_KEPT_REASON = 10_000


class HookWarning(msgspec.Struct, frozen=True):
    """A worker's warning about the answer of one of its hooks."""

    hook: str
    message: str


class Execution(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the hooks of a worker answered, in wire names."""

    success: bool
    final_output: dict[str, Any] | None
    all_outputs: list[dict[str, Any]]
    errors: list[HookError]
    total_duration: float


class Completed(msgspec.Struct, frozen=True):
    """The response to a request whose stages all completed. ``policy`` is the digest of the
    worker's hooks in force, ``required`` lists those of the request that are in force, ``missing``
    says why the others are not; ``warnings`` are about the answers of its hooks."""

    success: Literal[True]
    output: Execution
    error: None = None
    policy: str | None = None
    required: list[str] | None = None
    missing: dict[str, str] = {}
    warnings: list[HookWarning] = []


class IncompleteExecution(HooklineError):
    """A response that failed or is malformed; ``denial`` is the denial that it still contains, in
    the form of a hook's output."""

    def __init__(
        self, code: str, problem: str, *, stage: str, denial: dict[str, Any] | None
    ) -> None:
        self.code = code
        self.stage = stage
        self.denial = denial
        super().__init__(problem)


class _Failure(msgspec.Struct, frozen=True):
    message: str = "the worker gave no reason"
    code: str = "internal_error"
    details: Any = None


class _Failed(msgspec.Struct, frozen=True):
    success: Literal[False]
    error: _Failure = _Failure()


class _FinalOutput(msgspec.Struct, frozen=True, rename="camel"):
    continue_: bool | None = msgspec.field(default=None, name="continue")
    stop_reason: str | None = None
    suppress_output: bool | None = None
    system_message: str | None = None
    decision: Literal["allow", "approve", "ask", "block", "deny"] | None = None
    reason: str | None = None
    hook_specific_output: dict[str, Any] | None = None


def read_completed(response: Any, event: EventName) -> Completed:
    """Read the response to a request for that event; raises IncompleteExecution."""
    fields = response if isinstance(response, dict) else {}
    try:
        if fields.get("success") is False:
            failure = msgspec.convert(fields, _Failed).error
            details = failure.details if isinstance(failure.details, dict) else {}
            code, message = failure.code, failure.message
            stage = str(details.get("stage", "response"))
        else:
            completed = msgspec.convert(response, Completed)
            _check_final_output(completed.output, event)
            return completed
    except msgspec.ValidationError as error:
        code, message, stage = "invalid_response", f"malformed response: {error}", "response"
    raise IncompleteExecution(code, message, stage=stage, denial=find_denial(fields.get("output")))


def _check_final_output(output: Execution, event: EventName) -> None:
    """Raise ValidationError for a final output that no worker would send."""
    final = output.final_output
    if final is None:
        if output.all_outputs:
            raise msgspec.ValidationError("it has outputs of hooks, but no finalOutput")
        return
    read = msgspec.convert(final, _FinalOutput)
    for name in final:
        if name not in TOP_LEVEL_FIELDS and (correction := only_one(name, TOP_LEVEL_FIELDS)):
            raise msgspec.ValidationError(f"finalOutput has {name!r}; did it mean {correction!r}?")
    if event is HookEventName.BEFORE_TOOL and not read.decision and read.continue_ is not False:
        word = (read.hook_specific_output or {}).get("permissionDecision")
        if word is not None and not (isinstance(word, str) and word in DECISION_WORDS):
            raise msgspec.ValidationError(f"permissionDecision {word!r} is not a decision")


def find_denial(output: Any) -> dict[str, Any] | None:
    """Return the denial in an output that may be malformed: that of the final output or else of
    the first hook that denies."""
    if not isinstance(output, dict):
        return None
    outputs = output.get("allOutputs")
    for answer in (output.get("finalOutput"), *(outputs if isinstance(outputs, list) else ())):
        if not isinstance(answer, dict):
            continue
        specific = answer.get("hookSpecificOutput")
        specific = specific if isinstance(specific, dict) else {}
        denial: dict[str, Any] = {}
        if any(map(_is_blocking, (answer.get("decision"), specific.get("permissionDecision")))):
            denial["decision"] = "deny"
        if _is_stop(answer.get("continue")):
            denial["continue"] = False
        if denial:
            for source, name, field in (
                (specific, "permissionDecisionReason", "reason"),
                (answer, "reason", "reason"),
                (answer, "stopReason", "stopReason"),
            ):
                if isinstance(text := source.get(name), str):
                    denial[field] = text
            return denial
    return None


def shorten_denial(
    response: Mapping[str, Any], event_name: object, problem: str
) -> HookExecutionResponse | None:
    """Cut a response that cannot be sent down to its denial and the problem; None if it does not
    deny. Otherwise a guarded agent could escape a denial by making it too long."""
    output = response.get("output")
    final = output.get("finalOutput") if isinstance(output, dict) else None
    if not isinstance(output, dict) or not isinstance(final, dict):
        return None
    denial = find_denial({"finalOutput": final})
    if denial is None:
        specific = final.get("hookSpecificOutput") or {}
        is_before_model = event_name == HookEventName.BEFORE_MODEL
        if not is_before_model or not is_llm_response(specific.get("llm_response")):
            return None
        reason = "a hook answered in the model's place, but its response is too long to send"
        denial = {"decision": "deny", "reason": reason}
    for name in ("reason", "stopReason"):
        if len(text := denial.get(name, "")) > _KEPT_REASON:
            denial[name] = f"{text[:_KEPT_REASON]}… (+{len(text) - _KEPT_REASON} characters)"
    message = f"only the denial was sent: {problem}"
    error = HookError(code="response_shortened", message=message, stage="response")
    execution: Any = {
        "success": False,
        "finalOutput": denial,
        "allOutputs": [denial],
        "errors": [msgspec.to_builtins(error)],
        "totalDuration": output.get("totalDuration", 0.0),
    }
    return cast(HookExecutionResponse, {**response, "output": execution})


def _is_blocking(word: object) -> bool:
    return isinstance(word, str) and word.strip().lower() in BLOCKING_WORDS


def _is_stop(word: object) -> bool:
    if isinstance(word, str):
        return word.strip().lower() in ("false", "no", "0")
    return isinstance(word, int | float) and not word
