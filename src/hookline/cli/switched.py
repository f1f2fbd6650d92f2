"""What ``enable`` and ``disable`` have in common: the hooks of a name, and who keeps them off."""

import argparse
from collections.abc import Sequence
from typing import Any

import msgspec

from hookline.cli.failures import CommandError
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.config import Config
from hookline.edit import (
    Place,
    Switch,
    files_of,
    project_place,
    read_switches,
    switch_of,
    user_place,
)
from hookline.pipeline.registry import HookRegistryEntry
from hookline.wire.hooks import HookSource


class Named(msgspec.Struct, frozen=True):
    """The hooks of a name in a project, and whatever in the settings switches hooks off."""

    project_dir: str
    name: str
    entries: tuple[HookRegistryEntry, ...]
    switches: tuple[Switch, ...]

    def switched_off_by(self, source: HookSource) -> Switch | None:
        """The word of a layer against this name."""
        fitting = (s for s in self.switches if s.source is source and s.name == self.name)
        return next(fitting, None)

    @property
    def events(self) -> str:
        """What they are hooks of, as people say it."""
        return " and ".join(dict.fromkeys(entry.event.value for entry in self.entries))


def add_arguments(parser: argparse.ArgumentParser, *, where: str) -> None:
    """Declare what the two verbs take."""
    parser.add_argument("name", metavar="NAME", help="the hook; hookline list shows the names")
    parser.add_argument("--project", action="store_true", help=where)


def find_named(options: argparse.Namespace) -> Named:
    """The hooks of the name as the settings are now, perhaps none."""
    config = Config.load(options.cwd, settings_files=options.settings)
    entries = tuple(e for e in config.get_settings().entries if e.name == options.name)
    project_dir = config.get_project_dir()
    switches = read_switches(files_of(project_dir, options.settings))
    return Named(project_dir, options.name, entries, switches)


def place_of(options: argparse.Namespace, named: Named) -> Place:
    """Which settings are to say it; raises CommandError for hooks that these cannot switch."""
    if not options.project:
        return user_place(options.settings)
    if options.settings:
        raise CommandError("--project is about the project's settings; leave --settings out")
    sources = dict.fromkeys(entry.source.value for entry in named.entries)
    if sources and HookSource.PROJECT.value not in sources:
        raise CommandError(
            f"{named.name} is a hook of the {' and '.join(sources)} settings, and a project "
            "switches only its own; leave --project out"
        )
    return project_place(named.project_dir)


def unknown(options: argparse.Namespace, screen: Screen) -> CommandError:
    """The error for a name that no hook has, with the nearest that are; what is wrong in the
    settings may be why."""
    from hookline.cli.problems import tell_problems, unknown_hook

    settings = Config.load(options.cwd, settings_files=options.settings).get_settings()
    is_broken = tell_problems(screen, settings.problems)
    known = [entry.name for entry in settings.entries]
    return unknown_hook(options.name, known, is_broken=is_broken)


def place_text(file: str | None, line: int | None) -> str:
    """``file:line``, as short as can be."""
    return "" if file is None else f"{shown(file)}:{line}"


def command(options: argparse.Namespace, verb: str, *, project: bool | None = None) -> str:
    """The command line that switches the same hook."""
    import shlex

    words = ["hookline", verb]
    for file in options.settings or ():
        words += ["--settings", file]
    if options.cwd is not None:
        words += ["--cwd", options.cwd]
    words += ["--project"] if (options.project if project is None else project) else []
    words += ["--", options.name] if options.name.startswith("-") else [options.name]
    return shlex.join(words)


def show_document(screen: Screen, named: Named, *, changed: Sequence[str]) -> None:
    """The document of ``--json``: the hooks as they are now, and the files that were changed."""
    screen.document(
        {
            "name": named.name,
            "changed": list(changed),
            "hooks": [_described(entry, named.switches) for entry in named.entries],
        }
    )


def _described(entry: HookRegistryEntry, switches: Sequence[Switch]) -> dict[str, Any]:
    switch = None if entry.enabled else switch_of(entry, switches)
    return {
        "event": entry.event.value,
        "source": entry.source.value,
        "file": entry.file,
        "line": entry.line,
        "enabled": entry.enabled,
        "managed": entry.hook.managed,
        "disabled_by": None if switch is None else switch.described(),
    }
