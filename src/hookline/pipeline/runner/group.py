"""The processes a hook started, but for those that left its group: signalled and counted as one."""

import contextlib
import os
from collections.abc import Iterator


class ProcessGroup:
    """The group that a process leads since it was started in a session of its own.

    Its number stays taken while any process of the group exists, so it never comes to mean
    strangers while there is somebody left to signal.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._running_member = leader

    def signal(self, number: int) -> None:
        """Send a signal to all of them; nobody there, or nobody who may be signalled, is fine."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)

    def is_running(self) -> bool:
        """Whether one of them still runs; the dead that nobody has reaped do not count.

        In a container, orphans may stay zombies for good because the first process reaps none.
        """
        try:
            os.killpg(self._leader, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            # macOS says this of a group of zombies, Linux of processes that are not ours to stop.
            return False
        return self._has_running_member()

    def reap_orphans(self) -> None:
        """Reap members that were handed to this process because it is the first of a container.

        Only for after the leader was reaped: its status is for whoever watches it.
        """
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self._leader, os.WNOHANG)[0]:
                pass

    def _has_running_member(self) -> bool:
        # Looking at one known member first spares most calls the walk over all processes.
        if self._runs(self._running_member):
            return True
        try:
            members = [pid for pid in _processes() if self._runs(pid)]
        except OSError:
            return True
        self._running_member = members[0] if members else self._leader
        return bool(members)

    def _runs(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                status = file.read()
        except OSError:
            return False
        # The name in parentheses may itself hold parentheses and spaces.
        state, _parent, group = status.rpartition(b")")[2].split()[:3]
        return int(group) == self._leader and state not in (b"Z", b"X")


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())
