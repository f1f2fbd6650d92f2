"""The steps of a session as a watcher tells them: what happened, what fired, what came of it.

An event that says what it said the time before is no news: it is counted and not told again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.agent.providers import FunctionCall
from hookline.agent.scheduler import CallStatus, ScheduledCall
from hookline.cli.demo_tools import describe, not_done
from hookline.debuglog import DebugLogger
from hookline.toolcall import BLOCKED_BY_HOOK
from hookline.wire.events import HookEventName
from hookline.wire.outputs import BeforeToolHookOutput, DefaultHookOutput
from hookline.wire.results import ProcessedHookResult

Word: TypeAlias = Literal[
    "added", "restricted", "blocked", "refused", "rewritten", "redacted", "failed", "allowed"
]
Tell: TypeAlias = Callable[["Step"], None]

# Events that end a step, and how that step is told.
_ALWAYS_TOLD: dict[HookEventName, str] = {
    HookEventName.SESSION_START: "the session starts",
    HookEventName.BEFORE_AGENT: "the user asks:",
    HookEventName.SESSION_END: "the session ends",
}
_TOLD_AS_NEWS: dict[HookEventName, str] = {
    HookEventName.BEFORE_MODEL: "the agent is about to call the model",
    HookEventName.AFTER_AGENT: "the turn ends",
}
_BEFORE_MODEL = (HookEventName.BEFORE_TOOL_SELECTION, HookEventName.BEFORE_MODEL)


class Fired(msgspec.Struct, frozen=True):
    """One event; ``payload`` is what its hooks read, None when it has none."""

    event: HookEventName
    target: str
    processed: ProcessedHookResult
    payload: Mapping[str, Any] | None
    is_news: bool

    @property
    def output(self) -> DefaultHookOutput:
        """What the hooks said together."""
        return self.processed.final_output or DefaultHookOutput()

    def said(self, name: str) -> Any:
        """A field of what is the event's own in that."""
        return (self.output.hook_specific_output or {}).get(name)


class Outcome(msgspec.Struct, frozen=True):
    """What hooks changed, or what came of a call."""

    word: Word
    text: str


class Step(msgspec.Struct, frozen=True):
    """Something that happened: ``shows`` is the very text it is about."""

    says: str
    shows: str
    fired: tuple[Fired, ...]
    outcomes: tuple[Outcome, ...]
    call: FunctionCall | None = None


class Watch(DebugLogger):
    """Sees each event as it fires, and keeps the log that the environment asks for."""

    def __init__(self, *given: Any, see: Callable[..., None], **options: Any) -> None:
        super().__init__(*given, **options)
        self._see = see

    @property
    def enabled(self) -> bool:
        """Events that no hook matched count as well."""
        return True

    def event(
        self,
        processed: ProcessedHookResult,
        payload: Mapping[str, Any] | None,
        *,
        session_id: str,
        event: str,
        target: str,
    ) -> None:
        """Log the event, so that what is wrong with it is heard first, and hand it on."""
        super().event(processed, payload, session_id=session_id, event=event, target=target)
        self._see(HookEventName(event), target, processed, payload)


class Recorder:
    """Puts events into steps and tells each step when it is complete."""

    def __init__(self, prompt: str, tell: Tell) -> None:
        self._prompt = prompt
        self._tell = tell
        self._open: list[Fired] = []
        self._last_said: dict[HookEventName, list[Any]] = {}
        self._of_calls: dict[int, list[Fired]] = {}
        # Calls of one response run at once, each in a task of its own.
        self._of_this_call: ContextVar[list[Fired] | None] = ContextVar("call", default=None)

    def see(
        self,
        event: HookEventName,
        target: str,
        processed: ProcessedHookResult,
        payload: Mapping[str, Any] | None,
    ) -> None:
        """An event has fired."""
        fired = Fired(event, target, processed, payload, self._is_news(event, processed))
        of_call = self._of_this_call.get()
        if of_call is not None:
            of_call.append(fired)
            return
        self._open.append(fired)
        if event in _ALWAYS_TOLD or (event in _TOLD_AS_NEWS and self._has_news()):
            says = {**_ALWAYS_TOLD, **_TOLD_AS_NEWS}[event]
            self._close(says, self._prompt if event is HookEventName.BEFORE_AGENT else "")

    def on_status(self, call: FunctionCall, status: CallStatus) -> None:
        """A call of a tool has begun; what fires in its task from here on is its own."""
        if status is CallStatus.EXECUTING:
            fired = self._of_calls[id(call)] = []
            self._of_this_call.set(fired)

    def publish(self, done: ScheduledCall) -> None:
        """A call of a tool is over."""
        fired = self._of_calls.pop(id(done.call))
        self._open += fired
        verb, thing = describe(done.call)
        self._close(f"the model asks to {verb}", thing, [_result(done, fired)], done.call)

    def answered(self, text: str, *, is_last: bool) -> None:
        """The user is shown what the model says; it may have nothing to say beside its calls."""
        if text or self._has_news():
            self._close("the model answers:" if is_last else "the model says:", text)

    def _is_news(self, event: HookEventName, processed: ProcessedHookResult) -> bool:
        said = [result.failed or result.output for result in processed.results]
        before, self._last_said[event] = self._last_said.get(event, []), said
        if event in _BEFORE_MODEL:
            return any(said) and said != before
        return any(said) if event is HookEventName.AFTER_MODEL else bool(said)

    def _has_news(self) -> bool:
        return any(fired.is_news for fired in self._open)

    def _close(
        self,
        says: str,
        shows: str = "",
        results: Sequence[Outcome] = (),
        call: FunctionCall | None = None,
    ) -> None:
        fired, self._open = tuple(self._open), []
        changes = [change for each in fired if each.is_news for change in _changes(each)]
        self._tell(Step(says, shows, fired, (*changes, *results), call))


