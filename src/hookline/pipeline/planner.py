"""Works out which hooks an event runs, once for each name, and remembers it.

A plan depends on nothing but the registered hooks, the event and the name matchers look at, so the
second event of a kind costs a dictionary lookup however many hooks there are.
"""

from collections.abc import Callable, Iterable

import msgspec

from hookline.pipeline.matcher import MatchTimeout
from hookline.pipeline.registry import HookRegistry, HookRegistryEntry, HookSnapshot
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookConfig
from hookline.wire.results import HookExecutionPlan

# Tool names come from models: a bound keeps invented ones from filling the memory.
_MAX_CACHED_PLANS = 1_024


class _Plans(msgspec.Struct, frozen=True, eq=False):
    snapshot: HookSnapshot
    known: dict[tuple[HookEventName, str], HookExecutionPlan | None]


class HookPlanner:
    """Plans events over a registry's hooks; ``warn`` hears of matchers that ran out of time."""

    def __init__(self, registry: HookRegistry, *, warn: Callable[[str], None]) -> None:
        self._registry = registry
        self._warn = warn
        self._plans: _Plans | None = None

    def create_execution_plan(self, event: HookEventName, target: str) -> HookExecutionPlan | None:
        """The plan for an event and the name its matchers are compared with; None: nothing runs."""
        plans = self._plans
        snapshot = self._registry.snapshot()
        if plans is None or plans.snapshot is not snapshot:
            plans = self._plans = _Plans(snapshot, {})
        key = (event, target)
        try:
            return plans.known[key]
        except KeyError:
            plan = self._plan(snapshot, event, target)
        if len(plans.known) >= _MAX_CACHED_PLANS:
            plans.known.clear()
        plans.known[key] = plan
        return plan

    def _plan(
        self, snapshot: HookSnapshot, event: HookEventName, target: str
    ) -> HookExecutionPlan | None:
        candidates = snapshot.by_event.get(event, ())
        chosen = [e for e in candidates if e.enabled and e.trusted and self._matches(e, target)]
        kept = _without_duplicates(chosen)
        if not kept:
            return None
        sequential = any(entry.sequential for entry, _ in kept)
        return HookExecutionPlan(event, tuple(hook for _, hook in kept), sequential)

    def _matches(self, entry: HookRegistryEntry, target: str) -> bool:
        try:
            return entry.matches(target)
        except MatchTimeout:
            self._warn(
                f"matcher {entry.matcher!r} of hook {entry.name!r} took too long on "
                f"{target[:80]!r}; it counts as matched (simplify the expression)"
            )
            return True


def _without_duplicates(
    entries: Iterable[HookRegistryEntry],
) -> list[tuple[HookRegistryEntry, HookConfig]]:
    """The first of equal hooks stays; if any of them fails closed, it does."""
    first: dict[object, tuple[HookRegistryEntry, HookConfig]] = {}
    for entry in entries:
        identity = entry.hook.identity()
        kept = first.get(identity)
        if kept is None:
            first[identity] = (entry, entry.hook)
        elif entry.hook.on_failure == "block" and kept[1].on_failure != "block":
            first[identity] = (kept[0], msgspec.structs.replace(kept[1], on_failure="block"))
    return list(first.values())
