"""OpenAI's chat completions, and the many servers that speak them.

A request is the keywords of ``client.chat.completions.create``, a response a ``ChatCompletion``.
The SDK is imported when the provider is made.
"""

import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookline._support.notices import warn
from hookline.agent.providers import SUMMARIZE, make_call
from hookline.agent.tools import Tool
from hookline.agent.turns import (
    CallResult,
    FunctionCall,
    Media,
    Native,
    Opaque,
    Part,
    Text,
    Turn,
    as_neutral,
    describe_media,
    encode_base64,
    give_ids,
    plain_json,
    text_turn,
    transcribe,
)
from hookline.calls.clients import keep_accepted
from hookline.calls.streams import merge_chunks
from hookline.calls.tool import text_of
from hookline.errors import HooklineError
from hookline.translate.values import SDKCall
from hookline.wire import codec

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

_API = "openai"
_IDS = re.compile(r"\S{1,40}")
_PARTS = ("text", "image_url", "input_audio", "file")
_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


class OpenAIConversation:
    """``Conversation`` in the form of chat completions. A config is further keywords of the call;
    its ``messages`` come before the turns, its ``tools`` before the agent's."""

    def request(
        self, model: str, turns: Sequence[Turn], *, config: Any = None, tools: Sequence[Tool] = ()
    ) -> SDKCall:
        """Make the keywords of one streamed call that reports its usage."""
        streamed = {"stream": True, "stream_options": {"include_usage": True}}
        keywords = {**streamed, **(config or {})}
        return make_call(
            "openai-chat", model, keywords, _write_messages(turns), map(_declare, tools)
        )

    def merged(self, chunks: "Sequence[ChatCompletionChunk]") -> "ChatCompletion":
        """Merge a stream's chunks into the complete response."""
        merged: ChatCompletion = merge_chunks(chunks)
        return merged

    def read(self, response: Any) -> Turn | None:
        """Return the turn of the first choice, None if it is empty."""
        choice = _find_first_choice(response)
        message = choice.get("message") or {}
        said = message.get("content") or message.get("refusal")
        parts: list[Part] = [Text(said)] if said else []
        parts += [_read_call(call) for call in message.get("tool_calls") or ()]
        if not parts and not message.get("audio"):
            return None
        kept = {name: value for name, value in message.items() if value is not None}
        if "audio" in kept:
            kept["audio"] = {"id": kept["audio"]["id"]}
        return Turn("model", tuple(parts), Native(_API, {"content": None, **kept}))

    def text(self, response: Any) -> str:
        """Return the text that a person reads in a ``ChatCompletion`` or a chunk of one."""
        choice = _find_first_choice(response)
        said = choice.get("message") or choice.get("delta") or {}
        return said.get("content") or said.get("refusal") or ""


class OpenAIProvider:
    """A model behind ``openai.AsyncOpenAI``; ``aclose`` closes a client that it made itself."""

    def __init__(self, model: str, *, client: "AsyncOpenAI | None" = None) -> None:
        try:
            import openai
        except ImportError:
            raise HooklineError(
                "the openai package is not installed; pip install 'hookline[openai]'"
            ) from None
        if isinstance(client, openai.OpenAI):
            raise HooklineError("OpenAIProvider needs an openai.AsyncOpenAI, not an openai.OpenAI")
        self.model = model
        self.conversation = OpenAIConversation()
        self._is_own = client is None
        self._client = openai.AsyncOpenAI() if client is None else client

    async def aclose(self) -> None:
        """Close the client, if this provider made it."""
        if self._is_own:
            await self._client.close()

    async def stream(self, request: Any) -> "AsyncGenerator[ChatCompletionChunk, None]":
        """Call the model, and yield what the API streams."""
        create = self._client.chat.completions.create
        keywords = keep_accepted(create, {**request, "stream": True}, warn=warn)
        unfinished: set[int] = {0}
        async with await create(**keywords) as chunks:
            async for chunk in chunks:
                for choice in chunk.choices:
                    unfinished.add(choice.index)
                    if choice.finish_reason is not None:
                        unfinished.discard(choice.index)
                yield chunk
        if unfinished:
            raise HooklineError(
                f"the stream of {request['model']} ended before the answer was complete; try again"
            )

    async def summarize(self, turns: Sequence[Turn]) -> str:
        """Have the model summarize these turns."""
        messages: Any = [*_write_messages([*transcribe(turns), text_turn("user", SUMMARIZE)])]
        response = await self._client.chat.completions.create(model=self.model, messages=messages)
        return self.conversation.text(response)


