"""The model calls of a client: BeforeToolSelection, BeforeModel, the request, AfterModel.

``Call`` is one ``generate_content`` or ``send_message`` of the program, with every request and
every tool call it makes; it is the state that they share.
"""

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import msgspec

from hookline._support.eventstream import EventReader
from hookline.adapters.gates import Conversation, ModelGate
from hookline.adapters.genai import rest
from hookline.adapters.genai.http import make_response, make_stream, read_bytes, with_content
from hookline.agent.providers.genai import GenAIConversation
from hookline.calls.model import RESPONSE_HIDDEN
from hookline.engine.engine import run_blocking
from hookline.errors import HooklineError, TranslationError
from hookline.hooks import Face
from hookline.translate.genai import GenAITranslator
from hookline.translate.genai_values import field
from hookline.wire.events import HookEventName

if TYPE_CHECKING:
    import httpx

_MODEL_EVENTS = (
    HookEventName.BEFORE_TOOL_SELECTION,
    HookEventName.BEFORE_MODEL,
    HookEventName.AFTER_MODEL,
)
_STREAMS = GenAIConversation("camel")


class Opened(msgspec.Struct, frozen=True):
    """A request that hooks have seen: ``answer`` is the response in its place, None if it may be
    sent; ``content`` is its body if hooks changed it."""

    gate: ModelGate
    path: str | None = None
    content: bytes | None = None
    answer: Any = None


