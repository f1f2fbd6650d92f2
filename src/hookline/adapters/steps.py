"""What all adapters share: a run of an agent, its model calls and its tool calls, decided once.

An adapter asks a step what to do and renders the answer in its framework's own types; it decides
nothing itself::

    run = RunState(conversations.of(session_id), agent=name, turn_id=make_turn_id())
    start = await run.open_turn(prompt)             # BeforeAgent; SubagentStart in a tool's agent
    step = ModelStep(run)
    decision = await step.open(show)                # Send, Reply or SendBack
    decision = await step.close(response)           # Keep, Replace, SendBack or Reply
    call = ToolStep(run, name, tool_input)
    refused = await call.open()                     # the outcome of a call that may not run
    with run.inside_tool(): ...                     # agents that the tool starts are sub-agents
    outcome = await call.close(result=value)        # or: outcome = await call.run(execute)
    end = await run.close_turn(text)                # AfterAgent; SubagentStop

What is the same everywhere:

- A **turn** is one prompt of the user until the agent's answer, sub-agents included. A run that
  begins inside ``inside_tool`` of another is a sub-agent's: it has no turn of its own (no
  BeforeAgent, no AfterAgent) but SubagentStart and SubagentStop, its events carry the outer turn's
  ``turn_id`` and an ``agent`` with its depth, and if both have the same engine, it belongs to the
  outer conversation, and a stop ends both.
- A **stop** ends the loop: the reason is the answer, no further model is called and no further tool
  runs. Only a stop is final: AfterAgent hooks can send back a turn that ended with a block.
- A **block** of a prompt, a model call or a response ends the turn with the reason as the answer.
  Where the framework takes no text there (structured output), raise ``Reply.error``.
- A **response that a hook hides** reaches the program, with a warning; ``hidden``
  asks the adapter to mark it where the framework's messages have metadata, as
  ``{"hookline": {"suppressed": True}}``.
- A **call that tool selection does not allow** does not run: the model reads
  ``describe_refused_call``, the user one warning. ``Keep.refused`` names such calls of a response;
  ``ToolStep.open`` refuses them when they run, from ``run.allowed``.
- A **message** of a hook for the model (``systemMessage``) waits for the next request of the same
  agent: ``run.keep``. The next ``ModelStep.open`` shows it.
- A **question** of a hook is asked by ``confirm`` at once, or by the framework: then ``question``
  is set, ``announce`` fires Notification, and ``write_record`` is what the framework's state keeps
  so that the hooks do not run again (``find_record``, ``open(answered=…)``).
- A **stream** is held back only if ``Send.holds_back``; of any other ``observe`` gets the complete
  response at its end.

Everything is written once, as coroutines over a ``Face``. A ``blocking`` run's coroutines never
suspend, so that ``complete`` can run them.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from hookline.adapters.conversations import Conversation
from hookline.calls.model import RESPONSE_HIDDEN, ModelCall, ModelGate, ModelOutcome
from hookline.calls.model import describe_refused_call as describe_refused_call
from hookline.calls.question import describe_command, tool_notification
from hookline.calls.record import write_input as write_input
from hookline.calls.streams import STREAM_BROKE
from hookline.calls.subagent import SubagentGate, make_agent_id
from hookline.calls.tool import (
    Confirm,
    ConfirmationRequest,
    Execute,
    FindTool,
    ToolGate,
    ToolInput,
    ToolResult,
    add_to_error,
)
from hookline.calls.tool import ToolOutcome as ToolOutcome
from hookline.calls.tool import complete as complete
from hookline.engine.view import EngineView
from hookline.errors import BlockedByHook, HooklineError, StoppedByHook
from hookline.hooks import Face
from hookline.pipeline.answer import most_sent_back
from hookline.wire.codec import show
from hookline.wire.events import HookEventName, SessionStartSource
from hookline.wire.fired import Actor, Original, RunningAgent

MODEL_EVENTS = (
    HookEventName.BEFORE_TOOL_SELECTION,
    HookEventName.BEFORE_MODEL,
    HookEventName.AFTER_MODEL,
)
TOOL_EVENTS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL)
TURN_EVENTS = (HookEventName.BEFORE_AGENT, HookEventName.AFTER_AGENT)
# The events of a sub-agent, which only other dialects have.
SUBAGENT_EVENTS = ("SubagentStart", "SubagentStop")
_NO_STRUCTURE = (
    "a hook answered in the model's place, but without the structured answer that this agent needs"
)


class CallKey(msgspec.Struct, frozen=True):
    """A tool call as hooks were shown it: the same id with another tool or another input is another
    call, which a model may make to run it behind the gate of the first."""

    id: str
    name: str
    input: str


def key_call(call_id: str | None, name: str, tool_input: Any) -> CallKey:
    """Return the key under which what hooks and users decide about a call is kept."""
    return CallKey(call_id or "", name, write_input(tool_input))


class TurnStart(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a turn may begin. ``refusal`` is why not; with ``stop`` the loop should end as well,
    and the prompt stays in the history, else it is to be forgotten. ``texts`` are for the model to
    read beside the prompt."""

    refusal: str | None = None
    stop: bool = False
    texts: tuple[str, ...] = ()


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What to do at the end of a turn: ``send_back`` is the next prompt, where hooks want the
    agent to go on; ``stop`` why the loop should end; ``clear_context`` says that the conversation
    so far is to be forgotten."""

    send_back: str | None = None
    stop: str | None = None
    clear_context: bool = False


# The runs whose tools are running, innermost last: an agent that a tool starts is a sub-agent. An
# agent that has two sets of hooks has two runs.
_CALLING: ContextVar[tuple["RunState", ...]] = ContextVar("hookline_calling_runs", default=())


def outer_run(conversation: Conversation | None = None) -> "RunState | None":
    """Return the run whose tool is running in this context, None if none is; one with the hooks of
    ``conversation``, if there is one."""
    runs = [run for run in reversed(_CALLING.get()) if not run.is_over]
    if conversation is not None:
        engine = conversation.hooks.view.engine
        runs.sort(key=lambda run: run.conversation.hooks.view.engine is not engine)
    return runs[0] if runs else None


def make_turn_id() -> str:
    """Make an id for a turn whose framework has none."""
    return uuid.uuid4().hex


class RunState:
    """One run of an agent: who it is, its turn, whether hooks have ended it, and what is kept for
    its steps. Adapters subclass it for what their framework needs.

    ``outer`` is the run whose tool started this one (``outer_run()``), None for the agent that the
    user talks to. ``agent`` is the agent's name, ``agent_id`` that of a sub-agent's run.
    ``turn_id`` is that of the user's prompt, None where it is not known; a sub-agent has its outer
    run's. ``view`` replaces that of the conversation's hooks. A ``blocking`` run serves code
    that does not await.
    """

    def __init__(
        self,
        conversation: Conversation,
        *,
        outer: "RunState | None" = None,
        agent: str = "agent",
        agent_id: str | None = None,
        turn_id: str | None = None,
        view: EngineView | None = None,
        blocking: bool = False,
    ) -> None:
        engine = conversation.hooks.view.engine
        # A run with other hooks is a sub-agent's too, but those hooks have their own session.
        is_shared = outer is not None and outer.conversation.hooks.view.engine is engine
        self.outer = outer
        self.root: RunState = outer.root if outer is not None and is_shared else self
        self.conversation: Conversation = (
            conversation if self.root is self else self.root.conversation
        )
        self.is_blocking = blocking
        self.agent = RunningAgent(agent)
        if outer is not None:
            parent = outer.agent
            self.agent = RunningAgent(
                agent, agent_id or make_agent_id(), parent.name, parent.depth + 1
            )
            turn_id = outer.turn_id
        self.turn_id: str | None = turn_id
        self._view = view or self.conversation.hooks.view.heard
        # Why hooks refused the prompt, and why they stopped the loop.
        self.refusal: str | None = None
        self._stop: str | None = None
        self.is_over = False
        # Whether the turn is open, its prompt, and how often hooks have sent it back.
        self.has_turn = False
        self.prompt = ""
        self.sent_back = 0
        self._subagent: SubagentGate | None = None
        # The tools that hooks allow the last response to call, None for all.
        self.allowed: frozenset[str] | None = None
        # Tool calls between their two halves.
        self.calls: dict[CallKey, ToolStep] = {}
        # What hooks want a sub-agent's model to read with the next request.
        self._texts: list[str] = []

    @property
    def is_subagent(self) -> bool:
        """True if a tool of another agent runs this one."""
        return self.outer is not None

    @property
    def actor(self) -> Actor:
        """Who fires the events of this run, with what the session says of its user."""
        get_actor = self._view.get_actor
        actor = Actor() if get_actor is None else get_actor()
        return msgspec.structs.replace(actor, turn_id=self.turn_id, agent=self.agent)

    @cached_property
    def _awaiting_face(self) -> Face:
        return Face(msgspec.structs.replace(self._view, get_actor=lambda: self.actor))

    @cached_property
    def _blocking_face(self) -> Face:
        view = msgspec.structs.replace(self._view, get_actor=lambda: self.actor, blocking=True)
        return Face(view)

    def get_face(self, *, blocking: bool | None = None) -> Face:
        """Return the events of this run, for code that awaits or does not."""
        is_blocking = self.is_blocking if blocking is None else blocking
        return self._blocking_face if is_blocking else self._awaiting_face

    @property
    def face(self) -> Face:
        """The events of this run, which carry who fires them and in which turn."""
        return self.get_face()

    def may_skip(self, *events: Any, target: str = "") -> bool:
        """True if none of these events need be fired now. It asks no view of this run, which is
        made with the first event."""
        return self.conversation.face.may_skip(*events, target=target)

    @property
    def holds_back(self) -> bool:
        """True if AfterModel hooks may change or reject a response, so that nothing of a stream may
        be shown before."""
        return self._view.may_decide(HookEventName.AFTER_MODEL)

    def may_skip_model(self) -> bool:
        """True if a model call of this run needs no ``ModelStep`` now."""
        is_due = self.is_ended or self.has_texts
        return not is_due and self.may_skip(*MODEL_EVENTS)

    def may_skip_tool(self, name: str) -> bool:
        """True if a call of this tool needs no ``ToolStep`` now."""
        return self.find_refusal(name) is None and self.may_skip(*TOOL_EVENTS, target=name)

    def may_skip_turn(self) -> bool:
        """True if this run needs neither ``open_turn`` nor ``close_turn`` now, a started session
        aside."""
        if self.is_subagent:
            return self.may_skip(*SUBAGENT_EVENTS, target=self.agent.name)
        return self.may_skip(*TURN_EVENTS)

    # -- the end

    @property
    def stop(self) -> str | None:
        """Why hooks stopped the loop, None if they did not."""
        return self.root._stop

    @property
    def is_ended(self) -> bool:
        """True if hooks have ended the run: no model may be called and no tool may run."""
        return self.stop is not None or self.refusal is not None

    def end(self, reason: str) -> None:
        """Let no further tool run and no further model be called, also in outer runs. The first
        stop is why they end."""
        if self.root is not self:
            self.root.end(reason)
        elif self._stop is None:
            self._stop = reason

    # -- texts for the model

    @property
    def has_texts(self) -> bool:
        """True if texts of hooks wait for this run's next request."""
        return bool(self._texts) or (self.root is self and self.conversation.has_texts)

    def keep(self, text: str) -> None:
        """Keep a text for the model to read with this agent's next request."""
        if self.root is self:
            self.conversation.keep(text)
        else:
            self._texts.append(text)

    def take_texts(self) -> list[str]:
        """Return the texts that wait for the next request, and forget them."""
        texts, self._texts = self._texts, []
        return [*texts, *self.conversation.take()] if self.root is self else texts

    # -- the turn

    async def start(self, source: SessionStartSource | str = SessionStartSource.STARTUP) -> None:
        """Fire SessionStart, if nothing has happened in this conversation yet."""
        await self.conversation.start(self._session_face, source)

    @property
    def _session_face(self) -> Face:
        # A session belongs to no turn.
        return self.conversation.blocking if self.is_blocking else self.conversation.face

    async def open_turn(
        self,
        prompt: str,
        *,
        goes_on: bool = False,
        sent_back: int = 0,
        original: Original | None = None,
    ) -> TurnStart:
        """Begin with a prompt: fire SessionStart if nothing has happened yet, then BeforeAgent, or
        SubagentStart for a sub-agent. A turn that ``goes_on`` after an interruption fires none of
        them. ``original`` is the event as the host worded it."""
        await self.start()
        self.has_turn, self.prompt, self.sent_back = True, prompt, sent_back
        if self.is_subagent:
            texts = [] if goes_on else await self._subagent_gate.open()
            return TurnStart(texts=tuple(texts))
        if goes_on:
            return TurnStart()
        face = self.word(HookEventName.BEFORE_AGENT, original)
        before = await face.before_agent(prompt)
        if not before.blocked:
            return TurnStart(texts=(*self.take_texts(), *before.texts_for_model))
        self.has_turn = False
        reason = before.reason or ""
        if before.stopped:
            self.end(reason)
        else:
            self.refusal = reason
        return TurnStart(refusal=reason, stop=before.stopped)

    async def close_turn(self, text: str, *, original: Original | None = None) -> TurnEnd:
        """End with the agent's answer: fire AfterAgent, or SubagentStop for a sub-agent. Hooks can
        send a turn back a few times at most, and not after a stop; then the user is warned, and
        the turn ends. A turn that never began does not end."""
        if not self.has_turn:
            return TurnEnd()
        if self.is_subagent:
            end = await self._subagent_gate.close(text)
            send_back, stop, clears = end.send_back, end.stop, False
        else:
            face = self.word(HookEventName.AFTER_AGENT, original)
            is_again = self.sent_back > 0
            after = await face.after_agent(self.prompt, text, stop_hook_active=is_again)
            if after.message:
                self.keep(f"[System] {after.message}")
            stop = after.reason or "" if after.stopped else None
            send_back = after.send_back if stop is None else None
            clears = after.clear_context
        if send_back is not None and self.stop is not None:
            self.face.warn(
                "AfterAgent hooks sent a turn back that other hooks had ended; it stays ended: "
                f"{send_back}"
            )
            send_back = None
        elif send_back is not None and not self.is_subagent and self.sent_back >= most_sent_back():
            self.face.warn(
                f"AfterAgent hooks sent the turn back {self.sent_back} times; it ends here: "
                f"{send_back}"
            )
            send_back = None
        if stop is not None:
            self.end(stop)
        if send_back is not None:
            self.sent_back += 1
            self.prompt = send_back
        return TurnEnd(send_back=send_back, stop=stop, clear_context=clears)

    @cached_property
    def _subagent_gate(self) -> SubagentGate:
        fire = self.face.view.fire_extra
        return SubagentGate(fire, self.agent.name, self.agent.id, sent_back=self.sent_back)

    def word(self, event: HookEventName, original: Original | None) -> Face:
        """Return the events of this run, of which one is as the host worded it."""
        if original is None:
            return self.face
        return Face(msgspec.structs.replace(self.face.view, original={event: original}))

    # -- tools

    @contextmanager
    def inside_tool(self) -> Iterator[None]:
        """Make agents that start within sub-agents of this run's agent."""
        token = self.enter_tool()
        try:
            yield
        finally:
            _CALLING.reset(token)

    def enter_tool(self) -> Token[tuple["RunState", ...]]:
        """Make agents that start from now on in this context sub-agents of this run's agent, where
        a framework calls before and after a tool, not around it."""
        return _CALLING.set((*(run for run in _CALLING.get() if run is not self), self))

    def find_refusal(self, name: str) -> str | None:
        """Return why a tool may not run before its hooks are asked, None if it may: hooks have
        ended the run, or tool selection does not allow the tool."""
        if self.is_ended:
            return self.refusal if self.stop is None else self.stop
        is_allowed = self.allowed is None or name in self.allowed
        return None if is_allowed else describe_refused_call(name)


