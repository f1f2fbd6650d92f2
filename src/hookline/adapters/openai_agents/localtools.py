"""Tools other than functions that run on this machine: shells, editors, tools that take a text.

BeforeTool fires when the SDK checks whether a call needs approval, or else before the tool runs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from inspect import isawaitable
from typing import Any, Literal

from agents import (
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    ShellTool,
    Tool,
)
from agents.editor import ApplyPatchOperation, ApplyPatchResult
from agents.run_context import RunContextWrapper
from agents.tool import (
    LocalShellCommandRequest,
    ShellActionRequest,
    ShellCommandOutput,
    ShellCommandRequest,
    ShellResult,
)
from agents.tool_context import ToolContext

from hookline.adapters.openai_agents.internals import copy_with
from hookline.adapters.openai_agents.runs import Run
from hookline.adapters.openai_agents.toolcalls import GuardedFunction, ask_policy, is_approved
from hookline.adapters.steps import ToolOutcome, key_call
from hookline.calls.tool import NOBODY_TO_ASK, ToolInput, ToolResult, as_tool_result
from hookline.wire.events import HookEventName


def guard_tool(run: Run, tool: Tool) -> Tool:
    """Return a tool behind the hooks of a run. A tool that the provider runs is returned as it is,
    since hooks cannot see what it does."""
    if isinstance(tool, FunctionTool):
        return GuardedFunction(run, tool).make_tool()
    if isinstance(tool, CustomTool):
        return _guard_custom(run, tool)
    if isinstance(tool, ShellTool) and tool.executor is not None:
        return _guard_shell(run, tool)
    if isinstance(tool, LocalShellTool):
        return copy_with(tool, executor=partial(_run_local_shell, run, tool))
    if isinstance(tool, ApplyPatchTool):
        return _guard_patches(run, tool)
    if isinstance(tool, ComputerTool) and (
        run.may_answer(tool.name) or run.may_answer(tool.name, HookEventName.AFTER_TOOL)
    ):
        run.notice(
            f"BeforeTool and AfterTool hooks do not see what {tool.name} does on a computer, and "
            "cannot block it; remove ComputerTool from the agent, or change the matchers of these "
            "hooks to other tools"
        )
    return tool


async def _call_guarded(
    run: Run,
    name: str,
    given: ToolInput,
    execute: Callable[[ToolInput], Awaitable[Any]],
    *,
    call_id: str | None,
    approved: bool | None = None,
    read: Callable[[Any], ToolResult] | None = None,
) -> ToolOutcome:
    """Run a tool between its hooks. ``call_id`` is None if the SDK does not tell it; ``approved``
    is what the user decided about the call, None if the SDK cannot ask about this tool."""
    run.check_runner()
    await run.begin(goes_on=False)
    step = run.calls.pop(key_call(call_id, name, given), None)
    if step is None or run.is_ended:
        step = run.make_step(name, given, defers=approved is not None, read=read)
        await run.open_step(step, answered=run.find_answer(name, given))
    if step.refusal is not None:
        return step.refusal
    if step.question is not None and not approved:
        refusal = ToolResult(f"{step.question.reason} ({NOBODY_TO_ASK})")
        return ToolOutcome(result=refusal, ran=False, blocked=True)
    try:
        with run.inside_tool():
            value = await execute(step.input)
    except Exception as error:
        outcome = await step.close(error=error)
        if not outcome.replaced:
            raise
        return outcome
    return await step.close(result=value)


async def _needs_approval(
    run: Run,
    name: str,
    given: ToolInput,
    policy: Any,
    ctx: RunContextWrapper[Any],
    asked: Any,
    call_id: str,
    *,
    tells_id: bool = True,
    read: Callable[[Any], ToolResult] | None = None,
) -> bool:
    """True if the user must be asked about a call of such a tool; ``tells_id`` says whether the
    SDK tells the call's id when it runs."""
    if run.find_refusal(name) is not None:
        return False
    answered = run.find_answer(name, given)
    if answered is not None or run.may_answer(name):
        step = run.make_step(name, given, call_id=call_id, defers=True, read=read)
        await run.open_step(step, answered=answered)
        run.calls[key_call(call_id if tells_id else None, name, given)] = step
        if step.refusal is not None:
            return False
        if step.question is not None:
            run.note_question(call_id, step)
            return True
    return await ask_policy(policy, ctx, asked, call_id)


