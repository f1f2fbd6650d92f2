"""Every case of Claude Code's hooks: what the script reads, and what its answer does."""

import json
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


async def test_hooks_and_the_transcript_know_a_call_by_one_id_and_one_name(tmp_path: Path) -> None:
    """Also where the API gives calls no id, and settings say what the host's tool is."""
    case = {
        "event": "PreToolUse",
        "files": {".hookline/settings.json": {"hooks": {"tools": {"my_shell": "Bash"}}}},
        "calls": [{"id": None, "name": "my_shell", "args": {"command": "ls"}}],
    }
    project = tmp_path / "project"
    project.mkdir()
    session = Session(case, project)
    await session.run()
    [[read]] = session.read
    document = json.loads(read)
    lines = (tmp_path / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    blocks = [json.loads(line)["message"]["content"][0] for line in lines]
    called = next(block for block in blocks if block["type"] == "tool_use")
    answered = next(block for block in blocks if block["type"] == "tool_result")
    assert (called["id"], called["name"]) == (document["tool_use_id"], "Bash")
    assert answered["tool_use_id"] == document["tool_use_id"]
