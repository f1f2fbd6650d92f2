"""Whatever a hook does there is a result in bounded time and nothing is left of it, on every path.

The paths are the ways a process is started, watched and waited for: as fast as the system allows,
as any system allows, and each of them with asyncio and without.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hookline.contract import Config, HookSystem
from hookline.runner import spawning
from hookline.runner.context import RunLimits
from hookline.wire.results import HookExecutionResult
from tests.harness.leaks import Watch
from tests.harness.scratch import Project
from tests.runner.contained import SLACK, appears, comes_true, is_running
from tests.runner.test_spawning import descriptors_left

pytestmark = pytest.mark.slow

GRACE = 0.1
TIMEOUT = 0.2
STUBBORN = "trap '' TERM; while :; do sleep 0.05; done"
CAP = 100_000


ON_ASYNCIO = ["fast", "portable"]
BLOCKING = ["fast, blocking", "portable, blocking"]


@pytest.fixture(params=[*ON_ASYNCIO, *BLOCKING])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen: str = request.param
    if "portable" in chosen:
        monkeypatch.setattr(spawning, "watch_exit", spawning.ThreadWatch)
        monkeypatch.setattr(spawning, "launch", spawning.launch_portably)
    return chosen


def system_of(hook: Mapping[str, Any], **options: Any) -> HookSystem:
    definition = {"hooks": [{"type": "command", "name": "h", **hook}]}
    return HookSystem(
        Config(
            hooks={"BeforeTool": [definition]},
            limits=RunLimits(kill_grace=GRACE, max_stdout=CAP),
            **options,
        )
    )


def result_of(
    path: str, hook: Mapping[str, Any], *, size: int = 0, **options: Any
) -> HookExecutionResult:
    """What becomes of one hook when an event is fired on that path."""
    payload = {"tool_name": "t", "tool_input": {"padding": "x" * size}}
    system = system_of(hook, **options)
    try:
        if "blocking" in path:
            fired = system.fire_blocking("BeforeTool", payload)
        else:
            fired = asyncio.run(_fired(system, payload))
    finally:
        system.dispose()
    (result,) = fired.results
    return result


async def _fired(system: HookSystem, payload: Mapping[str, Any]) -> Any:
    await system.initialize()
    return await system.get_event_handler().fire("BeforeTool", payload)


def left(no_leaks: Watch) -> list[str]:
    """What is left a moment after the answer: no process, descriptor or thread, if all is well."""
    return no_leaks.settled_leaks(time.monotonic() + SLACK, allowed=frozenset())


TOO_SLOW = {
    "sleeps": "exec sleep 30",
    "ignores TERM": STUBBORN,
    "stops itself": "kill -STOP $$; sleep 30",
    "stops itself and ignores TERM": "trap '' TERM; kill -STOP $$; sleep 30",
    "stops its whole group": "sleep 30 & sleep 30 & kill -STOP -$$; wait",
    "closes its streams and runs on": "exec 0<&- >&- 2>&-; exec sleep 30",
    "forks in a fork that ignores TERM": f"((({STUBBORN}) & {STUBBORN}) & {STUBBORN}) & wait",
    "dies of TERM, not so its children": f"({STUBBORN}) & ({STUBBORN}) & wait",
    "prints on and on": "while echo on; do sleep 0.01; done",
    "continues whom it stops": "(while :; do kill -STOP $$; kill -CONT $$; done) & wait",
}


@pytest.mark.parametrize("script", TOO_SLOW.values(), ids=TOO_SLOW)
def test_a_hook_over_its_time_is_stopped_with_all_it_started(
    script: str, path: str, no_leaks: Watch
) -> None:
    started = time.monotonic()
    result = result_of(path, {"command": script, "timeout": TIMEOUT * 1000})
    assert (result.failed, result.success, result.output) == ("timeout", False, None)
    assert TIMEOUT <= time.monotonic() - started < TIMEOUT + GRACE + SLACK
    assert left(no_leaks) == []


ENDS_BADLY = {
    "kills its parent shell": ("(kill -KILL $$) & wait", "signal"),
    "kills its group": ("sleep 30 & kill -KILL -$$; wait", "signal"),
    "floods stdout": ("yes", "output_limit"),
    "floods stdout and ignores TERM": ("trap '' TERM; yes & yes & wait", "output_limit"),
    "floods both streams": ("yes & yes >&2 & wait", "output_limit"),
}


@pytest.mark.parametrize(("script", "failed"), ENDS_BADLY.values(), ids=ENDS_BADLY)
def test_a_hook_that_ends_badly_is_a_failed_result(
    script: str, failed: str, path: str, no_leaks: Watch
) -> None:
    started = time.monotonic()
    result = result_of(path, {"command": script, "timeout": 20_000})
    assert (result.failed, result.exit_code, result.output) == (failed, None, None)
    assert len(result.stdout) <= CAP
    assert time.monotonic() - started < GRACE + SLACK
    assert left(no_leaks) == []


@pytest.mark.parametrize(
    "script",
    ["sleep 0.1; echo {}", "exec 0<&-; sleep 0.1; echo {}", "head -c 5 >/dev/null; echo {}"],
)
def test_ten_megabytes_of_input_that_nobody_reads_hold_up_nobody(
    script: str, path: str, no_leaks: Watch
) -> None:
    result = result_of(path, {"command": script}, size=10_000_000)
    assert (result.failed, result.exit_code, result.stdout) == (None, 0, "{}\n")
    assert left(no_leaks) == []


def test_what_a_finished_hook_left_running_lives_on(path: str) -> None:
    started = time.monotonic()
    result = result_of(path, {"command": "sleep 20 & echo $! > pid; echo {}"})
    assert (result.success, result.output) == (True, {})
    assert time.monotonic() - started < 20
    pid = int(Path("pid").read_text())
    assert is_running(pid)
    os.kill(pid, 9)


@pytest.mark.parametrize(
    ("hook", "problem"),
    [
        ({"command": "./missing", "args": []}, "there is no such file"),
        ({"command": "no-such-program", "args": []}, "was not found on the PATH"),
        ({"command": "./plain.sh", "args": []}, "is not executable; run chmod +x"),
        ({"command": "./folder", "args": []}, "is a directory"),
        ({"command": "./broken.sh", "args": []}, "names '/no/such/shell', which does not exist"),
        ({"command": "true", "args": ["x" * 5_000_000]}, "too long for the system"),
        ({"command": "true", "env": {"LONG": "x" * 5_000_000}}, "too long for the system"),
        ({"command": "echo {};", "env": {"LONG": "x" * 5_000_000}}, "too long for the system"),
        (
            {"command": "true", "env": {f"V{n}": "x" * 100_000 for n in range(100)}},
            "too long for the system",
        ),
    ],
)
def test_what_cannot_be_started_is_a_failed_result_that_says_why(
    hook: dict[str, Any], problem: str, path: str, project: Project, no_leaks: Watch
) -> None:
    project.write("plain.sh", "#!/bin/sh\n")
    project.script("broken.sh", "#!/no/such/shell\n")
    (project.path / "folder").mkdir()
    result = result_of(path, hook, working_dir=project.path)
    assert (result.failed, result.success, result.exit_code) == ("spawn", False, None)
    assert problem in str(result.error)
    assert left(no_leaks) == []


@pytest.mark.parametrize(
    ("command", "code"),
    [("./missing", 127), ("no-such-program", 127), ("./plain.sh", 126), ("./folder", 126)],
)
def test_a_shell_says_by_its_exit_code_what_it_could_not_start(
    command: str, code: int, path: str, project: Project, no_leaks: Watch
) -> None:
    project.write("plain.sh", "#!/bin/sh\n")
    (project.path / "folder").mkdir()
    result = result_of(path, {"command": command}, working_dir=project.path)
    assert (result.failed, result.exit_code) == ("exit", code)
    assert command.removeprefix("./") in result.stderr
    assert left(no_leaks) == []


@pytest.mark.parametrize("command", ["true", "echo {};"])
def test_a_missing_working_directory_is_a_failed_result(
    command: str, path: str, tmp_path: Path, no_leaks: Watch
) -> None:
    result = result_of(path, {"command": command}, working_dir=tmp_path / "gone")
    assert result.failed == "spawn"
    assert f"the working directory {str(tmp_path / 'gone')!r} does not exist" in str(result.error)
    assert left(no_leaks) == []


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("path", ON_ASYNCIO, indirect=True)
@pytest.mark.parametrize("command", ["echo {};", "cat"])
def test_however_few_descriptors_are_left_there_is_a_result(command: str, no_leaks: Watch) -> None:
    outcomes = set()

    async def fire_with_few_descriptors() -> None:
        async with system_of({"command": command}) as system:
            for count in (*range(14), 60):
                with descriptors_left(count):
                    handler = system.get_event_handler()
                    fired = await handler.fire_before_tool_event("t", {})
                (result,) = fired.results
                outcomes.add((result.failed, result.exit_code))
                if result.failed:
                    assert "too many files open" in str(result.error)

    asyncio.run(fire_with_few_descriptors())
    assert outcomes == {("spawn", None), (None, 0)}
    assert left(no_leaks) == []


# A hook system in a program that is told what to do between two events.
PROGRAM = """
import asyncio, os, resource, sys
from hookline.contract import Config
from hookline.runner import spawning
from hookline.contract import HookSystem
path, command, between = sys.argv[1:]
if "portable" in path:
    spawning.watch_exit = spawning.ThreadWatch
    spawning.launch = spawning.launch_portably
