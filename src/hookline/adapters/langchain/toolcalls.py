"""Applies to an agent's tool call what hooks answer and what the user decides."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

from langchain.agents.middleware import ToolCallRequest
from langchain_core.messages import (
    BaseMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
)
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command, interrupt

from hookline.adapters.gates import (
    Conversation,
    ToolOutcome,
    announce_question,
    complete,
    write_input,
)
from hookline.adapters.langchain.marks import (
    MARK,
    count_calls,
    find_reply,
    mark,
    read_marks,
    read_text,
    settle,
)
from hookline.calls.tool import (
    NOBODY_TO_ASK,
    Confirm,
    ConfirmationRequest,
    Execute,
    ToolError,
    ToolResult,
    as_tool_result,
    text_of,
)
from hookline.hooks import Face
from hookline.wire.events import HookEventName, SessionStartSource

ToolValue: TypeAlias = Any  # a ToolMessage, a Command, or a list of both

_EVENTS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL)
_MOST_STOPPED = 1000
_DECISIONS = ("approve", "edit", "reject", "respond")
# Keys of langgraph in the config of a task; it exports no names for them.
_SAVER, _SCRATCHPAD, _INTERRUPT = "__pregel_checkpointer", "__pregel_scratchpad", "__interrupt__"
_SENT = ("__pregel_push",)


class StoppedCalls:
    """Remembers which replies a hook stopped, so that their remaining tool calls do not run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._reasons: dict[tuple[Conversation, str], str] = {}

    def note(self, conversation: Conversation, state: Any, reason: str) -> None:
        """Let no further call of the state's last reply run."""
        reply = find_reply(state)
        if reply is None or reply.id is None:
            # Without an id, later replies could not be told from this one.
            return
        with self._lock:
            self._reasons[conversation, reply.id] = reason
            if len(self._reasons) > _MOST_STOPPED:
                del self._reasons[next(iter(self._reasons))]

    def find(self, conversation: Conversation, state: Any) -> str | None:
        """Return why a call of the state's last reply may not run; None if it may."""
        reply = find_reply(state) if self._reasons else None
        return None if reply is None else self._reasons.get((conversation, reply.id or ""))

    def forget(self, conversation: Conversation, state: Any) -> None:
        """Forget the state's last reply: the loop has ended."""
        reply = find_reply(state)
        if reply is not None:
            with self._lock:
                self._reasons.pop((conversation, reply.id or ""), None)


