"""Learns of a child's end on any event loop in any thread, and alone waits for the child.

Signal handlers and child watchers belong to the main thread, or to whoever installed the last one;
a descriptor of the process (Linux), or a thread of its own, belongs to the run alone.
"""

import contextlib
import errno
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Protocol, TypeAlias

from hookline.pipeline.runner.loop import Loop

# Called on the loop, once, with what waitpid said; None when other code had waited before.
Report: TypeAlias = Callable[[int | None], None]


class ExitWatch(Protocol):
    """Reports the end of one child, and sees to it that somebody reaps it."""

    def poll(self) -> None:
        """Report now if the child has ended already."""

    def close(self) -> None:
        """Report nothing any more; a child that still runs is reaped when it ends, by a thread."""


def watch_exit(pid: int, loop: Loop, report: Report) -> ExitWatch:
    """Watch by descriptor, or by thread where the system or a sandbox has no such descriptors."""
    if _left:
        _reap_left()
    try:
        return PidfdWatch(pid, loop, report)
    except OSError:
        return ThreadWatch(pid, loop, report)


# Children that nobody waits for, because there was no thread to spare; reaped on occasion.
_left: set[int] = set()


def reap_later(pid: int) -> None:
    """Leave a thread behind that waits for a child nobody else waits for."""
    # While the interpreter ends no thread begins, and to start one is to wait for it for ever.
    if sys.is_finalizing():
        return
    reaper = threading.Thread(target=_wait, args=(pid, 0), daemon=True)
    try:
        reaper.start()
    except RuntimeError:
        _left.add(pid)


def _reap_left() -> None:
    for pid in tuple(_left):
        if _wait(pid, os.WNOHANG)[0]:
            _left.discard(pid)


def _wait(pid: int, flags: int) -> tuple[bool, int | None]:
    """Whether the child has ended, and its status."""
    try:
        ended, status = os.waitpid(pid, flags)
    except ChildProcessError:
        return True, None
    return (True, status) if ended else (False, None)


def _descriptor(pid: int) -> int:
    pidfd_open: Callable[[int], int] | None = getattr(os, "pidfd_open", None)
    if pidfd_open is None:
        raise OSError(errno.ENOSYS, "this system has no descriptors of processes")
    return pidfd_open(pid)


class PidfdWatch:
    """The child as a descriptor that becomes readable when it ends."""

    def __init__(self, pid: int, loop: Loop, report: Report) -> None:
        self._pid = pid
        self._loop = loop
        self._report = report
        self._descriptor = _descriptor(pid)
        self._open = True
        try:
            loop.add_reader(self._descriptor, self.poll)
        except BaseException:
            os.close(self._descriptor)
            raise

    def poll(self) -> None:
        if not self._open:
            return
        ended, status = _wait(self._pid, os.WNOHANG)
        if ended:
            self._release()
            self._report(status)

    def close(self) -> None:
        if self._open:
            self._release()
            reap_later(self._pid)

    def _release(self) -> None:
        self._open = False
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)


class ThreadWatch:
    """A thread that waits for the child, and reaps it whether or not anybody still listens."""

    def __init__(self, pid: int, loop: Loop, report: Report) -> None:
        self._report: Report | None = report
        self._ended = False
        self._status: int | None = None
        # The thread must not keep alive what nobody else remembers.
        arguments = (pid, loop, weakref.ref(self))
        self._thread = threading.Thread(target=_wait_and_tell, args=arguments, daemon=True)
        self._thread.start()

    def poll(self) -> None:
        report, ended = self._report, self._ended
        if report is None or not ended:
            return
        self._report = None
        self._thread.join()
        report(self._status)

    def close(self) -> None:
        self._report = None

    def end(self, status: int | None) -> None:
        """Remember the status; called by the thread, whose last act is to have ``poll`` called."""
        self._status = status
        self._ended = True


def _wait_and_tell(pid: int, loop: Loop, reference: "weakref.ref[ThreadWatch]") -> None:
    _, status = _wait(pid, 0)
    watch = reference()
    if watch is not None:
        watch.end(status)
        # A loop that was closed meanwhile has nobody left to tell.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(watch.poll)
