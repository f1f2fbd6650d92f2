"""The transport: what goes out, what comes in, and in which order."""

import asyncio
import json
import socket
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from hookline._support.transport import keep_alive_options
from hookline.service.mcp import http
from hookline.service.mcp.http import HttpServer
from hookline.service.mcp.messages import make_message
from hookline.service.mcp.server import Server, ServerGone
from tests.adapters.mcp_http.rawserver import Request, serve, welcome
from tests.adapters.mcp_http.wire import MODERN, ask, read, receive, send, shake_hands, until


def test_it_is_a_server() -> None:
    def takes(server: Server) -> Server:
        return server

    assert takes(HttpServer("http://localhost/")) is not None


async def test_a_session_and_its_version_are_sent_once_they_are_known() -> None:
    async with serve() as raw, HttpServer(raw.url, headers={"X-Key": "k"}) as server:
        answer = await shake_hands(server, "2025-06-18")
        assert answer["result"]["protocolVersion"] == "2025-11-25"
        assert (await ask(server, "ping", 1))["result"] == {"ok": "ping"}
    hello, ready, ping = (
        raw.sent(rpc)[0] for rpc in ("initialize", "notifications/initialized", "ping")
    )
    assert "mcp-session-id" not in hello.headers
    assert "mcp-protocol-version" not in hello.headers
    for request in (ready, ping, *(r for r in raw.requests if r.method in ("GET", "DELETE"))):
        assert request.headers["mcp-session-id"] == "s-1"
        assert request.headers["mcp-protocol-version"] == "2025-11-25"
    for request in raw.requests:
        assert request.headers["x-key"] == "k"
        assert request.headers["accept-encoding"] == "identity"
        assert "text/event-stream" in request.headers["accept"]
    assert raw.requests[-1].method == "DELETE"


async def test_messages_pass_byte_by_byte() -> None:
    odd = b'{"jsonrpc":"2.0","id":1,"result":{"n":1.0,"big":123456789012345678901234567890,"a":1}}'

    async def reply(request: Request) -> None:
        await request.answer(odd)

    async with serve(x=reply) as raw, HttpServer(raw.url) as server:
        sent = b'{ "method":"x", "jsonrpc":"2.0", "id":1, "params":{"e":1e2,"u":"\\u00fc"}}'
        await server.send(read(sent))
        assert await server.receive() == read(odd)
        assert raw.requests[0].body == sent


async def test_half_a_character_passes_both_ways() -> None:
    """A text that was cut within an emoji, which JSON can have and UTF-8 cannot."""
    half = b'"\\ud83d"'

    async def reply(request: Request) -> None:
        await request.answer(b'{"jsonrpc":"2.0","id":1,\n"result":{"text":' + half + b"}}")

    async with serve(tools_call=reply) as raw, HttpServer(raw.url) as server:
        params: Any = {"name": "a", "arguments": {"text": "\ud83d"}, "_meta": MODERN}
        answer = await ask(server, "tools/call", 1, **params)
        assert answer["result"] == {"text": "\ud83d"}
        assert half in raw.requests[0].body
        assert raw.requests[0].headers["mcp-name"] == "a"


async def test_a_message_of_many_lines_becomes_one_line() -> None:
    async def reply(request: Request) -> None:
        if request.rpc == "json":
            await request.answer(json.dumps(json.loads(request.response()), indent=2).encode())
        else:
            await request.begin_events()
            await request.write(b'data: {"jsonrpc":"2.0",\ndata: "id":2,"result":{}}\n\n')
            request.hang_up()

    async with serve(json=reply, sse=reply) as raw, HttpServer(raw.url) as server:
        assert (await ask(server, "json", 1))["result"] == {}
        assert (await ask(server, "sse", 2))["result"] == {}


