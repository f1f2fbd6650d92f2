"""A model that gives scripted replies: for demos, and for tests with no key and no network."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import Any, TypeAlias

from hookline.agent.providers.genai import GenAIConversation
from hookline.agent.turns import Turn

# A text, a list of parts, a whole response, an exception to raise, or a function of the request
# that gives one of these; a tuple is streamed in as many chunks.
Reply: TypeAlias = Any


class ScriptedProvider:
    """Gives its replies in order, one for each call; ``requests`` has every request it got.

    Requests and responses are JSON. After the last reply, every further one is the text
    ``(end of the script)``.
    """

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        model: str = "scripted",
        system_role: bool = False,
        delay: float = 0.0,
        summary: str | Callable[[Sequence[Turn]], str] = "(summary of the conversation so far)",
    ) -> None:
        self.model = model
        self.conversation: GenAIConversation = GenAIConversation("camel", system_role=system_role)
        self.requests: list[Any] = []
        self._replies = list(replies)
        self.delay = delay
        self._summary = summary

    async def stream(self, request: Any) -> AsyncGenerator[Any, None]:
        """Yield the next reply of the script, chunk by chunk."""
        self.requests.append(request)
        reply = self._replies.pop(0) if self._replies else "(end of the script)"
        if callable(reply):
            reply = reply(request)
        chunks = reply if isinstance(reply, tuple) else (reply,)
        for number, chunk in enumerate(chunks, start=1):
            await asyncio.sleep(self.delay)
            if isinstance(chunk, BaseException):
                raise chunk
            if isinstance(chunk, dict) and "candidates" in chunk:
                yield chunk
                continue
            parts = chunk if isinstance(chunk, list) else [chunk]
            made = [{"text": part} if isinstance(part, str) else part for part in parts]
            candidate = {"content": {"role": "model", "parts": made}, "index": 0}
            if number == len(chunks):
                candidate["finishReason"] = "STOP"
            yield {"candidates": [candidate]}

    async def summarize(self, turns: Sequence[Turn]) -> str:
        """Return the scripted summary."""
        return self._summary(turns) if callable(self._summary) else self._summary


def call(name: str, **args: Any) -> dict[str, Any]:
    """Make a part that asks for a tool call, for use in replies."""
    return {"functionCall": {"name": name, "args": args}}
