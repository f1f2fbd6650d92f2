"""The contract of a message bus, as checks for any implementation.

Each of ``CHECKS`` takes a fresh bus and raises AssertionError if the bus breaks the contract; each
of ``PAIR_CHECKS`` takes two ends of one bus, which within a process may be the same object twice.
``check_message_bus`` runs them all, and closes each bus that has a ``close``. A bus may deliver at
once or later, so the checks wait for what must arrive and, for a moment, for what must not. It may
refuse a request whose id it has seen, so each message has its own.
"""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeAlias

from hookline.bus.client import request_hook_execution
from hookline.bus.messages import HookExecutionResponse, MessageBus, MessageBusType
from hookline.contract import Config, HookSystem

Check: TypeAlias = Callable[[MessageBus], Awaitable[None]]
PairCheck: TypeAlias = Callable[[MessageBus, MessageBus], Awaitable[None]]
Message: TypeAlias = Mapping[str, Any]

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
RESPONSE = MessageBusType.HOOK_EXECUTION_RESPONSE
ARRIVAL_SECONDS = 5.0
SILENCE_SECONDS = 0.05


async def check_message_bus(
    make_bus: Callable[[], Awaitable[MessageBus]],
    make_pair: Callable[[], Awaitable[tuple[MessageBus, MessageBus]]] | None = None,
) -> None:
    """Run every check, each with a new bus.

    ``make_pair`` returns two ends that are connected only with each other; without it, both ends
    are the same bus.
    """
    for check in CHECKS:
        bus = await make_bus()
        try:
            await check(bus)
        finally:
            await _close(bus)
    for pair_check in PAIR_CHECKS:
        ends = await make_pair() if make_pair is not None else (bus := await make_bus(), bus)
        try:
            await pair_check(*ends)
        finally:
            for end in ends:
                await _close(end)


def message(number: int = 1, *, kind: MessageBusType = REQUEST) -> dict[str, Any]:
    """A message with a number that distinguishes it from others."""
    return {"type": kind.value, "correlationId": f"id-{number}", "input": {"é": [number, None]}}


async def a_plain_handler_hears_the_message(bus: MessageBus) -> None:
    heard = _listen(bus)
    await bus.publish(message())
    await _wait_for(heard, 1)
    _expect(dict(heard[0]) == message(), f"the message arrived as {heard[0]!r}")


async def an_async_handler_hears_the_message(bus: MessageBus) -> None:
    heard: list[Message] = []

    async def hear(given: Message) -> None:
        await asyncio.sleep(0)
        heard.append(given)

    bus.subscribe(REQUEST, hear)
    await bus.publish(message())
    await _wait_for(heard, 1)


async def only_handlers_of_its_type_hear_a_message(bus: MessageBus) -> None:
    requests, responses = _listen(bus), _listen(bus, RESPONSE)
    await bus.publish(message(kind=RESPONSE))
    await _wait_for(responses, 1)
    await _expect_count(requests, 0)


async def every_handler_hears_every_message_once(bus: MessageBus) -> None:
    heard = [_listen(bus), _listen(bus), _listen(bus)]
    await asyncio.gather(*(bus.publish(message(number)) for number in range(10)))
    for one in heard:
        await _wait_for(one, 10)
        await _expect_count(one, 10)
        numbers = {given["correlationId"] for given in one}
        _expect(len(numbers) == 10, f"of ten messages {sorted(numbers)} arrived")


async def a_handler_subscribed_twice_hears_twice_and_once_after_one_ends(bus: MessageBus) -> None:
    heard: list[Message] = []
    unsubscribe = bus.subscribe(REQUEST, heard.append)
    bus.subscribe(REQUEST, heard.append)
    await bus.publish(message(1))
    await _wait_for(heard, 2)
    unsubscribe()
    await bus.publish(message(2))
    await _wait_for(heard, 3)
    await _expect_count(heard, 3)


