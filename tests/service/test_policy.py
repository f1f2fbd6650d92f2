"""A worker without its policy would allow everything to everybody: it does not start, and keeps the
policy it has."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import request_hook_execution
from hookline.bus.nats import NatsMessageBus
from hookline.contract import Config, HookSystem
from tests.cli.command import hookline
from tests.eleven import Json, answering, command, on_every_event
from tests.engine.test_remote_blocking import fire
from tests.harness.scratch import Project
from tests.service.workers import WorkerProcess, worker

pytestmark = pytest.mark.slow  # workers, each a process of its own

DENY = answering('{"decision":"deny","reason":"no"}', name="guard")
GUARDED: Json = {"hooks": on_every_event(DENY)}
TOOL: Json = {"tool_name": "read", "tool_input": {}}


@pytest.fixture
def url(nats_url: str, prefix: str) -> str:
    return f"{nats_url}?prefix={prefix}"


def start(project: Project, *options: str) -> "subprocess.CompletedProcess[str]":
    """A worker whose bus cannot be reached: what it says of its policy, it says before."""
    words = ["serve", "--bus", "nats://127.0.0.1:1", *options]
    return subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        cwd=project.path,
        capture_output=True,
        text=True,
        timeout=30,
    )


REFUSED: dict[str, tuple[Any, str]] = {
    "no file and no hook": (None, "it has no hook to serve"),
    "no hooks": ({"hooks": {}}, "it has no hook to serve"),
    "hooks disabled": ({"enableHooks": False, **GUARDED}, "all of its hooks are disabled"),
    "each hook disabled": (
        {"hooks": {**GUARDED["hooks"], "disabled": ["guard"]}},
        "all of its hooks are disabled",
    ),
    "a stray brace": ('{"hooks": {{}}', "settings.json:1:12: "),
    "no object": ("[]", "must hold an object"),
    "an entry without a command": (
        {"hooks": {"BeforeTool": [{"hooks": [DENY, {"type": "command"}]}]}},
        "a command hook needs a command",
    ),
    "an unknown event": ({"hooks": {**GUARDED["hooks"], "BeforeTol": []}}, "BeforeTol"),
}


def write(project: Project, settings: Any) -> None:
    if isinstance(settings, str):
        (project.path / ".hookline" / "settings.json").write_text(settings)
    elif settings is not None:
        project.settings(settings)


@pytest.mark.parametrize("what", REFUSED)
def test_a_worker_without_a_good_policy_does_not_start(project: Project, what: str) -> None:
    settings, said = REFUSED[what]
    project.settings({})
    write(project, settings)
    done = start(project, "--trust")
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("hookline: the worker does not start: ")
    assert said in done.stderr


def test_a_worker_does_not_start_with_hooks_that_nobody_has_reviewed(project: Project) -> None:
    project.settings({"hooks": {"BeforeTool": [{"hooks": [DENY]}]}})
    for options in ((), ("--no-trust",), ("--allow-empty",)):
        done = start(project, *options)
        assert done.returncode == 1
        assert done.stderr == (
            "hookline: the worker does not start: 1 hook is not trusted ('guard'); review it with "
            "`hookline trust`\n"
        )


def test_hooks_of_events_that_are_not_served_are_none_to_serve(project: Project) -> None:
    project.settings({"hooks": {"AfterTool": [{"hooks": [DENY]}]}})
    done = start(project, "--trust", "--events", "BeforeTool,BeforeAgent")
    assert done.returncode == 1
    assert "it has no hook to serve on BeforeAgent and BeforeTool" in done.stderr
    assert "cannot connect" in start(project, "--trust", "--events", "AfterTool").stderr


@pytest.mark.parametrize("what", REFUSED)
def test_who_means_an_empty_policy_says_so_and_nothing_else(project: Project, what: str) -> None:
    settings, _ = REFUSED[what]
    project.settings({})
    write(project, settings)
    done = start(project, "--trust", "--allow-empty")
    assert done.returncode == 1
    assert ("cannot connect" in done.stderr) is ("hook" in what)


async def ask(bus: NatsMessageBus) -> Any:
    return await request_hook_execution(bus, "BeforeTool", TOOL, required=[], timeout=30)


@pytest.mark.parametrize("what", REFUSED)
async def test_a_reload_without_a_good_policy_keeps_the_last(
    project: Project, url: str, what: str
) -> None:
    settings, said = REFUSED[what]
    project.settings(GUARDED)
    with worker(project.path, url) as serving:
        async with NatsMessageBus.from_url(url) as bus:
            before = await ask(bus)
            (project.path / ".hookline" / "settings.json").unlink()
            write(project, settings)
            serving.wait_until_said("the last good ones stay in force")
            after, [status] = await ask(bus), await bus.ask_workers()
            project.settings({"hooks": on_every_event({**DENY, "name": "mended"})})
            serving.wait_until_said("settings have changed; serving 11 hooks now, policy sha256:")
            mended, [good] = await ask(bus), await bus.ask_workers()
    assert said in serving.said
    assert after["output"]["finalOutput"]["reason"] == "no"
    assert before["policy"] == after["policy"] == status["policy"]
    assert said in status["refused_settings"]
    assert (good["policy"], good["refused_settings"]) == (mended["policy"], "")
    assert good["policy"] != status["policy"]


def reviewed(project: Project, **fields: Any) -> None:
    """The project's hook is a script, and somebody has reviewed it."""
    script = project.path / "hooks" / "guard.sh"
    script.parent.mkdir()
    write_script(script)
    project.settings({"hooks": on_every_event(command("hooks/guard.sh", name="guard", **fields))})
    assert hookline("trust", "--yes", cwd=project.path).status == 0


