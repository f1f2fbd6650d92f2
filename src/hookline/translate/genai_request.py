"""Gemini requests both ways: their model, their messages and what the hook format has of their
config.

Contents are read as the SDK sends them: a content, or a nested list of parts, is one message, and
so is a run of bare parts; only a bare string is always a message of its own. In a list, bare
entries stay bare when their text changes, since the SDK joins neighbours into one turn and a
content among them would split it. Contents that are no list become a list of contents.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from hookline.errors import TranslationError
from hookline.translate.alignment import edit_messages, show_messages
from hookline.translate.genai import GenerateContentParameters
from hookline.translate.genai_values import (
    Form,
    as_part,
    build,
    changed_fields,
    check_object,
    check_parts,
    enum_word,
    field,
    form_of,
    is_part,
    is_typed,
    list_field,
    object_field,
    parts_field,
    put_texts,
    read_change,
    set_fields,
    show_fields,
    text_part,
    visible_texts,
    with_fields,
)
from hookline.wire.model import (
    HookToolConfig,
    HookToolConfigChange,
    LLMConfig,
    LLMConfigChange,
    LLMRequest,
    LLMRequestChange,
    MessageChange,
    Role,
    read_llm_request,
    read_tool_config,
)

_MODES = frozenset({"AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"})


def show_request(request: object) -> LLMRequest:
    """The request in the hook format."""
    _check_request(request)
    config = object_field(request, "config")
    shown: LLMRequest = {
        "model": _model(request),
        "messages": show_messages(_read_turns(field(request, "contents")), _TurnForm("camel")),
        "config": cast(LLMConfig, show_fields(config, LLMConfigChange)),
    }
    tool_config = show_tool_config(field(config, "toolConfig"))
    if tool_config:
        shown["toolConfig"] = tool_config
    return shown


def edit_request(request: Any, hook: object, *, like: object) -> Any:
    """The request, or a new one like the other, with what the hook names; itself when that
    changes nothing."""
    change = read_change(read_llm_request, "llm_request", hook)
    if request is None:
        is_json = like is None or isinstance(like, Mapping)
        request = {"model": "", "contents": []} if is_json else GenerateContentParameters("", [])
    _check_request(request)
    form = form_of(request, "camel")
    changes: dict[str, Any] = {}
    if change.model is not None and change.model != _model(request):
        changes["model"] = change.model
    contents = field(request, "contents")
    if change.messages is not None:
        new = _edit_contents(contents, change.messages, form)
        if new is not contents:
            changes["contents"] = new
    config = object_field(request, "config")
    new = _edit_config(config, change, form=form_of(config, form))
    if new is not config:
        changes["config"] = new
    return with_fields(request, changes, form=form)


def show_tool_config(tool_config: object) -> HookToolConfig:
    """The tool config in the hook format."""
    check_object(tool_config, "toolConfig")
    calling = object_field(tool_config, "functionCallingConfig")
    return cast(HookToolConfig, show_fields(calling, HookToolConfigChange))


def edit_tool_config(tool_config: Any, hook: object, *, like: object) -> Any:
    """The tool config, or a new one that fits the other request, with what the hook names; itself
    when that changes nothing."""
    change = read_change(read_tool_config, "toolConfig", hook)
    check_object(tool_config, "toolConfig")
    if tool_config is None:
        form = form_of(field(like, "config"), form_of(like, "camel"))
        tool_config = build(form, "ToolConfig", {})
    return _edit_tool_config(tool_config, change, form="camel")


def declared_tool_names(request: object) -> list[str]:
    """The names of the functions a request declares, Python callables among them."""
    _check_request(request)
    names: list[str] = []
    for tool in list_field(object_field(request, "config"), "tools"):
        if callable(tool):
            names.append(getattr(tool, "__name__", ""))
        else:
            declared = list_field(tool, "functionDeclarations")
            names += [field(declaration, "name") for declaration in declared or [tool]]
    return [name for name in names if isinstance(name, str) and name]


def tool_selection(request: object) -> tuple[Any, Any]:
    """The request's own tool config and tools, as they stand in it."""
    _check_request(request)
    config = object_field(request, "config")
    return field(config, "toolConfig"), field(config, "tools")


def _check_request(value: object) -> None:
    """Raises TranslationError for a value that is no request in any form."""
    if isinstance(value, Mapping | GenerateContentParameters):
        return
    if not is_typed(value, "_GenerateContentParameters"):
        raise TranslationError(f"a model request cannot be {type(value).__name__}")


class _Turn(msgspec.Struct, frozen=True):
    """One message: ``entry`` is the content or nested list it is, None for bare parts."""

    role: Role
    parts: list[Any]
    entry: Any = None


