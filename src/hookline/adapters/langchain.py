"""Hooks in LangChain's agents: ``create_agent(model, tools, middleware=[HooklineMiddleware()])``.

What one step must leave to a later one (a stop, a message for the next request) is a *mark* on the
message that it belongs to: marks survive checkpoints, and so does a run that another process goes
on with.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from typing import Any, TypeAlias, TypeVar

try:
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
        SummarizationMiddleware,
        ToolCallRequest,
        hook_config,
    )
    from langchain.agents.structured_output import (
        AutoStrategy,
        ProviderStrategy,
        ProviderStrategyBinding,
        ToolStrategy,
    )
    from langchain_core.messages import (
        AIMessage,
        AnyMessage,
        BaseMessage,
        HumanMessage,
        RemoveMessage,
        ToolCall,
        ToolMessage,
        convert_to_messages,
    )
    from langchain_core.runnables.config import var_child_runnable_config
    from langgraph.errors import GraphBubbleUp
    from langgraph.graph.message import REMOVE_ALL_MESSAGES
    from langgraph.runtime import Runtime
    from langgraph.types import Command, interrupt
except ImportError as error:
    raise ImportError(
        f"hookline.adapters.langchain needs LangChain ({error}); run pip install "
        "'hookline[langchain]'"
    ) from error

from hookline.adapters.gates import (
    Conversation,
    Conversations,
    Given,
    ModelOutcome,
    ToolOutcome,
    TurnGate,
    announce_question,
    check_version,
    complete,
    describe_refused_call,
    texts_for_model,
)
from hookline.errors import BlockedByHook
from hookline.front import Face
from hookline.toolcall import (
    Confirm,
    ConfirmationRequest,
    Execute,
    ToolError,
    ToolResult,
    as_tool_result,
    text_of,
)
from hookline.wire.events import SessionStartSource

check_version("langchain", "langchain", "1.4", "2")

__all__ = ["HookedSummarization", "HooklineMiddleware", "stop_reason"]

M = TypeVar("M", bound=BaseMessage)
ToolValue: TypeAlias = Any  # a ToolMessage, a Command, or a list of both
Update: TypeAlias = dict[str, Any]

_MARK = "hookline"
_MOST_STOPPED = 1000
_DECISIONS = ("approve", "edit", "reject", "respond")
# What langgraph keeps in the config of a task; it has no other name for them.
_SAVER, _SCRATCHPAD, _INTERRUPT = "__pregel_checkpointer", "__pregel_scratchpad", "__interrupt__"


def stop_reason(result: Mapping[str, Any] | Sequence[BaseMessage]) -> str | None:
    """Why a hook ended the last turn of an agent's result, or of a list of messages; None where
    none did. For graphs of one's own: when it is not None, do not call the model again."""
    messages = result["messages"] if isinstance(result, Mapping) else result
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return None
        stop: str | None = _marks(message).get("stop")
        if stop is not None:
            return stop
    return None


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
        # The batches of tool calls that a hook stopped, for calls of them that run later.
        self._stopped: dict[tuple[int, str | None], str] = {}

    def close(self) -> None:
        """Fire SessionEnd for every conversation."""
        self._conversations.end_all()

    def __enter__(self) -> "HooklineMiddleware":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "HooklineMiddleware":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.close()

    @hook_config(can_jump_to=["end"])
    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:  # noqa: ARG002 - LangChain's signature
        """Fire SessionStart and BeforeAgent."""
        conversation = self.find_conversation()
        return complete(_begin_turn(conversation, conversation.blocking, state))

    @hook_config(can_jump_to=["end"])
    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:  # noqa: ARG002 - LangChain's signature
        """Fire SessionStart and BeforeAgent."""
        conversation = self.find_conversation()
        return await _begin_turn(conversation, conversation.face, state)

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:  # noqa: ARG002 - LangChain's signature
        """Fire AfterAgent, and send the agent back where hooks want it."""
        conversation = self.find_conversation()
        return complete(_end_turn(conversation, conversation.blocking, state))

    @hook_config(can_jump_to=["model"])
    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> Update | None:  # noqa: ARG002 - LangChain's signature
        """Fire AfterAgent, and send the agent back where hooks want it."""
        conversation = self.find_conversation()
        return await _end_turn(conversation, conversation.face, state)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
    ) -> Any:
        """Fire BeforeToolSelection, BeforeModel and AfterModel around a model call."""
        conversation = self.find_conversation()
        return complete(self._call_model(conversation, conversation.blocking, request, handler))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Fire BeforeToolSelection, BeforeModel and AfterModel around a model call."""
        conversation = self.find_conversation()
        return await self._call_model(conversation, conversation.face, request, handler)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolValue]
    ) -> ToolValue:
        """Fire BeforeTool and AfterTool around a tool call; ``ToolNode`` takes it as well."""
        conversation = self.find_conversation(request.runtime.config)
        asked = _ToolCall(self, conversation, conversation.blocking, request, handler)
        return complete(asked.run())

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolValue]]
    ) -> ToolValue:
        """Fire BeforeTool and AfterTool around a tool call; ``ToolNode`` takes it as well."""
        conversation = self.find_conversation(request.runtime.config)
        return await _ToolCall(self, conversation, conversation.face, request, handler).run()

    def find_conversation(self, config: Mapping[str, Any] | None = None) -> Conversation:
        """The conversation of a config's ``thread_id``; without one, of the run this is called
        in."""
        config = config or var_child_runnable_config.get() or {}
        thread = config.get("configurable", {}).get("thread_id")
        return self._conversations.of(None if thread is None else str(thread))

    async def _call_model(
        self,
        conversation: Conversation,
        face: Face,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Any],
    ) -> Any:
        await conversation.start(face)
        stop = _find_stop(request.messages)
        if stop is not None:
            self._stopped.pop((id(conversation), _batch_of(request.state)), None)
            return _end_loop(request, AIMessage(stop, additional_kwargs={_MARK: {"stop": stop}}))
        _refuse_to_loop(request)
        request = _with_kept_texts(_without_hidden(request), conversation)
        gate = await face.model_gate(request)
        if gate.outcome is not None:
            return _finish_unsent(request, gate.outcome)
        if gate.holds_back:
            with _hold_back_streams():
                response = await _settle(handler(gate.request))
        else:
            response = await _settle(handler(gate.request))
        outcome = await gate.finish(response)
        if outcome.blocked or outcome.stop is not None:
            return _finish_rejected(request, outcome)
        kept = outcome.response
        if kept is not response:
            kept = _parse_again(request, response, kept)
        if outcome.message or outcome.suppressed:
            notes = [f"[System] {outcome.message}"] if outcome.message else []
            kept = _mark_answer(kept, notes=notes, suppressed=outcome.suppressed)
        return kept if gate.allowed is None else _refuse_calls(face, kept, gate.allowed)


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
        summary = super()._create_summary(messages_to_summarize)
        complete(_close_compression(conversation, conversation.blocking))
        return summary

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        conversation = self._hookline.find_conversation()
        await _open_compression(conversation, conversation.face)
        summary = await super()._acreate_summary(messages_to_summarize)
        await _close_compression(conversation, conversation.face)
        return summary


async def _open_compression(conversation: Conversation, face: Face) -> None:
    before = await face.pre_compress("auto")
    for text in texts_for_model(before):
        conversation.keep(text)


async def _close_compression(conversation: Conversation, face: Face) -> None:
    after = await face.session_start(SessionStartSource.COMPRESS)
    for text in texts_for_model(after):
        conversation.keep(text)


# Turns


async def _begin_turn(
    conversation: Conversation, face: Face, state: AgentState[Any]
) -> Update | None:
    messages = state["messages"]
    prompt: list[BaseMessage] = []
    for message in reversed(messages):
        if not isinstance(message, HumanMessage):
            break
        prompt.insert(0, message)
    is_known = any(isinstance(message, AIMessage) for message in messages)
    source = SessionStartSource.RESUME if is_known else SessionStartSource.STARTUP
    await conversation.start(face, source)
    if not prompt:
        return None
    turn = TurnGate(conversation, "\n\n".join(_read_text(message) for message in prompt))
    start = await turn.open(face)
    if start.refusal is None:
        if not start.texts:
            return None
        marks = {_MARK: {"context": True}}
        return {"messages": [HumanMessage("\n\n".join(start.texts), additional_kwargs=marks)]}
    if start.stop:
        marked = {"refused": True, "stop": start.refusal}
        return {"messages": [_say(start.refusal, marked)], "jump_to": "end"}
    # The model must read neither the prompt nor the answer to it, in this turn or later.
    forgotten = [RemoveMessage(id=message.id) for message in prompt if message.id]
    said = _say(start.refusal, {"refused": True, "hidden": True})
    return {"messages": [*forgotten, said], "jump_to": "end"}


async def _end_turn(
    conversation: Conversation, face: Face, state: AgentState[Any]
) -> Update | None:
    messages = state["messages"]
    answer, prompt, sent_back = _read_turn(messages)
    if answer is not None and _marks(answer).get("refused"):
        return None
    stopped = None if answer is None else _marks(answer).get("stop")
    turn = TurnGate(conversation, prompt, sent_back=sent_back)
    end = await turn.close(face, "" if answer is None else _read_text(answer))
    cleared = [RemoveMessage(id=REMOVE_ALL_MESSAGES)] if end.clear_context else []
    if end.send_back is not None and stopped is None:
        marks = {_MARK: {"sent_back": turn.sent_back}}
        again = HumanMessage(end.send_back, additional_kwargs=marks)
        return {"messages": [*cleared, again], "jump_to": "model"}
    if answer is None or not (cleared or end.stop):
        return None
    # The caller still reads the answer; the model of a cleared conversation does not.
    kept = _mark(answer, hidden=True) if cleared else answer
    kept = _mark(kept, stop=end.stop) if end.stop is not None else kept
    return {"messages": [*cleared, kept]}


def _read_turn(messages: Sequence[BaseMessage]) -> tuple[AIMessage | None, str, int]:
    """The answer of the last turn, its prompt, and how often it was sent back."""
    answer, prompt, sent_back = None, list[str](), 0
    for message in reversed(messages):
        marks = _marks(message)
        if isinstance(message, AIMessage) and not prompt:
            answer = answer or message
        elif isinstance(message, HumanMessage):
            if not marks.get("context"):
                prompt.insert(0, _read_text(message))
                sent_back = marks.get("sent_back", 0)
            if sent_back:
                break
        elif prompt:
            break
        if isinstance(message, AIMessage) and prompt:
            break
    return answer, "\n\n".join(prompt), sent_back


# Model calls


def _find_stop(messages: Sequence[BaseMessage]) -> str | None:
    """Why the tools of the last reply were stopped."""
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            return None
        stop: str | None = _marks(message).get("stop")
        if stop is not None:
            return stop
    return None


def _without_hidden(request: ModelRequest[Any]) -> ModelRequest[Any]:
    kept = [message for message in request.messages if not _marks(message).get("hidden")]
    return request if len(kept) == len(request.messages) else request.override(messages=kept)


def _with_kept_texts(request: ModelRequest[Any], conversation: Conversation) -> ModelRequest[Any]:
    """The request with what hooks have to say to the model since the last one."""
    texts = conversation.take()
    last = next((m for m in reversed(request.messages) if isinstance(m, AIMessage)), None)
    if last is not None:
        texts = [*_marks(last).get("notes", ()), *texts]
    if not texts:
        return request
    added: list[AnyMessage] = [HumanMessage(text) for text in texts]
    return request.override(messages=[*request.messages, *added])


@contextmanager
def _hold_back_streams() -> Iterator[None]:
    """Nobody who streams the run hears of a model call made within: hooks may change what it
    says. The message that they leave is streamed as one when the step ends."""
    config = var_child_runnable_config.get()
    callbacks = (config or {}).get("callbacks")
    handlers = getattr(callbacks, "handlers", [])
    # langgraph's handlers and those of astream_events and astream_log.
    streaming = [handler for handler in handlers if hasattr(handler, "tap_output_iter")]
    if config is None or not streaming:
        yield
        return
    quiet: Any = callbacks
    quiet = quiet.copy()
    for handler in streaming:
        quiet.remove_handler(handler)
    token = var_child_runnable_config.set({**config, "callbacks": quiet})
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def _finish_unsent(request: ModelRequest[Any], outcome: ModelOutcome) -> Any:
    """What comes of a call that hooks answered or forbade."""
    if outcome.blocked or outcome.stop is not None:
        return _finish_rejected(request, outcome)
    response: ModelResponse[Any] = outcome.response
    if request.response_format is None:
        return _mark_answer(
            response, notes=[f"[System] {outcome.message}"] if outcome.message else []
        )
    answer = _answer_of(response)
    try:
        parsed = _parse(request.response_format, answer)
    except Exception as error:
        return _end_loop(
            request,
            _say(
                "a hook answered in the model's place with a text, and this agent's answers are "
                f"structured: {error}",
                {"blocked": True},
            ),
        )
    return ModelResponse(result=response.result, structured_response=parsed)


def _finish_rejected(request: ModelRequest[Any], outcome: ModelOutcome) -> Any:
    """What comes of a call whose answer hooks rejected, or after which the loop ends."""
    marks: dict[str, Any] = {"blocked": True} if outcome.stop is None else {"stop": outcome.stop}
    if outcome.message:
        marks["notes"] = [f"[System] {outcome.message}"]
    answer = _answer_of(outcome.response)
    reason = outcome.stop if outcome.stop is not None else outcome.reason or ""
    said = _read_text(answer) if answer is not None else ""
    if answer is None or outcome.blocked or not said or said == reason:
        return _end_loop(request, _say(reason, marks))
    # A stop keeps what the model said, but not what it wants to call.
    kept = _without_calls(answer)
    return _end_loop(request, kept, _say(reason, marks))


def _end_loop(request: ModelRequest[Any], *messages: AIMessage) -> Any:
    """A response that ends the loop; an agent with structured answers would try again."""
    response: ModelResponse[Any] = ModelResponse(result=[*messages])
    if request.response_format is None:
        return response
    return ExtendedModelResponse(response, Command(update={"jump_to": "end"}))


def _refuse_to_loop(request: ModelRequest[Any]) -> None:
    """Raises BlockedByHook where an agent with structured answers tries again what hooks have
    rejected already, for ever, because another middleware's step hid the end from it."""
    last = request.messages[-1] if request.messages else None
    if request.response_format is None or not isinstance(last, AIMessage):
        return
    marks = _marks(last)
    if marks.get("blocked") or marks.get("stop") is not None:
        raise BlockedByHook("the model call", _read_text(last))


