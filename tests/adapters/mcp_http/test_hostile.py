"""A server that is broken or hostile: every request is answered, nothing grows, nothing leaks."""

import asyncio
import gzip
import itertools
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from hookline._support.address import AddressError
from hookline.service.mcp import http
from hookline.service.mcp.connection import HttpAnswer
from hookline.service.mcp.http import HttpServer
from tests.adapters.mcp_http.rawserver import Request, serve, welcome
from tests.adapters.mcp_http.wire import MODERN, ask, receive, send, shake_hands, until

Handler = Callable[[Request], Awaitable[None]]


def write(data: bytes, *, hang_up: bool = True) -> Handler:
    async def handler(request: Request) -> None:
        await request.write(data)
        if hang_up:
            request.hang_up()

    return handler


def events(data: bytes) -> Handler:
    return write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + data)


def body(
    data: bytes, kind: str = "application/json", status: int = 200, extra: str = ""
) -> Handler:
    async def handler(request: Request) -> None:
        await request.answer(data, kind=kind, status=status, extra=extra)

    return handler


async def reset(request: Request) -> None:
    await request.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"
    )
    request.hang_up(reset=True)


BOMB = gzip.compress(b" " * 50_000_000)
PROBLEMS: dict[str, tuple[Handler, str]] = {
    "garbage for JSON": (body(b"\xff\x00 nope"), "not a JSON-RPC message"),
    "JSON that is no message": (body(b'{"hello":"world"}'), "not a JSON-RPC message"),
    "text that is no UTF-8": (body(b'{"jsonrpc":"2.0","id":1,"result":"\xff"}'), "not a JSON-RPC"),
    "deep JSON": (body(b'{"id":1,"result":' + b"[" * 100_000), "not a JSON-RPC message"),
    "an empty batch": (body(b"[]"), "not a JSON-RPC message"),
    "nothing": (body(b""), "not a JSON-RPC message"),
    "garbage in a stream": (events(b"data: nope\n\n"), "not a JSON-RPC message"),
    "an empty stream": (events(b""), "before the response"),
    "half an event": (events(b'data: {"jsonrpc":"2.0","id":1,"result":{}}'), "before the response"),
    "a web page": (body(b"<html>", "text/html; charset=utf-8"), "text/html"),
    "an accepted request": (body(b"", status=202), "not with a response"),
    "no content": (write(b"HTTP/1.1 204 X\r\n\r\n"), "and nothing"),
    "a response for another": (
        body(b'{"jsonrpc":"2.0","id":"1","result":{"x":1}}'),
        "before the response",
    ),
    "a cut body": (
        write(
            b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n"
            b'{"jsonrpc":"2.0","id":1,"result":{}}'
        ),
        "violated HTTP",
    ),
    "a reset": (reset, "connection"),
    "a closed connection": (write(b""), "closed the connection"),
    "no HTTP": (write(b"SSH-2.0-OpenSSH\r\n"), "violated HTTP"),
    "endless headers": (write(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50_000), "violated HTTP"),
    "one endless header": (write(b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000), "violated HTTP"),
    "two lengths": (
        write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"),
        "violated HTTP",
    ),
    "a bomb": (body(BOMB, extra="content-encoding: gzip\r\n"), "compressed"),
    "a bomb in an error": (body(BOMB, status=500, extra="content-encoding: br\r\n"), "compressed"),
    "a redirect": (
        body(b"", status=307, extra="location: https://u:hush@evil.example/x?k=hush\r\n"),
        "redirect to https://evil.example/x, which",
    ),
    "a redirect to nowhere": (
        body(b"", status=302, extra="location: http://[::1/\r\n"),
        "",
    ),
    "a large body": (body(b" " * 2_000_000), "more than 1000000 bytes"),
    "a large event": (events(b"data: " + b"x" * 2_000_000), "more than 1000000 bytes"),
    "a large error": (body(b" " * 2_000_000, status=400), "more than 1000000 bytes"),
    "a plain error": (body(b"secret", "text/plain", 500), "HTTP 500 Internal Server Error"),
    "an unknown status": (body(b"", "text/plain", 599), "HTTP 599"),
    "an error for another": (
        body(b'{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}', status=400),
        "HTTP 400 Bad Request",
    ),
    "no credentials": (body(b"", status=401), '--header "Authorization: Bearer TOKEN"'),
    "wrong credentials": (body(b"", "text/plain", 403), "HTTP 403 Forbidden"),
    "the old transport": (body(b"", "text/plain", 405), "2024-11-05"),
}  # fmt: skip


