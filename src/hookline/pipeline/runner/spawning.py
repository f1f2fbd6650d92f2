"""Starts a process in a session of its own, learns of its end, and alone waits for it.

Signal handlers and child watchers belong to the main thread, or to whoever installed the last one;
a descriptor of the process (Linux), or a thread of its own, belongs to the run alone, on any event
loop in any thread.
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

from hookline.pipeline.programs import find_program
from hookline.pipeline.runner.invocation import encode_entries, explain_spawn_failure
from hookline.pipeline.runner.loop import Loop

# Called on the loop, once, with what waitpid said; None when other code had waited before.
Report: TypeAlias = Callable[[int | None], None]


class SpawnError(Exception):
    """A process that could not be started; the message names it, the cause and the remedy."""


class ExitWatch(Protocol):
    """Reports the end of one child, and sees to it that somebody reaps it."""

    def poll(self) -> None:
        """Report now if the child has ended already."""

    def close(self) -> None:
        """Report nothing any more; a child that still runs is reaped when it ends, by a thread."""


class Spawned(msgspec.Struct):
    """A process of ours, and our ends of the pipes on its three streams."""

    pid: int
    stdin: int
    stdout: int
    stderr: int

    unseen: ClassVar[str] = (
        "its status was taken by other code of this program, which must not ignore SIGCHLD or wait"
        " for children that it did not start"
    )

    def watch(self, loop: Loop, report: Report) -> ExitWatch:
        """Have its end reported, and see to it that it is reaped."""
        return watch_exit(self.pid, loop, report)

    def abandon(self) -> None:
        """Have it reaped by somebody, though nobody watches it."""
        reap_later(self.pid)


@contextlib.contextmanager
def open_pipes() -> Iterator[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """Their ends and ours of three pipes: they read from the first and write to the others.

    Theirs are closed in the end, and ours too if the process could not be started.
    """
    made: list[int] = []
    try:
        made += os.pipe()
        made += os.pipe()
        made += os.pipe()
        stdin, our_stdin, our_stdout, stdout, our_stderr, stderr = made
        yield (stdin, stdout, stderr), (our_stdin, our_stdout, our_stderr)
        made = [stdin, stdout, stderr]
    finally:
        for fd in made:
            os.close(fd)


def spawn(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], program: str | None = None
) -> Spawned:
    """Start a process, the leader of its own session, with a pipe on each of its three streams.

    ``program`` is the file to execute where that is not what ``argv`` begins with.
    """
    if not argv or not argv[0]:
        raise SpawnError("cannot start a hook whose command is empty; give it a command")
    try:
        # The pipes are ours because older releases of subprocess leave theirs open when
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
    """Start a process without ``subprocess``, whose import and whose generality cost time."""
    assert _fork_exec is not None
    entries = encode_entries(env)
    file = os.fsencode(_find_file(program, cwd, env))
    stdin, stdout, stderr = streams
    sys.audit("subprocess.Popen", argv[0], argv, cwd, None)
    # The new process reports here why it could not be: the pipe closes when it is the program.
    reading, writing = _open_pipe_above_streams()
    arguments = (
        *(argv, [file], True, (writing,), cwd, entries),
        *(stdin, -1, -1, stdout, -1, stderr),
        *(reading, writing, True, True, -1),
        *(None, None, None, -1, None, True),
    )
    started: list[int] = []
    try:
        # A signal handler that raises comes after the pid was put in here, never before.
        started.extend(starmap(_fork_exec, (arguments[:_parameter_count],)))
        os.close(writing)
        writing = -1
        report = os.read(reading, 50_000)
    except BaseException:
        # Nobody will hear of it: it ends, with its group if it has one by now.
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
        # What went wrong before the program ran: ``OSError:2:where``.
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
    """Start a process by what every Python has."""
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
    # The watch alone waits for it: so Popen must believe that it has ended, or it would look for
    # it too and warn that it still runs.
    child.returncode = 0
    return child.pid


# ``os.posix_spawn`` would do, but has no working directory. This call is what ``subprocess`` is
# built on; it is private to CPython, so it is used only where its parameters are those known here.
_PARAMETERS = (
    *("args", "executable_list", "close_fds", "pass_fds", "cwd", "env"),
    *("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"),
    *("errpipe_read", "errpipe_write", "restore_signals", "call_setsid", "pgid_to_set"),
    *("gid", "extra_groups", "uid", "child_umask", "preexec_fn", "allow_vfork"),
)


def _find_file(program: str, cwd: str, env: Mapping[str, str]) -> str:
    """The file to execute; raises FileNotFoundError where the search path has none."""
    file = find_program(program, env.get("PATH", os.defpath), cwd=cwd)
    if file is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    return file


def find_fork_exec() -> tuple[Callable[..., int], int] | None:
    """The call and the number of its parameters, if this interpreter has it in a known form."""
    try:
        from _posixsubprocess import fork_exec
    except ImportError:
        return None
    if sys.implementation.name != "cpython":
        return None
    signature: str = getattr(fork_exec, "__text_signature__", None) or ""
    names = tuple(name.strip() for name in signature.strip("()").split(","))
    # The last one went with Python 3.14.
    for known in (_PARAMETERS, _PARAMETERS[:-1]):
        if names == ("$module", *known, "/"):
            return fork_exec, len(known)
    # Python 3.11 does not say which it has.
    return (fork_exec, len(_PARAMETERS)) if sys.version_info[:2] == (3, 11) else None


_fork_exec, _parameter_count = find_fork_exec() or (None, 0)

# Starts ``program`` as the leader of its own session, with ``streams`` as its stdin, stdout and
# stderr, and gives its pid; raises OSError, or ValueError for texts that no process can have.
launch = launch_directly if _fork_exec is not None else launch_portably


def _open_pipe_above_streams() -> tuple[int, int]:
    """A pipe whose ends are no standard streams; a program may run with those closed."""
    reading, writing = os.pipe()
    if writing > 2:
        return reading, writing
    try:
        return _open_pipe_above_streams()
    finally:
        os.close(reading)
        os.close(writing)


def watch_exit(pid: int, loop: Loop, report: Report) -> ExitWatch:
    """Watch by descriptor, or by thread where the system or a sandbox has no such descriptors."""
    for left in tuple(_left):
        if _wait_for_child(left, os.WNOHANG)[0]:
            _left.discard(left)
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return PidfdWatch(pid, loop, report)
    return ThreadWatch(pid, loop, report)


# Children that nobody waits for, because there was no thread to spare; reaped on occasion.
_left: set[int] = set()


def reap_later(pid: int) -> None:
    """Leave a thread behind that waits for a child nobody else waits for."""
    # While the interpreter ends no thread begins, and to start one is to wait for it for ever.
    if sys.is_finalizing():
        return
    reaper = threading.Thread(target=_wait_for_child, args=(pid, 0), daemon=True)
    try:
        reaper.start()
    except RuntimeError:
        _left.add(pid)


def _wait_for_child(pid: int, flags: int) -> tuple[bool, int | None]:
    """Whether the child has ended, and its status."""
    try:
        ended, status = os.waitpid(pid, flags)
    except ChildProcessError:
        return True, None
    return (True, status) if ended else (False, None)


class PidfdWatch:
    """The child as a descriptor that becomes readable when it ends."""

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
    """A thread that waits for the child, and reaps it whether or not anybody still listens."""

    def __init__(self, pid: int, loop: Loop, report: Report) -> None:
        self._report: Report | None = report
        self._ended = False
        self._status: int | None = None
        # The thread must not keep alive what nobody else remembers.
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
            # A loop that was closed meanwhile has nobody left to tell.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(watch.poll)