async def test_a_slow_answer_holds_no_other_up_and_a_stream_keeps_its_order() -> None:
    release = asyncio.Event()

    async def slow(request: Request) -> None:
        await request.begin_events()
        for step in range(5):
            await request.event(
                json.dumps({"jsonrpc": "2.0", "method": "p", "params": {"n": step}}).encode()
            )
        await release.wait()
        await request.event(request.response())
        request.hang_up()

    async with serve(slow=slow) as raw, HttpServer(raw.url) as server:
        await send(server, "slow", "s")
        steps = [await receive(server) for _ in range(5)]
        assert [step["params"]["n"] for step in steps] == [0, 1, 2, 3, 4]
        for number in range(20):
            assert (await ask(server, "quick", number))["id"] == number
        release.set()
        assert (await receive(server))["id"] == "s"


async def test_more_requests_than_connections_are_all_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "MAX_CALLS", 3)
    waiting = 0
    release = asyncio.Event()

    async def slow(request: Request) -> None:
        nonlocal waiting
        waiting += 1
        await release.wait()
        await request.result()

    async def let_go(request: Request) -> None:
        release.set()
        await request.answer(status=202)

    async with serve(slow=slow, go=let_go) as raw, HttpServer(raw.url) as server:
        for number in range(8):
            await send(server, "slow", number)
        await until(lambda: waiting == 3)
        await send(server, "notifications/cancelled", requestId=7)
        await send(server, "go")  # what answers a waiting request must not wait for it
        ids = {(await receive(server))["id"] for _ in range(7)}
        assert ids == set(range(7))
        assert len(raw.sent("slow")) == 7
        assert raw.sent("notifications/cancelled") == []


async def test_a_message_goes_out_after_what_was_sent_before() -> None:
    async def slow(request: Request) -> None:
        await asyncio.sleep(0.05)
        await request.result()

    async with serve(slow=slow) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        for number in range(10):
            await send(server, "slow", number, text="x" * 1000)
            await send(server, "notifications/after", number=number)
        for _ in range(10):
            await receive(server)
        rpcs = [r.rpc for r in raw.requests if r.rpc in ("slow", "notifications/after")]
    assert rpcs == ["slow", "notifications/after"] * 10


async def test_a_message_that_is_accepted_late_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "ORDER_SECONDS", 0.1)
    done = asyncio.Event()

    async def late(request: Request) -> None:
        await done.wait()
        await request.answer(status=202)

    async with serve(notifications_x=late) as raw, HttpServer(raw.url) as server:
        await send(server, "notifications/x")
        assert (await ask(server, "ping", 1))["id"] == 1
        done.set()


async def test_a_connection_is_used_again_also_after_a_stream() -> None:
    async def stream(request: Request) -> None:
        event = b"data: " + request.response() + b"\n\n"
        await request.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
            + f"{len(event):x}\r\n".encode() + event + b"\r\n0\r\n\r\n"
        )  # fmt: skip

    async with serve(stream=stream) as raw, HttpServer(raw.url) as server:
        for number in range(10):
            await ask(server, "stream", number)
        assert raw.connections <= 2


async def test_the_server_asks_within_a_call_and_gets_its_answer() -> None:
    answered = asyncio.Event()

    async def call(request: Request) -> None:
        await request.begin_events()
        await request.event(b'{"jsonrpc":"2.0","id":"e1","method":"elicitation/create"}')
        await answered.wait()
        await request.event(request.response())
        request.hang_up()

    async def take(request: Request) -> None:
        if not request.rpc:
            answered.set()
        await request.answer(status=202)

    raw_server = serve(tools_call=call, **{"": take})
    async with raw_server as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await send(server, "tools/call", 5)
        assert (await receive(server))["method"] == "elicitation/create"
        await server.send(make_message(id="e1", result={"action": "accept"}))
        assert (await receive(server))["id"] == 5
        [response] = raw.sent("")[:1]
        assert response.headers["mcp-session-id"] == "s-1"


