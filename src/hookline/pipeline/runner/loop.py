"""Running hooks needs little of an event loop: what it needs asyncio has, and so has one of ours.

Importing asyncio costs a command line more than all of its hooks, and a thread that does nothing
but wait for hooks has no use for it. Such callers run on a ``PollLoop``.
"""

import contextlib
import heapq
import itertools
import os
import select
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Callback: TypeAlias = Callable[[], object]

# Seconds: a wait can be no longer than the system takes, and a turn for nothing costs little.
_LONGEST_WAIT = 3600.0


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


class _Thread(threading.local):
    loop: "PollLoop | None" = None


# The loop of ours that this thread is running, set by the loop itself.
_this_thread = _Thread()


def running_loop() -> Loop:
    """The loop that runs the calling coroutine."""
    if _this_thread.loop is not None:
        return _this_thread.loop
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
    if _this_thread.loop is not None:
        return await _this_thread.loop.gather(coroutines)
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


class Cancelled(BaseException):
    """Thrown into what a loop runs when the loop is told to give up."""


class PollLoop:
    """Runs one coroutine to its end in this thread, and whatever it gathers; good for one run.

    A coroutine on it may await what this loop made and nothing of asyncio's.
    """

    def __init__(self) -> None:
        self._poll = select.poll()
        self._readers: dict[int, Callback] = {}
        self._writers: dict[int, Callback] = {}
        self._timers: list[tuple[float, int, _Timer]] = []
        self._numbers = itertools.count()
        self._ready: deque[Callback] = deque()
        self._main: RunningTask[Any] | None = None
        # What other threads and signal handlers ring to end a wait.
        self._bell = os.pipe()
        # A bell that was closed may be another file by the time it is rung. A signal handler may
        # interrupt its own thread anywhere.
        self._bell_lock = threading.RLock()
        self._is_over = False
        try:
            for end in self._bell:
                os.set_blocking(end, False)
        except OSError:
            for end in self._bell:
                os.close(end)
            raise
        self.add_reader(self._bell[0], lambda: os.read(self._bell[0], 4096))

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine; what it raises is raised."""
        outer, _this_thread.loop = _this_thread.loop, self
        main = RunningTask(self, coroutine)
        self._main = main
        # A signal that comes just before a wait would not end it, and what it is to do would have
        # to wait: so it rings the bell, where nobody else wants to hear of it.
        is_woken = False
        if threading.current_thread() is threading.main_thread():
            before = signal.set_wakeup_fd(self._bell[1], warn_on_full_buffer=False)
            is_woken = before == -1
            if not is_woken:
                signal.set_wakeup_fd(before)
        try:
            while not main.is_over:
                self._run_once()
            return main.result()
        finally:
            if is_woken:
                signal.set_wakeup_fd(-1)
            _this_thread.loop = outer
            try:
                coroutine.close()
            finally:
                with self._bell_lock:
                    self._is_over = True
                    self._main = None
                    for end in self._bell:
                        os.close(end)

    def cancel(self) -> None:
        """Throw ``Cancelled`` into what runs; for other threads and for signal handlers."""

        def give_up() -> None:
            if self._main is not None:
                self._main.cancel()

        # It may have ended by itself in the meantime.
        with contextlib.suppress(RuntimeError):
            self.call_soon_threadsafe(give_up)

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """The results of all, run at once; if one raises or this is cancelled, none goes on."""
        tasks = [RunningTask(self, coroutine) for coroutine in coroutines]
        settled = self.create_future()

        def look() -> None:
            if all(task.is_over for task in tasks) or any(task.failure for task in tasks):
                settled.set_result(None)

        for task in tasks:
            task.over.tell(look)
        try:
            await settled
            for task in tasks:
                if task.failure:
                    raise task.failure
            return [task.result() for task in tasks]
        except GeneratorExit:
            # The loop turns no more, so there is nothing left to wait with.
            for task in tasks:
                task.close()
            raise
        except BaseException:
            for task in tasks:
                task.cancel()
            for task in tasks:
                while not task.is_over:
                    try:
                        await task.over
                    except Cancelled:
                        # Told again to give up: tell it again.
                        task.cancel()
            raise

    def start(self, coroutine: Coroutine[Any, Any, T]) -> "RunningTask[T]":
        """Run a coroutine beside the one that ``run`` was given, which has to outlast it."""
        return RunningTask(self, coroutine)

    def time(self) -> float:
        return time.monotonic()

    def call_at(self, when: float, callback: Callback, /) -> "_Timer":
        timer = _Timer(callback)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def call_soon(self, callback: Callback, /) -> None:
        self._ready.append(callback)

    def call_soon_threadsafe(self, callback: Callback, /) -> None:
        with self._bell_lock:
            if self._is_over:
                raise RuntimeError("the loop has ended")
            self._ready.append(callback)
            # It is full when so many have rung that it will be heard.
            with contextlib.suppress(BlockingIOError):
                os.write(self._bell[1], b"!")

    def create_future(self) -> "_Future":
        return _Future(self)

    def add_reader(self, fd: int, callback: Callback, /) -> None:
        self._readers[fd] = callback
        self._register(fd)

    def remove_reader(self, fd: int, /) -> None:
        if self._readers.pop(fd, None):
            self._register(fd)

    def add_writer(self, fd: int, callback: Callback, /) -> None:
        self._writers[fd] = callback
        self._register(fd)

    def remove_writer(self, fd: int, /) -> None:
        if self._writers.pop(fd, None):
            self._register(fd)

    def _register(self, fd: int) -> None:
        wanted = select.POLLIN * (fd in self._readers) | select.POLLOUT * (fd in self._writers)
        if wanted:
            self._poll.register(fd, wanted)
        else:
            self._poll.unregister(fd)

    def _run_once(self) -> None:
        """Wait, unless something is to do already, and do what there is."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        patience = None
        if self._ready:
            patience = 0.0
        elif self._timers:
            patience = min(max(0.0, self._timers[0][0] - self.time()), _LONGEST_WAIT) * 1000
        for fd, happened in self._poll.poll(patience):
            # The other end closed, or an error: that is for whoever waits for either.
            if happened & ~select.POLLOUT and (callback := self._readers.get(fd)):
                callback()
            if happened & ~select.POLLIN and (callback := self._writers.get(fd)):
                callback()
        now = self.time()
        while self._timers and self._timers[0][0] <= now:
            due = heapq.heappop(self._timers)[2].callback
            if due is not None:
                due()
        for _ in range(len(self._ready)):
            self._ready.popleft()()


