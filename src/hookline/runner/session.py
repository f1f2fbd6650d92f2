"""Finds and ends all processes of hooks: their sessions, and those that their descendants made.

Signals go to whole groups, of which a session may have many, so that no fork of a member escapes.
The processes are stopped before they are asked to end or killed: while the search goes on, running
processes could start others, and their end would cut the parent links that lead to these.

This file is also a program, for when the agent is gone: ``python session.py PID...`` ends the hooks
that these processes lead. The interpreter of a warm hook may run it, so it keeps to Python 3.8.
"""

import errno
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator

# Seconds: how long stopping all of them and killing all of them may take; the pause between two
# looks; and the grace of a hook whose agent is gone.
_FREEZE_SECONDS = 0.2
_KILL_SECONDS = 0.5
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.02
_ORPHAN_GRACE = 0.3
_PS_SECONDS = 2.0
_FEWEST_ROUNDS = 4
_ORPHAN_ROUNDS = 5
# A look that finds none is certain if no process on the machine was started meanwhile. Otherwise it
# may have missed a process that forks and ends all the time, but not this often in a row.
_CERTAIN = 5

_ENDED = "ZX"
_STOPPED = "Tt"


class Process:
    """One row of the process table; ``start`` tells it from a later process with the same pid."""

    __slots__ = ("group", "parent", "pid", "session", "start", "state")

    def __init__(
        self, pid: int, state: str, parent: int, group: int, session: int, start: int
    ) -> None:
        self.pid = pid
        self.state = state
        self.parent = parent
        self.group = group
        self.session = session
        self.start = start


class Sessions:
    """The processes of hooks, found from the processes that lead them.

    A session's number stays taken while any process is in it, even a zombie, and the system reuses
    a number only after all others. So the number still means the hook's session as long as every
    look finds a known process in it, and the looks are not seconds apart.
    """

    def __init__(self, leaders: "Iterable[int]") -> None:
        # Never signal our own session, that of init (1), or kernel threads (0).
        self._strangers = frozenset((0, 1, os.getsid(0)))
        self._leaders = frozenset(leaders) - self._strangers
        self._members: list[Process] = []
        self._is_blind = True
        self._certainty = 0
        self._unseen: dict[int, int] = {}
        self.numbers = set(self._leaders)
        self.lacks_descriptor = False

    def remain(self) -> bool:
        """Return whether any of them runs; zombies do not count.

        If a known process is still in each session, the full look at all processes is skipped.
        """
        missing, runs = set(self.numbers), False
        for member in () if self._is_blind else self._members:
            if runs and member.session not in missing:
                continue
            again = _look_again(member)
            if again is not None:
                missing.discard(again.session)
                runs = runs or again.state not in _ENDED
        return (runs and not missing) or self._look()

    def freeze(self) -> "Iterator[float]":
        """Stop them all; yields the seconds to wait before it can go on, as ``kill`` does."""
        if self._look():
            self.signal(signal.SIGSTOP)
            yield from self._signal_until_done(signal.SIGSTOP, _FREEZE_SECONDS)

    def kill(self) -> "Iterator[float]":
        """Kill them all, even if they start more meanwhile."""
        yield from self.freeze()
        if self.signal(signal.SIGKILL) or self.lacks_descriptor:
            yield from self._signal_until_done(signal.SIGKILL, _KILL_SECONDS)

    def signal(self, number: int) -> bool:
        """Send a signal to the processes that the last look found; return whether there were any.

        Parents stop before their children and continue after them: a shell with job control that
        saw a child stop would go on to its next command, and when a parent ends, stopped children
        in a group of their own get a SIGHUP.
        """
        living = [process.group for process in self._members if process.state not in _ENDED]
        if self._is_blind:
            living += self._leaders & self.numbers
        # In the order of their oldest members.
        groups = list(dict.fromkeys(living))
        if number == signal.SIGCONT:
            groups.reverse()
        self._certainty = 0
        return any([signal_group(group, number) for group in groups])  # noqa: C419  # to all of them

    def _signal_until_done(self, number: int, seconds: float) -> "Iterator[float]":
        """Look for them and send a signal, until all have it or the time is over.

        On a busy machine that gets few looks into that time, a minimum of rounds is made anyway.
        """
        deadline = time.monotonic() + seconds
        pause, rounds = _FIRST_PAUSE, 0
        self._certainty = 0
        while self._look(number) and (rounds < _FEWEST_ROUNDS or time.monotonic() < deadline):
            yield pause
            pause, rounds = min(2 * pause, _LONGEST_PAUSE), rounds + 1

    def _look(self, number: int = 0) -> bool:
        """Look for them, and signal those that run as soon as they are seen; 0 sends nothing.

        Return whether any may still run; for SIGSTOP, whether any is not stopped.
        """
        final_states = _ENDED + _STOPPED if number == signal.SIGSTOP else _ENDED
        before = _read_last_pid()
        everybody: list[Process] = []
        reached: set[int] = set()
        try:
            for process in _list_processes():
                everybody.append(process)
                if process.session in self.numbers and process.state not in final_states:
                    self._signal_once(process, number, reached)
        except OSError as error:
            # The system has no process table for us; or no descriptor is left to read it with, and
            # there may be one in a moment.
            self._is_blind = True
            self.lacks_descriptor = error.errno in (errno.EMFILE, errno.ENFILE)
            return self.signal(number) or self.lacks_descriptor
        self._is_blind = self.lacks_descriptor = False
        self._members = self._find_members(everybody)
        for process in self._members:
            if process.state not in final_states:
                self._signal_once(process, number, reached)
            elif process.parent == os.getpid() and process.pid not in self._leaders:
                # As the first process of a container, we have to reap orphans.
                _reap(process.pid)
        gained = _CERTAIN if before == _read_last_pid() else 1
        unseen = self.numbers - {process.session for process in self._members}
        self._unseen = {session: self._unseen.get(session, 0) + gained for session in unseen}
        self.numbers -= {session for session in unseen if self._unseen[session] >= _CERTAIN}
        self._certainty = 0 if reached else self._certainty + gained
        return self._certainty < _CERTAIN

    def _signal_once(self, process: Process, number: int, reached: "set[int]") -> None:
        if process.group not in reached:
            reached.add(process.group)
            if number:
                signal_group(process.group, number)

    def _find_members(self, everybody: "list[Process]") -> "list[Process]":
        """Find the members of the sessions, their descendants, and all in the sessions of these.

        The oldest come first, by start time: pids wrap around.
        """
        sessions: dict[int, list[Process]] = {}
        children: dict[int, list[Process]] = {}
        for process in everybody:
            sessions.setdefault(process.session, []).append(process)
            children.setdefault(process.parent, []).append(process)
        pids: set[int] = set()
        # A process seen before may have made a session since, and lost its parent.
        before = {process.pid: process.start for process in self._members}
        waiting = [process for process in everybody if before.get(process.pid) == process.start]
        waiting += (process for number in self.numbers for process in sessions.pop(number, ()))
        while waiting:
            process = waiting.pop()
            if process.pid not in pids and process.session not in self._strangers:
                pids.add(process.pid)
                self.numbers.add(process.session)
                waiting += children.get(process.pid, ())
                # A process enters a session only by descent, so these belong to the hook too.
                waiting += sessions.pop(process.session, ())
        members = [process for process in everybody if process.pid in pids]
        return sorted(members, key=lambda process: (process.start, process.pid))


