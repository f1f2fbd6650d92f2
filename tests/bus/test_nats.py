"""The bus over NATS: the contract of every bus, and what it promises to who asks."""

import asyncio
import errno
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import MessageBusType, request_hook_execution
from hookline.bus.messages import MessageBus
from hookline.bus.nats import BusConnectionError, ConnectionState, NatsMessageBus
from hookline.bus.nats.connection import explain_failure
from tests.eleven import Json, started, until
from tests.kit.buses import (
    CHECKS,
    PAIR_CHECKS,
    Check,
    PairCheck,
    check_message_bus,
    message,
)
from tests.natsserver import nats_server

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
TOOL: Json = {"tool_name": "read", "tool_input": {}}
REFUSED = f"[Errno {errno.ECONNREFUSED}]"


@pytest.mark.requirement("DELTA-HBUS-001")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_is_a_message_bus(nats_url: str, prefix: str, check: Check) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        await check(bus)


@pytest.mark.requirement("DELTA-HBUS-001")
@pytest.mark.parametrize("check", PAIR_CHECKS, ids=lambda check: check.__name__)
async def test_two_connections_are_one_bus(nats_url: str, prefix: str, check: PairCheck) -> None:
    async with (
        NatsMessageBus(nats_url, prefix=prefix) as asking,
        NatsMessageBus(nats_url, prefix=prefix) as serving,
    ):
        await check(asking, serving)


async def test_the_suite_as_a_whole_closes_what_it_opens(nats_url: str, prefix: str) -> None:
    made: list[NatsMessageBus] = []

    async def make() -> MessageBus:
        bus = NatsMessageBus(nats_url, prefix=f"{prefix}-{len(made)}")
        made.append(bus)
        await bus.connect()
        return bus

    await check_message_bus(make)
    assert {bus.state for bus in made} == {ConnectionState.CLOSED}


async def test_a_missing_worker_is_known_at_once(nats_url: str, prefix: str) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        before = time.monotonic()
        response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=50)
    assert time.monotonic() - before < 10
    assert response["error"]["code"] == "unavailable"
    assert "no worker serves BeforeTool" in response["error"]["message"]


async def test_exactly_one_of_many_workers_carries_out_each_request(
    nats_url: str, prefix: str
) -> None:
    heard: list[list[Any]] = [[], [], []]
    buses = [NatsMessageBus(nats_url, prefix=prefix) for _ in heard]
    for bus, mine in zip(buses, heard, strict=True):
        bus.subscribe(REQUEST, mine.append)
        await bus.connect()
    async with NatsMessageBus(nats_url, prefix=prefix) as asking:
        for number in range(60):
            await asking.publish(message(number))
        await until(lambda: sum(map(len, heard)) >= 60)
        await asyncio.sleep(0.05)
    for bus in buses:
        await bus.close()
    ids = [one["correlationId"] for mine in heard for one in mine]
    assert len(ids) == len(set(ids)) == 60
    assert all(heard)


async def test_from_connecting_to_draining_and_no_longer_a_worker_is_there(
    nats_url: str, prefix: str
) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as asking:
        for _ in range(50):
            serving = NatsMessageBus(nats_url, prefix=prefix)
            answer_all(serving)
            await serving.connect()
            response = await request_hook_execution(asking, "BeforeTool", TOOL)
            await serving.drain()
            after = await request_hook_execution(asking, "BeforeTool", TOOL)
            await serving.close()
            assert response["success"] is True
            assert after["error"]["code"] == "unavailable"


def answer_all(bus: NatsMessageBus) -> None:
    async def answer(request: Json) -> None:
        given = request["correlationId"]
        said = {"type": "hook-execution-response", "correlationId": given, "success": True}
        await bus.publish(said)

    bus.subscribe(REQUEST, answer)


async def test_buses_of_different_prefixes_do_not_hear_each_other(
    nats_url: str, prefix: str
) -> None:
    async with (
        NatsMessageBus(nats_url, prefix=f"{prefix}-a") as serving,
        NatsMessageBus(nats_url, prefix=f"{prefix}-b") as asking,
    ):
        await started(Path.cwd() / "w", message_bus=serving)
        response = await request_hook_execution(asking, "BeforeTool", TOOL)
    assert response["error"]["code"] == "unavailable"


async def test_the_caller_is_not_left_waiting_past_its_deadline(nats_url: str, prefix: str) -> None:
    async with NatsMessageBus(nats_url, prefix=prefix) as bus:
        bus.subscribe(REQUEST, lambda _message: None)
        before = time.monotonic()
        response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=0.2)
    assert time.monotonic() - before < 10
    assert response["error"] == {
        "code": "timeout",
        "message": "no response within 0.2 s",
        "details": {"stage": "response"},
    }


async def test_a_request_larger_than_the_server_takes_is_not_sent(tmp_path: Path) -> None:
    with nats_server(tmp_path / "nats", "max_payload: 1000\n") as server:
        async with NatsMessageBus(server.url) as bus:
            response = await request_hook_execution(bus, "BeforeAgent", {"prompt": "x" * 1000})
    assert response["error"]["code"] == "request_too_large"
    assert "max_payload" in response["error"]["message"]


