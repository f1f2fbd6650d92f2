"""A bus within one process: publishing runs the handlers, in the publisher's own event loop."""

import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from hookline.bus.delivery import deliver, kind_of
from hookline.bus.messages import (
    HookExecutionResponse,
    MessageBusType,
    MessageHandler,
    Respond,
)
from hookline.bus.pending import answer_within, ask_by_publishing

_REQUEST = MessageBusType.HOOK_EXECUTION_REQUEST.value
_RESPONSE = MessageBusType.HOOK_EXECUTION_RESPONSE.value


class InProcessMessageBus:
    """A dictionary of handlers. ``publish`` returns when every handler has, so no work of theirs
    outlives it, and cancelling it cancels them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[str, tuple[partial[Any], ...]] = {_REQUEST: (), _RESPONSE: ()}

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Callable[[], None]:
        """Hear messages of one type until the returned function is called."""
        key = MessageBusType(type).value
        # The wrapper makes each subscription its own, even of one handler subscribed twice.
        subscription = partial(handler)
        with self._lock:
            self._handlers[key] = (*self._handlers[key], subscription)

        def unsubscribe() -> None:
            with self._lock:
                left = tuple(h for h in self._handlers[key] if h is not subscription)
                self._handlers[key] = left

        return unsubscribe

    async def publish(self, message: Mapping[str, Any]) -> None:
        """Deliver to every handler of the message's type; a message of no known type is refused."""
        kind = kind_of(message)
        if kind is not None:
            waiting = deliver(self._handlers[kind.value], message)
            if waiting is not None:
                await waiting

    def request(
        self, message: Mapping[str, Any], *, timeout: float
    ) -> Awaitable[HookExecutionResponse]:
        """The response to a request; a failed one if there is none within ``timeout`` seconds.

        Where nobody else would hear of either, who serves the bus is called and no message sent.
        """
        respond = self._sole_responder()
        if respond is None:
            return ask_by_publishing(self, message, timeout)
        return answer_within(timeout, respond(message), message)

    def _sole_responder(self) -> Respond | None:
        listening = self._handlers[_REQUEST]
        if len(listening) != 1 or self._handlers[_RESPONSE]:
            return None
        if type(self) is not InProcessMessageBus:
            # Whose ``publish`` may do more.
            return None
        return getattr(listening[0].func, "respond", None)
