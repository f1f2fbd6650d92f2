"""The translator of OpenAI's chat completions, which many other servers offer as well."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from hookline.errors import TranslationError
from hookline.translate.blocks import ABOUT_THE_TEXT, BlockForm, Blocks, drop_notes
from hookline.translate.messages import MessageTranslator
from hookline.translate.values import (
    SDKCall,
    get,
    get_list,
    get_objects,
    get_text,
    is_object,
    is_readable,
    put,
    refuse_text,
)
from hookline.wire.model import HookToolConfig, Role

# The names of roles and tool modes in both of OpenAI's APIs.
ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
}
NAMES: dict[Role, str] = {"system": "system", "user": "user", "model": "assistant"}
MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
CHOICES = {mode: choice for choice, mode in MODES.items()}
_BLOCKS = Blocks(
    {"text": "text", "refusal": "refusal"},
    # The last two are other servers' words for a model's thoughts.
    ("image_url", "input_audio", "file", "video_url", "thinking", "reasoning"),
)
_CALLS = ("tool_calls", "function_call")
_THOUGHTS = ("reasoning", "reasoning_content", "reasoning_details", "thinking_blocks")
_FORM = BlockForm(
    _BLOCKS,
    ROLES,
    NAMES,
    lambda _role, text: {"type": "text", "text": text},
    hidden_roles=("tool", "function"),
    beside=("refusal",),
    kept=(*_CALLS, "audio"),
    known=("name", "tool_call_id", *_THOUGHTS),
)
_ANSWERED = {"role", "content", "refusal", *_CALLS, "audio", *_THOUGHTS, *ABOUT_THE_TEXT}


class OpenAIChatTranslator(MessageTranslator[Any]):
    """``HookTranslator`` for ``client.chat.completions.create``: its arguments as a dictionary,
    whose messages are dictionaries or the SDK's objects, and ``ChatCompletion`` or its JSON."""

    form = _FORM
    name = "openai-chat"
    api = "OpenAI chat completions"
    requests = 'a request of OpenAI chat is {"model", "messages": [{"role", "content"}], …}'
    responses = 'a response of OpenAI chat is {"choices": [{"message": {"role", "content"}}], …}'
    settings: ClassVar[dict[str, tuple[str, ...]]] = {
        "temperature": ("temperature",),
        "maxOutputTokens": ("max_completion_tokens", "max_tokens", "max_completion_tokens"),
        "topP": ("top_p",),
        "stopSequences": ("stop",),
        "candidateCount": ("n",),
        "presencePenalty": ("presence_penalty",),
        "frequencyPenalty": ("frequency_penalty",),
    }
    usage: ClassVar[dict[str, str]] = {
        "promptTokenCount": "prompt_tokens",
        "candidatesTokenCount": "completion_tokens",
        "totalTokenCount": "total_tokens",
    }
    system_turns = True
    tool_fields = ("tools", "functions")
    finish_field = "finish_reason"
    finish_words = ("stop", "length", "tool_calls", "content_filter", "function_call")
    request_fields = (
        *("functions", "function_call", "user", "metadata", "response_format", "service_tier"),
        *("modalities", "audio", "reasoning_effort", "verbosity", "safety_identifier"),
        *("prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "stream_options"),
    )
    response_fields = (
        *("id", "object", "model", "choices", "usage", "service_tier", "system_fingerprint"),
        *("metadata", "moderation", "provider"),
    )

    def reads_request(self, request: object) -> bool:
        return isinstance(request, Mapping) and isinstance(request.get("messages"), list | tuple)

    def new_request(self, like: object) -> Any:
        empty = {"model": "", "messages": []}
        return SDKCall(self.name, empty) if isinstance(like, SDKCall) else empty

    def tool_name(self, tool: Any) -> str:
        """The name of a tool, a call or a choice of one; older functions have it at their top."""
        kind = get(tool, "type")
        name = get(get(tool, kind) if isinstance(kind, str) else tool, "name")
        return name if isinstance(name, str) else ""

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        choice, tools = super().tool_selection(request)
        older = tools is None and get(request, "functions") is not None
        if not older:
            return choice, tools
        return get(request, "function_call"), get(request, "functions")

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        if isinstance(choice, str):
            if choice in MODES:
                return {"mode": MODES[choice]}
        elif is_readable(choice):
            if get(choice, "type") == "allowed_tools":
                allowed = get(choice, "allowed_tools")
                names = map(self.tool_name, get_list(allowed, "tools"))
                mode = "ANY" if get(allowed, "mode") == "required" else "AUTO"
                return {"mode": mode, "allowedFunctionNames": [name for name in names if name]}
            if name := self.tool_name(choice):
                return {"mode": "ANY", "allowedFunctionNames": [name]}
        raise TranslationError(f"tool_choice {choice!r:.80} has an unknown shape")

    def tool_choice(self, mode: str, names: Collection[str] | None, own: Any) -> Any:  # noqa: ARG002
        if names is None or mode == "NONE":
            return CHOICES[mode]
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        choice = {"mode": CHOICES[mode], "tools": tools}
        return {"type": "allowed_tools", "allowed_tools": choice}

    def with_tools(self, request: Any, mode: str, allowed: Collection[str] | None) -> Any:
        edited = super().with_tools(request, mode, allowed)
        changes: dict[str, Any] = {}
        if not get(edited, "tools"):
            # The API refuses these without a list of tools.
            changes = {"tool_choice": None, "parallel_tool_calls": None}
        if get(request, "functions"):
            changes["function_call"] = self._choose_function(get_list(edited, "functions"), mode)
        changes = {name: word for name, word in changes.items() if word != get(edited, name)}
        return put(edited, changes)

    def _choose_function(self, functions: Sequence[Any], mode: str) -> Any:
        """The tool choice of the older form, which forces one function or none."""
        if mode == "ANY" and len(functions) == 1:
            return {"name": self.tool_name(functions[0])}
        return "auto" if functions else None

    def reads_response(self, response: object) -> bool:
        choices = get(response, "choices")
        if not isinstance(choices, list | tuple) or not is_readable(response):
            return False
        # A chunk of a stream has choices as well, but is not a response.
        return all(
            is_readable(choice) and is_readable(get(choice, "message")) for choice in choices
        )

    def choices(self, response: Any) -> list[Any]:
        return get_list(response, "choices")

    def with_choices(self, response: Any, choices: list[Any]) -> Any:
        return put(response, {"choices": choices})

    def new_choice(self, response: Any, index: int) -> Any:
        message = {"role": "assistant", "content": None}
        choice = {"index": index, "message": message, "finish_reason": "stop"}
        if isinstance(response, Mapping):
            return choice
        from openai.types.chat.chat_completion import Choice

        return Choice.model_validate(choice)

    def with_index(self, choice: Any, index: int) -> Any:
        return put(choice, {"index": index})

    def texts(self, choice: Any) -> list[str]:
        message = get(choice, "message")
        texts = [text for text in _BLOCKS.read(get(message, "content")) if text]
        texts += filter(None, (get_text(message, "refusal"), self._read_transcript(message)))
        if not texts and not self.calls(choice):
            refuse_text(message, _ANSWERED, "a message has no text in its content")
        return texts

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        message = get(choice, "message")
        content, changes = get(message, "content"), drop_notes(message)
        is_same_count, texts = len(texts) == len(self.texts(choice)), [*texts]
        if spoken := self._read_transcript(message):
            if is_same_count and texts[-1] == spoken:
                texts.pop()
            else:
                # Speech cannot be edited: it is removed, and its text becomes the content.
                changes["audio"], is_same_count = None, False
        if get_text(message, "refusal"):
            changes["refusal"] = texts.pop() or None if is_same_count else None
        new = _BLOCKS.put(content, texts, lambda text: {"type": "text", "text": text}) or None
        message = put(message, {**changes, "content": new})
        if isinstance(message, Mapping):
            message = {**message, "content": new}
        notes = {"logprobs": None} if get(choice, "logprobs") is not None else {}
        return put(choice, {"message": message, **notes})

    def _read_transcript(self, message: Any) -> str:
        return get_text(get(message, "audio"), "transcript")

    def calls(self, choice: Any) -> list[str]:
        message = get(choice, "message")
        names = [self.tool_name(call) for call in get_objects(message, "tool_calls")]
        older = get(get(message, "function_call"), "name")
        return [*names, older] if isinstance(older, str) else names

    def without_calls(self, choice: Any, names: Collection[str]) -> Any:
        message = get(choice, "message")
        changes: dict[str, Any] = {}
        calls = get_list(message, "tool_calls")
        kept = [call for call in calls if self.tool_name(call) not in names]
        if len(kept) < len(calls):
            changes["tool_calls"] = kept or None
        if get(get(message, "function_call"), "name") in names:
            changes["function_call"] = None
        choice = put(choice, {"message": put(message, changes)})
        return choice if self.calls(choice) else self.with_finish(choice, "stop")

    def new_response(self, like: object) -> Any:
        model = get(like, "model")
        empty: dict[str, Any] = {
            "id": "hookline",
            "object": "chat.completion",
            "created": 0,
            "model": model if isinstance(model, str) else "",
            "choices": [],
        }
        if not isinstance(like, SDKCall) and not is_object(like, "openai"):
            return empty
        from openai.types.chat import ChatCompletion

        return ChatCompletion.model_validate(empty)
