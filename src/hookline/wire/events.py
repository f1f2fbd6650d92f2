"""The eleven events: their names and enums, their fields, and what matchers are compared with.

Other dialects may have events besides, which ``hookline.dialects`` finds.
"""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from hookline._support.nearest import nearest
from hookline.errors import InvalidPayloadError, UnknownEventError


class EventName(StrEnum):
    """The name of an event: hookline's, or one that only another dialect has."""

    # Members are dictionary keys on the hot path. Enum's own hash, in Python, would be most of the
    # cost of a lookup, and differs from the hash of the equal string.
    __hash__ = str.__hash__


class HookEventName(EventName):
    """The names of the events, as scripts and settings spell them."""

    BEFORE_TOOL = "BeforeTool"
    AFTER_TOOL = "AfterTool"
    BEFORE_AGENT = "BeforeAgent"
    AFTER_AGENT = "AfterAgent"
    BEFORE_MODEL = "BeforeModel"
    AFTER_MODEL = "AfterModel"
    BEFORE_TOOL_SELECTION = "BeforeToolSelection"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    PRE_COMPRESS = "PreCompress"
    NOTIFICATION = "Notification"


class SessionStartSource(StrEnum):
    """Why a session starts."""

    __hash__ = str.__hash__

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPRESS = "compress"


class SessionEndReason(StrEnum):
    """Why a session ends."""

    __hash__ = str.__hash__

    EXIT = "exit"
    CLEAR = "clear"
    LOGOUT = "logout"
    PROMPT_INPUT_EXIT = "prompt_input_exit"
    OTHER = "other"


class PreCompressTrigger(StrEnum):
    """Who asks for the history to be compressed."""

    __hash__ = str.__hash__

    MANUAL = "manual"
    AUTO = "auto"


# Field of an event -> the type of its value, in words; others take any value.
FIELD_KINDS: dict[str, str] = {
    "tool_name": "a string",
    "tool_input": "an object",
    "original_tool_input": "an object",
    "mcp_context": "an object",
    "original_request_name": "a string",
    "prompt": "a string",
    "prompt_response": "a string",
    "stop_hook_active": "true or false",
    "llm_request": "an object",
    "llm_response": "an object",
    "available_tools": "a list of strings",
    "source": "a string",
    "reason": "a string",
    "trigger": "a string",
    "message": "a string",
    "notification_type": "a string",
    "level": "a string",
    "details": "an object",
}
# The fields of whoever fires an event, in the order that hooks read them, behind the event's own.
ACTOR_KINDS: dict[str, str] = {
    "turn_id": "a string",
    "agent": "an object with a name",
    "host": "a string",
    "labels": "an object whose values are strings",
}


class EventSpec(msgspec.Struct, frozen=True):
    """How one event is written and matched.

    ``required`` and ``optional`` name its own fields in the order that hooks read them; ``target``
    is the field that matchers are compared with, and ``search`` says whether they are searched in
    it (tool names) or must match it whole (triggers). ``trigger`` is the enum of that field.
    """

    event: EventName
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    target: str | None = None
    search: bool = False
    trigger: type[StrEnum] | None = None
    blockable: bool = True
    model: bool = False

    @property
    def triggers(self) -> list[str]:
        """The values that the trigger may have."""
        return [] if self.trigger is None else [member.value for member in self.trigger]


class _Events(dict[str, EventSpec]):
    """The eleven events by name; ``find_more`` finds events that only other dialects have."""

    find_more: Callable[[str], EventSpec | None] = staticmethod(lambda _name: None)

    def __missing__(self, event: str) -> EventSpec:
        spec = self.find_more(event)
        if spec is None:
            raise KeyError(event)
        return spec


EVENTS = _Events(
    (spec.event, spec)
    for spec in (
        EventSpec(
            HookEventName.BEFORE_TOOL,
            ("tool_name", "tool_input"),
            ("mcp_context", "original_request_name"),
            target="tool_name",
            search=True,
        ),
        EventSpec(
            HookEventName.AFTER_TOOL,
            ("tool_name", "tool_input", "tool_response"),
            ("original_tool_input", "mcp_context", "original_request_name"),
            target="tool_name",
            search=True,
        ),
        EventSpec(HookEventName.BEFORE_AGENT, ("prompt",)),
        EventSpec(HookEventName.AFTER_AGENT, ("prompt", "prompt_response", "stop_hook_active")),
        EventSpec(HookEventName.BEFORE_MODEL, ("llm_request",), model=True),
        EventSpec(HookEventName.AFTER_MODEL, ("llm_request", "llm_response"), model=True),
        EventSpec(
            HookEventName.BEFORE_TOOL_SELECTION,
            ("llm_request",),
            ("available_tools",),
            model=True,
        ),
        EventSpec(
            HookEventName.SESSION_START,
            ("source",),
            target="source",
            trigger=SessionStartSource,
            blockable=False,
        ),
        EventSpec(
            HookEventName.SESSION_END,
            ("reason",),
            target="reason",
            trigger=SessionEndReason,
            blockable=False,
        ),
        EventSpec(
            HookEventName.PRE_COMPRESS,
            ("trigger",),
            target="trigger",
            trigger=PreCompressTrigger,
            blockable=False,
        ),
        EventSpec(
            HookEventName.NOTIFICATION,
            ("message",),
            ("notification_type", "level", "details"),
            target="notification_type",
            blockable=False,
        ),
    )
)


# Calling the enum takes ten times as long, and every event that comes as JSON is looked up.
_BY_NAME: dict[str, HookEventName] = {event.value: event for event in HookEventName}


def narrow_event(name: object) -> EventName:
    """Return the event of that name, including those that only other dialects have; raises
    UnknownEventError, with the nearest of hookline's names, for any other."""
    event = find_event(name)
    if event is None:
        raise UnknownEventError(name, nearest(str(name), _BY_NAME))
    return event


def find_event(name: object) -> EventName | None:
    """Return the event of that name, including those that only other dialects have; None for any
    other."""
    if not isinstance(name, str):
        return None
    event = _BY_NAME.get(name)
    if event is not None:
        return event
    spec = EVENTS.find_more(name)
    return None if spec is None else spec.event


def narrow_trigger(spec: EventSpec, value: object) -> str:
    """Return the trigger as a plain string; raises InvalidPayloadError for an unknown one."""
    assert spec.trigger is not None
    if isinstance(value, str) and value in spec.triggers:
        return str(value)
    problem = f"{spec.target} must be one of {', '.join(spec.triggers)}, not {value!r}"
    raise InvalidPayloadError(spec.event.value, problem)
