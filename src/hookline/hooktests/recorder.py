"""Writes a test of what hooks answered, just now or in an event of the trace.

Times and places, which the next run cannot repeat, are left out. Changes to a model's request or
response are expected in the form that hooks read, whatever form the agent uses.
"""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from hookline._support.files import write_atomically
from hookline._support.notices import heard_warnings
from hookline.hooktests.cases import SHORT_FIELDS, SUFFIX, HookTestError
from hookline.hooktests.comparison import (
    find_reason,
    list_tools,
    show_given,
    show_request,
    show_response,
)
from hookline.hooktests.runs import name_places
from hookline.pipeline.answer import Answer, result_document
from hookline.pipeline.modelcall import ModelCall
from hookline.settings.jsonc import MAX_BYTES
from hookline.trace.events import read_entries
from hookline.trace.log import TraceLog
from hookline.trace.queries import find_entry
from hookline.translate.choice import AnyTranslator
from hookline.wire import codec
from hookline.wire.events import EventName, HookEventName, narrow_event
from hookline.wire.fired import read_fired_event

# Fields of an answer that have no word of their own in a test.
_OUTPUTS = ("updatedToolOutput", "clearContext", "tailToolCallRequest", "removeToolInput")
_ENDS = ("failed", "exit_code", "signal")
_BASE_FIELDS = ("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp")
_CLIPPED = re.compile(r"… ?\(\+\d+ (?:characters|items)\)\Z")


class FiredBefore(NamedTuple):
    """An event that hooks have answered; ``ends`` says how each of them ended."""

    event: EventName
    payload: dict[str, Any]
    answer: Answer
    ends: dict[str, dict[str, Any]]
    cwd: str


def ends_of(answer: Answer) -> dict[str, dict[str, Any]]:
    """Return how each hook of an answer ended."""
    documents = map(result_document, answer.results)
    return {
        result["hook"]: {name: result[name] for name in _ENDS if name in result}
        for result in documents
    }


def recording_place(name: str, project: str) -> tuple[str, str]:
    """Return the name of a test and the file to write it to; the name may also be a path."""
    if name.endswith(SUFFIX) or os.sep in name:
        path = name if name.endswith(SUFFIX) else name + SUFFIX
        return os.path.basename(path).removesuffix(SUFFIX), os.path.abspath(path)
    words = re.findall(r"\w+", name)
    if not words:
        raise HookTestError(f"{name!r} cannot be the name of a test; use letters or digits")
    file = "-".join(words)[:100].lower() + SUFFIX
    return name, os.path.join(project, ".hookline", "tests", file)


def make_recorded_test(
    name: str,
    event: str,
    payload: Mapping[str, Any],
    answer: Answer,
    ends: Mapping[str, Mapping[str, Any]],
    places: Mapping[str, str],
    *,
    claude: bool = False,
) -> dict[str, Any]:
    """Make a test that expects what hooks answered to an event; the payload is in the words of the
    event's name, and ``ends`` says how each hook ended."""
    if answer.word == "failed":
        raise HookTestError(f"the event failed: {answer.why}")
    expect: dict[str, Any] = {"no_hooks": True}
    if ends:
        reason = find_reason(answer)
        output = answer.final_output
        specific = (output.hook_specific_output if output is not None else None) or {}
        outputs = {name: specific[name] for name in _OUTPUTS if name in specific}
        # The user has seen these warnings already.
        with heard_warnings():
            changes = _read_model_changes(answer)
        words = {
            "reason": reason if answer.decision != "allow" else None,
            "context": answer.context,
            "tool_input": specific.get("tool_input"),
            **changes,
            "exports": answer.exports,
            "keep_history": answer.keep_history,
            "system_message": answer.system_message,
            "suppress_output": answer.suppress_output,
            "output": {"hookSpecificOutput": outputs} if outputs else None,
            "hooks": {hook: dict(end) for hook, end in ends.items() if "failed" in end},
        }
        # An empty list of tools means that the model may call none.
        expected = {word: value for word, value in words.items() if value or word == "tools"}
        expect = {"decision": answer.decision, **expected}
    names = {field: name for name, field in SHORT_FIELDS.items()}
    rest = {field: value for field, value in payload.items() if field not in names}
    test = {
        "name": name,
        "event": str(event),
        **({"claude": True} if claude else {}),
        **{names[field]: payload[field] for field in names if field in payload},
        **({"input": rest} if rest else {}),
        **({"hooks": list(ends)} if ends else {}),
        "expect": expect,
    }
    portable: dict[str, Any] = name_places(test, places)
    return {**portable, "name": name}


