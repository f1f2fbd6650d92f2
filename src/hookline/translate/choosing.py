"""The translator that is chosen for each call, by the type or the shape of its values."""

from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import TranslationError
from hookline.translate.values import JSONCall, get, is_object

if TYPE_CHECKING:
    from hookline.translate import HookTranslator
    from hookline.wire.model import HookToolConfig, LLMRequest, LLMResponse

# The name of an API -> the module of its translator and its class; the module is loaded for the
# first call of that API.
TRANSLATORS = {
    "genai": ("genai", "GenAITranslator"),
    "openai-chat": ("openai_chat", "OpenAIChatTranslator"),
    "langchain": ("langchain", "LangChainTranslator"),
    "pydantic-ai": ("pydantic_ai", "PydanticAITranslator"),
}
# The package of an SDK's or framework's objects -> the API that they are of.
_PACKAGES = {
    "google": "genai",
    "langchain": "langchain",
    "langchain_core": "langchain",
    "pydantic_ai": "pydantic-ai",
}
# What only requests of the one or the other API have.
_ANTHROPIC_KEYS = ("system", "stop_sequences", "top_k", "thinking", "container", "output_config")
_ANTHROPIC_BLOCKS = frozenset({
    *("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"),
    *("server_tool_use", "web_search_tool_result", "search_result"),
})  # fmt: skip
_OPENAI_KEYS = ("max_completion_tokens", "response_format", "n", "stop", "functions", "logprobs")
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
    module, kind = TRANSLATORS[api]
    translator: HookTranslator = getattr(import_module(f"hookline.translate.{module}"), kind)()
    return translator


