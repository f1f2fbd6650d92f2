"""The translator of OpenAI's chat completions, which many other servers speak as well."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from hookline.errors import TranslationError
from hookline.translate.blocks import BlockForm, drop_notes, put_texts, read_texts
from hookline.translate.messages import MessageTranslator
from hookline.translate.values import SDKCall, get, get_list, is_object, put
from hookline.wire.model import HookToolConfig, Role

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "model",
}
_HIDDEN_ROLES = ("tool", "function")
_NAMES: dict[Role, str] = {"system": "system", "user": "user", "model": "assistant"}
_TEXT_TYPES = {"text": "text", "refusal": "refusal"}
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_CHOICES = {mode: choice for choice, mode in _MODES.items()}
_FORM = BlockForm(_ROLES, _NAMES, _TEXT_TYPES, lambda _role, text: {"type": "text", "text": text})


class OpenAIChatTranslator(MessageTranslator[Any]):
    """``HookTranslator`` for ``client.chat.completions.create``: its arguments as a dictionary,
    whose messages are dictionaries or the SDK's objects, and ``ChatCompletion`` or its JSON."""

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

    def reads_request(self, request: object) -> bool:
        return isinstance(request, Mapping) and isinstance(request.get("messages"), list | tuple)

    def new_request(self, like: object) -> Any:
        empty = {"model": "", "messages": []}
        return SDKCall("openai-chat", empty) if isinstance(like, SDKCall) else empty

    def form(self, request: Any) -> BlockForm:  # noqa: ARG002 - all requests have the same
        return _FORM

    def messages(self, request: Any) -> Sequence[Any]:
        messages = get_list(request, "messages")
        for place, message in enumerate(messages):
            role = get(message, "role")
            if role not in _ROLES and role not in _HIDDEN_ROLES:
                known = ", ".join([*_ROLES, *_HIDDEN_ROLES])
                raise TranslationError(f"messages[{place}].role {role!r:.80} is not one of {known}")
        return messages

    def tool_name(self, tool: Any) -> str:
        kind = get(tool, "type")
        name = get(get(tool, kind), "name") if isinstance(kind, str) else None
        return name if isinstance(name, str) else ""

    def declare(self, names: Collection[str]) -> list[Any]:
        return [{"type": "function", "function": {"name": name}} for name in names]

    def show_tool_choice(self, choice: Any) -> HookToolConfig:
        if isinstance(choice, str) and choice in _MODES:
            return {"mode": _MODES[choice]}
        kind = get(choice, "type")
        if kind == "allowed_tools":
            allowed = get(choice, "allowed_tools")
            names = [self.tool_name(tool) for tool in get_list(allowed, "tools")]
            mode = _MODES.get(get(allowed, "mode"), "AUTO")
            return {"mode": mode, "allowedFunctionNames": [name for name in names if name]}
        name = self.tool_name(choice)
        if not name:
            raise TranslationError(f"tool_choice {choice!r:.80} is of no known shape")
        return {"mode": "ANY", "allowedFunctionNames": [name]}

    def with_tools(
        self, request: Any, mode: str, allowed: Collection[str] | None, tools: Sequence[Any]
    ) -> Any:
        if allowed is None:
            return put(request, {"tool_choice": _CHOICES[mode]})
        listed = []
        for tool in tools:
            kind, name = get(tool, "type"), self.tool_name(tool)
            if name in allowed:
                listed.append({"type": kind, kind: {"name": name}})
        choice = {"mode": _CHOICES[mode], "tools": listed}
        return put(request, {"tool_choice": {"type": "allowed_tools", "allowed_tools": choice}})

    def reads_response(self, response: object) -> bool:
        choices = get(response, "choices")
        if not isinstance(choices, list | tuple):
            return False
        is_known = isinstance(response, Mapping) or hasattr(response, "model_copy")
        # A chunk of a stream has choices as well, and is no response.
        return is_known and all(get(choice, "message") is not None for choice in choices)

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

    def texts(self, choice: Any) -> list[str]:
        message = get(choice, "message")
        texts = read_texts(get(message, "content"), _TEXT_TYPES)
        refusal = get(message, "refusal")
        return [*texts, refusal] if isinstance(refusal, str) and refusal else texts

    def with_texts(self, choice: Any, texts: list[str]) -> Any:
        message = get(choice, "message")
        old, changes = self.texts(choice), drop_notes(message)
        content, refusal = get(message, "content"), get(message, "refusal")
        if refusal and len(texts) == len(old):
            *texts, last = texts
            changes["refusal"] = last
        elif refusal:
            changes["refusal"] = None
        if texts != read_texts(content, _TEXT_TYPES):
            new = put_texts(
                content, texts, _TEXT_TYPES, lambda text: {"type": "text", "text": text}
            )
            # A text that is taken away is none; JSON says so with a null.
            changes["content"] = new if new or content is not None else None
        notes = {"logprobs": None} if get(choice, "logprobs") is not None else {}
        return put(choice, {"message": put(message, changes), **notes})

    def finish(self, choice: Any) -> str | None:
        word = get(choice, "finish_reason")
        return word if isinstance(word, str) else None

    def with_finish(self, choice: Any, word: str) -> Any:
        return put(choice, {"finish_reason": word})

    def calls(self, choice: Any) -> list[str]:
        message = get(choice, "message")
        names = [self.tool_name(call) for call in get_list(message, "tool_calls")]
        old = get(get(message, "function_call"), "name")
        return [*names, old] if isinstance(old, str) else names

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
