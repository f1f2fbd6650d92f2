"""All processes of a hook are found and told to end, and nobody else is."""

import asyncio
import fcntl
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.runner import session
from hookline.runner.session import Sessions, end_hooks
from tests.harness.leaks import Watch
from tests.runner.contained import (
    SLACK,
    appears,
    comes_true,
    is_running,
    run_script,
    time_begins_with,
)
from tests.runner.test_spawning import descriptors_left

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")

BEGUN = "sleep 0.1; echo on > begun"
# Says how often it was asked to end, and does so in its own time.
TIDY = (
    'trap "echo term >> {name}; sleep 0.1; echo tidy >> {name}; exit" TERM; touch {name}; '
    "sleep 600 & wait"
)


def when_there(*names: str) -> str:
    """A command that says that all has begun when these files are there."""
    return f"until ls {' '.join(names)}; do sleep 0.01; done >&2; echo on > begun"


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of the same user and the same parent, in another session."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


async def time_out(script: str, *, grace: float = 0.3) -> None:
    with time_begins_with("begun"):
        outcome = await run_script(script, timeout=0.1, grace=grace)
    assert outcome.ended == "timeout"


def left(no_leaks: Watch) -> list[str]:
    """The processes that are left; of descriptors the test's own loop has some."""
    return no_leaks.settled_leaks(time.monotonic() + SLACK, allowed=frozenset({"descriptor"}))


def lead(script: str) -> "subprocess.Popen[bytes]":
    """Start a process as a hook is started."""
    return subprocess.Popen(["bash", "-c", script], start_new_session=True)


def kill_all(*leaders: int) -> None:
    for pause in Sessions(leaders).kill():
        time.sleep(pause)


async def test_a_stranger_is_never_signalled(stranger: "subprocess.Popen[bytes]") -> None:
    """Nor is one of the program's own session and group."""
    beside = subprocess.Popen(["sleep", "600"])
    await time_out(f"setsid sleep 600 & set -m; sleep 600 & {BEGUN}; wait")
    state = [Path(f"/proc/{p.pid}/stat").read_text().split()[2] for p in (stranger, beside)]
    assert state == ["S", "S"]
    beside.kill()
    beside.wait()


@pytest.mark.parametrize("start", ["(set -m; {} &);", "setsid {} &"])
async def test_a_process_that_a_finished_hook_left_behind_is_not_signalled(start: str) -> None:
    command = "bash -c 'echo $$ > pid; trap \"echo told > told\" TERM CONT; sleep 600'"
    outcome = await run_script(f"{start.format(command)} until [ -s pid ]; do sleep 0.01; done")
    assert (outcome.ended, outcome.exit_code) == ("exit", 0)
    pid = int(Path("pid").read_text())
    await asyncio.sleep(0.1)
    assert is_running(pid)
    assert not Path("told").exists()
    end_hooks([os.getsid(pid)])
    assert not is_running(pid)


async def test_everybody_is_asked_to_end_once_and_has_the_grace_for_it() -> None:
    """In the group of the hook, in another one, and in another session."""
    names = ("here", "group", "other")
    here, group, other = (f"bash -c '{TIDY.format(name=name)}' &" for name in names)
    script = f"{here} setsid {other} set -m; {group} {when_there(*names)}; wait"
    started = time.monotonic()
    await time_out(script, grace=20)
    assert [Path(name).read_text() for name in names] == ["term\ntidy\n"] * 3
    assert time.monotonic() - started < 20


async def test_a_shell_with_job_control_does_not_go_on_to_its_next_command() -> None:
    """Its child was stopped for a moment, but no shell sees that before both go on."""
    job = f"bash -c '{TIDY.format(name='job')}'"
    script = f"({when_there('job')}) & set -m; trap 'exit 3' TERM; {job}; touch next"
    await time_out(script, grace=20)
    assert Path("job").read_text() == "term\ntidy\n"
    assert not Path("next").exists()


async def test_one_who_starts_processes_when_it_is_asked_to_end_may_wait_for_them() -> None:
    Path("tidy").write_text("sleep 0.2; echo tidy > done")
    polite = 'trap "timeout 10 bash tidy; exit" TERM; touch polite; sleep 600 & wait'
    await time_out(f"set -m; bash -c '{polite}' & {when_there('polite')}; wait", grace=20)
    assert Path("done").read_text() == "tidy\n"


async def test_the_number_of_a_session_that_is_over_may_be_a_strangers() -> None:
    """The system is made to give a number again within the grace, as if all others had gone by."""
    last = Path("/proc/sys/kernel/ns_last_pid")
    try:
        # Its mode says that anybody may write to it, which is not so.
        last.write_text(last.read_text())
    except OSError:
        pytest.skip("needs to choose the number of the next process")
    stubborn = "trap '' TERM; while :; do sleep 0.05; done"
    script = f"setsid sleep 600 & echo $! > pid; {BEGUN}; {stubborn}"

    async def recycle() -> "subprocess.Popen[bytes]":
        number = int((await appears("pid")).read_text())
        await comes_true(lambda: not Path(f"/proc/{number}").exists())
        await asyncio.sleep(1)
        deadline = time.monotonic() + 10
        while True:
            assert time.monotonic() < deadline, "somebody else always was faster"
            last.write_text(str(number - 1))
            process = subprocess.Popen(["sleep", "600"], start_new_session=True)
            if process.pid == number:
                return process
            process.kill()
            process.wait()

    timing_out = asyncio.create_task(time_out(script, grace=4))
    process = await recycle()
    await timing_out
    assert process.poll() is None
    process.kill()
    process.wait()


