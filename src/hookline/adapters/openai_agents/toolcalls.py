"""Tools behind hooks: copies for one turn of a run, each of the class of its original.

The SDK asks for an approval before it runs a tool. BeforeTool fires when the model has called the
tool, or with that question where hooks do not see the model, and at the latest when the tool is to
run; what hooks answered is kept under the call's id in between.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from inspect import isawaitable
from typing import Any, TypeVar

from agents import (
    Agent,
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    FunctionTool,
    LocalShellTool,
    ShellTool,
    Tool,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
)
from agents.agent_tool_state import get_agent_tool_state_scope, peek_agent_tool_run_result
from agents.editor import ApplyPatchOperation, ApplyPatchResult
from agents.run_context import RunContextWrapper
from agents.tool import (
    LocalShellCommandRequest,
    ShellActionRequest,
    ShellCommandRequest,
    ShellResult,
    invoke_function_tool,
)
from agents.tool_context import ToolContext
from openai.types.responses import Response

from hookline.adapters.gates import ToolGate, ToolOutcome
from hookline.adapters.openai_agents.items import (
    mark_question,
    put_output,
    read_arguments,
    read_mark,
)
from hookline.adapters.openai_agents.runs import Run, run_instead
from hookline.toolcall import NOBODY_TO_ASK, Execute, ToolInput, ToolResult, as_tool_result, text_of
from hookline.translate.values import get
from hookline.wire.events import HookEventName

T = TypeVar("T")
_EVENTS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL)
_STRUCTURED = (ToolOutputText, ToolOutputImage, ToolOutputFileContent)
# The attribute by which the SDK knows that a text stands in for an output that has a schema.
_STANDS_IN = "_function_tool_default_failure_handled"


def tool_name(tool: Any) -> str:
    """The name that hooks know a tool by."""
    space = getattr(tool, "_tool_namespace", None)
    return f"{space}.{tool.name}" if space else str(tool.name)


def guard_tool(run: Run, tool: Tool) -> Tool:
    """A tool behind the hooks of a run. One that the provider runs is the tool itself: hooks cannot
    see what it does."""
    if isinstance(tool, FunctionTool):
        return _GuardedFunction(run, tool).make_tool()
    if isinstance(tool, CustomTool):
        return _guard_custom(run, tool)
    if isinstance(tool, ShellTool) and tool.executor is not None:
        return _guard_shell(run, tool)
    if isinstance(tool, LocalShellTool):
        return _copy(tool, executor=partial(_run_local_shell, run, tool))
    if isinstance(tool, ApplyPatchTool):
        return _guard_patches(run, tool)
    if isinstance(tool, ComputerTool) and run.face.may_answer(HookEventName.BEFORE_TOOL, tool.name):
        run.notice(
            f"BeforeTool and AfterTool hooks do not see what {tool.name} does on a computer, and "
            "cannot keep it from anything; take ComputerTool away from the agent, or match other "
            "tools alone"
        )
    return tool


async def open_calls(run: Run, response: Response, tools: Sequence[Tool]) -> Response:
    """Fire BeforeTool for the calls of a response, so that a call that the user is asked about
    says what hooks answered; the same response if there is none."""
    functions = {tool.name: tool for tool in tools if isinstance(tool, FunctionTool)}
    pending: dict[int, tuple[Any, _GuardedFunction]] = {}
    for place, item in enumerate(response.output):
        tool = functions.get(get(item, "name")) if get(item, "type") == "function_call" else None
        guarded = getattr(tool, "on_invoke_tool", None)
        if isinstance(guarded, _GuardedFunction) and guarded.may_be_asked:
            pending[place] = (item, guarded)
    if not pending:
        return response
    given = {place: read_arguments(get(item, "arguments")) for place, (item, _) in pending.items()}
    gates = await asyncio.gather(
        *(guarded.open(given[place]) for place, (_, guarded) in pending.items())
    )
    output = list(response.output)
    settled: dict[int, FunctionTool] = {}
    kept: set[int] = set()
    for (place, (item, guarded)), gate in zip(pending.items(), gates, strict=True):
        run.gates[get(item, "call_id")] = gate
        tool = functions[get(item, "name")]
        settled[id(tool)] = tool
        if run.is_deferred(gate):
            output[place] = mark_question(item, gate, given[place], run.root.session_id)
        if gate.refusal is not None or run.is_deferred(gate):
            kept.add(id(tool))
    for key, tool in settled.items():
        if key not in kept:
            # Where the SDK has a function to ask, it has the user asked about all arguments that
            # it cannot read.
            assert isinstance(tool.on_invoke_tool, _GuardedFunction)
            tool.needs_approval = tool.on_invoke_tool.tool.needs_approval
    is_marked = any(new is not old for new, old in zip(output, response.output, strict=True))
    return put_output(response, output) if is_marked else response


class _GuardedFunction:
    """How a function tool is called behind hooks, MCP tools and agents as tools among them."""

    def __init__(self, run: Run, tool: FunctionTool) -> None:
        self.tool = tool
        self.name = tool_name(tool)
        self._run = run

    def make_tool(self) -> FunctionTool:
        changes: dict[str, Any] = {"on_invoke_tool": self, "timeout_seconds": None}
        if self.may_be_asked or self._run.facts is None or self._run.facts.marks:
            changes["needs_approval"] = self._needs_approval
        return _copy(self.tool, **changes)

    @property
    def may_be_asked(self) -> bool:
        return self._run.face.may_answer(HookEventName.BEFORE_TOOL, self.name)

    async def open(self, given: ToolInput, answered: Mapping[str, Any] | None = None) -> ToolGate:
        """Fire BeforeTool, unless hooks have answered already."""
        binding = self.tool._mcp_tool_binding
        server = binding and {"server_name": binding[0], "tool_name": binding[1]}
        return await self._run.open_gate(
            self.name, given, mcp_context=server or None, read=read_output, answered=answered
        )

    async def __call__(self, ctx: ToolContext[Any], arguments: str) -> Any:
        run = self._run
        hindrance = run.find_hindrance(self.name)
        if hindrance is not None:
            return self._put_text(ctx, hindrance)
        gate = run.gates.pop(ctx.tool_call_id, None)
        answered = read_mark(ctx.tool_call).get("answered")
        if gate is None and answered is None and run.face.may_skip(*_EVENTS, target=self.name):
            return await self._invoke(self.tool, ctx, arguments)
        given = read_arguments(arguments)
        await run.begin(goes_on=False)
        if _is_continued(ctx):
            # It was let run, and the run of its agent was interrupted.
            gate = await self.open(given, answered={})
        elif gate is None:
            gate = await self.open(given, answered)
        if gate.refusal is not None:
            if gate.refusal.stop_reason is not None:
                run.end(gate.refusal.stop_reason)
            return self._put_text(ctx, text_of(gate.refusal.llm_content))
        if run.is_deferred(gate) and not _is_approved(ctx, self.tool):
            said = gate.before.reason or ""
            return self._put_text(ctx, f"{said} ({NOBODY_TO_ASK})")
        return await self._run_tool(ctx, gate, given, arguments)

    async def _run_tool(
        self, ctx: ToolContext[Any], gate: ToolGate, given: ToolInput, arguments: str
    ) -> Any:
        run, errors = self._run, list[Exception]()
        if gate.input is not given:
            arguments = text_of(gate.input)
        try:
            value = await self._invoke(_note_errors(self.tool, errors), ctx, arguments)
        except Exception as error:
            outcome = await gate.finish(error=error)
            run.note_outcome(outcome)
            if outcome.replaced:
                run.face.warn(
                    f"hooks rejected the result of {self.name} or stopped the run after it, but it "
                    f"raised, which goes on to the caller: {outcome.text}"
                )
            raise
        if _is_continued(ctx):
            return value
        if errors:
            outcome = await gate.finish(error=errors[-1])
        else:
            outcome = await gate.finish(result=value)
        outcome = await gate.follow(outcome, partial(self._find, ctx), confirm=run.guard.confirm)
        run.note_outcome(outcome)
        if errors and not outcome.replaced and not outcome.followed:
            # The tool says itself what the model reads of an error.
            added = outcome.added
            return self._put_text(ctx, f"{value}\n\n{added}" if added else value)
        result = _apply(outcome)
        return result if result is outcome.value else self._put_text(ctx, result)

    async def _invoke(self, tool: FunctionTool, ctx: ToolContext[Any], arguments: str) -> Any:
        with self._run.inside_tool():
            return await invoke_function_tool(function_tool=tool, context=ctx, arguments=arguments)

    async def _needs_approval(
        self, ctx: RunContextWrapper[Any], params: dict[str, Any], call_id: str
    ) -> bool:
        run = self._run
        if run.facts is not None and call_id in run.facts.marks:
            # The user has not answered yet.
            return True
        gate = run.gates.get(call_id)
        if gate is None and self.may_be_asked and run.find_hindrance(self.name) is None:
            gate = run.gates[call_id] = await self.open(params)
        if gate is not None:
            if gate.refusal is not None:
                return False
            if run.is_deferred(gate):
                return True
            params = gate.input
        return await _ask(self.tool.needs_approval, ctx, params, call_id)

    def _put_text(self, ctx: ToolContext[Any], result: Any) -> Any:
        """A result in the place of the tool's own."""
        if self.tool.output_json_schema is not None and isinstance(result, str):
            setattr(ctx, _STANDS_IN, True)
        return result

    def _find(self, ctx: ToolContext[Any], name: str) -> Execute | None:
        """How to run another tool of the agent; one that is checked or approved first cannot
        follow at once."""
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


