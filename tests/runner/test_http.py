"""What is so of http hooks without the package they need; tests/adapters has the rest."""

import subprocess
import sys
from pathlib import Path

import pytest

from hookline.wire.hooks import HookSource, HttpHook, OnFailure
from tests.runner.planned import run_one


@pytest.mark.parametrize("on_failure", ["allow", "block"])
async def test_without_h11_the_hook_fails_and_says_what_to_install(
    on_failure: OnFailure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    monkeypatch.delitem(sys.modules, "hookline.runner.http_client", raising=False)
    hook = HttpHook(
        name="h",
        url="http://127.0.0.1:1/",
        source=HookSource.USER,
        on_failure=on_failure,
    )
    result = await run_one(hook)
    assert (result.success, result.failed) == (False, "spawn")
    assert result.error == "http hooks need h11 and httpx; run pip install 'hookline[http]'"


async def test_https_needs_the_authorities_of_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "hookline._support.transport", raising=False)
    hook = HttpHook(name="h", url="https://127.0.0.1:1/", source=HookSource.USER)
    result = await run_one(hook)
    assert (result.success, result.failed) == (False, "spawn")
    assert result.error == "HTTP needs httpx; run pip install 'hookline[http]'"


async def test_a_url_that_is_refused_is_refused_without_httpx_too() -> None:
    result = await run_one(HttpHook(name="h", url="ftp://h/", source=HookSource.USER))
    assert (result.success, result.failed, result.output) == (False, "error", None)


def test_events_of_commands_load_nothing_of_http(tmp_path: Path) -> None:
    code = """
import sys
from hookline import Config, HookSystem
import hookline.runner.runner as module
from hookline.runner.loop import PollLoop
from hookline.runner.context import InputDocument, RunContext
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionPlan

event = HookEventName.BEFORE_TOOL
context = RunContext(cwd=".", project_dir=".", session_id="s", why_untrusted=lambda hook: None)
document = InputDocument(event, {"tool_name": "t", "tool_input": {}})
runner = module.HookRunner()
plan = HookExecutionPlan(event, (CommandHook(name="c", command="true"),))
(result,) = PollLoop().run(runner.execute_plan(plan, document, context))
runner.dispose()
assert result.success
loaded = {"asyncio", "h11", "httpx", "httpcore", "ssl", "hookline.web", "hookline.runner.http"}
print(sorted(loaded & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout == "[]\n", done.stderr
