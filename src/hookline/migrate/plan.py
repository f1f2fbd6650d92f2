"""Finds the settings of Gemini CLI and LLxprt Code, and plans what moves into which of our
files. Nothing is written here."""

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec

from hookline._support.places import home_dir, user_config_dir
from hookline.dialects import ROWS
from hookline.dialects.claude.events import EVENT_NAMES
from hookline.settings.edit import read_settings_text, refuse_way_out, with_additions
from hookline.settings.jsonc import Document, Path, spoken, value_at
from hookline.settings.reader import (
    Origin,
    find_dialect,
    find_disabled_names,
    find_project_dir,
    find_settings_files,
    find_switch_values,
    parse_hooks,
)
from hookline.wire.events import HookEventName
from hookline.wire.hooks import HookSource

Layer: TypeAlias = Literal["project", "user"]

_HOOK_KEYS = frozenset(
    {"type", "command", "args", "name", "description", "timeout", "env", "onFailure", "warm"}
)
_EVENTS = frozenset(event.value for event in HookEventName)
_CLAUDE_EVENTS = frozenset(EVENT_NAMES) - _EVENTS


class Kind(StrEnum):
    """Whether a finding refuses to move something, or notes something for the user."""

    REFUSED = "refused"
    NOTE = "note"


class MigrationFinding(msgspec.Struct, frozen=True):
    """Something that does not move or changes: the place, and what to do."""

    kind: Kind
    file: str
    line: int
    column: int
    message: str
    remedy: str = ""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that moves, and its place; hooks with the same ``group`` share a definition."""

    file: str
    line: int
    column: int
    group: tuple[str | int, ...]
    event: str
    hook: Mapping[str, Any]
    matcher: str | None = None
    sequential: bool = False


class Migrated(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one settings file; ``disabled`` are names of hooks that stay disabled."""

    moves: tuple[Move, ...] = ()
    disabled: tuple[str, ...] = ()
    findings: tuple[MigrationFinding, ...] = ()


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A settings file of another agent, and the file of ours for its hooks."""

    file: str
    layer: Layer
    target: str


class Places(msgspec.Struct, frozen=True):
    """Where a migration looks and writes."""

    project_dir: str
    home: str | None
    user_dir: str | None


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """One of our files, and the moves into it; ``new`` are the moves that it does not have yet."""

    file: str
    exists: bool
    moves: tuple[Move, ...]
    new: tuple[Move, ...]
    disabled: tuple[str, ...]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A whole migration, before anything is written."""

    sources: tuple[Source, ...]
    targets: tuple[Destination, ...]
    findings: tuple[MigrationFinding, ...]

    @property
    def moves(self) -> list[Move]:
        """Every hook that moves."""
        return [move for target in self.targets for move in target.moves]


def find_places(cwd: str) -> Places:
    """Find the project of a directory, and the user's folders."""
    home = home_dir()
    return Places(find_project_dir(cwd, home), home, user_config_dir())


def find_sources(places: Places) -> list[Source]:
    """Find the other agents' files among those that hookline reads too, the project's first."""
    ours = {HookSource.PROJECT: os.path.join(places.project_dir, ".hookline")}
    if places.user_dir is not None:
        ours[HookSource.USER] = places.user_dir
    sources = []
    for file in reversed(find_settings_files(places.project_dir, places.home)):
        folder = ours.get(file.source, os.path.dirname(file.path))
        if folder != os.path.dirname(file.path) and os.path.exists(file.path):
            layer: Layer = "project" if file.source is HookSource.PROJECT else "user"
            target = os.path.join(folder, "settings.json")
            sources.append(Source(file=file.path, layer=layer, target=target))
    return sorted(sources, key=lambda source: source.layer == "user")


def name_source(file: str, places: Places) -> Source:
    """Make the source for a named file, whose hooks go into the project's settings."""
    target = os.path.join(places.project_dir, ".hookline", "settings.json")
    return Source(file=os.path.abspath(file), layer="project", target=target)


