"""Triggers around a tool call, and the wrapper that applies everything their hooks may say."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, TypeAlias

import msgspec

from hookline.config import Config
from hookline.triggers.engine import fire_through
from hookline.triggers.results import (
    ToolError,
    ToolResult,
    as_tool_result,
    to_tool_response,
    with_text,
)
from hookline.wire.outputs import BeforeToolHookOutput, DefaultHookOutput

MAX_TAIL_CALLS = 8
BLOCKED_BY_HOOK = "blocked_by_hook"

ToolInput: TypeAlias = dict[str, Any]
Execute: TypeAlias = Callable[[ToolInput], Awaitable[Any] | Any]
RunTool: TypeAlias = Callable[[str, ToolInput], Awaitable[Any] | Any]


class ConfirmationRequest(msgspec.Struct, frozen=True):
    """What the user is asked about: a hook answered ``ask`` to this call."""

    tool_name: str
    tool_input: ToolInput
    reason: str
    system_message: str | None = None


Confirm: TypeAlias = Callable[[ConfirmationRequest], Awaitable[bool] | bool]


async def fire_before_tool_hook(
    config: Config,
    tool_name: str,
    tool_input: ToolInput,
    *,
    mcp_context: dict[str, Any] | None = None,
    original_request_name: str | None = None,
) -> DefaultHookOutput | None:
    """A tool is about to run."""
    return await fire_through(
        config,
        lambda handler: handler.fire_before_tool_event(
            tool_name,
            tool_input,
            mcp_context=mcp_context,
            original_request_name=original_request_name,
        ),
    )


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
    return await fire_through(
        config,
        lambda handler: handler.fire_after_tool_event(
            tool_name,
            tool_input,
            tool_response,
            original_tool_input=original_tool_input,
            mcp_context=mcp_context,
            original_request_name=original_request_name,
        ),
    )


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
    once. ``confirm`` asks the user; without it, ``ask`` is ``allow``. Only an exception of the tool
    itself gets out.
    """
    if config.get_hook_system() is None:
        return as_tool_result(await _awaited(execute(tool_input)))
    call = _Call(config, tool_name, tool_input, execute, confirm, mcp_context)
    result, tail = await call.run()
    for _ in range(MAX_TAIL_CALLS):
        if tail is None or run_tool is None:
            break
        result, tail = await _follow(call, tail, run_tool)
    if tail is not None:
        why = "more than 8 in a row" if run_tool else "this caller cannot run tools by name"
        message = f"the tail call of {tail['name']!r} asked for by a hook did not run: {why}"
        config.get_debug_logger().warning(message)
    return result


async def _follow(
    call: "_Call", tail: dict[str, Any], run_tool: RunTool
) -> tuple[ToolResult, dict[str, Any] | None]:
    name = tail["name"]
    followed = _Call(
        call.config,
        name,
        tail["args"],
        lambda tool_input: run_tool(name, tool_input),
        call.confirm,
        None,
        call.original_request_name or call.tool_name,
    )
    return await followed.run()


class _Call:
    """One call of one tool, from its BeforeTool to its AfterTool."""

    def __init__(
        self,
        config: Config,
        tool_name: str,
        tool_input: ToolInput,
        execute: Execute,
        confirm: Confirm | None,
        mcp_context: dict[str, Any] | None,
        original_request_name: str | None = None,
    ) -> None:
        self.config = config
        self.tool_name = tool_name
        self.tool_input = tool_input
        self.execute = execute
        self.confirm = confirm
        self.mcp_context = mcp_context
        self.original_request_name = original_request_name

    async def run(self) -> tuple[ToolResult, dict[str, Any] | None]:
        """The result, and the call that should follow at once, if any."""
        before = await fire_before_tool_hook(
            self.config,
            self.tool_name,
            self.tool_input,
            mcp_context=self.mcp_context,
            original_request_name=self.original_request_name,
        )
        refused = await self._refusal(before)
        if refused is not None:
            return _with_system_message(refused, before), None
        given = _rewritten(self.tool_input, before)
        result = as_tool_result(await _awaited(self.execute(given)))
        after = await fire_after_tool_hook(
            self.config,
            self.tool_name,
            given,
            to_tool_response(result),
            original_tool_input=None if given is self.tool_input else self.tool_input,
            mcp_context=self.mcp_context,
            original_request_name=self.original_request_name,
        )
        result = _with_system_message(_applied(result, after), before)
        tail = after.get_tail_tool_call_request() if after and not result.stop_reason else None
        return _with_system_message(result, after), tail

    async def _refusal(self, before: DefaultHookOutput | None) -> ToolResult | None:
        """The result in place of a tool that must not run."""
        if before is None:
            return None
        if before.should_stop_execution():
            return _stopped(before)
        if before.is_blocking_decision():
            return _blocked(before.get_effective_reason())
        if before.is_ask_decision() and self.confirm is not None:
            reason = before.get_effective_reason()
            request = ConfirmationRequest(
                self.tool_name,
                _rewritten(self.tool_input, before),
                reason,
                before.system_message,
            )
            if not await self._is_confirmed(request):
                return _blocked(f"The user did not allow this call of {self.tool_name}: {reason}")
        return None

    async def _is_confirmed(self, request: ConfirmationRequest) -> bool:
        assert self.confirm is not None
        try:
            return await _awaited(self.confirm(request)) is True
        except Exception as error:
            # A question that could not be put was not answered with yes.
            problem = f"the user could not be asked about {request.tool_name}: {error}"
            self.config.get_debug_logger().warning(problem)
            return False


def _rewritten(tool_input: ToolInput, before: DefaultHookOutput | None) -> ToolInput:
    changed = before.get_modified_tool_input() if isinstance(before, BeforeToolHookOutput) else None
    return tool_input if changed is None else {**tool_input, **changed}


def _applied(result: ToolResult, after: DefaultHookOutput | None) -> ToolResult:
    if after is None:
        return result
    if after.should_stop_execution():
        return msgspec.structs.replace(
            _stopped(after), suppress_display=after.suppress_output is True
        )
    if after.is_blocking_decision():
        reason = after.get_effective_reason()
        result = msgspec.structs.replace(result, llm_content=reason, return_display=reason)
    context = after.get_additional_context()
    if context:
        result = with_text(result, f"\n\n{context}")
    if after.suppress_output:
        result = msgspec.structs.replace(result, suppress_display=True)
    return result


def _stopped(output: DefaultHookOutput) -> ToolResult:
    reason = output.get_effective_reason()
    return ToolResult(reason, return_display=reason, stop_reason=reason)


def _blocked(reason: str) -> ToolResult:
    return ToolResult(reason, return_display=reason, error=ToolError(BLOCKED_BY_HOOK, reason))


def _with_system_message(result: ToolResult, output: DefaultHookOutput | None) -> ToolResult:
    message = output.system_message if output else None
    return with_text(result, f"\n\n[System] {message}") if message else result


async def _awaited(value: Any) -> Any:
    return await value if isawaitable(value) else value