class Call:
    """One call of the program. ``stop`` is why hooks end its loop: it answers the next request.
    Only hooks can set it; no message can."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.stop: str | None = None
        # How many requests were made so far, including those answered with ``stop``.
        self.requests = 0
        # Requests that failed, by path and body: the SDK may try them again.
        self.failed: dict[tuple[str, bytes], Opened] = {}

    def face(self, *, blocking: bool) -> Face:
        """The events, for code that awaits or does not."""
        return self.conversation.blocking if blocking else self.conversation.face

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make requests and tools belong to this call, within the context."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


_CURRENT: ContextVar[Call | None] = ContextVar("hookline_genai_call", default=None)


def current_call() -> Call | None:
    """Return the call under way in this context, None if there is none."""
    return _CURRENT.get()


async def settle(value: Any, *, blocking: bool = False) -> Any:
    """Return a value, awaited if it is awaitable; a blocking caller awaits it in another loop."""
    if not isawaitable(value):
        return value
    return run_blocking(lambda: settle(value)) if blocking else await value


def refuse_way_around(conversation: Conversation, what: str) -> None:
    """Warn about a way to a model that hooks do not see; raise in strict mode."""
    told = f"hooks do not see {what} (google-genai)"
    if conversation.hooks.is_strict():
        raise HooklineError(f"{told}, and strict mode does not allow that")
    conversation.face.warn(told)


class ModelCalls:
    """Every request of a client; ``find_conversation`` finds the conversation of a request that
    belongs to no call."""

    def __init__(self, find_conversation: Callable[[], Conversation]) -> None:
        self._find_conversation = find_conversation
        self._told: set[str] = set()

    def check_way_around(self, what: str) -> None:
        """Warn once about each way to a model that hooks do not see; raise in strict mode."""
        conversation = self._find_conversation()
        if what not in self._told or conversation.hooks.is_strict():
            self._told.add(what)
            refuse_way_around(conversation, what)

    async def exchange(
        self,
        request: "httpx.Request",
        send: "Callable[[httpx.Request], Any]",
        *,
        blocking: bool,
    ) -> "httpx.Response":
        """Send a request, between its hooks if it calls a model."""
        path = request.url.path
        target = rest.read_target(request.method, path)
        if target is None:
            around = rest.find_way_around(request.method, path)
            if around is not None:
                self.check_way_around(around)
            response: httpx.Response = await settle(send(request))
            return response
        call = current_call() or Call(self._find_conversation())
        face = call.face(blocking=blocking)
        call.requests += 1
        if call.stop is not None:
            return _make_answer(request, target, GenAITranslator().empty_response(call.stop))
        opened = call.failed.pop((path, request.content), None) if call.failed else None
        if opened is None:
            texts = call.conversation.take()
            if not texts and face.may_skip(*_MODEL_EVENTS):
                passed: httpx.Response = await settle(send(request))
                return passed
            opened = await _open_request(call, face, request.content, target, path, texts)
        if opened.answer is not None:
            return _make_answer(request, target, opened.answer)
        content = request.content
        call.failed[path, content] = opened
        if opened.content is not None:
            request = with_content(request, opened.content, opened.path)
        response = await settle(send(request))
        if response.is_error:
            return response
        del call.failed[path, content]
        gate = opened.gate
        if not gate.holds_back and gate.allowed is None:
            return response
        if target.streams:
            follow = _hold_stream if gate.holds_back or _streams_arguments(gate) else _filter_stream
            chunks = follow(call, gate, read_bytes(response, blocking=blocking))
            stream = make_stream(response, chunks, blocking=blocking)
            return make_response(request, stream, like=response)
        given = rest.read_response(response.content)
        kept = await _finish_response(call, gate, given)
        return response if kept is given else make_response(request, _encode(kept), like=response)


async def _open_request(
    call: Call, face: Face, content: bytes, target: rest.Target, path: str, texts: list[str]
) -> Opened:
    """Fire the events before a model call."""
    body, given = rest.read_request(content, target.model)
    is_read = isinstance(given, dict)
    request = rest.add_texts(given, texts) if texts and is_read else given
    gate = await face.model_gate(request)
    if gate.outcome is not None:
        outcome = gate.outcome
        _keep_message(call, outcome.message)
        call.stop = outcome.stop
        return Opened(gate, answer=outcome.response)
    request = gate.request
    if request is given or not is_read:
        return Opened(gate)
    model = request.get("model") or target.model
    changed = None
    if model != target.model:
        changed = rest.with_model(path, target.model, model)
        if changed is None:
            face.warn(
                f"a hook set the model {model}, which cannot replace {target.model}; it was ignored"
            )
    try:
        return Opened(gate, changed, rest.write_request(request, body))
    except (TranslationError, TypeError, ValueError) as error:
        # Sending the original would undo what hooks did.
        told = f"hooks changed this request into one that cannot be sent: {error}"
        face.warn(told)
        return Opened(gate, answer=gate.make_response(told))


async def _finish_response(call: Call, gate: ModelGate, response: Any) -> Any:
    """Return the complete response as hooks leave it; the same object if they change nothing."""
    kept = gate.refuse_calls(response)
    if not gate.holds_back:
        return kept
    outcome = await gate.finish(kept)
    _keep_message(call, outcome.message)
    if outcome.suppressed:
        call.conversation.face.warn(RESPONSE_HIDDEN)
    if outcome.stop is not None:
        call.stop = outcome.stop
        return gate.make_response(outcome.stop)
    return outcome.response


def _streams_arguments(gate: ModelGate) -> bool:
    """True if calls are streamed in pieces, of which only the first names the tool."""
    calling = field(field(field(gate.request, "config"), "toolConfig"), "functionCallingConfig")
    return bool(field(calling, "streamFunctionCallArguments"))


def _keep_message(call: Call, message: str | None) -> None:
    if message:
        call.conversation.keep(f"[System] {message}")


async def _hold_stream(
    call: Call, gate: ModelGate, data: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Hold back a stream until hooks have seen all of it."""
    came = [event async for event in _read_events(data)]
    chunks = [chunk for event in came if (chunk := rest.read_event(event)) is not None]
    broken = next((c for c in chunks if isinstance(c, dict) and "error" in c), None)
    if broken is not None:
        # The response is incomplete, so none of it may be shown.
        yield rest.write_event(broken)
        return
    response: Any
    try:
        response = _STREAMS.merged(chunks)
    except (TranslationError, TypeError, AttributeError):
        # Hooks cannot read them: AfterModel fails as for any response of unknown shape.
        response = chunks
    kept = await _finish_response(call, gate, response)
    yield b"".join(came) if kept is response else rest.write_event(kept)


async def _filter_stream(
    _call: Call, gate: ModelGate, data: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Pass a stream on as it comes, without calls of tools that are not allowed."""
    async with aclosing(_read_events(data)) as events:
        async for event in events:
            yield _refuse_calls(gate, event)


async def _read_events(data: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the events of a stream unchanged, the last one also if no empty line ends it."""
    reader = EventReader(rest.LARGEST_EVENT)
    async with aclosing(data):
        async for piece in data:
            for event in reader.feed(piece):
                yield event.raw
    if (last := reader.end()) is not None:
        yield last.raw


def _refuse_calls(gate: ModelGate, event: bytes) -> bytes:
    chunk = rest.read_event(event)
    if chunk is None or (isinstance(chunk, dict) and "error" in chunk):
        return event
    kept = gate.refuse_calls(chunk)
    return event if kept is chunk else rest.write_event(kept)


def _make_answer(request: "httpx.Request", target: rest.Target, answer: Any) -> "httpx.Response":
    """Make the HTTP response for an answer in the model's place."""
    return make_response(request, rest.write_event(answer) if target.streams else _encode(answer))


def _encode(response: Any) -> bytes:
    return json.dumps(response).encode()
