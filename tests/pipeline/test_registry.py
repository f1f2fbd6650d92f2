"""The hooks of a system: order, switches, and what survives a load."""

from typing import Any

import msgspec
import pytest

from hookline.errors import HookRegistryNotInitializedError
from hookline.pipeline.registry import HookRegistry, HookRegistryEntry, Rules, explain_missing
from hookline.settings.reader import Required
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookSource, RuntimeHook

EVENT = HookEventName.BEFORE_TOOL


def entry(
    name: str, source: HookSource = HookSource.RUNTIME, *, managed: bool = False
) -> HookRegistryEntry:
    hook = CommandHook(name=name, command="true", source=source, managed=managed)
    return HookRegistryEntry(event=EVENT, hook=hook, matches=lambda _: True)


def loaded(*entries: HookRegistryEntry) -> HookRegistry:
    registry = HookRegistry()
    registry.load(entries)
    return registry


def listed(registry: HookRegistry) -> list[str]:
    return [e.name for e in registry.get_all_hooks()]


def enabled(registry: HookRegistry) -> list[str]:
    return [e.name for e in registry.get_all_hooks() if e.enabled]


def test_a_registry_used_before_it_is_loaded_raises() -> None:
    registry = HookRegistry()
    registry.register(entry("r"))
    assert not registry.loaded
    assert registry.count() == 1
    with pytest.raises(HookRegistryNotInitializedError):
        registry.get_all_hooks()
    with pytest.raises(HookRegistryNotInitializedError):
        registry.snapshot()


def test_hooks_are_listed_as_registered_and_run_in_layer_order() -> None:
    sources = list(reversed(HookSource))
    registry = loaded(*(entry(source.value, source) for source in sources))
    assert listed(registry) == [source.value for source in sources]
    ordered = [e.name for e in registry.snapshot().by_event[EVENT]]
    assert ordered == ["runtime", "project", "user", "system", "extensions"]


def test_within_a_layer_hooks_keep_the_order_of_registration() -> None:
    registry = loaded(*(entry(name, HookSource.USER) for name in "cab"))
    registry.register(entry("z", HookSource.USER))
    assert [e.name for e in registry.snapshot().by_event[EVENT]] == ["c", "a", "b", "z"]


def test_loading_keeps_runtime_hooks_and_replaces_what_came_from_settings() -> None:
    registry = loaded(entry("old", HookSource.USER))
    registry.register(entry("code"))
    registry.register(entry("as user", HookSource.USER))
    registry.load([entry("new", HookSource.PROJECT)])
    assert listed(registry) == ["code", "new"]


def test_a_snapshot_is_not_disturbed_by_what_comes_after_it() -> None:
    registry = loaded(entry("a"))
    before = registry.snapshot()
    registry.register(entry("b"))
    registry.set_hook_enabled("a", False)
    assert [e.name for e in before.entries] == ["a"]
    assert before.entries[0].enabled


def test_unregistering_takes_out_that_entry_and_no_other() -> None:
    registry = loaded()
    registry.register(entry("same"))
    unregister = registry.register(entry("same"))
    unregister()
    unregister()
    assert listed(registry) == ["same"]


def test_an_entry_that_was_switched_since_can_still_be_unregistered() -> None:
    registry = loaded()
    unregister = registry.register(entry("r"))
    registry.set_hook_enabled("r", False)
    unregister()
    assert listed(registry) == []


def test_one_hook_registered_on_two_events_is_unregistered_from_one() -> None:
    registry = loaded()
    first = entry("r")
    other = HookRegistryEntry(
        event=HookEventName.AFTER_TOOL, hook=first.hook, matches=first.matches
    )
    registry.register(other)
    registry.register(first)()
    assert [e.event for e in registry.get_all_hooks()] == [HookEventName.AFTER_TOOL]


@pytest.mark.requirement("DELTA-HSYS-002")
def test_switching_a_name_reaches_every_entry_of_that_name() -> None:
    registry = loaded(entry("n", HookSource.USER), entry("n", HookSource.SYSTEM), entry("o"))
    registry.register(entry("n"))
    assert registry.set_hook_enabled("n", False) == 3
    assert enabled(registry) == ["o"]
    assert registry.set_hook_enabled("n", True) == 3
    assert enabled(registry) == ["n", "n", "o", "n"]
    assert registry.set_hook_enabled("nobody", False) == 0


