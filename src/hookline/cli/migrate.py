"""``hookline migrate``: copies hooks of Gemini CLI and LLxprt Code to ours; writes only on request.

It executes nothing and does not change the other agent's files. It shows what moves, and what does
not and why.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hookline.cli.failures import CommandError
from hookline.cli.options import Option, Options, flag, repeat_options
from hookline.cli.screen import Screen, count, shorten_path, shorten_place
from hookline.migrate.plan import (
    Destination,
    Kind,
    Places,
    Plan,
    Source,
    additions,
    find_places,
    find_sources,
    make_plan,
    name_source,
)
from hookline.settings.edit import Updated, add_to_settings
from hookline.settings.reader import SettingsFileError

EXAMPLES = (
    "hookline migrate",
    "hookline migrate --only project",
    "hookline migrate --write",
)

# The findings shown after a plan's hooks: title and role.
_FINDINGS = (
    (Kind.REFUSED, "What is not moved", "bad"),
    (Kind.NOTE, "What to know", "title"),
)
_NEXT = ("hookline check", "hookline trust")
OPTIONS = (
    Option("--only", "", "only the project's or the user's settings", choices=("project", "user")),
    flag("--dry-run", "show what --write would do, and write nothing (default)", one_of="how"),
    flag("--write", "add the hooks to the settings, and keep a backup of these", one_of="how"),
)


def run(options: Options, screen: Screen) -> int:
    """Show the migration, and with ``--write`` carry it out."""
    places = find_places(os.path.abspath(options.cwd or os.getcwd()))
    plan = make_plan(_find_sources(options, places), places)
    updates = _write_plan(plan) if options.write else None
    # The command that writes what is shown.
    words = ["hookline", "migrate", "--write"]
    words += ["--only", options.only] if options.only else []
    again = shlex.join([*words, *repeat_options(options)])
    if options.json:
        screen.document(_make_document(plan, updates, again))
        return 0
    if not plan.sources:
        screen.line("there are no settings of Gemini CLI or LLxprt Code to migrate here")
        screen.line("name a file: ", ("hookline migrate --settings FILE", "name"))
        screen.line("Claude Code's hooks run as they are with ", ("--claude", "name"))
        screen.line("or start anew: ", ("hookline init", "name"))
        return 0
    _show_plan(screen, plan)
    _show_outcome(screen, plan, updates, again)
    return 0


def _find_sources(options: Options, places: Places) -> list[Source]:
    if options.settings:
        return [name_source(file, places) for file in options.settings]
    sources = find_sources(places)
    return [source for source in sources if options.only in (None, source.layer)]


def _write_plan(plan: Plan) -> list[Updated]:
    updates: list[Updated] = []
    for target in plan.targets:
        if not target.new and not target.disabled:
            updates.append(Updated(file=target.file, created=False, changed=False))
            continue

        def choose(value: Mapping[str, Any], target: Destination = target) -> Mapping[str, Any]:
            return additions(value, target.moves, target.disabled)[0]

        try:
            updates.append(add_to_settings(target.file, choose))
        except SettingsFileError as error:
            files = [each.file for each in updates if each.changed]
            before = f" ({', '.join(files)} was written before)" if files else ""
            raise CommandError(f"{error}{before}") from None
    return updates


def _show_plan(screen: Screen, plan: Plan) -> None:
    """Show for each hook when it runs and what it runs; then the findings."""
    for target in plan.targets:
        for source in plan.sources:
            if source.target != target.file:
                continue
            moves = [move for move in target.moves if move.file == source.file]
            files = shorten_path(source.file), shorten_path(target.file)
            screen.line((files[0], "title"), " → ", (files[1], "title"))
            if not moves:
                screen.line(("no hook can be migrated", "faint"), indent=2)
            for move in moves:
                screen.line(
                    (move.event, "name"), (f" {move.matcher or ''}".rstrip(), "matcher"), indent=2
                )
                args = move.hook.get("args")
                words = (move.hook["command"], *(args if isinstance(args, list) else ()))
                screen.quote(" ".join(map(str, words)))
                if move not in target.new:
                    screen.line(("already there", "faint"), indent=4)
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
            place = shorten_place(finding.file, finding.line)
            remedy = f"; {finding.remedy}" if finding.remedy else ""
            screen.line((place, "faint"), indent=2)
            screen.line(f"{finding.message}{remedy}", indent=4)
        screen.line()


def _show_outcome(
    screen: Screen, plan: Plan, updates: Sequence[Updated] | None, again: str
) -> None:
    new = sum(len(target.new) for target in plan.targets)
    old = len(plan.moves) - new
    parts = [f"{count(new, 'hook')} to add" if updates is None else f"{count(new, 'hook')} added"]
    parts += [f"{old} already there"] if old else []
    refused = sum(1 for finding in plan.findings if finding.kind is Kind.REFUSED)
    parts += [f"{refused} refused"] if refused else []
    screen.line(", ".join(parts))
    for update in updates or ():
        if update.changed:
            verb = "made" if update.created else "changed"
            backup = f"; as it was: {shorten_path(update.backup)}" if update.backup else ""
            screen.line((verb, "good"), f" {shorten_path(update.file)}{backup}")
    if updates is None and any(target.new or target.disabled for target in plan.targets):
        screen.line("nothing was written; to do so: ", (again, "name"))
    elif plan.moves:
        screen.line("next: ", (_NEXT[0], "name"), ", then ", (_NEXT[1], "name"))


def _make_document(plan: Plan, updated: Sequence[Updated] | None, again: str) -> dict[str, Any]:
    """Return the document of ``migrate --json``."""
    updates = {update.file: update for update in updated or ()}
    return {
        "written": updated is not None,
        "sources": plan.sources,
        "hooks": [
            {
                "file": move.file,
                "line": move.line,
                "column": move.column,
                "event": move.event,
                "matcher": move.matcher,
                "hook": move.hook,
                "target": target.file,
                "is_new": move in target.new,
            }
            for target in plan.targets
            for move in target.moves
        ],
        "findings": plan.findings,
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
        "next": list(_NEXT) if updated is not None else [again, *_NEXT],
    }
