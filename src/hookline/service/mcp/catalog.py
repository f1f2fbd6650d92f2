"""The tools that the server lists, under the names that it gives them: a server that folds or trims
names would run a tool under one that no matcher knows.

The client's own listings are read as they pass. Where they do not have a tool, the proxy asks.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from hookline._support.notices import warn
from hookline.errors import describe
from hookline.service.mcp.messages import LIST, Json
from hookline.service.mcp.results import Reply
from hookline.service.mcp.server import Server, ServerGone

# Sends the server a request of the proxy's own: its method and params.
Ask: TypeAlias = Callable[[str, Json], Awaitable[Reply]]

# Seconds for all pages of a listing.
LIST_SECONDS = 30.0
_MOST_PAGES = 1000
_MOST_NAMES = 100_000


class Listing:
    """What one server lists, as far as it is known."""

    def __init__(self, server: Server, ask: Ask) -> None:
        self._server, self._ask = server, ask
        self._lost_sessions = 0
        self._names: set[str] = set()
        self._is_current = False
        # One for all calls that wait for it.
        self._question: asyncio.Task[str | ServerGone | None] | None = None

    def has(self, tool: str) -> bool:
        """True if it is known without a question that the server lists a tool."""
        is_current = self._is_current and self._lost_sessions == self._server.lost_sessions
        return is_current and tool in self._names

    def has_listed(self, tool: str) -> bool:
        """True if the server listed a tool when it was asked last."""
        return tool in self._names

    def expire(self) -> None:
        """Note that the server lists other tools now."""
        self._is_current = False

    def note_page(self, params: Json, result: Json) -> None:
        """Note the answer to a request of the client; other pages may follow, so a tool that is not
        known yet is asked for."""
        if params.get("cursor") is None:
            self._names = set()
            self._begin()
        self._names |= _read_names(result)

    async def find_refusal(self, tool: str, meta: Json) -> str | None:
        """Say why a tool may not be called, None if the server lists it; ``meta`` is for a request
        of the protocol without a handshake. Raises ServerGone."""
        problem: str | ServerGone | None = None
        if not self.has(tool):
            if self._question is None or self._question.done():
                self._question = asyncio.create_task(self._ask_all(meta))
            # A call that is cancelled leaves the question to the others.
            problem = await asyncio.shield(self._question)
        if isinstance(problem, ServerGone):
            raise problem
        if problem is not None:
            return f"{tool!r} cannot be called: {problem}"
        return None if tool in self._names else f"{tool!r} is not a tool that the MCP server lists"

    async def close(self) -> None:
        """End a question that is open."""
        if self._question is not None:
            self._question.cancel()
            await asyncio.gather(self._question, return_exceptions=True)

    async def _ask_all(self, meta: Json) -> str | ServerGone | None:
        """Ask the server for all pages; return what went wrong, None if nothing did."""
        self._begin()
        try:
            async with asyncio.timeout(LIST_SECONDS):
                self._names = await self._read_pages({"_meta": meta} if meta else {})
            return None
        except ServerGone as error:
            self._is_current = False
            return error
        except TimeoutError:
            problem = f"the MCP server did not list its tools within {LIST_SECONDS:.0f} s"
        except _Unlisted as error:
            problem = str(error)
        except Exception as error:
            problem = f"hookline mcp could not read the tools of the MCP server: {describe(error)}"
        self._is_current = False
        warn(f"{problem}; its tools cannot be called")
        return problem

    def _begin(self) -> None:
        self._is_current, self._lost_sessions = True, self._server.lost_sessions

    async def _read_pages(self, params: Json) -> set[str]:
        names: set[str] = set()
        cursors: set[str] = set()
        for _ in range(_MOST_PAGES):
            reply = await self._ask(LIST, params)
            if reply.error is not None or not isinstance(reply.result, dict):
                raise _Unlisted(f"the MCP server does not list its tools: {_read_error(reply)}")
            names |= _read_names(reply.result)
            cursor = reply.result.get("nextCursor")
            if not isinstance(cursor, str) or not cursor:
                return names
            if cursor in cursors or len(names) > _MOST_NAMES:
                break
            cursors.add(cursor)
            params = {**params, "cursor": cursor}
        raise _Unlisted("the MCP server's list of tools has no end")


class _Unlisted(Exception):
    """The server gives no list; the text says why."""


def _read_names(result: Json) -> set[str]:
    tools = result.get("tools")
    entries = tools if isinstance(tools, list) else []
    names = (entry.get("name") for entry in entries if isinstance(entry, dict))
    return {name for name in names if isinstance(name, str)}


def _read_error(reply: Reply) -> Any:
    message = reply.error.get("message") if isinstance(reply.error, dict) else None
    return message if isinstance(message, str) else "its answer is not a list"
