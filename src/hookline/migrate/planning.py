"""Finds the settings of other agents and puts their moves together: what is new to which of our
files, and what is different there."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from hookline.edit import read_settings_text, refuse_way_out, with_additions
from hookline.migrate.claude import migrate_claude
from hookline.migrate.claude_scripts import Script, demands, scripts_of
from hookline.migrate.moves import Before, Draft, Finding, Kind, Migrated, Move
from hookline.pipeline.definitions import Origin, parse_hooks
from hookline.pipeline.jsonc import Document, Path, spoken, value_at
from hookline.pipeline.settings import SWITCHES, find_disabled_names, find_project_dir
from hookline.places import home_dir, user_config_dir
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
        kind = Kind.LOST if problem.skipped else Kind.NOTE
        at = problem.line or 1, problem.column or 1
        draft.findings.append(Finding(kind, file, *at, problem.text))
    for path in SWITCHES:
        if value_at(document.value, path) is False:
            message = f"{spoken(path)} is false, so hooks stay off until it is not"
            draft.find(Kind.NOTE, path, message)
    return draft.finished(dict.fromkeys(name for _, name in find_disabled_names(document.value)))


_MIGRATE: dict[Agent, Callable[[Document, str], Migrated]] = {
    "claude": migrate_claude,
    "gemini": migrate_gemini,
}


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
    targets: list[Target] = []
    for file in dict.fromkeys(source.target for source in sources):
        there = [each for source, each in migrated if source.target == file]
        moves = tuple(move for each in there for move in each.moves)
        disabled = list(dict.fromkeys(name for each in there for name in each.disabled))
        settings = read_settings_text(file)
        added, new = additions(settings.document.value, moves, disabled)
        with_additions(settings, added)
        off = tuple(added.get("hooks", {}).get("disabled", ()))
        exists = settings.raw is not None
        targets.append(Target(file=file, exists=exists, moves=moves, new=tuple(new), disabled=off))
    claude = [m for source, each in migrated if source.agent == "claude" for m in each.moves]
    scripts = [
        scripts_of(
            str(move.before.config["command"]),
            move.before.config.get("args", ()),
            project_dir=places.project_dir,
            home=places.home,
        )
        for move in claude
    ]
    documents = [(source.file, document) for source, document in read if source.agent == "claude"]
    findings += _script_findings(claude, scripts, documents)
    findings += _differences(claude)
    return Plan(
        sources=tuple(sources),
        targets=tuple(targets),
        findings=tuple(findings),
        scripts=tuple(sorted({script.path for each in scripts for script in each})),
    )


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
    groups: dict[tuple[str, str, int], list[Any]] = {}
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
    return repr((event, matcher or "", hook.get("command"), hook.get("args"), variables))


def _script_findings(
    moves: Sequence[Move],
    scripts: Sequence[Sequence[Script]],
    documents: Sequence[tuple[str, Document]],
) -> Iterator[Finding]:
    """What scripts must change, and the variables they read that only Claude Code sets."""
    seen: set[tuple[str, int, str]] = set()
    texts: list[list[str]] = []
    for move, own in zip(moves, scripts, strict=True):
        command = str(move.before.config["command"])
        event = move.before.event
        texts.append([command, *(script.text for script in own)])
        found = [(s.path, d.line, d) for s in own for d in demands(s.text, event)]
        told = demands(command, event, is_command=not own)
        for file, line, demand in (*found, *((move.file, move.line, d) for d in told)):
            if (file, line, demand.message) not in seen:
                seen.add((file, line, demand.message))
                yield Finding(Kind.SCRIPT, file, line, 1, demand.message, event, demand.remedy)
    remedy = "put it into the env of the hook that reads it"
    for file, document in documents:
        named = value_at(document.value, ("env",))
        for name in named if isinstance(named, Mapping) else ():
            word = re.compile(rf"\b{re.escape(name)}\b")
            reader = next((each for each in texts if any(map(word.search, each))), None)
            if reader is not None:
                place = document.place(("env", name))
                message = f"{name} is not set here by the settings"
                yield Finding(Kind.NOTE, file, *place, message, reader[0], remedy)


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
