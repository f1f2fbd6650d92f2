"""``hookline list``: every hook there is, enabled or not, trusted or not; it executes nothing."""

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hookline.cli.list_screen import Listing, show
from hookline.cli.screen import Screen
from hookline.config import Config
from hookline.pipeline.registry import HookRegistryEntry
from hookline.pipeline.settings import Settings
from hookline.wire.events import narrow_event
from hookline.wire.hooks import CommandHook, HookSource

# They are loaded where there is something of theirs to show.
if TYPE_CHECKING:
    from hookline.edit import Switch
    from hookline.trace.queries import Outcome

EXAMPLES = ("hookline list", "hookline list --event BeforeTool", "hookline list --json")

_SOURCES = (HookSource.PROJECT.value, HookSource.USER.value, HookSource.SYSTEM.value)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is list's own."""
    parser.add_argument("--event", metavar="EVENT", help="only the hooks of this event")
    parser.add_argument("--source", choices=_SOURCES, help="only those of these settings")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show the hooks; problems in the settings are on stderr and change nothing else."""
    event = None if options.event is None else narrow_event(options.event)
    config = Config.load(options.cwd, settings_files=options.settings)
    settings = config.get_settings()
    entries = [
        entry
        for entry in settings.entries
        if event in (None, entry.event) and options.source in (None, entry.source.value)
    ]
    project_dir = config.get_project_dir()
    listing = Listing(
        project_dir,
        settings,
        entries,
        _switches(entries, project_dir, options.settings),
        _last_outcomes(settings, project_dir),
    )
    if options.json:
        screen.document(_document(listing))
    else:
        show(screen, listing)
    if any(problem.kind != "untrusted" for problem in settings.problems):
        from hookline.cli.problems import tell_problems

        tell_problems(screen, settings.problems)
    return 0


def _switches(
    entries: Sequence[HookRegistryEntry], project_dir: str, given: Sequence[str] | None
) -> "dict[int, Switch]":
    """What keeps hooks from running, by the identity of their entry."""
    off = [entry for entry in entries if not entry.enabled]
    if not off:
        return {}
    from hookline.edit import files_of, read_switches, switch_of

    switches = read_switches(files_of(project_dir, given))
    found = {id(entry): switch_of(entry, switches) for entry in off}
    return {key: switch for key, switch in found.items() if switch is not None}


def _last_outcomes(
    settings: Settings, project_dir: str
) -> "Mapping[tuple[str, str], Outcome] | None":
    """What hooks did last in this project, None where no record is kept of it."""
    if not settings.trace and "HOOKLINE_TRACE" not in os.environ:
        return None
    from hookline.debuglog import is_trace_wanted
    from hookline.trace.queries import last_outcomes

    return last_outcomes(within=project_dir) if is_trace_wanted(default=settings.trace) else None


def _document(listing: Listing) -> dict[str, Any]:
    return {
        "hooks": [_described(entry, listing) for entry in listing.entries],
        "problems": [
            {"place": problem.place, "message": problem.text, "broken": problem.broken}
            for problem in listing.settings.problems
        ],
    }


def _described(entry: HookRegistryEntry, listing: Listing) -> dict[str, Any]:
    hook, switch = entry.hook, listing.switches.get(id(entry))
    described: dict[str, Any] = {
        "event": entry.event.value,
        "name": hook.name,
        "matcher": entry.matcher or None,
        "type": hook.type,
        "source": hook.source.value,
        "file": entry.file,
        "line": entry.line,
        "enabled": entry.enabled,
        "disabled_by": None if switch is None else switch.described(),
        "trusted": entry.trusted,
        "managed": hook.managed,
        "sequential": entry.sequential,
        "timeout": hook.timeout,
        "on_failure": hook.on_failure,
        "last": _described_outcome(listing.outcome_of(entry)),
    }
    if hook.description is not None:
        described["description"] = hook.description
    if isinstance(hook, CommandHook):
        described["command"] = hook.command
        if hook.args is not None:
            described["args"] = hook.args
        described["warm"] = hook.warm
    return described


def _described_outcome(outcome: "Outcome | None") -> dict[str, Any] | None:
    if outcome is None:
        return None
    import msgspec

    return msgspec.structs.asdict(outcome)
