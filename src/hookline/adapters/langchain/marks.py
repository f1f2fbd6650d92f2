"""What one step of a run leaves for a later one, as marks on messages, so that checkpoints keep
it."""

from collections.abc import Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ChatMessage, HumanMessage

M = TypeVar("M", bound=BaseMessage)

MARK = "hookline"


def stop_reason(result: Mapping[str, Any] | Sequence[BaseMessage]) -> str | None:
    """Return why a hook ended the last turn of an agent's result or of a list of messages; None if
    none did. In a graph of your own, do not call the model again if it is not None."""
    messages = result["messages"] if isinstance(result, Mapping) else result
    for message in reversed(messages):
        if is_from_user(message):
            return None
        stop: str | None = read_marks(message).get("stop")
        if stop is not None:
            return stop
    return None


def read_marks(message: BaseMessage) -> Mapping[str, Any]:
    marks = message.additional_kwargs.get(MARK)
    return marks if isinstance(marks, Mapping) else {}


def drop_hidden(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages without those that no model may read."""
    return [message for message in messages if not read_marks(message).get("hidden")]


def mark(message: M, **marks: Any) -> M:
    kwargs = {**message.additional_kwargs, MARK: {**read_marks(message), **marks}}
    return message.model_copy(update={"additional_kwargs": kwargs})


def unmark(message: M) -> M:
    kwargs = {name: value for name, value in message.additional_kwargs.items() if name != MARK}
    return message.model_copy(update={"additional_kwargs": kwargs})


def say(text: str, marks: Mapping[str, Any]) -> AIMessage:
    return AIMessage(text, additional_kwargs={MARK: dict(marks)})


def is_from_user(message: BaseMessage) -> bool:
    if isinstance(message, ChatMessage):
        return message.role in ("user", "human")
    return isinstance(message, HumanMessage)


async def settle(value: Any) -> Any:
    return await value if isawaitable(value) else value


def read_text(message: BaseMessage) -> str:
    # LangChain's ``text`` is a callable subclass of str.
    return str(message.text)


def find_reply(state: Any) -> AIMessage | None:
    """Return the message that the tool calls of a state belong to, whatever field of the state
    holds its messages."""
    if isinstance(state, list | tuple):
        return next((m for m in reversed(state) if isinstance(m, AIMessage)), None)
    fields = state if isinstance(state, Mapping) else getattr(state, "__dict__", {})
    named = [fields.get("messages"), *fields.values()]
    found = (find_reply(value) for value in named if isinstance(value, list | tuple))
    return next((reply for reply in found if reply is not None), None)


def count_calls(state: Any) -> int:
    """Count the tool calls of a state, which for a tool node may be a list of calls."""
    reply = find_reply(state)
    if reply is not None:
        return len(reply.tool_calls)
    return len(state) if isinstance(state, list | tuple) else 1
