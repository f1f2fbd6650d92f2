"""Agents behind hooks: copies with a class of their own, together with all agents that they hand
over to or run as tools."""

import weakref
from typing import Any, ClassVar, TypeVar, cast
from weakref import WeakKeyDictionary

from agents import Agent, FunctionTool, Handoff, Model, RunContextWrapper, Tool

from hookline.adapters.conversations import Conversations, Given
from hookline.adapters.openai_agents.internals import (
    find_agent,
    find_target,
    put_agent,
    put_target,
)
from hookline.adapters.openai_agents.localtools import guard_tool
from hookline.adapters.openai_agents.model import hook_model
from hookline.adapters.openai_agents.runner import find_bypass, install_runner
from hookline.adapters.openai_agents.runs import Run, run_facts
from hookline.adapters.openai_agents.toolcalls import tool_name
from hookline.adapters.steps import complete
from hookline.calls.tool import Confirm
from hookline.errors import StoppedByHook

C = TypeVar("C")


def hooked(agent: Agent[C], hooks: Given = None, *, confirm: Confirm | None = None) -> Agent[C]:
    """Return a copy of the agent that has hooks.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a directory whose settings are loaded, or
    nothing for the working directory's. The agents that it hands over to or runs as tools have the
    same hooks. A session is that of the run's ``conversation_id``, ``Session`` or
    ``RunConfig.group_id``, else each run is one of its own.

    ``ask`` of a hook interrupts the run as ``needs_approval`` does; ``confirm`` asks at once
    instead. Raises ValueError for an agent that has other hooks already.
    """
    known = _find_guard(agent)
    if known is not None:
        if (hooks is None or hooks is known.given or hooks is known.conversations.hooks) and (
            confirm is None or confirm is known.confirm
        ):
            return agent
        raise ValueError(
            f"the agent {agent.name} has other hooks already; pass hooked() the agent without them"
        )
    install_runner()
    made: Agent[C] = Guard(hooks, confirm).hook(agent)
    return made


def close(agent: Agent[Any]) -> None:
    """End the sessions of a hooked agent: SessionEnd is fired for each. May be called again."""
    guard = _find_guard(agent)
    if guard is not None:
        complete(guard.conversations.end_all(blocking=True))


def _find_guard(agent: object) -> "Guard | None":
    return getattr(type(agent), "_hookline", None)


class Guard:
    """The hooks of an agent and of all agents that belong to it."""

    def __init__(self, given: Given, confirm: Confirm | None) -> None:
        self.given = given
        self.conversations = Conversations(given)
        self.confirm = confirm
        self._classes: dict[type, type] = {}
        # id() of an agent -> a weak reference to it, and its hooked copy.
        self._hooked: dict[int, tuple[weakref.ref[Agent[Any]], Agent[Any]]] = {}
        self._runs: WeakKeyDictionary[RunContextWrapper[Any], Run] = WeakKeyDictionary()

    def hook(self, agent: Any) -> Any:
        """Return the agent with these hooks, the same each time. One that has hooks keeps its
        own."""
        if not isinstance(agent, Agent) or _find_guard(agent) is not None:
            return agent
        known = self._hooked.get(id(agent))
        if known is not None and known[0]() is agent:
            return known[1]
        kind = self._make_class(type(agent))
        made: Agent[Any] = object.__new__(kind)
        made.__dict__.update(agent.__dict__)
        for name in ("tools", "handoffs"):
            made.__dict__[name] = list(made.__dict__[name])
        made.model = agent.model
        key, forget = id(agent), self._hooked
        gone = weakref.ref(agent, lambda ref: _forget_agent(forget, key, ref))
        self._hooked[key] = (gone, made)
        return made

    def _make_class(self, kind: type[Agent[Any]]) -> type[Agent[Any]]:
        made = self._classes.get(kind)
        if made is None:
            # The SDK finds the agents of a stored run by the names of their classes too.
            names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
            seams = {
                "_hookline": self,
                "tools": property(_get_tools, _set_tools),
                "handoffs": property(_get_handoffs, _set_handoffs),
            }
            made = self._classes[kind] = type(
                kind.__name__, (_HookedAgent, kind), {**names, **seams}
            )
        return cast(type[Agent[Any]], made)

    def find_run(self, ctx: RunContextWrapper[Any], agent: str) -> Run:
        """Return the run of a context; the SDK keeps one context for the whole run."""
        facts, run = run_facts(), self._runs.get(ctx)
        if run is None or (facts is not None and run.facts not in (None, facts)):
            run = self._runs[ctx] = Run(self, agent, facts)
        elif run.facts is None and facts is not None:
            run.learn(facts)
        return run