def hook_agent_tool(tool: FunctionTool, agent: Agent[Any]) -> FunctionTool:
    """A tool that runs an agent, with that agent's hooked one in its place."""
    invoker = _AgentInvoker(tool.on_invoke_tool, tool._agent_instance, agent)
    return _copy(tool, on_invoke_tool=invoker, _agent_instance=agent)


class _AgentInvoker:
    """How the tool that runs an agent is called."""

    def __init__(self, invoker: Any, agent: Agent[Any], hooked: Agent[Any]) -> None:
        self.invoker = invoker
        self._agent, self._hooked = agent, hooked

    def __agents_bind_function_tool__(self, tool: FunctionTool) -> "_AgentInvoker":
        bound = self.invoker.__agents_bind_function_tool__(tool)
        return _AgentInvoker(bound, self._agent, self._hooked)

    async def __call__(self, ctx: ToolContext[Any], arguments: str) -> Any:
        with run_instead(self._agent, self._hooked):
            return await self.invoker(ctx, arguments)


def _is_continued(ctx: ToolContext[Any]) -> bool:
    """Whether the call waits for an answer to what the agent asks that it runs."""
    if ctx.tool_call is None:
        return False
    held = peek_agent_tool_run_result(ctx.tool_call, scope_id=get_agent_tool_state_scope(ctx))
    return bool(getattr(held, "interruptions", None))


