"""Reads Claude Code's own files: its settings and the folders of its plugins, and applies the
rules of each file to the hooks of the others.

Keys that have nothing to do with hooks are ignored. A rule applies to the hooks of its own layer
and of those trusted less: a project that could disable a user's hook, or take away its variables,
would open what the hook guards.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, UnsetType, field

from hookline._support.places import user_state_dir
from hookline._support.problem import Problem
from hookline.dialects import DIALECTS
from hookline.dialects.claude.tools import LEGACY_NAMES, TOOLS
from hookline.dialects.tools import ToolAlias, split_mcp_name
from hookline.settings.jsonc import (
    Document,
    Path,
    SettingsFileError,
    read_settings_file,
    spoken,
)
from hookline.settings.layers import (
    DeclaredTool,
    HookRegistryEntry,
    Layer,
    NamedPlugin,
    Plugin,
    Switch,
)
from hookline.settings.reader import ObjectReader, Origin, parse_hooks
from hookline.settings.types import Section
from hookline.wire.hooks import (
    KINDS,
    LAYER_ORDER,
    CommandHook,
    HookConfig,
    HookSource,
    HttpHook,
    Variables,
    key,
    keys_of,
)

_MANIFEST = os.path.join(".claude-plugin", "plugin.json")
_DEFAULT_HOOKS = os.path.join("hooks", "hooks.json")
_ROOT = "${CLAUDE_PLUGIN_ROOT}"
# Beside the user's settings: where Claude Code keeps the plugins that it has installed.
_INSTALLED = os.path.join("plugins", "installed_plugins.json")
# What a file of a plugin's hooks may have beside its events.
BESIDE_EVENTS = frozenset({"description", "$schema", "modules"})

# Keys of Claude Code's hooks that change nothing here: of every type, and of each.
_INERT_KEYS = frozenset({"statusMessage", "once"})
_INERT_KEYS_OF: Mapping[str, frozenset[str]] = {
    "command": frozenset({"shell", "rewakeMessage", "rewakeSummary"}),
    "agent": frozenset({"prompt", "model"}),
    "mcp_tool": frozenset({"server", "tool", "input"}),
}
# The keys that hooks of a type may have in Claude Code's settings.
KEYS_OF_KIND: Mapping[str, frozenset[str]] = {
    name: _INERT_KEYS.union(
        {"type"},
        keys_of(KINDS.get(name, HookConfig), is_foreign=True),
        _INERT_KEYS_OF.get(name, ()),
    )
    for name in {**KINDS, **_INERT_KEYS_OF}
}
HOOK_KEYS = frozenset[str]().union(*KEYS_OF_KIND.values())


class ClaudeSettings(Section, frozen=True, kw_only=True):
    """The keys of Claude Code's settings that hookline reads."""

    spoken: ClassVar[str] = "Claude Code's settings"
    is_shared: ClassVar[bool] = True

    hooks: Annotated[
        Any, key("The hooks of each event.", loss="no hook in it runs", in_parts=True)
    ] = UNSET
    env: Annotated[
        Variables,
        key(
            "Variables for hooks.",
            must="a variable's name with a string, neither with NUL",
        ),
    ] = field(default_factory=dict)
    disable_all_hooks: Annotated[
        bool | UnsetType, key("True runs no hooks of Claude Code's settings.", loss="the hooks run")
    ] = UNSET
    allow_managed_hooks_only: Annotated[
        bool,
        key(
            "True runs only managed hooks.",
            loss="hooks of others run too",
        ),
    ] = False
    allowed_http_hook_urls: Annotated[
        tuple[str, ...] | UnsetType,
        key(
            "Patterns of the only URLs that http hooks may call.",
            each=True,
            loss="http hooks may call any URL",
        ),
    ] = UNSET
    http_hook_allowed_env_vars: Annotated[
        tuple[str, ...] | UnsetType,
        key(
            "The only variables that headers of http hooks may name.",
            each=True,
            loss="headers may name any variable",
        ),
    ] = UNSET

    enabled_plugins: Annotated[
        Mapping[str, Any],
        key("The installed plugins that are switched on; those of the user's settings count."),
    ] = field(default_factory=dict)


class ClaudeRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for hooks in a Claude Code file. ``env`` are variables for hooks; ``urls`` are
    patterns of the only URLs that http hooks may call, ``header_env`` the only variables that their
    headers may name, None for all."""

    env: Mapping[str, str] = {}
    urls: tuple[str, ...] | None = None
    header_env: tuple[str, ...] | None = None


def read_claude_layer(
    value: Mapping[str, Any],
    source: HookSource,
    origin: Origin,
    tools: Mapping[str, ToolAlias] | None,
) -> Layer:
    """Read the hooks and rules in a Claude Code settings object. Those of the system's file are
    managed: no other layer can disable them."""
    keys = keys_of(ClaudeSettings)
    reader = ObjectReader(origin, source, DIALECTS["claude"])
    reader.problems += (p for p in origin.duplicate_keys() if p.path[0] in keys)
    settings = reader.read(ClaudeSettings, value)

    def find_list(name: str, names: tuple[str, ...] | UnsetType) -> tuple[str, ...] | None:
        # A malformed list allows nothing, rather than more than was meant.
        unset = None if value.get(name) is None else ()
        return unset if names is UNSET else names

    rules = ClaudeRules(
        # Those of OpenTelemetry are for Claude Code itself, and kept from its hooks.
        env={name: settings.env[name] for name in settings.env if not name.startswith("OTEL_")},
        urls=find_list("allowedHttpHookUrls", settings.allowed_http_hook_urls),
        header_env=find_list("httpHookAllowedEnvVars", settings.http_hook_allowed_env_vars),
    )
    parsed = parse_hooks(
        value.get("hooks"),
        source=source,
        origin=msgspec.structs.replace(origin, base=("hooks",)),
        dialect=DIALECTS["claude"],
        tools=tools,
    )
    entries = parsed.entries
    if source is HookSource.SYSTEM:
        managed = [msgspec.structs.replace(entry.hook, managed=True) for entry in entries]
        entries = tuple(map(_replace_hook, entries, managed))
    return Layer(
        source=source,
        entries=entries,
        switches=tuple(_list_switches(settings, source, origin)),
        rules=rules,
        plugins=_find_installed(settings, reader) if source is HookSource.USER else (),
        problems=(*reader.problems, *parsed.problems),
    )


def _list_switches(
    settings: ClaudeSettings, source: HookSource, origin: Origin
) -> Iterator[Switch]:
    """List what a file says about all of Claude Code's hooks, and about all but the system's."""
    is_off, only_managed = settings.disable_all_hooks, settings.allow_managed_hooks_only
    switch = Switch(source=source, file=origin.label, line=None, is_foreign=True)
    replace = msgspec.structs.replace
    if is_off is not UNSET:
        yield replace(switch, line=origin.line(("disableAllHooks",)), is_on=not is_off)
    if only_managed and source is HookSource.SYSTEM:
        line = origin.line(("allowManagedHooksOnly",))
        yield replace(switch, line=line, spares_system=True)


def _find_installed(settings: ClaudeSettings, reader: ObjectReader) -> tuple[NamedPlugin, ...]:
    """Find the folders of the installed plugins that the user's settings switch on."""
    names = [name for name, is_on in settings.enabled_plugins.items() if is_on]
    if not names or reader.origin.directory is None:
        return ()
    registry = os.path.join(reader.origin.directory, _INSTALLED)
    try:
        content = read_settings_file(registry)
        plugins = None if content is None else content[1].value.get("plugins")
    except SettingsFileError as error:
        reader.problems.append(error.problem)
        return ()
    folders: list[NamedPlugin] = []
    for name in names:
        path: Path = ("enabledPlugins", name)
        folder = _find_install(plugins.get(name) if isinstance(plugins, dict) else None)
        if folder is None:
            message = "is switched on, and not installed"
            reader.report(path, "not-run", message, "none of its hooks run")
            continue
        files = (os.path.join(folder, each) for each in (_MANIFEST, _DEFAULT_HOOKS))
        # Many plugins have no hooks at all.
        if not os.path.isdir(folder) or any(map(os.path.exists, files)):
            folders.append((folder, reader.origin.problem(path, "bad-plugin", "")))
    return tuple(folders)


