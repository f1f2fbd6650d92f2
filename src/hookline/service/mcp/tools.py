"""The tools of a server: which of them are allowed, and their names for hooks."""

import re
from typing import Any

import msgspec

from hookline._support.notices import warn
from hookline.dialects.matcher import Match, MatchTimeout
from hookline.hooks import HookSession
from hookline.service.mcp.calls import SERVER_INFO
from hookline.service.mcp.messages import Json
from hookline.wire.events import HookEventName

_NOT_IN_NAMES = r"[^A-Za-z0-9_-]"
# A line end stops the dot of a pattern, and a NUL ends the name for a server in C.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What hooks read of the server: ``name`` is the user's choice, else the server's own name is
    used, or else ``fallback``; ``place`` has the fields of ``mcp_context`` that locate it."""

    name: str | None
    fallback: str
    place: Json


class ServerTools:
    """The tools of one server; ``pattern`` says which are allowed, None allows all."""

    def __init__(self, hooks: HookSession, identity: Identity, pattern: Match | None) -> None:
        self._hooks = hooks
        self._identity = identity
        self._pattern = pattern
        self._name = identity.name
        self._has_warned = False

    @property
    def is_named(self) -> bool:
        """True if the user or the server has named the server."""
        return self._name is not None

    @property
    def server_name(self) -> str:
        """The server's name, which never changes; nobody may ask before ``is_named``."""
        assert self._name is not None
        return self._name

    def identify(self, result: Any, *, is_introduction: bool) -> None:
        """Take the name that the server gives itself in a result, unless there is one already. A
        server that introduces itself without a name gets the fallback."""
        meta = result.get("_meta") if isinstance(result, dict) else None
        info = result.get("serverInfo") if isinstance(result, dict) else None
        info = info or (isinstance(meta, dict) and meta.get(SERVER_INFO))
        name = info.get("name") if isinstance(info, dict) else None
        if not isinstance(name, str) or not name:
            name = self._identity.fallback if is_introduction else None
        if self._name is None:
            self._name = name
        is_renamed = self._identity.name is None and name not in (None, self._name)
        if is_renamed and not self._has_warned:
            self._has_warned = True
            warn(
                f"the MCP server now calls itself {name!r}; hooks still match its tools as those "
                f"of {self._name!r}"
            )

    def name_for_hooks(self, tool: str) -> str:
        """Return the name of a tool as hooks read it."""
        return f"mcp__{re.sub(_NOT_IN_NAMES, '_', self.server_name)}__{tool}"

    def describe(self, tool: str) -> Json:
        """Return the ``mcp_context`` of a tool."""
        return {"server_name": self.server_name, "tool_name": tool, **self._identity.place}

    def find_refusal(self, tool: str) -> str | None:
        """Say why a tool may be neither listed nor called; None if it may."""
        if _CONTROL.search(tool):
            return f"the name {tool!r} has a control character, so matchers could miss it"
        try:
            if self._pattern is None or self._pattern(tool):
                return None
        except MatchTimeout:
            warn(f"matching {tool!r} against --tools took too long, so the tool is not allowed")
        return f"{tool} is not among the tools that --tools allows"

    def narrow(self, result: Json) -> Json:
        """Remove tools that are not allowed, and schemas that results may violate after hooks
        changed them; return the same object if there is nothing to change."""
        tools = result.get("tools")
        if not isinstance(tools, list):
            return result
        kept: list[Any] = []
        for tool in tools:
            name = tool.get("name") if isinstance(tool, dict) else None
            if not isinstance(name, str):
                kept += [tool] if self._pattern is None else []
            elif self.find_refusal(name) is None:
                has_schema = "outputSchema" in tool and self._may_change(name)
                kept.append(_remove_schema(tool) if has_schema else tool)
        is_same = len(kept) == len(tools) and all(a is b for a, b in zip(kept, tools, strict=True))
        return result if is_same else {**result, "tools": kept}

    def _may_change(self, tool: str) -> bool:
        """Return True if hooks may turn a result into a text, as a message of BeforeTool does; as
        long as the server has no name, any hook may match the tool."""
        if not self.is_named:
            return True
        events = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL)
        return any(self._hooks.may_answer(event, self.name_for_hooks(tool)) for event in events)


def _remove_schema(tool: Json) -> Json:
    return {name: value for name, value in tool.items() if name != "outputSchema"}
