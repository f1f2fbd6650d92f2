"""A model behind google-genai that says what a test wants, beneath the SDK's own HTTP client."""

import importlib.util
import json
import ssl
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from google import genai
from google.genai import types

from hookline import Hooks
from hookline.adapters.genai import hooked

# The environments of this project have one each; the SDK works with both.
HTTPX: Any = import_module("httpx" if importlib.util.find_spec("httpx") else "httpx2")
Event: TypeAlias = dict[str, Any]
MODEL = "gemini-2.5-flash"
# The SDK would read all certificates of the machine for each client, which takes 40 ms.
_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def answer_with(handle: Callable[[Any], Any]) -> types.HttpOptions:
    """What has a client ask a function in place of a server."""
    args = {"transport": HTTPX.MockTransport(handle), "verify": _TLS}
    return types.HttpOptions(client_args=args, async_client_args={**args, "ssl": _TLS})


def call(name: str, /, **args: Any) -> dict[str, Any]:
    """A call that the model makes."""
    return {"functionCall": {"name": name, "args": args}}


def reply(*parts: str | Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A complete response of the API."""
    made = [{"text": part} if isinstance(part, str) else dict(part) for part in parts]
    content = {"role": "model", "parts": made}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
        "modelVersion": MODEL,
        **more,
    }


def pieces(response: Mapping[str, Any], size: int = 6) -> list[dict[str, Any]]:
    """The chunks in which the API streams a response."""
    (candidate,) = response["candidates"]
    parts: list[Any] = []
    for part in candidate["content"]["parts"]:
        text = part.get("text")
        if text is None:
            parts.append(part)
        else:
            parts += [{**part, "text": text[at : at + size]} for at in range(0, len(text), size)]
    chunks = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]}
        for part in parts or [{"text": ""}]
    ]
    chunks[-1]["candidates"][0] |= {"finishReason": candidate["finishReason"]}
    usage = response.get("usageMetadata")
    return [*chunks[:-1], {**chunks[-1], **({"usageMetadata": usage} if usage else {})}]


def sse(chunks: Sequence[Any]) -> bytes:
    return b"".join(b"data: %s\r\n\r\n" % json.dumps(chunk).encode() for chunk in chunks)


class Script:
    """Replies one after the other; ``bodies`` and ``paths`` are what it was sent."""

    def __init__(self, *replies: Any) -> None:
        self._replies = iter(replies)
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.raw: list[bytes] = []

    def handle(self, request: Any) -> Any:
        self.raw.append(request.content)
        self.bodies.append(json.loads(request.content))
        self.paths.append(request.url.path)
        said = next(self._replies, None) or reply("Nothing more.")
        said = said(request) if callable(said) else said
        if not isinstance(said, dict):
            return said
        if "stream" in request.url.path:
            return HTTPX.Response(200, content=sse(pieces(said)))
        return HTTPX.Response(200, json=said)

    @property
    def options(self) -> types.HttpOptions:
        """What has a client ask this model."""
        return answer_with(self.handle)

    def client(self, hooks: Any, **options: Any) -> genai.Client:
        return hooked(
            genai.Client, hooks=hooks, api_key="none", http_options=self.options, **options
        )

    def results(self, number: int = -1) -> list[Any]:
        """What the model read as the results of tools in a request."""
        parts = [part for content in self.bodies[number]["contents"] for part in content["parts"]]
        return [p["functionResponse"]["response"] for p in parts if "functionResponse" in p]


def note(hooks: Hooks, *events: str) -> list[Event]:
    """The events of these names, as hooks are given them from now on."""
    noted: list[Event] = []

    def take(event: Event) -> None:
        noted.append(event)

    for name in events:
        hooks.on(name)(take)
    return noted


def text_of(response: types.GenerateContentResponse) -> str:
    """The text of a response or a chunk; its own property warns of calls beside a text."""
    contents = [candidate.content for candidate in (response.candidates or [])[:1]]
    parts = [part for content in contents if content is not None for part in content.parts or []]
    return "".join(part.text for part in parts if part.text)


class Played:
    """What a program sees of a call: all of its chunks or its one response, and the history."""

    def __init__(self) -> None:
        self.responses: list[types.GenerateContentResponse] = []
        self.history: list[types.Content] = []

    @property
    def text(self) -> str:
        return "".join(map(text_of, self.responses))

    @property
    def everything(self) -> str:
        """All that anybody can find in the responses and the history."""
        return json.dumps(
            [
                *(each.model_dump(mode="json", warnings=False) for each in self.responses),
                *(each.model_dump(mode="json", warnings=False) for each in self.history),
            ]
        )


Play: TypeAlias = Callable[..., Any]


async def play_models(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    response = client.models.generate_content(model=MODEL, contents=contents, config=config)
    played.responses, played.history = [response], _history(response)
    return played


async def play_async_models(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    asking = client.aio.models.generate_content(model=MODEL, contents=contents, config=config)
    response = await asking
    played.responses, played.history = [response], _history(response)
    return played


async def play_models_stream(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    played.responses = [
        *client.models.generate_content_stream(model=MODEL, contents=contents, config=config)
    ]
    played.history = _history(played.responses[-1])
    return played


async def play_async_stream(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    chunks = await client.aio.models.generate_content_stream(
        model=MODEL, contents=contents, config=config
    )
    played.responses = [chunk async for chunk in chunks]
    played.history = _history(played.responses[-1])
    return played


async def play_chat(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    chat = client.chats.create(model=MODEL, config=config)
    played.responses = [chat.send_message(contents)]
    played.history = chat.get_history()
    return played


async def play_async_chat(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    chat = client.aio.chats.create(model=MODEL, config=config)
    played.responses = [await chat.send_message(contents)]
    played.history = chat.get_history()
    return played


async def play_chat_stream(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    chat = client.chats.create(model=MODEL, config=config)
    played.responses = [*chat.send_message_stream(contents)]
    played.history = chat.get_history()
    return played


async def play_async_chat_stream(client: genai.Client, contents: Any, config: Any = None) -> Played:
    played = Played()
    chat = client.aio.chats.create(model=MODEL, config=config)
    played.responses = [chunk async for chunk in await chat.send_message_stream(contents)]
    played.history = chat.get_history()
    return played


def _history(response: types.GenerateContentResponse) -> list[types.Content]:
    return response.automatic_function_calling_history or []


PLAYS: dict[str, Play] = {
    "models": play_models,
    "async models": play_async_models,
    "models stream": play_models_stream,
    "async models stream": play_async_stream,
    "chat": play_chat,
    "async chat": play_async_chat,
    "chat stream": play_chat_stream,
    "async chat stream": play_async_chat_stream,
}
