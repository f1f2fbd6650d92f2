"""Finds the settings and plugins of other agents and plans the migration: what is new to which of
our files, and which variables move with the hooks."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.edit import read_settings_text, refuse_way_out, with_additions
from hookline.migrate.claude import Around, migrate_claude
from hookline.migrate.moves import Before, Draft, Finding, Kind, Migrated, Move
from hookline.pipeline.definitions import Origin, parse_hooks
from hookline.pipeline.jsonc import Document, Path, spoken, value_at
from hookline.pipeline.settings import (
    SWITCHES,
    SettingsFileError,
    find_disabled_names,
    find_project_dir,
)
from hookline.places import home_dir, user_config_dir
from hookline.problem import Problem
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource

Agent: TypeAlias = Literal["claude", "gemini"]
Layer: TypeAlias = Literal["project", "user"]

# Agent -> its files in a project or the home, and the name of our file for each.
_FILES: dict[Agent, tuple[tuple[str, str], ...]] = {
    "claude": (
        (".claude/settings.json", "settings.json"),
        (".claude/settings.local.json", "settings.local.json"),
    ),
    "gemini": (
        (".gemini/settings.json", "settings.json"),
        (".llxprt/settings.json", "settings.json"),
    ),
}
_HOOK_KEYS = frozenset(
    {"type", "command", "args", "name", "description", "timeout", "env", "onFailure", "warm"}
)
_GEMINI_EVENTS = frozenset(event.value for event in HookEventName)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A settings file of another agent, and the file of ours for its hooks.

    ``base`` is the path to its hooks; ``plugin`` is the folder of the plugin it belongs to.
    """

    file: str
    agent: Agent
    layer: Layer
    target: str
    base: Path = ("hooks",)
    plugin: str | None = None


class Places(msgspec.Struct, frozen=True):
    """Where a migration looks and writes."""

    project_dir: str
    home: str | None
    user_dir: str | None


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One of our files, and the moves into it; ``new`` are the moves that it does not have yet."""

    file: str
    exists: bool
    moves: tuple[Move, ...]
    new: tuple[Move, ...]
    disabled: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole migration, before anything is written; ``folders`` are folders that hooks need."""

    sources: tuple[Source, ...]
    targets: tuple[Target, ...]
    findings: tuple[Finding, ...]
    folders: tuple[str, ...] = ()

    @property
    def moves(self) -> list[Move]:
        """Every hook that moves."""
        return [move for target in self.targets for move in target.moves]


def find_places(cwd: str) -> Places:
    """Find the project of a directory, which may have only another agent's settings so far."""
    home = home_dir()
    directory = cwd
    while True:
        is_home = home is not None and os.path.realpath(directory) == os.path.realpath(home)
        files = (os.path.join(directory, name) for name, _ in _FILES["claude"])
        if not is_home and any(map(os.path.exists, files)):
            return Places(directory, home, user_config_dir())
        parent = os.path.dirname(directory)
        if parent == directory:
            return Places(find_project_dir(cwd, home), home, user_config_dir())
        directory = parent


def find_sources(places: Places, agents: Sequence[Agent]) -> list[Source]:
    """Find the files that exist; one reached twice counts once, as the user's."""
    below: tuple[tuple[Layer, str | None, str | None], ...] = (
        ("user", places.home, places.user_dir),
        ("project", places.project_dir, os.path.join(places.project_dir, ".hookline")),
    )
    found: dict[str, Source] = {}
    for layer, start, ours in below:
        if start is None or ours is None:
            continue
        for agent in agents:
            for name, own_name in _FILES[agent]:
                file, target = os.path.join(start, name), os.path.join(ours, own_name)
                if os.path.exists(file):
                    source = Source(file=file, agent=agent, layer=layer, target=target)
                    found.setdefault(os.path.realpath(file), source)
    return sorted(found.values(), key=lambda source: source.layer == "user")


def given_source(file: str, agent: Agent, places: Places) -> Source:
    """Make the source for a named file, whose hooks go into the project's settings."""
    target = os.path.join(places.project_dir, ".hookline", "settings.json")
    return Source(file=os.path.abspath(file), agent=agent, layer="project", target=target)


