"""Renders what a step of a tool call decides as the events of Strands' ``ExecuteToolStage``."""

import hashlib
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from strands.interrupt import InterruptException
from strands.middleware import ExecuteToolContext, ToolResultEvent, TypedEvent

from hookline.adapters.steps import ToolOutcome, ToolStep, write_input
from hookline.adapters.strands.runs import AgentRun
from hookline.calls.tool import (
    Confirm,
    Execute,
    FollowingTool,
    ToolError,
    ToolInput,
    ToolResult,
    make_call_id,
    text_of,
)

_YES = frozenset({"y", "yes", "approve", "approved"})


async def run_tool(
    run: AgentRun, context: ExecuteToolContext, next_fn: Any, confirm: Confirm | None
) -> AsyncGenerator[TypedEvent, None]:
    """Run a tool between its hooks, and yield its events."""
    tool_use = context.tool_use
    # A call of the program itself (``agent.tool.name()``) belongs to no cycle, and nobody could
    # resume it.
    can_interrupt = "event_loop_cycle_id" in context.invocation_state

    def find_tool(name: str) -> Execute | FollowingTool | None:
        registry: Any = getattr(context.agent, "tool_registry", None)
        tool = registry.dynamic_tools.get(name) or registry.registry.get(name)
        if tool is None:
            return None

        def execute(tool_input: ToolInput) -> Any:
            use: Any = {"toolUseId": make_call_id(), "name": name, "input": tool_input}
            return _collect(next_fn(context.replace(tool=tool, tool_use=use)))

        return FollowingTool(execute, name, read_server(tool))

    step = ToolStep(
        run,
        tool_use["name"],
        read_input(tool_use["input"]),
        call_id=tool_use["toolUseId"],
        mcp_context=read_server(context.tool),
        confirm=confirm,
        defers=can_interrupt,
        read=_read_event,
    )
    outcome = await step.open(answered=run.records.pop(step.key, None))
    if outcome is None and step.question is not None:
        outcome = await _ask(run, context, step)
    if outcome is not None:
        yield _write_result(context, outcome)
        return
    if step.is_rewritten:
        use = {**tool_use, "input": step.input}
        context = context.replace(tool_use=use)  # type: ignore[arg-type]
    result: ToolResultEvent | None = None
    try:
        async with aclosing(run.follow(next_fn(context))) as events:
            async for event in events:
                if isinstance(event, ToolResultEvent):
                    result = event
                else:
                    yield event
    except (GeneratorExit, InterruptException):
        # The tool interrupts the run, or a sub-agent in it does: it is called again.
        run.records[step.key] = step.write_record()["answered"]
        raise
    if result is None:
        # Another middleware let the call end without one; Strands reports it.
        return
    if result.exception is not None:
        outcome = await step.close(error=result.exception)
    else:
        outcome = await step.close(result=result, find_tool=find_tool)
    yield _write_result(context, outcome, result)


async def _ask(run: AgentRun, context: ExecuteToolContext, step: ToolStep) -> ToolOutcome | None:
    """Interrupt the run until the user has answered; return the outcome of a refused call."""
    question = step.question
    assert question is not None
    answered = step.write_record()["answered"]
    # An answer holds for the input that the user was shown, so that input names the question.
    shown = hashlib.sha256(f"{step.name} {write_input(step.input)}".encode()).hexdigest()
    reason = {
        "tool_name": question.tool_name,
        "tool_input": question.tool_input,
        "reason": question.reason,
    }
    if question.system_message:
        reason["message"] = question.system_message
    try:
        answer = context.interrupt(f"hookline-{shown[:16]}", reason=reason).response
    except InterruptException:
        run.records[step.key] = answered
        await step.announce()
        raise
    return await step.open(answered=answered, approved=_is_approval(answer))


def _is_approval(answer: Any) -> bool:
    if isinstance(answer, str):
        return answer.strip().lower() in _YES
    return answer is True


def read_input(tool_input: Any) -> dict[str, Any]:
    """Return a call's input as hooks read it; a model may give something else than an object."""
    return dict(tool_input) if isinstance(tool_input, Mapping) else {"input": tool_input}


def read_server(tool: Any) -> dict[str, Any] | None:
    """Return the MCP server of a tool and the tool's name there, None for other tools."""
    named = getattr(tool, "mcp_tool", None)
    if named is None:
        return None
    return {"server_name": tool.mcp_client.client_name or "", "tool_name": named.name}


async def _collect(events: AsyncGenerator[TypedEvent, None]) -> ToolResultEvent:
    """Return the result of a tool; raise if it has none."""
    result: ToolResultEvent | None = None
    async for event in events:
        if isinstance(event, ToolResultEvent):
            result = event
    if result is None:
        raise RuntimeError("the tool did not end with a result")
    return result


def _read_event(event: ToolResultEvent) -> ToolResult:
    """Return a result as hooks read it."""
    result = event.tool_result
    parts: list[Any] = [
        {"text": text_of(part["json"])} if "json" in part else part for part in result["content"]
    ]
    texts = [part["text"] for part in parts if "text" in part]
    content: str | list[Any] = "\n".join(texts) if len(texts) == len(parts) else parts
    if result["status"] != "error":
        return ToolResult(content)
    return ToolResult(content, error=ToolError("tool_failed", text_of(content)))


def _write_result(
    context: ExecuteToolContext, outcome: ToolOutcome, result: ToolResultEvent | None = None
) -> ToolResultEvent:
    """Return the result that the model reads: the tool's own, if hooks left it as it is."""
    exception = None if result is None else result.exception
    is_own = result is not None and not outcome.replaced and not outcome.followed
    if result is not None and is_own:
        if not outcome.added:
            return result
        own = result.tool_result
        content: list[Any] = [*own["content"], {"text": outcome.added}]
        return ToolResultEvent({**own, "content": content}, exception)
    failed = not outcome.ran or outcome.blocked or outcome.stop is not None
    return ToolResultEvent(
        {
            "toolUseId": context.tool_use["toolUseId"],
            "status": "error" if failed else "success",
            "content": [{"text": outcome.text}],
        },
        exception,
    )