def _find_install(installs: Any) -> str | None:
    """Return the folder of an installed plugin: the user's own, before that of a project."""
    listed = installs if isinstance(installs, list) else [installs]
    folders = [each for each in listed if isinstance(each, dict)]
    folders = [each for each in folders if isinstance(each.get("installPath"), str)]
    folders.sort(key=lambda each: each.get("scope", "user") != "user")
    return folders[0]["installPath"] if folders else None


def _replace_hook(entry: HookRegistryEntry, hook: HookConfig) -> HookRegistryEntry:
    return msgspec.structs.replace(entry, hook=hook)


class _PluginError(Exception):
    """A problem with a plugin, and the remedy; ``at`` is its place, if not where it is named."""

    def __init__(self, message: str, remedy: str, at: Problem | None = None) -> None:
        super().__init__(message)
        self.message, self.remedy, self.at = message, remedy, at


def read_plugin(
    folder: str, source: HookSource, place: Problem, tools: Mapping[str, ToolAlias] | None
) -> Plugin:
    """Read the hooks of a plugin's folder. What cannot be read is a problem, and the rest counts;
    ``place`` is where settings name the folder."""
    # The real path, so that the folder cannot change between a review and a run.
    root = find_root(folder)
    manifest, default = os.path.join(root, _MANIFEST), os.path.join(root, _DEFAULT_HOOKS)
    layers: list[Layer] = []
    places: list[tuple[str, Path]] = []
    files, problems = {manifest: None, default: None}, list[Problem]()

    def add(file: str, document: Document, base: Path, value: Mapping[str, Any]) -> None:
        origin = Origin(file, document, base, plugin_root=root, plugin_data=data)
        layers.append(_read_plugin_hooks(value, source, origin, tools))
        places.append((file, (*base, "hooks") if "hooks" in value else base))

    def report(error: _PluginError) -> None:
        problem = msgspec.structs.replace(
            error.at or place,
            kind="bad-plugin",
            message=f"plugin {os.path.basename(root)}: {error.message}",
            consequence="its hooks there were skipped, all others still apply",
            remedy=error.remedy,
        )
        problems.append(problem)

    try:
        if not os.path.isdir(root):
            raise _PluginError(f"{folder} is not a folder", "name the folder of a plugin")
        document = _read_plugin_file(root, manifest)
    except _PluginError as error:
        report(error)
        return Plugin((), tuple(files), tuple(problems))
    described = {} if document is None else document.value
    data = _find_data_folder(described.get("name") or os.path.basename(root))
    try:
        hooks = _read_plugin_file(root, default)
        if hooks is not None:
            add(default, hooks, (), hooks.value)
        elif document is None:
            message = f"{folder} has neither {_MANIFEST} nor {_DEFAULT_HOOKS}"
            raise _PluginError(message, "name the folder of a plugin")
    except _PluginError as error:
        report(error)
    # What the manifest names is read beside the default file.
    sources = described.get("hooks")
    if document is None or sources is None:
        return Plugin(tuple(layers), tuple(files), tuple(problems), tuple(places))
    for index, each in enumerate(sources) if isinstance(sources, list) else ((None, sources),):
        base: Path = ("hooks",) if index is None else ("hooks", index)
        at = Origin(manifest, document).problem(base, "bad-plugin", "")
        try:
            if isinstance(each, dict):
                add(manifest, document, base, each)
                continue
            if not isinstance(each, str):
                message = '"hooks" must be a path, an object of hooks, or a list of these'
                raise _PluginError(message, "correct it", at)
            relative = each.removeprefix(_ROOT).lstrip("/") if each.startswith(_ROOT) else each
            file = os.path.normpath(os.path.join(root, relative))
            if file == default and hooks is not None:
                continue
            files[file] = None
            hooks = _read_plugin_file(root, file, at)
            if hooks is None:
                raise _PluginError(f"there is no file {each} in it", "correct the path", at)
            add(file, hooks, (), hooks.value)
        except _PluginError as error:
            report(error)
    return Plugin(tuple(layers), tuple(files), tuple(problems), tuple(places))