def migrate_gemini(document: Document, file: str) -> Migrated:
    """Migrate a settings file of Gemini CLI or LLxprt Code: only the folder differs from ours."""
    draft = Draft(document, file)
    hooks = document.value.get("hooks") if isinstance(document.value, Mapping) else None
    for key, definitions in hooks.items() if isinstance(hooks, Mapping) else ():
        is_event = key in _GEMINI_EVENTS and isinstance(definitions, list)
        for index, definition in enumerate(definitions if is_event else ()):
            listed, matcher = value_at(definition, ("hooks",)), value_at(definition, ("matcher",))
            is_definition = isinstance(listed, list) and isinstance(matcher, str | None)
            for place, config in enumerate(listed if is_definition else ()):
                command = value_at(config, ("command",))
                is_command = isinstance(command, str) and value_at(config, ("type",)) == "command"
                if not is_command or not command.strip():
                    continue
                path: Path = ("hooks", key, index, "hooks", place)
                strangers = sorted(set(config) - _HOOK_KEYS)
                if strangers:
                    message = f"{', '.join(strangers)} has no meaning here and was left out"
                    draft.find(Kind.NOTE, path, message)
                draft.move(
                    path,
                    Before(event=key, matcher=matcher, config=config),
                    key,
                    matcher=matcher or None,
                    hook={name: value for name, value in config.items() if name in _HOOK_KEYS},
                    sequential=definition.get("sequential") is True,
                )
    if draft.moves:
        message = "hookline reads this file itself, so its hooks run without being moved"
        remedy = "each moved hook runs once while both files have it"
        line = draft.moves[0].line
        draft.findings.append(Finding(Kind.NOTE, file, line, 1, message, remedy=remedy))
    # The engine reads these files too: add its problems about entries that are not hooks.
    origin = Origin(file, document, ("hooks",))
    for problem in parse_hooks(hooks, source=HookSource.USER, origin=origin).problems:
        kind = Kind.REFUSED if problem.skipped else Kind.NOTE
        at = problem.line or 1, problem.column or 1
        draft.findings.append(Finding(kind, file, *at, problem.text))
    for path in SWITCHES:
        if value_at(document.value, path) is False:
            message = f"{spoken(path)} is false, so hooks stay disabled; set it to true to run them"
            draft.find(Kind.NOTE, path, message)
    return draft.finish(dict.fromkeys(name for _, name in find_disabled_names(document.value)))


def find_plugin_sources(folder: str, places: Places, layer: Layer) -> list[Source]:
    """Find the files with the hooks of a plugin; raises SettingsFileError for a missing one."""
    folder = os.path.abspath(folder)
    manifest = os.path.join(folder, ".claude-plugin", "plugin.json")
    default = os.path.join(folder, "hooks", "hooks.json")
    named = value_at(read_settings_text(manifest).document.value, ("hooks",))
    listed = named if isinstance(named, list) else [] if named is None else [named]
    found: list[tuple[str, Path]] = []
    for index, each in enumerate(listed):
        path: Path = ("hooks", index) if isinstance(named, list) else ("hooks",)
        if isinstance(each, str):
            refuse_way_out(file := os.path.join(folder, each), folder)
            found.append((file, ("hooks",)))
        else:
            is_wrapped = isinstance(value_at(each, ("hooks",)), Mapping)
            found.append((manifest, (*path, "hooks") if is_wrapped else path))
    if named is None:
        found.append((default, ("hooks",)))
    for file, _ in found:
        if not os.path.isfile(file):
            message = "does not exist, so this folder is not a plugin with hooks"
            raise SettingsFileError(Problem(kind="unreadable", message=message, file=file))
    ours = places.user_dir if layer == "user" else os.path.join(places.project_dir, ".hookline")
    target = os.path.join(ours or places.project_dir, "settings.json")
    return [
        Source(file=f, agent="claude", layer=layer, target=target, base=base, plugin=folder)
        for f, base in found
    ]


def _find_plugin_variables(folder: str, places: Places) -> dict[str, str]:
    """Return the folder of a plugin and its data folder: Claude's if it exists, else ours."""
    manifest = os.path.join(folder, ".claude-plugin", "plugin.json")
    said = value_at(read_settings_text(manifest).document.value, ("name",))
    said = said if isinstance(said, str) and said else os.path.basename(folder)
    name = re.sub(r"[^A-Za-z0-9_-]", "-", said)
    data = os.path.join(places.home or folder, ".claude", "plugins", "data")
    there = os.listdir(data) if os.path.isdir(data) else []
    own = [each for each in there if each == name or each.startswith(f"{name}-")]
    if len(own) != 1:
        data, own = os.path.join(places.user_dir or folder, "plugins"), [name]
    return {"CLAUDE_PLUGIN_ROOT": folder, "CLAUDE_PLUGIN_DATA": os.path.join(data, own[0])}


def _read_env(document: Document) -> dict[str, str]:
    """Read the variables that Claude Code's settings set, as strings."""
    env = value_at(document.value, ("env",))
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (env.items() if isinstance(env, Mapping) else ())
        if isinstance(value, str | int | float) and name and "=" not in name
        if "\0" not in f"{name}{value}"
    }


def _look_around(source: Source, places: Places) -> Around:
    """Find the surroundings of a Claude Code file's hooks. Variables move with the hooks unless a
    file that fewer people may read sets them: the user's own values must not get into a file of the
    project."""
    env: dict[str, str] = {}
    private: dict[str, str] = {}
    found = find_sources(places, ("claude",))
    # Lowest priority first; a project's variables are only for the project's own hooks.
    files = [other for other in found if other.layer == "user"]
    if source.plugin is None and source.layer == "project":
        files += [other for other in found if other.layer == "project"]
    if source.plugin is None and source.file not in (other.file for other in files):
        files.append(source)
    for other in files:
        is_open = other.layer == source.layer and (
            other.target == source.target or not other.file.endswith(".local.json")
        )
        for name, value in _read_env(read_settings_text(other.file).document).items():
            env.pop(name, None)
            private.pop(name, None)
            if is_open:
                env[name] = value
            else:
                private[name] = other.file
    if source.plugin is not None:
        env |= _find_plugin_variables(source.plugin, places)
    project_dir = places.project_dir if source.layer == "project" else ""
    return Around(project_dir=project_dir, home=places.home, env=env, private=private)


