"""A process belongs to a test by descent, by an inherited variable or by where it works.

Hooks run in sessions of their own and are reparented when their parent ends, so descent alone
would miss exactly those that matter.  Without /proc (macOS) nothing is found.
"""

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

_PROC = Path("/proc")
_HAS_PROC = _PROC.is_dir()
MARK = "HOOKLINE_TEST_ID"


def running() -> frozenset[int]:
    if not _HAS_PROC:
        return frozenset()
    return frozenset(int(name) for name in os.listdir("/proc") if name.isdigit())


def belonging_to(mark: str, *, roots: Sequence[Path], among: frozenset[int]) -> frozenset[int]:
    """The processes of ``among`` that a test started: ``mark`` is its id, ``roots`` are its
    directories."""
    return frozenset(pid for pid in among if _belongs(pid, mark, roots))


def describe(pid: int) -> str:
    command = _read(pid, "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
    return f"process {pid}: {command or '(ended, but nobody waited for it)'}"


def kill(pids: frozenset[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _belongs(pid: int, mark: str, roots: Sequence[Path]) -> bool:
    return (
        f"{MARK}={mark}".encode() in _read(pid, "environ")
        or _works_below(pid, roots)
        or _descends_from(pid, os.getpid())
    )


def _works_below(pid: int, roots: Sequence[Path]) -> bool:
    try:
        directory = Path(os.readlink(_PROC / str(pid) / "cwd"))
    except OSError:
        return False
    return any(directory.is_relative_to(root) for root in roots)


def _descends_from(pid: int, ancestor: int) -> bool:
    while pid > 1:
        pid = _parent(pid)
        if pid == ancestor:
            return True
    return False


def _parent(pid: int) -> int:
    # The name before the last parenthesis may itself hold spaces and parentheses.
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
