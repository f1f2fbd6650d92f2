"""A timeout, an output limit and a cancelled call end all of a process, in bounded time."""

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hookline.runner import process, spawning
from tests.runner.contained import (
    SLACK,
    WATCHES,
    appears,
    comes_true,
    is_running,
    run_script,
    time_begins_with,
    time_jumps_with,
)

# A child that pays no attention to SIGTERM, and says who it is.
STUBBORN = "(trap '' TERM; echo $BASHPID > stubborn; while :; do sleep 0.05; done)"
BEGUN = "echo on > begun"
LINUX = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")


@pytest.fixture(autouse=True, params=WATCHES)
def watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawning, "watch_exit", request.param)


async def test_a_process_over_its_time_is_asked_to_end() -> None:
    outcome = await run_script("exec sleep 30", timeout=0.1, grace=20)
    assert (outcome.ended, outcome.exit_code, outcome.signal) == ("timeout", None, signal.SIGTERM)
    assert 0.1 <= outcome.duration < SLACK


async def test_what_was_printed_before_the_timeout_is_kept() -> None:
    with time_begins_with("begun"):
        script = f"echo out; echo log >&2; {BEGUN}; exec sleep 30"
        outcome = await run_script(script, timeout=0.1)
    assert (outcome.ended, outcome.stdout, outcome.stderr) == ("timeout", b"out\n", b"log\n")


async def test_timeout_never_sigkills_is_over_a_process_that_ignores_sigterm_is_killed() -> None:
    script = f"trap '' TERM; {BEGUN}; while :; do sleep 0.05; done; echo survived"
    with time_begins_with("begun"):
        outcome = await run_script(script, timeout=0.2, grace=0.3)
    assert (outcome.ended, outcome.signal, outcome.stdout) == ("timeout", signal.SIGKILL, b"")
    assert 0.5 <= outcome.duration < 0.5 + SLACK


async def test_a_process_may_end_in_its_own_way_within_the_grace() -> None:
    script = f"trap 'sleep 0.2; echo bye; exit 4' TERM; {BEGUN}; sleep 30 & wait"
    with time_begins_with("begun"):
        outcome = await run_script(script, timeout=0.2, grace=20)
    assert (outcome.ended, outcome.exit_code, outcome.stdout) == ("timeout", 4, b"bye\n")
    assert outcome.duration < 20


async def test_a_process_that_tidies_up_almost_until_the_end_of_the_grace_is_not_killed() -> None:
    tidy = "echo on > asked; sleep 0.3; echo tidy > done; exit 4"
    with time_begins_with("begun"), time_jumps_with("asked", 100):
        script = f"trap '{tidy}' TERM; {BEGUN}; sleep 30 & wait"
        outcome = await run_script(script, timeout=0.1, grace=110)
    assert (outcome.ended, outcome.exit_code, outcome.signal) == ("timeout", 4, None)
    assert Path("done").read_text() == "tidy\n"


async def test_a_process_that_still_tidies_up_after_the_grace_is_killed() -> None:
    tidy = "echo on > asked; sleep 30"
    with time_begins_with("begun"), time_jumps_with("asked", 100):
        script = f"trap '{tidy}' TERM; {BEGUN}; sleep 30 & wait"
        outcome = await run_script(script, timeout=0.1, grace=99)
    assert (outcome.ended, outcome.signal) == ("timeout", signal.SIGKILL)


async def test_the_children_of_a_process_end_with_it() -> None:
    script = f"sleep 30 & echo $!; (sleep 30; :) & echo $!; {BEGUN}; wait"
    with time_begins_with("begun"):
        outcome = await run_script(script, timeout=0.2, grace=20)
    assert outcome.ended == "timeout"
    assert [is_running(pid) for pid in outcome.stdout.split()] == [False, False]
    assert outcome.duration < 20