@pytest.mark.parametrize("generation", ["handshake", "stateless"])
@pytest.mark.parametrize("problem", PROBLEMS)
async def test_every_request_is_answered(
    problem: str, generation: str, caplog: pytest.LogCaptureFixture
) -> None:
    handler, text = PROBLEMS[problem]
    params: dict[str, Any] = {"_meta": MODERN} if generation == "stateless" else {}
    headers = {"Authorization": "Bearer hush"}
    async with (
        serve(x=handler) as raw,
        HttpServer(f"{raw.url}?k=hush", headers=headers, max_message=1_000_000) as server,
    ):
        answer = await ask(server, "x", 1, **params)
        assert answer["id"] == 1
        assert text in answer["error"]["message"]
        assert "result" not in answer
        # And it goes on.
        assert (await ask(server, "ping", 2))["result"] == {"ok": "ping"}
        assert len(raw.sent("x")) == 1
    assert "hush" not in answer["error"]["message"]
    assert "hush" not in caplog.text
    assert "internal error" not in caplog.text
    assert all(request.path == "/mcp?k=hush" for request in raw.requests)


async def test_nobody_listens(unused_port: int) -> None:
    async with HttpServer(f"http://127.0.0.1:{unused_port}/") as server:
        answer = await ask(server, "initialize", 1)
        assert "cannot be reached" in answer["error"]["message"]
        assert "cannot be reached" in (await ask(server, "ping", 2))["error"]["message"]


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def test_a_token_is_refused_once_on_standard_error(caplog: pytest.LogCaptureFixture) -> None:
    async with serve(x=body(b"", status=401)) as raw, HttpServer(raw.url) as server:
        for number in range(3):
            await ask(server, "x", number)
    assert caplog.text.count("refused the request with HTTP 401") == 1


@pytest.mark.parametrize("session", ["a b", "ü", "x" * 5000, "\t"])
async def test_a_session_id_with_odd_characters_is_an_error(session: str) -> None:
    async def begin(request: Request) -> None:
        await welcome(request, session)

    async with serve(initialize=begin) as raw, HttpServer(raw.url) as server:
        answer = await ask(server, "initialize", 1)
        assert "error" in answer or not session.strip()


async def test_a_stream_that_goes_on_after_its_response_is_left() -> None:
    async def chatter(request: Request) -> None:
        await request.begin_events()
        await request.event(request.response({"n": 1}))
        await request.event(request.response({"n": 2}))
        while True:
            await request.event(b'{"jsonrpc":"2.0","method":"late"}' + b" " * 10_000)

    async def silent(request: Request) -> None:
        await request.begin_events()
        await request.event(request.response({"n": 1}))
        await asyncio.sleep(60)

    async with serve(chatter=chatter, silent=silent) as raw, HttpServer(raw.url) as server:
        assert (await ask(server, "chatter", 1))["result"] == {"n": 1}
        assert (await ask(server, "silent", 2))["result"] == {"n": 1}
        assert (await ask(server, "ping", 3))["id"] == 3
        await until(lambda: raw.left >= 1)


async def test_a_request_gets_one_response_and_only_its_own() -> None:
    async def twice(request: Request) -> None:
        await request.begin_events()
        for id in (99, "1", 1, 1):
            message = {"jsonrpc": "2.0", "id": id, "result": {"for": id}}
            await request.event(json.dumps(message).encode())
        request.hang_up()

    async with serve(twice=twice) as raw, HttpServer(raw.url) as server:
        assert (await ask(server, "twice", 1))["result"] == {"for": 1}
        assert (await ask(server, "ping", 2))["id"] == 2


async def test_a_slow_drip_is_waited_for_and_holds_nobody_up() -> None:
    answered = asyncio.Event()

    async def drip(request: Request) -> None:
        await request.begin_events()
        for byte in b"data: " + request.response({"slow": 1}) + b"\n\n":
            if byte == ord("}"):
                await answered.wait()
            await request.write(bytes([byte]))
            await asyncio.sleep(0.002)
        request.hang_up()

    async with serve(drip=drip) as raw, HttpServer(raw.url) as server:
        await send(server, "drip", 1)
        assert (await ask(server, "ping", 2))["id"] == 2
        answered.set()
        assert (await receive(server))["result"] == {"slow": 1}


async def test_nonsense_on_the_stream_of_no_request_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def stream(request: Request) -> None:
        await request.begin_events()
        await request.write(b"event: strange\ndata: 1\n\n: ping\n\ndata: nope\n\ndata:\n\n")
        await request.write(b'event: strange\ndata: {"jsonrpc":"2.0","method":"strange"}\n\n')
        await request.event(b'{"jsonrpc":"2.0","id":77,"result":{}}')
        await request.event(b'{"jsonrpc":"2.0","method":"fine"}')
        await asyncio.sleep(60)

    async with serve(get=stream) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        assert (await receive(server))["method"] == "fine"
    assert "not a JSON-RPC message" in caplog.text
    assert "no request waits for" in caplog.text


