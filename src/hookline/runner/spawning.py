"""Starts a process in its own session, learns of its end, and is the only code that waits for it.

Signal handlers and child watchers belong to the main thread, or to the code that installed the
last one; a pidfd (Linux) or a thread for each process works on any event loop in any thread.
"""

import contextlib
import errno
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import ClassVar, Protocol, TypeAlias

import msgspec

from hookline.runner.invocation import encode_entries, explain_spawn_failure
from hookline.runner.loop import Loop
from hookline.shell.programs import find_program

# Called once, on the loop, with the status from waitpid; None if other code waited first.
Report: TypeAlias = Callable[[int | None], None]


class SpawnError(Exception):
    """Raised for a process that cannot start; the message says which, why, and what to do."""


class ExitWatch(Protocol):
    """Reports the end of one child, and makes sure that it is reaped."""

    def poll(self) -> None:
        """Report now if the child has already ended."""

    def close(self) -> None:
        """Stop reporting; a thread reaps a child that still runs when it ends."""


class Spawned(msgspec.Struct):
    """A child of this process, with our ends of the pipes on its three streams."""

    pid: int
    stdin: int
    stdout: int
    stderr: int

    unseen: ClassVar[str] = (
        "other code in this program took it; that code must not ignore SIGCHLD or wait for children"
        " that it did not start"
    )

    def watch(self, loop: Loop, report: Report) -> ExitWatch:
        """Report its end to ``report``, and make sure that it is reaped."""
        return watch_exit(self.pid, loop, report)

    def abandon(self) -> None:
        """Make sure that it is reaped without a watch."""
        reap_later(self.pid)


