"""A server that goes away and comes back: what is known of it, what becomes of requests."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import MessageBusType, request_hook_execution
from hookline.bus.nats import ConnectionState, NatsMessageBus, ServingOptions, link
from tests.eleven import Json, started, until
from tests.natsserver import NatsServer, nats_server
from tools.soak_bus.proxy import Proxy

TOOL: Json = {"tool_name": "read", "tool_input": {}}
REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST


async def test_a_restarted_server_is_found_again_by_both_sides(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with nats_server(tmp_path / "nats") as server:
        async with NatsMessageBus(server.url) as serving, NatsMessageBus(server.url) as asking:
            states: list[ConnectionState] = []
            asking.listen(states.append)
            system = await started(tmp_path / "w", message_bus=serving)
            await until_served(asking)
            server.stop()
            await until(lambda: asking.state is serving.state is ConnectionState.RECONNECTING)
            server.start()
            await until_served(asking)
            assert serving.serving_status()["reconnects"] == 1
            system.dispose()
    assert states == ["reconnecting", "connected", "closed"]
    assert f"the connection to {server.url} is lost; trying to reconnect" in caplog.text
    assert f"the connection to {server.url} is back" in caplog.text


async def until_served(bus: NatsMessageBus) -> None:
    async with asyncio.timeout(20):
        while not (await request_hook_execution(bus, "BeforeTool", TOOL, timeout=5))["success"]:
            await asyncio.sleep(0.01)


async def test_a_request_soon_after_the_server_is_lost_waits_for_it(tmp_path: Path) -> None:
    with nats_server(tmp_path / "nats") as server:
        async with NatsMessageBus(server.url) as asking:
            server.stop()
            await until(lambda: asking.state is ConnectionState.RECONNECTING)
            work = asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
            await asyncio.sleep(0.05)
            server.start()
            response = await work
    assert response["error"]["code"] == "unavailable"


async def test_when_the_server_stays_away_requests_fail_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "GRACE_SECONDS", 0.5)
    with nats_server(tmp_path / "nats") as server:
        async with NatsMessageBus(server.url) as asking:
            server.stop()
            await until(lambda: asking.state is ConnectionState.RECONNECTING)
            first = await request_hook_execution(asking, "BeforeTool", TOOL)
            before = time.monotonic()
            more = [await request_hook_execution(asking, "BeforeTool", TOOL) for _ in range(20)]
            # Each would take half a second if it waited.
            assert time.monotonic() - before < 8
    codes = {response["error"]["code"] for response in (first, *more)}
    assert codes == {"disconnected"}


async def test_what_was_taken_before_the_server_was_lost_is_answered_after(tmp_path: Path) -> None:
    with nats_server(tmp_path / "nats") as server:
        serving = NatsMessageBus(server.url)
        release, held = asyncio.Event(), list[Any]()

        async def hold(message: Json) -> None:
            held.append(message)
            await release.wait()
            await serving.publish(
                {
                    "type": "hook-execution-response",
                    "correlationId": message["correlationId"],
                    "success": True,
                }
            )

        # Before it connects: then the server knows of it when it has.
        serving.subscribe(REQUEST, hold)
        async with serving, NatsMessageBus(server.url) as asking:
            work = asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
            await until(lambda: len(held) == 1)
            await restart(server, asking, serving)
            release.set()
            response = await work
    assert response["success"] is True
    assert len(held) == 1


async def restart(server: NatsServer, *buses: NatsMessageBus) -> None:
    server.stop()
    await until(lambda: all(bus.state is ConnectionState.RECONNECTING for bus in buses))
    server.start()
    await until(lambda: all(bus.state is ConnectionState.CONNECTED for bus in buses))


async def test_a_full_worker_still_steps_aside_on_the_server_it_comes_back_to(
    tmp_path: Path,
) -> None:
    with nats_server(tmp_path / "nats") as server:
        full = NatsMessageBus(server.url, serving=ServingOptions(concurrency=1))
        release, held = asyncio.Event(), list[Any]()

        async def hold(message: Json) -> None:
            held.append(message)
            await release.wait()

        full.subscribe(REQUEST, hold)
        async with full, NatsMessageBus(server.url) as asking:
            work = [
                asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL, timeout=1))
                for _ in range(2)
            ]
            await until(lambda: full.serving_status()["waiting"] == 1)
            await restart(server, full, asking)
            # The one place is taken, and one waits: this one waits as well, and is not carried out.
            third = await request_hook_execution(asking, "BeforeTool", TOOL, timeout=0.3)
            assert (third["error"]["code"], len(held)) == ("timeout", 1)
            release.set()
            await asyncio.gather(*work)


async def test_a_network_that_takes_nothing_keeps_nobody_past_its_deadline(nats_url: str) -> None:
    network = Proxy()
    await network.open(int(nats_url.rpartition(":")[2]))
    async with NatsMessageBus(f"nats://127.0.0.1:{network.port}") as asking:
        stalling = asyncio.create_task(network.stall(60))
        await asyncio.sleep(0)
        # More than the socket and the client together keep back.
        much = {"prompt": "x" * 500_000}
        before = time.monotonic()
        responses = await asyncio.gather(
            *(request_hook_execution(asking, "BeforeAgent", much, timeout=1) for _ in range(40))
        )
        assert time.monotonic() - before < 10
        given_up = asyncio.create_task(request_hook_execution(asking, "BeforeAgent", much))
        await asyncio.sleep(0.05)
        given_up.cancel()
        await asyncio.wait({given_up}, timeout=20)
        await asking.close()
        assert asking.state is ConnectionState.CLOSED
        stalling.cancel()
        await asyncio.wait({stalling})
        await network.close()
    assert {response["error"]["code"] for response in responses} == {"timeout"}
    assert given_up.cancelled()


async def test_closing_while_the_server_is_away_leaves_nothing(tmp_path: Path) -> None:
    with nats_server(tmp_path / "nats") as server:
        bus = NatsMessageBus(server.url)
        await bus.connect()
        server.stop()
        await until(lambda: bus.state is ConnectionState.RECONNECTING)
        await bus.close()
        assert bus.state is ConnectionState.CLOSED


async def test_who_waits_for_an_answer_when_the_bus_is_closed_is_told(
    nats_url: str, prefix: str
) -> None:
    serving = NatsMessageBus(nats_url, prefix=prefix)
    serving.subscribe(REQUEST, lambda _message: None)
    async with serving:
        asking = NatsMessageBus(nats_url, prefix=prefix)
        await asking.connect()
        work = asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL))
        await until(lambda: serving.serving_status()["received"] == 1)
        await asking.close()
        response = await work
    assert response["error"]["code"] == "disconnected"
