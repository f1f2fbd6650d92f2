"""An agent with three tools on a real client whose server is on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from hookline import Config
from hookline.agent import Agent, AnthropicProvider, Media, OpenAIProvider, Tool
from tests.adapters.providers.server import ModelServer

PIXEL = b"\xfb\xff\xfe"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


@asynccontextmanager
async def openai_served(*replies: Any) -> AsyncIterator[tuple[ModelServer, OpenAIProvider]]:
    with ModelServer(*replies) as server:
        async with AsyncOpenAI(
            api_key="none", base_url=f"{server.url}/v1", max_retries=0
        ) as client:
            yield server, OpenAIProvider("gpt-test", client=client)


@asynccontextmanager
async def anthropic_served(*replies: Any) -> AsyncIterator[tuple[ModelServer, AnthropicProvider]]:
    with ModelServer(*replies) as server:
        async with AsyncAnthropic(api_key="none", base_url=server.url, max_retries=0) as client:
            yield server, AnthropicProvider("claude-test", client=client)


def agent(provider: Any, settings: dict[str, Any] | None = None, **options: Any) -> Agent:
    """An agent whose tools write, fail and draw."""

    def fail(_given: dict[str, Any]) -> str:
        raise OSError("disk full")

    def write(given: dict[str, Any]) -> str:
        return f"wrote {given.get('text')}"

    tools = [
        Tool(name="write", description="writes", parameters=SCHEMA, run=write),
        Tool(name="fail", run=fail),
        Tool(name="draw", run=lambda _given: ["drawn", Media("image/png", PIXEL)]),
    ]
    return Agent(Config(hooks=settings or {}), provider, tools, keep_turns=1, **options)
