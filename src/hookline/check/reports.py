"""Writes findings for programs that show them beside the code: GitHub's commands, and SARIF.

Both need paths from the root of the repository; a file outside of it keeps its whole path.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from hookline.check.findings import Finding, Severity
from hookline.check.meanings import RULE_MEANINGS
from hookline.settings.schema import SITE

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "notice"}
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "note"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_REPOSITORY = "https://github.com/hookline/hookline"
_HELP = f"{SITE}reference/failures.html#rules-of-hookline-check"


def find_root(directory: str) -> str | None:
    """Find the repository that a directory is in; None if it is in none."""
    here, parent = directory, ""
    while here != parent:
        # .git is a file in a worktree.
        if os.path.exists(os.path.join(here, ".git")):
            return here
        here, parent = os.path.dirname(here), here
    return None


def find_below(root: str, file: str) -> str | None:
    """Return the path of a file from a root; None for a file outside of it."""
    for start, path in ((root, file), (os.path.realpath(root), os.path.realpath(file))):
        below = os.path.join(start, "")
        if path.startswith(below):
            return path.removeprefix(below)
    return None


def write_commands(findings: Sequence[Finding], root: str) -> Iterator[str]:
    """Write a workflow command for each finding."""
    for finding in findings:
        properties = {
            "file": find_below(root, finding.file) or finding.file,
            "line": str(finding.line),
            "col": str(finding.column),
            "title": f"hookline {finding.kind}",
        }
        fields = ",".join(
            f"{name}={_escape(value).replace(':', '%3A').replace(',', '%2C')}"
            for name, value in properties.items()
        )
        yield f"::{_COMMANDS[finding.severity]} {fields}::{_escape(finding.text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def make_sarif(findings: Sequence[Finding], root: str, *, version: str) -> dict[str, Any]:
    """Make a SARIF log with one run."""
    rules = list(RULE_MEANINGS)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "hookline",
                        "version": version,
                        "semanticVersion": version,
                        "informationUri": _REPOSITORY,
                        "rules": [
                            {
                                "id": rule,
                                "shortDescription": {"text": meaning},
                                "help": {"text": f"{meaning} See {_HELP}."},
                                "helpUri": _HELP,
                            }
                            for rule, meaning in RULE_MEANINGS.items()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {
                    "%SRCROOT%": {"description": {"text": "The root of the repository."}}
                },
                "results": [
                    {
                        "ruleId": finding.kind,
                        "ruleIndex": rules.index(finding.kind),
                        "level": _LEVELS[finding.severity],
                        "message": {"text": finding.text},
                        "locations": [
                            {
                                "physicalLocation": {
                                    "artifactLocation": _locate(finding.file, root),
                                    "region": {
                                        "startLine": finding.line,
                                        "startColumn": finding.column,
                                    },
                                }
                            }
                        ],
                    }
                    for finding in findings
                ],
            }
        ],
    }


def _locate(file: str, root: str) -> Mapping[str, str]:
    below = find_below(root, file)
    if below is None:
        return {"uri": f"file://{quote(os.fsencode(file))}"}
    return {"uri": quote(os.fsencode(below)), "uriBaseId": "%SRCROOT%"}
