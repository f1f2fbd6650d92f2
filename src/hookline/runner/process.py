"""Runs one process so that whatever it does, the caller has its outcome in bounded time.

The outcome is there when the process itself has ended and its stdout too, or soon after: a hook may
leave a server running that holds its pipes. Stopping a process also stops everything it started.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, Protocol, TypeAlias

import msgspec

from hookline.runner.guard import Guardian
from hookline.runner.loop import Loop, Waiter, running_loop
from hookline.runner.session import Sessions
from hookline.runner.spawning import ExitWatch, Report, SpawnError, spawn

Ended: TypeAlias = Literal["exit", "timeout", "output_limit", "spawn"]

# Seconds: how long a cancelled call waits for an orderly end, and how long an outcome waits for the
# kernel to report the end of a process that was killed.
CANCEL_GRACE = 0.5
_KILL_SECONDS = 0.5
# The guard is told of this many sessions of one hook.
_MOST_SESSIONS = 64
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1
# The default size of a pipe, and the largest that an unprivileged process can ask for on Linux.
_CHUNK = 65_536
_MOST = 1_048_576


class ProcessLimits(msgspec.Struct, frozen=True):
    """Seconds and bytes; stdout keeps its first ``max_stdout`` bytes, stderr its last ones.

    After an exit with 0, the end of stdout is waited for: ``drain`` seconds at most, and with
    ``drain_in_time`` no longer than until the timeout.
    """

    timeout: float
    grace: float = 5.0
    max_stdout: int = 10 * 1024 * 1024
    max_stderr: int = 1024 * 1024
    drain: float = 0.5
    drain_in_time: bool = False


class ProcessOutcome(msgspec.Struct, frozen=True):
    """How a process ended; with neither ``exit_code`` nor ``signal``, ``error`` says why.
    ``is_whole`` if nothing can follow what is there of stdout."""

    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    ended: Ended
    error: str | None
    duration: float
    is_whole: bool = True


class IsFinal(Protocol):
    """A function that says whether stdout, as far as it is there, needs no more waiting for its
    end after an exit with 0."""

    def __call__(self, stdout: bytes, *, at_exit: bool) -> bool: ...


class Child(Protocol):
    """A started process that leads its own session, with our ends of its pipes."""

    pid: int
    stdin: int
    stdout: int
    stderr: int
    unseen: ClassVar[str]
    """Why its end was reported without a status."""

    def watch(self, loop: Loop, report: Report) -> ExitWatch:
        """Report its end to ``report``, and make sure that it is reaped."""

    def abandon(self) -> None:
        """Make sure that it is reaped without a watch."""


async def run_process(
    argv: Sequence[str],
    *,
    stdin: bytes,
    cwd: str,
    env: Mapping[str, str],
    limits: ProcessLimits,
) -> ProcessOutcome:
    """Run a process until it ends or passes a limit; raises nothing but cancellation."""
    started = time.monotonic()
    try:
        child = spawn(argv, cwd=cwd, env=env)
    except SpawnError as error:
        return make_spawn_failure(str(error), started)
    return await supervise(child, stdin=stdin, limits=limits, started=started, called=argv[0])


async def supervise(
    child: Child,
    *,
    stdin: bytes,
    limits: ProcessLimits,
    started: float,
    called: str,
    guardian: Guardian | None = None,
    is_final: IsFinal | None = None,
) -> ProcessOutcome:
    """Feed, read and watch a started process to its end; raises nothing but cancellation."""
    run = _Run(child, stdin, limits, started=started, guardian=guardian, is_final=is_final)
    try:
        return await run.see_through()
    except (OSError, RuntimeError) as error:
        return make_spawn_failure(
            f"cannot watch {called!r} run: {error}; free files or threads", started
        )
    except GeneratorExit:
        raise
    except BaseException:
        await run.cancel()
        raise
    finally:
        run.close()


def make_spawn_failure(error: str, started: float) -> ProcessOutcome:
    """Return the outcome for a process that could not start."""
    return ProcessOutcome(None, None, b"", b"", "spawn", error, time.monotonic() - started)


class _Run:
    """One process on its way, with all that it starts."""

    def __init__(
        self,
        child: Child,
        stdin: bytes,
        limits: ProcessLimits,
        *,
        started: float,
        guardian: Guardian | None,
        is_final: IsFinal | None,
    ) -> None:
        self._child = child
        self._owner = os.getpid()
        self._guardian = guardian
        self._limits = limits
        self._is_final = is_final
        self._started = started
        self._loop = running_loop()
        self._deadline = self._loop.time() + limits.timeout - (time.monotonic() - started)
        self._input = Inflow(child.stdin, memoryview(stdin))
        self._stdout = Outflow(child.stdout, first=limits.max_stdout, on_change=self._wake)
        self._stderr = Outflow(child.stderr, last=limits.max_stderr, on_change=self._wake)
        self._watch: ExitWatch | None = None
        self._waiter: Waiter | None = None
        self._is_done: Callable[[], bool] = _never
        self._has_exited = False
        self._status: int | None = None
        self._was_asked_to_end = False
        self._is_settled = False
        # Made only when something has to be ended: few hooks need it.
        self._sessions: Sessions | None = None
        self._watched = {child.pid}

    async def see_through(self) -> ProcessOutcome:
        """Wait for the end of the process, or end it when it passes a limit."""
        pid, loop, stdout, stderr = self._child.pid, self._loop, self._stdout, self._stderr
        if self._guardian is not None:
            self._guardian.watch(pid)
        watch = self._watch = self._child.watch(loop, self._on_exit)
        stdout.start(loop)
        stderr.start(loop)
        self._input.start(loop)
        await self._wait_until(lambda: self._has_exited or stdout.is_over, self._deadline)
        # A busy loop may see the deadline first although the process exited before it.
        watch.poll()
        if self._has_exited:
            # All that the process wrote is in the pipes by now; its children may write more.
            stdout.sweep()
            stderr.sweep()
            if self._status == 0:
                await self._wait_for_end_of_stdout()
        ended: Ended = "exit" if self._has_exited else "timeout"
        if stdout.is_over:
            ended = "output_limit"
        if ended != "exit":
            await self._terminate(self._limits.grace)
            await self._kill()
            stdout.sweep()
            stderr.sweep()
        self._is_settled = True
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        error = None
        if not self._has_exited:
            error = f"process {pid} has not ended although it was sent SIGKILL"
        elif code is None:
            error = f"the exit status of process {pid} is unknown: {self._child.unseen}"
        return ProcessOutcome(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            stdout=stdout.value(),
            stderr=stderr.value(),
            ended=ended,
            error=error,
            duration=time.monotonic() - self._started,
            is_whole=not stdout.is_open,
        )

    async def _wait_for_end_of_stdout(self) -> None:
        """Wait for what processes that the hook started may still print: it may have put a filter
        behind its stdout."""
        stdout, is_final = self._stdout, self._is_final
        if stdout.is_over or not stdout.is_open:
            return
        if is_final is not None and is_final(stdout.value(), at_exit=True):
            return
        deadline = self._loop.time() + self._limits.drain
        if self._limits.drain_in_time:
            deadline = min(deadline, self._deadline)

        size, is_there = 0, False

        def is_done() -> bool:
            nonlocal size, is_there
            if stdout.is_over or not stdout.is_open:
                return True
            # A long answer is read once, at its end, and not with each piece of it.
            if is_final is not None and size < stdout.size <= _CHUNK:
                size, is_there = stdout.size, is_final(stdout.value(), at_exit=False)
            return is_there

        await self._wait_until(is_done, deadline)
        self._stderr.sweep()

    async def cancel(self) -> None:
        """End all of it, with a shorter grace; without one if the task is cancelled again."""
        if self._is_a_copy():
            return
        try:
            await self._terminate(min(self._limits.grace, CANCEL_GRACE))
        except GeneratorExit:
            # Nothing can be awaited any more; ``close`` does the rest.
            raise
        except BaseException:
            await self._kill()
            raise
        await self._kill()

    def close(self) -> None:
        """Leave nothing behind, without awaiting: the coroutine may be closed half way."""
        if self._is_a_copy():
            return
        for flow in (self._input, self._stdout, self._stderr):
            flow.close()
        if not self._is_settled:
            for pause in self._find_sessions().kill():
                time.sleep(pause)
        if self._watch:
            self._watch.close()
        else:
            self._child.abandon()
        self._release_guard()
        # They refer back to this run: break the cycles, or only the garbage collector would.
        self._watch, self._is_done = None, _never
        del self._stdout, self._stderr

    def _is_a_copy(self) -> bool:
        """Return whether this is a fork of the program, to which the process does not belong."""
        return os.getpid() != self._owner

    def _release_guard(self) -> None:
        guardian, self._guardian = self._guardian, None
        if guardian is not None:
            for pid in self._watched:
                guardian.release(pid)

    def _on_exit(self, status: int | None) -> None:
        self._has_exited = True
        self._status = status
        if not self._was_asked_to_end:
            # Keep what it left running, even if this program is killed now.
            self._release_guard()
        self._wake()

    def _find_sessions(self) -> Sessions:
        if self._sessions is None:
            self._sessions = Sessions([self._child.pid])
        return self._sessions

    async def _terminate(self, grace: float) -> None:
        """Ask all of its processes to end, and give them ``grace`` seconds to do so."""
        deadline = self._loop.time() + grace
        sessions = self._find_sessions()
        if not self._was_asked_to_end:
            self._was_asked_to_end = True
            try:
                for pause in sessions.freeze():
                    if sessions.lacks_descriptor:
                        # Finding all processes matters more than their last words on stderr.
                        self._stderr.close()
                    await self._wait_until(_never, self._loop.time() + pause)
            finally:
                self._guard_sessions(sessions)
                sessions.signal(signal.SIGTERM)
                # A stopped process handles SIGTERM only when it continues.
                sessions.signal(signal.SIGCONT)
        pause = _FIRST_PAUSE
        while (sessions.remain() or not self._has_exited) and self._loop.time() < deadline:
            is_done = _never if self._has_exited else lambda: self._has_exited
            await self._wait_until(is_done, min(self._loop.time() + pause, deadline))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _guard_sessions(self, sessions: Sessions) -> None:
        """Tell the guard of sessions that it could not find once their parents have ended."""
        if self._guardian is not None:
            numbers = sorted(sessions.numbers - self._watched)[:_MOST_SESSIONS]
            self._watched.update(numbers)
            for number in numbers:
                self._guardian.watch(number)

    async def _kill(self) -> None:
        """Kill all of it; short, and finished before a cancellation is raised."""
        cancelled: BaseException | None = None
        for pause in self._kill_in_steps():
            try:
                await self._wait_until(_never, self._loop.time() + pause)
            except GeneratorExit:
                raise
            except BaseException as error:
                cancelled = error
        self._is_settled = True
        if cancelled:
            raise cancelled

    def _kill_in_steps(self) -> Iterator[float]:
        """Kill all of it and wait for its reported end; yields the pauses to make."""
        sessions = self._find_sessions()
        for pause in sessions.kill():
            if sessions.lacks_descriptor:
                self._stderr.close()
            yield pause
        deadline = self._loop.time() + _KILL_SECONDS
        while not self._has_exited and self._loop.time() < deadline:
            yield _FIRST_PAUSE

    async def _wait_until(self, is_done: Callable[[], bool], deadline: float) -> None:
        self._is_done = is_done
        while not is_done() and self._loop.time() < deadline:
            waiter = self._waiter = self._loop.create_future()
            timer = self._loop.call_at(deadline, self._go_on)
            try:
                await waiter
            finally:
                timer.cancel()
                self._waiter = None

    def _wake(self) -> None:
        if self._is_done():
            self._go_on()

    def _go_on(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


def _never() -> bool:
    return False


class Outflow(msgspec.Struct, eq=False):
    """What a process prints, read as it comes: keeps the ``first`` bytes, or else the ``last``.

    ``is_over`` is true once more than ``first`` came; ``on_change`` is called after each read.
    """

    fd: int
    on_change: Callable[[], None]
    first: int | None = None
    last: int = 0
    is_over: bool = False
    is_open: bool = True
    _loop: Loop | None = None
    _chunk: int = _CHUNK
    _kept: bytearray = msgspec.field(default_factory=bytearray)

    def start(self, loop: Loop) -> None:
        os.set_blocking(self.fd, False)
        loop.add_reader(self.fd, self._read_chunk)
        self._loop = loop

    def sweep(self) -> None:
        """Read what is in the pipe now, with a bound in case a process keeps filling it."""
        left = _MOST
        while self.is_open and left > 0 and self._read_chunk():
            left -= self._chunk

    @property
    def size(self) -> int:
        return len(self._kept)

    def value(self) -> bytes:
        if self.first is None:
            del self._kept[: max(0, len(self._kept) - self.last)]
        return bytes(self._kept)

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            if self._loop is not None:
                self._loop.remove_reader(self.fd)
            os.close(self.fd)

    def _read_chunk(self) -> bool:
        try:
            chunk = os.read(self.fd, self._chunk)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
        elif self.first is not None:
            room = self.first - len(self._kept)
            self._kept += chunk[:room]
            self.is_over = self.is_over or len(chunk) > room
        else:
            self._kept += chunk
            # Cut only at twice the limit, so that every byte is moved at most once.
            if len(self._kept) > 2 * self.last:
                self.value()
        if len(chunk) == _CHUNK == self._chunk:
            # More is likely to follow: read it in larger pieces.
            self._chunk = _MOST
            _enlarge(self.fd, _MOST)
        self.on_change()
        return True


class Inflow(msgspec.Struct, eq=False):
    """What a process reads on stdin; it may close the pipe without reading all of it."""

    fd: int
    rest: memoryview
    _loop: Loop | None = None
    _is_open: bool = True

    def start(self, loop: Loop) -> None:
        os.set_blocking(self.fd, False)
        if len(self.rest) > _CHUNK:
            _enlarge(self.fd, len(self.rest))
        if not self._write_rest():
            loop.add_writer(self.fd, self._write_rest)
            self._loop = loop

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            if self._loop is not None:
                self._loop.remove_writer(self.fd)
            os.close(self.fd)

    def _write_rest(self) -> bool:
        """Write what fits; return whether all is written."""
        try:
            self.rest = self.rest[os.write(self.fd, self.rest) :]
        except BlockingIOError:
            return False
        except OSError:
            self.rest = self.rest[:0]
        if self.rest:
            return False
        self.close()
        return True


def _enlarge(fd: int, size: int) -> None:
    """Let a pipe hold more, where the system allows it.

    Without it, ten megabytes take a fifth longer to reach a hook.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, min(size, _MOST))
