"""Ends a fork at once, where Python would first finalize its interpreter.

Finalizing takes longer than all else a short hook does, and nearly always has no effect. So the
last of all exit functions ends the process itself, if two things are certain: the exit status, and
that no object is left that does something when it is deleted. If not, Python ends as usual.

It would be simpler if the fork ran the script, as ``runpy`` does, and so saw how it ends. But then
a script would have our frame below its own, and find it in ``inspect.stack()``, in ``f_back`` and
as the place of a warning; Python code cannot avoid that. This file can go when Python tells exit
functions the status, or ends a fork in a fraction of a millisecond by itself.
"""

import _thread
import _weakref
import atexit
import gc
import os
import sys
import time

# A descriptor far above those that a script uses.
_FAR = 255
# Seconds. Ending a process takes a while, and the agent may wait for the same processor: it runs
# first if the process sleeps before it ends. Without this a warm hook takes 15 % longer.
_STAY = 0.002
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
# Extension modules whose objects the interpreter must close before it ends.
_UNFINISHED = frozenset({"_sqlite3", "_dbm", "_gdbm", "_tkinter", "_ctypes"})


class Ending:
    """The exit function of all forks; the template makes it before other code registers one."""

    def __init__(self) -> None:
        self._channel = -1
        self._inode = 0
        self._pid = 0
        self._collections: list[int] = []
        self._streams: tuple[object, ...] = ()
        self._exit_code = _ExitCode()
        # The first to be registered is the last to be called.
        atexit.register(self._end_process)

    def begin(self, channel: int) -> None:
        """Take over the end of this process, which reports its status on ``channel``."""
        try:
            self._channel = os.dup2(channel, _FAR, False)
            os.close(channel)
        except OSError:
            self._channel = channel  # the limit of descriptors is lower
        self._inode = os.fstat(self._channel).st_ino
        self._pid = os.getpid()
        self._collections = _count_collections()
        self._streams = (sys.stdin, sys.stdout, sys.stderr)

    def _end_process(self) -> None:
        if os.getpid() != self._pid or not self._has_nothing_to_finish():
            return
        # The status that the interpreter will exit with; None if that is not certain.
        status = None
        if self._exit_code.seen:
            code = self._exit_code.seen[-1]
            if code is None:
                status = 0
            elif type(code) is int and 0 <= code < 256:
                status = code
        elif not hasattr(sys, "last_type"):
            # The interpreter sets these names when it runs a script, and deletes two of them when
            # the script has ended. After ``sys.exit`` they are all still there.
            names = getattr(sys.modules.get("__main__"), "__dict__", {})
            was_run = type(names.get("__loader__")).__name__ == "SourceFileLoader"
            is_over = "__file__" not in names and "__cached__" not in names
            if was_run and is_over and names.get("__name__") == "__main__":
                status = 0
        if status is None:
            # Leave the interpreter little to finalize, which saves half of the work.
            survivors: list[object] = [*sys.modules.values(), sys.modules.copy()]
            survivors.append(survivors)
            sys.modules.clear()
            gc.freeze()
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            # A script may have closed it and opened something else under that number.
            if os.fstat(self._channel).st_ino != self._inode:
                return
        except (OSError, ValueError):
            return
        try:
            # The agent must not wait until the process has ended: that would cost 25 %.
            for number in (0, 1, 2):
                os.close(number)
            os.write(self._channel, (status << 8).to_bytes(4, "big"))
            time.sleep(_STAY)
        finally:
            os._exit(status)

    def _has_nothing_to_finish(self) -> bool:
        if (sys.stdin, sys.stdout, sys.stderr) != self._streams or _thread._count():
            return False
        if sys.warnoptions or sys.flags.dev_mode or _count_collections() != self._collections:
            return False
        modules = sys.modules.copy()
        if not _UNFINISHED.isdisjoint(modules):
            return False
        for module in modules.values():
            file = getattr(module, "__file__", None)
            if not isinstance(file, str) or file.endswith((".py", ".pyc")):
                continue
            # An extension module outside the standard library may need finalizing.
            if not file.startswith(_STANDARD) or "-packages" + os.sep in file:
                return False
        things = gc.get_objects(0) + gc.get_objects(1)
        for thing in things:
            # Code outside the standard library may need the callback.
            if isinstance(thing, _weakref.ref):
                code = getattr(thing.__callback__, "__code__", None)
                if code and not code.co_filename.startswith((_STANDARD, "<frozen")):
                    return False
        kinds = set(map(type, things))
        kinds.update([thing for thing in things if isinstance(thing, type)])
        return not any("__del__" in base.__dict__ for kind in kinds for base in kind.__mro__)


def _count_collections() -> "list[int]":
    """Count how often objects may have moved to the oldest generation.

    The template's objects are in the oldest; new objects are in the others until such a collection.
    """
    return [generation["collections"] for generation in gc.get_stats()[1:]]


class _ExitCode:
    """Replaces ``SystemExit.code``, to see the interpreter itself read it.

    The interpreter reads it once, when that exception has ended the script and no function runs.
    Before Python 3.12 it does not read it after a ``sys.exit``.
    """

    def __init__(self) -> None:
        self.seen: list[object] = []
        # The type is read-only, but the dictionary behind its attributes is not.
        attributes = gc.get_referents(SystemExit.__dict__)[0]
        self._original = attributes["code"]
        attributes["code"] = self

    def __get__(self, instance: object, owner: "type | None" = None) -> object:
        value = self._original.__get__(instance, owner)
        if instance is not None and sys._getframe().f_back is None:
            self.seen.append(value)
        return value

    def __set__(self, instance: object, value: object) -> None:
        self._original.__set__(instance, value)

    def __delete__(self, instance: object) -> None:
        self._original.__delete__(instance)
