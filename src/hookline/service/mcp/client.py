"""The proxy's view of an MCP client."""

from typing import Any

from hookline.service.mcp.lines import Lines, MessageReader, Outlet
from hookline.service.mcp.messages import INTERNAL_ERROR, Fault, Message, make_error, make_message
from hookline.service.mcp.results import Reply


class McpClient:
    """A client over a pair of descriptors."""

    def __init__(self, lines: Lines, outlet: Outlet) -> None:
        self._messages = MessageReader(lines)
        self._outlet = outlet
        self.drain = outlet.drain

    @property
    def is_gone(self) -> bool:
        """True if it reads no more."""
        return self._outlet.lost is not None

    async def receive(self) -> Message | Fault | None:
        """Return its next message; None after the last. Raises MessageTooLong."""
        return await self._messages.next()

    def send(self, message: Message) -> None:
        """Pass a message on; ``drain`` waits until the client has read enough of them."""
        self._outlet.write(message.raw)

    def answer(self, id: Any, reply: Reply) -> None:
        """Answer a request."""
        fields = {"result": reply.result} if reply.error is None else {"error": reply.error}
        try:
            message = make_message(id=id, **fields)
        except ValueError as error:
            problem = f"the MCP server's answer cannot be passed on: {error}"
            message = make_error(id, INTERNAL_ERROR, problem)
        self.send(message)

    def answer_error(self, id: Any, code: int, problem: str) -> None:
        """Answer a request with an error."""
        self.send(make_error(id, code, problem))

    async def turn_down(self, id: Any, code: int, problem: str) -> None:
        """Refuse a message; wait until the client reads, before more is taken from it."""
        self.answer_error(id, code, problem)
        await self.drain()
