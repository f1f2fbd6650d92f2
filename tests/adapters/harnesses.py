"""The adapters that go through the conformance table, in the order of its columns."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

from tests.kit.adapters import Harness

_NAMES = (
    "agent",
    "langchain",
    "openai_agents",
    "pydantic_ai",
    "adk",
    "genai",
    "claude_agent",
    "strands",
    "plain",
)


def find_harnesses() -> Iterator[Harness]:
    """The ``HARNESS`` of each folder beside this file that has a ``table.py``."""
    for name in _NAMES:
        module = f"tests.adapters.{name}"
        if find_spec(module) is not None and find_spec(f"{module}.table") is not None:
            yield import_module(f"{module}.table").HARNESS


HARNESSES = tuple(find_harnesses())
