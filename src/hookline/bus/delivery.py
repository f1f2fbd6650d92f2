"""Calls the handlers of a message so that none of them can keep it from the others."""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping
from inspect import isawaitable
from typing import Any

from hookline.bus.messages import MessageBusType, MessageHandler

_log = logging.getLogger("hookline")
_KINDS = {kind.value: kind for kind in MessageBusType}


def kind_of(message: Any) -> MessageBusType | None:
    """The type of a message; one of no known type is refused with a warning."""
    # A dictionary as a rule; to ask whether it is a mapping takes longer than all the rest.
    is_object = type(message) is dict or isinstance(message, Mapping)
    given = message.get("type") if is_object else None
    kind = _KINDS.get(given) if isinstance(given, str) else None
    if kind is None:
        _log.warning("a bus message of type %r was not delivered: no such type", given)
    return kind


async def deliver(handlers: Iterable[MessageHandler], message: Mapping[str, Any]) -> None:
    """Hand a message to every handler; returns when all of them are done with it."""
    waiting = [answer for handler in handlers if (answer := _call(handler, message)) is not None]
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