async def test_the_server_asks_within_the_handshake_and_gets_its_answer() -> None:
    answered = asyncio.Event()

    async def begin(request: Request) -> None:
        await request.begin_events()
        await request.event(b'{"jsonrpc":"2.0","id":"p","method":"ping"}')
        await answered.wait()
        await request.event(request.response({"protocolVersion": "2025-11-25"}))
        request.hang_up()

    async def take(request: Request) -> None:
        answered.set()
        await request.answer(status=202)

    async with serve(initialize=begin, **{"": take}) as raw, HttpServer(raw.url) as server:
        assert (await ask(server, "initialize", 0))["method"] == "ping"
        await server.send(make_message(id="p", result={}))
        assert (await receive(server))["result"] == {"protocolVersion": "2025-11-25"}


async def test_a_connection_is_used_again_after_a_notification() -> None:
    async def accept(request: Request) -> None:
        await request.answer(b"{}" * 100, status=202)

    async with serve(n=accept) as raw, HttpServer(raw.url) as server:
        for number in range(5):
            await send(server, "n")
            await ask(server, "ping", number)
        assert raw.connections <= 2


async def test_a_batch_comes_as_its_messages() -> None:
    async def reply(request: Request) -> None:
        await request.answer(b'[{"jsonrpc":"2.0","method":"n"}, ' + request.response() + b"]")

    async with serve(x=reply) as raw, HttpServer(raw.url) as server:
        assert (await ask(server, "x", 1))["method"] == "n"
        assert (await receive(server))["id"] == 1


async def test_headers_are_of_the_message_that_is_sent_and_no_session_is() -> None:
    schema = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    tools = {"tools": [{"name": "t", "inputSchema": schema}]}

    async def listing(request: Request) -> None:
        await request.result(tools)

    async with serve(tools_list=listing) as raw, HttpServer(raw.url) as server:
        await ask(server, "tools/list", 1, _meta=MODERN)
        await ask(server, "tools/call", 2, name="t", arguments={"region": "eu"}, _meta=MODERN)
        await send(server, "notifications/progress")
        await until(lambda: raw.sent("notifications/progress"))
    call = raw.sent("tools/call")[0].headers
    assert call["mcp-protocol-version"] == "2026-07-28"
    assert call["mcp-method"] == "tools/call"
    assert call["mcp-name"] == "t"
    assert call["mcp-param-region"] == "eu"
    assert "mcp-session-id" not in call
    assert raw.sent("notifications/progress")[0].headers["mcp-protocol-version"] == "2026-07-28"
    assert not [r for r in raw.requests if r.method in ("GET", "DELETE")]


