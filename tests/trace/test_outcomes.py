"""What each hook did last, for a listing that cannot wait."""

import os
from pathlib import Path

from hookline.debuglog import default_trace_file
from hookline.trace.outcomes import last_outcomes
from tests.trace.logs import DENIED, FAILED, fired, ran, session, written


def test_the_last_outcome_of_each_hook_is_found() -> None:
    again = fired("again2", "14:05:00", "AfterTool", ran("format", 44.0))
    written(default_trace_file(), *session(), again)
    found = last_outcomes()
    assert found["AfterTool", "format"].decision == "ok"
    assert found["AfterTool", "format"].duration_ms == 44.0
    denied = found["BeforeTool", "secret-scan"]
    assert (denied.id, denied.decision, denied.reason) == ("block2", "deny", "that is a key")
    assert denied.time == "2026-03-01T14:03:09.000Z"
    assert ("BeforeModel", "") not in found


def test_hooks_of_other_projects_do_not_count() -> None:
    here = fired("here23", "14:05:00", "AfterTool", FAILED, cwd="/work/here/src")
    there = fired("there2", "14:06:00", "AfterTool", ran("format"), DENIED, cwd="/work/hereafter")
    written(default_trace_file(), here, there)
    found = last_outcomes(within="/work/here")
    assert {name: outcome.id for (_, name), outcome in found.items()} == {"format": "here23"}


def test_only_the_end_of_a_long_log_is_read(tmp_path: Path) -> None:
    early = fired("early2", "10:00:00", "AfterTool", DENIED)
    filler = fired("later2", "10:00:01", "AfterTool", ran("format", stdout="x" * 8_000))
    path = written(tmp_path / "trace.jsonl", early, *([filler] * 200))
    assert {name for _, name in last_outcomes(path=path)} == {"format"}


def test_without_a_log_there_are_none(tmp_path: Path) -> None:
    assert last_outcomes() == {}
    os.mkfifo(tmp_path / "pipe")
    assert last_outcomes(path=tmp_path / "pipe") == {}
    assert last_outcomes(path=tmp_path) == {}
