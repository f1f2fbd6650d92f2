"""What a reviewer would say about the settings and scripts of a project; none of it is executed.

Each rule is a function of what was read (``reading.Checked``), one module a subject; a new one is
a function there and a row in ``RULES``; what it calls its findings has a row in ``RULE_MEANINGS``.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from hookline.check import claude, fields
from hookline.check.claude_matchers import claude_matchers
from hookline.check.findings import Finding, Severity
from hookline.check.matchers import matchers
from hookline.check.meanings import RULE_MEANINGS
from hookline.check.noise import noise
from hookline.check.reading import Checked, read
from hookline.check.scripts import scripts, uncovered, warmth
from hookline.check.servers import servers
from hookline.check.shells import code_arguments, missing_programs, syntax

__all__ = ["RULES", "RULE_MEANINGS", "Checked", "Finding", "Severity", "check", "read"]

Rule: TypeAlias = Callable[[Checked], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    *(fields.unknown_events, fields.unknown_keys, fields.types, fields.failure_words),
    *(fields.timeouts, fields.environments, fields.arguments, matchers, fields.duplicates),
    *(fields.switches, fields.disabled_names, fields.disabled_hooks, fields.overreach, scripts),
    *(noise, warmth, missing_programs, syntax, code_arguments, uncovered, fields.prompts, servers),
    *(claude.unread_files, claude.unfired_events, claude.kinds, claude.switches),
    *(claude.unsupported_fields, claude.user_config, claude.conditions, claude_matchers),
)


def check(checked: Checked) -> list[Finding]:
    """Everything there is to say, by file and place."""
    found = [finding for rule in RULES for finding in rule(checked)]
    said = {(finding.settings, finding.path) for finding in found}
    for problem in checked.problems:
        kind, message, remedy, settings = "settings", problem.text, "", problem.file
        if problem.kind == "bad-plugin":
            kind = "plugin"
        elif problem.broken:
            kind, message, settings = "syntax", f"the file {problem.message}", ""
            remedy = "until that is mended, none of its hooks run"
        elif (problem.file, problem.path) in said:
            # A rule has said it better than the engine.
            continue
        found.append(
            Finding(
                kind=kind,
                severity=Severity.ERROR,
                message=message,
                remedy=remedy,
                file=problem.file,
                line=problem.line or 1,
                column=problem.column or 1,
                path=problem.path,
                settings=settings,
            )
        )
    unique = {(f.kind, f.file, f.line, f.column, f.message): f for f in reversed(found)}
    # Settings in the order of their layers, then scripts by name.
    ranks = {file.path: rank for rank, file in enumerate(checked.files)}
    return sorted(
        unique.values(), key=lambda f: (ranks.get(f.file, len(ranks)), f.file, f.line, f.column)
    )
