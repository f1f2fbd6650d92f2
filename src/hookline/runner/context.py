"""What every kind of hook runs with: the input it reads, the session, and the session's rules."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from hookline.dialects import DIALECTS, EventDocument
from hookline.wire import codec
from hookline.wire.events import EventName, HookEventName
from hookline.wire.fired import NO_FACTS, Facts
from hookline.wire.hooks import HookConfig, Redaction
from hookline.wire.outputs import change_tool_input
from hookline.wire.results import FailedKind, HookExecutionResult

# Native hooks do not need the table.
if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias


class Judge(Protocol):
    """A function, plain or async, that puts a question to a model and returns the model's reply.

    Prompt hooks call it. The question tells the model all that it needs to know; the reply must be
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

    ``why_untrusted`` returns why a hook may not run, None if it may. ``warm`` allows processes that
    wait for the next event. ``inherited`` are the variables whose value for hooks differs from this
    process's, None for one that hooks do not inherit. ``tools`` are the host's tools as other
    dialects name them, and ``shared_env`` the variables that the user's and the system's settings
    give all hooks of these dialects; both only where there are such hooks. ``judge`` answers prompt
    hooks; ``private_hosts`` are the hosts on private networks that a project's hooks may reach, and
    ``hook_state`` is the folder of the user's in which they may write.
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
    hook_state: str | None = None


class InputDocument(EventDocument, frozen=True, eq=False):
    """The JSON object hooks read, encoded once for each dialect and copied for functions.

    Immutable, so that parallel hooks can share it. ``cut`` says why hooks do not see the whole
    input; it is empty if they do.
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
        """Make a document that has a JSON form; raises PayloadEncodingError."""
        # The native document is the payload itself.
        return cls(event, payload, facts, tools, cut, {"native": codec.encode(payload)})

    def encoded(self, dialect: str = "native") -> bytes:
        """Return what a hook of that dialect reads on stdin; raises HooklineError."""
        text = self._encoded.get(dialect)
        if text is None:
            text = DIALECTS[dialect].write_input(self)
            self._encoded[dialect] = text
        return text

    def copy(self, dialect: str = "native") -> dict[str, Any]:
        """Return what a function reads: its own copy of exactly what a script would read."""
        copy: dict[str, Any] = codec.decode(self._encoded.get(dialect) or self.encoded(dialect))
        return copy

    def followed_by(self, output: dict[str, Any] | None) -> "InputDocument":
        """Return what the next hook of a sequence reads after an answer."""
        payload = chain_input(self.event, self.payload, output or {})
        if payload is self.payload:
            return self
        # The event as the host worded it no longer applies.
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
    """Return the result of a hook that did not answer; ``started`` is a time of
    ``time.perf_counter``, None for a hook that did not run."""
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
    """Return the next hook's input; the same object if the answer does not change it."""
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
            # Only model events load the model's format.
            from hookline.wire.model import merge_llm_request

            merged = merge_llm_request(payload["llm_request"], changed)
            return {**payload, "llm_request": merged}
    return payload