def _describe_refusal(*names: str) -> str:
    listed = ", ".join(names)
    return f"the model called {listed}, which hooks do not allow in this call: it did not run"


class Send(msgspec.Struct, frozen=True):
    """Call the model with ``request``, in the translator's form: the object that was shown if hooks
    changed nothing. ``allowed`` are the tools that the response may call, None for all. If
    ``holds_back``, nothing of a stream may be shown before the step is closed."""

    request: Any
    allowed: frozenset[str] | None = None
    holds_back: bool = False


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer in place of a model call or of its response; the loop ends with it.

    ``response`` is the answer in the translator's form; None if it is ``text`` alone. ``stop`` is
    why hooks stopped the loop, ``blocked`` says that they forbade the call or rejected the
    response; a hook that answers in the model's place does neither. ``error`` is what to raise if
    the framework cannot take such an answer, as for structured output.
    """

    text: str
    error: HooklineError
    response: Any = None
    stop: str | None = None
    blocked: bool = False
    hidden: bool = False


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """Go on with the model's own response. ``hidden`` asks for the mark of a response that is not
    to be displayed; ``refused`` are the names of tools that it calls and tool selection does not
    allow: those calls must not run."""

    hidden: bool = False
    refused: tuple[str, ...] = ()


class Replace(msgspec.Struct, frozen=True, kw_only=True):
    """Go on with ``response``, which hooks changed, in the translator's form."""

    response: Any
    hidden: bool = False
    refused: tuple[str, ...] = ()