async def test_a_child_that_outlives_the_leader_gets_the_rest_of_the_grace() -> None:
    script = f"(trap 'sleep 0.3; echo tidy > done; exit' TERM; {BEGUN}; sleep 30 & wait) & wait"
    with time_begins_with("begun"):
        outcome = await run_script(script, timeout=0.2, grace=20)
    assert outcome.signal == signal.SIGTERM
    assert Path("done").read_text() == "tidy\n"
    assert outcome.duration < 20


async def test_a_child_that_outlives_the_grace_is_killed() -> None:
    with time_begins_with("stubborn"):
        outcome = await run_script(f"{STUBBORN} & wait", timeout=0.2, grace=0.3)
    assert (outcome.ended, outcome.signal) == ("timeout", signal.SIGTERM)
    assert not is_running(Path("stubborn").read_text())
    assert 0.5 <= outcome.duration < 0.5 + SLACK


async def test_a_stopped_process_goes_on_to_see_that_it_shall_end() -> None:
    with time_begins_with("begun"):
        script = f"trap 'exit 3' TERM; {BEGUN}; kill -STOP $$"
        outcome = await run_script(script, timeout=0.2, grace=20)
    assert (outcome.ended, outcome.exit_code) == ("timeout", 3)


async def test_a_timeout_covers_a_process_that_closed_its_streams_and_never_reads() -> None:
    script = "exec >&- 2>&-; exec sleep 30"
    outcome = await run_script(script, stdin=b"x" * 1_000_000, timeout=0.1, grace=20)
    assert (outcome.ended, outcome.signal) == ("timeout", signal.SIGTERM)


async def test_no_time_at_all_is_a_timeout_too() -> None:
    outcome = await run_script("sleep 30", timeout=0, grace=0)
    assert outcome.ended == "timeout"
    assert outcome.signal in (signal.SIGTERM, signal.SIGKILL)


async def test_a_process_that_prints_too_much_is_asked_to_end_and_can_still_print() -> None:
    script = (
        "trap 'echo bye >&2; exit 7' TERM; while :; do echo xxxxxxxxxxxxxxxx 2> /dev/null; done"
    )
    # The signal may interrupt echo, which then says so on stderr.
    outcome = await run_script(script, max_stdout=200_000, grace=20)
    assert (outcome.ended, outcome.exit_code, outcome.stderr) == ("output_limit", 7, b"bye\n")
    assert outcome.stdout == (b"x" * 16 + b"\n") * 11764 + b"x" * 12


async def test_a_process_that_prints_too_much_and_ignores_sigterm_is_killed() -> None:
    outcome = await run_script("trap '' TERM; yes & yes >&2 & wait", max_stdout=1000, grace=0.2)
    assert (outcome.ended, len(outcome.stdout)) == ("output_limit", 1000)
    assert outcome.duration < 0.2 + SLACK


# Starts a process out of reach, whose dead child, which it does not reap, is in the session.
CARELESS_PARENT = f"""({sys.executable} -c '
import os, time
child = os.fork()
if child == 0:
    os._exit(0)
os.setsid()
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
open("careless", "w").write(str(os.getpid()))
time.sleep(30)
' &); sleep 30"""


@LINUX
async def test_the_dead_that_nobody_reaps_do_not_use_up_the_grace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "CANCEL_GRACE", 20)
    running = asyncio.create_task(run_script(CARELESS_PARENT, grace=20))
    careless = int((await appears("careless")).read_text())
    started = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    os.kill(careless, signal.SIGKILL)
    assert time.monotonic() - started < SLACK


async def test_a_cancelled_call_asks_the_process_to_end_and_waits_for_it() -> None:
    script = "trap 'echo tidy > done; exit' TERM; echo $$ > pid; sleep 30 & wait"
    running = asyncio.create_task(run_script(script, grace=20))
    pid = (await appears("pid")).read_text()
    running.cancel("enough")
    with pytest.raises(asyncio.CancelledError, match="enough"):
        await running
    assert Path("done").read_text() == "tidy\n"
    assert not is_running(pid)


