"""Clients of google-genai whose model calls, tools and turns go through hooks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from google.genai import Client
from google.genai.chats import AsyncChat, AsyncChats, Chat, Chats
from google.genai.client import AsyncClient
from google.genai.live import AsyncLive
from google.genai.models import AsyncModels, Models
from google.genai.types import GenerateContentResponse, HttpOptions

from hookline.adapters.conversations import Conversation, Conversations, Given
from hookline.adapters.genai.http import HTTPClients, drive
from hookline.adapters.genai.models import Call, ModelCalls
from hookline.adapters.genai.tools import ToolGuard
from hookline.adapters.genai.turns import ChatQuestion, ModelQuestion, Turn
from hookline.adapters.steps import complete, make_turn_id
from hookline.calls.tool import Confirm
from hookline.translate.genai import read_declared_names
from hookline.translate.genai_values import field

C = TypeVar("C", bound=Client)
V = TypeVar("V")
SessionId: TypeAlias = str | Callable[[], str | None] | None


def hooked(
    kind: type[C],
    /,
    *,
    hooks: Given = None,
    session_id: SessionId = None,
    confirm: Confirm | None = None,
    turns: bool | None = None,
    **options: Any,
) -> C:
    """A client of ``genai.Client``, made with ``options``, whose calls go through hooks.

    ``hooks`` is a ``Hooks``, a ``hooks.session(id)``, a directory whose settings are loaded, or
    nothing for the working directory's. ``session_id`` names the conversation, or is a function
    that names the one under way. ``confirm`` asks the user where a hook wants it; without it such a
    call is blocked. BeforeAgent and AfterAgent fire for each message of a chat, with
    ``turns=True`` for each ``generate_content`` too, with ``turns=False`` never.
    """
    if not (isinstance(kind, type) and issubclass(kind, Client)):
        raise TypeError(
            "hooked takes the class of a client and its arguments: hooked(genai.Client, api_key=…)"
        )
    hookline = Hookline(Conversations(hooks), session_id, confirm, turns)
    given = options.get("http_options")
    http_options = given if isinstance(given, HttpOptions) else HttpOptions(**(given or {}))
    hookline.http = HTTPClients(http_options, hookline.model_calls.exchange)
    # In the class, since a client may use its models in its constructor.
    shared = {"_hookline": hookline}
    made: type[C] = type(f"Hooked{kind.__name__}", (_HookedClient, kind), shared)
    try:
        client = made(**{**options, "http_options": hookline.http.options})
    except BaseException:
        hookline.http.close()
        raise
    hookline.opens_servers = bool(client.vertexai)
    return client


class Hookline:
    """The state that the parts of a client share."""

    http: HTTPClients
    opens_servers = False

    def __init__(
        self,
        conversations: Conversations,
        session_id: SessionId,
        confirm: Confirm | None,
        turns: bool | None,
    ) -> None:
        self.conversations = conversations
        self._session_id = session_id
        self._turns = turns
        self.model_calls = ModelCalls(self._find_conversation)
        self.tools = ToolGuard(self._make_call, confirm)
        self._views: dict[type, Any] = {}

    def view(self, kind: type[V], of: object) -> V:
        """Return the hooked view of a part, the same each time."""
        seen: V = self._views.get(kind) or self._views.setdefault(kind, _make_view(kind, of, self))
        return seen

    def _find_conversation(self) -> Conversation:
        named = self._session_id
        return self.conversations.of(named() if callable(named) else named)

    def _make_call(self, **options: Any) -> Call:
        return Call(self._find_conversation(), **options)

    def ask_model(
        self, method: Callable[..., Any], model: str, contents: Any, config: Any, *, blocking: bool
    ) -> Turn:
        """Make the turn of a ``generate_content``."""
        if _is_of_a_chat(config):
            self.model_calls.check_way_around("the tools of a Chat that client.chats did not make")
        guarded = self.guard(config, blocking=blocking)
        question = ModelQuestion(method, model, contents, guarded)
        # Nothing says which turn the results of tools belong to.
        turn_id = None if question.goes_on() else make_turn_id()
        call = self._make_call(model=model, turn_id=turn_id, blocking=blocking)
        return Turn(call, question, has_events=self._turns is True)

    def ask_chat(
        self,
        chat: "_HookedChat | _HookedAsyncChat",
        method: Callable[..., Any],
        message: Any,
        config: Any,
        *,
        blocking: bool,
    ) -> Turn:
        """Make the turn of a chat's message, which goes on with that of the message before if it
        brings the results of tools."""
        guarded = self.guard(config, blocking=blocking)
        question = ChatQuestion(chat, method, message, guarded)
        if chat.turn_id is None or not question.goes_on():
            chat.turn_id = make_turn_id()
        call = self._make_call(model=chat.model, turn_id=chat.turn_id, blocking=blocking)
        return Turn(call, question, has_events=self._turns is not False)

    def guard(self, config: Any, *, blocking: bool) -> Any:
        """Return the config with its tools behind hooks."""
        return self.tools.guard(config, opens_servers=self.opens_servers and not blocking)


def _is_of_a_chat(config: Any) -> bool:
    """True if the request comes from a chat that calls its tools itself and that ``client.chats``
    did not make."""
    headers = field(field(config, "httpOptions"), "headers") or {}
    client = headers.get("x-goog-api-client", "")
    return (
        "+chat" in client
        and "+afc" in client
        and bool(field(field(config, "automaticFunctionCalling"), "disable"))
        and read_declared_names(config) != frozenset()
    )


def _make_view(kind: type[V], of: object, hookline: Hookline, **more: Any) -> V:
    """Copy an object of the SDK into a class that has hooks, with attributes of its own."""
    seen = kind.__new__(kind)
    vars(seen).update(vars(of), _hookline=hookline, **more)
    return seen


class _HookedClient(Client):
    _hookline: Hookline

    @property
    def models(self) -> Models:
        return self._hookline.view(_HookedModels, super().models)

    @property
    def chats(self) -> Chats:
        # A chat calls its tools itself, so it sends its requests through the SDK's own models.
        return _make_view(_HookedChats, Chats(modules=super().models), self._hookline)

    @property
    def aio(self) -> AsyncClient:
        return self._hookline.view(_HookedAsyncClient, super().aio)

    def close(self) -> None:
        """End the sessions, each with SessionEnd, and close the HTTP client."""
        complete(self._hookline.conversations.end_all(blocking=True))
        super().close()
        self._hookline.http.close()

    def __del__(self) -> None:
        # Hooks cannot run in a finalizer: only close() ends sessions.
        with suppress(Exception):
            self._hookline.http.close()
        with suppress(Exception):
            asyncio.get_running_loop().create_task(self._hookline.http.aclose())


class _HookedAsyncClient(AsyncClient):
    _hookline: Hookline

    @property
    def models(self) -> AsyncModels:
        return self._hookline.view(_HookedAsyncModels, super().models)

    @property
    def chats(self) -> AsyncChats:
        return _make_view(_HookedAsyncChats, AsyncChats(modules=super().models), self._hookline)

    @property
    def live(self) -> AsyncLive:
        self._hookline.model_calls.check_way_around("live")
        return super().live

    async def aclose(self) -> None:
        """End the sessions, each with SessionEnd, and close the async HTTP client."""
        await self._hookline.conversations.end_all(blocking=False)
        await super().aclose()
        await self._hookline.http.aclose()

    def __del__(self) -> None:
        """Do nothing: this is a view, and the client it belongs to closes everything."""


class _HookedModels(Models):
    _hookline: Hookline

    def generate_content(
        self, *, model: str, contents: Any, config: Any = None
    ) -> GenerateContentResponse:
        ask = super().generate_content
        turn = self._hookline.ask_model(ask, model, contents, config, blocking=True)
        response: GenerateContentResponse = complete(turn.run())
        return response

    def generate_content_stream(
        self, *, model: str, contents: Any, config: Any = None
    ) -> Iterator[GenerateContentResponse]:
        ask = super().generate_content_stream
        turn = self._hookline.ask_model(ask, model, contents, config, blocking=True)
        return drive(turn.stream())


class _HookedAsyncModels(AsyncModels):
    _hookline: Hookline

    async def generate_content(
        self, *, model: str, contents: Any, config: Any = None
    ) -> GenerateContentResponse:
        ask = super().generate_content
        turn = self._hookline.ask_model(ask, model, contents, config, blocking=False)
        response: GenerateContentResponse = await turn.run()
        return response

    async def generate_content_stream(
        self, *, model: str, contents: Any, config: Any = None
    ) -> AsyncIterator[GenerateContentResponse]:
        ask = super().generate_content_stream
        return self._hookline.ask_model(ask, model, contents, config, blocking=False).stream()


class _HookedChats(Chats):
    _hookline: Hookline

    def create(self, *, model: str, config: Any = None, history: Any = None) -> Chat:
        guarded = self._hookline.guard(config, blocking=True)
        chat = super().create(model=model, config=guarded, history=history)
        return _make_view(_HookedChat, chat, self._hookline, model=model, turn_id=None)


class _HookedAsyncChats(AsyncChats):
    _hookline: Hookline

    def create(self, *, model: str, config: Any = None, history: Any = None) -> AsyncChat:
        guarded = self._hookline.guard(config, blocking=False)
        chat = super().create(model=model, config=guarded, history=history)
        return _make_view(_HookedAsyncChat, chat, self._hookline, model=model, turn_id=None)


class _HookedChat(Chat):
    _hookline: Hookline
    model: str
    turn_id: str | None

    def send_message(self, message: Any, config: Any = None) -> GenerateContentResponse:
        ask = super().send_message
        turn = self._hookline.ask_chat(self, ask, message, config, blocking=True)
        response: GenerateContentResponse = complete(turn.run())
        return response

    def send_message_stream(
        self, message: Any, config: Any = None
    ) -> Iterator[GenerateContentResponse]:
        ask = super().send_message_stream
        return drive(self._hookline.ask_chat(self, ask, message, config, blocking=True).stream())


class _HookedAsyncChat(AsyncChat):
    _hookline: Hookline
    model: str
    turn_id: str | None

    async def send_message(self, message: Any, config: Any = None) -> GenerateContentResponse:
        ask = super().send_message
        turn = self._hookline.ask_chat(self, ask, message, config, blocking=False)
        response: GenerateContentResponse = await turn.run()
        return response

    async def send_message_stream(
        self, message: Any, config: Any = None
    ) -> AsyncIterator[GenerateContentResponse]:
        ask = super().send_message_stream
        return self._hookline.ask_chat(self, ask, message, config, blocking=False).stream()
