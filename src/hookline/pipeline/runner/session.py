"""Finds and ends all processes of hooks: their sessions, and those that their descendants made.

Signals go to whole groups, of which a session may have many: the kernel lets no fork of a member
slip through. They are stopped before they are told to end or killed, as processes that run would
start others, and cut the ties to them by their own end, while all are being looked for.

Also a program, for when the agent is gone: ``python session.py PID...`` ends the hooks that these
processes lead. The interpreter of a warm hook may run it, so it keeps to Python 3.8.
"""

import errno
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator

# Seconds: what it may take until all of them stand still, and until the kernel has killed them; a
# pause between two looks; and what a hook has to end by itself when the agent is gone.
_FREEZE_SECONDS = 0.2
_KILL_SECONDS = 0.5
_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.02
_ORPHAN_GRACE = 0.3
_PS_SECONDS = 2.0
_FEWEST_ROUNDS = 4
_ORPHAN_ROUNDS = 5
# A look that finds nobody is certain if no process was started meanwhile, by anybody. If there
# was, one that forks and ends all the time may have been missed, but not so often in a row.
_CERTAIN = 5

_ENDED = "ZX"
_STOPPED = "Tt"


class Process:
    """One row of the system's table; ``start`` tells it from a later one with the same number."""

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
    """The processes of hooks, given those that lead them.

    A session's number is taken while any process is in it, dead ones too, and the system hands a
    number out again only after all others. So it means no strangers as long as somebody who is
    known is seen in it at every look, and the looks are not seconds apart.
    """

    def __init__(self, leaders: "Iterable[int]") -> None:
        # Never the session of this process, nor what stands for the first one or for nobody's.
        self._strangers = frozenset((0, 1, os.getsid(0)))
        self._leaders = frozenset(leaders) - self._strangers
        self._members: list[Process] = []
        self._is_blind = True
        self._certainty = 0
        self._unseen: dict[int, int] = {}
        self.numbers = set(self._leaders)
        self.lacks_descriptor = False

    def remain(self) -> bool:
        """Whether any of them runs; those that nobody has reaped do not.

        One who is known and still there in each session spares the look at all processes.
        """
        missing, runs = set(self.numbers), False
        for known in () if self._is_blind else self._members:
            if runs and known.session not in missing:
                continue
            again = _look_again(known)
            if again is not None:
                missing.discard(again.session)
                runs = runs or again.state not in _ENDED
        return (runs and not missing) or self._look()

    def freeze(self) -> "Iterator[float]":
        """Stop them all; gives the seconds to wait before it can go on, as ``kill`` does."""
        if self._look():
            self.signal(signal.SIGSTOP)
            yield from self._signal_until_done(signal.SIGSTOP, _FREEZE_SECONDS)

    def kill(self) -> "Iterator[float]":
        """Kill them all, whatever they do meanwhile."""
        yield from self.freeze()
        if self.signal(signal.SIGKILL) or self.lacks_descriptor:
            yield from self._signal_until_done(signal.SIGKILL, _KILL_SECONDS)

    def signal(self, number: int) -> bool:
        """Send a signal to those that the last look found; whether there was anybody.

        Parents stop before their children and go on after them: a shell with job control that saw
        a child stopped would take up its next command, and the end of a parent is a SIGHUP for
        children in a group of their own that are stopped.
        """
        living = [process.group for process in self._members if process.state not in _ENDED]
        if self._is_blind:
            living += self._leaders & self.numbers
        # In the order of their oldest members.
        groups = list(dict.fromkeys(living))
        if number == signal.SIGCONT:
            groups.reverse()
        self._certainty = 0
        return any([_signal_group(group, number) for group in groups])  # noqa: C419  # to all of them

    def _signal_until_done(self, number: int, seconds: float) -> "Iterator[float]":
        """Look for them and send a signal, until it has reached everybody.

        A machine that is too busy to look more often in that time does so anyway.
        """
        deadline = time.monotonic() + seconds
        pause, rounds = _FIRST_PAUSE, 0
        self._certainty = 0
        while self._look(number) and (rounds < _FEWEST_ROUNDS or time.monotonic() < deadline):
            yield pause
            pause, rounds = min(2 * pause, _LONGEST_PAUSE), rounds + 1

    def _look(self, number: int = 0) -> bool:
        """Look for them; those who run get a signal, if it is for them, as soon as they are seen.

        Whether there are any of these; for SIGSTOP, any who do not stand still.
        """
        done = _ENDED + _STOPPED if number == signal.SIGSTOP else _ENDED
        before = _read_last_pid()
        everybody: list[Process] = []
        reached: set[int] = set()
        try:
            for process in _list_processes():
                everybody.append(process)
                if process.session in self.numbers and process.state not in done:
                    self._signal_once(process, number, reached)
        except OSError as error:
            # The system does not tell; or no descriptor is left to ask it with, and then there may
            # be one in a moment.
            self._is_blind = True
            self.lacks_descriptor = error.errno in (errno.EMFILE, errno.ENFILE)
            return self.signal(number) or self.lacks_descriptor
        self._is_blind = self.lacks_descriptor = False
        self._members = self._find_members(everybody)
        for process in self._members:
            if process.state not in done:
                self._signal_once(process, number, reached)
            elif process.parent == os.getpid() and process.pid not in self._leaders:
                # The first process of a container has to reap those that were handed to it.
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
                _signal_group(process.group, number)

    def _find_members(self, everybody: "list[Process]") -> "list[Process]":
        """Those of the sessions, their descendants, and all of the sessions these are in.

        The oldest come first; numbers begin anew one day, and so do not tell.
        """
        sessions: dict[int, list[Process]] = {}
        children: dict[int, list[Process]] = {}
        for process in everybody:
            sessions.setdefault(process.session, []).append(process)
            children.setdefault(process.parent, []).append(process)
        found: set[int] = set()
        # Who was seen before may have made a session since, and lost its parent.
        before = {process.pid: process.start for process in self._members}
        waiting = [process for process in everybody if before.get(process.pid) == process.start]
        waiting += (process for number in self.numbers for process in sessions.pop(number, ()))
        while waiting:
            process = waiting.pop()
            if process.pid not in found and process.session not in self._strangers:
                found.add(process.pid)
                self.numbers.add(process.session)
                waiting += children.get(process.pid, ())
                # Nobody gets into a session but by descent, so these are no strangers either.
                waiting += sessions.pop(process.session, ())
        members = [process for process in everybody if process.pid in found]
        return sorted(members, key=lambda process: (process.start, process.pid))