class _TurnForm:
    """``MessageForm`` of the turns; new contents are in ``form``."""

    def __init__(self, form: Form) -> None:
        self._form: Form = form

    def role(self, turn: _Turn) -> Role:
        return turn.role

    def text(self, turn: _Turn) -> str:
        return "".join(visible_texts(turn.parts))

    def with_text(self, turn: _Turn, role: Role, text: str) -> _Turn:
        parts = put_texts(turn.parts, [text], form=self._form)
        if role == turn.role:
            return _with_parts(turn, parts)
        parts = [as_part(part, form=self._form) for part in parts]
        if isinstance(turn.entry, Mapping):
            changes = {"role": role, "parts": parts}
            return _Turn(role, parts, with_fields(turn.entry, changes, form=self._form))
        # Built anew: the SDK has subclasses of Content that allow one role only.
        return _new_turn(role, parts, "typed" if is_typed(turn.entry) else self._form)

    def without_text(self, turn: _Turn) -> _Turn | None:
        parts = put_texts(turn.parts, [], form=self._form)
        return _with_parts(turn, parts) if parts else None

    def new(self, role: Role, text: str) -> _Turn:
        return _new_turn(role, [text_part(text, form=self._form)], self._form)


def _with_parts(turn: _Turn, parts: list[Any]) -> _Turn:
    entry = turn.entry
    if isinstance(entry, list | tuple):
        entry = parts
    elif entry is not None:
        entry = with_fields(entry, {"parts": parts}, form="camel")
    return _Turn(turn.role, parts, entry)


def _new_turn(role: Role, parts: list[Any], form: Form) -> _Turn:
    return _Turn(role, parts, build(form, "Content", {"role": role, "parts": parts}))


def _edit_contents(contents: Any, messages: Sequence[MessageChange], otherwise: Form) -> Any:
    """The contents with the hook's messages in place of those shown; new contents are in the form
    of the others, or ``otherwise``."""
    turns = _read_turns(contents)
    wanted = [{"role": message.role, "content": message.content} for message in messages]
    form = _contents_form(contents, otherwise)
    if wanted == show_messages(turns, _TurnForm(form)):
        return contents
    if not isinstance(contents, list | tuple):
        turns = [
            turn
            if turn.entry is not None
            else _new_turn(turn.role, [as_part(part, form=form) for part in turn.parts], form)
            for turn in turns
        ]
    edited: list[Any] = []
    for turn in edit_messages(turns, messages, _TurnForm(form)):
        edited += turn.parts if turn.entry is None else [turn.entry]
    return edited


def _contents_form(contents: object, otherwise: Form) -> Form:
    for entry in contents if isinstance(contents, list | tuple) else [contents]:
        if is_typed(entry):
            return "typed"
        if isinstance(entry, Mapping):
            return "camel"
    return otherwise


def _read_turns(contents: object) -> list[_Turn]:
    if contents is None:
        return []
    turns: list[_Turn] = []
    run: _Turn | None = None
    for entry in contents if isinstance(contents, list | tuple) else [contents]:
        turn = _read_turn(entry)
        is_bare = turn.entry is None and not isinstance(entry, str)
        # The SDK sends a run of bare parts in one turn: calls are the model's, others not.
        if (
            run is not None
            and is_bare
            and bool(field(run.parts[0], "functionCall")) == bool(field(entry, "functionCall"))
        ):
            run.parts.append(entry)
            continue
        turns.append(turn)
        run = turn if is_bare else None
    return turns


def _read_turn(entry: Any) -> _Turn:
    if isinstance(entry, list | tuple):
        check_parts(entry)
        return _Turn("user", list(entry), entry)
    if isinstance(entry, Mapping):
        is_content = not entry or "parts" in entry or "role" in entry
    else:
        is_content = is_typed(entry, "Content")
    if is_content:
        role = field(entry, "role")
        return _Turn(role if role in ("model", "system") else "user", parts_field(entry), entry)
    if not is_part(entry):
        raise TranslationError(f"contents cannot hold {type(entry).__name__}")
    return _Turn("user", [entry])


def _edit_config(config: Any, change: LLMRequestChange, *, form: Form) -> Any:
    changes = changed_fields(config, change.config) if change.config is not None else {}
    if change.tool_config is not None:
        before = object_field(config, "toolConfig")
        after = _edit_tool_config(before, change.tool_config, form=form)
        if after is not before:
            changes["toolConfig"] = after
    return set_fields(config, "GenerateContentConfig", changes, form=form)


def _edit_tool_config(tool_config: Any, change: HookToolConfigChange, *, form: Form) -> Any:
    calling = object_field(tool_config, "functionCallingConfig")
    changes = changed_fields(calling, change)
    if not changes:
        return tool_config
    form = form_of(calling, form_of(tool_config, form))
    if "mode" in changes:
        mode = changes["mode"].upper()
        if mode not in _MODES:
            known = ", ".join(sorted(_MODES))
            raise TranslationError(f"toolConfig.mode {changes['mode']!r} is not one of {known}")
        changes["mode"] = enum_word(form, "FunctionCallingConfigMode", mode)
    new = set_fields(calling, "FunctionCallingConfig", changes, form=form)
    return set_fields(tool_config, "ToolConfig", {"functionCallingConfig": new}, form=form)


def _model(request: object) -> str:
    model = field(request, "model")
    if model is not None and not isinstance(model, str):
        raise TranslationError(f"model must be a string, not {type(model).__name__}")
    return model or ""
