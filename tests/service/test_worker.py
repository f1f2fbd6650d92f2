"""Workers as processes: what they serve, how they end, and what becomes of requests when they do
not end well."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from hookline.bus import request_hook_execution
from hookline.bus.nats import BusConnectionError, NatsMessageBus
from hookline.contract import Config
from tests.eleven import Json, answering, command, on_every_event, until
from tests.harness.scratch import Project
from tests.natsserver import expiring
from tests.service.workers import worker

pytestmark = pytest.mark.slow  # workers, each a process of its own

TOOL: Json = {"tool_name": "read", "tool_input": {}}
HELD = command("echo $$ > pid.part; mv pid.part pid; while [ ! -e go ]; do sleep 0.01; done")


@pytest.fixture
def url(nats_url: str, prefix: str) -> str:
    return f"{nats_url}?prefix={prefix}"


def ask(bus: NatsMessageBus, *, timeout: float = 30) -> "asyncio.Task[Any]":
    return asyncio.create_task(request_hook_execution(bus, "BeforeTool", TOOL, timeout=timeout))


async def test_a_worker_serves_the_hooks_of_its_directory(project: Project, url: str) -> None:
    project.settings({"hooks": on_every_event(answering('{"decision":"deny","reason":"no"}'))})
    with worker(project.path, url) as serving:
        async with NatsMessageBus.from_url(url) as bus:
            response = await ask(bus)
            [status] = await bus.ask_workers()
        assert serving.end() == 0
    assert response["output"]["finalOutput"]["reason"] == "no"
    assert (status["hooks"], status["answered"], status["state"]) == (11, 1, "connected")
    assert f"serving 11 hooks of {project.path}" in serving.said
    assert "ended: connected; 1 answered, 0 failed, 0 refused" in serving.said


async def test_changed_settings_are_served_without_a_restart(project: Project, url: str) -> None:
    project.settings({"hooks": {}})
    with worker(project.path, url, "--allow-empty") as serving:
        async with NatsMessageBus.from_url(url) as bus:
            assert (await ask(bus))["output"]["finalOutput"] is None
            project.settings({"hooks": on_every_event(answering('{"decision":"deny"}'))})
            serving.wait_until_said("settings have changed; serving 11 hooks now")
            assert (await ask(bus))["output"]["finalOutput"]["decision"] == "deny"


async def test_told_to_end_it_finishes_what_it_holds_and_takes_nothing_new(
    project: Project, url: str
) -> None:
    project.settings({"hooks": on_every_event(HELD)})
    with worker(project.path, url, "--concurrency", "1") as serving:
        async with NatsMessageBus.from_url(url) as bus:
            held = [ask(bus), ask(bus)]
            await until((project.path / "pid").exists)
            await until_waiting(bus, 1)
            serving.process.send_signal(signal.SIGTERM)
            serving.wait_until_said("ending: finishing")
            await asyncio.sleep(0.1)
            late = await ask(bus)
            (project.path / "go").touch()
            responses = await asyncio.gather(*held)
        assert serving.process.wait(20) == 0
    assert late["error"]["code"] == "unavailable"
    assert [response["success"] for response in responses] == [True, True]


async def until_waiting(bus: NatsMessageBus, count: int) -> None:
    async with asyncio.timeout(20):
        while (await bus.ask_workers(silence=0.05))[0]["waiting"] != count:
            await asyncio.sleep(0.01)


async def test_told_twice_it_ends_its_hooks_and_answers_that_it_did(
    project: Project, url: str
) -> None:
    project.settings({"hooks": on_every_event(HELD)})
    with worker(project.path, url) as serving:
        async with NatsMessageBus.from_url(url) as bus:
            held = ask(bus)
            await until((project.path / "pid").exists)
            serving.process.send_signal(signal.SIGINT)
            serving.wait_until_said("ending: finishing")
            assert serving.end(signal.SIGINT) == 0
            response = await held
    assert "ending at once: accepted requests are answered as failed" in serving.said
    assert response["error"]["code"] == "execution_failed"
    assert not is_running(int((project.path / "pid").read_text()))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_worker_killed_while_executing_is_an_explicit_failure_at_the_deadline(
    project: Project, url: str
) -> None:
    project.settings({"hooks": on_every_event(HELD)})
    with worker(project.path, url) as serving:
        async with NatsMessageBus.from_url(url) as bus:
            before = time.monotonic()
            held = ask(bus, timeout=2)
            await until((project.path / "pid").exists)
            assert serving.end(signal.SIGKILL) == -signal.SIGKILL
            response = await held
            assert time.monotonic() - before < 15
            after = await ask(bus)
    (project.path / "go").touch()
    await until(lambda: not is_running(int((project.path / "pid").read_text())))
    assert response["error"]["code"] == "timeout"
    assert after["error"]["code"] == "unavailable"


async def test_what_a_killed_worker_leaves_goes_to_the_others_and_runs_once(
    project: Project, url: str
) -> None:
    hook = command("cat >/dev/null; echo $$ >> ran; sleep 0.02; echo '{}'")
    project.settings({"hooks": on_every_event(hook)})
    with (
        worker(project.path, url, "--concurrency", "2") as doomed,
        worker(project.path, url, "--concurrency", "2"),
    ):
        async with NatsMessageBus.from_url(url) as bus:
            asked = [ask(bus, timeout=4) for _ in range(40)]
            await until((project.path / "ran").exists)
            doomed.end(signal.SIGKILL)
            responses = await asyncio.gather(*asked)
    answered = [response for response in responses if response["success"]]
    failed = [response["error"]["code"] for response in responses if not response["success"]]
    ran = (project.path / "ran").read_text().split()
    assert len(answered) + len(failed) == 40
    assert set(failed) <= {"timeout"}
    # What the doomed one had begun may have run without an answer; nothing ran twice.
    assert len(answered) <= len(ran) == len(set(ran)) <= 40


async def test_a_slow_worker_leaves_its_share_to_the_others(project: Project, url: str) -> None:
    slow = Project(project.path.parent / "slow")
    slow.settings({"hooks": on_every_event(HELD)})
    project.settings({"hooks": on_every_event(answering('{"reason":"fast"}'))})
    with (
        worker(slow.path, url, "--concurrency", "1"),
        worker(project.path, url, "--concurrency", "4"),
    ):
        async with NatsMessageBus.from_url(url) as bus:
            stuck = [ask(bus) for _ in range(30)]
            done: set[Any] = set()
            async with asyncio.timeout(20):
                while len(done) < 29:
                    done, _ = await asyncio.wait(stuck, timeout=0.05)
            (slow.path / "go").touch()
            responses = await asyncio.gather(*stuck)
    assert all(response["success"] for response in responses)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--queue", ""), "'' cannot be the name of a queue"),
        (("--queue", "a b"), "'a b' cannot be the name of a queue"),
        (("--events", ","), "--events: name at least one"),
        (("--health", "nan"), "--health: nan is not a time to wait"),
    ],
)
def test_a_worker_that_would_serve_in_vain_does_not_start(
    project: Project, url: str, options: tuple[str, ...], said: str
) -> None:
    command = [sys.executable, "-m", "hookline", "serve", "--bus", url, *options]
    ended = subprocess.run(command, cwd=project.path, capture_output=True, text=True, timeout=30)
    assert ended.returncode == 1
    assert said in ended.stderr


async def test_a_worker_told_to_end_under_load_answers_all_it_took(
    project: Project, url: str
) -> None:
    project.settings({"hooks": on_every_event(command("echo '{}'"))})
    with worker(project.path, url, "--concurrency", "2") as serving:
        async with NatsMessageBus.from_url(url) as bus:
            asked = [ask(bus) for _ in range(40)]
            await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            assert await asyncio.to_thread(serving.end) == 0
            responses = await asyncio.gather(*asked)
    codes = [response.get("error", {}).get("code") for response in responses]
    assert {*codes} <= {None, "unavailable"}
    assert f"{codes.count(None)} answered, 0 failed, 0 refused" in serving.said


def test_no_thread_or_loop_is_needed_to_know_how_a_worker_is() -> None:
    from hookline.service.worker import WorkerStatus

    status = WorkerStatus(
        "host:1", 2, "connected", 1, 0, 0, 1.0, 3, 2, 0, 1, {"busy": 1}, {}, {"p50": 1.4}
    )
    assert str(status) == (
        "connected; 2 answered, 0 failed, 1 refused; 1 running, 0 waiting; p50 1 ms"
    )


def test_a_status_counts_failures_of_every_code_and_ends_with_settings_that_are_refused() -> None:
    from hookline.service.worker import WorkerStatus

    refused, failed = {"copy": 1, "busy": 3}, {"timeout": 2, "odd": 1}
    status = WorkerStatus(
        "host:1", 2, "connected", 5, 6, 0, 1.0, 9, 7, 0, 8, refused, failed, {}, "", "broken"
    )
    assert str(status) == (
        "connected; 7 answered, 3 failed, 4 refused; 5 running, 6 waiting; "
        "changed settings are not used: broken"
    )


@pytest.mark.parametrize(("count", "said"), [(1, "serving 1 hook of"), (2, "serving 2 hooks of")])
async def test_a_worker_says_how_many_hooks_it_serves_and_under_which_policy(
    project: Project, url: str, count: int, said: str
) -> None:
    from hookline.service.worker import Worker

    project.settings(
        {"hooks": {"BeforeTool": [{"hooks": [command(f"true {n}")]} for n in range(count)]}}
    )
    told: list[str] = []

    def hear(text: str) -> None:
        told.append(text)
        serving.end()

    config = Config.load(project.path, trusted=True)
    serving = Worker(NatsMessageBus.from_url(url), config.project, say=hear)
    async with asyncio.timeout(20):
        await serving.run()
    assert told[0] == f"{said} {project.path}, policy {serving.status().policy}"


def served_here(project: Project, url: str, told: list[str], **options: Any) -> Any:
    """A worker of one hook in this process, and its bus."""
    from hookline.service.worker import Worker

    project.settings({"hooks": {"BeforeTool": [{"hooks": [command("true")]}]}})
    bus = NatsMessageBus.from_url(url)
    config = Config.load(project.path, trusted=True)
    return Worker(bus, config.project, say=told.append, **options), bus


async def test_a_worker_whose_bus_is_lost_for_good_ends_with_an_error(
    project: Project, url: str
) -> None:
    told: list[str] = []
    async with expiring(url) as relay:
        serving, bus = served_here(project, relay.url, told)
        running = asyncio.create_task(serving.run())
        await until(lambda: told != [])
        relay.expire()
        with pytest.raises(BusConnectionError, match=f"the connection to {bus.address} has ended"):
            await asyncio.wait_for(running, 20)
    assert len(told) == 1


async def test_a_worker_that_cannot_watch_its_settings_serves_them_and_says_so(
    project: Project, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    told: list[str] = []
    serving, bus = served_here(project, url, told)
    running = asyncio.create_task(serving.run())
    await until(lambda: told != [])
    assert (await ask(bus))["success"] is True
    serving.end()
    await asyncio.wait_for(running, 20)
    said = "cannot watch the settings, restart the worker after changing them: "
    assert caplog.text.count(said) == 1
    assert bus.state == "closed"


async def test_a_worker_says_how_it_is_until_it_ends_and_leaves_no_task(
    project: Project, url: str
) -> None:
    told: list[str] = []
    serving, bus = served_here(project, url, told, health_seconds=0.01)
    before = asyncio.all_tasks()
    running = asyncio.create_task(serving.run())
    await until(lambda: len(told) >= 2)
    assert told[1] == str(serving.status())
    serving.end()
    await asyncio.wait_for(running, 20)
    assert [text.partition(":")[0] for text in told[-2:]] == ["ending", "ended"]
    assert "ending at once" not in "".join(told)
    assert asyncio.all_tasks() == before
    assert bus.state == "closed"


async def test_a_hook_that_is_switched_off_is_not_counted(project: Project, url: str) -> None:
    from hookline.service.worker import Worker

    hooks = [{**command("true"), "name": "on"}, {**command("true"), "name": "off"}]
    config = Config(
        working_dir=project.path, hooks={"BeforeTool": [{"hooks": hooks}]}, disabled=["off"]
    )
    told: list[str] = []
    serving = Worker(NatsMessageBus.from_url(url), config.project, say=told.append)
    running = asyncio.create_task(serving.run())
    await until(lambda: told != [])
    assert told[0].startswith("serving 1 hook of ")
    assert serving.status().hooks == 1
    serving.end()
    await asyncio.wait_for(running, 20)
