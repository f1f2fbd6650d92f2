"""What a tool gives back, and how hooks read it."""

from typing import Any

import msgspec


class ToolError(msgspec.Struct, frozen=True):
    """Why a tool gave no proper result."""

    type: str
    message: str


class ToolResult(msgspec.Struct, frozen=True):
    """A tool's result: ``llm_content``, a text or a list of parts, is for the model;
    ``return_display`` is for the user unless ``suppress_display``. With ``stop_reason`` a hook
    has asked for the end of the agent loop."""

    llm_content: str | list[Any]
    return_display: Any = None
    metadata: dict[str, Any] | None = None
    error: ToolError | None = None
    suppress_display: bool = False
    stop_reason: str | None = None


def as_tool_result(value: Any) -> ToolResult:
    """What a tool returned as a result: a text or a list of parts is its content."""
    if isinstance(value, ToolResult):
        return value
    if value is None:
        return ToolResult("")
    return ToolResult(value if isinstance(value, str | list) else str(value))


def with_text(result: ToolResult, text: str) -> ToolResult:
    """The result with a text at the end of what the model reads."""
    content = result.llm_content
    if isinstance(content, list):
        return msgspec.structs.replace(result, llm_content=[*content, {"text": text.lstrip("\n")}])
    return msgspec.structs.replace(
        result, llm_content=content + text if content else text.lstrip("\n")
    )


def to_tool_response(result: ToolResult) -> dict[str, Any]:
    """The JSON an AfterTool hook reads as ``tool_response``."""
    fields = {
        "llmContent": _plain(result.llm_content),
        "returnDisplay": _plain(result.return_display),
        "metadata": result.metadata,
        "error": result.error and {"type": result.error.type, "message": result.error.message},
    }
    return {name: value for name, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    """Parts may be objects of an SDK; those know their own JSON."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else value
