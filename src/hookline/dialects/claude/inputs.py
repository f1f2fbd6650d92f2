"""The documents that Claude Code's hooks read: an event of ours in its words, or the event as
Claude Code wrote it."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hookline.dialects.claude.events import CALL_EVENTS, CLAUDE_WORDS, MAPPED_EVENTS, NAME
from hookline.dialects.claude.tools import make_response, show_as_claude, show_as_host
from hookline.dialects.document import EventDocument
from hookline.dialects.tools import ShownCall, read_blocks, write_text
from hookline.errors import InvalidPayloadError
from hookline.wire import codec
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.tools import name_mcp_tool

Fields: TypeAlias = dict[str, Any]

_BASE = ("session_id", "transcript_path", "cwd")
# Fields of native hooks that Claude Code's hooks get in another form, or not at all.
_NATIVE_BASE = frozenset({*_BASE, "hook_event_name", "timestamp", "mcp_context"})
_ACTOR = frozenset({"turn_id", "agent", "host", "labels"})
_NATIVE_FIELDS: Mapping[EventName, frozenset[str]] = {
    HookEventName.BEFORE_TOOL: frozenset({"original_request_name"}),
    HookEventName.AFTER_TOOL: frozenset({"original_request_name", "original_tool_input"}),
    HookEventName.AFTER_AGENT: frozenset({"prompt", "prompt_response"}),
    HookEventName.NOTIFICATION: frozenset({"level", "details"}),
}
_WITH_MODE = frozenset(
    {
        *("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest"),
        *("UserPromptSubmit", "Stop", "SubagentStop"),
    }
)
_WITH_CALL_ID = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied"})
_CALL = ("tool_name", "tool_input")
_STOP = ("stop_hook_active", "last_assistant_message", "background_tasks", "session_crons")
# The order of an event's fields, where it differs from the order in which they are fired.
_ORDER: Mapping[str, tuple[str, ...]] = {
    "PreToolUse": (*_CALL, "tool_use_id", "mcp_server"),
    "PermissionRequest": (*_CALL, "permission_suggestions", "mcp_server"),
    "PermissionDenied": (*_CALL, "tool_use_id", "reason", "mcp_server"),
    "PostToolUse": (*_CALL, "tool_response", "tool_use_id", "duration_ms", "mcp_server"),
    "PostToolUseFailure": (
        *(*_CALL, "tool_use_id", "error", "is_interrupt", "duration_ms", "mcp_server"),
    ),
    "UserPromptSubmit": ("prompt", "source", "session_title"),
    "UserPromptExpansion": (
        *("expansion_type", "command_name", "command_args", "command_source", "prompt"),
    ),
    "SessionStart": ("source", "agent_type", "model", "session_title"),
    "Stop": _STOP,
    "SubagentStop": (*_STOP, "agent_id", "agent_type", "agent_transcript_path"),
    "PreCompact": ("trigger", "custom_instructions"),
    "Notification": ("message", "title", "notification_type"),
}


def write_document(document: EventDocument) -> bytes:
    """Write what a hook reads; raises HooklineError if it cannot show all of it."""
    payload, original = document.payload, document.facts.words_of(NAME)
    if original is not None:
        # A host that fires the event by its name may leave these fields out.
        placed = {field: payload[field] for field in _BASE if original.get(field) is None}
        fields, base = dict(original), {**original, **placed}
        name = str(original.get("hook_event_name") or name_event(document))
        if name in _WITH_CALL_ID and "tool_use_id" not in fields:
            fields["tool_use_id"] = _name_call(document)
    else:
        actor = _ACTOR.difference(EVENTS[document.event].required)
        native = _NATIVE_BASE | actor | _NATIVE_FIELDS.get(document.event, frozenset())
        fields = {key: value for key, value in payload.items() if key not in native}
        name, base = name_event(document), payload
        word = _WORDINGS.get(name)
        fields = fields if word is None else word(document, fields)
        order = [field for field in _ORDER.get(name, ()) if field in fields]
        fields = {**{field: fields[field] for field in order}, **fields}
    head: Fields = {field: base[field] for field in _BASE}
    if original is None and "turn_id" not in fields and isinstance(payload.get("turn_id"), str):
        head["prompt_id"] = payload["turn_id"]
    if name in _WITH_MODE:
        head["permission_mode"] = base.get("permission_mode") or "default"
    if original is None:
        head |= _describe_agent(document, fields)
    head["hook_event_name"] = name
    return codec.encode(head | {key: fields[key] for key in fields if key not in head})


def is_of_subagent(document: EventDocument) -> bool:
    """True if an agent fires the event that another agent's tool runs."""
    agent = document.payload.get("agent")
    return isinstance(agent, Mapping) and bool(agent.get("depth"))


