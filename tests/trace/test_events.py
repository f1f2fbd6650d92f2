"""Records become the events they tell of."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from hookline.trace.events import Assembler, TracedEvent, read_entries
from hookline.trace.log import Record, TraceLog, read_record
from hookline.trace.records import DebugLogger, JsonLinesSink
from hookline.wire import codec
from tests.eleven import answering, command, on_every_event, started
from tests.harness.scratch import Project
from tests.trace.logs import DENIED, Json, fired, ran, session, warned


def read(path: Path) -> list[TracedEvent]:
    log = TraceLog(path)
    events = [entry.event for entry in read_entries(log.poll())]
    log.close()
    return events


def records(*events: list[Json]) -> list[Record]:
    found = [read_record(json.dumps(r).encode()) for event in events for r in event]
    return [record for record in found if record is not None]


def assembled(*events: list[Json]) -> list[TracedEvent]:
    return [entry.event for entry in read_entries(records(*events))]


async def test_a_fired_event_is_read_back_with_all_its_hooks_said(project: Project) -> None:
    path = project.path.parent / "trace.jsonl"
    hooks = on_every_event(
        command("cat >/dev/null; echo no >&2; exit 2", name="policy"),
        command("echo bad >&2; exit 3", name="broken"),
        answering('noise\n{"systemMessage":"hi"}', name="noisy"),
    )
    logger = DebugLogger(JsonLinesSink(path), warn=lambda _: None)
    system = await started(project.path, hooks, debug_logger=logger)
    await system.get_event_handler().fire("BeforeTool", {"tool_name": "w", "tool_input": {"a": 1}})
    [event] = read(path)
    assert (event.event, event.target, event.session_id) == ("BeforeTool", "w", "s-1")
    assert (event.decision, event.reason, event.complete) == ("blocked", "no", True)
    assert event.input["tool_input"] == {"a": 1}
    assert event.output["decision"] == "deny"
    policy, broken, noisy = event.hooks
    assert (policy.decision, policy.reason, policy.exit_code) == ("deny", "no", 2)
    assert (broken.decision, broken.reason, broken.stderr) == ("failed", "exit 3", "bad\n")
    assert noisy.decision == "ok"
    assert "noise" in noisy.stdout
    assert len(noisy.warnings) == 1
    assert event.duration_ms == max(run.duration_ms for run in event.hooks)


async def test_events_that_run_at_the_same_time_are_told_apart(project: Project) -> None:
    path = project.path.parent / "trace.jsonl"
    logger = DebugLogger(JsonLinesSink(path))
    hooks = on_every_event(command("cat", name="a"), command("cat", name="b"))
    system = await started(project.path, hooks, debug_logger=logger)
    tool: Json = {"tool_name": "w", "tool_input": {}}
    handler = system.get_event_handler()
    await asyncio.gather(*(handler.fire("BeforeTool", tool) for _ in range(5)))
    events = read(path)
    assert len({event.id for event in events}) == 5
    assert [[run.hook for run in event.hooks] for event in events] == [["a", "b"]] * 5


def test_records_of_several_writers_may_be_mixed() -> None:
    first = fired("aaaaaa", "10:00:00", "BeforeTool", ran("one"), ran("two"))
    second = fired("bbbbbb", "10:00:00", "BeforeTool", ran("one"), DENIED)
    mixed = [record for pair in zip(first, second, strict=True) for record in pair]
    events = {event.id: [run.hook for run in event.hooks] for event in assembled(mixed)}
    assert events == {"aaaaaa": ["one", "two"], "bbbbbb": ["one", "secret-scan"]}


def test_hooks_one_after_the_other_start_where_the_one_before_ended() -> None:
    event = assembled(session()[-1])[0]
    assert [(run.start_ms, run.duration_ms) for run in event.hooks] == [(0.0, 7.0), (7.0, 1500.0)]
    assert (event.duration_ms, event.time) == (1507.0, "2026-03-01T14:03:18.493Z")
    parallel = assembled(session()[2])[0]
    assert [run.start_ms for run in parallel.hooks] == [0.0, 0.0]
    assert parallel.duration_ms == 12.4


@pytest.mark.parametrize(
    ("event", "output", "decision"),
    [
        ("BeforeTool", {"decision": "allow"}, ("allowed", None)),
        ("BeforeTool", {"decision": "block", "reason": "r"}, ("blocked", "r")),
        ("BeforeTool", {"decision": "ask", "reason": "r"}, ("asked", "r")),
        ("BeforeTool", {"continue": False, "stopReason": "s"}, ("stopped", "s")),
        ("SessionEnd", {"decision": "block", "reason": "r"}, ("allowed", None)),
        (
            "BeforeModel",
            {"hookSpecificOutput": {"llm_response": {"text": "t", "candidates": []}}},
            ("answered", "a hook answers in the model's place"),
        ),
    ],
)
def test_the_decision_is_what_the_merged_output_says(
    event: str, output: Json, decision: tuple[str, Any]
) -> None:
    [found] = assembled(fired("aaaaaa", "10:00:00", event, ran("h"), output=output))
    assert (found.decision, found.reason) == decision


def test_an_event_whose_end_was_not_written_is_shown_for_what_is_known() -> None:
    *hooks, _ = session()[2]
    [event] = assembled(hooks)
    assert (event.decision, event.reason) == ("blocked", "that is a key")
    assert event.complete is False


def test_an_event_whose_start_has_been_rotated_away_says_so() -> None:
    *_, end = session()[2]
    [event] = assembled([end])
    assert (event.decision, event.hooks, event.complete) == ("blocked", (), False)


def test_records_without_an_id_belong_to_the_next_end_of_their_event() -> None:
    old = [{**record, "id": ""} for record in session()[2]]
    [event], [again] = assembled(old), assembled(old)
    assert [run.hook for run in event.hooks] == ["secret-scan", "path-guard"]
    assert event.id == again.id != ""


def test_an_event_of_a_later_version_is_shown_as_well() -> None:
    [event] = assembled(fired("aaaaaa", "10:00:00", "AfterLunch", ran("h", output={"a": 1})))
    assert (event.event, event.decision) == ("AfterLunch", "allowed")


def test_what_was_said_apart_from_any_event_stands_alone() -> None:
    told = warned("10:00:00", "look")
    failed = warned("10:00:01", "BeforeTool failed at planning: x", code="planning_failed")
    events = assembled(told, failed)
    assert [(event.decision, event.reason) for event in events] == [
        ("warning", "look"),
        ("failed", "BeforeTool failed at planning: x"),
    ]
    assert [event.has_failures for event in events] == [False, True]


def late(id: str, clock: str, hook: Json, *said: str) -> list[Json]:
    """The records of the end of a hook that nobody waited for."""
    records = fired(id, clock, "BeforeTool", hook, target="write_file")
    common = {"id": id, "event": "BeforeTool", "hook": hook["hook"]}
    warnings = [warned(clock, text, **common) for text in said]
    return [{**each, "async": True} for group in (*warnings, records) for each in group]


def test_the_end_of_an_async_hook_is_an_entry_of_its_own() -> None:
    began = fired("began2", "14:03:09", "BeforeTool", ran("lint", 0, started=True), DENIED)
    ended = late("ended2", "14:03:12", {**DENIED, "hook": "lint", "duration_ms": 3000}, "ignored")
    start, end = assembled(began, ended)
    assert [(run.decision, run.started) for run in start.hooks] == [
        ("started", True),
        ("deny", False),
    ]
    assert (end.decision, end.target, end.duration_ms) == ("async", "write_file", 3000)
    assert (end.time, end.complete, end.has_failures) == ("2026-03-01T14:03:09.000Z", True, False)
    (run,) = end.hooks
    assert (run.background, run.decision, run.warnings) == (True, "deny", ("ignored",))
    failed = ran("lint", 5, exit_code=3, failed="exit")
    assert assembled(late("failed", "14:03:12", failed))[0].has_failures


def test_json_of_an_async_entry_says_so() -> None:
    (end,) = assembled(late("ended2", "14:03:12", ran("lint")))
    assert json.loads(codec.encode(end))["hooks"][0]["async"] is True


def test_a_warning_belongs_to_its_hook_or_else_to_the_event() -> None:
    common = {"id": "aaaaaa", "event": "BeforeTool"}
    [event] = assembled(
        warned("10:00:00", "of one", **common, hook="one"),
        warned("10:00:00", "of none", **common),
        fired("aaaaaa", "10:00:00", "BeforeTool", ran("one"), ran("two")),
    )
    assert event.warnings == ("of none",)
    assert [run.warnings for run in event.hooks] == [("of one",), ()]


def test_a_warning_whose_event_has_no_end_is_told_with_the_event() -> None:
    [event] = assembled(warned("10:00:00", "look", id="aaaaaa", event="BeforeTool", target="w"))
    assert (event.event, event.target, event.warnings) == ("BeforeTool", "w", ("look",))
    assert (event.decision, event.reason, event.complete) == ("allowed", None, False)


def test_a_record_of_an_unknown_kind_is_passed_over() -> None:
    assert assembled([{"kind": "later", "time": "2026-03-01T10:00:00Z", "id": "aaaaaa"}]) == []


def test_events_without_an_end_are_given_out_once() -> None:
    assembler = Assembler()
    for record in records(session()[2][:-1]):
        assert assembler.gather(record) is None
    assert [entry.id for entry in assembler.gather_rest()] == ["block2"]
    assert assembler.gather_rest() == []


def test_events_that_wait_for_their_end_are_let_go_when_there_are_too_many() -> None:
    began = [fired(f"{n:06}", "10:00:00", "BeforeTool", ran("h"))[0] for n in range(1100)]
    assembler = Assembler()
    left = [assembler.gather(record) for record in records(began)]
    assert [entry.id for entry in left if entry is not None] == [f"{n:06}" for n in range(100)]
    assert len(assembler.gather_rest()) == 1000


def test_without_an_end_the_first_hook_of_the_strongest_effect_gives_the_reason() -> None:
    asking = ran("ask", output={"decision": "ask", "reason": "sure?"})
    second = {**DENIED, "hook": "other", "output": {"decision": "deny", "reason": "second"}}
    *hooks, _ = fired("aaaaaa", "10:00:00", "BeforeTool", asking, DENIED, second)
    [event] = assembled(hooks)
    assert (event.words, event.reason) == (("blocked", "asked"), "that is a key")


def test_words_are_effects_or_else_the_decision() -> None:
    [event] = assembled(session()[2])
    assert (event.words, [run.words for run in event.hooks]) == (
        ("blocked",),
        [("blocked",), ("ok",)],
    )
    [quiet] = assembled(session()[1])
    assert quiet.words == ("no hook",)


def test_a_hook_of_an_unknown_event_shows_its_failure_or_ok() -> None:
    hooks = (ran("good"), ran("bad", exit_code=3, failed="exit"))
    [event] = assembled(fired("aaaaaa", "10:00:00", "AfterLunch", *hooks))
    assert [run.decision for run in event.hooks] == ["ok", "exit"]
    assert event.find_change(event.hooks[0]) is None


def test_a_change_is_found_for_a_known_event_with_an_answer_alone() -> None:
    new = {"hookSpecificOutput": {"tool_input": {"command": "ls"}}}
    hooks = (ran("quiet"), ran("h", output=new), {**ran("late", output=new), "async": True})
    own: Json = {"tool_name": "t", "tool_input": {"command": "rm"}, "output": new}
    [event] = assembled(fired("aaaaaa", "10:00:00", "BeforeTool", *hooks, **own))
    changes = [event.find_change(run) is not None for run in (None, *event.hooks)]
    assert changes == [True, False, True, False]
    own["output"] = None
    [unanswered] = assembled(fired("aaaaaa", "10:00:00", "BeforeTool", *hooks, **own))
    assert unanswered.find_change() is None
    [unknown] = assembled(fired("aaaaaa", "10:00:00", "AfterLunch", hooks[1]))
    assert unknown.find_change(unknown.hooks[0]) is None
