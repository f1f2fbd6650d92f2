"""Reads all sources of hooks: the settings files, those of other dialects if settings or code
ask for them, and plugins.

Native settings decide what else is read, so they are read first. Another dialect is loaded only if
there is something to read.
"""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hookline._support.problem import Problem
from hookline.dialects import PLUGINS, load_foreign
from hookline.settings.layers import Layer, ReadSources, SettingsFile
from hookline.settings.reader import SettingsReader, keep_one_of_each
from hookline.wire.hooks import LAYER_ORDER, HookSource

if TYPE_CHECKING:
    from hookline.dialects.tools import ToolAlias
    from hookline.settings.jsonc import Document, Path

_EVERYBODY = frozenset({HookSource.PROJECT, HookSource.USER, HookSource.SYSTEM})


# If several layers name a plugin, it belongs to the one that is trusted most, which is first.
_NAMING = (HookSource.SYSTEM, HookSource.RUNTIME, HookSource.USER, HookSource.PROJECT)


class Sources:
    """Reads the same sources again and again; a broken one keeps its last good content.

    ``foreign_files`` are read if ``foreign``, or else the settings, ask for them; ``plugins`` are
    folders that code names. Each settings file that was read is put into ``texts``.
    """

    def __init__(
        self,
        files: Iterable[SettingsFile] = (),
        *,
        project_dir: str,
        foreign_files: Iterable[SettingsFile] = (),
        foreign: bool | None = None,
        plugins: Iterable[str | os.PathLike[str]] = (),
        texts: "dict[str, tuple[bytes, Document]] | None" = None,
    ) -> None:
        # The files of the last read, and those of plugins, whether they exist or not.
        self.files = self._own_files = tuple(files)
        self.plugin_files: tuple[str, ...] = ()
        # For each plugin: its layer, and its files with the path to the object of events in each.
        self.plugins: tuple[tuple[HookSource, tuple[tuple[str, Path], ...]], ...] = ()
        # Matchers keep this object and read it each time.
        self.tools: dict[str, ToolAlias] = {}
        self._foreign_files = tuple(foreign_files)
        # Whether to read them: as code says, else as the last settings said.
        self.foreign = self._foreign = foreign
        self._project_dir = project_dir
        self._plugins = [os.path.abspath(os.path.expanduser(folder)) for folder in plugins]
        self._reader = SettingsReader(tools=self.tools, texts=texts)

    def read(self) -> ReadSources:
        """Read all sources; raises OSError if the system has run out of resources."""
        layer_of = {file: self._reader.read_file(file) for file in self._own_files}
        self.foreign, wanted = self._find_wanted(
            [layer for layer in layer_of.values() if layer is not None]
        )
        foreign_files = [file for file in self._foreign_files if file.source in wanted]
        self.files = self._own_files
        if foreign_files:
            files = keep_one_of_each([*self._own_files, *foreign_files])
            self.files = tuple(sorted(files, key=lambda file: LAYER_ORDER[file.source]))
        read = (layer_of[f] if f in layer_of else self._reader.read_file(f) for f in self.files)
        layers = [layer for layer in read if layer is not None]
        by_source = self._read_plugins(layers)
        in_code = by_source.pop(HookSource.RUNTIME, [])
        layers += (layer for source in by_source for layer in by_source[source])
        layers.sort(key=lambda layer: LAYER_ORDER[layer.source])
        shared_env: Mapping[str, str] = {}
        if any(layer.rules is not None for layer in (*layers, *in_code)):
            applied, shared_env = load_foreign(PLUGINS).apply_rules([*layers, *in_code])
            layers, in_code = applied[: len(layers)], applied[len(layers) :]
        return ReadSources(
            layers=layers,
            in_code=in_code,
            shared_env=shared_env,
            foreign=self.foreign,
        )

    def wants_foreign(self) -> bool:
        """Whether native settings ask for those of other dialects; raises OSError as ``read``
        does."""
        read = (self._reader.read_file(file) for file in self._own_files)
        wanted, _ = self._find_wanted([layer for layer in read if layer is not None])
        return wanted or False

    def share_tools(self, tools: "Mapping[str, ToolAlias]") -> None:
        """Make matchers and events use these tools of the host from now on."""
        # Events under way read it: a tool that stays must not be missing for a moment.
        for name in [name for name in self.tools if name not in tools]:
            del self.tools[name]
        self.tools.update(tools)

    def _find_wanted(self, layers: Iterable[Layer]) -> tuple[bool | None, frozenset[HookSource]]:
        """Whether the project's files of other dialects are read, and for which layers. A
        project can ask only for its own, and only if neither the user nor the system refuses."""
        if self._foreign is not None:
            return self._foreign, _EVERYBODY if self._foreign else frozenset()
        wishes: dict[HookSource, bool] = {}
        for layer in layers:
            if layer.foreign is not None:
                wishes.setdefault(layer.source, layer.foreign)
        system, user = wishes.get(HookSource.SYSTEM), wishes.get(HookSource.USER)
        if system is False or user is False:
            return False, frozenset({HookSource.SYSTEM} if system else ())
        if system or user:
            return True, _EVERYBODY
        of_project = wishes.get(HookSource.PROJECT, False)
        return of_project or None, frozenset({HookSource.PROJECT} if of_project else ())

    def _read_plugins(self, layers: Iterable[Layer]) -> dict[HookSource, list[Layer]]:
        """The layers of all plugins by the layer that names them, the runtime for code. A folder
        that several name is read for the one that is trusted most."""
        mentions = [
            (HookSource.RUNTIME, folder, Problem(kind="bad-plugin", message="", file=folder))
            for folder in self._plugins
        ]
        for layer in layers:
            for folder, place in layer.plugins:
                is_projects = layer.source is HookSource.PROJECT
                base = self._project_dir if is_projects else os.path.dirname(place.file)
                folder = os.path.abspath(os.path.join(base, os.path.expanduser(folder)))
                mentions.append((layer.source, folder, place))
        if not mentions:
            self.plugin_files = self.plugins = ()
            return {}
        dialect = load_foreign(PLUGINS)
        mentions.sort(key=lambda each: _NAMING.index(each[0]))
        by_source: dict[HookSource, list[Layer]] = {}
        files: list[str] = []
        plugins: list[tuple[HookSource, tuple[tuple[str, Path], ...]]] = []
        roots: set[str] = set()
        for namer, folder, place in mentions:
            root = dialect.find_plugin_root(folder)
            if root in roots:
                continue
            roots.add(root)
            source = HookSource.USER if namer is HookSource.RUNTIME else namer
            plugin = self._reader.read_plugin(folder, source, place)
            files += plugin.files
            plugins.append((source, plugin.places))
            by_source.setdefault(namer, []).extend(plugin.layers)
        self.plugin_files, self.plugins = tuple(files), tuple(plugins)
        return by_source
