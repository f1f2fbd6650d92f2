"""Which hooks an event runs, and that remembering it never gives a stale answer."""

import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hookline.dialects import DIALECTS
from hookline.dialects.matcher import MatchTimeout
from hookline.errors import EventHeldError
from hookline.pipeline.planner import HookPlanner
from hookline.pipeline.registry import HookRegistry, HookRegistryEntry, Rules
from hookline.settings.reader import Origin, Required, parse_hooks
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource, RuntimeHook
from hookline.wire.results import HookExecutionPlan
from tests.eleven import Json, command

EVENT = HookEventName.BEFORE_TOOL


def entries(
    *hooks: Json, source: HookSource = HookSource.PROJECT, event: str = "BeforeTool", **rest: Any
) -> list[HookRegistryEntry]:
    defined = {event: [{**rest, "hooks": list(hooks)}]}
    parsed = parse_hooks(defined, source=source, origin=Origin("test"))
    return list(parsed.entries)


class Planned:
    """A planner over a loaded registry, and what it warned of."""

    def __init__(self, *loaded: list[HookRegistryEntry]) -> None:
        self.registry = HookRegistry()
        self.registry.load([entry for group in loaded for entry in group])
        self.warnings: list[str] = []
        self.planner = HookPlanner(self.registry, warn=self.warnings.append)

    def plan(self, target: str = "t", event: HookEventName = EVENT) -> HookExecutionPlan | None:
        return self.planner.create_execution_plan(event, target)

    def names(self, target: str = "t", event: HookEventName = EVENT) -> list[str]:
        plan = self.plan(target, event)
        return [hook.name for hook in plan.hooks] if plan else []


def runtime(name: str, function: Callable[[Any], Any] = print) -> HookRegistryEntry:
    hook = RuntimeHook(name=name, function=function)
    return HookRegistryEntry(event=EVENT, hook=hook, matches=lambda _: True)


@pytest.mark.requirement("DELTA-HFAIL-003")
def test_when_nothing_matches_there_is_no_plan() -> None:
    planned = Planned(entries(command("a"), matcher="^write"))
    assert planned.plan("read") is None
    assert planned.plan(event=HookEventName.AFTER_TOOL) is None


def test_hooks_run_in_layer_order_then_file_order() -> None:
    planned = Planned(
        entries(command("e", name="e"), source=HookSource.EXTENSIONS),
        entries(command("u", name="u1"), command("v", name="u2"), source=HookSource.USER),
        entries(command("p", name="p")),
        entries(command("s", name="s"), source=HookSource.SYSTEM),
        [runtime("r")],
    )
    assert planned.names() == ["r", "p", "u1", "u2", "s", "e"]


def test_each_definition_is_matched_on_its_own() -> None:
    planned = Planned(
        entries(command("a", name="writes"), matcher="write"),
        entries(command("b", name="all")),
        entries(command("c", name="reads"), matcher="read"),
    )
    assert planned.names("write_file") == ["writes", "all"]
    assert planned.names("read_file") == ["all", "reads"]


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"command": "other"},
        {"args": []},
        {"args": ["x"]},
        {"env": {"A": "1"}},
    ],
)
def test_entries_that_differ_in_name_command_args_or_env_are_two_hooks(change: Json) -> None:
    first = command("a", name="n")
    assert len(Planned(entries(first), entries({**first, **change})).names()) == 2


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"description": "x"},
        {"timeout": 5},
        {"onFailure": "block"},
        {"env": {}},
    ],
)
def test_entries_that_differ_in_nothing_else_run_once_and_the_first_stays(change: Json) -> None:
    first = command("a", name="n", timeout=7)
    planned = Planned(entries(first), entries({**first, **change}, source=HookSource.USER))
    plan = planned.plan()
    assert plan is not None
    (hook,) = plan.hooks
    assert (hook.timeout, hook.source) == (7, HookSource.PROJECT)


def test_the_one_that_stays_fails_closed_if_any_of_them_does() -> None:
    lax, strict = command("a"), command("a", onFailure="block")
    for order in ([lax, strict], [strict, lax], [lax, strict, lax]):
        plan = Planned(*(entries(hook) for hook in order)).plan()
        assert plan is not None
        assert [hook.on_failure for hook in plan.hooks] == ["block"]


