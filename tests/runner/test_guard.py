"""Hooks do not outlive a program that was killed, and the guard that ends them is no burden."""

import asyncio
import contextlib
import functools
import gc
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hookline.runner import guard as guard_module
from hookline.runner.guard import Guardian
from hookline.runner.process import ProcessLimits, supervise
from hookline.runner.spawning import spawn
from tests.runner.contained import SLACK, appears, comes_true, is_running

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")

AGENT = """
import os, signal, subprocess, sys, time
from hookline.runner.guard import Guardian
guard = Guardian(print)
def start(script):
    hook = subprocess.Popen(["bash", "-c", script], start_new_session=True)
    guard.watch(hook.pid)
    return hook
def when_told():
    while not os.path.exists("go"):
        time.sleep(0.01)
hooks = [start(script) for script in sys.argv[2:]]
print("all watched", file=open("ready", "w"), flush=True)
exec(sys.argv[1])
"""
SLEEPS = "echo $$ > {name}; exec sleep 30"
# More than any process id of Linux.
NOBODY = 9_000_000
STUBBORN = "trap '' TERM; echo $BASHPID > {name}; while :; do sleep 0.05; done"


def run_agent(then: str, *hooks: str) -> "subprocess.Popen[bytes]":
    """Start a program that has these hooks guarded, then goes on as it is told."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", AGENT, then, *hooks], env=environment)


@contextlib.contextmanager
def waiting_agent(*hooks: str) -> Iterator["subprocess.Popen[bytes]"]:
    agent = run_agent("time.sleep(60)", *hooks)
    try:
        yield agent
    finally:
        agent.kill()
        agent.wait()


async def guarded(name: str) -> str:
    """What a hook wrote, once the program's guard knows of it too."""
    await appears("ready")
    return (await appears(name)).read_text()


def sleeper(seconds: int = 30) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", str(seconds)], start_new_session=True)


def stop(*hooks: "subprocess.Popen[bytes]") -> None:
    for hook in hooks:
        hook.kill()
        hook.wait()