def _parse_again(request: ModelRequest[Any], before: Any, after: Any) -> Any:
    """The response that hooks changed, with its structured answer read from the new text."""
    if getattr(before, "structured_response", None) is None:
        return after
    if after.structured_response is not None or request.response_format is None:
        return after
    try:
        parsed = _parse(request.response_format, _answer_of(after))
    except Exception as error:
        told = f"hooks changed the model's structured answer into one that is none: {error}"
        return _end_loop(request, _say(told, {"blocked": True}))
    return ModelResponse(result=after.result, structured_response=parsed)


def _parse(response_format: Any, answer: AIMessage | None) -> Any:
    """The structured answer that a text holds; raises where it holds none."""
    if isinstance(response_format, ProviderStrategy):
        specs = [response_format.schema_spec]
    elif isinstance(response_format, ToolStrategy):
        specs = response_format.schema_specs
    else:
        is_auto = isinstance(response_format, AutoStrategy)
        specs = ToolStrategy(response_format.schema if is_auto else response_format).schema_specs
    if answer is None:
        raise ValueError("there is no answer")
    failure: Exception = ValueError("there is no schema")
    for spec in specs:
        try:
            return ProviderStrategyBinding.from_schema_spec(spec).parse(answer)
        except Exception as error:
            failure = error
    raise failure


