"""Gemini CLI's and LLxprt Code's settings, which mean here what they mean there."""

import json
from typing import Any

import pytest

from hookline.migrate.plan import Kind, Migrated, migrate_file
from hookline.settings.jsonc import parse

HOOK = {"type": "command", "command": "$GEMINI_PROJECT_DIR/a.sh", "name": "a", "timeout": 500}
COMMAND = 'the type must be "command", "http" or "prompt"'


def migrated(settings: Any, file: str = "settings.json") -> Migrated:
    return migrate_file(parse(json.dumps(settings)), file)


def test_hooks_come_along_as_they_are() -> None:
    definition = {"matcher": "write_file", "sequential": True, "hooks": [HOOK]}
    (move,) = migrated({"hooks": {"BeforeTool": [definition]}}).moves
    assert (move.event, move.matcher, move.sequential) == ("BeforeTool", "write_file", True)
    assert move.hook == HOOK


def test_names_that_are_disabled_stay_so_wherever_that_is_written() -> None:
    settings = {"hooks": {"disabled": ["a"]}, "hooksConfig": {"disabled": ["b", "a"]}}
    assert migrated(settings).disabled == ("a", "b")


def test_entries_that_are_no_hooks_are_listed_in_the_words_of_the_engine() -> None:
    hooks = [HOOK, {"type": "plugin"}, {"type": "command"}]
    settings = {"hooks": {"BeforeTool": [{"hooks": hooks}], "Befor": [], "enabled": False}}
    result = migrated(settings)
    assert len(result.moves) == 1
    lost = [finding.message for finding in result.findings if finding.kind is Kind.REFUSED]
    assert lost == [
        f"BeforeTool[0].hooks[1]: has the unknown type 'plugin'; {COMMAND}; it was skipped",
        "BeforeTool[0].hooks[2]: a command hook needs a command; it was skipped",
        "Befor: is not a hook event and was skipped; did you mean BeforeTool or BeforeModel?",
    ]


def test_a_file_that_is_read_anyway_says_so_and_what_switches_it_off() -> None:
    settings = {"hooksConfig": {"enabled": False}, "hooks": {"BeforeAgent": [{"hooks": [HOOK]}]}}
    notes = [finding.message for finding in migrated(settings).findings]
    assert notes == [
        "hookline reads this file itself, so its hooks run without being moved",
        "hooksConfig.enabled is false, so hooks stay disabled; set it to true to run them",
    ]


def test_keys_that_mean_nothing_here_are_left_out_and_noted() -> None:
    definition = {"sequential": 1, "matcher": "", "hooks": [{**HOOK, "source": "x", "color": 1}]}
    result = migrated({"hooks": {"BeforeTool": [definition]}})
    (move,) = result.moves
    assert (move.hook, move.sequential, move.matcher) == (HOOK, False, None)
    note = result.findings[0]
    assert (note.kind, note.line) == (Kind.NOTE, 1)
    assert note.message == "color, source has no meaning here and was left out"


@pytest.mark.parametrize(
    ("event", "file"), [("PreToolUse", "a.json"), ("SessionStart", ".claude/settings.json")]
)
def test_hooks_of_claude_code_stay_where_they_run_as_they_are(event: str, file: str) -> None:
    result = migrated({"hooks": {event: [{"hooks": [HOOK]}]}}, file)
    assert result.moves == ()
    (refusal,) = result.findings
    assert (refusal.kind, "--claude" in refusal.message) == (Kind.REFUSED, True)
