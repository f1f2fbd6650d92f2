"""Runs one process so that whatever it does, the caller has its outcome in bounded time.

The answer is there when the process itself has ended, not when the last holder of its pipes has:
a hook may leave a server running. A process that is stopped takes its whole group with it.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, Protocol, TypeAlias

import msgspec

from hookline.pipeline.runner.guard import Guard
from hookline.pipeline.runner.loop import Loop, Waiter, running_loop
from hookline.pipeline.runner.pipes import Head, Inflow, Outflow, Tail
from hookline.pipeline.runner.spawning import ExitWatch, Report, SpawnError, spawn

Ended: TypeAlias = Literal["exit", "timeout", "output_limit", "spawn"]

# Seconds: what a cancelled call waits at most for an orderly end, and what the kernel gets to
# carry out a SIGKILL before the answer no longer waits for it.
_CANCEL_GRACE = 0.5
_KILL_SECONDS = 0.5
_FIRST_PAUSE = 0.005
_LONGEST_PAUSE = 0.1


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
        return not_started(str(error), started)
    return await supervise(child, stdin=stdin, limits=limits, started=started, called=argv[0])


async def supervise(
    child: Child,
    *,
    stdin: bytes,
    limits: ProcessLimits,
    started: float,
    called: str,
    guard: Guard | None = None,
) -> ProcessOutcome:
    """See a process through that was started just now; raises nothing but cancellation."""
    run = _Run(child, stdin, limits, started=started, guard=guard)
    try:
        run.attach()
        return run.outcome(await run.see_through())
    except (OSError, RuntimeError) as error:
        return not_started(f"cannot watch {called!r} run: {error}; see to that first", started)
    except GeneratorExit:
        raise
    except BaseException:
        await run.cancel()
        raise
    finally:
        run.close()


def not_started(error: str, started: float) -> ProcessOutcome:
    """The outcome of a process that never was."""
    return ProcessOutcome(None, None, b"", b"", "spawn", error, time.monotonic() - started)


class _Run:
    def __init__(
        self,
        child: Child,
        stdin: bytes,
        limits: ProcessLimits,
        *,
        started: float,
        guard: Guard | None,
    ) -> None:
        self._child = child
        self._owner = os.getpid()
        self._guard = guard
        self._limits = limits
        self._started = started
        self._loop = running_loop()
        self._deadline = self._loop.time() + limits.timeout - (time.monotonic() - started)
        self._group = ProcessGroup(child.pid)
        self._stdout = Head(limits.max_stdout)
        self._stderr = Tail(limits.max_stderr)
        self._input = Inflow(child.stdin, stdin)
        self._flows: tuple[Outflow, ...] = (
            Outflow(child.stdout, keep=self._stdout, on_change=self._wake),
            Outflow(child.stderr, keep=self._stderr, on_change=self._wake),
        )
        self._watch: ExitWatch | None = None
        self._waiter: Waiter | None = None
        self._is_done: Callable[[], bool] = _never
        self._has_exited = False
        self._status: int | None = None
        self._was_asked_to_end = False
        self._is_settled = False

    def attach(self) -> None:
        """Put the pipes and the exit of the process on the event loop."""
        if self._guard is not None:
            self._guard.watch(self._child.pid)
        self._watch = self._child.watch(self._loop, self._on_exit)
        for flow in self._flows:
            flow.start(self._loop)
        self._input.start(self._loop)

    async def see_through(self) -> Ended:
        """Wait for the end of the process, or bring it about when a limit is passed."""
        await self._until(lambda: self._has_exited or self._stdout.is_over, self._deadline)
        # A loop that was busy may see the deadline first although the exit was before it.
        if self._watch:
            self._watch.poll()
        if self._has_exited:
            # All that the process wrote itself is in the pipes by now; others may have more to say.
            self._sweep()
            await self._until(self._is_drained, self._loop.time() + self._limits.drain)
        ended: Ended = "exit" if self._has_exited else "timeout"
        if self._stdout.is_over:
            ended = "output_limit"
        if ended != "exit":
            await self._terminate(self._limits.grace)
            await self._kill()
            self._sweep()
        self._is_settled = True
        return ended

    async def cancel(self) -> None:
        """End the group sooner than at a timeout; at once if the task is cancelled again."""
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
        if not self._is_settled:
            self._group.signal(signal.SIGKILL)
        if self._watch:
            self._watch.close()
        else:
            self._child.abandon()
        self._input.close()
        for flow in self._flows:
            flow.close()
        self._release()
        # They call each other: without this, only the garbage collector could part them.
        self._flows = ()
        self._is_done = _never

    def outcome(self, ended: Ended) -> ProcessOutcome:
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        error = None
        if not self._has_exited:
            error = f"process {self._child.pid} has not ended although it was sent SIGKILL"
        elif self._status is None:
            error = f"how process {self._child.pid} ended is not known: {self._child.unseen}"
        return ProcessOutcome(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            stdout=self._stdout.value(),
            stderr=self._stderr.value(),
            ended=ended,
            error=error,
            duration=time.monotonic() - self._started,
        )

    def _is_a_copy(self) -> bool:
        """Whether this is in a fork of the program, where the process is none of our business."""
        return os.getpid() != self._owner

    def _release(self) -> None:
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.release(self._child.pid)

    def _on_exit(self, status: int | None) -> None:
        self._has_exited = True
        self._status = status
        if not self._was_asked_to_end:
            # What it left behind by itself is to stay, even if this program were killed now.
            self._release()
        self._wake()

    def _sweep(self) -> None:
        for flow in self._flows:
            flow.sweep()

    def _is_drained(self) -> bool:
        return self._stdout.is_over or not any(flow.is_open for flow in self._flows)

    async def _terminate(self, grace: float) -> None:
        """Ask the whole group to end and give it ``grace`` to do so."""
        deadline = self._loop.time() + grace
        if not self._was_asked_to_end:
            self._was_asked_to_end = True
            self._group.signal(signal.SIGTERM)
            # A stopped process sees the request only when it goes on.
            self._group.signal(signal.SIGCONT)
        await self._until(lambda: self._has_exited, deadline)
        pause = _FIRST_PAUSE
        while self._has_exited and self._remains() and self._loop.time() < deadline:
            await self._until(_never, min(self._loop.time() + pause, deadline))
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _remains(self) -> bool:
        """Whether anything of the group still runs."""
        if not self._has_exited:
            return True
        self._group.reap_orphans()
        return self._group.is_running()

    async def _kill(self) -> None:
        """Make sure that nothing of the group runs; short, and not to be cancelled half way."""
        deadline = self._loop.time() + _KILL_SECONDS
        cancelled: BaseException | None = None
        self._group.signal(signal.SIGKILL)
        while self._remains() and self._loop.time() < deadline:
            self._group.signal(signal.SIGKILL)
            try:
                await self._until(_never, self._loop.time() + _FIRST_PAUSE)
            except GeneratorExit:
                raise
            except BaseException as error:
                cancelled = error
        self._is_settled = True
        if cancelled:
            raise cancelled

    async def _until(self, is_done: Callable[[], bool], deadline: float) -> None:
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


class ProcessGroup:
    """The processes that a hook started, but for those that left its group.

    Its number is that of the hook, which leads it, and stays taken while any process of the group
    exists: so it never comes to mean strangers while there is somebody left to signal.
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
        except (ProcessLookupError, PermissionError):
            # macOS lacks the permission for a group of zombies, Linux for processes of others.
            return False
        # Looking at one known member first spares most calls the walk over all processes.
        if self._runs(self._running_member):
            return True
        try:
            processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        except OSError:
            return True
        self._running_member = next(filter(self._runs, processes), 0)
        return self._running_member != 0

    def reap_orphans(self) -> None:
        """Reap members that were handed to this process because it is the first of a container.

        Only for after the leader was reaped: its status is for whoever watches it.
        """
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self._leader, os.WNOHANG)[0]:
                pass

    def _runs(self, pid: int) -> bool:
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                status = file.read()
        except OSError:
            return False
        # The name in parentheses may itself hold parentheses and spaces.
        state, _parent, group = status.rpartition(b")")[2].split()[:3]
        return int(group) == self._leader and state not in (b"Z", b"X")
