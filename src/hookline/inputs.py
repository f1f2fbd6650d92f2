"""What was fired, and the document hooks read of it: base fields first, then the event's own.

An event comes with typed arguments or as JSON; both become the same values in the same order, so
hooks cannot tell how they were called.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from hookline.errors import InvalidPayloadError
from hookline.wire.clock import timestamp
from hookline.wire.events import EVENTS, EventSpec, HookEventName
from hookline.wire.validators import ALIASES, read_values

if TYPE_CHECKING:
    from hookline.translate import HookTranslator

_BASE_FIELDS = frozenset({"session_id", "transcript_path", "cwd", "hook_event_name", "timestamp"})


class _Reading(NamedTuple):
    """Where among the values of an event is what matchers look at, and the names of its fields."""

    target: int | None
    own: frozenset[str]


def _reading(spec: EventSpec) -> _Reading:
    names = (*spec.required, *spec.optional)
    aliases = (ALIASES[name] for name in names if name in ALIASES)
    target = None if spec.target is None else names.index(spec.target)
    return _Reading(target, frozenset({*names, *aliases}))


_READINGS = {event: _reading(spec) for event, spec in EVENTS.items()}


class FiredEvent(msgspec.Struct, frozen=True):
    """An event with the values of its own fields, in the order hooks read them.

    ``extra`` are further fields a JSON payload had; they pass through to hooks. ``session_id`` and
    ``transcript_path`` replace the session's own when a payload named them.
    """

    event: HookEventName
    target: str
    values: tuple[Any, ...]
    extra: Mapping[str, Any] = {}
    session_id: str | None = None
    transcript_path: str | None = None

    @property
    def spec(self) -> EventSpec:
        """How the event is written and matched."""
        return EVENTS[self.event]


class SessionFields(Protocol):
    """The session's part of every payload."""

    def get_session_id(self) -> str: ...

    def get_working_dir(self) -> str: ...

    def get_transcript_path(self) -> str: ...


def read_fired_event(
    event: HookEventName, input: Mapping[str, Any], *, sdk_objects: bool = False
) -> FiredEvent:
    """An event given as JSON; raises InvalidPayloadError. ``sdk_objects`` admits model requests
    and responses in the SDK's own types."""
    values = read_values(event, input, sdk_objects=sdk_objects)
    if isinstance(values, str):
        raise InvalidPayloadError(event.value, values)
    target, own = _READINGS[event]
    matched = (values[target] or "") if target is not None else ""
    if own.issuperset(input):
        return FiredEvent(event, matched, values)
    return FiredEvent(
        event,
        matched,
        values,
        {k: v for k, v in input.items() if k not in own and k not in _BASE_FIELDS},
        _text(input.get("session_id")),
        _text(input.get("transcript_path")),
    )


def build_payload(
    fired: FiredEvent, session: SessionFields, translator: "HookTranslator | None"
) -> dict[str, Any]:
    """The document hooks read; raises TranslationError for a model event it cannot show.

    ``translator`` is for the events of a model.
    """
    spec, transcript = EVENTS[fired.event], fired.transcript_path
    payload: dict[str, Any] = {
        "session_id": session.get_session_id() if fired.session_id is None else fired.session_id,
        "transcript_path": session.get_transcript_path() if transcript is None else transcript,
        "cwd": session.get_working_dir(),
        "hook_event_name": fired.event._value_,  # ``value`` is a Python-level descriptor
        "timestamp": timestamp(),
    }
    values = iter(_translated(fired, translator) if spec.model else fired.values)
    for name in spec.required:
        payload[name] = next(values)
    for name in spec.optional:
        value = next(values)
        if value is not None:
            payload[name] = value
    if fired.extra:
        payload.update(fired.extra)
    return payload


def _translated(fired: FiredEvent, translator: "HookTranslator | None") -> tuple[Any, ...]:
    assert translator is not None
    request, *rest = fired.values
    shown: Any = translator.to_hook_llm_request(request)
    if fired.event is HookEventName.AFTER_MODEL:
        return (shown, translator.to_hook_llm_response(rest[0]))
    if fired.event is HookEventName.BEFORE_TOOL_SELECTION:
        given = rest[0]
        return (shown, translator.tool_names(request) if given is None else given)
    return (shown,)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
