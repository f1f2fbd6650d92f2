"""Reads what Pydantic AI's tools return for hooks, and applies what hooks answer to it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import TextContent, ToolReturn, is_multi_modal_content
from pydantic_ai.tools import ToolDenied

from hookline.adapters.steps import ToolOutcome
from hookline.calls.tool import ToolResult, as_tool_result, text_of


def read_result(value: Any) -> ToolResult:
    """Read a tool's result for hooks: what the model reads of it."""
    if isinstance(value, ToolDenied):
        return ToolResult(value.message)
    returned = value.return_value if isinstance(value, ToolReturn) else value
    beside = value.content if isinstance(value, ToolReturn) else None
    content: Any = returned
    if _has_media(returned) or beside is not None:
        items = returned if isinstance(returned, list) else [returned]
        more = [beside] if isinstance(beside, str) else list(beside or ())
        content = [_show_item(item) for item in [*items, *more]]
    elif not isinstance(returned, str):
        # A list of data, not of parts.
        content = "" if returned is None else text_of(returned)
    metadata = value.metadata if isinstance(value, ToolReturn) else None
    shown = {**metadata} if isinstance(metadata, Mapping) else None
    return ToolResult(as_tool_result(content).llm_content, metadata=shown)


def _has_media(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(is_multi_modal_content(item) for item in items)


def _show_item(item: Any) -> dict[str, Any]:
    if is_multi_modal_content(item):
        return {"type": item.kind, "mediaType": item.media_type, "id": item.identifier}
    return {"text": item.content if isinstance(item, TextContent) else text_of(item)}


def apply_outcome(outcome: ToolOutcome) -> Any:
    """Return what the framework gets from the call: the tool's own object if hooks changed nothing,
    with their text beside it if it is not a text."""
    value, added = outcome.value, outcome.added
    if outcome.replaced or not outcome.ran:
        return outcome.text
    if not added:
        return value
    if isinstance(value, str):
        return outcome.text
    if not isinstance(value, ToolReturn):
        return ToolReturn(return_value=value, content=added)
    if value.content is None:
        return replace(value, content=added)
    held = [value.content] if isinstance(value.content, str) else value.content
    return replace(value, content=[*held, added])
