"""The protocol of a model for the agent: it streams, and its conversation makes requests and reads
responses."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from hookline.agent.tools import Tool
from hookline.agent.turns import Turn, text_turn
from hookline.translate.values import SDKCall

__all__ = ["SUMMARIZE", "Conversation", "ModelProvider", "ask_of", "make_call"]

SUMMARIZE = (
    "Summarize the conversation so far for your own later use: what the user wants, what was done,"
    " what was decided, what is left to do. Keep names, paths and figures exact."
)


class Conversation(Protocol):
    """Makes the requests of one model's API from turns, and reads its responses into turns.

    It never changes its arguments. A turn of the role ``system`` may stand anywhere; an API that
    has no such role in mid-conversation gets it as the user's text ``[System] …``.
    """

    def request(
        self, model: str, turns: Sequence[Turn], *, config: Any = None, tools: Sequence[Tool] = ()
    ) -> Any:
        """Make a request in the API's form; ``config`` has the API's form as well, or is None."""
        ...

    def merged(self, chunks: Sequence[Any]) -> Any:
        """Merge a stream's chunks into the complete response, in the API's own type."""
        ...

    def read(self, response: Any) -> Turn | None:
        """Return the turn that a complete response adds, None if it is empty."""
        ...

    def text(self, response: Any) -> str:
        """Return the text that a person reads in a response or a chunk of one."""
        ...


def make_call(
    api: str, model: str, keywords: Mapping[str, Any], messages: Iterable[Any], tools: Iterable[Any]
) -> SDKCall:
    """Make the arguments of a call to an API of messages; ``messages`` and ``tools`` among the
    keywords come before these."""
    further = dict(keywords)
    messages = [*further.pop("messages", ()), *messages]
    tools = [*further.pop("tools", ()), *tools]
    declared = {"tools": tools} if tools else {}
    return SDKCall(api, {"model": model, "messages": messages, **declared, **further})


class ModelProvider(Protocol):
    """One model.

    ``stream`` yields the API's own chunks, which ``conversation`` merges into one response; it
    raises when the stream breaks or ends too early, and closing it early ends the call.
    """

    model: str

    @property
    def conversation(self) -> Conversation: ...

    def stream(self, request: Any) -> AsyncGenerator[Any, None]: ...

    async def summarize(self, turns: Sequence[Turn]) -> str: ...


def ask_of(provider: ModelProvider) -> Callable[[str], Awaitable[str]]:
    """Return a function that asks a model one question outside of any conversation, without tools
    and without hooks."""

    async def ask(question: str, /) -> str:
        conversation = provider.conversation
        request = conversation.request(provider.model, [text_turn("user", question)])
        async with aclosing(provider.stream(request)) as stream:
            chunks = [chunk async for chunk in stream]
        return conversation.text(conversation.merged(chunks))

    return ask
