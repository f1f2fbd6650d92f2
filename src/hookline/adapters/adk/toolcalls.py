"""Applies to an agent's tool call what hooks answer.

ADK calls plugins before a tool and after it. A call that waits for the user's confirmation starts
again from the beginning: the event that asks holds what BeforeTool hooks answered, so they do not
run twice.
"""

import json
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
from hookline.adapters.adk.runs import Run, ToolStep, read_marks
from hookline.adapters.gates import (
    ToolGate,
    ToolOutcome,
    announce_question,
    describe_refused_call,
    key_call,
    write_input,
)
from hookline.calls.tool import Confirm, ConfirmationRequest, Deferred, Execute, ToolInput, text_of
from hookline.wire.events import HookEventName

# The calls by which ADK asks the user.
_ASKS = ("adk_request_confirmation", "adk_request_credential", "adk_request_input")
_WAITING = "This tool call waits for the user's confirmation."


class ToolCalls:
    """The tool calls of a plugin's runs; ``confirm`` asks the user at once."""

    def __init__(self, confirm: Confirm | None) -> None:
        self._confirm = confirm

    async def open(self, run: Run, step: ToolStep) -> dict[str, Any] | None:
        """Fire BeforeTool; return the result in place of a tool that must not run."""
        context, name, args = step.context, step.tool.name, step.args
        if name == ANSWER_TOOL:
            return None
        refused = self._find_refusal(run, step)
        if refused is not None:
            step.is_settled = True
            return {"error": refused}
        record = None
        if context.tool_confirmation is not None:
            question = _find_question(context)
            if question is None:
                step.is_settled = True
                return {"error": f"the user was not asked to confirm this call of {name}"}
            record = _read_record(question, context)
            if record is not None and record.get("input") != write_input(args):
                step.is_settled = True
                return {"error": f"the user was asked to confirm another call of {name}"}
            record = None if record is None else record.get("answer")
        asked: list[ConfirmationRequest] = []
        # A copy for the gate, since ADK's arguments are overwritten below.
        given = {**args}
        try:
            gate = await self._open_gate(
                run, step, given, self._make_confirm(run, step, asked), record
            )
        except Deferred:
            return await self._pause(run, step, asked[0])
        step.gate = gate
        if gate.refusal is not None:
            step.is_settled = True
            if gate.refusal.stop_reason is not None:
                run.end_loop(gate.refusal.stop_reason)
            return {"error": text_of(gate.refusal.llm_content)}
        if gate.input is not given:
            rewritten = {**gate.input}
            step.record = {"input": write_input(given), "answer": _make_record(gate, rewritten)}
            args.clear()
            args.update(rewritten)
        return None

    async def open_tasks(
        self, run: Run, context: CallbackContext, content: types.Content
    ) -> types.Content:
        """Fire BeforeTool for calls that hand a task to an agent, since ADK does not call plugins
        for these; return the content to go on with. A refused call gets a name that no agent has,
        and its reason when ADK calls plugins for that name."""
        tools, parts = run.tools.get(context.agent_name, {}), list[types.Part]()
        for part in content.parts or []:
            call = part.function_call
            tool = tools.get(call.name or "") if call is not None else None
            if call is not None and tool is not None and hands_over_task(tool):
                step = ToolStep(tool, {**(call.args or {})}, context, may_answer=False)
                refused = await self.open(run, step)
                call = call.model_copy(update={"args": step.args})
                if refused is not None:
                    call.id = call.id or generate_client_function_call_id()
                    call.name = f"{call.name}_refused"
                    run.refused[key_call(call.id, call.name, step.args)] = refused["error"]
                part = part.model_copy(update={"function_call": call})
            parts.append(part)
        return content.model_copy(update={"parts": parts})

    async def close(self, run: Run, step: ToolStep, result: Any) -> dict[str, Any] | None:
        """Fire AfterTool; return the result in place of the tool's own, None if it stays."""
        if step.is_settled or await self._is_waiting(step, result) or step.tool.name == ANSWER_TOOL:
            return None
        gate = step.gate
        if gate is None:
            if not step.may_answer:
                return None
            # Another plugin answered in the tool's place, before BeforeTool fired.
            gate = await self._open_gate(run, step, {**step.args}, None, {})
        outcome = await gate.finish(result=result)
        outcome = await gate.follow(outcome, self._find_tool(run, step), confirm=self._confirm)
        changed = self._apply_outcome(run, outcome)
        step.has_passed, step.passed = True, result if changed is None else changed
        return changed

    async def fail(self, run: Run, step: ToolStep, error: Exception) -> dict[str, Any] | None:
        """Fire AfterTool for a tool that raised; return the result in place of the exception, or
        None to let it propagate."""
        if step.gate is None:
            return None
        step.has_failed = True
        outcome = await step.gate.finish(error=error)
        if outcome.stop is not None:
            run.end_loop(outcome.stop)
        if outcome.replaced:
            step.is_settled = True
            return {"error": outcome.text}
        if outcome.added:
            run.conversation.keep(outcome.added)
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
            if not run.face.may_answer(HookEventName.AFTER_TOOL, call.name):
                continue
            gate = await run.face.tool_gate(
                call.name, call.args or {}, read=read_result, answered={}, call_id=call.id
            )
            changed = self._apply_outcome(run, await gate.finish(result=response.response or {}))
            if changed is not None:
                part.function_response = response.model_copy(update={"response": changed})
                has_changed = True
        return has_changed

    def _find_refusal(self, run: Run, step: ToolStep) -> str | None:
        """Return why a call must not run before its hooks are asked, None if it may."""
        name, tool = step.tool.name, step.tool
        if run.stop is not None:
            return run.stop
        refused = run.refused.pop(key_call(step.context.function_call_id, name, step.args), None)
        if refused is not None:
            return refused
        allowed = run.allowed.get((step.context.agent_name, step.context.branch))
        if step.context.agent_name not in run.tools:
            # Its model was called in an earlier run, perhaps in another process.
            called = _find_call(step.context)
            allowed = None if called is None else read_marks(called).get("allowed")
        if allowed is not None and name not in allowed:
            return describe_refused_call(name)
        if isinstance(tool, AgentTool) and not tool.include_plugins:
            told = (
                f"hooks do not see what the agent {name} does, because its AgentTool has "
                "include_plugins=False; leave that out to have hooks see it"
            )
            run.face.warn(told)
            if run.face.is_strict():
                return told
        return None

    async def _open_gate(
        self,
        run: Run,
        step: ToolStep,
        given: ToolInput,
        confirm: Confirm | None,
        answered: Mapping[str, Any] | None,
    ) -> ToolGate:
        return await run.face.tool_gate(
            step.tool.name,
            given,
            confirm=confirm,
            mcp_context=_describe_server(step.tool),
            read=read_result,
            answered=answered,
            call_id=step.context.function_call_id,
        )

    def _make_confirm(
        self, run: Run, step: ToolStep, asked: list[ConfirmationRequest]
    ) -> Confirm | None:
        """Return the function that asks the user about a call; None if nobody can be asked."""
        context = step.context
        answer = context.tool_confirmation
        if answer is not None:
            return lambda _request: answer.confirmed
        confirm = self._confirm
        if confirm is not None:

            async def ask(request: ConfirmationRequest) -> bool:
                await announce_question(run.face, request)
                answered: Any = confirm(request)
                return (await answered if hasattr(answered, "__await__") else answered) is True

            return ask
        if run.outer is not None or run.is_live or _find_call(context) is None:
            # ADK could not start the call again after the answer.
            return None

        def pause(request: ConfirmationRequest) -> bool:
            asked.append(request)
            raise Deferred

        return pause

    async def _pause(
        self, run: Run, step: ToolStep, request: ConfirmationRequest
    ) -> dict[str, Any]:
        """Make ADK ask the user and start the call again with the answer."""
        await announce_question(run.face, request)
        hint = request.reason
        if request.system_message:
            hint += f"\n\n{request.system_message}"
        answered: dict[str, Any] = {"decision": "ask", "reason": request.reason}
        if request.system_message:
            answered["systemMessage"] = request.system_message
        if request.tool_input != step.args:
            hint += f"\n\nIt would run with {text_of(request.tool_input)}"
            answered["hookSpecificOutput"] = {"tool_input": json.loads(text_of(request.tool_input))}
        step.is_settled = True
        step.record = {"input": write_input(step.args), "answer": answered}
        if run.stop is not None:
            return {"error": run.stop}
        step.context.request_confirmation(hint=hint)
        # Otherwise ADK would call the model with this result at once.
        step.context.actions.skip_summarization = True
        return {"error": _WAITING}

    async def _is_waiting(self, step: ToolStep, result: Any) -> bool:
        """True if a result says only that the tool has not run or is not done."""
        context, tool = step.context, step.tool
        if tool.is_long_running and not result:
            return True
        answer = context.tool_confirmation
        is_refused = answer is not None and not answer.confirmed
        if is_refused or context.function_call_id in context.actions.requested_tool_confirmations:
            # ADK itself asked or refused only if the tool requires it; else the tool has run.
            step.is_settled = await tool.check_require_confirmation(step.args, context) is True
        return step.is_settled

    def _apply_outcome(self, run: Run, outcome: ToolOutcome) -> dict[str, Any] | None:
        if outcome.stop is not None:
            run.end_loop(outcome.stop)
        return apply_outcome(outcome)

    def _find_tool(self, run: Run, step: ToolStep) -> Callable[[str], Execute | None]:
        """Return a function that finds another tool of the agent, to run it."""
        context = step.context
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
    return isinstance(tool, AgentTool) and getattr(tool, "_defers_response", False)


def _make_record(gate: ToolGate, rewritten: ToolInput) -> dict[str, Any]:
    """Make the JSON of what BeforeTool hooks answered about a call."""
    record: dict[str, Any] = {"hookSpecificOutput": {"tool_input": json.loads(text_of(rewritten))}}
    if gate.before.message:
        record["systemMessage"] = gate.before.message
    return record


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