async def a_subscription_ends_once_and_for_all(bus: MessageBus) -> None:
    ended: list[Message] = []
    unsubscribe = bus.subscribe(REQUEST, ended.append)
    others = _listen(bus)
    unsubscribe()
    unsubscribe()
    await bus.publish(message())
    await _wait_for(others, 1)
    await _expect_count(ended, 0)


async def a_handler_that_raises_does_not_stop_the_others(bus: MessageBus) -> None:
    heard: list[Message] = []

    def fail(_message: Message) -> None:
        raise LookupError("a plain handler fails")

    async def fail_later(_message: Message) -> None:
        await asyncio.sleep(0)
        raise LookupError("an async handler fails")

    async def give_up(_message: Message) -> None:
        raise asyncio.CancelledError

    with _collect_warnings() as warnings:
        for handler in (fail, fail_later, give_up, heard.append):
            bus.subscribe(REQUEST, handler)
        await bus.publish(message(1))
        await bus.publish(message(2))
        await _wait_for(heard, 2)
        await _wait_for(warnings, 6)


async def a_message_of_no_known_type_is_refused_with_a_warning(bus: MessageBus) -> None:
    heard: list[Message] = []
    for kind in MessageBusType:
        bus.subscribe(kind, heard.append)
    refused: list[Any] = [{}, {"type": "gossip"}, {"type": None}, {"type": []}, [], "text", None]
    with _collect_warnings() as warnings:
        for given in refused:
            await bus.publish(given)
        _expect(
            len(warnings) == len(refused),
            f"{len(refused)} messages must be refused, but the warnings are {warnings}",
        )
    await _expect_count(heard, 0)


async def a_message_that_nobody_hears_is_no_error(bus: MessageBus) -> None:
    await bus.publish(message())


async def a_handler_may_publish(bus: MessageBus) -> None:
    async def answer(given: Message) -> None:
        await bus.publish({**given, "type": RESPONSE.value})

    bus.subscribe(REQUEST, answer)
    heard = _listen(bus, RESPONSE)
    await bus.publish(message(7))
    await _wait_for(heard, 1)
    _expect(heard[0]["correlationId"] == "id-7", f"the answer arrived as {heard[0]!r}")


async def a_handler_may_end_its_own_subscription(bus: MessageBus) -> None:
    heard: list[Message] = []

    def hear_once(given: Message) -> None:
        heard.append(given)
        unsubscribe()

    unsubscribe = bus.subscribe(REQUEST, hear_once)
    await bus.publish(message(1))
    await _wait_for(heard, 1)
    await bus.publish(message(2))
    await _expect_count(heard, 1)


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


async def a_request_from_one_end_is_answered_at_the_other(
    asking: MessageBus, serving: MessageBus
) -> None:
    async with _serve(serving):
        response = await _request(asking, "first")
        _expect(response["correlationId"] == "first", f"the response is {response!r}")
        _expect(_read_reason(response) == "first", f"the response is {response!r}")


async def requests_at_once_each_get_their_own_response(
    asking: MessageBus, serving: MessageBus
) -> None:
    async with _serve(serving):
        names = [f"id-{number}" for number in range(20)]
        responses = await asyncio.gather(*(_request(asking, name) for name in names))
    answered = [(response["correlationId"], _read_reason(response)) for response in responses]
    _expect(answered == [(name, name) for name in names], f"the answers are {answered!r}")


async def a_request_is_carried_out_once(asking: MessageBus, serving: MessageBus) -> None:
    seen: list[Message] = []
    async with _serve(serving, seen):
        await asyncio.gather(*(_request(asking, f"id-{number}") for number in range(5)))
        await _expect_count(seen, 5)


