"""``hookline check``: reviews the settings and the scripts they name; it executes nothing.

Exit status: 0 also with warnings and hints, 1 with errors, and with warnings when ``--strict``.
"""

import argparse
import os
from typing import TYPE_CHECKING, Any

from hookline.check import Checked, Finding, Severity, check, read
from hookline.cli.check_screen import (
    change_document,
    finding_document,
    show_change,
    show_findings,
    show_summary,
)
from hookline.cli.screen import Screen
from hookline.pipeline.settings import SettingsFile, find_project_dir, find_settings_files
from hookline.places import home_dir
from hookline.wire.hooks import HookSource

if TYPE_CHECKING:
    from hookline.check.fixing import Change

EXAMPLES = (
    "hookline check",
    "hookline check --diff",
    "hookline check --fix",
    "hookline check --strict --json",
)

# A fix may bring another to light: a hook without a type has no timeout to look at.
_MOST_ROUNDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is check's own."""
    fixing = parser.add_mutually_exclusive_group()
    fixing.add_argument(
        "--fix", action="store_true", help="mend what has only one remedy, and show the changes"
    )
    fixing.add_argument(
        "--diff", action="store_true", help="show what --fix would change, and change nothing"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 on warnings too")
    parser.add_argument("--quiet", action="store_true", help="leave out the hints")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Check, mend if asked, and show what is left."""
    checked = _read(options)
    findings = check(checked)
    changed: list[Change] = []
    if options.fix or options.diff:
        changed = _fixed(options, findings, checked)
    if options.fix and changed:
        checked = _read(options)
        findings = check(checked)
    if options.quiet:
        findings = [finding for finding in findings if finding.severity is not Severity.HINT]
    if options.json:
        screen.document(_document(findings, checked, changed, done=options.fix))
    else:
        for change in changed:
            show_change(screen, change, done=options.fix)
        show_findings(screen, findings)
        show_summary(screen, findings, checked, fix=options.fix or options.diff)
        _show_next(screen, findings, checked)
    return _status(findings, strict=options.strict)


def _read(options: argparse.Namespace) -> Checked:
    here = os.path.abspath(options.cwd or os.getcwd())
    home = home_dir()
    project = find_project_dir(here, home)
    if options.settings is None:
        files = find_settings_files(project, home)
    else:
        files = [SettingsFile(os.path.abspath(file), HookSource.USER) for file in options.settings]
    return read(files, cwd=here, project_dir=project, environ=os.environ)


def _show_next(screen: Screen, findings: list[Finding], checked: Checked) -> None:
    """What a project's author has to do yet when there is nothing left to correct."""
    is_projects = any(site.hook.source is HookSource.PROJECT for site in checked.hooks)
    if not is_projects or any(finding.severity is Severity.ERROR for finding in findings):
        return
    from hookline.pipeline.trust import TrustError, TrustStore, review

    entries = [
        entry
        for site in checked.files
        if site.source is HookSource.PROJECT
        for entry in site.layer.entries
    ]
    try:
        known = TrustStore().read(checked.project_dir)
        now = review(entries, project_dir=checked.project_dir, cwd=checked.cwd)
    except TrustError as error:
        screen.warning(str(error))
        return
    if known is None or not known.covers(now):
        screen.line("the project's hooks run once you have reviewed them with `hookline trust`")


def _fixed(
    options: argparse.Namespace, findings: list[Finding], checked: Checked
) -> "list[Change]":
    """What was changed, or would be: one change a file, from first to last."""
    import msgspec

    from hookline.check.fixing import carry_out, changes

    made: dict[str, Change] = {}
    for _ in range(_MOST_ROUNDS):
        planned = changes(findings, checked)
        for change in planned:
            if options.fix:
                carry_out(change)
            first = made.get(change.file, change)
            made[change.file] = msgspec.structs.replace(
                change, before=first.before, mode_before=first.mode_before
            )
        if not options.fix or not planned:
            break
        checked = _read(options)
        findings = check(checked)
    return list(made.values())


def _document(
    findings: list[Finding], checked: Checked, changed: "list[Change]", *, done: bool
) -> dict[str, Any]:
    counts = {
        f"{severity.value}s": sum(1 for finding in findings if finding.severity is severity)
        for severity in Severity
    }
    document: dict[str, Any] = {
        "findings": [finding_document(finding, checked) for finding in findings],
        "files": [file.path for file in checked.files],
        "hooks": len(checked.hooks),
        **counts,
    }
    if changed:
        document["changes"] = [change_document(change) for change in changed]
        document["changed"] = done
    return document


def _status(findings: list[Finding], *, strict: bool) -> int:
    fatal = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return 1 if any(finding.severity in fatal for finding in findings) else 0
