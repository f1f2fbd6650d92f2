"""``hookline enable``: takes back what ``disable`` did, and says who else keeps a hook off.

The hooks of a name, and how the two verbs show them, are here for both.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from hookline.cli.failures import CommandError, unknown_hook
from hookline.cli.options import SOURCES, Option, Options, find_sources, flag, repeat_options
from hookline.cli.screen import Screen, shorten_path, shorten_place
from hookline.engine.project import Project
from hookline.pipeline.registry import HookRegistryEntry
from hookline.settings.edit import Place, enable, project_place, user_place
from hookline.settings.layers import Switch, find_switch
from hookline.wire.hooks import HookSource

NAME = Option("name", "NAME", "the name of the hook; hookline list shows them all")
EXAMPLES = (
    "hookline init --name guard",
    "hookline disable --project guard",
    "hookline enable --project guard",
)
OPTIONS = (
    NAME,
    flag("--project", "undo `disable --project` (in the project's .hookline/settings.local.json)"),
    *SOURCES,
)


class HookGroup(msgspec.Struct, frozen=True):
    """The hooks of a name in a project, and whatever in the settings switches hooks off."""

    project_dir: str
    name: str
    entries: tuple[HookRegistryEntry, ...]
    switches: tuple[Switch, ...]

    def get_switch(self, source: HookSource) -> Switch | None:
        """What of a layer switches this name off."""
        fitting = (s for s in self.switches if s.source is source and s.name == self.name)
        return next(fitting, None)

    @property
    def events(self) -> str:
        """What they are hooks of, as people say it."""
        return " and ".join(dict.fromkeys(entry.event.value for entry in self.entries))


def run(options: Options, screen: Screen) -> int:
    """Enable the hook; 1 if something else keeps it disabled, which is said."""
    before = find_hooks(options)
    place = find_place(options, before)
    if not before.entries and before.get_switch(place.source) is None:
        raise unknown_name(options, screen)
    files = [updated.file for updated in enable(place, options.name)]
    after = find_hooks(options)
    off = [entry for entry in after.entries if not entry.enabled]
    if options.json:
        show_document(screen, after, changed=files)
    elif files or not off:
        name = (after.name, "name")
        if not after.entries:
            screen.line("no hook is named ", name, " any more")
        elif not off:
            already = "" if files else " already"
            screen.line(name, f" is enabled{already} ({after.events})")
        for file in files:
            screen.line(f"its name was taken out of {shorten_path(file)}")
        if any(entry.enabled and not entry.trusted for entry in after.entries):
            screen.line("it runs after you trust the project's hooks with `hookline trust`")
    if not off:
        return 0
    switch = find_switch(off[0].hook, after.switches)
    why = "`hookline list` shows its state"
    if switch is not None:
        where = shorten_place(switch.file, switch.line)
        is_project = switch.source is HookSource.PROJECT
        ours = project_place(after.project_dir) if is_project else user_place(options.settings)
        if switch.name is None:
            why = f"all hooks are switched off in {where}; set that to true"
        elif switch.source is HookSource.SYSTEM:
            why = f"the system's settings say so ({where}); ask the administrator of this machine"
        elif switch.file in ours.own_files:
            again = enable_command(options, project=is_project)
            why = f"{where} says so; `{again}` takes that back"
        else:
            why = f"{where} says so; take its name out there"
    raise CommandError(f"{options.name} stays disabled: {why}")


def find_hooks(options: Options) -> HookGroup:
    """The hooks of the name as the settings are now, perhaps none."""
    project = Project.load(options.cwd, **find_sources(options))
    settings = project.get_settings()
    entries = tuple(entry for entry in settings.entries if entry.name == options.name)
    return HookGroup(project.project_dir, options.name, entries, settings.switches)


def find_place(options: Options, group: HookGroup) -> Place:
    """Which settings are to say it; raises CommandError for hooks that these cannot switch."""
    if not options.project:
        return user_place(options.settings)
    if options.settings:
        raise CommandError("--project is about the project's settings; leave --settings out")
    sources = dict.fromkeys(entry.source.value for entry in group.entries)
    if sources and HookSource.PROJECT.value not in sources:
        raise CommandError(
            f"{group.name} is a hook of the {' and '.join(sources)} settings, and a project "
            "switches only its own; leave --project out"
        )
    return project_place(group.project_dir)


def unknown_name(options: Options, screen: Screen) -> CommandError:
    """The error for a name that no hook has."""
    settings = Project.load(options.cwd, **find_sources(options)).get_settings()
    return unknown_hook(options.name, settings, screen)


def enable_command(options: Options, *, project: bool) -> str:
    """The command line that enables the hook that the options name."""
    import shlex

    words = ["hookline", "enable", *repeat_options(options)]
    words += ["--project"] if project else []
    words += ["--", options.name] if options.name.startswith("-") else [options.name]
    return shlex.join(words)


def show_document(screen: Screen, group: HookGroup, *, changed: Sequence[str]) -> None:
    """The document of ``--json``: the hooks as they are now, and the files that were changed."""
    hooks: list[dict[str, Any]] = []
    for entry in group.entries:
        switch = None if entry.enabled else find_switch(entry.hook, group.switches)
        hooks.append(
            {
                "event": entry.event.value,
                "source": entry.source.value,
                "file": entry.file,
                "line": entry.line,
                "enabled": entry.enabled,
                "managed": entry.hook.managed,
                "disabled_by": None if switch is None else switch.describe(),
            }
        )
    screen.document({"name": group.name, "changed": list(changed), "hooks": hooks})
