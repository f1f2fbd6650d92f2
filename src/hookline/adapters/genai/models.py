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
from hookline.adapters.conversations import Conversation
from hookline.adapters.genai import rest
from hookline.adapters.genai.http import make_response, make_stream, read_bytes, with_content
from hookline.adapters.steps import (
    Keep,
    ModelStep,
    Replace,
    Reply,
    RunState,
    Send,
    SendBack,
    outer_run,
)
from hookline.agent.providers.genai import GenAIConversation
from hookline.errors import HooklineError, TranslationError
from hookline.runner.loop import run_blocking
from hookline.translate.genai import GenAITranslator
from hookline.translate.genai_values import field
from hookline.wire.events import HookEventName

if TYPE_CHECKING:
    import httpx

_STREAMS = GenAIConversation("camel")


class Opened(msgspec.Struct, frozen=True):
    """A request that hooks have seen: ``answer`` is the response in its place, None if it may be
    sent; ``content`` is its body if hooks changed it. ``holds_back`` says that a stream may not be
    shown before its end."""

    step: ModelStep
    holds_back: bool = False
    path: str | None = None
    content: bytes | None = None
    answer: Any = None


class Call(RunState):
    """One call of the program. A stop of hooks answers its next request; only hooks can set it, no
    message can."""

    def __init__(
        self,
        conversation: Conversation,
        *,
        model: str = "model",
        turn_id: str | None = None,
        blocking: bool = False,
    ) -> None:
        super().__init__(
            conversation,
            outer=outer_run(conversation),
            agent=model,
            turn_id=turn_id,
            blocking=blocking,
        )
        # How many requests were made so far, including those answered after a stop.
        self.requests = 0
        # Requests that failed, by path and body: the SDK may try them again.
        self.failed: dict[tuple[str, bytes], Opened] = {}

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
        call = current_call() or Call(self._find_conversation(), model=target.model)
        call.requests += 1
        content = request.content
        opened = call.failed.pop((path, content), None) if call.failed else None
        if opened is None:
            if call.may_skip_model():
                passed: httpx.Response = await settle(send(request))
                return passed
            step = ModelStep(call, blocking=blocking)
            opened = await _open_request(step, call, content, target, path)
        if opened.answer is not None:
            return _make_answer(request, target, opened.answer)
        call.failed[path, content] = opened
        if opened.content is not None:
            request = with_content(request, opened.content, opened.path)
        response = await settle(send(request))
        if response.is_error:
            return response
        del call.failed[path, content]
        step = opened.step
        if step.allowed is None and call.may_skip(HookEventName.AFTER_MODEL):
            return response
        if target.streams:
            follow = _hold_stream if opened.holds_back else _pass_stream
            chunks = follow(step, read_bytes(response, blocking=blocking))
            stream = make_stream(response, chunks, blocking=blocking)
            return make_response(request, stream, like=response)
        given = rest.read_response(response.content)
        kept = await _finish_response(step, given)
        return response if kept is given else make_response(request, _encode(kept), like=response)


async def _open_request(
    step: ModelStep, call: Call, content: bytes, target: rest.Target, path: str
) -> Opened:
    """Fire the events before a model call."""
    body, given = rest.read_request(content, target.model)
    is_read = isinstance(given, dict)

    def show(texts: list[str]) -> Any:
        return rest.add_texts(given, texts) if texts and is_read else given

    opening = await step.open(show)
    if not isinstance(opening, Send):
        return Opened(step, answer=_read_answer(opening))
    request = opening.request
    # Calls that are streamed in pieces name the tool in the first alone.
    holds_back = opening.holds_back or (opening.allowed is not None and _streams_arguments(request))
    if request is given or not is_read:
        return Opened(step, holds_back)
    model = request.get("model") or target.model
    changed = None
    if model != target.model:
        changed = rest.with_model(path, target.model, model)
        if changed is None:
            call.face.warn(
                f"a hook set the model {model}, which cannot replace {target.model}; it was ignored"
            )
    try:
        return Opened(step, holds_back, changed, rest.write_request(request, body))
    except (TranslationError, TypeError, ValueError) as error:
        # Sending the original would undo what hooks did.
        told = f"hooks changed this request into one that cannot be sent: {error}"
        call.face.warn(told)
        return Opened(step, answer=GenAITranslator().empty_response(told))


def _read_answer(decision: Reply | Replace | SendBack) -> Any:
    """Return the response that hooks put in place of the model's."""
    assert not isinstance(decision, SendBack), "turns end with their question"
    if isinstance(decision, Reply) and decision.response is None:
        return GenAITranslator().empty_response(decision.text)
    return decision.response


async def _finish_response(step: ModelStep, response: Any) -> Any:
    """Return the complete response as hooks leave it; the same object if they change nothing."""
    kept = step.drop_refused(response)
    closing = await step.close(kept)
    return kept if isinstance(closing, Keep) else _read_answer(closing)


def _streams_arguments(request: Any) -> bool:
    calling = field(field(field(request, "config"), "toolConfig"), "functionCallingConfig")
    return bool(field(calling, "streamFunctionCallArguments"))


async def _hold_stream(
    step: ModelStep, data: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Hold back a stream until hooks have seen all of it."""
    came = [event async for event in _read_events(data)]
    chunks = [chunk for event in came if (chunk := rest.read_event(event)) is not None]
    broken = next(filter(_is_error, chunks), None)
    if broken is not None:
        # The response is incomplete, so none of it may be shown.
        yield rest.write_event(broken)
        return
    response = _merge(chunks)
    kept = await _finish_response(step, response)
    yield b"".join(came) if kept is response else rest.write_event(kept)


async def _pass_stream(
    step: ModelStep, data: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Pass a stream on as it comes, without calls of tools that are not allowed; hooks that cannot
    change it see it at its end."""
    chunks: list[Any] = []
    async with aclosing(_read_events(data)) as events:
        async for event in events:
            chunk = rest.read_event(event)
            if chunk is None:
                yield event
                continue
            kept = chunk if _is_error(chunk) else step.drop_refused(chunk)
            chunks.append(kept)
            yield event if kept is chunk else rest.write_event(kept)
    if not any(map(_is_error, chunks)):
        await step.close(_merge(chunks))


async def _read_events(data: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the events of a stream unchanged, the last one also if no empty line ends it."""
    reader = EventReader(rest.LARGEST_EVENT)
    async with aclosing(data):
        async for piece in data:
            for event in reader.feed(piece):
                yield event.raw
    if (last := reader.end()) is not None:
        yield last.raw


def _is_error(chunk: Any) -> bool:
    return isinstance(chunk, dict) and "error" in chunk


def _merge(chunks: list[Any]) -> Any:
    """Return the response that chunks make up; the chunks themselves if nobody can read them: then
    AfterModel fails as for any response of unknown shape."""
    try:
        return _STREAMS.merged(chunks)
    except (TranslationError, TypeError, AttributeError):
        return chunks


def _make_answer(request: "httpx.Request", target: rest.Target, answer: Any) -> "httpx.Response":
    """Make the HTTP response for an answer in the model's place."""
    return make_response(request, rest.write_event(answer) if target.streams else _encode(answer))


def _encode(response: Any) -> bytes:
    return json.dumps(response).encode()
