"""What a reviewer would say about the settings and scripts of a project; none of it is executed.

Each rule is a function of what was read (``reading.Checked``), one module a subject; a new one is
a function there and a row in ``RULES``.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from hookline.check import fields
from hookline.check.findings import Finding, Severity
from hookline.check.matchers import matchers
from hookline.check.noise import noise
from hookline.check.reading import Checked, read
from hookline.check.scripts import scripts, uncovered, warmth
from hookline.check.shells import code_arguments, missing_programs, syntax

__all__ = ["RULES", "Checked", "Finding", "Severity", "check", "read"]

Rule: TypeAlias = Callable[[Checked], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    *(fields.unknown_events, fields.unknown_keys, fields.types, fields.timeouts),
    *(fields.environments, fields.arguments, matchers, fields.duplicates, fields.switches),
    *(fields.disabled_names, fields.disabled_hooks, fields.overreach, scripts, noise, warmth),
    fields.prompts,
    *(missing_programs, syntax, code_arguments, uncovered),
)


def check(checked: Checked) -> list[Finding]:
    """Everything there is to say, by file and place."""
    found = [finding for rule in RULES for finding in rule(checked)]
    said = {(finding.settings, finding.path) for finding in found}
    mend = "until that is mended, none of its hooks run"
    problems = [(each, "syntax", f"the file {each.message}", mend, "") for each in checked.broken]
    # What the engine warns of when it reads the settings, and no rule has said better.
    problems += (
        (each, "settings", each.text, "", file.path)
        for file in checked.files
        for each in file.layer.problems
        if (file.path, each.path) not in said
    )
    found += (
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
        for problem, kind, message, remedy, settings in problems
    )
    unique = {(f.kind, f.file, f.line, f.column, f.message): f for f in reversed(found)}
    # Settings in the order of their layers, then scripts by name.
    ranks = {file.path: rank for rank, file in enumerate(checked.files)}
    return sorted(
        unique.values(), key=lambda f: (ranks.get(f.file, len(ranks)), f.file, f.line, f.column)
    )
