"""What the SDK has under private names alone: the MCP server of a tool, the agent of a tool or of a
handoff, and a function's exception before it becomes a text.

Each name is used here and nowhere else. If a release renames one, the functions below find nothing:
hooks then read no ``mcp_context``, an agent as a tool or behind a handoff runs without hooks, and
AfterTool reads the text of an error in place of the error. A test of this adapter fails for each,
and ``check_version`` warns of a release that was not tested.
"""

import weakref
from copy import copy
from typing import Any, TypeVar

from agents import Agent, FunctionTool, Handoff
from agents.tool_context import ToolContext

from hookline.adapters.openai_agents.runs import run_instead

T = TypeVar("T")
# The method of invokers that the SDK makes itself, as for decorated functions.
_BINDS = "__agents_bind_function_tool__"
# The attribute that tells the SDK that a text replaces an output with a schema.
_STANDS_IN = "_function_tool_default_failure_handled"


def copy_with(value: T, **changes: Any) -> T:
    """Return a copy with changes, without running the constructor, which would normalize again."""
    copied = object.__new__(type(value))
    copied.__dict__.update(value.__dict__)
    copied.__dict__.update(changes)
    return copied


def describe_server(tool: FunctionTool) -> dict[str, Any] | None:
    """Return the MCP server of a tool for hooks, None for a tool that is not of one."""
    binding = getattr(tool, "_mcp_tool_binding", None)
    return {"server_name": binding[0], "tool_name": binding[1]} if binding else None


def find_agent(tool: object) -> Agent[Any] | None:
    """Return the agent that a tool runs, None for another tool."""
    agent = getattr(tool, "_agent_instance", None)
    return agent if isinstance(agent, Agent) else None


def put_agent(tool: FunctionTool, agent: Agent[Any]) -> FunctionTool:
    """Return a tool that runs an agent, with another agent in its place."""
    invoker = _AgentInvoker(tool.on_invoke_tool, find_agent(tool), agent)
    return copy_with(tool, on_invoke_tool=invoker, _agent_instance=agent)


class _AgentInvoker:
    """Calls a tool that runs an agent, with another agent instead."""

    def __init__(self, invoker: Any, agent: Any, other: Agent[Any]) -> None:
        self.invoker = invoker
        self._agent, self._other = agent, other

    def __agents_bind_function_tool__(self, tool: FunctionTool) -> "_AgentInvoker":
        bound = self.invoker.__agents_bind_function_tool__(tool)
        return _AgentInvoker(bound, self._agent, self._other)

    async def __call__(self, ctx: ToolContext[Any], arguments: str) -> Any:
        with run_instead(self._agent, self._other):
            return await self.invoker(ctx, arguments)


def find_target(handoff: Handoff[Any, Any]) -> Agent[Any] | None:
    """Return the agent that a handoff leads to, None if it makes one when it is invoked."""
    reference = getattr(handoff, "_agent_ref", None)
    return None if reference is None else reference()


def put_target(
    handoff: Handoff[Any, Any], invoke: Any, agent: Agent[Any] | None
) -> Handoff[Any, Any]:
    """Return the handoff with another function to invoke, and another agent that it leads to."""
    made = copy(handoff)
    made.on_invoke_handoff = invoke
    if agent is not None:
        made._agent_ref = weakref.ref(agent)
    return made


def is_bound(tool: FunctionTool) -> bool:
    """True if the SDK itself made what calls the tool."""
    return hasattr(tool.on_invoke_tool, _BINDS)


def note_errors(tool: FunctionTool, errors: list[Exception]) -> FunctionTool:
    """Return the tool so that it notes its function's exceptions, before the SDK turns them into
    text."""
    bind = getattr(tool.on_invoke_tool, _BINDS, None)
    if bind is None:
        return tool
    copied = copy_with(tool)
    bound = copied.on_invoke_tool = bind(copied)
    invoker = bound.invoker if isinstance(bound, _AgentInvoker) else bound
    call = getattr(invoker, "_invoke_tool_impl", None)
    if call is None:
        return tool

    async def note(ctx: ToolContext[Any], arguments: str) -> Any:
        try:
            return await call(ctx, arguments)
        except Exception as error:
            errors.append(error)
            raise

    invoker._invoke_tool_impl = note
    return copied


def accept_text(ctx: ToolContext[Any]) -> None:
    """Make the SDK accept a text in place of an output that has a schema."""
    setattr(ctx, _STANDS_IN, True)
