"""The mcp package's client and server, with the transport between them, in both generations."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    InboundModernRoute,
    classify_inbound_request,
    find_invalid_x_mcp_header,
    validate_mcp_param_headers,
)
from mcp.shared.message import SessionMessage
from mcp_types import ElicitResult, TextContent, jsonrpc_message_adapter

from hookline.service.mcp import http
from hookline.service.mcp.http import HttpServer
from hookline.service.mcp.routes import build_routing_headers, find_mirrored_arguments
from tests.adapters.mcp_http.realserver import Events, Seen, serve_real
from tests.adapters.mcp_http.wire import MODERN, read

MODES: Any = ["legacy", "2026-07-28"]
both = pytest.mark.parametrize("mode", MODES)


@asynccontextmanager
async def through(server: HttpServer) -> AsyncIterator[Any]:
    """The client's streams of messages, with the transport behind them."""
    to_client, client_reads = anyio.create_memory_object_stream[SessionMessage | Exception](10)
    client_writes, from_client = anyio.create_memory_object_stream[SessionMessage](10)

    async def send() -> None:
        async for one in from_client:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            await server.send(read(text.encode()))

    async def receive() -> None:
        while (came := await server.receive()) is not None:
            message = jsonrpc_message_adapter.validate_json(came.raw, by_name=False)
            await to_client.send(SessionMessage(message))

    async with server, to_client, client_reads, client_writes, from_client:
        tasks = [asyncio.create_task(send()), asyncio.create_task(receive())]
        try:
            yield client_reads, client_writes
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def connect(url: str, mode: Any, **settings: Any) -> Client:
    return Client(through(HttpServer(url)), mode=mode, **settings)


def text_of(result: Any) -> str:
    assert not result.is_error, result
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@both
@pytest.mark.parametrize("json_response", [True, False])
async def test_calls_are_answered_in_parallel(mode: Any, json_response: bool) -> None:
    seen = Seen()
    with serve_real(seen, json_response=json_response) as url:
        async with connect(url, mode) as client:
            slow = asyncio.create_task(client.call_tool("hold", {}))
            calls = [client.call_tool("add", {"a": n, "b": n}) for n in range(20)]
            sums = [text_of(result) for result in await asyncio.gather(*calls)]
            assert sums == [str(2 * n) for n in range(20)]
            assert not slow.done()
            seen.release.set()
            assert text_of(await slow) == "released"


async def test_the_newest_generation_is_found_by_asking() -> None:
    with serve_real() as url:
        async with connect(url, "auto") as client:
            assert client.protocol_version == "2026-07-28"
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"


@both
async def test_a_server_without_sessions(mode: Any) -> None:
    with serve_real(stateless_http=True) as url:
        async with connect(url, mode) as client:
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"


@both
async def test_arguments_that_the_server_wants_in_headers(mode: Any) -> None:
    with serve_real() as url:
        async with connect(url, mode) as client:
            await client.list_tools()
            for region in ("eu", "grüße\n", " x", "=?base64?eA==?=", ""):
                arguments = {"region": region, "replicas": 3}
                assert text_of(await client.call_tool("deploy", arguments)) == f"3 in {region}"


@both
async def test_progress_comes_before_the_result(mode: Any) -> None:
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (50, None)
        seen.append(progress)

    with serve_real() as url:
        async with connect(url, mode) as client:
            result = await client.call_tool("count", {"steps": 50}, progress_callback=on_progress)
            assert text_of(result) == "counted"
            assert seen == list(range(50))


async def test_the_server_asks_the_user_within_a_call() -> None:
    async def answer(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"word": "yes"})

    with serve_real() as url:
        async with connect(url, "legacy", elicitation_callback=answer) as client:
            calls = [client.call_tool("ask_back", {}) for _ in range(5)]
            assert [text_of(one) for one in await asyncio.gather(*calls)] == ["accept yes"] * 5


