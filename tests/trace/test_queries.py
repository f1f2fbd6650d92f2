"""Which events are asked for, how long each hook takes, and what it did last."""

import os
import statistics
import time as clock
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errors import HooklineError
from hookline.trace.events import Assembler
from hookline.trace.queries import (
    Filter,
    is_within,
    last_outcomes,
    latencies,
    moment,
    percentile,
)
from hookline.trace.records import default_trace_file
from tests.trace.logs import DENIED, FAILED, fired, ran, session, warned, written
from tests.trace.test_events import assembled, records

NOW = datetime(2026, 3, 1, 15, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, "start2 model2 block2 after2 agent2"),
        ({"events": frozenset({"BeforeTool", "AfterTool"})}, "block2 after2"),
        ({"hook": "scan"}, "block2"),
        ({"session": "s-2"}, "agent2"),
        ({"session": "s"}, "start2 model2 block2 after2 agent2"),
        ({"failures": True}, "after2"),
        ({"since": "2026-03-01T14:03:10.000Z"}, "after2 agent2"),
        ({"slow": 200.0}, "after2 agent2"),
        ({"within": "/home/ada"}, "start2 block2 after2 agent2"),
        ({"within": "/home/ada/pro"}, ""),
        ({"within": "/"}, "start2 block2 after2 agent2"),
        ({"failures": True, "session": "s-2"}, ""),
        ({"decisions": frozenset({"blocked"})}, "block2"),
        ({"decisions": frozenset({"blocked", "no hook"})}, "model2 block2"),
        ({"decisions": frozenset({"blocked"}), "hook": "scan", "session": "s-2"}, ""),
        ({"since": "", "hook": "scan", "slow": 0.0, "within": "/home"}, "block2"),
    ],
)
def test_an_event_must_be_all_that_is_asked_for(asked: dict[str, Any], found: str) -> None:
    wanted = Filter(**asked)
    events = sorted(assembled(*session()), key=lambda event: event.time)
    assert [event.id for event in events if wanted.accepts(event)] == found.split()
    assembler = Assembler()
    entries = [*map(assembler.gather, records(*session()))]
    accepted = [each.id for each in entries if each is not None and wanted.accepts_entry(each)]
    assert sorted(accepted) == sorted(found.split())


def test_what_happened_at_the_very_time_happened_since_then() -> None:
    (record,), (later,) = warned("10:00:00", "look"), warned("10:00:01", "look")
    (entry,) = filter(None, map(Assembler().gather, records([record])))
    accepted = [Filter(since=each["time"]).accepts_entry(entry) for each in (record, later)]
    assert accepted == [True, False]


def test_yesterday_begins_at_midnight_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    clock.tzset()
    # There it is the second of March already.
    assert moment("yesterday", now=NOW) == "2026-02-28T15:00:00.000Z"


