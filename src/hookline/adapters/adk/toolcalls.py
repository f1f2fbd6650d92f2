"""Applies to an agent's tool call what hooks answer.

ADK calls plugins before a tool and after it. A call that waits for the user's confirmation starts
again from the beginning: the event that asks holds what BeforeTool hooks answered, so they do not
run twice.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.events.event import Event
from google.adk.flows.llm_flows.functions import generate_client_function_call_id
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from hookline.adapters.adk.modelcalls import ANSWER_TOOL
from hookline.adapters.adk.results import apply_outcome, read_result
from hookline.adapters.adk.runs import AdkToolCall, Run, Subagent, read_marks
from hookline.adapters.steps import RunState, ToolStep, find_record, key_call
from hookline.calls.tool import Confirm, Execute, ToolInput, add_to_error, text_of
from hookline.wire.events import HookEventName

# The calls by which ADK asks the user.
_ASKS = ("adk_request_confirmation", "adk_request_credential", "adk_request_input")
# The tool by which an agent that was handed a task ends it.
FINISH_TASK = "finish_task"
_WAITING = "This tool call waits for the user's confirmation."


class ToolCalls:
    """The tool calls of a plugin's runs; ``confirm`` asks the user at once."""

    def __init__(self, confirm: Confirm | None) -> None:
        self._confirm = confirm

    async def open(self, run: Run, call: AdkToolCall) -> dict[str, Any] | None:
        """Fire BeforeTool; return the result in place of a tool that must not run."""
        context, name, args = call.context, call.tool.name, call.args
        if name == ANSWER_TOOL:
            return None
        state = run.find_agent(context.agent_name, context.branch)
        refusal = self._find_refusal(run, call)
        answer, answered = context.tool_confirmation, None
        if refusal is None and answer is not None:
            question = _find_question(context)
            if question is None:
                refusal = f"the user was not asked to confirm this call of {name}"
            else:
                record = _read_record(question, context)
                answered = None if record is None else find_record([record], name, args)
                if record is not None and answered is None:
                    refusal = f"the user was asked to confirm another call of {name}"
        if refusal is not None:
            return _settle(call, refusal)
        step = self._make_step(run, state, call)
        state.allowed = self._find_allowed(run, context)
        approved = None if answer is None else answer.confirmed
        refused = await step.open(answered=answered, approved=approved)
        if refused is not None:
            return _settle(call, refused.text)
        call.step = step
        if step.question is not None:
            return await self._pause(run, call, step)
        if step.is_rewritten:
            call.record = step.write_record()
            args.clear()
            args.update(step.input)
        if name == FINISH_TASK and isinstance(state, Subagent):
            end = await state.close_turn(text_of(args))
            if end.send_back is not None:
                return _settle(call, end.send_back)
        return None

    async def open_tasks(
        self, run: Run, context: CallbackContext, content: types.Content
    ) -> types.Content:
        """Fire BeforeTool for calls that hand a task to an agent, since ADK does not call plugins
        for these; return the content to go on with. A refused call gets a name that no agent has,
        and its reason when ADK calls plugins for that name."""
        tools, parts = run.tools.get(context.agent_name, {}), list[types.Part]()
        for part in content.parts or []:
            function_call = part.function_call
            tool = tools.get(function_call.name or "") if function_call is not None else None
            if function_call is not None and tool is not None and hands_over_task(tool):
                call = AdkToolCall(tool, {**(function_call.args or {})}, context, may_answer=False)
                refused = await self.open(run, call)
                function_call = function_call.model_copy(update={"args": call.args})
                if refused is not None:
                    function_call.id = function_call.id or generate_client_function_call_id()
                    function_call.name = f"{function_call.name}_refused"
                    key = key_call(function_call.id, function_call.name, call.args)
                    run.refused[key] = refused["error"]
                part = part.model_copy(update={"function_call": function_call})
            parts.append(part)
        return content.model_copy(update={"parts": parts})

    async def close(self, run: Run, call: AdkToolCall, result: Any) -> dict[str, Any] | None:
        """Fire AfterTool; return the result in place of the tool's own, None if it stays."""
        if call.is_settled or await self._is_waiting(call, result) or call.tool.name == ANSWER_TOOL:
            return None
        step = call.step
        if step is None:
            if not call.may_answer:
                return None
            # Another plugin answered in the tool's place, before BeforeTool fired.
            state = run.find_agent(call.context.agent_name, call.context.branch)
            step = self._make_step(run, state, call)
            await step.take_up()
        find_tool = self._find_tool(run, call)
        changed = apply_outcome(await step.close(result=result, find_tool=find_tool))
        call.is_seen, call.seen = True, result if changed is None else changed
        return changed

    async def fail(self, call: AdkToolCall, error: Exception) -> dict[str, Any] | None:
        """Fire AfterTool for a tool that raised; return the result in place of the exception, or
        None to let it propagate, with what hooks add."""
        if call.step is None:
            return None
        call.has_failed = True
        outcome = await call.step.close(error=error)
        if outcome.replaced:
            return _settle(call, outcome.text)
        if outcome.added:
            add_to_error(error, outcome.added)
        return None

    async def see_results(self, run: Run, events: Sequence[Event], message: types.Content) -> bool:
        """Fire AfterTool for the results in a message, of long-running tools and of agents that
        were handed a task, and apply the answers; return True if hooks changed the message."""
        calls = {c.id: c for event in events for c in event.get_function_calls()}
        has_changed = False
        for part in message.parts or []:
            response = part.function_response
            call = None if response is None else calls.get(response.id)
            if response is None or call is None or call.name is None or call.name in _ASKS:
                continue
            if run.may_skip(HookEventName.AFTER_TOOL, target=call.name):
                continue
            step = ToolStep(run, call.name, call.args or {}, read=read_result, call_id=call.id)
            await step.take_up()
            changed = apply_outcome(await step.close(result=response.response or {}))
            if changed is not None:
                part.function_response = response.model_copy(update={"response": changed})
                has_changed = True
        return has_changed

    def _find_refusal(self, run: Run, call: AdkToolCall) -> str | None:
        """Return why a call must not run that hooks are not asked about, None if it may."""
        name, tool = call.tool.name, call.tool
        refused = run.refused.pop(key_call(call.context.function_call_id, name, call.args), None)
        if refused is not None:
            return refused
        if isinstance(tool, AgentTool) and not tool.include_plugins:
            problem = (
                f"hooks do not see what the agent {name} does, because its AgentTool has "
                "include_plugins=False; leave that out to have hooks see it"
            )
            run.face.warn(problem)
            if run.face.is_strict():
                return problem
        return None

    def _find_allowed(self, run: Run, context: ToolContext) -> frozenset[str] | None:
        """Return the tools that the response with this call may call, None for all."""
        if context.agent_name in run.tools:
            return run.find_allowed(context)
        # Its model was called in an earlier run, perhaps in another process.
        event = _find_call(context)
        names = None if event is None else read_marks(event).get("allowed")
        return None if names is None else frozenset(names)

    def _make_step(self, run: Run, state: RunState, call: AdkToolCall) -> ToolStep:
        context = call.context
        return ToolStep(
            state,
            call.tool.name,
            # A copy, since hooks rewrite ADK's arguments in place.
            {**call.args},
            confirm=self._confirm,
            # ADK must be able to start the call again after the answer.
            defers=run.outer is None and not run.is_live and _find_call(context) is not None,
            mcp_context=_describe_server(call.tool),
            read=read_result,
            call_id=context.function_call_id,
        )

    async def _pause(self, run: Run, call: AdkToolCall, step: ToolStep) -> dict[str, Any]:
        """Make ADK ask the user and start the call again with the answer."""
        question, context = step.question, call.context
        assert question is not None
        await step.announce()
        hint = question.reason
        if question.system_message:
            hint += f"\n\n{question.system_message}"
        if step.is_rewritten:
            hint += f"\n\nIt would run with {text_of(question.tool_input)}"
        call.record = step.write_record()
        if run.stop is not None:
            return _settle(call, run.stop)
        context.request_confirmation(hint=hint)
        # Otherwise ADK would call the model with this result at once.
        context.actions.skip_summarization = True
        return _settle(call, _WAITING)

    async def _is_waiting(self, call: AdkToolCall, result: Any) -> bool:
        """True if a result says only that the tool has not run or is not done."""
        context, tool = call.context, call.tool
        if tool.is_long_running and not result:
            return True
        answer = context.tool_confirmation
        is_refused = answer is not None and not answer.confirmed
        if is_refused or context.function_call_id in context.actions.requested_tool_confirmations:
            # ADK itself asked or refused only if the tool requires it; else the tool has run.
            call.is_settled = await tool.check_require_confirmation(call.args, context) is True
        return call.is_settled

    def _find_tool(self, run: Run, call: AdkToolCall) -> Callable[[str], Execute | None]:
        """Return a function that finds another tool of the agent, to run it."""
        context = call.context
        tools = run.tools.get(context.agent_name, {})

        def find(name: str) -> Execute | None:
            tool = tools.get(name)
            if tool is None or name == ANSWER_TOOL:
                return None

            async def execute(args: ToolInput) -> Any:
                if await tool.check_require_confirmation(args, context) is True:
                    return {
                        "error": f"{name} needs the user's confirmation first, so it did not run"
                    }
                try:
                    return await tool.run_async(args={**args}, tool_context=context)
                except Exception as error:
                    run.face.warn(f"a hook called {name}, which raised: {error}")
                    return {"error": str(error)}

            return execute

        return find


