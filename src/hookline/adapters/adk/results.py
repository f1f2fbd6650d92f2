"""Reads what ADK's tools return for hooks, and applies what hooks answer to it."""

from collections.abc import Mapping
from typing import Any

from google.genai import types

from hookline.adapters.steps import ToolOutcome
from hookline.calls.tool import ToolError, ToolResult, as_tool_result, text_of

ADDED = "additional_context"


def read_result(value: Any) -> ToolResult:
    """Read a tool's result for hooks: what the model reads of it."""
    if isinstance(value, Mapping):
        content = value.get("content")
        if isinstance(content, list):
            # A result of an MCP server.
            error = ToolError("tool_failed", text_of(content)) if value.get("isError") else None
            structured = value.get("structuredContent")
            rest = [] if structured is None else [{"text": text_of(structured)}]
            return ToolResult([*content, *rest], error=error)
        if value.keys() == {"result"}:
            return read_result(value["result"])
        if value.keys() == {"error"}:
            message = text_of(value["error"])
            return ToolResult(message, error=ToolError("tool_failed", message))
    if holds_media(value):
        items = value if isinstance(value, list | tuple) else [value]
        return ToolResult([_show_item(item) for item in items])
    if value is None or isinstance(value, str):
        return as_tool_result(value)
    # A list of data, not of parts.
    return ToolResult(text_of(value))


def holds_media(value: Any) -> bool:
    """True if a result holds parts of a model's content, which ADK takes out of it."""
    if isinstance(value, Mapping):
        return any(map(holds_media, value.values()))
    if isinstance(value, list | tuple):
        return any(map(holds_media, value))
    return isinstance(value, types.Part)


def _show_item(item: Any) -> dict[str, Any]:
    if isinstance(item, types.Part):
        media = item.inline_data or item.file_data
        if media is not None:
            return {"type": "media", "mimeType": media.mime_type}
        return {"text": item.text or ""}
    return {"text": text_of(item)}


def apply_outcome(outcome: ToolOutcome) -> dict[str, Any] | None:
    """Return the result that replaces the tool's own; None if hooks changed nothing."""
    value, added = outcome.value, outcome.added
    if outcome.replaced or outcome.followed or not outcome.ran:
        if outcome.followed and not outcome.replaced and outcome.ran:
            return _add_text(value, added)
        is_error = outcome.result.error is not None or not outcome.ran
        return {"error" if is_error else "result": outcome.text}
    return _add_text(value, added) if added else None


def _add_text(value: Any, added: str) -> dict[str, Any]:
    """Return a result with a hook's text added."""
    if isinstance(value, str):
        return {"result": f"{value}\n\n{added}".strip() if added else value}
    result = {**value} if isinstance(value, Mapping) else {"result": value}
    return {**result, ADDED: added} if added else result
