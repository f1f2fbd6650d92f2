"""``hookline migrate``: converts another agent's hook settings to ours; writes only on request.

It executes nothing and does not change the other agent's files. It shows the hooks before and
after, which hooks are not moved and why, and how to run those anyway.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hookline.cli.failures import CommandError
from hookline.cli.options import Option, Options, flag
from hookline.cli.screen import Screen, count, shown_path, shown_place, width_of
from hookline.edit import Updated, add_to_settings, read_settings_text
from hookline.migrate.claude import EVENTS
from hookline.migrate.moves import Before, Kind, Move
from hookline.migrate.planning import (
    Agent,
    Places,
    Plan,
    Source,
    Target,
    additions,
    find_places,
    find_plugin_sources,
    find_sources,
    given_source,
    make_plan,
)
from hookline.pipeline.settings import SettingsFileError
from hookline.wire.events import HookEventName

EXAMPLES = (
    "hookline migrate",
    "hookline migrate --from claude --only project",
    "hookline migrate --write",
)

_AGENTS: dict[str, tuple[Agent, ...]] = {
    "auto": ("claude", "gemini"),
    "claude": ("claude",),
    "gemini": ("gemini",),
}
_WIDEST = 36
# The findings shown after a plan's hooks: title and role.
_FINDINGS = (
    (Kind.REFUSED, "What is not moved, because it would do something else", "bad"),
    (Kind.NOTE, "What to know", "title"),
)
_NEXT = ("hookline check", "hookline trust")
_UNCHANGED = '"claude": true in .hookline/settings.json'
OPTIONS = (
    Option(
        "--from",
        "",
        "whose settings (default: Claude Code's; if there are none, Gemini's and LLxprt's)",
        default="auto",
        choices=tuple(_AGENTS),
        attribute="agent",
    ),
    Option("--only", "", "only the project's or the user's settings", choices=("project", "user")),
    Option(
        "--plugin",
        "DIR",
        "the hooks of this Claude Code plugin, for the project, or with --only user for the user; "
        "can be given more than once",
        again=True,
    ),
    flag("--dry-run", "show what --write would do, and write nothing (default)", one_of="how"),
    flag("--write", "add the hooks to the settings, and keep a backup of these", one_of="how"),
)


def run(options: Options, screen: Screen) -> int:
    """Show the migration, and with ``--write`` carry it out."""
    places = find_places(os.path.abspath(options.cwd or os.getcwd()))
    plan = make_plan(_find_sources(options, places), places)
    written = _write_plan(plan) if options.write else None
    # The command that writes what is shown.
    words = ["hookline", "migrate", "--write"]
    words += [] if options.agent == "auto" else ["--from", options.agent]
    words += ["--only", options.only] if options.only else []
    words += ["--cwd", options.cwd] if options.cwd else []
    words += [word for file in options.settings or () for word in ("--settings", file)]
    words += [word for folder in options.plugin or () for word in ("--plugin", folder)]
    again = shlex.join(words)
    if options.json:
        screen.document(_make_document(plan, written, again))
        return 0
    if not plan.sources:
        screen.line(
            "there are no settings of Claude Code, Gemini CLI or LLxprt Code to migrate here"
        )
        screen.line("name a file: ", ("hookline migrate --settings FILE", "name"))
        screen.line("or start anew: ", ("hookline init", "name"))
        return 0
    _show_plan(screen, plan)
    _show_outcome(screen, plan, written, again)
    if {source.agent for source in plan.sources} == {"claude"}:
        # Not moved by default, because they are read as they are.
        for source in find_sources(places, ("gemini",)):
            file = shown_path(source.file)
            screen.line(f"{file} is read as it is; --from gemini moves it all the same")
    return 0


def _find_sources(options: Options, places: Places) -> list[Source]:
    sources: list[Source] = []
    for file in options.settings or ():
        agent: Agent = options.agent
        if options.agent == "auto":
            # The event names tell whose settings these are.
            hooks = read_settings_text(os.path.abspath(file)).document.value.get("hooks")
            named = set(hooks) if isinstance(hooks, Mapping) else set()
            agent = "gemini" if named & set(HookEventName) - set(EVENTS) else "claude"
        sources.append(given_source(file, agent, places))
    for folder in options.plugin or ():
        sources += find_plugin_sources(folder, places, options.only or "project")
    if sources:
        return sources
    sources = find_sources(places, _AGENTS[options.agent])
    if options.only:
        sources = [source for source in sources if source.layer == options.only]
    if options.agent == "auto":
        # Gemini's files are read as they are, so they are moved only if there are no others.
        sources = [source for source in sources if source.agent == "claude"] or sources
    return sources


def _write_plan(plan: Plan) -> list[Updated]:
    written: list[Updated] = []
    for folder in plan.folders:
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise CommandError(f"{folder}: cannot be created: {error.strerror or error}") from None
    for target in plan.targets:
        if not target.new and not target.disabled:
            written.append(Updated(file=target.file, created=False, changed=False))
            continue

        def choose(value: Mapping[str, Any], target: Target = target) -> Mapping[str, Any]:
            return additions(value, target.moves, target.disabled)[0]

        try:
            written.append(add_to_settings(target.file, choose))
        except SettingsFileError as error:
            done = [each.file for each in written if each.changed]
            before = f" ({', '.join(done)} was written before)" if done else ""
            raise CommandError(f"{error}{before}") from None
    return written


def _show_plan(screen: Screen, plan: Plan) -> None:
    """Show for each hook when it runs, before and after, what it runs, and how its fields change;
    then the findings."""
    for target in plan.targets:
        for source in plan.sources:
            if source.target != target.file:
                continue
            moves = [move for move in target.moves if move.file == source.file]
            files = shown_path(source.file), shown_path(target.file)
            screen.line((files[0], "title"), " → ", (files[1], "title"))
            if not moves:
                screen.line(("no hook can be migrated", "faint"), indent=2)
            width = min(
                max((width_of(_describe_when(m.before)) for m in moves), default=0), _WIDEST
            )
            for move in moves:
                before = _describe_when(move.before)
                space = " " * max(width - width_of(before), 0)
                screen.line(
                    (before, "name"), f"{space}  →  ", (_describe_when(move), "matcher"), indent=2
                )
                args = move.before.config.get("args")
                words = (move.before.config["command"], *(args if isinstance(args, list) else ()))
                screen.quote(" ".join(map(str, words)))
                changes = "; ".join(move.changes) if move in target.new else "already there"
                if changes:
                    screen.line((changes, "faint"), indent=4)
            screen.line()
        if target.disabled:
            names = ", ".join(target.disabled)
            screen.line(("stays switched off", "care"), f": {names}")
            screen.line()
    for kind, title, role in _FINDINGS:
        findings = [finding for finding in plan.findings if finding.kind is kind]
        if not findings:
            continue
        screen.line((title, role))
        for finding in findings:
            subject = f"  {finding.subject}" if finding.subject else ""
            place = shown_place(finding.file, finding.line)
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            screen.line((place, "faint"), (subject, "name"), indent=2)
            screen.line(f"{finding.message}{remedy}", indent=4)
        screen.line()


def _describe_when(hook: Before | Move) -> str:
    return f"{hook.event} {hook.matcher}" if hook.matcher else hook.event


def _show_outcome(
    screen: Screen, plan: Plan, written: Sequence[Updated] | None, again: str
) -> None:
    new = sum(len(target.new) for target in plan.targets)
    known = len(plan.moves) - new
    parts = [f"{count(new, 'hook')} to add" if written is None else f"{count(new, 'hook')} added"]
    parts += [f"{known} already there"] if known else []
    refused = sum(1 for finding in plan.findings if finding.kind is Kind.REFUSED)
    parts += [f"{refused} refused"] if refused else []
    screen.line(", ".join(parts))
    if refused and any(source.agent == "claude" for source in plan.sources):
        stays = "what is refused stays with Claude Code and guards nothing here"
        screen.line((stays, "bad"), f"; to run all of it unchanged: {_explain_unchanged(plan)}")
        if plan.moves:
            screen.line("what was moved would then run twice: take it out of Claude Code's file")
    for update in written or ():
        if update.changed:
            verb = "made" if update.created else "changed"
            kept = f"; as it was: {shown_path(update.backup)}" if update.backup else ""
            screen.line((verb, "good"), f" {shown_path(update.file)}{kept}")
    if written is None and any(target.new or target.disabled for target in plan.targets):
        screen.line("nothing was written; to do so: ", (again, "name"))
    elif plan.moves:
        screen.line("next: ", (_NEXT[0], "name"), ", then ", (_NEXT[1], "name"))


def _explain_unchanged(plan: Plan) -> str:
    plugins = dict.fromkeys(source.plugin for source in plan.sources if source.plugin)
    if not plugins:
        return f"{_UNCHANGED}, or --claude"
    return " ".join(f"--plugin {shlex.quote(shown_path(folder))}" for folder in plugins)


def _make_document(plan: Plan, written: Sequence[Updated] | None, again: str) -> dict[str, Any]:
    """Return the document of ``migrate --json``."""
    updates = {update.file: update for update in written or ()}
    return {
        "written": written is not None,
        "sources": plan.sources,
        "hooks": [
            {
                "file": move.file,
                "line": move.line,
                "column": move.column,
                "before": {
                    "event": move.before.event,
                    "matcher": move.before.matcher,
                    "hook": move.before.config,
                },
                "after": {"event": move.event, "matcher": move.matcher, "hook": move.hook},
                "changes": move.changes,
                "target": target.file,
                "is_new": move in target.new,
            }
            for target in plan.targets
            for move in target.moves
        ],
        "findings": plan.findings,
        "unchanged": _explain_unchanged(plan),
        "targets": [
            {
                "file": target.file,
                "exists": target.exists,
                "add": len(target.new),
                "disabled": target.disabled,
                "backup": updates[target.file].backup if target.file in updates else None,
            }
            for target in plan.targets
        ],
        "next": list(_NEXT) if written is not None else [again, *_NEXT],
    }
