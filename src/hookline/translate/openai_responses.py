"""The translator of OpenAI's responses: a conversation of items, of which messages are one kind.

Hooks are shown neither the instructions nor items other than messages; these stay in their place.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from hookline.errors import TranslationError
from hookline.translate.blocks import BlockForm, Blocks
from hookline.translate.messages import MessageTranslator
from hookline.translate.openai_chat import CHOICES, MODES, NAMES, ROLES
from hookline.translate.values import (
    SDKCall,
    get,
    get_list,
    get_objects,
    get_text,
    holds_text,
    is_object,
    is_readable,
    put,
    refuse_text,
)
from hookline.wire.model import HookToolConfig, Role

_BLOCKS = Blocks(
    {"input_text": "text", "output_text": "text", "refusal": "refusal"},
    ("input_image", "input_file", "input_audio", "computer_screenshot"),
)
# The types of items that the caller executes -> the name of the tool in a request.
_CALLS = {
    "function_call": None,
    "custom_tool_call": None,
    "mcp_approval_request": None,
    "computer_call": "computer",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
}
_HIDDEN_ITEMS = frozenset({
    *_CALLS,
    *("function_call_output", "custom_tool_call_output", "computer_call_output"),
    *("local_shell_call_output", "shell_call_output", "apply_patch_call_output"),
    *("file_search_call", "web_search_call", "image_generation_call", "code_interpreter_call"),
    *("mcp_call", "mcp_list_tools", "mcp_approval_response"),
    *("tool_search_call", "tool_search_output", "additional_tools", "configuration_update"),
    *("reasoning", "compaction", "compaction_trigger", "item_reference"),
    *("program", "program_output"),
})  # fmt: skip


def _make_block(role: Role, text: str) -> dict[str, Any]:
    if role == "model":
        return {"type": "output_text", "text": text, "annotations": []}
    return {"type": "input_text", "text": text}


def _is_message(item: object) -> bool:
    """True if an item is a message; raises TranslationError for one of an unknown type that holds
    text."""
    if not is_readable(item):
        raise TranslationError(f"an item cannot be {type(item).__name__}")
    kind = get(item, "type")
    if kind == "message" or (kind is None and get(item, "role") is not None):
        return True
    if (not isinstance(kind, str) or kind not in _HIDDEN_ITEMS) and holds_text(item):
        raise TranslationError(f"an item has the unknown type {kind!r:.80}")
    return False


class _ItemForm(BlockForm):
    """``MessageForm`` of items."""

    def role(self, message: Any) -> Role:
        return super().role(message) if _is_message(message) else "user"

    def text(self, message: Any) -> str:
        return super().text(message) if _is_message(message) else ""

    def with_text(self, message: Any, role: Role, text: str) -> Any:
        # The types of blocks, and the ids of a model's messages, belong to the role.
        is_same_role = role == self.role(message)
        return super().with_text(message, role, text) if is_same_role else self.new(role, text)


_FORM = _ItemForm(_BLOCKS, ROLES, NAMES, _make_block, known=("type", "id", "status", "phase"))


class OpenAIResponsesTranslator(MessageTranslator[Any]):
    """``HookTranslator`` for ``client.responses.create``: its arguments as a dictionary, whose
    items are dictionaries or the SDK's objects, and ``Response`` or its JSON."""

    form = _FORM
    name = "openai-responses"
    api = "OpenAI responses"
    requests = 'a request of OpenAI responses is {"model", "input": text or items, …}'
    responses = 'a response of OpenAI is {"output": [{"type": "message", "content": […]}], …}'
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_output_tokens",),
        "topP": ("top_p",),
    }
    usage: ClassVar[dict[str, str]] = {
        "promptTokenCount": "input_tokens",
        "candidatesTokenCount": "output_tokens",
        "totalTokenCount": "total_tokens",
    }
    system_turns = True
    one_choice = True
    finish_field = "status"
    finish_words = ("completed", "incomplete", "failed", "cancelled", "in_progress", "queued")
    request_fields = (
        *("instructions", "previous_response_id", "conversation", "prompt", "metadata", "include"),
        *("text", "reasoning", "truncation", "service_tier", "user", "safety_identifier"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "stream_options"),
    )
    # What a response repeats of its request, and metadata.
    response_fields = (
        *("id", "object", "model", "error", "incomplete_details", "instructions", "metadata"),
        *("tool_choice", "tools", "conversation", "previous_response_id", "prompt", "reasoning"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "text", "user"),
        *("prompt_cache_diagnostics", "safety_identifier", "service_tier", "status", "usage"),
        *("truncation", "moderation", "access_programs", "image", "tool_usage"),
    )

    def reads_request(self, request: object) -> bool:
        return isinstance(request, Mapping) and not request.get("messages")

    def new_request(self, like: object) -> Any:
        empty = {"model": "", "input": []}
        return SDKCall(self.name, empty) if isinstance(like, SDKCall) else empty

    def messages(self, request: Any) -> Sequence[Any]:
        if holds_text(get(get(request, "prompt"), "variables")):
            raise TranslationError("prompt.variables cannot be shown; put their texts into input")
        text = get(request, "input")
        if isinstance(text, str):
            return [{"role": "user", "content": text}] if text else []
        return get_list(request, "input")

    def with_messages(self, request: Any, messages: list[Any]) -> Any:
        if isinstance(get(request, "input"), str) and len(messages) == 1:
            [only] = messages
            if only["role"] == "user":
                return put(request, {"input": only["content"]})
        return put(request, {"input": messages})

    def tool_name(self, tool: Any) -> str:
        """The name of a tool, a call or a choice of one: a built-in tool has the name of its type,
        a server that of its label."""
        for name in ("namespace", "server_label", "name"):
            if isinstance(found := get(tool, name), str) and found:
                return found
        kind = get(tool, "type")
        if not isinstance(kind, str):
            return ""
        # These tools have several versions, whose calls all have the same type.
        families = (family for family in ("web_search", "computer") if kind.startswith(family))
        return next(families, kind)

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        if isinstance(choice, str):
            if choice in MODES:
                return {"mode": MODES[choice]}
        elif is_readable(choice) and isinstance(get(choice, "type"), str):
            if get(choice, "type") == "allowed_tools":
                names = map(self.tool_name, get_objects(choice, "tools"))
                mode = "ANY" if get(choice, "mode") == "required" else "AUTO"
                return {"mode": mode, "allowedFunctionNames": [name for name in names if name]}
            return {"mode": "ANY", "allowedFunctionNames": [self.tool_name(choice)]}
        raise TranslationError(f"tool_choice {choice!r:.80} has an unknown shape")

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:  # noqa: ARG002
        if names is None or mode == "NONE":
            return CHOICES[mode]
        tools = [{"type": "function", "name": name} for name in names]
        return {"type": "allowed_tools", "mode": CHOICES[mode], "tools": tools}

    def reads_response(self, response: object) -> bool:
        return is_readable(response) and isinstance(get(response, "output"), list | tuple)

    def texts(self, choice: Any) -> list[str]:
        items = get_list(choice, "output")
        if not items:
            refuse_text(choice, self.response_fields, "a model response has no output")
        texts = [text for item in items if _is_message(item) for text in self._read_texts(item)]
        whole = choice.get("output_text") if isinstance(choice, Mapping) else None
        if whole and whole != _join_output_text(items):
            raise TranslationError("output_text differs from the text of the output")
        return texts

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        items = get_list(choice, "output")
        counts = {
            n: len(self._read_texts(item)) for n, item in enumerate(items) if _is_message(item)
        }
        shares: dict[int, list[str]] = {place: [] for place in counts}
        if len(texts) == sum(counts.values()):
            left = iter(texts)
            shares = {place: [next(left) for _ in range(count)] for place, count in counts.items()}
        elif counts:
            shares[next((place for place in counts if counts[place]), min(counts))] = texts
        edited = []
        for place, item in enumerate(items):
            if place in counts and shares[place] != self._read_texts(item):
                make = _choose_text_maker(item)
                content = _BLOCKS.put(get(item, "content"), shares[place], make)
                content = [block for block in content if _BLOCKS.text(block) != ""]
                if not content:
                    continue
                item = put(item, {"content": content})
            edited.append(item)
        if texts and not counts:
            edited.append(_make_message(texts, is_json=isinstance(choice, Mapping)))
        changes: dict[str, Any] = {"output": edited}
        if isinstance(choice, Mapping) and "output_text" in choice:
            changes["output_text"] = _join_output_text(edited)
        return put(choice, changes)

    def _read_texts(self, item: Any) -> list[str]:
        return [text for text in _BLOCKS.read(get_list(item, "content")) if text]

    def finish(self, choice: Any) -> str | None:
        return get_text(choice, "status") or None

    def calls(self, choice: Any) -> list[str]:
        return [
            name for item in get_list(choice, "output") if (name := self._read_called_name(item))
        ]

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        items = get_list(choice, "output")
        return put(
            choice,
            {"output": [item for item in items if self._read_called_name(item) not in names]},
        )

    def _read_called_name(self, item: Any) -> str | None:
        """The name of the tool that an item asks the caller to call; None for calls that the API
        has already made itself."""
        kind = get(item, "type")
        if not isinstance(kind, str) or kind not in _CALLS:
            return None
        return _CALLS[kind] or self.tool_name(item)

    def new_response(self, like: object) -> Any:
        model = get(like, "model")
        empty: dict[str, Any] = {
            "id": "hookline",
            "object": "response",
            "created_at": 0,
            "model": model if isinstance(model, str) else "",
            "status": "completed",
            "output": [],
            "parallel_tool_calls": False,
            "tool_choice": "none",
            "tools": [],
        }
        if not isinstance(like, SDKCall) and not is_object(like, "openai"):
            return empty
        from openai.types.responses import Response

        return Response.model_validate(empty)


def _join_output_text(items: Sequence[Any]) -> str:
    """What JSON may repeat of its items under ``output_text``, as the SDK does: no refusals."""
    blocks = (block for item in items if _is_message(item) for block in get_list(item, "content"))
    return "".join(get_text(each, "text") for each in blocks if get(each, "type") == "output_text")


def _choose_text_maker(item: Any) -> Callable[[str], Any]:
    """The function that makes a text block for a message: JSON for JSON, else an SDK's object."""
    if isinstance(item, Mapping):
        return lambda text: _make_block("model", text)
    from openai.types.responses import ResponseOutputText

    return lambda text: ResponseOutputText(type="output_text", text=text, annotations=[])


def _make_message(texts: Sequence[str], *, is_json: bool) -> Any:
    message = {
        "id": "hookline",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [_make_block("model", text) for text in texts],
    }
    if is_json:
        return message
    from openai.types.responses import ResponseOutputMessage

    return ResponseOutputMessage.model_validate(message)
