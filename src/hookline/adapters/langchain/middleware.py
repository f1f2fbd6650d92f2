"""The middleware that runs hooks in LangChain's agents, and the one that fires PreCompress."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    SummarizationMiddleware,
    ToolCallRequest,
    hook_config,
)
from langchain_core.messages import AnyMessage
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.runtime import Runtime

from hookline.adapters.conversations import Conversation, Conversations, Given
from hookline.adapters.langchain.marks import drop_hidden
from hookline.adapters.langchain.modelcalls import call_model
from hookline.adapters.langchain.runs import RUN_ID, HookedState, Run
from hookline.adapters.langchain.toolcalls import GuardedCall, StoppedCalls, ToolValue
from hookline.adapters.langchain.turns import Update, begin_turn, end_turn, read_prompt
from hookline.adapters.steps import complete, make_turn_id
from hookline.calls.tool import Confirm
from hookline.hooks import Face
from hookline.wire.events import SessionStartSource


class HooklineMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Runs hooks on the turns, model calls and tool calls of an agent, each conversation under
    its ``thread_id``.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a directory whose settings are loaded, or
    None for the working directory's. A hook that asks interrupts the run, in the form of
    ``HumanInTheLoopMiddleware``; with ``confirm`` that function is asked instead. ``close()``, or
    the end of a ``with`` block, ends the sessions.
    """

    state_schema = HookedState

    def __init__(self, hooks: Given = None, *, confirm: Confirm | None = None) -> None:
        super().__init__()
        self.tools = []
        self._conversations = Conversations(hooks)
        self._confirm = confirm
        self._stopped = StoppedCalls()

    def close(self) -> None:
        """Fire SessionEnd for every conversation."""
        complete(self._conversations.end_all(blocking=True))

    def __enter__(self) -> "HooklineMiddleware":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "HooklineMiddleware":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._conversations.end_all(blocking=False)

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Fire SessionStart and BeforeAgent."""
        return complete(self._begin_turn(state, blocking=True))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Fire SessionStart and BeforeAgent."""
        return await self._begin_turn(state, blocking=False)

    async def _begin_turn(self, state: AgentState[Any], *, blocking: bool) -> Update | None:
        conversation, prompt = self.find_conversation(), read_prompt(state)
        run_id = make_turn_id() if prompt else None
        run = Run(conversation, state, blocking=blocking, run_id=run_id)
        update = await begin_turn(run, state, prompt)
        if run_id is None or conversation.hooks.is_off():
            return update
        return {**(update or {}), RUN_ID: run_id}

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Fire AfterAgent, and send the agent back where hooks want it."""
        return complete(end_turn(self._find_run(state, blocking=True), state))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Fire AfterAgent, and send the agent back where hooks want it."""
        return await end_turn(self._find_run(state, blocking=False), state)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        """Fire BeforeToolSelection, BeforeModel and AfterModel around a model call."""
        run = self._find_run(request.state, blocking=True)
        return complete(call_model(run, self._stopped, request, handler))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Fire BeforeToolSelection, BeforeModel and AfterModel around a model call."""
        run = self._find_run(request.state, blocking=False)
        return await call_model(run, self._stopped, request, handler)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolValue]
    ) -> ToolValue:
        """Fire BeforeTool and AfterTool around a tool call; ``ToolNode`` takes it as well."""
        return complete(self._guard_call(request, handler, blocking=True).run())

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolValue]]
    ) -> ToolValue:
        """Fire BeforeTool and AfterTool around a tool call; ``ToolNode`` takes it as well."""
        return await self._guard_call(request, handler, blocking=False).run()

    def find_conversation(self, config: Mapping[str, Any] | None = None) -> Conversation:
        """Return the conversation of a config's ``thread_id``, by default of the current run's."""
        config = config or var_child_runnable_config.get() or {}
        thread = config.get("configurable", {}).get("thread_id")
        return self._conversations.of(None if thread is None else str(thread))

    def _find_run(
        self, state: Any, *, blocking: bool, config: Mapping[str, Any] | None = None
    ) -> Run:
        conversation = self.find_conversation(config)
        return Run(conversation, state, blocking=blocking, config=config)

    def _guard_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any], *, blocking: bool
    ) -> GuardedCall:
        run = self._find_run(request.state, blocking=blocking, config=request.runtime.config)
        return GuardedCall(run, request, handler, confirm=self._confirm, stopped=self._stopped)


class HookedSummarization(SummarizationMiddleware):
    """LangChain's ``SummarizationMiddleware`` that fires PreCompress before it summarizes, and
    SessionStart with source ``compress`` after it.

    ``hooks`` is the agent's ``HooklineMiddleware``; everything else is what
    ``SummarizationMiddleware`` takes.
    """

    def __init__(self, model: Any, *, hooks: HooklineMiddleware, **options: Any) -> None:
        super().__init__(model, **options)
        self._hookline = hooks

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        conversation = self._hookline.find_conversation()
        complete(_open_compression(conversation, conversation.blocking))
        summary = super()._create_summary(drop_hidden(messages_to_summarize))
        complete(_close_compression(conversation, conversation.blocking))
        return summary

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        conversation = self._hookline.find_conversation()
        await _open_compression(conversation, conversation.face)
        summary = await super()._acreate_summary(drop_hidden(messages_to_summarize))
        await _close_compression(conversation, conversation.face)
        return summary


async def _open_compression(conversation: Conversation, face: Face) -> None:
    before = await face.pre_compress("auto")
    if before.keep_history:
        face.warn(
            "a hook wants the history kept, but LangChain's summarization cannot be stopped here"
        )
    for text in before.texts_for_model:
        conversation.keep(text)


async def _close_compression(conversation: Conversation, face: Face) -> None:
    after = await face.session_start(SessionStartSource.COMPRESS)
    for text in after.texts_for_model:
        conversation.keep(text)
