"""From one hook's result to the answer a caller gets, and the two factories that make the ends.

They are msgspec structs because one is built for every event an agent fires, matched or not.
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
    """The hooks an event will run, in order, and whether one waits for another."""

    event_name: EventName
    hooks: tuple[HookConfig, ...]
    sequential: bool = False


class HookExecutionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one hook. ``failed`` is None for a hook that did its work, a block included;
    ``duration`` is in milliseconds. Of a hook that nobody waits for, an event knows only that it
    was ``started``: it has no output yet, and what becomes of it is told when it ends."""

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
    """One thing that went wrong, with the stage it went wrong at."""

    code: str
    message: str
    stage: str
    event_name: str | None = None
    correlation_id: str | None = None
    hook: str | None = None
    details: Any = None


class AggregatedHookResult(msgspec.Struct, frozen=True):
    """All hooks of one event merged. ``success`` is execution health, never policy: whether to go
    on is for ``final_output`` to say. ``total_duration`` is the sum over hooks, in milliseconds."""

    success: bool
    final_output: DefaultHookOutput | None = None
    all_outputs: list[dict[str, Any]] = []
    errors: list[HookError] = []
    total_duration: float = 0.0
    plan: HookExecutionPlan | None = None
    results: tuple[HookExecutionResult, ...] = ()


class FailureMeta(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an event when it fails; ``duration`` is in milliseconds."""

    event_name: EventName | None = None
    correlation_id: str | None = None
    hook: str | None = None
    details: Any = None
    duration: float = 0.0


def make_empty_success_result() -> AggregatedHookResult:
    """The answer of an event nobody hooked; a new one each time, lists included."""
    return AggregatedHookResult(True)


def build_failure_envelope(
    error: object, stage: str, meta: FailureMeta | None = None
) -> AggregatedHookResult:
    """The answer of an event that went wrong in the engine itself: never a success."""
    meta = meta or FailureMeta()
    # Errors of other libraries have codes of their own, which are none of ours.
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
