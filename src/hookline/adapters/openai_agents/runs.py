"""A run of the SDK, in context variables for its tools and its model, which the SDK does not
tell."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
from agents import Agent

from hookline.adapters.gates import (
    CallKey,
    Conversation,
    ToolGate,
    ToolOutcome,
    TurnGate,
    announce_question,
    describe_refused_call,
    write_input,
)
from hookline.adapters.openai_agents.items import make_mark
from hookline.calls.subagent import SubagentGate
from hookline.calls.tool import ConfirmationRequest, ToolInput
from hookline.errors import HooklineError
from hookline.hooks import Face
from hookline.wire.events import HookEventName, SessionStartSource

if TYPE_CHECKING:
    from hookline.adapters.openai_agents.guard import Guard


class Facts(msgspec.Struct, kw_only=True, eq=False):
    """What the runner knows of a run. ``hooks_names``: models that are looked up by a name are
    hooked; ``is_kept``: the provider keeps the conversation. ``questions`` are the calls that the
    user is asked about, with what hooks answered, by the calls' ids; they and ``stop`` come from
    the state of a run that was interrupted, and go into the next one."""

    model: object = None
    session_id: str | None = None
    is_resumed: bool = False
    hooks_names: bool = False
    is_kept: bool = False
    questions: dict[str, Mapping[str, Any]] = {}
    stop: str | None = None


_NOT_NOTED = (
    "the run did not begin with hookline's runner: no hook sees a model of RunConfig(model=…), a "
    "model that has a name and agents as tools, and the run's Session is not known; call "
    "set_default_agent_runner() before hooked(), and run agents with Runner"
)
_FACTS: ContextVar[Facts | None] = ContextVar("hookline_run_facts", default=None)
# The run whose model is called next.
_CURRENT: ContextVar["Run | None"] = ContextVar("hookline_run", default=None)
# The run whose tool is running: runs that the tool starts belong to it.
_OUTER: ContextVar["Run | None"] = ContextVar("hookline_outer_run", default=None)
# The agent of an agent tool that is running, and the one to run in its place.
_INSTEAD: ContextVar[tuple[Agent[Any], Agent[Any]] | None] = ContextVar(
    "hookline_agent_instead", default=None
)


def current_run() -> "Run | None":
    """Return the run whose model is called next, None if no hooked agent runs."""
    return _CURRENT.get()


def outer_run() -> "Run | None":
    """Return the run whose tool is running in this context."""
    return _OUTER.get()


def run_facts() -> Facts | None:
    """Return what is known of the run under way in this context."""
    return _FACTS.get()


def agent_instead(agent: Agent[Any]) -> Agent[Any]:
    """Return the agent to run in place of another, or that agent itself."""
    instead = _INSTEAD.get()
    return instead[1] if instead is not None and instead[0] is agent else agent


@contextmanager
def run_instead(agent: Agent[Any], other: Agent[Any]) -> Iterator[None]:
    """Run another agent where one of the SDK's agent tools would run its own."""
    token = _INSTEAD.set((agent, other))
    try:
        yield
    finally:
        _INSTEAD.reset(token)


