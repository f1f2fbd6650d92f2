"""The functions that an agent loop calls: each fires one event and returns what to do about it.

They are the contract's names over ``hookline.Hooks``. None of them raises; if the engine fails
they return a safe default. Requests and responses of a model are in the SDK's form, in and out.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from hookline.calls.tool import Confirm, Execute, ToolInput
from hookline.calls.tool import ConfirmationRequest as ConfirmationRequest
from hookline.calls.tool import ToolError as ToolError
from hookline.calls.tool import ToolResult as ToolResult
from hookline.config import Config
from hookline.hooks import Hooks
from hookline.pipeline.modelcall import find_sent_tools
from hookline.wire.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.wire.outputs import BeforeToolSelectionHookOutput, DefaultHookOutput

RunTool: TypeAlias = Callable[[str, ToolInput], Awaitable[Any] | Any]

TOOL_PERMISSION = "ToolPermission"

# Kind of confirmation -> its name in the message, and the fields that hooks read.
_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "edit": ("editing", ("fileName", "filePath", "fileDiff")),
    "exec": ("execution", ("command", "rootCommand")),
    "mcp": ("MCP", ("serverName", "toolName", "toolDisplayName")),
    "info": ("information", ("prompt", "urls")),
}


async def fire_before_tool_hook(
    config: Config,
    tool_name: str,
    tool_input: ToolInput,
    *,
    mcp_context: dict[str, Any] | None = None,
    original_request_name: str | None = None,
) -> DefaultHookOutput | None:
    """Fire BeforeTool: a tool is about to run."""
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
    """Fire AfterTool: a tool has run."""
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
    """Run a tool, and apply what BeforeTool and AfterTool hooks answer.

    ``execute`` runs this tool, ``run_tool`` any tool by name, for tail calls. ``confirm`` asks the
    user when a hook answers ``ask``; without it ``ask`` blocks the call. Only an exception of the
    tool itself is raised.
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


class BeforeModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a request. If ``blocked``, do not call the model: answer with
    ``synthetic_response`` if there is one, else with the reason. ``modified_request`` is the
    caller's own object if the hooks changed nothing."""

    blocked: bool = False
    reason: str | None = None
    synthetic_response: Any = None
    modified_request: Any = None
    should_stop: bool = False
    system_message: str | None = None


class AfterModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a response. ``response`` is the one to keep; after a block it contains only
    the reason."""

    response: Any
    blocked: bool = False
    reason: str | None = None
    should_stop: bool = False
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool = False


class BeforeToolSelectionHookResult(msgspec.Struct, frozen=True):
    """The tools that a call may use; None if the hooks did not answer."""

    tool_config: Any = None
    tools: Any = None
    should_stop: bool = False
    stop_reason: str | None = None


async def fire_before_model_hook(config: Config, llm_request: Any) -> BeforeModelHookResult:
    """Fire BeforeModel: a request is about to go to the model."""
    answer = await Hooks.of(config).before_model(llm_request)
    if answer.final_output is None:
        return BeforeModelHookResult()
    if answer.blocked:
        return BeforeModelHookResult(
            blocked=True,
            reason=answer.final_output.get_effective_reason(),
            synthetic_response=answer.response if answer.is_synthetic else None,
            should_stop=answer.stopped,
            system_message=answer.message,
        )
    return BeforeModelHookResult(modified_request=answer.request, system_message=answer.message)


async def fire_after_model_hook(
    config: Config, llm_request: Any, llm_response: Any
) -> AfterModelHookResult:
    """Fire AfterModel: the model's response is complete."""
    answer = await Hooks.of(config).after_model(llm_request, llm_response)
    if answer.final_output is None:
        return AfterModelHookResult(llm_response)
    return AfterModelHookResult(
        answer.response,
        blocked=answer.denied,
        reason=answer.reason if answer.denied else None,
        should_stop=answer.stopped,
        stop_reason=answer.reason if answer.stopped else None,
        system_message=answer.message,
        suppress_output=answer.suppressed,
    )