class SendBack(msgspec.Struct, frozen=True):
    """Call the model again, after its ``answer`` and with hooks' ``prompt``."""

    answer: str
    prompt: str


Opening: TypeAlias = Send | Reply | SendBack
Closing: TypeAlias = Keep | Replace | Reply | SendBack


class ModelStep:
    """One model call of a run, from ``open`` to ``close``.

    ``available_tools`` are the names that hooks may choose from, None for those that the request
    declares. With ``ends_turns`` the framework has no callback around a turn: a ``Reply`` ends it
    here, and so does ``close_turn`` with the model's own answer.
    """

    def __init__(
        self,
        run: RunState,
        *,
        available_tools: Sequence[str] | None = None,
        ends_turns: bool = False,
        blocking: bool | None = None,
    ) -> None:
        self._run = run
        self._face = run.get_face(blocking=blocking)
        self._names = None if available_tools is None else [*available_tools]
        self._ends_turns = ends_turns
        self._gate: ModelGate | None = None
        self._request: Any = None
        # The tools that the response may call, None for all.
        self.allowed: frozenset[str] | None = None

    async def open(self, show: Callable[[list[str]], Any]) -> Opening:
        """Fire the events before a model call. ``show(texts)`` returns the request in the
        translator's form, with these texts of hooks added for the model to read."""
        run = self._run
        self._gate = run.allowed = self.allowed = None
        await run.start()
        if run.stop is not None:
            return await self._reply(text=run.stop, stop=run.stop)
        if run.refusal is not None:
            # The turn never began, so it does not end either.
            error = BlockedByHook("the turn", run.refusal)
            return Reply(text=run.refusal, blocked=True, error=error)
        self._request = request = show(run.take_texts())
        if run.may_skip(*MODEL_EVENTS):
            return Send(request)
        gate = self._gate = await self._face.model_gate(request, available_tools=self._names)
        run.allowed = self.allowed = gate.allowed
        if gate.outcome is None:
            return Send(gate.request, gate.allowed, gate.holds_back)
        return await self._end(gate.outcome, "the model call", gate.outcome.response)

    async def close(
        self, response: Any, *, calls: Iterable[str] = (), request: Any = None
    ) -> Closing:
        """Fire AfterModel with the complete response, in the translator's form. ``calls`` are the
        names of tools that it calls and no ``ToolStep`` will refuse. ``request`` is that of a step
        that was not opened."""
        run, outcome = self._run, None
        if not run.may_skip(HookEventName.AFTER_MODEL):
            outcome = await self._get_gate(request).finish(response)
        if outcome is not None and (outcome.blocked or outcome.stop is not None):
            kept = None if outcome.stop is not None else outcome.response
            return await self._end(outcome, "the model's response", kept)
        hidden = outcome is not None and self._note(outcome)
        refused = self._find_refused(calls)
        if outcome is None or outcome.response is response:
            return Keep(hidden=hidden, refused=refused)
        return Replace(response=outcome.response, hidden=hidden, refused=refused)

    async def observe(self, response: Any) -> None:
        """Fire AfterModel with the complete response of a stream that was not held back; None for
        one that broke, or that the program closed before its end."""
        if self._run.may_skip(HookEventName.AFTER_MODEL):
            return
        if response is None:
            self._face.warn(STREAM_BROKE)
        else:
            await self._get_gate(None).observe(response)

    async def end(self, reason: str) -> Reply | SendBack:
        """Return the answer that ends the loop: hooks stopped it while the response was read."""
        return await self._reply(text=reason, stop=reason)

    def _get_gate(self, request: Any) -> ModelGate:
        if self._gate is None:
            view = self._face.view
            shown = self._request if request is None else request
            call = ModelCall(
                request=shown, session_id=view.session_id, transcript_path=view.transcript_path
            )
            self._gate = ModelGate(view, call, shown)
        return self._gate

    def _note(self, outcome: ModelOutcome) -> bool:
        """Keep what hooks tell the model; return True if they hide the response."""
        run = self._run
        if outcome.message:
            run.keep(f"[System] {outcome.message}")
        if outcome.suppressed:
            self._face.warn(RESPONSE_HIDDEN)
        return outcome.suppressed

    async def _end(self, outcome: ModelOutcome, what: str, response: Any) -> Reply | SendBack:
        hidden, reason = self._note(outcome), outcome.reason or ""
        if outcome.stop is not None:
            self._run.end(outcome.stop)
            text = outcome.stop if response is None else self._read_text(response)
            return await self._reply(text=text, response=response, stop=outcome.stop, hidden=hidden)
        return await self._reply(
            text=reason if outcome.blocked else self._read_text(response),
            response=response,
            blocked=outcome.blocked,
            hidden=hidden,
            error=BlockedByHook(what, reason if outcome.blocked else _NO_STRUCTURE),
        )

    async def _reply(self, *, stop: str | None = None, **fields: Any) -> Reply | SendBack:
        if stop is not None:
            fields |= {"stop": stop, "error": StoppedByHook(stop)}
        reply = Reply(**fields)
        sent_back = await self.close_turn(reply.text) if self._ends_turns else None
        return sent_back or reply

    async def close_turn(self, text: str) -> SendBack | None:
        """End the turn with an answer, in a framework that has no callback for that; return what
        to go on with if AfterAgent hooks send it back."""
        end = await self._run.close_turn(text)
        if end.clear_context:
            self._face.warn(
                "AfterAgent hooks want the conversation cleared, but the program keeps it"
            )
        return None if end.send_back is None else SendBack(text, end.send_back)

    def drop_refused(self, response: Any) -> Any:
        """Return a response, or a chunk of one, without the calls that tool selection does not
        allow, where the adapter cannot tell who runs them; the same object if it has none."""
        return response if self._gate is None else self._gate.refuse_calls(response)

    def _find_refused(self, calls: Iterable[str]) -> tuple[str, ...]:
        if self.allowed is None:
            return ()
        refused = tuple(sorted({name for name in calls if name not in self.allowed}))
        if refused:
            self._face.warn(_describe_refusal(*refused))
        return refused

    def _read_text(self, response: Any) -> str:
        translator = self._face.view.get_translator()
        text: str = translator.to_hook_llm_response(response).get("text") or ""
        return text


