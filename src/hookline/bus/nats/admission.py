"""Whether a request may be carried out at all, decided before anything in it is looked at closer.

What is refused has not been executed, and is told why by a code. A worker remembers the ids of the
requests it took, the last so many of them: whoever repeats one is refused, and a copy of a message,
which has its answer on the way already, is dropped. What it hands back it forgets.
"""

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from hookline.bus.client import DEFAULT_REQUEST_TIMEOUT
from hookline.bus.messages import correlation_of
from hookline.bus.nats.asking import ATTEMPT, DEADLINE, LONGEST_SECONDS, long_name
from hookline.bus.nats.client import Incoming
from hookline.bus.nats.subjects import is_asked_by
from hookline.errors import HooklineError
from hookline.wire import codec


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
    """Reads requests, and remembers those in hand and those that were carried out."""

    def __init__(self, *, max_bytes: int, remembered: int) -> None:
        self._max_bytes = max_bytes
        self._remembered = remembered
        # Of where to answer a number is kept: it may be long, and is compared only.
        self._taken: dict[str, int] = {}

    def take(self, incoming: Incoming, *, now: float) -> Held:
        """The request of a message, which from now on is taken; raises Refused or Copied."""
        subject, reply, body, headers = incoming
        if len(body) > self._max_bytes:
            raise Refused(
                "request_too_large",
                f"the request has {len(body)} bytes; this worker takes {self._max_bytes}",
            )
        message, correlation_id = _message_of(body)
        if not is_asked_by(subject, message.get("eventName")):
            # Who may ask for one event could otherwise ask for all, and of any worker.
            raise Refused("invalid_request", "it came by the subject of another event", message)
        left = _seconds_left(headers, message)
        if correlation_id in self._taken:
            if self._taken[correlation_id] == hash(reply):
                raise Copied(f"the request {correlation_id!r} was delivered twice")
            raise Refused("duplicate_request", "a request of this id was taken before", message)
        self._remember(correlation_id, reply)
        attempt = _number(headers[ATTEMPT]) or 0 if headers and ATTEMPT in headers else 0
        return Held(message, correlation_id, reply, now, now + left, attempt)

    def forget(self, held: Held) -> None:
        """It was not carried out, and may come again."""
        self._taken.pop(held.correlation_id, None)

    def _remember(self, correlation_id: str, reply: str) -> None:
        self._taken[correlation_id] = hash(reply)
        if len(self._taken) > self._remembered:
            # Dictionaries keep their order: this is the oldest.
            del self._taken[next(iter(self._taken))]


def _message_of(body: bytes) -> tuple[dict[str, Any], str]:
    try:
        message = codec.decode(body)
    except codec.DecodeError as error:
        raise Refused("invalid_request", f"the request is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise Refused("invalid_request", "the request must be an object")
    if message.get("type") != "hook-execution-request":
        raise Refused("invalid_request", "the type of the request must be hook-execution-request")
    if too_long := long_name(message):
        raise Refused("invalid_request", too_long)
    given = message.get("correlationId")
    if given is not None and not isinstance(given, str):
        raise Refused("invalid_request", "correlationId must be a string")
    message["correlationId"] = correlation_id = given or correlation_of(message)
    return message, correlation_id


def _seconds_left(headers: Mapping[str, str] | None, message: Mapping[str, Any]) -> float:
    given = headers.get(DEADLINE) if headers else None
    if given is None:
        return DEFAULT_REQUEST_TIMEOUT
    milliseconds = _number(given)
    if milliseconds is None:
        raise Refused("invalid_request", f"{DEADLINE} must be Unix milliseconds", message)
    left = milliseconds / 1000 - time.time()
    if left <= 0:
        raise Refused(
            "deadline_exceeded",
            f"the request came {-left:.1f} s after its deadline, unless the clocks of this "
            "machine and of who asked differ",
            message,
        )
    return min(left, LONGEST_SECONDS)


def _number(text: str) -> int | None:
    # More digits than a time has are an attempt to be slow to read.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
