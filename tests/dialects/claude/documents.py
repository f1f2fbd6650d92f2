"""Events as the dialect is given them."""

from collections.abc import Mapping
from typing import Any

from hookline.dialects.document import EventDocument
from hookline.dialects.tools import ToolAlias
from hookline.wire.events import find_event
from hookline.wire.fired import NO_FACTS, Facts

BASE = {"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/repo"}
HEAD = '{"session_id":"s1","transcript_path":"/t.jsonl","cwd":"/repo",'


def make_document(
    event: str,
    fields: Mapping[str, Any],
    *,
    facts: Facts = NO_FACTS,
    tools: Mapping[str, ToolAlias] | None = None,
) -> EventDocument:
    """An event in the session of all these tests."""
    name = find_event(event)
    assert name is not None
    stamp = {"hook_event_name": event, "timestamp": "2026-01-01T00:00:00.000Z"}
    return EventDocument(name, {**BASE, **stamp, **fields}, facts, tools)
