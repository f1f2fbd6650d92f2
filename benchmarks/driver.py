"""A process that lives as long as the benchmarks and runs, on request, the work to compare with.

Its own clock times it, so that neither its start nor the way of the request is part of a sample.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from benchmarks.sampling import Run


class Driver:
    """Runs the process while its context is open.

    It says ``ready``, then answers each line ``WORKLOAD ITERATIONS`` with the nanoseconds it took.
    """

    def __init__(self, argv: Sequence[str], *, directory: Path, env: Mapping[str, str]) -> None:
        self._argv = argv
        self._directory = directory
        self._env = env
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Driver":
        self._process = subprocess.Popen(
            self._argv,
            cwd=self._directory,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def running(self, workload: str) -> Run:
        """Return a function that measures a workload of the process by the process's clock."""

        def run(iterations: int) -> float:
            self._ask(f"{workload} {iterations}\n")
            return int(self._answer()) / 1e9

        return run

    def _ask(self, line: str) -> None:
        assert self._process is not None
        stdin = cast(IO[str], self._process.stdin)
        stdin.write(line)
        stdin.flush()

    def _answer(self) -> str:
        assert self._process is not None
        answer = cast(IO[str], self._process.stdout).readline().strip()
        if not answer:
            raise RuntimeError(f"{self._argv[0]} ended; its error is above")
        return answer
