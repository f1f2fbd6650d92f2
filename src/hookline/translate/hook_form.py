"""Requests in the form that hooks themselves read, as callers without an SDK hold them.

Chat messages of plain text, as several APIs have them, are in this form too. A message that holds
more than hooks would be shown is refused: a guard must not pass what it could not read.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard, cast

from hookline.errors import TranslationError
from hookline.translate.genai_values import (
    changed_fields,
    list_field,
    object_field,
    show_fields,
    with_fields,
)
from hookline.wire.model import (
    HookToolConfig,
    HookToolConfigChange,
    LLMConfig,
    LLMConfigChange,
    LLMMessage,
    LLMRequest,
    LLMRequestChange,
    MessageChange,
    Role,
)

_ROLES: dict[str, Role] = {
    "user": "user",
    "model": "model",
    "assistant": "model",
    "system": "system",
}


def is_hook_request(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a request is in hooks' own form."""
    if not isinstance(value, Mapping) or value.get("messages") is None:
        return False
    return not value.get("contents")


def is_hook_tool_config(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a tool config is in hooks' own form."""
    return isinstance(value, Mapping) and ("mode" in value or "allowedFunctionNames" in value)


def read_model(model: object) -> str:
    """The name of a request's model, empty when there is none; raises TranslationError."""
    if model is not None and not isinstance(model, str):
        raise TranslationError(f"model must be a string, not {type(model).__name__}")
    return model or ""


def show_request(request: Mapping[str, Any]) -> LLMRequest:
    """What hooks are shown of a request; raises TranslationError for one that holds more."""
    messages = list_field(request, "messages")
    shown: LLMRequest = {
        "model": read_model(request.get("model")),
        "messages": [_show_message(message, place) for place, message in enumerate(messages)],
        "config": cast(LLMConfig, show_fields(object_field(request, "config"), LLMConfigChange)),
    }
    own = object_field(request, "toolConfig")
    tool_config = cast(HookToolConfig, show_fields(own, HookToolConfigChange))
    if tool_config:
        shown["toolConfig"] = tool_config
    return shown


def edit_request(request: Mapping[str, Any], change: LLMRequestChange) -> Any:
    """The request with what a hook names; the same object when that changes nothing."""
    shown = show_request(request)
    changes: dict[str, Any] = {}
    if change.model is not None and change.model != shown["model"]:
        changes["model"] = change.model
    if change.messages is not None:
        edited = _edit_messages(request["messages"], shown["messages"], change.messages)
        if edited is not request["messages"]:
            changes["messages"] = edited
    for name, wanted in (("config", change.config), ("toolConfig", change.tool_config)):
        before = request.get(name) or {}
        if wanted is not None and (named := changed_fields(before, wanted)):
            changes[name] = {**before, **named}
    return with_fields(request, changes, form="camel")


def edit_tool_config(tool_config: Mapping[str, Any] | None, change: HookToolConfigChange) -> Any:
    """The tool config with what a hook names; the same object when that changes nothing."""
    changes = changed_fields(tool_config, change)
    return {**(tool_config or {}), **changes} if changes or tool_config is None else tool_config


def _show_message(message: object, place: int) -> LLMMessage:
    if not isinstance(message, Mapping):
        raise TranslationError(f"messages cannot hold {type(message).__name__}")
    role, content = message.get("role") or "user", message.get("content")
    known = _ROLES.get(role) if isinstance(role, str) else None
    if known is None:
        words = ", ".join(_ROLES)
        raise TranslationError(f"messages[{place}].role {role!r:.80} is not one of {words}")
    if not isinstance(content, str):
        kind = type(content).__name__
        raise TranslationError(f"messages[{place}].content must be a string, not {kind}")
    hidden = [name for name, held in message.items() if held and name not in ("role", "content")]
    if hidden:
        what = ", ".join(map(str, hidden))
        raise TranslationError(f"messages[{place}] has {what}, which hooks cannot be shown")
    return {"role": known, "content": content}


def _edit_messages(
    messages: Sequence[Any], shown: Sequence[LLMMessage], wanted: Sequence[MessageChange]
) -> Sequence[Any]:
    """A hook's messages in place of those shown; those that it left alone are the same objects."""
    if [{"role": each.role, "content": each.content} for each in wanted] == list(shown):
        return messages
    same: dict[tuple[Role, str], list[Any]] = {}
    for message, seen in zip(reversed(messages), reversed(shown), strict=True):
        same.setdefault((seen["role"], seen["content"]), []).append(message)
    has_assistant = any(message.get("role") == "assistant" for message in messages)
    edited = []
    for each in wanted:
        if before := same.get((each.role, each.content)):
            edited.append(before.pop())
        else:
            role = "assistant" if has_assistant and each.role == "model" else each.role
            edited.append({"role": role, "content": each.content})
    return edited
