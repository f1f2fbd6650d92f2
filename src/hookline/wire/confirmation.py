"""The notification that is sent before a user is asked to confirm a tool call."""

from collections.abc import Mapping
from typing import Any

import msgspec

TOOL_PERMISSION = "ToolPermission"

# Kind of confirmation -> what it is called, and which of its fields hooks are shown.
_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "edit": ("editing", ("fileName", "filePath", "fileDiff")),
    "exec": ("execution", ("command", "rootCommand")),
    "mcp": ("MCP", ("serverName", "toolName", "toolDisplayName")),
    "info": ("information", ("prompt", "urls")),
}


class ToolNotification(msgspec.Struct, frozen=True):
    """What a Notification event says of a confirmation."""

    message: str
    notification_type: str
    details: dict[str, Any]


def tool_notification(confirmation: Mapping[str, Any]) -> ToolNotification:
    """What hooks are told of a confirmation ``{type, title, …}`` before it is asked for."""
    title = confirmation.get("title", "")
    purpose, shown = _KINDS.get(str(confirmation.get("type")), ("approval", ()))
    details = {
        name: confirmation[name] for name in ("type", "title", *shown) if name in confirmation
    }
    return ToolNotification(f"Tool {title} requires {purpose}", TOOL_PERMISSION, details)
