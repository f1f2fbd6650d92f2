"""Settings and scripts as an author wrote them, and what the rules say about them."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hookline import check as rules
from hookline._support.places import home_dir
from hookline.check import RULE_MEANINGS, Checked, Finding, Severity, read
from hookline.settings.reader import SettingsFile, find_foreign_files
from hookline.wire.hooks import HookSource
from tests.harness.scratch import Project

ERROR, WARNING, HINT = Severity.ERROR, Severity.WARNING, Severity.HINT


def checked(
    *files: tuple[Path, HookSource],
    project: Project,
    cwd: Path | None = None,
    claude: bool | None = None,
    plugins: Iterable[Path] = (),
) -> Checked:
    """What is read of native files, and of those that a project has for Claude Code."""
    return read(
        [SettingsFile(str(path), source) for path, source in files],
        cwd=str(cwd or project.path),
        project_dir=str(project.path),
        environ=os.environ,
        claude_files=find_foreign_files(str(project.path), home_dir()),
        claude=claude,
        plugins=[str(folder) for folder in plugins],
    )


def check(reviewed: Checked) -> list[Finding]:
    """What is said of all but open commands, as most commands of tests are."""
    return [finding for finding in rules.check(reviewed) if finding.kind != "open"]


def review(project: Project, settings: object) -> list[Finding]:
    """What is said about the settings of a project."""
    file = project.settings(settings)
    return check(checked((file, HookSource.PROJECT), project=project))


def review_claude(project: Project, settings: object) -> list[Finding]:
    """What is said about the settings that a project has for Claude Code."""
    project.settings(settings, file=".claude/settings.json")
    return check(checked(project=project, claude=True))


def hook(command: str = "true", **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": command, **fields}


def on(event: str, *hooks: Any, **definition: Any) -> dict[str, Any]:
    return {"hooks": {event: [{**definition, "hooks": list(hooks)}]}}


def brief(findings: list[Finding]) -> list[tuple[str, Severity]]:
    assert {finding.kind for finding in findings} <= set(RULE_MEANINGS)
    return [(finding.kind, finding.severity) for finding in findings]


def only(findings: list[Finding], rule: str) -> Finding:
    """The one finding of a rule, and no other."""
    assert [finding.kind for finding in findings] == [rule], findings
    assert rule in RULE_MEANINGS
    return findings[0]
