"""Reads of a message what HTTP needs: the headers that repeat parts of it.

From 2026-07-28 on a server refuses a request whose headers disagree with its body. So they are made
from the message that goes out, as a hook may have changed what the client sent.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from hookline.service.mcp.calls import PROTOCOL_VERSION
from hookline.service.mcp.messages import CALL, LIST, Json, Message

VERSION = "mcp-protocol-version"

# The arguments of a tool that go into headers: from the path to the header and the JSON type.
Mirrored: TypeAlias = Mapping[tuple[str, ...], tuple[str, str]]

_NAMED_BY = {CALL: "name", "prompts/get": "name", "resources/read": "uri"}
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PLAIN = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_MIRRORED_TYPES = ("string", "integer", "boolean")


def begins_listing(message: Message) -> bool:
    """Return True for a request for the first page of the tools."""
    return message.method == LIST and message.params.get("cursor") is None


def build_routing_headers(message: Message, tools: Mapping[str, Mirrored]) -> dict[str, str]:
    """Build the headers that repeat parts of a message; {} for the protocol with a handshake.

    ``tools`` has the arguments that each tool wants in headers.
    """
    method, params = message.method, message.params
    meta = params.get("_meta")
    version = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
    if method is None or not isinstance(version, str) or not _PLAIN.fullmatch(version):
        return {}
    headers = {VERSION: version}
    if _PLAIN.fullmatch(method):
        headers["mcp-method"] = method
    name = params.get(_NAMED_BY.get(method, ""))
    if isinstance(name, str):
        headers["mcp-name"] = encode_value(name)
        if method == CALL and (mirrored := tools.get(name)):
            headers |= _mirror(mirrored, params.get("arguments"))
    return headers


def _mirror(mirrored: Mirrored, arguments: Any) -> dict[str, str]:
    headers = {}
    for path, (header, kind) in mirrored.items():
        value = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, str | int | float):
            headers[header] = encode_value(str(value))
    return headers


def encode_value(value: str) -> str:
    """Encode a value for a header: unchanged, or in base64 if a header would change it."""
    if not value or (_PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value)):
        return value
    # UTF-8 cannot encode half a surrogate pair; the server refuses such a request.
    text = value.encode("utf-8", "replace")
    return f"=?base64?{base64.b64encode(text).decode('ascii')}?="


def find_mirrored_arguments(listing: Json) -> dict[str, Mirrored]:
    """Find the arguments that go into headers, in an answer to ``tools/list``."""
    tools = listing.get("tools")
    entries = tools if isinstance(tools, list) else []
    return {
        entry["name"]: _find_mirrored(entry.get("inputSchema"))
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }


def _find_mirrored(schema: Any) -> Mirrored:
    """Find annotated properties; none if two want one header, which makes the schema invalid."""
    mirrored: dict[tuple[str, ...], tuple[str, str]] = {}
    rest: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while rest:
        path, node = rest.pop()
        if not isinstance(node, dict):
            continue
        token, kind = node.get("x-mcp-header"), node.get("type")
        if path and isinstance(token, str) and _TOKEN.fullmatch(token) and kind in _MIRRORED_TYPES:
            mirrored[path] = (f"mcp-param-{token.lower()}", kind)
        properties = node.get("properties")
        if isinstance(properties, dict):
            rest.extend(((*path, name), child) for name, child in properties.items())
    headers = {header for header, _ in mirrored.values()}
    return mirrored if len(headers) == len(mirrored) else {}