@both
async def test_a_cancelled_call_ends_at_the_server(mode: Any) -> None:
    seen = Seen()
    with serve_real(seen) as url:
        async with connect(url, mode) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "hold", {})
                assert await asyncio.to_thread(seen.held.wait, 10)
                group.cancel_scope.cancel()
            assert await asyncio.to_thread(seen.cancelled.wait, 10)
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"


@both
async def test_ten_megabytes_there_and_back(mode: Any) -> None:
    text = "grüße " * 1_700_000
    with serve_real() as url:
        async with connect(url, mode) as client:
            assert text_of(await client.call_tool("echo", {"text": text})) == text


async def test_a_stream_that_the_server_closes_is_resumed() -> None:
    with serve_real(event_store=Events(), retry_interval=100) as url:
        async with connect(url, "legacy") as client:
            assert text_of(await client.call_tool("poll", {})) == "polled"
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"


@both
async def test_a_server_that_restarts_is_used_again(
    mode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "AWAY_SECONDS", 0.2)
    async with AsyncExitStack() as ends:
        with serve_real() as url:
            client = await ends.enter_async_context(connect(url, mode))
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
        for _ in range(2):
            with pytest.raises(MCPError, match="cannot be reached"):
                await client.call_tool("add", {"a": 1, "b": 2})
        with serve_real(port=urlsplit(url).port or 0):
            assert text_of(await client.call_tool("add", {"a": 2, "b": 2})) == "4"


@pytest.mark.parametrize("status", [404, 400])
async def test_a_call_that_finds_its_session_gone_waits_for_a_new_one_and_runs_once(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The package answers an unknown session with 404 now; earlier releases said 400."""
    seen = Seen()
    async with AsyncExitStack() as ends:
        with serve_real() as url:
            client = await ends.enter_async_context(connect(url, "legacy"))
            assert text_of(await client.call_tool("count", {"steps": 1})) == "counted"
        waiting = asyncio.create_task(client.call_tool("add", {"a": 2, "b": 2}))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        with serve_real(seen, port=urlsplit(url).port or 0, unknown_session=status):
            assert text_of(await waiting) == "4"
            assert text_of(await client.call_tool("add", {"a": 3, "b": 2})) == "5"
            assert seen.calls == [(2, 2), (3, 2)]
    assert caplog.text.count("no longer knows the session") == 1


@both
async def test_a_server_that_refuses_the_host(mode: Any) -> None:
    refusing = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=["example.org"]
    )
    with serve_real(transport_security=refusing) as url:
        with pytest.raises(BaseException) as caught:  # noqa: PT011 - a group of what failed
            async with connect(url, mode) as client:
                await client.call_tool("add", {"a": 1, "b": 2})
        assert "421" in repr(caught.value)


scalars = st.one_of(st.text(max_size=20), st.integers(), st.booleans(), st.none(), st.floats())
kinds = st.sampled_from(["string", "integer", "boolean", "number", "object"])
tokens = st.sampled_from(["A", "a", "B", "Region", "not a token", ""])


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": draw(kinds)}
    if draw(st.booleans()):
        schema["x-mcp-header"] = draw(tokens)
    if depth:
        keys = draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True))
        schema["properties"] = {key: draw(schemas(depth=depth - 1)) for key in keys}
    return schema


values = st.recursive(
    scalars, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8
)
argument_sets = st.dictionaries(st.sampled_from("abc"), values)


@given(name=st.text(max_size=20), schema=schemas(), arguments=argument_sets)
def test_the_servers_own_checks_accept_the_headers(
    name: str, schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    params = {"name": name, "arguments": arguments, "_meta": MODERN}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    try:
        data = json.dumps(body, allow_nan=False).encode()
    except ValueError:
        return
    listing = {"tools": [{"name": name, "inputSchema": schema}]}
    headers = build_routing_headers(read(data), find_mirrored_arguments(listing))
    assert isinstance(classify_inbound_request(body, headers=headers), InboundModernRoute)
    if find_invalid_x_mcp_header(schema) is None:
        assert validate_mcp_param_headers(schema, arguments, headers) is None
