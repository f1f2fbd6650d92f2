"""Real workers: ``hookline serve`` in processes of their own, and what they print."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_SECONDS = 30


class WorkerProcess:
    """A worker that was started, and serves."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def said(self) -> str:
        return self._log.read_text()

    def wait_until_said(self, text: str) -> None:
        deadline = time.monotonic() + _SECONDS
        while text not in self.said:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the worker did not say {text!r}: {self.said}")
            time.sleep(0.01)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit status, once it has ended."""
        self.process.send_signal(number)
        return self.process.wait(_SECONDS)


@contextlib.contextmanager
def worker(
    directory: Path, url: str, *options: str, trusted: bool = True
) -> Iterator[WorkerProcess]:
    """A worker with the hooks of a directory, all of them or, not ``trusted``, as far as they were
    reviewed; it is killed if it is still there at the end."""
    log = directory.parent / f"worker-{time.monotonic_ns()}.log"
    command = [sys.executable, "-m", "hookline", "serve", "--bus", url, *options]
    command += ["--trust"] if trusted else []
    with open(log, "w") as stream:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=dict(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            text=True,
        )
    started = WorkerProcess(process, log)
    try:
        started.wait_until_said("serving ")
        yield started
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(_SECONDS)
