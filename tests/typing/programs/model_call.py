"""A model called between hooks, with its own types, whole and as a stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypedDict

from hookline import (
    AfterModelEvent,
    BeforeToolSelectionEvent,
    Hooks,
    Reply,
    map_text,
    only_tools,
    replace_answer,
)

hooks = Hooks()


class Response(TypedDict):
    choices: list[dict[str, Any]]


@hooks.on("BeforeToolSelection")
def read_only(event: BeforeToolSelectionEvent) -> Reply:
    return only_tools(*(name for name in event.get("available_tools", []) if name == "read"))


@hooks.on("AfterModel")
def hide(event: AfterModelEvent) -> Reply | None:
    text = event["llm_response"].get("text", "")
    if "password" in text:
        return replace_answer("[hidden]")
    return map_text(event, lambda part: part.replace("ada@example.org", "[e-mail]"))


def create(*, model: str, messages: list[dict[str, str]]) -> Response:
    text = f"{messages[0]['content']} from {model}, ask ada@example.org"
    said = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "message": said}]}


async def stream(**_request: Any) -> AsyncIterator[dict[str, Any]]:
    for text in ("my pass", "word"):
        yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}}]}


async def main() -> str:
    chunks = await hooks.model_call(stream, model="m", messages=MESSAGES, stream=True)
    parts = [chunk["choices"][0]["delta"].get("content") or "" async for chunk in chunks]
    return "".join(parts)


MESSAGES = [{"role": "user", "content": "hi"}]
response: Response = hooks.sync.model_call(create, model="m", messages=MESSAGES)
assert response["choices"][0]["message"]["content"] == "hi from m, ask [e-mail]"
assert asyncio.run(main()) == "[hidden]"
