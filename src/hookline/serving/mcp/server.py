"""The far side of the proxy: an MCP server, wherever it runs."""

from typing import Protocol


class ServerGone(Exception):
    """The server takes no more messages; the text says why."""


class Server(Protocol):
    """An MCP server. A message is one JSON-RPC message as JSON, without a newline; order is kept in
    both directions."""

    async def send(self, message: bytes) -> None:
        """Hand over a message. Raises ``ServerGone`` where nobody takes it."""
        ...

    async def receive(self) -> bytes | None:
        """The next message of the server; None once there will be no more."""
        ...

    async def close(self) -> int:
        """End the server and all that it started, in bounded time. Its exit code; 0 for one that
        has none."""
        ...
