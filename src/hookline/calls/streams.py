"""The streams that a caller reads when hooks check or observe a model's stream.

A stream that AfterModel hooks may change is held back: it is read to its end first, so its chunks
can be read with and without await. Any other passes chunk by chunk, without forbidden tool calls,
and closes the client's stream when it is read to the end, closed or dropped; hooks that observe it
get the complete response at its end.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline.calls.tool import complete
from hookline.errors import TranslationError
from hookline.translate.streams import CallFilter, find_stream_form
from hookline.translate.values import get

if TYPE_CHECKING:
    from hookline.calls.model import ModelGate

STREAM_BROKE = (
    "a model's stream broke or was closed before its end: AfterModel hooks got nothing of it"
)
# Makes the response that all chunks of a stream make up.
Merge: TypeAlias = Callable[[Sequence[Any]], Any]


def is_async_stream(value: object) -> bool:
    """True if the chunks of a client's stream must be awaited."""
    return hasattr(value, "__anext__") or hasattr(value, "__aiter__")


async def read_chunks(stream: Any) -> list[Any]:
    """Read all chunks of a client's stream, and close it whatever happens."""
    if not is_async_stream(stream):
        try:
            return list(stream)
        finally:
            close_stream(stream)
    try:
        return [chunk async for chunk in stream]
    finally:
        await aclose_stream(stream)


def merge_chunks(chunks: Sequence[Any]) -> Any:
    """Merge chunks into the response they make up; raises TranslationError for unknown chunks."""
    form = next((form for chunk in chunks if (form := find_stream_form(chunk)) is not None), None)
    if form is None:
        what = f"{type(chunks[0]).__name__} chunks" if chunks else "no chunks"
        raise TranslationError(f"cannot read a model's stream of {what}")
    try:
        return form.merge(chunks)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise TranslationError(f"a model's stream is malformed: {error!r}") from None


def find_broken(chunks: Sequence[Any]) -> Any | None:
    """Return the chunk with which the server reports that its stream broke, None if it did not."""
    return next((chunk for chunk in chunks if get(chunk, "type") == "error"), None)


def split_response(response: Any) -> list[Any]:
    """Split a response into chunks; into itself alone if its API has no known chunks."""
    form = find_stream_form(response)
    return [response] if form is None else form.split(response)


def close_stream(stream: Any) -> None:
    """Close a client's stream, if it can be closed."""
    close = getattr(stream, "close", None)
    if close is not None:
        close()


async def aclose_stream(stream: Any) -> None:
    """Close a client's stream, if it can be closed, and wait until it is."""
    close = getattr(stream, "aclose", None) or getattr(stream, "close", None)
    closing = close() if close is not None else None
    if isawaitable(closing):
        await closing


class _Closed:
    """The result of a ``close()`` that is done: it may be awaited, but need not be."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class HeldStream:
    """Chunks that were read before, for ``for`` and ``async for``, ``with`` and ``async with``.

    ``response`` is the HTTP response of the client's own stream, if it has one.
    """

    def __init__(self, chunks: Sequence[Any], response: Any = None) -> None:
        self._chunks = iter(chunks)
        self.response = response

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._chunks)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        for chunk in self._chunks:
            return chunk
        raise StopAsyncIteration

    def close(self) -> _Closed:
        """Drop the unread chunks; the client's stream is closed already."""
        self._chunks = iter(())
        return _Closed()

    aclose = close

    def __enter__(self) -> "HeldStream":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def __aenter__(self) -> "HeldStream":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.close()


class PassingStream:
    """A client's stream that passes chunk by chunk."""

    def __init__(self, stream: Any, passage: "_Passage") -> None:
        self._stream = stream
        self._chunks = _pass_chunks(stream, passage)
        self.response = getattr(stream, "response", None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._chunks)

    def close(self) -> None:
        """Close the client's stream."""
        self._chunks.close()
        close_stream(self._stream)

    def __enter__(self) -> "PassingStream":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class AsyncPassingStream:
    """A client's asynchronous stream that passes chunk by chunk."""

    def __init__(self, stream: Any, passage: "_Passage") -> None:
        self._stream = stream
        self._chunks = _pass_async_chunks(stream, passage)
        self.response = getattr(stream, "response", None)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        return await anext(self._chunks)

    async def close(self) -> None:
        """Close the client's stream."""
        await self._chunks.aclose()
        await aclose_stream(self._stream)

    aclose = close

    async def __aenter__(self) -> "AsyncPassingStream":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()


