"""A bus within one process: publishing runs the handlers, in the publisher's own event loop."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

from hookline.bus.delivery import deliver, kind_of
from hookline.bus.messages import MessageBusType, MessageHandler


class InProcessMessageBus:
    """A dictionary of handlers. ``publish`` returns when every handler has, so no work of theirs
    outlives it, and cancelling it cancels them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[str, tuple[MessageHandler, ...]] = {}

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Callable[[], None]:
        """Hear messages of one type until the returned function is called."""
        key = MessageBusType(type).value
        # The wrapper makes each subscription its own, even of one handler subscribed twice.
        subscription: MessageHandler = lambda message: handler(message)  # noqa: E731
        with self._lock:
            self._handlers[key] = (*self._handlers.get(key, ()), subscription)

        def unsubscribe() -> None:
            with self._lock:
                left = tuple(h for h in self._handlers.get(key, ()) if h is not subscription)
                self._handlers[key] = left

        return unsubscribe

    async def publish(self, message: Mapping[str, Any]) -> None:
        """Deliver to every handler of the message's type; a message of no known type is refused."""
        kind = kind_of(message)
        if kind is not None:
            await deliver(self._handlers.get(kind.value, ()), message)
