"""Hooks that nobody waits for hold no stream: they get the whole response when it is complete."""

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline import DebugLogger, Hooks
from hookline.calls.streams import observe_stream
from tests.eleven import Json, command

MESSAGES = [{"role": "user", "content": "hi"}]
REQUEST: dict[str, Any] = {"model": "m", "messages": MESSAGES, "stream": True}
# Each run of the hook adds the response that it read as a line.
ASYNC: Json = {"async": True}
OBSERVER = command("cat >> seen", **ASYNC)


def piece(text: str, **more: Any) -> Json:
    return {"choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, **more}]}


CHUNKS = [piece("hel"), piece("lo", finish_reason="stop")]


class Observed:
    """Hooks of which one observes every response; ``more`` are further hooks on AfterModel."""

    def __init__(self, directory: Path, *more: Json, observer: Json = OBSERVER) -> None:
        self.told: list[str] = []
        self._seen = directory / "seen"
        self.hooks = Hooks(
            working_dir=directory,
            hooks={"AfterModel": [{"hooks": [observer, *more]}]},
            debug_logger=DebugLogger(warn=self.told.append),
        )

    def read_seen(self) -> list[Any]:
        """The texts that the observer has read, once all its runs have ended."""
        assert self.hooks.config.engine.wait_for_background(30)
        lines = self._seen.read_text("utf-8").splitlines() if self._seen.exists() else []
        return [json.loads(line)["llm_response"].get("text") for line in lines]


@pytest.fixture
def observed(tmp_path: Path) -> Iterator[Observed]:
    watched = Observed(tmp_path)
    yield watched
    watched.hooks.close()


class Stream:
    """A client's stream: it says how much of it was read, and whether it was closed."""

    def __init__(self, chunks: list[Any], *, breaks: bool = False) -> None:
        self.read, self.closed, self._breaks = 0, 0, breaks
        self._chunks = chunks

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.read < len(self._chunks):
            self.read += 1
            return self._chunks[self.read - 1]
        if self._breaks:
            raise ConnectionError("gone")
        raise StopIteration

    def close(self) -> None:
        self.closed += 1


class AsyncStream(Stream):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        await asyncio.sleep(0)
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    async def close(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        self.closed += 1


def test_the_chunks_pass_as_they_come_and_the_hook_reads_the_whole_once(
    observed: Observed,
) -> None:
    client = Stream(CHUNKS)
    stream = observed.hooks.sync.model_call(lambda **_request: client, **REQUEST)
    assert next(stream) is CHUNKS[0]
    assert client.read == 1
    assert observed.read_seen() == []
    assert list(stream) == CHUNKS[1:]
    assert observed.read_seen() == ["hello"]
    assert (client.closed, observed.told) == (1, [])


async def test_a_stream_that_is_awaited_passes_as_well(observed: Observed) -> None:
    client = AsyncStream(CHUNKS)
    stream = await observed.hooks.model_call(lambda **_request: client, **REQUEST)
    assert await anext(stream) is CHUNKS[0]
    assert client.read == 1
    assert [chunk async for chunk in stream] == CHUNKS[1:]
    assert await asyncio.to_thread(observed.read_seen) == ["hello"]
    assert client.closed == 1


async def test_a_plain_stream_is_observed_inside_a_running_loop_too(observed: Observed) -> None:
    stream = await observed.hooks.model_call(lambda **_request: Stream(CHUNKS), **REQUEST)
    assert list(stream) == CHUNKS
    assert await asyncio.to_thread(observed.read_seen) == ["hello"]


async def test_a_complete_response_is_observed_as_before(observed: Observed) -> None:
    response = {"choices": [{"message": {"role": "assistant", "content": "hello"}}]}
    request = {"model": "m", "messages": MESSAGES}
    assert await observed.hooks.model_call(lambda **_request: response, **request) is response
    assert await asyncio.to_thread(observed.read_seen) == ["hello"]


@pytest.mark.parametrize(
    "waited_for", [command("cat > /dev/null"), command("true", onFailure="block")]
)
def test_one_hook_that_may_change_the_text_holds_all_of_it(
    tmp_path: Path, waited_for: Json
) -> None:
    watched, client = Observed(tmp_path, waited_for), Stream(CHUNKS)
    with watched.hooks as hooks:
        stream = hooks.sync.model_call(lambda **_request: client, **REQUEST)
        assert client.read == 2
        assert list(stream) == CHUNKS
        assert watched.read_seen() == ["hello"]


def test_strict_mode_waits_for_every_hook_so_it_holds(tmp_path: Path) -> None:
    hooks = Hooks(strict=True, working_dir=tmp_path, hooks={"AfterModel": [{"hooks": [OBSERVER]}]})
    client = Stream(CHUNKS)
    with hooks:
        hooks.sync.model_call(lambda **_request: client, **REQUEST)
    assert client.read == 2


@pytest.mark.parametrize("kind", [Stream, AsyncStream])
async def test_hooks_get_nothing_of_a_stream_that_breaks_and_a_warning_says_so(
    observed: Observed, kind: Any
) -> None:
    client = kind(CHUNKS[:1], breaks=True)
    stream = await observed.hooks.model_call(lambda **_request: client, **REQUEST)

    async def read() -> None:
        if kind is Stream:
            list(stream)
        async for _ in stream:
            pass

    with pytest.raises(ConnectionError):
        await read()
    assert await asyncio.to_thread(observed.read_seen) == []
    assert client.closed == 1
    [warning] = observed.told
    assert "AfterModel hooks got nothing" in warning


async def test_a_server_that_reports_the_break_itself_is_no_complete_response(
    observed: Observed,
) -> None:
    error = {"type": "error", "error": {"message": "overloaded"}}
    stream = observed.hooks.sync.model_call(
        lambda **_request: Stream([*CHUNKS[:1], error]), **REQUEST
    )
    assert list(stream) == [*CHUNKS[:1], error]
    assert await asyncio.to_thread(observed.read_seen) == []
    assert len(observed.told) == 1


@pytest.mark.parametrize("ending", ["close", "drop"])
def test_a_stream_that_is_left_early_is_closed_and_told(observed: Observed, ending: str) -> None:
    client = Stream(CHUNKS)
    stream = observed.hooks.sync.model_call(lambda **_request: client, **REQUEST)
    next(stream)
    if ending == "close":
        stream.close()
    del stream
    gc.collect()
    assert client.closed
    assert observed.read_seen() == []
    assert len(observed.told) == 1


async def test_cancelling_the_reader_closes_the_clients_stream(observed: Observed) -> None:
    class Waiting(AsyncStream):
        async def __anext__(self) -> Any:
            if self.read:
                await asyncio.Event().wait()
            return await super().__anext__()

    client = Waiting(CHUNKS)
    stream = await observed.hooks.model_call(lambda **_request: client, **REQUEST)

    async def read() -> None:
        async for _ in stream:
            pass

    reader = asyncio.create_task(read())
    while not client.read:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert client.closed == 1
    assert len(observed.told) == 1


def test_what_the_hook_reads_has_no_calls_that_were_left_out(observed: Observed) -> None:
    observed.hooks.on("BeforeToolSelection")(
        lambda _event: {"hookSpecificOutput": {"toolConfig": {"allowedFunctionNames": ["read"]}}}
    )
    function = {"name": "shell", "arguments": "{}"}
    calls = {"tool_calls": [{"index": 0, "id": "1", "type": "function", "function": function}]}
    chunks = [piece("ok"), {"choices": [{"index": 0, "delta": calls}]}]
    tools = [{"type": "function", "function": {"name": name}} for name in ("read", "shell")]
    stream = observed.hooks.sync.model_call(
        lambda **_request: Stream(chunks), **REQUEST, tools=tools
    )
    assert next(stream) == chunks[0]
    assert "shell" not in json.dumps(list(stream))
    assert observed.read_seen() == ["ok"]


async def test_an_adapter_says_what_its_own_chunks_make_up(observed: Observed) -> None:
    gate = await observed.hooks.model_gate({"model": "m", "contents": "hi"})
    assert (gate.holds_back, gate.observes) == (False, True)

    def merge(chunks: Any) -> Any:
        parts = [{"text": "".join(chunks)}]
        return {"candidates": [{"content": {"role": "model", "parts": parts}}]}

    stream = observe_stream(gate, AsyncStream(["a", "b"]), merge=merge)
    assert [chunk async for chunk in stream] == ["a", "b"]  # type: ignore[union-attr]
    assert await asyncio.to_thread(observed.read_seen) == ["ab"]


def test_a_stream_that_nobody_can_merge_still_passes(observed: Observed) -> None:
    stream = observed.hooks.sync.model_call(lambda **_request: Stream([7, 8]), **REQUEST)
    assert list(stream) == [7, 8]
    assert observed.read_seen() == []
    assert any("AfterModel failed" in warning for warning in observed.told)


def test_an_observer_that_hangs_does_not_delay_the_stream(tmp_path: Path) -> None:
    hanging = command("cat > /dev/null; exec sleep 60", **ASYNC)
    watched = Observed(tmp_path, observer=hanging)
    started = time.monotonic()
    with watched.hooks as hooks:
        assert list(hooks.sync.model_call(lambda **_request: Stream(CHUNKS), **REQUEST)) == CHUNKS
        assert time.monotonic() - started < 20
