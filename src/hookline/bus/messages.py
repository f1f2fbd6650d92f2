"""The two messages of every bus, as JSON: their types, and how to read and make them."""

import os
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, Literal, NamedTuple, NotRequired, Protocol, TypeAlias, TypedDict, cast

import msgspec

from hookline.errors import HooklineError
from hookline.wire.events import HookEventName
from hookline.wire.results import AggregatedHookResult, HookError
from hookline.wire.validators import is_object


class MessageBusType(StrEnum):
    """The kinds of messages."""

    HOOK_EXECUTION_REQUEST = "hook-execution-request"
    HOOK_EXECUTION_RESPONSE = "hook-execution-response"


class HookExecutionRequest(TypedDict):
    """Asks a worker to run the hooks of one event. With ``required``, the names of hooks that must
    be in force (the list may be empty), the response says which are, and under which policy."""

    type: Literal["hook-execution-request"]
    eventName: HookEventName
    input: dict[str, Any]
    correlationId: str
    required: NotRequired[list[str]]


class ResponseError(TypedDict):
    """Why a request failed."""

    message: str
    code: NotRequired[str]
    details: NotRequired[Any]


class ResponseWarning(TypedDict):
    """A warning about the answer of a hook, to be shown to people."""

    hook: str
    message: str


class ResponseOutput(TypedDict):
    """What the hooks answered, in wire names."""

    success: bool
    finalOutput: dict[str, Any] | None
    allOutputs: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    totalDuration: float


class HookExecutionResponse(TypedDict):
    """Answers exactly one request. ``success`` says that every stage completed; ``output`` says
    what the hooks answered and which failed. If the request has ``required``, ``policy`` is a
    digest of all hooks in force, ``required`` lists those of its names that are in force, and
    ``missing`` says why the others are not. ``warnings`` are about the answers of hooks."""

    type: Literal["hook-execution-response"]
    correlationId: str
    success: bool
    output: NotRequired[ResponseOutput]
    error: NotRequired[ResponseError]
    policy: NotRequired[str]
    required: NotRequired[list[str]]
    missing: NotRequired[dict[str, str]]
    warnings: NotRequired[list[ResponseWarning]]


MessageBusMessage: TypeAlias = HookExecutionRequest | HookExecutionResponse
MessageHandler: TypeAlias = Callable[[Any], Awaitable[None] | None]


class MessageBus(Protocol):
    """Carries messages to the handlers that subscribed to their type.

    Handlers are plain or async; one that raises is logged, and the others still get the message.
    ``subscribe`` returns the function that ends the subscription, which may be called more than
    once. A bus that can carry a request to one worker and its response back to the caller also has
    a ``request(message, *, timeout)``, which ``request_hook_execution`` prefers: it returns a
    failed response, and does not raise, when no response comes.
    """

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Callable[[], None]: ...

    async def publish(self, message: Mapping[str, Any]) -> None: ...


class RequestError(HooklineError):
    """A malformed request."""

    code = "invalid_request"


def new_correlation_id() -> str:
    """Return a new id, unique and impossible to guess."""
    # A UUID takes several times as long, which is measurable beside a hook in the same process.
    return os.urandom(16).hex()


def correlation_of(message: object) -> str:
    """Return the id to answer under: the message's own, or a new one if it has none."""
    own = message.get("correlationId") if is_object(message) else None
    return own if isinstance(own, str) and own else str(uuid.uuid4())


class RequestedEvent(NamedTuple):
    """The event of a request; ``required`` is None if the request does not ask for a policy."""

    name: str
    input: dict[str, Any]
    required: list[str] | None


def read_request(message: object) -> RequestedEvent:
    """Read a request; raises RequestError if its envelope is malformed."""
    if not is_object(message):
        raise RequestError(f"the request must be an object, not {type(message).__name__}")
    if message.get("type") != "hook-execution-request":
        raise RequestError(
            f"the type of the request must be hook-execution-request, not {message.get('type')!r}"
        )
    correlation_id = message.get("correlationId")
    if correlation_id is not None and not isinstance(correlation_id, str):
        raise RequestError("correlationId must be a string")
    event_name, input = message.get("eventName"), message.get("input")
    if not isinstance(event_name, str):
        raise RequestError("eventName must be a string")
    if not isinstance(input, dict):
        raise RequestError("input must be an object")
    required = message.get("required")
    if required is not None and not (
        isinstance(required, list) and all(isinstance(name, str) for name in required)
    ):
        raise RequestError("required must be a list of hook names")
    return RequestedEvent(event_name, input, required)


def make_request(
    event_name: str,
    input: Mapping[str, Any],
    correlation_id: str,
    required: Iterable[str] | None = None,
) -> HookExecutionRequest:
    """Make a request for an event; the worker checks whether there is such an event."""
    request: HookExecutionRequest = {
        "type": "hook-execution-request",
        "eventName": cast("HookEventName", str(event_name)),
        "input": dict(input),
        "correlationId": correlation_id,
    }
    if required is not None:
        request["required"] = list(required)
    return request


def success_response(
    correlation_id: str, aggregated: AggregatedHookResult
) -> HookExecutionResponse:
    """Make the response to a request whose stages all completed."""
    final = aggregated.final_output
    response: HookExecutionResponse = {
        "type": "hook-execution-response",
        "correlationId": correlation_id,
        "success": True,
        "output": {
            "success": aggregated.success,
            "finalOutput": final.to_wire() if final is not None else None,
            "allOutputs": aggregated.all_outputs,
            "errors": msgspec.to_builtins(aggregated.errors),
            "totalDuration": aggregated.total_duration,
        },
    }
    for result in aggregated.results:
        for warning in result.warnings:
            entry: ResponseWarning = {"hook": result.hook.name, "message": warning}
            response.setdefault("warnings", []).append(entry)
    return response


def failure_response(correlation_id: str, error: HookError) -> HookExecutionResponse:
    """Make the response to a request that failed at some stage."""
    details = {"stage": error.stage, "eventName": error.event_name, "details": error.details}
    return {
        "type": "hook-execution-response",
        "correlationId": correlation_id,
        "success": False,
        "error": {
            "code": error.code,
            "message": error.message,
            "details": {
                name: str(value) if isinstance(value, StrEnum) else value
                for name, value in details.items()
                if value is not None
            },
        },
    }


def unanswered_response(
    request: Mapping[str, Any], code: str, message: str
) -> HookExecutionResponse:
    """Make the failed response that a caller gets when no worker answered."""
    error = HookError(code=code, message=message, stage="response")
    return failure_response(correlation_of(request), error)
