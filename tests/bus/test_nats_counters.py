"""What a worker counts, and what is read of the headers of a message."""

from typing import Any

from hookline.bus.nats.intake import Counters, ServingOptions


def counted(*answers: tuple[Any, float]) -> dict[str, Any]:
    counters = Counters()
    for response, seconds in answers:
        counters.answer(response, seconds)
    return counters.snapshot()


def test_failures_are_counted_by_code_and_failed_hooks_by_themselves() -> None:
    failed = {"success": False, "error": {"code": "timeout"}}
    hook_failed = {"success": True, "output": {"errors": [{}]}}
    fine = {"success": True, "output": {"errors": []}}
    answers = [failed, failed, {"success": False}, hook_failed, fine, {"success": True}]
    counts = counted(*((answer, 0.0) for answer in answers))
    assert counts["answered"] == 6
    assert counts["failed"] == {"timeout": 2, "None": 1}
    assert counts["hook_failures"] == 1


def test_a_snapshot_has_each_count_under_its_name() -> None:
    counters = Counters()
    counters.received, counters.handed_back = 7, 5
    counters.refused["copy"] += 3
    counts = counters.snapshot()
    assert 0 <= counts.pop("uptime_s") < 60
    assert counts == {
        "received": 7,
        "answered": 0,
        "handed_back": 5,
        "hook_failures": 0,
        "refused": {"copy": 3},
        "failed": {},
        "latency_ms": {},
    }


def test_without_options_a_worker_takes_all_that_comes_and_queues_a_thousand() -> None:
    assert ServingOptions() == ServingOptions(
        queue="hookline",
        events=None,
        concurrency=None,
        backlog=1000,
        max_request_bytes=1_048_576,
        remembered_ids=100_000,
    )


def test_latencies_are_milliseconds_by_share_and_none_without_answers() -> None:
    assert counted()["latency_ms"] == {}
    assert counted(({"success": True}, 0.25))["latency_ms"] == dict.fromkeys(
        ("p50", "p95", "p99", "max"), 250.0
    )
    many = counted(*(({"success": True}, number / 1000) for number in range(100, 0, -1)))
    assert many["latency_ms"] == {"p50": 51.0, "p95": 96.0, "p99": 100.0, "max": 100.0}


def test_only_the_last_answers_count_for_latencies() -> None:
    answers = [({"success": True}, 9.0)] + [({"success": True}, 0.001)] * 2048
    assert counted(*answers)["latency_ms"]["max"] == 1.0
    assert counted(*answers)["answered"] == 2049
