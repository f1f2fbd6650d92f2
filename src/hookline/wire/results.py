"""The result of one hook, the merged result of an event, and the results without any hook.

They are msgspec structs, which are cheap: every event makes one, even if no hook matches.
"""

from typing import Any, Literal, TypeAlias

import msgspec

from hookline.errors import HooklineError, message_of
from hookline.wire.events import EventName
from hookline.wire.hooks import HookConfig
from hookline.wire.outputs import DefaultHookOutput

FailedKind: TypeAlias = Literal[
    "exit", "signal", "timeout", "spawn", "output_limit", "untrusted", "error", "malformed"
]
Stage: TypeAlias = Literal[
    "envelope", "validation", "planning", "translation", "execution", "aggregation", "response"
]

STAGE_CODES: dict[str, str] = {
    "envelope": "invalid_request",
    "validation": "invalid_payload",
    "planning": "planning_failed",
    "translation": "translation_failed",
    "execution": "execution_failed",
    "aggregation": "aggregation_failed",
    "response": "response_failed",
}


class HookExecutionPlan(msgspec.Struct, frozen=True):
    """The hooks that an event will run, in order, and whether each waits for the one before."""

    event_name: EventName
    hooks: tuple[HookConfig, ...]
    sequential: bool = False


class HookExecutionResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one hook. ``failed`` is None for a hook that did its work, even if it blocks;
    ``duration`` is in milliseconds. For an async hook the event knows only that it was
    ``started``: its own result follows when it ends."""

    hook: HookConfig
    event_name: EventName
    success: bool
    output: dict[str, Any] | None = None
    output_format: Literal["json", "text"] | None = None
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    signal: str | None = None
    failed: FailedKind | None = None
    error: str | None = None
    duration: float = 0.0
    warnings: tuple[str, ...] = ()
    started: bool = False


class HookError(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One failure, with the stage at which it happened."""

    code: str
    message: str
    stage: str
    event_name: str | None = None
    correlation_id: str | None = None
    hook: str | None = None
    details: Any = None


class AggregatedHookResult(msgspec.Struct, frozen=True):
    """The merged results of all hooks of an event. ``success`` says whether hooks failed, never
    what they decided: that is in ``final_output``. ``total_duration`` is the sum over all hooks, in
    milliseconds."""

    success: bool
    final_output: DefaultHookOutput | None = None
    all_outputs: list[dict[str, Any]] = []
    errors: list[HookError] = []
    total_duration: float = 0.0
    plan: HookExecutionPlan | None = None
    results: tuple[HookExecutionResult, ...] = ()


class FailureMeta(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an event that fails; ``duration`` is in milliseconds."""

    event_name: EventName | None = None
    correlation_id: str | None = None
    hook: str | None = None
    details: Any = None
    duration: float = 0.0


def make_empty_success_result() -> AggregatedHookResult:
    """Make the result of an event that no hook matched, with new lists each time."""
    return AggregatedHookResult(True)


def build_failure_envelope(
    error: object, stage: str, meta: FailureMeta | None = None
) -> AggregatedHookResult:
    """Make the result of an event for which the engine itself failed."""
    meta = meta or FailureMeta()
    # Errors of other libraries may have a ``code`` with another meaning.
    code = getattr(error, "code", None) if isinstance(error, HooklineError) else None
    failure = HookError(
        code=code or STAGE_CODES.get(stage, "internal_error"),
        message=message_of(error),
        stage=stage,
        event_name=meta.event_name,
        correlation_id=meta.correlation_id,
        hook=meta.hook,
        details=meta.details,
    )
    return AggregatedHookResult(False, None, [], [failure], meta.duration)