def _changes(fired: Fired) -> Iterator[Outcome]:
    """What the hooks of one event changed for the model or the user; a tool call has a result."""
    if context := fired.output.get_additional_context():
        yield Outcome("added", f"the model reads: {context}")
    if message := fired.output.system_message:
        yield Outcome("added", f"a message: {message}")
    if fired.event in _CHANGES:
        if fired.output.should_stop_execution():
            yield Outcome("blocked", "the turn ends here")
        yield from _CHANGES[fired.event](fired)


def _prompt(fired: Fired) -> Iterator[Outcome]:
    if fired.output.is_blocking_decision():
        yield Outcome("blocked", "the turn does not begin")


def _selection(fired: Fired) -> Iterator[Outcome]:
    allowed = (fired.said("toolConfig") or {}).get("allowedFunctionNames")
    available = (fired.payload or {}).get("available_tools") or []
    if allowed is not None:
        gone = [name for name in available if name not in allowed]
        yield Outcome("restricted", f"the model may not use {', '.join(gone) or 'other tools'}")


def _request(fired: Fired) -> Iterator[Outcome]:
    if fired.output.is_blocking_decision():
        yield Outcome("blocked", "the model is not called")
    elif fired.said("llm_request"):
        yield Outcome("rewritten", "the model gets another request")


def _response(fired: Fired) -> Iterator[Outcome]:
    if fired.output.is_blocking_decision():
        yield Outcome("blocked", "the answer is discarded")
    elif fired.said("llm_response"):
        yield Outcome("redacted", "only this is shown, and kept in the history")


def _after_turn(fired: Fired) -> Iterator[Outcome]:
    if fired.output.is_blocking_decision():
        yield Outcome("blocked", "the agent is sent back to work with the reason")


_CHANGES: dict[HookEventName, Callable[[Fired], Iterator[Outcome]]] = {
    HookEventName.BEFORE_AGENT: _prompt,
    HookEventName.BEFORE_TOOL_SELECTION: _selection,
    HookEventName.BEFORE_MODEL: _request,
    HookEventName.AFTER_MODEL: _response,
    HookEventName.AFTER_AGENT: _after_turn,
}


def _result(done: ScheduledCall, fired: Sequence[Fired]) -> Outcome:
    """What came of a call of a tool."""
    error = done.result.error
    if done.result.stop_reason is not None:
        return Outcome("blocked", "the turn ends here")
    if error is None:
        return _success(done, fired)
    if error.type == "tool_not_allowed":
        return Outcome("refused", f"{done.call.name} is not among the tools that hooks left")
    if error.type != BLOCKED_BY_HOOK:
        return Outcome("failed", error.message)
    if any(each.output.is_ask_decision() for each in fired):
        return Outcome("blocked", "the user is asked, and in this demo says no")
    return Outcome("blocked", f"{not_done(done.call)}; the model reads the reason")


def _success(done: ScheduledCall, fired: Sequence[Fired]) -> Outcome:
    display = str(done.display or "not shown")
    outputs = [each.output for each in fired]
    rewritten = any(
        isinstance(output, BeforeToolHookOutput) and output.get_modified_tool_input()
        for output in outputs
    )
    return Outcome("rewritten" if rewritten else "allowed", display)
