"""Whether a request may be carried out at all, decided before anything in it is looked at closer.

What is refused has not been executed, and is told why by a code. A worker remembers the ids of the
requests it took, the last so many of them: whoever repeats one is refused, and a copy of a message,
which has its answer on the way already, is dropped.
"""

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.bus.messages import MessageBusType, correlation_of
from hookline.bus.nats.asking import ATTEMPT, DEADLINE
from hookline.errors import HooklineError
from hookline.wire import codec

# What applies where a request names no deadline.
_DEFAULT_SECONDS = 70.0


class Refused(HooklineError):
    """A request that is not carried out; ``message`` is what could be read of it."""

    def __init__(self, code: str, problem: str, message: Mapping[str, Any] | None = None) -> None:
        self.code = code
        self.message = message or {}
        super().__init__(problem)


class Copied(HooklineError):
    """A message that was delivered before, to be answered once."""


class Held(msgspec.Struct, frozen=True, eq=False):
    """A request in the hands of a worker; ``expires`` and ``arrived`` are in the loop's time,
    ``attempt`` is how often it was handed back before."""

    message: dict[str, Any]
    correlation_id: str
    reply: str
    arrived: float
    expires: float
    attempt: int = 0


class Admission:
    """Reads requests, and remembers which of them were taken."""

    def __init__(self, *, max_bytes: int, remembered: int) -> None:
        self._max_bytes = max_bytes
        self._remembered = remembered
        self._taken: dict[str, str] = {}

    def read(
        self, body: bytes, headers: Mapping[str, str] | None, reply: str, *, now: float
    ) -> Held:
        """The request of a message; raises Refused or Copied."""
        if len(body) > self._max_bytes:
            raise Refused(
                "request_too_large",
                f"the request has {len(body)} bytes; this worker takes {self._max_bytes}",
            )
        message = _message_of(body)
        left = _seconds_left(headers, message)
        if left <= 0:
            raise Refused("deadline_exceeded", "the request came after its deadline", message)
        correlation_id = message["correlationId"]
        if correlation_id in self._taken:
            if self._taken[correlation_id] == reply:
                raise Copied(f"the request {correlation_id} was delivered twice")
            raise Refused("duplicate_request", "a request of this id was taken before", message)
        attempt = _number(headers[ATTEMPT]) or 0 if headers and ATTEMPT in headers else 0
        return Held(message, correlation_id, reply, now, now + left, attempt)

    def remember(self, held: Held) -> None:
        """From now on the request is taken."""
        self._taken[held.correlation_id] = held.reply
        if len(self._taken) > self._remembered:
            # Dictionaries keep their order: this is the oldest.
            del self._taken[next(iter(self._taken))]

    def forget(self, held: Held) -> None:
        """It was not carried out, and may come again."""
        self._taken.pop(held.correlation_id, None)


def _message_of(body: bytes) -> dict[str, Any]:
    try:
        message = codec.decode(body)
    except codec.DecodeError as error:
        raise Refused("invalid_request", f"the request is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Refused("invalid_request", "the request must be an object")
    if message.get("type") != MessageBusType.HOOK_EXECUTION_REQUEST.value:
        raise Refused("invalid_request", f"the request has the type {message.get('type')!r}")
    if not isinstance(message.get("correlationId", ""), str | None):
        raise Refused("invalid_request", "correlationId must be a string")
    message["correlationId"] = correlation_of(message)
    return message


def _seconds_left(headers: Mapping[str, str] | None, message: Mapping[str, Any]) -> float:
    given = headers.get(DEADLINE) if headers else None
    if given is None:
        return _DEFAULT_SECONDS
    milliseconds = _number(given)
    if milliseconds is None:
        raise Refused("invalid_request", f"{DEADLINE} must be Unix milliseconds", message)
    return milliseconds / 1000 - time.time()


def _number(text: str) -> int | None:
    # More digits than a time has are an attempt to be slow to read.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
