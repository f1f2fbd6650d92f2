"""What an agent loop calls: each function fires one event and hands back what to do about it.

They are the contract's names over ``hookline.Hooks``. None of them raises; where anything in the
engine fails they answer with a safe default. Requests and responses of a model are the SDK's, in
and out.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from hookline.config import Config
from hookline.front import Hooks
from hookline.toolcall import Confirm, Execute, ToolInput
from hookline.toolcall import ConfirmationRequest as ConfirmationRequest
from hookline.toolcall import ToolError as ToolError
from hookline.toolcall import ToolResult as ToolResult
from hookline.wire.events import PreCompressTrigger, SessionEndReason, SessionStartSource
from hookline.wire.outputs import BeforeToolSelectionHookOutput, DefaultHookOutput

RunTool: TypeAlias = Callable[[str, ToolInput], Awaitable[Any] | Any]

TOOL_PERMISSION = "ToolPermission"

# Kind of confirmation -> what it is called, and which of its fields hooks are shown.
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


class BeforeModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a request. ``blocked``: do not call the model; answer with
    ``synthetic_response`` if there is one, else with the reason. ``modified_request`` is the very
    same object when the hooks changed nothing in it."""

    blocked: bool = False
    reason: str | None = None
    synthetic_response: Any = None
    modified_request: Any = None
    should_stop: bool = False
    system_message: str | None = None


class AfterModelHookResult(msgspec.Struct, frozen=True):
    """What to do about a response. ``response`` is the one to keep; after a block it is empty but
    for the reason."""

    response: Any
    blocked: bool = False
    reason: str | None = None
    should_stop: bool = False
    stop_reason: str | None = None
    system_message: str | None = None
    suppress_output: bool = False


class BeforeToolSelectionHookResult(msgspec.Struct, frozen=True):
    """Which tools a call may use; None where the hooks said nothing."""

    tool_config: Any = None
    tools: Any = None
    should_stop: bool = False
    stop_reason: str | None = None


async def fire_before_model_hook(config: Config, llm_request: Any) -> BeforeModelHookResult:
    """A request is about to go to the model."""
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
    """The model has answered in full."""
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
    """The model is about to be offered the tools of a request."""
    answer = await Hooks.of(config).before_tool_selection(llm_request)
    output = answer.final_output
    if not isinstance(output, BeforeToolSelectionHookOutput):
        return BeforeToolSelectionHookResult()
    selection = output.get_sent_tools(llm_request)
    return BeforeToolSelectionHookResult(
        selection.tool_config,
        selection.tools,
        answer.stopped,
        answer.reason if answer.stopped else None,
    )


async def fire_session_start_hook(
    config: Config, source: SessionStartSource
) -> DefaultHookOutput | None:
    """A session starts, or goes on after its context was cleared or compressed."""
    return (await Hooks.of(config).session_start(source)).final_output


async def fire_session_end_hook(
    config: Config, reason: SessionEndReason
) -> DefaultHookOutput | None:
    """A session ends."""
    return (await Hooks.of(config).session_end(reason)).final_output


async def fire_before_agent_hook(config: Config, prompt: str) -> DefaultHookOutput | None:
    """A turn is about to begin."""
    return (await Hooks.of(config).before_agent(prompt)).final_output


async def fire_after_agent_hook(
    config: Config, prompt: str, prompt_response: str, stop_hook_active: bool = False
) -> DefaultHookOutput | None:
    """A turn is over."""
    answer = await Hooks.of(config).after_agent(
        prompt, prompt_response, stop_hook_active=stop_hook_active
    )
    return answer.final_output


async def fire_pre_compress_hook(
    config: Config, trigger: PreCompressTrigger
) -> DefaultHookOutput | None:
    """The history is about to be compressed."""
    return (await Hooks.of(config).pre_compress(trigger)).final_output


async def fire_notification_hook(
    config: Config,
    message: str,
    *,
    notification_type: str | None = None,
    level: str | None = None,
    details: dict[str, Any] | None = None,
) -> DefaultHookOutput | None:
    """The user should be told something."""
    answer = await Hooks.of(config).notification(
        message, notification_type=notification_type, level=level, details=details
    )
    return answer.final_output


async def fire_claude_event(
    config: Config, name: str, fields: Mapping[str, Any]
) -> DefaultHookOutput | None:
    """Something happened that Claude Code has a name for, in its words: ``SubagentStop``, say."""
    return (await Hooks.of(config).fire_claude_event(name, fields)).final_output


class ToolNotification(msgspec.Struct, frozen=True):
    """What a Notification event says of a confirmation."""

    message: str
    notification_type: str
    details: dict[str, Any]


def tool_notification(confirmation: Mapping[str, Any]) -> ToolNotification:
    """What hooks are told of a confirmation ``{type, title, …}`` before it is asked for."""
    title = confirmation.get("title", "")
    purpose, shown = _KINDS.get(str(confirmation.get("type")), ("approval", ()))
    details = {
        name: confirmation[name] for name in ("type", "title", *shown) if name in confirmation
    }
    return ToolNotification(f"Tool {title} requires {purpose}", TOOL_PERMISSION, details)


def describe_command(command: str) -> dict[str, str]:
    """What a confirmation of type ``exec`` says of its command."""
    root = command.split(maxsplit=1)[0] if command.strip() else ""
    return {"command": command, "rootCommand": root}


async def fire_tool_notification_hook(
    config: Config, confirmation: Mapping[str, Any]
) -> DefaultHookOutput | None:
    """The user is about to be asked about a tool call, ``{type, title, …}``."""
    notification = tool_notification(confirmation)
    return await fire_notification_hook(
        config,
        notification.message,
        notification_type=notification.notification_type,
        details=notification.details,
    )
