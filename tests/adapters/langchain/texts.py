"""Names and texts of LangChain's objects."""

import json
from typing import Any


def name_of(tool: Any) -> str:
    """The name of a tool as a model is offered it."""
    if isinstance(tool, dict):
        return str(tool.get("name") or tool.get("function", {}).get("name", ""))
    return str(getattr(tool, "name", None) or tool.__name__)


def dump(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value)
