"""Every case of Claude Code's hooks: what the script reads, and what its answer does."""

from collections import Counter
from pathlib import Path

import pytest

from tests.claude.running import Case, Session, compare, read_cases

CASES = list(read_cases())


def name_case(case: Case) -> str:
    return f"{case['file']}: {case['name']}"


@pytest.mark.parametrize("case", CASES, ids=name_case)
async def test_a_hook_of_claude_code(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in case.get("environment", {}).items():
        monkeypatch.setenv(name, value)
    project = tmp_path / case.get("project", "project")
    project.mkdir()
    session = Session(case, project)
    await session.run()
    expected, actual = compare(session)
    assert actual == expected


def test_no_two_cases_have_one_name() -> None:
    names = Counter(map(name_case, CASES))
    assert [name for name, count in names.items() if count > 1] == []


def test_there_are_more_than_150_cases() -> None:
    assert len(CASES) > 150