def _refuse_calls(face: Face, response: Any, allowed: frozenset[str]) -> Any:
    """The response with an answer to each call of a tool that hooks do not allow now, so that it
    is not executed."""
    answer = _answer_of(response)
    held = response.model_response if isinstance(response, ExtendedModelResponse) else response
    if answer is None:
        return response
    result = [held] if isinstance(held, AIMessage) else held.result
    done = {message.tool_call_id for message in result if isinstance(message, ToolMessage)}
    refused = [
        ToolMessage(
            describe_refused_call(call["name"]),
            name=call["name"],
            tool_call_id=call["id"],
            status="error",
        )
        for call in answer.tool_calls
        if call["name"] not in allowed and call["id"] not in done
    ]
    if not refused:
        return response
    names = ", ".join(sorted({str(message.name) for message in refused}))
    face.warn(f"the model called {names}, which hooks do not allow in this call: it did not run")
    parsed = getattr(held, "structured_response", None)
    whole: ModelResponse[Any] = ModelResponse([*result, *refused], parsed)
    if isinstance(response, ExtendedModelResponse):
        return ExtendedModelResponse(whole, response.command)
    return whole


def _answer_of(response: Any) -> AIMessage | None:
    if isinstance(response, ExtendedModelResponse):
        response = response.model_response
    if isinstance(response, AIMessage):
        return response
    found = [message for message in response.result if isinstance(message, AIMessage)]
    return found[-1] if found else None