async def test_without_a_free_descriptor_all_of_them_are_found(no_leaks: Watch) -> None:
    script = f"setsid bash -c 'trap \"\" TERM; sleep 600' & set -m; sleep 600 & {BEGUN}; wait"
    running = asyncio.create_task(run_script(script, timeout=60, grace=0.3))
    await appears("begun")
    # Only those below this one count.
    high = fcntl.fcntl(0, fcntl.F_DUPFD, 100)
    with descriptors_left(0):
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    os.close(high)
    assert left(no_leaks) == []


def test_a_coroutine_that_is_closed_half_way_leaves_nothing(no_leaks: Watch) -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    script = f"setsid sleep 600 & set -m; (trap '' TERM; sleep 600) & {BEGUN}; wait"
    task = loop.create_task(run_script(script, timeout=60))
    loop.run_until_complete(appears("begun"))
    loop.close()
    del task
    gc.collect()
    assert left(no_leaks) == []


SEEN_BY_PS = pytest.mark.parametrize("has_proc", [True, False], ids=["proc", "ps"])


@pytest.mark.slow
@SEEN_BY_PS
@pytest.mark.parametrize(
    "script",
    [
        "timeout 600 sleep 600 & {}; wait",
        "(set -m; sleep 600 &); {}; wait; sleep 600",
        "setsid sleep 600 & {}; wait",
        "trap '' TERM; set -m; sleep 600 & kill -STOP $!; {}; sleep 600",
    ],
)
async def test_processes_are_found_in_proc_or_by_ps(
    script: str, has_proc: bool, monkeypatch: pytest.MonkeyPatch, no_leaks: Watch
) -> None:
    monkeypatch.setattr(session, "has_proc", lambda: has_proc)
    await time_out(script.format(BEGUN))
    assert left(no_leaks) == []


async def test_where_neither_is_there_the_group_ends(
    monkeypatch: pytest.MonkeyPatch, no_leaks: Watch, tmp_path: Path
) -> None:
    monkeypatch.setattr(session, "has_proc", lambda: False)
    monkeypatch.setattr(os, "defpath", str(tmp_path))
    await time_out(f"sleep 600 & (trap '' TERM; sleep 600) & {BEGUN}; wait")
    assert left(no_leaks) == []


async def test_without_an_interpreter_the_guard_ends_groups(no_leaks: Watch) -> None:
    program = (
        "import sys, time; sys.frozen = True; sys.argv[1:] = []\n"
        "from hookline.runner.guard import Guardian\n"
        "import subprocess; hook = subprocess.Popen(['bash', '-c', 'sleep 600 & echo on > begun; "
        "wait'], start_new_session=True)\n"
        "Guardian(print).watch(hook.pid)\n"
        "print(1, file=open('watched', 'w'), flush=True); time.sleep(60)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    agent = subprocess.Popen([sys.executable, "-c", program], env=environment)
    await appears("begun")
    await appears("watched")
    agent.kill()
    agent.wait()
    assert left(no_leaks) == []


AGENT = """
import os, sys
from hookline.runner.guard import Guardian
from hookline.runner.loop import PollLoop
from hookline.runner.process import ProcessLimits, supervise
from hookline.runner.spawning import spawn
import time
child = spawn(["bash", "-c", sys.argv[1]], cwd=os.getcwd(), env=os.environ)
limits = ProcessLimits(timeout=60, grace=60, max_stdout=0)
call = supervise(child, stdin=b"", limits=limits, started=time.monotonic(), called="x",
                 guardian=Guardian(print))
PollLoop().run(call)
"""


@pytest.mark.parametrize("start", ["bash", "setsid bash"], ids=["same session", "own session"])
async def test_an_agent_killed_within_the_grace_leaves_no_child_that_ignores_sigterm(
    start: str, no_leaks: Watch
) -> None:
    """The hook itself has ended by then, so the guard cannot find the child by descent."""
    # It prints more than the hook may, which is why the agent ends the hook.
    stubborn = 'trap "echo told > told" TERM; echo too much; while :; do sleep 0.05; done'
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    script = f"echo $$ > leader; {start} -c '{stubborn}' & wait"
    agent = subprocess.Popen([sys.executable, "-c", AGENT, script], env=environment)
    await appears("told")
    leader = Path("leader").read_text()
    await comes_true(lambda: not is_running(leader))
    agent.kill()
    agent.wait()
    assert left(no_leaks) == []


def test_the_sessions_of_a_descendant_are_known_after_its_end(no_leaks: Watch) -> None:
    hook = lead(f"setsid bash -c 'sleep 600 & sleep 600 & wait' & {BEGUN}; wait")
    asyncio.run(appears("begun"))
    sessions = Sessions([hook.pid])
    for pause in sessions.freeze():
        time.sleep(pause)
    (other,) = sessions.numbers - {hook.pid}
    os.kill(hook.pid, signal.SIGKILL)
    os.kill(other, signal.SIGKILL)
    hook.wait()
    assert sessions.remain()
    for pause in sessions.kill():
        time.sleep(pause)
    assert not sessions.remain()
    assert left(no_leaks) == []


def test_to_end_what_has_ended_is_fine() -> None:
    hook = lead("exit")
    hook.wait()
    kill_all(hook.pid)
    end_hooks([hook.pid])


def test_it_runs_on_the_oldest_python_that_can_be_warm() -> None:
    import ast

    ast.parse(Path(session.__file__).read_text(), feature_version=(3, 8))


def test_no_signal_goes_to_our_own_group_or_to_all_processes() -> None:
    """Signal 0 asks only whether one could be sent."""
    assert [session.signal_group(group, 0) for group in (-1, 0, 1)] == [False] * 3
    assert session.signal_group(os.getpgrp(), 0)


def test_our_own_session_and_those_of_the_system_are_never_a_hooks() -> None:
    assert Sessions([0, 1, os.getsid(0), 77]).numbers == {77}