def observe_stream(
    gate: "ModelGate", stream: Any, *, merge: Merge = merge_chunks
) -> "PassingStream | AsyncPassingStream":
    """Return a stream of the same chunks, passed on as they come, whose complete response hooks
    get when it is read to its end: for a gate that ``observes``.

    A stream that must be awaited gives one that must be awaited. ``merge`` makes the response of
    all chunks, after the last of them. Hooks get nothing of a stream that breaks, or that is
    closed before its end; a warning says so.
    """
    return _make_passing(stream, _Passage(gate, merge=merge))


def filter_stream(gate: "ModelGate", stream: Any) -> Any:
    """Return a stream without calls of tools that the gate does not allow, whose response hooks
    get if the gate ``observes``; the client's own stream if no hook is concerned."""
    merge = merge_chunks if gate.observes else None
    if gate.allowed is None and merge is None:
        return stream
    refusing = None if gate.allowed is None else _CallRefusal(gate)
    return _make_passing(stream, _Passage(gate, refusing, merge=merge))


def _make_passing(stream: Any, passage: "_Passage") -> "PassingStream | AsyncPassingStream":
    kind = AsyncPassingStream if is_async_stream(stream) else PassingStream
    return kind(stream, passage)


class _Passage:
    """What happens to a stream on its way to the caller: forbidden calls are left out, if there is
    a ``refusal``; hooks get what has passed, if there is a ``merge``."""

    def __init__(
        self, gate: "ModelGate", refusal: "_CallRefusal | None" = None, *, merge: Merge | None
    ) -> None:
        self._gate, self._refusal, self._merge = gate, refusal, merge
        self._chunks: list[Any] = []

    def feed(self, chunk: Any) -> list[Any]:
        chunks = [chunk] if self._refusal is None else self._refusal.feed(chunk)
        if self._merge is not None:
            self._chunks += chunks
        return chunks

    def end(self) -> None:
        """Fire AfterModel for a stream that was read to its end without await."""
        if self._is_whole():
            complete(self._gate.as_blocking.observe(self._read_response()))

    async def aend(self) -> None:
        """Fire AfterModel for a stream that was read to its end."""
        if self._is_whole():
            await self._gate.observe(self._read_response())

    def abandon(self) -> None:
        """Say that hooks do not get what has passed."""
        if self._merge is not None:
            self._gate.warn(STREAM_BROKE)

    def _is_whole(self) -> bool:
        if self._merge is None:
            return False
        if find_broken(self._chunks) is not None:
            self.abandon()
            return False
        return True

    def _read_response(self) -> Any:
        assert self._merge is not None
        try:
            return self._merge(self._chunks)
        except Exception:
            # The caller has its chunks. If no translator knows them, the event fails as for any
            # response of an unknown shape.
            return self._chunks


class _CallRefusal:
    """Leaves forbidden calls out of a stream, chunk by chunk. An unreadable chunk passes unchanged,
    in strict mode not at all; the first one is logged."""

    def __init__(self, gate: "ModelGate") -> None:
        self._gate = gate
        self._filter: CallFilter | None = None
        self._has_warned = False

    def feed(self, chunk: Any) -> list[Any]:
        try:
            if self._filter is None:
                form = find_stream_form(chunk)
                if form is None:
                    if get(chunk, "type") in ("ping", "error"):
                        return [chunk]
                    raise TranslationError(f"unknown type {type(chunk).__name__}")
                self._filter = form.filter_calls(self._gate)
            return self._filter.feed(chunk)
        except Exception as error:
            if not self._has_warned:
                self._has_warned = True
                is_strict = self._gate.is_strict
                then = "it was left out" if is_strict else "its tool calls are not checked"
                self._gate.warn(
                    "hooks restrict the tools of this call, and a chunk of the model's stream "
                    f"could not be read ({error}): {then}"
                )
            return [] if self._gate.is_strict else [chunk]


# Functions, not methods: a generator with a reference to its stream would keep it alive.
def _pass_chunks(stream: Any, passage: _Passage) -> Generator[Any, None, None]:
    is_read = False
    try:
        for chunk in stream:
            yield from passage.feed(chunk)
        is_read = True
    finally:
        close_stream(stream)
        if not is_read:
            passage.abandon()
    passage.end()


async def _pass_async_chunks(stream: Any, passage: _Passage) -> AsyncGenerator[Any, None]:
    is_read = False
    try:
        async for chunk in stream:
            for left in passage.feed(chunk):
                yield left
        is_read = True
    finally:
        # The caller may be cancelled while the stream closes.
        if not is_read:
            passage.abandon()
        await aclose_stream(stream)
    await passage.aend()
