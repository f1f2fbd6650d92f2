"""Starts a process by the call that ``subprocess.Popen`` is built on, without what is around it.

The call is private to CPython, so it is used only where its parameters are those known here.
``os.posix_spawn`` would do, but has no working directory.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any

_PARAMETERS = (
    *("args", "executable_list", "close_fds", "pass_fds", "cwd", "env"),
    *("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"),
    *("errpipe_read", "errpipe_write", "restore_signals", "call_setsid", "pgid_to_set"),
    *("gid", "extra_groups", "uid", "child_umask", "preexec_fn", "allow_vfork"),
)


def fork_exec_call() -> Callable[..., int] | None:
    """The call, if this interpreter has it in the form known here."""
    try:
        from _posixsubprocess import fork_exec
    except ImportError:
        return None
    if sys.implementation.name != "cpython":
        return None
    return fork_exec if sys.version_info[:2] == (3, 11) or _has_known_form(fork_exec) else None


def _has_known_form(call: Any) -> bool:
    signature: str = getattr(call, "__text_signature__", None) or ""
    names = tuple(name.strip() for name in signature.strip("()").split(","))
    return names == ("$module", *_PARAMETERS, "/")


_fork_exec = fork_exec_call()


def is_available() -> bool:
    """Whether processes can be started like this here."""
    return _fork_exec is not None


def start(
    argv: Sequence[str],
    programs: Sequence[bytes],
    *,
    cwd: str,
    env: Sequence[bytes],
    streams: tuple[int, int, int],
) -> int:
    """The pid of a new process, the leader of its own session; raises OSError, ValueError.

    ``programs`` are tried in turn, ``env`` holds ``NAME=value``, and ``streams`` are what the
    process gets as its stdin, stdout and stderr.
    """
    assert _fork_exec is not None
    stdin, stdout, stderr = streams
    sys.audit("subprocess.Popen", argv[0], argv, cwd, None)
    # The new process reports here why it could not be: the pipe closes when it is the program.
    reading, writing = _pipe_above_streams()
    arguments = (
        *(argv, programs, True, (writing,), cwd, env),
        *(stdin, -1, -1, stdout, -1, stderr),
        *(reading, writing, True, True, -1),
        *(None, None, None, -1, None, True),
    )
    started: list[int] = []
    try:
        # A signal handler that raises comes after the pid was put in here, never before.
        started.extend(starmap(_fork_exec, (arguments,)))
        os.close(writing)
        writing = -1
        report = os.read(reading, 50_000)
    except BaseException:
        for pid in started:
            _undo(pid)
        raise
    finally:
        os.close(reading)
        if writing != -1:
            os.close(writing)
    (pid,) = started
    if report:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        raise _failure(report)
    return pid


def _undo(pid: int) -> None:
    """End a process that nobody will hear of, with its group if it has one by now."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _pipe_above_streams() -> tuple[int, int]:
    """A pipe whose ends are no standard streams; a program may run with those closed."""
    reading, writing = os.pipe()
    if writing > 2:
        return reading, writing
    try:
        return _pipe_above_streams()
    finally:
        os.close(reading)
        os.close(writing)


def _failure(report: bytes) -> Exception:
    """What went wrong before the program ran, from ``OSError:2:where``."""
    kind, number, where = report.split(b":", 2)
    if kind != b"OSError":
        return RuntimeError(where.decode(errors="replace"))
    error = int(number, 16)
    return OSError(error, os.strerror(error))