class _Timer:
    def __init__(self, callback: Callback) -> None:
        self.callback: Callback | None = callback

    def cancel(self) -> None:
        self.callback = None


class _Future:
    """Awaited by any number of tasks; each goes on with the next turn after it is set."""

    def __init__(self, loop: PollLoop) -> None:
        self._loop = loop
        self._done = False
        self._waiting: list[Callback] = []

    def done(self) -> bool:
        return self._done

    def set_result(self, _result: None, /) -> None:
        if not self._done:
            self._done = True
            for callback in self._waiting:
                self._loop.call_soon(callback)

    def tell(self, callback: Callback) -> None:
        if self._done:
            self._loop.call_soon(callback)
        else:
            self._waiting.append(callback)

    def __await__(self) -> Generator["_Future", None, None]:
        if not self._done:
            yield self


class RunningTask(Generic[T]):
    """A coroutine on its way: what it awaits calls it back."""

    def __init__(self, loop: PollLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self._loop = loop
        self._coroutine = coroutine
        self._awaited: _Future | None = None
        self._returned: list[T] = []
        self.failure: BaseException | None = None
        self.is_over = False
        self.over = _Future(loop)
        loop.call_soon(self._step)

    def result(self) -> T:
        if self.failure is not None:
            raise self.failure
        return self._returned[0]

    def cancel(self) -> None:
        self._loop.call_soon(lambda: self._step(Cancelled()))

    def close(self) -> None:
        """End it without another turn of the loop."""
        self.is_over = True
        self._coroutine.close()

    def _step(self, thrown: BaseException | None = None) -> None:
        if self.is_over:
            return
        try:
            going_on = self._coroutine
            waited = going_on.throw(thrown) if thrown else going_on.send(None)
        except StopIteration as done:
            self._returned.append(done.value)
        except BaseException as error:
            self.failure = error
            if isinstance(error, KeyboardInterrupt | SystemExit):
                # For whoever runs the loop, and at once: others may take their time.
                raise
        else:
            self._awaited = waited
            # It may have been thrown out of that by then, and await something else.
            waited.tell(lambda: self._step() if waited is self._awaited else None)
            return
        self.is_over = True
        self.over.set_result(None)