class ToolStep:
    """One tool call of a run, around it (``run``) or in two halves (``open``, ``close``).

    ``confirm`` asks the user at once, after Notification hooks; if ``defers``, the framework asks,
    and ``question`` says what. With ``asks_later`` nobody is asked before ``ask``, as the framework
    checks the input first. ``read`` turns what the tool returns into a ``ToolResult``.
    ``deferrals`` are the framework's exceptions that interrupt a call; with ``interrupts``
    ``confirm`` raises one, so nobody can be asked about tail calls. ``is_announced`` says that
    Notification hooks know of the question already.
    """

    def __init__(
        self,
        run: RunState,
        name: str,
        tool_input: Mapping[str, Any],
        *,
        call_id: str | None = None,
        mcp_context: Mapping[str, Any] | None = None,
        confirm: Confirm | None = None,
        defers: bool = False,
        read: Callable[[Any], ToolResult] | None = None,
        deferrals: tuple[type[BaseException], ...] = (),
        original: Original | None = None,
        interrupts: bool = False,
        is_announced: bool = False,
        asks_later: bool = False,
        blocking: bool | None = None,
    ) -> None:
        self._run = run
        self._face = run.get_face(blocking=blocking)
        self.name, self.call_id = name, call_id
        self.shown_input: Mapping[str, Any] = tool_input
        self._mcp_context, self._read, self._original = mcp_context, read, original
        self._confirm, self._defers, self._deferrals = confirm, defers, deferrals
        self._interrupts, self._is_announced = interrupts, is_announced
        self._asks_later = asks_later
        self._gate: ToolGate | None = None
        self.question: ConfirmationRequest | None = None
        # The outcome of a call that must not run.
        self.refusal: ToolOutcome | None = None

    @property
    def key(self) -> CallKey:
        """The key of this call among those of the run."""
        return key_call(self.call_id, self.name, self.shown_input)

    @property
    def gate(self) -> ToolGate:
        """The call between its hooks, once it is open."""
        assert self._gate is not None
        return self._gate

    @property
    def input(self) -> ToolInput:
        """The input to run the tool with."""
        return self.gate.input

    @property
    def is_rewritten(self) -> bool:
        """True if hooks changed the input."""
        return self.gate.is_rewritten

    async def open(
        self, *, answered: Mapping[str, Any] | None = None, approved: bool | None = None
    ) -> ToolOutcome | None:
        """Fire BeforeTool; return the outcome of a call that must not run, None if it may, or if
        the framework must ask first (``question``).

        ``answered`` is what hooks answered before the call was interrupted (``find_record``): they
        are not asked again. ``approved`` is what the user decided about it, None if nobody was
        asked.
        """
        refusal = self._run.find_refusal(self.name)
        if refusal is not None:
            if not self._run.is_ended:
                self._face.warn(_describe_refusal(self.name))
            return self._refuse(ToolResult(refusal, stop_reason=self._run.stop))
        await self._run.start()
        gate = self._gate = await self._face.tool_gate(
            self.name,
            self.shown_input,
            confirm=self._get_confirm(approved),
            deferrals=self._deferrals,
            mcp_context=self._mcp_context,
            read=self._read,
            answered=answered,
            call_id=self.call_id,
            original=self._original,
            approved=approved is True,
        )
        if gate.refusal is not None:
            if gate.refusal.stop_reason is not None:
                self._run.end(gate.refusal.stop_reason)
            return self._refuse(gate.refusal)
        is_put_off = self._asks_later or (self._defers and self._confirm is None)
        if gate.asks and is_put_off and approved is None:
            before = gate.before
            self.question = ConfirmationRequest(
                self.name, gate.input, before.reason or "", before.message
            )
        return None

    async def take_up(self) -> None:
        """Begin with a call that ran where BeforeTool could not fire, so that it can be closed."""
        self._gate = await self._face.tool_gate(
            self.name,
            self.shown_input,
            mcp_context=self._mcp_context,
            read=self._read,
            answered={},
            call_id=self.call_id,
        )

    async def ask(self) -> ToolOutcome | None:
        """Ask ``confirm`` about a call whose question was put off (``asks_later``); return the
        outcome of a call that must not run, None if it may."""
        gate = await self._face.tool_gate(
            self.name,
            self.shown_input,
            confirm=None if self._confirm is None else self._ask,
            deferrals=self._deferrals,
            answered=self.write_record()["answered"],
            call_id=self.call_id,
        )
        return None if gate.refusal is None else self._refuse(gate.refusal)

    def _refuse(self, result: ToolResult) -> ToolOutcome:
        stop = result.stop_reason
        self.refusal = ToolOutcome(result=result, ran=False, blocked=stop is None, stop=stop)
        return self.refusal

    async def close(
        self,
        *,
        result: Any = None,
        error: BaseException | None = None,
        find_tool: FindTool | None = None,
        original: Original | None = None,
    ) -> ToolOutcome:
        """Fire AfterTool with the tool's result, or with its exception where the model reads of it,
        run the tail calls that hooks request, and return what the model should read.
        ``find_tool`` returns what runs a tail call; without it none is run."""
        outcome = await self.gate.finish(result=result, error=error, original=original)
        if outcome.tail_call is not None:
            # A framework that asks cannot do so about a call that hooks make.
            can_ask = self._confirm is not None and not self._interrupts
            confirm = self._ask if can_ask else None
            with self._run.inside_tool():
                outcome = await self.gate.follow(
                    outcome, find_tool or (lambda _name: None), confirm=confirm
                )
        return self._note_stop(outcome)

    async def fail(self, error: Exception) -> None:
        """Fire AfterTool for a tool whose exception goes on to the caller, with what hooks add."""
        outcome = self._note_stop(await self.gate.finish(error=error))
        if outcome.replaced:
            self._face.warn(
                f"hooks rejected the result of {self.name} or stopped the loop after it, but its "
                f"exception still goes on to the caller: {outcome.text}"
            )
        elif outcome.added:
            add_to_error(error, outcome.added)

    async def run(
        self,
        execute: Execute,
        *,
        find_tool: FindTool | None = None,
        answered: Mapping[str, Any] | None = None,
        approved: bool | None = None,
    ) -> ToolOutcome:
        """Run the tool between its hooks; its exceptions go on to the caller."""
        refused = await self.open(answered=answered, approved=approved)
        if refused is not None:
            return refused
        try:
            with self._run.inside_tool():
                value = await self._face.view.settle(execute(self.input))
        except Exception as error:
            if not isinstance(error, self._deferrals):
                await self.fail(error)
            raise
        return await self.close(result=value, find_tool=find_tool)

    def _note_stop(self, outcome: ToolOutcome) -> ToolOutcome:
        if outcome.stop is not None:
            self._run.end(outcome.stop)
        elif self._run.stop is not None:
            # Hooks stopped a sub-agent that the tool ran.
            return msgspec.structs.replace(outcome, stop=self._run.stop)
        return outcome

    async def announce(self) -> None:
        """Fire Notification for the question that the framework asks the user."""
        assert self.question is not None
        await announce_question(self._face, self.question)

    def write_record(self) -> dict[str, Any]:
        """Return the JSON of what hooks answered about this call, for the framework's state."""
        before, answered = self.gate.before, dict[str, Any]()
        if before.asks:
            answered |= {"decision": "ask", "reason": before.reason or ""}
        if before.message:
            answered["systemMessage"] = before.message
        if self.is_rewritten:
            answered["hookSpecificOutput"] = {"tool_input": show(self.input).value}
        return {
            "tool_name": self.name,
            "tool_input": show(self.shown_input).value,
            "answered": answered,
        }

    def _get_confirm(self, approved: bool | None) -> Confirm | None:
        if approved is not None:
            return lambda _request: approved
        if self._confirm is not None and not self._asks_later:
            return self._ask
        # The user is asked before the tool runs.
        return (lambda _request: True) if self._defers or self._asks_later else None

    def _ask(self, request: ConfirmationRequest) -> Any:
        assert self._confirm is not None
        if not self._face.view.blocking:
            return self._ask_later(request)
        # In the caller's own context: a framework may interrupt the run here.
        if not self._is_announced:
            complete(announce_question(self._face, request))
        return self._confirm(request)

    async def _ask_later(self, request: ConfirmationRequest) -> bool:
        assert self._confirm is not None
        if not self._is_announced:
            await announce_question(self._face, request)
        answer: bool = await self._face.view.settle(self._confirm(request))
        return answer