def guards(of: int | None = None) -> list[int]:
    """The guards that are children of a process, by default of this one."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            state, parent = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if int(parent) != (of or os.getpid()):
                continue
            deadline = time.monotonic() + 5
            # A program that was started a moment ago has no command line yet.
            while not (words := (entry / "cmdline").read_bytes()) and state != b"Z":
                assert time.monotonic() < deadline
                time.sleep(0.001)
                state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
            if b"hookline-guard" in words:
                found.append(int(entry.name))
    return found


@pytest.fixture(autouse=True)
def _no_guards_of_other_tests() -> None:
    """A system that was not disposed has its guard until the collector comes."""
    gc.collect()


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def guard(warnings: list[str]) -> Iterator[Guardian]:
    made = Guardian(warnings.append)
    yield made
    made.close()
    assert guards() == []


@pytest.mark.parametrize(
    "hook",
    [
        SLEEPS.format(name="pid"),
        STUBBORN.format(name="pid"),
        "echo $$ > pid; kill -STOP $$; sleep 30",
        f"({STUBBORN.format(name='pid')}) & exit",
        f"(({STUBBORN.format(name='pid')}) & sleep 30) & wait",
    ],
    ids=["plain", "ignores TERM", "stopped", "orphaned", "fork in a fork that ignores TERM"],
)
async def test_the_hooks_of_a_killed_program_end_within_a_second(hook: str) -> None:
    with waiting_agent(hook) as agent:
        pid = await guarded("pid")
        agent.kill()
        killed = time.monotonic()
        await comes_true(lambda: not is_running(pid))
        assert time.monotonic() - killed < 1 + SLACK


async def test_a_child_that_ignores_sigterm_ends_though_its_hook_ended_first() -> None:
    """The agent is killed in the grace of a hook that it has told to end."""
    told = "when_told(); os.killpg(hooks[0].pid, signal.SIGTERM); hooks[0].wait(); time.sleep(60)"
    agent = run_agent(told, f"({STUBBORN.format(name='child')}) & wait")
    child = await guarded("child")
    Path("go").touch()
    hook = os.getpgid(int(child))
    await comes_true(lambda: not is_running(hook))
    assert is_running(child)
    agent.kill()
    agent.wait()
    await comes_true(lambda: not is_running(child))


async def test_all_of_fifty_hooks_end_with_their_program() -> None:
    hooks = [SLEEPS.format(name=f"pid{n}") for n in range(50)]
    with waiting_agent(*hooks) as agent:
        pids = [await guarded(f"pid{n}") for n in range(50)]
        agent.kill()
        await comes_true(lambda: not any(map(is_running, pids)))


async def test_a_hook_may_tidy_up_when_its_program_was_killed() -> None:
    hook = "trap 'echo tidy > done; exit' TERM; echo $$ > pid; sleep 30 & wait"
    with waiting_agent(hook) as agent:
        await guarded("pid")
        agent.kill()
        assert (await appears("done")).read_text() == "tidy\n"


@pytest.mark.parametrize("end", ["sys.exit()", "os._exit(3)", "os.kill(os.getpid(), 15)"])
async def test_however_a_program_ends_its_running_hooks_end_too(end: str) -> None:
    agent = run_agent(f"when_told(); {end}", STUBBORN.format(name="pid"))
    pid = await guarded("pid")
    Path("go").touch()
    await asyncio.to_thread(agent.wait)
    await comes_true(lambda: not is_running(pid))


async def test_what_a_finished_hook_left_running_survives_its_program() -> None:
    released = "hooks[0].wait(); guard.release(hooks[0].pid); when_told(); os.kill(os.getpid(), 9)"
    agent = run_agent(released, "sleep 30 & echo $! > pid", SLEEPS.format(name="other"))
    pid, other = [await guarded(name) for name in ("pid", "other")]
    (guard,) = guards(agent.pid)
    Path("go").touch()
    await asyncio.to_thread(agent.wait)
    await comes_true(lambda: not is_running(guard))
    assert not is_running(other)
    assert is_running(pid)
    os.kill(int(pid), signal.SIGKILL)


@pytest.mark.parametrize("end", ["pass", "guard.close()", "del guard, start", "os._exit(0)"])
async def test_a_program_without_running_hooks_leaves_no_guard_behind(end: str) -> None:
    agent = run_agent(
        f"hooks[0].wait(); guard.release(hooks[0].pid); when_told(); {end}", "echo over > done"
    )
    await guarded("done")
    (pid,) = guards(agent.pid)
    Path("go").touch()
    await asyncio.to_thread(agent.wait)
    await comes_true(lambda: not is_running(pid))


def test_it_costs_nothing_before_the_first_hook_and_after_its_end(guard: Guardian) -> None:
    before = count_descriptors()
    assert guards() == []
    hook = sleeper()
    guard.watch(hook.pid)
    assert len(guards()) == 1
    assert count_descriptors() <= before + 2
    guard.release(hook.pid)
    stop(hook)
    assert len(guards()) == 1
    guard.close()
    guard.close()
    assert (guards(), count_descriptors()) == ([], before)


async def test_it_holds_nothing_of_its_program(guard: Guardian) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    hook = sleeper()
    guard.watch(hook.pid)
    (pid,) = guards()
    await comes_true(lambda: os.readlink(f"/proc/{pid}/cwd") == "/")
    assert sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "3"]
    assert os.getsid(pid) == pid
    stop(hook)
    guard.release(hook.pid)
    os.close(reading)
    os.close(writing)


async def test_a_terminal_or_a_polite_request_does_not_end_it(guard: Guardian) -> None:
    hook = sleeper()
    guard.watch(hook.pid)
    (pid,) = guards()
    await comes_true(lambda: os.readlink(f"/proc/{pid}/cwd") == "/")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
        os.kill(pid, number)
    await asyncio.sleep(0.05)
    assert is_running(pid)
    assert is_running(hook.pid)
    stop(hook)
    guard.release(hook.pid)


def test_closed_while_hooks_run_it_stays_until_the_last_of_them_has_ended(guard: Guardian) -> None:
    hooks = [sleeper(), sleeper()]
    for hook in hooks:
        guard.watch(hook.pid)
    guard.close()
    guard.release(hooks[0].pid)
    assert len(guards()) == 1
    assert hooks[1].poll() is None
    guard.release(hooks[1].pid)
    assert guards() == []
    stop(*hooks)


def test_a_hook_after_the_end_is_guarded_as_well(guard: Guardian) -> None:
    guard.close()
    hook = sleeper()
    guard.watch(hook.pid)
    assert len(guards()) == 1
    guard.release(hook.pid)
    assert guards() == []
    stop(hook)


async def test_a_guard_that_was_killed_is_replaced_with_the_next_hook_and_knows_all() -> None:
    first, second = SLEEPS.format(name="first"), SLEEPS.format(name="second")
    agent = run_agent(f"when_told(); start({second!r}); time.sleep(60)", first)
    await appears("ready")
    (killed,) = guards(agent.pid)
    os.kill(killed, signal.SIGKILL)
    await comes_true(lambda: not is_running(killed))
    Path("go").touch()
    pids = [(await appears(name)).read_text() for name in ("first", "second")]
    await comes_true(lambda: len(guards(agent.pid)) == 1)
    agent.kill()
    agent.wait()
    await comes_true(lambda: not any(map(is_running, pids)))


async def test_killing_the_guard_ends_no_hook_and_costs_no_warning(
    guard: Guardian, warnings: list[str]
) -> None:
    hook = sleeper()
    guard.watch(hook.pid)
    os.kill(guards()[0], signal.SIGKILL)
    await comes_true(lambda: not guards())
    guard.release(hook.pid)
    guard.watch(hook.pid)
    assert hook.poll() is None
    assert len(guards()) == 1
    assert warnings == []
    guard.release(hook.pid)
    stop(hook)


def test_one_that_cannot_start_is_told_once_and_tried_again_later(
    guard: Guardian, warnings: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(guard_module, "NEXT_TRY_SECONDS", 0)
    hook = sleeper()
    with monkeypatch.context() as nowhere:
        nowhere.delattr(os, "memfd_create", raising=False)
        nowhere.setenv("TMPDIR", str(tmp_path / "missing"))
        guard.watch(hook.pid)
        guard.watch(hook.pid)
    assert len(warnings) == 1
    assert "cannot start the guard process ([Errno 2]" in warnings[0]
    guard.watch(hook.pid)
    assert len(guards()) == 1
    guard.release(hook.pid)
    stop(hook)


def test_one_that_cannot_start_leaves_no_descriptor(
    guard: Guardian, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = count_descriptors()
    monkeypatch.delattr(os, "posix_spawn")
    guard.watch(NOBODY)
    assert count_descriptors() == before
    assert "(this system has no posix_spawn)" in warnings[0]
    guard.release(NOBODY)


async def test_it_works_without_files_in_memory(
    guard: Guardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    hook = sleeper()
    guard.watch(hook.pid)
    assert len(guards()) == 1
    assert os.listdir(os.environ["TMPDIR"]) == []
    guard.release(hook.pid)
    stop(hook)


def test_it_has_room_for_1024_hooks_and_uses_the_room_of_those_that_ended(
    guard: Guardian, warnings: list[str]
) -> None:
    for pid in range(NOBODY, NOBODY + 1024):
        guard.watch(pid)
    guard.release(NOBODY)
    guard.watch(NOBODY + 2000)
    guard.watch(NOBODY + 2000)
    assert warnings == []
    guard.watch(NOBODY)
    assert len(warnings) == 1
    for pid in (NOBODY + 2000, *range(NOBODY, NOBODY + 1024)):
        guard.release(pid)


def test_more_hooks_than_it_has_room_for_run_unguarded(
    guard: Guardian, warnings: list[str]
) -> None:
    for pid in range(NOBODY, NOBODY + 1030):
        guard.watch(pid)
    assert len(warnings) == 1
    assert "more than 1024 hooks run at once" in warnings[0]
    for pid in range(NOBODY, NOBODY + 1030):
        guard.release(pid)
    guard.watch(NOBODY)
    guard.release(NOBODY)


@pytest.mark.parametrize("pid", [-2, -1, 0, 1])
def test_what_stands_for_more_than_a_hook_is_refused(guard: Guardian, pid: int) -> None:
    with pytest.raises(ValueError, match="would stand for"):
        guard.watch(pid)


async def test_it_knows_no_session_of_a_hook_that_was_stopped(guard: Guardian) -> None:
    script = "setsid sleep 30 & setsid sleep 30 & echo too much; wait"
    child = spawn(["bash", "-c", script], cwd=os.getcwd(), env=os.environ)
    limits = ProcessLimits(timeout=30, grace=20, max_stdout=0)
    outcome = await supervise(
        child, stdin=b"", limits=limits, started=time.monotonic(), called="x", guardian=guard
    )
    assert outcome.ended == "output_limit"
    assert len(guards()) == 1
    guard.close()
    assert guards() == []


def test_threads_share_it(guard: Guardian, warnings: list[str]) -> None:
    def work(first: int) -> None:
        for pid in range(first, first + 500):
            guard.watch(pid)
            guard.release(pid)

    threads = [threading.Thread(target=work, args=(NOBODY + n * 1000,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert warnings == []
    assert len(guards()) == 1


class Garbage:
    """Is only found by the collector, and then releases a hook."""

    def __init__(self, guard: Guardian, pid: int) -> None:
        self._cycle = self
        self._release = functools.partial(guard.release, pid)

    def __del__(self) -> None:
        self._release()


def test_the_collector_may_release_a_hook_while_the_guard_starts(
    guard: Guardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped = mmap.mmap

    def collect(file: int, size: int) -> object:
        gc.collect()
        return mapped(file, size)

    monkeypatch.setattr(mmap, "mmap", collect)
    gc.disable()
    try:
        Garbage(guard, NOBODY)
        guard.watch(NOBODY)
    finally:
        gc.enable()
    assert len(guards()) == 1
    guard.close()
    assert guards() == []


def test_one_that_is_garbage_ends(warnings: list[str]) -> None:
    before = count_descriptors()
    made = Guardian(warnings.append)
    made.watch(NOBODY)
    made.release(NOBODY)
    assert len(guards()) == 1
    del made
    gc.collect()
    assert (guards(), count_descriptors()) == ([], before)


async def test_a_program_that_ignores_its_children_is_guarded_too() -> None:
    second = STUBBORN.format(name="second")
    ignoring = "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"
    agent = run_agent(
        f"{ignoring}; start({second!r}); open('go', 'w').write('on'); time.sleep(60)",
        STUBBORN.format(name="first"),
    )
    pids = [await guarded(name) for name in ("first", "second", "go")][:2]
    assert len(guards(agent.pid)) == 1
    agent.kill()
    agent.wait()
    await comes_true(lambda: not any(map(is_running, pids)))


def test_where_it_can_have_no_session_it_has_a_group_of_its_own(
    guard: Guardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    spawn_process = os.posix_spawn

    def spawn_without_sessions(*program: Any, setsid: bool = False, **options: Any) -> int:
        if setsid:
            raise NotImplementedError
        return spawn_process(*program, **options)

    monkeypatch.setattr(os, "posix_spawn", spawn_without_sessions)
    guard.watch(NOBODY)
    (pid,) = guards()
    assert (os.getpgid(pid), os.getsid(pid)) == (pid, os.getsid(0))
    guard.release(NOBODY)


def test_it_has_no_variables_but_the_path_and_where_python_finds_its_library(
    guard: Guardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/some/lib")
    monkeypatch.delenv("DYLD_LIBRARY_PATH", raising=False)
    guard.watch(NOBODY)
    (pid,) = guards()
    variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
    assert sorted(variables) == ["", "LD_LIBRARY_PATH=/some/lib", f"PATH={os.defpath}"]
    guard.release(NOBODY)


def test_where_descriptors_cannot_be_listed_it_has_no_streams_of_its_program(
    guard: Guardian, monkeypatch: pytest.MonkeyPatch
) -> None:
    listdir = os.listdir

    def list_no_descriptors(path: str) -> list[str]:
        if path == "/dev/fd":
            raise PermissionError
        return listdir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", list_no_descriptors)
        guard.watch(NOBODY)
    (pid,) = guards()
    assert {"1", "2"}.isdisjoint(os.listdir(f"/proc/{pid}/fd"))
    guard.release(NOBODY)


def test_a_full_disk_is_told_before_its_table_is_used(
    guard: Guardian, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = count_descriptors()
    monkeypatch.setattr(os, "pwrite", lambda _file, data, _at: len(data) - 1)
    guard.watch(NOBODY)
    assert "(no space left for its table)" in warnings[0]
    assert (guards(), count_descriptors()) == ([], before)
    guard.release(NOBODY)


def test_what_was_never_watched_can_be_released(guard: Guardian, warnings: list[str]) -> None:
    guard.release(NOBODY)
    for pid in range(NOBODY, NOBODY + 1024):
        guard.watch(pid)
    assert warnings == []
    guard.watch(NOBODY + 1024)
    assert len(warnings) == 1
    for pid in range(NOBODY, NOBODY + 1024):
        guard.release(pid)


def test_a_fork_of_its_program_gives_up_what_belongs_to_the_parent(guard: Guardian) -> None:
    before = count_descriptors()
    guard.watch(NOBODY)
    (pid,) = guards()
    guard.release(NOBODY)
    guard.forget()
    assert count_descriptors() == before
    # It was not killed, and ends by itself once nobody holds its pipe.
    assert os.waitpid(pid, 0)[1] == 0
    guard.watch(NOBODY)
    assert len(guards()) == 1
    guard.release(NOBODY)
