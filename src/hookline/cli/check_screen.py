"""How findings look: a line each that editors and people can follow, in a group a file."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hookline.check import Checked, Finding, Severity
from hookline.cli.paths import shown
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.pipeline.jsonc import spoken

if TYPE_CHECKING:
    from hookline.check.fixing import Change

_ROLES = {Severity.ERROR: "bad", Severity.WARNING: "care", Severity.HINT: "matcher"}
# How many further places of a hint are named.
_MOST_LINES = 5
_DIFF_ROLES = {"+": "good", "-": "bad", "@": "faint"}


def show_findings(screen: Screen, findings: Sequence[Finding]) -> None:
    """All findings, an empty line after those of a file."""
    for file, group in groupby(findings, key=lambda finding: finding.file):
        for finding, more in _told_once(list(group)):
            place = f"{shown(file)}:{finding.line}:{finding.column}:"
            severity = (f"{finding.severity.value}:", _ROLES[finding.severity])
            screen.line((place, "name"), " ", severity, f" {finding.text}", (more, "faint"))
        screen.line()


def _told_once(findings: Sequence[Finding]) -> Iterator[tuple[Finding, str]]:
    """The findings of a file, a hint that comes again told once with where else it holds."""
    places: dict[str, list[int]] = {}
    for finding in findings:
        if finding.severity is Severity.HINT:
            places.setdefault(finding.text, []).append(finding.line)
    for finding in findings:
        if finding.severity is not Severity.HINT:
            yield finding, ""
        elif lines := places.pop(finding.text, None):
            yield finding, _also(lines[1:])


def _also(lines: Sequence[int]) -> str:
    if not lines:
        return ""
    named, left = lines[:_MOST_LINES], len(lines) - _MOST_LINES
    more = f" and {left} more" if left > 0 else ""
    return f" (also on {'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, named))}{more})"


def show_summary(
    screen: Screen, findings: Sequence[Finding], checked: Checked, *, fix: bool
) -> None:
    """The last lines: how much was looked at, what was found, and what to do next."""
    if not checked.files and not checked.broken:
        screen.line("there are no settings to check for ", (checked.project_dir, "name"))
        screen.line("`hookline init` makes a first one, its settings and its tests")
        return
    files = len(checked.files) + len(checked.broken)
    looked_at = f"{count(len(checked.hooks), 'hook')} in {count(files, 'file')}"
    screen.line(f"{looked_at}: ", _verdict(findings))
    fixable = 0 if fix else _fixable(findings, checked)
    if fixable:
        screen.line(f"`hookline check --fix` mends {fixable} of these; --diff shows how")


def _verdict(findings: Sequence[Finding]) -> tuple[str, str]:
    counts = [(severity, sum(f.severity is severity for f in findings)) for severity in Severity]
    said = [count(number, severity.value) for severity, number in counts if number]
    if not said:
        return "nothing to object to", "good"
    worst = next(severity for severity, number in counts if number)
    return ", ".join(said), _ROLES[worst] if worst is not Severity.HINT else "good"


def _fixable(findings: Sequence[Finding], checked: Checked) -> int:
    if not any(finding.fixes for finding in findings):
        return 0
    from hookline.check.fixing import is_fixable

    return sum(is_fixable(finding, checked) for finding in findings)


def show_change(screen: Screen, change: "Change", *, done: bool) -> None:
    """What was changed in a file, or would be."""
    verb = "changed" if done else "would change"
    screen.line((f"{verb} ", "change"), (shown(change.file), "name"))
    for line in diff(change):
        screen.line((line, _DIFF_ROLES.get(line[:1], "")), indent=2)
    screen.line()


def diff(change: "Change") -> Iterator[str]:
    """The lines that differ with those around them; and what a line does not show in words."""
    if change.mode_before != change.mode_after:
        yield f"mode {change.mode_before:o} -> {change.mode_after:o}"
    if change.before == change.after:
        return
    if change.before.replace(b"\r\n", b"\n") == change.after:
        lines_changed = change.before.count(b"\r\n")
        yield f"line ends of {count(lines_changed, 'line')}: CRLF -> LF"
        return
    from difflib import unified_diff

    before, after = (text.decode(errors="replace") for text in (change.before, change.after))
    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    # The first two name the files.
    yield from list(lines)[2:]


def finding_document(finding: Finding, checked: Checked) -> dict[str, Any]:
    """A finding with all it has."""
    from hookline.check.fixing import is_fixable

    return {
        "rule": finding.kind,
        "severity": finding.severity.value,
        "file": finding.file,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "remedy": finding.remedy or None,
        "settings": finding.settings or None,
        "path": spoken(finding.path) or None,
        "event": finding.event,
        "hook": finding.hook,
        "fixable": is_fixable(finding, checked),
    }


def change_document(change: "Change") -> dict[str, Any]:
    """A change as a diff."""
    return {"file": change.file, "diff": "\n".join(diff(change))}
