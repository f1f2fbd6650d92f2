"""Ends the hooks of a program that was killed: a small shell outlives it and knows their pids.

The shell waits for the end of a pipe whose other end only this process holds. The running hooks
are listed in shared memory, so that a hook costs a few written bytes and wakes no process.
"""

import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from hookline._support.fork import owned_by_process

# A process id has up to seven digits; eight aligned bytes are never seen half written.
_SLOT = 8
_SLOTS = 1024
_BLANK = b" " * (_SLOT - 1) + b"\n"
NEXT_TRY_SECONDS = 1.0
_SESSION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.py")
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")

# The table is descriptor 3, the pipe is 0. Python replaces the shell, as hooks may have used up all
# processes. Without Python the shell signals the groups that the hooks lead; a stopped hook handles
# SIGTERM only when it continues.
_SCRIPT = """
trap '' HUP INT QUIT TERM TSTP TTIN TTOU USR1 USR2
cd /
read -r end
python=$1 session=$2 hooks=
while read -r pid; do hooks="$hooks $pid"; done <&3
set -- $hooks
[ $# -gt 0 ] || exit 0
[ -x "$python" ] && [ -r "$session" ] && exec "$python" -I -S "$session" "$@"
for pid; do kill -s TERM -- "-$pid"; kill -s CONT -- "-$pid"; done
sleep 0.3 || sleep 1
for pid; do kill -s KILL -- "-$pid"; done
"""