def _is_approved(ctx: RunContextWrapper[Any], tool: Any, call_id: str | None = None) -> bool:
    """Whether the SDK's user has approved a call."""
    if call_id is None:
        assert isinstance(ctx, ToolContext)
        call_id = ctx.tool_call_id
    names = (tool.name, tool_name(tool))
    return any(ctx.is_tool_approved(name, call_id) is True for name in names)


def _note_errors(tool: FunctionTool, errors: list[Exception]) -> FunctionTool:
    """The tool, which notes what its function raises before the SDK makes a text of it."""
    bind = getattr(tool.on_invoke_tool, "__agents_bind_function_tool__", None)
    if bind is None:
        return tool
    copied = _copy(tool)
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


def _is_structured(value: object) -> bool:
    kinds = ("text", "image", "file")
    return isinstance(value, _STRUCTURED) or (
        isinstance(value, Mapping) and value.get("type") in kinds
    )


def _are_structured(value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_structured, value))


def read_output(value: Any) -> ToolResult:
    """What hooks are shown of a tool's output: texts, and what kind of thing else it is."""
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


def _apply(outcome: ToolOutcome) -> Any:
    """What the tool's call gives the SDK: the tool's own object where hooks changed nothing."""
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


async def _ask(policy: Any, *given: Any) -> bool:
    """What a tool's own policy says of an approval."""
    answer = policy(*given) if callable(policy) else policy
    return bool(await answer if isawaitable(answer) else answer)


def _copy(value: T, **changes: Any) -> T:
    """A copy of the same class whose constructor does not run: it would normalize all anew."""
    copied = object.__new__(type(value))
    copied.__dict__.update(value.__dict__)
    copied.__dict__.update(changes)
    return copied


# -- tools that are no functions


async def _call_guarded(
    run: Run,
    name: str,
    given: ToolInput,
    execute: Callable[[ToolInput], Awaitable[Any]],
    *,
    key: str,
    is_approved: bool | None = None,
    read: Callable[[Any], ToolResult] | None = None,
) -> ToolOutcome:
    """Run a tool between its hooks. ``is_approved`` is what the SDK's user said of the call, None
    for a tool that the SDK cannot ask about."""
    hindrance = run.find_hindrance(name)
    if hindrance is not None:
        return ToolOutcome(result=ToolResult(hindrance), ran=False, blocked=True)
    await run.begin(goes_on=False)
    gate = run.gates.pop(key, None)
    if gate is None:
        gate = await run.open_gate(name, given, can_defer=is_approved is not None, read=read)
    refusal = gate.refusal
    if refusal is None and run.is_deferred(gate) and not is_approved:
        refusal = ToolResult(f"{gate.before.reason or ''} ({NOBODY_TO_ASK})")
    if refusal is not None:
        stop = refusal.stop_reason
        outcome = ToolOutcome(result=refusal, ran=False, blocked=stop is None, stop=stop)
    else:
        try:
            with run.inside_tool():
                value = await execute(gate.input)
        except Exception as error:
            outcome = await gate.finish(error=error)
            run.note_outcome(outcome)
            if not outcome.replaced:
                raise
            return outcome
        outcome = await gate.finish(result=value)
        outcome = await gate.follow(outcome, lambda _name: None)
    run.note_outcome(outcome)
    return outcome


