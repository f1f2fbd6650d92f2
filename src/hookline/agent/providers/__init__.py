"""A model as the agent needs it: it streams, and its conversation says what its values hold."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol

import msgspec

__all__ = ["Conversation", "FunctionCall", "ModelProvider"]


class FunctionCall(msgspec.Struct, frozen=True):
    """A tool call the model asks for."""

    name: str
    args: dict[str, Any]
    id: str | None = None


class Conversation(Protocol):
    """Makes and reads the values of one model's API, which the agent itself never looks into.

    A *content* is one message of the history, a *part* a piece of one: a text, a tool call, its
    answer, media. No argument is ever altered. Roles are ``user``, ``model`` and ``system``; only
    a provider with ``system_role`` is asked for the last.
    """

    def text_content(self, role: str, text: str) -> Any:
        """A message of one text."""
        ...

    def content(self, role: str, parts: Sequence[Any]) -> Any:
        """A message of parts, each a text, a part, or its JSON."""
        ...

    def function_response(self, call: FunctionCall, response: dict[str, Any]) -> Any:
        """The part that answers a call."""
        ...

    def role_of_content(self, content: Any) -> str | None:
        """Who speaks in a message."""
        ...

    def texts_of_content(self, content: Any) -> list[str]:
        """What a person reads of a message, one text a part."""
        ...

    def calls_of_content(self, content: Any) -> list[FunctionCall]:
        """The tool calls of a message, in order."""
        ...

    def split_parts(self, parts: Sequence[Any]) -> tuple[list[str], list[Any]]:
        """The texts that a person reads of these parts, and the parts that are no text."""
        ...

    def request(self, model: str, contents: Sequence[Any], config: Any) -> Any:
        """A request to the model; ``config`` is the API's own, or None."""
        ...

    def with_content(self, request: Any, content: Any) -> Any:
        """The request with one more message at its end."""
        ...

    def with_tools(self, config: Any, declarations: Sequence[dict[str, Any]]) -> Any:
        """A model config, or a new one for None, that also declares these functions."""
        ...

    def merged(self, chunks: Sequence[Any]) -> Any:
        """The complete response of a stream, however many chunks it had."""
        ...

    def content_of(self, response: Any) -> Any | None:
        """The message a response adds to the conversation, None when it says nothing."""
        ...

    def text(self, response: Any) -> str:
        """What a person reads of a response."""
        ...

    def calls(self, response: Any) -> list[FunctionCall]:
        """The tool calls of a response, in order."""
        ...


class ModelProvider(Protocol):
    """One model.

    ``conversation`` makes and reads the provider's requests and responses. ``system_role`` says
    whether a conversation may hold system messages in its midst. ``stream`` yields responses that
    add up to one; it raises when the stream breaks, and closing it early ends the call.
    """

    model: str
    system_role: bool

    @property
    def conversation(self) -> Conversation: ...

    def stream(self, request: Any) -> AsyncGenerator[Any, None]: ...

    async def summarize(self, contents: Sequence[Any]) -> str: ...
