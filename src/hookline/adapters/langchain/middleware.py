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

from hookline.adapters.gates import (
    Conversation,
    Conversations,
    Given,
    complete,
)
from hookline.adapters.langchain.marks import drop_hidden
from hookline.adapters.langchain.modelcalls import call_model
from hookline.adapters.langchain.toolcalls import GuardedCall, StoppedCalls, ToolValue
from hookline.adapters.langchain.turns import Update, begin_turn, end_turn
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
        conversation = self.find_conversation()
        return complete(begin_turn(conversation, conversation.blocking, state))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Fire SessionStart and BeforeAgent."""
        conversation = self.find_conversation()
        return await begin_turn(conversation, conversation.face, state)

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Fire AfterAgent, and send the agent back where hooks want it."""
        conversation = self.find_conversation()
        return complete(end_turn(conversation, conversation.blocking, state))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:
        """Fire AfterAgent, and send the agent back where hooks want it."""
        conversation = self.find_conversation()
        return await end_turn(conversation, conversation.face, state)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        """Fire BeforeToolSelection, BeforeModel and AfterModel around a model call."""
        conversation = self.find_conversation()
        face = conversation.blocking
        return complete(call_model(conversation, face, self._stopped, request, handler))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Fire BeforeToolSelection, BeforeModel and AfterModel around a model call."""
        conversation = self.find_conversation()
        face = conversation.face
        return await call_model(conversation, face, self._stopped, request, handler)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolValue]
    ) -> ToolValue:
        """Fire BeforeTool and AfterTool around a tool call; ``ToolNode`` takes it as well."""
        conversation = self.find_conversation(request.runtime.config)
        return complete(
            self._guard_call(conversation, conversation.blocking, request, handler).run()
        )

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolValue]]
    ) -> ToolValue:
        """Fire BeforeTool and AfterTool around a tool call; ``ToolNode`` takes it as well."""
        conversation = self.find_conversation(request.runtime.config)
        return await self._guard_call(conversation, conversation.face, request, handler).run()

    def find_conversation(self, config: Mapping[str, Any] | None = None) -> Conversation:
        """Return the conversation of a config's ``thread_id``, by default of the current run's."""
        config = config or var_child_runnable_config.get() or {}
        thread = config.get("configurable", {}).get("thread_id")
        return self._conversations.of(None if thread is None else str(thread))

    def _guard_call(
        self,
        conversation: Conversation,
        face: Face,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Any],
    ) -> GuardedCall:
        return GuardedCall(
            conversation, face, request, handler, confirm=self._confirm, stopped=self._stopped
        )


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