def _describe_agent(document: EventDocument, fields: Fields) -> Fields:
    """Return the fields of the agent that fires an event, unless these are the event's own."""
    described: Fields = {}
    if is_of_subagent(document) and "agent_id" not in fields:
        agent = document.payload["agent"]
        described = {"agent_id": agent.get("id") or agent.get("name")}
        described["agent_type"] = agent.get("name")
    if document.facts.effort is not None and "effort" not in fields:
        described["effort"] = {"level": document.facts.effort}
    return described


def name_event(document: EventDocument) -> str:
    """Return Claude Code's name of an event."""
    if document.event is HookEventName.AFTER_TOOL:
        return "PostToolUse" if find_failure(document) is None else "PostToolUseFailure"
    return _NAMES.get(document.event, document.event.value)


def show_call(document: EventDocument) -> ShownCall:
    """Show an event's tool call in Claude Code's words; ``restore`` of the result translates an
    input in these words to the host's. Raises HooklineError."""
    payload, original = document.payload, document.facts.words_of(NAME)
    name, tool_input = payload["tool_name"], payload["tool_input"]
    worded = payload if original is None else original
    own_name, own_input = worded.get("tool_name"), worded.get("tool_input")
    if not (isinstance(tool_input, Mapping) and isinstance(own_input, Mapping)):
        raise InvalidPayloadError(document.event.value, "tool_input must be an object")
    if not isinstance(name, str):
        raise InvalidPayloadError(document.event.value, "tool_name must be a string")
    if original is not None and isinstance(own_name, str):
        call = show_as_host(own_name, own_input, tools=document.tools)
        if call.name != name:
            # The host got the call in the usual words, whatever tool it declares for that name.
            call = show_as_host(own_name, own_input)
        fields = {} if call.alias is None else call.alias.fields
        own = {field: names[0] for field, names in fields.items()}
        return ShownCall(own_name, dict(own_input), tool_input, own, call.alias)
    context = payload.get("mcp_context") or payload.get("mcp_server")
    as_mcp_tool = name_mcp_tool(name, context) if context else name
    if as_mcp_tool != name:
        return ShownCall(as_mcp_tool, dict(tool_input), tool_input)
    return show_as_claude(name, tool_input, tools=document.tools, cwd=payload["cwd"])


def find_failure(document: EventDocument) -> str | None:
    """Return the error of a tool that failed; None if it did not fail."""
    response = document.payload.get("tool_response")
    if not isinstance(response, Mapping):
        return None
    error = response.get("error")
    if error:
        message = error.get("message") if isinstance(error, Mapping) else None
        return write_text(message or error)
    if response.get("isError") is True:
        return _read_text(response.get("llmContent", response.get("content")))
    return None


def _word_call(document: EventDocument, fields: Fields) -> Fields:
    """Word an event before or after a tool, or about the permission to use it."""
    call, name = show_call(document), name_event(document)
    fields |= {"tool_name": call.name, "tool_input": call.input}
    if name == "PostToolUse":
        fields["tool_response"] = _word_response(call, fields["tool_response"])
    elif name == "PostToolUseFailure":
        del fields["tool_response"]
        fields["error"] = find_failure(document)
    if document.facts.duration_ms is not None and name.startswith("PostToolUse"):
        fields["duration_ms"] = round(document.facts.duration_ms)
    if name in _WITH_CALL_ID:
        fields["tool_use_id"] = _name_call(document)
    context = document.payload.get("mcp_context")
    if isinstance(context, Mapping) and context.get("server_name") and "mcp_server" not in fields:
        server = {"name": context["server_name"], "source": context.get("source")}
        fields["mcp_server"] = {key: value for key, value in server.items() if value is not None}
    return fields


