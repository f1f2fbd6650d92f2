"""A connection serves one call and ends with it, whichever loop, thread or process calls."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from hookline.runner.context import InputDocument, RunContext
from hookline.runner.runner import HookRunner
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookConfig
from hookline.wire.results import HookExecutionPlan, HookExecutionResult
from tests.adapters.http_hooks.asked import answer, http_hook
from tests.adapters.mcp_http.rawserver import RawServer, Request
from tests.runner.planned import TOOL

EVENT = HookEventName.BEFORE_TOOL


async def fire(runner: HookRunner, *hooks: HookConfig) -> tuple[HookExecutionResult, ...]:
    here = str(Path.cwd())
    context = RunContext(
        cwd=here, project_dir=here, session_id="s", why_untrusted=lambda _hook: None
    )
    plan = HookExecutionPlan(EVENT, hooks)
    running: Awaitable[tuple[HookExecutionResult, ...]] = runner.execute_plan(
        plan, InputDocument(EVENT, TOOL), context
    )
    return await running


async def test_each_call_has_a_connection_of_its_own() -> None:
    runner = HookRunner()
    async with RawServer(answer({})) as server:
        for number in range(1, 4):
            await fire(runner, http_hook(server.url))
            while server.left < number:
                await asyncio.sleep(0.005)
    assert (len(server.requests), server.connections) == (3, 3)


async def test_callers_may_have_loops_and_threads_of_their_own() -> None:
    runner = HookRunner()

    def fire_alone(url: str) -> bool:
        (result,) = asyncio.run(fire(runner, http_hook(url)))
        return result.success

    async with RawServer(answer({})) as server:
        with ThreadPoolExecutor(4) as pool:
            loop = asyncio.get_running_loop()
            calls = [loop.run_in_executor(pool, fire_alone, server.url) for _ in range(12)]
            assert all(await asyncio.gather(*calls))
    assert len(server.requests) == 12


async def test_hooks_at_once_have_a_connection_each() -> None:
    runner = HookRunner()
    async with RawServer(answer({})) as server:
        results = await fire(runner, *(http_hook(server.url, name=f"h{n}") for n in range(20)))
        runner.dispose()
    assert all(result.success for result in results)
    assert len(server.requests) == 20


async def test_a_request_that_was_sent_is_not_sent_again() -> None:
    async def hang_up(request: Request) -> None:
        request.hang_up()

    runner = HookRunner()
    async with RawServer(hang_up) as server:
        (result,) = await fire(runner, http_hook(server.url))
    assert (result.failed, len(server.requests)) == ("error", 1)


async def test_requests_that_are_cancelled_at_any_time_leave_no_connection() -> None:
    runner = HookRunner()
    async with RawServer(answer({})) as server:

        async def cancel_after(seconds: float) -> None:
            with suppress(TimeoutError):
                await asyncio.wait_for(fire(runner, http_hook(server.url)), seconds)

        for _ in range(4):
            await asyncio.gather(*(cancel_after(0.002 * number) for number in range(25)))
        while server.connections > server.left:
            await asyncio.sleep(0.005)


async def test_calls_under_way_at_dispose_finish_and_later_ones_work() -> None:
    runner = HookRunner()
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def wait(request: Request) -> None:
        asked.set()
        await go_on.wait()
        await request.answer(b"{}")

    async with RawServer(wait) as server:
        under_way = asyncio.create_task(fire(runner, http_hook(server.url)))
        await asked.wait()
        runner.dispose()
        go_on.set()
        (result,) = await under_way
        (later,) = await fire(runner, http_hook(server.url))
    assert result.success
    assert later.success


CHILD = """
import asyncio, os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
sys.path.insert(0, {root!r})
from tests.adapters.http_hooks.test_lifetime import HookRunner, fire, http_hook

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked.append(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_arguments):
        pass

def once():
    (result,) = asyncio.run(fire(runner, http_hook(url)))
    return result.success

asked = []
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{{server.server_port}}/"
runner = HookRunner()
{body}
"""


def run_alone(body: str) -> subprocess.CompletedProcess[str]:
    root = str(Path(__file__).parents[3])
    code = CHILD.format(root=root, body=body)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_can_call_too() -> None:
    done = run_alone("""
assert once()
pid = os.fork()
if not pid:
    ok = once() and once()
    runner.dispose()
    os._exit(0 if ok else 1)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert once()
runner.dispose()
print("child", code, "requests", len(asked))
""")
    assert (done.stdout, done.stderr) == ("child 0 requests 4\n", "")


def test_a_program_that_ends_without_dispose_ends_quietly_and_at_once() -> None:
    done = run_alone("print(once())")
    assert (done.stdout, done.stderr, done.returncode) == ("True\n", "", 0)
