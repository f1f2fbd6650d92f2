"""What one step of a run leaves to a later one: marks on the messages that they belong to, so that
they survive checkpoints."""

from collections.abc import Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

M = TypeVar("M", bound=BaseMessage)

MARK = "hookline"


def stop_reason(result: Mapping[str, Any] | Sequence[BaseMessage]) -> str | None:
    """Why a hook ended the last turn of an agent's result, or of a list of messages; None where
    none did. For graphs of one's own: when it is not None, do not call the model again."""
    messages = result["messages"] if isinstance(result, Mapping) else result
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return None
        stop: str | None = read_marks(message).get("stop")
        if stop is not None:
            return stop
    return None


def read_marks(message: BaseMessage) -> Mapping[str, Any]:
    marks = message.additional_kwargs.get(MARK)
    return marks if isinstance(marks, Mapping) else {}


def mark(message: M, **marks: Any) -> M:
    kwargs = {**message.additional_kwargs, MARK: {**read_marks(message), **marks}}
    return message.model_copy(update={"additional_kwargs": kwargs})


def say(text: str, marks: Mapping[str, Any]) -> AIMessage:
    return AIMessage(text, additional_kwargs={MARK: dict(marks)})


async def settle(value: Any) -> Any:
    return await value if isawaitable(value) else value


def read_text(message: BaseMessage) -> str:
    # LangChain's own text is a str that can be called as well.
    return str(message.text)


def batch_of(state: Any) -> str | None:
    """The message that the tool calls of a state belong to."""
    messages = state.get("messages", ()) if isinstance(state, Mapping) else state
    if not isinstance(messages, list | tuple):
        messages = getattr(state, "messages", ())
    return next((m.id for m in reversed(messages) if isinstance(m, AIMessage)), None)