def test_a_failure_of_the_engine_counts_as_one() -> None:
    [event] = assembled(warned("10:00:00", "it failed", code="planning_failed"))
    assert Filter(failures=True).accepts(event)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("90s", "2026-03-01T14:58:30.000Z"),
        ("10m", "2026-03-01T14:50:00.000Z"),
        ("1.5h", "2026-03-01T13:30:00.000Z"),
        ("2d", "2026-02-27T15:00:00.000Z"),
        (" 1w ", "2026-02-22T15:00:00.000Z"),
        ("14:30", "2026-03-01T14:30:00.000Z"),
        ("9:05", "2026-03-01T09:05:00.000Z"),
        ("2026-02-28", "2026-02-28T00:00:00.000Z"),
        ("2026-02-28T10:00+02:00", "2026-02-28T08:00:00.000Z"),
        ("99999999w", ""),
        ("today", "2026-03-01T00:00:00.000Z"),
        ("yesterday", "2026-02-28T00:00:00.000Z"),
        ("Yesterday  14:30", "2026-02-28T14:30:00.000Z"),
        ("yesterday at 9:05", "2026-02-28T09:05:00.000Z"),
        ("2 days ago", "2026-02-27T15:00:00.000Z"),
        ("1 hour ago", "2026-03-01T14:00:00.000Z"),
        ("an hour ago", "2026-03-01T14:00:00.000Z"),
        ("30 min", "2026-03-01T14:30:00.000Z"),
    ],
)
def test_a_time_is_said_as_people_say_it(
    text: str, time: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    clock.tzset()
    assert moment(text, now=NOW) == time


@pytest.mark.parametrize(
    "text",
    ["", "soon", "10", "10 years", "25:00", "2026-13-01", "yesterday 25:00", "days ago", "a ago"],
)
def test_what_is_no_time_is_refused_with_what_would_be_one(text: str) -> None:
    with pytest.raises(HooklineError, match="is not a time; write 90s, 10m, 2h or 3d"):
        moment(text, now=NOW)


def test_each_hook_has_its_runs_its_percentiles_and_its_failures() -> None:
    events = [fired(f"quick{n}", "10:00:00", "BeforeTool", ran("quick", n)) for n in range(1, 101)]
    events.append(fired("others", "10:00:00", "BeforeTool", DENIED, FAILED))
    slow, quick, denied = latencies(assembled(*events))
    assert (slow.hook, slow.runs, slow.p50_ms, slow.failures) == ("format", 1, 210.0, 1)
    assert (quick.hook, quick.runs, quick.failures) == ("quick", 100, 0)
    assert (quick.p50_ms, quick.p95_ms, quick.p99_ms, quick.max_ms) == (50, 95, 99, 100)
    assert (denied.hook, denied.blocks, denied.failures) == ("secret-scan", 1, 0)


def test_only_hooks_of_the_name_that_was_asked_for_are_counted() -> None:
    event = fired("others", "10:00:00", "BeforeTool", DENIED, FAILED)
    assert [row.hook for row in latencies(assembled(event), hook="scan")] == ["secret-scan"]
    assert latencies([]) == []


@given(st.lists(st.floats(0, 1e6), min_size=1).map(sorted))
def test_a_percentile_is_a_time_that_was_measured(times: list[float]) -> None:
    found = [percentile(times, percent) for percent in (1, 50, 95, 99, 100)]
    assert set(found) <= set(times)
    assert found == sorted(found)
    assert found[-1] == times[-1]
    assert found[1] == pytest.approx(statistics.median_low(times))


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


def test_the_last_outcome_of_an_async_hook_is_its_end_not_its_start() -> None:
    began = fired("began2", "14:03:12", "AfterTool", ran("lint", 0, started=True))
    ended = fired("ended2", "14:03:11", "AfterTool", ran("lint", 900.0))
    path = written(default_trace_file(), ended, began)
    assert last_outcomes(path=path)["AfterTool", "lint"].id == "ended2"


def test_how_long_an_async_hook_takes_counts_its_end_and_no_block() -> None:
    began = fired("began2", "14:03:12", "BeforeTool", ran("secret-scan", 0, started=True))
    ended = fired("ended2", "14:03:14", "BeforeTool", {**DENIED, "async": True})
    (row,) = latencies(assembled(began, ended))
    assert (row.runs, row.max_ms, row.blocks) == (1, 12.4, 0)


def test_bounds_belong_to_what_is_asked_for() -> None:
    slow, fast = ran("slow", 200.0), ran("fast", 190.0)
    events = assembled(
        fired("slow22", "10:00:00", "BeforeTool", slow),
        fired("fast22", "10:00:00", "BeforeTool", fast),
    )
    assert [e.id for e in events if Filter(slow=200.0).accepts(e)] == ["slow22"]
    assert Filter(since=events[0].time).accepts(events[0])
    assert not Filter(since=events[1].time).accepts(events[0])


def test_an_event_without_hooks_is_never_slow_nor_within_a_directory() -> None:
    [event] = assembled(fired("empty2", "10:00:00", "BeforeModel"))
    assert Filter(slow=0.0).accepts(event)
    assert not Filter(slow=0.1).accepts(event)
    assert not Filter(within="/").accepts(event)


def test_hooks_that_take_equally_long_are_sorted_by_name() -> None:
    event = fired("equal2", "10:00:00", "BeforeTool", ran("b"), ran("c", 6.0), ran("a"))
    assert [row.hook for row in latencies(assembled(event))] == ["c", "a", "b"]


def test_a_directory_of_the_same_beginning_is_another_one() -> None:
    assert is_within({"cwd": "/a/b"}, "/a/b")
    assert is_within({"cwd": "/a/b/c"}, "/a/b")
    assert not is_within({"cwd": "/a/bc"}, "/a/b")
    assert not is_within({"cwd": "/a"}, "/a/b")
    assert not is_within({"cwd": 1}, "/")
    assert not is_within(None, "/")
