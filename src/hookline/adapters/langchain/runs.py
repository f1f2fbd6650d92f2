"""An agent's run as one step of it sees it. LangChain calls each step by itself, perhaps in another
process, so a run is made anew from the graph's state for each."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables.config import var_child_runnable_config

from hookline.adapters.conversations import Conversation
from hookline.adapters.langchain.marks import is_from_user, read_marks
from hookline.adapters.steps import RunState, outer_run

RUN_ID = "hookline_run"


class HookedState(AgentState[Any]):
    """The state of an agent with hooks. The id is that of the last prompt's run: it is kept here
    because a summary may take the prompt out of the messages before the turn is over."""

    hookline_run: NotRequired[Annotated[str, PrivateStateAttr]]


class Run(RunState):
    """One step of a run. What hooks tell the model goes with the messages, so that checkpoints have
    it: into the notes on an answer."""

    def __init__(
        self,
        conversation: Conversation,
        state: Any,
        *,
        blocking: bool,
        run_id: str | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        outer, run_id = outer_run(conversation), run_id or _find_run_id(state)
        name = _find_agent_name(config)
        if outer is not None and outer.agent.name == name:
            # An agent without a name runs under the name of the agent whose tool runs it.
            name = None
        super().__init__(
            conversation,
            outer=outer,
            agent=name or "agent",
            agent_id=run_id,
            turn_id=run_id,
            blocking=blocking,
        )
        self._notes: list[str] = []

    def keep(self, text: str) -> None:
        self._notes.append(text)

    def take_notes(self) -> list[str]:
        """Return what hooks told the model in this step, and forget it."""
        notes, self._notes = self._notes, []
        return notes

    def read_notes(self, messages: Sequence[BaseMessage]) -> None:
        """Take up what hooks told the model in earlier steps."""
        answer = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
        if answer is not None:
            self._texts += read_marks(answer).get("notes", ())


def _find_agent_name(config: Mapping[str, Any] | None) -> str | None:
    metadata = (config or var_child_runnable_config.get() or {}).get("metadata") or {}
    name = metadata.get("lc_agent_name")
    return name if isinstance(name, str) else None


def _find_run_id(state: Any) -> str | None:
    """Return the id of the run that a state belongs to; in a graph of the user's own, that of its
    last prompt."""
    if isinstance(state, Mapping) and isinstance(state.get(RUN_ID), str):
        run_id: str = state[RUN_ID]
        return run_id
    messages = state.get("messages") if isinstance(state, Mapping) else state
    for message in reversed(messages if isinstance(messages, list | tuple) else ()):
        if not isinstance(message, BaseMessage) or not is_from_user(message):
            continue
        if not read_marks(message):
            return message.id
    return None