async def test_a_stream_that_always_ends_is_asked_for_ever_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "MIN_RETRY_SECONDS", 0.02)
    times: list[float] = []

    async def end(request: Request) -> None:
        times.append(time.monotonic())
        await request.begin_events()
        await request.write(b"retry: 0\n\n")
        request.hang_up()

    async with serve(get=end) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await until(lambda: len(times) == 4)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert [gap >= least for gap, least in zip(gaps, (0.02, 0.04, 0.08), strict=True)] == [True] * 3


@pytest.mark.parametrize("what", ["body", "headers", "events", "delete", "tell"])
async def test_close_ends_in_bounded_time_and_leaves_nothing(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "DELETE_SECONDS", 0.3)
    monkeypatch.setattr(http, "FLUSH_SECONDS", 0.3)

    async def hang(request: Request) -> None:
        if what == "body":
            await request.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{")
        elif what == "events":
            await request.begin_events()
        await asyncio.sleep(60)

    handlers: dict[str, Handler] = {"hang": hang, "get": hang}
    if what == "delete":
        handlers["delete"] = hang
    if what == "tell":
        handlers["notifications_x"] = hang
    async with serve(**handlers) as raw:
        descriptors = len(os.listdir("/dev/fd"))
        server = await HttpServer(raw.url).__aenter__()
        await shake_hands(server)
        for number in range(5):
            await send(server, "hang", number)
        await until(lambda: len(raw.sent("hang")) == 5)
        for _ in range(5 if what == "tell" else 0):
            await send(server, "notifications/x")
        started = time.monotonic()
        await server.close()
        assert time.monotonic() - started < 5
        assert not [task for task in asyncio.all_tasks() if "HttpServer" in repr(task.get_coro())]
        await until(lambda: raw.left == raw.connections)
        await until(lambda: len(os.listdir("/dev/fd")) <= descriptors)


async def test_a_sender_that_waits_is_released_by_close(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "FLUSH_SECONDS", 0.1)

    async def hang(_: Request) -> None:
        await asyncio.sleep(60)

    async with serve(initialize=hang) as raw, HttpServer(raw.url) as server:

        async def flood() -> None:
            for number in range(30):
                await send(server, "initialize", number)

        flooding = asyncio.create_task(flood())
        await asyncio.sleep(0.1)
        await server.close()
        with pytest.raises(Exception, match="closed"):
            await asyncio.wait_for(flooding, 2)


async def test_proxies_and_passwords_of_the_environment_are_not_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unused_port: int
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hush\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port}")
    async with serve() as raw, HttpServer(raw.url) as server:
        assert (await ask(server, "ping", 1))["id"] == 1
        assert "authorization" not in raw.requests[0].headers


@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_body_of_exactly_the_limit_is_read_and_one_byte_more_is_not(
    is_stream: bool,
) -> None:
    async def pad(request: Request) -> None:
        size = request.message["params"]["size"] - (len(b"data: ") if is_stream else 0)
        message = request.response({"ok": True}).ljust(size)
        if is_stream:
            await request.answer(b"data: " + message + b"\n\n", kind="text/event-stream")
        else:
            await request.answer(message)

    async with serve(x=pad) as raw, HttpServer(raw.url, max_message=1000) as server:
        fits = await ask(server, "x", 1, size=1000)
        too_large = await ask(server, "x", 2, size=1001)
    assert fits["result"] == {"ok": True}
    assert "more than 1000 bytes" in too_large["error"]["message"]


@pytest.mark.parametrize(
    ("status", "is_success", "is_redirect"),
    [
        *((200, True, False), (299, True, False), (300, False, True), (399, False, True)),
        *((199, False, False), (400, False, False)),
    ],
)
def test_a_status_is_a_success_a_redirect_or_a_refusal(
    status: int, is_success: bool, is_redirect: bool
) -> None:
    answer = HttpAnswer(httpx.Response(status), "it", 10)
    assert (answer.is_success, answer.is_redirect) == (is_success, is_redirect)
    assert answer.location == "nowhere"


@pytest.mark.parametrize(
    ("status", "kind", "is_stream"),
    [
        (200, "TEXT/event-stream ; charset=utf-8", True),
        (202, "text/event-stream", False),
        (200, "application/json", False),
    ],
)
def test_a_stream_of_events_says_that_it_is_one(status: int, kind: str, is_stream: bool) -> None:
    answer = HttpAnswer(httpx.Response(status, headers={"content-type": kind}), "it", 10)
    assert answer.is_event_stream is is_stream


def test_of_where_a_redirect_leads_two_hundred_characters_are_shown() -> None:
    response = httpx.Response(302, request=httpx.Request("GET", "https://a.example/"))
    response.next_request = httpx.Request("GET", f"https://u:hush@b.example/{'x' * 300}?k=hush")
    shown = HttpAnswer(response, "it", 10).location
    assert shown == f"https://b.example/{'x' * 300}"[:200]


