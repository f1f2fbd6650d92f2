"""Function tools behind hooks: copies for one turn of a run.

The SDK checks for approval before it runs a tool. BeforeTool fires when the model calls the tool,
or with that check if hooks do not see the model, and at the latest before the tool runs; in
between, the answer is kept for this call and its arguments.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature, isawaitable
from typing import Any

from agents import (
    FunctionTool,
    Tool,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
)
from agents.agent_tool_state import get_agent_tool_state_scope, peek_agent_tool_run_result
from agents.run_context import RunContextWrapper
from agents.tool import invoke_function_tool
from agents.tool_context import ToolContext
from openai.types.responses import Response

from hookline.adapters.openai_agents.internals import (
    accept_text,
    copy_with,
    describe_server,
    is_bound,
    note_errors,
)
from hookline.adapters.openai_agents.items import name_call, read_arguments
from hookline.adapters.openai_agents.runs import Run
from hookline.adapters.steps import ToolOutcome, ToolStep, key_call
from hookline.calls.tool import (
    NOBODY_TO_ASK,
    Execute,
    ToolInput,
    ToolResult,
    as_tool_result,
    text_of,
)
from hookline.translate.values import get

_STRUCTURED = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)


def tool_name(tool: Any) -> str:
    """Return the name of a tool for hooks."""
    return str(getattr(tool, "qualified_name", tool.name))


async def open_calls(run: Run, response: Response, tools: Sequence[Tool]) -> None:
    """Fire BeforeTool for the calls of a response."""
    functions = {tool_name(tool): tool for tool in tools if isinstance(tool, FunctionTool)}
    pending: list[tuple[FunctionTool, GuardedFunction, str, ToolInput]] = []
    for item in response.output:
        is_function = get(item, "type") == "function_call"
        tool = functions.get(name_call(item) or "") if is_function else None
        guarded = getattr(tool, "on_invoke_tool", None)
        if tool is not None and isinstance(guarded, GuardedFunction) and guarded.may_be_asked:
            given = read_arguments(get(item, "arguments"))
            pending.append((tool, guarded, get(item, "call_id"), given))
    steps = await asyncio.gather(
        *(guarded.open(given, call_id) for _, guarded, call_id, given in pending)
    )
    asked: set[int] = set()
    for (tool, guarded, call_id, _), step in zip(pending, steps, strict=True):
        run.calls[step.key] = step
        if step.question is not None:
            run.note_question(call_id, step)
            asked.add(id(tool))
        elif step.refusal is not None and guarded.tool.needs_approval is not False:
            # The user must not be asked about a call that does not run.
            asked.add(id(tool))
    for tool, guarded, _, _ in pending:
        policy = guarded.tool.needs_approval
        if id(tool) not in asked and not callable(policy):
            # With a function here, the SDK would ask the user about any arguments that it cannot
            # parse.
            tool.needs_approval = policy


class GuardedFunction:
    """Calls a function tool behind hooks; MCP tools and agents as tools are function tools too."""

    # The SDK inspects it with every call, which is slow without this.
    __signature__ = Signature(
        [
            Parameter("ctx", Parameter.POSITIONAL_OR_KEYWORD, annotation=ToolContext[Any]),
            Parameter("arguments", Parameter.POSITIONAL_OR_KEYWORD, annotation=str),
        ]
    )

    def __init__(self, run: Run, tool: FunctionTool) -> None:
        self.tool = tool
        self.name = tool_name(tool)
        self._run = run

    def make_tool(self) -> FunctionTool:
        changes: dict[str, Any] = {"on_invoke_tool": self, "timeout_seconds": None}
        if self.may_be_asked:
            changes["needs_approval"] = self._needs_approval
        return copy_with(self.tool, **changes)

    @property
    def may_be_asked(self) -> bool:
        return self._run.may_answer(self.name)

    async def open(
        self, given: ToolInput, call_id: str, answered: Mapping[str, Any] | None = None
    ) -> ToolStep:
        """Fire BeforeTool, unless hooks have answered already."""
        step = self._run.make_step(
            self.name,
            given,
            call_id=call_id,
            mcp_context=describe_server(self.tool),
            read=read_output,
            defers=True,
        )
        return await self._run.open_step(step, answered=answered)

    async def __call__(self, ctx: ToolContext[Any], arguments: str) -> Any:
        run = self._run
        run.check_runner()
        given = read_arguments(arguments)
        step = run.calls.pop(key_call(ctx.tool_call_id, self.name, given), None)
        answered = run.find_answer(self.name, given)
        if step is None and answered is None and run.may_skip_tool(self.name):
            return await self._invoke(self.tool, ctx, arguments)
        await run.begin(goes_on=False)
        if _is_continued(ctx):
            # Hooks let it run before, and then the run of its agent was interrupted.
            step = await self.open(given, ctx.tool_call_id, {})
        elif step is None or run.is_ended:
            step = await self.open(given, ctx.tool_call_id, answered)
        if step.refusal is not None:
            return self._put_text(ctx, step.refusal.text)
        if step.question is not None and not is_approved(ctx, self.tool):
            return self._put_text(ctx, f"{step.question.reason} ({NOBODY_TO_ASK})")
        return await self._run_tool(ctx, step, arguments)

    async def _run_tool(self, ctx: ToolContext[Any], step: ToolStep, arguments: str) -> Any:
        errors = list[Exception]()
        if step.is_rewritten:
            arguments = text_of(step.input)
        try:
            value = await self._invoke(note_errors(self.tool, errors), ctx, arguments)
        except Exception as error:
            await step.fail(error)
            raise
        if _is_continued(ctx):
            return value
        outcome = await step.close(
            result=None if errors else value,
            error=errors[-1] if errors else None,
            find_tool=partial(self._find_tool, ctx),
        )
        if errors and not outcome.replaced and not outcome.followed:
            # The tool decides what the model reads of an error.
            added = outcome.added
            return self._put_text(ctx, f"{value}\n\n{added}" if added else value)
        result = _apply_outcome(outcome)
        return result if result is outcome.value else self._put_text(ctx, result)

    async def _invoke(self, tool: FunctionTool, ctx: ToolContext[Any], arguments: str) -> Any:
        with self._run.inside_tool():
            if tool.timeout_seconds is None and is_bound(tool):
                return await tool.on_invoke_tool(ctx, arguments)
            # Other tools may need a timeout or another context.
            return await invoke_function_tool(function_tool=tool, context=ctx, arguments=arguments)

    async def _needs_approval(
        self, ctx: RunContextWrapper[Any], params: dict[str, Any], call_id: str
    ) -> bool:
        run, key = self._run, key_call(call_id, self.name, params)
        step = run.calls.get(key)
        # Hooks have seen the calls from before the run was interrupted.
        is_new = run.has_called or not run.is_resumed
        if step is None and is_new and run.find_refusal(self.name) is None:
            step = run.calls[key] = await self.open(params, call_id)
        if step is not None:
            if step.refusal is not None:
                return False
            if step.question is not None:
                run.note_question(call_id, step)
                return True
            params = step.input
        return await ask_policy(self.tool.needs_approval, ctx, params, call_id)

    def _put_text(self, ctx: ToolContext[Any], result: Any) -> Any:
        """Return a result in place of the tool's own."""
        if self.tool.output_json_schema is not None and isinstance(result, str):
            accept_text(ctx)
        return result

    def _find_tool(self, ctx: ToolContext[Any], name: str) -> Execute | None:
        """Return a function that runs another tool of the agent; None for a tool that needs
        approval or has guardrails."""
        tool = self._run.tools.get(name)
        if not isinstance(tool, FunctionTool):
            return None
        if tool.needs_approval is not False or tool.tool_input_guardrails:
            return None

        async def execute(given: ToolInput) -> Any:
            arguments = text_of(given)
            following = ToolContext.from_agent_context(
                ctx,
                ctx.tool_call_id,
                agent=ctx.agent,
                tool_name=tool.name,
                tool_arguments=arguments,
                run_config=ctx.run_config,
            )
            return await self._invoke(tool, following, arguments)

        return execute