def _signal_group(group: int, number: int) -> bool:
    """Signal a group; nobody there, or nobody who may be signalled, is fine."""
    # 0 and 1 would stand for this very group and for all processes.
    if group <= 1:
        return False
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        # macOS lacks the permission for a group of zombies, Linux for processes of others.
        return False
    return True


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _list_processes() -> "Iterator[Process]":
    """All processes, the newest first; raises OSError where the system does not tell."""
    if not _has_proc():
        yield from _list_processes_with_ps()
        return
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc"))), reverse=True):
        process = _read_process(pid)
        if process is not None:
            yield process


def _has_proc() -> bool:
    """Whether /proc is there, and is that of this process: a container may show another's."""
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
    # The name in parentheses may itself hold parentheses, spaces and line ends.
    fields = text.rpartition(b")")[2].split()
    parent, group, session, start = (int(fields[at]) for at in (1, 2, 3, 19))
    return Process(pid, fields[0].decode(), parent, group, session, start)


def _look_again(process: Process) -> "Process | None":
    """What has become of a process that was there a moment ago."""
    try:
        if not _has_proc():
            return process if os.getsid(process.pid) == process.session else None
        again = _read_process(process.pid)
    except OSError:
        return None
    return again if again is not None and again.start == process.start else None


def _read_last_pid() -> bytes:
    """The number that was given to the last process, where the system tells."""
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
        done = subprocess.run(
            ps, env=path, stdin=silent, stdout=subprocess.PIPE, stderr=silent, timeout=_PS_SECONDS
        )
    except subprocess.SubprocessError as error:
        raise OSError("ps does not answer") from error
    if not done.stdout:
        raise OSError("ps says nothing")
    for line in reversed(done.stdout.decode("utf-8", "replace").splitlines()):
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
    # Nobody waits for this, and nobody would end what it left.
    for _ in range(_ORPHAN_ROUNDS):
        for pause in sessions.kill():
            time.sleep(pause)
        if not sessions.remain():
            break


if __name__ == "__main__":
    end_hooks(map(int, sys.argv[1:]))