@pytest.mark.parametrize(("pieces", "read"), [(2, 2), (3, 3), (9, 3)])
async def test_of_what_follows_a_response_so_much_is_read_that_it_is_worth_it(
    pieces: int, read: int
) -> None:
    sent = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(pieces):
            sent += 1
            yield b"x" * 32_768

    answer = HttpAnswer(httpx.Response(200, content=body()), "it", 10)
    await answer.drain()
    await answer.pieces.aclose()
    assert sent == read


async def test_a_notification_that_the_server_refuses_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    refuse = body(b"", status=500)
    async with serve(notifications_odd=refuse) as raw, HttpServer(raw.url) as server:
        await send(server, "notifications/odd")
        assert (await ask(server, "ping", 1))["id"] == 1
    reason = f"the MCP server at {raw.url} answered with HTTP 500 Internal Server Error"
    assert f"notifications/odd did not reach the server: {reason}" in caplog.text


async def test_of_a_notification_that_is_not_accepted_in_time_a_hundred_characters_are_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ACCEPT_SECONDS", 0.05)
    method = "m" * 101

    async def hang(_: Request) -> None:
        await asyncio.sleep(60)

    async with serve(**{method: hang}) as raw, HttpServer(raw.url) as server:
        await send(server, method)
        assert (await ask(server, "ping", 1))["id"] == 1
    reason = f"the MCP server at {raw.url} did not accept it in 0 s"
    assert f" {'m' * 100} did not reach the server: {reason}" in caplog.text


@pytest.mark.parametrize(("status", "is_told"), [(401, True), (403, True), (405, False)])
async def test_a_stream_of_no_request_that_is_refused_is_not_asked_for_again(
    status: int,
    is_told: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("RETRY_SECONDS", "MIN_RETRY_SECONDS"):
        monkeypatch.setattr(http, name, 0.001)
    async with serve(get=body(b"", status=status)) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await until(lambda: any(request.method == "GET" for request in raw.requests))
        await asyncio.sleep(0.05)
        await ask(server, "ping", 1)
        assert [request.method for request in raw.requests].count("GET") == 1
    assert (f"refused the request with HTTP {status}" in caplog.text) is is_told


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_stream_of_no_request_is_asked_for_again_when_the_server_is_busy(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RETRY_SECONDS", "MIN_RETRY_SECONDS"):
        monkeypatch.setattr(http, name, 0.001)
    asked = itertools.count()

    async def stream(request: Request) -> None:
        if next(asked) == 0:
            await request.answer(status=status)
            return
        await request.begin_events()
        await request.event(b'{"jsonrpc":"2.0","method":"here"}')
        await asyncio.sleep(60)

    async with serve(get=stream) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        assert (await receive(server))["method"] == "here"


async def test_a_message_of_no_request_that_is_too_large_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    large = events(b"data: " + b"x" * 2000)
    async with serve(get=large) as raw, HttpServer(raw.url, max_message=1000) as server:
        await shake_hands(server)
        await until(lambda: "sent a message of more than 1000 bytes" in caplog.text)


async def test_a_failure_within_the_transport_is_reported_and_answered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve() as raw, HttpServer(raw.url) as server:
        with monkeypatch.context() as patch:
            patch.setattr(server, "_request", None)
            answer = await ask(server, "ping", 1)
        assert (await ask(server, "ping", 2))["result"] == {"ok": "ping"}
    assert answer["error"] == {"code": -32000, "message": "internal error of hookline mcp"}
    assert caplog.text.count("internal error of the MCP proxy, please report it") == 1


async def test_all_senders_that_wait_are_released_by_close(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "FLUSH_SECONDS", 0.01)
    server = HttpServer("http://localhost/")  # nothing is taken from its queue
    sending = [asyncio.create_task(send(server, "x")) for _ in range(50)]
    await asyncio.sleep(0)
    await server.close()
    async with asyncio.timeout(10):
        await asyncio.gather(*sending)


async def test_what_is_done_is_forgotten_and_close_waits_for_nothing_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "FLUSH_SECONDS", 60)
    async with serve() as raw, HttpServer(raw.url) as server:
        for number in range(3):
            await ask(server, "ping", number)
            await send(server, "notifications/x")
        await until(lambda: len(raw.sent("notifications/x")) == 3)
        async with asyncio.timeout(10):
            await server.close()


def test_a_server_elsewhere_is_not_reached_without_tls_unless_that_is_allowed() -> None:
    with pytest.raises(AddressError):
        HttpServer("http://mcp.example.com/")
    HttpServer("http://mcp.example.com/", allow_http=True)