class Guardian:
    """Ends the sessions it watches soon after this process ends.

    The guard process starts with the first hook; if it is killed, the next hook starts it again.
    Any thread may call this, and a call costs no more than starting a process. If the guard cannot
    do its work, ``warn`` is called once, and the hooks run unguarded.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._has_warned = False
        # The garbage collector may release a hook at any time, also within these methods.
        self._lock = threading.RLock()
        self._slots: dict[int, int] = {}
        self._free = list(range(_SLOTS))
        self._shell: _Shell | None = None
        self._finalizer: weakref.finalize[..., Guardian] | None = None
        self._next_try = 0.0
        self._is_closed = False
        owned_by_process.add(self)

    def watch(self, pid: int) -> None:
        """End the session that ``pid`` leads if this process ends before ``release``."""
        if pid <= 1:
            raise ValueError(f"pid {pid} would stand for our own group or for all processes")
        with self._lock:
            slot = self._slots.get(pid)
            if slot is None and not self._free:
                problem: str | None = f"more than {_SLOTS} hooks run at once; run fewer"
            else:
                if slot is None:
                    slot = self._slots[pid] = self._free.pop()
                if self._shell:
                    self._shell.write(slot, _format_entry(pid))
                problem = self._start_shell()
        if problem and not self._has_warned:
            self._has_warned = True
            self._warn(f"hooks would go on running if this program were killed: {problem}")

    def release(self, pid: int) -> None:
        """Forget a session as soon as its hook has ended, so that what it left running stays."""
        with self._lock:
            slot = self._slots.pop(pid, None)
            if slot is None:
                return
            self._free.append(slot)
            if self._shell:
                self._shell.write(slot, _BLANK)
            if self._is_closed and not self._slots:
                self._end_shell()

    def close(self) -> None:
        """End the guard now or, if hooks are running, with the last of them."""
        with self._lock:
            self._is_closed = True
            if not self._slots:
                self._end_shell()

    def _start_shell(self) -> str | None:
        """Start the guard process unless it runs; return what prevents that, if anything."""
        if self._shell and self._shell.is_running():
            return None
        self._end_shell()
        if time.monotonic() < self._next_try:
            return None
        watched = self._slots.copy()
        try:
            shell = _Shell(watched)
        except (OSError, ImportError) as error:
            # Importing modules also needs descriptors, which may have run out.
            self._next_try = time.monotonic() + NEXT_TRY_SECONDS
            return f"cannot start the guard process ({error}); correct that"
        self._shell = shell
        self._finalizer = weakref.finalize(self, shell.end)
        for pid in watched.keys() - self._slots.keys():
            shell.write(watched[pid], _BLANK)
        return None

    def _end_shell(self, *, is_ours: bool = True) -> None:
        if self._finalizer:
            self._finalizer.detach()
        if self._shell:
            (self._shell.end if is_ours else self._shell.abandon)()
        self._shell = self._finalizer = None

    def forget(self) -> None:
        """Drop what belongs to the parent, in a forked child of this process."""
        self._lock = threading.RLock()
        self._end_shell(is_ours=False)
        self._slots.clear()
        self._free = list(range(_SLOTS))


class _Shell:
    """The process that waits for the end of this one; raises OSError if it cannot start."""

    def __init__(self, watched: Mapping[int, int]) -> None:
        import mmap

        with contextlib.ExitStack() as ours, contextlib.ExitStack() as its:
            table = _make_shared_file()
            its.callback(os.close, table)
            self._table = mmap.mmap(table, _SLOT * _SLOTS)
            ours.callback(self._table.close)
            for pid, slot in watched.items():
                self.write(slot, _format_entry(pid))
            waiting, self._lifeline = os.pipe()
            its.callback(os.close, waiting)
            ours.callback(os.close, self._lifeline)
            self._pid = _spawn_shell(waiting, table)
            ours.pop_all()

    def write(self, slot: int, entry: bytes) -> None:
        self._table[slot * _SLOT : (slot + 1) * _SLOT] = entry

    def is_running(self) -> bool:
        try:
            return os.waitpid(self._pid, os.WNOHANG)[0] == 0
        except ChildProcessError:
            # This program ignores SIGCHLD, or other code in it waits for any child.
            return False

    def end(self) -> None:
        """End the process and reap it; while hooks run, let it end them instead."""
        if bytes(self._table) == _BLANK * _SLOTS and self.is_running():
            import signal

            # A program that has dropped privileges may not kill it, but it ends by itself.
            with contextlib.suppress(ChildProcessError, ProcessLookupError, PermissionError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
        self.abandon()

    def abandon(self) -> None:
        """Close our ends of the pipe and the table."""
        with contextlib.suppress(OSError):
            os.close(self._lifeline)
        self._table.close()


def _format_entry(pid: int) -> bytes:
    return b"%7d\n" % pid


def _make_shared_file() -> int:
    """Make an unnamed file that holds the table, in memory or else in TMPDIR."""
    try:
        file = os.memfd_create("hookline-guard")
    except (AttributeError, OSError):
        directory = os.environ.get("TMPDIR") or "/tmp"
        name = os.path.join(directory, f"hookline-guard-{os.urandom(8).hex()}")
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.unlink(name)
    try:
        # Written rather than truncated to size: a full disk must fail here, not at first use.
        size = os.pwrite(file, _BLANK * _SLOTS, 0)
        if size < _SLOT * _SLOTS:
            raise OSError("no space left for its table")
    except OSError:
        os.close(file)
        raise
    return file


def _spawn_shell(waiting: int, table: int) -> int:
    """Start the shell with the pipe and the table, and no other descriptor of this process."""
    import fcntl
    import signal

    if not hasattr(os, "posix_spawn"):
        raise OSError("this system has no posix_spawn")
    inherited: set[int] = set()
    open_now: list[int] = []
    try:
        # Few are inheritable: Python opens descriptors so that new processes lack them.
        open_now = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        inherited = {1, 2}
    for number in open_now:
        # The descriptor that listed the others is closed by now.
        with contextlib.suppress(OSError):
            if os.get_inheritable(number):
                inherited.add(number)
    ends: list[int] = []
    try:
        # Above their targets, so that one dup2 does not overwrite the other.
        ends.extend(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (waiting, table))
        argv = ["sh", "-c", _SCRIPT, "hookline-guard", _find_python(), _SESSION]
        # Some builds of Python find their library only by these.
        library_paths = {name: os.environ[name] for name in _LIBRARY_PATHS if name in os.environ}
        program = ("/bin/sh", argv, {"PATH": os.defpath, **library_paths})
        options: dict[str, Any] = {
            "file_actions": [
                (os.POSIX_SPAWN_DUP2, ends[0], 0),
                (os.POSIX_SPAWN_DUP2, ends[1], 3),
                *((os.POSIX_SPAWN_CLOSE, number) for number in inherited - {0, 3}),
            ],
            "setsigmask": [],
            "setsigdef": [signal.SIGCHLD, signal.SIGPIPE],
        }
        # Keys of the terminal must not reach it: its own session, or at least its own group.
        try:
            return os.posix_spawn(*program, setsid=True, **options)
        except NotImplementedError:
            return os.posix_spawn(*program, setpgroup=0, **options)
    finally:
        for end in ends:
            os.close(end)


def _find_python() -> str:
    """Return the interpreter that runs this; "" if Python is embedded in another program."""
    name = os.path.basename(sys.executable or "").lower()
    is_python = name.startswith(("python", "pypy")) and not hasattr(sys, "frozen")
    return sys.executable if is_python else ""