def find_root(folder: str) -> str:
    """The real path of a folder; of an invalid name, its absolute path."""
    try:
        return os.path.realpath(folder)
    except ValueError:  # NUL, or half of a character
        return os.path.abspath(folder)


def _read_plugin_file(root: str, file: str, at: Problem | None = None) -> Document | None:
    """Read the object in a plugin's file, None if there is no file; raises _PluginError."""
    try:
        is_inside = os.path.realpath(file).startswith(os.path.join(root, ""))
        content = read_settings_file(file) if is_inside else None
    except ValueError:
        message = "it names a file with an invalid name"
        raise _PluginError(message, "correct the path", at) from None
    except SettingsFileError as error:
        raise _PluginError(error.problem.message, "correct it", error.problem) from None
    if not is_inside:
        message = f"{os.path.relpath(file, root)} leads out of its folder"
        raise _PluginError(message, "keep its hooks in its folder", at)
    return None if content is None else content[1]


def _read_plugin_hooks(
    value: Mapping[str, Any],
    source: HookSource,
    origin: Origin,
    tools: Mapping[str, ToolAlias] | None,
) -> Layer:
    """Read the hooks in an object of a plugin: they are under ``hooks``, or the object itself."""
    base = origin.base
    if "hooks" in value:
        raw, origin = value["hooks"], msgspec.structs.replace(origin, base=(*origin.base, "hooks"))
    else:
        raw = {name: each for name, each in value.items() if name not in BESIDE_EVENTS}
    parsed = parse_hooks(raw, source=source, origin=origin, dialect=DIALECTS["claude"], tools=tools)
    problems = parsed.problems
    if value.get("modules"):
        message = "modules: hook modules (mods) run inside Claude Code only"
        remedy = "write a command hook for what they guard"
        at = msgspec.structs.replace(origin, base=base)
        problems += (at.problem(("modules",), "not-run", message, "they are not run", remedy),)
    return Layer(source=source, entries=parsed.entries, rules=ClaudeRules(), problems=problems)


def _find_data_folder(name: object) -> str | None:
    """The folder where a plugin keeps what it writes, None if the user has no state directory."""
    state = user_state_dir()
    # The name must not lead out of the folder.
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in str(name))
    safe = safe.strip(".")[:100] or "plugin"
    return None if state is None else os.path.join(state, "plugins", safe)


