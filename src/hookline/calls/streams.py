"""The streams that a caller reads when hooks check a model's stream.

A stream that AfterModel hooks check is read to its end first, so its chunks can be read with and
without await. A stream that is only filtered for forbidden tool calls passes chunk by chunk, and
closes the client's stream when it is read to the end, closed or dropped.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Sequence
from inspect import isawaitable
from typing import Any

from hookline.errors import TranslationError
from hookline.translate.streams import CallFilter, Refusing, find_stream_form
from hookline.translate.values import get

Warn = Callable[[str], None]


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


class FilteredStream:
    """A client's stream without calls of tools that are not allowed."""

    def __init__(self, stream: Any, gate: Refusing, warn: Warn) -> None:
        self._stream = stream
        self._chunks = _filter_chunks(stream, _Passing(gate, warn))
        self.response = getattr(stream, "response", None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._chunks)

    def close(self) -> None:
        """Close the client's stream."""
        self._chunks.close()
        close_stream(self._stream)

    def __enter__(self) -> "FilteredStream":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


class AsyncFilteredStream:
    """A client's asynchronous stream without calls of tools that are not allowed."""

    def __init__(self, stream: Any, gate: Refusing, warn: Warn) -> None:
        self._stream = stream
        self._chunks = _filter_async_chunks(stream, _Passing(gate, warn))
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

    async def __aenter__(self) -> "AsyncFilteredStream":
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()


class _Passing:
    """Decides what passes of a stream, chunk by chunk. An unreadable chunk passes unchanged, in
    strict mode not at all; the first one is logged."""

    def __init__(self, gate: Refusing, warn: Warn) -> None:
        self._gate, self._warn = gate, warn
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
                self._warn(
                    "hooks restrict the tools of this call, and a chunk of the model's stream "
                    f"could not be read ({error}): {then}"
                )
            return [] if self._gate.is_strict else [chunk]


# Functions, not methods: a generator with a reference to its FilteredStream would keep it alive.
def _filter_chunks(stream: Any, passing: _Passing) -> Generator[Any, None, None]:
    try:
        for chunk in stream:
            yield from passing.feed(chunk)
    finally:
        close_stream(stream)


async def _filter_async_chunks(stream: Any, passing: _Passing) -> AsyncGenerator[Any, None]:
    try:
        async for chunk in stream:
            for left in passing.feed(chunk):
                yield left
    finally:
        await aclose_stream(stream)
