"""Puts the moves of all files together: what is new to which of our files, and what it means."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hookline.edit.updating import read_settings_text, refuse_way_out, with_additions
from hookline.migrate.claude import migrate_claude
from hookline.migrate.claude_scripts import Script, demands, scripts_of
from hookline.migrate.gemini import migrate_gemini
from hookline.migrate.moves import Finding, Kind, Migrated, Move
from hookline.migrate.sources import Agent, Places, Source
from hookline.pipeline.jsonc import Document, value_at

_MIGRATE: dict[Agent, Callable[[Document, str], Migrated]] = {
    "claude": migrate_claude,
    "gemini": migrate_gemini,
}


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
    scripts = {id(move): _scripts(move, places) for move in claude}
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


def _scripts(move: Move, places: Places) -> list[Script]:
    command, args = str(move.before.config["command"]), move.before.config.get("args", ())
    return scripts_of(command, args, project_dir=places.project_dir, home=places.home)


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
                yield Finding(
                    kind=Kind.SCRIPT,
                    file=file,
                    line=line,
                    column=1,
                    subject=event,
                    message=demand.message,
                    remedy=demand.remedy,
                )


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
                line, column = document.place(("env", name))
                yield Finding(
                    kind=Kind.NOTE,
                    file=file,
                    line=line,
                    column=column,
                    message=f"{name} is not set here by the settings",
                    remedy="put it into the env of the hook that reads it",
                    subject=str(move.before.config["command"]),
                )
                break


def _differences(moves: Sequence[Move]) -> Iterator[Finding]:
    """What is otherwise for many hooks alike, said once."""
    unlimited = [move for move in moves if "timeout" not in move.hook]
    if unlimited:
        yield _difference(
            unlimited[0],
            f"{len(unlimited)} of {len(moves)} hooks set no timeout: "
            "they have 60 s here, and had up to 10 minutes",
            'give those that need more a "timeout", in milliseconds',
        )
    exact = [m for m in moves if m.matcher and re.fullmatch(r"[\w|]+", m.matcher) and _is_tool(m)]
    if exact:
        name = str(exact[0].matcher).partition("|")[0]
        yield _difference(
            exact[0],
            f"matchers are searched in the tool's name: {name} fits mcp__files__{name} too",
            f"write ^{name}$ for that one alone",
        )


def _is_tool(move: Move) -> bool:
    return move.event in ("BeforeTool", "AfterTool")


def _difference(move: Move, message: str, remedy: str) -> Finding:
    return Finding(
        kind=Kind.NOTE,
        file=move.file,
        line=move.line,
        column=move.column,
        message=message,
        remedy=remedy,
    )