def signal_group(group: int, number: int) -> bool:
    """Signal a group; return False if it is gone or we lack the permission."""
    # killpg(0) is our own group, and killpg(1) would be kill(-1): all processes.
    if group <= 1:
        return False
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # macOS refuses this for a group of zombies, Linux for processes of other users.
        return False
    return True


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _list_processes() -> "Iterator[Process]":
    """Yield all processes, the newest first; raises OSError if the system lists none."""
    if not has_proc():
        yield from _list_processes_with_ps()
        return
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc"))), reverse=True):
        process = _read_process(pid)
        if process is not None:
            yield process


def has_proc() -> bool:
    """Return whether /proc shows our own pids: a container may mount another's."""
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def _read_process(pid: int) -> "Process | None":
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    try:
        text = os.read(file, 4096)
    except ProcessLookupError:
        return None
    finally:
        os.close(file)
    # The name in parentheses may itself contain parentheses, spaces and newlines.
    fields = text.rpartition(b")")[2].split()
    parent, group, session, start = (int(fields[at]) for at in (1, 2, 3, 19))
    return Process(pid, fields[0].decode(), parent, group, session, start)


def _look_again(process: Process) -> "Process | None":
    """Read a process that was there a moment ago again; None if it is gone."""
    try:
        if not has_proc():
            return process if os.getsid(process.pid) == process.session else None
        again = _read_process(process.pid)
    except OSError:
        return None
    return again if again is not None and again.start == process.start else None


def _read_last_pid() -> bytes:
    """Return the pid of the newest process; b"" if the system does not say."""
    try:
        file = os.open("/proc/loadavg", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 256).split()[-1]
    finally:
        os.close(file)


def _list_processes_with_ps() -> "Iterator[Process]":
    import subprocess

    ps = ["ps", "-axo", "pid=,ppid=,pgid=,stat=,lstart="]
    path = {"PATH": os.defpath, "LC_ALL": "C"}
    silent = subprocess.DEVNULL
    try:
        listing = subprocess.run(
            ps, env=path, stdin=silent, stdout=subprocess.PIPE, stderr=silent, timeout=_PS_SECONDS
        )
    except subprocess.SubprocessError as error:
        raise OSError("ps does not respond") from error
    if not listing.stdout:
        raise OSError("ps printed nothing")
    for line in reversed(listing.stdout.decode("utf-8", "replace").splitlines()):
        pid, parent, group, state, start = line.split(None, 4)
        try:
            session = os.getsid(int(pid))
        except OSError:
            continue
        began = int(time.mktime(time.strptime(start)))
        yield Process(int(pid), state[0], int(parent), int(group), session, began)


def end_hooks(leaders: "Iterable[int]") -> None:
    """End the hooks of an agent that is gone."""
    sessions = Sessions(leaders)
    for pause in sessions.freeze():
        time.sleep(pause)
    sessions.signal(signal.SIGTERM)
    sessions.signal(signal.SIGCONT)
    deadline = time.monotonic() + _ORPHAN_GRACE
    while sessions.remain() and time.monotonic() < deadline:
        time.sleep(_LONGEST_PAUSE)
    # No caller waits for this, and nothing else would end what is left.
    for _ in range(_ORPHAN_ROUNDS):
        for pause in sessions.kill():
            time.sleep(pause)
        if not sessions.remain():
            break


if __name__ == "__main__":
    end_hooks(map(int, sys.argv[1:]))
