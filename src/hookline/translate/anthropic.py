"""The translator of Anthropic's messages, and their streams."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from hookline.errors import TranslationError
from hookline.translate.blocks import BlockForm, Blocks
from hookline.translate.messages import MessageTranslator
from hookline.translate.streams import (
    CallFilter,
    ItemFilter,
    Refusing,
    classes_by_type,
    extend,
    make_like,
    to_json,
)
from hookline.translate.values import (
    SDKCall,
    get,
    get_list,
    is_object,
    is_readable,
    put,
    refuse_text,
)
from hookline.wire.model import HookToolConfig, Role

_ROLES: dict[str, Role] = {"user": "user", "assistant": "model", "system": "system"}
_NAMES: dict[Role, str] = {"user": "user", "model": "assistant", "system": "system"}
_MODES = {"auto": "AUTO", "any": "ANY", "none": "NONE"}
_CHOICES = {mode: choice for choice, mode in _MODES.items()}
_THOUGHTS = ("thinking", "redacted_thinking")
_RESULTS = (
    *("tool_result", "web_search_tool_result", "web_fetch_tool_result"),
    *("code_execution_tool_result", "bash_code_execution_tool_result"),
    *("text_editor_code_execution_tool_result", "tool_search_tool_result", "mcp_tool_result"),
)
_BLOCKS = Blocks(
    {"text": "text"},
    (
        *_THOUGHTS,
        *_RESULTS,
        *("image", "document", "search_result", "container_upload", "tool_reference"),
        *("tool_use", "server_tool_use", "mcp_tool_use", "compaction"),
    ),
    # The API requires thoughts and the results of tools first.
    leading=(*_THOUGHTS, *_RESULTS),
)

# The type of a delta -> its field, which is also the field of the block that it continues.
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
_INPUT = "partial_json"
# The counts that the end of a message repeats.
_COUNTS = (
    *("input_tokens", "output_tokens", "output_tokens_details", "server_tool_use"),
    *("cache_creation_input_tokens", "cache_read_input_tokens"),
)


def _make_block(_role: Role, text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


_FORM = BlockForm(_BLOCKS, _ROLES, _NAMES, _make_block)


def _holds_block(message: Any, *kinds: str) -> bool:
    content = get(message, "content")
    return isinstance(content, list | tuple) and any(
        get(block, "type") in kinds for block in content
    )


class AnthropicTranslator(MessageTranslator[Any]):
    """``HookTranslator`` for ``client.messages.create``: its arguments as a dictionary, whose
    contents may hold the SDK's objects, and ``Message`` or its JSON."""

    form = _FORM
    name = "anthropic"
    api = "Anthropic messages"
    requests = 'a request of Anthropic is {"model", "max_tokens", "messages", "system", …}'
    responses = 'a response of Anthropic is {"role": "assistant", "content": [{"type": "text", …}]}'
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_tokens",),
        "topP": ("top_p",),
        "topK": ("top_k",),
        "stopSequences": ("stop_sequences",),
    }
    usage: ClassVar[dict[str, str]] = {
        "promptTokenCount": "input_tokens",
        "candidatesTokenCount": "output_tokens",
    }
    tool_fields = ("tools", "mcp_servers")
    one_choice = True
    finish_field = "stop_reason"
    finish_words = (
        *("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"),
        "model_context_window_exceeded",
    )
    request_fields = (
        *("system", "metadata", "thinking", "container", "output_config", "service_tier"),
        *("inference_geo", "speed", "betas", "mcp_servers", "context_management"),
    )
    response_fields = (
        *("id", "type", "role", "model", "stop_reason", "stop_sequence", "stop_details", "usage"),
        *("container", "diagnostics", "context_management"),
    )

    def reads_request(self, request: object) -> bool:
        return isinstance(request, Mapping) and isinstance(request.get("messages"), list | tuple)

    def new_request(self, like: object) -> Any:
        empty = {"model": "", "messages": []}
        return SDKCall(self.name, empty) if isinstance(like, SDKCall) else empty

    def split_results(self, message: Any) -> tuple[Any, Any | None] | None:
        if not _holds_block(message, "tool_result"):
            return None
        blocks = get(message, "content")
        texts = [block for block in blocks if _BLOCKS.text(block) is not None]
        hidden = [block for block in blocks if _BLOCKS.text(block) is None]
        return put(message, {"content": hidden}), put(
            message, {"content": texts}
        ) if texts else None

    def with_system(self, request: Any, texts: Sequence[str]) -> Any:
        own = get(request, "system")
        if own is None or isinstance(own, str):
            return put(request, {"system": "\n\n".join([*([own] if own else []), *texts])})
        added = [_make_block("system", text) for text in texts]
        return put(request, {"system": [*get_list(request, "system"), *added]})

    def tool_name(self, tool: Any) -> str:
        """The name of a tool or an MCP server; for a toolset, that of its family or server."""
        named = (get(tool, name) for name in ("name", "mcp_server_name", "type"))
        return next((name for name in named if isinstance(name, str)), "")

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        kind = get(choice, "type") if is_readable(choice) else None
        if isinstance(kind, str) and kind in _MODES:
            return {"mode": _MODES[kind]}
        name = get(choice, "name")
        if kind != "tool" or not isinstance(name, str):
            raise TranslationError(f"tool_choice {choice!r:.80} has an unknown shape")
        return {"mode": "ANY", "allowedFunctionNames": [name]}

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:  # noqa: ARG002
        choice: dict[str, Any] = {"type": _CHOICES[mode]}
        parallel = get(own, "disable_parallel_tool_use")
        if parallel is not None and mode != "NONE":
            choice["disable_parallel_tool_use"] = parallel
        return choice

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        if mode == "NONE" and any(
            _holds_block(message, "tool_use", "tool_result") for message in self.messages(request)
        ):
            # The API refuses a conversation with calls if no tool is declared.
            return put(request, {"tool_choice": self.tool_choice(mode, None, None)})
        return super().with_tools(request, mode, allowed)

    def reads_response(self, response: object) -> bool:
        if not is_readable(response) or not isinstance(get(response, "content"), list | tuple):
            return False
        return bool(get(response, "role") == "assistant")

    def texts(self, choice: Any) -> list[str]:
        content = get(choice, "content")
        if not content:
            refuse_text(choice, self.response_fields, "a model response has no content")
        return _BLOCKS.read(content)

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        if isinstance(choice, Mapping):
            content = _BLOCKS.put(get(choice, "content"), texts, lambda t: _make_block("model", t))
        else:
            from anthropic.types import TextBlock

            content = _BLOCKS.put(
                get(choice, "content"), texts, lambda t: TextBlock(type="text", text=t)
            )
        return put(choice, {"content": [each for each in content if _BLOCKS.text(each) != ""]})

    def calls(self, choice: Any) -> list[str]:
        return [
            self.tool_name(each)
            for each in get(choice, "content")
            if get(each, "type") == "tool_use"
        ]

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        kept = [
            each
            for each in get(choice, "content")
            if get(each, "type") != "tool_use" or self.tool_name(each) not in names
        ]
        choice = put(choice, {"content": kept})
        return choice if self.calls(choice) else self.with_finish(choice, "end_turn")

    def new_response(self, like: object) -> Any:
        model = get(like, "model")
        empty: dict[str, Any] = {
            "id": "hookline",
            "type": "message",
            "role": "assistant",
            "model": model if isinstance(model, str) else "",
            "content": [],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }
        if not isinstance(like, SDKCall) and not is_object(like, "anthropic"):
            return empty
        from anthropic.types import Message

        return Message.model_validate(empty)


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
                delta = event["delta"].items()
                whole |= {name: word for name, word in delta if word is not None}
                usage = {n: c for n, c in (event.get("usage") or {}).items() if c is not None}
                whole["usage"] = {**(whole.get("usage") or {}), **usage}
        if whole is None:
            raise TranslationError("a stream of Anthropic must begin with message_start")
        whole["content"] = [_close_block(blocks[index]) for index in sorted(blocks)]
        return make_like(like, lambda: type(like), whole)

    def split(self, response: Any) -> list[Any]:
        whole = to_json(response)
        content, usage = whole.get("content") or [], whole.get("usage") or {}
        ends = ("stop_reason", "stop_sequence", "stop_details", "container")
        delta = {name: whole.get(name) for name in ends if name in whole}
        begun = {**whole, "content": [], **dict.fromkeys(delta)}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
        for index, block in enumerate(content):
            events += _split_block(index, block)
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
    fragment = {name: value for name, value in delta.items() if name != "type"}
    if delta.get("type") == "citations_delta":
        fragment = {"citations": [delta["citation"]]}
    extend(block, fragment)


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


