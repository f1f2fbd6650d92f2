"""The two messages, as the JSON they are on every bus, and how they are read and made."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, cast

import msgspec

from hookline.errors import HooklineError
from hookline.wire.events import HookEventName
from hookline.wire.results import AggregatedHookResult, HookError


class MessageBusType(StrEnum):
    """The kinds of messages."""

    HOOK_EXECUTION_REQUEST = "hook-execution-request"
    HOOK_EXECUTION_RESPONSE = "hook-execution-response"


class HookExecutionRequest(TypedDict):
    """Asks for the hooks of one event."""

    type: Literal["hook-execution-request"]
    eventName: HookEventName
    input: dict[str, Any]
    correlationId: str


class ResponseError(TypedDict):
    """Why a request failed."""

    message: str
    code: NotRequired[str]
    details: NotRequired[Any]


class ResponseOutput(TypedDict):
    """What the hooks answered, in wire names."""

    success: bool
    finalOutput: dict[str, Any] | None
    allOutputs: list[dict[str, Any]]
    errors: list[dict[str, Any]]
    totalDuration: float


class HookExecutionResponse(TypedDict):
    """Answers exactly one request. ``success`` says that every stage completed; how the hooks
    fared is in ``output``."""

    type: Literal["hook-execution-response"]
    correlationId: str
    success: bool
    output: NotRequired[ResponseOutput]
    error: NotRequired[ResponseError]


MessageBusMessage: TypeAlias = HookExecutionRequest | HookExecutionResponse
MessageHandler: TypeAlias = Callable[[Any], Awaitable[None] | None]


class MessageBus(Protocol):
    """Carries messages to whoever subscribed to their type.

    Handlers are plain or async; one that raises is logged and does not keep a message from the
    others. ``subscribe`` returns the function that ends the subscription, which may be called
    more than once. A bus that can carry a request to one server and its response back to who asked
    has a ``request(message, *, timeout)`` as well, which ``request_hook_execution`` prefers: what
    keeps a response from coming is a failed response there too.
    """

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Callable[[], None]: ...

    async def publish(self, message: Mapping[str, Any]) -> None: ...


class RequestError(HooklineError):
    """A request that is not one."""

    code = "invalid_request"


class ReadRequest(msgspec.Struct, frozen=True):
    """A request whose envelope is in order."""

    event_name: str
    input: dict[str, Any]


def correlation_of(message: object) -> str:
    """The id to answer under: the message's own, or a new one where it has none."""
    given = message.get("correlationId") if isinstance(message, Mapping) else None
    return given if isinstance(given, str) and given else str(uuid.uuid4())


def read_request(message: object) -> ReadRequest:
    """Check the envelope of a request; raises RequestError."""
    if not isinstance(message, Mapping):
        raise RequestError(f"the request must be an object, not {type(message).__name__}")
    if message.get("type") != MessageBusType.HOOK_EXECUTION_REQUEST.value:
        raise RequestError(f"the request has the type {message.get('type')!r}")
    if not isinstance(message.get("correlationId", ""), str | None):
        raise RequestError("correlationId must be a string")
    if not isinstance(message.get("eventName"), str):
        raise RequestError("eventName must be a string")
    if not isinstance(message.get("input"), dict):
        raise RequestError("input must be an object")
    return ReadRequest(str(message["eventName"]), message["input"])


def make_request(
    event_name: str, input: Mapping[str, Any], correlation_id: str
) -> HookExecutionRequest:
    """A request for the hooks of an event; whether there is such an event is for who serves it
    to say."""
    return {
        "type": "hook-execution-request",
        "eventName": cast("HookEventName", str(event_name)),
        "input": dict(input),
        "correlationId": correlation_id,
    }


def success_response(
    correlation_id: str, aggregated: AggregatedHookResult
) -> HookExecutionResponse:
    """The response of a request whose stages all completed."""
    final = aggregated.final_output
    return {
        "type": "hook-execution-response",
        "correlationId": correlation_id,
        "success": True,
        "output": {
            "success": aggregated.success,
            "finalOutput": final.to_wire() if final is not None else None,
            "allOutputs": aggregated.all_outputs,
            "errors": [msgspec.to_builtins(error) for error in aggregated.errors],
            "totalDuration": aggregated.total_duration,
        },
    }


def failure_response(correlation_id: str, error: HookError) -> HookExecutionResponse:
    """The response of a request that could not be carried out."""
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
