"""A migration on the screen: hooks before and after, what stays behind, what is to be done."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.cli.text import count, width_of
from hookline.edit import Updated
from hookline.migrate.moves import Before, Finding, Kind, Move
from hookline.migrate.planning import Plan, Target

_WIDEST = 36
_NEXT = ("hookline check", "hookline trust")


def show_plan(screen: Screen, plan: Plan, written: Sequence[Updated] | None, *, again: str) -> None:
    """Everything there is to say, and what to do next; ``again`` is the command that writes."""
    if not plan.sources:
        screen.line(
            "there are no settings of Claude Code, Gemini CLI or LLxprt Code to migrate here"
        )
        screen.line("name a file: ", ("hookline migrate --settings FILE", "name"))
        screen.line("or start anew: ", ("hookline init", "name"))
        return
    for target in plan.targets:
        _show_target(screen, plan, target)
    _show_findings(screen, plan, Kind.LOST, "has no equivalent")
    _show_scripts(screen, plan)
    _show_findings(screen, plan, Kind.NOTE, "is different here")
    _show_outcome(screen, plan, written, again)


def _show_target(screen: Screen, plan: Plan, target: Target) -> None:
    for source in plan.sources:
        if source.target != target.file:
            continue
        moves = [move for move in target.moves if move.file == source.file]
        screen.line((shown(source.file), "title"), " → ", (shown(target.file), "title"))
        if not moves:
            screen.line(("no hook that can come along", "faint"), indent=2)
        width = max((width_of(_when(move.before)) for move in moves), default=0)
        for move in moves:
            _show_move(screen, move, min(width, _WIDEST), is_new=move in target.new)
        screen.line()
    if target.disabled:
        names = ", ".join(target.disabled)
        screen.line(("stays switched off", "care"), f": {names}")
        screen.line()


def _show_move(screen: Screen, move: Move, width: int, *, is_new: bool) -> None:
    """When it runs, before and after; below that what it runs, and how its fields change."""
    before = _when(move.before)
    space = " " * max(width - width_of(before), 0)
    screen.line((before, "name"), f"{space}  →  ", (_when(move), "matcher"), indent=2)
    screen.quote(_command(move.before.config))
    changes = "; ".join(move.changes) if is_new else "is there already"
    if changes:
        screen.line((changes, "faint"), indent=4)


def _command(config: Mapping[str, Any]) -> str:
    args = config.get("args")
    words = (config["command"], *(args if isinstance(args, list) else ()))
    return " ".join(map(str, words))


def _when(hook: Before | Move) -> str:
    return f"{hook.event} {hook.matcher}" if hook.matcher else hook.event


def _show_findings(screen: Screen, plan: Plan, kind: Kind, title: str) -> None:
    findings = [finding for finding in plan.findings if finding.kind is kind]
    if not findings:
        return
    role = "bad" if kind is Kind.LOST else "title"
    screen.line((f"What {title}", role))
    for finding in findings:
        subject = f"  {finding.subject}" if finding.subject else ""
        screen.line((_place(finding), "faint"), (subject, "name"), indent=2)
        screen.line(_sentence(finding), indent=4)
    screen.line()


def _show_scripts(screen: Screen, plan: Plan) -> None:
    findings = [finding for finding in plan.findings if finding.kind is Kind.SCRIPT]
    if not findings:
        return
    screen.line(("What scripts must change", "care"))
    for file, group in groupby(sorted(findings, key=_by_place), key=lambda f: f.file):
        screen.line((shown(file), "name"), indent=2)
        screen.table([(str(f.line), _sentence(f)) for f in group], ("right",), indent=4)
    screen.line()


def _show_outcome(
    screen: Screen, plan: Plan, written: Sequence[Updated] | None, again: str
) -> None:
    new = sum(len(target.new) for target in plan.targets)
    known = len(plan.moves) - new
    parts = [f"{count(new, 'hook')} to add" if written is None else f"{count(new, 'hook')} added"]
    parts += [f"{known} there already"] if known else []
    lost = sum(1 for finding in plan.findings if finding.kind is Kind.LOST)
    parts += [f"{lost} without an equivalent"] if lost else []
    screen.line("; ".join((", ".join(parts), *_read_scripts(plan))))
    for update in written or ():
        if update.changed:
            verb = "made" if update.created else "changed"
            kept = f"; as it was: {shown(update.backup)}" if update.backup else ""
            screen.line((verb, "good"), f" {shown(update.file)}{kept}")
    if written is None and _has_news(plan):
        screen.line("nothing was written; to do so: ", (again, "name"))
    elif plan.moves:
        screen.line("next: ", (_NEXT[0], "name"), ", then ", (_NEXT[1], "name"))


def _read_scripts(plan: Plan) -> Iterator[str]:
    if plan.scripts:
        must = {finding.file for finding in plan.findings if finding.kind is Kind.SCRIPT}
        fine = sum(1 for script in plan.scripts if script not in must)
        yield f"{fine} of {count(len(plan.scripts), 'script')} can stay as written"


def _has_news(plan: Plan) -> bool:
    return any(target.new or target.disabled for target in plan.targets)


def _by_place(finding: Finding) -> tuple[str, int]:
    return finding.file, finding.line


def _place(finding: Finding) -> str:
    return f"{shown(finding.file)}:{finding.line}"


def _sentence(finding: Finding) -> str:
    return f"{finding.message}; {finding.remedy}" if finding.remedy else finding.message


def plan_document(plan: Plan, written: Sequence[Updated] | None, *, again: str) -> dict[str, Any]:
    """The same for programs."""
    updates = {update.file: update for update in written or ()}
    return {
        "written": written is not None,
        "sources": plan.sources,
        "hooks": [_move_document(move, target) for target in plan.targets for move in target.moves],
        "findings": plan.findings,
        "scripts": plan.scripts,
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


def _move_document(move: Move, target: Target) -> dict[str, Any]:
    return {
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
