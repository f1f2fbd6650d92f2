"""Which words in which settings files keep hooks from running, and how a name joins or leaves them.

A file of another agent's is read like our own, and never written.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from hookline.edit.updating import (
    SettingsText,
    Updated,
    add_to_settings,
    refuse_way_out,
    rewrite_settings,
    without,
)
from hookline.errors import HooklineError
from hookline.pipeline.jsonc import Path, value_at
from hookline.pipeline.registry import HookRegistryEntry
from hookline.pipeline.settings import (
    DISABLED_NAMES,
    SWITCHES,
    SettingsFile,
    SettingsFileError,
    find_disabled_names,
    find_settings_files,
    read_settings_file,
)
from hookline.places import home_dir, user_config_dir
from hookline.wire.hooks import HookSource


class Switch(msgspec.Struct, frozen=True):
    """A word in a settings file that switches off a hook by its name, or without a name all."""

    source: HookSource
    file: str
    line: int
    name: str | None

    def described(self) -> dict[str, Any]:
        """Whose word it is and where, for a document."""
        return {"source": self.source.value, "file": self.file, "line": self.line}


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Whose word it is to be, the file that gets it, and all files of ours that may have it."""

    source: HookSource
    file: str
    own_files: tuple[str, ...]


def files_of(project_dir: str, given: Sequence[str] | None) -> list[SettingsFile]:
    """The settings files of a project, or those that were given instead, as ``Config`` has them."""
    if given is None:
        return find_settings_files(project_dir, home_dir())
    return [SettingsFile(os.path.abspath(file), HookSource.USER) for file in given]


def user_place(given: Sequence[str] | None) -> Place:
    """The user's own settings, or what was given instead of all settings."""
    if given:
        files = tuple(map(os.path.abspath, given))
        return Place(source=HookSource.USER, file=files[0], own_files=files)
    directory = user_config_dir()
    if directory is None:
        raise HooklineError("there is no home to keep it in; set HOME or XDG_CONFIG_HOME")
    own = tuple(os.path.join(directory, name) for name in ("settings.json", "settings.local.json"))
    return Place(source=HookSource.USER, file=own[0], own_files=own)


def project_place(project_dir: str) -> Place:
    """The settings that a person has for one project; what it shares with others is not ours to
    change, nor may a link lead out of it."""
    file = os.path.join(project_dir, ".hookline", "settings.local.json")
    refuse_way_out(file, project_dir)
    return Place(source=HookSource.PROJECT, file=file, own_files=(file,))


def read_switches(files: Iterable[SettingsFile]) -> tuple[Switch, ...]:
    """Every word that switches hooks off, highest priority first; an unreadable file has none."""
    switches: list[Switch] = []
    decided: set[HookSource] = set()
    for file in files:
        try:
            found = read_settings_file(file.path)
        except SettingsFileError:
            continue
        if found is None:
            continue
        _, document = found
        off: list[tuple[Path, str | None]] = [*find_disabled_names(document.value)]
        said = {path: value_at(document.value, path) for path in SWITCHES}
        said = {path: word for path, word in said.items() if isinstance(word, bool)}
        # Among the files of a layer the first that says anything about all hooks counts.
        if said and file.source not in decided:
            decided.add(file.source)
            off += [(path, None) for path, word in said.items() if not word][:1]
        for path, name in off:
            switches.append(Switch(file.source, file.path, document.place(path)[0], name))
    return tuple(switches)


def switch_of(entry: HookRegistryEntry, switches: Iterable[Switch]) -> Switch | None:
    """What keeps a hook from running: the word of the layer that is trusted most."""
    sources = [HookSource.SYSTEM]
    if not entry.hook.managed:
        sources.append(HookSource.USER)
    if entry.source is HookSource.PROJECT:
        sources.append(HookSource.PROJECT)
    fitting = [switch for switch in switches if switch.name in (None, entry.name)]
    ordered = (switch for source in sources for switch in fitting if switch.source is source)
    return next(ordered, None)


def disable(place: Place, name: str) -> Updated:
    """Put a name among those that are disabled; raises SettingsFileError, and nothing changed."""

    def missing(value: Mapping[str, Any]) -> Mapping[str, Any]:
        found = [value_at(value, path) for path in DISABLED_NAMES]
        lists = [names for names in found if isinstance(names, list)]
        if any(name in names for names in lists):
            return {}
        # One list is easier to keep in view than two.
        is_newer = len(lists) == 1 and not isinstance(found[0], list)
        return {"hooksConfig" if is_newer else "hooks": {"disabled": [name]}}

    return add_to_settings(place.file, missing, backup=False)


def enable(place: Place, name: str) -> list[Updated]:
    """Take a name out of those that are disabled, wherever it is ours to do so; gives what was
    changed. Raises SettingsFileError: the file in question is as it was."""

    def freed(settings: SettingsText) -> str:
        text = settings.document.text
        for path in DISABLED_NAMES:
            text = without(text, path, name)
        return text

    there = [file for file in place.own_files if os.path.exists(file)]
    done = [rewrite_settings(file, freed, backup=False) for file in there]
    return [updated for updated in done if updated.changed]
