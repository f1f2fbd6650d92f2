"""One type predicate for each event: is this JSON that event's input?

They guard the entry from a bus. Required fields must have the right type, optional ones if they are
there, and other fields pass through. Model requests and responses are objects, in the SDK's form or
in the hooks' own, under either of their two names; the translator checks their form later.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from hookline.wire.events import (
    ACTOR_KINDS,
    EVENTS,
    FIELD_KINDS,
    EventName,
    EventSpec,
    HookEventName,
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from hookline.wire import inputs

    T = TypeVar("T")
    Validator: TypeAlias = Callable[[object], TypeIs[T]]

ALIASES = {"llm_request": "model_request", "llm_response": "model_response"}

# The type of a field in words -> its test.
_TESTS: dict[str, Callable[[object], bool]] = {
    "anything": lambda _: True,
    "a string": lambda value: isinstance(value, str),
    "an object": lambda value: isinstance(value, dict),
    "true or false": lambda value: isinstance(value, bool),
    "a list of strings": lambda value: (
        isinstance(value, list) and all(isinstance(name, str) for name in value)
    ),
    "an object with a name": lambda value: (
        isinstance(value, dict) and isinstance(value.get("name"), str)
    ),
    "an object whose values are strings": lambda value: (
        isinstance(value, dict)
        and all(isinstance(text, str) for label in value.items() for text in label)
    ),
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
_ACTOR_FIELDS = frozenset(ACTOR_KINDS)


def _read_field(name: str, *, required: bool) -> _Field:
    # Anything for a tool's response, and for fields that only other dialects have.
    words = FIELD_KINDS.get(name, "anything")
    alias = ALIASES.get(name) if required else None
    default = DEFAULTS.get(name, _REQUIRED) if required else None
    return _Field(name, alias, not required, default, words, _TESTS[words])


def _make_reading(spec: EventSpec) -> _Reading:
    always = tuple(_read_field(name, required=True) for name in spec.required)
    optional = (_read_field(name, required=False) for name in spec.optional)
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
    if wrong is None and not _ACTOR_FIELDS.isdisjoint(value):
        wrong = _find_wrong_actor(spec, value)
    return wrong or (tuple(values) if has_more else (*values, *absent))


def _find_wrong_actor(spec: EventSpec, value: Mapping[Any, Any]) -> str | None:
    for name, words in ACTOR_KINDS.items():
        # An event of another dialect may have a field of its own with that name.
        is_free = value.get(name) is None or name in spec.required
        if not (is_free or _TESTS[words](value[name])):
            return f"{name} must be {words}"
    return None


def find_problem(event: EventName, value: object) -> str | None:
    """Return one phrase that says why a value is not that event's input; None if it is."""
    read = read_values(event, value)
    return read if isinstance(read, str) else None


def is_object(value: object) -> "TypeIs[Mapping[Any, Any]]":
    """True if this is a JSON object."""
    # Nearly always a dictionary; the check for a mapping takes longer than everything else here.
    return type(value) is dict or isinstance(value, Mapping)


def _make_validator(event: HookEventName) -> Any:
    def validate(value: object) -> bool:
        return find_problem(event, value) is None

    validate.__doc__ = f"True if this is {event.value}'s input."
    validate.__annotations__["return"] = f"TypeIs[inputs.{event.value}Input]"
    return validate


# Event -> the predicate of its input.
VALIDATORS: dict[EventName, Callable[[object], bool]] = {
    event: _make_validator(event) for event in HookEventName
}

_E, _V = HookEventName, dict[EventName, Any](VALIDATORS)
validate_before_tool_input: "Validator[inputs.BeforeToolInput]" = _V[_E.BEFORE_TOOL]
validate_after_tool_input: "Validator[inputs.AfterToolInput]" = _V[_E.AFTER_TOOL]
validate_before_agent_input: "Validator[inputs.BeforeAgentInput]" = _V[_E.BEFORE_AGENT]
validate_after_agent_input: "Validator[inputs.AfterAgentInput]" = _V[_E.AFTER_AGENT]
validate_before_model_input: "Validator[inputs.BeforeModelInput]" = _V[_E.BEFORE_MODEL]
validate_after_model_input: "Validator[inputs.AfterModelInput]" = _V[_E.AFTER_MODEL]
validate_before_tool_selection_input: "Validator[inputs.BeforeToolSelectionInput]" = _V[
    _E.BEFORE_TOOL_SELECTION
]
validate_session_start_input: "Validator[inputs.SessionStartInput]" = _V[_E.SESSION_START]
validate_session_end_input: "Validator[inputs.SessionEndInput]" = _V[_E.SESSION_END]
validate_pre_compress_input: "Validator[inputs.PreCompressInput]" = _V[_E.PRE_COMPRESS]
validate_notification_input: "Validator[inputs.NotificationInput]" = _V[_E.NOTIFICATION]