def hands_over_task(tool: BaseTool) -> bool:
    """True if ADK runs the tool's agent in place of the tool."""
    # Private: nothing public tells such a tool from an AgentTool of the same agent. Without it,
    # BeforeTool would not fire for calls that hand over a task.
    return isinstance(tool, AgentTool) and getattr(tool, "_defers_response", False)


def _settle(call: AdkToolCall, reason: str) -> dict[str, Any]:
    """Return the result of a call that gives none here."""
    call.is_settled = True
    return {"error": reason}


def _find_question(context: ToolContext) -> Event | None:
    """Return the event by which the user was asked about this call. An earlier call may have had
    the same id, and a model can forge a question that the user was never asked."""
    id = context.function_call_id
    for event in reversed(context.session.events):
        if id in event.actions.requested_tool_confirmations:
            return event
        if any(call.id == id for call in event.get_function_calls()):
            return None
    return None


def _read_record(question: Event, context: ToolContext) -> Mapping[str, Any] | None:
    """Return what BeforeTool hooks answered before the user was asked about a call of this id, with
    the input that they saw."""
    calls = read_marks(question).get("calls")
    record = calls.get(context.function_call_id) if isinstance(calls, Mapping) else None
    return record if isinstance(record, Mapping) else None


def _find_call(context: ToolContext) -> Event | None:
    """Return the event in which a model made the call; None if ADK could not find it again."""
    id = context.function_call_id
    for event in reversed(context.session.events):
        if id is not None and any(call.id == id for call in event.get_function_calls()):
            return event
    return None


def _describe_server(tool: BaseTool) -> dict[str, Any] | None:
    """Describe the server of an MCP tool."""
    # Its class cannot be imported where the mcp package is not installed.
    raw = getattr(tool, "raw_mcp_tool", None)
    if raw is None:
        return None
    described: dict[str, Any] = {"tool_name": raw.name}
    # Private: a tool has no public name for its server. Without them, hooks read no server_name.
    manager = getattr(tool, "_mcp_session_manager", None)
    params = getattr(manager, "_connection_params", None)
    params = getattr(params, "server_params", params)
    for name in ("command", "args", "cwd", "url"):
        value = getattr(params, name, None)
        if value:
            described[name] = value if isinstance(value, list) else str(value)
    server = described.get("url") or " ".join(
        [described.get("command", ""), *described.get("args", ())]
    )
    return {"server_name": server.strip(), **described}