def test_a_duplicate_that_does_not_match_does_not_count() -> None:
    strict = entries(command("a", onFailure="block"), matcher="write", sequential=True)
    plan = Planned(entries(command("a")), strict).plan("read")
    assert plan is not None
    assert [hook.on_failure for hook in plan.hooks] == ["allow"]


def test_one_function_registered_twice_runs_once_and_two_of_one_name_run_twice() -> None:
    planned = Planned([runtime("r", print), runtime("r", print), runtime("r", repr)])
    assert planned.names() == ["r", "r"]


def test_one_sequential_definition_makes_the_whole_plan_sequential() -> None:
    parallel = entries(command("a", name="a"))
    plan = Planned(parallel, entries(command("b", name="b"), sequential=True)).plan()
    alone = Planned(parallel).plan()
    assert plan is not None
    assert alone is not None
    assert plan.sequential
    assert not alone.sequential


def test_the_sequential_flag_of_a_dropped_duplicate_does_not_count() -> None:
    plan = Planned(entries(command("a")), entries(command("a"), sequential=True)).plan()
    assert plan is not None
    assert not plan.sequential


def test_a_sequential_definition_that_does_not_match_does_not_count() -> None:
    other = entries(command("b", name="b"), sequential=True, matcher="write")
    plan = Planned(entries(command("a")), other).plan("read")
    assert plan is not None
    assert not plan.sequential


def test_an_expression_that_explodes_counts_as_matched_with_a_warning() -> None:
    planned = Planned(entries(command("a", name="guard"), matcher="(a|aa)+$"))
    assert planned.names("a" * 80 + "!") == ["guard"]
    assert len(planned.warnings) == 1
    assert "(a|aa)+$" in planned.warnings[0]
    assert "counts as matched" in planned.warnings[0]


def test_a_plan_is_worked_out_once_for_a_name() -> None:
    planned = Planned(entries(command("a"), matcher="x|y"))
    assert planned.plan("x") is planned.plan("x")
    assert planned.plan("y") is not planned.plan("x")


def test_registering_unregistering_switching_and_loading_are_seen_at_once() -> None:
    planned = Planned(entries(command("a", name="a")))
    assert planned.names() == ["a"]
    unregister = planned.registry.register(runtime("r"))
    assert planned.names() == ["r", "a"]
    planned.registry.set_hook_enabled("a", False)
    assert planned.names() == ["r"]
    unregister()
    assert planned.names() == []
    planned.registry.set_hook_enabled("a", True)
    assert planned.names() == ["a"]
    planned.registry.load(entries(command("b", name="b")))
    assert planned.names() == ["b"]


def test_hooks_that_are_disabled_or_not_trusted_are_not_planned() -> None:
    (defined,) = entries(command("a"))
    off = [msgspec.structs.replace(defined, enabled=False)]
    held_back = [msgspec.structs.replace(defined, trusted=False)]
    assert Planned(off, held_back).plan() is None


def test_names_without_number_do_not_fill_the_memory() -> None:
    planned = Planned(entries(command("a"), matcher="x"))
    tracemalloc.start()
    try:
        for number in range(40_000):
            planned.plan(f"invented-{number}")
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()
    assert planned.names("x") == ["h"]


def test_threads_that_plan_while_others_register_see_a_whole_picture() -> None:
    planned = Planned(entries(command("a", name="always")))
    seen: list[list[str]] = []
    stop = threading.Event()

    def plan() -> None:
        while not stop.is_set():
            seen.append(planned.names(f"t{len(seen) % 7}"))

    planners = [threading.Thread(target=plan) for _ in range(4)]
    for thread in planners:
        thread.start()
    for _ in range(200):
        unregister = planned.registry.register(runtime("r"))
        assert planned.names() == ["r", "always"]
        unregister()
        assert planned.names() == ["always"]
    stop.set()
    for thread in planners:
        thread.join()
    assert {tuple(names) for names in seen} <= {("always",), ("r", "always")}


