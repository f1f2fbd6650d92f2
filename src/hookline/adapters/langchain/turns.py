"""A turn of an agent: BeforeAgent before its first step, AfterAgent after its last."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from langchain.agents.middleware import AgentState
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from hookline.adapters.langchain.marks import (
    MARK,
    is_from_user,
    mark,
    read_marks,
    say,
    stop_reason,
    unmark,
)
from hookline.adapters.langchain.runs import Run
from hookline.calls.tool import text_of
from hookline.errors import TranslationError
from hookline.translate.langchain import LangChainTranslator
from hookline.wire.events import SessionStartSource

_FORM = LangChainTranslator.form

Update: TypeAlias = dict[str, Any]


def read_prompt(state: AgentState[Any]) -> list[BaseMessage]:
    """Return the user's messages at the end of a state: the prompt of a new turn."""
    prompt: list[BaseMessage] = []
    for message in reversed(state["messages"]):
        if is_from_user(message):
            prompt.insert(0, message)
        elif not isinstance(message, SystemMessage):
            break
    return prompt


async def begin_turn(run: Run, state: AgentState[Any], prompt: list[BaseMessage]) -> Update | None:
    """Fire SessionStart with the first turn, and BeforeAgent if the turn is a new one."""
    is_known = any(isinstance(message, AIMessage) for message in state["messages"])
    await run.start(SessionStartSource.RESUME if is_known else SessionStartSource.STARTUP)
    if not prompt:
        return None
    start = await run.open_turn("\n\n".join(_show_text(message) for message in prompt))
    if start.refusal is None:
        # A caller may not mark a prompt: hooks would not be shown it at the end of the turn, or
        # could not send the turn back.
        update: list[BaseMessage] = [unmark(message) for message in prompt if read_marks(message)]
        if start.texts:
            update.append(_as_context("\n\n".join(start.texts)))
        return {"messages": update} if update else None
    if start.stop:
        marks = {"refused": True, "stop": start.refusal}
        return {"messages": [say(start.refusal, marks)], "jump_to": "end"}
    # The model must read neither the prompt nor the answer to it, in this turn or later.
    forgotten = [RemoveMessage(id=message.id) for message in prompt if message.id]
    answer = say(start.refusal, {"refused": True, "hidden": True})
    return {"messages": [*forgotten, answer], "jump_to": "end"}


async def end_turn(run: Run, state: AgentState[Any]) -> Update | None:
    """Fire AfterAgent, and send the agent back where hooks want it."""
    messages = state["messages"]
    answer, prompt, sent_back = _read_turn(messages)
    if answer is not None and read_marks(answer).get("refused"):
        return None
    stop = stop_reason(messages)
    if stop is not None:
        run.end(stop)
    await run.open_turn(prompt, goes_on=True, sent_back=sent_back)
    end = await run.close_turn("" if answer is None else _show_text(answer))
    cleared = [RemoveMessage(id=REMOVE_ALL_MESSAGES)] if end.clear_context else []
    notes = run.take_notes()
    if end.send_back is not None:
        count = {MARK: {"sent_back": run.sent_back}}
        again = HumanMessage(end.send_back, additional_kwargs=count)
        return {"messages": [*cleared, again, *map(_as_context, notes)], "jump_to": "model"}
    # The caller still reads the answer; the model of a cleared conversation does not.
    marks: dict[str, Any] = {"hidden": True} if cleared else {}
    if end.stop is not None:
        marks["stop"] = end.stop
    if answer is not None and notes:
        # With the answer they reach the next turn of this conversation, and of no other.
        marks["notes"] = [*read_marks(answer).get("notes", ()), *notes]
    if answer is None or not marks:
        return None
    return {"messages": [*cleared, mark(answer, **marks)]}


def _show_text(message: BaseMessage) -> str:
    """The text of a message for hooks; all of its content as JSON where nobody knows its shape, so
    that nothing is shown as empty that is not."""
    try:
        return _FORM.text(message)
    except TranslationError:
        return text_of(message.content)


def _as_context(text: str) -> HumanMessage:
    """What hooks say to the model beside a prompt."""
    return HumanMessage(text, additional_kwargs={MARK: {"context": True}})


def _read_turn(messages: Sequence[BaseMessage]) -> tuple[AIMessage | None, str, int]:
    """The answer of the last turn, its prompt, and how often it was sent back."""
    answer: AIMessage | None = None
    prompt: list[str] = []
    sent_back = 0
    for message in reversed(messages):
        marks = read_marks(message)
        if is_from_user(message):
            if marks.get("context"):
                continue
            prompt.insert(0, _show_text(message))
            sent_back = marks.get("sent_back", 0)
            if sent_back:
                break
        elif prompt:
            break
        elif answer is None and isinstance(message, AIMessage):
            answer = message
    return answer, "\n\n".join(prompt), sent_back
