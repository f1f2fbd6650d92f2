"""What hooks read before the user is asked about a tool call."""

from collections.abc import Mapping
from typing import Any

import msgspec

TOOL_PERMISSION = "ToolPermission"

# Kind of confirmation -> its name in the message, and the fields that hooks read.
_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "edit": ("editing", ("fileName", "filePath", "fileDiff")),
    "exec": ("execution", ("command", "rootCommand")),
    "mcp": ("MCP", ("serverName", "toolName", "toolDisplayName")),
    "info": ("information", ("prompt", "urls")),
}


class ToolNotification(msgspec.Struct, frozen=True):
    """The fields of a Notification event about a confirmation."""

    message: str
    notification_type: str
    details: dict[str, Any]


def tool_notification(confirmation: Mapping[str, Any]) -> ToolNotification:
    """Return what hooks read before the user is asked for a confirmation ``{type, title, …}``."""
    title = confirmation.get("title", "")
    purpose, fields = _KINDS.get(str(confirmation.get("type")), ("approval", ()))
    details = {
        name: confirmation[name] for name in ("type", "title", *fields) if name in confirmation
    }
    return ToolNotification(f"Tool {title} requires {purpose}", TOOL_PERMISSION, details)


def describe_command(command: str) -> dict[str, str]:
    """Return the command fields of a confirmation of type ``exec``."""
    root = command.split(maxsplit=1)[0] if command.strip() else ""
    return {"command": command, "rootCommand": root}
