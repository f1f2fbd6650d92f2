"""Running hooks needs little of an event loop: what it needs asyncio has, and so has one of ours.

Importing asyncio costs a command line more than all of its hooks, and a thread that does nothing
but wait has no use for it. Such callers run on a ``PollLoop``.
"""

import sys
import threading
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Callback: TypeAlias = Callable[[], object]


class Timer(Protocol):
    """What ``call_at`` gives."""

    def cancel(self) -> object: ...


class Waiter(Protocol):
    """What ``create_future`` gives: a coroutine awaits it, a callback sets it."""

    def done(self) -> bool: ...

    def set_result(self, result: None, /) -> None: ...

    def __await__(self) -> Generator[Any, None, None]: ...


class Loop(Protocol):
    """What the runner asks of an event loop; asyncio's are such loops as they are."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callback, /) -> Timer: ...

    def call_soon_threadsafe(self, callback: Callback, /) -> object: ...

    def create_future(self) -> Waiter: ...

    def add_reader(self, fd: int, callback: Callback, /) -> None: ...

    def remove_reader(self, fd: int, /) -> object: ...

    def add_writer(self, fd: int, callback: Callback, /) -> None: ...

    def remove_writer(self, fd: int, /) -> object: ...


class PlainLoop(Loop, Protocol):
    """A loop that is not asyncio's, and so brings what asyncio has functions for."""

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]: ...


class _Thread(threading.local):
    loop: PlainLoop | None = None


# The plain loop that this thread is running, set by the loop itself.
this_thread = _Thread()


def running_loop() -> Loop:
    """The loop that runs the calling coroutine."""
    if this_thread.loop is not None:
        return this_thread.loop
    import asyncio

    return asyncio.get_running_loop()


def is_running_asyncio() -> bool:
    """Whether a loop of asyncio's is running in this thread."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def gather(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of all, run at once; if one raises or this is cancelled, none goes on.

    Each starts in an iteration of the loop of its own: starting a process holds the loop up, and
    others shall have their turn in between.
    """
    if this_thread.loop is not None:
        return await this_thread.loop.gather(coroutines)
    import asyncio

    waiting = list(reversed(coroutines))
    tasks = []
    try:
        async with asyncio.TaskGroup() as group:
            while waiting:
                tasks.append(group.create_task(waiting.pop()))
                await asyncio.sleep(0)
    finally:
        for coroutine in waiting:
            coroutine.close()
    return [task.result() for task in tasks]
