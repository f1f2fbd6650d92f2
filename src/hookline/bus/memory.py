"""A bus within one process: ``publish`` runs the handlers, in the publisher's event loop."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from inspect import isawaitable
from typing import Any

from hookline._support.notices import warn
from hookline.bus.messages import MessageBusType, MessageHandler
from hookline.wire.validators import is_object

_KINDS = {kind.value: kind for kind in MessageBusType}


class InProcessMessageBus:
    """A dictionary of handlers. ``publish`` returns when every handler has returned, and cancelling
    it cancels them, so it leaves no work behind."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handlers: dict[str, tuple[partial[Any], ...]] = dict.fromkeys(MessageBusType, ())

    def subscribe(self, type: MessageBusType, handler: MessageHandler) -> Callable[[], None]:
        """Call the handler with each message of one type, until the returned function is called."""
        key = MessageBusType(type)
        # The wrapper tells two subscriptions of the same handler apart.
        subscription = partial(handler)
        with self._lock:
            self._handlers[key] = (*self._handlers[key], subscription)

        def unsubscribe() -> None:
            with self._lock:
                left = tuple(h for h in self._handlers[key] if h is not subscription)
                self._handlers[key] = left

        return unsubscribe

    def hears(self, type: MessageBusType) -> bool:
        """Return True if a handler subscribed to that type."""
        return bool(self._handlers[type])

    async def publish(self, message: Mapping[str, Any]) -> None:
        """Call every handler of the message's type; drop a message of an unknown type."""
        kind = read_kind(message)
        waiting: list[Awaitable[None]] = []
        for handler in self._handlers[kind] if kind is not None else ():
            try:
                answer = handler(message)
            except Exception as error:
                warn("a bus handler failed", error=error)
            else:
                if isawaitable(answer):
                    waiting.append(_await_handler(answer))
        if len(waiting) == 1:
            await waiting[0]
        elif waiting:
            await asyncio.gather(*waiting)


def read_kind(message: Any) -> MessageBusType | None:
    """Return the type of a message; warn and return None if there is no such type."""
    name = message.get("type") if is_object(message) else None
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        warn(f"a bus message of type {name!r} was not delivered: no such type")
    return kind


async def _await_handler(answer: Awaitable[None]) -> None:
    try:
        await answer
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # This task was not cancelled: something that the handler waited for was.
        warn("a bus handler was cancelled", error=error)
    except Exception as error:
        warn("a bus handler failed", error=error)