async def test_a_cancelled_call_kills_what_does_not_end_in_half_a_second() -> None:
    running = asyncio.create_task(run_script(f"{STUBBORN} & wait", grace=20))
    pid = (await appears("stubborn")).read_text()
    started = time.monotonic()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert 0.5 <= time.monotonic() - started < 0.5 + SLACK
    assert not is_running(pid)


async def test_a_call_cancelled_twice_kills_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "CANCEL_GRACE", 20)
    running = asyncio.create_task(run_script(STUBBORN, grace=20))
    pid = (await appears("stubborn")).read_text()
    running.cancel()
    await asyncio.sleep(0.05)
    assert is_running(pid)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(pid)


async def test_a_call_can_be_cancelled_while_it_stops_a_process_for_its_timeout() -> None:
    script = "trap 'echo on > told' TERM; echo $$ > stubborn; while :; do sleep 0.05; done"
    with time_begins_with("stubborn"):
        running = asyncio.create_task(run_script(script, timeout=0.1, grace=20))
        pid = (await appears("stubborn")).read_text()
        await appears("told")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert not is_running(pid)


async def test_a_call_cancelled_during_the_drain_ends_what_the_process_left_running() -> None:
    running = asyncio.create_task(run_script("sleep 30 & echo $! > pid", drain=20))
    pid = (await appears("pid")).read_text()
    await asyncio.sleep(0.1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not is_running(pid)


async def test_a_call_cancelled_at_any_moment_leaves_nothing_behind() -> None:
    for moment in range(16):
        script = "trap 'sleep 0.01; exit' TERM; sleep 0.03 & wait; sleep 0.01"
        running = asyncio.create_task(run_script(script, timeout=0.04, drain=0.01, grace=0.02))
        for _ in range(moment % 3):
            await asyncio.sleep(0)
        await asyncio.sleep(moment * 0.006)
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


async def test_a_limit_around_the_call_is_a_cancellation() -> None:
    with time_begins_with("pid"), pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await run_script("echo $$ > pid; exec sleep 30")
    assert not is_running(Path("pid").read_text())


def test_a_loop_that_is_closed_under_the_call_still_leaves_no_process() -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)
    task = loop.create_task(run_script("echo $$ > pid; exec sleep 30"))
    loop.run_until_complete(appears("pid"))
    pid = Path("pid").read_text()
    loop.close()
    del task
    gc.collect()
    asyncio.run(comes_true(lambda: not is_running(pid)))


CALLER = """
import asyncio, os, sys
from hookline.runner import process, spawning
spawning.watch_exit = getattr(spawning, sys.argv[1])
limits = process.ProcessLimits(timeout=30)
call = process.run_process(["bash", "-c", "echo $$ > pid; exec sleep 30"], stdin=b"", cwd=".",
                           env=dict(os.environ), limits=limits)
asyncio.run(call)
"""


async def test_ctrl_c_ends_the_process_with_the_program(request: pytest.FixtureRequest) -> None:
    watch: type[object] = request.node.callspec.params["watch"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", CALLER, watch.__name__]
    program = subprocess.Popen(command, env=env, stderr=subprocess.PIPE)
    pid = (await appears("pid")).read_text()
    program.send_signal(signal.SIGINT)
    errors = await asyncio.to_thread(program.communicate)
    assert b"KeyboardInterrupt" in errors[1]
    assert not is_running(pid)


def test_a_loop_that_is_closed_while_a_call_is_being_cancelled_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "CANCEL_GRACE", 20)
    loop = asyncio.new_event_loop()
    script = "trap '' TERM; echo $$ > pid; while :; do sleep 0.05; done"
    task = loop.create_task(run_script(script, grace=20))
    loop.run_until_complete(appears("pid"))
    task.cancel()
    loop.run_until_complete(asyncio.sleep(0.05))
    coroutine = task.get_coro()
    assert coroutine is not None
    loop.close()
    started = time.monotonic()
    coroutine.close()
    assert time.monotonic() - started < SLACK
    del task
