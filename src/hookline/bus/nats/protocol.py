"""What callers and workers agree on: subjects, headers, codes, and which messages are in order.

``PREFIX.request.EVENT``  to a worker that is free; ``PREFIX.wait.EVENT``  to any, which queues it;
``PREFIX.inbox.…``  answers to the caller; ``PREFIX.response``  answers nobody asked for;
``PREFIX.stats``  asks every worker how it is. So an operator can grant each side just its own.
"""

import re
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from hookline.bus.client import DEFAULT_REQUEST_TIMEOUT
from hookline.bus.messages import HookExecutionResponse, correlation_of
from hookline.bus.nats.options import BusConnectionError
from hookline.errors import HooklineError
from hookline.wire import codec
from hookline.wire.events import HookEventName

# A worker's codes for a request that it did not touch: it has no place now, it has no room at all.
BUSY = "busy"
OVERLOADED = "overloaded"
# Nobody waits longer than that, whatever is asked for.
LONGEST_SECONDS = 3600.0
# Unix time in milliseconds, after which the caller waits no longer.
_DEADLINE = "Hookline-Deadline"
# How often a request was handed back before.
_ATTEMPT = "Hookline-Attempt"
# Ids are remembered, and names of events shown to people: neither may be of any length.
_LONGEST_NAME = 256
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
# A name that is no event may hold anything; a worker says so under this one.
_OTHER = "other"
_EVENTS = frozenset(event.value for event in HookEventName)


class Incoming(NamedTuple):
    """A message as it came; ``Status`` is among the headers of those that the server makes."""

    subject: str
    reply: str
    data: bytes
    headers: dict[str, str] | None


class RequestFailed(HooklineError):
    """A request that is not carried out: ``code`` says why, ``request`` is what could be read."""

    def __init__(self, code: str, problem: str, request: Mapping[str, Any] | None = None) -> None:
        self.code = code
        self.request = request or {}
        super().__init__(problem)


class Subjects(msgspec.Struct, frozen=True):
    """The names of everything under one prefix."""

    prefix: str
    inboxes: str

    def asked(self, event: object) -> tuple[str, str]:
        """Where a request for an event goes first, and where when no worker is free."""
        token = event if isinstance(event, str) and event in _EVENTS else _OTHER
        return f"{self.prefix}.request.{token}", f"{self.prefix}.wait.{token}"

    def served(self, kind: str, events: Iterable[str] | None) -> list[str]:
        """What a worker of these events, or of all, subscribes to."""
        if events is None:
            return [f"{self.prefix}.{kind}.*"]
        return [f"{self.prefix}.{kind}.{event}" for event in sorted(events)]

    def new_inbox(self) -> str:
        """Below it are the answers to one connection."""
        return f"{self.inboxes}.{uuid.uuid4().hex}"

    @property
    def response(self) -> str:
        """Answers that belong to no request in hand."""
        return f"{self.prefix}.response"

    @property
    def stats(self) -> str:
        """Asks every worker how it is."""
        return f"{self.prefix}.stats"


def subjects_of(prefix: str, inbox_prefix: str | None = None) -> Subjects:
    """The subjects under a prefix; raises BusConnectionError for one that is no subject."""
    for given in (prefix, inbox_prefix):
        if given is not None:
            check_name(given, "the prefix of subjects")
    return Subjects(prefix, inbox_prefix or f"{prefix}.inbox")


def check_name(given: str, what: str) -> None:
    """Whether NATS can have it for a name, and no wildcard; raises BusConnectionError."""
    if not _NAME.fullmatch(given):
        raise BusConnectionError(
            f"{given!r} cannot be {what}; use letters, digits, _ and -, joined by dots"
        )


def encode_request(request: Mapping[str, Any]) -> bytes:
    """The body of a request; raises RequestFailed for one that no worker would take."""
    _check_names(request)
    return codec.encode(request)


