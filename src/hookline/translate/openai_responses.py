"""The translator of OpenAI's responses, and their streams: a conversation of items, of which
messages are one kind.

Hooks are shown neither the instructions nor items other than messages; these stay in their place.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from hookline.errors import TranslationError
from hookline.translate.blocks import BlockForm, Blocks
from hookline.translate.messages import MessageTranslator
from hookline.translate.openai_chat import CHOICES, MODES, NAMES, ROLES
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


# The type of a part of an item -> the prefix of its events, that of its text's events, its field.
_PARTS = {
    "output_text": ("response.content_part", "response.output_text", "text"),
    "refusal": ("response.content_part", "response.refusal", "refusal"),
    "reasoning_text": ("response.content_part", "response.reasoning_text", "text"),
    "summary_text": ("response.reasoning_summary_part", "response.reasoning_summary_text", "text"),
}
# The type of a call -> the prefix of its arguments' events, and their field.
_ARGUMENTS = {
    "function_call": ("response.function_call_arguments", "arguments"),
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
    "mcp_call": ("response.mcp_call_arguments", "arguments"),
}
_ENDS = ("response.completed", "response.incomplete", "response.failed")


class ResponsesStreams:
    """``StreamForm`` of ``client.responses.create(stream=True)``."""

    def merge(self, chunks: Sequence[Any]) -> Any:
        whole: dict[str, Any] = {}
        items: dict[int, dict[str, Any]] = {}
        for event in map(to_json, chunks):
            if isinstance(event.get("response"), Mapping):
                whole = dict(event["response"])
            _merge_item(items, event)
        if items and not whole.get("output"):
            # The stream ended early, or its server does not repeat the output at the end.
            whole["output"] = [items[index] for index in sorted(items)]
        return make_like(chunks[0], _load_response_class, whole)

    def split(self, response: Any) -> list[Any]:
        whole = to_json(response)
        output = whole.get("output") or []
        status = whole.get("status") or "completed"
        begun = {**whole, "status": "in_progress", "output": [], "usage": None}
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": begun},
            {"type": "response.in_progress", "response": begun},
        ]
        for index, item in enumerate(output):
            events += _split_item(index, dict(item))
        end = f"response.{status}"
        end = end if end in _ENDS else "response.completed"
        events.append({"type": end, "response": whole})
        return [
            _make_event(response, {**event, "sequence_number": number})
            for number, event in enumerate(events)
        ]

    def filter_calls(self, gate: Refusing) -> CallFilter:
        return _ResponsesFilter(gate)


def _load_response_class() -> Any:
    from openai.types.responses import Response

    return Response


def _make_event(like: Any, event: Mapping[str, Any]) -> Any:
    def kind() -> Any:
        from openai.types.responses import ResponseStreamEvent

        return classes_by_type(ResponseStreamEvent)[event["type"]]

    return make_like(like, kind, event)


def _merge_item(items: dict[int, dict[str, Any]], event: Mapping[str, Any]) -> None:
    """Add what an event holds of an item of the output."""
    index, kind = event.get("output_index"), event.get("type", "")
    if not isinstance(index, int):
        return
    if kind in ("response.output_item.added", "response.output_item.done"):
        items[index] = dict(event["item"])
    # A server may send a text without announcing its item first.
    unannounced = {"id": event.get("item_id"), "type": "message", "role": "assistant"}
    item = items.setdefault(index, unannounced)
    for start, name in _ARGUMENTS.values():
        if kind == f"{start}.delta":
            extend(item, {name: event["delta"]})
    for part_type, (_, start, name) in _PARTS.items():
        if kind == f"{start}.delta":
            is_summary = part_type == "summary_text"
            place = event.get("summary_index" if is_summary else "content_index", 0)
            field = "summary" if is_summary else "content"
            parts = [dict(part) for part in item.get(field) or ()]
            while len(parts) <= place:
                new = {"type": part_type, name: ""}
                parts.append(new | ({"annotations": []} if part_type == "output_text" else {}))
            extend(parts[place], {name: event["delta"]})
            item[field] = parts


def _split_item(index: int, item: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one item of the output."""
    place = {"output_index": index}
    at = {"item_id": item.get("id") or "", **place}
    begun = {**item, "status": "in_progress"} if "status" in item else dict(item)
    within: list[dict[str, Any]] = []
    for field, number in (("summary", "summary_index"), ("content", "content_index")):
        parts = item.get(field)
        if not isinstance(parts, list):
            continue
        begun[field] = []
        for part_number, part in enumerate(parts):
            within += _split_part({**at, number: part_number}, part)
    start, name = _ARGUMENTS.get(item.get("type", ""), ("", ""))
    if start:
        begun[name], given = "", item.get(name) or ""
        within.append({"type": f"{start}.delta", **at, "delta": given})
        named = {"name": item.get("name")} if item["type"] == "function_call" else {}
        within.append({"type": f"{start}.done", **at, **named, name: given})
    return [
        {"type": "response.output_item.added", **place, "item": begun},
        *within,
        {"type": "response.output_item.done", **place, "item": item},
    ]


def _split_part(at: Mapping[str, Any], part: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events of one part of an item."""
    if part.get("type") not in _PARTS:
        return []
    start, text_start, name = _PARTS[part["type"]]
    text = part.get(name) or ""
    notes = {"logprobs": part.get("logprobs") or []} if part["type"] == "output_text" else {}
    begun = {**part, name: "", **({"annotations": [], "logprobs": []} if notes else {})}
    return [
        {"type": f"{start}.added", **at, "part": begun},
        {"type": f"{text_start}.delta", **at, "delta": text, **notes},
        {"type": f"{text_start}.done", **at, name: text, **notes},
        {"type": f"{start}.done", **at, "part": dict(part)},
    ]


class _ResponsesFilter(ItemFilter):
    number_field = "output_index"

    def __init__(self, gate: Refusing) -> None:
        super().__init__(gate)
        self._sent = 0

    def read_item(self, chunk: Any) -> Any | None:
        return get(chunk, "item") if get(chunk, "type") == "response.output_item.added" else None

    def make_response(self, item: dict[str, Any]) -> dict[str, Any]:
        return {"output": [item]}

    def pass_event(self, chunk: Any, changes: dict[str, Any]) -> list[Any]:
        if get(chunk, "type") in _ENDS:
            return self._end_response(chunk)
        return [self._put_number(chunk, changes)]

    def _end_response(self, chunk: Any) -> list[Any]:
        response = get(chunk, "response")
        names = [*self.names, *self._gate.find_refused(response)]
        if not names:
            return [self._put_number(chunk, {})]
        left = self._gate.drop_refused(response, names)
        # The text that says why nothing is left was not announced yet.
        output = to_json(left).get("output") or []
        added = [
            event
            for index in range(self.items, len(output))
            for event in _split_item(index, dict(output[index]))
        ]
        events = [_make_event(chunk, {**event, "sequence_number": 0}) for event in added]
        return [self._put_number(event, {}) for event in events] + [
            self._put_number(chunk, {"response": left})
        ]

    def _put_number(self, chunk: Any, changes: dict[str, Any]) -> Any:
        changes = {**changes, "sequence_number": self._sent}
        self._sent += 1
        same = all(get(chunk, name) == value for name, value in changes.items())
        return chunk if same else put(chunk, changes)
