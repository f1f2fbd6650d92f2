"""``hookline disable``: adds a hook's name to the disabled ones in the settings."""

from hookline.cli.enable import (
    NAME,
    enable_command,
    find_hooks,
    find_place,
    show_document,
    unknown_name,
)
from hookline.cli.failures import CommandError
from hookline.cli.options import SOURCES, Options, flag
from hookline.cli.screen import Screen, shorten_path, shorten_place
from hookline.settings.edit import disable

EXAMPLES = (
    "hookline init --name guard",
    "hookline disable guard",
    "hookline disable --project guard",
)
OPTIONS = (
    NAME,
    flag(
        "--project",
        "only in this project, for a hook of its own (in its .hookline/settings.local.json)",
    ),
    *SOURCES,
)


def run(options: Options, screen: Screen) -> int:
    """Disable the hook; one that is disabled already is fine."""
    group = find_hooks(options)
    if not group.entries:
        raise unknown_name(options, screen)
    managed = [entry for entry in group.entries if entry.hook.managed]
    if len(managed) == len(group.entries):
        where = shorten_place(managed[0].file, managed[0].line)
        raise CommandError(
            f"{group.name} is managed by the system's settings ({where}) and cannot be disabled; "
            "ask the administrator of this machine"
        )
    place = find_place(options, group)
    before = group.get_switch(place.source)
    updated = disable(place, group.name) if before is None else None
    is_new = updated is not None and updated.changed
    if options.json:
        changed = [updated.file] if updated is not None and is_new else []
        show_document(screen, find_hooks(options), changed=changed)
    elif not is_new:
        where = shorten_place(before.file, before.line) if before else shorten_path(place.file)
        screen.line((group.name, "name"), f" is disabled already, in {where}")
    else:
        reach = " in this project" if options.project else " in every project"
        reach = "" if options.settings else reach
        screen.line((group.name, "name"), f" is disabled{reach} ({group.events})")
        back = enable_command(options, project=options.project)
        screen.line(f"written to {shorten_path(place.file)}; `{back}` takes it back")
    after = find_hooks(options).entries
    if options.project and any(entry.enabled for entry in after):
        screen.warning(
            f"{group.name} was reviewed as a guard and goes on guarding: a project cannot end it; "
            "`hookline trust` reviews the project without it, `hookline disable` without "
            "--project ends it for you"
        )
    if managed:
        screen.warning(f"{group.name} of the system's settings is managed and stays enabled")
    return 0
