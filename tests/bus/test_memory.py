"""The bus within a process: the contract of every bus, and what is its own promise."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, MessageBusType, request_hook_execution
from hookline.bus.messages import MessageBus, MessageHandler
from tests.eleven import until
from tests.kit import buses
from tests.kit.buses import (
    CHECKS,
    PAIR_CHECKS,
    Check,
    Message,
    check_message_bus,
    message,
)

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST


@pytest.mark.requirement("DELTA-HBUS-001")
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_it_is_a_message_bus(check: Check) -> None:
    await check(InProcessMessageBus())


class Leaky(InProcessMessageBus):
    """Delivers what it should refuse."""

    async def publish(self, message: Mapping[str, Any]) -> None:
        await super().publish({**dict(message or {}), "type": REQUEST.value})


class Forgetful(InProcessMessageBus):
    """Cannot end a subscription."""

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Any:
        super().subscribe(type, handler)
        return lambda: None


@pytest.mark.parametrize("kind", [Leaky, Forgetful])
async def test_the_checks_find_out_a_bus_that_is_none(
    kind: type[InProcessMessageBus], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buses, "ARRIVAL_SECONDS", 0.1)

    async def make() -> MessageBus:
        return kind()

    with pytest.raises(AssertionError, match="arrived"):
        await check_message_bus(make)


def put_id(given: Message) -> Message:
    return {**given, "correlationId": "another"}


def put_final(given: Message) -> Message:
    if "output" not in given:
        return given
    final = {"decision": "allow", "reason": "another"}
    return {**given, "output": {**given["output"], "finalOutput": final}}


def put_error(given: Message) -> Message:
    return {**given, "error": {**given["error"], "code": "x"}} if "error" in given else given


def answer_too(given: Message) -> list[Message]:
    if given["type"] != REQUEST.value:
        return [given]
    kind, output = "hook-execution-response", {"finalOutput": None}
    return [given, {**given, "type": kind, "success": True, "output": output}]


class Altering(InProcessMessageBus):
    """Delivers other messages than those that are published."""

    def __init__(self, alter: Callable[[Message], list[Message]]) -> None:
        super().__init__()
        self._alter = alter

    async def publish(self, message: Message) -> None:
        for one in self._alter(message):
            await super().publish(one)


@pytest.mark.parametrize(
    ("check", "alter", "broken"),
    [
        ("a_plain_handler_hears_the_message", lambda m: [put_id(m)], "the message arrived as"),
        (
            "only_handlers_of_its_type_hear_a_message",
            lambda m: [m, {**m, "type": REQUEST.value}],
            "1 arrived instead of 0",
        ),
        ("every_handler_hears_every_message_once", lambda m: [m, m], "20 arrived instead of 10"),
        ("every_handler_hears_every_message_once", lambda m: [put_id(m)], "of ten messages"),
        (
            "a_handler_subscribed_twice_hears_twice_and_once_after_one_ends",
            lambda m: [m] * int(m["correlationId"][-1]),
            "4 arrived instead of 3",
        ),
        ("a_handler_may_publish", lambda m: [put_id(m)], "the answer arrived as"),
        ("a_hook_system_serves_it", lambda m: [put_final(m)], "the response is"),
        (
            "a_request_from_one_end_is_answered_at_the_other",
            lambda m: [put_final(m)],
            "the response is",
        ),
        (
            "requests_at_once_each_get_their_own_response",
            lambda m: [put_final(m)],
            "the answers are",
        ),
        (
            "what_cannot_be_carried_out_is_a_failed_response",
            lambda m: [put_error(m)],
            "the response is",
        ),
        ("a_request_that_nobody_serves_fails_in_time", answer_too, "the response is"),
        ("after_the_server_has_gone_nobody_serves", answer_too, "the response is"),
    ],
    ids=[f"bus-{number}" for number in range(12)],
)
async def test_each_check_finds_a_bus_that_delivers_something_else(
    check: str, alter: Callable[[Message], list[Message]], broken: str
) -> None:
    bus, run = Altering(alter), getattr(buses, check)
    with pytest.raises(AssertionError, match=broken):
        await (run(bus, bus) if run in PAIR_CHECKS else run(bus))


async def test_the_checks_find_a_handler_that_cannot_end_its_subscription() -> None:
    with pytest.raises(AssertionError, match="2 arrived instead of 1"):
        await buses.a_handler_may_end_its_own_subscription(Forgetful())


async def test_each_bus_that_was_checked_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []

    class Closing(InProcessMessageBus):
        async def close(self) -> None:
            events.append("closed")

    async def make() -> MessageBus:
        return Closing()

    async def fail(*_buses: MessageBus) -> None:
        events.append("checked")
        raise AssertionError("not a bus")

    for checks, expected in (("CHECKS", 1), ("PAIR_CHECKS", 2)):
        events.clear()
        monkeypatch.setattr(buses, "CHECKS", ())
        monkeypatch.setattr(buses, checks, (fail,))
        with pytest.raises(AssertionError, match="not a bus"):
            await check_message_bus(make)
        assert events == ["checked", *["closed"] * expected]


async def test_the_checks_run_as_one() -> None:
    async def make() -> MessageBus:
        return InProcessMessageBus()

    await check_message_bus(make)


async def test_publish_returns_when_every_handler_is_done() -> None:
    bus, done = InProcessMessageBus(), []

    async def work(_message: Any) -> None:
        await asyncio.sleep(0.01)
        done.append(1)

    for _ in range(3):
        bus.subscribe(REQUEST, work)
    await bus.publish(message())
    assert len(done) == 3


@pytest.mark.parametrize("count", [1, 3])
async def test_cancelling_publish_cancels_the_handlers(count: int) -> None:
    bus = InProcessMessageBus()
    began: list[int] = []
    cancelled: list[int] = []

    async def work(_message: Any) -> None:
        began.append(1)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(1)
            raise

    for _ in range(count):
        bus.subscribe(REQUEST, work)
    publishing = asyncio.create_task(bus.publish(message()))
    await until(lambda: len(began) == count)
    publishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await publishing
    assert len(began) == len(cancelled) == count


def test_many_threads_may_subscribe_publish_and_end_their_subscriptions() -> None:
    bus = InProcessMessageBus()
    heard: list[Any] = []
    bus.subscribe(REQUEST, heard.append)

    def work() -> None:
        for _ in range(50):
            unsubscribe = bus.subscribe(REQUEST, lambda _message: None)
            asyncio.run(bus.publish(message()))
            unsubscribe()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(heard) == 200


def test_a_type_that_does_not_exist_cannot_be_subscribed_to() -> None:
    with pytest.raises(ValueError, match="gossip"):
        InProcessMessageBus().subscribe("gossip", print)  # type: ignore[arg-type]


class Server:
    """Serves a bus as a hook system does."""

    def __init__(self, bus: InProcessMessageBus, *, seconds: float = 0) -> None:
        self._bus = bus
        self._seconds = seconds
        self.was_stopped = False
        bus.subscribe(REQUEST, self)

    async def __call__(self, given: Mapping[str, Any]) -> None:
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.was_stopped = True
            raise
        await self._bus.publish(self.respond(given))

    def respond(self, given: Mapping[str, Any]) -> dict[str, Any]:
        kind, correlation_id = "hook-execution-response", given["correlationId"]
        return {"type": kind, "correlationId": correlation_id, "success": True}


@pytest.mark.parametrize("kind", list(MessageBusType))
async def test_whoever_listens_hears_the_messages_of_a_request(kind: MessageBusType) -> None:
    bus = InProcessMessageBus()
    Server(bus)
    heard: list[Mapping[str, Any]] = []
    bus.subscribe(kind, heard.append)
    response = await request_hook_execution(bus, "BeforeTool", {}, correlation_id="c")
    assert (response["success"], response["correlationId"]) == (True, "c")
    assert [given["type"] for given in heard] == [kind.value]


async def test_a_bus_of_another_kind_publishes_every_message() -> None:
    published: list[str] = []

    class Noting(InProcessMessageBus):
        async def publish(self, message: Mapping[str, Any]) -> None:
            published.append(message["type"])
            await super().publish(message)

    bus = Noting()
    Server(bus)
    assert (await request_hook_execution(bus, "BeforeTool", {}))["success"] is True
    assert published == ["hook-execution-request", "hook-execution-response"]


async def test_a_server_that_is_late_is_stopped() -> None:
    bus = InProcessMessageBus()
    server = Server(bus, seconds=60)
    response = await request_hook_execution(bus, "BeforeTool", {}, timeout=0.01)
    assert response["error"]["code"] == "timeout"
    assert server.was_stopped


async def test_a_server_that_raises_keeps_no_other_from_answering(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = InProcessMessageBus()
    broken = Server(bus)
    broken.respond = {}.__getitem__  # type: ignore[assignment,method-assign]
    response = await request_hook_execution(bus, "BeforeTool", {}, timeout=0.01)
    assert response["error"]["code"] == "timeout"
    assert "a bus handler failed" in caplog.text
    Server(bus)
    response = await request_hook_execution(bus, "BeforeTool", {})
    assert response["success"] is True


async def test_the_first_response_is_for_all_who_wait_under_one_id() -> None:
    bus = InProcessMessageBus()
    asking = [
        asyncio.create_task(request_hook_execution(bus, "BeforeTool", {}, correlation_id="same"))
        for _ in range(2)
    ]
    await asyncio.sleep(0)
    await bus.publish({"type": "hook-execution-response", "correlationId": "same", "success": True})
    assert [response["success"] for response in await asyncio.gather(*asking)] == [True, True]


def response_to(correlation_id: str, number: int) -> dict[str, Any]:
    kind = "hook-execution-response"
    return {"type": kind, "correlationId": correlation_id, "success": True, "output": number}


async def test_of_two_responses_with_one_id_the_first_counts_and_the_next_request_has_its_own() -> (
    None
):
    bus = InProcessMessageBus()
    previous: list[str] = []

    async def answer_twice(given: Mapping[str, Any]) -> None:
        for correlation_id in (*previous, given["correlationId"]):
            await bus.publish(response_to(correlation_id, len(previous) + 1))
            await bus.publish(response_to(correlation_id, -1))
        previous.append(given["correlationId"])

    bus.subscribe(REQUEST, answer_twice)
    responses = [await request_hook_execution(bus, "BeforeTool", {}) for _ in range(3)]
    assert [dict(response)["output"] for response in responses] == [1, 2, 3]
    assert [response["correlationId"] for response in responses] == previous
    assert not bus.hears(MessageBusType.HOOK_EXECUTION_RESPONSE)


async def test_a_response_that_comes_when_the_time_is_over_is_not_the_answer() -> None:
    bus = InProcessMessageBus()

    async def answer_when_stopped(given: Mapping[str, Any]) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await bus.publish(response_to(given["correlationId"], 1))

    bus.subscribe(REQUEST, answer_when_stopped)
    response = await request_hook_execution(bus, "BeforeTool", {}, timeout=0.01)
    assert response["error"]["code"] == "timeout"


async def test_a_bus_that_nobody_hears_any_more_delivers_nothing_and_keeps_nothing() -> None:
    bus = InProcessMessageBus()
    heard: list[Any] = []
    ends = [bus.subscribe(kind, heard.append) for kind in MessageBusType]
    for end in (*ends, *ends):
        end()
    await bus.publish(message())
    assert heard == []
    assert not any(bus.hears(kind) for kind in MessageBusType)
    again = bus.subscribe(REQUEST, heard.append)
    ends[0]()
    await bus.publish(message())
    again()
    assert len(heard) == 1


async def test_a_handler_that_is_ended_by_another_still_hears_the_message_on_its_way() -> None:
    bus = InProcessMessageBus()
    heard: list[Any] = []
    bus.subscribe(REQUEST, lambda _message: end())
    end = bus.subscribe(REQUEST, heard.append)
    await bus.publish(message())
    await bus.publish(message())
    assert len(heard) == 1
