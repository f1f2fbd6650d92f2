"""Reads an event in Claude Code's words, from a host that uses them or from Claude Code itself, as
the event that is fired here."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from hookline._support.nearest import nearest
from hookline.dialects.claude.events import (
    CLAUDE_DEFAULTS,
    CLAUDE_EVENTS,
    CLAUDE_WORDS,
    EVENT_NAMES,
    MAPPED_EVENTS,
    NAME,
)
from hookline.dialects.claude.tools import TOOLS, find_response, show_as_host
from hookline.dialects.tools import ToolAlias, read_blocks, read_mcp_context, write_text
from hookline.errors import InvalidPayloadError, UnknownEventError
from hookline.wire.events import EVENTS, EventName, HookEventName, find_event
from hookline.wire.fired import BASE_FIELDS, Facts, FiredEvent, Original, read_fired_event

Fields: TypeAlias = Mapping[str, Any]
Tools: TypeAlias = Mapping[str, ToolAlias] | None

# Claude Code's triggers that we do not have -> the nearest of ours.
_NEAREST_WORDS: Mapping[EventName, Mapping[str, str]] = {
    HookEventName.SESSION_START: {"fork": "resume"},
    HookEventName.SESSION_END: {},
}
_OTHER_WORDS: Mapping[EventName, str] = {
    HookEventName.SESSION_START: "startup",
    HookEventName.SESSION_END: "other",
}


def read_claude_event(name: str, fields: Fields, tools: Tools = None) -> FiredEvent:
    """Read an event by Claude Code's name, or by ours, with its fields; ``tools`` are the host's.
    Raises UnknownEventError, InvalidPayloadError and AmbiguousInputError."""
    event = MAPPED_EVENTS.get(name) or find_event(name)
    if event is None:
        names = (*(each.value for each in HookEventName), *EVENT_NAMES)
        raise UnknownEventError(name, nearest(name, dict.fromkeys(names)))
    if name not in MAPPED_EVENTS:
        is_ours = isinstance(event, HookEventName)
        return read_fired_event(event, fields) if is_ours else _read_claude_only(event, fields)
    if "tool_name" in fields:
        _check_call(name, fields)
    try:
        fired = read_fired_event(event, _READERS[name](fields, tools))
    except InvalidPayloadError as error:
        raise InvalidPayloadError(name, error.problem) from None
    call_id, duration = fields.get("tool_use_id"), fields.get("duration_ms")
    spec = EVENTS[event]
    # A host that fires Claude Code's events may use its own tool names and triggers.
    words: Mapping[str, object] = CLAUDE_WORDS.get(event, {})
    if spec.search:
        words = TOOLS if tools is None else tools
    is_hosts = fields.get(spec.target or "") in words
    facts = Facts(
        call_id if isinstance(call_id, str) else None,
        duration if isinstance(duration, int | float) else None,
        None if is_hosts else Original(NAME, {**fields, "hook_event_name": name}),
    )
    return msgspec.structs.replace(fired, facts=facts, extra=_read_actor(fired.extra))


def _read_actor(extra: dict[str, Any]) -> dict[str, Any]:
    """Return the further fields of an event with turn and agent as native hooks read them."""
    turn, agent = extra.get("prompt_id"), extra.get("agent_id")
    read = {name: value for name, value in extra.items() if name not in ("prompt_id", "agent_id")}
    if isinstance(turn, str):
        read["turn_id"] = turn
    if isinstance(agent, str):
        name = read.pop("agent_type", None) or agent
        read["agent"] = {"name": name, "id": agent, "depth": 1}
    return read


def _read_claude_only(event: EventName, fields: Fields) -> FiredEvent:
    """Read an event that only Claude Code has."""
    spec = CLAUDE_EVENTS[event]
    values = {**CLAUDE_DEFAULTS, **fields}
    missing = [name for name in spec.required if name not in values]
    if missing:
        raise InvalidPayloadError(event.value, f"{' and '.join(missing)} must be given")
    if spec.search:
        _check_call(event.value, fields)
    matched = "" if spec.target is None else values[spec.target]
    if not isinstance(matched, str):
        raise InvalidPayloadError(event.value, f"{spec.target} must be a string")
    names = (*spec.required, *spec.optional)
    session_id, transcript = fields.get("session_id"), fields.get("transcript_path")
    call_id = fields.get("tool_use_id")
    return FiredEvent(
        event,
        matched,
        tuple(values.get(name) for name in names),
        {name: fields[name] for name in fields if name not in {*names, *BASE_FIELDS}},
        session_id if isinstance(session_id, str) else None,
        transcript if isinstance(transcript, str) else None,
        facts=Facts(call_id if isinstance(call_id, str) else None),
    )


def _check_call(name: str, fields: Fields) -> None:
    if not isinstance(fields.get("tool_name"), str):
        raise InvalidPayloadError(name, "tool_name must be a string")
    if not isinstance(fields.get("tool_input"), Mapping):
        raise InvalidPayloadError(name, "tool_input must be an object")


def _read_call(fields: Fields, tools: Tools) -> dict[str, Any]:
    if "tool_name" not in fields:
        return dict(fields)
    call = show_as_host(fields["tool_name"], fields["tool_input"], tools=tools)
    read = {**fields, "tool_name": call.name, "tool_input": call.input}
    context = read_mcp_context(fields)
    return read if context is None else {**read, "mcp_context": context}


def _read_result(fields: Fields, tools: Tools) -> dict[str, Any]:
    read = _read_call(fields, tools)
    response = fields.get("tool_response")
    if isinstance(response, Mapping) and "llmContent" in response:
        return read
    alias = show_as_host(str(fields.get("tool_name")), {}, tools=tools).alias
    form = None if alias is None else find_response(alias)
    content: Any = "" if response is None else response
    if isinstance(response, Mapping) and form is not None:
        content = form.read(response)
    elif isinstance(response, list):
        texts = [*read_blocks(response)]
        content = "\n".join(texts) if len(texts) == len(response) else response
    else:
        content = write_text(content)
    return {**read, "tool_response": {"llmContent": content, "returnDisplay": content}}


def _read_failure(fields: Fields, tools: Tools) -> dict[str, Any]:
    text = write_text(fields.get("error"))
    failure = {"type": "tool_failed", "message": text}
    response = {"llmContent": text, "returnDisplay": text, "error": failure}
    return {**_read_call(fields, tools), "tool_response": response}


def _read_stop(fields: Fields, _tools: Tools) -> dict[str, Any]:
    message = fields.get("last_assistant_message")
    return {"prompt": "", "prompt_response": "" if message is None else message, **fields}


def _make_word_reader(event: HookEventName) -> Callable[[Fields, Tools], dict[str, Any]]:
    spec = EVENTS[event]
    field = spec.target or ""
    words = {theirs: ours for ours, theirs in CLAUDE_WORDS.get(event, {}).items()}
    # A trigger that we have too stays as it is.
    words = {theirs: ours for theirs, ours in words.items() if theirs not in spec.triggers}
    words |= _NEAREST_WORDS.get(event, {})

    def read_word(fields: Fields, _tools: Tools) -> dict[str, Any]:
        word = fields.get(field)
        if not isinstance(word, str):
            return dict(fields)
        ours = words.get(word, word)
        if spec.trigger is not None and ours not in spec.triggers:
            ours = _OTHER_WORDS.get(event, ours)
        return {**fields, field: ours}

    return read_word


_READERS: Mapping[str, Callable[[Fields, Tools], dict[str, Any]]] = {
    "PreToolUse": _read_call,
    "PostToolUse": _read_result,
    "PostToolUseFailure": _read_failure,
    "UserPromptSubmit": lambda fields, _tools: dict(fields),
    "Stop": _read_stop,
    "SessionStart": _make_word_reader(HookEventName.SESSION_START),
    "SessionEnd": _make_word_reader(HookEventName.SESSION_END),
    "PreCompact": lambda fields, _tools: dict(fields),
    "Notification": _make_word_reader(HookEventName.NOTIFICATION),
}
