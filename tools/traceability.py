"""Checks that tests name every id of docs/requirements.md, and no other ids."""

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

_ROW = re.compile(r"\|\s*((?:DELTA-[A-Z]+|INV|GUAR)-\d+)\s*\|")
_ROOT = Path(__file__).parents[1]


class Mention(NamedTuple):
    id: str | None
    """``id`` is None if the mark's argument is not a literal string."""
    place: str


def read_requirements(document: Path) -> list[Mention]:
    lines = document.read_text(encoding="utf-8").splitlines()
    return [
        Mention(row[1], f"{document}:{number}")
        for number, line in enumerate(lines, start=1)
        if (row := _ROW.match(line))
    ]


def read_marks(tests: Path) -> list[Mention]:
    return [mention for path in sorted(tests.rglob("*.py")) for mention in _marks_in(path)]


def _marks_in(path: Path) -> Iterator[Mention]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path))):
        if isinstance(node, ast.Call) and _is_requirement_mark(node.func):
            place = f"{path}:{node.lineno}"
            for argument in node.args:
                literal = argument.value if isinstance(argument, ast.Constant) else None
                yield Mention(literal if isinstance(literal, str) else None, place)


def _is_requirement_mark(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "requirement"
        and isinstance(function.value, ast.Attribute)
        and function.value.attr == "mark"
    )


def find_problems(requirements: Sequence[Mention], marks: Sequence[Mention]) -> list[str]:
    known: set[str | None] = {requirement.id for requirement in requirements}
    tested = {mark.id for mark in marks}
    return [
        *_repeated(requirements),
        *(f"{need.place}: {need.id} has no test" for need in requirements if need.id not in tested),
        *(f"{mark.place}: {_unknown(mark)}" for mark in marks if mark.id not in known),
    ]


def _repeated(requirements: Sequence[Mention]) -> Iterator[str]:
    first: dict[str | None, str] = {}
    for requirement in requirements:
        if requirement.id in first:
            yield f"{requirement.place}: {requirement.id} is also at {first[requirement.id]}"
        first.setdefault(requirement.id, requirement.place)


def _unknown(mark: Mention) -> str:
    if mark.id is None:
        return "a requirement mark takes ids written out as strings"
    return f"no requirement is called {mark.id}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requirements", type=Path, default=_ROOT / "docs" / "requirements.md")
    parser.add_argument("--tests", type=Path, default=_ROOT / "tests")
    options = parser.parse_args(argv)
    requirements, marks = read_requirements(options.requirements), read_marks(options.tests)
    problems = find_problems(requirements, marks)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(requirements)} requirements, {len(marks)} mentions, {len(problems)} problems")
    return 1 if problems or not requirements else 0


if __name__ == "__main__":
    sys.exit(main())
