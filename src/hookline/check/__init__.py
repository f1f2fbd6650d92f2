"""Reviews the settings and scripts of a project without executing any of it.

Each rule is a function of what was read (``reading.Checked``), one module a subject. To add one,
write a function there, a row in ``RULES``, and for the kind of its findings one in
``RULE_MEANINGS``.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from hookline.check import claude, fields
from hookline.check.claude_matchers import check_claude_matchers
from hookline.check.findings import Finding, Severity
from hookline.check.matchers import check_matchers
from hookline.check.material import Checked, read
from hookline.check.meanings import RULE_MEANINGS
from hookline.check.noise import check_noise
from hookline.check.scripts import check_open, check_scripts, check_warmth
from hookline.check.servers import check_servers
from hookline.check.shells import check_syntax

__all__ = ["RULES", "RULE_MEANINGS", "Checked", "Finding", "Severity", "check", "read"]

Rule: TypeAlias = Callable[[Checked], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    fields.check_unknown_events,
    fields.check_unknown_keys,
    fields.check_types,
    fields.check_failure_words,
    fields.check_timeouts,
    fields.check_environments,
    fields.check_arguments,
    check_matchers,
    fields.check_duplicates,
    fields.check_switches,
    fields.check_disabled_names,
    fields.check_disabled_hooks,
    fields.check_unused,
    check_scripts,
    check_noise,
    check_warmth,
    check_syntax,
    check_open,
    fields.check_prompts,
    check_servers,
    claude.check_unread_files,
    claude.check_unfired_events,
    claude.check_kinds,
    claude.check_switches,
    claude.check_unsupported_fields,
    claude.check_text_of_guards,
    claude.check_user_config,
    claude.check_conditions,
    check_claude_matchers,
)


def check(checked: Checked) -> list[Finding]:
    """Return every finding, by file and place."""
    findings = [finding for rule in RULES for finding in rule(checked)]
    reported_places = {(finding.settings, finding.path) for finding in findings}
    for problem in checked.problems:
        kind, message, remedy, settings = "settings", problem.text, "", problem.file
        if problem.kind == "bad-plugin":
            kind = "plugin"
        elif problem.broken:
            kind, message, settings = "syntax", f"the file {problem.message}", ""
            remedy = "correct it; until then none of its hooks run"
        elif (problem.file, problem.path) in reported_places:
            # A rule reports this place already, in better words than the engine's.
            continue
        findings.append(
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
    unique = {(f.kind, f.file, f.line, f.column, f.message): f for f in reversed(findings)}
    # Settings in the order of their layers, then scripts by name.
    ranks = {file.path: rank for rank, file in enumerate(checked.files)}
    return sorted(
        unique.values(), key=lambda f: (ranks.get(f.file, len(ranks)), f.file, f.line, f.column)
    )
