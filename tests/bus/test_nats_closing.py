"""However a bus ends, whoever uses it: who waits is told, and nothing is left behind."""

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import MessageBusType, request_hook_execution
from hookline.bus.nats import BusConnectionError, ConnectionState, NatsMessageBus
from tests.bus.test_nats_serving import TOOL, Gate, limited
from tests.eleven import Json, started, until
from tests.kit.buses import message
from tests.natsserver import expiring, nats_server

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST


def others() -> "set[asyncio.Task[Any]]":
    return asyncio.all_tasks() - {asyncio.current_task()}


@contextmanager
def silent_server() -> Iterator[str]:
    """Somebody who lets others connect, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"nats://127.0.0.1:{listening.getsockname()[1]}"


async def test_who_asks_while_the_bus_is_closed_is_told_even_before_there_is_a_connection() -> None:
    with silent_server() as url:
        bus = NatsMessageBus(url)
        asking = asyncio.create_task(request_hook_execution(bus, "BeforeTool", TOOL, timeout=60))
        await until(lambda: "hookline nats" in {thread.name for thread in threading.enumerate()})
        await bus.close()
        async with asyncio.timeout(20):
            response = await asking
    assert response["error"]["code"] == "disconnected"
    assert "hookline nats" not in {thread.name for thread in threading.enumerate()}


async def test_a_server_that_is_silent_does_not_keep_who_asks_past_its_deadline() -> None:
    with silent_server() as url:
        bus = NatsMessageBus(url, connect_timeout=60)
        before = time.monotonic()
        response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=0.3)
        assert time.monotonic() - before < 20
        await bus.close()
    assert response["error"]["code"] == "disconnected"


@pytest.mark.parametrize("milliseconds", [0, 1, 2, 4, 8])
async def test_connecting_can_be_given_up_at_any_point(
    nats_url: str, prefix: str, milliseconds: int
) -> None:
    before = others()
    bus = NatsMessageBus(nats_url, prefix=prefix)
    for kind in MessageBusType:
        bus.subscribe(kind, lambda _message: None)
    connecting = asyncio.create_task(bus.connect())
    await asyncio.sleep(milliseconds / 1000)
    connecting.cancel()
    await asyncio.wait({connecting})
    if connecting.cancelled():
        assert bus.state is ConnectionState.CLOSED
        assert others() == before
    await bus.close()


async def test_a_bus_that_could_not_connect_keeps_nothing_of_the_attempt() -> None:
    before = others()
    bus = NatsMessageBus("nats://127.0.0.1:1")
    with pytest.raises(BusConnectionError, match="connection refused"):
        await bus.connect()
    assert bus.state == "closed"
    assert others() == before


async def test_connecting_twice_at_once_makes_one_connection(nats_url: str, prefix: str) -> None:
    before = others()
    bus = NatsMessageBus(nats_url, prefix=prefix)
    await asyncio.gather(bus.connect(), bus.connect())
    response = await request_hook_execution(bus, "BeforeTool", TOOL)
    await bus.close()
    assert response["error"]["code"] == "unavailable"
    assert others() == before


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_bus_whose_loop_ended_without_closing_it_connects_again(
    nats_url: str, prefix: str
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    asyncio.run(bus.connect())
    assert bus.state is ConnectionState.CLOSED

    async def use() -> Any:
        with pytest.raises(BusConnectionError, match="not connected"):
            await bus.publish(message())
        async with bus:
            return await request_hook_execution(bus, "BeforeTool", TOOL)

    assert asyncio.run(use())["error"]["code"] == "unavailable"
    # Who left it open is told so by Python, and not by the test that runs next.
    gc.collect()


class Elsewhere:
    """A connected bus in the loop of another thread."""

    def __init__(self, bus: NatsMessageBus) -> None:
        self.left: list[str] = []
        self._bus = bus
        self._ready, self._end = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        assert self._ready.wait(20)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._bus.connect()
        # Something that is under way when the bus is closed.
        await self._bus.publish(message())
        self._ready.set()
        await self._end.wait()
        self.left += [repr(task) for task in others()]

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(20)


def test_a_bus_is_closed_from_another_thread(nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    bus.subscribe(REQUEST, lambda _message: None)
    elsewhere = Elsewhere(bus)
    bus.close_blocking()
    elsewhere.end()
    assert bus.state is ConnectionState.CLOSED
    assert elsewhere.left == []


async def test_a_bus_is_asked_and_drained_from_another_loop(nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    elsewhere = await asyncio.to_thread(Elsewhere, bus)
    await bus.answer_workers(lambda: {"worker": "a"})
    assert await bus.ask_workers(silence=0.1) == [{"worker": "a"}]
    await bus.drain()
    response = await request_hook_execution(bus, "BeforeTool", TOOL)
    await bus.close()
    await asyncio.to_thread(elsewhere.end)
    assert response["error"]["code"] == "unavailable"


def test_synchronous_code_closes_a_bus_whose_loop_has_stopped(nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    with asyncio.Runner() as runner:
        runner.run(bus.connect())
        with pytest.raises(BusConnectionError, match="is not running"):
            asyncio.run(bus.publish(message()))
        bus.close_blocking()
    assert bus.state is ConnectionState.CLOSED


async def test_what_had_not_begun_when_the_bus_was_closed_is_answered_too(
    nats_url: str, prefix: str, tmp_path: Path
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    async with NatsMessageBus(nats_url, prefix=prefix) as asking:
        system = await started(tmp_path / "w", message_bus=bus)
        system.register_hook("BeforeTool", lambda _input: time.sleep(0.01))
        await bus.connect()
        asked = [
            asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL, timeout=60))
            for _ in range(30)
        ]
        while not bus.serving_status()["received"]:
            await asyncio.sleep(0)
        system.dispose()
        await bus.close()
        async with asyncio.timeout(20):
            responses = await asyncio.gather(*asked)
    codes = {response["error"]["code"] for response in responses if not response["success"]}
    assert codes <= {"execution_failed", "unavailable"}


async def test_what_comes_while_a_bus_is_closed_goes_to_another(nats_url: str, prefix: str) -> None:
    leaving, staying = (NatsMessageBus(nats_url, prefix=prefix) for _ in range(2))
    for bus in (leaving, staying):
        Gate(bus).open.set()
    async with staying, NatsMessageBus(nats_url, prefix=prefix) as asking:
        for _ in range(5):
            await leaving.connect()
            asked = [
                asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL, timeout=30))
                for _ in range(100)
            ]
            await until(lambda: leaving.serving_status()["received"] > 0)
            await leaving.close()
            async with asyncio.timeout(20):
                responses = await asyncio.gather(*asked)
            assert "timeout" not in {
                response.get("error", {}).get("code") for response in responses
            }


async def test_draining_answers_all_that_was_taken_and_closing_then_ends_nothing(
    nats_url: str, prefix: str
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as asking:
        for limit in (1, 8, 64):
            bus = NatsMessageBus(nats_url, prefix=prefix, serving=limited(limit))
            gate = Gate(bus)
            await bus.connect()
            asked = [
                asyncio.create_task(request_hook_execution(asking, "BeforeTool", TOOL, timeout=30))
                for _ in range(60)
            ]
            await until(lambda gate=gate: gate.held != [])  # type: ignore[misc]
            draining = asyncio.create_task(bus.drain())
            await asyncio.sleep(0.02)
            gate.open.set()
            await draining
            await bus.close()
            responses = await asyncio.gather(*asked)
            codes = {r.get("error", {}).get("code") for r in responses}
            assert codes <= {None, "unavailable"}
            answered = [r["correlationId"] for r in responses if r["success"]]
            assert sorted(answered) == sorted(gate.held)


async def test_a_connection_that_the_server_ended_for_good_is_made_anew_with_all_it_heard(
    nats_url: str, prefix: str, tmp_path: Path
) -> None:
    async with expiring(nats_url) as relay, NatsMessageBus(relay.url, prefix=prefix) as bus:
        system = await started(tmp_path / "w", message_bus=bus)
        await bus.answer_workers(lambda: {"worker": "a"})
        relay.expire()
        await until(lambda: bus.state is ConnectionState.CLOSED)
        async with asyncio.timeout(20):
            while not (await request_hook_execution(bus, "BeforeTool", TOOL))["success"]:
                await asyncio.sleep(0.01)
        assert await bus.ask_workers(silence=0.1) == [{"worker": "a"}]
        system.dispose()


async def test_a_handler_that_comes_when_the_connection_has_ended_is_told_of(
    nats_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with expiring(nats_url) as relay, NatsMessageBus(relay.url, prefix=prefix) as bus:
        relay.expire()
        await until(lambda: bus.state is ConnectionState.CLOSED)
        bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, lambda _message: None)
        said = f"cannot subscribe to messages of the bus: there is no connection to {relay.url}"
        await until(lambda: said in caplog.text)


async def test_a_server_that_vanishes_while_a_worker_drains_holds_it_up_to_the_deadline_at_most(
    tmp_path: Path,
) -> None:
    with nats_server(tmp_path / "nats") as server:
        async with NatsMessageBus(server.url) as asking:
            bus = NatsMessageBus(server.url)
            gate = Gate(bus)
            await bus.connect()
            asked = asyncio.create_task(
                request_hook_execution(asking, "BeforeTool", TOOL, timeout=1)
            )
            await until(lambda: len(gate.held) == 1)
            draining = asyncio.create_task(bus.drain())
            await asyncio.to_thread(server.stop)
            gate.open.set()
            async with asyncio.timeout(20):
                await draining
                await bus.close()
                response = await asked
    assert response["error"]["code"] in ("timeout", "disconnected")


async def test_a_response_handler_may_close_the_bus(nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    closed = asyncio.Event()

    async def close(_response: Json) -> None:
        await bus.close()
        closed.set()

    bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, close)
    await bus.connect()
    await bus.publish(message())
    async with asyncio.timeout(20):
        await closed.wait()
    assert bus.state is ConnectionState.CLOSED


@pytest.mark.parametrize("yields", range(0, 12, 2))
async def test_closing_can_be_given_up_at_any_point_and_done_again(
    nats_url: str, prefix: str, yields: int
) -> None:
    before = others()
    bus = NatsMessageBus(nats_url, prefix=prefix)
    Gate(bus)
    await bus.connect()
    asked = asyncio.create_task(request_hook_execution(bus, "BeforeTool", TOOL, timeout=30))
    await until(lambda: bus.serving_status()["running"] == 1)
    closing = asyncio.create_task(bus.close())
    for _ in range(yields):
        await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait({closing})
    async with asyncio.timeout(20):
        await bus.close()
        response = await asked
    assert response["success"] is False
    assert bus.state is ConnectionState.CLOSED
    assert others() == before


async def test_a_loop_that_would_wait_for_itself_is_told_to_await(nats_url: str) -> None:
    async with NatsMessageBus(nats_url) as bus:
        with pytest.raises(BusConnectionError, match=r"await close\(\)"):
            bus.close_blocking()
        assert bus.state is ConnectionState.CONNECTED


async def test_a_bus_that_is_closed_while_it_connects_does_not_listen(
    nats_url: str, prefix: str
) -> None:
    before = others()
    bus = NatsMessageBus(nats_url, prefix=prefix)
    Gate(bus).open.set()
    connecting = asyncio.create_task(bus.connect())
    await asyncio.sleep(0)
    await bus.close()
    with pytest.raises(BusConnectionError, match="the bus was closed"):
        await connecting
    assert bus.state is ConnectionState.CLOSED
    assert others() == before
    async with bus, NatsMessageBus(nats_url, prefix=prefix) as asking:
        assert (await request_hook_execution(asking, "BeforeTool", TOOL))["success"] is True


async def test_a_bus_that_was_never_connected_is_drained_and_closed_without_a_trace() -> None:
    before = others()
    states: list[ConnectionState] = []
    bus = NatsMessageBus("nats://127.0.0.1:1")
    stop = bus.listen(states.append)
    bus.subscribe(REQUEST, lambda _message: None)()
    await bus.drain()
    await bus.close()
    await asyncio.to_thread(bus.close_blocking)
    for use in (bus.publish(message()), bus.ask_workers(), bus.answer_workers(dict)):
        with pytest.raises(BusConnectionError, match=r"nats://127\.0\.0\.1:1 is not connected"):
            await use
    for _ in range(2):
        stop()
    assert (bus.state, states) == (ConnectionState.CLOSED, [])
    assert bus.serving_status()["state"] == "closed"
    assert others() == before
    assert "hookline nats" not in {thread.name for thread in threading.enumerate()}


async def test_a_request_after_closing_is_made_over_a_connection_that_closing_again_ends(
    nats_url: str, prefix: str
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    await bus.close()
    response = await request_hook_execution(bus, "BeforeTool", TOOL)
    [thread] = [one for one in threading.enumerate() if one.name == "hookline nats"]
    # A program that forgets to close the bus ends all the same.
    assert thread.daemon
    states = [bus.state]
    await bus.close()
    assert response["error"]["code"] == "unavailable"
    assert [*states, bus.state] == ["connected", "closed"]
    assert "hookline nats" not in {thread.name for thread in threading.enumerate()}


async def test_listeners_hear_of_the_connection_that_requests_made_until_they_stop(
    nats_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    heard: list[ConnectionState] = []
    short: list[ConnectionState] = []

    def fail(_state: ConnectionState) -> None:
        raise RuntimeError("a listener of its own")

    stop = bus.listen(short.append)
    bus.listen(fail)
    bus.listen(heard.append)
    await request_hook_execution(bus, "BeforeTool", TOOL)
    stop()
    await bus.close()
    assert short == ["connecting", "connected"]
    assert heard == ["connecting", "connected", "closed"]
    assert "a listener to the state of the bus failed" in caplog.text
