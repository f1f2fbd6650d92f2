"""The proxy's view of an MCP server, wherever it runs."""

from typing import Protocol

from hookline.service.mcp.messages import Fault, Message


class ServerGone(Exception):
    """The server takes no more messages; the text says why."""


class Server(Protocol):
    """An MCP server; the order of messages is kept in both directions."""

    @property
    def lost_sessions(self) -> int:
        """How many sessions it forgot: the next one may have other tools."""
        ...

    async def send(self, message: Message) -> None:
        """Send a message; raises ``ServerGone`` if the server takes no more."""
        ...

    async def receive(self) -> Message | Fault | None:
        """Return the next message of the server, or what it sent in place of one; None after the
        last."""
        ...

    async def close(self) -> int:
        """End the server and all that it started, in bounded time; return its exit code, 0 if it
        has none."""
        ...
