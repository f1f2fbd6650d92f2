"""The steps of a session as a viewer sees them: what happened, which events fired, the outcomes.

An event whose hooks answer the same as last time is counted, but not shown again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.agent.scheduler import CallStatus, ScheduledCall
from hookline.agent.turns import FunctionCall
from hookline.calls.tool import BLOCKED_BY_HOOK
from hookline.cli.demo.tools import describe, describe_block
from hookline.cli.fire import decide
from hookline.pipeline.answer import Answer, ProcessedHookResult
from hookline.trace.records import DebugLogger
from hookline.wire.events import EventName, HookEventName
from hookline.wire.fired import FiredEvent

Word: TypeAlias = Literal[
    "added", "restricted", "blocked", "refused", "rewritten", "redacted", "failed", "allowed"
]
Tell: TypeAlias = Callable[["Step"], None]

# Events that end a step, and the text that introduces that step.
_ALWAYS_SHOWN: dict[EventName, str] = {
    HookEventName.SESSION_START: "the session starts",
    HookEventName.BEFORE_AGENT: "the user asks:",
    HookEventName.SESSION_END: "the session ends",
}
_SHOWN_IF_NEWS: dict[EventName, str] = {
    HookEventName.BEFORE_MODEL: "the agent is about to call the model",
    HookEventName.AFTER_AGENT: "the turn ends",
}
_BEFORE_MODEL = (HookEventName.BEFORE_TOOL_SELECTION, HookEventName.BEFORE_MODEL)
_TOOL_EVENTS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL)
# These are shown only if a hook answered something.
_SHOWN_IF_ANSWERED = (*_BEFORE_MODEL, HookEventName.AFTER_MODEL)
# What a block does; for a tool's events the result of the call says it.
_BLOCKS: dict[EventName, str] = {
    HookEventName.BEFORE_AGENT: "the turn does not begin",
    HookEventName.BEFORE_MODEL: "the model is not called",
    HookEventName.AFTER_MODEL: "the answer is discarded",
    HookEventName.AFTER_AGENT: "the agent is sent back to work with the reason",
}


class Effect(msgspec.Struct, frozen=True):
    """What hooks changed, or the result of a call."""

    word: Word
    text: str


class Fired(msgspec.Struct, frozen=True):
    """One event; ``payload`` is what its hooks read, None when it has none."""

    fired: FiredEvent
    answer: Answer
    payload: Mapping[str, Any] | None
    is_news: bool

    @property
    def event(self) -> EventName:
        """Which event it is."""
        return self.fired.event

    def find_changes(self) -> Iterator[Effect]:
        """Yield what its hooks changed for the model or the user; a call has its own result."""
        answer, event, get_field = self.answer, self.event, self.fired.field
        if answer.context:
            yield Effect("added", f"the model reads: {answer.context}")
        if answer.message:
            yield Effect("added", f"a message: {answer.message}")
        if event in _BLOCKS and answer.blocked:
            yield Effect("blocked", "the turn ends here" if answer.stopped else _BLOCKS[event])
        elif event is HookEventName.BEFORE_TOOL_SELECTION:
            if answer.stopped:
                yield Effect("blocked", "the turn ends here")
            elif answer.tools is not None:
                available = (self.payload or {}).get("available_tools") or []
                removed = ", ".join(name for name in available if name not in answer.tools)
                yield Effect("restricted", f"the model may not use {removed or 'other tools'}")
        elif event is HookEventName.BEFORE_MODEL and answer.request is not get_field("llm_request"):
            yield Effect("rewritten", "the model gets another request")
        elif event is HookEventName.AFTER_MODEL and answer.response is not get_field(
            "llm_response"
        ):
            yield Effect("redacted", "only this is shown, and kept in the history")


class Step(msgspec.Struct, frozen=True):
    """One step of the session; ``shows`` is the text it is about, such as the prompt."""

    says: str
    shows: str
    fired: tuple[Fired, ...]
    outcomes: tuple[Effect, ...]
    call: FunctionCall | None = None

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to show."""
        return not (self.shows or self.outcomes or any(fired.is_news for fired in self.fired))

    def document(self) -> dict[str, Any]:
        """Return the step for ``--json``, with every hook that ran."""
        events = []
        for record in self.fired:
            hooks = []
            for result in record.answer.results:
                word, why = decide(result)
                facts = {"hook": result.hook.name, "duration_ms": round(result.duration, 3)}
                hooks.append({**facts, "decision": word, "reason": why, "output": result.output})
            about = {"tool": record.fired.target} if record.event in _TOOL_EVENTS else {}
            events.append({"event": record.event.value, **about, "hooks": hooks})
        call = {"tool": self.call.name, "input": self.call.args} if self.call is not None else {}
        outcomes = [{"outcome": each.word, "text": each.text} for each in self.outcomes]
        what = f"{self.says} {self.shows}".strip()
        return {"what": what, **call, "events": events, "outcomes": outcomes}


