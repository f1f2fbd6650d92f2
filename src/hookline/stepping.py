"""Awaits in the caller's own task what seldom waits at all, and bounds it once it does.

The first step is taken inline, without a task or a timer. What waits is driven on by the same task,
so whatever it bound to its task in the first step (a timeout, a task group) stays valid.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Coroutine, Generator
from types import CoroutineType
from typing import Any


class TimedOut(Exception):
    """What was awaited used up its time."""


async def _await(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def first_step(awaitable: Awaitable[Any]) -> tuple[Coroutine[Any, Any, Any] | None, Any]:
    """The result, if the first step is the last; else the coroutine and what it waits for."""
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
    """Await what has taken its first step; raises TimedOut after ``seconds``, when it has another
    ``grace`` seconds to end in before it is abandoned, as it has when the caller is cancelled."""
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


_CANCELLED_ITSELF = "it raised CancelledError though nobody cancelled it"


class _Resumed:
    """Goes on with a coroutine that has yielded once already, until the clock or the caller
    interrupts it, and gives up on one that will not end: then it has ``grace`` seconds."""

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
        """Say what interrupted the coroutine, whatever it made of the interruption itself."""
        if self._is_cancelled():
            raise asyncio.CancelledError
        if self.clock.expired():
            raise TimedOut

    def __await__(self) -> Generator[Any, Any, Any]:
        yielded = self._first
        try:
            while True:
                try:
                    sent = yield yielded
                except BaseException as error:
                    if self._forced or isinstance(error, GeneratorExit):
                        # One that ignores even GeneratorExit, or raises, is never resumed either.
                        with contextlib.suppress(Exception):
                            self._coroutine.close()
                        raise
                    yielded = self._coroutine.throw(error)
                    # A timeout or a task group of its own cancels too, but takes that back.
                    if self._force is None and (self.clock.expired() or self._is_cancelled()):
                        loop = self._task.get_loop()
                        self._force = loop.call_later(self._grace, self._give_up)
                else:
                    yielded = self._coroutine.send(sent)
        except StopIteration as done:
            return done.value
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
            # This second cancellation is ours: whoever asked for the first must count only its own.
            self._task.uncancel()
