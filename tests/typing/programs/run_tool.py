"""A loop that calls tools by name, with the whole call between hooks or in two halves."""

import asyncio
import json
from typing import Any

from hookline import BeforeToolEvent, Hooks, Reply, ToolError, ToolResult, ask

hooks = Hooks()


@hooks.on("BeforeTool", matcher="^push$")
def ask_first(_event: BeforeToolEvent) -> Reply:
    return ask("sure?")


def push(branch: str) -> str:
    return f"pushed {branch}"


async def main() -> tuple[ToolResult, ToolResult, str]:
    tool_input = {"branch": "main"}
    refused = await hooks.run_tool(push, tool_input)
    allowed = await hooks.run_tool(push, tool_input, confirm=lambda request: bool(request.reason))
    chat = hooks.session("chat-7")
    gate = await chat.tool_gate("push", tool_input, ask_later=True)
    assert gate.question is not None
    record: dict[str, Any] = json.loads(json.dumps(gate.write_record()))
    gate = await chat.resume_gate(record, "push", tool_input, approved=True)
    assert gate.refusal is None
    outcome = await gate.finish(result=push(**gate.input))
    return refused, allowed, outcome.text


refused, allowed, later = asyncio.run(main())
error: ToolError | None = refused.error
assert error is not None
assert error.type == "blocked_by_hook"
assert (allowed.llm_content, later) == ("pushed main", "pushed main")