class Run:
    """One run of a hooked agent, its handoffs included: its turn, its tool calls under way, and
    whether hooks have ended it. A run that a tool starts belongs to the run of the tool."""

    def __init__(self, guard: "Guard", outer: "Run | None", facts: Facts | None) -> None:
        self.guard = guard
        self.root: Run = self if outer is None or outer.guard is not guard else outer.root
        # Why hooks stopped the run.
        self.stop: str | None = None
        self.learn(facts)
        # Why hooks ended it without stopping: they refused the prompt.
        self.refusal: str | None = None
        self.turn: TurnGate | None = None
        # The agent that it begins with; a run that a tool starts is a sub-agent's.
        self.agent_name = ""
        self.subagent: SubagentGate | None = None
        self.has_begun = False
        # Whether the model was called since the run began here.
        self.has_called = False
        # What hooks put into the conversation, and how many items stand before it.
        self.added: list[tuple[int, list[Any]]] = []
        self.allowed: frozenset[str] | None = None
        # BeforeTool has fired for these calls.
        self.gates: dict[CallKey, ToolGate] = {}
        # The tools of the turn, by name.
        self.tools: dict[str, Any] = {}
        # The names of those that hooks can refuse when they are called.
        self.guarded: set[str] = set()
        self._told: set[str] = set()

    def learn(self, facts: Facts | None) -> None:
        """Take over what the runner knows; a stored run is read before it goes on."""
        self.facts = facts
        if facts is not None and facts.stop is not None:
            self.end(facts.stop)

    @cached_property
    def conversation(self) -> Conversation:
        if self.root is not self:
            return self.root.conversation
        return self.guard.conversations.of(self.session_id)

    @cached_property
    def session_id(self) -> str:
        if self.facts is None:
            return uuid.uuid4().hex
        self.facts.session_id = self.facts.session_id or uuid.uuid4().hex
        return self.facts.session_id

    @property
    def is_resumed(self) -> bool:
        return self.facts is not None and self.facts.is_resumed

    @property
    def face(self) -> Face:
        return self.conversation.face

    def may_answer(self, name: str, event: HookEventName = HookEventName.BEFORE_TOOL) -> bool:
        """True if a hook matches a tool. Asks the hooks of all sessions, since a stored run does
        not know its session yet."""
        return self.guard.conversations.hooks.may_answer(event, name)

    def may_skip_subagent(self) -> bool:
        """True if no hook would answer the start or the end of this run as a sub-agent's."""
        if self.root is self:
            return True
        return self.face.may_skip("SubagentStart", "SubagentStop", target=self.agent_name)

    async def begin(self, *, goes_on: bool) -> None:
        """Fire SessionStart, if nothing has happened in this conversation yet."""
        if not self.has_begun:
            self.has_begun = True
            has_history = goes_on or self.is_resumed
            source = SessionStartSource.RESUME if has_history else SessionStartSource.STARTUP
            await self.conversation.start(self.face, source)

    def end(self, reason: str) -> None:
        """Let no further tool run and no further model be called, also in outer runs."""
        root = self.root
        root.stop = reason
        if root.facts is not None:
            root.facts.stop = reason

    def note_question(self, call_id: str, gate: ToolGate, given: ToolInput) -> None:
        """Keep what hooks answered about a call until the user answers."""
        if self.facts is not None:
            self.facts.questions[call_id] = make_mark(gate, given, self.root.session_id)

    def find_answer(self, name: str, given: ToolInput) -> Mapping[str, Any] | None:
        """Return what hooks answered about this call before the run was interrupted. It holds only
        for the input that they saw."""
        if self.facts is None or not self.facts.questions:
            return None
        shown = write_input(given)
        for mark in self.facts.questions.values():
            answered = mark.get("answered")
            is_same = mark.get("tool_name") == name and write_input(mark.get("tool_input")) == shown
            if is_same and isinstance(answered, Mapping):
                return answered
        return None

    def notice(self, problem: str | None) -> None:
        """Warn, once a run, about what hooks do not see; raise HooklineError in strict mode."""
        hooks = self.guard.conversations.hooks
        if problem is None or problem in self._told or hooks.is_off():
            return
        if hooks.is_strict():
            raise HooklineError(problem)
        self.warn_once(problem)

    def warn_once(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            self.guard.conversations.hooks.warn(problem)

    def check_runner(self) -> None:
        """Warn about a run that another runner began. Called by tools and models, which run only
        within a run."""
        if self.facts is None:
            self.notice(_NOT_NOTED)

    def find_hindrance(self, name: str) -> str | None:
        """Return why a tool may not run before its hooks are asked, None if it may."""
        if self.root.stop is not None:
            return self.root.stop
        if self.allowed is None or name in self.allowed:
            return None
        self.warn_once(
            f"the model called {name}, which hooks do not allow in this call: it did not run"
        )
        return describe_refused_call(name)

    async def open_gate(
        self,
        name: str,
        given: ToolInput,
        *,
        can_defer: bool = True,
        mcp_context: Mapping[str, Any] | None = None,
        read: Any = None,
        answered: Mapping[str, Any] | None = None,
        call_id: str | None = None,
    ) -> ToolGate:
        """Fire BeforeTool. With ``confirm`` the user is asked at once; else the SDK interrupts the
        run to ask, where it can."""
        confirm = self.guard.confirm

        async def ask(request: ConfirmationRequest) -> bool:
            if answered is not None:
                return True
            await announce_question(self.face, request)
            if confirm is None:
                return True
            asked = confirm(request)
            return asked if isinstance(asked, bool) else await asked

        can_ask = can_defer or confirm is not None or answered is not None
        return await self.face.tool_gate(
            name,
            given,
            confirm=ask if can_ask else None,
            mcp_context=mcp_context,
            read=read,
            answered=answered,
            call_id=call_id,
        )

    def is_deferred(self, gate: ToolGate) -> bool:
        """True if the SDK must ask the user about a call."""
        return gate.refusal is None and gate.asks and self.guard.confirm is None

    @contextmanager
    def inside_tool(self) -> Iterator[None]:
        """Make runs that start within belong to this one."""
        token = _OUTER.set(self)
        try:
            yield
        finally:
            _OUTER.reset(token)

    def take_turn(self) -> None:
        """Note that this run's model is called next."""
        _CURRENT.set(self)

    def note_outcome(self, outcome: ToolOutcome) -> None:
        if outcome.stop is not None:
            self.end(outcome.stop)


@contextmanager
def noting(facts: Facts) -> Iterator[None]:
    """Note the facts of a run that begins within."""
    noted, run = _FACTS.set(facts), _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(run)
        _FACTS.reset(noted)
