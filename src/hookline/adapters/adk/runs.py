"""The state of one ADK run, which its callbacks share."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.live_request_queue import LiveRequestQueue
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from hookline.adapters.conversations import Conversation
from hookline.adapters.steps import CallKey, ModelStep, RunState, ToolStep, outer_run

MARK = "hookline"


class AdkModelCall:
    """A model call of an agent. ``seen`` is the content that AfterModel hooks have let through;
    they have not seen any other content of the call."""

    def __init__(
        self,
        state: RunState,
        actions: EventActions,
        request: LlmRequest,
        agent: BaseAgent | None = None,
    ) -> None:
        self.state = state
        # A reference, so that no other object gets the same id().
        self.actions = actions
        self.request = request
        # What the agent's answers have to look like, and where ADK stores them in the state.
        self.schema: Any = getattr(agent, "output_schema", None)
        self.is_structured = self.schema is not None
        self.output_key: str | None = getattr(agent, "output_key", None)
        self.step: ModelStep | None = None
        self.seen: types.Content | None = None

    @property
    def allowed(self) -> frozenset[str] | None:
        """The tools that its response may call, None for all."""
        return None if self.step is None else self.step.allowed


class AdkToolCall:
    """A tool call of an agent. ``is_settled`` says that the tool gives no result here: hooks
    refused the call, or it waits for the user's answer. ``seen`` is the result that AfterTool hooks
    have let through."""

    def __init__(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext, *, may_answer: bool
    ) -> None:
        self.tool = tool
        self.args = args
        self.context = context
        # Whether an AfterTool hook matches it.
        self.may_answer = may_answer
        # Once BeforeTool has fired, or AfterTool alone is to fire.
        self.step: ToolStep | None = None
        self.is_settled = False
        self.has_failed = False
        self.is_seen = False
        self.seen: object = None
        # What BeforeTool hooks answered and to which input, for when the user confirms the call.
        self.record: dict[str, Any] | None = None


class Subagent(RunState):
    """An agent that ADK runs within the run of another in place of a tool call
    (``mode="single_turn"`` or ``"task"``)."""

    def __init__(self, outer: RunState, agent: LlmAgent) -> None:
        super().__init__(outer.conversation, outer=outer, agent=agent.name)
        self.mode = agent.mode
        # The outer agent may have transferred to this one's parent.
        parent = agent.parent_agent and agent.parent_agent.name
        self.agent = msgspec.structs.replace(self.agent, parent=parent)


class Run(RunState):
    """A run of ADK's; a run that another run's tool started, as ``AgentTool`` does, is a
    sub-agent's. The agents of a workflow and those that an agent transfers to share it."""

    def __init__(self, conversation: Conversation, agent: str = "agent") -> None:
        super().__init__(conversation, outer=outer_run(conversation), agent=agent)
        # The user's input in a live run, until it is closed.
        self.live_queue: LiveRequestQueue | None = None
        # Whether the turn has begun, and why hooks refused its prompt.
        self.is_open = False
        self.rejection: str | None = None
        self.forgets_prompt = self.rewinds_prompt = False
        self.texts: tuple[str, ...] = ()
        # The last final answer, if its end has not fired, and whether the run waits for the user
        # or a long-running tool.
        self.answer: str | None = None
        self.is_paused = False
        # What the agent is to go on with, if hooks sent it back.
        self.next_prompt: str | None = None
        self.clears_context = False
        # Whether the last tool result came from the tool of structured answers.
        self.has_structured_answer = False
        # By the id() of the event's actions, and of the tool's context.
        self.models: dict[int, AdkModelCall] = {}
        self.tool_calls: dict[int, AdkToolCall] = {}
        self._last: dict[tuple[str, str | None], int] = {}
        # The text that ADK stored for an agent, and what hooks left of it.
        self.outputs: dict[tuple[str, str | None], tuple[str, str]] = {}
        # Why a call that hands over a task was refused.
        self.refused: dict[CallKey, str] = {}
        # The tools in the last request of each agent.
        self.tools: dict[str, Mapping[str, BaseTool]] = {}
        # By name and branch.
        self._subagents: dict[tuple[str, str | None], Subagent] = {}

    @property
    def is_live(self) -> bool:
        """True for a run of ``run_live``."""
        return self.live_queue is not None

    def end(self, reason: str) -> None:
        """Let no further tool run and no further model be called."""
        super().end(reason)
        if self.live_queue is not None:
            self.live_queue.close()
        for call in self.tool_calls.values():
            # An open question about another call would start the run again.
            actions, id = call.context.actions, call.context.function_call_id
            if id is not None and actions.requested_tool_confirmations.pop(id, None) is not None:
                actions.skip_summarization = None

    def add_subagent(self, agent: BaseAgent, branch: str | None) -> Subagent | None:
        """Return the state of an agent that runs in place of a tool call, None for any other."""
        if not isinstance(agent, LlmAgent) or agent.mode not in ("single_turn", "task"):
            return None
        if not isinstance(agent.parent_agent, LlmAgent):
            # A node of a workflow.
            return None
        place = agent.name, branch
        if place not in self._subagents:
            outer: RunState = self
            for (name, other), state in self._subagents.items():
                if name == agent.parent_agent.name and (branch or "").startswith(f"{other}."):
                    outer = state
            self._subagents[place] = Subagent(outer, agent)
        return self._subagents[place]

    def find_agent(self, name: str, branch: str | None) -> RunState:
        """Return the state of an agent in a branch."""
        return self._subagents.get((name, branch), self)

    def add_call(self, place: tuple[str, str | None], call: AdkModelCall) -> None:
        """Note a new model call of an agent in a branch; forget the one before."""
        self.models.pop(self._last.get(place, 0), None)
        self._last[place] = id(call.actions)
        self.models[id(call.actions)] = call

    def forget_call(self, place: tuple[str, str | None], actions: EventActions) -> None:
        """Forget the last model call of an agent in a branch, unless it is the one with these
        actions."""
        if self._last.get(place) != id(actions):
            self.models.pop(self._last.pop(place, 0), None)

    def find_allowed(self, context: CallbackContext) -> frozenset[str] | None:
        """Return the tools that the last response of an agent may call, None for all."""
        last = self.models.get(self._last.get((context.agent_name, context.branch), 0))
        return None if last is None else last.allowed

    def take_call(self, id: str | None) -> AdkToolCall | None:
        """Return the tool call of this id, and forget it."""
        for key, call in self.tool_calls.items():
            if call.context.function_call_id == id:
                return self.tool_calls.pop(key)
        return None


def show_text(content: types.Content | None) -> str:
    """Return the text of a content, without thoughts."""
    parts = (content and content.parts) or []
    return "".join(part.text for part in parts if part.text and not part.thought)


def read_prompt(content: types.Content) -> str | None:
    """Return the text of a user's message; None for one that holds only function responses."""
    parts = content.parts or []
    text = "\n\n".join(part.text for part in parts if part.text)
    if not text and any(part.function_response for part in parts):
        return None
    return text


def name_turn(events: Sequence[Event], run_id: str, *, is_new: bool) -> str:
    """Return the id of a turn: that of the run in which the user gave its prompt. A run that waits
    for the user goes on with the next prompt, in another turn."""
    runs = [event.invocation_id for event in events if _is_prompt(event)]
    if is_new:
        number = runs.count(run_id)
    else:
        run_id = runs[-1] if runs else run_id
        number = runs.count(run_id) - 1
    return run_id if number <= 0 else f"{run_id}-{number + 1}"


def _is_prompt(event: Event) -> bool:
    if event.author != "user" or event.content is None or read_marks(event):
        return False
    return read_prompt(event.content) is not None


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
