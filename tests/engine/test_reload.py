"""Settings change while the system runs: one step from the old hooks to the new, or none."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, request_hook_execution
from hookline.contract import Config, HookSystem, HookSystemStatus
from hookline.engine.engine import SettingsRefusedError
from hookline.pipeline.planner import HookPlanner
from hookline.wire.events import HookEventName
from tests.eleven import Json, command, until
from tests.harness.scratch import Project

TOOL: Json = {"tool_name": "read", "tool_input": {}}


def saying(reason: str, **fields: Any) -> Json:
    return command(f'printf \'{{"reason":"{reason}"}}\'', name=reason, **fields)


def before_tool(*hooks: Json) -> Json:
    return {"hooks": {"BeforeTool": [{"hooks": list(hooks)}]}}


def loaded(project: Project, **options: Any) -> HookSystem:
    system = Config.load(project.path, trusted=True, **options).get_hook_system()
    assert system is not None
    return system


async def reasons(system: HookSystem) -> list[str]:
    processed = await system.get_event_handler().fire("BeforeTool", TOOL)
    return [output["reason"] for output in processed.all_outputs]


async def test_reload_takes_up_what_changed_on_disk(project: Project) -> None:
    project.settings(before_tool(saying("old")))
    async with loaded(project) as system:
        assert await reasons(system) == ["old"]
        project.settings(before_tool(saying("new"), saying("more")))
        assert await reasons(system) == ["old"]
        report = await system.reload()
        assert (report.total_hooks, report.problems) == (2, ())
        assert await reasons(system) == ["new", "more"]


async def test_hooks_registered_in_code_stay_and_those_of_other_layers_are_replaced(
    project: Project,
) -> None:
    project.settings(before_tool(saying("file")))
    async with loaded(project) as system:
        system.register_hook("BeforeTool", lambda _document: {"reason": "code"}, name="code")
        system.register_hook("BeforeTool", saying("user"), source="user")
        assert await reasons(system) == ["code", "file", "user"]
        await system.reload()
        assert await reasons(system) == ["code", "file"]


async def test_a_broken_file_keeps_its_hooks_and_is_reported_and_mended_it_counts_again(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    project.settings(before_tool(saying("shared")))
    project.settings(before_tool(saying("own")), file=".hookline/settings.local.json")
    async with loaded(project) as system:
        project.settings(before_tool(saying("shared2")))
        path = project.settings('{\n  "hooks": {,}\n}', file=".hookline/settings.local.json")
        report = await system.reload()
        assert [problem.place for problem in report.problems] == [f"{path}:2:13"]
        assert "its last good version stays in force" in caplog.text
        assert system.get_problems() == report.problems
        assert await reasons(system) == ["own", "shared2"]
        project.settings(before_tool(saying("mended")), file=".hookline/settings.local.json")
        assert (await system.reload()).problems == ()
        assert await reasons(system) == ["mended", "shared2"]


async def test_a_file_that_is_gone_takes_its_hooks_with_it(project: Project) -> None:
    path = project.settings(before_tool(saying("old")))
    async with loaded(project) as system:
        path.unlink()
        report = await system.reload()
        assert (report.total_hooks, report.problems) == (0, ())
        assert await reasons(system) == []


async def test_a_file_that_was_broken_from_the_start_does_not_keep_the_others_away(
    project: Project,
) -> None:
    project.settings("{oops", file=".hookline/settings.local.json")
    project.settings(before_tool(saying("good")))
    async with loaded(project) as system:
        assert await reasons(system) == ["good"]
        assert [problem.broken for problem in system.get_problems()] == [True]


async def test_an_event_under_way_finishes_on_the_plan_it_began_with(project: Project) -> None:
    wait = "echo > began; while [ ! -e go ]; do sleep 0.01; done; "
    first = {**saying("first"), "command": wait + saying("first")["command"]}
    definition = {"sequential": True, "hooks": [first, saying("second")]}
    project.settings({"hooks": {"BeforeTool": [definition]}})
    async with loaded(project) as system:
        firing = asyncio.create_task(reasons(system))
        await until((project.path / "began").exists)
        project.settings(before_tool(saying("new")))
        await system.reload()
        assert await reasons(system) == ["new"]
        (project.path / "go").touch()
        assert await firing == ["first", "second"]


def test_no_event_ever_sees_half_of_the_settings(project: Project) -> None:
    """Two hooks of one file are there together or not at all, with four threads looking."""
    project.settings(before_tool(saying("a"), saying("b")))
    system = loaded(project)
    system.initialize_blocking()
    planner = HookPlanner(system.get_registry(), warn=lambda _message: None)
    seen: set[tuple[str, ...]] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            plan = planner.create_execution_plan(HookEventName.BEFORE_TOOL, "read")
            seen.add(tuple(hook.name for hook in plan.hooks) if plan else ())
            time.sleep(0.0002)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(20):
        pair = ("c", "d") if number % 2 else ("a", "b")
        project.settings(before_tool(*map(saying, pair)))
        asyncio.run(system.reload())
    done.set()
    for thread in threads:
        thread.join()
    assert seen <= {("a", "b"), ("c", "d")}


async def test_reload_may_come_first(project: Project) -> None:
    project.settings(before_tool(saying("one")))
    system = loaded(project)
    report = await system.reload()
    assert report.total_hooks == 1
    assert await reasons(system) == ["one"]


async def test_reload_serves_the_bus_with_the_new_hooks(project: Project) -> None:
    bus = InProcessMessageBus()
    project.settings(before_tool(saying("old")))
    async with loaded(project, message_bus=bus) as system:
        project.settings(before_tool(saying("new")))
        await system.reload()
        response = await request_hook_execution(bus, "BeforeTool", TOOL)
    assert response["output"]["allOutputs"] == [{"reason": "new"}]


async def test_who_switches_hooks_off_switches_them_all_off_and_on_again(
    project: Project,
) -> None:
    user = Path.home() / ".config" / "hookline" / "settings.json"
    user.parent.mkdir(parents=True)
    project.settings(before_tool(saying("file")))
    config = Config.load(project.path, trusted=True)
    system = config.get_hook_system()
    assert system is not None
    system.register_hook("BeforeTool", lambda _document: {"reason": "code"}, name="code")
    await system.initialize()
    user.write_text('{"enableHooks": false}')
    await system.reload()
    assert config.get_hook_system() is None
    assert await reasons(system) == []
    user.unlink()
    await system.reload()
    assert config.get_hook_system() is system
    assert await reasons(system) == ["code", "file"]


class Gate:
    """Accepts settings until it is told why not."""

    refused: str | None = None

    def __call__(self, _settings: object) -> str | None:
        return self.refused


async def test_settings_that_are_not_accepted_never_come_into_force(project: Project) -> None:
    project.settings(before_tool(saying("old")))
    gate = Gate()
    gate.refused = "it lacks the guard"
    system = HookSystem(Config.load(project.path, trusted=True), accept=gate)
    for load in (system.initialize, system.reload):
        with pytest.raises(SettingsRefusedError, match="it lacks the guard"):
            await load()
        assert system.get_status() == HookSystemStatus(False, 0)
    gate.refused = None
    assert (await system.reload()).refused == ""
    assert system.get_status() == HookSystemStatus(True, 1)


async def test_settings_that_are_not_accepted_later_leave_the_last_good_ones_in_force(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    project.settings(before_tool(saying("old")))
    gate, config = Gate(), Config.load(project.path, trusted=True)
    async with HookSystem(config, accept=gate) as system:
        good = config.get_settings()
        gate.refused = "it lacks the guard"
        project.settings(before_tool(saying("new"), saying("more")))
        report = await system.reload()
        assert (report.refused, report.total_hooks) == ("it lacks the guard", 1)
        assert config.get_settings() is good
        assert await reasons(system) == ["old"]
        told = "the changed settings are not used: it lacks the guard; the last good ones stay"
        assert told in caplog.text
        gate.refused = None
        assert (await system.reload()).total_hooks == 2
        assert await reasons(system) == ["new", "more"]