async def _settle(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _guard_custom(run: Run, tool: CustomTool) -> CustomTool:
    async def invoke(ctx: ToolContext[Any], text: str) -> Any:
        given = {"input": text}
        outcome = await _call_guarded(
            run,
            tool.name,
            given,
            lambda given: _settle(tool.on_invoke_tool(ctx, given["input"])),
            call_id=ctx.tool_call_id,
            approved=is_approved(ctx, tool),
        )
        return outcome.value if outcome.ran and not _is_changed(outcome) else outcome.text

    async def ask(ctx: RunContextWrapper[Any], text: str, call_id: str) -> bool:
        given = {"input": text}
        policy = tool.runtime_needs_approval()
        return await _needs_approval(run, tool.name, given, policy, ctx, text, call_id)

    return copy_with(tool, on_invoke_tool=invoke, needs_approval=ask)


def _is_changed(outcome: ToolOutcome) -> bool:
    return outcome.replaced or bool(outcome.added)


def _guard_shell(run: Run, tool: ShellTool) -> ShellTool:
    def show(action: ShellActionRequest) -> ToolInput:
        return {name: value for name, value in asdict(action).items() if value is not None}

    async def execute(request: ShellCommandRequest) -> Any:
        data, executor = request.data, tool.executor
        assert executor is not None

        async def call(given: ToolInput) -> Any:
            action = ShellActionRequest(**given)
            return await _settle(executor(replace(request, data=replace(data, action=action))))

        given = show(data.action)
        outcome = await _call_guarded(
            run,
            tool.name,
            given,
            call,
            call_id=data.call_id,
            approved=is_approved(request.ctx_wrapper, tool, data.call_id),
            read=_read_shell,
        )
        value, added = outcome.value, outcome.added
        if outcome.replaced or not outcome.ran or not isinstance(value, ShellResult):
            return value if outcome.ran and not _is_changed(outcome) else outcome.text
        if added:
            printed = value.output or [ShellCommandOutput()]
            last = replace(printed[-1], stdout=f"{printed[-1].stdout}\n\n{added}".lstrip())
            return replace(value, output=[*printed[:-1], last])
        return value

    async def ask(ctx: RunContextWrapper[Any], action: ShellActionRequest, call_id: str) -> bool:
        given, policy = show(action), tool.needs_approval
        return await _needs_approval(
            run, tool.name, given, policy, ctx, action, call_id, read=_read_shell
        )

    return copy_with(tool, executor=execute, needs_approval=ask)


def _read_shell(value: Any) -> ToolResult:
    """Read a shell's output for hooks: what the commands printed."""
    if not isinstance(value, ShellResult):
        return as_tool_result(value)
    texts = (text for output in value.output for text in (output.stdout, output.stderr) if text)
    return ToolResult("\n".join(texts))


async def _run_local_shell(
    run: Run, tool: LocalShellTool, request: LocalShellCommandRequest
) -> str:
    call = request.data
    given = call.action.model_dump(exclude={"type"}, exclude_none=True)

    async def execute(wanted: ToolInput) -> Any:
        action = call.action.model_copy(update=wanted)
        data = call.model_copy(update={"action": action})
        return await _settle(tool.executor(replace(request, data=data)))

    outcome = await _call_guarded(run, tool.name, given, execute, call_id=call.call_id)
    return outcome.text


def _guard_patches(run: Run, tool: ApplyPatchTool) -> ApplyPatchTool:
    async def ask(ctx: RunContextWrapper[Any], change: ApplyPatchOperation, call_id: str) -> bool:
        given, policy = _show_change(change), tool.needs_approval
        return await _needs_approval(
            run,
            tool.name,
            given,
            policy,
            ctx,
            change,
            call_id,
            tells_id=False,
            read=_read_change,
        )

    return copy_with(tool, editor=_GuardedEditor(run, tool), needs_approval=ask)


def _show_change(change: ApplyPatchOperation) -> ToolInput:
    shown = {"type": change.type, "path": change.path, "diff": change.diff}
    return {name: value for name, value in shown.items() if value is not None}


class _GuardedEditor:
    """An editor that makes a separate tool call of each change, for hooks."""

    def __init__(self, run: Run, tool: ApplyPatchTool) -> None:
        self._run, self._tool = run, tool

    async def create_file(self, operation: ApplyPatchOperation) -> Any:
        """Make a file, if hooks let it."""
        return await self._make_change(operation)

    async def update_file(self, operation: ApplyPatchOperation) -> Any:
        """Change a file, if hooks let it."""
        return await self._make_change(operation)

    async def delete_file(self, operation: ApplyPatchOperation) -> Any:
        """Delete a file, if hooks let it."""
        return await self._make_change(operation)

    async def _make_change(self, operation: ApplyPatchOperation) -> Any:
        editor = self._tool.editor

        async def execute(given: ToolInput) -> Any:
            wanted = replace(operation, **given)
            ways = {
                "create_file": editor.create_file,
                "update_file": editor.update_file,
                "delete_file": editor.delete_file,
            }
            return await _settle(ways[wanted.type](wanted))

        outcome = await _call_guarded(
            self._run,
            self._tool.name,
            _show_change(operation),
            execute,
            call_id=None,
            # The SDK asks about the whole patch, and makes no change before the user answers.
            approved=True,
            read=_read_change,
        )
        if outcome.ran and not _is_changed(outcome):
            return outcome.value
        status: Literal["completed", "failed"] = "failed"
        if outcome.ran and not outcome.replaced:
            status = "completed"
        return ApplyPatchResult(status=status, output=outcome.text)


def _read_change(value: Any) -> ToolResult:
    text = value.output if isinstance(value, ApplyPatchResult) else value
    return as_tool_result(text)
