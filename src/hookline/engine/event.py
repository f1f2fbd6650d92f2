"""The document that hooks read of an event: base fields first, then its own.

An event comes with typed arguments or as JSON; both become the same values in the same order, so
hooks cannot tell how they were called.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hookline.wire.codec import is_json, show, timestamp
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.fired import FiredEvent

if TYPE_CHECKING:
    from hookline.engine.project import Project
    from hookline.translate import HookTranslator


def build_payload(
    fired: FiredEvent, project: "Project", translator: "HookTranslator | None"
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return the document that hooks read, what was cut from it, and the types that it shows as
    text only; raises TranslationError. ``translator`` is for model events."""
    spec = EVENTS[fired.event]
    session_id, transcript = fired.session_id, fired.transcript_path
    document: dict[str, Any] = {
        "session_id": project.get_session_id() if session_id is None else session_id,
        "transcript_path": project.options.transcript_path if transcript is None else transcript,
        "cwd": project.working_dir,
        "hook_event_name": fired.event._value_,  # ``value`` is a Python-level descriptor
        "timestamp": timestamp(),
    }
    values = fired.values
    if spec.model:
        assert translator is not None
        values = translate_values(
            fired, translator, translator.to_hook_llm_request, translator.to_hook_llm_response
        )
    further = fired.further if fired.extra or fired.actor is not None else None
    is_plain = not fired.extra
    # Without ``zip``, which would take longer than everything else here.
    given = iter(values)
    for name in spec.required:
        document[name] = value = next(given)
        if is_plain and type(value) is not str:
            is_plain = is_json(value)
    for name in spec.optional:
        value = next(given, None)
        if value is not None:
            document[name] = value
            is_plain = is_plain and is_json(value)
    if further:
        document |= further
    return (document, [], []) if is_plain else show(document)


def translate_values(
    fired: FiredEvent,
    translator: "HookTranslator",
    request_form: Callable[[Any], Any],
    response_form: Callable[[Any], Any],
) -> tuple[Any, ...]:
    """Return the values of a model event with its request and response in another form."""
    request, *rest = fired.values
    shown = request_form(request)
    if fired.event is HookEventName.AFTER_MODEL:
        return (shown, response_form(rest[0]))
    if fired.event is HookEventName.BEFORE_TOOL_SELECTION:
        named = rest[0] if rest else None
        return (shown, translator.tool_names(request) if named is None else named)
    return (shown,)