@pytest.mark.parametrize(("cursor", "is_kept"), [("2", True), (None, False)])
async def test_the_headers_of_a_tool_are_known_until_the_tools_are_listed_anew(
    cursor: str | None, is_kept: bool
) -> None:
    schema = {"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    pages = iter([[{"name": "t", "inputSchema": schema}], [{"name": "other"}]])

    async def listing(request: Request) -> None:
        await request.result({"tools": next(pages)})

    async with serve(tools_list=listing) as raw, HttpServer(raw.url) as server:
        await ask(server, "tools/list", 1, _meta=MODERN)
        await ask(server, "tools/list", 2, _meta=MODERN, **({"cursor": cursor} if cursor else {}))
        await ask(server, "tools/call", 3, name="t", arguments={"region": "eu"}, _meta=MODERN)
    assert ("mcp-param-region" in raw.sent("tools/call")[0].headers) is is_kept


async def test_what_was_tried_before_the_handshake_leaves_no_version() -> None:
    async def unknown(request: Request) -> None:
        await request.answer(b"", kind="text/plain", status=404)

    async with serve(server_discover=unknown) as raw, HttpServer(raw.url) as server:
        answer = await ask(server, "server/discover", 1, _meta=MODERN)
        assert answer["error"]["code"] == -32601
        await shake_hands(server)
        assert "mcp-protocol-version" not in raw.sent("initialize")[0].headers
        await ask(server, "ping", 2)
        assert raw.sent("ping")[0].headers["mcp-protocol-version"] == "2025-11-25"


async def test_cancelling_closes_the_stream_where_requests_stand_alone() -> None:
    hung = asyncio.Event()

    async def hang(request: Request) -> None:
        await request.begin_events()
        hung.set()
        while True:  # a write fails once the client is gone
            await request.write(b": ping\n\n")
            await asyncio.sleep(0.01)

    async with serve(hang=hang) as raw, HttpServer(raw.url) as server:
        await send(server, "hang", 1, _meta=MODERN)
        await hung.wait()
        await send(server, "notifications/cancelled", requestId=1)
        await until(lambda: raw.left == 1)
        assert (await ask(server, "ping", 2))["id"] == 2  # and nothing came for the other
        assert raw.sent("notifications/cancelled") == []
        await send(server, "notifications/cancelled", requestId=1)
        await ask(server, "ping", 3)
        assert raw.sent("notifications/cancelled") == []


async def test_cancelling_is_a_message_in_a_session_and_frees_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "CANCEL_SECONDS", 0.1)

    async def hang(request: Request) -> None:
        await request.begin_events()
        while True:
            await request.write(b": ping\n\n")
            await asyncio.sleep(0.01)

    async with serve(hang=hang) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await send(server, "hang", "1")
        await until(lambda: raw.sent("hang"))
        await send(server, "notifications/cancelled", requestId=1)  # another id: a number
        await send(server, "notifications/cancelled", requestId="1")
        await until(lambda: len(raw.sent("notifications/cancelled")) == 2)
        await until(lambda: raw.left >= 1)
        assert (await ask(server, "ping", 2))["id"] == 2


async def test_messages_of_no_request_come_by_the_other_stream_which_is_resumed() -> None:
    streams: list[str | None] = []

    async def stream(request: Request) -> None:
        streams.append(request.headers.get("last-event-id"))
        number = len(streams)
        await request.begin_events()
        await request.write(b"retry: 100\n\n")
        note = json.dumps({"jsonrpc": "2.0", "method": f"n{number}"}).encode()
        await request.event(note, id=f"e{number}")
        if number < 3:
            request.hang_up(reset=number == 2)
        else:
            await asyncio.sleep(60)

    async with serve(get=stream) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        assert [(await receive(server))["method"] for _ in range(3)] == ["n1", "n2", "n3"]
        assert streams == [None, "e1", "e2"]


async def test_a_stream_that_breaks_before_the_response_is_resumed() -> None:
    async def call(request: Request) -> None:
        await request.begin_events()
        await request.write(b"id: p0\nretry: 100\ndata:\n\n")
        await request.event(b'{"jsonrpc":"2.0","method":"p"}', id="p1")
        await request.write(b'id: p2\ndata: {"half')  # is not received, so p1 is the last
        request.hang_up(reset=True)

    replies: list[str] = []

    async def resume(request: Request) -> None:
        replies.append(request.headers.get("last-event-id", ""))
        if not replies[-1]:
            await request.answer(status=405)
        elif len(replies) == 2:
            await request.answer(status=500)
        else:
            await request.begin_events()
            await request.event(b'{"jsonrpc":"2.0","id":9,"result":{"late":1}}', id="p3")
            request.hang_up()

    async with serve(tools_call=call, get=resume) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await until(lambda: replies)
        assert (await ask(server, "tools/call", 9))["method"] == "p"
        assert (await receive(server))["result"] == {"late": 1}
        assert replies == ["", "p1", "p1"]
        assert len(raw.sent("tools/call")) == 1


