"""``hookline disable``: a hook runs no more, for its name is kept among those that are disabled."""

import argparse

from hookline.cli import switched
from hookline.cli.failures import CommandError
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.cli.switched import Named, find_named, place_text
from hookline.edit import Place, disable

EXAMPLES = (
    "hookline init --name guard",
    "hookline disable guard",
    "hookline disable --project guard",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is disable's own."""
    where = "in this project alone, which must be its own hook (.hookline/settings.local.json)"
    switched.add_arguments(parser, where=where)


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Disable the hook; one that is disabled already is fine."""
    named = find_named(options)
    if not named.entries:
        raise switched.unknown(options, screen)
    managed = [entry for entry in named.entries if entry.hook.managed]
    if len(managed) == len(named.entries):
        where = place_text(managed[0].file, managed[0].line)
        raise CommandError(
            f"{named.name} is managed by the system's settings ({where}) and cannot be disabled; "
            "ask whoever looks after them"
        )
    place = switched.place_of(options, named)
    updated = disable(place, named.name) if named.switched_off_by(place.source) is None else None
    if options.json:
        changed = [updated.file] if updated is not None and updated.changed else []
        switched.show_document(screen, find_named(options), changed=changed)
    else:
        _show(screen, named, place, options, is_new=updated is not None and updated.changed)
    if managed:
        screen.warning(f"{named.name} of the system's settings is managed and stays enabled")
    return 0


def _show(
    screen: Screen, named: Named, place: Place, options: argparse.Namespace, *, is_new: bool
) -> None:
    before = named.switched_off_by(place.source)
    if not is_new:
        where = place_text(before.file, before.line) if before else shown(place.file)
        screen.line((named.name, "name"), f" is disabled already, in {where}")
        return
    reach = " in this project" if options.project else " in every project"
    where = "" if options.settings else reach
    screen.line((named.name, "name"), f" is disabled{where} ({named.events})")
    back = switched.command(options, "enable")
    screen.line(f"written to {shown(place.file)}; `{back}` takes it back")
