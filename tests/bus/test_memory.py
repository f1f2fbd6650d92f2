"""The bus within a process: the contract of every bus, and what is its own promise."""

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, MessageBusType
from hookline.bus.messages import MessageBus, MessageHandler
from hookline.testing import bus_conformance
from hookline.testing.bus_conformance import CHECKS, Check, check_message_bus, message

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
    monkeypatch.setattr(bus_conformance, "ARRIVAL_SECONDS", 0.1)

    async def make() -> MessageBus:
        return kind()

    with pytest.raises(AssertionError, match="arrived"):
        await check_message_bus(make)


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
    await asyncio.sleep(0.01)
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
    assert len(bus._handlers[REQUEST.value]) == 1


def test_a_type_that_does_not_exist_cannot_be_subscribed_to() -> None:
    with pytest.raises(ValueError, match="gossip"):
        InProcessMessageBus().subscribe("gossip", print)  # type: ignore[arg-type]