def apply_rules(layers: Sequence[Layer]) -> tuple[list[Layer], dict[str, str]]:
    """Apply the rules of all layers to their hooks; return the layers, and the variables that the
    user and the system give to all hooks in Claude Code's settings.

    Those variables are not part of a project's hooks: a review must not depend on who reviews. No
    other layer can change what the system sets.
    """
    pairs = [(layer.source, layer.rules) for layer in layers]
    ruling = [(source, rules) for source, rules in pairs if isinstance(rules, ClaudeRules)]
    # The first file of a layer counts.
    of_project = _merge_env(rules.env for source, rules in ruling if source is HookSource.PROJECT)
    of_user = _merge_env(rules.env for source, rules in ruling if source is HookSource.USER)
    of_system = _merge_env(rules.env for source, rules in ruling if source is HookSource.SYSTEM)
    shared = {**of_user, **of_system}

    def apply(hook: HookConfig) -> HookConfig:
        if hook.dialect != "claude":
            return hook
        if isinstance(hook, CommandHook):
            if hook.source is HookSource.PROJECT:
                own = {**of_project, **hook.env}
                env = {name: own[name] for name in own if name not in of_system}
            elif hook.source is HookSource.SYSTEM:
                env = {**shared, **hook.env}
            else:
                env = {**shared, **hook.env, **of_system}
            return msgspec.structs.replace(hook, env=env)
        if not isinstance(hook, HttpHook):
            return hook
        reaching = [r for s, r in ruling if LAYER_ORDER[s] >= LAYER_ORDER[hook.source]]
        urls = tuple(r.urls for r in reaching if r.urls is not None)
        lists = [r.header_env for r in reaching if r.header_env is not None]
        allowed_env = tuple(n for n in hook.allowed_env if all(n in each for each in lists))
        return msgspec.structs.replace(hook, allowed_urls=urls, allowed_env=allowed_env)

    applied = [
        layer
        if layer.rules is None
        else msgspec.structs.replace(
            layer, entries=tuple(_replace_hook(entry, apply(entry.hook)) for entry in layer.entries)
        )
        for layer in layers
    ]
    return applied, shared


def _merge_env(envs: Iterable[Mapping[str, str]]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for env in envs:
        merged = {**env, **merged}
    return merged


def make_tools(
    layers: Iterable[Layer],
    *,
    of_code: Mapping[str, ToolAlias] | None,
    of_project: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[str, ToolAlias], list[Problem]]:
    """What the host's tools are in Claude Code, and the problems of what a project may not declare.

    Code comes first, then the system, the user and the table; a trusted project may only add tools
    that none of these declare. If it could rename others, guards would miss them.
    """
    tools, layers = dict(TOOLS), list(layers)
    for source in (HookSource.USER, HookSource.SYSTEM):
        for layer in reversed([layer for layer in layers if layer.source is source]):
            tools |= {name: _read_alias(alias) for name, (alias, _) in layer.tools.items()}
    tools |= of_code or {}
    aliases = [*TOOLS.values(), *(v for alias in TOOLS.values() for v in alias.variants)]
    claudes = {name for alias in aliases for name in (alias.name, *alias.also)}
    claudes |= {*LEGACY_NAMES, *LEGACY_NAMES.values()}

    def is_known(name: str) -> bool:
        return name in tools or name in claudes or split_mcp_name(name) is not None

    declared = {
        name: tool
        for layer in layers
        if layer.source is HookSource.PROJECT
        for name, tool in layer.tools.items()
    }
    problems = [_refuse_tool(tool) for name, tool in declared.items() if is_known(name)]
    tools |= {
        name: _read_alias(declaration)
        for name, declaration in of_project.items()
        if not is_known(name)
    }
    return tools, problems


def _refuse_tool(tool: DeclaredTool) -> Problem:
    return msgspec.structs.replace(
        tool[1],
        kind="overreach",
        message=f"{spoken(tool[1].path)} is known already, and a project cannot change what it is",
        consequence="it was ignored",
        remedy="say it in the user's settings",
    )


def _read_alias(declaration: Mapping[str, Any]) -> ToolAlias:
    """The alias that settings declare; what they leave out is taken from the tool of that name."""
    name = declaration["name"]
    default = next((a for a in TOOLS.values() if name in (a.name, *a.also)), ToolAlias(name))
    return ToolAlias(
        name,
        {
            **default.fields,
            **{field: tuple(n) for field, n in declaration.get("fields", {}).items()},
        },
        tuple(declaration.get("paths", default.paths)),
        tuple(declaration.get("also", default.also if name == default.name else ())),
        default.response,
    )
