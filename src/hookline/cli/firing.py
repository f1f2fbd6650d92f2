"""Fires events for a command: whatever ends the command stops the hooks first, and whatever the
engine warns of is kept for the screen."""

import argparse
import asyncio
import logging
import signal
import threading
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from hookline.cli.failures import Interrupted
from hookline.config import Config
from hookline.system import HookSystem
from hookline.wire.events import HookEventName
from hookline.wire.results import ProcessedHookResult

T = TypeVar("T")

# Besides Ctrl-C, which asyncio turns into a cancellation by itself.
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def load_config(options: argparse.Namespace, **further: Any) -> Config:
    """The configuration the common options name."""
    return Config.load(options.cwd, settings_files=options.settings, **further)


def fire(
    system: HookSystem, event: HookEventName, payload: Mapping[str, Any]
) -> ProcessedHookResult:
    """Fire one event to its end; raises Interrupted, with no hook left running, on a signal."""

    async def fired() -> ProcessedHookResult:
        await system.initialize()
        return await system.get_event_handler().fire(event, payload)

    return run_to_end(fired())


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run what fires events; a signal cancels it, and is raised as Interrupted once it is over."""
    received: list[int] = []

    async def watched() -> T:
        _cancel_on_signals(received)
        return await work

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        raise Interrupted(received[0] if received else signal.SIGINT) from None


def _cancel_on_signals(received: list[int]) -> None:
    if threading.current_thread() is not threading.main_thread():
        return
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def end(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in _ENDING_SIGNALS:
        # A signal that the parent wants ignored stays so.
        if signal.getsignal(number) is signal.SIG_DFL:
            loop.add_signal_handler(number, end, number)


@contextmanager
def heard_warnings() -> Iterator[list[str]]:
    """What the engine warns of in the meantime, one text each."""
    heard: list[str] = []
    handler = _Keeper(heard)
    log = logging.getLogger("hookline")
    propagated, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield heard
    finally:
        log.removeHandler(handler)
        log.propagate = propagated


class _Keeper(logging.Handler):
    def __init__(self, heard: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        cause = record.exc_info[1] if record.exc_info else None
        self._heard.append(f"{record.getMessage()}: {cause}" if cause else record.getMessage())
