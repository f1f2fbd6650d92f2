"""A fired event: its values in the order hooks read them, and what matchers are compared with."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.errors import InvalidPayloadError
from hookline.wire.events import ACTOR_KINDS, EVENTS, EventName, EventSpec, narrow_trigger
from hookline.wire.tools import name_mcp_tool
from hookline.wire.validators import ALIASES, read_values

BASE_FIELDS = frozenset({"session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"})


class Original(dict[str, Any]):
    """The fields of an event in the words of another ``dialect`` than the native one, as a host
    fired it."""

    __slots__ = ("dialect",)
    dialect: str

    def __init__(self, dialect: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.dialect = dialect


class Facts(msgspec.Struct, frozen=True):
    """Facts about an event that native hooks do not read: the id of the tool call, how long the
    tool took, the event as the host worded it, and how hard the model is to think."""

    call_id: str | None = None
    duration_ms: float | None = None
    original: Original | None = None
    effort: str | None = None

    def words_of(self, dialect: str) -> Original | None:
        """Return the event as the host worded it if those are the dialect's words."""
        original = self.original
        return original if original is not None and original.dialect == dialect else None


NO_FACTS = Facts()

# Event of a tool -> the place of the tool's MCP server among its values.
_MCP_CONTEXT: dict[str, int] = {
    "BeforeTool": 2,
    "AfterTool": 4,
    "PermissionRequest": 3,
    "PermissionDenied": 4,
}


class Target(str):
    """The text that matchers are compared with; ``elsewhere`` is the name that a ``dialect`` has
    for it, if that cannot be derived. Without a dialect it is the name that every dialect but the
    native one has: that of an MCP server's tool."""

    __slots__ = ("dialect", "elsewhere")
    elsewhere: str
    dialect: str

    def __new__(cls, name: str, elsewhere: str, dialect: str = "") -> "Target":
        target = super().__new__(cls, name)
        target.elsewhere, target.dialect = elsewhere, dialect
        return target

    def name_in(self, dialect: str) -> str | None:
        """Return the name that a dialect has for it; None if that is to be derived."""
        return self.elsewhere if self.dialect in ("", dialect) else None


