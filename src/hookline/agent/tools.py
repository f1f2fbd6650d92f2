"""A tool as the agent offers it to a model and runs it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.calls.question import describe_command

ConfirmationKind: TypeAlias = Literal["edit", "exec", "mcp", "info"]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A function, plain or async, that takes the call's arguments as one dictionary and returns a
    ``ToolResult``, a text, or a list of parts. ``parameters`` is its JSON schema; ``kind`` says
    what a confirmation of it is about."""

    name: str
    run: Callable[[dict[str, Any]], Awaitable[Any] | Any]
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    kind: ConfirmationKind = "info"

    def confirmation(self, tool_input: Mapping[str, Any]) -> dict[str, Any]:
        """Describe a call that the user must confirm, for the user and for Notification hooks."""
        asked: dict[str, Any] = {"type": self.kind, "title": self.name}
        command, path = (
            tool_input.get("command"),
            tool_input.get("file_path", tool_input.get("path")),
        )
        if self.kind == "exec" and isinstance(command, str):
            asked |= describe_command(command)
        if self.kind == "edit" and isinstance(path, str):
            asked |= {"fileName": path.rpartition("/")[2], "filePath": path}
        return asked