@contextlib.contextmanager
def open_pipes() -> Iterator[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Open three pipes; yields the child's ends and ours, for its stdin, stdout and stderr.

    The child's ends are closed afterwards, and ours too if the body raises.
    """
    descriptors: list[int] = []
    try:
        descriptors += os.pipe()
        descriptors += os.pipe()
        descriptors += os.pipe()
        stdin, our_stdin, our_stdout, stdout, our_stderr, stderr = descriptors
        yield (stdin, stdout, stderr), (our_stdin, our_stdout, our_stderr)
        descriptors = [stdin, stdout, stderr]
    finally:
        for fd in descriptors:
            os.close(fd)


def spawn(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], program: str | None = None
) -> Spawned:
    """Start a process, the leader of its own session, with a pipe on each of its three streams.

    ``program`` is the file to execute if that is not ``argv[0]``.
    """
    if not argv or not argv[0]:
        raise SpawnError("cannot start a hook whose command is empty; give it a command")
    try:
        # We open the pipes because older releases of subprocess leave theirs open when
        # descriptors run out half way.
        with open_pipes() as (theirs, ours):
            pid = launch(argv, program or argv[0], cwd=cwd, env=env, streams=theirs)
            return Spawned(pid, *ours)
    except Exception as error:
        why = explain_spawn_failure(error, argv, cwd, env)
        raise SpawnError(f"cannot start {argv[0]!r}: {why}") from error


def launch_directly(
    argv: Sequence[str],
    program: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
) -> int:
    """Start a process without ``subprocess``, which is slow to import and to run."""
    assert _fork_exec is not None
    entries = encode_entries(env)
    file = os.fsencode(_find_file(program, cwd, env))
    stdin, stdout, stderr = streams
    sys.audit("subprocess.Popen", argv[0], argv, cwd, None)
    # The child writes here why it could not exec; the pipe closes when it has.
    reading, writing = _open_pipe_above_streams()
    arguments = (
        *(argv, [file], True, (writing,), cwd, entries),
        *(stdin, -1, -1, stdout, -1, stderr),
        *(reading, writing, True, True, -1),
        *(None, None, None, -1, None, True),
    )
    started: list[int] = []
    try:
        # A signal handler that raises can only run once the pid is in the list.
        started.extend(starmap(_fork_exec, (arguments[:_parameter_count],)))
        os.close(writing)
        writing = -1
        report = os.read(reading, 50_000)
    except BaseException:
        # No caller gets its pid: kill it, with its group if it has one by now.
        for pid in started:
            for kill in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    kill(pid, signal.SIGKILL)
            _wait_for_child(pid, 0)
        raise
    finally:
        os.close(reading)
        if writing != -1:
            os.close(writing)
    (pid,) = started
    if report:
        _wait_for_child(pid, 0)
        # The report has the form ``OSError:2:where``.
        kind, number, where = report.split(b":", 2)
        if kind != b"OSError":
            raise RuntimeError(where.decode(errors="replace"))
        raise OSError(int(number, 16), os.strerror(int(number, 16)))
    return pid


def launch_portably(
    argv: Sequence[str],
    program: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
) -> int:
    """Start a process with ``subprocess``, which every Python has."""
    import subprocess

    stdin, stdout, stderr = streams
    child = subprocess.Popen(
        argv,
        executable=_find_file(program, cwd, env),
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=True,
    )
    # Only the watch waits for it: unless Popen believes that it has ended, Popen would wait for it
    # too and warn that it still runs.
    child.returncode = 0
    return child.pid


# ``os.posix_spawn`` cannot set a working directory. ``subprocess`` is built on this call; it is
# private to CPython, so it is used only if its parameters are these.
_PARAMETERS = (
    *("args", "executable_list", "close_fds", "pass_fds", "cwd", "env"),
    *("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"),
    *("errpipe_read", "errpipe_write", "restore_signals", "call_setsid", "pgid_to_set"),
    *("gid", "extra_groups", "uid", "child_umask", "preexec_fn", "allow_vfork"),
)


def _find_file(program: str, cwd: str, env: Mapping[str, str]) -> str:
    """Return the file to execute; raises FileNotFoundError if the PATH has none."""
    file = find_program(program, env.get("PATH", os.defpath), cwd=cwd)
    if file is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    return file


def find_fork_exec() -> tuple[Callable[..., int], int] | None:
    """Return the call and the number of its parameters, if this interpreter has a known form."""
    try:
        from _posixsubprocess import fork_exec
    except ImportError:
        return None
    if sys.implementation.name != "cpython":
        return None
    signature: str = getattr(fork_exec, "__text_signature__", None) or ""
    names = tuple(name.strip() for name in signature.strip("()").split(","))
    # Python 3.14 removed the last one.
    for parameters in (_PARAMETERS, _PARAMETERS[:-1]):
        if names == ("$module", *parameters, "/"):
            return fork_exec, len(parameters)
    # Python 3.11 does not list its parameters.
    return (fork_exec, len(_PARAMETERS)) if sys.version_info[:2] == (3, 11) else None


_fork_exec, _parameter_count = find_fork_exec() or (None, 0)

# Starts ``program`` as the leader of its own session, with ``streams`` as its stdin, stdout and
# stderr, and returns its pid; raises OSError, or ValueError for text that no process can be given.
launch = launch_directly if _fork_exec is not None else launch_portably


def _open_pipe_above_streams() -> tuple[int, int]:
    """Open a pipe above the standard streams, which may be closed in this program."""
    reading, writing = os.pipe()
    if writing > 2:
        return reading, writing
    try:
        return _open_pipe_above_streams()
    finally:
        os.close(reading)
        os.close(writing)


def watch_exit(pid: int, loop: Loop, report: Report) -> ExitWatch:
    """Watch with a pidfd, or with a thread if the system or a sandbox has no pidfds."""
    for left in tuple(_left):
        if _wait_for_child(left, os.WNOHANG)[0]:
            _left.discard(left)
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return PidfdWatch(pid, loop, report)
    return ThreadWatch(pid, loop, report)


# Children without a thread to wait for them, as none could start; reaped by the next watch.
_left: set[int] = set()


def reap_later(pid: int) -> None:
    """Start a thread that reaps a child when it ends."""
    # Starting a thread while the interpreter shuts down would block for ever.
    if sys.is_finalizing():
        return
    reaper = threading.Thread(target=_wait_for_child, args=(pid, 0), daemon=True)
    try:
        reaper.start()
    except RuntimeError:
        _left.add(pid)


def _wait_for_child(pid: int, flags: int) -> tuple[bool, int | None]:
    """Return whether the child has ended, and its status."""
    try:
        ended, status = os.waitpid(pid, flags)
    except ChildProcessError:
        return True, None
    return (True, status) if ended else (False, None)


class PidfdWatch:
    """Watches a child with a descriptor that becomes readable when the child ends."""

    def __init__(self, pid: int, loop: Loop, report: Report) -> None:
        self._pid = pid
        self._loop = loop
        self._report = report
        self._descriptor = os.pidfd_open(pid)
        self._open = True
        try:
            loop.add_reader(self._descriptor, self.poll)
        except BaseException:
            os.close(self._descriptor)
            raise

    def poll(self) -> None:
        if not self._open:
            return
        ended, status = _wait_for_child(self._pid, os.WNOHANG)
        if ended:
            self._stop_watching()
            self._report(status)

    def close(self) -> None:
        if self._open:
            self._stop_watching()
            reap_later(self._pid)

    def _stop_watching(self) -> None:
        self._open = False
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)


class ThreadWatch:
    """Watches a child with a thread, which also reaps it after the watch is closed."""

    def __init__(self, pid: int, loop: Loop, report: Report) -> None:
        self._report: Report | None = report
        self._ended = False
        self._status: int | None = None
        # The thread must not keep the watch alive.
        arguments = (pid, loop, weakref.ref(self))
        self._thread = threading.Thread(target=self._run_thread, args=arguments, daemon=True)
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

    @staticmethod
    def _run_thread(pid: int, loop: Loop, reference: "weakref.ref[ThreadWatch]") -> None:
        _, status = _wait_for_child(pid, 0)
        watch = reference()
        if watch is not None:
            watch._status = status
            watch._ended = True
            # The loop may be closed by now.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(watch.poll)
