"""Fires events for a command: whatever ends the command stops its hooks first."""

import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from hookline.cli.failures import Interrupted
from hookline.config import Config
from hookline.pipeline.runner.loop import Cancelled, PollLoop
from hookline.system import HookSystem
from hookline.wire.events import HookEventName
from hookline.wire.results import ProcessedHookResult

if TYPE_CHECKING:
    import argparse
    import asyncio

    from hookline.cli.waiting import Waiting
    from hookline.pipeline.runner.loop import Loop

T = TypeVar("T")

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# How many seconds hooks may take before people are shown that something happens.
_A_MOMENT = 0.3
_LIKE_NOBODY_ASKED = (signal.SIG_DFL, signal.default_int_handler)


def load_config(options: "argparse.Namespace", *, warm: bool = False, **further: Any) -> Config:
    """The configuration the common options name.

    A process that ends after one event would keep an interpreter waiting for nothing.
    """
    return Config.load(options.cwd, settings_files=options.settings, warm=warm, **further)


def fire(
    system: HookSystem,
    event: HookEventName,
    payload: Mapping[str, Any],
    *,
    meanwhile: Callable[[], object] = lambda: None,
    progress: "Callable[[Loop], Waiting] | None" = None,
) -> ProcessedHookResult:
    """Fire one event to its end; raises Interrupted, with no hook left running, on a signal.

    ``meanwhile`` is called while the first hooks are starting, and ``progress`` if they take more
    than a moment: what it shows is there until they have ended.
    """
    system.initialize_blocking()
    fired = system.get_event_handler().fire(event, payload)
    try:
        if system.get_event_handler().needs_asyncio:
            return run_on_asyncio(fired)
        return run_to_end(fired, meanwhile=meanwhile, progress=progress)
    finally:
        system.dispose()


def run_to_end(
    work: Coroutine[Any, Any, T],
    *,
    meanwhile: Callable[[], object] = lambda: None,
    progress: "Callable[[Loop], Waiting] | None" = None,
) -> T:
    """Run what fires command hooks; a signal stops it, and is raised when they have ended."""
    loop = PollLoop()
    loop.call_soon(lambda: loop.call_soon(meanwhile))
    received: list[int] = []
    shown: list[Waiting] = []

    def show() -> None:
        if progress is not None and not received:
            shown.append(progress(loop))

    def hide() -> None:
        while shown:
            shown.pop().end()

    def end(number: int, _frame: object) -> None:
        received.append(number)
        for line in shown:
            line.halt()
        # The loop may just have come to its end by itself.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(hide)
        loop.cancel()

    if progress is not None:
        loop.call_at(loop.time() + _A_MOMENT, show)
    with _heard_signals(end):
        try:
            done = loop.run(work)
        except Cancelled:
            raise Interrupted(received[0]) from None
        finally:
            hide()
    if received:
        # It came when there was nothing left to stop, and is no less meant for that.
        raise Interrupted(received[0])
    return done


def run_on_asyncio(work: Coroutine[Any, Any, T]) -> T:
    """The same for what needs a loop of asyncio's, as an agent does."""
    import asyncio

    received: list[int] = []

    async def watched() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def end(number: int, _frame: object) -> None:
            received.append(number)
            loop.call_soon_threadsafe(task.cancel)

        with _heard_signals(end), _woken_by_signals(loop):
            return await work

    try:
        done = asyncio.run(watched())
    except asyncio.CancelledError:
        raise Interrupted(received[0] if received else signal.SIGINT) from None
    if received:
        raise Interrupted(received[0])
    return done


@contextmanager
def _woken_by_signals(loop: "asyncio.AbstractEventLoop") -> Iterator[None]:
    """Have a signal that comes just before the loop waits end that wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reading, writing = os.pipe()
    for end in (reading, writing):
        os.set_blocking(end, False)
    loop.add_reader(reading, os.read, reading, 4096)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        loop.remove_reader(reading)
        os.close(reading)
        os.close(writing)


@contextmanager
def _heard_signals(end: Callable[[int, Any], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A signal that the parent wants ignored stays so.
    heard = [n for n in _ENDING_SIGNALS if signal.getsignal(n) in _LIKE_NOBODY_ASKED]
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
