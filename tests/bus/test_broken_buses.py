"""The checks of a bus find each bus that breaks the contract, and no bus that is merely slow."""

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, MessageBusType
from hookline.bus.messages import MessageBus, MessageHandler, unanswered_response
from tests.kit import buses
from tests.kit.buses import (
    CHECKS,
    PAIR_CHECKS,
    Message,
    check_message_bus,
    message,
)

REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST
RESPONSE = MessageBusType.HOOK_EXECUTION_RESPONSE


class Bus(InProcessMessageBus):
    """A bus that is checked as one of another kind."""


class Impatient(Bus):
    """Does not wait for what an async handler waits for."""

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Any:
        def begin(given: Message) -> None:
            answer = handler(given)
            if not inspect.iscoroutine(answer):
                return
            try:
                answer.send(None)
            except StopIteration:
                pass
            except asyncio.CancelledError as error:
                raise LookupError from error

        return super().subscribe(type, begin)


class Stuck(Bus):
    """Delivers no responses."""

    async def publish(self, message: Message) -> None:
        if message["type"] != RESPONSE.value:
            await super().publish(message)


class Deaf(Bus):
    """Delivers nothing."""

    async def publish(self, message: Message) -> None:
        """Drop it."""


class Sticky(Bus):
    """Cannot end a subscription."""

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Any:
        super().subscribe(type, handler)
        return lambda: None


class Eager(Bus):
    """Ends one more subscription each time that one is ended."""

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Any:
        super().subscribe(type, handler)

        def unsubscribe() -> None:
            self._handlers[type] = self._handlers[type][1:]

        return unsubscribe


class Limited(Bus):
    """Has room for three subscriptions."""

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Any:
        if len(self._handlers[type]) < 3:
            return super().subscribe(type, handler)
        return lambda: None


class Silent(Bus):
    """Does not tell that a handler failed."""

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Any:
        async def call(given: Message) -> None:
            with contextlib.suppress(LookupError, asyncio.CancelledError):
                answer = handler(given)
                if inspect.isawaitable(answer):
                    await answer

        return super().subscribe(type, call)


class Leaky(Bus):
    """Warns of what it should refuse, and delivers it."""

    async def publish(self, message: Message) -> None:
        await super().publish(message)
        if buses.message() != message:
            await super().publish(buses.message())


class Strict(Bus):
    """Fails where nobody listens."""

    async def publish(self, message: Message) -> None:
        if not self.hears(message["type"]):
            raise AssertionError("nobody hears it")


class Repeating(Bus):
    """Delivers each message again a moment later."""

    async def publish(self, message: Message) -> None:
        await super().publish(message)
        later = super().publish(message)
        self.later = asyncio.get_running_loop().call_later(
            0.001, lambda: asyncio.ensure_future(later)
        )


class Doubling(Bus):
    """Has each request carried out under another id as well."""

    async def publish(self, message: Message) -> None:
        await super().publish(message)
        if message["type"] == REQUEST.value:
            await super().publish({**message, "correlationId": f"{message['correlationId']}-2"})


class Renaming(Bus):
    """Answers requests under another id."""

    async def request(self, request: Message, *, timeout: float) -> Message:
        del timeout
        heard: list[Message] = []
        end = self.subscribe(RESPONSE, heard.append)
        await self.publish(request)
        end()
        return {**heard[0], "correlationId": "another"}


class Empty(Bus):
    """Delivers responses without what the hooks said."""

    async def publish(self, message: Message) -> None:
        if "output" in message:
            message = {**message, "output": {**message["output"], "finalOutput": None}}
        await super().publish(message)


@pytest.mark.parametrize(
    ("kind", "check", "broken"),
    [
        (Impatient, "an_async_handler_hears_the_message", "0 of 1 arrived"),
        (Impatient, "a_handler_that_raises_does_not_stop_the_others", "4 of 6 arrived"),
        (Deaf, "a_plain_handler_hears_the_message", "0 of 1 arrived"),
        (Stuck, "only_handlers_of_its_type_hear_a_message", "0 of 1 arrived"),
        (Stuck, "a_handler_may_publish", "0 of 1 arrived"),
        (Sticky, "a_subscription_ends_once_and_for_all", "1 arrived instead of 0"),
        (Eager, "a_subscription_ends_once_and_for_all", "0 of 1 arrived"),
        (Limited, "a_handler_that_raises_does_not_stop_the_others", "0 of 2 arrived"),
        (Silent, "a_handler_that_raises_does_not_stop_the_others", "0 of 6 arrived"),
        (Leaky, "a_message_of_no_known_type_is_refused_with_a_warning", "7 arrived instead of 0"),
        (Strict, "a_message_that_nobody_hears_is_no_error", "nobody hears it"),
        (Repeating, "every_handler_hears_every_message_once", "arrived instead of 10"),
        (Doubling, "a_request_is_carried_out_once", "10 arrived instead of 5"),
        (Deaf, "after_the_server_has_gone_nobody_serves", "nobody served"),
        (Deaf, "a_hook_system_serves_it", "the response is"),
        (Deaf, "a_request_from_one_end_is_answered_at_the_other", "the response is"),
        (Renaming, "a_hook_system_serves_it", "'correlationId': 'another'"),
        (Renaming, "a_request_from_one_end_is_answered_at_the_other", "'another'"),
        (Renaming, "requests_at_once_each_get_their_own_response", r"\('another', 'id-0'\)"),
        (Renaming, "what_cannot_be_carried_out_is_a_failed_response", "'another'"),
        (Empty, "a_hook_system_serves_it", "the response is"),
        (Empty, "a_request_from_one_end_is_answered_at_the_other", "the response is"),
    ],
)
async def test_a_broken_promise_is_named(
    kind: type[Bus], check: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buses, "ARRIVAL_SECONDS", 0.05)
    bus, run = kind(), getattr(buses, check)
    checking = run(bus, bus) if run in PAIR_CHECKS else run(bus)
    with pytest.raises(AssertionError, match=broken):
        await checking


