"""Runs one process so that whatever it does, the caller has its outcome in bounded time.

The answer is there when the process itself has ended, not when the last holder of its pipes has:
a hook may leave a server running. A process that is stopped takes all with it that it started.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, Protocol, TypeAlias

import msgspec

from hookline.pipeline.runner.guard import Guard
from hookline.pipeline.runner.loop import Loop, Waiter, running_loop
from hookline.pipeline.runner.session import Sessions
from hookline.pipeline.runner.spawning import ExitWatch, Report, SpawnError, spawn

Ended: TypeAlias = Literal["exit", "timeout", "output_limit", "spawn"]

# Seconds: what a cancelled call waits at most for an orderly end, and what the kernel gets to
# report the end of a process that was killed before the answer no longer waits for it.
_CANCEL_GRACE = 0.5
_KILL_SECONDS = 0.5
# So many sessions of one hook the guard is told of.
_MOST_SESSIONS = 64
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1
# What a pipe holds by itself, and as much as an unprivileged process can make one hold on Linux.
_CHUNK = 65_536
_MOST = 1_048_576


class ProcessLimits(msgspec.Struct, frozen=True):
    """Seconds and bytes; of stderr the last ``max_stderr`` are kept, of stdout the first."""

    timeout: float
    grace: float = 5.0
    max_stdout: int = 10 * 1024 * 1024
    max_stderr: int = 1024 * 1024
    drain: float = 0.05


class ProcessOutcome(msgspec.Struct, frozen=True):
    """How a process ended; with neither ``exit_code`` nor ``signal``, ``error`` says why."""

    exit_code: int | None
    signal: int | None
    stdout: bytes
    stderr: bytes
    ended: Ended
    error: str | None
    duration: float


class Child(Protocol):
    """A process that was started, the leader of its own session, and our ends of its pipes."""

    pid: int
    stdin: int
    stdout: int
    stderr: int
    unseen: ClassVar[str]
    """What must have happened where its end was reported without a status."""

    def watch(self, loop: Loop, report: Report) -> ExitWatch:
        """Have its end reported, and see to it that it is reaped."""

    def abandon(self) -> None:
        """Have it reaped by somebody, though nobody watches it."""


async def run_process(
    argv: Sequence[str],
    *,
    stdin: bytes,
    cwd: str,
    env: Mapping[str, str],
    limits: ProcessLimits,
) -> ProcessOutcome:
    """Run a process to its end or the end of its limits; raises nothing but cancellation."""
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
    guardian: Guard | None = None,
) -> ProcessOutcome:
    """See a process through that was started just now; raises nothing but cancellation."""
    run = _Run(child, stdin, limits, started=started, guardian=guardian)
    try:
        return await run.see_through()
    except (OSError, RuntimeError) as error:
        return make_spawn_failure(
            f"cannot watch {called!r} run: {error}; see to that first", started
        )
    except GeneratorExit:
        raise
    except BaseException:
        await run.cancel()
        raise
    finally:
        run.close()


def make_spawn_failure(error: str, started: float) -> ProcessOutcome:
    """The outcome of a process that never was."""
    return ProcessOutcome(None, None, b"", b"", "spawn", error, time.monotonic() - started)


class _Run:
    """A process, the leader of the session of all that it starts and that does not leave it."""

    def __init__(
        self,
        child: Child,
        stdin: bytes,
        limits: ProcessLimits,
        *,
        started: float,
        guardian: Guard | None,
    ) -> None:
        self._child = child
        self._owner = os.getpid()
        self._guardian = guardian
        self._limits = limits
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
        # Made when something has to be ended, as hardly any hook needs it.
        self._sessions: Sessions | None = None
        self._watched = {child.pid}

    async def see_through(self) -> ProcessOutcome:
        """Wait for the end of the process, or bring it about when a limit is passed."""
        pid, loop, stdout, stderr = self._child.pid, self._loop, self._stdout, self._stderr
        if self._guardian is not None:
            self._guardian.watch(pid)
        watch = self._watch = self._child.watch(loop, self._on_exit)
        stdout.start(loop)
        stderr.start(loop)
        self._input.start(loop)
        await self._wait_until(lambda: self._has_exited or stdout.is_over, self._deadline)
        # A loop that was busy may see the deadline first although the exit was before it.
        watch.poll()
        if self._has_exited:
            # All that the process wrote itself is in the pipes by now; others may have more to say.
            stdout.sweep()
            stderr.sweep()
            await self._wait_until(
                lambda: stdout.is_over or not (stdout.is_open or stderr.is_open),
                loop.time() + self._limits.drain,
            )
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
            error = f"how process {pid} ended is not known: {self._child.unseen}"
        return ProcessOutcome(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            stdout=stdout.value(),
            stderr=stderr.value(),
            ended=ended,
            error=error,
            duration=time.monotonic() - self._started,
        )

    async def cancel(self) -> None:
        """End all of it sooner than at a timeout; at once if the task is cancelled again."""
        if self._is_a_copy():
            return
        try:
            await self._terminate(min(self._limits.grace, _CANCEL_GRACE))
        except GeneratorExit:
            # Nothing can be awaited any more; the rest is up to ``close``.
            raise
        except BaseException:
            await self._kill()
            raise
        await self._kill()

    def close(self) -> None:
        """Leave nothing behind; a coroutine closed half way can only be cleaned up like this."""
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
        # They call this run: without this, only the garbage collector could part them from it.
        self._watch, self._is_done = None, _never
        del self._stdout, self._stderr

    def _is_a_copy(self) -> bool:
        """Whether this is in a fork of the program, where the process is none of our business."""
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
            # What it left behind by itself is to stay, even if this program were killed now.
            self._release_guard()
        self._wake()

    def _find_sessions(self) -> Sessions:
        if self._sessions is None:
            self._sessions = Sessions([self._child.pid])
        return self._sessions

    async def _terminate(self, grace: float) -> None:
        """Ask all of its processes to end and give them ``grace`` to do so."""
        deadline = self._loop.time() + grace
        sessions = self._find_sessions()
        if not self._was_asked_to_end:
            self._was_asked_to_end = True
            try:
                for pause in sessions.freeze():
                    if sessions.lacks_descriptor:
                        # To find all of them is worth more than the last of what they say.
                        self._stderr.close()
                    await self._wait_until(_never, self._loop.time() + pause)
            finally:
                self._guard_sessions(sessions)
                sessions.signal(signal.SIGTERM)
                # A stopped process sees the request only when it goes on.
                sessions.signal(signal.SIGCONT)
        pause = _FIRST_PAUSE
        while (sessions.remain() or not self._has_exited) and self._loop.time() < deadline:
            is_done = _never if self._has_exited else lambda: self._has_exited
            await self._wait_until(is_done, min(self._loop.time() + pause, deadline))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _guard_sessions(self, sessions: Sessions) -> None:
        """Tell the guard of those that it could not find itself after the end of their parents."""
        if self._guardian is not None:
            found = sorted(sessions.numbers - self._watched)[:_MOST_SESSIONS]
            self._watched.update(found)
            for number in found:
                self._guardian.watch(number)

    async def _kill(self) -> None:
        """Make sure that nothing of it runs; short, and not to be cancelled half way."""
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
        """The pauses to make while all of it is killed and the end of the process is reported."""
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
    """What a process prints, read as it comes: its ``first`` bytes are kept, or else its ``last``.

    ``is_over`` is whether there were more than the first; ``on_change`` is called after each read.
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
        """Read what is in the pipe now, bounded in case somebody keeps filling it."""
        left = _MOST
        while self.is_open and left > 0 and self._read_chunk():
            left -= self._chunk

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
            # At twice as many, so every byte is moved at most once.
            if len(self._kept) > 2 * self.last:
                self.value()
        if len(chunk) == _CHUNK == self._chunk:
            # There is more where that came from: have it in fewer pieces.
            self._chunk = _MOST
            _enlarge(self.fd, _MOST)
        self.on_change()
        return True


class Inflow(msgspec.Struct, eq=False):
    """What a process is to read; one that does not care for it closes the pipe and that is fine."""

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
        """Write what fits; whether that was the last of it."""
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
    """Let a pipe hold more, where the system has that and the process may.

    Without it, ten megabytes take a fifth longer to reach a hook.
    """
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, min(size, _MOST))
