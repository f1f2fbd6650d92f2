"""The session that a handshake begins at a server over HTTP, and what begins it again."""

import re

from hookline._support.notices import warn
from hookline.service.mcp.messages import Message
from hookline.service.mcp.routes import VERSION

SESSION = "mcp-session-id"
# What can be sent back in a header.
HEADER_VALUE = re.compile(r"[\x21-\x7e]{1,4096}")


class HttpSession:
    """The session of one client; ``hello`` and ``ready`` are the messages with which the client
    began it. ``losses`` counts the sessions that the server forgot."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.version: str | None = None
        self.hello: Message | None = None
        self.ready: Message | None = None
        self.is_lost = False
        self.losses = 0

    def begin(self, hello: Message) -> None:
        """Note that the client begins a session."""
        self.hello, self.ready = hello, None
        self.id = self.version = None
        self.is_lost = False

    def lose(self, id: str, server: str) -> None:
        """Note that the server no longer knows a session; tell people once."""
        if id == self.id and not self.is_lost:
            self.is_lost = True
            self.losses += 1
            warn(
                f"{server} no longer knows the session, so hookline begins another; what the "
                "server kept for it is gone"
            )

    def note_version(self, result: object) -> None:
        """Take the version from the answer to initialize."""
        version = result.get("protocolVersion") if isinstance(result, dict) else None
        is_usable = isinstance(version, str) and HEADER_VALUE.fullmatch(version)
        self.version = version if is_usable else None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that name the session."""
        pairs = {SESSION: self.id, VERSION: self.version}
        return {name: value for name, value in pairs.items() if value is not None}
