"""Works out which hooks an event runs, once for each name, and remembers it.

A plan depends only on the registered hooks, the event and the name that matchers look at, so the
second event of a kind costs a dictionary lookup, however many hooks there are.
"""

from collections.abc import Callable

import msgspec

from hookline.dialects import DIALECTS, EventDocument, load_foreign
from hookline.dialects.matcher import MatchTimeout
from hookline.errors import EventHeldError
from hookline.pipeline.registry import HookRegistry, HookRegistryEntry, HookSnapshot
from hookline.wire.events import EVENTS, EventName, HookEventName
from hookline.wire.fired import FiredEvent, Target
from hookline.wire.hooks import CommandHook, HookConfig, HookSource
from hookline.wire.results import HookExecutionPlan

# Models invent tool names: the bound keeps them from filling the memory.
_MAX_CACHED_PLANS = 1_024
# Trusted more than the other layers, whose hooks a project may bring.
_TRUST = {HookSource.USER: 1, HookSource.SYSTEM: 2}


class _Plans(msgspec.Struct, frozen=True, eq=False):
    snapshot: HookSnapshot
    known: dict[tuple[str, str, str], HookExecutionPlan | None]


def narrow_plan(plan: HookExecutionPlan, document: EventDocument) -> HookExecutionPlan | None:
    """The hooks of a plan that run on this event, or may run; None if there are none. Native hooks
    run on every event that they match."""
    if not any(hook.dialect_event for hook in plan.hooks):
        return plan
    # A hook of a sequence may rewrite the call, so later conditions are tested in their turn.
    is_chained = plan.sequential and document.event is HookEventName.BEFORE_TOOL
    hooks: list[HookConfig] = []
    for hook in plan.hooks:
        is_open = is_chained and hooks and hook.condition
        if not hook.dialect_event or is_open or DIALECTS[hook.dialect].applies(hook, document):
            hooks.append(hook)
    return msgspec.structs.replace(plan, hooks=tuple(hooks)) if hooks else None


def _may_name_mcp_tools(entry: HookRegistryEntry) -> bool:
    """True if a matcher may pick an MCP server's tool by a name that its host does not use."""
    names = load_foreign(entry.hook.dialect).names_in_matcher(entry.matcher)
    return names is None or any("mcp__" in name for name in names)


