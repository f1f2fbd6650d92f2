"""How long each hook takes."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.trace.statistics import latencies, percentile
from tests.trace.logs import DENIED, FAILED, fired, ran
from tests.trace.test_events import assembled


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
