"""The Gemini translator: JSON and google-genai objects alike, the SDK loaded only by its users.

Every hook system has a translator and few events have a model, so each method loads what it needs.
"""

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.errors import TranslationError

if TYPE_CHECKING:
    from hookline.wire.model import HookToolConfig, LLMRequest, LLMResponse, LLMResponseChange

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
        from hookline.translate.genai_forms import form_of
        from hookline.translate.genai_request import edit_request, empty_request
        from hookline.wire.model import read_llm_request

        change = _read(read_llm_request, "llm_request", hook)
        if base is None:
            base = empty_request(like)
        return edit_request(base, change, form=form_of(base, "camel"))

    def to_hook_llm_response(self, response: object) -> "LLMResponse":
        """What hooks are shown of a response."""
        from hookline.translate.genai_response import show_response

        return show_response(response)

    def from_hook_llm_response(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The response with what the hook names; rebuilt from its texts without a base."""
        from hookline.wire.model import read_llm_response

        change = _read(read_llm_response, "llm_response", hook)
        return _respond(change, base, like)

    def to_hook_tool_config(self, tool_config: object) -> "HookToolConfig":
        """What hooks are shown of a tool config."""
        from hookline.translate.genai_request import show_tool_config

        _check_tool_config(tool_config)
        return show_tool_config(tool_config)

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The tool config with what the hook names, its other settings kept."""
        from hookline.translate.genai_forms import build, form_of
        from hookline.translate.genai_request import config_form, edit_tool_config
        from hookline.wire.model import read_tool_config

        change = _read(read_tool_config, "toolConfig", hook)
        _check_tool_config(base)
        if base is None:
            base = build(config_form(like, "camel"), "ToolConfig", {})
        return edit_tool_config(base, change, form=form_of(base, "camel"))

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the functions a request declares, None when it declares none."""
        from hookline.translate.genai_request import declared_tool_names

        return declared_tool_names(request) or None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        from hookline.translate.genai_forms import field, object_field
        from hookline.translate.genai_request import check_request

        check_request(request)
        config = object_field(request, "config")
        return field(config, "toolConfig"), field(config, "tools")

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A finished response of one candidate whose text is the reason."""
        from hookline.wire.model import CandidateChange, ContentChange, LLMResponseChange

        content = ContentChange(parts=[reason])
        candidate = CandidateChange(content=content, finish_reason="STOP", index=0)
        return _respond(LLMResponseChange(candidates=[candidate]), None, like)


def _respond(change: "LLMResponseChange", base: Any, like: object) -> Any:
    from hookline.translate.genai_forms import form_of
    from hookline.translate.genai_response import edit_response, empty_response

    if base is None:
        form = form_of(like, "camel")
        base = empty_response("typed" if form == "typed" else "camel")
    return edit_response(base, change, form=form_of(base, "camel"))


def _read(read: Any, name: str, hook: object) -> Any:
    try:
        return read(hook)
    except ValueError as error:
        raise TranslationError(f"{name} {error}") from None


def _check_tool_config(tool_config: object) -> None:
    from hookline.translate.genai_forms import object_field

    object_field({"toolConfig": tool_config}, "toolConfig")
