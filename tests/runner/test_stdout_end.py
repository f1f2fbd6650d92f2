"""When the stdout of a command hook is complete: at its exit, at its end, or a while later."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookline.runner import spawning
from hookline.wire.results import HookExecutionResult
from tests.runner.contained import SLACK, WATCHES, is_running
from tests.runner.planned import run_one, script

DENY = """'{"decision":"deny","reason":"no"}'"""
DENIED = {"decision": "deny", "reason": "no"}
# A process that holds the hook's stdout for a minute, and one that holds only its stderr.
HOLDS = "sleep 60 & echo $! > holder; "
HOLDS_STDERR = "sleep 60 > /dev/null & echo $! > holder; "
# What the hook prints comes through another process, and later than the hook's exit.
FILTERED = "exec > >(sleep 0.15; cat); "
HELD = "a background process holds stdout; redirect it"


@pytest.fixture(autouse=True, params=WATCHES)
def watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawning, "watch_exit", request.param)


@pytest.fixture(autouse=True)
def holder() -> Iterator[None]:
    """The process that a hook leaves behind must live on, and ends with the test."""
    yield
    if (file := Path("holder")).exists():
        pid = int(file.read_text())
        assert is_running(pid)
        os.kill(pid, signal.SIGKILL)


async def run_guard(command: str, timeout: float = 60_000) -> HookExecutionResult:
    return await run_one(script(command, on_failure="block", timeout=timeout))


@pytest.mark.parametrize("on_failure", ["allow", "block"])
@pytest.mark.parametrize(
    ("ends", "failed", "output"),
    [
        ("echo no >&2; exit 2", None, DENIED),
        ("echo '{}'; exit 3", "exit", None),
        (f"echo {DENY}", None, DENIED),
        ("""echo '{"continue":false}'""", None, {"continue": False}),
    ],
)
async def test_another_exit_code_or_a_whole_denial_decides_at_once(
    on_failure: str, ends: str, failed: str | None, output: object
) -> None:
    result = await run_one(script(HOLDS + ends, on_failure=on_failure))
    assert (result.failed, result.output) == (failed, output)
    assert result.duration < SLACK * 1000


@pytest.mark.parametrize("on_failure", ["allow", "block"])
async def test_a_denial_behind_a_filter_is_not_lost(on_failure: str) -> None:
    result = await run_one(script(f"{FILTERED}echo {DENY}", on_failure=on_failure))
    assert (result.success, result.output) == (True, DENIED)


async def test_a_guard_is_read_to_the_end_of_its_stdout() -> None:
    late = "(sleep 0.15; echo late) & echo '{}'"
    result = await run_guard(late)
    assert (result.failed, result.stdout) == ("malformed", "{}\nlate\n")
    open_result = await run_one(script(late))
    assert (open_result.success, open_result.stdout) == (True, "{}\n")


async def test_a_late_denial_of_a_guard_decides_when_it_comes() -> None:
    result = await run_guard(f"{HOLDS}{FILTERED}echo {DENY}")
    assert result.output == DENIED
    assert result.duration < SLACK * 1000


@pytest.mark.slow
@pytest.mark.parametrize("printed", ["", "echo '{}'", "echo fine"])
async def test_a_guard_whose_stdout_is_held_until_its_timeout_has_failed(printed: str) -> None:
    result = await run_guard(f"{HOLDS}{printed}", timeout=1_500)
    assert (result.success, result.failed, result.error) == (False, "timeout", HELD)
    assert result.output is None
    assert 1_400 < result.duration < 1_500 + SLACK * 1000


@pytest.mark.slow
async def test_a_guard_whose_stdout_is_held_has_failed_after_five_seconds() -> None:
    began = time.monotonic()
    result = await run_guard(f"{HOLDS}echo '{{}}'")
    assert (result.failed, result.error) == ("timeout", HELD)
    assert 5 <= time.monotonic() - began < 5 + SLACK


@pytest.mark.parametrize("on_failure", ["allow", "block"])
async def test_a_process_that_holds_only_stderr_delays_nothing(on_failure: str) -> None:
    result = await run_one(script(f"{HOLDS_STDERR}echo '{{}}'", on_failure=on_failure))
    assert (result.success, result.output) == (True, {})
    assert result.duration < SLACK * 1000


@pytest.mark.parametrize(("printed", "output"), [("{}", {}), ("fine", "fine")])
async def test_another_hook_is_read_at_its_exit_or_half_a_second_later(
    printed: str, output: object
) -> None:
    result = await run_one(script(f"{HOLDS}echo '{printed}'"))
    assert result.success
    assert (result.output or {}).get("systemMessage", {}) == output
    assert result.duration < SLACK * 1000
    assert (result.duration >= 500) is (printed == "fine")


async def test_a_warm_hook_is_read_to_the_end_of_its_stdout(tmp_path: Path) -> None:
    file = tmp_path / "guard.py"
    file.write_text(
        "import subprocess, sys\n"
        "filter = subprocess.Popen(['sh', '-c', 'sleep 0.15; cat'], stdin=subprocess.PIPE)\n"
        f"filter.stdin.write({DENY[1:-1].encode()!r}); filter.stdin.close()\n"
    )
    hook = script(f"{sys.executable} {file}", on_failure="block", warm=True)
    for _ in range(2):
        assert (await run_one(hook)).output == DENIED
