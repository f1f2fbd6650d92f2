"""google-genai in the table, with a scripted transport beneath its HTTP client.

``generate_content`` has no conversation: there the harness keeps the contents, as programs do.
"""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from google import genai
from google.genai import types

from hookline.adapters.genai import hooked
from tests.adapters.genai.playing import (
    HTTPX,
    MODEL,
    answer_with,
    call,
    pieces,
    reply,
    sse,
    text_of,
)
from tests.kit.adapters import DELEGATE, HELPER, Harness, Limit, Message, Run


async def run(run: Run) -> None:
    client = hooked(
        genai.Client,
        hooks=run.hooks,
        session_id=run.session_id,
        confirm=run.confirm,
        turns=True,
        api_key="none",
        http_options=answer_with(partial(_handle, run)),
    )
    is_async = "async" in run.mode
    functions: list[Any] = [tool.coroutine if is_async else tool.function for tool in run.tools]
    if run.delegates:
        functions = [*functions, _make_delegate(client, functions, is_async=is_async)]
    config = types.GenerateContentConfig(tools=functions)
    talk = _Chat(client, config, run) if "chat" in run.mode else _Models(client, config, run)
    for prompt in run.prompts:
        if is_async:
            await talk.say_async(prompt)
        else:
            await asyncio.to_thread(talk.say, prompt)
        run.finish(talk.answer)
    if is_async:
        await client.aio.aclose()
    client.close()


def _make_delegate(client: genai.Client, tools: list[Any], *, is_async: bool) -> Any:
    config = types.GenerateContentConfig(tools=tools)

    def delegate(task: str) -> str:
        """Ask the helper."""
        answer = client.models.generate_content(model=HELPER, contents=task, config=config)
        return text_of(answer)

    async def delegate_async(task: str) -> str:
        """Ask the helper."""
        models = client.aio.models
        return text_of(await models.generate_content(model=HELPER, contents=task, config=config))

    delegate_async.__name__ = DELEGATE
    return delegate_async if is_async else delegate


class _Models:
    """A conversation over ``generate_content``."""

    def __init__(self, client: genai.Client, config: Any, run: Run) -> None:
        self._client, self._config, self._run = client, config, run
        self._history: list[Any] = []
        self.answer = ""

    def say(self, prompt: str) -> None:
        given: Any = self._begin(prompt)
        models = self._client.models
        if self._run.streams:
            self._take([self._show(chunk) for chunk in models.generate_content_stream(**given)])
        else:
            self._take([self._show(models.generate_content(**given))])

    async def say_async(self, prompt: str) -> None:
        given: Any = self._begin(prompt)
        models = self._client.aio.models
        if self._run.streams:
            chunks = await models.generate_content_stream(**given)
            self._take([self._show(chunk) async for chunk in chunks])
        else:
            self._take([self._show(await models.generate_content(**given))])

    def _begin(self, prompt: str) -> dict[str, Any]:
        self._history.append(types.Content(role="user", parts=[types.Part(text=prompt)]))
        return {"model": MODEL, "contents": [*self._history], "config": self._config}

    def _show(self, chunk: types.GenerateContentResponse) -> types.GenerateContentResponse:
        self._run.show(text_of(chunk))
        return chunk

    def _take(self, chunks: list[types.GenerateContentResponse]) -> None:
        self._history = [*(chunks[-1].automatic_function_calling_history or self._history)]
        for content in self._history:
            self._run.show("".join(p.text for p in content.parts or [] if p.text))
        last: list[Any] = []
        for chunk in chunks:
            last = [] if chunk.function_calls else [*last, chunk]
        self.answer = "".join(map(text_of, last))
        self._history.append(types.Content(role="model", parts=[types.Part(text=self.answer)]))


class _Chat:
    """A conversation of the SDK's own."""

    def __init__(self, client: genai.Client, config: Any, run: Run) -> None:
        self._run = run
        self._chat = (
            client.chats.create(model=MODEL, config=config) if "async" not in run.mode else None
        )
        self._async_chat = client.aio.chats.create(model=MODEL, config=config)
        self.answer = ""

    def say(self, prompt: str) -> None:
        assert self._chat is not None
        self.answer = ""
        if self._run.streams:
            for chunk in self._chat.send_message_stream(prompt):
                self._take(chunk)
        else:
            self._take(self._chat.send_message(prompt))
        self._show_history(self._chat.get_history())

    async def say_async(self, prompt: str) -> None:
        self.answer = ""
        if self._run.streams:
            async for chunk in await self._async_chat.send_message_stream(prompt):
                self._take(chunk)
        else:
            self._take(await self._async_chat.send_message(prompt))
        self._show_history(self._async_chat.get_history())

    def _take(self, chunk: types.GenerateContentResponse) -> None:
        self._run.show(text_of(chunk))
        self.answer = "" if chunk.function_calls else self.answer + text_of(chunk)

    def _show_history(self, history: list[types.Content]) -> None:
        for content in history:
            if content.role == "model":
                self._run.show("".join(p.text for p in content.parts or [] if p.text))


def _handle(run: Run, request: Any) -> Any:
    body = json.loads(request.content)
    declared = [d for tool in body.get("tools", []) for d in tool.get("functionDeclarations", [])]
    said = run.next_reply([*_messages(body)], [one["name"] for one in declared])
    parts = [said.text] if said.text else []
    answer = reply(*parts, *(call(one.name, **one.args) for one in said.calls))
    if "stream" in request.url.path:
        return HTTPX.Response(200, content=sse(pieces(answer)))
    return HTTPX.Response(200, json=answer)


def _messages(body: dict[str, Any]) -> Iterator[Message]:
    contents = [("system", body.get("systemInstruction"))]
    contents += [(content.get("role", "user"), content) for content in body["contents"]]
    for role, content in contents:
        for part in (content or {}).get("parts", ()):
            if "text" in part:
                yield Message(role, part["text"])
            elif "functionResponse" in part:
                yield Message("tool", json.dumps(part["functionResponse"]["response"]))


_MODES = (
    *("models", "async models", "models stream", "async models stream"),
    *("chat", "async chat", "chat stream", "async chat stream"),
)
_TURNS = Limit(
    "◐", note="chats", why="`generate_content` is a turn only with `hooked(…, turns=True)`"
)

HARNESS = Harness(
    name="genai",
    title="google-genai 2.34, 3.1",
    modes=_MODES,
    limits={
        "ask": Limit(
            "◐", note="callback", why="`confirm=` asks at once: the SDK's loop cannot be paused"
        ),
        "BeforeAgent block / context": _TURNS,
        "BeforeAgent block forgets the prompt": Limit(
            "◐",
            note="chats",
            why="the contents of `generate_content` are the program's own",
            fails_in=tuple(mode for mode in _MODES if "models" in mode),
        ),
        "AfterAgent send back": _TURNS,
        "SessionStart": Limit(
            "◐", note="first use", why="a conversation begins with its first call in this process"
        ),
        "SessionEnd": Limit(
            "◐", note="close()", why="the SDK does not know that a conversation is over"
        ),
        "PreCompress": Limit("✗", why="a history is compressed by the program alone"),
    },
    run=run,
    delegates=True,
)
