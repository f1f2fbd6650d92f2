"""Triggers around a tool call, and the wrapper that applies everything their hooks may say."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from hookline.config import Config
from hookline.front import Hooks
from hookline.toolcall import Confirm, Execute, ToolInput, ToolResult
from hookline.wire.outputs import DefaultHookOutput

RunTool: TypeAlias = Callable[[str, ToolInput], Awaitable[Any] | Any]


async def fire_before_tool_hook(
    config: Config,
    tool_name: str,
    tool_input: ToolInput,
    *,
    mcp_context: dict[str, Any] | None = None,
    original_request_name: str | None = None,
) -> DefaultHookOutput | None:
    """A tool is about to run."""
    answer = await Hooks.of(config).before_tool(
        tool_name,
        tool_input,
        mcp_context=mcp_context,
        original_request_name=original_request_name,
    )
    return answer.final_output


async def fire_after_tool_hook(
    config: Config,
    tool_name: str,
    tool_input: ToolInput,
    tool_response: dict[str, Any],
    *,
    original_tool_input: ToolInput | None = None,
    mcp_context: dict[str, Any] | None = None,
    original_request_name: str | None = None,
) -> DefaultHookOutput | None:
    """A tool has run."""
    answer = await Hooks.of(config).after_tool(
        tool_name,
        tool_input,
        tool_response,
        original_tool_input=original_tool_input,
        mcp_context=mcp_context,
        original_request_name=original_request_name,
    )
    return answer.final_output


async def execute_tool_with_hooks(
    config: Config,
    tool_name: str,
    tool_input: ToolInput,
    execute: Execute,
    *,
    run_tool: RunTool | None = None,
    confirm: Confirm | None = None,
    mcp_context: dict[str, Any] | None = None,
) -> ToolResult:
    """Run a tool and apply what the hooks before and after it say.

    ``execute`` runs this tool, ``run_tool`` any tool by name, for calls a hook asks to follow at
    once. ``confirm`` asks the user; without it nobody can be asked, and ``ask`` is a block. Only an
    exception of the tool itself gets out.
    """
    return await Hooks.of(config).run_tool(
        execute,
        tool_input,
        name=tool_name,
        call=execute,
        run_other=run_tool,
        confirm=confirm,
        mcp_context=mcp_context,
    )
