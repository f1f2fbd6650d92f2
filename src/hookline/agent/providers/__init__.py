"""A model as the chat needs it: it streams, and it says in which form it speaks."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Protocol

from hookline.translate.genai_conversation import GenAIConversation

__all__ = ["ModelProvider"]


class ModelProvider(Protocol):
    """One model.

    ``conversation`` builds and reads contents in the form of its requests and responses.
    ``system_role`` says whether a conversation may hold system messages in its midst. ``stream``
    yields responses that add up to one; it raises when the stream breaks, and closing it early
    ends the call.
    """

    model: str
    conversation: GenAIConversation
    system_role: bool

    def stream(self, request: Any) -> AsyncGenerator[Any, None]: ...

    async def summarize(self, contents: Sequence[Any]) -> str: ...