def test_a_managed_hook_cannot_be_switched_off() -> None:
    registry = loaded(entry("m", HookSource.SYSTEM, managed=True), entry("m", HookSource.USER))
    assert registry.set_hook_enabled("m", False) == 1
    assert [e.enabled for e in registry.get_all_hooks()] == [True, False]


def test_an_entry_says_its_name_and_layer() -> None:
    made = entry("n", HookSource.USER)
    assert (made.name, made.source) == ("n", HookSource.USER)


def test_switching_a_layer_leaves_hooks_of_the_same_name_in_others_alone() -> None:
    registry = loaded(entry("same", HookSource.USER), entry("same"))
    assert registry.set_layer_enabled(HookSource.RUNTIME, False) == 1
    assert [(e.source.value, e.enabled) for e in registry.get_all_hooks()] == [
        ("user", True),
        ("runtime", False),
    ]


GUARD = Required.read("guard", [HookSource.USER, HookSource.SYSTEM])


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, None),
        ({"name": "other"}, "no settings have it"),
        (
            {"source": HookSource.PROJECT},
            "it must be in the settings of system or user, and is in those of project",
        ),
        ({"enabled": False}, "it is disabled"),
        ({"trusted": False}, "nobody has reviewed it as it is now"),
        ({"enabled": False, "trusted": False}, "it is disabled"),
        ({"background": True}, "it is async, so nobody waits for its answer"),
    ],
)
def test_a_required_hook_that_is_not_in_force_says_why(
    fields: dict[str, Any], why: str | None
) -> None:
    hook = CommandHook(
        name=fields.get("name", "guard"),
        command="true",
        source=fields.get("source", HookSource.USER),
        background=fields.get("background", False),
    )
    switches = {name: fields.get(name, True) for name in ("enabled", "trusted")}
    found = HookRegistryEntry(event=EVENT, hook=hook, matches=lambda _: True, **switches)
    missing = explain_missing([found], [GUARD])
    assert missing == ({} if why is None else {GUARD: why})
    registry = HookRegistry()
    registry.load([found], Rules(required=(GUARD,)))
    in_force = why is None or "async" in why
    assert registry.snapshot().required == ((found,) if in_force else ())
    hold = "" if why is None else f"required hook 'guard' is not in force: {why}"
    assert registry.snapshot().hold == hold


def test_one_entry_in_force_is_enough_for_a_required_hook() -> None:
    off = msgspec.structs.replace(entry("guard", HookSource.USER), enabled=False)
    assert explain_missing([off, entry("guard", HookSource.SYSTEM)], [GUARD]) == {}


@pytest.mark.parametrize(
    ("rules", "hold"),
    [
        (Rules(strict=True, broken="a"), "not all settings can be read: a"),
        (Rules(strict=True), ""),
        (Rules(broken="a"), ""),
    ],
)
def test_strict_events_are_held_while_settings_cannot_be_read(rules: Rules, hold: str) -> None:
    registry = HookRegistry()
    registry.load([entry("a")], rules)
    assert registry.snapshot().hold == hold


def test_in_strict_mode_every_hook_fails_closed_and_is_listed_as_written() -> None:
    registry = HookRegistry()
    registry.load([entry("a")], Rules(strict=True))
    registry.register(entry("b"))
    snapshot = registry.snapshot()
    assert snapshot.strict
    assert [e.hook.on_failure for e in snapshot.by_event[EVENT]] == ["block", "block"]
    assert [e.hook.on_failure for e in snapshot.entries] == ["allow", "allow"]
    assert registry.fails_closed(EVENT)
    registry.load([entry("a")])
    assert registry.snapshot().strict
    registry.load([entry("a")], Rules())
    assert not registry.fails_closed(EVENT)


def test_a_registry_knows_whether_functions_or_other_dialects_are_among_its_hooks() -> None:
    registry = loaded(entry("a"))
    assert (registry.has_functions(), registry.snapshot().is_native) == (False, True)
    function = RuntimeHook(name="f", function=print)
    unregister = registry.register(
        HookRegistryEntry(event=EVENT, hook=function, matches=lambda _: True)
    )
    assert registry.has_functions()
    unregister()
    assert not registry.has_functions()
    foreign = CommandHook(name="c", command="true", dialect="claude", dialect_event="PreToolUse")
    registry.register(HookRegistryEntry(event=EVENT, hook=foreign, matches=lambda _: True))
    assert not registry.snapshot().is_native
