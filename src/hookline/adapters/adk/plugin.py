"""The plugin that users give their apps, and the one that it puts before all others.

Once a plugin returns a value, ADK does not call the plugins after it. The plugin in front returns
none: it notes which calls begin and looks at their events, so that AfterModel and AfterTool hooks
also see what another plugin answered in place of a model or a tool.
"""

import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from hookline.adapters.adk.modelcalls import (
    ANSWER_TOOL,
    close_call,
    hold_back,
    mend_output,
    open_call,
)
from hookline.adapters.adk.results import holds_media
from hookline.adapters.adk.runs import (
    MARK,
    AdkModelCall,
    AdkToolCall,
    Run,
    Subagent,
    mark,
    read_prompt,
    show_text,
)
from hookline.adapters.adk.summaries import HookedSummarizer
from hookline.adapters.adk.toolcalls import FINISH_TASK, ToolCalls, hands_over_task
from hookline.adapters.adk.turns import (
    add_texts,
    append,
    begin_subagent,
    begin_turn,
    end_run,
    end_single_turn,
    end_turn,
    forget_prompt,
    go_on,
    is_chat_agent,
)
from hookline.adapters.conversations import Conversation, Conversations, Given
from hookline.adapters.steps import MODEL_EVENTS, TOOL_EVENTS, TURN_EVENTS
from hookline.calls.tool import Confirm
from hookline.wire.events import HookEventName

# The variable that makes OpenTelemetry record model messages.
_CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_NOT_CAPTURED = ("", "0", "false", "no_content")
# How many runs a plugin remembers: ADK calls no callback when a run is cancelled.
_MOST_RUNS = 10_000


