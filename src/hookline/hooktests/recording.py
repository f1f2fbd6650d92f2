"""Writes a test of what hooks said, leaving out what the next run cannot repeat: times, places."""

import os
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.files import write_atomically
from hookline.hooktests.cases import SUFFIX, HookTestError
from hookline.hooktests.expectations import decision_of
from hookline.hooktests.scratch import name_places
from hookline.wire import codec
from hookline.wire.events import HookEventName
from hookline.wire.outputs import NO_REASON

# What hooks say beside the fields that have a word of their own.
_OUTPUTS = ("llm_request", "llm_response", "toolConfig", "clearContext", "tailToolCallRequest")


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
    test = {
        "name": name,
        "event": event.value,
        **_input(payload),
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


def _input(payload: Mapping[str, Any]) -> dict[str, Any]:
    names = {"tool_name": "tool", "tool_input": "tool_input", "session_id": "session_id"}
    short = {names[name]: payload[name] for name in names if name in payload}
    rest = {name: value for name, value in payload.items() if name not in names}
    return {**short, **({"input": rest} if rest else {})}


def _expected(document: Mapping[str, Any]) -> dict[str, Any]:
    view, decision = document["view"], decision_of(document)
    expect: dict[str, Any] = {"decision": decision}
    if decision != "allow" and view["effective_reason"] != NO_REASON:
        expect["reason"] = view["effective_reason"]
    said = {
        "context": view["additional_context"],
        "tool_input": view.get("tool_input"),
        "system_message": document["system_message"],
        "suppress_output": document["suppress_output"],
        "output": _outputs(document["final_output"]),
        "hooks": _failures(document),
    }
    return {**expect, **{word: value for word, value in said.items() if value}}


def _outputs(final: Mapping[str, Any] | None) -> dict[str, Any]:
    specific = (final or {}).get("hookSpecificOutput") or {}
    kept = {name: specific[name] for name in _OUTPUTS if name in specific}
    return {"hookSpecificOutput": kept} if kept else {}


def _failures(document: Mapping[str, Any]) -> dict[str, Any]:
    ends = ("failed", "exit_code", "signal")
    return {
        result["hook"]: {name: result[name] for name in ends if name in result}
        for result in document["results"]
        if "failed" in result
    }