async def test_a_response_larger_than_the_server_takes_fails_with_a_code(tmp_path: Path) -> None:
    with nats_server(tmp_path / "nats", "max_payload: 2000\n") as server:
        async with NatsMessageBus(server.url) as bus:
            system = await started(tmp_path / "w", message_bus=bus)
            system.register_hook("BeforeAgent", lambda _input: {"reason": "x" * 3000})
            response = await request_hook_execution(bus, "BeforeAgent", {"prompt": "p"})
            system.dispose()
    assert response["error"]["code"] == "response_failed"


async def test_who_was_never_connected_asks_from_a_thread_of_the_bus(
    nats_url: str, prefix: str, tmp_path: Path
) -> None:
    serving = NatsMessageBus(nats_url, prefix=prefix)
    # Before it connects: then the server knows of it when it has.
    system = await started(tmp_path / "w", message_bus=serving)
    system.register_hook("BeforeTool", lambda _input: {"decision": "ask"})
    async with serving:
        lazy = NatsMessageBus(nats_url, prefix=prefix)
        response = await request_hook_execution(lazy, "BeforeTool", TOOL)
        assert lazy.state is ConnectionState.CONNECTED
        await lazy.close()
        system.dispose()
    assert response["success"] is True
    assert "hookline nats" not in {thread.name for thread in threading.enumerate()}


def test_synchronous_code_can_ask_and_close(nats_url: str, prefix: str) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    response = asyncio.run(request_hook_execution(bus, "BeforeTool", TOOL))
    again = asyncio.run(request_hook_execution(bus, "BeforeTool", TOOL))
    bus.close_blocking()
    assert response["error"]["code"] == again["error"]["code"] == "unavailable"


async def test_no_server_is_an_error_that_names_it_and_no_password() -> None:
    bus = NatsMessageBus("nats://me:secret@127.0.0.1:1")
    with pytest.raises(BusConnectionError, match=r"cannot connect to nats://127\.0\.0\.1:1: ") as e:
        await bus.connect()
    assert "secret" not in str(e.value)
    remedy = ": connection refused; start the NATS server there, or correct the address"
    assert str(e.value).endswith(remedy)
    assert bus.state is ConnectionState.CLOSED


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            OSError(
                f"Multiple exceptions: {REFUSED} Connect call failed ('::1', 1, 0, 0), "
                f"{REFUSED} Connect call failed ('127.0.0.1', 1)"
            ),
            "connection refused; start the NATS server there, or correct the address",
        ),
        (
            socket.gaierror(-2, "Name or service not known"),
            "name or service not known; correct the address",
        ),
        (OSError(24, "Too many open files"), "[Errno 24] Too many open files"),
        (OSError("no errno"), "no errno"),
        (ValueError(f"{REFUSED} is quoted"), f"{REFUSED} is quoted"),
        (ValueError("nats: 'Authorization Violation'"), "Authorization Violation"),
    ],
)
def test_a_failed_connection_is_explained_with_a_remedy_that_fits(
    error: Exception, said: str
) -> None:
    assert explain_failure(error) == said


async def test_asking_without_a_server_fails_at_once_and_soon_again() -> None:
    bus = NatsMessageBus("nats://127.0.0.1:1")
    states: list[ConnectionState] = []
    bus.listen(states.append)
    before = time.monotonic()
    responses = [await request_hook_execution(bus, "BeforeTool", TOOL) for _ in range(20)]
    await bus.close()
    assert time.monotonic() - before < 10
    # A rest follows each attempt that failed, and is longer each time.
    assert 1 <= states.count(ConnectionState.CONNECTING) <= 5
    assert {response["error"]["code"] for response in responses} == {"disconnected"}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://localhost", "write nats://HOST:4222"),
        ("nats://", "write nats://HOST:4222"),
        ("nats://localhost:99999", "its port is not a number below 65536"),
        ("nats://me:se/cret@host", "as %2F"),
        ("nats://me:se?cret@host", "as %2F"),
        ("nats://me:cret@", "write nats://HOST:4222"),
        ("nats://localhost?tls_key=/nowhere.pem", "without its certificate; add tls_cert"),
        ("nats://localhost?credentials=/", "the credentials file / cannot be read"),
        ("nats://localhost?colour=red", "unknown option in the URL of the bus: colour"),
        ("nats://localhost?prefix=a..b", "cannot be the prefix"),
        ("nats://localhost?credentials=/nowhere.creds", "no credentials file /nowhere.creds"),
        ("nats://localhost?tls_ca=/nowhere.pem", "TLS cannot be set up with /nowhere.pem"),
    ],
)
def test_a_url_that_is_none_is_refused_with_the_remedy(url: str, said: str) -> None:
    with pytest.raises(BusConnectionError) as caught:
        NatsMessageBus.from_url(url)
    assert said in str(caught.value)
    assert "cret" not in str(caught.value)


async def test_a_closed_bus_refuses_to_publish_and_can_be_connected_again(
    nats_url: str, prefix: str
) -> None:
    bus = NatsMessageBus(nats_url, prefix=prefix)
    heard: list[Any] = []
    bus.subscribe(REQUEST, heard.append)
    with pytest.raises(BusConnectionError, match="not connected"):
        await bus.publish(message())
    await bus.close()
    await bus.connect()
    await bus.publish(message())
    await until(lambda: len(heard) == 1)
    await bus.close()
