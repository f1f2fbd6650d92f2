"""A turn of an agent: BeforeAgent before its first step, AfterAgent after its last."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from langchain.agents.middleware import AgentState
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from hookline.adapters.gates import Conversation, TurnGate
from hookline.adapters.langchain.marks import MARK, mark, read_marks, read_text, say
from hookline.front import Face
from hookline.wire.events import SessionStartSource

Update: TypeAlias = dict[str, Any]


async def begin_turn(
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
    # Beside the prompt there may be what hooks added to one that a failure left unanswered.
    asked = [read_text(message) for message in prompt if not read_marks(message).get("context")]
    turn = TurnGate(conversation, "\n\n".join(asked))
    start = await turn.open(face)
    if start.refusal is None:
        if not start.texts:
            return None
        marks = {MARK: {"context": True}}
        return {"messages": [HumanMessage("\n\n".join(start.texts), additional_kwargs=marks)]}
    if start.stop:
        marked = {"refused": True, "stop": start.refusal}
        return {"messages": [say(start.refusal, marked)], "jump_to": "end"}
    # The model must read neither the prompt nor the answer to it, in this turn or later.
    forgotten = [RemoveMessage(id=message.id) for message in prompt if message.id]
    said = say(start.refusal, {"refused": True, "hidden": True})
    return {"messages": [*forgotten, said], "jump_to": "end"}


async def end_turn(conversation: Conversation, face: Face, state: AgentState[Any]) -> Update | None:
    messages = state["messages"]
    answer, prompt, sent_back = _read_turn(messages)
    if answer is not None and read_marks(answer).get("refused"):
        return None
    stopped = None if answer is None else read_marks(answer).get("stop")
    turn = TurnGate(conversation, prompt, sent_back=sent_back)
    end = await turn.close(face, "" if answer is None else read_text(answer))
    cleared = [RemoveMessage(id=REMOVE_ALL_MESSAGES)] if end.clear_context else []
    if end.send_back is not None and stopped is None:
        marks = {MARK: {"sent_back": turn.sent_back}}
        again = HumanMessage(end.send_back, additional_kwargs=marks)
        return {"messages": [*cleared, again], "jump_to": "model"}
    if answer is None or not (cleared or end.stop is not None):
        return None
    # The caller still reads the answer; the model of a cleared conversation does not.
    kept = mark(answer, hidden=True) if cleared else answer
    kept = mark(kept, stop=end.stop) if end.stop is not None else kept
    return {"messages": [*cleared, kept]}


def _read_turn(messages: Sequence[BaseMessage]) -> tuple[AIMessage | None, str, int]:
    """The answer of the last turn, its prompt, and how often it was sent back."""
    answer: AIMessage | None = None
    prompt: list[str] = []
    sent_back = 0
    for message in reversed(messages):
        marks = read_marks(message)
        if isinstance(message, HumanMessage):
            if marks.get("context"):
                continue
            prompt.insert(0, read_text(message))
            sent_back = marks.get("sent_back", 0)
            if sent_back:
                break
        elif prompt:
            break
        elif answer is None and isinstance(message, AIMessage):
            answer = message
    return answer, "\n\n".join(prompt), sent_back
