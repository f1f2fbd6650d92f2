"""The caller's side of mediated execution: send a request, wait for its one response."""

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol

from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBus,
    make_request,
    new_correlation_id,
)
from hookline.bus.pending import ask_by_publishing

DEFAULT_REQUEST_TIMEOUT = 70.0


class Ask(Protocol):
    """A bus's own way to ask."""

    def __call__(
        self, message: Mapping[str, Any], *, timeout: float
    ) -> Awaitable[HookExecutionResponse]: ...


async def request_hook_execution(
    bus: MessageBus,
    event_name: str,
    input: Mapping[str, Any],
    *,
    correlation_id: str | None = None,
    timeout: float = DEFAULT_REQUEST_TIMEOUT,
) -> HookExecutionResponse:
    """Have the hooks of an event executed over a bus; ``timeout`` is in seconds.

    Running out of time is a failed response with code ``timeout``, not an exception; what was
    executing on behalf of the request in this process is stopped then.
    """
    request = make_request(event_name, input, correlation_id or new_correlation_id())
    ask: Ask | None = getattr(bus, "request", None)
    if ask is None:
        return await ask_by_publishing(bus, request, timeout)
    return await ask(request, timeout=timeout)
