"""The REST JSON of the Gemini API and of Vertex as the translator reads it, and event streams.

The body of a request has the settings of a config in two places: beside ``contents``, and in
``generationConfig``. The translator reads one config, and knows the model, which is in the URL.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hookline.translate.genai import accept_config

_CALL = re.compile(r"/(?P<kind>[^/]+)/(?P<name>[^/]+):(?P<method>g|streamG)enerateContent$")
# Requests that call a model or an agent where hooks cannot see it.
_AROUND = re.compile(r"(/interactions|/executions|:batchGenerateContent|/batchPredictionJobs)$")
# Fields of a config that hooks can add and that stand beside the contents.
_BESIDE = frozenset({"systemInstruction", "system_instruction", "toolConfig", "tool_config"})
_APART = frozenset({"contents", "generationConfig", "generation_config"})
# More than any chunk of a response has, with images in it.
LARGEST_EVENT = 64 * 1024 * 1024


class Target(NamedTuple):
    """The model that a request is for, and whether it asks for a stream."""

    model: str
    streams: bool


def read_target(method: str, path: str) -> Target | None:
    """Read the model and the method from a path; None if it is no model call that hooks see."""
    found = _CALL.search(path) if method == "POST" else None
    if found is None:
        return None
    named = found["name"] if found["kind"] == "models" else f"{found['kind']}/{found['name']}"
    return Target(named, found["method"] == "streamG")


def find_way_around(method: str, path: str) -> str | None:
    """Return the API of a request that calls a model without hooks, None for other requests."""
    found = _AROUND.search(path) if method == "POST" else None
    return None if found is None else found[1].strip("/:")


def with_model(path: str, old: str, new: str) -> str | None:
    """Return the path of a call for another model; None if the model cannot be replaced."""
    if "/" in old or "/" in new.removeprefix("models/"):
        return None
    head, _, method = path.rpartition(f"/{old}:")
    return f"{head}/{new.removeprefix('models/')}:{method}"


def read_request(content: bytes, model: str) -> tuple[Any, Any]:
    """Return a request's body, and the request as the translator reads it. A body that is not a
    JSON object is returned as both: the translator reports what is wrong with it."""
    try:
        body = json.loads(content)
    except ValueError:
        body = content.decode(errors="replace")
    if not isinstance(body, dict):
        return body, body
    config: dict[str, Any] = {}
    for name in ("generationConfig", "generation_config"):
        if isinstance(held := body.get(name), Mapping):
            config |= held
    config |= {name: value for name, value in body.items() if name not in _APART}
    return body, {"model": model, "contents": body.get("contents"), "config": config}


def write_request(request: Mapping[str, Any], body: Mapping[str, Any]) -> bytes:
    """Return the body of a request that hooks changed."""
    config = accept_config(request.get("config")) or {}
    beside = {*body, *_BESIDE}
    settings = {name: value for name, value in config.items() if name not in beside}
    written = {
        "contents": request["contents"],
        **{name: value for name, value in config.items() if name in beside},
        **({"generationConfig": settings} if settings else {}),
    }
    return json.dumps(written).encode()


def add_texts(request: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    """Return the request with texts for the model added at its end."""
    added = {"role": "user", "parts": [{"text": text} for text in texts]}
    return {**request, "contents": [*(request.get("contents") or ()), added]}


def read_response(content: bytes) -> Any:
    """Read a response; the text itself if it is not JSON, which hooks cannot read. The SDK takes an
    empty body for an empty response."""
    try:
        return json.loads(content or b"{}")
    except ValueError:
        return content.decode(errors="replace")


def write_event(chunk: Any) -> bytes:
    """Write a chunk as an event of a stream."""
    return b"data: %s\r\n\r\n" % json.dumps(chunk).encode()


def read_event(event: bytes) -> Any:
    """Return the chunk that an event holds, None for a comment, a text if it is not JSON. As in the
    SDK, a line without ``data:`` is JSON too: errors come that way."""
    lines = (line for line in event.splitlines() if not line.startswith(b":"))
    joined = b"\n".join(line.removeprefix(b"data:") for line in lines).strip()
    return read_response(joined) if joined else None
