"""The small part of an event loop that hooks need: asyncio's loops have it, and so does ours.

Importing asyncio costs a command line more than all of its hooks, and a thread that only waits for
hooks does not need it. Such callers run on a ``PollLoop``.
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

# Seconds: poll takes no longer waits, and waking up for nothing costs little.
_LONGEST_WAIT = 3600.0


class Timer(Protocol):
    """What ``call_at`` returns."""

    def cancel(self) -> object: ...


class Waiter(Protocol):
    """What ``create_future`` returns: a coroutine awaits it, a callback sets it."""

    def done(self) -> bool: ...

    def set_result(self, result: None, /) -> None: ...

    def __await__(self) -> Generator[Any, None, None]: ...


class Loop(Protocol):
    """What the runner needs of an event loop; asyncio's loops have it as they are."""

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
    # Whether a coroutine runs that must not wait.
    is_without_loop: bool = False


# The PollLoop that this thread runs, set by the loop itself.
_this_thread = _Thread()


def running_loop() -> Loop:
    """Return the loop that runs the calling coroutine."""
    if _this_thread.loop is not None:
        return _this_thread.loop
    import asyncio

    return asyncio.get_running_loop()


def cannot_await() -> bool:
    """Return whether the calling coroutine runs on a PollLoop or on none, and cannot await
    asyncio's futures."""
    return _this_thread.is_without_loop or _this_thread.loop is not None


def run_at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, without a loop, and return its result."""
    outer, _this_thread.is_without_loop = _this_thread.is_without_loop, True
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    finally:
        _this_thread.is_without_loop = outer
        coroutine.close()
    raise RuntimeError("a coroutine without a loop was about to wait")


def is_running_asyncio() -> bool:
    """Return whether an asyncio loop is running in this thread."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine that requires asyncio and return its result; on another thread if a loop
    already runs in this one."""
    import asyncio

    def run() -> T:
        results: list[T] = []

        async def work() -> None:
            # The task has no result of its own: on the main thread asyncio gives its task to a
            # handler of SIGINT, and ``signal`` writes the repr of both when it is restored.
            results.append(await make())

        # With a loop factory, the runner leaves the thread's current event loop alone.
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            runner.run(work())
        return results[0]

    if not (cannot_await() or is_running_asyncio()):
        return run()
    from concurrent.futures import Future
    from contextvars import copy_context

    outcome: Future[T] = Future()

    def run_there() -> None:
        try:
            outcome.set_result(run())
        except BaseException as error:
            outcome.set_exception(error)

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(run_there,), name="hookline blocking call")
    thread.start()
    thread.join()
    return outcome.result()


async def gather(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once and return their results; if one raises or this is cancelled, all end.

    Each starts in its own iteration of the loop: starting a process blocks the loop, and other
    tasks get their turn in between.
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
    """Thrown into the coroutines of a loop that is cancelled."""


class PollLoop:
    """Runs one coroutine to its end in this thread, and those that it gathers; good for one run.

    A coroutine on it may await only what this loop made, nothing of asyncio's.
    """

    def __init__(self) -> None:
        self._poll = select.poll()
        self._readers: dict[int, Callback] = {}
        self._writers: dict[int, Callback] = {}
        self._timers: list[tuple[float, int, _Timer]] = []
        self._numbers = itertools.count()
        self._ready: deque[Callback] = deque()
        self._main: RunningTask[Any] | None = None
        # Other threads and signal handlers write to this pipe to end a wait.
        self._bell = os.pipe()
        # Without it a thread could write to the descriptor after it was closed and reused. It is
        # reentrant, as a signal handler may interrupt its own thread anywhere.
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
        """Run a coroutine and return its result; raises what it raises."""
        outer, _this_thread.loop = _this_thread.loop, self
        main = RunningTask(self, coroutine)
        self._main = main
        # A signal that arrives just before a wait would not end it, and its handler would run late:
        # so signals write to the bell too, unless other code has set a wakeup descriptor.
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
        """Throw ``Cancelled`` into what runs; other threads and signal handlers may call this."""

        def give_up() -> None:
            if self._main is not None:
                self._main.cancel()

        # The loop may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            self.call_soon_threadsafe(give_up)

    async def gather(self, coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        """Run all at once and return their results; if one raises or this is cancelled, all end."""
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
            # The loop no longer runs, so nothing can be awaited.
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
                        # Cancelled again: cancel the task again.
                        task.cancel()
            raise

    def start(self, coroutine: Coroutine[Any, Any, T]) -> "RunningTask[T]":
        """Run a coroutine beside the one given to ``run``, which must outlast it."""
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
            # A full pipe wakes the loop anyway.
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
        """Wait unless something is ready, then run all that is ready."""
        while self._timers and self._timers[0][2].callback is None:
            heapq.heappop(self._timers)
        patience = None
        if self._ready:
            patience = 0.0
        elif self._timers:
            patience = min(max(0.0, self._timers[0][0] - self.time()), _LONGEST_WAIT) * 1000
        for fd, happened in self._poll.poll(patience):
            # An error or a closed other end concerns both the reader and the writer.
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
    """Awaited by any number of tasks; each continues in the next iteration after it is set."""

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
    """A running coroutine: the future that it awaits calls it back."""

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
        """End it without another iteration of the loop."""
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
                # Raised at once to the caller of ``run``: other tasks may take long to end.
                raise
        else:
            self._awaited = waited
            # After a cancellation it may await something else by then.
            waited.tell(lambda: self._step() if waited is self._awaited else None)
            return
        self.is_over = True
        self.over.set_result(None)