async def what_cannot_be_carried_out_is_a_failed_response(
    asking: MessageBus, serving: MessageBus
) -> None:
    async with _serve(serving):
        response = await request_hook_execution(
            asking, "NoSuchEvent", {}, correlation_id="mine", timeout=ARRIVAL_SECONDS
        )
    _expect(response["correlationId"] == "mine", f"the response is {response!r}")
    code = response["error"].get("code") if not response["success"] else None
    _expect(code == "unsupported_event", f"the response is {response!r}")


async def a_request_that_nobody_serves_fails_in_time(
    asking: MessageBus, _serving: MessageBus
) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    response = await request_hook_execution(asking, "BeforeAgent", {"prompt": "p"}, timeout=0.2)
    _expect(response["success"] is False, f"the response is {response!r}")
    _expect(loop.time() - began < ARRIVAL_SECONDS, "the caller was left waiting")


async def after_the_server_has_gone_nobody_serves(asking: MessageBus, serving: MessageBus) -> None:
    async with _serve(serving):
        _expect((await _request(asking, "before"))["success"], "nobody served")
    response = await request_hook_execution(asking, "BeforeAgent", {"prompt": "p"}, timeout=0.5)
    _expect(response["success"] is False, f"the response is {response!r}")


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

PAIR_CHECKS: tuple[PairCheck, ...] = (
    a_request_from_one_end_is_answered_at_the_other,
    requests_at_once_each_get_their_own_response,
    a_request_is_carried_out_once,
    what_cannot_be_carried_out_is_a_failed_response,
    a_request_that_nobody_serves_fails_in_time,
    after_the_server_has_gone_nobody_serves,
)


@asynccontextmanager
async def _serve(bus: MessageBus, seen: list[Message] | None = None) -> AsyncIterator[None]:
    """Run a hook system at this end, whose hook answers with the prompt of the event."""

    def answer(input: Message) -> dict[str, Any]:
        if seen is not None:
            seen.append(input)
        return {"reason": input["prompt"]}

    async with HookSystem(Config(session_id="conformance", message_bus=bus)) as system:
        system.register_hook("BeforeAgent", answer, name="echo")
        # A bus may need a moment until one end knows of the other.
        loop = asyncio.get_running_loop()
        deadline = loop.time() + ARRIVAL_SECONDS
        while loop.time() < deadline:
            if (await _request(bus, str(uuid.uuid4())))["success"]:
                break
        if seen is not None:
            seen.clear()
        yield


async def _request(bus: MessageBus, prompt: str) -> HookExecutionResponse:
    return await request_hook_execution(
        bus, "BeforeAgent", {"prompt": prompt}, correlation_id=prompt, timeout=ARRIVAL_SECONDS
    )


def _read_reason(response: HookExecutionResponse) -> object:
    final = response["output"]["finalOutput"] if response["success"] else None
    return final.get("reason") if final is not None else None


async def _close(bus: MessageBus) -> None:
    close = getattr(bus, "close", None)
    if close is not None:
        await close()


def _listen(bus: MessageBus, kind: MessageBusType = REQUEST) -> list[Message]:
    """Subscribe, and return the list of messages that will arrive."""
    heard: list[Message] = []
    bus.subscribe(kind, heard.append)
    return heard


def _expect(holds: bool, otherwise: str) -> None:
    # Not an assert statement: the checks must hold with -O as well.
    if not holds:
        raise AssertionError(otherwise)


async def _wait_for(heard: list[Any], count: int) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ARRIVAL_SECONDS
    while len(heard) < count and loop.time() < deadline:
        await asyncio.sleep(0.001)
    _expect(len(heard) >= count, f"{len(heard)} of {count} arrived: {heard!r}")


async def _expect_count(heard: list[Any], count: int) -> None:
    await asyncio.sleep(SILENCE_SECONDS)
    _expect(len(heard) == count, f"{len(heard)} arrived instead of {count}: {heard!r}")


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """Collect hookline's warnings in the block."""
    log, collector = logging.getLogger("hookline"), _Collector()
    log.addHandler(collector)
    try:
        yield collector.said
    finally:
        log.removeHandler(collector)
