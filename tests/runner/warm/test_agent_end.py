"""An agent that is killed takes its templates and their forks with it, within a second."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.runner.contained import appears, comes_true, is_running

LINUX = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")

AGENT = """
import asyncio, os, sys, time
from hookline.runner.process import ProcessLimits, supervise
from hookline.runner.warm.pool import WarmPool
from hookline.runner.warm.script import python_script

async def main():
    pool = WarmPool(patience=30.0)
    argv, cwd = [sys.executable, "hook.py"], os.getcwd()
    script = python_script(argv, program=argv[0], cwd=cwd)
    now = time.monotonic()
    child = await pool.start(script, cwd=cwd, env=os.environ, deadline=now + 60)
    if os.environ["FORK"] == "yes" and os.fork() == 0:
        time.sleep(30)
    await supervise(child, stdin=b"", limits=ProcessLimits(timeout=60), started=now, called="x")

asyncio.run(main())
"""
HOOK = """
import os, subprocess, time
child = subprocess.Popen(["sleep", "60"])
with open("pids.new", "w") as file:
    file.write(f"{os.getppid()} {os.getpid()} {child.pid}")
os.rename("pids.new", "pids")
time.sleep(60)
"""


@LINUX
@pytest.mark.parametrize("fork", ["no", "yes"])
async def test_nothing_outlives_an_agent_that_was_killed(
    fork: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    monkeypatch.setenv("FORK", fork)
    Path("agent.py").write_text(AGENT)
    Path("hook.py").write_text(HOOK)
    agent = await asyncio.create_subprocess_exec(sys.executable, "agent.py", start_new_session=True)
    pids = (await appears("pids")).read_text().split()
    os.kill(agent.pid, signal.SIGKILL)
    await comes_true(lambda: not any(map(is_running, pids)))
    await agent.wait()
    if fork == "yes":
        os.killpg(agent.pid, signal.SIGKILL)


FORKING = """
import os, sys, time
from hookline.runner.loop import PollLoop
from hookline.runner.process import ProcessLimits, supervise
from hookline.runner.warm.pool import WarmPool
from hookline.runner.warm.script import python_script

pool = WarmPool(patience=30.0)

async def call():
    argv, cwd, now = [sys.executable, "hook.py"], os.getcwd(), time.monotonic()
    script = python_script(argv, program=argv[0], cwd=cwd)
    child = await pool.start(script, cwd=cwd, env=os.environ, deadline=now + 60)
    limits = ProcessLimits(timeout=60)
    return await supervise(child, stdin=b"", limits=limits, started=now, called="x")

templates = [PollLoop().run(call()).stdout]
reading, writing = os.pipe()
if os.fork() == 0:
    os.write(writing, PollLoop().run(call()).stdout)
    pool.dispose()
    os._exit(0)
os.wait()
templates += [os.read(reading, 99), PollLoop().run(call()).stdout]
pool.dispose()
print(templates[0] == templates[2] != templates[1])
"""


async def test_an_agent_that_forked_and_its_fork_have_templates_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    Path("agent.py").write_text(FORKING)
    Path("hook.py").write_text("import os; print(os.getppid())")
    agent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", "agent.py"), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await agent.communicate()
    assert said == b"True\n"
