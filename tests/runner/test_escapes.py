"""Whatever a hook starts, in whatever group or session, ends when the hook is stopped."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hookline.runner.loop import Cancelled, PollLoop
from hookline.runner.process import ProcessLimits, ProcessOutcome
from tests.harness.leaks import Watch
from tests.runner.contained import (
    SLACK,
    appears,
    run_script,
    time_begins_with,
)
from tests.runner.escapes import ESCAPES
from tests.runner.warm.warmed import warm, warm_pool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux"),
]
each_escape = pytest.mark.parametrize("script", ESCAPES.values(), ids=ESCAPES)
# Whatever stops a hook stops it in the same way; one of each kind shows that it does.
KINDS = (
    *("timeout(1)", "job control", "all three in each other", "all ignore TERM", "stopped"),
    *("a child in a new session every 10 ms", "setsid on TERM"),
)
each_kind = pytest.mark.parametrize("script", [ESCAPES[name] for name in KINDS], ids=KINDS)

TIMEOUT = 0.2
GRACE = 0.3


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def nothing_is_left(no_leaks: Watch) -> bool:
    """Whether no process, descriptor or thread is left a moment after the answer.

    What was killed may take a moment on a loaded machine, but nothing may still be starting more.
    """
    assert Path("begun").exists()
    found = no_leaks.settled_leaks(time.monotonic() + 1, allowed=frozenset())
    assert found == []
    return True


async def timed_out(script: str) -> float:
    """The seconds that a script had from its beginning to the answer."""
    with time_begins_with("begun"):
        outcome = await run_script(script, timeout=TIMEOUT, grace=GRACE)
    assert outcome.ended == "timeout"
    return time.time() - os.stat("begun").st_mtime


@each_escape
def test_nothing_outlives_a_timeout(script: str, no_leaks: Watch) -> None:
    assert asyncio.run(timed_out(script)) < TIMEOUT + GRACE + SLACK
    assert nothing_is_left(no_leaks)


@each_kind
def test_nothing_outlives_a_timeout_of_a_blocking_call(script: str, no_leaks: Watch) -> None:
    assert PollLoop().run(timed_out(script)) < TIMEOUT + GRACE + SLACK
    assert nothing_is_left(no_leaks)


@each_kind
def test_nothing_outlives_a_cancelled_task(script: str, no_leaks: Watch) -> None:
    async def cancel() -> None:
        running = asyncio.create_task(run_script(script, timeout=60))
        await appears("begun")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 0.5 + SLACK)

    asyncio.run(cancel())
    assert nothing_is_left(no_leaks)


@each_kind
def test_nothing_outlives_a_cancelled_blocking_call(script: str, no_leaks: Watch) -> None:
    loop = PollLoop()

    def cancel() -> None:
        asyncio.run(appears("begun"))
        loop.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    with pytest.raises(Cancelled):
        loop.run(run_script(script, timeout=60))
    canceller.join()
    assert nothing_is_left(no_leaks)


@each_kind
def test_nothing_outlives_a_hook_that_prints_too_much(script: str, no_leaks: Watch) -> None:
    flood = "(while [ ! -e begun ]; do sleep 0.01; done; yes) & "
    outcome = asyncio.run(run_script(flood + script, timeout=60, grace=GRACE, max_stdout=100_000))
    assert outcome.ended == "output_limit"
    assert nothing_is_left(no_leaks)


# Runs what is in a file, as bash has it.
PYTHON_HOOK = "import subprocess\nsubprocess.run(['bash', '-c', open('script').read()])\n"


@pytest.mark.parametrize("script", [ESCAPES[name] for name in KINDS[:4]], ids=KINDS[:4])
def test_nothing_outlives_a_warm_hook(script: str, no_leaks: Watch) -> None:
    argv = [sys.executable, "hook.py"]
    Path("hook.py").write_text(PYTHON_HOOK)
    Path("script").write_text("true")

    async def time_out() -> ProcessOutcome:
        async with warm_pool() as pool:
            await warm(pool, argv)
            Path("script").write_text(script)
            with time_begins_with("begun"):
                return await warm(pool, argv, limits=ProcessLimits(timeout=1, grace=GRACE))

    outcome = asyncio.run(time_out())
    assert outcome.ended == "timeout"
    assert nothing_is_left(no_leaks)


AGENT = """
import os, sys, time
from hookline.runner.guard import Guardian
from hookline.runner.loop import PollLoop
from hookline.runner.process import ProcessLimits, supervise
from hookline.runner.spawning import spawn
from hookline.runner.warm.pool import WarmPool
from hookline.runner.warm.script import python_script

argv, cwd, limits = [sys.executable, "hook.py"], os.getcwd(), ProcessLimits(timeout=60)
guardian = Guardian(print) if "guard" in sys.argv[1:] else None

async def run():
    started = time.monotonic()
    if "warm" in sys.argv[1:]:
        script = python_script(argv, program=argv[0], cwd=cwd)
        pool = WarmPool(patience=30.0)
        child = await pool.start(script, cwd=cwd, env=os.environ, deadline=started + 60)
    else:
        child = spawn(["bash", "script"], cwd=cwd, env=os.environ)
    await supervise(
        child, stdin=b"", limits=limits, started=started, called="x", guardian=guardian
    )

PollLoop().run(run())
"""


@pytest.mark.parametrize(
    ("ways", "script"),
    [
        *((["guard"], ESCAPES[name]) for name in KINDS),
        *((["warm"], ESCAPES[name]) for name in KINDS[2:4]),
        *((["guard", "warm"], ESCAPES[name]) for name in KINDS[2:4]),
    ],
    ids=lambda value: " and ".join(value) if isinstance(value, list) else "",
)
def test_nothing_outlives_an_agent_that_was_killed(
    script: str, ways: list[str], no_leaks: Watch
) -> None:
    Path("hook.py").write_text(PYTHON_HOOK)
    Path("script").write_text(script)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    agent = subprocess.Popen([sys.executable, "-c", AGENT, *ways], env=environment)
    asyncio.run(appears("begun"))
    agent.kill()
    agent.wait()
    assert no_leaks.settled_leaks(time.monotonic() + 2 + SLACK, allowed=frozenset()) == []