class Watch(DebugLogger):
    """Passes each event on as it fires, and also writes the log if HOOKLINE_TRACE asks for it."""

    def __init__(self, *arguments: Any, see: Callable[..., None], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._see = see

    @property
    def enabled(self) -> bool:
        """Always True: events that no hook matched count as well."""
        return True

    def event(
        self,
        processed: ProcessedHookResult,
        payload: Mapping[str, Any] | None,
        *,
        session_id: str,
        event: str,
        target: str,
        actor: Mapping[str, Any] | None = None,
    ) -> None:
        """Log the event first, so that its warnings come first, then pass it on."""
        about = {"session_id": session_id, "event": event, "target": target}
        super().event(processed, payload, **about, actor=actor)
        self._see(processed, payload)


class Recorder:
    """Groups events into steps, and passes each step to ``tell`` when it is complete."""

    def __init__(self, prompt: str, tell: Tell) -> None:
        self._prompt = prompt
        self._tell = tell
        self._open: list[Fired] = []
        # The pieces of an answer that is not shown yet: no hook may hold a stream back.
        self._pieces: list[str] = []
        self._last_said: dict[EventName, list[Any]] = {}
        self._of_calls: dict[int, list[Fired]] = {}
        # Calls of one response run at the same time, each in its own task.
        self._of_this_call: ContextVar[list[Fired] | None] = ContextVar("call", default=None)

    def see(self, answer: Answer, payload: Mapping[str, Any] | None) -> None:
        """Record an event that has fired."""
        assert answer.fired is not None
        event = answer.fired.event
        outputs = [result.failed or result.output for result in answer.results]
        before, self._last_said[event] = self._last_said.get(event, []), outputs
        is_news = any(outputs) if event in _SHOWN_IF_ANSWERED else bool(outputs)
        if event in _BEFORE_MODEL and outputs == before:
            is_news = False
        record = Fired(answer.fired, answer, payload, is_news)
        of_call = self._of_this_call.get()
        if of_call is not None:
            of_call.append(record)
            return
        if event is not HookEventName.AFTER_MODEL:
            self.show_answer(is_last=event is HookEventName.AFTER_AGENT)
        self._open.append(record)
        if event in _ALWAYS_SHOWN or (event in _SHOWN_IF_NEWS and self._has_news()):
            says = {**_ALWAYS_SHOWN, **_SHOWN_IF_NEWS}[event]
            self._close_step(says, self._prompt if event is HookEventName.BEFORE_AGENT else "")

    def on_status(self, call: FunctionCall, status: CallStatus) -> None:
        """Record that a tool call has begun; events in its task belong to it from now on."""
        if status is CallStatus.EXECUTING:
            self.show_answer(is_last=False)
            fired = self._of_calls[id(call)] = []
            self._of_this_call.set(fired)

    def publish(self, scheduled: ScheduledCall) -> None:
        """Close the step of a tool call that has ended."""
        fired = self._of_calls.pop(id(scheduled.call))
        self._open += fired
        verb, thing = describe(scheduled.call)
        error = scheduled.result.error
        if scheduled.result.stop_reason is not None:
            result = Effect("blocked", "the turn ends here")
        elif error is None:
            is_rewritten = any(e.answer.tool_input != e.fired.field("tool_input") for e in fired)
            word: Word = "rewritten" if is_rewritten else "allowed"
            result = Effect(word, str(scheduled.display or "not shown"))
        elif error.type == "tool_not_allowed":
            result = Effect(
                "refused", f"{scheduled.call.name} is not among the tools that hooks left"
            )
        elif error.type != BLOCKED_BY_HOOK:
            result = Effect("failed", error.message)
        elif any(each.answer.asks for each in fired):
            result = Effect("blocked", "the user is asked, and in this demo says no")
        else:
            result = Effect(
                "blocked", f"{describe_block(scheduled.call)}; the model reads the reason"
            )
        self._close_step(f"the model asks to {verb}", thing, [result], scheduled.call)

    def hear(self, text: str) -> None:
        """Record a model's answer, or a piece of it."""
        self._pieces.append(text)

    def show_answer(self, *, is_last: bool) -> None:
        """Close the step of a model's answer that was heard; its text may be empty if it only calls
        tools."""
        if not self._pieces:
            return
        text = "".join(self._pieces).strip()
        self._pieces.clear()
        if text or self._has_news():
            self._close_step("the model answers:" if is_last else "the model says:", text)

    def _has_news(self) -> bool:
        return any(fired.is_news for fired in self._open)

    def _close_step(
        self,
        says: str,
        shows: str = "",
        results: Sequence[Effect] = (),
        call: FunctionCall | None = None,
    ) -> None:
        fired, self._open = tuple(self._open), []
        changes = [change for each in fired if each.is_news for change in each.find_changes()]
        self._tell(Step(says, shows, fired, (*changes, *results), call))
