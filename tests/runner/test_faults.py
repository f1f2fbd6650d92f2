"""Whichever call of the system fails, every hook has a result, and nothing is raised or left."""

import asyncio
import itertools
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from hookline.runner import spawning
from hookline.runner.context import InputDocument, RunContext
from hookline.runner.loop import PollLoop
from hookline.runner.runner import HookRunner
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionPlan, HookExecutionResult
from tests.harness.leaks import Watch
from tests.runner.contained import comes_true
from tests.runner.faults import Faults
from tests.runner.planned import script

pytestmark = pytest.mark.slow


def ignore(_warning: str) -> None: ...


async def fire(runner: HookRunner, hook: CommandHook) -> HookExecutionResult:
    here, event = str(Path.cwd()), HookEventName.BEFORE_TOOL
    (result,) = await runner.execute_plan(
        HookExecutionPlan(event, (hook,), False),
        InputDocument(event, {"tool_name": "t", "tool_input": {"padding": "x" * 100_000}}),
        RunContext(cwd=here, project_dir=here, session_id="s", why_untrusted=lambda _hook: None),
    )
    return result


def check(result: HookExecutionResult, faults: Faults) -> None:
    assert (result.failed, result.exit_code) in ((None, 0), ("spawn", None)), faults.failed
    assert (result.error is None) == (result.failed is None), faults.failed


def left(no_leaks: Watch) -> list[str]:
    return no_leaks.settled_leaks(time.monotonic() + 10, allowed=frozenset())


def on_poll(work: Coroutine[Any, Any, HookExecutionResult]) -> HookExecutionResult:
    return PollLoop().run(work)


@pytest.mark.parametrize("loop", [asyncio.run, on_poll])
@pytest.mark.parametrize("is_portable", [False, True], ids=["fast", "portable"])
def test_a_hook_runs_or_says_why_not_whichever_call_fails(
    loop: Callable[..., HookExecutionResult],
    is_portable: bool,
    monkeypatch: pytest.MonkeyPatch,
    no_leaks: Watch,
) -> None:
    if is_portable:
        monkeypatch.setattr(spawning, "launch", spawning.launch_portably)
        monkeypatch.setattr(spawning, "watch_exit", spawning.ThreadWatch)
    faults = Faults(monkeypatch)
    for number in itertools.count(1):
        runner = HookRunner(warn=ignore)

        async def work(runner: HookRunner = runner, number: int = number) -> HookExecutionResult:
            with faults.at(number):
                return await fire(runner, script("cat >/dev/null; echo '{}'"))

        check(loop(work()), faults)
        runner.dispose()
        assert left(no_leaks) == [], faults.failed
        if faults.failed is None:
            break


def test_a_hook_that_is_to_be_warm_runs_warm_or_cold_whichever_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_leaks: Watch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.py").write_text("import json, sys\njson.load(sys.stdin)\nprint('{}')\n")
    os.utime("x.py", (1e9, 1e9))
    hook = script(f"{sys.executable} x.py", warm=True)
    faults = Faults(monkeypatch)

    async def twice(runner: HookRunner) -> HookExecutionResult:
        check(await fire(runner, hook), faults)
        await comes_true(lambda: is_settled(runner))
        return await fire(runner, hook)

    for number in itertools.count(1):
        runner = HookRunner(warn=ignore)
        with asyncio.Runner() as loop, faults.at(number):
            loop.get_loop()
            check(loop.run(twice(runner)), faults)
            runner.dispose()
        assert left(no_leaks) == [], faults.failed
        if faults.failed is None:
            break


def is_settled(runner: HookRunner) -> bool:
    """Whether its template can serve, or never will."""
    pool = None if runner._commands is None else runner._commands._pool
    templates = pool._templates.values() if pool is not None else ()
    return all(template.is_ready or template.is_over for template in templates)


def test_a_child_that_no_thread_can_wait_for_is_reaped_with_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pid = os.posix_spawnp("true", ["true"], os.environ)
    with monkeypatch.context() as patch, Faults(patch).at(1):
        spawning.reap_later(pid)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    runner = HookRunner(warn=ignore)
    on_poll(fire(runner, script("echo '{}'; exit")))
    runner.dispose()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
