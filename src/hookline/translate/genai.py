"""The Gemini translator: JSON and google-genai objects alike, the SDK loaded only by its users.

Every hook system has a translator and few events have a model, so each method loads what it needs.
"""

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from hookline.wire.model import HookToolConfig, LLMRequest, LLMResponse

__all__ = ["GenAITranslator", "GenerateContentParameters"]


class GenerateContentParameters(msgspec.Struct, frozen=True):
    """A request to ``generate_content``: its arguments, which the SDK has no public type for.

    ``contents`` is anything the SDK takes; ``config`` a ``GenerateContentConfig`` or its dict.
    """

    model: str = ""
    contents: Any = None
    config: Any = None


class GenAITranslator:
    """``HookTranslator`` for google-genai.

    Requests are JSON (``{"model", "contents", "config"}``, camelCase) or
    ``GenerateContentParameters``; responses JSON or ``types.GenerateContentResponse``. Without a
    base, a request in the latter form counts as typed once the SDK has been imported.
    """

    def to_hook_llm_request(self, request: object) -> "LLMRequest":
        """What hooks are shown of a request."""
        from hookline.translate.genai_request import show_request

        return show_request(request)

    def from_hook_llm_request(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The request with what the hook names; of its config, the eight fields of the format."""
        from hookline.translate.genai_request import edit_request

        return edit_request(base, hook, like=like)

    def to_hook_llm_response(self, response: object) -> "LLMResponse":
        """What hooks are shown of a response."""
        from hookline.translate.genai_response import show_response

        return show_response(response)

    def from_hook_llm_response(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The response with what the hook names; rebuilt from its texts without a base."""
        from hookline.translate.genai_response import edit_response

        return edit_response(base, hook, like=like)

    def to_hook_tool_config(self, tool_config: object) -> "HookToolConfig":
        """What hooks are shown of a tool config."""
        from hookline.translate.genai_request import show_tool_config

        return show_tool_config(tool_config)

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The tool config with what the hook names, its other settings kept."""
        from hookline.translate.genai_request import edit_tool_config

        return edit_tool_config(base, hook, like=like)

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the functions a request declares, None when it declares none."""
        from hookline.translate.genai_request import declared_tool_names

        return declared_tool_names(request) or None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        from hookline.translate.genai_request import tool_selection

        return tool_selection(request)

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A finished response of one candidate whose text is the reason."""
        from hookline.translate.genai_response import make_response

        return make_response(reason, like=like)
