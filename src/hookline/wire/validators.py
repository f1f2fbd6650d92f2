"""One type predicate for each event: is this JSON that event's input?

They guard the entry from a bus. Required fields must have the right type, optional ones if they are
there, and other fields pass through. Model requests and responses are objects, in the SDK's form or
in the hooks' own, under either of their two names; the translator checks their form later.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from hookline.wire.events import EVENTS, EventName, EventSpec, HookEventName

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from hookline.wire.inputs import (
        AfterAgentInput,
        AfterModelInput,
        AfterToolInput,
        BeforeAgentInput,
        BeforeModelInput,
        BeforeToolInput,
        BeforeToolSelectionInput,
        NotificationInput,
        PreCompressInput,
        SessionEndInput,
        SessionStartInput,
    )

ALIASES = {"llm_request": "model_request", "llm_response": "model_response"}

# The type of a field, in words and as a test.
Kind: TypeAlias = tuple[str, Callable[[object], bool]]

_ANYTHING: Kind = ("anything", lambda _: True)
_TEXT: Kind = ("a string", lambda value: isinstance(value, str))
_OBJECT: Kind = ("an object", lambda value: isinstance(value, dict))
_FLAG: Kind = ("true or false", lambda value: isinstance(value, bool))
_NAMES: Kind = (
    "a list of strings",
    lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
)
_FIELDS: dict[str, Kind] = {
    "tool_name": _TEXT,
    "tool_input": _OBJECT,
    "original_tool_input": _OBJECT,
    "mcp_context": _OBJECT,
    "original_request_name": _TEXT,
    "prompt": _TEXT,
    "prompt_response": _TEXT,
    "stop_hook_active": _FLAG,
    "llm_request": _OBJECT,
    "llm_response": _OBJECT,
    "available_tools": _NAMES,
    "source": _TEXT,
    "reason": _TEXT,
    "trigger": _TEXT,
    "message": _TEXT,
    "notification_type": _TEXT,
    "level": _TEXT,
    "details": _OBJECT,
}
# Fields that hooks always read but that a payload may leave out.
DEFAULTS: dict[str, Any] = {"stop_hook_active": False}


class _Field(NamedTuple):
    """How a field is read: under its alias first, with a default if it may be left out."""

    name: str
    alias: str | None
    may_be_null: bool
    default: Any
    words: str
    is_kind: Callable[[object], bool]


class _Reading(NamedTuple):
    """The fields of an event: those that hooks always read; all of them; the optional names; and
    the values of the optional fields if none is there."""

    always: tuple[_Field, ...]
    fields: tuple[_Field, ...]
    optional: frozenset[str]
    absent: tuple[None, ...]


_REQUIRED = object()


def _find_kind(name: str) -> Kind:
    """Return the type of a field; anything for a tool's response, and for fields that only other
    dialects have."""
    return _FIELDS.get(name, _ANYTHING)


def _make_reading(spec: EventSpec) -> _Reading:
    always = tuple(
        _Field(name, ALIASES.get(name), False, DEFAULTS.get(name, _REQUIRED), *_find_kind(name))
        for name in spec.required
    )
    optional = (_Field(name, None, True, None, *_find_kind(name)) for name in spec.optional)
    absent = (None,) * len(spec.optional)
    return _Reading(always, (*always, *optional), frozenset(spec.optional), absent)


class _Readings(dict[EventName, _Reading]):
    """The readings by event; those of events of other dialects are made on first use."""

    def __missing__(self, event: EventName) -> _Reading:
        self[event] = made = _make_reading(EVENTS[event])
        return made


_READINGS = _Readings((event, _make_reading(spec)) for event, spec in EVENTS.items())


def read_values(
    event: EventName, value: object, *, sdk_objects: bool = False
) -> tuple[Any, ...] | str:
    """Return the values of an event's own fields in the order that hooks read them, or one phrase
    that says why the value is not that event's input.

    ``sdk_objects`` admits model requests and responses in the SDK's own types.
    """
    if not is_object(value):
        return f"must be an object, not {type(value).__name__}"
    always, fields, optional, absent = _READINGS[event]
    has_more = bool(optional) and not optional.isdisjoint(value)
    values, wrong = [], None
    for name, alias, may_be_null, default, words, is_kind in fields if has_more else always:
        key = name if alias is None or alias not in value else alias
        given = value.get(key, default)
        if given is _REQUIRED:
            return f"{name if alias is None else f'{alias} (or {name})'} is missing"
        if alias is not None and alias in value and value.get(name) and value[name] != given:
            return f"{alias} and {name} are one field and differ; give one of them"
        is_free = (given is None and may_be_null) or (sdk_objects and alias is not None)
        if not (is_kind(given) or is_free or wrong):
            wrong = f"{key} must be {words}"
        values.append(given)
    spec = EVENTS[event]
    if wrong is None and spec.trigger is not None and values[0] not in spec.triggers:
        wrong = f"{spec.target} must be one of {', '.join(spec.triggers)}"
    return wrong or (tuple(values) if has_more else (*values, *absent))


def find_problem(event: EventName, value: object) -> str | None:
    """Return one phrase that says why a value is not that event's input; None if it is."""
    read = read_values(event, value)
    return read if isinstance(read, str) else None


