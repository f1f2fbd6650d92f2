"""A run of the SDK, in context variables for its tools and its model, which the SDK does not
tell."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import msgspec
from agents import Agent

from hookline.adapters.conversations import Conversation
from hookline.adapters.openai_agents.items import Mark
from hookline.adapters.steps import RunState, ToolStep, find_record, make_turn_id, outer_run
from hookline.calls.tool import ToolInput
from hookline.errors import HooklineError
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
    turn_id: str | None = None
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
# The agent of an agent tool that is running, and the one to run in its place.
_INSTEAD: ContextVar[tuple[Agent[Any], Agent[Any]] | None] = ContextVar(
    "hookline_agent_instead", default=None
)


def current_run() -> "Run | None":
    """Return the run whose model is called next, None if no hooked agent runs."""
    return _CURRENT.get()


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


class Run(RunState):
    """One run of a hooked agent, its handoffs included. A run that a tool starts is a sub-agent's;
    with the same hooks it belongs to the run of the tool."""

    def __init__(self, guard: "Guard", agent: str, facts: Facts | None) -> None:
        self.guard = guard
        self._agent_name = agent
        self._outer = outer_run(Conversation(guard.conversations.hooks))
        # Whether the model was called since the run began here.
        self.has_called = False
        # What hooks put into the conversation, and how many items stand before it.
        self.added: list[tuple[int, list[Any]]] = []
        # The tools of the turn, by name.
        self.tools: dict[str, Any] = {}
        # The names of those that hooks can refuse when they are called.
        self.guarded: set[str] = set()
        self._warnings: set[str] = set()
        self.learn(facts)

    def learn(self, facts: Facts | None) -> None:
        """Begin with what the runner knows; a stored run is read before that is known."""
        self.facts = facts
        self._session_id = (facts and facts.session_id) or uuid.uuid4().hex
        super().__init__(
            self.guard.conversations.of(self._session_id),
            outer=self._outer,
            agent=self._agent_name,
            turn_id=(facts and facts.turn_id) or make_turn_id(),
        )
        if facts is None:
            return
        facts.session_id, facts.turn_id = self.session_id, self.turn_id
        if facts.stop is not None:
            self.end(facts.stop)

    @property
    def session_id(self) -> str:
        """The id of the conversation: that of the outermost run, if this SDK runs it."""
        root = self.root
        return root._session_id if isinstance(root, Run) else self._session_id

    @property
    def is_resumed(self) -> bool:
        return self.facts is not None and self.facts.is_resumed

    def may_answer(self, name: str, event: HookEventName = HookEventName.BEFORE_TOOL) -> bool:
        """True if a hook matches a tool. Asks the hooks of all sessions, since a stored run does
        not know its session yet."""
        return self.guard.conversations.hooks.may_answer(event, name)

    async def begin(self, *, goes_on: bool) -> None:
        """Fire SessionStart, if nothing has happened in this conversation yet."""
        has_history = goes_on or self.is_resumed
        await self.start(SessionStartSource.RESUME if has_history else SessionStartSource.STARTUP)

    def end(self, reason: str) -> None:
        super().end(reason)
        if self.root is self and self.facts is not None:
            self.facts.stop = reason

    def make_step(self, name: str, tool_input: ToolInput, **options: Any) -> ToolStep:
        """Make the step of a tool call. With ``confirm`` the user is asked at once; else the SDK
        interrupts the run to ask, where it can."""
        return ToolStep(self, name, tool_input, confirm=self.guard.confirm, **options)

    async def open_step(
        self, step: ToolStep, *, answered: Mapping[str, Any] | None = None
    ) -> ToolStep:
        """Fire BeforeTool, and Notification for a question that the SDK asks."""
        await step.open(answered=answered)
        if step.question is not None and answered is None:
            await step.announce()
        return step

    def note_question(self, call_id: str, step: ToolStep) -> None:
        """Keep what hooks answered about a call until the user answers."""
        if self.facts is not None:
            own = {"session_id": self.session_id, "turn_id": self.turn_id}
            self.facts.questions[call_id] = Mark({**step.write_record(), **own})

    def find_answer(self, name: str, given: ToolInput) -> Mapping[str, Any] | None:
        """Return what hooks answered about this call before the run was interrupted."""
        questions = self.facts.questions if self.facts is not None else {}
        return find_record(questions.values(), name, given) if questions else None

    def notice(self, problem: str | None) -> None:
        """Warn, once a run, about what hooks do not see; raise HooklineError in strict mode."""
        hooks = self.guard.conversations.hooks
        if problem is None or problem in self._warnings or hooks.is_off():
            return
        if hooks.is_strict():
            raise HooklineError(problem)
        self.warn_once(problem)

    def warn_once(self, problem: str) -> None:
        if problem not in self._warnings:
            self._warnings.add(problem)
            self.guard.conversations.hooks.warn(problem)

    def check_runner(self) -> None:
        """Warn about a run that another runner began. Called by tools and models, which run only
        within a run."""
        if self.facts is None:
            self.notice(_NOT_NOTED)

    def take_turn(self) -> None:
        """Note that this run's model is called next."""
        _CURRENT.set(self)


@contextmanager
def noting(facts: Facts) -> Iterator[None]:
    """Note the facts of a run that begins within."""
    noted, run = _FACTS.set(facts), _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(run)
        _FACTS.reset(noted)
