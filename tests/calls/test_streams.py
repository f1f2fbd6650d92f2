"""The streams that a caller gets: held back until hooks have answered, or filtered as they come."""

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest

from hookline.calls.streams import (
    HeldStream,
    aclose_stream,
    close_stream,
    filter_stream,
    find_broken,
    is_async_stream,
    merge_chunks,
    read_chunks,
    split_response,
)
from hookline.calls.tool import complete
from hookline.errors import TranslationError

HELLO = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "hello"}}]}
ERROR = {"type": "error", "error": {"message": "overloaded"}}


class Gate:
    """Restricts tools, and refuses none."""

    allowed, observes = frozenset({"read"}), False

    def __init__(self, *, is_strict: bool = False) -> None:
        self.is_strict = is_strict
        self.warnings: list[str] = []
        self.warn = self.warnings.append

    def find_refused(self, _response: Any) -> list[str]:
        return []

    def drop_refused(self, response: Any, _names: Iterable[str]) -> Any:
        return response

    def explain_refused(self, _names: Iterable[str]) -> str:
        return ""


class Stream:
    """A client's stream that says whether it was closed."""

    def __init__(self, chunks: Iterable[Any]) -> None:
        self.chunks, self.closed, self.response = iter(chunks), 0, "HTTP"

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return next(self.chunks)

    def close(self) -> None:
        self.closed += 1


class AsyncStream(Stream):
    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        for chunk in self.chunks:
            return chunk
        raise StopAsyncIteration

    async def close(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.closed += 1


@pytest.mark.parametrize(
    ("chunks", "why"),
    [
        ([], "cannot read a model's stream of no chunks"),
        ([7, 8], "cannot read a model's stream of int chunks"),
        ([{**HELLO, "choices": [4]}, HELLO], "a model's stream is malformed: "),
    ],
)
def test_chunks_that_make_no_response_are_refused(chunks: list[Any], why: str) -> None:
    with pytest.raises(TranslationError, match=why):
        merge_chunks(chunks)


def test_chunks_make_one_response_whichever_of_them_is_known_first() -> None:
    merged = merge_chunks([{"type": "ping"}, HELLO])
    assert merged["choices"][0]["message"]["content"] == "hello"
    assert split_response({"x": 1}) == [{"x": 1}]


def test_a_stream_is_broken_where_its_server_says_so() -> None:
    assert find_broken([HELLO, ERROR, {"type": "error"}]) is ERROR
    assert find_broken([HELLO, {"type": "ping"}, 7]) is None
    assert find_broken([]) is None


@pytest.mark.parametrize("kind", [Stream, AsyncStream])
async def test_a_clients_stream_is_read_to_its_end_and_closed(kind: Any) -> None:
    stream = kind([1, 2])
    assert is_async_stream(stream) is (kind is AsyncStream)
    assert await read_chunks(stream) == [1, 2]
    assert stream.closed == 1


@pytest.mark.parametrize("kind", [Stream, AsyncStream])
async def test_a_clients_stream_that_raises_is_closed_too(kind: Any) -> None:
    stream = kind(1 / number for number in (1, 0))
    with pytest.raises(ZeroDivisionError):
        await read_chunks(stream)
    assert stream.closed == 1


async def test_what_cannot_be_closed_is_left_alone() -> None:
    close_stream(iter([1]))
    await aclose_stream(iter([1]))
    stream = Stream([])
    await aclose_stream(stream)
    assert stream.closed == 1


async def test_a_held_stream_gives_each_chunk_once_with_and_without_await() -> None:
    held = HeldStream([1, 2, 3, 4], "HTTP")
    assert held.response == "HTTP"
    assert next(held) == 1
    assert await anext(held) == 2
    assert [chunk async for chunk in held] == [3, 4]
    assert list(held) == []
    with pytest.raises(StopAsyncIteration):
        await anext(held)


async def test_a_held_stream_that_is_closed_has_nothing_left() -> None:
    held = HeldStream([1, 2])
    with held as entered:
        assert entered is held
    assert list(held) == []
    held = HeldStream([1, 2])
    async with held as entered:
        assert entered is held
    assert list(held) == []
    await HeldStream([1]).aclose()


def test_pings_and_errors_pass_before_the_form_of_a_stream_is_known() -> None:
    gate: Any = Gate(is_strict=True)
    stream = Stream([{"type": "ping"}, ERROR, HELLO])
    filtered = filter_stream(gate, stream)
    assert list(filtered) == [{"type": "ping"}, ERROR, HELLO]
    assert (gate.warnings, filtered.response, stream.closed) == ([], "HTTP", 1)


@pytest.mark.parametrize("is_strict", [False, True])
def test_chunks_that_nobody_can_read_are_told_once(is_strict: bool) -> None:
    gate: Any = Gate(is_strict=is_strict)
    filtered = filter_stream(gate, Stream([7, 8, HELLO]))
    assert list(filtered) == ([HELLO] if is_strict else [7, 8, HELLO])
    then = "it was left out" if is_strict else "its tool calls are not checked"
    [warning] = gate.warnings
    assert warning.endswith(f"stream could not be read (unknown type int): {then}")


def test_a_filtered_stream_closes_the_clients_when_it_is_left() -> None:
    stream, gate = Stream([HELLO, HELLO]), Gate()
    with filter_stream(cast(Any, gate), stream) as filtered:
        assert next(filtered) == HELLO
        assert stream.closed == 0
    assert stream.closed
    assert list(filtered) == []


def test_closing_a_held_stream_is_done_without_an_event_loop() -> None:
    complete(aclose_stream(HeldStream([1])))
    assert list(HeldStream([1]).close().__await__()) == []