class AnyTranslator:
    """``HookTranslator`` for the requests and responses of every API that hookline knows: each
    call is read by the translator that its values ask for."""

    def to_hook_llm_request(self, request: object) -> "LLMRequest":
        """What hooks are shown of a request."""
        return self._of_request(request).to_hook_llm_request(request)

    def from_hook_llm_request(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The request ``base`` with what the hook's ``llm_request`` names put into it."""
        translator = self._of_request(like if base is None else base, or_json=base is None)
        return translator.from_hook_llm_request(hook, base, like=like)

    def to_hook_llm_response(self, response: object) -> "LLMResponse":
        """What hooks are shown of a response."""
        return self._of_response(response).to_hook_llm_response(response)

    def from_hook_llm_response(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The response ``base`` with what the hook's ``llm_response`` names put into it."""
        translator = self._of_caller(like) if base is None else self._of_response(base)
        return translator.from_hook_llm_response(hook, base, like=like)

    def to_hook_tool_config(self, tool_config: object) -> "HookToolConfig":
        """What hooks are shown of a tool config; empty for None."""
        return make_translator(_api_of_tool_config(tool_config)).to_hook_tool_config(tool_config)

    def from_hook_tool_config(
        self, hook: Mapping[str, Any], base: Any = None, *, like: object = None
    ) -> Any:
        """The tool config ``base`` with what the hook's ``toolConfig`` names put into it."""
        api = _api_of_request(like) or _api_of_response(like) or _api_of_tool_config(base)
        return make_translator(api).from_hook_tool_config(hook, base, like=like)

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the functions a request declares, None when it declares none."""
        return self._of_request(request).tool_names(request)

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        return self._of_request(request).tool_selection(request)

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A response whose text is the reason, for a call that was not made."""
        return self._of_caller(like).empty_response(reason, like=like)

    def call_names(self, response: object) -> list[str]:
        """The names of the tools that a response calls."""
        return self._of_response(response).call_names(response)

    def drop_calls(self, response: Any, names: Collection[str]) -> Any:
        """The response without the calls of these tools."""
        return self._of_response(response).drop_calls(response, names)

    def has_system_turns(self, request: object) -> bool:
        """Whether a system message may stand in the midst of a conversation."""
        return self._of_request(request).has_system_turns(request)

    def _of_request(self, request: object, *, or_json: bool = False) -> "HookTranslator":
        api = _api_of_request(request)
        if api is None and not or_json:
            raise TranslationError(f"a model request cannot be {_describe(request)}; {_READ}")
        return make_translator(api or "genai")

    def _of_response(self, response: object) -> "HookTranslator":
        api = _api_of_response(response)
        if api is None:
            raise TranslationError(
                f"a model response cannot be {_describe(response)}; {_READ_RESPONSES}"
            )
        return make_translator(api)

    def _of_caller(self, like: object) -> "HookTranslator":
        return make_translator(_api_of_request(like) or _api_of_response(like) or "genai")


def _describe(value: object) -> str:
    if isinstance(value, Mapping):
        return f"an object of {', '.join(map(str, value)) or 'nothing'}"
    if isinstance(value, list | tuple) and value:
        return f"a list of {type(value[0]).__name__}"
    return type(value).__name__


def _api_of_request(value: object) -> str | None:
    """The name of the API whose request a value is, None where nobody knows."""
    if isinstance(value, JSONCall | msgspec.Struct):
        api: str | None = getattr(value, "api", None)
        return api
    if isinstance(value, Mapping):
        return _api_of_arguments(value)
    first = value[0] if isinstance(value, list | tuple) and value else value
    for package, name in _PACKAGES.items():
        if is_object(first, package):
            return name
    return None


def _api_of_arguments(request: Mapping[Any, Any]) -> str | None:
    """The API whose arguments, as JSON, a request holds."""
    messages = request.get("messages")
    if not messages or request.get("contents"):
        is_responses = "input" in request and not request.get("contents")
        return "openai-responses" if is_responses else "genai"
    if not isinstance(messages, list | tuple):
        return None
    if "config" in request or "toolConfig" in request:
        return "genai"
    for package, name in _PACKAGES.items():
        if any(is_object(message, package) for message in messages):
            return name
    if _is_anthropic(request, messages):
        return "anthropic"
    is_plain = all(
        get(message, "role") in ("user", "system", "model", None)
        and isinstance(get(message, "content"), str)
        for message in messages
    )
    return "genai" if is_plain and request.keys() <= {"model", "messages"} else "openai-chat"


def _is_anthropic(request: Mapping[Any, Any], messages: Collection[Any]) -> bool:
    if any(name in request for name in _ANTHROPIC_KEYS):
        return True
    if any(get(tool, "input_schema") is not None for tool in get(request, "tools") or ()):
        return True
    for message in messages:
        if get(message, "role") not in ("user", "assistant"):
            return False
        content = get(message, "content")
        for block in content if isinstance(content, list | tuple) else ():
            if get(block, "type") in _ANTHROPIC_BLOCKS:
                return True
    # Both APIs know max_tokens; only one of them demands it.
    is_claude = isinstance(request.get("model"), str) and "claude" in request["model"]
    return "max_tokens" in request and is_claude


def _api_of_response(value: object) -> str | None:
    """The name of the API whose response a value is, None where nobody knows."""
    for package, name in _PACKAGES.items():
        if is_object(value, package):
            return name
    if is_object(value, "anthropic"):
        return "anthropic"
    if is_object(value, "openai", "Response"):
        return "openai-responses"
    if get(value, "choices") is not None and (
        isinstance(value, Mapping) or hasattr(value, "model_copy")
    ):
        return "openai-chat"
    if not isinstance(value, Mapping):
        return None
    if value.get("candidates") or value.get("text"):
        return "genai"
    if "output" in value:
        return "openai-responses"
    return "anthropic" if "content" in value and "role" in value else "genai"


def _api_of_tool_config(value: object) -> str:
    kind = get(value, "type")
    if isinstance(value, str) or kind is not None:
        if kind in ("auto", "any", "tool", "none"):
            return "anthropic"
        named = get(value, "name") is not None or get(value, "tools") is not None
        return "openai-responses" if named else "openai-chat"
    return "genai"