@pytest.mark.parametrize("ids", [True, False])
async def test_a_stream_that_cannot_be_resumed_is_an_error(
    ids: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(http, "MAX_RESUMES", 2)

    async def call(request: Request) -> None:
        await request.begin_events()
        await request.event(b'{"jsonrpc":"2.0","method":"p"}', id="p1" if ids else "")
        request.hang_up()

    async def down(request: Request) -> None:
        request.hang_up(reset=True)

    async with serve(tools_call=call, get=down) as raw, HttpServer(raw.url) as server:
        await ask(server, "tools/call", 9)
        started = time.monotonic()
        error = await receive(server)
        assert error["id"] == 9
        assert "before the response" in error["error"]["message"]
        assert time.monotonic() - started >= (0.3 if ids else 0)
        assert len([r for r in raw.requests if r.method == "GET"]) == (2 if ids else 0)


NO_SESSION = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}'


@pytest.mark.parametrize(("status", "body"), [(404, NO_SESSION), (400, NO_SESSION), (400, b"no")])
async def test_a_request_that_finds_its_session_lost_is_sent_again_in_a_new_one(
    status: int, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = iter(["old", "new"])
    alive: set[str] = set()

    async def begin(request: Request) -> None:
        alive.add(session := next(sessions))
        await welcome(request, session)

    async def take(request: Request) -> None:
        if request.headers["mcp-session-id"] in alive:
            await request.result({"session": request.headers["mcp-session-id"]})
        else:
            await request.answer(body, status=status)

    handlers: Any = {"initialize": begin, "tools_call": take, "ping": take}
    async with serve(**handlers) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        assert (await ask(server, "tools/call", 1))["result"] == {"session": "old"}
        alive.clear()
        for number in (2, 3):
            await send(server, "tools/call", number)
        results = [(await receive(server))["result"] for _ in range(2)]
        assert results == [{"session": "new"}] * 2
        first, again = raw.sent("initialize")
        assert again.body == first.body
        assert "mcp-session-id" not in again.headers
        assert len(raw.sent("notifications/initialized")) == 2
        assert raw.sent("notifications/initialized")[1].headers["mcp-session-id"] == "new"
    assert caplog.text.count("no longer knows the session") == 1


async def test_a_request_is_sent_again_once_and_no_more() -> None:
    async def refuse(request: Request) -> None:
        await request.answer(NO_SESSION, status=404)

    async with serve(tools_call=refuse) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        error = (await ask(server, "tools/call", 1))["error"]
        assert "no longer knows this session, so the request did not run" in error["message"]
        assert len(raw.sent("tools/call")) == len(raw.sent("initialize")) == 2


@pytest.mark.parametrize("body", [NO_SESSION, b"no", b""])
async def test_a_bad_request_in_a_session_that_lives_is_the_servers_own_answer(
    body: bytes,
) -> None:
    async def refuse(request: Request) -> None:
        await request.answer(body, status=400)

    async with serve(tools_call=refuse) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        error = (await ask(server, "tools/call", 1))["error"]
        assert ("no session" if body == NO_SESSION else "HTTP 400") in error["message"]
        assert len(raw.sent("initialize")) == len(raw.sent("tools/call")) == 1


@pytest.mark.parametrize("reset", [True, False])
async def test_a_call_that_may_have_run_is_not_sent_again(reset: bool) -> None:
    async def vanish(request: Request) -> None:
        request.hang_up(reset=reset)

    async with serve(tools_call=vanish) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        error = (await ask(server, "tools/call", 1))["error"]
        assert "whether the request ran is not known" in error["message"]
        assert len(raw.sent("tools/call")) == 1
        assert (await ask(server, "ping", 2))["result"] == {"ok": "ping"}


async def test_a_call_that_waits_for_the_server_can_be_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "AWAY_SECONDS", 1.0)
    async with AsyncExitStack() as ends:
        async with serve() as raw:
            server = await ends.enter_async_context(HttpServer(raw.url))
            await shake_hands(server)
        await send(server, "tools/call", 1)
        await send(server, "notifications/cancelled", requestId=1)
        started = time.monotonic()
        assert (await ask(server, "ping", 2))["id"] == 2
        assert time.monotonic() - started < 5
        # The server is known to be away.
        started = time.monotonic()
        assert "cannot be reached" in (await ask(server, "ping", 3))["error"]["message"]
        assert time.monotonic() - started < 0.5