def _read_model_changes(answer: Answer) -> dict[str, Any]:
    """Return the hooks' changes to the model's request, response or tools, for a test."""
    changes: dict[str, Any] = {}
    if answer.event is HookEventName.BEFORE_MODEL or answer.tools is not None:
        before, after = show_given(answer, "llm_request"), show_request(answer) or {}
        changes["llm_request"] = _find_changes(before, after)
    if answer.tools is not None:
        changes["tools"] = list_tools(answer)
        config = changes["llm_request"].pop("toolConfig", {})
        if "mode" in config:
            # The names are in the list of tools already.
            changes["llm_request"]["toolConfig"] = {"mode": config["mode"]}
    is_kept = answer.event is HookEventName.AFTER_MODEL and not answer.blocked
    if answer.is_synthetic or is_kept:
        before, after = show_given(answer, "llm_response"), show_response(answer) or {}
        response = _find_changes(before, after)
        if len(after.get("candidates", ())) == 1 and "text" in response:
            # The text of the only candidate is all of its content.
            (first,) = response.pop("candidates")
            old = before.get("candidates") or [{}]
            rest = _find_changes(old[0], {k: v for k, v in first.items() if k != "content"})
            response |= {"candidates": [rest]} if rest else {}
        changes["llm_response"] = response
    return changes


def _find_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changed fields of an object; nested objects are compared key by key."""
    changes: dict[str, Any] = {}
    for name, value in after.items():
        old = before.get(name)
        if old != value:
            if isinstance(value, Mapping) and isinstance(old, Mapping):
                value = _find_changes(old, value)
            changes[name] = value
    return changes


def write_test(path: str, test: Mapping[str, Any], *, replace: bool) -> None:
    """Write a file with one test; raises HookTestError rather than replace another."""
    if os.path.lexists(path) and not replace:
        raise HookTestError(f"{path} exists; pass --force to replace it, or choose another name")
    content = msgspec.json.format(codec.encode(test), indent=2) + b"\n"
    if len(content) > MAX_BYTES:
        raise HookTestError(
            f"the test would be larger than {MAX_BYTES:,} bytes, which is the limit; "
            "record a smaller event"
        )
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_atomically(path, content)


def read_traced_event(id: str, *, trace_file: str | os.PathLike[str]) -> FiredBefore:
    """Read the event of that id, or of the only id that begins so; raises HooklineError."""
    log = TraceLog(trace_file)
    try:
        traced = find_entry(read_entries(log.poll()), id).event
    finally:
        log.close()
    if not traced.complete:
        raise HookTestError(f"the trace has only a part of {traced.id}; record another event")
    if not isinstance(traced.input, dict):
        raise HookTestError(f"no hook ran on {traced.id}, so its input is not in the trace")
    if _is_clipped(traced.input) or _is_clipped(traced.output):
        raise HookTestError(f"{traced.id} has values too long for the trace, so parts are missing")
    event = narrow_event(traced.event)
    translator = AnyTranslator()
    payload = {name: value for name, value in traced.input.items() if name not in _BASE_FIELDS}
    cwd = traced.input.get("cwd")
    output = traced.output if isinstance(traced.output, dict) else None
    fired = read_fired_event(event, payload)
    answer = Answer.read(fired, output, ModelCall(translator, payload.get("llm_request")))
    ends = {
        run.hook: {name: end for name in _ENDS if (end := getattr(run, name)) is not None}
        for run in traced.hooks
    }
    return FiredBefore(event, payload, answer, ends, cwd if isinstance(cwd, str) else "")


def _is_clipped(value: Any) -> bool:
    if isinstance(value, str):
        return _CLIPPED.search(value) is not None
    if isinstance(value, Mapping):
        return "…" in value or any(map(_is_clipped, value.values()))
    return isinstance(value, list) and any(map(_is_clipped, value))