def is_object(value: object) -> "TypeIs[Mapping[Any, Any]]":
    """True if this is a JSON object."""
    # Nearly always a dictionary; the check for a mapping takes longer than everything else here.
    return type(value) is dict or isinstance(value, Mapping)


def validate_before_tool_input(value: object) -> "TypeIs[BeforeToolInput]":
    """True if this is BeforeTool's input."""
    return find_problem(HookEventName.BEFORE_TOOL, value) is None


def validate_after_tool_input(value: object) -> "TypeIs[AfterToolInput]":
    """True if this is AfterTool's input."""
    return find_problem(HookEventName.AFTER_TOOL, value) is None


def validate_before_agent_input(value: object) -> "TypeIs[BeforeAgentInput]":
    """True if this is BeforeAgent's input."""
    return find_problem(HookEventName.BEFORE_AGENT, value) is None


def validate_after_agent_input(value: object) -> "TypeIs[AfterAgentInput]":
    """True if this is AfterAgent's input."""
    return find_problem(HookEventName.AFTER_AGENT, value) is None


def validate_before_model_input(value: object) -> "TypeIs[BeforeModelInput]":
    """True if this is BeforeModel's input."""
    return find_problem(HookEventName.BEFORE_MODEL, value) is None


def validate_after_model_input(value: object) -> "TypeIs[AfterModelInput]":
    """True if this is AfterModel's input."""
    return find_problem(HookEventName.AFTER_MODEL, value) is None


def validate_before_tool_selection_input(value: object) -> "TypeIs[BeforeToolSelectionInput]":
    """True if this is BeforeToolSelection's input."""
    return find_problem(HookEventName.BEFORE_TOOL_SELECTION, value) is None


def validate_session_start_input(value: object) -> "TypeIs[SessionStartInput]":
    """True if this is SessionStart's input."""
    return find_problem(HookEventName.SESSION_START, value) is None


def validate_session_end_input(value: object) -> "TypeIs[SessionEndInput]":
    """True if this is SessionEnd's input."""
    return find_problem(HookEventName.SESSION_END, value) is None


def validate_pre_compress_input(value: object) -> "TypeIs[PreCompressInput]":
    """True if this is PreCompress's input."""
    return find_problem(HookEventName.PRE_COMPRESS, value) is None


def validate_notification_input(value: object) -> "TypeIs[NotificationInput]":
    """True if this is Notification's input."""
    return find_problem(HookEventName.NOTIFICATION, value) is None


VALIDATORS: dict[EventName, Callable[[object], bool]] = {
    HookEventName.BEFORE_TOOL: validate_before_tool_input,
    HookEventName.AFTER_TOOL: validate_after_tool_input,
    HookEventName.BEFORE_AGENT: validate_before_agent_input,
    HookEventName.AFTER_AGENT: validate_after_agent_input,
    HookEventName.BEFORE_MODEL: validate_before_model_input,
    HookEventName.AFTER_MODEL: validate_after_model_input,
    HookEventName.BEFORE_TOOL_SELECTION: validate_before_tool_selection_input,
    HookEventName.SESSION_START: validate_session_start_input,
    HookEventName.SESSION_END: validate_session_end_input,
    HookEventName.PRE_COMPRESS: validate_pre_compress_input,
    HookEventName.NOTIFICATION: validate_notification_input,
}