async def test_requests_that_find_the_session_lost_begin_one_new_session_together() -> None:
    sessions, release = iter(["old", "new", "newer"]), asyncio.Event()

    async def begin(request: Request) -> None:
        session = next(sessions)
        if session != "old":
            await release.wait()
        await welcome(request, session)

    async def call(request: Request) -> None:
        session = request.headers["mcp-session-id"]
        if session == "old":
            await request.answer(status=404)
        else:
            await request.result({"session": session})

    async with serve(initialize=begin, tools_call=call) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        for number in (2, 3):
            await send(server, "tools/call", number)
        await until(lambda: len(raw.sent("tools/call")) == 2 and len(raw.sent("initialize")) == 2)
        release.set()
        answers = [await receive(server) for _ in range(2)]
        assert [answer["result"] for answer in answers] == [{"session": "new"}] * 2
        assert len(raw.sent("initialize")) == 2


async def test_an_error_of_the_server_for_a_request_is_no_lost_session() -> None:
    async def unknown(request: Request) -> None:
        error = {"code": -32601, "message": "what?"}
        body = {"jsonrpc": "2.0", "id": request.message["id"], "error": error}
        await request.answer(json.dumps(body).encode(), status=404)

    async with serve(x=unknown) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        assert (await ask(server, "x", 1))["error"] == {"code": -32601, "message": "what?"}
        await ask(server, "ping", 2)
        assert len(raw.sent("initialize")) == 1


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_an_error_that_names_no_request_gets_the_id_of_its_own(version: str) -> None:
    async def refuse(request: Request) -> None:
        error = {"code": -32020, "message": "mismatch", "data": {"k": [1]}}
        await request.answer(
            json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode(), status=400
        )

    params: dict[str, Any] = {"_meta": MODERN} if version == "2026-07-28" else {}
    async with serve(x=refuse) as raw, HttpServer(raw.url) as server:
        answer = await ask(server, "x", "seven", **params)
    assert answer == {
        "jsonrpc": "2.0",
        "id": "seven",
        "error": {"code": -32020, "message": "mismatch", "data": {"k": [1]}},
    }


async def test_after_close_nothing_is_taken_and_nothing_comes() -> None:
    async with serve() as raw, HttpServer(raw.url) as server:
        waiting = asyncio.create_task(server.receive())
        await asyncio.sleep(0)
        assert await server.close() == 0
        assert await waiting is None
        assert await server.receive() is None
        with pytest.raises(ServerGone, match="closed"):
            await send(server, "ping", 1)
        assert await server.close() == 0


async def test_what_was_sent_just_before_the_end_goes_out() -> None:
    async with serve() as raw:
        async with HttpServer(raw.url) as server:
            await shake_hands(server)
            await send(server, "notifications/last")
        assert raw.sent("notifications/last")


@pytest.mark.parametrize(
    ("problem", "text"),
    [("refused", "answered with HTTP 500"), ("error", "refused a new"), ("version", "now speaks")],
)
async def test_a_session_that_cannot_be_renewed_is_tried_again(problem: str, text: str) -> None:
    begun = 0

    async def begin(request: Request) -> None:
        nonlocal begun
        begun += 1
        if begun in (1, 4):
            await welcome(request, f"s{begun}")
        elif problem == "refused":
            await request.answer(status=500)
        elif problem == "error":
            error = {"code": -32000, "message": "busy"}
            body = {"jsonrpc": "2.0", "id": request.message["id"], "error": error}
            await request.answer(json.dumps(body).encode())
        else:
            await welcome(request, f"s{begun}", "2025-06-18")

    async def call(request: Request) -> None:
        if request.headers["mcp-session-id"] == "s1":
            await request.answer(status=404)
        else:
            await request.result({"session": request.headers["mcp-session-id"]})

    async with serve(initialize=begin, tools_call=call) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        for number in (2, 3):
            assert text in (await ask(server, "tools/call", number))["error"]["message"]
        assert (await ask(server, "tools/call", 4))["result"] == {"session": "s4"}
        assert raw.sent("tools/call")[-1].headers["mcp-protocol-version"] == "2025-11-25"


