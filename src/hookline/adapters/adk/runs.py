"""The state of one ADK run, which its callbacks share."""

from collections.abc import Mapping
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from hookline.adapters.gates import CallKey, Conversation, ToolGate, TurnGate
from hookline.hooks import Face

MARK = "hookline"


class ModelStep:
    """A model call under way. ``passed`` is the content that AfterModel hooks have let through;
    they have not seen any other content of the call."""

    def __init__(
        self, actions: EventActions, request: LlmRequest, agent: BaseAgent | None = None
    ) -> None:
        # A reference, so that no other object gets the same id().
        self.actions = actions
        self.request = request
        # What the agent's answers have to look like, and where ADK stores them in the state.
        self.schema: Any = getattr(agent, "output_schema", None)
        self.output_key: str | None = getattr(agent, "output_key", None)
        self.allowed: frozenset[str] | None = None
        self.passed: types.Content | None = None


class ToolStep:
    """A tool call under way. ``is_settled`` says that the tool gives no result here: hooks refused
    the call, or it waits for the user's answer. ``passed`` is the result that AfterTool hooks have
    let through."""

    def __init__(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext, *, may_answer: bool
    ) -> None:
        self.tool = tool
        self.args = args
        self.context = context
        # Whether an AfterTool hook matches it.
        self.may_answer = may_answer
        self.gate: ToolGate | None = None
        self.is_settled = False
        self.has_failed = False
        self.has_passed = False
        self.passed: object = None
        # What BeforeTool hooks answered and to which input, for when the user confirms the call.
        self.record: dict[str, Any] | None = None


class Run:
    """A run; ``outer`` is the run whose tool started it, as ``AgentTool`` does.

    Both belong to one conversation, and a stop ends both.
    """

    def __init__(self, conversation: Conversation, outer: "Run | None" = None) -> None:
        self.conversation: Conversation = conversation if outer is None else outer.conversation
        self.outer = outer
        self._stop: str | None = None
        self.is_over = False
        # The user's input in a live run, until it is closed.
        self.live_queue: LiveRequestQueue | None = None
        self.turn: TurnGate | None = None
        # Whether the turn has begun, and why hooks refused its prompt.
        self.is_open = False
        self.refusal: str | None = None
        self.forgets_prompt = self.rewinds_prompt = False
        self.texts: tuple[str, ...] = ()
        # The last final answer, if AfterAgent has not fired for it, and whether the run waits for
        # the user or a long-running tool.
        self.answer: str | None = None
        self.is_paused = False
        # The next prompt, if hooks sent the agent back.
        self.send_back: str | None = None
        self.clears_context = False
        # Whether the last tool result came from the tool of structured answers.
        self.has_structured_answer = False
        # By the id() of the event's actions, and of the tool's context.
        self.models: dict[int, ModelStep] = {}
        self.calls: dict[int, ToolStep] = {}
        self._last: dict[tuple[str, str | None], int] = {}
        # The text that ADK stored for an agent, and what hooks left of it.
        self.outputs: dict[tuple[str, str | None], tuple[str, str]] = {}
        # The tools that hooks allow an agent in a branch to call, if they restricted them.
        self.allowed: dict[tuple[str, str | None], frozenset[str]] = {}
        # Why a call that hands over a task was refused.
        self.refused: dict[CallKey, str] = {}
        # The tools in the last request of each agent.
        self.tools: dict[str, Mapping[str, BaseTool]] = {}

    @property
    def is_live(self) -> bool:
        """True for a run of ``run_live``."""
        return self.live_queue is not None

    @property
    def face(self) -> Face:
        """The events of the run's conversation."""
        return self.conversation.face

    @property
    def root(self) -> "Run":
        """The outermost run."""
        return self if self.outer is None else self.outer.root

    @property
    def stop(self) -> str | None:
        """Why hooks stopped the loop, None if they did not."""
        return self.root._stop

    def end_loop(self, reason: str) -> None:
        """Let no further tool run and no further model be called."""
        self.root._stop = reason
        if self.root.live_queue is not None:
            self.root.live_queue.close()
        for step in (*self.calls.values(), *self.root.calls.values()):
            # An open question about another call would start the run again.
            actions, id = step.context.actions, step.context.function_call_id
            if id is not None and actions.requested_tool_confirmations.pop(id, None) is not None:
                actions.skip_summarization = None

    def add_step(self, place: tuple[str, str | None], step: ModelStep) -> None:
        """Note a new model call of an agent in a branch; forget the one before."""
        self.models.pop(self._last.get(place, 0), None)
        self._last[place] = id(step.actions)
        self.models[id(step.actions)] = step

    def take_call(self, id: str | None) -> ToolStep | None:
        """Return the tool call of this id, and forget it."""
        for key, step in self.calls.items():
            if step.context.function_call_id == id:
                return self.calls.pop(key)
        return None


def show_text(content: types.Content | None) -> str:
    """Return the text of a content, without thoughts."""
    parts = (content and content.parts) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


def read_marks(event: Event) -> Mapping[str, Any]:
    """Return what was noted on an event; the session's store keeps it."""
    marks = (event.custom_metadata or {}).get(MARK)
    return marks if isinstance(marks, Mapping) else {}


def mark(event: Event, **marks: Any) -> None:
    """Note something on an event."""
    event.custom_metadata = {
        **(event.custom_metadata or {}),
        MARK: {**read_marks(event), **marks},
    }
