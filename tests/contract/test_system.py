"""The composition root: built once, loaded once, and managed without reaching into its parts."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.bus import InProcessMessageBus, request_hook_execution
from hookline.contract import Config, HookEventHandler, HookSystem, HookSystemStatus
from hookline.engine.engine import Engine
from hookline.engine.options import Options
from hookline.engine.project import Project
from hookline.errors import (
    HookRegistryNotInitializedError,
    HookSystemNotInitializedError,
    InvalidHookError,
    UnknownEventError,
)
from hookline.hooks import Hooks
from hookline.pipeline.aggregator import HookAggregator
from hookline.pipeline.planner import HookPlanner
from hookline.pipeline.registry import HookRegistry
from hookline.runner.runner import HookRunner
from hookline.settings.reader import EffectiveSettings
from hookline.trace.records import DebugLogger
from hookline.translate.genai import GenAITranslator
from hookline.wire.model import LLMRequest
from tests.eleven import ONE_EACH, REQUEST, Json, command, on_every_event, started

TOOL: Json = {"tool_name": "read", "tool_input": {}}
DENY: Json = {"decision": "deny", "reason": "no"}


def deny(_document: Json) -> Json:
    return DENY


class Counting(Project):
    """Counts how often its settings are read; a reader waits until ``others`` have come."""

    reads = 0
    others: threading.Event | None = None

    def read_settings(self) -> EffectiveSettings:
        self.reads += 1
        assert self.others is None or self.others.wait(30)
        return super().read_settings()


def names(system: HookSystem) -> list[str]:
    return [entry.name for entry in system.get_all_hooks()]


@pytest.mark.requirement("INV-1")
async def test_settings_are_read_once_however_many_tasks_initialize(tmp_path: Path) -> None:
    project = Counting(Options(working_dir=tmp_path, hooks=on_every_event(command("true"))))
    system = HookSystem(Config.of(Engine(project)))
    await asyncio.gather(*(system.initialize() for _ in range(50)))
    await system.initialize()
    for firing in ONE_EACH:
        await firing.direct(system.get_event_handler())
    assert (project.reads, system.get_status().total_hooks) == (1, 11)


@pytest.mark.requirement("INV-1")
def test_settings_are_read_once_however_many_threads_and_loops_initialize(tmp_path: Path) -> None:
    project = Counting(Options(working_dir=tmp_path, hooks=on_every_event(command("true"))))
    system = HookSystem(Config.of(Engine(project)))
    project.others = others = threading.Event()
    seen: list[HookSystemStatus] = []
    calling: list[int] = []

    async def initialize() -> None:
        calling.append(1)
        if len(calling) == 8:
            others.set()
        await asyncio.gather(*(system.initialize() for _ in range(5)))
        seen.append(system.get_status())

    in_threads(lambda: asyncio.run(initialize()), 8)
    assert project.reads == 1
    assert seen == [HookSystemStatus(True, 11)] * 8


def in_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.requirement("INV-2")
async def test_firing_builds_no_part_of_the_engine_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = await started(tmp_path / "w", on_every_event(command("true")))
    handler, registry = system.get_event_handler(), system.get_registry()

    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("the engine was built a second time")

    for part in (HookRegistry, HookPlanner, HookRunner, HookAggregator, HookEventHandler):
        monkeypatch.setattr(part, "__init__", refuse)
    for firing in ONE_EACH:
        assert (await firing.direct(handler)).success is True
    assert system.get_event_handler() is handler
    assert system.get_registry() is registry


async def test_parts_are_given_out_only_after_initialize(tmp_path: Path) -> None:
    system = HookSystem(Config(working_dir=tmp_path))
    uses: list[Callable[[], object]] = [
        system.get_event_handler,
        system.get_registry,
        system.get_all_hooks,
        lambda: system.set_hook_enabled("h", True),
    ]
    for use in uses:
        with pytest.raises(HookSystemNotInitializedError, match="initialize"):
            use()
    assert system.get_status() == HookSystemStatus(False, 0)
    await system.initialize()
    for use in uses:
        use()


def test_a_registry_on_its_own_must_be_loaded_too() -> None:
    registry = HookRegistry()
    with pytest.raises(HookRegistryNotInitializedError, match="loaded"):
        registry.get_all_hooks()
    with pytest.raises(HookRegistryNotInitializedError):
        registry.snapshot()
    registry.load(())
    assert registry.get_all_hooks() == ()


@pytest.mark.requirement("DELTA-HSYS-001")
async def test_bus_logger_and_translator_reach_the_handler(tmp_path: Path) -> None:
    class Shouting(GenAITranslator):
        def to_hook_llm_request(self, request: object) -> LLMRequest:
            shown = super().to_hook_llm_request(request)
            return {**shown, "model": shown["model"].upper()}

    bus = InProcessMessageBus()
    records: list[Json] = []
    seen: list[Json] = []
    system = HookSystem(
        Config(working_dir=tmp_path),
        message_bus=bus,
        debug_logger=DebugLogger(records.append),
        translator=Shouting(),
    )
    system.register_hook("BeforeModel", seen.append, name="see")
    await request_hook_execution(bus, "BeforeModel", {"model_request": REQUEST})
    assert seen[0]["llm_request"]["model"] == "MODEL-A"
    assert [record["kind"] for record in records] == ["hook", "batch"]


@pytest.mark.requirement("DELTA-HSYS-001")
async def test_bus_and_logger_of_the_config_are_used_where_none_are_given(tmp_path: Path) -> None:
    class Empty(InProcessMessageBus):
        def __len__(self) -> int:
            return 0

    bus, records = Empty(), list[Json]()
    config = Config(working_dir=tmp_path, message_bus=bus, debug_logger=DebugLogger(records.append))
    async with HookSystem(config):
        response = await request_hook_execution(bus, "BeforeTool", TOOL, timeout=5)
    assert response["success"] is True
    assert [record["kind"] for record in records] == ["batch"]


@pytest.mark.requirement("DELTA-HSYS-002")
async def test_hooks_are_listed_and_switched_through_the_system(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = on_every_event(command("exit 2", name="guard"), command("exit 2", name="other"))
    system = await started(tmp_path / "w", {"BeforeTool": hooks["BeforeTool"]})
    system.register_hook("BeforeAgent", deny, name="guard")
    assert names(system) == ["guard", "other", "guard"]
    assert system.set_hook_enabled("guard", False) == 2
    assert [entry.enabled for entry in system.get_all_hooks()] == [False, True, False]
    processed = await system.get_event_handler().fire("BeforeTool", TOOL)
    assert [result.hook.name for result in processed.results] == ["other"]
    assert system.set_hook_enabled("guard", True) == 2
    assert caplog.text == ""
    assert system.set_hook_enabled("nobody", True) == 0
    assert "no hook named 'nobody' can be enabled" in caplog.text


async def test_a_hook_may_be_registered_before_and_after_loading_and_taken_out(
    tmp_path: Path,
) -> None:
    system = HookSystem(Config(working_dir=tmp_path, hooks=on_every_event(command("true"))))
    unregister = system.register_hook("BeforeAgent", deny, name="early")
    await system.initialize()
    system.register_hook("BeforeAgent", deny, name="late", matcher="ignored here")
    handler = system.get_event_handler()
    assert plan_of(await handler.fire_before_agent_event("p")) == ["early", "late", "h"]
    unregister()
    unregister()
    assert plan_of(await handler.fire_before_agent_event("p")) == ["late", "h"]


async def test_a_hook_that_was_switched_can_still_be_taken_out(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")
    unregister = system.register_hook("BeforeAgent", deny, name="guard")
    system.set_hook_enabled("guard", False)
    system.set_hook_enabled("guard", True)
    unregister()
    assert system.get_all_hooks() == ()


def plan_of(processed: Any) -> list[str]:
    return [hook.name for hook in processed.plan.hooks] if processed.plan else []


async def test_functions_of_every_kind_are_hooks(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")

    async def waiting(_document: Json) -> Json:
        await asyncio.sleep(0)
        return {"reason": "waited"}

    class Callables:
        def __call__(self, _document: Json) -> Json:
            return {"reason": "called"}

        async def method(self, _document: Json) -> Json:
            return {"reason": "method"}

    for hook in (deny, waiting, Callables(), Callables().method):
        system.register_hook("BeforeAgent", hook, sequential=True)
    processed = await system.get_event_handler().fire_before_agent_event("p")
    assert [output["reason"] for output in processed.all_outputs] == [
        *("no", "waited", "called", "method"),
    ]
    assert plan_of(processed)[0] == "deny"
    assert plan_of(processed)[2].endswith("Callables")


async def test_the_decorator_registers_and_gives_the_function_back(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")

    @system.hook("BeforeTool", matcher="write_.*", name="guard", timeout=5_000, sequential=True)
    async def guard(document: Json) -> Json:
        return {"decision": "deny", "reason": document["tool_name"]}

    handler = system.get_event_handler()
    assert (await handler.fire_before_tool_event("read", {})).plan is None
    processed = await handler.fire_before_tool_event("write_file", {})
    assert processed.all_outputs == [{"decision": "deny", "reason": "write_file"}]
    assert (await guard({"tool_name": "x"}))["reason"] == "x"
    [entry] = system.get_all_hooks()
    assert (entry.name, entry.hook.timeout, entry.sequential) == ("guard", 5_000, True)


@pytest.mark.parametrize(
    ("hook", "options", "timeout", "name"),
    [
        (deny, {}, 60_000, "deny"),
        (deny, {"timeout": 5, "name": "n"}, 5, "n"),
        ({"type": "runtime", "name": "m", "function": deny, "timeout": 7}, {}, 7, "m"),
        ({"type": "runtime", "name": "m", "function": deny}, {"timeout": 8}, 8, "m"),
        (command("true"), {"timeout": 9, "name": "n"}, 9, "n"),
        (command("true", timeout=6), {}, 6, "h"),
    ],
)
async def test_name_and_timeout_are_the_calls_own_or_else_the_hooks(
    tmp_path: Path, hook: Any, options: Json, timeout: float, name: str
) -> None:
    system = await started(tmp_path / "w")
    system.register_hook("BeforeTool", hook, **options)
    [entry] = system.get_all_hooks()
    assert (entry.hook.timeout, entry.name) == (timeout, name)


@pytest.mark.parametrize(
    ("hook", "options"),
    [
        (None, {}),
        ("true", {}),
        (deny, {"timeout": 0}),
        (deny, {"timeout": float("nan")}),
        (deny, {"timeout": float("inf")}),
        (deny, {"timeout": True}),
        (deny, {"matcher": 5}),
        (deny, {"source": "moon"}),
        ({"type": "runtime", "function": deny}, {}),
        ({"type": "runtime", "name": "x"}, {}),
        ({"type": "runtime", "name": "x", "function": deny, "onFailure": "maybe"}, {}),
        ({"type": "command"}, {}),
        ({"type": "command", "command": "true", "timeout": -1}, {}),
        ({}, {}),
    ],
)
async def test_a_hook_that_could_never_run_is_refused(
    tmp_path: Path, hook: Any, options: Json
) -> None:
    system = await started(tmp_path / "w")
    with pytest.raises(InvalidHookError):
        system.register_hook("BeforeTool", hook, **options)
    assert system.get_all_hooks() == ()


async def test_an_event_that_does_not_exist_cannot_be_hooked(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")
    with pytest.raises(UnknownEventError, match="did you mean AfterTool"):
        system.register_hook("AfterTol", deny)
    with pytest.raises(UnknownEventError):
        system.hook("Never")(deny)


async def test_a_hook_given_in_code_may_fail_closed(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")

    def fail(_document: Json) -> None:
        raise LookupError("lost")

    hook = {"type": "runtime", "name": "guard", "function": fail, "onFailure": "block"}
    system.register_hook("BeforeAgent", hook)
    processed = await system.get_event_handler().fire_before_agent_event("p")
    assert processed.final_output is not None
    assert processed.final_output.get_blocking_error().reason.startswith("guard failed: ")


async def test_a_matcher_in_code_that_is_no_pattern_raises_where_it_is_registered(
    tmp_path: Path,
) -> None:
    system, hooks = await started(tmp_path / "w"), Hooks()
    why = (
        r"the matcher of '(deny|hook on .*)': '\[read' is not a regular expression \(.*\); correct"
    )
    for register in (
        lambda: system.register_hook("BeforeTool", deny, matcher="[read"),
        lambda: system.hook("BeforeTool", matcher="[read")(deny),
        lambda: hooks.on("BeforeTool", matcher="[read")(deny),
    ):
        with pytest.raises(InvalidHookError, match=why):
            register()
    command = {"type": "command", "command": "true", "name": "deny"}
    with pytest.raises(InvalidHookError, match=why):
        system.register_hook("BeforeTool", command, matcher="[read")
    assert system.get_all_hooks() == ()


def subscriptions(bus: InProcessMessageBus) -> int:
    return len(bus._handlers["hook-execution-request"])


@pytest.mark.requirement("DELTA-HEVT-004")
async def test_async_with_initializes_and_disposes(tmp_path: Path) -> None:
    bus = InProcessMessageBus()
    async with HookSystem(Config(working_dir=tmp_path), message_bus=bus) as system:
        assert system.get_status().initialized is True
        assert subscriptions(bus) == 1
    assert subscriptions(bus) == 0
    system.dispose()


async def test_async_with_disposes_when_its_body_raises(tmp_path: Path) -> None:
    bus = InProcessMessageBus()
    with pytest.raises(LookupError):
        async with HookSystem(Config(working_dir=tmp_path), message_bus=bus):
            raise LookupError
    assert subscriptions(bus) == 0


async def test_required_hooks_that_are_not_in_force_are_named(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")
    for name in ("on", "off"):
        system.register_hook("BeforeTool", lambda _document: None, name=name)
    assert system.set_hook_enabled("off", False) == 1
    demands = ["on", "runtime:on", "user:on", "off", "none"]
    missing = system.engine.explain_missing(demands)
    assert [*missing] == ["user:on", "off", "none"]
    assert all(missing.values())


async def test_another_policy_has_another_digest(tmp_path: Path) -> None:
    script = tmp_path / "w" / "guard.sh"
    script.parent.mkdir()
    script.write_text("exit 0\n")
    system = await started(tmp_path / "w", on_every_event(command("sh guard.sh", name="guard")))
    digests = [system.engine.get_policy_digest(), system.engine.get_policy_digest()]
    system.set_hook_enabled("guard", False)
    digests.append(system.engine.get_policy_digest())
    system.set_hook_enabled("guard", True)
    digests.append(system.engine.get_policy_digest())
    script.write_text("exit 2 # changed\n")
    digests.append(system.engine.get_policy_digest())
    first, again, off, on, changed = digests
    assert first == again == on
    assert len({first, off, changed}) == 3


async def test_a_source_that_is_no_layer_is_refused(tmp_path: Path) -> None:
    system = await started(tmp_path / "w")
    with pytest.raises(InvalidHookError, match="the source must be one of runtime, project, user"):
        system.register_hook("BeforeTool", lambda _document: None, source="mine")
    bad: Any = 5
    with pytest.raises(InvalidHookError, match="the matcher of 'h' must be a string"):
        system.register_hook("BeforeTool", lambda _document: None, name="h", matcher=bad)


async def test_a_hook_registered_for_the_project_runs_if_the_project_is_trusted(
    tmp_path: Path,
) -> None:
    for trusted in (True, False):
        system = HookSystem(Config(working_dir=tmp_path, trusted=trusted))
        await system.initialize()
        system.register_hook("BeforeTool", command("true", name="p"), source="project")
        system.register_hook("BeforeTool", command("true", name="u"), source="user")
        assert [entry.trusted for entry in system.get_all_hooks()] == [trusted, True]
