"""Writes a test of what hooks said, just now or in an event of the trace.

What the next run cannot repeat, times and places, is left out. Model requests are in the trace as
hooks read them, so they are turned back into the SDK's form.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from hookline.config import Config
from hookline.files import write_atomically
from hookline.hooktests.cases import SUFFIX, HookTestError
from hookline.hooktests.expectations import decision_of
from hookline.hooktests.running import name_places
from hookline.trace.events import Assembler, TracedEvent
from hookline.trace.log import TraceLog
from hookline.translate import HookTranslator
from hookline.views import output_view
from hookline.wire import codec
from hookline.wire.events import EVENTS, HookEventName, narrow_event
from hookline.wire.outputs import NO_REASON, ModelCall, create_hook_output

# What hooks say beside the fields that have a word of their own.
_OUTPUTS = ("llm_request", "llm_response", "toolConfig", "clearContext", "tailToolCallRequest")
_ENDS = ("failed", "exit_code", "signal")
_BASE_FIELDS = ("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp")
_CLIPPED = re.compile(r"… ?\(\+\d+ (?:characters|items)\)\Z")


class FiredBefore(NamedTuple):
    """An event that hooks have answered; ``document`` is as that of ``fire --json``."""

    event: HookEventName
    payload: dict[str, Any]
    document: dict[str, Any]
    cwd: str


def recording_place(name: str, project: str) -> tuple[str, str]:
    """The name of a test and the file it is written to; a name may be a path as well."""
    if name.endswith(SUFFIX) or os.sep in name:
        path = name if name.endswith(SUFFIX) else name + SUFFIX
        return os.path.basename(path).removesuffix(SUFFIX), os.path.abspath(path)
    words = re.findall(r"\w+", name)
    if not words:
        raise HookTestError(f"{name!r} cannot be the name of a test; use letters or digits")
    file = "-".join(words)[:100].lower() + SUFFIX
    return name, os.path.join(project, ".hookline", "tests", file)


def recorded_test(
    name: str,
    event: HookEventName,
    payload: Mapping[str, Any],
    document: Mapping[str, Any],
    places: Mapping[str, str],
) -> dict[str, Any]:
    """A test that expects what the document of a fired event says."""
    plan = document["plan"]
    if plan is None and not document["success"]:
        raise HookTestError(f"the event failed: {document['errors'][0]['message']}")
    names = {"tool_name": "tool", "tool_input": "tool_input", "session_id": "session_id"}
    rest = {field: value for field, value in payload.items() if field not in names}
    test = {
        "name": name,
        "event": event.value,
        **{names[field]: payload[field] for field in names if field in payload},
        **({"input": rest} if rest else {}),
        **({"hooks": plan["hooks"]} if plan else {}),
        "expect": _expected(document) if plan else {"no_hooks": True},
    }
    named: dict[str, Any] = name_places(test, places)
    return {**named, "name": name}


def write_test(path: str, test: Mapping[str, Any], *, replace: bool) -> None:
    """Write a file with one test; raises HookTestError where that would replace another."""
    if os.path.lexists(path) and not replace:
        raise HookTestError(f"{path} exists already; pass --force to replace it, or another name")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_atomically(path, msgspec.json.format(codec.encode(test), indent=2) + b"\n")


def _expected(document: Mapping[str, Any]) -> dict[str, Any]:
    view, decision = document["view"], decision_of(document)
    expect: dict[str, Any] = {"decision": decision}
    if decision != "allow" and view["effective_reason"] != NO_REASON:
        expect["reason"] = view["effective_reason"]
    specific = (document["final_output"] or {}).get("hookSpecificOutput") or {}
    outputs = {name: specific[name] for name in _OUTPUTS if name in specific}
    failures = {
        result["hook"]: {name: result[name] for name in _ENDS if name in result}
        for result in document["results"]
        if "failed" in result
    }
    said = {
        "context": view["additional_context"],
        "tool_input": view.get("tool_input"),
        "system_message": document["system_message"],
        "suppress_output": document["suppress_output"],
        "output": {"hookSpecificOutput": outputs} if outputs else None,
        "hooks": failures,
    }
    return {**expect, **{word: value for word, value in said.items() if value}}


def read_traced_event(id: str, *, trace_file: str | os.PathLike[str]) -> FiredBefore:
    """The event of that id, or of the one id that begins so; raises HookTestError."""
    log, assembler = TraceLog(trace_file), Assembler()
    try:
        events = (assembler.add(record) for record in log.poll())
        found = [event for event in events if event is not None and event.id.startswith(id)]
    finally:
        log.close()
    exact = [event for event in found if event.id == id]
    if len(found) > 1 and not exact:
        raise HookTestError(f"{len(found)} events of the trace begin with {id}; write more of it")
    if not found:
        raise HookTestError(
            f"the trace has no event {id!r}; hookline trace lists those there are, "
            "and HOOKLINE_TRACE=1 keeps them"
        )
    traced = exact[0] if exact else found[0]
    if not isinstance(traced.input, dict):
        raise HookTestError(f"no hook ran on {traced.id}, so its input is not in the trace")
    if _is_clipped(traced.input) or _is_clipped(traced.output):
        raise HookTestError(f"{traced.id} has values too long for the trace, so parts are missing")
    event = narrow_event(traced.event)
    translator = Config().get_translator()
    payload = {name: value for name, value in traced.input.items() if name not in _BASE_FIELDS}
    if EVENTS[event].model:
        payload["model_request"] = translator.from_hook_llm_request(payload.pop("llm_request"))
        if "llm_response" in payload:
            response = translator.from_hook_llm_response(payload.pop("llm_response"))
            payload["model_response"] = response
    cwd = traced.input.get("cwd")
    document = _document(event, traced, payload, translator)
    return FiredBefore(event, payload, document, cwd if isinstance(cwd, str) else "")


def _document(
    event: HookEventName,
    traced: TracedEvent,
    payload: Mapping[str, Any],
    translator: HookTranslator,
) -> dict[str, Any]:
    request, response = payload.get("model_request"), payload.get("model_response")
    said = traced.output if isinstance(traced.output, dict) else {}
    output = create_hook_output(event, said, ModelCall(translator, request))
    view = output_view(output, translator=translator, request=request, response=response)
    hidden = output.suppress_output is True
    return {
        "event": event.value,
        "plan": {"sequential": traced.sequential, "hooks": [run.hook for run in traced.hooks]},
        "results": [
            {"hook": run.hook}
            | {name: end for name in _ENDS if (end := getattr(run, name)) is not None}
            for run in traced.hooks
        ],
        "success": all(run.success for run in traced.hooks),
        "errors": [],
        "final_output": said or None,
        "view": view,
        "should_stop": output.should_stop_execution(),
        "system_message": None if hidden else output.system_message,
        "suppress_output": hidden,
    }


def _is_clipped(value: Any) -> bool:
    if isinstance(value, str):
        return _CLIPPED.search(value) is not None
    if isinstance(value, Mapping):
        return "…" in value or any(map(_is_clipped, value.values()))
    return isinstance(value, list) and any(map(_is_clipped, value))