def write_script(script: Path, text: str = "echo no >&2; exit 2") -> None:
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)


def edit_script(project: Project) -> None:
    write_script(project.path / "hooks" / "guard.sh", "exit 0")


def forget(project: Project) -> None:
    assert hookline("untrust", cwd=project.path).status == 0


@pytest.mark.parametrize("change", [edit_script, forget])
@pytest.mark.parametrize("is_reloaded", [False, True])
async def test_a_guard_edited_on_the_worker_is_no_allowance_to_the_fleet(
    project: Project, url: str, change: Callable[[Project], None], is_reloaded: bool
) -> None:
    """Nor is one that stayed in force because the settings read after it were refused."""
    reviewed(project)
    with worker(project.path, url, trusted=False) as serving:
        async with NatsMessageBus.from_url(url) as bus:
            if is_reloaded:
                (project.path / ".hookline" / "settings.json").write_text("{")
                serving.wait_until_said("the last good ones stay in force")
            before = await fire(bus)
            change(project)
            blocked = await asyncio.gather(*(fire(bus) for _ in range(3)))
            allowed = await fire(bus, on_unavailable="allow")
    assert (before.decision, before.reason) == ("deny", "no")
    assert [answer.errors[0].code for answer in blocked] == ["policy_changed"] * 3
    assert {answer.decision for answer in blocked} == {"deny"}
    assert not allowed.success


async def test_a_guard_that_fails_closed_goes_on_for_the_fleet_as_it_was_reviewed(
    project: Project, url: str
) -> None:
    reviewed(project, onFailure="block")
    with worker(project.path, url, trusted=False):
        async with NatsMessageBus.from_url(url) as bus:
            policy = (await ask(bus))["policy"]
            edit_script(project)
            answer = await fire(bus)
            assert (answer.decision, answer.reason) == ("deny", "no")
            assert (await ask(bus))["policy"] == policy


async def test_an_entry_edited_on_the_worker_waits_for_its_review(
    project: Project, url: str
) -> None:
    reviewed(project)
    with worker(project.path, url, trusted=False) as serving:
        async with NatsMessageBus.from_url(url) as bus:
            (project.path / "other").mkdir()
            write_script(project.path / "other" / "pass.sh", "exit 0")
            project.settings({"hooks": on_every_event(command("other/pass.sh", name="guard"))})
            serving.wait_until_said("the last good ones stay in force")
            kept = await fire(bus)
            assert hookline("trust", "--yes", cwd=project.path).status == 0
            serving.wait_until_said("settings have changed; serving 11 hooks now")
            replaced = await fire(bus)
    assert "11 hooks are not trusted" in serving.said
    assert (kept.decision, kept.reason) == ("deny", "no")
    assert replaced.decision == "allow"


def test_the_policy_is_said_at_the_start_and_shown_with_the_statistics(
    project: Project, url: str
) -> None:
    project.settings(GUARDED)
    with HookSystemOf(project) as system, worker(project.path, url) as serving:
        policy = system.engine.get_policy_digest()
        shown = hookline("serve", "--bus", url, "--stats")
        asked = hookline("serve", "--bus", url, "--stats", "--json")
        assert f"serving 11 hooks of {project.path}, policy {policy}\n" in serving.said
        break_settings(project, serving)
        refused = hookline("serve", "--bus", url, "--stats")
    assert policy in shown.out
    assert "settings refused" not in shown.out
    assert asked.document["workers"][0]["policy"] == policy
    assert "settings refused:" in refused.out


def break_settings(project: Project, serving: WorkerProcess) -> None:
    (project.path / ".hookline" / "settings.json").write_text("{")
    serving.wait_until_said("the last good ones stay in force")


class HookSystemOf:
    """A system with the hooks of a project, as a worker has them."""

    def __init__(self, project: Project) -> None:
        self._system = HookSystem(Config.load(project.path, trusted=True))

    def __enter__(self) -> HookSystem:
        self._system.initialize_blocking()
        return self._system

    def __exit__(self, *_error: object) -> None:
        self._system.dispose()
