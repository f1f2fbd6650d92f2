"""The proxy's view of an MCP server, wherever it runs."""

from typing import Protocol


class ServerGone(Exception):
    """The server takes no more messages; the text says why."""


class Server(Protocol):
    """An MCP server. A message is one JSON-RPC message as JSON, without a newline; order is kept in
    both directions. ``lost_sessions`` counts the sessions that it forgot: the next one may have
    other tools."""

    lost_sessions: int

    async def send(self, message: bytes) -> None:
        """Send a message; raises ``ServerGone`` if the server takes no more."""
        ...

    async def receive(self) -> bytes | None:
        """Return the next message of the server; None after the last."""
        ...

    async def close(self) -> int:
        """End the server and all that it started, in bounded time; return its exit code, 0 if it
        has none."""
        ...