class Late(Bus):
    """Delivers later than one waits for what must not arrive, and keeps the contract."""

    def __init__(self) -> None:
        super().__init__()
        self._last: asyncio.Task[None] | None = None

    async def publish(self, message: Message) -> None:
        if not isinstance(message, dict) or message.get("type") not in (*MessageBusType,):
            await super().publish(message)
            return
        self._last = asyncio.create_task(self._deliver(super().publish(message), self._last))

    async def _deliver(
        self, delivery: Coroutine[Any, Any, None], before: asyncio.Task[None] | None
    ) -> None:
        await asyncio.sleep(0.004)
        if before is not None:
            await asyncio.wait([before])
        await delivery


async def test_a_bus_that_delivers_late_keeps_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buses, "SILENCE_SECONDS", 0.001)
    async with asyncio.timeout(4):
        for check in CHECKS:
            await check(Late())


class Warming(Bus):
    """Knows of nobody who serves when it is asked for the first time, and the second."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = 0

    async def publish(self, message: Message) -> None:
        self.requests += message["type"] == REQUEST.value
        if message["type"] == REQUEST.value and self.requests < 3:
            message = unanswered_response({**message}, "unavailable", "nobody serves")
        await super().publish(message)


async def test_an_end_may_need_a_moment_until_it_knows_of_the_other() -> None:
    bus = Warming()
    await buses.a_request_from_one_end_is_answered_at_the_other(bus, bus)
    assert bus.requests == 4


UNKNOWN: list[Any] = [{}, {"type": "gossip"}, {"type": None}, {"type": []}, [], "text", None]


@pytest.mark.parametrize("unknown", UNKNOWN, ids=str)
async def test_a_bus_must_warn_of_each_message_that_it_refuses(unknown: Any) -> None:
    class Lenient(Bus):
        async def publish(self, message: Message) -> None:
            if message != unknown:
                await super().publish(message)

    with pytest.raises(AssertionError, match="7 messages must be refused"):
        await buses.a_message_of_no_known_type_is_refused_with_a_warning(Lenient())


async def test_a_caller_must_not_be_left_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    bus = Bus()
    monkeypatch.setattr(buses, "ARRIVAL_SECONDS", 0.1)
    with pytest.raises(AssertionError, match="the caller was left waiting"):
        await buses.a_request_that_nobody_serves_fails_in_time(bus, bus)


async def test_the_checks_leave_no_handler_of_the_log_behind() -> None:
    before = [*logging.getLogger("hookline").handlers]
    await buses.a_message_of_no_known_type_is_refused_with_a_warning(Bus())
    assert logging.getLogger("hookline").handlers == before


async def test_both_ends_of_a_pair_are_checked_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[object] = []

    class Closing(Bus):
        async def close(self) -> None:
            events.append(self)

    ends = Closing(), Closing()

    async def make() -> MessageBus:
        raise AssertionError("no bus is needed besides the pair")

    async def make_pair() -> tuple[MessageBus, MessageBus]:
        return ends

    async def check(*given: MessageBus) -> None:
        events.append(given)

    monkeypatch.setattr(buses, "CHECKS", ())
    monkeypatch.setattr(buses, "PAIR_CHECKS", (check,))
    await check_message_bus(make, make_pair)
    assert events == [ends, *ends]


def test_a_message_of_the_checks_has_a_type_an_id_and_an_input_that_is_not_ascii() -> None:
    one = {"type": REQUEST.value, "correlationId": "id-1", "input": {"é": [1, None]}}
    assert message() == one
    other = {"type": RESPONSE.value, "correlationId": "id-2", "input": {"é": [2, None]}}
    assert message(2, kind=RESPONSE) == other
