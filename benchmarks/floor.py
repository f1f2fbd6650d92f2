"""Measures the least that hook processes can cost, with a C program that only runs them."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.driver import Driver
from benchmarks.hooks import CommandCase
from benchmarks.sampling import Run, Workload, calling
from hookline.wire import codec

_SOURCE = Path(__file__).with_name("floor.c")


class Floor:
    """Runs cases without hookline: in C if it could be compiled, else with ``subprocess``."""

    def __init__(self, program: Path | None, scratch: Path, stack: ExitStack) -> None:
        self._program = program
        self._scratch = scratch
        self._stack = stack
        self.name = "subprocess.Popen" if program is None else "C posix_spawn"
        self.is_the_least = program is not None

    def workload(self, case: CommandCase) -> Workload:
        """The hooks of a case, started in the same way without hookline."""
        return Workload(self.name, self._run(case))

    def _run(self, case: CommandCase) -> Run:
        payload = codec.encode(case.payload())
        argv = [*_shell(), "-c", "--", case.command]
        if self._program is None:
            return calling(_run_all, argv, payload, case.count, self._scratch)
        file = self._scratch / f"{case.name}.payload"
        file.write_bytes(payload)
        driver = Driver(
            [str(self._program), str(file), *argv], directory=self._scratch, env=os.environ
        )
        return self._stack.enter_context(driver).running(str(case.count))


def find_floor(scratch: Path, stack: ExitStack, *, say: Callable[[str], None]) -> Floor:
    """Compile the C program; without a compiler say so, and use ``subprocess``."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        say("no floor: there is no C compiler on the PATH, so subprocess.Popen stands in for it")
        return Floor(None, scratch, stack)
    program = scratch / "floor"
    try:
        subprocess.run([compiler, "-O2", "-o", str(program), str(_SOURCE)], check=True)
    except subprocess.CalledProcessError as error:
        say(f"no floor: {error}; subprocess.Popen stands in for it")
        return Floor(None, scratch, stack)
    return Floor(program, scratch, stack)


def _shell() -> list[str]:
    bash = shutil.which("bash")
    return [bash, "--norc", "-p"] if bash else ["/bin/sh"]


def _run_all(argv: Sequence[str], payload: bytes, count: int, directory: Path) -> None:
    """Start all hooks, then write to and read from one after the other."""
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=directory)
        for _ in range(count)
    ]
    for child in children:
        child.communicate(payload)