async def fire_before_tool_selection_hook(
    config: Config, llm_request: Any
) -> BeforeToolSelectionHookResult:
    """Fire BeforeToolSelection: the model is about to be offered the tools of a request."""
    answer = await Hooks.of(config).before_tool_selection(llm_request)
    output = answer.final_output
    if not isinstance(output, BeforeToolSelectionHookOutput):
        return BeforeToolSelectionHookResult()
    selection = find_sent_tools(output, llm_request)
    return BeforeToolSelectionHookResult(
        selection.tool_config,
        selection.tools,
        answer.stopped,
        answer.reason if answer.stopped else None,
    )


async def fire_session_start_hook(
    config: Config, source: SessionStartSource
) -> DefaultHookOutput | None:
    """Fire SessionStart: a session starts, or goes on after its context was cleared or
    compressed."""
    return (await Hooks.of(config).session_start(source)).final_output


async def fire_session_end_hook(
    config: Config, reason: SessionEndReason
) -> DefaultHookOutput | None:
    """Fire SessionEnd: a session ends."""
    return (await Hooks.of(config).session_end(reason)).final_output


async def fire_before_agent_hook(config: Config, prompt: str) -> DefaultHookOutput | None:
    """Fire BeforeAgent: a turn is about to begin."""
    return (await Hooks.of(config).before_agent(prompt)).final_output


async def fire_after_agent_hook(
    config: Config, prompt: str, prompt_response: str, stop_hook_active: bool = False
) -> DefaultHookOutput | None:
    """Fire AfterAgent: a turn is over."""
    answer = await Hooks.of(config).after_agent(
        prompt, prompt_response, stop_hook_active=stop_hook_active
    )
    return answer.final_output


async def fire_pre_compress_hook(
    config: Config, trigger: PreCompressTrigger
) -> DefaultHookOutput | None:
    """Fire PreCompress: the history is about to be compressed."""
    return (await Hooks.of(config).pre_compress(trigger)).final_output


async def fire_notification_hook(
    config: Config,
    message: str,
    *,
    notification_type: str | None = None,
    level: str | None = None,
    details: dict[str, Any] | None = None,
) -> DefaultHookOutput | None:
    """Fire Notification: the agent tells the user something."""
    answer = await Hooks.of(config).notification(
        message, notification_type=notification_type, level=level, details=details
    )
    return answer.final_output


async def fire_claude_event(
    config: Config, name: str, fields: Mapping[str, Any]
) -> DefaultHookOutput | None:
    """Fire an event under Claude Code's name for it (``SubagentStop``, say), with Claude Code's
    fields."""
    return (await Hooks.of(config).fire_claude_event(name, fields)).final_output


class ToolNotification(msgspec.Struct, frozen=True):
    """The fields of a Notification event about a confirmation."""

    message: str
    notification_type: str
    details: dict[str, Any]


def tool_notification(confirmation: Mapping[str, Any]) -> ToolNotification:
    """Return what hooks read before the user is asked for a confirmation ``{type, title, …}``."""
    title = confirmation.get("title", "")
    purpose, shown = _KINDS.get(str(confirmation.get("type")), ("approval", ()))
    details = {
        name: confirmation[name] for name in ("type", "title", *shown) if name in confirmation
    }
    return ToolNotification(f"Tool {title} requires {purpose}", TOOL_PERMISSION, details)


def describe_command(command: str) -> dict[str, str]:
    """Return the command fields of a confirmation of type ``exec``."""
    root = command.split(maxsplit=1)[0] if command.strip() else ""
    return {"command": command, "rootCommand": root}


async def fire_tool_notification_hook(
    config: Config, confirmation: Mapping[str, Any]
) -> DefaultHookOutput | None:
    """Fire Notification: the user is about to be asked about a tool call, ``{type, title, …}``."""
    notification = tool_notification(confirmation)
    return await fire_notification_hook(
        config,
        notification.message,
        notification_type=notification.notification_type,
        details=notification.details,
    )
