"""Watching a child by descriptor or by thread; either way somebody reaps it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from hookline.runner import spawning
from hookline.runner.loop import Loop
from hookline.runner.spawning import PidfdWatch, Report, ThreadWatch, watch_exit
from tests.runner.contained import (
    SLACK,
    WATCHES,
    comes_true,
    run_script,
    time_begins_with,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


def start(*argv: str) -> int:
    """The pid of a process that only its watch waits for."""
    return os.posix_spawnp(argv[0], argv, os.environ)


def is_reaped(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@LINUX
async def test_a_descriptor_is_used_where_the_system_has_them() -> None:
    ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
    watch = watch_exit(start("sh", "-c", "exit 4"), ended.get_loop(), ended.set_result)
    assert isinstance(watch, PidfdWatch)
    assert os.waitstatus_to_exitcode(await ended or 0) == 4


async def test_a_thread_is_used_where_the_system_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
    watch = watch_exit(start("sh", "-c", "exit 4"), ended.get_loop(), ended.set_result)
    assert isinstance(watch, ThreadWatch)
    assert os.waitstatus_to_exitcode(await ended or 0) == 4


@pytest.mark.parametrize("kind", WATCHES)
async def test_an_end_is_reported_once_however_often_one_asks(
    kind: type[PidfdWatch | ThreadWatch],
) -> None:
    reports: list[int | None] = []
    watch = kind(start("true"), asyncio.get_running_loop(), reports.append)
    while not reports:
        watch.poll()
        time.sleep(0.001)  # noqa: ASYNC251 - the loop must not report it first
    await asyncio.sleep(0.05)
    watch.close()
    assert reports == [0]


@pytest.mark.parametrize("kind", WATCHES)
async def test_of_a_child_that_runs_nothing_is_reported_and_nobody_waits(
    kind: type[PidfdWatch | ThreadWatch],
) -> None:
    reports: list[int | None] = []
    child = start("sleep", "5")
    watch = kind(child, asyncio.get_running_loop(), reports.append)
    watch.poll()
    assert (reports, is_reaped(child)) == ([], False)
    os.kill(child, signal.SIGKILL)
    await comes_true(lambda: reports == [signal.SIGKILL])
    watch.poll()
    assert reports == [signal.SIGKILL]


@pytest.mark.parametrize("kind", WATCHES)
async def test_a_child_nobody_watches_any_more_is_still_reaped(
    kind: type[PidfdWatch | ThreadWatch],
) -> None:
    reports: list[int | None] = []
    child = start("sleep", "0.1")
    kind(child, asyncio.get_running_loop(), reports.append).close()
    await comes_true(lambda: is_reaped(child))
    assert reports == []


@pytest.mark.parametrize("kind", WATCHES)
def test_a_child_that_outlives_its_event_loop_is_still_reaped(
    kind: type[PidfdWatch | ThreadWatch],
) -> None:
    child = start("sleep", "0.1")

    async def watch_a_moment() -> None:
        watch = kind(child, asyncio.get_running_loop(), lambda _status: None)
        asyncio.get_running_loop().call_soon(watch.close)

    asyncio.run(watch_a_moment())
    asyncio.run(comes_true(lambda: is_reaped(child)))


class BlindWatch:
    """Sees no end: what a process in an uninterruptible wait of the kernel looks like."""

    def __init__(self, pid: int, _loop: Loop, _report: Report) -> None:
        self._pid = pid

    def poll(self) -> None:
        pass

    def close(self) -> None:
        spawning.reap_later(self._pid)


async def test_a_process_that_even_sigkill_does_not_end_delays_the_answer_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spawning, "watch_exit", BlindWatch)
    script = "echo so far; echo on > begun; exec sleep 30"
    with time_begins_with("begun"):
        outcome = await run_script(script, timeout=0.2, grace=0.2)
    assert (outcome.ended, outcome.exit_code, outcome.signal) == ("timeout", None, None)
    assert outcome.stdout == b"so far\n"
    assert outcome.error is not None
    assert "has not ended although it was sent SIGKILL" in outcome.error
    assert outcome.duration < 0.4 + SLACK


async def test_a_process_that_cannot_be_watched_is_killed_and_counts_as_not_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_watch(*_arguments: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(spawning, "watch_exit", no_watch)
    outcome = await run_script("exec sleep 30")
    assert outcome.ended == "spawn"
    assert outcome.error is not None
    assert "cannot watch 'bash' run: can't start new thread" in outcome.error


LOST_STATUS = """
import asyncio, os, signal, sys
from hookline.runner import process, spawning
spawning.watch_exit = getattr(spawning, sys.argv[1])
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
limits = process.ProcessLimits(timeout=5)
outcome = asyncio.run(process.run_process(["sh", "-c", "sleep 0.1; echo hi; exit 2"], stdin=b"",
                                          cwd="/", env=dict(os.environ), limits=limits))
print(outcome.ended, outcome.exit_code, outcome.signal, outcome.stdout, outcome.error)
"""


@pytest.mark.parametrize("kind", ["PidfdWatch", "ThreadWatch"])
def test_an_exit_status_that_others_took_is_not_reported_as_exit_0(kind: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LOST_STATUS, kind]
    program = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert program.stdout.startswith(r"exit None None b'hi\n' the exit status of process"), (
        program.stderr
    )
    assert "must not ignore SIGCHLD" in program.stdout


FIRST_PROCESS = """
import asyncio, ctypes, os, sys
from hookline.runner import process, spawning
spawning.watch_exit = getattr(spawning, sys.argv[1])
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
script = "(trap '' TERM; sleep 30) & (sleep 30) & wait"
limits = process.ProcessLimits(timeout=0.2, grace=0.2)
call = process.run_process(["bash", "-c", script], stdin=b"", cwd="/", env=dict(os.environ),
                           limits=limits)
print(asyncio.run(call).ended)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child left")
"""


@LINUX
@pytest.mark.parametrize("kind", ["PidfdWatch", "ThreadWatch"])
def test_the_first_process_of_a_container_reaps_the_orphans_of_what_it_stopped(kind: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", FIRST_PROCESS, kind]
    program = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert program.stdout == "timeout\nno child left\n", program.stderr


def test_a_child_that_no_thread_could_wait_for_is_reaped_with_the_next_watch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    left = [start("true"), start("sleep", "30")]
    os.waitid(os.P_PID, left[0], os.WEXITED | os.WNOWAIT)
    with monkeypatch.context() as no_threads:
        no_threads.setattr(threading.Thread, "start", refuse)
        for pid in left:
            spawning.reap_later(pid)
    assert not is_reaped(left[0])
    asyncio.run(run_script("true"))
    assert [is_reaped(pid) for pid in left] == [True, False]
    os.kill(left[1], signal.SIGKILL)
    os.waitid(os.P_PID, left[1], os.WEXITED | os.WNOWAIT)
    asyncio.run(run_script("true"))
    assert [is_reaped(pid) for pid in left] == [True, True]