hooks = {"BeforeTool": [{"hooks": [{"type": "command", "command": command}]}]}
system = HookSystem(Config(hooks=hooks, working_dir="/"))
payload = {"tool_name": "t", "tool_input": {}}
system.initialize_blocking()
async def fire():
    return await system.get_event_handler().fire("BeforeTool", payload)
def fire_once(runner):
    fired = system.fire_blocking("BeforeTool", payload) if "blocking" in path else (
        runner.run(fire()))
    print(fired.results[0].failed, fired.results[0].error, flush=True)
with asyncio.Runner() as runner:
    runner.get_loop()
    fire_once(runner)
    exec(between)
    fire_once(runner)
system.dispose()
"""
NO_PROCESSES = """
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
if os.geteuid() == 0:
    os.setuid(65534)
"""


def program(path: str, command: str, between: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, path, command, between]


def run_program(path: str, command: str, between: str) -> list[str]:
    """What two events came to, with something done between them, by a program of its own."""
    done = subprocess.run(
        program(path, command, between),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("path", [ON_ASYNCIO[0], BLOCKING[0]])
@pytest.mark.parametrize("command", ["true", "echo {};"])
def test_no_processes_left_is_a_failed_result(command: str, path: str) -> None:
    first, second = run_program(path, command, NO_PROCESSES)
    assert first == "None None"
    assert second.startswith("spawn cannot start")
    assert "there are too many processes; end some" in second


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave all files behind")
def test_a_missing_shell_is_a_failed_result(path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    leave = f"os.chroot({str(tmp_path / 'empty')!r}); os.chdir('/')"
    first, second = run_program(path, "echo {};", leave)
    assert first == "None None"
    assert second.startswith("spawn cannot start")
    assert "bash': there is no such file" in second


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux")
@pytest.mark.parametrize("script", ["echo $$ > pid; exec sleep 30", f"echo $$ > pid; {STUBBORN}"])
async def test_the_hooks_of_a_program_killed_by_sigkill_do_not_outlive_it(
    script: str, path: str
) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = f"cd {Path.cwd()}; {script}"
    agent = subprocess.Popen(program(path, command, "pass"), env=environment)
    pid = (await appears("pid")).read_text()
    await comes_true(lambda: _has_guard(agent.pid))
    agent.kill()
    agent.wait()
    killed = time.monotonic()
    await comes_true(lambda: not is_running(pid))
    assert time.monotonic() - killed < 1 + SLACK


def _has_guard(pid: int) -> bool:
    """Whether a child of a process is a guard."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
            parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == pid and b"hookline-guard" in words:
            return True
    return False


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("path", ON_ASYNCIO, indirect=True)
@pytest.mark.parametrize("script", TOO_SLOW.values(), ids=TOO_SLOW)
def test_a_cancelled_event_leaves_nothing(script: str, no_leaks: Watch) -> None:
    async def cancel() -> None:
        async with system_of({"command": f"echo on > began; {script}"}) as system:
            handler = system.get_event_handler()
            firing = asyncio.create_task(handler.fire_before_tool_event("t", {}))
            await appears("began")
            firing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(firing, 1 + SLACK)

    asyncio.run(cancel())
    assert left(no_leaks) == []


def test_a_hundred_hostile_hooks_at_once_leave_nothing(path: str, no_leaks: Watch) -> None:
    """Half of them in time, half of them not, and none gets another's answer."""
    scripts = [f'sleep 0.0{n % 10}; echo \'{{"reason":"{n}"}}\'' for n in range(50)]
    hooks = [{"type": "command", "name": f"h{n}", "command": s} for n, s in enumerate(scripts)]
    slow = [
        {"type": "command", "name": f"s{n}", "command": f"{s} #{n}", "timeout": 500}
        for n, s in enumerate([*TOO_SLOW.values()] * 5)
    ]
    config = Config(
        hooks={"BeforeTool": [{"hooks": [*hooks, *slow]}]}, limits=RunLimits(kill_grace=GRACE)
    )
    system = HookSystem(config)
    payload = {"tool_name": "t", "tool_input": {}}
    if "blocking" in path:
        fired = system.fire_blocking("BeforeTool", payload)
    else:
        fired = asyncio.run(_fired(system, payload))
    system.dispose()
    answers = [result.output for result in fired.results[:50]]
    assert answers == [{"reason": str(n)} for n in range(50)]
    assert {result.failed for result in fired.results[50:]} == {"timeout"}
    assert left(no_leaks) == []
