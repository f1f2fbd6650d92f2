"""A bus, what is asked on it, and everything that is answered."""

from collections.abc import Iterator
from typing import Any

from hookline.bus import InProcessMessageBus, MessageBusType
from tests.eleven import Json


def request(event: Any, input: Any, **fields: Any) -> Json:
    return {
        "type": "hook-execution-request",
        "eventName": event,
        "input": input,
        "correlationId": "id-1",
        **fields,
    }


class Answers:
    """Everything that is answered on a bus."""

    def __init__(self, bus: InProcessMessageBus) -> None:
        self.bus = bus
        self.all: list[Json] = []
        bus.subscribe(MessageBusType.HOOK_EXECUTION_RESPONSE, self.all.append)

    async def to(self, message: Any) -> Json:
        """The one answer to a message."""
        before = len(self.all)
        await self.bus.publish(message)
        [answer] = self.all[before:]
        return answer


def new_answers() -> Iterator[Answers]:
    """Those on a bus of a test's own, for its fixture."""
    answers = Answers(InProcessMessageBus())
    yield answers
    # It holds the systems that serve it, and they what serves their hooks.
    del answers.bus
