"""Finds the settings of other agents and puts their moves together: what is new to which of our
files, and what is different there."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.edit.updating import read_settings_text, refuse_way_out, with_additions
from hookline.migrate.claude import migrate_claude
from hookline.migrate.claude_scripts import Script, demands, scripts_of
from hookline.migrate.gemini import migrate_gemini
from hookline.migrate.moves import Finding, Kind, Migrated, Move
from hookline.pipeline.jsonc import Document, value_at
from hookline.pipeline.settings import find_project_dir
from hookline.places import home_dir, user_config_dir

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
_MIGRATE: dict[Agent, Callable[[Document, str], Migrated]] = {
    "claude": migrate_claude,
    "gemini": migrate_gemini,
}


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A settings file of another agent, and the file of ours for what is in it."""

    file: str
    agent: Agent
    layer: Layer
    target: str


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
    """A whole migration, before anything is written."""

    sources: tuple[Source, ...]
    targets: tuple[Target, ...]
    findings: tuple[Finding, ...]
    scripts: tuple[str, ...]

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


def make_plan(sources: Sequence[Source], places: Places) -> Plan:
    """Read the files and say what would come of them; raises SettingsFileError for a bad one."""
    read = [(source, read_settings_text(source.file).document) for source in sources]
    migrated = [
        (source, _MIGRATE[source.agent](document, source.file)) for source, document in read
    ]
    findings = [finding for _, each in migrated for finding in each.findings]
    for source in sources:
        if source.layer == "project":
            refuse_way_out(source.target, places.project_dir)
    targets = tuple(_targets(migrated))
    claude = [m for source, each in migrated if source.agent == "claude" for m in each.moves]
    scripts = {
        id(move): scripts_of(
            str(move.before.config["command"]),
            move.before.config.get("args", ()),
            project_dir=places.project_dir,
            home=places.home,
        )
        for move in claude
    }
    findings += _script_findings(claude, scripts)
    for source, document in read:
        if source.agent == "claude":
            findings += _variables(source.file, document, claude, scripts)
    findings += _differences(claude)
    read_scripts = {script.path for each in scripts.values() for script in each}
    return Plan(
        sources=tuple(sources),
        targets=targets,
        findings=tuple(findings),
        scripts=tuple(sorted(read_scripts)),
    )


def additions(
    value: Mapping[str, Any], moves: Sequence[Move], disabled: Sequence[str]
) -> tuple[dict[str, Any], list[Move]]:
    """What a settings object lacks of the moves, and which of them that are."""
    known = set(_identities(value))
    new: list[Move] = []
    for move in moves:
        identity = _identity(move.event, move.matcher, move.hook)
        if identity not in known:
            known.add(identity)
            new.append(move)
    hooks: dict[str, Any] = _definitions(new)
    said = value_at(value, ("hooks", "disabled"))
    names = [name for name in disabled if not (isinstance(said, list) and name in said)]
    if names:
        hooks["disabled"] = names
    return ({"hooks": hooks} if hooks else {}), new


def _targets(migrated: Sequence[tuple[Source, Migrated]]) -> Iterator[Target]:
    for file in dict.fromkeys(source.target for source, _ in migrated):
        there = [each for source, each in migrated if source.target == file]
        moves = [move for each in there for move in each.moves]
        disabled = list(dict.fromkeys(name for each in there for name in each.disabled))
        settings = read_settings_text(file)
        added, new = additions(settings.document.value, moves, disabled)
        with_additions(settings, added)
        yield Target(
            file=file,
            exists=settings.raw is not None,
            moves=tuple(moves),
            new=tuple(new),
            disabled=tuple(added.get("hooks", {}).get("disabled", ())),
        )


def _definitions(moves: Sequence[Move]) -> dict[str, list[dict[str, Any]]]:
    """Definitions by event; hooks that shared one still do."""
    made: dict[str, list[dict[str, Any]]] = {}
    groups: dict[tuple[str, str, int], list[Any]] = {}
    for move in moves:
        if move.group not in groups:
            groups[move.group] = []
            definition: dict[str, Any] = {} if move.matcher is None else {"matcher": move.matcher}
            definition |= {"sequential": True} if move.sequential else {}
            definition["hooks"] = groups[move.group]
            made.setdefault(move.event, []).append(definition)
        groups[move.group].append(dict(move.hook))
    return made


def _identities(value: Mapping[str, Any]) -> Iterator[object]:
    hooks = value.get("hooks")
    for event, definitions in hooks.items() if isinstance(hooks, Mapping) else ():
        for definition in definitions if isinstance(definitions, list) else ():
            listed = value_at(definition, ("hooks",))
            for hook in listed if isinstance(listed, list) else ():
                if isinstance(hook, Mapping):
                    yield _identity(event, definition.get("matcher"), hook)


def _identity(event: str, matcher: Any, hook: Mapping[str, Any]) -> object:
    """By its text, as settings may hold anything where a string is expected."""
    env = hook.get("env") or {}
    variables = sorted(env.items()) if isinstance(env, Mapping) else env
    return repr((event, matcher or "", hook.get("command"), hook.get("args"), variables))


def _script_findings(
    moves: Sequence[Move], scripts: Mapping[int, Sequence[Script]]
) -> Iterator[Finding]:
    seen: set[tuple[str, int, str]] = set()
    for move in moves:
        command = str(move.before.config["command"])
        event, own = move.before.event, scripts[id(move)]
        found = [(s.path, d.line, d) for s in own for d in demands(s.text, event)]
        told = demands(command, event, is_command=not own)
        for file, line, demand in (*found, *((move.file, move.line, d) for d in told)):
            if (file, line, demand.message) not in seen:
                seen.add((file, line, demand.message))
                yield Finding(Kind.SCRIPT, file, line, 1, demand.message, event, demand.remedy)


def _variables(
    file: str,
    document: Document,
    moves: Sequence[Move],
    scripts: Mapping[int, Sequence[Script]],
) -> Iterator[Finding]:
    """Variables that Claude Code sets for hooks too, and that one of them reads."""
    named = value_at(document.value, ("env",))
    for name in named if isinstance(named, Mapping) else ():
        word = re.compile(rf"\b{re.escape(name)}\b")
        for move in moves:
            texts = [str(move.before.config["command"]), *(s.text for s in scripts[id(move)])]
            if any(map(word.search, texts)):
                message = f"{name} is not set here by the settings"
                remedy = "put it into the env of the hook that reads it"
                place = document.place(("env", name))
                yield Finding(Kind.NOTE, file, *place, message, texts[0], remedy)
                break


def _differences(moves: Sequence[Move]) -> Iterator[Finding]:
    """What is otherwise for many hooks alike, said once."""
    unlimited = [move for move in moves if "timeout" not in move.hook]
    if unlimited:
        first = unlimited[0]
        yield Finding(
            Kind.NOTE,
            *(first.file, first.line, first.column),
            f"{len(unlimited)} of {len(moves)} hooks set no timeout: "
            "they have 60 s here, and had up to 10 minutes",
            remedy='give those that need more a "timeout", in milliseconds',
        )
    for move in moves:
        on_tools = move.event in ("BeforeTool", "AfterTool")
        if on_tools and move.matcher and re.fullmatch(r"[\w|]+", move.matcher):
            name = move.matcher.partition("|")[0]
            message = (
                f"matchers are searched in the tool's name: {name} fits mcp__files__{name} too"
            )
            remedy = f"write ^{name}$ for that one alone"
            yield Finding(Kind.NOTE, move.file, move.line, move.column, message, remedy=remedy)
            break