class RunningAgent(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent as hooks read it: ``depth`` is 0 for the agent that the user talks to, and
    ``parent`` the name of the agent whose tool runs this one."""

    name: str
    id: str | None = None
    parent: str | None = None
    depth: int = 0


class Actor(msgspec.Struct, frozen=True):
    """Who fires events, as far as it is known: the turn, from one prompt of the user to the agent's
    answer with all that sub-agents do for it; the agent; and the ``labels`` that the host program
    gives the user or tenant (``check_labels``)."""

    turn_id: str | None = None
    agent: RunningAgent | None = None
    effort: str | None = None
    labels: Mapping[str, str] = {}

    def sign(self, fired: "FiredEvent") -> "FiredEvent":
        """Return an event as this actor's."""
        if self.effort is None:
            return msgspec.structs.replace(fired, actor=self)
        facts = msgspec.structs.replace(fired.facts, effort=self.effort)
        return msgspec.structs.replace(fired, actor=self, facts=facts)

    def describe(self) -> dict[str, Any]:
        """Return the fields that hooks read of it; only sub-agents are named."""
        fields: dict[str, Any] = {} if self.turn_id is None else {"turn_id": self.turn_id}
        if self.agent is not None and self.agent.depth:
            fields["agent"] = {**msgspec.to_builtins(self.agent), "depth": self.agent.depth}
        if self.labels:
            fields["labels"] = dict(self.labels)
        return fields


def check_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of the labels of a session; raises TypeError for a name or a value that is no
    string, as hooks compare them with strings."""
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels must be a mapping of strings, not {type(labels).__name__}")
    for name, value in labels.items():
        for part, text in (("name", name), ("value", value)):
            if not isinstance(text, str):
                raise TypeError(
                    f"labels must be strings: the {part} {text!r} of label {name!r} is "
                    f"of type {type(text).__name__}; write str({text!r})"
                )
    # A member of a string enum becomes the string.
    return {str.__str__(name): str.__str__(value) for name, value in labels.items()}


class FiredEvent(msgspec.Struct, frozen=True):
    """An event with the values of its own fields, in the order hooks read them.

    ``target`` is what matchers are compared with. ``extra`` holds unknown fields of a JSON
    payload, which pass through to hooks. ``session_id`` and ``transcript_path`` replace the
    session's own. ``correlation_id`` is the id of the bus request that fired the event. ``actor``
    is who fires it; what ``extra`` says of that stands.
    """

    event: EventName
    target: str = ""
    values: tuple[Any, ...] = ()
    extra: dict[str, Any] = {}
    session_id: str | None = None
    transcript_path: str | None = None
    correlation_id: str | None = None
    facts: Facts = NO_FACTS
    actor: Actor | None = None

    @property
    def further(self) -> dict[str, Any]:
        """The fields that hooks read behind the event's own: unknown ones, then those of whoever
        fires the event."""
        known = self.describe_actor()
        return {name: self.extra[name] for name in self.extra if name not in ACTOR_KINDS} | known

    def describe_actor(self) -> dict[str, Any]:
        """Return the fields of whoever fires the event, in the order that hooks read them."""
        fields = {} if self.actor is None else self.actor.describe()
        fields.update(self.extra)
        # An event of another dialect may have a field of its own with such a name.
        own = self.spec.required
        return {
            name: fields[name]
            for name in ACTOR_KINDS
            if fields.get(name) is not None and name not in own
        }

    @property
    def spec(self) -> EventSpec:
        """How the event is written and matched."""
        return EVENTS[self.event]

    @property
    def matched(self) -> str:
        """The target, with the name that another dialect has for it if the event tells."""
        original, place = self.facts.original, _MCP_CONTEXT.get(self.event)
        if original is not None:
            word = original.get(self.spec.target or "")
            if not isinstance(word, str):
                return self.target
            return Target(self.target, word, original.dialect)
        if place is None:
            return self.target
        context = self.values[place] if len(self.values) > place else None
        context = context or self.extra.get("mcp_context")
        if not context:
            return self.target
        name = name_mcp_tool(self.target, context)
        return self.target if name == self.target else Target(self.target, name)

    def field(self, name: str) -> Any:
        """Return the value of one of the event's own fields, None if it has no such field."""
        return dict(zip(_list_fields(self.event), self.values, strict=False)).get(name)


# Event -> the place of its target among its values.
_TARGETS: dict[str, int] = {
    event: (*spec.required, *spec.optional).index(spec.target)
    for event, spec in EVENTS.items()
    if spec.target is not None
}


def make_fired_event(
    event: EventName,
    values: tuple[Any, ...],
    session_id: str | None = None,
    transcript_path: str | None = None,
) -> FiredEvent:
    """Make an event of hookline's own from the values of its fields; raises InvalidPayloadError
    for an unknown trigger."""
    place, target = _TARGETS.get(event), ""
    if place is not None:
        if (spec := EVENTS[event]).trigger is not None:
            values = (narrow_trigger(spec, values[0]),)
        target = values[place] or ""
    return FiredEvent(event, target, values, {}, session_id, transcript_path)


def _list_fields(event: EventName) -> tuple[str, ...]:
    spec = EVENTS[event]
    return (*spec.required, *spec.optional)


def read_fired_event(
    event: EventName,
    input: Mapping[str, Any],
    *,
    sdk_objects: bool = False,
    correlation_id: str | None = None,
) -> FiredEvent:
    """Read an event from JSON; raises InvalidPayloadError. ``sdk_objects`` admits model requests
    and responses in the SDK's own types."""
    values = read_values(event, input, sdk_objects=sdk_objects)
    if isinstance(values, str):
        raise InvalidPayloadError(event.value, values)
    spec, names = EVENTS[event], _list_fields(event)
    matched = (values[names.index(spec.target)] or "") if spec.target is not None else ""
    known = {*names, *(ALIASES[name] for name in names if name in ALIASES), *BASE_FIELDS}
    session_id, transcript = input.get("session_id"), input.get("transcript_path")
    return FiredEvent(
        event,
        matched,
        values,
        {name: value for name, value in input.items() if name not in known},
        session_id if isinstance(session_id, str) else None,
        transcript if isinstance(transcript, str) else None,
        correlation_id,
    )