async def test_a_request_that_is_cancelled_while_it_renews_the_session_harms_no_other() -> None:
    begun = 0

    async def begin(request: Request) -> None:
        nonlocal begun
        begun += 1
        if begun == 2:
            await asyncio.sleep(60)
        await welcome(request, f"s{begun}")

    async def call(request: Request) -> None:
        if request.headers["mcp-session-id"] == "s1":
            await request.answer(status=404)
        else:
            await request.result({"session": request.headers["mcp-session-id"]})

    async with serve(initialize=begin, tools_call=call) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await send(server, "tools/call", 2)
        await until(lambda: begun == 2)
        await send(server, "notifications/cancelled", requestId=2)
        assert (await ask(server, "tools/call", 3))["result"] == {"session": "s3"}


async def test_a_client_may_begin_anew_by_itself() -> None:
    sessions = iter(["s1", "s2"])

    async def begin(request: Request) -> None:
        await welcome(request, next(sessions))

    async with serve(initialize=begin) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await shake_hands(server)
        await ask(server, "ping", 1)
        assert raw.sent("ping")[0].headers["mcp-session-id"] == "s2"
        assert "mcp-session-id" not in raw.sent("initialize")[1].headers


@pytest.mark.parametrize("again", ["initialize", "notifications/initialized"])
async def test_a_session_that_begins_anew_leaves_the_stream_it_had(again: str) -> None:
    open_streams = 0

    async def stream(request: Request) -> None:
        nonlocal open_streams
        open_streams += 1
        try:
            await request.begin_events()
            await asyncio.sleep(60)
        finally:
            open_streams -= 1

    async with serve(get=stream) as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await until(lambda: open_streams == 1)
        await send(server, again, 1 if again == "initialize" else None)
        # The fifth request is that for the next stream.
        await until(lambda: open_streams == 0 or len(raw.requests) == 5)
        await until(lambda: open_streams == (0 if again == "initialize" else 1))


async def test_a_subscription_stays_open_and_its_end_is_told() -> None:
    end = asyncio.Event()

    async def listen(request: Request) -> None:
        await request.begin_events()
        await request.event(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        await end.wait()
        request.hang_up()

    async with serve(subscriptions_listen=listen) as raw, HttpServer(raw.url) as server:
        await send(server, "subscriptions/listen", 1, _meta=MODERN)
        assert (await receive(server))["method"] == "notifications/tools/list_changed"
        assert (await ask(server, "tools/list", 2, _meta=MODERN))["id"] == 2
        end.set()
        assert (await receive(server))["error"]["code"] == -32000


async def test_requests_say_what_they_send_and_which_answers_they_take() -> None:
    async with serve() as raw, HttpServer(raw.url) as server:
        await shake_hands(server)
        await until(lambda: any(request.method == "GET" for request in raw.requests))
    names = ("content-type", "accept", "user-agent")
    sent = {(r.method, *(r.headers.get(name) for name in names)) for r in raw.requests}
    both = "application/json, text/event-stream"
    assert sent == {
        ("POST", "application/json", both, "hookline"),
        ("GET", None, "text/event-stream", "hookline"),
        ("DELETE", None, both, "hookline"),
    }


def test_a_silent_connection_is_probed_after_a_minute_and_then_every_quarter_of_one() -> None:
    with socket.socket() as one:
        for level, option, value in keep_alive_options():
            one.setsockopt(level, option, value)
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0
        # macOS has another name for it.
        idle: int = getattr(socket, "TCP_KEEPIDLE", 0) or getattr(socket, "TCP_KEEPALIVE", 0)
        assert one.getsockopt(socket.IPPROTO_TCP, idle) == 60
        assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == 15
