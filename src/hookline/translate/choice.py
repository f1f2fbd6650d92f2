"""Chooses the translator of each call by the type or the shape of its values."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import TranslationError
from hookline.translate.values import JSONCall, get, is_object, is_readable

if TYPE_CHECKING:
    from hookline.translate import HookTranslator
    from hookline.wire.model import HookToolConfig, LLMRequest, LLMResponse

# The name of an API -> the module of its translator and its class; the module is loaded for the
# first call of that API.
TRANSLATORS = {
    "anthropic": ("anthropic", "AnthropicTranslator"),
    "genai": ("genai", "GenAITranslator"),
    "hooks": ("hook_form", "HookFormTranslator"),
    "langchain": ("langchain", "LangChainTranslator"),
    "openai-chat": ("openai_chat", "OpenAIChatTranslator"),
    "openai-responses": ("openai_responses", "OpenAIResponsesTranslator"),
    "pydantic-ai": ("pydantic_ai", "PydanticAITranslator"),
    "strands": ("hookline.adapters.strands.translator", "StrandsTranslator"),
}
# The package of an SDK or framework -> the API of its objects.
_PACKAGES = {
    "google": "genai",
    "langchain": "langchain",
    "langchain_core": "langchain",
    "pydantic_ai": "pydantic-ai",
    "strands": "strands",
}
# What only Anthropic's requests have, and the block types of its messages.
_ANTHROPIC_KEYS = ("system", "stop_sequences", "top_k", "thinking", "container", "output_config")
_ANTHROPIC_BLOCKS = frozenset({
    *("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"),
    *("server_tool_use", "web_search_tool_result", "search_result"),
})  # fmt: skip
_ANTHROPIC_CHOICES = ("auto", "any", "tool", "none")
_RESPONSES_KEYS = ("input", "instructions", "previous_response_id", "conversation")
_CONVERSATIONS = frozenset({"contents", "messages", "input"})
_HOOK_KEYS = frozenset({"model", "messages", "config", "toolConfig"})
_READ = (
    'hookline reads google-genai\'s {"model", "contents"}, OpenAI\'s {"model", "messages"} and '
    '{"model", "input"}, Anthropic\'s {"model", "max_tokens", "messages"}, messages of LangChain '
    "and of Pydantic AI, and hooks' own "
    '{"model", "messages": [{"role", "content": text}], "config"}'
)
_READ_RESPONSES = (
    'hookline reads google-genai\'s {"candidates"}, OpenAI\'s {"choices"} and {"output"}, '
    'Anthropic\'s {"role", "content"}, messages of LangChain and of Pydantic AI, and hooks\' own '
    '{"candidates"} whose parts are texts, or {"text"}'
)


@cache
def make_translator(api: str) -> "HookTranslator":
    """The translator of an API, by its name in ``TRANSLATORS``."""
    if api not in TRANSLATORS:
        known = ", ".join(TRANSLATORS)
        raise TranslationError(f"no translator is named {api!r:.80}; there are {known}")
    module, kind = TRANSLATORS[api]
    try:
        found = import_module(module if "." in module else f"hookline.translate.{module}")
    except (ImportError, OSError, MemoryError) as error:
        raise TranslationError(f"the translator {api} cannot be loaded: {error}") from error
    translator: HookTranslator = getattr(found, kind)()
    return translator


class AnyTranslator:
    """``HookTranslator`` for the requests and responses of every API that hookline knows: it passes
    each call on to the translator of its API."""

    def to_hook_llm_request(self, request: object) -> "LLMRequest":
        """What hooks are shown of a request."""
        translator = self._choose_for_request(request)
        try:
            return translator.to_hook_llm_request(request)
        except TranslationError as error:
            raise TranslationError(f"{error.problem}; {_READ}") from None

    def from_hook_llm_request(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The request ``base`` with what the hook's ``llm_request`` names put into it."""
        translator = self._choose_for_request(like if base is None else base, or_json=base is None)
        return translator.from_hook_llm_request(hook, base, like=like)

    def to_hook_llm_response(self, response: object) -> "LLMResponse":
        """What hooks are shown of a response."""
        translator = self._choose_for_response(response)
        try:
            return translator.to_hook_llm_response(response)
        except TranslationError as error:
            raise TranslationError(f"{error.problem}; {_READ_RESPONSES}") from None

    def from_hook_llm_response(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The response ``base`` with what the hook's ``llm_response`` names put into it."""
        translator = (
            self._choose_for_caller(like) if base is None else self._choose_for_response(base)
        )
        return translator.from_hook_llm_response(hook, base, like=like)

    def to_hook_tool_config(self, tool_config: object) -> "HookToolConfig":
        """What hooks are shown of a tool config; empty for None."""
        return make_translator(_find_tool_config_api(tool_config)).to_hook_tool_config(tool_config)

    def from_hook_tool_config(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The tool config ``base`` with what the hook's ``toolConfig`` names put into it."""
        api = _find_request_api(like) or _find_response_api(like) or _find_tool_config_api(base)
        return make_translator(api).from_hook_tool_config(hook, base, like=like)

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the functions a request declares, None when it declares none."""
        return self._choose_for_request(request).tool_names(request)

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        return self._choose_for_request(request).tool_selection(request)

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A response whose text is the reason, for a call that was not made."""
        return self._choose_for_caller(like).empty_response(reason, like=like)

    def call_names(self, response: object) -> list[str]:
        """The names of the tools that a response calls."""
        return self._choose_for_response(response).call_names(response)

    def drop_calls(self, response: Any, names: Collection[str]) -> Any:
        """The response without the calls of these tools."""
        return self._choose_for_response(response).drop_calls(response, names)

    def has_system_turns(self, request: object) -> bool:
        """True if a system message may stand between other messages."""
        return self._choose_for_request(request).has_system_turns(request)

    def _choose_for_request(self, request: object, *, or_json: bool = False) -> "HookTranslator":
        api = _find_request_api(request)
        # JSON without a conversation is an empty request, or google-genai's translator says what is
        # wrong with it.
        has_none = isinstance(request, Mapping) and _CONVERSATIONS.isdisjoint(request)
        if api is None and not or_json and not has_none:
            raise TranslationError(f"a model request cannot be {_describe(request)}; {_READ}")
        return make_translator(api or "genai")

    def _choose_for_response(self, response: object) -> "HookTranslator":
        api = _find_response_api(response)
        if api is None:
            raise TranslationError(
                f"a model response cannot be {_describe(response)}; {_READ_RESPONSES}"
            )
        return make_translator(api)

    def _choose_for_caller(self, like: object) -> "HookTranslator":
        """The translator for an answer to a caller: google-genai's if nothing tells which."""
        try:
            return make_translator(_find_request_api(like) or _find_response_api(like) or "genai")
        except TranslationError:
            return make_translator("genai")


def _describe(value: object) -> str:
    if isinstance(value, Mapping):
        return f"an object of {', '.join(map(str, value)) or 'nothing'}"
    if isinstance(value, list | tuple) and value:
        return f"a list of {type(value[0]).__name__}"
    return type(value).__name__


def _find_object_api(value: object) -> str | None:
    """The API whose SDK or framework defines the class of an object."""
    return next((name for package, name in _PACKAGES.items() if is_object(value, package)), None)


def _find_request_api(value: object) -> str | None:
    """The name of the API of a request, None if unknown."""
    if isinstance(value, JSONCall | msgspec.Struct):
        api: str | None = getattr(value, "api", None)
        return api
    if isinstance(value, Mapping):
        return _find_arguments_api(value)
    return _find_object_api(value[0] if isinstance(value, list | tuple) and value else value)


def _find_arguments_api(request: Mapping[Any, Any]) -> str | None:
    """The API of a request that is JSON.

    No API has a conversation under two names. ``messages`` belong to a framework if its objects are
    among them; they are hooks' own beside ``config`` or ``toolConfig``, with a role that OpenAI
    does not have, or as plain text beside ``model`` alone; else Anthropic's if the request has
    something that only this API has; else OpenAI's.
    """
    messages = request.get("messages")
    if request.get("input") and (messages or "contents" in request):
        return None
    if request.get("contents"):
        return "genai"
    if not messages and any(name in request for name in _RESPONSES_KEYS):
        return "openai-responses"
    if messages is None:
        return "genai" if "contents" in request else None
    if not isinstance(messages, list | tuple):
        return "hooks"
    for message in messages:
        if type(message) is not dict and (name := _find_object_api(message)):
            return name
    if "config" in request or "toolConfig" in request:
        return "hooks"
    if _is_anthropic(request, messages):
        return "anthropic"
    roles = [get(message, "role") for message in messages]
    if "model" in roles or None in roles:
        return "hooks"
    is_plain = request.keys() <= _HOOK_KEYS and all(
        role in ("user", "system") and isinstance(get(message, "content"), str)
        for role, message in zip(roles, messages, strict=True)
    )
    return "hooks" if is_plain else "openai-chat"


def _is_anthropic(request: Mapping[Any, Any], messages: Sequence[Any]) -> bool:
    if any(name in request for name in _ANTHROPIC_KEYS):
        return True
    choice, tools = get(request, "tool_choice"), get(request, "tools")
    if isinstance(choice, Mapping) and choice.get("type") in _ANTHROPIC_CHOICES:
        return True
    # OpenAI's tools have their names one level below.
    if isinstance(tools, list | tuple) and any(get(tool, "name") is not None for tool in tools):
        return True
    for message in messages:
        if get(message, "role") not in ("user", "assistant"):
            return False
        content = get(message, "content")
        for block in content if isinstance(content, list | tuple) else ():
            kind = get(block, "type")
            if is_object(block, "anthropic") or (
                isinstance(kind, str) and kind in _ANTHROPIC_BLOCKS
            ):
                return True
    # Both APIs have max_tokens; only Anthropic requires it.
    model = request.get("model")
    return "max_tokens" in request and isinstance(model, str) and "claude" in model


def _find_response_api(value: object) -> str | None:
    """The name of the API of a response, None if unknown."""
    if (api := _find_object_api(value)) is not None:
        return api
    if not is_readable(value):
        return None
    if is_object(value, "anthropic"):
        return "anthropic"
    if is_object(value, "openai", "Response"):
        return "openai-responses"
    if get(value, "choices"):
        return "openai-chat"
    if not isinstance(value, Mapping):
        return "openai-chat" if get(value, "choices") is not None else None
    # In a response of OpenAI's, ``text`` may be the settings of the text format.
    text = value.get("text")
    if value.get("candidates") or (text and not isinstance(text, Mapping)):
        return "hooks" if _has_texts_for_parts(value) else "genai"
    if value.get("output") or value.get("output_text"):
        return "openai-responses"
    if "choices" in value:
        return "openai-chat"
    if "output" in value:
        return "openai-responses"
    if "role" in value and isinstance(value.get("content"), list | tuple):
        return "anthropic"
    return "genai"


def _has_texts_for_parts(response: Mapping[Any, Any]) -> bool:
    """True if the candidates of a response are in hooks' own form: their parts are texts. Without
    any parts, a response with a text is in hooks' own form."""
    candidates = response.get("candidates")
    parts = [
        part
        for candidate in (candidates if isinstance(candidates, list | tuple) else ())
        if isinstance(content := get(candidate, "content"), Mapping)
        and isinstance(held := content.get("parts"), list | tuple)
        for part in held
    ]
    if not parts:
        return bool(response.get("text"))
    return all(isinstance(part, str) for part in parts)


def _find_tool_config_api(value: object) -> str:
    kind = get(value, "type")
    if isinstance(value, str) or kind is not None:
        if kind in _ANTHROPIC_CHOICES:
            return "anthropic"
        has_name = get(value, "name") is not None or get(value, "tools") is not None
        return "openai-responses" if has_name else "openai-chat"
    if isinstance(value, Mapping) and ("mode" in value or "allowedFunctionNames" in value):
        return "hooks"
    return "genai"