def _split_block(index: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
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
        notes = [{"type": "citations_delta", "citation": each} for each in block["citations"]]
        deltas = [*notes, *deltas]
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


class _AnthropicFilter(ItemFilter):
    number_field = "index"

    def __init__(self, gate: Refusing) -> None:
        super().__init__(gate)
        self._like: Any = {}
        self._has_text = False
        self._has_calls = False

    def read_item(self, chunk: Any) -> Any | None:
        return get(chunk, "content_block")

    def make_response(self, item: dict[str, Any]) -> dict[str, Any]:
        return {"type": "message", "role": "assistant", "content": [item]}

    def pass_event(self, chunk: Any, changes: dict[str, Any]) -> list[Any]:
        kind, block = get(chunk, "type"), get(chunk, "content_block")
        if kind == "message_start":
            self._like = get(chunk, "message")
        elif kind == "message_delta" and self.names:
            return self._end_message(chunk)
        self._has_text = self._has_text or bool(
            get(block, "text") or get(get(chunk, "delta"), "text")
        )
        self._has_calls = self._has_calls or get(block, "type") == "tool_use"
        return [put(chunk, changes)]

    def _end_message(self, chunk: Any) -> list[Any]:
        """The last events of a message; if nothing is left of it, a text says why."""
        added: list[Any] = []
        if not self._has_text and not self._has_calls:
            block = {"type": "text", "text": self._gate.explain_refused(self.names)}
            added = [_make_event(self._like, event) for event in _split_block(self.items, block)]
        delta = get(chunk, "delta")
        if not self._has_calls and get(delta, "stop_reason") == "tool_use":
            chunk = put(chunk, {"delta": put(delta, {"stop_reason": "end_turn"})})
        return [*added, chunk]
