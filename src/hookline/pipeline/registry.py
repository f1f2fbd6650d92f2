"""Holds every hook there is, enabled or not, and hands out an immutable picture of them.

Readers work on the snapshot they took, so a reload or a registration never disturbs an event that
is under way. Changes are made under a lock and become visible in one assignment.
"""

import threading
from collections.abc import Callable, Iterable

import msgspec

from hookline.errors import HookRegistryNotInitializedError
from hookline.pipeline.definitions import HookRegistryEntry
from hookline.wire.events import HookEventName
from hookline.wire.hooks import LAYER_ORDER, HookSource

__all__ = ["HookRegistry", "HookRegistryEntry", "HookSnapshot"]


class HookSnapshot(msgspec.Struct, frozen=True, eq=False):
    """All entries in the order they were registered, and by event in the order they run."""

    entries: tuple[HookRegistryEntry, ...]
    by_event: dict[HookEventName, tuple[HookRegistryEntry, ...]]
    has_functions: bool


class HookRegistry:
    """The hooks of one system."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot = _snapshot(())
        self._loaded = False

    @property
    def loaded(self) -> bool:
        """Whether the settings were read."""
        return self._loaded

    def load(self, entries: Iterable[HookRegistryEntry]) -> None:
        """Replace what came from settings; what was registered in code as runtime stays."""
        with self._lock:
            kept = [e for e in self._snapshot.entries if e.source is HookSource.RUNTIME]
            self._snapshot = _snapshot((*kept, *entries))
            self._loaded = True

    def register(self, entry: HookRegistryEntry) -> Callable[[], None]:
        """Add one entry; the returned function takes it out again."""
        with self._lock:
            self._snapshot = _snapshot((*self._snapshot.entries, entry))

        def is_same(other: HookRegistryEntry) -> bool:
            # Even if it was switched on or off since, which made another entry of it.
            is_place_same = other.event is entry.event and other.matches is entry.matches
            return other.hook is entry.hook and is_place_same

        def unregister() -> None:
            with self._lock:
                left = (other for other in self._snapshot.entries if not is_same(other))
                self._snapshot = _snapshot(left)

        return unregister

    def set_hook_enabled(self, name: str, enabled: bool) -> int:
        """Switch every entry of that name; managed ones cannot be switched off."""
        return self._switch(lambda entry: entry.name == name, enabled)

    def set_layer_enabled(self, source: HookSource, enabled: bool) -> int:
        """Switch every entry of a layer; managed ones cannot be switched off."""
        return self._switch(lambda entry: entry.source is source, enabled)

    def get_all_hooks(self) -> tuple[HookRegistryEntry, ...]:
        """Every entry, in the order of registration."""
        return self.snapshot().entries

    def count(self) -> int:
        """How many entries there are, loaded or not."""
        return len(self._snapshot.entries)

    def has_functions(self) -> bool:
        """Whether any of them runs in this process."""
        return self._snapshot.has_functions

    def _switch(self, is_meant: Callable[[HookRegistryEntry], bool], enabled: bool) -> int:
        with self._lock:
            entries = self._snapshot.entries
            meant = {id(e) for e in entries if is_meant(e) and (enabled or not e.hook.managed)}
            self._snapshot = _snapshot(
                msgspec.structs.replace(e, enabled=enabled) if id(e) in meant else e
                for e in entries
            )
            return len(meant)

    def snapshot(self) -> HookSnapshot:
        """The hooks as they are now; raises HookRegistryNotInitializedError before loading."""
        if not self._loaded:
            raise HookRegistryNotInitializedError
        return self._snapshot


def _snapshot(entries: Iterable[HookRegistryEntry]) -> HookSnapshot:
    entries = tuple(entries)
    ordered = sorted(entries, key=lambda entry: LAYER_ORDER[entry.source])
    by_event: dict[HookEventName, list[HookRegistryEntry]] = {}
    for entry in ordered:
        by_event.setdefault(entry.event, []).append(entry)
    return HookSnapshot(
        entries,
        {event: tuple(found) for event, found in by_event.items()},
        any(entry.hook.type == "runtime" for entry in entries),
    )
