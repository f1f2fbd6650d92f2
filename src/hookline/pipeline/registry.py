"""Holds every hook, enabled or not, and hands out immutable snapshots of them.

Readers use the snapshot that they took, so a reload or a registration never disturbs an event
under way. Changes are made under a lock and become visible in one assignment.
"""

import threading
from collections.abc import Callable, Iterable

import msgspec

from hookline.errors import HookRegistryNotInitializedError
from hookline.settings.layers import HookRegistryEntry
from hookline.settings.reader import Required
from hookline.wire.events import EventName
from hookline.wire.hooks import LAYER_ORDER, HookSource

__all__ = ["HookRegistry", "HookRegistryEntry", "HookSnapshot", "Rules", "explain_missing"]


class Rules(msgspec.Struct, frozen=True):
    """What the settings demand of all events: with ``strict`` every hook fails closed,
    ``required`` hooks do too and must be in force, and ``broken`` says which settings could not be
    read."""

    strict: bool = False
    required: tuple[Required, ...] = ()
    broken: str = ""

    def require(self, entry: HookRegistryEntry) -> bool:
        """Whether an entry is a required hook."""
        return any(demand.is_met_by(entry) for demand in self.required)


class HookSnapshot(msgspec.Struct, frozen=True, eq=False):
    """All entries in the order of registration, and by event in the order they run, with the
    rules applied.

    ``is_native`` says that all hooks are of the native dialect. ``hold`` is why no event that can
    be blocked may go on, "" if events may; ``required`` entries must stay in force for that.
    """

    entries: tuple[HookRegistryEntry, ...]
    by_event: dict[str, tuple[HookRegistryEntry, ...]]
    has_functions: bool
    is_native: bool
    strict: bool
    hold: str
    required: tuple[HookRegistryEntry, ...]


class HookRegistry:
    """The hooks of one system."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rules = Rules()
        self._snapshot = _make_snapshot((), self._rules)
        self._loaded = False

    @property
    def loaded(self) -> bool:
        """Whether the settings have been read."""
        return self._loaded

    def load(self, entries: Iterable[HookRegistryEntry], rules: Rules | None = None) -> None:
        """Replace the hooks from settings; runtime hooks that code registered stay."""
        with self._lock:
            kept = [e for e in self._snapshot.entries if e.hook.source is HookSource.RUNTIME]
            self._rules = self._rules if rules is None else rules
            self._snapshot = _make_snapshot((*kept, *entries), self._rules)
            self._loaded = True

    def register(self, entry: HookRegistryEntry) -> Callable[[], None]:
        """Add one entry; the returned function removes it."""
        with self._lock:
            self._snapshot = _make_snapshot((*self._snapshot.entries, entry), self._rules)

        def is_same(other: HookRegistryEntry) -> bool:
            # Switching it on or off has replaced the entry, but not these.
            is_place_same = other.event is entry.event and other.matches is entry.matches
            return other.hook is entry.hook and is_place_same

        def unregister() -> None:
            with self._lock:
                left = (other for other in self._snapshot.entries if not is_same(other))
                self._snapshot = _make_snapshot(left, self._rules)

        return unregister

    def set_hook_enabled(self, name: str, enabled: bool) -> int:
        """Switch every entry of that name and return how many; managed ones stay on."""
        return self._switch(lambda entry: entry.name == name, enabled)

    def set_layer_enabled(self, source: HookSource, enabled: bool) -> int:
        """Switch every entry of a layer and return how many; managed ones stay on."""
        return self._switch(lambda entry: entry.source is source, enabled)

    def get_all_hooks(self) -> tuple[HookRegistryEntry, ...]:
        """Every entry, in the order of registration."""
        return self.snapshot().entries

    def count(self) -> int:
        """How many entries there are, also before loading."""
        return len(self._snapshot.entries)

    def has_functions(self) -> bool:
        """Whether any hook runs in this process."""
        return self._snapshot.has_functions

    def _switch(self, is_meant: Callable[[HookRegistryEntry], bool], enabled: bool) -> int:
        with self._lock:
            entries = self._snapshot.entries
            meant = {id(e) for e in entries if is_meant(e) and (enabled or not e.hook.managed)}
            switched = (
                msgspec.structs.replace(e, enabled=enabled) if id(e) in meant else e
                for e in entries
            )
            self._snapshot = _make_snapshot(switched, self._rules)
            return len(meant)

    def fails_closed(self, event: EventName | None) -> bool:
        """Whether any enabled hook of an event, or with None of any event, fails closed, for when
        it is unknown which would match; before loading, of those registered in code."""
        by_event = self._snapshot.by_event
        found = by_event.values() if event is None else [by_event.get(event, ())]
        return any(e.enabled and e.hook.on_failure == "block" for es in found for e in es)

    def snapshot(self) -> HookSnapshot:
        """The current hooks; raises HookRegistryNotInitializedError before loading."""
        if not self._loaded:
            raise HookRegistryNotInitializedError
        return self._snapshot


def explain_missing(
    entries: Iterable[HookRegistryEntry], required: Iterable[Required]
) -> dict[Required, str]:
    """The required hooks that are not in force, each with the reason."""
    entries, missing = tuple(entries), {}
    for demand in required:
        named = [entry for entry in entries if entry.name == demand.name]
        fitting = [entry for entry in named if demand.is_met_by(entry)]
        in_force = [entry for entry in fitting if entry.enabled and entry.trusted]
        if any(not getattr(entry.hook, "background", False) for entry in in_force):
            continue
        if not named:
            missing[demand] = "no settings have it"
        elif not fitting:
            layers = " or ".join(sorted(source.value for source in demand.sources))
            found = ", ".join(sorted({entry.source.value for entry in named}))
            missing[demand] = f"it must be in the settings of {layers}, and is in those of {found}"
        elif in_force:
            missing[demand] = "it is async, so nobody waits for its answer"
        else:
            is_off = not any(entry.enabled for entry in fitting)
            missing[demand] = "it is disabled" if is_off else "nobody has reviewed it as it is now"
    return missing


def _make_snapshot(entries: Iterable[HookRegistryEntry], rules: Rules) -> HookSnapshot:
    entries = tuple(entries)
    ordered = sorted(entries, key=lambda entry: LAYER_ORDER[entry.hook.source])
    by_event: dict[str, list[HookRegistryEntry]] = {}
    for entry in ordered:
        is_required = rules.require(entry)
        if entry.hook.on_failure != "block" and (rules.strict or is_required):
            by_mode = not is_required
            closed = msgspec.structs.replace(entry.hook, on_failure="block", closed_by_mode=by_mode)
            entry = msgspec.structs.replace(entry, hook=closed)
        by_event.setdefault(entry.event, []).append(entry)
    missing = explain_missing(entries, rules.required) if rules.required else {}
    holds = [f"required hook {each.name!r} is not in force: {why}" for each, why in missing.items()]
    if rules.strict and rules.broken:
        holds.append(f"not all settings can be read: {rules.broken}")
    return HookSnapshot(
        entries,
        {event: tuple(found) for event, found in by_event.items()},
        any(entry.hook.type == "runtime" for entry in entries),
        not any(entry.hook.dialect_event for entry in entries),
        rules.strict,
        "\n".join(holds),
        tuple(
            entry for entry in entries if entry.enabled and entry.trusted and rules.require(entry)
        ),
    )
