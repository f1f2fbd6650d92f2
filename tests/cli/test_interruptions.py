"""Readers that go away, full disks, and signals while a hook runs."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from hookline.cli.events import ENDING_SIGNALS, run_on_asyncio, run_to_end
from tests.cli.command import HOOKLINE, command_hook, hookline, settings
from tests.harness.scratch import Project

pytestmark = pytest.mark.slow

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")


@pytest.fixture
def rules(project: Project) -> tuple[str, str]:
    hook = command_hook("echo no >&2; exit 2", name="no")
    return "--settings", str(project.settings(settings("BeforeTool", hook), file="r.json"))


@contextlib.contextmanager
def slow_fire(project: Project, *extra: str) -> Iterator[subprocess.Popen[bytes]]:
    """A fire whose hook and the hook's child have begun to sleep."""
    command = "sleep 30 & echo $! > child; echo $$ > leader; wait"
    file = project.settings(settings("BeforeTool", command_hook(command)), file="slow.json")
    arguments = [*HOOKLINE, *WRITE, "--settings", str(file), *extra]
    process = subprocess.Popen(
        arguments, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        wait_for(project.path / "leader")
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for(file: Path) -> None:
    end = time.monotonic() + 30
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < end, f"{file} never came"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def is_gone(pid: int) -> bool:
    """Whether nothing is left of a process once its new parent has had a moment to wait for it."""
    end = time.monotonic() + 20
    while is_running(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_running(pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_hook_and_its_children_and_says_nothing(
    project: Project, number: signal.Signals
) -> None:
    with slow_fire(project) as process:
        pids = [int((project.path / name).read_text()) for name in ("child", "leader")]
        assert all(map(is_running, pids))
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert (out, err) == (b"", b"")
    assert all(map(is_gone, pids))


LATE = """
import os, signal, sys
from hookline.cli import events

async def work():
    os.kill(os.getpid(), signal.SIGTERM)
    return "nobody heard it"

try:
    print(getattr(events, sys.argv[1])(work()))
except events.Interrupted as error:
    print(error)
"""


HEEDED = """
import signal, sys
from hookline.cli import events

async def work():
    return signal.set_wakeup_fd(-1)

print(getattr(events, sys.argv[1])(work()) != -1, signal.set_wakeup_fd(-1))
"""


@pytest.mark.parametrize("run", ["run_to_end", "run_on_asyncio"])
def test_a_signal_ends_a_wait_that_is_about_to_begin(run: str) -> None:
    command = [sys.executable, "-c", HEEDED, run]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True -1\n", "")


@pytest.mark.parametrize("run", ["run_to_end", "run_on_asyncio"])
def test_a_signal_that_comes_when_nothing_is_left_to_stop_is_not_lost(run: str) -> None:
    command = [sys.executable, "-c", LATE, run]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "SIGTERM\n", "")


def test_ctrl_c_in_the_demo_leaves_no_project_behind(project: Project) -> None:
    hook = command_hook("echo $$ > ../leader; sleep 30", name="slow")
    file = project.settings(settings("SessionStart", hook), file="slow.json")
    arguments = [*HOOKLINE, "demo", "--cwd", str(project.path), "--settings", str(file)]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(project.path / "leader")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, b"")
    assert not list(project.path.glob("hookline-demo-*"))


@pytest.mark.parametrize(
    ("arguments", "status"), [(WRITE, 2), ((*WRITE, "--json"), 2), (("list",), 0)]
)
def test_a_reader_that_has_gone_changes_nothing_but_the_output(
    rules: tuple[str, str], arguments: tuple[str, ...], status: int
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [*HOOKLINE, *arguments, *rules]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (status, "blocked: no\n" if status else "")


@pytest.mark.parametrize("arguments", [["--help"], ["fire", "--help"], ["--version"]])
def test_a_reader_of_the_help_that_has_gone_is_no_error_to_speak_of(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*HOOKLINE, *arguments], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("arguments", [("list",), ("--help",), (*WRITE, "--json")])
def test_a_full_disk_is_one_sentence(rules: tuple[str, str], arguments: tuple[str, ...]) -> None:
    options = () if arguments[0] == "--help" else rules
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*HOOKLINE, *arguments, *options], stdout=full, stderr=subprocess.PIPE, text=True
        )
    lost = "hookline: standard output cannot be written: No space left on device\n"
    # Whoever uses it as a gate is told of a block, readable or not.
    blocked = arguments[0] == "fire"
    assert (done.returncode, done.stderr) == (2, f"blocked: no\n{lost}") if blocked else (1, lost)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_a_block_whose_reason_cannot_be_written_is_one_all_the_same(rules: tuple[str, str]) -> None:
    with open("/dev/full", "wb") as full:
        both = subprocess.run([*HOOKLINE, *WRITE, *rules], stdout=full, stderr=full)
        reason = subprocess.run([*HOOKLINE, *WRITE, *rules], stdout=subprocess.PIPE, stderr=full)
    assert (both.returncode, reason.returncode) == (2, 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_the_help_of_a_verb_is_told_as_lost_too() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*HOOKLINE, "list", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "hookline: standard output cannot be written: No space left on device\n"


def test_what_was_shown_before_an_error_goes_out_before_it(tmp_path: Path) -> None:
    init = subprocess.run([*HOOKLINE, "init"], cwd=tmp_path, capture_output=True)
    assert init.returncode == 0
    done = subprocess.run(
        [*HOOKLINE, "trust"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout.index("#!/bin/sh") < done.stdout.index("hookline: nobody can be asked")


def test_names_for_a_shell_that_does_not_listen_are_no_error(tmp_path: Path) -> None:
    line = 'exec "$@" >&-'
    command = ["sh", "-c", line, "sh", *HOOKLINE, "completion", "--names"]
    done = subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_streams_keep_the_verdict(rules: tuple[str, str]) -> None:
    for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
        line = f'exec "$@" {closed}'
        done = subprocess.run(["sh", "-c", line, "sh", *HOOKLINE, *WRITE, *rules], stdin=None)
        assert done.returncode == 2


def test_a_closed_stdin_is_told() -> None:
    line = 'exec "$@" <&-'
    command = ["sh", "-c", line, "sh", *HOOKLINE, "fire", "BeforeAgent", "--input", "-"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "stdin is closed; give the JSON itself, or @FILE" in done.stderr


def test_a_working_directory_that_is_gone_is_one_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    line = 'rmdir "$0"; exec "$@"'
    command = ["sh", "-c", line, str(gone), *HOOKLINE, "list"]
    done = subprocess.run(command, cwd=gone, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "hookline: cannot go on: No such file or directory\n"


def test_two_commands_at_once_do_not_disturb_each_other(rules: tuple[str, str]) -> None:
    command = [*HOOKLINE, *WRITE, *rules]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=30)[1] for process in both] == ["blocked: no\n"] * 2
    assert hookline("--version").status == 0


@pytest.mark.parametrize("run", [run_to_end, run_on_asyncio])
def test_where_no_signal_can_be_handled_work_is_done_all_the_same(
    run: Callable[[Coroutine[Any, Any, int]], int],
) -> None:
    async def work() -> int:
        return 7

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, work()).result() == 7


@pytest.mark.parametrize("run", [run_to_end, run_on_asyncio])
def test_work_leaves_signals_and_descriptors_as_they_were(
    run: Callable[[Coroutine[Any, Any, int]], int],
) -> None:
    def look() -> tuple[object, ...]:
        # The next descriptor is the lowest that is free.
        free = os.dup(0)
        os.close(free)
        return free, *map(signal.getsignal, ENDING_SIGNALS)

    async def work() -> int:
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        return 7

    before = look()
    assert run(work()) == 7
    assert look() == before
    assert signal.set_wakeup_fd(-1) == -1
