"""Which events are asked for, and when that was."""

import time as clock
from datetime import UTC, datetime
from typing import Any

import pytest

from hookline.errors import HooklineError
from hookline.trace.filters import Filter, moment
from tests.trace.logs import session, warned
from tests.trace.test_events import assembled

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
    ],
)
def test_an_event_must_be_all_that_is_asked_for(asked: dict[str, Any], found: str) -> None:
    wanted = Filter(**asked)
    events = sorted(assembled(*session()), key=lambda event: event.time)
    assert [event.id for event in events if wanted.accepts(event)] == found.split()


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
    ],
)
def test_a_time_is_said_as_people_say_it(
    text: str, time: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    clock.tzset()
    assert moment(text, now=NOW) == time


@pytest.mark.parametrize("text", ["", "soon", "10", "10 years", "25:00", "2026-13-01"])
def test_what_is_no_time_is_refused_with_what_would_be_one(text: str) -> None:
    with pytest.raises(HooklineError, match="is no time; write 90s, 10m, 2h or 3d"):
        moment(text, now=NOW)
