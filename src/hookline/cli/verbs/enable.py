"""``hookline enable``: takes back what ``disable`` did, and says who else keeps a hook off."""

import argparse

from hookline.cli import switched
from hookline.cli.failures import CommandError
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.cli.switched import Named, find_named, place_text
from hookline.edit import Switch, enable, project_place, switch_of, user_place
from hookline.wire.hooks import HookSource

EXAMPLES = (
    "hookline init --name guard",
    "hookline disable --project guard",
    "hookline enable --project guard",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is enable's own."""
    where = "take back what was disabled for this project (.hookline/settings.local.json)"
    switched.add_arguments(parser, where=where)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Enable the hook; 1 if something else keeps it disabled, which is said."""
    before = find_named(options)
    place = switched.place_of(options, before)
    if not before.entries and before.switched_off_by(place.source) is None:
        raise switched.unknown(options, screen)
    files = [updated.file for updated in enable(place, options.name)]
    after = find_named(options)
    off = [entry for entry in after.entries if not entry.enabled]
    if options.json:
        switched.show_document(screen, after, changed=files)
    elif files or not off:
        _show(screen, before, after, files)
    if off:
        switch = switch_of(off[0], after.switches)
        raise CommandError(f"{options.name} stays disabled: {_why(options, after, switch)}")
    return 0


def _show(screen: Screen, before: Named, after: Named, files: list[str]) -> None:
    name = (before.name, "name")
    if not after.entries:
        screen.line("no hook is named ", name, " any more")
    elif all(entry.enabled for entry in after.entries):
        already = "" if files else " already"
        screen.line(name, f" is enabled{already} ({after.events})")
    for file in files:
        screen.line(f"its name was taken out of {shown(file)}")
    if any(entry.enabled and not entry.trusted for entry in after.entries):
        screen.line("it runs when `hookline trust` lets the project's hooks")


def _why(options: argparse.Namespace, named: Named, switch: Switch | None) -> str:
    """Who keeps it off, and what to do about it."""
    if switch is None:
        return "`hookline list` shows its state"
    where = place_text(switch.file, switch.line)
    if switch.name is None:
        return f"all hooks are switched off in {where}; set that to true"
    if switch.source is HookSource.SYSTEM:
        return f"the system's settings say so ({where}); ask whoever looks after them"
    is_project = switch.source is HookSource.PROJECT
    ours = project_place(named.project_dir) if is_project else user_place(options.settings)
    if switch.file in ours.own_files:
        back = switched.command(options, "enable", project=is_project)
        return f"{where} says so; `{back}` takes that back"
    return f"{where} says so; take its name out there"