class GuardedCall:
    """One tool call with its hooks and the user's decision about it."""

    def __init__(
        self,
        conversation: Conversation,
        face: Face,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Any],
        *,
        confirm: Confirm | None,
        stopped: StoppedCalls,
    ) -> None:
        self._conversation, self._face = conversation, face
        self._request, self._handler = request, handler
        self._confirm, self._stopped = confirm, stopped
        self._name, self._args = request.tool_call["name"], request.tool_call["args"]
        self._has_run = False
        self._decision: Mapping[str, Any] = {}
        self._answers_another = False
        # Whether no question about this call was answered in this task.
        self._is_unasked = False

    async def run(self) -> ToolValue:
        stopped = self._stopped.find(self._conversation, self._request.state)
        if stopped is not None:
            return self._reply(stopped, stop=stopped)
        # The user's decision counts, even if the hooks that asked for it are gone.
        answered = await self._recall_answer() if self._is_answered() else None
        self._is_unasked = answered is None and not self._has_resumed
        is_resumed = answered is not None
        if not is_resumed and self._face.may_skip(*_EVENTS, target=self._name):
            await self._conversation.start(self._face)
            return await settle(self._handler(self._request))
        source = SessionStartSource.RESUME if is_resumed else SessionStartSource.STARTUP
        await self._conversation.start(self._face, source)
        hindrance = None if self._confirm else self._find_hindrance()
        ask = self._ask_user if hindrance is None else None
        outcome = await self._call_tool(self._name, self._args, ask, answered=answered)
        if ask is None and outcome.text.endswith(f"({NOBODY_TO_ASK})"):
            self._face.warn(
                f"a hook asks about {self._name}, but the user cannot be asked: {hindrance}, or "
                "give HooklineMiddleware a confirm function"
            )
        if outcome.ran or not self._decision:
            return self._finish_call(outcome)
        return await self._decide(outcome)

    async def _call_tool(
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
            confirm=confirm,
            deferrals=(GraphBubbleUp,),
            answered=answered,
            call_id=self._request.tool_call["id"],
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

    def _find_hindrance(self) -> str | None:
        """Return what to change so that the run can be interrupted; None if it can be."""
        config = self._request.runtime.config
        if not config.get("configurable", {}).get(_SAVER):
            return "give the agent a checkpointer"
        is_alone = tuple(config.get("metadata", {}).get("langgraph_path", ()))[:1] == _SENT
        if is_alone or count_calls(self._request.state) <= 1:
            return None
        # With the answer the step would start again and run the other calls a second time; and
        # the first of them that asks would get the answer.
        return "several calls run in one step, so Send each to the tool node by itself"

    def _ask_user(self, request: ConfirmationRequest) -> Any:
        """Ask the user. The run is interrupted here, and resumes here with the answer."""
        if self._confirm is None and self._has_run:
            raise RuntimeError(f"an interrupt would run {self._name} a second time")
        if self._confirm is None and self._answers_another:
            raise RuntimeError("the user was asked about another call")
        if not self._is_blocking:
            return self._ask_user_later(request)
        # The interrupt must be raised in the context that the call runs in.
        complete(self._announce_once(request))
        return self._put_question(request)

    async def _ask_user_later(self, request: ConfirmationRequest) -> Any:
        await self._announce_once(request)
        return await settle(self._put_question(request))

    async def _announce_once(self, request: ConfirmationRequest) -> None:
        if not self._is_answered():
            await announce_question(self._face, request)

    def _put_question(self, request: ConfirmationRequest) -> Awaitable[bool] | bool:
        if self._confirm is not None:
            return self._confirm(request)
        answer = interrupt(self._describe_question(request))
        if self._is_unasked:
            # The first time it raises, so this is the answer to a question about another call.
            raise RuntimeError("the user was asked about another call")
        self._decision = _read_decision(answer)
        return bool(self._decision["type"] == "approve")

    @property
    def _is_blocking(self) -> bool:
        return self._face is self._conversation.blocking

    def _describe_question(self, request: ConfirmationRequest) -> dict[str, Any]:
        """Return the question in the form of HumanInTheLoopMiddleware, and what a replay needs."""
        name = request.tool_name
        info = self._request.runtime.execution_info
        mark: dict[str, Any] = {
            "tool_call_id": self._request.tool_call["id"],
            "tool_input": write_input(self._args),
            "task_id": info and info.task_id,
        }
        if request.system_message:
            mark["system_message"] = request.system_message
        asked = {"name": name, "args": request.tool_input, "description": request.reason}
        review = {"action_name": name, "allowed_decisions": [*_DECISIONS]}
        return {"action_requests": [asked], "review_configs": [review], MARK: mark}

    @property
    def _pad(self) -> Any:
        return self._request.runtime.config.get("configurable", {}).get(_SCRATCHPAD)

    @property
    def _has_resumed(self) -> bool:
        """True if an interrupt of this very task was answered before."""
        return bool(getattr(self._pad, "resume", None))

    def _is_answered(self) -> bool:
        """True if the run was resumed with a value for the next interrupt of this call."""
        try:
            return self._has_resumed or self._pad.get_null_resume(False) is not None
        except (AttributeError, TypeError):
            return False

    async def _recall_answer(self) -> dict[str, Any] | None:
        """Return what BeforeTool hooks answered before the run was interrupted for their question;
        None if it was not interrupted for this call."""
        info, config = self._request.runtime.execution_info, self._request.runtime.config
        if info is None:
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
            writes = (found and found.pending_writes) or ()
            stop = _find_stop([value for _, _, value in writes])
            if stop is not None:
                # Hooks stopped another call of the same reply, perhaps in another process.
                return {"continue": False, "stopReason": stop}
            for task, channel, value in writes:
                if task == info.task_id and channel == _INTERRUPT:
                    return self._read_question(value[0].value)
        except Exception as error:
            # The hooks run again, and the user's answer still counts.
            self._face.warn(f"the question about {self._name} could not be read back: {error}")
        return None

    def _read_question(self, question: Any) -> dict[str, Any] | None:
        mark = question.get(MARK) if isinstance(question, Mapping) else None
        info = self._request.runtime.execution_info
        if not mark or mark["task_id"] != (info and info.task_id):
            # A tool asked the question, or an agent that a tool runs.
            return None
        is_same = mark["tool_input"] == write_input(self._args)
        if mark["tool_call_id"] != self._request.tool_call["id"] or not is_same:
            self._answers_another = True
            return None
        asked = question["action_requests"][0]
        answered: dict[str, Any] = {"decision": "ask", "reason": asked["description"]}
        if mark.get("system_message"):
            answered["systemMessage"] = mark["system_message"]
        if asked["args"] != self._args:
            answered["hookSpecificOutput"] = {"tool_input": asked["args"]}
        return answered

    async def _decide(self, refused: ToolOutcome) -> ToolValue:
        """Apply a decision of the user other than approval."""
        decision, kind = self._decision, self._decision["type"]
        if kind == "respond":
            return self._reply(str(decision.get("message", "")), status="success")
        if kind == "edit":
            edited = decision.get("edited_action")
            if isinstance(edited, Mapping) and isinstance(edited.get("args"), dict):
                name = edited.get("name", self._name)
                if name != self._name and self._find_tool(name) is None:
                    return self._reply(f"The user chose the tool {name}, which does not exist.")
                self._decision = {}
                return self._finish_call(
                    await self._call_tool(name, edited["args"], self._allow_edited)
                )
        if kind == "reject" and decision.get("message"):
            said = f"The user did not allow this call of {self._name}: {decision['message']}"
            return self._reply(said)
        return self._finish_call(refused)

    def _allow_edited(self, request: ConfirmationRequest) -> Any:
        """Allow a call that the user edited: hooks still check it, but the user need not be asked
        again, except about calls that hooks make after it."""
        return self._ask_user(request) if self._has_run else True

    def _finish_call(self, outcome: ToolOutcome) -> ToolValue:
        if outcome.stop is not None:
            self._stopped.note(self._conversation, self._request.state, outcome.stop)
        if not outcome.ran:
            return self._reply(outcome.text, stop=outcome.stop)
        if outcome.replaced:
            own = _find_own_message(outcome.value, self._request.tool_call["id"])
            status = "success" if own is None else own.status
            return self._reply(outcome.text, stop=outcome.stop, status=status, like=own)
        value = outcome.value
        if outcome.added:
            value = self._edit_message(value, partial(_add_text, text=outcome.added))
        if outcome.result.suppress_display:
            value = self._edit_message(value, partial(mark, suppressed=True))
        return value

    def _reply(
        self,
        text: str,
        *,
        stop: str | None = None,
        status: Any = "error",
        like: ToolMessage | None = None,
    ) -> ToolMessage:
        """Make the message in place of the tool's own."""
        return ToolMessage(
            text,
            name=self._name if like is None else like.name,
            id=None if like is None else like.id,
            tool_call_id=self._request.tool_call["id"],
            status=status,
            additional_kwargs={} if stop is None else {MARK: {"stop": stop}},
        )

    def _edit_message(
        self, value: ToolValue, edit: Callable[[ToolMessage], ToolMessage]
    ) -> ToolValue:
        """Return what the tool returned with its own message edited, or with one more message if it
        has none."""
        own = _find_own_message(value, self._request.tool_call["id"])
        if own is None:
            listed = value if isinstance(value, list) else [value]
            return [*listed, edit(self._reply("", status="success"))]
        return _replace_message(value, own, edit(own))


def _find_stop(writes: list[Any]) -> str | None:
    """Return why hooks stopped a call whose message is among the writes to a state."""
    messages = (message for value in writes for message in _find_messages(value))
    return next((s for m in messages if (s := read_marks(m).get("stop")) is not None), None)


def _read_decision(value: Any) -> Mapping[str, Any]:
    """Read what the user decided; anything unknown is a rejection."""
    if isinstance(value, Mapping) and isinstance(value.get("decisions"), list | tuple):
        value = next(iter(value["decisions"]), None)
    elif isinstance(value, list | tuple):
        value = next(iter(value), None)
    if value is True or value == "approve":
        return {"type": "approve"}
    if isinstance(value, Mapping) and value.get("type") in _DECISIONS:
        return value
    return {"type": "reject"}


def _find_messages(value: ToolValue) -> list[BaseMessage]:
    """Return the messages that a tool returned."""
    if isinstance(value, BaseMessage):
        return [value]
    if isinstance(value, list | tuple):
        return [message for item in value for message in _find_messages(item)]
    update = getattr(value, "update", None)
    given = update.get("messages") if isinstance(update, Mapping) else update
    return convert_to_messages(given) if isinstance(given, list) else []


def _find_own_message(value: ToolValue, call_id: str | None) -> ToolMessage | None:
    found = (m for m in _find_messages(value) if isinstance(m, ToolMessage))
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
        for m in _find_messages(value)
    ]
    update: Any = value.update
    update = {**update, "messages": messages} if isinstance(update, Mapping) else messages
    return Command(graph=value.graph, update=update, resume=value.resume, goto=value.goto)


def _read_value(call_id: str | None, value: ToolValue) -> ToolResult:
    """Read what a tool returned for hooks."""
    messages = _find_messages(value)
    own = _find_own_message(value, call_id)
    if own is not None and len(messages) == 1:
        result = as_tool_result(own.content)
    elif messages:
        result = ToolResult("\n\n".join(read_text(message) for message in messages))
    else:
        result = ToolResult(text_of({"update": value.update, "goto": value.goto}))
    if own is not None and own.status == "error":
        error = ToolError("tool_failed", read_text(own))
        return ToolResult(result.llm_content, error=error)
    return result


def _add_text(message: ToolMessage, text: str) -> ToolMessage:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{content}\n\n{text}" if content else text})
    return message.model_copy(update={"content": [*content, {"type": "text", "text": text}]})
