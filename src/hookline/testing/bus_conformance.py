"""The contract of a message bus as checks that any implementation can be put through.

Each of ``CHECKS`` takes a fresh bus and raises AssertionError where the bus departs from the
contract; ``check_message_bus`` runs them all. A bus may deliver at once or later, so the checks
wait for what must arrive and, for a moment, for what must not.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from hookline.bus.client import request_hook_execution
from hookline.bus.messages import MessageBus, MessageBusType
from hookline.config import Config
from hookline.system import HookSystem

Check: TypeAlias = Callable[[MessageBus], Awaitable[None]]
Message: TypeAlias = Mapping[str, Any]

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
RESPONSE = MessageBusType.HOOK_EXECUTION_RESPONSE
ARRIVAL_SECONDS = 5.0
SILENCE_SECONDS = 0.05


async def check_message_bus(make_bus: Callable[[], Awaitable[MessageBus]]) -> None:
    """Put a bus through every check, each with a new one of its own."""
    for check in CHECKS:
        await check(await make_bus())


def message(number: int = 1, *, kind: MessageBusType = REQUEST) -> dict[str, Any]:
    """A message that can be told from others by its number."""
    return {"type": kind.value, "correlationId": f"id-{number}", "input": {"é": [number, None]}}


async def a_plain_handler_hears_the_message(bus: MessageBus) -> None:
    heard: list[Message] = []
    bus.subscribe(REQUEST, heard.append)
    await bus.publish(message())
    await _arrive(heard, 1)
    _expect(dict(heard[0]) == message(), f"the message arrived as {heard[0]!r}")


async def an_async_handler_hears_the_message(bus: MessageBus) -> None:
    heard: list[Message] = []

    async def hear(given: Message) -> None:
        await asyncio.sleep(0)
        heard.append(given)

    bus.subscribe(REQUEST, hear)
    await bus.publish(message())
    await _arrive(heard, 1)


async def only_handlers_of_its_type_hear_a_message(bus: MessageBus) -> None:
    requests: list[Message] = []
    responses: list[Message] = []
    bus.subscribe(REQUEST, requests.append)
    bus.subscribe(RESPONSE, responses.append)
    await bus.publish(message(kind=RESPONSE))
    await _arrive(responses, 1)
    await _stay(requests, 0)


async def every_handler_hears_every_message_once(bus: MessageBus) -> None:
    heard: list[list[Message]] = [[], [], []]
    for one in heard:
        bus.subscribe(REQUEST, one.append)
    await asyncio.gather(*(bus.publish(message(number)) for number in range(10)))
    for one in heard:
        await _arrive(one, 10)
        await _stay(one, 10)
        numbers = {given["correlationId"] for given in one}
        _expect(len(numbers) == 10, f"of ten messages {sorted(numbers)} arrived")


async def a_handler_subscribed_twice_hears_twice_and_once_after_one_ends(bus: MessageBus) -> None:
    heard: list[Message] = []
    unsubscribe = bus.subscribe(REQUEST, heard.append)
    bus.subscribe(REQUEST, heard.append)
    await bus.publish(message())
    await _arrive(heard, 2)
    unsubscribe()
    await bus.publish(message())
    await _arrive(heard, 3)
    await _stay(heard, 3)


async def a_subscription_ends_once_and_for_all(bus: MessageBus) -> None:
    ended: list[Message] = []
    others: list[Message] = []
    unsubscribe = bus.subscribe(REQUEST, ended.append)
    bus.subscribe(REQUEST, others.append)
    unsubscribe()
    unsubscribe()
    await bus.publish(message())
    await _arrive(others, 1)
    await _stay(ended, 0)


async def a_handler_that_raises_does_not_stop_the_others(bus: MessageBus) -> None:
    heard: list[Message] = []

    def fail(_message: Message) -> None:
        raise LookupError("a plain handler fails")

    async def fail_later(_message: Message) -> None:
        await asyncio.sleep(0)
        raise LookupError("an async handler fails")

    async def give_up(_message: Message) -> None:
        raise asyncio.CancelledError

    with _warnings() as warnings:
        for handler in (fail, fail_later, give_up, heard.append):
            bus.subscribe(REQUEST, handler)
        await bus.publish(message(1))
        await bus.publish(message(2))
        await _arrive(heard, 2)
        await _arrive(warnings, 6)


async def a_message_of_no_known_type_is_refused_with_a_warning(bus: MessageBus) -> None:
    heard: list[Message] = []
    for kind in MessageBusType:
        bus.subscribe(kind, heard.append)
    refused: list[Any] = [{}, {"type": "gossip"}, {"type": None}, {"type": []}, [], "text", None]
    with _warnings() as warnings:
        for given in refused:
            await bus.publish(given)
        _expect(len(warnings) == len(refused), f"{len(refused)} were refused, said: {warnings}")
    await _stay(heard, 0)


async def a_message_that_nobody_hears_is_no_error(bus: MessageBus) -> None:
    await bus.publish(message())


async def a_handler_may_publish(bus: MessageBus) -> None:
    heard: list[Message] = []

    async def answer(given: Message) -> None:
        await bus.publish({**given, "type": RESPONSE.value})

    bus.subscribe(REQUEST, answer)
    bus.subscribe(RESPONSE, heard.append)
    await bus.publish(message(7))
    await _arrive(heard, 1)
    _expect(heard[0]["correlationId"] == "id-7", f"the answer arrived as {heard[0]!r}")


async def a_handler_may_end_its_own_subscription(bus: MessageBus) -> None:
    heard: list[Message] = []

    def hear_once(given: Message) -> None:
        heard.append(given)
        unsubscribe()

    unsubscribe = bus.subscribe(REQUEST, hear_once)
    await bus.publish(message(1))
    await _arrive(heard, 1)
    await bus.publish(message(2))
    await _stay(heard, 1)


async def a_hook_system_serves_it(bus: MessageBus) -> None:
    config = Config(session_id="conformance", message_bus=bus)
    async with HookSystem(config) as system:
        system.register_hook("BeforeAgent", lambda _input: {"decision": "deny"}, name="guard")
        response = await request_hook_execution(
            bus, "BeforeAgent", {"prompt": "p"}, correlation_id="mine", timeout=ARRIVAL_SECONDS
        )
    _expect(response["correlationId"] == "mine", f"the response is {response!r}")
    final = response["output"]["finalOutput"] if response["success"] else None
    _expect(final is not None and final["decision"] == "deny", f"the response is {response!r}")


CHECKS: tuple[Check, ...] = (
    a_plain_handler_hears_the_message,
    an_async_handler_hears_the_message,
    only_handlers_of_its_type_hear_a_message,
    every_handler_hears_every_message_once,
    a_handler_subscribed_twice_hears_twice_and_once_after_one_ends,
    a_subscription_ends_once_and_for_all,
    a_handler_that_raises_does_not_stop_the_others,
    a_message_of_no_known_type_is_refused_with_a_warning,
    a_message_that_nobody_hears_is_no_error,
    a_handler_may_publish,
    a_handler_may_end_its_own_subscription,
    a_hook_system_serves_it,
)


def _expect(holds: bool, otherwise: str) -> None:
    # Not an assert statement: the checks must hold with -O as well.
    if not holds:
        raise AssertionError(otherwise)


async def _arrive(heard: list[Any], count: int) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ARRIVAL_SECONDS
    while len(heard) < count and loop.time() < deadline:  # noqa: ASYNC110 (any bus, any thread)
        await asyncio.sleep(0.001)
    _expect(len(heard) >= count, f"{len(heard)} of {count} arrived: {heard!r}")


async def _stay(heard: list[Any], count: int) -> None:
    await asyncio.sleep(SILENCE_SECONDS)
    _expect(len(heard) == count, f"{len(heard)} arrived instead of {count}: {heard!r}")


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """What hookline warns of meanwhile."""
    log, collector = logging.getLogger("hookline"), _Collector()
    log.addHandler(collector)
    try:
        yield collector.said
    finally:
        log.removeHandler(collector)