def _forget_agent(hooked: dict[int, Any], key: int, ref: object) -> None:
    if key in hooked and hooked[key][0] is ref:
        del hooked[key]


class _HookedAgent(Agent[Any]):
    """What a hooked agent does differently from the agent it was copied from."""

    _hookline: ClassVar[Guard]

    def __setattr__(self, name: str, value: Any) -> None:
        is_model = name == "model" and isinstance(value, Model)
        super().__setattr__(name, hook_model(value) if is_model else value)

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        """Return the tools for one turn, each behind hooks."""
        run = self._hookline.find_run(run_context, self.name)
        run.take_turn()
        bypass = None if run.facts is None else find_bypass(self, run.facts)
        run.notice(bypass)
        if bypass is not None and run.stop is not None:
            # The model is not hooked, so it cannot answer with the reason.
            raise StoppedByHook(run.stop)
        tools = await super().get_all_tools(run_context)
        run.tools = {tool_name(tool): tool for tool in tools}
        guarded = [guard_tool(run, tool) for tool in tools]
        pairs = zip(guarded, tools, strict=True)
        run.guarded = {tool_name(tool) for made, tool in pairs if made is not tool}
        return guarded


def _get_tools(agent: Agent[Any]) -> list[Tool]:
    """Return the agent's list of tools, with hooked agents in tools that run agents."""
    tools: list[Tool] = agent.__dict__["tools"]
    guard = _find_guard(agent)
    assert guard is not None
    for place, tool in enumerate(tools):
        inner = find_agent(tool)
        if isinstance(tool, FunctionTool) and inner is not None and _find_guard(inner) is None:
            tools[place] = put_agent(tool, guard.hook(inner))
    return tools


def _set_tools(agent: Agent[Any], tools: list[Tool]) -> None:
    agent.__dict__["tools"] = tools


def _get_handoffs(agent: Agent[Any]) -> list[Any]:
    """Return the agent's list of handoffs, with hooked agents."""
    handoffs: list[Any] = agent.__dict__["handoffs"]
    guard = _find_guard(agent)
    assert guard is not None
    for place, handoff in enumerate(handoffs):
        if isinstance(handoff, Handoff):
            if not isinstance(handoff.on_invoke_handoff, _HookedHandoff):
                handoffs[place] = _hook_handoff(guard, handoff)
        else:
            hooked_agent = guard.hook(handoff)
            if hooked_agent is not handoff:
                handoffs[place] = hooked_agent
    return handoffs


def _set_handoffs(agent: Agent[Any], handoffs: list[Any]) -> None:
    agent.__dict__["handoffs"] = handoffs


class _HookedHandoff:
    """Invokes a handoff, and returns the hooked copy of its agent."""

    def __init__(self, guard: Guard, invoke: Any) -> None:
        self._guard, self._invoke = guard, invoke

    async def __call__(self, *arguments: Any) -> Any:
        return self._guard.hook(await self._invoke(*arguments))


def _hook_handoff(guard: Guard, handoff: Handoff[Any, Any]) -> Handoff[Any, Any]:
    invoke = _HookedHandoff(guard, handoff.on_invoke_handoff)
    return put_target(handoff, invoke, guard.hook(find_target(handoff)))
