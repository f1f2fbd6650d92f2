"""The call behind ``subprocess``, and that everything works where it is not to be had."""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.runner import spawning
from tests.harness.leaks import Watch
from tests.runner.contained import SLACK, run_script

LAUNCHES = [
    pytest.param(
        spawning.launch_directly,
        marks=pytest.mark.skipif(not spawning.find_fork_exec(), reason="not this Python's"),
    ),
    spawning.launch_portably,
]


@pytest.fixture(params=LAUNCHES, ids=lambda launch: launch.__name__, autouse=True)
def launch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawning, "launch", request.param)


def test_this_python_has_the_call_in_the_form_that_is_known() -> None:
    if sys.implementation.name == "cpython" and sys.version_info < (3, 15):
        assert spawning.find_fork_exec() is not None


def test_a_call_of_another_form_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import _posixsubprocess

    def other(args: object, env: object, /) -> int:
        raise AssertionError((args, env))

    monkeypatch.setattr(_posixsubprocess, "fork_exec", other)
    monkeypatch.setattr(sys, "version_info", (3, 99))
    assert spawning.find_fork_exec() is None


async def test_a_process_leads_a_session_of_its_own_and_has_three_descriptors() -> None:
    script = "echo $$ $(ps -o sid= -p $$) $(ps -o pgid= -p $$); ls /proc/self/fd"
    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        outcome = await run_script(script)
    finally:
        os.close(reading)
        os.close(writing)
    (pid, session, group), *descriptors = [x.split() for x in outcome.stdout.splitlines()]
    assert pid == session == group
    # The fourth is the directory that is being listed.
    assert descriptors == [[b"0"], [b"1"], [b"2"], [b"3"]]


async def test_a_broken_pipe_ends_a_program_as_it_would_in_a_shell() -> None:
    outcome = await run_script("yes | head -1; echo ${PIPESTATUS[0]}")
    assert outcome.stdout == b"y\n141\n"


async def test_what_audits_processes_hears_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    if spawning.launch is spawning.launch_portably:
        pytest.skip("that is up to subprocess")
    heard: list[object] = []
    monkeypatch.setattr(sys, "audit", lambda event, *said: heard.extend((event, said[0])))
    await run_script("exit 0")
    assert heard[:2] == ["subprocess.Popen", "bash"]


CLOSED = """
import asyncio, os, sys
for fd in (0, 1, 2): os.close(fd)
from hookline.runner import process, spawning
spawning.launch = getattr(spawning, sys.argv[1])
limits = process.ProcessLimits(timeout=5)
call = process.run_process(["sh", "-c", "cat; echo out; echo err >&2"], stdin=b"in ", cwd="/",
                           env=dict(os.environ), limits=limits)
outcome = asyncio.run(call)
with open(sys.argv[2], "w") as file:
    print(outcome.stdout, outcome.stderr, outcome.exit_code, outcome.error, file=file)
"""


def test_a_program_without_standard_streams_runs_hooks_like_any_other(tmp_path: Path) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    name = getattr(spawning.launch, "__name__", "")
    subprocess.run([sys.executable, "-c", CLOSED, name, str(tmp_path / "said")], env=env)
    assert (tmp_path / "said").read_text() == r"b'in out\n' b'err\n' 0 None" + "\n"


async def test_many_at_once_leave_no_descriptor_open() -> None:
    outcomes = await asyncio.gather(*(run_script(f"exit {n}") for n in range(20)))
    assert [outcome.exit_code for outcome in outcomes] == list(range(20))


def test_an_interrupt_while_a_process_starts_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_leaks: Watch
) -> None:
    if spawning.launch is spawning.launch_portably:
        pytest.skip("that is up to subprocess")

    def interrupted(*_arguments: int) -> bytes:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            spawning.spawn(["sh", "-c", "sleep 30 & wait"], cwd=str(tmp_path), env=os.environ)
    # Not by waiting for any child: a server that other tests share is one too.
    assert no_leaks.settled_leaks(time.monotonic() + SLACK, allowed=frozenset()) == []
