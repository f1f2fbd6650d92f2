"""The plugin that runs hooks in Strands' agents, on public seams alone: the middleware of model
calls and tool calls, and the callbacks around an invocation and a batch of tools."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any
from weakref import WeakSet

from strands import Agent
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    AfterToolsEvent,
    BeforeInvocationEvent,
)
from strands.middleware import (
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    TypedEvent,
)
from strands.plugins import Plugin

from hookline.adapters.conversations import Conversation, Conversations, Given
from hookline.adapters.steps import complete
from hookline.adapters.strands.modelcalls import call_model, with_texts
from hookline.adapters.strands.runs import Runs, find_subagent
from hookline.adapters.strands.toolcalls import run_tool
from hookline.adapters.strands.translator import StrandsTranslator
from hookline.calls.tool import Confirm, text_of
from hookline.errors import HooklineError, TranslationError
from hookline.wire.events import SessionStartSource

_FORM = StrandsTranslator.form
# The ways in which an invocation pauses; the next one goes on with it.
_PAUSES = ("interrupt", "checkpoint")
# The agents that have a plugin of hookline's.
_HOOKED: "WeakSet[Agent]" = WeakSet()


class HooklinePlugin(Plugin):
    """Runs hooks on the turns, model calls and tool calls of an agent, each conversation under the
    agent's ``session_id``, and on those of agents that it has as tools.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a directory whose settings are loaded, or
    None for the working directory's. A hook that asks interrupts the agent; with ``confirm`` that
    function is asked instead. One plugin may serve many agents. ``close()``, or the end of a
    ``with`` block, ends the sessions.
    """

    name = "hookline"

    def __init__(self, hooks: Given = None, *, confirm: Confirm | None = None) -> None:
        super().__init__()
        self._conversations = Conversations(hooks)
        self._runs = Runs(self._conversations)
        self._confirm = confirm

    def close(self) -> None:
        """Fire SessionEnd for every conversation."""
        complete(self._conversations.end_all(blocking=True))

    def __enter__(self) -> "HooklinePlugin":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "HooklinePlugin":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._conversations.end_all(blocking=False)

    def init_agent(self, agent: Agent) -> None:
        """Put an agent behind hooks; Strands calls this for the agents that have the plugin."""
        _HOOKED.add(agent)
        agent.add_hook(self._begin_pass, BeforeInvocationEvent)
        agent.add_hook(self._end_pass, AfterInvocationEvent)
        agent.add_hook(self._end_tools, AfterToolsEvent)
        agent.add_hook(self._mark_response, AfterModelCallEvent)
        agent.add_middleware(InvokeModelStage, self._call_model)
        agent.add_middleware(ExecuteToolStage, self._run_tool)
        manager = agent.conversation_manager
        if not isinstance(getattr(manager.reduce_context, "func", None), type(_compress)):
            compress = partial(_compress, self._conversations, manager.reduce_context)
            manager.reduce_context = compress  # type: ignore[method-assign]

    async def _begin_pass(self, event: BeforeInvocationEvent) -> None:
        """Fire BeforeAgent, unless this pass goes on with a turn."""
        agent: Any = event.agent
        run = self._runs.find(agent)
        if run is not None and run.goes_on:
            run.goes_on = False
            return
        if event.messages is None:
            self._refuse_way_around()
            return
        prompt = _read_prompt(event.messages or agent.messages)
        run = await self._runs.begin(agent)
        start = await run.open_turn(prompt or "", goes_on=prompt is None)
        if start.refusal is not None and not start.stop:
            event.cancel = start.refusal or True
        elif start.texts and event.messages:
            event.messages = with_texts(event.messages, start.texts)
        else:
            for text in start.texts:
                run.keep(text)

    async def _end_pass(self, event: AfterInvocationEvent) -> None:
        """Fire AfterAgent, and send the agent back where hooks want it."""
        agent: Any = event.agent
        run, result = self._runs.find(agent), event.result
        if run is None:
            return
        if run.refusal is not None:
            # The refused prompt did not enter the history; the answer to it must not either.
            del agent.messages[-1:]
        elif result is not None and result.stop_reason in _PAUSES:
            run.goes_on = True
            return
        elif result is not None and result.stop_reason != "cancelled":
            end = await run.close_turn(_show_text(result.message))
            if end.clear_context:
                agent.messages.clear()
            if end.send_back is not None:
                event.resume, run.goes_on = end.send_back, True
                return
        self._runs.end(agent)

    async def _end_tools(self, event: AfterToolsEvent) -> None:
        """End the loop after its tools, if hooks have stopped it."""
        run = self._runs.find(event.agent)
        if run is not None and run.stop is not None:
            event.end_turn = run.stop or True

    async def _mark_response(self, event: AfterModelCallEvent) -> None:
        """Mark a message that a hook wants hidden; Strands has just written its metadata."""
        run = self._runs.find(event.agent)
        message: Any = None if event.stop_response is None else event.stop_response.message
        if run is not None and any(each is message for each in run.hidden):
            run.hidden.clear()
            message.setdefault("metadata", {})["custom"] = {"hookline": {"suppressed": True}}

    async def _call_model(
        self, context: InvokeModelContext, next_fn: Callable[..., Any]
    ) -> AsyncGenerator[TypedEvent, None]:
        run = self._runs.get(context.agent)
        events = next_fn(context) if run.may_skip_model() else call_model(run, context, next_fn)
        async with aclosing(events):
            async for event in events:
                yield event

    async def _run_tool(
        self, context: ExecuteToolContext, next_fn: Callable[..., Any]
    ) -> AsyncGenerator[TypedEvent, None]:
        run, tool = self._runs.get(context.agent), context.tool
        agent = find_subagent(tool)
        if agent is not None and agent not in _HOOKED:
            self.init_agent(agent)
        is_output = tool is not None and tool.tool_type == "structured_output"
        if is_output or run.may_skip_tool(context.tool_use["name"]):
            events = run.follow(next_fn(context))
        else:
            events = run_tool(run, context, next_fn, self._confirm)
        async with aclosing(events):
            async for event in events:
                yield event

    def _refuse_way_around(self) -> None:
        """Warn about a way to a model that hooks do not see; raise in strict mode."""
        told = (
            "hooks do not see Agent.structured_output (Strands); call the agent with "
            "structured_output_model instead"
        )
        if self._conversations.hooks.is_strict():
            raise HooklineError(f"{told}: strict mode does not allow it")
        self._conversations.warn_once(told)


def _read_prompt(messages: Sequence[Any]) -> str | None:
    """Return the text of the user's last messages, None if they have none: then the agent goes on
    with tools, or has nothing to go on with."""
    texts: list[str] = []
    for message in reversed(messages):
        if message["role"] != "user":
            break
        texts.insert(0, _show_text(message))
    return "\n\n".join(filter(None, texts)) or None


def _show_text(message: Any) -> str:
    """Return the text of a message for hooks; all of its content as JSON where nobody knows its
    shape, so that nothing is shown as empty that is not."""
    try:
        return _FORM.text(message)
    except TranslationError:
        return text_of(message["content"])


def _compress(
    conversations: Conversations, reduce_context: Callable[..., None], agent: Agent, **options: Any
) -> None:
    """Shorten an agent's history between PreCompress and SessionStart with source ``compress``."""
    conversation: Conversation = conversations.of(agent.session_id)
    face = conversation.blocking
    before = complete(face.pre_compress("auto"))
    if before.keep_history:
        face.warn("a hook wants the history kept, but the model can take no longer one")
    reduce_context(agent, **options)
    after = complete(face.session_start(SessionStartSource.COMPRESS))
    for text in (*before.texts_for_model, *after.texts_for_model):
        conversation.keep(text)
