"""What a type checker knows of a guarded call; checked, never run."""

from typing import assert_type

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from hookline import Hooks


def blocking(hooks: Hooks, client: OpenAI, other: Anthropic) -> None:
    ask = hooks.sync.model_call
    assert_type(
        ask(client.chat.completions.create, model="m", messages=[]),
        ChatCompletion,
    )
    assert_type(ask(client.responses.create, model="m", input="q"), Response)
    assert_type(ask(other.messages.create, model="m", max_tokens=1, messages=[]), Message)
    for chunk in ask(client.chat.completions.create, model="m", messages=[], stream=True):
        print(chunk.choices[0])  # noqa: T201


async def awaited(hooks: Hooks, client: AsyncOpenAI, other: AsyncAnthropic) -> None:
    ask = hooks.session("s").model_call
    assert_type(
        await ask(client.chat.completions.create, model="m", messages=[]),
        ChatCompletion,
    )
    assert_type(await ask(client.responses.create, model="m", input="q"), Response)
    assert_type(await ask(other.messages.create, model="m", max_tokens=1, messages=[]), Message)
    async for chunk in await ask(other.messages.create, model="m", messages=[], stream=True):
        print(chunk.type)  # noqa: T201