def _find_first_choice(response: Any) -> Mapping[str, Any]:
    choices = plain_json(response).get("choices") or ()
    return next((choice for choice in choices if not choice.get("index")), {})


def _read_call(call: Mapping[str, Any]) -> FunctionCall:
    if (custom := call.get("custom")) is not None:
        return FunctionCall(custom["name"], {"input": custom["input"]}, call["id"])
    name, written = call["function"]["name"], call["function"].get("arguments")
    try:
        args = codec.decode(written) if written else {}
    except codec.DecodeError as error:
        return FunctionCall(name, {}, call["id"], f"its arguments are not JSON: {error}")
    if not isinstance(args, dict):
        return FunctionCall(name, {}, call["id"], "its arguments are not a JSON object")
    return FunctionCall(name, args, call["id"])


def _declare(tool: Tool) -> dict[str, Any]:
    schema = {"parameters": dict(tool.parameters)} if tool.parameters else {}
    function = {"name": tool.name, "description": tool.description, **schema}
    return {"type": "function", "function": function}


def _write_messages(turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    for turn in give_ids(turns, api=_API, accepted=_IDS):
        native = turn.message_for(_API)
        if native is not None:
            yield native
        elif turn.role == "model":
            called = {"tool_calls": [_write_call(call) for call in turn.calls]}
            if turn.text or turn.calls:
                said = {"role": "assistant", "content": turn.text or None}
                yield {**said, **called} if turn.calls else said
        elif turn.role == "system":
            yield {"role": "system", "content": turn.text}
        else:
            yield from _write_user_messages(turn)


def _write_user_messages(turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield the results of a turn, each a message of its own, then what the user says. The API
    takes no media in a result, so they follow after all results."""
    parts: list[dict[str, Any]] = []
    for part in turn.parts:
        if isinstance(part, CallResult):
            said = f"Error: {part.text}" if part.is_error else part.text
            yield {"role": "tool", "tool_call_id": part.call.id, "content": said}
            if part.attached:
                parts.append(_write_text(f"Part of the result of {part.call.name}:"))
                parts += map(_write_part, part.attached)
        elif not isinstance(part, FunctionCall):
            parts.append(_write_part(part))
    if len(parts) == 1 and parts[0]["type"] == "text":
        yield {"role": "user", "content": parts[0]["text"]}
    elif parts:
        yield {"role": "user", "content": parts}


def _write_call(call: FunctionCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": text_of(call.args)}
    return {"id": call.id, "type": "function", "function": function}


def _write_part(part: Text | Media | Opaque) -> dict[str, Any]:
    match part:
        case Text(text):
            return _write_text(text)
        case Opaque(value):
            plain = plain_json(value)
            if isinstance(plain, Mapping) and plain.get("type") in _PARTS:
                return dict(plain)
            return _write_part(as_neutral(part))
        case Media(mime_type, data):
            encoded = encode_base64(data)
            url = f"data:{mime_type};base64,{encoded}"
            if mime_type.startswith("image/"):
                return {"type": "image_url", "image_url": {"url": url}}
            if mime_type in _SOUNDS:
                sound = {"data": encoded, "format": _SOUNDS[mime_type]}
                return {"type": "input_audio", "input_audio": sound}
            if mime_type == "application/pdf":
                file = {"filename": "document.pdf", "file_data": url}
                return {"type": "file", "file": file}
            return _write_text(describe_media(part))


def _write_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
