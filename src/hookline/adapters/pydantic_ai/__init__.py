"""Hooks in an agent of Pydantic AI: ``Agent(model, capabilities=[HooklineCapability()])``."""

from hookline.adapters.conversations import check_version

# Before the imports that would fail with a message of their own. pydantic-ai brings the slim one.
check_version("pydantic-ai-slim", "pydantic-ai", "2.66", "3")

from hookline.adapters.pydantic_ai.capability import (  # noqa: E402
    HooklineCapability as HooklineCapability,
)