def _mark_answer(response: Any, *, notes: list[str], suppressed: bool = False) -> Any:
    """The response with marks on its last answer."""
    marks: dict[str, Any] = {"notes": notes} if notes else {}
    if suppressed:
        marks["suppressed"] = True
    answer = _answer_of(response)
    if answer is None or not marks:
        return response
    marked = _mark(answer, **marks)
    if isinstance(response, AIMessage):
        return marked
    if isinstance(response, ExtendedModelResponse):
        inner = _mark_answer(response.model_response, notes=notes, suppressed=suppressed)
        return ExtendedModelResponse(inner, response.command)
    result = [marked if message is answer else message for message in response.result]
    return ModelResponse(result, response.structured_response)


def _without_calls(answer: AIMessage) -> AIMessage:
    from hookline.translate.langchain import LangChainTranslator

    names = [call["name"] for call in answer.tool_calls]
    kept: AIMessage = LangChainTranslator().drop_calls(answer, names)
    return kept


# Tool calls


class _ToolCall:
    """One tool call on its way through the hooks, and what its user decides about it."""

    def __init__(
        self,
        middleware: HooklineMiddleware,
        conversation: Conversation,
        face: Face,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Any],
    ) -> None:
        self._middleware, self._conversation, self._face = middleware, conversation, face
        self._request, self._handler = request, handler
        self._name, self._args = request.tool_call["name"], request.tool_call["args"]
        self._has_run = False
        self._decision: Mapping[str, Any] = {}

    async def run(self) -> ToolValue:
        stopped = self._find_stopped()
        if stopped is not None:
            return self._say(stopped, stop=stopped)
        answered = await self._recall()
        is_resumed = answered is not None
        source = SessionStartSource.RESUME if is_resumed else SessionStartSource.STARTUP
        await self._conversation.start(self._face, source)
        outcome = await self._call(self._name, self._args, self._ask, answered=answered)
        if outcome.ran or not self._decision:
            return self._finish(outcome)
        return await self._decide(outcome)

    async def _call(
        self,
        name: str,
        args: dict[str, Any],
        confirm: Confirm | None,
        *,
        answered: Mapping[str, Any] | None = None,
    ) -> ToolOutcome:
        return await self._face.call_tool(
            name,
            args,
            self._find_tool(name) or partial(self._execute, self._request),
            read=partial(_read_value, self._request.tool_call["id"]),
            find_tool=self._find_tool,
            confirm=confirm if self._middleware._confirm or self._can_interrupt() else None,
            deferrals=(GraphBubbleUp,),
            answered=answered,
        )

    def _find_tool(self, name: str) -> Execute | None:
        if name == self._name:
            return partial(self._execute, self._request)
        tool = next((t for t in self._request.runtime.tools if t.name == name), None)
        if tool is None:
            return None
        call: ToolCall = {**self._request.tool_call, "name": name}
        return partial(self._execute, self._request.override(tool_call=call, tool=tool))

    def _execute(self, request: ToolCallRequest, args: dict[str, Any]) -> Any:
        self._has_run = True
        if args is not request.tool_call["args"]:
            request = request.override(tool_call={**request.tool_call, "args": args})
        return self._handler(request)

    # Asking

    def _can_interrupt(self) -> bool:
        return bool(self._request.runtime.config.get("configurable", {}).get(_SAVER))

    def _ask(self, request: ConfirmationRequest) -> Any:
        """Ask the user. The run is interrupted here, and is resumed here with the answer."""
        if self._middleware._confirm is None and self._has_run:
            raise RuntimeError(f"an interrupt would run {self._name} a second time")
        if not self._is_blocking:
            return self._ask_later(request)
        # An interrupt must come out of the very context that the call runs in.
        complete(self._announce(request))
        return self._put(request)

    async def _ask_later(self, request: ConfirmationRequest) -> Any:
        await self._announce(request)
        return await _settle(self._put(request))

    async def _announce(self, request: ConfirmationRequest) -> None:
        if not self._is_answered():
            await announce_question(self._face, request)

    def _put(self, request: ConfirmationRequest) -> Awaitable[bool] | bool:
        if self._middleware._confirm is not None:
            return self._middleware._confirm(request)
        self._decision = _read_decision(interrupt(self._describe(request)))
        return self._decision["type"] == "approve"

    @property
    def _is_blocking(self) -> bool:
        return self._face is self._conversation.blocking

    def _describe(self, request: ConfirmationRequest) -> dict[str, Any]:
        """The question in the form of HumanInTheLoopMiddleware, and what a replay needs."""
        name = request.tool_name
        mark: dict[str, Any] = {"tool_call_id": self._request.tool_call["id"]}
        if request.system_message:
            mark["system_message"] = request.system_message
        asked = {"name": name, "args": request.tool_input, "description": request.reason}
        review = {"action_name": name, "allowed_decisions": [*_DECISIONS]}
        return {"action_requests": [asked], "review_configs": [review], _MARK: mark}

    def _is_answered(self) -> bool:
        """Whether the run was resumed with a value for the next interrupt of this call."""
        pad: Any = self._request.runtime.config.get("configurable", {}).get(_SCRATCHPAD)
        try:
            return bool(pad.resume) or pad.get_null_resume(False) is not None
        except (AttributeError, TypeError):
            return False

    async def _recall(self) -> dict[str, Any] | None:
        """What BeforeTool hooks answered before the run was interrupted for their question; None
        where this call was not interrupted for it."""
        info, config = self._request.runtime.execution_info, self._request.runtime.config
        if info is None or not self._is_answered():
            return None
        configurable = config.get("configurable", {})
        place = {
            "thread_id": configurable.get("thread_id"),
            "checkpoint_ns": info.checkpoint_ns.rpartition("|")[0],
            "checkpoint_id": info.checkpoint_id,
        }
        try:
            saver: Any = configurable[_SAVER]
            if self._is_blocking:
                found = saver.get_tuple({"configurable": place})
            else:
                found = await saver.aget_tuple({"configurable": place})
            for task, channel, value in (found and found.pending_writes) or ():
                if task == info.task_id and channel == _INTERRUPT:
                    return self._read_question(value[0].value)
        except Exception as error:
            # Then the hooks are asked again, and the user's answer counts all the same.
            self._face.warn(f"the question about {self._name} could not be read back: {error}")
        return None

    def _read_question(self, question: Any) -> dict[str, Any] | None:
        mark = question.get(_MARK) if isinstance(question, Mapping) else None
        if not mark or mark["tool_call_id"] != self._request.tool_call["id"]:
            return None
        asked = question["action_requests"][0]
        answered: dict[str, Any] = {"decision": "ask", "reason": asked["description"]}
        if mark.get("system_message"):
            answered["systemMessage"] = mark["system_message"]
        if asked["args"] != self._args:
            answered["hookSpecificOutput"] = {"tool_input": asked["args"]}
        return answered

    async def _decide(self, refused: ToolOutcome) -> ToolValue:
        """What becomes of a call that the user did not simply allow."""
        decision, kind = self._decision, self._decision["type"]
        if kind == "respond":
            return self._say(str(decision.get("message", "")), status="success")
        if kind == "edit":
            edited = decision.get("edited_action")
            if isinstance(edited, Mapping) and isinstance(edited.get("args"), dict):
                name = edited.get("name", self._name)
                if name != self._name and self._find_tool(name) is None:
                    return self._say(f"The user wants the tool {name}, which is not there.")
                self._decision = {}
                # Hooks guard what a user writes too; a question is answered by writing it.
                return self._finish(await self._call(name, edited["args"], lambda _: True))
        if kind == "reject" and decision.get("message"):
            said = f"The user did not allow this call of {self._name}: {decision['message']}"
            return self._say(said)
        return self._finish(refused)

    # Results

    def _find_stopped(self) -> str | None:
        stopped = self._middleware._stopped
        if not stopped:
            return None
        return stopped.get((id(self._conversation), _batch_of(self._request.state)))

    def _finish(self, outcome: ToolOutcome) -> ToolValue:
        if outcome.stop is not None:
            stopped = self._middleware._stopped
            stopped[id(self._conversation), _batch_of(self._request.state)] = outcome.stop
            while len(stopped) > _MOST_STOPPED:
                stopped.pop(next(iter(stopped)), None)
        if not outcome.ran:
            return self._say(outcome.text, stop=outcome.stop)
        if outcome.replaced:
            own = _own_message(outcome.value, self._request.tool_call["id"])
            status = "success" if own is None else own.status
            return self._say(outcome.text, stop=outcome.stop, status=status, like=own)
        value = outcome.value
        if outcome.added:
            value = self._edit(value, partial(_with_added_text, text=outcome.added))
        if outcome.result.suppress_display:
            value = self._edit(value, partial(_mark, suppressed=True))
        return value

    def _say(
        self,
        text: str,
        *,
        stop: str | None = None,
        status: Any = "error",
        like: ToolMessage | None = None,
    ) -> ToolMessage:
        """A message in place of the tool's own."""
        return ToolMessage(
            text,
            name=self._name if like is None else like.name,
            id=None if like is None else like.id,
            tool_call_id=self._request.tool_call["id"],
            status=status,
            additional_kwargs={} if stop is None else {_MARK: {"stop": stop}},
        )

    def _edit(self, value: ToolValue, edit: Callable[[ToolMessage], ToolMessage]) -> ToolValue:
        """What the tool returned with its own message edited, or with one more message where it
        has none."""
        own = _own_message(value, self._request.tool_call["id"])
        if own is None:
            listed = value if isinstance(value, list) else [value]
            return [*listed, edit(self._say("", status="success"))]
        return _replace_message(value, own, edit(own))