def _is_continued(ctx: ToolContext[Any]) -> bool:
    """True if the call continues the run of an agent that was interrupted for a question."""
    if ctx.tool_call is None:
        return False
    held = peek_agent_tool_run_result(ctx.tool_call, scope_id=get_agent_tool_state_scope(ctx))
    return bool(getattr(held, "interruptions", None))


def is_approved(ctx: RunContextWrapper[Any], tool: Any, call_id: str | None = None) -> bool:
    """True if the user has approved a call; the SDK refuses one of the same id and another
    input."""
    if call_id is None:
        assert isinstance(ctx, ToolContext)
        call_id = ctx.tool_call_id
    names = (tool.name, tool_name(tool))
    return any(ctx.is_tool_approved(name, call_id) is True for name in names)


def _is_structured(value: object) -> bool:
    kinds = ("text", "image", "file")
    return isinstance(value, _STRUCTURED) or (
        isinstance(value, Mapping) and value.get("type") in kinds
    )


def _are_structured(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_structured, value))


def read_output(value: Any) -> ToolResult:
    """Read a tool's output for hooks: texts, and the kind of anything else."""
    if _is_structured(value):
        value = [value]
    if _are_structured(value):
        return ToolResult([_show_part(part) for part in value])
    return as_tool_result(value if isinstance(value, str) or value is None else text_of(value))


def _show_part(part: Any) -> dict[str, Any]:
    kind = get(part, "type")
    if kind == "text":
        return {"text": get(part, "text") or ""}
    shown = {name: get(part, name) for name in ("filename", "file_id", "detail")}
    return {"type": kind, **{name: value for name, value in shown.items() if value}}


def _apply_outcome(outcome: ToolOutcome) -> Any:
    """Return what the SDK gets from the call: the tool's own object if hooks changed nothing."""
    value, added = outcome.value, outcome.added
    if outcome.replaced or not outcome.ran:
        return outcome.text
    if not added:
        return value
    if _is_structured(value):
        value = [value]
    if _are_structured(value):
        return [*value, ToolOutputText(text=added)]
    return outcome.text


async def ask_policy(policy: Any, *given: Any) -> bool:
    """True if the tool's own policy requires approval."""
    answer = policy(*given) if callable(policy) else policy
    return bool(await answer if isawaitable(answer) else answer)
