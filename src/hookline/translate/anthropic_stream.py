"""Streams of Anthropic's messages."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hookline.errors import TranslationError
from hookline.translate.streams import (
    CallFilter,
    Refusing,
    classes_by_type,
    make_like,
    to_json,
)
from hookline.translate.values import get, put

# The type of a delta -> its field, which is also the field of the block that it continues.
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_INPUT = "partial_json"
# The counts that the end of a message repeats.
_COUNTS = (
    *("input_tokens", "output_tokens", "output_tokens_details", "server_tool_use"),
    *("cache_creation_input_tokens", "cache_read_input_tokens"),
)


class AnthropicStreams:
    """``StreamForm`` of ``client.messages.create(stream=True)``."""

    def merge(self, chunks: Sequence[Any]) -> Any:
        whole: dict[str, Any] | None = None
        like: Any = {}
        blocks: dict[int, dict[str, Any]] = {}
        for chunk in chunks:
            event = to_json(chunk)
            kind, index = event.get("type"), event.get("index")
            if kind == "message_start":
                whole, like = dict(event["message"]), get(chunk, "message")
            elif kind == "content_block_start" and isinstance(index, int):
                blocks[index] = dict(event["content_block"])
            elif kind == "content_block_delta" and index in blocks:
                _merge_delta(blocks[index], event["delta"])
            elif kind == "message_delta" and whole is not None:
                whole |= {name: said for name, said in event["delta"].items() if said is not None}
                usage = {n: c for n, c in (event.get("usage") or {}).items() if c is not None}
                whole["usage"] = {**(whole.get("usage") or {}), **usage}
        if whole is None:
            raise TranslationError("a stream of Anthropic must begin with message_start")
        whole["content"] = [_close_block(blocks[index]) for index in sorted(blocks)]
        return make_like(like, lambda: type(like), whole)

    def split(self, response: Any) -> list[Any]:
        whole = to_json(response)
        content, usage = whole.get("content") or [], whole.get("usage") or {}
        said = ("stop_reason", "stop_sequence", "stop_details", "container")
        delta = {name: whole.get(name) for name in said if name in whole}
        begun = {**whole, "content": [], **dict.fromkeys(delta)}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        for index, block in enumerate(content):
            events += _tell_block(index, block)
        counts = {"output_tokens": 0, **usage}
        counts = {name: count for name, count in counts.items() if name in _COUNTS}
        events.append({"type": "message_delta", "delta": delta, "usage": counts})
        events.append({"type": "message_stop"})
        return [_make_event(response, event) for event in events]

    def filter_calls(self, gate: Refusing) -> CallFilter:
        return _AnthropicFilter(gate)


def _make_event(like: Any, event: Mapping[str, Any]) -> Any:
    def kind() -> Any:
        if ".beta" in type(like).__module__:
            from anthropic.types.beta import BetaRawMessageStreamEvent

            return classes_by_type(BetaRawMessageStreamEvent)[event["type"]]
        from anthropic.types import RawMessageStreamEvent

        return classes_by_type(RawMessageStreamEvent)[event["type"]]

    return make_like(like, kind, event)


def _merge_delta(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Add a delta to the block before it."""
    kind = delta.get("type", "")
    if kind in _TEXTS:
        name = _TEXTS[kind]
        block[name] = (block.get(name) or "") + delta[name]
    elif kind == "input_json_delta":
        block[_INPUT] = block.get(_INPUT, "") + delta[_INPUT]
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
    else:
        for name, value in delta.items():
            if name != "type" and value is not None:
                is_text = isinstance(value, str)
                block[name] = (block.get(name) or "") + value if is_text else value


def _close_block(block: dict[str, Any]) -> dict[str, Any]:
    """A block of a complete message. The input of a tool stays a text if the stream ended in the
    middle of it."""
    given = block.pop(_INPUT, "")
    if given:
        try:
            block["input"] = json.loads(given)
        except ValueError:
            block["input"] = given
    return block


def _tell_block(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of one block of a message."""
    begun, deltas = dict(block), []
    kind = block.get("type")
    for delta_type, name in _TEXTS.items():
        if isinstance(block.get(name), str):
            begun[name] = ""
            if block[name]:
                deltas.append({"type": delta_type, name: block[name]})
    if kind == "text" and block.get("citations"):
        begun["citations"] = []
        noted = block["citations"]
        deltas = [{"type": "citations_delta", "citation": each} for each in noted] + deltas
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        given = block.get("input")
        text = given if isinstance(given, str) else json.dumps(given or {})
        begun["input"] = {}
        deltas.append({"type": "input_json_delta", _INPUT: text})
    at = {"index": index}
    return [
        {"type": "content_block_start", **at, "content_block": begun},
        *({"type": "content_block_delta", **at, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", **at},
    ]


class _AnthropicFilter:
    def __init__(self, gate: Refusing) -> None:
        self._gate = gate
        self._names: list[str] = []
        self._dropped: set[int] = set()
        self._like: Any = {}
        self._blocks = 0
        self._has_said = False
        self._has_calls = False

    def feed(self, chunk: Any) -> list[Any]:
        kind, index = get(chunk, "type"), get(chunk, "index")
        if kind == "message_start":
            self._like = get(chunk, "message")
        elif kind == "content_block_start":
            self._open_block(index, get(chunk, "content_block"))
        elif kind == "content_block_delta" and get(get(chunk, "delta"), "text"):
            self._has_said = True
        elif kind == "message_delta" and self._names:
            return self._end_message(chunk)
        if index in self._dropped:
            return []
        if isinstance(index, int) and self._dropped:
            left_out = sum(other < index for other in self._dropped)
            return [put(chunk, {"index": index - left_out}) if left_out else chunk]
        return [chunk]

    def _open_block(self, index: Any, block: Any) -> None:
        alone = {"type": "message", "role": "assistant", "content": [to_json(block)]}
        names = self._gate.find_refused(alone)
        self._names += names
        if names:
            self._dropped.add(index)
            return
        kind = get(block, "type")
        self._blocks += 1
        self._has_said = self._has_said or bool(get(block, "text"))
        self._has_calls = self._has_calls or kind == "tool_use"

    def _end_message(self, chunk: Any) -> list[Any]:
        """The last events of a message; if nothing is left of it, a text says why."""
        told: list[Any] = []
        if not self._has_said and not self._has_calls:
            block = {"type": "text", "text": self._gate.explain_refused(self._names)}
            events = _tell_block(self._blocks, block)
            told = [_make_event(self._like, event) for event in events]
        delta = get(chunk, "delta")
        if not self._has_calls and get(delta, "stop_reason") == "tool_use":
            chunk = put(chunk, {"delta": put(delta, {"stop_reason": "end_turn"})})
        return [*told, chunk]