def _read_decision(value: Any) -> Mapping[str, Any]:
    """What a user decided; anything that is no decision is no yes."""
    if isinstance(value, Mapping) and isinstance(value.get("decisions"), list | tuple):
        value = next(iter(value["decisions"]), None)
    elif isinstance(value, list | tuple):
        value = next(iter(value), None)
    if value is True or value == "approve":
        return {"type": "approve"}
    if isinstance(value, Mapping) and value.get("type") in _DECISIONS:
        return value
    return {"type": "reject"}


def _messages_in(value: ToolValue) -> list[BaseMessage]:
    """The messages that a tool returned."""
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, list | tuple):
        return [message for item in value for message in _messages_in(item)]
    update = getattr(value, "update", None)
    given = update.get("messages") if isinstance(update, Mapping) else update
    return convert_to_messages(given) if isinstance(given, list) else []


def _own_message(value: ToolValue, call_id: str | None) -> ToolMessage | None:
    found = (m for m in _messages_in(value) if isinstance(m, ToolMessage))
    return next((message for message in found if message.tool_call_id == call_id), None)


def _replace_message(value: ToolValue, old: ToolMessage, new: ToolMessage) -> ToolValue:
    if value is old:
        return new
    if isinstance(value, list):
        return [_replace_message(item, old, new) for item in value]
    if not isinstance(value, Command):
        return value
    messages: list[BaseMessage] = [
        new if isinstance(m, ToolMessage) and m.tool_call_id == old.tool_call_id else m
        for m in _messages_in(value)
    ]
    update: Any = value.update
    update = {**update, "messages": messages} if isinstance(update, Mapping) else messages
    return Command(graph=value.graph, update=update, resume=value.resume, goto=value.goto)


