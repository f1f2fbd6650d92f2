"""What a reviewer would say about the settings and scripts of a project; nothing is executed.

Each rule is a function of what was read (``reading.Checked``), one module a subject; a new one is
a function there and a row in ``RULES``.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from hookline.check.duplicates import duplicates
from hookline.check.fields import arguments, environments, timeouts, types
from hookline.check.findings import Finding, Severity
from hookline.check.keys import unknown_events, unknown_keys
from hookline.check.matchers import matchers
from hookline.check.noise import noise
from hookline.check.reach import disabled_hooks, disabled_names, overreach, switches
from hookline.check.reading import Checked, CheckedFile, read
from hookline.check.scripts import scripts, warmth
from hookline.pipeline.definitions import Problem
from hookline.pipeline.jsonc import Path

__all__ = ["RULES", "Checked", "Finding", "Severity", "check", "read"]

Rule: TypeAlias = Callable[[Checked], Iterable[Finding]]

RULES: tuple[Rule, ...] = (
    *(unknown_events, unknown_keys, types, timeouts, environments, arguments),
    *(matchers, duplicates, switches, disabled_names, disabled_hooks, overreach),
    *(scripts, noise, warmth),
)


def check(checked: Checked) -> list[Finding]:
    """Everything there is to say, by file and place."""
    found = [finding for rule in RULES for finding in rule(checked)]
    said = {(finding.settings, finding.path) for finding in found}
    found += (_broken(problem) for problem in checked.broken)
    found += _of_the_engine(checked, said)
    unique = {(f.rule, f.file, f.line, f.column, f.message): f for f in reversed(found)}
    return sorted(unique.values(), key=_order(checked))


def _order(checked: Checked) -> Callable[[Finding], tuple[int, str, int, int]]:
    """Settings in the order of their layers, then scripts by name."""
    ranks = {file.path: rank for rank, file in enumerate(checked.files)}
    return lambda f: (ranks.get(f.file, len(ranks)), f.file, f.line, f.column)


def _broken(problem: Problem) -> Finding:
    file, line, column = _split(problem.place)
    message = problem.message.partition("; the file was skipped")[0]
    return Finding(
        rule="syntax",
        severity=Severity.ERROR,
        file=file,
        line=line,
        column=column,
        message=f"the file {message}" if not message.startswith("the ") else message,
        remedy="until that is mended, none of its hooks run",
    )


def _of_the_engine(checked: Checked, said: set[tuple[str, Path]]) -> Iterator[Finding]:
    """What the engine warns of when it reads the settings, and no rule has said better."""
    for file in checked.files:
        if not file.layer.problems:
            continue
        paths = {offset: path for path, offset in file.document.offsets.items()}
        for problem in file.layer.problems:
            _, line, column = _split(problem.place)
            path = paths.get(_offset(file, line, column), ())
            if (file.path, path) not in said:
                yield file.finding("settings", Severity.ERROR, path, problem.message)


def _split(place: str) -> tuple[str, int, int]:
    parts = place.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return parts[0], int(parts[1]), int(parts[2])
    return place, 1, 1


def _offset(file: CheckedFile, line: int, column: int) -> int:
    lines = file.document.text.split("\n")
    return sum(len(text) + 1 for text in lines[: line - 1]) + column - 1
