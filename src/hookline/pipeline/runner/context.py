"""What all kinds of hooks are run with: the input they read, and the session and its rules."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from hookline.pipeline.dialects import DIALECTS
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookConfig, Redaction
from hookline.wire.results import FailedKind, HookExecutionResult


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on every hook: seconds between SIGTERM and SIGKILL, and bytes of output."""

    kill_grace: float = 5.0
    max_stdout: int = 10 * 1024 * 1024
    max_stderr: int = 1024 * 1024


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """The session an event belongs to, and the rules its hooks run under.

    ``why_untrusted`` says why a hook may not run, None if it may. ``warm`` is whether it is worth
    while to keep processes waiting for the next event. ``inherited`` are the variables that hooks
    inherit otherwise than this process has them, None for one that they do not inherit.
    """

    cwd: str
    project_dir: str
    session_id: str
    why_untrusted: Callable[[HookConfig], str | None]
    redaction: Redaction = Redaction()
    limits: RunLimits = RunLimits()
    warm: bool = True
    inherited: tuple[tuple[str, str | None], ...] = ()


class InputDocument(msgspec.Struct, frozen=True, eq=False):
    """The JSON object hooks read, encoded once for each dialect and copied for functions.

    Immutable, so that hooks in parallel can share it. ``cut`` says why hooks are not shown the
    whole input; it is empty where they are.
    """

    event: HookEventName
    payload: dict[str, Any]
    cut: str = ""
    _encoded: dict[str, bytes] = {}

    @classmethod
    def checked(
        cls, event: HookEventName, payload: dict[str, Any], cut: str = ""
    ) -> "InputDocument":
        """A document that is known to have a JSON form; raises PayloadEncodingError."""
        # The native document is the payload itself.
        return cls(event, payload, cut, {"native": codec.encode(payload)})

    def encoded(self, dialect: str = "native") -> bytes:
        """What a hook of that dialect reads on stdin; raises PayloadEncodingError."""
        known = self._encoded.get(dialect)
        if known is None:
            known = DIALECTS[dialect].write_input(self.event, self.payload)
            self._encoded[dialect] = known
        return known

    def copy(self, dialect: str = "native") -> dict[str, Any]:
        """What a function reads: its own copy, of exactly what a script would have read."""
        copy: dict[str, Any] = codec.decode(self._encoded.get(dialect) or self.encoded(dialect))
        return copy

    def followed_by(self, output: dict[str, Any] | None) -> "InputDocument":
        """What the next hook of a sequence reads after an answer."""
        payload = chain_input(self.event, self.payload, output or {})
        return self if payload is self.payload else InputDocument(self.event, payload, self.cut)


def failed_result(
    hook: HookConfig,
    document: InputDocument,
    failed: FailedKind,
    error: str,
    *,
    started: float | None = None,
) -> HookExecutionResult:
    """What became of a hook that did not answer; ``started`` is a time of ``time.perf_counter``,
    None for a hook that did not run."""
    return HookExecutionResult(
        hook=hook,
        event_name=document.event,
        success=False,
        failed=failed,
        error=error,
        duration=0.0 if started is None else (time.perf_counter() - started) * 1000,
    )


def chain_input(
    event: HookEventName, payload: dict[str, Any], output: dict[str, Any]
) -> dict[str, Any]:
    """The next hook's input; the same object when the answer changes nothing in it."""
    specific = output.get("hookSpecificOutput")
    if not isinstance(specific, dict):
        return payload
    if event is HookEventName.BEFORE_AGENT:
        context = specific.get("additionalContext")
        if isinstance(context, str) and context:
            return {**payload, "prompt": f"{payload['prompt']}\n\n{context}"}
    elif event is HookEventName.BEFORE_TOOL:
        before, changed = payload["tool_input"], specific.get("tool_input")
        if isinstance(changed, dict) and isinstance(before, Mapping):
            return {**payload, "tool_input": {**before, **changed}}
    elif event is HookEventName.BEFORE_MODEL:
        changed = specific.get("llm_request")
        if isinstance(changed, dict):
            # The model's format is loaded by the events of a model alone.
            from hookline.wire.model import merge_llm_request

            merged = merge_llm_request(payload["llm_request"], changed)
            return {**payload, "llm_request": merged}
    return payload
