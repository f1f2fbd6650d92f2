"""The processes of a warm hook: an interpreter that waits before its script, and forks of it.

The stdin of the interpreter is a socket, for its reports and our commands; anything that it prints
means that something went wrong.
"""

import _socket
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from socket import recv_fds, send_fds, socket, socketpair
from typing import ClassVar

from hookline.runner import spawning
from hookline.runner.loop import Loop

_STARTUP = str(Path(__file__).parent / "startup")
_START_SECONDS = 30.0
_OUTPUT_BYTES = 4096
_STATUS_BYTES = 4
_LONGEST_REQUEST = 128 * 1024
# Processes that other threads start meanwhile must not inherit the descriptors.
_NOT_INHERITED = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)


class InterpreterProcess:
    """A started interpreter; raises OSError if it cannot start or does not report in time."""

    def __init__(
        self, argv: Sequence[str], program: str, *, cwd: str, env: Mapping[str, str], task: str
    ) -> None:
        path = env.get("PYTHONPATH")
        variables = {
            "PYTHONPATH": f"{_STARTUP}{os.pathsep}{path}" if path else _STARTUP,
            "HOOKLINE_WARM": task,
        }
        self._lock = threading.Lock()
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as its:
            self._control, its_control = socketpair()
            ours.callback(self._control.close)
            its.callback(its_control.close)
            self._output, its_output = os.pipe()
            ours.callback(os.close, self._output)
            its.callback(os.close, its_output)
            os.set_blocking(self._output, False)
            streams = (its_control.fileno(), its_output, its_output)
            self._pid: int | None = spawning.launch(
                argv, program, cwd=cwd, env={**env, **variables}, streams=streams
            )
            ours.pop_all()
        self._control.settimeout(_START_SECONDS)

    def read_answer(self) -> bytes:
        """Read its answer to the probe: whether it can be held back."""
        return self._control.recv(256)

    def read_hello(self) -> bytes:
        """Read its report when it is ready; b"" if it ended before."""
        return self._receive(int.from_bytes(self._receive(4), "big"))

    def receive_spares(self) -> Iterator["WarmChild | None"]:
        """Yield the requested forks one after the other until it ends; None for a failed one.

        A fork also fails if this process has no descriptor left for it.
        """
        self._control.settimeout(None)
        while True:
            pid, fds, _, _ = recv_fds(self._control, 4, 1, _NOT_INHERITED)
            if not pid:
                return
            if not fds:
                yield None
                continue
            os.set_inheritable(fds[0], False)
            channel = socket(fileno=fds[0])
            channel.setblocking(False)
            yield WarmChild(int.from_bytes(pid, "big"), channel)

    def send(self, command: bytes) -> None:
        """Send it a command; does nothing if it has ended."""
        with contextlib.suppress(OSError):
            self._control.send(command)

    def read_output(self) -> str:
        """Return what it has printed until now."""
        try:
            return os.read(self._output, _OUTPUT_BYTES).decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def kill(self) -> None:
        """End it at once, from any thread."""
        with self._lock:
            if self._pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)

    def end(self) -> int | None:
        """Kill it and reap it; returns its exit code, negative for a signal."""
        self.kill()
        with self._lock:
            # Once it is reaped its pid may be reused, so ``kill`` must not signal it any more.
            pid, self._pid = self._pid, None
        self.close()
        if pid is None:
            return None
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:
            return None

    def close(self) -> None:
        """Close its socket and its output, without ending it."""
        self._control.close()
        if self._output != -1:
            os.close(self._output)
            self._output = -1

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._control.recv(size - len(parts))
            if not part:
                return b""
            parts += part
        return bytes(parts)


class WarmChild:
    """A fork that waits for its request, then runs its script; with our ends of its pipes.

    It is not our child: the template that forked it reaps it. Its status comes on a channel; a
    channel that closes without a status means that the template was killed.
    """

    unseen: ClassVar[str] = (
        "the interpreter that it was forked from was killed; the next call starts a new one"
    )

    def __init__(self, pid: int, channel: socket) -> None:
        self.pid = pid
        self.stdin = self.stdout = self.stderr = -1
        self._channel = channel
        self._on_end: Callable[[], None] | None = None
        self._loop: Loop | None = None
        self._report: spawning.Report | None = None
        self._is_open = True

    def begin(self, request: bytes, *, on_end: Callable[[], None]) -> None:
        """Make it run; raises OSError if the request cannot be sent, and then it never runs.

        ``on_end`` is called in the end, either way.
        """
        self._on_end = on_end
        message = len(request).to_bytes(4, "big") + request
        with spawning.open_pipes() as (theirs, ours):
            # A longer one may fit or not, depending on how fast the other side reads.
            is_short = len(message) <= _LONGEST_REQUEST
            if not is_short or send_fds(self._channel, [message], theirs) != len(message):
                raise BlockingIOError("the environment is too long for a warm hook")
            self.stdin, self.stdout, self.stderr = ours

    def watch(self, loop: Loop, report: spawning.Report) -> spawning.ExitWatch:
        """Report its end to ``report``."""
        self._report = report
        loop.add_reader(self._channel.fileno(), self.poll)
        self._loop = loop
        return self

    def abandon(self) -> None:
        """Close it; no watch is needed, as the template reaps it."""
        self.close()

    def poll(self) -> None:
        """Report its end if it has already ended."""
        if not self._is_open:
            return
        try:
            status = self._channel.recv(_STATUS_BYTES)
        except BlockingIOError:
            return
        except OSError:
            status = b""
        report = self._report
        self.close()
        if report is not None:
            report(int.from_bytes(status, "big") if len(status) == _STATUS_BYTES else None)

    def close(self) -> None:
        """Stop reporting; a fork without a request ends."""
        if self._is_open:
            self._is_open = False
            self._report = None
            if self._loop is not None:
                self._loop.remove_reader(self._channel.fileno())
            self._channel.close()
            if self._on_end is not None:
                self._on_end()