async def _needs_approval(
    run: Run, name: str, given: ToolInput, key: str, policy: Any, *arguments: Any
) -> bool:
    """Whether the user is asked about a call of a tool that is no function."""
    if run.find_hindrance(name) is not None:
        return False
    if run.face.may_answer(HookEventName.BEFORE_TOOL, name):
        gate = run.gates[key] = await run.open_gate(name, given)
        if gate.refusal is not None:
            return False
        if run.is_deferred(gate):
            return True
    return await _ask(policy, *arguments)


async def _settle(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _guard_custom(run: Run, tool: CustomTool) -> CustomTool:
    async def invoke(ctx: ToolContext[Any], text: str) -> Any:
        outcome = await _call_guarded(
            run,
            tool.name,
            {"input": text},
            lambda given: _settle(tool.on_invoke_tool(ctx, given["input"])),
            key=ctx.tool_call_id,
            is_approved=_is_approved(ctx, tool),
        )
        return outcome.value if outcome.ran and not _is_changed(outcome) else outcome.text

    async def ask(ctx: RunContextWrapper[Any], text: str, call_id: str) -> bool:
        given = {"input": text}
        policy = tool.runtime_needs_approval()
        return await _needs_approval(run, tool.name, given, call_id, policy, ctx, text, call_id)

    return _copy(tool, on_invoke_tool=invoke, needs_approval=ask)


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

        outcome = await _call_guarded(
            run,
            tool.name,
            show(data.action),
            call,
            key=data.call_id,
            is_approved=_is_approved(request.ctx_wrapper, tool, data.call_id),
            read=_read_shell,
        )
        value, added = outcome.value, outcome.added
        if outcome.replaced or not outcome.ran or not isinstance(value, ShellResult):
            return value if outcome.ran and not _is_changed(outcome) else outcome.text
        if added:
            last = replace(value.output[-1], stdout=f"{value.output[-1].stdout}\n\n{added}")
            return replace(value, output=[*value.output[:-1], last])
        return value

    async def ask(ctx: RunContextWrapper[Any], action: ShellActionRequest, call_id: str) -> bool:
        policy = tool.needs_approval
        return await _needs_approval(
            run, tool.name, show(action), call_id, policy, ctx, action, call_id
        )

    return _copy(tool, executor=execute, needs_approval=ask)


def _read_shell(value: Any) -> ToolResult:
    """What hooks are shown of a shell's output: what the commands printed."""
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

    outcome = await _call_guarded(run, tool.name, given, execute, key=call.call_id)
    return outcome.text


def _guard_patches(run: Run, tool: ApplyPatchTool) -> ApplyPatchTool:
    async def ask(ctx: RunContextWrapper[Any], change: ApplyPatchOperation, call_id: str) -> bool:
        given, policy = _show_change(change), tool.needs_approval
        return await _needs_approval(
            run, tool.name, given, _key_change(change), policy, ctx, change, call_id
        )

    return _copy(tool, editor=_GuardedEditor(run, tool), needs_approval=ask)


def _show_change(change: ApplyPatchOperation) -> ToolInput:
    shown = {"type": change.type, "path": change.path, "diff": change.diff}
    return {name: value for name, value in shown.items() if value is not None}


def _key_change(change: ApplyPatchOperation) -> str:
    return json.dumps(["apply_patch", change.type, change.path, change.diff])


class _GuardedEditor:
    """An editor each of whose changes is a call of its own for hooks."""

    def __init__(self, run: Run, tool: ApplyPatchTool) -> None:
        self._run, self._tool = run, tool

    async def create_file(self, operation: ApplyPatchOperation) -> Any:
        """Make a file, if hooks let it."""
        return await self._change(operation)

    async def update_file(self, operation: ApplyPatchOperation) -> Any:
        """Change a file, if hooks let it."""
        return await self._change(operation)

    async def delete_file(self, operation: ApplyPatchOperation) -> Any:
        """Delete a file, if hooks let it."""
        return await self._change(operation)

    async def _change(self, operation: ApplyPatchOperation) -> Any:
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
            key=_key_change(operation),
            # The SDK asks about the whole patch, and makes no change before it is answered.
            is_approved=True,
            read=_read_change,
        )
        if outcome.ran and not _is_changed(outcome):
            return outcome.value
        status = "completed" if outcome.ran and not outcome.replaced else "failed"
        return ApplyPatchResult(status=status, output=outcome.text)


def _read_change(value: Any) -> ToolResult:
    text = value.output if isinstance(value, ApplyPatchResult) else value
    return as_tool_result(text)
