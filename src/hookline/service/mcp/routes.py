"""Reads of a message what HTTP needs: its kind, and the headers that repeat parts of it.

From 2026-07-28 on a server refuses a request whose headers disagree with its body. So they are made
from the bytes that go out, as a hook may have changed what the client sent.
"""

import base64
import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from hookline.wire.codec import decode

VERSION = "mcp-protocol-version"

Id: TypeAlias = str | int | float | None
# The arguments of a tool that go into headers: from the path to the header and the JSON type.
Mirrored: TypeAlias = Mapping[tuple[str, ...], tuple[str, str]]

_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_MIRRORED_TYPES = ("string", "integer", "boolean")


class Message(msgspec.Struct, frozen=True):
    """A JSON-RPC message, read only as far as needed to pass it on."""

    method: str | UnsetType = UNSET
    id: Id | UnsetType = UNSET
    params: msgspec.Raw | UnsetType = UNSET
    result: msgspec.Raw | UnsetType = UNSET
    error: msgspec.Raw | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not UNSET and self.id is not UNSET

    @property
    def is_response(self) -> bool:
        return self.method is UNSET and (self.result is not UNSET or self.error is not UNSET)


class _Params(msgspec.Struct, frozen=True):
    meta: dict[str, Any] = msgspec.field(default_factory=dict, name="_meta")
    name: Any = None
    uri: Any = None
    arguments: msgspec.Raw | UnsetType = UNSET
    cursor: Any = None
    requestId: Id = None  # noqa: N815 - as it is spelled on the wire


_decode_message = msgspec.json.Decoder(Message).decode
_decode_params = msgspec.json.Decoder(_Params).decode


def read_message(data: bytes) -> Message:
    """Read a message; raises ``msgspec.MsgspecError`` if the bytes are not JSON-RPC."""
    try:
        try:
            message = _decode_message(data)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            message = _decode_message(_replace_half_characters(data))
    except RecursionError:
        raise msgspec.ValidationError("nested too deeply") from None
    if message.method is UNSET and not message.is_response:
        raise msgspec.ValidationError("neither a method nor a result")
    return message


def _replace_half_characters(data: bytes) -> bytes:
    """Return a copy that msgspec can read: JSON may contain half a surrogate pair, as from a text
    that was cut within an emoji."""
    return json.dumps(decode(data), ensure_ascii=False).encode("utf-8", "replace")


def _read_params(message: Message) -> _Params:
    if message.params is UNSET:
        return _Params()
    try:
        return _decode_params(message.params)
    except (msgspec.MsgspecError, RecursionError):  # no method of MCP has such params
        return _Params()


def read_cancelled_id(message: Message) -> Id:
    """Return the id of the request that the client cancels; None for any other message."""
    if message.method != "notifications/cancelled":
        return None
    return _read_params(message).requestId


def begins_listing(message: Message) -> bool:
    """Return True for a request for the first page of the tools."""
    return message.method == "tools/list" and _read_params(message).cursor is None


def build_routing_headers(message: Message, tools: Mapping[str, Mirrored]) -> dict[str, str]:
    """Build the headers that repeat parts of a message; {} for the protocol with a handshake.

    ``tools`` has the arguments that each tool wants in headers.
    """
    params = _read_params(message)
    version = params.meta.get(_VERSION_KEY)
    if message.method is UNSET or not isinstance(version, str) or not _PLAIN.fullmatch(version):
        return {}
    headers = {VERSION: version}
    if _PLAIN.fullmatch(message.method):
        headers["mcp-method"] = message.method
    if (key := _NAMED_BY.get(message.method)) is not None:
        name = getattr(params, key)
        if isinstance(name, str):
            headers["mcp-name"] = encode_value(name)
            if message.method == "tools/call" and (mirrored := tools.get(name)):
                headers |= _mirror(mirrored, _read_arguments(params))
    return headers


def _read_arguments(params: _Params) -> Any:
    try:
        return None if params.arguments is UNSET else msgspec.json.decode(params.arguments)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _mirror(mirrored: Mirrored, arguments: Any) -> dict[str, str]:
    found = {}
    for path, (header, kind) in mirrored.items():
        value = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str | int | float):
            found[header] = encode_value(str(value))
    return found


def encode_value(value: str) -> str:
    """Encode a value for a header: unchanged, or in base64 if a header would change it."""
    if not value or (_PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value)):
        return value
    # UTF-8 cannot encode half a surrogate pair; the server refuses such a request.
    text = value.encode("utf-8", "replace")
    return f"=?base64?{base64.b64encode(text).decode('ascii')}?="


class _Tool(msgspec.Struct, frozen=True):
    name: str
    inputSchema: Any = None  # noqa: N815 - as it is spelled on the wire


class _Listing(msgspec.Struct, frozen=True):
    tools: list[_Tool]


def find_mirrored_arguments(result: bytes | msgspec.Raw) -> dict[str, Mirrored]:
    """Find the arguments that go into headers, in an answer to ``tools/list``."""
    try:
        listing = msgspec.json.decode(result, type=_Listing)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return {tool.name: _find_mirrored(tool.inputSchema) for tool in listing.tools}


def _find_mirrored(schema: Any) -> Mirrored:
    """Find annotated properties; none if two want one header, which makes the schema invalid."""
    found: dict[tuple[str, ...], tuple[str, str]] = {}
    rest: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while rest:
        path, node = rest.pop()
        if not isinstance(node, dict):
            continue
        token, kind = node.get("x-mcp-header"), node.get("type")
        if path and isinstance(token, str) and _TOKEN.fullmatch(token) and kind in _MIRRORED_TYPES:
            found[path] = (f"mcp-param-{token.lower()}", kind)
        properties = node.get("properties")
        if isinstance(properties, dict):
            rest.extend(((*path, name), child) for name, child in properties.items())
    return found if len({header for header, _ in found.values()}) == len(found) else {}
