"""``hookline check``: reviews the settings and the scripts they name; it executes none of them.

A finding is a line that editors and people can follow, in a group a file; other formats are for
programs. Exit status: 0 also with warnings and hints, 1 with errors, with warnings when
``--strict``, and where there is nothing to check unless ``--allow-empty``.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from hookline._support.places import home_dir
from hookline.check import Checked, Finding, Severity, check, read
from hookline.cli.failures import CommandError
from hookline.cli.options import SOURCES, Option, Options, find_sources, flag
from hookline.cli.screen import DIFF_ROLES, Screen, Span, count, diff, shorten_path, width_of
from hookline.settings.jsonc import spoken
from hookline.settings.reader import find_foreign_files, find_project_dir, find_settings_files
from hookline.wire.hooks import HookSource

if TYPE_CHECKING:
    from hookline.check.fixes import FileChange

EXAMPLES = (
    "hookline check",
    "hookline check --diff",
    "hookline check --fix",
    "hookline check --strict --json",
    "hookline check --format sarif > hookline.sarif",
    "hookline check --claude",
)
OPTIONS = (
    flag("--fix", "correct what has only one remedy, and show the changes", one_of="fixing"),
    flag("--diff", "show what --fix would change, and change nothing", one_of="fixing"),
    flag("--strict", "exit with 1 for warnings too, not only for errors"),
    flag("--quiet", "leave out the hints"),
    flag("--allow-empty", "exit with 0 even if there are no settings to check"),
    Option(
        "--format",
        "",
        "text for people (default), json as --json, github for GitHub's annotations, or sarif",
        choices=("text", "json", "github", "sarif"),
    ),
    Option(
        "--only", "", "check only the project's or the user's settings", choices=("project", "user")
    ),
    *SOURCES,
)

_ROLES = {Severity.ERROR: "bad", Severity.WARNING: "care", Severity.HINT: "matcher"}
# How many further places of a hint are named.
_MOST_LINES = 5
# A fix may bring another to light: a hook without a type has no timeout to look at.
_MOST_ROUNDS = 5


def run(options: Options, screen: Screen) -> int:
    """Check, fix if asked, and show what is left."""
    if options.json and options.format not in (None, "json"):
        raise CommandError(f"--json is one format and --format {options.format} another; give one")
    form = "json" if options.json else options.format or "text"
    checked = _read_settings(options)
    findings = check(checked)
    by_file: dict[str, FileChange] = {}
    if options.fix or options.diff:
        import msgspec

        from hookline.check.fixes import carry_out, changes

        for _ in range(_MOST_ROUNDS):
            planned = changes(findings, checked)
            for change in planned:
                # One change a file, from first to last.
                first = by_file.get(change.file, change)
                by_file[change.file] = msgspec.structs.replace(
                    change, before=first.before, mode_before=first.mode_before
                )
                if options.fix:
                    carry_out(change)
            if not options.fix or not planned:
                break
            checked = _read_settings(options)
            findings = check(checked)
    if options.quiet:
        findings = [finding for finding in findings if finding.severity is not Severity.HINT]
    if form == "json":
        screen.document(
            _make_document(findings, checked, list(by_file.values()), is_written=options.fix)
        )
    elif form == "text":
        _show(options, screen, findings, checked, list(by_file.values()))
    else:
        for change in by_file.values():
            screen.note(*_describe(options, change))
        _write_report(form, screen, findings, checked)
    if _is_empty(checked):
        if form != "text":
            for line in _explain_empty(checked):
                screen.note(line)
        return 0 if options.allow_empty else 1
    fatal = {Severity.ERROR, Severity.WARNING} if options.strict else {Severity.ERROR}
    return 1 if any(finding.severity in fatal for finding in findings) else 0


def _show(
    options: Options,
    screen: Screen,
    findings: Sequence[Finding],
    checked: Checked,
    changes: "Sequence[FileChange]",
) -> None:
    """Show the changes, the findings by file, and the summary."""
    for change in changes:
        screen.line(*_describe(options, change))
        for line in _describe_lines(change):
            screen.line((line, DIFF_ROLES.get(line[:1], "")), indent=2)
        screen.line()
    shorten = _make_shorter(checked, shorten_path, os.getcwd())
    for file, group in groupby(findings, key=lambda finding: finding.file):
        _show_file(screen, file, list(group), shorten)
    _show_summary(options, screen, findings, checked)


def _describe(options: Options, change: "FileChange") -> tuple[Span, Span]:
    verb = "changed" if options.fix else "would change"
    return (f"{verb} ", "change"), (shorten_path(change.file), "name")


def _write_report(form: str, screen: Screen, findings: Sequence[Finding], checked: Checked) -> None:
    """Write the findings for a program that shows them beside the code."""
    import msgspec

    from hookline.check.reports import find_below, find_root, make_sarif, write_commands

    root = find_root(checked.cwd) or os.getcwd()
    shorten = _make_shorter(checked, lambda path: find_below(root, path) or path, root)
    short_findings = [
        msgspec.structs.replace(each, message=shorten(each.message), remedy=shorten(each.remedy))
        for each in findings
    ]
    if form == "sarif":
        from hookline._version import __version__

        screen.document(make_sarif(short_findings, root, version=__version__))
        return
    for command in write_commands(short_findings, root):
        screen.raw_line(command)


def _make_shorter(
    checked: Checked, shorten: Callable[[str], str], base: str
) -> Callable[[str], str]:
    """A function that shortens the paths that a text names: of settings, and below ``base``."""
    paths = {file.path: shorten(file.path) for file in checked.files}
    below = re.compile(rf"(?<![^\s'\"]){re.escape(os.path.join(base, ''))}(?=[^\s'\"])")

    def shorten_all(text: str) -> str:
        for path, short in paths.items():
            text = text.replace(path, short)
        return text if base == os.sep else below.sub("", text)

    return shorten_all


def _read_settings(options: Options) -> Checked:
    here = os.path.abspath(options.cwd or os.getcwd())
    home = home_dir()
    of_project = options.only == HookSource.PROJECT.value
    project = find_project_dir(here, home, foreign=options.claude or of_project)
    claude_files = find_foreign_files(project, home)
    claude = options.claude
    if options.settings is not None:
        claude_files = [file for file in claude_files if file.source is HookSource.SYSTEM]
    files = find_settings_files(project, home, replacements=options.settings)
    if options.only is not None:
        only = HookSource(options.only)
        claude_files = [file for file in claude_files if file.source is only]
        # A file that is named is wanted.
        has_files = options.settings is not None
        wanted = {only, HookSource.USER} if has_files else {only}
        files = [file for file in files if file.source in wanted]
        if claude is None and of_project and not has_files:
            # The project's own are checked, whoever lets them run.
            claude = any(os.path.isfile(file.path) for file in claude_files) or None
    return read(
        files,
        cwd=here,
        project_dir=project,
        environ=os.environ,
        claude_files=claude_files,
        claude=claude,
        plugins=options.plugin or (),
    )


def _describe_lines(change: "FileChange") -> Iterator[str]:
    """The lines that differ with those around them; and what a line does not show in words."""
    if not change.mode_before:
        yield "a new file, which can be executed"
    elif change.mode_before != change.mode_after:
        yield f"mode {change.mode_before:o} -> {change.mode_after:o}"
    if change.before == change.after:
        return
    if change.before.replace(b"\r\n", b"\n") == change.after:
        lines_changed = change.before.count(b"\r\n")
        yield f"line ends of {count(lines_changed, 'line')}: CRLF -> LF"
        return
    before, after = (text.decode(errors="replace") for text in (change.before, change.after))
    yield from diff(before.splitlines(), after.splitlines(), around=1)


def _show_file(
    screen: Screen, file: str, findings: Sequence[Finding], shorten: Callable[[str], str]
) -> None:
    """Show the findings of a file and an empty line. A repeated hint is shown once, with its other
    lines; a text that does not fit beside its place goes below it."""
    hints: dict[str, list[int]] = {}
    for finding in findings:
        if finding.severity is Severity.HINT:
            hints.setdefault(finding.text, []).append(finding.line)
    for finding in findings:
        also = ""
        if finding.severity is Severity.HINT:
            if finding.text not in hints:
                continue
            _, *others = hints.pop(finding.text)
            if others:
                noun = "line" if len(others) == 1 else "lines"
                numbers = ", ".join(map(str, others[:_MOST_LINES]))
                left = len(others) - _MOST_LINES
                also = f" (also on {noun} {numbers}{f' and {left} more' if left > 0 else ''})"
        place = f"{shorten_path(file)}:{finding.line}:{finding.column}:"
        severity, text = f"{finding.severity.value}:", shorten(finding.text)
        needed = width_of(f"{place} {severity} {text}{also}")
        gap = " " if screen.width is None or needed <= screen.width else "\n"
        marked = (severity, _ROLES[finding.severity])
        screen.line((place, "name"), " ", marked, f"{gap}{text}", (also, "faint"))
    screen.line()


def _is_empty(checked: Checked) -> bool:
    return not checked.files and not checked.broken


def _explain_empty(checked: Checked) -> Iterator[str]:
    """Say that nothing was checked, and what may have been meant."""
    yield f"there are no settings to check for {checked.project_dir}"
    if checked.unread:
        folders = dict.fromkeys(shorten_path(os.path.dirname(path)) for path in checked.unread)
        yield f"{', '.join(folders)} holds settings of Claude Code, which --claude checks"
    else:
        yield "`hookline init` makes a first hook, its settings and its tests"


def _show_summary(
    options: Options, screen: Screen, findings: Sequence[Finding], checked: Checked
) -> None:
    """The last lines: how much was looked at, what was found, and what to do next."""
    if _is_empty(checked):
        for line in _explain_empty(checked):
            screen.line(line)
        return
    looked_at = count(len(checked.files) + len(checked.broken), "file")
    verdict = ("no problems", "good")
    totals = [
        (count(n, severity.value), severity) for severity, n in _count_by_severity(findings) if n
    ]
    if totals:
        worst = totals[0][1]
        role = _ROLES[worst] if worst is not Severity.HINT else "good"
        verdict = (", ".join(text for text, _ in totals), role)
    screen.line(f"{count(len(checked.hooks), 'hook')} in {looked_at}: ", verdict)
    if not options.fix and not options.diff and any(finding.fixes for finding in findings):
        from hookline.check.fixes import is_fixable

        fixable = sum(is_fixable(finding, checked) for finding in findings)
        if fixable:
            screen.line(f"`hookline check --fix` fixes {fixable} of these; --diff shows how")
    # When there is nothing left to correct, a project's author has to trust it yet.
    is_projects = any(site.hook.source is HookSource.PROJECT for site in checked.hooks)
    if not is_projects or any(finding.severity is Severity.ERROR for finding in findings):
        return
    from hookline.engine.project import Project
    from hookline.trust.review import TrustError
    from hookline.trust.store import TrustStore

    try:
        record = TrustStore().read(checked.project_dir)
        now = Project.load(options.cwd, **find_sources(options)).review()
    except TrustError as error:
        screen.warning(str(error))
        return
    if record is None or record.review.changes_of(now.review):
        trust = "hookline trust --claude" if options.claude else "hookline trust"
        screen.line(f"the project's hooks run after you trust them with `{trust}`")


def _count_by_severity(findings: Sequence[Finding]) -> list[tuple[Severity, int]]:
    return [(s, sum(finding.severity is s for finding in findings)) for s in Severity]


def _make_document(
    findings: list[Finding], checked: Checked, changed: "list[FileChange]", *, is_written: bool
) -> dict[str, Any]:
    from hookline.check.fixes import is_fixable

    document: dict[str, Any] = {
        "findings": [
            {
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
            for finding in findings
        ],
        "files": [file.path for file in checked.files],
        "hooks": len(checked.hooks),
        **{f"{severity.value}s": number for severity, number in _count_by_severity(findings)},
    }
    if changed:
        document["changes"] = [
            {"file": change.file, "diff": "\n".join(_describe_lines(change))} for change in changed
        ]
        document["changed"] = is_written
    return document
