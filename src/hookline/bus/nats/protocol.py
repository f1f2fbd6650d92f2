"""What callers and workers agree on: subjects, headers, codes, and what a message must contain.

``PREFIX.request.EVENT``  to a worker that is free; ``PREFIX.wait.EVENT``  to any worker's queue;
``PREFIX.inbox.…``  responses to a caller; ``PREFIX.response``  responses without a request here;
``PREFIX.stats``  asks every worker for its status. So an operator can grant each side only its own.
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

# A worker's codes for a request that it did not touch: no place is free, or its queue is full.
BUSY = "busy"
OVERLOADED = "overloaded"
# No caller waits longer than this, whatever timeout it gives.
LONGEST_SECONDS = 3600.0
# Unix time in milliseconds, after which the caller no longer waits.
_DEADLINE = "Hookline-Deadline"
# How often a request was handed back before.
_ATTEMPT = "Hookline-Attempt"
# Ids are remembered, and names of events are shown to people: both need a limit.
_LONGEST_NAME = 256
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*", re.ASCII)
# An unknown event may be any text; its request goes by this name, and a worker refuses it.
_OTHER = "other"
_EVENTS = frozenset(event.value for event in HookEventName)


class Incoming(NamedTuple):
    """A message as it came; the server's own messages have a ``Status`` among their headers."""

    subject: str
    reply: str
    data: bytes
    headers: dict[str, str] | None


class RequestFailed(HooklineError):
    """A request that is not run: ``code`` says why, ``request`` is as much as could be read."""

    def __init__(self, code: str, problem: str, request: Mapping[str, Any] | None = None) -> None:
        self.code = code
        self.request = request or {}
        super().__init__(problem)


class Subjects(msgspec.Struct, frozen=True):
    """The subjects under one prefix."""

    prefix: str
    inboxes: str

    def subjects_for(self, event: object) -> tuple[str, str]:
        """Return the subject for workers that are free, and the one for workers that queue."""
        token = event if isinstance(event, str) and event in _EVENTS else _OTHER
        return f"{self.prefix}.request.{token}", f"{self.prefix}.wait.{token}"

    def subscriptions_for(self, kind: str, events: Iterable[str] | None) -> list[str]:
        """Return the subjects that a worker of these events, or of all, subscribes to."""
        if events is None:
            return [f"{self.prefix}.{kind}.*"]
        return [f"{self.prefix}.{kind}.{event}" for event in sorted(events)]

    def new_inbox(self) -> str:
        """Return a new prefix for the responses to one connection."""
        return f"{self.inboxes}.{uuid.uuid4().hex}"

    @property
    def response(self) -> str:
        """The subject of responses that belong to no open request."""
        return f"{self.prefix}.response"

    @property
    def stats(self) -> str:
        """The subject that asks every worker for its status."""
        return f"{self.prefix}.stats"


def make_subjects(prefix: str, inbox_prefix: str | None = None) -> Subjects:
    """Make the subjects under a prefix; raises BusConnectionError for an invalid prefix."""
    for name in (prefix, inbox_prefix):
        if name is not None:
            check_name(name, "the prefix of subjects")
    return Subjects(prefix, inbox_prefix or f"{prefix}.inbox")


def check_name(name: str, what: str) -> None:
    """Check that NATS takes it as a name, not as a wildcard; raises BusConnectionError."""
    if not _NAME.fullmatch(name):
        raise BusConnectionError(
            f"{name!r} cannot be {what}; use letters, digits, _ and -, joined by dots"
        )


def encode_request(request: Mapping[str, Any]) -> bytes:
    """Encode the body of a request; raises RequestFailed for one that no worker would take."""
    _check_names(request)
    return codec.encode(request)


def encode_headers(until: int, attempt: int) -> bytes:
    """Encode the headers of a request: its deadline, and how often it was handed back."""
    handed_back = f"{_ATTEMPT}: {attempt}\r\n" if attempt else ""
    return f"NATS/1.0\r\n{_DEADLINE}: {until}\r\n{handed_back}\r\n".encode()


class HeldRequest(msgspec.Struct, frozen=True, eq=False):
    """A request that a worker holds; ``expires`` and ``arrived`` are loop times, ``attempt`` is how
    often it was handed back before."""

    message: dict[str, Any]
    correlation_id: str
    reply: str
    arrived: float
    expires: float
    attempt: int = 0


def read_request(incoming: Incoming, *, max_bytes: int, now: float) -> HeldRequest:
    """Read a request as far as the bus needs it; raises RequestFailed for one that must not
    run."""
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
    own_id = message.get("correlationId")
    if own_id is not None and not isinstance(own_id, str):
        raise RequestFailed("invalid_request", "correlationId must be a string")
    message["correlationId"] = correlation_id = own_id or correlation_of(message)
    event = message.get("eventName")
    if isinstance(event, str) and event in _EVENTS and not subject.endswith(f".{event}"):
        # Otherwise a caller with permission for one event could ask for all, and of any worker.
        problem = "the request came by the subject of another event than its eventName"
        raise RequestFailed("invalid_request", problem, message)
    headers, left = headers or {}, DEFAULT_REQUEST_TIMEOUT
    if _DEADLINE in headers:
        deadline = _parse_number(headers[_DEADLINE])
        if deadline is None:
            problem = f"{_DEADLINE} must be Unix milliseconds"
            raise RequestFailed("invalid_request", problem, message)
        left = min(deadline / 1000 - time.time(), LONGEST_SECONDS)
        if left <= 0:
            raise RequestFailed(
                "deadline_exceeded",
                f"the request came {-left:.1f} s after its deadline; check that the clocks of "
                "worker and caller agree",
                message,
            )
    attempt = _parse_number(headers.get(_ATTEMPT, "")) or 0
    return HeldRequest(message, correlation_id, reply, now, now + left, attempt)


def read_response(data: bytes, request: Mapping[str, Any]) -> HookExecutionResponse:
    """Read the response to a request; raises RequestFailed for a malformed one."""
    try:
        response = codec.decode(data)
    except codec.DecodeError as error:
        raise RequestFailed("invalid_response", f"the response is not JSON: {error}") from None
    if not isinstance(response, dict) or response.get("type") != "hook-execution-response":
        raise RequestFailed(
            "invalid_response", "malformed response: its type must be hook-execution-response"
        )
    if not isinstance(response.get("error", {}), dict) or "success" not in response:
        problem = "malformed response: it has no success, or its error is not an object"
        raise RequestFailed("invalid_response", problem)
    correlation_id = request.get("correlationId")
    if correlation_id and response.get("correlationId") != correlation_id:
        if response["success"] is True:
            raise RequestFailed("invalid_response", "the response belongs to another request")
        # A worker that refuses a request may not have been able to read its id.
        response["correlationId"] = correlation_id
    return cast(HookExecutionResponse, response)


def _check_names(request: Mapping[str, Any]) -> None:
    for field in ("correlationId", "eventName"):
        name = request.get(field)
        if isinstance(name, str) and len(name) > _LONGEST_NAME:
            problem = f"{field} must have {_LONGEST_NAME} characters at most"
            raise RequestFailed("invalid_request", problem)


def _parse_number(text: str) -> int | None:
    # More digits than a time has may be an attempt to slow us down.
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
