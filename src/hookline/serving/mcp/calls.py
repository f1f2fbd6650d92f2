"""One ``tools/call`` of a client, in either generation of the protocol."""

import asyncio
import re
from typing import Any

import msgspec

from hookline.serving.mcp.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    Fault,
    Json,
    Key,
    Message,
    encode,
    find_variant,
    key_of,
)
from hookline.serving.mcp.results import Reply

# Since 2026-07-28 each request says what a handshake said once.
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_PARAMETERS = frozenset({"name", "arguments", "task", "inputResponses", "requestState", "_meta"})
# Larger ones are rounded where all numbers are doubles.
_LARGEST_ALIKE = 2**53 - 1
# What ends a text in C, and half a character, which some replace by another.
_UNLIKE_TEXT = re.compile("[\0\ud800-\udfff]")


class Call(msgspec.Struct, eq=False):
    """A call; ``arguments`` are what hooks read, ``params`` what the server gets. ``answered`` is
    what BeforeTool hooks had said when the user allowed it, ``following`` the id under which the
    server runs another tool that hooks have follow it. It ``has_turn`` while hooks may run."""

    fields: Json
    key: Key
    name: str
    arguments: Json
    params: Json
    task: asyncio.Task[None] | None = None
    reply: asyncio.Future[Reply] | None = None
    answered: Json | None = None
    following: str | None = None
    has_turn: bool = False

    @property
    def id(self) -> str | int:
        """The client's id of it."""
        id: str | int = self.fields["id"]
        return id

    @property
    def is_sent(self) -> bool:
        """Whether the server has it, or had another that followed it."""
        return self.reply is not None

    @property
    def meta(self) -> Json:
        """What the client says beside the call."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def is_modern(self) -> bool:
        """Whether it is of the generation without a handshake."""
        return PROTOCOL_VERSION in self.meta

    @property
    def is_task(self) -> bool:
        """Whether its result is to be fetched later."""
        return self.params.get("task") is not None

    def says_the_same_as(self, other: "Call") -> bool:
        """Whether it calls the same tool with the same arguments; True is not 1 here."""
        return self.name == other.name and encode(self.arguments) == encode(other.arguments)

    def to_server(self, arguments: Json) -> bytes:
        """The message for the server; raises ValueError for what has no JSON."""
        params = self.params
        if arguments is not self.arguments:
            params = {**params, "arguments": arguments}
        kept = {name: value for name, value in self.fields.items() if value is not None}
        return encode({**kept, "params": params})


def read_call(message: Message) -> Call | Fault:
    """The call of a message, or why nobody can tell what it calls."""
    key, params = key_of(message.id), message.fields.get("params")

    def fault(problem: str, code: int = INVALID_PARAMS) -> Fault:
        return Fault(message.raw, problem, code, message.id if key is not None else None)

    if key is None or isinstance(message.id, float):
        return fault("the id of a call is a text or a whole number", INVALID_REQUEST)
    if not _is_read_alike(message.id):
        return fault("some servers read another id than this one", INVALID_REQUEST)
    if not isinstance(params, dict):
        return fault("its params are not an object")
    variant = find_variant(params, _PARAMETERS)
    if variant is not None:
        return fault(f"its key {variant!r} is another's in other letters")
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not name:
        return fault("it does not name a tool")
    if not isinstance(arguments, dict | None):
        return fault("its arguments are not an object")
    call = Call(message.fields, key, name, {} if arguments is None else arguments, params)
    try:
        call.to_server(call.arguments)
    except ValueError as error:
        return fault(f"it cannot be passed on: {error}")
    return call


def _is_read_alike(id: str | int) -> bool:
    """Whether every server answers under the very id, and so under no other that is open too."""
    if isinstance(id, str):
        return not _UNLIKE_TEXT.search(id)
    return abs(id) <= _LARGEST_ALIKE


def can_be_asked(capabilities: Any) -> bool:
    """Whether a client with these capabilities shows its user a form."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    # One that says nothing of forms and links has forms.
    return isinstance(elicitation, dict) and ("form" in elicitation or "url" not in elicitation)
