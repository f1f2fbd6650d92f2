"""Finds the settings and plugins of other agents and puts their moves together: what is new to
which of our files, and which variables come along."""

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

# Agent -> its files below a project or the home, and the name each has here.
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
    """A settings file of another agent, and the file of ours for what is in it.

    ``base`` leads to its hooks; ``plugin`` is the folder of the plugin that it is of.
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
    """One of our files, and what is to go into it; ``new`` are those moves it does not have yet."""

    file: str
    exists: bool
    moves: tuple[Move, ...]
    new: tuple[Move, ...]
    disabled: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole migration, before anything is written; ``folders`` are those that hooks need."""

    sources: tuple[Source, ...]
    targets: tuple[Target, ...]
    findings: tuple[Finding, ...]
    folders: tuple[str, ...] = ()

    @property
    def moves(self) -> list[Move]:
        """Every hook that comes along."""
        return [move for target in self.targets for move in target.moves]


def find_places(cwd: str) -> Places:
    """The project of a directory, which may so far be the project of another agent only."""
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
    """The files that are there; one reached twice counts once, as the user's."""
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
    """A file that was named; what is in it is for the project."""
    target = os.path.join(places.project_dir, ".hookline", "settings.json")
    return Source(file=os.path.abspath(file), agent=agent, layer="project", target=target)


def migrate_gemini(document: Document, file: str) -> Migrated:
    """What a settings file of Gemini CLI's or LLxprt Code's comes to: they are ours but for the
    folder they are in."""
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
                    message = f"{', '.join(strangers)} means nothing here and was left out"
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
        message = "hookline reads this file as it is, so its hooks run without being moved"
        remedy = "moved, each runs once as long as both files have it"
        line = draft.moves[0].line
        draft.findings.append(Finding(Kind.NOTE, file, line, 1, message, remedy=remedy))
    # What the engine says about entries that are no hooks, for it reads these files too.
    origin = Origin(file, document, ("hooks",))
    for problem in parse_hooks(hooks, source=HookSource.USER, origin=origin).problems:
        kind = Kind.REFUSED if problem.skipped else Kind.NOTE
        at = problem.line or 1, problem.column or 1
        draft.findings.append(Finding(kind, file, *at, problem.text))
    for path in SWITCHES:
        if value_at(document.value, path) is False:
            message = f"{spoken(path)} is false, so hooks stay off until it is not"
            draft.find(Kind.NOTE, path, message)
    return draft.finished(dict.fromkeys(name for _, name in find_disabled_names(document.value)))


def find_plugin_sources(folder: str, places: Places, layer: Layer) -> list[Source]:
    """The files with the hooks of a plugin; raises SettingsFileError for one that cannot be."""
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
            message = "is not there, so this folder is no plugin with hooks"
            raise SettingsFileError(Problem(kind="unreadable", message=message, file=file))
    ours = places.user_dir if layer == "user" else os.path.join(places.project_dir, ".hookline")
    target = os.path.join(ours or places.project_dir, "settings.json")
    return [
        Source(file=f, agent="claude", layer=layer, target=target, base=base, plugin=folder)
        for f, base in found
    ]


def _plugin_variables(folder: str, places: Places) -> dict[str, str]:
    """The folder of a plugin, and that for its data: Claude's if that is there, else ours."""
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
    """The variables that settings of Claude Code's set, as texts."""
    env = value_at(document.value, ("env",))
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in (env.items() if isinstance(env, Mapping) else ())
        if isinstance(value, str | int | float) and name and "=" not in name
        if "\0" not in f"{name}{value}"
    }


def _look_around(source: Source, places: Places) -> Around:
    """What the hooks of a file of Claude Code's find around them. Variables come along unless they
    are set by a file that fewer people may read: what is the user's own must not get into a file of
    the project."""
    env: dict[str, str] = {}
    private: dict[str, str] = {}
    found = find_sources(places, ("claude",))
    # The weakest first; a project's variables are for the project's own hooks alone.
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
        env |= _plugin_variables(source.plugin, places)
    project_dir = places.project_dir if source.layer == "project" else ""
    return Around(project_dir=project_dir, home=places.home, env=env, private=private)


def make_plan(sources: Sequence[Source], places: Places) -> Plan:
    """Read the files and say what would come of them; raises SettingsFileError for a bad one."""
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
        # Claude Code runs none of them, so that none may begin to run.
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
    """Where Claude Code is told to run no hooks at all, None where it is not."""
    key = "disableAllHooks"
    named = [source for source in sources if source.agent == "claude" and source.plugin is None]
    if not any(source.agent == "claude" for source in sources):
        return None
    for source in (*named, *find_sources(places, ("claude",))):
        document = read_settings_text(source.file).document
        if value_at(document.value, (key,)) is True:
            message = "Claude Code runs no hooks at all, so none is moved"
            remedy = "take it out and migrate again"
            place = document.place((key,))
            return Finding(Kind.REFUSED, source.file, *place, message, key, remedy)
    return None


def additions(
    value: Mapping[str, Any], moves: Sequence[Move], disabled: Sequence[str]
) -> tuple[dict[str, Any], list[Move]]:
    """What a settings object lacks of the moves, and which of them that are."""
    known: set[object] = set()
    there = value.get("hooks")
    for event, definitions in there.items() if isinstance(there, Mapping) else ():
        for definition in definitions if isinstance(definitions, list) else ():
            listed = value_at(definition, ("hooks",))
            for hook in listed if isinstance(listed, list) else ():
                if isinstance(hook, Mapping):
                    known.add(_identity(event, definition.get("matcher"), hook))
    hooks: dict[str, Any] = {}
    new: list[Move] = []
    # Hooks that shared a definition still do.
    groups: dict[tuple[str | int, ...], list[Any]] = {}
    for move in moves:
        identity = _identity(move.event, move.matcher, move.hook)
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


def _identity(event: str, matcher: Any, hook: Mapping[str, Any]) -> object:
    """By its text, as settings may hold anything where a string is expected."""
    env = hook.get("env") or {}
    variables = sorted(env.items()) if isinstance(env, Mapping) else env
    # Of two that are the same otherwise, the one that fails closed counts.
    words = hook.get("command"), hook.get("args"), hook.get("onFailure")
    return repr((event, matcher or "", *words, variables))