def find_record(
    records: Iterable[Mapping[str, Any]], name: str, tool_input: Any
) -> Mapping[str, Any] | None:
    """Return what hooks answered about a call before it was interrupted (``write_record``). It
    holds only for the tool and the input that they saw."""
    shown = write_input(tool_input)
    for record in records:
        answered = record.get("answered")
        is_same = record.get("tool_name") == name and write_input(record.get("tool_input")) == shown
        if is_same and isinstance(answered, Mapping):
            return answered
    return None


def split_json(text: str) -> tuple[str, dict[str, Any]]:
    """Split a text into what it says and the JSON object at its end, as hooks leave a structured
    answer; raise ValueError if it does not end with one."""
    for place, character in enumerate(text):
        if character == "{":
            try:
                return text[:place], json.loads(text[place:])
            except ValueError:
                continue
    raise ValueError("it does not end with a JSON object")


async def announce_question(face: Face, request: ConfirmationRequest) -> None:
    """Fire Notification for a question that the user is about to be asked."""
    question: dict[str, object] = {"type": "info", "title": request.tool_name}
    command = request.tool_input.get("command")
    if isinstance(command, str):
        question |= {"type": "exec", **describe_command(command)}
    else:
        question["prompt"] = request.reason
    notification = tool_notification(question)
    await face.notification(
        notification.message,
        notification_type=notification.notification_type,
        details=notification.details,
    )
