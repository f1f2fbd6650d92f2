"""A hook takes two rows: what it is, then where it stands; more where there is more to say."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from hookline.cli.layout import Row
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.cli.text import count, duration
from hookline.pipeline.registry import HookRegistryEntry
from hookline.pipeline.settings import Settings
from hookline.wire.events import EVENTS, HookEventName
from hookline.wire.hooks import CommandHook

if TYPE_CHECKING:
    from hookline.edit import Switch
    from hookline.trace.queries import Outcome

_STATE_ROLES = {"enabled": "good", "disabled": "faint", "not trusted": "care"}
_OUTCOME_ROLES = {
    **dict.fromkeys(("stop", "deny", "block", "failed"), "bad"),
    **dict.fromkeys(("answers", "rewrites", "restricts", "adds"), "change"),
    "ask": "care",
}
_AGO = ((86_400.0, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))


class Listing(msgspec.Struct, frozen=True):
    """The hooks to show, all of them or some, and what is known of them beyond the settings.

    ``switches`` has what keeps a hook off, by the identity of its entry; ``outcomes`` what a hook
    did last, by event and name, None where no record is kept.
    """

    project_dir: str
    settings: Settings
    entries: Sequence[HookRegistryEntry]
    switches: "Mapping[int, Switch]"
    outcomes: "Mapping[tuple[str, str], Outcome] | None"

    def outcome_of(self, entry: HookRegistryEntry) -> "Outcome | None":
        """What a hook did last, as far as that is known."""
        return (self.outcomes or {}).get((entry.event.value, entry.name))


def show(screen: Screen, listing: Listing) -> None:
    """The hooks of each event, a summary, and what to do next."""
    if not listing.settings.entries:
        screen.line("no hooks are configured for ", (listing.project_dir, "name"))
        screen.line(_first_step(listing))
        return
    for event in HookEventName:
        entries = [entry for entry in listing.entries if entry.event is event]
        if entries:
            screen.line((event.value, "title"))
            rows = [row for entry in entries for row in _rows(entry, listing)]
            screen.table(rows, ("cut", "keep"))
            screen.line()
    _show_summary(screen, listing)


def _first_step(listing: Listing) -> str:
    if any(problem.broken for problem in listing.settings.problems):
        from hookline.cli.problems import MENDING

        return MENDING
    return "`hookline init` makes a first one, `hookline demo` shows some at work"


def _show_summary(screen: Screen, listing: Listing) -> None:
    states = [_state(entry) for entry in listing.entries]
    parts = [f"{states.count(state)} {state}" for state in _STATE_ROLES if state in states]
    every = len(listing.settings.entries)
    of = f" of {every}" if len(states) != every else ""
    screen.line(f"{len(states)}{of} hooks" if of else count(every, "hook"), _after(parts))
    if any(entry.hook.managed for entry in listing.entries):
        screen.line("neither the user nor a project can disable a managed hook")
    if not listing.settings.enabled:
        screen.line(("hooks are disabled in the user's or the system's settings", "care"))
    elif "not trusted" in states:
        screen.line("review the project's hooks with `hookline trust`; they run when it lets them")


def _after(parts: Sequence[str]) -> str:
    return f": {', '.join(parts)}" if parts else ""


def _rows(entry: HookRegistryEntry, listing: Listing) -> Iterator[Row]:
    state, hook = _state(entry), entry.hook
    matcher = entry.matcher or ("*" if EVENTS[entry.event].target else "")
    managed = ", managed" if hook.managed else ""
    yield (hook.name, "name"), (state + managed, _STATE_ROLES[state]), (str(matcher), "matcher")
    warm = ", warm" if isinstance(hook, CommandHook) and hook.warm else ""
    kind = f"  {hook.type}{warm}, {duration(hook.timeout)}"
    place = _place(entry.file, entry.line)
    yield (kind, "faint"), (hook.source.value, "faint"), (place, "faint")
    switch = listing.switches.get(id(entry))
    if switch is not None:
        place = _place(switch.file, switch.line)
        yield ("  disabled by", "faint"), (switch.source.value, "faint"), (place, "faint")
    outcome = listing.outcome_of(entry)
    if outcome is not None:
        role = _OUTCOME_ROLES.get(outcome.decision, "")
        yield ("  last run", "faint"), (outcome.decision, role), (_told(outcome), "faint")


def _state(entry: HookRegistryEntry) -> str:
    if not entry.enabled:
        return "disabled"
    return "enabled" if entry.trusted else "not trusted"


def _place(file: str | None, line: int | None) -> str:
    return "" if file is None else f"{shown(file)}:{line}"


def _told(outcome: "Outcome") -> str:
    reason = f": {outcome.reason}" if outcome.reason else ""
    return f"{_ago(outcome.time)}, {duration(outcome.duration_ms)}{reason}"


def _ago(time: str) -> str:
    """How long a time of the log is past, in its largest unit."""
    from datetime import UTC, datetime

    seconds = (datetime.now(UTC) - datetime.fromisoformat(time)).total_seconds()
    for size, unit in _AGO:
        if seconds >= size:
            return f"{count(int(seconds // size), unit)} ago"
    return "just now"
