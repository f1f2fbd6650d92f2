"""One run of a runner's: what its callbacks leave to each other."""

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

from hookline.adapters.gates import Conversation, ToolGate, TurnGate
from hookline.front import Face

MARK = "hookline"


class ModelStep:
    """A model call under way. ``passed`` is the content that AfterModel hooks have let through:
    whatever else comes of the call, they have not seen."""

    def __init__(
        self, actions: EventActions, request: LlmRequest, agent: BaseAgent | None = None
    ) -> None:
        # Held, so that no other object gets its id.
        self.actions = actions
        self.request = request
        # What the agent's answers have to look like, and where ADK stores them in the state.
        self.schema: Any = getattr(agent, "output_schema", None)
        self.output_key: str | None = getattr(agent, "output_key", None)
        self.allowed: frozenset[str] | None = None
        self.passed: types.Content | None = None


class ToolStep:
    """A tool call under way. ``is_settled`` says that no result of the tool will come of it: hooks
    have refused it, or it waits for an answer. ``passed`` is the result that AfterTool hooks have
    let through."""

    def __init__(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext, *, may_answer: bool
    ) -> None:
        self.tool = tool
        self.args = args
        self.context = context
        # Whether AfterTool hooks may have something to say to its result.
        self.may_answer = may_answer
        self.gate: ToolGate | None = None
        self.is_settled = False
        self.has_failed = False
        self.has_passed = False
        self.passed: object = None
        # What BeforeTool hooks said, for the call once it is confirmed.
        self.record: dict[str, Any] | None = None


class Run:
    """A run; ``outer`` is the one whose tool runs it, as ``AgentTool`` does.

    The hooks of both are those of one conversation, and a stop ends both.
    """

    def __init__(self, conversation: Conversation, outer: "Run | None" = None) -> None:
        self.conversation: Conversation = conversation if outer is None else outer.conversation
        self.outer = outer
        self._stop: str | None = None
        self.is_over = False
        # Of a live run: what its user says, until somebody closes it.
        self.live_queue: LiveRequestQueue | None = None
        self.turn: TurnGate | None = None
        # Whether the turn's beginning is settled, and why hooks refused its prompt.
        self.is_open = False
        self.refusal: str | None = None
        self.forgets_prompt = self.rewinds_prompt = False
        self.texts: tuple[str, ...] = ()
        # The text of the last final answer that AfterAgent hooks have not seen, and whether the
        # run waits for somebody.
        self.answer: str | None = None
        self.is_paused = False
        # The next prompt, where hooks send the agent back.
        self.send_back: str | None = None
        self.clears_context = False
        # Whether the last tool that answered was the one that structured answers are given to.
        self.has_structured_answer = False
        # By the ids of the actions of their events, and of their contexts.
        self.models: dict[int, ModelStep] = {}
        self.calls: dict[int, ToolStep] = {}
        self._last: dict[tuple[str, str | None], int] = {}
        # What ADK has stored of an agent's texts in the state, and what hooks have left of it.
        self.outputs: dict[tuple[str, str | None], tuple[str, str]] = {}
        # The tools that hooks allow an agent in a branch to call, where they have chosen some.
        self.allowed: dict[tuple[str, str | None], frozenset[str]] = {}
        # Why a call of an id is refused that was to hand over a task.
        self.refused: dict[str, str] = {}
        # The tools that an agent was last offered.
        self.tools: dict[str, Mapping[str, BaseTool]] = {}

    @property
    def is_live(self) -> bool:
        """Whether the model is talked to in both directions at once."""
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
        """Why hooks end the loop."""
        return self.root._stop

    def end_loop(self, reason: str) -> None:
        """Have no tool run and no model be called any more."""
        self.root._stop = reason
        if self.root.live_queue is not None:
            self.root.live_queue.close()
        for step in (*self.calls.values(), *self.root.calls.values()):
            # A question beside the call that stopped the run would start it again.
            actions, id = step.context.actions, step.context.function_call_id
            if id is not None and actions.requested_tool_confirmations.pop(id, None) is not None:
                actions.skip_summarization = None

    def add_step(self, place: tuple[str, str | None], step: ModelStep) -> None:
        """Note the model call of an agent in a branch, whose last one is over."""
        self.models.pop(self._last.get(place, 0), None)
        self._last[place] = id(step.actions)
        self.models[id(step.actions)] = step

    def take_call(self, id: str | None) -> ToolStep | None:
        """The tool call of an id, which is over."""
        for key, step in self.calls.items():
            if step.context.function_call_id == id:
                return self.calls.pop(key)
        return None


def show_text(content: types.Content | None) -> str:
    """The text of a content, without thoughts."""
    parts = (content and content.parts) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


def read_marks(event: Event) -> Mapping[str, Any]:
    """What was noted on an event; it survives in the session's store."""
    marks = (event.custom_metadata or {}).get(MARK)
    return marks if isinstance(marks, Mapping) else {}


def mark(event: Event, **marks: Any) -> None:
    """Note something on an event."""
    event.custom_metadata = {
        **(event.custom_metadata or {}),
        MARK: {**read_marks(event), **marks},
    }
