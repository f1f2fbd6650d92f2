"""Connections serve one call after the other, and end with the runner that made them."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
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


def http_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("hookline http")]


async def test_a_connection_is_used_for_one_call_after_the_other() -> None:
    runner = HookRunner()
    async with RawServer(answer({})) as server:
        for _ in range(5):
            await fire(runner, http_hook(server.url))
        runner.dispose()
    assert (len(server.requests), server.connections) == (5, 1)


async def test_callers_with_loops_and_threads_of_their_own_share_the_connections() -> None:
    runner = HookRunner()

    def fire_alone(url: str) -> bool:
        (result,) = asyncio.run(fire(runner, http_hook(url)))
        return result.success

    async with RawServer(answer({})) as server:
        for _ in range(3):
            assert await asyncio.to_thread(fire_alone, server.url)
        assert server.connections == 1
        with ThreadPoolExecutor(4) as pool:
            loop = asyncio.get_running_loop()
            calls = [loop.run_in_executor(pool, fire_alone, server.url) for _ in range(12)]
            assert all(await asyncio.gather(*calls))
        assert len(http_threads()) == 1
        runner.dispose()
    assert len(server.requests) == 15
    assert server.connections <= 4


async def test_hooks_at_once_have_a_connection_each() -> None:
    runner = HookRunner()
    async with RawServer(answer({})) as server:
        results = await fire(runner, *(http_hook(server.url, name=f"h{n}") for n in range(20)))
        runner.dispose()
    assert all(result.success for result in results)
    assert len(server.requests) == 20


@pytest.mark.parametrize(("hooks", "connections"), [(10, 10), (11, 12)])
async def test_ten_connections_at_most_wait_for_the_next_call(hooks: int, connections: int) -> None:
    all_there = asyncio.Barrier(hooks)

    async def meet(request: Request) -> None:
        async with asyncio.timeout(20):
            await all_there.wait()
        await request.answer(b"{}")

    runner = HookRunner()
    async with RawServer(meet) as server:
        for _ in range(2):
            await fire(runner, *(http_hook(server.url, name=str(n)) for n in range(hooks)))
        runner.dispose()
    assert (len(server.requests), server.connections) == (2 * hooks, connections)


async def test_a_connection_that_the_server_closed_in_between_is_made_anew() -> None:
    async def answer_and_close(request: Request) -> None:
        await request.answer(b"{}")
        request.hang_up()

    runner = HookRunner()
    async with RawServer(answer_and_close) as server:
        for number in range(1, 4):
            (result,) = await fire(runner, http_hook(server.url))
            assert result.success
            while server.left < number:
                await asyncio.sleep(0.005)
        runner.dispose()
    assert (len(server.requests), server.connections) == (3, 3)


async def test_a_request_that_was_sent_is_not_sent_again() -> None:
    async def answer_once(request: Request) -> None:
        if len(server.requests) == 1:
            await request.answer(b"{}")
        else:
            request.hang_up()

    runner = HookRunner()
    async with RawServer(answer_once) as server:
        (first,) = await fire(runner, http_hook(server.url))
        (second,) = await fire(runner, http_hook(server.url))
        runner.dispose()
    assert (first.success, second.failed) == (True, "error")
    assert len(server.requests) == 2


async def test_requests_that_are_cancelled_at_any_time_leave_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hookline.runner.http_client.IDLE_SECONDS", 0.05)
    runner = HookRunner()
    async with RawServer(answer({})) as server:

        async def cancel_after(seconds: float) -> None:
            with suppress(TimeoutError):
                await asyncio.wait_for(fire(runner, http_hook(server.url)), seconds)

        for _ in range(4):
            await asyncio.gather(*(cancel_after(0.002 * number) for number in range(25)))
        # The last request closes what waits for none, and has expired.
        await asyncio.sleep(0.1)
        (result,) = await fire(runner, http_hook(server.url))
        assert result.success
        while server.connections - server.left > 1:
            await asyncio.sleep(0.005)
        runner.dispose()


async def test_dispose_ends_the_thread_and_the_connections() -> None:
    runner = HookRunner()
    async with RawServer(answer({})) as server:
        await fire(runner, http_hook(server.url))
        assert len(http_threads()) == 1
        runner.dispose()
        assert http_threads() == []
        while server.left < 1:
            await asyncio.sleep(0.005)
        runner.dispose()


async def test_calls_under_way_at_dispose_finish_and_later_ones_leave_nothing() -> None:
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
        assert result.success
        assert http_threads() == []
        (later,) = await fire(runner, http_hook(server.url))
        assert later.success
        assert http_threads() == []


async def test_a_runner_that_was_disposed_of_before_its_first_call_leaves_nothing() -> None:
    runner = HookRunner()
    runner.dispose()
    async with RawServer(answer({})) as server:
        (result,) = await fire(runner, http_hook(server.url))
    assert result.success
    assert http_threads() == []


async def test_a_runner_that_is_dropped_takes_its_thread_along() -> None:
    runner = HookRunner()
    async with RawServer(answer({})) as server:
        await fire(runner, http_hook(server.url))
        assert len(http_threads()) == 1
        del runner
        gc.collect()
        while http_threads():
            await asyncio.sleep(0.005)


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
def test_a_forked_process_makes_connections_of_its_own() -> None:
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