def make_plan(sources: Sequence[Source], places: Places) -> Plan:
    """Read the files and plan their migration; raises SettingsFileError for a bad file."""
    migrated: list[tuple[Source, Migrated]] = []
    findings: list[Finding] = []
    for source in sources:
        document = read_settings_text(source.file).document
        if source.agent == "gemini":
            migrated.append((source, migrate_gemini(document, source.file)))
            continue
        around = _look_around(source, places)
        migrated.append((source, migrate_claude(document, source.file, around, source.base)))
    findings += (finding for _, each in migrated for finding in each.findings)
    off = _find_switched_off(places, sources)
    if off is not None:
        # Claude Code runs none of them, so none may start to run here.
        findings.append(off)
        migrated = [(s, Migrated() if s.agent == "claude" else each) for s, each in migrated]
    for source in sources:
        if source.layer == "project":
            refuse_way_out(source.target, places.project_dir)
    targets: list[Target] = []
    for file in dict.fromkeys(source.target for source in sources):
        there = [each for source, each in migrated if source.target == file]
        moves = tuple(move for each in there for move in each.moves)
        disabled = list(dict.fromkeys(name for each in there for name in each.disabled))
        settings = read_settings_text(file)
        added, new = additions(settings.document.value, moves, disabled)
        with_additions(settings, added)
        names = tuple(added.get("hooks", {}).get("disabled", ()))
        exists = settings.raw is not None
        targets.append(
            Target(file=file, exists=exists, moves=moves, new=tuple(new), disabled=names)
        )
    moved = (move.hook.get("env", {}) for target in targets for move in target.moves)
    folders = {env["CLAUDE_PLUGIN_DATA"] for env in moved if "CLAUDE_PLUGIN_DATA" in env}
    return Plan(
        sources=tuple(sources),
        targets=tuple(targets),
        findings=tuple(findings),
        folders=tuple(sorted(folders)),
    )


def _find_switched_off(places: Places, sources: Sequence[Source]) -> Finding | None:
    """Find a setting that disables all of Claude Code's hooks; None if there is none."""
    key = "disableAllHooks"
    named = [source for source in sources if source.agent == "claude" and source.plugin is None]
    if not any(source.agent == "claude" for source in sources):
        return None
    for source in (*named, *find_sources(places, ("claude",))):
        document = read_settings_text(source.file).document
        if value_at(document.value, (key,)) is True:
            message = "this disables all of Claude Code's hooks, so none is moved"
            remedy = "remove it and migrate again"
            place = document.place((key,))
            return Finding(Kind.REFUSED, source.file, *place, message, key, remedy)
    return None


def additions(
    value: Mapping[str, Any], moves: Sequence[Move], disabled: Sequence[str]
) -> tuple[dict[str, Any], list[Move]]:
    """Return what to add to a settings object for the moves, and which moves are new to it."""
    known: set[object] = set()
    there = value.get("hooks")
    for event, definitions in there.items() if isinstance(there, Mapping) else ():
        for definition in definitions if isinstance(definitions, list) else ():
            listed = value_at(definition, ("hooks",))
            for hook in listed if isinstance(listed, list) else ():
                if isinstance(hook, Mapping):
                    known.add(_identify(event, definition.get("matcher"), hook))
    hooks: dict[str, Any] = {}
    new: list[Move] = []
    # Hooks that shared a definition share one again.
    groups: dict[tuple[str | int, ...], list[Any]] = {}
    for move in moves:
        identity = _identify(move.event, move.matcher, move.hook)
        if identity in known:
            continue
        known.add(identity)
        new.append(move)
        if move.group not in groups:
            groups[move.group] = []
            made: dict[str, Any] = {} if move.matcher is None else {"matcher": move.matcher}
            made |= {"sequential": True} if move.sequential else {}
            made["hooks"] = groups[move.group]
            hooks.setdefault(move.event, []).append(made)
        groups[move.group].append(dict(move.hook))
    said = value_at(value, ("hooks", "disabled"))
    names = [name for name in disabled if not (isinstance(said, list) and name in said)]
    if names:
        hooks["disabled"] = names
    return ({"hooks": hooks} if hooks else {}), new


def _identify(event: str, matcher: Any, hook: Mapping[str, Any]) -> object:
    """Return the hook's identity as text, as settings may hold any value."""
    env = hook.get("env") or {}
    variables = sorted(env.items()) if isinstance(env, Mapping) else env
    # A hook that fails closed is not the same as one that does not.
    words = hook.get("command"), hook.get("args"), hook.get("onFailure")
    return repr((event, matcher or "", *words, variables))
