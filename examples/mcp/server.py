"""A small MCP server on the standard library alone: notes to be read, and mail to be sent."""

import json
import sys
from typing import Any

NOTES = {"monday": "water the plants", "wifi": "the key is AKIAIOSFODNN7EXAMPLE"}
TOOLS = [
    {"name": "read_note", "inputSchema": {"type": "object", "properties": {"name": {}}}},
    {"name": "send_mail", "inputSchema": {"type": "object", "properties": {"to": {}, "text": {}}}},
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        version = params.get("protocolVersion", "2025-11-25")
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "read_note":
        return text(NOTES.get(params["arguments"]["name"], "there is no such note"))
    if method == "tools/call" and params["name"] == "send_mail":
        return text(f"sent to {params['arguments']['to']}")
    return {}


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        result = answer(message["method"], message.get("params", {}))
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
