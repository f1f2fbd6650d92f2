"""The turns of a program that uses google-genai directly: its questions, with hooks around them.

A turn is a ``send_message`` of a chat, or a ``generate_content``, with all the requests and tools
that the SDK's automatic function calling makes of it.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from google.genai.chats import AsyncChat, Chat
from google.genai.types import Candidate, Content, FinishReason, GenerateContentResponse, Part

from hookline.adapters.genai.models import Call, refuse_way_around, settle
from hookline.calls.tool import text_of
from hookline.errors import TranslationError
from hookline.translate.genai import GenAITranslator, GenerateContentParameters
from hookline.translate.genai_values import field


class Question(Protocol):
    """What a program asks a model."""

    def read_prompt(self) -> str:
        """Return the user's last message in it."""
        ...

    def goes_on(self) -> bool:
        """True if it continues a turn, because it brings the results of tools."""
        ...

    def send(self, texts: Sequence[str] = ()) -> Any:
        """Ask, with these texts added for the model."""
        ...

    def send_back(self, responses: Sequence[GenerateContentResponse], reason: str) -> None:
        """Turn it into the question that hooks send back, after these responses."""
        ...

    def forget(self) -> None:
        """Forget the conversation before it."""
        ...


class ModelQuestion:
    """A call of ``generate_content``, or of its stream."""

    def __init__(self, method: Callable[..., Any], model: str, contents: Any, config: Any) -> None:
        self._method, self._model, self._config = method, model, config
        self._contents = contents

    def read_prompt(self) -> str:
        return _read_prompt(self._contents)

    def goes_on(self) -> bool:
        return _ends_with_results(self._contents)

    def send(self, texts: Sequence[str] = ()) -> Any:
        contents = self._contents
        if texts:
            contents = [*_as_list(contents), _make_content("\n\n".join(texts))]
        return self._method(model=self._model, contents=contents, config=self._config)

    def send_back(self, responses: Sequence[GenerateContentResponse], reason: str) -> None:
        before = responses[-1].automatic_function_calling_history or _as_list(self._contents)
        self._contents = [*before, *_read_contents(responses), _make_content(reason)]

    def forget(self) -> None:
        self._contents = _as_list(self._contents)[-1:]


class ChatQuestion:
    """A message of a chat, which keeps its history itself."""

    def __init__(
        self, chat: Chat | AsyncChat, method: Callable[..., Any], message: Any, config: Any
    ) -> None:
        self._chat, self._method = chat, method
        self._message, self._config = message, config

    def read_prompt(self) -> str:
        if not self.goes_on():
            return _read_prompt(self._message)
        return _read_prompt(self._chat.get_history(curated=True))

    def goes_on(self) -> bool:
        return _ends_with_results(self._message)

    def send(self, texts: Sequence[str] = ()) -> Any:
        message = [*_as_list(self._message), *texts] if texts else self._message
        return self._method(message, self._config)

    def send_back(self, responses: Sequence[GenerateContentResponse], reason: str) -> None:
        self._message = reason

    def forget(self) -> None:
        self._chat.get_history(curated=True).clear()
        self._chat.get_history().clear()


