"""What all kinds of hooks are run with: the input they read, and the session and its rules."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.fired import NO_FACTS, Facts
from hookline.pipeline.dialects import DIALECTS, EventDocument
from hookline.wire import codec
from hookline.wire.events import EventName, HookEventName
from hookline.wire.hooks import HookConfig, Redaction
from hookline.wire.outputs import change_tool_input
from hookline.wire.results import FailedKind, HookExecutionResult

# Native hooks are spared the table.
if TYPE_CHECKING:
    from hookline.pipeline.dialects.tools import ToolAlias


class Judge(Protocol):
    """A function, plain or async, that puts a question to a model and gives the model's answer.

    Prompt hooks ask it. The question says all that the model needs to know; the answer is to be
    one JSON object, ``{"ok": true}`` or ``{"ok": false, "reason": "…"}``.
    """

    def __call__(self, question: str, /) -> Awaitable[str] | str: ...


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on every hook: seconds between SIGTERM and SIGKILL, and bytes of output."""

    kill_grace: float = 5.0
    max_stdout: int = 10 * 1024 * 1024
    max_stderr: int = 1024 * 1024


class RunContext(msgspec.Struct, frozen=True, kw_only=True):
    """The session an event belongs to, and the rules its hooks run under.

    ``why_untrusted`` says why a hook may not run, None if it may. ``warm`` is whether it is worth
    while to keep processes waiting for the next event. ``inherited`` are the variables that hooks
    inherit otherwise than this process has them, None for one that they do not inherit. ``tools``
    are the host's as Claude Code calls them, ``shared_env`` the variables that the user and the
    system give all hooks of Claude Code, both only where there are such hooks. ``judge`` answers
    the questions of prompt hooks; ``private_hosts`` are those of a private network that a
    project's hooks may be sent to.
    """

    cwd: str
    project_dir: str
    session_id: str
    why_untrusted: Callable[[HookConfig], str | None]
    redaction: Redaction = Redaction()
    limits: RunLimits = RunLimits()
    warm: bool = True
    tools: "Mapping[str, ToolAlias] | None" = None
    shared_env: Mapping[str, str] = {}
    judge: "Judge | None" = None
    private_hosts: tuple[str, ...] = ()
    inherited: tuple[tuple[str, str | None], ...] = ()


class InputDocument(EventDocument, frozen=True, eq=False):
    """The JSON object hooks read, encoded once for each dialect and copied for functions.

    Immutable, so that hooks in parallel can share it. ``cut`` says why hooks are not shown the
    whole input; it is empty where they are.
    """

    cut: str = ""
    _encoded: dict[str, bytes] = msgspec.field(default_factory=dict)

    @classmethod
    def checked(
        cls,
        event: EventName,
        payload: dict[str, Any],
        cut: str = "",
        *,
        facts: Facts = NO_FACTS,
        tools: "Mapping[str, ToolAlias] | None" = None,
    ) -> "InputDocument":
        """A document that is known to have a JSON form; raises PayloadEncodingError."""
        # The native document is the payload itself.
        return cls(event, payload, facts, tools, cut, {"native": codec.encode(payload)})

    def encoded(self, dialect: str = "native") -> bytes:
        """What a hook of that dialect reads on stdin; raises HooklineError."""
        known = self._encoded.get(dialect)
        if known is None:
            known = DIALECTS[dialect].write_input(self)
            self._encoded[dialect] = known
        return known

    def copy(self, dialect: str = "native") -> dict[str, Any]:
        """What a function reads: its own copy, of exactly what a script would have read."""
        copy: dict[str, Any] = codec.decode(self._encoded.get(dialect) or self.encoded(dialect))
        return copy

    def followed_by(self, output: dict[str, Any] | None) -> "InputDocument":
        """What the next hook of a sequence reads after an answer."""
        payload = chain_input(self.event, self.payload, output or {})
        if payload is self.payload:
            return self
        # What was worded elsewhere is not what it has become.
        facts = msgspec.structs.replace(self.facts, original=None)
        return InputDocument(self.event, payload, facts, self.tools, self.cut)


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
    event: EventName, payload: dict[str, Any], output: dict[str, Any]
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
        before = payload["tool_input"]
        if isinstance(before, Mapping):
            changed = change_tool_input(before, specific)
            return payload if changed is before else {**payload, "tool_input": changed}
    elif event is HookEventName.BEFORE_MODEL:
        changed = specific.get("llm_request")
        if isinstance(changed, dict):
            # The model's format is loaded by the events of a model alone.
            from hookline.wire.model import merge_llm_request

            merged = merge_llm_request(payload["llm_request"], changed)
            return {**payload, "llm_request": merged}
    return payload
