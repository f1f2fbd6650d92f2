"""The Gemini translator: JSON and google-genai objects alike, the SDK loaded only by its users."""

from typing import Any

from hookline.errors import TranslationError
from hookline.translate import genai_request, genai_response
from hookline.translate.genai_forms import (
    GenerateContentParameters,
    build,
    field,
    form_of,
    object_field,
)
from hookline.wire.model import (
    CandidateChange,
    ContentChange,
    HookToolConfig,
    LLMRequest,
    LLMResponse,
    LLMResponseChange,
    read_llm_request,
    read_llm_response,
    read_tool_config,
)

__all__ = ["GenAITranslator", "GenerateContentParameters"]


class GenAITranslator:
    """``HookTranslator`` for google-genai.

    Requests are JSON (``{"model", "contents", "config"}``, camelCase) or
    ``GenerateContentParameters``; responses JSON or ``types.GenerateContentResponse``. Without a
    base, a request in the latter form counts as typed once the SDK has been imported.
    """

    def to_hook_llm_request(self, request: object) -> LLMRequest:
        """What hooks are shown of a request."""
        return genai_request.show_request(request)

    def from_hook_llm_request(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The request with what the hook names; of its config, the eight fields of the format."""
        change = _read(read_llm_request, "llm_request", hook)
        if base is None:
            base = genai_request.empty_request(like)
        return genai_request.edit_request(base, change, form=form_of(base, "camel"))

    def to_hook_llm_response(self, response: object) -> LLMResponse:
        """What hooks are shown of a response."""
        return genai_response.show_response(response)

    def from_hook_llm_response(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The response with what the hook names; rebuilt from its texts without a base."""
        change = _read(read_llm_response, "llm_response", hook)
        return _respond(change, base, like)

    def to_hook_tool_config(self, tool_config: object) -> HookToolConfig:
        """What hooks are shown of a tool config."""
        _check_tool_config(tool_config)
        return genai_request.show_tool_config(tool_config)

    def from_hook_tool_config(self, hook: object, base: Any = None, *, like: object = None) -> Any:
        """The tool config with what the hook names, its other settings kept."""
        change = _read(read_tool_config, "toolConfig", hook)
        _check_tool_config(base)
        if base is None:
            base = build(genai_request.config_form(like, "camel"), "ToolConfig", {})
        return genai_request.edit_tool_config(base, change, form=form_of(base, "camel"))

    def tool_names(self, request: object) -> list[str] | None:
        """The names of the functions a request declares, None when it declares none."""
        return genai_request.declared_tool_names(request) or None

    def tool_selection(self, request: object) -> tuple[Any | None, Any | None]:
        """The request's own tool config and tools, as they stand in it."""
        genai_request.check_request(request)
        config = object_field(request, "config")
        return field(config, "toolConfig"), field(config, "tools")

    def empty_response(self, reason: str, like: object = None) -> Any:
        """A finished response of one candidate whose text is the reason."""
        content = ContentChange(parts=[reason])
        candidate = CandidateChange(content=content, finish_reason="STOP", index=0)
        return _respond(LLMResponseChange(candidates=[candidate]), None, like)


def _respond(change: LLMResponseChange, base: Any, like: object) -> Any:
    if base is None:
        form = form_of(like, "camel")
        base = genai_response.empty_response("typed" if form == "typed" else "camel")
    return genai_response.edit_response(base, change, form=form_of(base, "camel"))


def _read(read: Any, name: str, hook: object) -> Any:
    try:
        return read(hook)
    except ValueError as error:
        raise TranslationError(f"{name} {error}") from None


def _check_tool_config(tool_config: object) -> None:
    object_field({"toolConfig": tool_config}, "toolConfig")