def _read_value(call_id: str | None, value: ToolValue) -> ToolResult:
    """What hooks are shown of what a tool returned."""
    messages = _messages_in(value)
    own = _own_message(value, call_id)
    if own is not None and len(messages) == 1:
        result = as_tool_result(own.content)
    elif messages:
        result = ToolResult("\n\n".join(_read_text(message) for message in messages))
    else:
        result = ToolResult(text_of({"update": value.update, "goto": value.goto}))
    if own is not None and own.status == "error":
        error = ToolError("tool_failed", _read_text(own))
        return ToolResult(result.llm_content, error=error)
    return result


def _with_added_text(message: ToolMessage, text: str) -> ToolMessage:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{content}\n\n{text}" if content else text})
    return message.model_copy(update={"content": [*content, {"type": "text", "text": text}]})


def _batch_of(state: Any) -> str | None:
    """The message that the tool calls of a state belong to."""
    messages = state.get("messages", ()) if isinstance(state, Mapping) else state
    if not isinstance(messages, list | tuple):
        messages = getattr(state, "messages", ())
    return next((m.id for m in reversed(messages) if isinstance(m, AIMessage)), None)


# Marks


def _marks(message: BaseMessage) -> Mapping[str, Any]:
    marks = message.additional_kwargs.get(_MARK)
    return marks if isinstance(marks, Mapping) else {}


def _mark(message: M, **marks: Any) -> M:
    kwargs = {**message.additional_kwargs, _MARK: {**_marks(message), **marks}}
    return message.model_copy(update={"additional_kwargs": kwargs})


def _say(text: str, marks: Mapping[str, Any]) -> AIMessage:
    return AIMessage(text, additional_kwargs={_MARK: dict(marks)})


async def _settle(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _read_text(message: BaseMessage) -> str:
    # LangChain's own text is a str that can be called as well.
    return str(message.text)
