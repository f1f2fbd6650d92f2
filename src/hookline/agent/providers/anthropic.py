"""Anthropic's messages API.

A request is the keywords of ``client.messages.create``, a response a ``Message``. The SDK is
imported when the provider is made.
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
from hookline.errors import HooklineError
from hookline.translate.values import SDKCall

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import Message, RawMessageStreamEvent

_API = "anthropic"
_IDS = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_BLOCKS = ("text", "image", "document", "search_result")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_THOUGHTS = ("thinking", "redacted_thinking")
# Stop reasons that may cut off the last call.
_CUT_OFF = ("max_tokens", "model_context_window_exceeded")
MAX_TOKENS = 8192


class AnthropicConversation:
    """``Conversation`` in the form of Anthropic's messages. A config is further keywords of the
    call; its ``messages`` come before the turns, its ``tools`` before the agent's.

    A system turn becomes the user's text ``[System] …``: few models take the role among the
    messages, and those refuse it in most places.
    """

    def request(
        self, model: str, turns: Sequence[Turn], *, config: Any = None, tools: Sequence[Tool] = ()
    ) -> SDKCall:
        """Make the keywords of one call; the API requires ``max_tokens``."""
        keywords = {"max_tokens": MAX_TOKENS, **(config or {})}
        return make_call("anthropic", model, keywords, _write_messages(turns), map(_declare, tools))

    def merged(self, chunks: "Sequence[RawMessageStreamEvent]") -> "Message":
        """Merge a stream's events into the complete message."""
        merged: Message = merge_chunks(chunks)
        return merged

    def read(self, response: Any) -> Turn | None:
        """Return the turn of a message, None if it is empty."""
        whole = plain_json(response)
        blocks: list[Any] = []
        parts: list[Part] = []
        for block in whole.get("content") or ():
            if block["type"] == "tool_use":
                is_last = block is whole["content"][-1]
                call = _read_call(block, is_cut=is_last and whole.get("stop_reason") in _CUT_OFF)
                parts.append(call)
                block = {**block, "input": call.args}
            elif block["type"] == "text":
                # The API refuses empty texts, and a hook may have left one.
                if not block["text"]:
                    continue
                parts.append(Text(block["text"]))
            blocks.append(block)
        if all(block["type"] in _THOUGHTS for block in blocks):
            return None
        native = {"role": "assistant", "content": blocks}
        return Turn("model", tuple(parts), Native(_API, native))

    def text(self, response: Any) -> str:
        """Return the text that a person reads in a ``Message`` or an event of its stream."""
        if getattr(response, "type", None) == "content_block_delta":
            return str(getattr(response.delta, "text", ""))
        blocks = plain_json(response).get("content") or ()
        return "".join(block["text"] for block in blocks if block["type"] == "text")


class AnthropicProvider:
    """A model behind ``anthropic.AsyncAnthropic``; ``aclose`` closes a client that it made
    itself."""

    def __init__(self, model: str, *, client: "AsyncAnthropic | None" = None) -> None:
        try:
            import anthropic
        except ImportError:
            raise HooklineError(
                "the anthropic package is not installed; pip install 'hookline[anthropic]'"
            ) from None
        if isinstance(client, anthropic.Anthropic):
            raise HooklineError(
                "AnthropicProvider needs an anthropic.AsyncAnthropic, not an anthropic.Anthropic"
            )
        self.model = model
        self.conversation = AnthropicConversation()
        self._is_own = client is None
        self._client = anthropic.AsyncAnthropic() if client is None else client

    async def aclose(self) -> None:
        """Close the client, if this provider made it."""
        if self._is_own:
            await self._client.close()

    async def stream(self, request: Any) -> "AsyncGenerator[RawMessageStreamEvent, None]":
        """Call the model, and yield what the API streams."""
        create = self._client.messages.create
        keywords = keep_accepted(create, {**request, "stream": True}, warn=warn)
        is_complete = False
        async with await create(**keywords) as events:
            async for event in events:
                is_complete = is_complete or event.type == "message_stop"
                yield event
        if not is_complete:
            raise HooklineError(
                f"the stream of {request['model']} ended before the answer was complete; try again"
            )

    async def summarize(self, turns: Sequence[Turn]) -> str:
        """Have the model summarize these turns."""
        asked = [*transcribe(turns), text_turn("user", SUMMARIZE)]
        request = self.conversation.request(self.model, asked)
        response = await self._client.messages.create(**request)
        return self.conversation.text(response)


def _read_call(block: Mapping[str, Any], *, is_cut: bool) -> FunctionCall:
    """Read a tool call. Arguments that are not an object become an empty one, also in what is sent
    back, since the API takes only objects."""
    given, problem = block.get("input"), None
    if not isinstance(given, dict):
        given, problem = {}, "its arguments are not a JSON object"
    if is_cut:
        problem = "the answer was cut off before its end"
    return FunctionCall(block["name"], given, block["id"], problem)


def _declare(tool: Tool) -> dict[str, Any]:
    schema = dict(tool.parameters or {"type": "object", "properties": {}})
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _write_messages(turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    for turn in give_ids(turns, api=_API, accepted=_IDS):
        native = turn.message_for(_API)
        if native is not None:
            yield native
        elif turn.role == "system":
            yield {"role": "user", "content": f"[System] {turn.text}"}
        else:
            blocks = [made for part in turn.parts for made in _write_part(part)]
            # Results come first: the API requires them at the beginning.
            blocks.sort(key=lambda block: block["type"] != "tool_result")
            if blocks:
                role = "assistant" if turn.role == "model" else "user"
                yield {"role": role, "content": _shorten(blocks)}


def _shorten(blocks: list[dict[str, Any]]) -> Any:
    """Return a single text block as its text, and anything else as it is."""
    is_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    return blocks[0]["text"] if is_text else blocks


def _write_part(part: Part) -> list[dict[str, Any]]:
    match part:
        case Text(text):
            return [{"type": "text", "text": text}] if text else []
        case FunctionCall(name, args, id):
            return [{"type": "tool_use", "id": id, "name": name, "input": args}]
        case CallResult(call, text, is_error, attached):
            content = [made for each in (Text(text), *attached) for made in _write_part(each)]
            answer: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
            if content:
                answer["content"] = _shorten(content)
            return [{**answer, "is_error": True} if is_error else answer]
        case Opaque(value):
            plain = plain_json(value)
            if isinstance(plain, Mapping) and plain.get("type") in _BLOCKS:
                return [dict(plain)]
            return _write_part(as_neutral(part))
        case Media(mime_type, data):
            source = {"type": "base64", "media_type": mime_type, "data": encode_base64(data)}
            if mime_type in _IMAGES:
                return [{"type": "image", "source": source}]
            if mime_type == "application/pdf":
                return [{"type": "document", "source": source}]
            return _write_part(Text(describe_media(part)))
