"""One script run cold and warm, and what became of it both times."""

import os
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from hookline.runner.process import ProcessLimits, ProcessOutcome, run_process, supervise
from hookline.runner.warm.pool import WarmPool
from hookline.runner.warm.script import python_script

LIMITS = ProcessLimits(timeout=30.0, grace=0.5)


async def cold(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> ProcessOutcome:
    return await run_process(
        argv, stdin=stdin, cwd=os.getcwd(), env=_environment(env), limits=LIMITS
    )


async def warm(
    pool: WarmPool,
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    cwd: str | None = None,
    limits: ProcessLimits = LIMITS,
) -> ProcessOutcome:
    """Run it in a fork; raises ColdStart where it cannot be."""
    cwd = cwd or os.getcwd()
    script = python_script(argv, program=argv[0], cwd=cwd)
    assert not isinstance(script, str), script
    started = time.monotonic()
    deadline = started + limits.timeout
    child = await pool.start(script, cwd=cwd, env=_environment(env), deadline=deadline)
    return await supervise(child, stdin=stdin, limits=limits, started=started, called=argv[0])


@asynccontextmanager
async def warm_pool(**options: float) -> AsyncIterator[WarmPool]:
    """A pool whose first calls wait to be warm, and that is gone afterwards."""
    pool = WarmPool(**{"patience": 30.0, **options})
    try:
        yield pool
    finally:
        pool.dispose()


def seen(outcome: ProcessOutcome) -> tuple[object, ...]:
    """Everything about an outcome that a caller can tell, but for addresses in memory."""
    printed = (re.sub(rb"0x[0-9a-f]+", b"0x", text) for text in (outcome.stdout, outcome.stderr))
    return *printed, outcome.exit_code, outcome.signal, outcome.ended


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **(env or {})}
