"""What Claude Code's hooks put in place of a tool's input or result, as the host knows it."""

from collections.abc import Mapping
from typing import Any

from hookline.errors import HooklineError
from hookline.pipeline.dialects.document import EventDocument
from hookline.pipeline.dialects.tools import (
    TOOLS,
    ToolResponse,
    read_blocks,
    show_as_claude,
    show_as_host,
)
from hookline.wire import codec


def restore_input(document: EventDocument, updated: dict[str, Any]) -> dict[str, Any]:
    """The fields of a native answer for an input that replaces the whole: what is other than it
    was, and what is gone. Raises HooklineError for an input that the host could not take."""
    if not codec.is_json(updated):
        raise HooklineError("it is nested too deeply, or has a number that JSON does not have")
    name, given = document.payload.get("tool_name"), document.payload.get("tool_input")
    given = given if isinstance(given, Mapping) else {}
    original = document.facts.original or {}
    if isinstance(original.get("tool_input"), Mapping):
        # The hook was shown the call as Claude Code made it.
        restored = show_as_host(str(original.get("tool_name")), updated).input
    else:
        cwd = document.payload.get("cwd")
        shown = show_as_claude(
            name if isinstance(name, str) else "",
            given,
            tools=document.tools,
            cwd=cwd if isinstance(cwd, str) else None,
        )
        restored = shown.restore(updated)
    missing = object()
    changed = {field: new for field, new in restored.items() if given.get(field, missing) != new}
    removed = [field for field in given if field not in restored]
    fields = {"tool_input": changed, "removeToolInput": removed}
    return {field: value for field, value in fields.items() if value}


def read_result(document: EventDocument, output: object) -> str | None:
    """What the model reads of a result in the form that the tool has in Claude Code; None if the
    result has another form."""
    if isinstance(output, str):
        return output
    content = output.get("content") if isinstance(output, dict) else output
    texts = [*read_blocks(content)]
    if texts or content == []:
        return "\n".join(texts)
    if not isinstance(output, dict) or not codec.is_json(output):
        return None
    name = document.payload.get("tool_name")
    tools = TOOLS if document.tools is None else document.tools
    alias = tools.get(name) if isinstance(name, str) else None
    if alias is None:
        # Nobody has declared another form.
        return codec.encode(output).decode()
    try:
        return _read_form(alias.response, output) if alias.response is not None else None
    except Exception:
        # The host's own reader cannot take it.
        return None


def _read_form(response: ToolResponse, output: dict[str, Any]) -> str | None:
    read = response.read(output)
    if read:
        # What has no text of the tool's form is read as JSON.
        return None if read == codec.encode(output).decode() else read
    usual = response.write({}, "")
    is_usual = isinstance(usual, dict) and any(
        name in output and type(output[name]) is type(value) for name, value in usual.items()
    )
    return read if is_usual else None
