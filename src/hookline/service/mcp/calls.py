"""One ``tools/call`` of a client, in either generation of the protocol."""

import asyncio
import re
from typing import Any

import msgspec

from hookline.service.mcp.messages import (
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
from hookline.service.mcp.results import Reply

# Since 2026-07-28 each request has what the handshake had before.
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_PARAMETERS = frozenset({"name", "arguments", "task", "inputResponses", "requestState", "_meta"})
# Readers that store numbers as doubles round larger ones.
_LARGEST_ALIKE = 2**53 - 1
# NUL, which ends a text in C, and half a character, which some readers replace.
_UNLIKE_TEXT = re.compile("[\0\ud800-\udfff]")


class Call(msgspec.Struct, eq=False):
    """A call; hooks read ``arguments``, the server gets ``params``. ``answered`` is what BeforeTool
    hooks answered when the user allowed the call, ``following`` the id of a tool that hooks run
    after it. It ``has_turn`` while its hooks may run."""

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
        """The client's id of the call."""
        id: str | int = self.fields["id"]
        return id

    @property
    def is_sent(self) -> bool:
        """True if it was sent to the server, answered or not."""
        return self.reply is not None

    @property
    def meta(self) -> Json:
        """The metadata that the client sent with the call."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def lasting_meta(self) -> Json:
        """The metadata for other requests: their progress would be taken for that of the call."""
        return {name: value for name, value in self.meta.items() if name != "progressToken"}

    @property
    def is_modern(self) -> bool:
        """True if the client speaks the protocol without a handshake."""
        return has_no_handshake(self.meta)

    @property
    def is_task(self) -> bool:
        """True if the client fetches the result later."""
        return self.params.get("task") is not None

    def says_the_same_as(self, other: "Call") -> bool:
        """Return True for the same tool with the same arguments; True is not 1 here."""
        return self.name == other.name and encode(self.arguments) == encode(other.arguments)

    def to_server(self, arguments: Json) -> Message:
        """Make the message for the server; raises ValueError for what JSON cannot express."""
        params = self.params
        if arguments is not self.arguments:
            params = {**params, "arguments": arguments}
        fields = {name: value for name, value in self.fields.items() if value is not None}
        fields["params"] = params
        return Message(encode(fields), fields)


def read_call(message: Message) -> Call | Fault:
    """Read the call of a message, or return the fault that makes it ambiguous or invalid."""
    key, params = key_of(message.id), message.fields.get("params")

    def fault(problem: str, code: int = INVALID_PARAMS) -> Fault:
        return Fault(message.raw, problem, code, message.id if key is not None else None)

    if key is None or isinstance(message.id, float):
        return fault("the id of a call must be a text or a whole number", INVALID_REQUEST)
    if not _is_read_alike(message.id):
        return fault("some servers would read its id as another one", INVALID_REQUEST)
    if not isinstance(params, dict):
        return fault("its params are not an object")
    variant = find_variant(params, _PARAMETERS)
    if variant is not None:
        return fault(f"its key {variant!r} is another key in other letters")
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


def has_no_handshake(meta: Any) -> bool:
    """Return True for the metadata of a request that stands alone, as from 2026-07-28 on."""
    return isinstance(meta, dict) and PROTOCOL_VERSION in meta


def _is_read_alike(id: str | int) -> bool:
    """Return True if every server reads this very id, and cannot answer another open request."""
    if isinstance(id, str):
        return not _UNLIKE_TEXT.search(id)
    return abs(id) <= _LARGEST_ALIKE


def can_be_asked(capabilities: Any) -> bool:
    """Return True if a client with these capabilities can show its user a form."""
    elicitation = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    # A client that names neither forms nor links has forms.
    return isinstance(elicitation, dict) and ("form" in elicitation or "url" not in elicitation)
