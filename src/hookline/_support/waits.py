"""Awaits, in the caller's own task and with a timeout, coroutines that seldom wait at all.

The first step is taken inline, without a task or a timer. If the coroutine waits, the same task
goes on with it, so a timeout or a task group that it opened in the first step stays valid.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Coroutine, Generator
from types import CoroutineType
from typing import Any


class TimedOut(Exception):
    """The awaited coroutine ran longer than its timeout."""


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def first_step(awaitable: Awaitable[Any]) -> tuple[Coroutine[Any, Any, Any] | None, Any]:
    """Take the first step; return None and the result if it is the last, else the coroutine and
    what it waits for."""
    if isinstance(awaitable, (CoroutineType, Coroutine)):
        coroutine = awaitable
    else:
        coroutine = _await(awaitable)
    try:
        return coroutine, coroutine.send(None)
    except StopIteration as done:
        return None, done.value
    except asyncio.CancelledError:
        raise RuntimeError(_CANCELLED_ITSELF) from None


async def go_on(
    coroutine: Coroutine[Any, Any, Any], first: Any, seconds: float, grace: float
) -> Any:
    """Await a coroutine that has taken its first step; raises TimedOut after ``seconds``. After a
    timeout or a cancellation it has ``grace`` seconds to end before it is abandoned."""
    resumed = _Resumed(coroutine, first, seconds, grace)
    try:
        async with resumed.clock:
            value = await resumed
    except asyncio.CancelledError:
        resumed.check()
        raise RuntimeError(_CANCELLED_ITSELF) from None
    except (Exception, SystemExit):
        resumed.check()
        raise
    resumed.check()
    return value


_CANCELLED_ITSELF = "it raised CancelledError without having been cancelled"


class _Resumed:
    """Goes on with a coroutine that has yielded once, until the clock or the caller interrupts it;
    if it does not end within ``grace`` seconds then, it is abandoned."""

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], first: Any, seconds: float, grace: float
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.clock = asyncio.timeout(seconds)
        self._task = task
        self._cancelled_before = task.cancelling()
        self._coroutine = coroutine
        self._first = first
        self._grace = grace
        self._force: asyncio.TimerHandle | None = None
        self._forced = False

    def check(self) -> None:
        """Raise what interrupted the coroutine, even if it suppressed the interruption."""
        if self._is_cancelled():
            raise asyncio.CancelledError
        if self.clock.expired():
            raise TimedOut

    def __await__(self) -> Generator[Any, Any, Any]:
        yielded = self._first
        try:
            while True:
                try:
                    value = yield yielded
                except BaseException as error:
                    if self._forced or isinstance(error, GeneratorExit):
                        # A coroutine that ignores GeneratorExit, or raises, is not resumed either.
                        with contextlib.suppress(Exception):
                            self._coroutine.close()
                        raise
                    yielded = self._coroutine.throw(error)
                    # Its own timeout or task group also cancels the task, but undoes that itself.
                    if self._force is None and (self.clock.expired() or self._is_cancelled()):
                        loop = self._task.get_loop()
                        self._force = loop.call_later(self._grace, self._give_up)
                else:
                    yielded = self._coroutine.send(value)
        except StopIteration as stop:
            return stop.value
        finally:
            if self._force is not None:
                self._force.cancel()

    def _is_cancelled(self) -> bool:
        return self._task.cancelling() > self._cancelled_before

    def _give_up(self) -> None:
        self._force = None
        if self.clock.expired() or self._is_cancelled():
            self._forced = True
            self._task.cancel()
            # This second cancellation is ours; the caller must count only the first.
            self._task.uncancel()
