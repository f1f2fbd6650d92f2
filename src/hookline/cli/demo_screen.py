"""The steps of the demo for people and for programs, and the sum of them."""

from collections.abc import Sequence
from typing import Any

import msgspec

from hookline.cli.demo_steps import Fired, Step
from hookline.cli.layout import Column, Row
from hookline.cli.report import decision, hook_row
from hookline.cli.screen import Screen
from hookline.cli.text import count, duration
from hookline.wire.events import HookEventName

_ROLES: dict[str, str] = {
    "added": "change",
    "restricted": "change",
    "rewritten": "change",
    "redacted": "change",
    "blocked": "bad",
    "refused": "bad",
    "failed": "bad",
    "allowed": "good",
}
_LONGEST = 300
# Below this an event's name stands above its hooks, not beside them.
_NARROW = 64
_TOOL_EVENTS = (HookEventName.BEFORE_TOOL, HookEventName.AFTER_TOOL)


class Summary(msgspec.Struct, frozen=True):
    """What hooks did in a session; times are in milliseconds."""

    events: int
    events_with_hooks: int
    hook_runs: int
    hook_time_ms: float
    blocked: int
    refused: int
    rewritten: int
    redacted: int


def summary_of(steps: Sequence[Step]) -> Summary:
    """The sum of the steps."""
    fired = [each for step in steps for each in step.fired]
    words = [outcome.word for step in steps for outcome in step.outcomes]
    return Summary(
        events=len(fired),
        events_with_hooks=sum(1 for each in fired if each.processed.results),
        hook_runs=sum(len(each.processed.results) for each in fired),
        hook_time_ms=round(sum(each.processed.total_duration for each in fired), 3),
        blocked=words.count("blocked"),
        refused=words.count("refused"),
        rewritten=words.count("rewritten"),
        redacted=words.count("redacted"),
    )


def show_step(screen: Screen, step: Step, number: int) -> None:
    """A step: what happened, each hook with its time and decision, and what came of it."""
    screen.line()
    shows = step.shows if len(step.shows) <= _LONGEST else step.shows[:_LONGEST] + "…"
    is_speech = step.call is None
    screen.line(f"{number}. ", (step.says, "title"), *_beside(shows, is_speech=is_speech))
    if shows and is_speech:
        screen.line((shows, "matcher"), indent=3)
    _show_hooks(screen, [each for each in step.fired if each.is_news])
    quiet = [each for each in step.fired if not each.is_news and each.processed.results]
    if quiet:
        screen.line((f"also ran: {_times(quiet)}", "faint"), indent=3)
    for outcome in step.outcomes:
        screen.line("=> ", (outcome.word, _ROLES[outcome.word]), f": {outcome.text}", indent=3)


def show_summary(screen: Screen, summary: Summary) -> None:
    """The sum of a session."""
    screen.line()
    screen.line(("Summary", "title"))
    runs = f"{count(summary.hook_runs, 'run')}, {duration(summary.hook_time_ms)} in all"
    screen.table(
        [
            ("events", f"{summary.events} fired, {summary.events_with_hooks} of them with hooks"),
            ("hooks", runs),
            ("blocked", count(summary.blocked, "time")),
            ("refused", count(summary.refused, "call") + " of tools that were taken away"),
            ("rewritten", count(summary.rewritten, "time")),
            ("redacted", count(summary.redacted, "answer")),
        ],
        ("keep",),
    )


def step_document(step: Step) -> dict[str, Any]:
    """A step as JSON."""
    call = {"tool": step.call.name, "input": step.call.args} if step.call is not None else {}
    return {
        "what": f"{step.says} {step.shows}".strip(),
        **call,
        "events": [_event_document(each) for each in step.fired],
        "outcomes": [{"outcome": each.word, "text": each.text} for each in step.outcomes],
    }


def _beside(shows: str, *, is_speech: bool) -> list[Any]:
    return [] if is_speech or not shows else [" ", (shows, "matcher")]


def _show_hooks(screen: Screen, fired: Sequence[Fired]) -> None:
    is_narrow = screen.width is not None and screen.width < _NARROW
    rows: list[Row] = []
    for each in fired:
        for result in each.processed.results:
            name, _, *rest = hook_row(result)
            rows.append([name, *rest] if is_narrow else [(each.event.value, "faint"), name, *rest])
    columns: list[Column] = ["cut", "right", "keep"]
    if rows and is_narrow:
        screen.line(
            (", ".join(dict.fromkeys(each.event.value for each in fired)), "faint"), indent=3
        )
    if rows:
        screen.table(rows, columns if is_narrow else ["keep", *columns], indent=3)


def _times(fired: Sequence[Fired]) -> str:
    results = [result for each in fired for result in each.processed.results]
    return ", ".join(f"{result.hook.name} {duration(result.duration)}" for result in results)


def _event_document(fired: Fired) -> dict[str, Any]:
    hooks = []
    for result in fired.processed.results:
        word, why = decision(result)
        facts = {"hook": result.hook.name, "duration_ms": round(result.duration, 3)}
        hooks.append({**facts, "decision": word, "reason": why, "output": result.output})
    about = {"tool": fired.target} if fired.event in _TOOL_EVENTS else {}
    return {"event": fired.event.value, **about, "hooks": hooks}
