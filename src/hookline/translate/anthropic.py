"""The translator of Anthropic's messages."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from hookline.errors import TranslationError
from hookline.translate.blocks import BlockForm, Blocks
from hookline.translate.messages import MessageTranslator
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
