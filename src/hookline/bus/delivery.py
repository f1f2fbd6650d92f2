"""Calls the handlers of a message so that none of them can keep it from the others."""

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from inspect import isawaitable
from types import CoroutineType
from typing import Any

from hookline.bus.messages import MessageBusType, MessageHandler
from hookline.wire.validators import is_object

_log = logging.getLogger("hookline")
_KINDS = {kind.value: kind for kind in MessageBusType}


def kind_of(message: Any) -> MessageBusType | None:
    """The type of a message; one of no known type is refused with a warning."""
    given = message.get("type") if is_object(message) else None
    kind = _KINDS.get(given) if isinstance(given, str) else None
    if kind is None:
        _log.warning("a bus message of type %r was not delivered: no such type", given)
    return kind


def deliver(
    handlers: Sequence[MessageHandler], message: Mapping[str, Any]
) -> Awaitable[object] | None:
    """Hand a message to every handler; what is returned, if anything, is to be awaited and is done
    when all of them are."""
    waiting = []
    for handler in handlers:
        answer = _call(handler, message)
        if answer is not None:
            waiting.append(_guarded(answer))
    if not waiting:
        return None
    return waiting[0] if len(waiting) == 1 else asyncio.gather(*waiting)


def _call(handler: MessageHandler, message: Mapping[str, Any]) -> Awaitable[None] | None:
    try:
        answer = handler(message)
    except Exception:
        _log.warning("a bus handler failed", exc_info=True)
        return None
    return answer if type(answer) is CoroutineType or isawaitable(answer) else None


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