def require(planned: Planned, name: str, *, why: str | None = None) -> HookPlanner:
    """A planner of hooks of which one is required; ``why`` is why that one is not trusted."""
    demand = Required.read(name, [HookSource.PROJECT])
    planned.registry.load(planned.registry.get_all_hooks(), Rules(required=(demand,)))
    return HookPlanner(planned.registry, warn=planned.warnings.append, why_untrusted=lambda _: why)


def test_an_event_that_can_be_blocked_is_held_while_a_required_hook_is_missing() -> None:
    planner = require(Planned(entries(command("a", name="a"))), "guard")
    with pytest.raises(EventHeldError, match="required hook 'guard' is not in force: no settings"):
        planner.create_execution_plan("BeforeTool", "t")
    assert planner.create_execution_plan("SessionEnd", "t") is None


def test_an_event_is_held_while_a_required_hook_is_not_trusted_any_more() -> None:
    planned = Planned(entries(command("a", name="guard"), event="BeforeModel"))
    assert require(planned, "guard").create_execution_plan("BeforeTool", "t") is None
    with pytest.raises(EventHeldError, match="'guard' is not in force: it changed"):
        require(planned, "guard", why="it changed").create_execution_plan("BeforeTool", "t")


@pytest.mark.parametrize(
    ("target", "must"), [("write_file", True), ("read_file", False), (None, True)]
)
def test_an_event_that_failed_is_closed_if_a_hook_that_may_match_fails_closed(
    target: str | None, must: bool
) -> None:
    guard = command("a", name="guard", onFailure="block")
    planned = Planned(entries(guard, matcher="write"), entries(command("b", name="b")))
    assert planned.planner.must_answer(EVENT, target) is must
    assert planned.planner.must_answer(HookEventName.AFTER_TOOL, target) is False
    planned.registry.set_hook_enabled("guard", False)
    assert planned.planner.must_answer(EVENT, target) is False


def test_before_the_settings_are_read_only_hooks_of_code_close_an_event_unless_none_can_be() -> (
    None
):
    registry = HookRegistry()
    planner = HookPlanner(registry, warn=print)
    assert planner.must_answer(EVENT, "t") is False
    assert planner.must_answer(EVENT, "t", is_exhausted=True) is True
    registry.register(*entries(command("a", onFailure="block")))
    assert planner.must_answer(EVENT, "t") is True
    registry.load([])
    assert planner.must_answer(EVENT, "t", is_exhausted=True) is False


def test_while_events_are_held_those_of_a_hook_that_fails_closed_must_be_answered() -> None:
    open_, closed = command("a", name="a"), command("b", name="b", onFailure="block")
    assert require(Planned(entries(open_)), "guard").must_answer(EVENT, "t") is False
    assert require(Planned(entries(closed)), "guard").must_answer(EVENT, "t") is True


def test_a_warning_names_the_hook_the_matcher_and_eighty_characters_of_the_name() -> None:
    def explode(_name: str) -> bool:
        raise MatchTimeout

    entry = msgspec.structs.replace(runtime("slow"), matches=explode, matcher="(a|aa)+$")
    planned = Planned([entry])
    assert planned.names("x" * 81) == ["slow"]
    (warning,) = planned.warnings
    assert f"matcher '(a|aa)+$' of hook 'slow' took too long on '{'x' * 80}'; " in warning


def test_a_name_that_nothing_matches_may_still_be_a_tool_that_another_dialect_names() -> None:
    def claude(matcher: str) -> list[HookRegistryEntry]:
        defined = {"PreToolUse": [{"matcher": matcher, "hooks": [command("a", name="a")]}]}
        dialect = DIALECTS["claude"]
        origin = Origin("test")
        parsed = parse_hooks(defined, source=HookSource.USER, origin=origin, dialect=dialect)
        return list(parsed.entries)

    planned = Planned(claude("mcp__db__query"))
    assert planned.planner.may_match("BeforeTool", "query") is True
    assert planned.planner.may_match("AfterTool", "query") is False
    assert Planned(claude("Bash")).planner.may_match("BeforeTool", "query") is False
    native = Planned(entries(command("a"), matcher="mcp__db__query"))
    assert native.planner.may_match("BeforeTool", "query") is False
    planned.registry.set_hook_enabled("a", False)
    assert planned.planner.may_match("BeforeTool", "query") is False