def migrate_file(document: Document, file: str) -> Migrated:
    """Migrate a settings file, whose hooks mean the same in ours."""
    hooks = document.value.get("hooks") if isinstance(document.value, Mapping) else None
    names = set(hooks) if isinstance(hooks, Mapping) else set()
    if find_dialect(file) in ROWS or not names.isdisjoint(_CLAUDE_EVENTS):
        message = "these are settings of Claude Code, whose hooks run as they are with --claude"
        refusal = MigrationFinding(Kind.REFUSED, file, *document.place(("hooks",)), message)
        return Migrated(findings=(refusal,))
    moves: list[Move] = []
    findings: list[MigrationFinding] = []
    for key, definitions in hooks.items() if isinstance(hooks, Mapping) else ():
        is_event = key in _EVENTS and isinstance(definitions, list)
        for index, definition in enumerate(definitions if is_event else ()):
            listed, matcher = value_at(definition, ("hooks",)), value_at(definition, ("matcher",))
            is_definition = isinstance(listed, list) and isinstance(matcher, str | None)
            for place, config in enumerate(listed if is_definition else ()):
                command = value_at(config, ("command",))
                is_command = isinstance(command, str) and value_at(config, ("type",)) == "command"
                if not is_command or not command.strip():
                    continue
                path: Path = ("hooks", key, index, "hooks", place)
                line, column = document.place(path)
                strangers = sorted(set(config) - _HOOK_KEYS)
                if strangers:
                    message = f"{', '.join(strangers)} has no meaning here and was left out"
                    findings.append(MigrationFinding(Kind.NOTE, file, line, column, message))
                move = Move(
                    file=file,
                    line=line,
                    column=column,
                    group=(file, *path[:-2]),
                    event=key,
                    matcher=matcher or None,
                    hook={name: value for name, value in config.items() if name in _HOOK_KEYS},
                    sequential=definition.get("sequential") is True,
                )
                moves.append(move)
    if moves:
        message = "hookline reads this file itself, so its hooks run without being moved"
        remedy = "each moved hook runs once while both files have it"
        findings.append(MigrationFinding(Kind.NOTE, file, moves[0].line, 1, message, remedy))
    # The engine reads these files too: add its problems about entries that are not hooks.
    origin = Origin(file, document, ("hooks",))
    for problem in parse_hooks(hooks, source=HookSource.USER, origin=origin).problems:
        kind = Kind.REFUSED if problem.skipped else Kind.NOTE
        at = problem.line or 1, problem.column or 1
        findings.append(MigrationFinding(kind, file, *at, problem.text))
    for path, is_on in find_switch_values(document.value):
        if not is_on:
            message = f"{spoken(path)} is false, so hooks stay disabled; set it to true to run them"
            findings.append(MigrationFinding(Kind.NOTE, file, *document.place(path), message))
    disabled = dict.fromkeys(name for _, name in find_disabled_names(document.value))
    return Migrated(moves=tuple(moves), disabled=tuple(disabled), findings=tuple(findings))


def make_plan(sources: Sequence[Source], places: Places) -> Plan:
    """Read the files and plan their migration; raises SettingsFileError for a bad file."""
    migrated = [
        (source, migrate_file(read_settings_text(source.file).document, source.file))
        for source in sources
    ]
    for source in sources:
        if source.layer == "project":
            refuse_way_out(source.target, places.project_dir)
    targets: list[Destination] = []
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
            Destination(file=file, exists=exists, moves=moves, new=tuple(new), disabled=names)
        )
    return Plan(
        sources=tuple(sources),
        targets=tuple(targets),
        findings=tuple(finding for _, each in migrated for finding in each.findings),
    )


def additions(
    value: Mapping[str, Any], moves: Sequence[Move], disabled: Sequence[str]
) -> tuple[dict[str, Any], list[Move]]:
    """Return what to add to a settings object for the moves, and which moves are new to it."""
    identities: set[object] = set()
    there = value.get("hooks")
    for event, definitions in there.items() if isinstance(there, Mapping) else ():
        for definition in definitions if isinstance(definitions, list) else ():
            listed = value_at(definition, ("hooks",))
            for hook in listed if isinstance(listed, list) else ():
                if isinstance(hook, Mapping):
                    identities.add(_identify(event, definition.get("matcher"), hook))
    hooks: dict[str, Any] = {}
    new: list[Move] = []
    # Hooks that shared a definition share one again.
    groups: dict[tuple[str | int, ...], list[Any]] = {}
    for move in moves:
        identity = _identify(move.event, move.matcher, move.hook)
        if identity in identities:
            continue
        identities.add(identity)
        new.append(move)
        if move.group not in groups:
            groups[move.group] = []
            definition = {} if move.matcher is None else {"matcher": move.matcher}
            definition |= {"sequential": True} if move.sequential else {}
            definition["hooks"] = groups[move.group]
            hooks.setdefault(move.event, []).append(definition)
        groups[move.group].append(dict(move.hook))
    before = value_at(value, ("hooks", "disabled"))
    names = [name for name in disabled if not (isinstance(before, list) and name in before)]
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
