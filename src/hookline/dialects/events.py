"""Finds and reads an event under the name that any dialect has for it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hookline.dialects import list_foreign, load_foreign
from hookline.errors import UnknownEventError
from hookline.wire.events import EVENTS, EventName, HookEventName, narrow_event
from hookline.wire.fired import FiredEvent, read_fired_event

if TYPE_CHECKING:
    from hookline.dialects import ForeignDialect
    from hookline.dialects.tools import ToolAlias


def list_event_names() -> tuple[str, ...]:
    """Return every name of an event: hookline's, then those of other dialects."""
    foreign = (name for dialect in list_foreign() for name in dialect.event_names())
    return tuple(dict.fromkeys((*(event.value for event in HookEventName), *foreign)))


def find_named_event(name: object) -> EventName:
    """Return the event with this name, hookline's or another dialect's; raises
    UnknownEventError."""
    try:
        return narrow_event(name)
    except UnknownEventError:
        dialect = _find_dialect(name)
        event = dialect.event_for(str(name)) if dialect is not None else None
        if event is None:
            raise
        return event


def read_named_event(
    name: object,
    input: Mapping[str, Any],
    get_tools: "Callable[[], Mapping[str, ToolAlias] | None]" = lambda: None,
    *,
    sdk_objects: bool = True,
    dialect: str | None = None,
) -> FiredEvent:
    """Read an event from its name, hookline's or another dialect's, and its fields; raises
    UnknownEventError, InvalidPayloadError or AmbiguousInputError. ``get_tools`` returns the tools
    that the host declares, for an event in a dialect's words. With ``dialect`` both are in the
    words of that one."""
    if dialect is not None:
        return load_foreign(dialect).read_event(str(name), input, get_tools())
    event = find_named_event(name)
    if event == name and isinstance(event, HookEventName):
        foreign = _find_speaker(event, input)
    else:
        foreign = _find_dialect(name)
    if foreign is None:
        return read_fired_event(event, input, sdk_objects=sdk_objects)
    return foreign.read_event(str(name), input, get_tools())


def _find_speaker(event: EventName, fields: Mapping[str, Any]) -> "ForeignDialect | None":
    """Return the dialect in whose words an event is that hookline calls by the same name; None for
    hookline's own words. They differ only by triggers."""
    spec = EVENTS[event]
    if spec.trigger is None or fields.get(spec.target or "") in spec.triggers:
        return None
    return next((each for each in list_foreign() if each.is_in_words(event, fields)), None)


def _find_dialect(name: object) -> "ForeignDialect | None":
    if not isinstance(name, str):
        return None
    return next((each for each in list_foreign() if each.event_for(name) is not None), None)