def encode_headers(until: int, attempt: int) -> bytes:
    """The headers of a request: its deadline, and how often it was handed back before."""
    handed_back = f"{_ATTEMPT}: {attempt}\r\n" if attempt else ""
    return f"NATS/1.0\r\n{_DEADLINE}: {until}\r\n{handed_back}\r\n".encode()


class Held(msgspec.Struct, frozen=True, eq=False):
    """A request in the hands of a worker; ``expires`` and ``arrived`` are in the loop's time,
    ``attempt`` is how often it was handed back before."""

    message: dict[str, Any]
    correlation_id: str
    reply: str
    arrived: float
    expires: float
    attempt: int = 0


def read_request(incoming: Incoming, *, max_bytes: int, now: float) -> Held:
    """The request of a message, before anything in it is looked at closer; raises RequestFailed
    for what may not be carried out."""
    subject, reply, body, headers = incoming
    if len(body) > max_bytes:
        problem = f"the request has {len(body)} bytes; this worker takes {max_bytes}"
        raise RequestFailed("request_too_large", problem)
    try:
        message = codec.decode(body)
    except codec.DecodeError as error:
        raise RequestFailed("invalid_request", f"the request is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise RequestFailed("invalid_request", "the request must be an object")
    if message.get("type") != "hook-execution-request":
        problem = "the type of the request must be hook-execution-request"
        raise RequestFailed("invalid_request", problem)
    _check_names(message)
    given = message.get("correlationId")
    if given is not None and not isinstance(given, str):
        raise RequestFailed("invalid_request", "correlationId must be a string")
    message["correlationId"] = correlation_id = given or correlation_of(message)
    event = message.get("eventName")
    if isinstance(event, str) and event in _EVENTS and not subject.endswith(f".{event}"):
        # Who may ask for one event could otherwise ask for all, and of any worker.
        problem = "the request came by the subject of another event"
        raise RequestFailed("invalid_request", problem, message)
    headers, left = headers or {}, DEFAULT_REQUEST_TIMEOUT
    if _DEADLINE in headers:
        deadline = _number(headers[_DEADLINE])
        if deadline is None:
            problem = f"{_DEADLINE} must be Unix milliseconds"
            raise RequestFailed("invalid_request", problem, message)
        left = min(deadline / 1000 - time.time(), LONGEST_SECONDS)
        if left <= 0:
            raise RequestFailed(
                "deadline_exceeded",
                f"the request came {-left:.1f} s after its deadline, unless the clocks of worker "
                "and caller differ",
                message,
            )
    attempt = _number(headers.get(_ATTEMPT, "")) or 0
    return Held(message, correlation_id, reply, now, now + left, attempt)


def read_response(data: bytes, request: Mapping[str, Any]) -> HookExecutionResponse:
    """The response to a request; raises RequestFailed for what is none."""
    try:
        response = codec.decode(data)
    except codec.DecodeError as error:
        raise RequestFailed("invalid_response", f"the response is not JSON: {error}") from None
    if not isinstance(response, dict) or response.get("type") != "hook-execution-response":
        raise RequestFailed("invalid_response", "malformed response: its type is another")
    if not isinstance(response.get("error", {}), dict) or "success" not in response:
        problem = "malformed response: it says neither success nor an error"
        raise RequestFailed("invalid_response", problem)
    asked = request.get("correlationId")
    if asked and response.get("correlationId") != asked:
        if response["success"] is True:
            raise RequestFailed("invalid_response", "the response belongs to another request")
        # A worker that refuses a request may not have been able to read its id.
        response["correlationId"] = asked
    return cast(HookExecutionResponse, response)


def _check_names(request: Mapping[str, Any]) -> None:
    for field in ("correlationId", "eventName"):
        given = request.get(field)
        if isinstance(given, str) and len(given) > _LONGEST_NAME:
            problem = f"{field} must have {_LONGEST_NAME} characters at most"
            raise RequestFailed("invalid_request", problem)


def _number(text: str) -> int | None:
    # More digits than a time has are an attempt to be slow to read.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
