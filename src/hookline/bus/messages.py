"""The two messages, as the JSON they are on every bus, and how they are read and made."""

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
    """Asks for the hooks of one event. With ``required``, the names of hooks that must be in force
    (none may be named), the response says which are, and under which policy."""

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
    """Something that people must see about the answer of a hook."""

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
    """Answers exactly one request. ``success`` says that every stage completed; how the hooks
    fared is in ``output``. Where the request asks for it, ``policy`` is a digest of all hooks that
    are in force, ``required`` the names among the request's that are, and ``missing`` says why the
    others are not. ``warnings`` are about the answers of hooks, if there are any."""

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
    """Carries messages to whoever subscribed to their type.

    Handlers are plain or async; one that raises is logged and does not keep a message from the
    others. ``subscribe`` returns the function that ends the subscription, which may be called
    more than once. A bus that can carry a request to one worker and its response back to the caller
    has a ``request(message, *, timeout)`` as well, which ``request_hook_execution`` prefers: what
    keeps a response from coming is a failed response there too.
    """

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Callable[[], None]: ...

    async def publish(self, message: Mapping[str, Any]) -> None: ...


class RequestError(HooklineError):
    """A request that is not one."""

    code = "invalid_request"


def new_correlation_id() -> str:
    """An id that no other request has and nobody can guess."""
    # A UUID takes several times as long to make, which shows beside a hook in the same process.
    return os.urandom(16).hex()


def correlation_of(message: object) -> str:
    """The id to answer under: the message's own, or a new one where it has none."""
    given = message.get("correlationId") if is_object(message) else None
    return given if isinstance(given, str) and given else str(uuid.uuid4())


class RequestedEvent(NamedTuple):
    """The event that a request is for; ``required`` is None where it asks for no policy."""

    name: str
    input: dict[str, Any]
    required: list[str] | None


def read_request(message: object) -> RequestedEvent:
    """What a request asks for; raises RequestError if its envelope is not in order."""
    if not is_object(message):
        raise RequestError(f"the request must be an object, not {type(message).__name__}")
    if message.get("type") != "hook-execution-request":
        raise RequestError(f"the request has the type {message.get('type')!r}")
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
        raise RequestError("required must be a list of names of hooks")
    return RequestedEvent(event_name, input, required)


def make_request(
    event_name: str,
    input: Mapping[str, Any],
    correlation_id: str,
    required: Iterable[str] | None = None,
) -> HookExecutionRequest:
    """A request for the hooks of an event; the worker says whether there is such an event."""
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
    """The response of a request whose stages all completed."""
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
            told: ResponseWarning = {"hook": result.hook.name, "message": warning}
            response.setdefault("warnings", []).append(told)
    return response


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


def unanswered_response(
    request: Mapping[str, Any], code: str, message: str
) -> HookExecutionResponse:
    """The response that a caller's side makes itself, when none came."""
    error = HookError(code=code, message=message, stage="response")
    return failure_response(correlation_of(request), error)