class HooklinePlugin(BasePlugin):
    """Runs hooks on the turns, model calls and tool calls of an app's agents, each conversation
    under the id of its ADK session.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a directory whose settings are loaded, or
    None for the working directory's. A hook that asks pauses the run with ADK's own tool
    confirmation; with ``confirm`` that function is asked instead. The runner's ``close()`` ends
    the sessions.
    """

    def __init__(
        self, hooks: Given = None, *, name: str = "hookline", confirm: Confirm | None = None
    ) -> None:
        super().__init__(name)
        self._conversations = Conversations(hooks)
        self._calls = ToolCalls(confirm)
        self._runs: OrderedDict[str, Run] = OrderedDict()
        # The conversations of recent runs, by run id, which events carry.
        self._recent: OrderedDict[str, Conversation] = OrderedDict()

    async def close(self) -> None:
        """Fire SessionEnd for every conversation."""
        await self._conversations.end_all(blocking=False)

    # -- the turn

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Fire SessionStart and BeforeAgent; a prompt that hooks refuse is not stored."""
        run = self._start_run(invocation_context)
        events = invocation_context.session.events
        await begin_turn(run, invocation_context, read_prompt(user_message), events)
        if run.rejection is not None:
            return forget_prompt(run)
        return await self._see_results(run, invocation_context, user_message)

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """End a run whose prompt hooks have refused."""
        manager = invocation_context.plugin_manager
        front = next((p for p in manager.plugins if isinstance(p, _Front)), None)
        if front is None:
            front = _Front()
            # A new list, since the manager is iterating over the old one.
            manager.plugins = [front, *manager.plugins]
        if self not in front.plugins:
            front.plugins.append(self)
        run = self._runs.get(invocation_context.invocation_id)
        if run is None:
            run = self._start_run(invocation_context)
        run.live_queue = invocation_context.live_request_queue
        refused = None if run.is_subagent else self._check_run(run, invocation_context)
        if refused is not None:
            return _say(refused)
        message = None
        if not run.is_open:
            # Another plugin changed the message, or there is none.
            events = invocation_context.session.events
            last = events[-1] if events else None
            if (
                last is not None
                and last.author == "user"
                and last.invocation_id == invocation_context.invocation_id
                and not run.is_live
            ):
                message, events = last.content, events[:-1]
            prompt = None if message is None else read_prompt(message)
            await begin_turn(run, invocation_context, prompt, events)
        if run.rejection is not None:
            return _say(run.rejection)
        if message is not None:
            seen = await self._see_results(run, invocation_context, message)
            if seen is not None:
                # Models read the last result of a call alone.
                await append(invocation_context, seen, {"results": True})
        await add_texts(run, invocation_context)
        return None

    async def _see_results(
        self, run: Run, context: InvocationContext, message: types.Content
    ) -> types.Content | None:
        """Fire AfterTool for the results in a message; return the changed message, None if hooks
        changed nothing."""
        # Copies: the caller's message must not change.
        parts = [part.model_copy() for part in message.parts or []]
        seen = message.model_copy(update={"parts": parts})
        has_changed = await self._calls.see_results(run, context.session.events, seen)
        return seen if has_changed else None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Fire AfterAgent, if only the end of the run shows that the turn is over."""
        run = self._runs.pop(invocation_context.invocation_id, None)
        if run is None:
            return
        run.is_over = True
        await end_run(run, invocation_context)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """Forget a run that failed."""
        run = self._runs.pop(invocation_context.invocation_id, None)
        if run is not None:
            run.is_over = True

    async def before_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> None:
        """Begin with an agent that runs in place of a tool call."""
        run, branch = self._find_run(callback_context), callback_context.branch
        subagent = run.add_subagent(agent, branch)
        if subagent is not None and not subagent.has_turn:
            await begin_subagent(subagent, callback_context.session.events, branch)

    # -- the model

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Fire BeforeToolSelection and BeforeModel."""
        run = self._find_run(callback_context)
        if run.is_live:
            return None
        agent, branch = callback_context.agent_name, callback_context.branch
        run.tools[agent] = llm_request.tools_dict
        if run.next_prompt is None and run.find_agent(agent, branch).may_skip_model():
            # Nothing holds for its tool calls that held for those of the response before.
            run.forget_call((agent, branch), callback_context.actions)
            return None
        call = self._note_call(run, callback_context, llm_request)
        if run.next_prompt is not None:
            await go_on(run, callback_context.get_invocation_context(), llm_request)
        return await open_call(call)

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Fire AfterModel with the complete response; its chunks are held back until then, if
        hooks may change it."""
        run = self._find_run(callback_context)
        if run.is_live:
            return None
        call = run.models.get(id(callback_context.actions))
        if llm_response.partial:
            if run.holds_back:
                hold_back(llm_response)
            return None
        if call is not None and not run.may_skip(HookEventName.AFTER_MODEL):
            await close_call(call, llm_response)
        tools = run.tools.get(callback_context.agent_name, {})
        content = llm_response.content
        if content and any(map(hands_over_task, tools.values())):
            llm_response.content = await self._calls.open_tasks(run, callback_context, content)
            if call is not None and call.seen is content:
                call.seen = llm_response.content
        return None

    # -- tools

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Fire BeforeTool; what hooks rewrite is written into the arguments."""
        run = self._find_run(tool_context)
        # A run that the tool starts, such as an agent's, belongs to this run.
        run.find_agent(tool_context.agent_name, tool_context.branch).enter_tool()
        call = run.tool_calls.get(id(tool_context))
        return None if call is None else await self._calls.open(run, call)

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Fire AfterTool, if the tool has run."""
        run = self._find_run(tool_context)
        call = run.tool_calls.get(id(tool_context))
        return None if call is None else await self._calls.close(run, call, result)

    async def on_tool_error_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        error: BaseException,
    ) -> dict[str, Any] | None:
        """Fire AfterTool with the error of a tool that raised."""
        call = self._find_run(tool_context).tool_calls.get(id(tool_context))
        if call is None or not isinstance(error, Exception):
            return None
        return await self._calls.fail(call, error)

    # -- called by the plugin in front

    def note_model(self, context: CallbackContext, request: LlmRequest) -> None:
        """Note that a model call begins."""
        run = self._find_run(context)
        if not run.may_skip(HookEventName.AFTER_MODEL) or not run.may_skip_turn():
            self._note_call(run, context, request)

    def note_tool(self, tool: BaseTool, args: dict[str, Any], context: ToolContext) -> None:
        """Note that a tool call begins."""
        if hands_over_task(tool):
            # BeforeTool fired when the model called it.
            return
        run, name = self._find_run(context), tool.name
        is_resumed = context.tool_confirmation is not None or context.agent_name not in run.tools
        if (
            run.is_ended
            or run.find_allowed(context) is not None
            or run.refused
            or (is_resumed and not run.is_live)
            or isinstance(tool, AgentTool)
            or name == FINISH_TASK
            or not run.may_skip(*TOOL_EVENTS, target=name)
        ):
            may_answer = not run.may_skip(HookEventName.AFTER_TOOL, target=name)
            run.tool_calls[id(context)] = AdkToolCall(tool, args, context, may_answer=may_answer)

    async def look_at(self, context: InvocationContext, event: Event) -> None:
        """Look at an event before other plugins do."""
        run = self._runs.get(context.invocation_id)
        if run is None:
            return
        if run.rejection is not None:
            if run.rewinds_prompt and event.author == "model":
                event.actions.rewind_before_invocation_id = context.invocation_id
            return
        if not run.is_live:
            call = run.models.get(id(event.actions))
            if call is not None and event.content is not None:
                await self._look_at_response(run, call, event)
            if event.partial:
                return
            if call is not None and call.allowed is not None and event.get_function_calls():
                mark(event, allowed=sorted(call.allowed))
            if event.author == "user" and event.content is not None:
                # The result of an agent that was handed a task.
                await self._calls.see_results(run, context.session.events, event.content)
        await self._look_at_results(run, event)

    async def look_at_answer(self, context: InvocationContext, event: Event) -> Event | None:
        """End the turn with the answer; return the event that replaces it if hooks send the agent
        back."""
        run = self._runs.get(context.invocation_id)
        if run is None or run.is_live or event.partial:
            return None
        if event.long_running_tool_ids:
            run.is_paused = True
            return None
        if not run.has_turn or event.author == "user":
            return None
        text = show_text(event.content) or event.error_message
        if not text or not event.is_final_response() or event.get_function_responses():
            return None
        state = run.find_agent(event.author, event.branch)
        if isinstance(state, Subagent):
            # A task goes on with the user's next message, until the agent calls finish_task.
            if state.mode == "single_turn":
                await end_single_turn(state, text)
            return None
        run.is_paused, run.answer = False, text
        if (
            (id(event.actions) in run.models or run.has_structured_answer)
            and event.content is not None
            and not event.branch
            and is_chat_agent(context, event.author)
        ):
            return await end_turn(run, event, text)
        return None

    async def _look_at_response(self, run: Run, call: AdkModelCall, event: Event) -> None:
        """Fire AfterModel for a response that bypassed the callback of this plugin."""
        own = event.content
        if event.partial:
            if own is not call.seen and run.holds_back:
                hold_back(event)
            return
        if run.may_skip(HookEventName.AFTER_MODEL):
            return
        if own is not call.seen:
            # In place, and before the agent runs the calls in it.
            await close_call(call, event)
        mend_output(run, call, event, show_text(own))

    async def _look_at_results(self, run: Run, event: Event) -> None:
        """Fire AfterTool for results that bypassed the callback of this plugin, and note what
        BeforeTool hooks answered about calls that wait for the user."""
        records: dict[str, Any] = {}
        for response in event.get_function_responses():
            run.has_structured_answer = response.name == ANSWER_TOOL
            call = run.take_call(response.id)
            if call is None:
                continue
            if (
                call.record is not None
                and response.id in event.actions.requested_tool_confirmations
            ):
                records[response.id or ""] = call.record
            seen = call.seen if isinstance(call.seen, dict) else {"result": call.seen}
            is_seen = call.is_seen and (seen == response.response or holds_media(seen))
            # For a tool that does not exist ADK gives the result, after AfterTool has fired.
            is_seen = is_seen or (call.has_failed and type(call.tool) is BaseTool)
            if is_seen or not call.may_answer:
                continue
            if call.is_seen:
                # Another plugin replaced the result that hooks have seen.
                call.step = None
            changed = await self._calls.close(run, call, response.response or {})
            if changed is not None:
                response.response = changed
        if records:
            mark(event, calls=records)

    # -- runs

    def _start_run(self, context: InvocationContext) -> Run:
        config = context.run_config
        if config is not None and MARK in (config.custom_metadata or {}):
            # The client set it, and ADK would copy it to every event of the run.
            metadata = {k: v for k, v in (config.custom_metadata or {}).items() if k != MARK}
            context.run_config = config.model_copy(update={"custom_metadata": metadata})
        agent = context.agent.name if context.agent is not None else "agent"
        return self._add_run(context.invocation_id, context.session.id, agent)

    def _find_run(self, context: CallbackContext) -> Run:
        run = self._runs.get(context.invocation_id)
        # ADK's evaluation calls the callbacks of a model without a run.
        return run or self._add_run(context.invocation_id, context.session.id, context.agent_name)

    def _add_run(self, id: str, session_id: str, agent: str) -> Run:
        run = self._runs[id] = Run(self._conversations.of(session_id), agent)
        self._recent[id] = run.conversation
        for runs in (self._runs, self._recent):
            if len(runs) > _MOST_RUNS:
                runs.popitem(last=False)
        return run

    def find_conversation_of(self, events: Sequence[Event]) -> Conversation:
        """Return the conversation that these events belong to."""
        for event in reversed(events):
            if event.invocation_id in self._recent:
                return self._recent[event.invocation_id]
        return self._conversations.of(None)

    def _note_call(self, run: Run, context: CallbackContext, request: LlmRequest) -> AdkModelCall:
        actions, place = context.actions, (context.agent_name, context.branch)
        call = run.models.get(id(actions))
        if call is None:
            agent = context.get_invocation_context().agent
            call = AdkModelCall(
                run.find_agent(*place),
                actions,
                request,
                agent if isinstance(agent, BaseAgent) else None,
            )
            run.add_call(place, call)
        return call

    def _check_run(self, run: Run, context: InvocationContext) -> str | None:
        """Warn once about what hooks do not see of a run; in strict mode return why it must not
        begin."""
        may_skip, compaction = run.may_skip, context.events_compaction_config
        summarizer = compaction and compaction.summarizer
        unseen = [HookEventName.PRE_COMPRESS, *MODEL_EVENTS]
        if isinstance(summarizer, HookedSummarizer):
            unseen = [] if summarizer.guards_model else [*MODEL_EVENTS]
        problem = None
        if run.is_live and not may_skip(*MODEL_EVENTS, *TURN_EVENTS):
            problem = (
                "hooks see only the tool calls of a live run, not its model's requests and "
                "responses; use run_async to have hooks see them"
            )
        elif context.run_config and context.run_config.support_cfc and not may_skip(*MODEL_EVENTS):
            problem = (
                "hooks cannot change model requests with support_cfc=True, because ADK then opens "
                "a live connection; leave it out to have hooks change them"
            )
        elif compaction is not None and unseen and not may_skip(*unseen):
            problem = (
                "hooks do not see how the app's events are compacted; give its "
                "EventsCompactionConfig a summarizer=HookedSummarizer(model, hooks=plugin)"
            )
        if problem is not None:
            self._conversations.warn_once(problem)
        captured = os.environ.get(_CAPTURE, "").lower()
        if captured not in _NOT_CAPTURED and not may_skip(HookEventName.AFTER_MODEL):
            self._conversations.warn_once(
                f"{_CAPTURE} is {captured}: OpenTelemetry records the model's responses before "
                "AfterModel hooks change them; unset it to keep them out",
            )
        return problem if run.face.is_strict() else None


class _Front(BasePlugin):
    """The plugin before all others of a runner; it serves every ``HooklinePlugin`` there."""

    def __init__(self) -> None:
        super().__init__("hookline (front)")
        self.plugins: list[HooklinePlugin] = []

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        for plugin in self.plugins:
            plugin.note_model(callback_context, llm_request)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> None:
        for plugin in self.plugins:
            plugin.note_tool(tool, tool_args, tool_context)

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        for plugin in self.plugins:
            await plugin.look_at(invocation_context, event)
        for plugin in self.plugins:
            changed = await plugin.look_at_answer(invocation_context, event)
            if changed is not None:
                return changed
        return None


def _say(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part(text=text)])
