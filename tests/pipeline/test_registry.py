"""The hooks of a system: order, switches, and what survives a load."""

import pytest

from hookline.errors import HookRegistryNotInitializedError
from hookline.pipeline.registry import HookRegistry, HookRegistryEntry
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookSource

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
