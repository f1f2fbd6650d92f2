"""The runs of Strands' agents: each invocation of an agent is one, with the passes that hooks send
back and those that go on after an interrupt."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from strands import Agent

from hookline.adapters.conversations import Conversations
from hookline.adapters.steps import CallKey, RunState, make_turn_id, outer_run
from hookline.wire.events import SessionStartSource


class AgentRun(RunState):
    """A run of an agent. ``goes_on`` says that its next pass continues it."""

    goes_on = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # What hooks answered about calls that were interrupted.
        self.records: dict[CallKey, Mapping[str, Any]] = {}
        # The messages whose responses hooks hide, by identity.
        self.hidden: list[Any] = []

    async def follow(self, events: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """Yield the events of a tool; agents that it starts are sub-agents of this one."""
        while True:
            # Anew for each event: the reader of the stream runs other code in between.
            with self.inside_tool():
                try:
                    event = await anext(events)
                except StopAsyncIteration:
                    return
            yield event


class Runs:
    """The run of each agent. An agent has one at a time, unless it allows concurrent calls: then
    those belong to the run that began last."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._of: WeakKeyDictionary[Any, AgentRun] = WeakKeyDictionary()

    def find(self, agent: Any) -> AgentRun | None:
        """Return the run of an agent, None if it has none."""
        return self._of.get(agent)

    def get(self, agent: Any) -> AgentRun:
        """Return the run of an agent, or a new one without a turn for what happens outside of an
        invocation, such as ``agent.tool.name()``."""
        return self._of.get(agent) or self._make(agent, None)

    async def begin(self, agent: Any) -> AgentRun:
        """Begin a run of an agent, with SessionStart if it is the first of its session."""
        run = self._of[agent] = self._make(agent, make_turn_id())
        is_known = any(message["role"] == "assistant" for message in agent.messages)
        await run.start(SessionStartSource.RESUME if is_known else SessionStartSource.STARTUP)
        return run

    def end(self, agent: Any) -> None:
        """Forget the run of an agent."""
        run = self._of.pop(agent, None)
        if run is not None:
            run.is_over = True

    def _make(self, agent: Any, turn_id: str | None) -> AgentRun:
        conversation = self._conversations.of(agent.session_id)
        outer = outer_run(conversation)
        return AgentRun(conversation, outer=outer, agent=agent.name, turn_id=turn_id)


def find_subagent(tool: Any) -> Agent | None:
    """Return the agent that a tool runs, None if it runs none."""
    agent = getattr(tool, "agent", None) if getattr(tool, "tool_type", "") == "agent" else None
    return agent if isinstance(agent, Agent) else None
