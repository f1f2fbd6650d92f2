"""Scripts run with short limits, and a look at what became of their processes."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hookline.runner.loop import running_loop
from hookline.runner.process import ProcessLimits, ProcessOutcome, run_process
from hookline.runner.spawning import PidfdWatch, ThreadWatch

WATCHES = [
    pytest.param(
        PidfdWatch,
        marks=pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no process descriptors"),
    ),
    ThreadWatch,
]
# What a loaded machine of two cores may add to any of the times below: less than the five seconds
# that a hook has to end unless it is told otherwise, as that would be a failure.
SLACK = 4.0


async def run_script(
    script: str, *, stdin: bytes = b"", env: dict[str, str] | None = None, **limits: float
) -> ProcessOutcome:
    """Run a bash script in the working directory, by default for ten seconds at most."""
    return await run_process(
        ["bash", "-c", script],
        stdin=stdin,
        cwd=str(Path.cwd()),
        env=dict(os.environ) if env is None else env,
        limits=ProcessLimits(**{"timeout": 10.0, "grace": 0.3} | limits),  # type: ignore[arg-type]
    )


@contextmanager
def time_begins_with(path: str) -> Iterator[None]:
    """Have the time of the running loop stand still until a script has written a file.

    So a script has begun when its timeout is over, however long the machine takes to start it.
    """
    loop = running_loop()
    real, since = loop.time, loop.time()
    late: float | None = None

    def time_so_far() -> float:
        nonlocal late
        if late is None:
            if not os.path.exists(path):
                return since
            late = real() - since
        return real() - late

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "time", time_so_far)
        yield


@contextmanager
def time_jumps_with(path: str, seconds: float) -> Iterator[None]:
    """Have the time of the running loop go ahead by so much once a script has written a file."""
    loop = running_loop()
    real = loop.time

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "time", lambda: real() + seconds * os.path.exists(path))
        yield


async def appears(path: str | Path) -> Path:
    """Wait for a file that a script writes."""
    await comes_true(lambda: Path(path).exists() and Path(path).read_text() != "")
    return Path(path)


async def comes_true(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in half a minute"
        await asyncio.sleep(0.005)


def is_running(pid: int | str | bytes) -> bool:
    """Whether a process exists and is not merely waiting to be reaped."""
    try:
        os.kill(int(pid), 0)
        stat = Path(f"/proc/{int(pid)}/stat").read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        # Gone since the line before, or a system without /proc.
        return not Path("/proc/self").exists()
    return stat.rpartition(")")[2].split()[0] not in "ZX"
