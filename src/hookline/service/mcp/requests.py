"""The requests that the server has to answer: the client's, and the proxy's own.

A response is worth something only as the answer to one of them, and once. So no result can get
around the hooks, or be taken for that of another request.
"""

import asyncio
import secrets
from contextlib import suppress

from hookline.service.mcp.calls import Call
from hookline.service.mcp.messages import CANCELLED, INITIALIZE, Json, Key, Message, make_message
from hookline.service.mcp.results import Reply
from hookline.service.mcp.server import Server, ServerGone
from hookline.service.mcp.work import Work

MOST_CANCELLED = 10_000
# Requests that stay open as long as the connection.
_LASTING = "subscriptions/"


class OpenRequests:
    """The open requests of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._client_requests: dict[Key, Call | Message] = {}
        self._own: dict[str, asyncio.Future[Reply]] = {}
        # Requests that nobody waits for, and the server may still answer; oldest first.
        self._abandoned: dict[Key, None] = {}
        self._settled: asyncio.Future[None] | None = None
        self._withdrawals = Work()

    @property
    def is_initializing(self) -> bool:
        """True if the server has not answered the client's initialize yet."""
        requests = (each for each in self._client_requests.values() if isinstance(each, Message))
        return any(request.method == INITIALIZE for request in requests)

    def may_be_answered(self, key: Key) -> bool:
        """True if the server may still answer a request with this id."""
        return key in self._client_requests or key in self._abandoned

    def open(self, key: Key, request: Call | Message) -> None:
        """Take up a request of the client."""
        self._client_requests[key] = request

    def find(self, key: Key | None) -> Call | Message | None:
        """Return the client's open request with this id."""
        return None if key is None else self._client_requests.get(key)

    def close(self, key: Key | None) -> None:
        """Note that a request is answered, or need not be."""
        if key is not None:
            self._client_requests.pop(key, None)
        if self._is_settled and self._settled is not None and not self._settled.done():
            self._settled.set_result(None)

    def abandon(self, key: Key) -> None:
        """Note that nobody waits for the answer to a request any more."""
        self._abandoned[key] = None
        if len(self._abandoned) > MOST_CANCELLED:
            del self._abandoned[next(iter(self._abandoned))]

    def take_late_answer(self, key: Key | None) -> bool:
        """Return True, once, for the answer to a request that was abandoned."""
        if key is None or key not in self._abandoned:
            return False
        del self._abandoned[key]
        return True

    async def ask(self, method: str, params: Json) -> Reply:
        """Send a request of our own, and return the answer to it. If the caller is cancelled, the
        server is told. Raises ServerGone."""
        id = make_id()
        try:
            return await self.exchange(id, method, params)
        except asyncio.CancelledError:
            self.abandon(("text", id))
            self._withdrawals.spawn(self._withdraw(id))
            raise

    async def exchange(self, id: str, method: str, params: Json) -> Reply:
        """Send a request under an id of ``make_id``, and return the answer to it."""
        self._own[id] = asyncio.get_running_loop().create_future()
        try:
            await self._server.send(make_message(id=id, method=method, params=params))
            return await self._own[id]
        finally:
            del self._own[id]

    def take_own_answer(self, id: object, reply: Reply) -> bool:
        """Take the answer to a request of our own; return False if it answers another."""
        if not isinstance(id, str) or id not in self._own:
            return False
        if not self._own[id].done():
            self._own[id].set_result(reply)
        return True

    def fail(self, error: ServerGone) -> None:
        """Fail all that wait for an answer of the server."""
        calls = (each for each in self._client_requests.values() if isinstance(each, Call))
        for waiter in (*(call.reply for call in calls), *self._own.values()):
            if waiter is not None and not waiter.done():
                waiter.set_exception(error)

    async def wait_until_settled(self, server: "asyncio.Task[None]", seconds: float) -> None:
        """Wait until the client's requests are answered, but those that last; no longer than the
        server lives."""
        if not self._is_settled:
            self._settled = asyncio.get_running_loop().create_future()
            waiters = {server, self._settled}
            await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def end(self) -> list[Key]:
        """Forget all requests; return the ids of those that the client still waits for."""
        await self._withdrawals.end()
        keys = [*self._client_requests]
        for key in keys:
            self.close(key)
        return keys

    @property
    def _is_settled(self) -> bool:
        return all(_is_lasting(request) for request in self._client_requests.values())

    async def _withdraw(self, id: str) -> None:
        """Tell the server that nobody waits for the answer to a request of our own."""
        params = {"requestId": id, "reason": "hookline mcp no longer waits for it"}
        with suppress(ServerGone):
            await self._server.send(make_message(method=CANCELLED, params=params))


def _is_lasting(request: Call | Message) -> bool:
    return isinstance(request, Message) and str(request.method).startswith(_LASTING)


def make_id() -> str:
    """Make the id of a request of our own, which no client can have."""
    return f"hookline-{secrets.token_hex(16)}"