def _word_response(call: ShownCall, response: Any) -> Any:
    """Write the result of a tool in the form of Claude Code's tool."""
    is_of_server = call.name.startswith("mcp__")
    content = response
    if isinstance(response, Mapping):
        content = response.get("llmContent", response.get("content") if is_of_server else None)
        if content is None:
            return response
    if is_of_server:
        parts = content if isinstance(content, list) else [content]
        return [_make_block(part) for part in parts if part is not None]
    text = _read_text(content)
    worded = make_response(call.name, call.input, text, _find_original(response))
    if worded is None and call.alias is not None and call.alias.response is not None:
        worded = call.alias.response.write({}, text)
    return response if worded is None else worded


def _find_original(response: Any) -> str | None:
    """Return what was in a file before a tool wrote it, which Gemini CLI and LLxprt Code show to
    the user with the change; None for a new file, and if it is not known."""
    display = response.get("returnDisplay") if isinstance(response, Mapping) else None
    original = display.get("originalContent") if isinstance(display, Mapping) else None
    return original if isinstance(original, str) and original else None


def _make_block(part: Any) -> Any:
    if isinstance(part, Mapping) and isinstance(part.get("type"), str):
        return part
    text = part.get("text") if isinstance(part, Mapping) and len(part) == 1 else None
    return {"type": "text", "text": write_text(part) if text is None else text}


def _word_stop(document: EventDocument, fields: Fields) -> Fields:
    return {**fields, "last_assistant_message": document.payload["prompt_response"]}


def _word_compact(_document: EventDocument, fields: Fields) -> Fields:
    return {"custom_instructions": None, **fields}


def _word_notification(document: EventDocument, fields: Fields) -> Fields:
    details = document.payload.get("details")
    title = details.get("title") if isinstance(details, Mapping) else None
    return _word_trigger(document, fields if title is None else {"title": title, **fields})


def _word_trigger(document: EventDocument, fields: Fields) -> Fields:
    field, words = EVENTS[document.event].target or "", CLAUDE_WORDS[document.event]
    if field in fields:
        fields[field] = words.get(fields[field], fields[field])
    return fields


def _word_batch(document: EventDocument, fields: Fields) -> Fields:
    calls = fields["tool_calls"]
    if isinstance(calls, list):
        fields["tool_calls"] = [_word_batched(document, call) for call in calls]
    return fields


def _word_batched(document: EventDocument, call: Any) -> Any:
    """Word one of several calls; the response is what the model reads and stays as it is."""
    if not isinstance(call, Mapping) or not isinstance(call.get("tool_input"), Mapping):
        return call
    cwd = document.payload["cwd"]
    worded = show_as_claude(
        str(call.get("tool_name")), call["tool_input"], tools=document.tools, cwd=cwd
    )
    return {**call, "tool_name": worded.name, "tool_input": worded.input}


def _name_call(document: EventDocument) -> str:
    """Return the id of a call: the agent's, or a hash that is the same for the same call."""
    payload = document.payload
    call_id = document.facts.call_id or payload.get("tool_use_id")
    if isinstance(call_id, str) and call_id:
        return call_id
    tool_input = payload.get("original_tool_input") or payload["tool_input"]
    call = codec.encode([payload["session_id"], payload["tool_name"], tool_input])
    return f"toolu_{hashlib.sha256(call).hexdigest()[:24]}"


def _read_text(content: Any) -> str:
    """Return the text that the model reads of a result, other parts as JSON."""
    if isinstance(content, list):
        return "\n".join(next(read_blocks([part]), None) or write_text(part) for part in content)
    return "" if content is None else write_text(content)


_NAMES: Mapping[EventName, str] = {
    event: name for name, event in MAPPED_EVENTS.items() if event is not HookEventName.AFTER_TOOL
}
# How to translate an event's fields into Claude Code's, where they differ.
_WORDINGS: Mapping[str, Callable[[EventDocument, Fields], Fields]] = {
    **dict.fromkeys(CALL_EVENTS, _word_call),
    "Stop": _word_stop,
    "PreCompact": _word_compact,
    "SessionStart": _word_trigger,
    "SessionEnd": _word_trigger,
    "Notification": _word_notification,
    "PostToolBatch": _word_batch,
}
