"""A server on loopback that speaks chat completions and Anthropic's messages, and keeps what it
got; and answers in the form of both."""

import json
from typing import Any

from tests.harness.loopback import LoopbackServer

USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


class ModelServer(LoopbackServer):
    """Answers calls with the replies it was given, in order."""

    def __init__(self, *replies: Any) -> None:
        super().__init__()
        self.replies = list(replies)

    def answer(self, body: Any, path: str) -> Any:  # noqa: ARG002 - replies come in order
        reply = self.replies.pop(0)
        assert not isinstance(reply, list) or body["stream"] is True
        return reply


def completion(*deltas: dict[str, Any], finish: str | None = "stop") -> list[Any]:
    """A streamed chat completion of one choice; without ``finish`` it never ends its answer."""
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    # The role in each chunk, as many servers have it.
    said = [chunk({"role": "assistant", **delta}) for delta in deltas]
    if finish is None:
        return [*said, "[DONE]"]
    return [*said, chunk({}, finish), {**head, "choices": [], "usage": USAGE}, "[DONE]"]


def plain_completion(**message: Any) -> dict[str, Any]:
    """A chat completion that is not streamed."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-test"}
    return {**head, "choices": [choice], "usage": USAGE}


def calling(place: int, *fragments: str, id: str, name: str) -> list[dict[str, Any]]:
    """The deltas of one tool call, its arguments in fragments."""
    first = {"index": place, "id": id, "type": "function"}
    first["function"] = {"name": name, "arguments": ""}
    rest = [{"index": place, "function": {"arguments": text}} for text in fragments]
    return [{"tool_calls": [delta]} for delta in (first, *rest)]


def message(*blocks: dict[str, Any], stop: str | None = "end_turn") -> list[Any]:
    """A streamed message of Anthropic's; a text is streamed in two halves, and a tool's input byte
    by byte. Without ``stop`` it never ends."""
    events: list[Any] = [{"type": "message_start", "message": plain_message(stop=None)}]
    for place, block in enumerate(blocks):
        start, deltas = _deltas(block)
        events.append({"type": "content_block_start", "index": place, "content_block": start})
        events += [
            {"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas
        ]
        events.append({"type": "content_block_stop", "index": place})
    if stop is None:
        return events
    ended = {"stop_reason": stop, "stop_sequence": None}
    return [
        *events,
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]


def plain_message(*blocks: dict[str, Any], stop: str | None = "end_turn") -> dict[str, Any]:
    """A message of Anthropic's that is not streamed."""
    head = {"id": "m1", "type": "message", "role": "assistant", "model": "claude-test"}
    usage = {"input_tokens": 5, "output_tokens": 2}
    ended = {"stop_reason": stop, "stop_sequence": None}
    return {**head, "content": list(blocks), **ended, "usage": usage}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def tool_use(id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "text":
            half = len(block["text"]) // 2
            halves = block["text"][:half], block["text"][half:]
            return {**block, "text": ""}, [{"type": "text_delta", "text": t} for t in halves if t]
        case "tool_use":
            written = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in written]
            return {**block, "input": {}}, deltas
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signature]
    return block, []
