"""Starts a process in a session of its own, or says in one sentence what kept it from starting."""

import errno
import os
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from hookline.pipeline.programs import find_program
from hookline.pipeline.runner import exitwatch, forkexec
from hookline.pipeline.runner.invocation import Environment, encoded, why_not_started
from hookline.pipeline.runner.loop import Loop
from hookline.pipeline.runner.pipes import open_pipes


class SpawnError(Exception):
    """A process that could not be started; the message names it, the cause and the remedy."""


class Spawned:
    """A process of ours, and our ends of the pipes on its three streams."""

    __slots__ = ("pid", "stderr", "stdin", "stdout")

    unseen: ClassVar[str] = (
        "its status was taken by other code of this program, which must not ignore SIGCHLD or wait"
        " for children that it did not start"
    )

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    def watch(self, loop: Loop, report: exitwatch.Report) -> exitwatch.ExitWatch:
        """Have its end reported, and see to it that it is reaped."""
        return exitwatch.watch_exit(self.pid, loop, report)

    def abandon(self) -> None:
        """Have it reaped by somebody, though nobody watches it."""
        exitwatch.reap_later(self.pid)


class Launch(Protocol):
    """Starts a process as the leader of its own session and gives its pid.

    Raises OSError, or ValueError for texts that no process can have.
    """

    def __call__(
        self,
        argv: Sequence[str],
        program: str,
        *,
        cwd: str,
        env: Mapping[str, str],
        streams: tuple[int, int, int],
    ) -> int: ...


def spawn(
    argv: Sequence[str], *, cwd: str, env: Mapping[str, str], program: str | None = None
) -> Spawned:
    """Start a process, the leader of its own session, with a pipe on each of its three streams.

    ``program`` is the file to execute where that is not what ``argv`` begins with.
    """
    if not argv or not argv[0]:
        raise SpawnError("cannot start a hook whose command is empty; give it a command")
    try:
        return _start(argv, program or argv[0], cwd, env)
    except Exception as error:
        why = why_not_started(error, argv, cwd, env)
        raise SpawnError(f"cannot start {argv[0]!r}: {why}") from error


def _start(argv: Sequence[str], program: str, cwd: str, env: Mapping[str, str]) -> Spawned:
    # The pipes are ours because older releases of subprocess leave theirs open when descriptors
    # run out half way.
    theirs, ours = open_pipes()
    try:
        pid = launch(argv, program, cwd=cwd, env=env, streams=theirs)
    except BaseException:
        for fd in ours:
            os.close(fd)
        raise
    finally:
        for fd in theirs:
            os.close(fd)
    return Spawned(pid, *ours)


def launch_directly(
    argv: Sequence[str],
    program: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
) -> int:
    """Launch without ``subprocess``, whose import and whose generality cost time."""
    entries = env.entries() if isinstance(env, Environment) else encoded(env)
    file = os.fsencode(_file_of(program, cwd, env))
    return forkexec.start(argv, [file], cwd=cwd, env=entries, streams=streams)


def launch_portably(
    argv: Sequence[str],
    program: str,
    *,
    cwd: str,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
) -> int:
    """Launch by what every Python has."""
    import subprocess

    stdin, stdout, stderr = streams
    child = subprocess.Popen(
        argv,
        executable=_file_of(program, cwd, env),
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


launch: Launch = launch_directly if forkexec.is_available() else launch_portably


def _file_of(program: str, cwd: str, env: Mapping[str, str]) -> str:
    """The file to execute; raises FileNotFoundError where the search path has none."""
    file = find_program(program, env.get("PATH", os.defpath), cwd=cwd)
    if file is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    return file