class HookPlanner:
    """Plans events over a registry's hooks; ``warn`` is called for matchers that take too long,
    and ``why_untrusted`` says why a required hook may not run any more."""

    def __init__(
        self,
        registry: HookRegistry,
        *,
        warn: Callable[[str], None],
        why_untrusted: Callable[[HookConfig], str | None] = lambda _hook: None,
    ) -> None:
        self._registry = registry
        self._warn = warn
        self._why_untrusted = why_untrusted
        self._plans: _Plans | None = None

    def create_execution_plan(self, event: str, target: str) -> HookExecutionPlan | None:
        """The plan for an event and the name its matchers look at; None if nothing runs.

        Raises EventHeldError for an event that may not go on, whatever its hooks would answer.
        """
        plans = self._plans
        snapshot = self._registry.snapshot()
        if plans is None or plans.snapshot is not snapshot:
            plans = self._plans = _Plans(snapshot, {})
        if (snapshot.hold or snapshot.required) and EVENTS[event].blockable:
            self._refuse_held(snapshot)
        elsewhere = f"{target.dialect}:{target.elsewhere}" if type(target) is Target else ""
        key = (event, target, elsewhere)
        try:
            return plans.known[key]
        except KeyError:
            pass
        matched = [
            entry
            for entry in snapshot.by_event.get(event, ())
            if entry.enabled
            # A withheld hook is planned, and fails, so that it blocks.
            and (entry.trusted or snapshot.strict or entry.hook.type == "withheld")
            and self._matches(entry, target)
        ]
        plan = None
        if len(matched) == 1:
            plan = HookExecutionPlan(matched[0].event, (matched[0].hook,), matched[0].sequential)
        elif matched:
            # The first of equal hooks stays; it fails closed if any of them does, is waited for if
            # any of them is, and runs from its reviewed copy if any of them does.
            kept: dict[object, HookConfig] = {}
            sequential = False
            for entry in matched:
                identity = entry.hook.identity()
                first = kept.get(identity)
                if first is None:
                    kept[identity] = entry.hook
                    sequential = sequential or entry.sequential
                    continue
                same = entry.hook
                if same.dialect_event and _TRUST.get(same.source, 0) > _TRUST.get(first.source, 0):
                    # If a project has the same guard as the user, the user's stays: with its own
                    # timeout, and with questions that the project does not answer.
                    first, same = same, first
                if same.on_failure == "block" and not same.closed_by_mode:
                    first = msgspec.structs.replace(first, on_failure="block", closed_by_mode=False)
                if isinstance(first, CommandHook) and first.background:
                    is_waited_for = not getattr(same, "background", False)
                    first = msgspec.structs.replace(first, background=not is_waited_for)
                start = getattr(same, "start", None)
                if isinstance(first, CommandHook) and start is not None and start.from_copy:
                    first = msgspec.structs.replace(first, start=start)
                kept[identity] = first
            plan = HookExecutionPlan(matched[0].event, tuple(kept.values()), sequential)
        if len(plans.known) >= _MAX_CACHED_PLANS:
            plans.known.clear()
        plans.known[key] = plan
        return plan

    def plan(self, fired: FiredEvent) -> HookExecutionPlan | None:
        """The plan for a fired event, whose tool may have another name in other dialects."""
        is_native = self._registry.snapshot().is_native
        return self.create_execution_plan(fired.event, fired.target if is_native else fired.matched)

    def may_match(self, event: str, target: str) -> bool:
        """False if it is certain that such an event runs no hook. A name alone does not show
        whether the tool is an MCP server's, which other dialects call by another name."""
        if self.create_execution_plan(event, target) is not None:
            return True
        return self._may_match_elsewhere(event)

    def may_decide(self, event: str, target: str) -> bool:
        """False if it is certain that such an event runs no hook that is waited for: the others
        only observe it."""
        plan = self.create_execution_plan(event, target)
        if plan is not None and any(hook.is_waited_for for hook in plan.hooks):
            return True
        return self._may_match_elsewhere(event)

    def _may_match_elsewhere(self, event: str) -> bool:
        snapshot = self._registry.snapshot()
        return not snapshot.is_native and any(
            entry.enabled
            and entry.hook.dialect_event
            and EVENTS[event].search
            and _may_name_mcp_tools(entry)
            for entry in snapshot.by_event.get(event, ())
        )

    def must_answer(
        self, event: EventName | None, target: str | None, *, is_exhausted: bool = False
    ) -> bool:
        """Whether an event that could not be processed fails closed: if a hook that matches does,
        or any hook of the event if it is unknown which would match; ``event`` is None if the event
        itself is unknown. ``is_exhausted`` says that the settings could not be read for want of
        resources; until they are, every event does."""
        if event is None or target is None or not self._registry.loaded:
            unread = is_exhausted and not self._registry.loaded
            return unread or self._registry.fails_closed(event)
        try:
            plan = self.create_execution_plan(event, target)
        except Exception:
            return self._registry.fails_closed(event)
        return plan is not None and any(hook.on_failure == "block" for hook in plan.hooks)

    def _refuse_held(self, snapshot: HookSnapshot) -> None:
        if snapshot.hold:
            raise EventHeldError(snapshot.hold)
        for entry in snapshot.required:
            why = self._why_untrusted(entry.hook)
            if why is not None:
                raise EventHeldError(f"required hook {entry.name!r} is not in force: {why}")

    def _matches(self, entry: HookRegistryEntry, target: str) -> bool:
        try:
            return entry.matches(target)
        except MatchTimeout:
            self._warn(
                f"matcher {entry.matcher!r} of hook {entry.name!r} took too long on "
                f"{target[:80]!r}; it counts as matched (simplify the expression)"
            )
            return True
