"""Ends a fork at once, where Python would first take its interpreter apart.

That takes longer than all else a short hook does, and nearly always nothing comes of it. So
the last of all exit functions ends the process itself, if two things are certain: the exit status,
and that no object is left that does something when it goes. If not, Python ends as it always does.

It would be simpler if the fork ran the script, as ``runpy`` does, and so saw how it ends. But then
a script has our frame below its own, and finds it in ``inspect.stack()``, in ``f_back`` and as the
place of a warning; no Python code can run a script without that. This file can go when Python tells
exit functions the status, or ends a fork in a fraction of a millisecond by itself.
"""

import _thread
import _weakref
import atexit
import gc
import os
import sys
import time

# A descriptor out of the way of those that a script will see.
_FAR = 255
# Seconds. A process takes a while to end, and the agent may be about to run on the same processor:
# it goes first if the process sleeps before it ends. Without this a warm hook takes 15 % longer.
_STAY = 0.002
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
# Extension modules whose objects have to be closed by the interpreter before it ends.
_UNFINISHED = frozenset({"_sqlite3", "_dbm", "_gdbm", "_tkinter", "_ctypes"})


class Ending:
    """The exit function of all forks; the template makes it before anything else registers one."""

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
        """Be responsible for this process, which reports its status there."""
        try:
            self._channel = os.dup2(channel, _FAR, False)
            os.close(channel)
        except OSError:
            self._channel = channel  # there are not so many numbers
        self._inode = os.fstat(self._channel).st_ino
        self._pid = os.getpid()
        self._collections = _count_collections()
        self._streams = (sys.stdin, sys.stdout, sys.stderr)

    def _end_process(self) -> None:
        if os.getpid() != self._pid or not self._has_nothing_to_finish():
            return
        # What the interpreter is going to exit with; None if that is not certain.
        status = None
        if self._exit_code.seen:
            code = self._exit_code.seen[-1]
            if code is None:
                status = 0
            elif type(code) is int and 0 <= code < 256:
                status = code
        elif not hasattr(sys, "last_type"):
            # The interpreter gives a script these names when it runs it, and takes two of them away
            # again when it has been run. Behind ``sys.exit`` they are all still there.
            names = getattr(sys.modules.get("__main__"), "__dict__", {})
            was_run = type(names.get("__loader__")).__name__ == "SourceFileLoader"
            is_over = "__file__" not in names and "__cached__" not in names
            if was_run and is_over and names.get("__name__") == "__main__":
                status = 0
        if status is None:
            # Leave the interpreter little to take apart, which spares it half of the work.
            held: list[object] = [*sys.modules.values(), sys.modules.copy()]
            held.append(held)
            sys.modules.clear()
            gc.freeze()
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            # A script may have closed it, and opened something else by that number.
            if os.fstat(self._channel).st_ino != self._inode:
                return
        except (OSError, ValueError):
            return
        try:
            # The agent shall not wait until the process is no more: that would cost 25 %.
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
            # Of an extension module that is not of the standard library nothing is known.
            if not file.startswith(_STANDARD) or "-packages" + os.sep in file:
                return False
        things = gc.get_objects(0) + gc.get_objects(1)
        for thing in things:
            # Code that is not of the standard library may want to hear of an object's end.
            if isinstance(thing, _weakref.ref):
                code = getattr(thing.__callback__, "__code__", None)
                if code and not code.co_filename.startswith((_STANDARD, "<frozen")):
                    return False
        kinds = set(map(type, things))
        kinds.update([thing for thing in things if isinstance(thing, type)])
        return not any("__del__" in base.__dict__ for kind in kinds for base in kind.__mro__)


def _count_collections() -> "list[int]":
    """How often objects may have gone over to the oldest generation.

    That of the template's objects is the oldest, and all that is new is in the others until then.
    """
    return [generation["collections"] for generation in gc.get_stats()[1:]]


class _ExitCode:
    """Stands in for ``SystemExit.code``, to see the interpreter itself read it.

    It does so once, when that exception has ended the script, and then no function is running.
    Before Python 3.12 there is nothing to read after a ``sys.exit``.
    """

    def __init__(self) -> None:
        self.seen: list[object] = []
        # The type does not let it be set, but the dictionary behind its attributes does.
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
