"""A program may fork while its hooks run: what is the parent's is none of the child's business."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runner.contained import appears, comes_true, is_running
from tests.runner.test_guard import SLEEPS, guards, run_agent

pytestmark = pytest.mark.slow

GUARDED = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")

PROGRAM = """
import asyncio, os, sys
from hookline import Config, HookSystem

hooks = [{"type": "command", "name": "h", "command": sys.argv[1], "warm": True}]
system = HookSystem(Config(hooks={"BeforeTool": [{"hooks": hooks}]}))

def cancel(coroutine):
    try:
        coroutine.throw(asyncio.CancelledError)
    except asyncio.CancelledError:
        pass

async def main():
    await system.initialize()
    fire = system.get_event_handler().fire_before_tool_event
    while not os.path.exists("ran"):
        await fire("t", {"go": "on"})
    running = asyncio.create_task(fire("t", {"go": "slowly"}))
    while not os.path.exists("pid"):
        await asyncio.sleep(0.01)
    pid = os.fork()
    if pid == 0:
        FORK
    os.waitpid(pid, 0)
    open("go", "w").close()
    (result,) = (await running).results
    print(result.failed, result.exit_code, result.warnings)
    (result,) = (await fire("t", {"go": "on"})).results
    print(result.failed, result.exit_code, result.warnings)

asyncio.run(main())
system.dispose()
"""
SCRIPT = """
import json, os, sys, time
if json.load(sys.stdin)["tool_input"]["go"] == "slowly":
    with open("pid", "w") as file: file.write(str(os.getpid()))
    while not os.path.exists("go"): time.sleep(0.01)
open("ran", "w").close()
"""
FORKS = {
    "forgets the call": "running.get_coro().close(); os._exit(0)",
    "disposes": "system.dispose(); os._exit(0)",
    "cancels the call": "cancel(running.get_coro()); os._exit(0)",
}


@pytest.mark.parametrize("fork", FORKS.values(), ids=FORKS)
@pytest.mark.parametrize("program", ["bash -c", "python"])
def test_hooks_of_the_parent_go_on_whatever_a_fork_of_it_does(
    fork: str, program: str, tmp_path: Path
) -> None:
    (tmp_path / "x.py").write_text(SCRIPT)
    os.utime(tmp_path / "x.py", (1e9, 1e9))
    command = f"{sys.executable} x.py" + ("; exit $?" if program == "bash -c" else "")
    source = PROGRAM.replace("FORK", fork)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", source, command],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    first, *rest = done.stdout.splitlines()
    assert first.startswith("None 0"), done.stderr
    assert [line.split(" (")[0] for line in rest] == ["None 0"], done.stderr


ENDS = """
import asyncio, os
from hookline.runner.process import ProcessLimits, run_process

loop = asyncio.new_event_loop()
call = run_process(["sleep", "30"], stdin=b"", cwd="/", env=dict(os.environ),
                   limits=ProcessLimits(timeout=60))
task = loop.create_task(call)
loop.run_until_complete(asyncio.sleep(0.1))
"""


def test_a_program_ends_although_it_has_forgotten_a_hook() -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", ENDS], env=env, timeout=20, capture_output=True)


# The child uses the guard, ends like a program, and must have changed nothing for its parent.
FORKING = """
child = os.fork()
if child == 0:
    guard.release(hooks[0].pid)
    extra = start("true")
    extra.wait()
    guard.release(extra.pid)
    guard.close()
    sys.exit()
os.waitpid(child, 0)
if os.fork() == 0:
    print(os.getpid(), file=open("child", "w"), flush=True)
    time.sleep(60)
time.sleep(60)
"""


@GUARDED
async def test_a_forked_child_leaves_the_guard_to_its_parent() -> None:
    agent = run_agent(FORKING, SLEEPS.format(name="pid"))
    pid, child = [(await appears(name)).read_text() for name in ("pid", "child")]
    assert is_running(pid)
    assert len(guards(agent.pid)) == 1
    agent.kill()
    agent.wait()
    await comes_true(lambda: not is_running(pid))
    assert is_running(child)
    os.kill(int(child), signal.SIGKILL)
