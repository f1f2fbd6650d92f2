"""A chat model of LangChain's for tests: it replies as scripted, whole or in pieces."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

from tests.adapters.langchain import texts

Reply = AIMessage | str | BaseException
Script = Callable[[list[BaseMessage], list[str]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Replies with what ``reply(messages, tools)`` gives; in a stream a text comes in pieces of
    six characters."""

    model_name: str = "scripted"
    reply: Script

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[texts.name_of(tool) for tool in tools], **kwargs)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: Any,
    ) -> ChatResult:
        message = self.reply(messages, kwargs.get("tools", []))
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in _cut(self.reply(messages, kwargs.get("tools", []))):
            if run_manager is not None:
                run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in _cut(self.reply(messages, kwargs.get("tools", []))):
            if run_manager is not None:
                await run_manager.on_llm_new_token(str(chunk.text), chunk=chunk)
            yield chunk


class Recorded:
    """Scripted replies, with every request that the model was sent."""

    def __init__(self, *replies: Reply) -> None:
        self._replies = iter(replies)
        self.requests: list[list[BaseMessage]] = []
        self.offered: list[list[str]] = []

    def __call__(self, messages: list[BaseMessage], tools: list[str]) -> AIMessage:
        self.requests.append(list(messages))
        self.offered.append(tools)
        reply = next(self._replies)
        if isinstance(reply, BaseException):
            raise reply
        return AIMessage(reply) if isinstance(reply, str) else reply.model_copy(deep=True)

    @property
    def model(self) -> ScriptedModel:
        return ScriptedModel(reply=self)

    @property
    def sent(self) -> str:
        """All that the model was ever sent, as text."""
        return "\n".join(str(message) for request in self.requests for message in request)


def call(name: str, id: str = "call-1", **args: Any) -> AIMessage:
    """A reply that calls one tool."""
    return calls((name, id, args))


def calls(*made: tuple[str, str, dict[str, Any]], text: str = "") -> AIMessage:
    """A reply that calls tools."""
    return AIMessage(
        text, tool_calls=[ToolCall(name=name, args=args, id=id) for name, id, args in made]
    )


def _cut(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    text = str(message.text)
    for at in range(0, len(text), 6):
        yield ChatGenerationChunk(message=AIMessageChunk(content=text[at : at + 6]))
    chunks: list[Any] = [
        {"name": c["name"], "args": texts.dump(c["args"]), "id": c["id"], "index": n}
        for n, c in enumerate(message.tool_calls)
    ]
    last = AIMessageChunk(content="", tool_call_chunks=chunks, chunk_position="last")
    yield ChatGenerationChunk(message=last)
