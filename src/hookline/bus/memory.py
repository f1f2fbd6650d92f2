"""A bus within one process: publishing runs the handlers, in the publisher's own event loop."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any

from hookline.bus.messages import MessageBusType, MessageHandler

_log = logging.getLogger("hookline")


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
        kind = message.get("type") if isinstance(message, Mapping) else None
        if kind not in [known.value for known in MessageBusType]:
            _log.warning("a bus message of type %r was not delivered: no such type", kind)
            return
        waiting = [
            answer
            for handler in self._handlers.get(str(MessageBusType(kind).value), ())
            if (answer := _call(handler, message)) is not None
        ]
        if len(waiting) == 1:
            await _guarded(waiting[0])
        elif waiting:
            await asyncio.gather(*map(_guarded, waiting))


def _call(handler: MessageHandler, message: Mapping[str, Any]) -> Awaitable[None] | None:
    try:
        answer = handler(message)
    except Exception:
        _log.warning("a bus handler failed", exc_info=True)
        return None
    return answer if isawaitable(answer) else None


async def _guarded(answer: Awaitable[None]) -> None:
    try:
        await answer
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        # Nobody cancelled us: the handler waited for something that was.
        _log.warning("a bus handler was cancelled", exc_info=True)
    except Exception:
        _log.warning("a bus handler failed", exc_info=True)