class Turn:
    """One question with its hooks; without ``has_events``, none of BeforeAgent and AfterAgent."""

    def __init__(self, call: Call, question: Question, *, has_events: bool) -> None:
        self._call, self._question = call, question
        self._has_events = has_events

    async def run(self) -> Any:
        """Ask until hooks send nothing back, and return the last response."""
        refusal, texts = await self._open_turn()
        if refusal is not None:
            return make_response(refusal)
        while True:
            with self._call.running():
                response = await settle(self._question.send(texts))
            self._check_sent()
            texts = ()
            if not await self._is_sent_back([response]):
                return response

    async def stream(self) -> AsyncGenerator[Any, None]:
        """Do the same in chunks; a turn that is sent back goes on in the same stream."""
        refusal, texts = await self._open_turn()
        if refusal is not None:
            yield make_response(refusal)
            return
        while True:
            last: list[GenerateContentResponse] = []
            requests = self._call.requests
            async with aclosing(self._read_chunks(texts)) as chunks:
                async for chunk in chunks:
                    if self._call.requests > requests and _have_calls(last):
                        # The next request carried the results, so these chunks are history already.
                        last = []
                    requests = self._call.requests
                    last.append(chunk)
                    yield chunk
            self._check_sent()
            texts = ()
            if not await self._is_sent_back(last):
                return

    async def _read_chunks(self, texts: Sequence[str]) -> AsyncGenerator[Any, None]:
        call, end = self._call, object()
        with call.running():
            chunks = await settle(self._question.send(texts))
        try:
            while True:
                # Set anew for each chunk: the reader of the stream runs other code in between.
                with call.running():
                    if call.is_blocking:
                        chunk = next(chunks, end)
                    else:
                        chunk = await anext(chunks, end)
                if chunk is end:
                    return
                yield chunk
        finally:
            if call.is_blocking:
                chunks.close()
            else:
                await chunks.aclose()

    async def _open_turn(self) -> tuple[str | None, Sequence[str]]:
        """Fire the events before the turn; return why it may not begin, and the texts to add."""
        call, question = self._call, self._question
        if not self._has_events:
            await call.start()
            return None, call.take_texts()
        goes_on = question.goes_on()
        start = await call.open_turn(question.read_prompt(), goes_on=goes_on)
        return start.refusal, call.take_texts() if goes_on else start.texts

    async def _is_sent_back(self, responses: Sequence[GenerateContentResponse]) -> bool:
        """Fire AfterAgent; return True if hooks want the agent to go on, with their question."""
        if not responses or _have_calls(responses):
            return False
        texts = (_read_text(content) for content in _read_contents(responses))
        end = await self._call.close_turn("".join(texts))
        if end.send_back is not None:
            self._question.send_back(responses, end.send_back)
        if end.clear_context:
            self._question.forget()
        return end.send_back is not None

    def _check_sent(self) -> None:
        if self._call.requests == 0:
            refuse_way_around(self._call.conversation, "a request that was not sent over HTTP")


def make_response(text: str) -> GenerateContentResponse:
    """Make a response of one text, in place of a model's."""
    content = Content(role="model", parts=[Part(text=text)])
    candidate = Candidate(content=content, finish_reason=FinishReason.STOP, index=0)
    return GenerateContentResponse(candidates=[candidate])


def _make_content(text: str) -> Content:
    return Content(role="user", parts=[Part(text=text)])


def _as_list(value: Any) -> list[Any]:
    return [*value] if isinstance(value, list | tuple) else [value]


def _read_prompt(contents: Any) -> str:
    try:
        shown = GenAITranslator().to_hook_llm_request(GenerateContentParameters("", contents))
    except TranslationError:
        return text_of(contents)
    said = [message["content"] for message in shown["messages"] if message["role"] == "user"]
    last = said[-1] if said else ""
    return last if isinstance(last, str) else text_of(last)


def _ends_with_results(contents: Any) -> bool:
    """True if the last of the contents holds results of tools and no text."""
    last: list[Any] = []
    for entry in reversed(_as_list(contents)):
        parts = entry if isinstance(entry, list | tuple) else field(entry, "parts")
        if parts is not None or field(entry, "functionCall"):
            last = last or [*(parts or ())]
            break
        # Consecutive bare parts are one content.
        last.append(entry)
    if any(isinstance(part, str) or field(part, "text") for part in last):
        return False
    return any(field(part, "functionResponse") for part in last)


def _have_calls(responses: Sequence[GenerateContentResponse]) -> bool:
    return any(response.function_calls for response in responses)


def _read_contents(responses: Sequence[GenerateContentResponse]) -> list[Content]:
    firsts = (response.candidates[0] for response in responses if response.candidates)
    return [candidate.content for candidate in firsts if candidate.content is not None]


def _read_text(content: Content) -> str:
    parts = content.parts or []
    return "".join(part.text for part in parts if part.text and not part.thought)
