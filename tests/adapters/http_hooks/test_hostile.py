"""A server that is slow, huge or broken: bounded in time and size, and a failure."""

import asyncio
import gzip
import itertools
import time
import zlib
from collections.abc import Callable

import pytest

from hookline.runner.context import RunLimits
from tests.adapters.http_hooks.asked import Handler, answer, ask, http_hook, write
from tests.adapters.mcp_http.rawserver import RawServer, Request
from tests.runner.planned import run, run_one, script

HEAD = b"HTTP/1.1 200 OK\r\n"
LIMIT = {"limits": RunLimits(max_stdout=100_000)}


def drip(first: bytes, piece: bytes) -> Handler:
    async def handler(request: Request) -> None:
        await request.write(first)
        while True:
            await request.write(piece)
            await asyncio.sleep(0.01)

    return handler


async def keep_silent(_request: Request) -> None:
    await asyncio.sleep(60)


SLOW: dict[str, Handler] = {
    "silence": keep_silent,
    "silence after the head": write(HEAD + b"content-length: 9\r\n\r\n", hang_up=False),
    "one byte of a status line": write(b"H", hang_up=False),
    "headers that drip": drip(HEAD, b"x-a: b\r\n"),
    "a body that drips": drip(HEAD + b"content-length: 99999\r\n\r\n", b" "),
    "chunks that drip": drip(HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
    "a refusal that drips": drip(b"HTTP/1.1 500 X\r\ncontent-length: 99999\r\n\r\n", b" "),
    "endless interim responses": drip(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "trailers that drip": drip(
        HEAD + b"transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", b"x-a: b\r\n"
    ),
}


@pytest.mark.parametrize("handler", SLOW.values(), ids=SLOW)
async def test_the_timeout_bounds_all_of_a_call(handler: Handler) -> None:
    started = time.monotonic()
    async with RawServer(handler) as server:
        result = await run_one(http_hook(server.url, timeout=150))
        while server.left < 1:
            await asyncio.sleep(0.005)
    assert (result.failed, result.success) == ("timeout", False)
    assert "its timeout of 150 ms" in str(result.error)
    assert time.monotonic() - started < 5


async def test_a_server_that_never_shakes_hands_is_given_up_and_left() -> None:
    async with RawServer(keep_silent) as server:
        url = server.url.replace("http:", "https:")
        result = await run_one(http_hook(url, timeout=300))
        while server.left < 1:
            await asyncio.sleep(0.005)
    assert result.failed == "timeout"


async def test_a_name_server_that_never_answers_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import socket
    import threading

    released = threading.Event()

    def look_up(*_arguments: object, **_options: object) -> list[object]:
        released.wait(30)
        raise OSError("no answer")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    try:
        result = await run_one(http_hook("https://hook.example/", timeout=100))
    finally:
        released.set()
    assert result.failed == "timeout"


async def test_lookups_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup cannot be stopped: an event for each would leave a thread for each."""
    import socket
    import threading

    released = threading.Event()
    before = threading.active_count()

    def look_up(*_arguments: object, **_options: object) -> list[object]:
        released.wait(30)
        raise OSError("no answer")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    try:
        hooks = [http_hook("https://hook.example/", name=f"h{n}", timeout=300) for n in range(80)]
        results = await run(*hooks)
        threads = threading.active_count() - before
    finally:
        released.set()
    assert [result.failed for result in results].count("timeout") == threads == 64
    assert {result.failed for result in results} == {"timeout", "spawn"}


async def endless(request: Request) -> None:
    await request.write(HEAD + b"transfer-encoding: chunked\r\n\r\n")
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    while True:
        await request.write(piece)


GZIP = "content-encoding: gzip\r\n"
TOO_MUCH: dict[str, tuple[Handler, str]] = {
    "a body without an end": (endless, "output_limit"),
    "a body that says it is long": (answer(b" " * 100_001), "output_limit"),
    "a body up to the end of the connection": (
        write(HEAD + b"\r\n" + b" " * 200_000),
        "output_limit",
    ),
    "gzip": (
        answer(gzip.compress(b" " * 9_000_000), extra=GZIP),
        "malformed",
    ),
    "deflate": (answer(zlib.compress(b"{}"), extra="content-encoding: deflate\r\n"), "malformed"),
    "an unknown encoding": (answer({}, extra="content-encoding: x\r\n"), "malformed"),
    "compressed transfer": (
        write(HEAD + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        "error",
    ),
    "a header without an end": (write(HEAD + b"x-a: " + b"b" * 300_000), "error"),
    "headers without an end": (write(HEAD + b"x-a: b\r\n" * 50_000), "error"),
    "interim responses without an end": (
        write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000, hang_up=False),
        "error",
    ),
    "trailers without an end": (
        write(HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n" + b"x-a: b\r\n" * 50_000),
        "error",
    ),
    "an extension of a chunk without an end": (
        write(HEAD + b"transfer-encoding: chunked\r\n\r\n1;" + b"a" * 300_000),
        "error",
    ),
    "a status line without an end": (write(b"HTTP/1.1 200 " + b"b" * 300_000), "error"),
}


@pytest.mark.parametrize(("handler", "failed"), TOO_MUCH.values(), ids=TOO_MUCH)
async def test_what_is_too_large_or_compressed_is_refused(handler: Handler, failed: str) -> None:
    result = await ask(handler, context=LIMIT)
    assert (result.success, result.failed) == (False, failed)
    assert result.error


def in_chunks(body: bytes) -> Handler:
    pieces = (body[:60_000], body[60_000:])
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return write(HEAD + b"transfer-encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")


@pytest.mark.parametrize("send", [answer, in_chunks])
async def test_a_body_of_just_the_limit_is_read_and_one_byte_more_is_not(
    send: Callable[[bytes], Handler],
) -> None:
    body = b'{"decision": "deny", "reason": "r"}'.ljust(100_000)
    within, over = [await ask(send(sent), context=LIMIT) for sent in (body, body + b" ")]
    assert within.output == {"decision": "deny", "reason": "r"}
    assert (over.failed, over.output, over.stdout) == ("output_limit", None, "")
    assert "sent more than 100000 bytes" in str(over.error)


@pytest.mark.parametrize("size", [50, 51])
async def test_a_refusal_is_cut_at_the_limit_of_all_answers_where_that_is_lower(size: int) -> None:
    limits = {"limits": RunLimits(max_stdout=50)}
    result = await ask(answer(b"x" * size, status=500), context=limits)
    assert (result.failed, result.stdout) == ("error", "x" * 50)


async def reset(request: Request) -> None:
    await request.write(HEAD + b"content-length: 99\r\n\r\n{")
    request.hang_up(reset=True)


BROKEN: dict[str, Handler] = {
    "no HTTP": write(b"SSH-2.0-OpenSSH\r\n"),
    "nothing": write(b""),
    "a cut head": write(b"HTTP/1.1 200 OK\r\ncontent-"),
    "a cut body": write(HEAD + b"content-length: 99\r\n\r\n{}"),
    "a cut chunk": write(HEAD + b"transfer-encoding: chunked\r\n\r\n99\r\n{}"),
    "a reset": reset,
    "two lengths": write(HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{} "),
    "a negative length": write(HEAD + b"content-length: -1\r\n\r\n{}"),
    "a chunk of no size": write(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    "HTTP/2": write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "a change of protocols": write(b"HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n{}"),
    "a NUL in a header": write(HEAD + b"x-a: \0\r\n\r\n{}"),
}


@pytest.mark.parametrize("handler", BROKEN.values(), ids=BROKEN)
async def test_what_is_no_http_is_a_failure(handler: Handler) -> None:
    result = await ask(handler)
    assert (result.success, result.failed, result.output) == (False, "error", None)
    assert result.error is not None
    assert result.error.isprintable()


async def test_a_second_response_on_the_connection_is_nobodys_answer() -> None:
    numbers = itertools.count(1)

    async def smuggle(request: Request) -> None:
        body = b'{"reason": "%d"}' % next(numbers)
        one = b"content-length: %d\r\n\r\n%s" % (len(body), body)
        evil = b'content-length: 19\r\n\r\n{"decision":"deny"}'
        await request.write(HEAD + one + HEAD + evil)

    async with RawServer(smuggle) as server:
        first, second = await run(
            http_hook(server.url), http_hook(server.url, on_failure="block"), sequential=True
        )
    assert (first.output, second.output) == ({"reason": "1"}, {"reason": "2"})


async def test_a_server_may_answer_before_it_has_read_the_event() -> None:
    """One that refuses a large body does not read it; its answer counts, and nothing waits."""
    refusal = b"HTTP/1.1 413 X\r\ncontent-length: 9\r\n\r\ntoo large"
    left = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(refusal)
        await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.2)
        writer.close()
        left.set()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        large = {"tool_name": "t", "tool_input": {"text": "x" * 30_000_000}}
        result = await run_one(http_hook(url), payload=large)
        await left.wait()
    assert (result.failed, result.stdout) == ("error", "too large")
    assert "status 413" in str(result.error)


async def test_a_body_that_says_it_is_shorter_than_it_is_is_read_as_it_says() -> None:
    cut = write(HEAD + b'content-length: 12\r\n\r\n{"reason": "r", "decision": "deny"}')
    result = await ask(cut, on_failure="block")
    assert (result.failed, result.output) == ("malformed", None)


async def test_one_that_is_stuck_holds_up_no_other() -> None:
    async with RawServer(keep_silent) as slow, RawServer(answer({"reason": "r"})) as quick:
        stuck, answered, command = await run(
            http_hook(slow.url, timeout=300), http_hook(quick.url), script("echo '{}'")
        )
    assert stuck.failed == "timeout"
    assert answered.duration < stuck.duration
    assert (answered.success, command.success) == (True, True)


async def test_cancelling_an_event_ends_its_requests_at_once() -> None:
    async with RawServer(keep_silent) as server:
        event = asyncio.create_task(run_one(http_hook(server.url, timeout=60_000)))
        while not server.requests:
            await asyncio.sleep(0.005)
        started = time.monotonic()
        event.cancel()
        with pytest.raises(asyncio.CancelledError):
            await event
        while server.left < 1:
            await asyncio.sleep(0.005)
    assert time.monotonic() - started < 2


async def test_an_event_that_is_cancelled_before_its_request_began_sends_nothing_more() -> None:
    async with RawServer(keep_silent) as server:
        for turns in range(6):
            event = asyncio.create_task(run_one(http_hook(server.url)))
            for _ in range(turns):
                await asyncio.sleep(0)
            event.cancel()
            with pytest.raises(asyncio.CancelledError):
                await event
