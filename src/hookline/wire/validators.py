"""One type predicate an event: is this JSON that event's input?

They guard the mediated entry. Required fields must have the right type, optional ones if they are
there at all, and what else is in the object passes through. Model requests and responses are the
SDK's as JSON, under either of their two names.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline.wire.events import EVENTS, HookEventName

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

# What a field must be, in words and as a test.
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
    "tool_response": _ANYTHING,
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


def find_problem(event: HookEventName, value: object, *, sdk_objects: bool = False) -> str | None:
    """What keeps a value from being that event's input, in one phrase; None when it is one.

    ``sdk_objects`` admits model requests and responses in the SDK's own types.
    """
    if not isinstance(value, Mapping):
        return f"must be an object, not {type(value).__name__}"
    spec = EVENTS[event]
    for name in spec.required:
        if name not in DEFAULTS and _given(value, name) not in value:
            return f"{_spoken(name)} is missing"
    for name in (*spec.required, *spec.optional):
        key = _given(value, name)
        absent = key not in value or (name in spec.optional and value[key] is None)
        words, is_kind = _ANYTHING if sdk_objects and name in ALIASES else _FIELDS[name]
        if not absent and not is_kind(value[key]):
            return f"{key} must be {words}"
    if spec.trigger is not None and value[spec.required[0]] not in [t.value for t in spec.trigger]:
        known = ", ".join(member.value for member in spec.trigger)
        return f"{spec.required[0]} must be one of {known}"
    return None


def own_field(value: Mapping[str, Any], name: str) -> Any:
    """The value of a field under whichever of its names it was given; None when it was not."""
    return value.get(_given(value, name), DEFAULTS.get(name))


def _given(value: Mapping[str, Any], name: str) -> str:
    alias = ALIASES.get(name, name)
    return alias if alias in value else name


def _spoken(name: str) -> str:
    return f"{ALIASES[name]} (or {name})" if name in ALIASES else name


def validate_before_tool_input(value: object) -> "TypeIs[BeforeToolInput]":
    """Whether this is BeforeTool's input."""
    return find_problem(HookEventName.BEFORE_TOOL, value) is None


def validate_after_tool_input(value: object) -> "TypeIs[AfterToolInput]":
    """Whether this is AfterTool's input."""
    return find_problem(HookEventName.AFTER_TOOL, value) is None


def validate_before_agent_input(value: object) -> "TypeIs[BeforeAgentInput]":
    """Whether this is BeforeAgent's input."""
    return find_problem(HookEventName.BEFORE_AGENT, value) is None


def validate_after_agent_input(value: object) -> "TypeIs[AfterAgentInput]":
    """Whether this is AfterAgent's input."""
    return find_problem(HookEventName.AFTER_AGENT, value) is None


def validate_before_model_input(value: object) -> "TypeIs[BeforeModelInput]":
    """Whether this is BeforeModel's input."""
    return find_problem(HookEventName.BEFORE_MODEL, value) is None


def validate_after_model_input(value: object) -> "TypeIs[AfterModelInput]":
    """Whether this is AfterModel's input."""
    return find_problem(HookEventName.AFTER_MODEL, value) is None


def validate_before_tool_selection_input(value: object) -> "TypeIs[BeforeToolSelectionInput]":
    """Whether this is BeforeToolSelection's input."""
    return find_problem(HookEventName.BEFORE_TOOL_SELECTION, value) is None


def validate_session_start_input(value: object) -> "TypeIs[SessionStartInput]":
    """Whether this is SessionStart's input."""
    return find_problem(HookEventName.SESSION_START, value) is None


def validate_session_end_input(value: object) -> "TypeIs[SessionEndInput]":
    """Whether this is SessionEnd's input."""
    return find_problem(HookEventName.SESSION_END, value) is None


def validate_pre_compress_input(value: object) -> "TypeIs[PreCompressInput]":
    """Whether this is PreCompress's input."""
    return find_problem(HookEventName.PRE_COMPRESS, value) is None


def validate_notification_input(value: object) -> "TypeIs[NotificationInput]":
    """Whether this is Notification's input."""
    return find_problem(HookEventName.NOTIFICATION, value) is None


VALIDATORS: dict[HookEventName, Callable[[object], bool]] = {
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
