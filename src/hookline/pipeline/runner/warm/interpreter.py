"""An interpreter as a process of ours that is held back before it runs its script.

Its stdin is a socket on which it says how it is and is told what to do; what it prints besides can
only be about something that went wrong.
"""

import _socket
import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from socket import recv_fds, socket, socketpair

from hookline.pipeline.runner import spawning
from hookline.pipeline.runner.warm.child import Spare

_STARTUP = str(Path(__file__).parent / "startup")
_START_SECONDS = 30.0
_OUTPUT_BYTES = 4096
# Not for processes that other threads start meanwhile, where the system can see to that at once.
_NOT_INHERITED = getattr(_socket, "MSG_CMSG_CLOEXEC", 0)


class Interpreter:
    """Raises OSError when it cannot be started, or does not say in time how it is."""

    def __init__(
        self, argv: Sequence[str], program: str, *, cwd: str, env: Mapping[str, str], task: str
    ) -> None:
        path = env.get("PYTHONPATH")
        told = {
            "PYTHONPATH": f"{_STARTUP}{os.pathsep}{path}" if path else _STARTUP,
            "HOOKLINE_WARM": task,
        }
        self._lock = threading.Lock()
        self._control, its_control = socketpair()
        self._output, its_output = _pipe_beside(self._control, its_control)
        try:
            os.set_blocking(self._output, False)
            streams = (its_control.fileno(), its_output, its_output)
            self._pid: int | None = spawning.launch(
                argv, program, cwd=cwd, env={**env, **told}, streams=streams
            )
        except BaseException:
            self.close()
            raise
        finally:
            its_control.close()
            os.close(its_output)
        self._control.settimeout(_START_SECONDS)

    def answer(self) -> bytes:
        """What it says to being tried."""
        return self._control.recv(256)

    def hello(self) -> bytes:
        """What it says when it is ready; nothing if it ended before."""
        size = int.from_bytes(self._exactly(4), "big")
        return self._exactly(size)

    def spares(self) -> Iterator[Spare | None]:
        """The forks that were asked for, one after the other, until it ends; None for a failed one.

        A fork is lost, too, if this process has no descriptor left for it.
        """
        self._control.settimeout(None)
        while True:
            said, fds, _, _ = recv_fds(self._control, 4, 1, _NOT_INHERITED)
            if not said:
                return
            if not fds:
                yield None
                continue
            os.set_inheritable(fds[0], False)
            channel = socket(fileno=fds[0])
            channel.setblocking(False)
            yield Spare(int.from_bytes(said, "big"), channel)

    def say(self, words: bytes) -> None:
        """Tell it something; one that has ended does not hear it."""
        with contextlib.suppress(OSError):
            self._control.send(words)

    def printed(self) -> str:
        """What it has printed until now."""
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
        """Make sure that it ends, and reap it: its exit code, negative for a signal."""
        self.kill()
        with self._lock:
            # Its number may be another's once it is reaped, so from here on nobody kills it.
            pid, self._pid = self._pid, None
        self.close()
        if pid is None:
            return None
        try:
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        except ChildProcessError:
            return None

    def close(self) -> None:
        """Let go of its socket and its output, but not of itself."""
        self._control.close()
        if self._output != -1:
            os.close(self._output)
            self._output = -1

    def _exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._control.recv(size - len(parts))
            if not part:
                return b""
            parts += part
        return bytes(parts)


def _pipe_beside(*sockets: socket) -> tuple[int, int]:
    try:
        return os.pipe()
    except OSError:
        for each in sockets:
            each.close()
        raise
