"""Applies to an agent's tool call what hooks answer and what the user decides."""

from collections.abc import Callable, Mapping
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

from hookline.adapters.conversations import Conversation
from hookline.adapters.langchain.interrupts import Task
from hookline.adapters.langchain.marks import (
    MARK,
    find_reply,
    mark,
    read_marks,
    read_text,
    settle,
)
from hookline.adapters.langchain.runs import Run
from hookline.adapters.steps import ToolOutcome, ToolStep, write_input
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
from hookline.wire.events import SessionStartSource

ToolValue: TypeAlias = Any  # a ToolMessage, a Command, or a list of both

_MOST_STOPPED = 1000
_DECISIONS = ("approve", "edit", "reject", "respond")


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
        run: Run,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Any],
        *,
        confirm: Confirm | None,
        stopped: StoppedCalls,
    ) -> None:
        self._run = run
        self._request, self._handler = request, handler
        self._confirm, self._stopped = confirm, stopped
        self._name, self._args = request.tool_call["name"], request.tool_call["args"]
        self._task = Task(request)
        self._decision: Mapping[str, Any] = {}
        self._answers_another = False
        # Whether no question about this call was answered in this task.
        self._is_unasked = False

    async def run(self) -> ToolValue:
        run, state = self._run, self._request.state
        stop, answered = self._stopped.find(run.conversation, state), None
        if stop is not None:
            run.end(stop)
        elif self._task.is_answered:
            # The user's decision counts, even if the hooks that asked for it are gone.
            answered = await self._recall_answer()
        self._is_unasked = answered is None and not self._task.has_resumed
        is_resumed = answered is not None
        await run.start(SessionStartSource.RESUME if is_resumed else SessionStartSource.STARTUP)
        if not is_resumed and run.may_skip_tool(self._name):
            with run.inside_tool():
                value = await settle(self._handler(self._request))
            return value if run.stop is None else self._stop_after(value, run.stop)
        hindrance = None if self._confirm else self._find_hindrance()
        outcome = await self._run_tool(
            self._name, self._args, can_interrupt=hindrance is None, answered=answered
        )
        if hindrance is not None and outcome.text.endswith(f"({NOBODY_TO_ASK})"):
            run.face.warn(
                f"a hook asks about {self._name}, but the user cannot be asked: {hindrance}, or "
                "give HooklineMiddleware a confirm function"
            )
        if outcome.ran or not self._decision:
            return self._finish_call(outcome)
        return await self._decide(outcome)

    async def _run_tool(
        self,
        name: str,
        args: dict[str, Any],
        *,
        can_interrupt: bool = False,
        answered: Mapping[str, Any] | None = None,
        approved: bool | None = None,
    ) -> ToolOutcome:
        call_id = self._request.tool_call["id"]
        step = ToolStep(
            self._run,
            name,
            args,
            call_id=call_id,
            confirm=self._interrupt if can_interrupt and not self._confirm else self._confirm,
            interrupts=self._confirm is None,
            is_announced=self._task.is_answered,
            read=partial(_read_value, call_id),
            deferrals=(GraphBubbleUp,),
        )
        execute = self._find_tool(name) or partial(self._execute, self._request)
        return await step.run(
            execute, find_tool=self._find_tool, answered=answered, approved=approved
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
        if args is not request.tool_call["args"]:
            request = request.override(tool_call={**request.tool_call, "args": args})
        return self._handler(request)

    def _find_hindrance(self) -> str | None:
        """Return why the user cannot be asked; None if the run can be interrupted for that."""
        if self._answers_another:
            return "the answer was about another call; run it again"
        return self._task.find_hindrance()

    def _interrupt(self, request: ConfirmationRequest) -> bool:
        """Ask the user. The run is interrupted here, and resumes here with the answer."""
        answer = interrupt(self._describe_question(request))
        if self._is_unasked:
            # The first time it raises, so this is the answer to a question about another call.
            raise RuntimeError("the user was asked about another call")
        self._decision = _read_decision(answer)
        return bool(self._decision["type"] == "approve")

    def _describe_question(self, request: ConfirmationRequest) -> dict[str, Any]:
        """Return the question in the form of HumanInTheLoopMiddleware, and what a replay needs."""
        name = request.tool_name
        mark: dict[str, Any] = {
            "tool_call_id": self._request.tool_call["id"],
            "tool_input": write_input(self._args),
            "task_id": self._task.id,
        }
        if request.system_message:
            mark["system_message"] = request.system_message
        action = {"name": name, "args": request.tool_input, "description": request.reason}
        review = {"action_name": name, "allowed_decisions": [*_DECISIONS]}
        return {"action_requests": [action], "review_configs": [review], MARK: mark}

    async def _recall_answer(self) -> Mapping[str, Any] | None:
        """Return what BeforeTool hooks answered before the run was interrupted for their question;
        None if it was not interrupted for this call."""
        try:
            writes, question = await self._task.read_writes(blocking=self._run.is_blocking)
            stop = _find_stop(writes)
            if stop is not None:
                # Hooks stopped another call of the same reply, perhaps in another process.
                return {"continue": False, "stopReason": stop}
            return self._read_question(question)
        except Exception as error:
            # The hooks run again, and the user's answer still counts.
            self._run.face.warn(f"the question about {self._name} could not be read back: {error}")
            return None

    def _read_question(self, question: Any) -> dict[str, Any] | None:
        mark = question.get(MARK) if isinstance(question, Mapping) else None
        if not mark or mark["task_id"] != self._task.id:
            # A tool asked the question, or an agent that a tool runs.
            return None
        is_same = mark["tool_input"] == write_input(self._args)
        if mark["tool_call_id"] != self._request.tool_call["id"] or not is_same:
            self._answers_another = True
            return None
        action = question["action_requests"][0]
        answered: dict[str, Any] = {"decision": "ask", "reason": action["description"]}
        if mark.get("system_message"):
            answered["systemMessage"] = mark["system_message"]
        if action["args"] != self._args:
            answered["hookSpecificOutput"] = {"tool_input": action["args"]}
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
                # Hooks still check it, but the user need not be asked again.
                return self._finish_call(await self._run_tool(name, edited["args"], approved=True))
        if kind == "reject" and decision.get("message"):
            reason = f"The user did not allow this call of {self._name}: {decision['message']}"
            return self._reply(reason)
        return self._finish_call(refused)

    def _finish_call(self, outcome: ToolOutcome) -> ToolValue:
        if outcome.stop is not None:
            self._stopped.note(self._run.conversation, self._request.state, outcome.stop)
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
        return value if outcome.stop is None else self._stop_after(value, outcome.stop)

    def _stop_after(self, value: ToolValue, reason: str) -> ToolValue:
        """Return what the tool returned, marked so that the loop ends: hooks stopped an agent that
        the tool ran."""
        self._stopped.note(self._run.conversation, self._request.state, reason)
        return self._edit_message(value, partial(mark, stop=reason))

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
