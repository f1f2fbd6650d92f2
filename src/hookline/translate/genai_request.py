"""Requests both ways: their model, their messages and what the hook format has of their config."""

from collections.abc import Mapping
from typing import Any, cast

from hookline.errors import TranslationError
from hookline.translate.genai import GenerateContentParameters
from hookline.translate.genai_contents import contents_form, edit_contents, to_messages
from hookline.translate.genai_forms import (
    Form,
    build,
    enum_word,
    field,
    form_of,
    is_typed,
    list_field,
    object_field,
    shown,
    with_fields,
)
from hookline.wire.model import (
    HookToolConfig,
    HookToolConfigChange,
    LLMConfig,
    LLMConfigChange,
    LLMRequest,
    LLMRequestChange,
)

_MODES = frozenset({"AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"})


def check_request(value: object) -> None:
    """Raises TranslationError for a value that is no request in any form."""
    if isinstance(value, Mapping | GenerateContentParameters):
        return
    if not is_typed(value, "_GenerateContentParameters"):
        raise TranslationError(f"a model request cannot be {type(value).__name__}")


def empty_request(like: object) -> Any:
    """A request that says nothing yet."""
    if like is None or isinstance(like, Mapping):
        return {"model": "", "contents": []}
    return GenerateContentParameters(model="", contents=[])


def show_request(request: object) -> LLMRequest:
    """The request in the hook format."""
    check_request(request)
    config = object_field(request, "config")
    seen: LLMRequest = {
        "model": _model(request),
        "messages": to_messages(field(request, "contents")),
        "config": cast(LLMConfig, shown(config, LLMConfigChange)),
    }
    tool_config = show_tool_config(object_field(config, "toolConfig"))
    if tool_config:
        seen["toolConfig"] = tool_config
    return seen


def edit_request(request: Any, change: LLMRequestChange, *, form: Form) -> Any:
    """The request with what the change names; itself when that changes nothing."""
    check_request(request)
    changes: dict[str, Any] = {}
    if change.model is not None and change.model != _model(request):
        changes["model"] = change.model
    contents = field(request, "contents")
    if change.messages is not None:
        new = edit_contents(contents, change.messages, form=contents_form(contents, form))
        if new is not contents:
            changes["contents"] = new
    config = object_field(request, "config")
    new = _edit_config(config, change, form=form_of(config, form))
    if new is not config:
        changes["config"] = new
    return with_fields(request, changes, form=form) if changes else request


def show_tool_config(tool_config: object) -> HookToolConfig:
    """The tool config in the hook format."""
    calling = object_field(tool_config, "functionCallingConfig")
    return cast(HookToolConfig, shown(calling, HookToolConfigChange))


def edit_tool_config(tool_config: Any, change: HookToolConfigChange, *, form: Form) -> Any:
    """The tool config, or None, with what the change names; itself when that changes nothing."""
    calling = object_field(tool_config, "functionCallingConfig")
    named = _differing(change.named(), shown(calling, HookToolConfigChange))
    if not named:
        return tool_config
    form = form_of(calling, form_of(tool_config, form))
    if "mode" in named:
        named["mode"] = enum_word(form, "FunctionCallingConfigMode", _known_mode(named["mode"]))
    new = _set(calling, "FunctionCallingConfig", named, form=form)
    return _set(tool_config, "ToolConfig", {"functionCallingConfig": new}, form=form)


def config_form(request: object, otherwise: Form) -> Form:
    """The form in which a tool config fits a request's config."""
    return form_of(field(request, "config"), form_of(request, otherwise))


def declared_tool_names(request: object) -> list[str]:
    """The names of the functions a request declares, Python callables among them."""
    check_request(request)
    names: list[str] = []
    for tool in list_field(object_field(request, "config"), "tools"):
        if callable(tool):
            names.append(getattr(tool, "__name__", ""))
        else:
            declared = list_field(tool, "functionDeclarations")
            names += [field(declaration, "name") for declaration in declared or [tool]]
    return [name for name in names if isinstance(name, str) and name]


def _edit_config(config: Any, change: LLMRequestChange, *, form: Form) -> Any:
    named: dict[str, Any] = {}
    if change.config is not None:
        named = _differing(change.config.named(), shown(config, LLMConfigChange))
    if change.tool_config is not None:
        before = object_field(config, "toolConfig")
        after = edit_tool_config(before, change.tool_config, form=form)
        if after is not before:
            named["toolConfig"] = after
    return _set(config, "GenerateContentConfig", named, form=form) if named else config


def _set(value: Any, kind: str, changes: dict[str, Any], *, form: Form) -> Any:
    """The value, or a new one, with these fields, of the types the SDK gives them."""
    new = build(form, kind, changes)
    if value is None:
        return new
    checked = {name: field(new, name) for name in changes}
    return with_fields(value, checked, form=form)


def _differing(named: dict[str, Any], seen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if seen.get(name) != value}


def _known_mode(mode: str) -> str:
    if mode.upper() not in _MODES:
        known = ", ".join(sorted(_MODES))
        raise TranslationError(f"toolConfig.mode {mode!r} is not one of {known}")
    return mode.upper()


def _model(request: object) -> str:
    model = field(request, "model")
    if model is not None and not isinstance(model, str):
        raise TranslationError(f"model must be a string, not {type(model).__name__}")
    return model or ""
