"""Events of the log for people: a table, one in full, and how long hooks take."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

import msgspec

from hookline.answer import TONES
from hookline.cli.screen import GAP, Column, Row, Screen, Span, count, cut, duration, width_of
from hookline.trace.events import HookRun, TracedEvent
from hookline.trace.queries import HookLatency
from hookline.wire import codec

# What matters most in a hook, first.
_RANKS = {"stop": 0, "deny": 1, "block": 1, "answers": 1, "failed": 2, "ask": 3}
_HEAD = ("id", "time", "session", "event", "target", "decision", "took", "hooks")
_COLUMNS: tuple[Column, ...] = ("keep", "keep", "keep", "keep", "keep", "keep", "right")
# What a narrow terminal can do without, first to last: one event in full has it all.
_SPARED = ("session", "took", "time")
# Rows that come one by one stand below each other only if their cells are as wide from the start.
_WIDTHS = (6, 8, 8, 12, 10, 7, 6)
_SHORT_SESSION = 8
# The least that a target and the hooks are cut to, and a hook's name before others are left out.
_LEAST_TARGET = 8
_LEAST_HOOKS = 9
_LEAST_NAME = 8


def show_events(screen: Screen, events: Sequence[TracedEvent]) -> None:
    """A table with a row for each; on a terminal each has one line, where that can be."""
    dated = len({_local_time(event).date() for event in events}) > 1
    rows = [_cells(event, dated=dated) for event in events]
    titles, columns = list(_HEAD[:-1]), list(_COLUMNS)

    def leave_out(title: str) -> None:
        place = titles.index(title)
        del titles[place], columns[place]
        for row in rows:
            del row[place]

    def widths() -> list[int]:
        cells = [titles, *([text for text, _ in row] for row in rows)]
        return [max(map(width_of, column)) for column in zip(*cells, strict=True)]

    def least_width() -> int:
        """How wide it is when the targets are cut and the hooks stand below."""
        least = widths()
        place = titles.index("target")
        least[place] = min(least[place], _LEAST_TARGET)
        return sum(least) + GAP * (len(least) - 1)

    if screen.width is None:
        hooks = [_all_hooks(event) for event in events]
    else:
        if only_session(events):
            leave_out("session")
        for title in _SPARED:
            if title in titles and least_width() > screen.width:
                leave_out(title)
        if least_width() > screen.width:
            columns[titles.index("event")] = "cut"
        natural, place = widths(), titles.index("target")
        left = screen.width - sum(natural) - GAP * len(natural) + natural[place]
        needed = max(width_of(_deciding_hook(event, screen.width)) for event in events)
        target = min(natural[place], max(_LEAST_TARGET, left // 2, left - needed))
        for row in rows:
            row[place] = (cut(row[place][0], target), "matcher")
        hooks = [_deciding_hook(event, max(left - target, _LEAST_HOOKS)) for event in events]
    table: list[Row] = [[(title, "faint") for title in (*titles, _HEAD[-1])]]
    table += [[*row, last] for row, last in zip(rows, hooks, strict=True)]
    screen.table(table, columns, indent=0)


def only_session(events: Sequence[TracedEvent]) -> str | None:
    """The session that all of them belong to."""
    sessions = {event.session_id for event in events}
    return sessions.pop() if len(sessions) == 1 else None


def show_row(screen: Screen, event: TracedEvent, last_day: date | None) -> date:
    """One more row of a table that has no end yet, below its day where that is another; the day."""
    day = _local_time(event).date()
    if day != last_day:
        screen.line((f"{day:%A %d %B %Y}", "faint"))
    cells = [
        (text.rjust(width) if kind == "right" else text.ljust(width), role)
        for (text, role), width, kind in zip(
            _cells(event, dated=False), _WIDTHS, _COLUMNS, strict=True
        )
    ]
    last = _all_hooks(event)
    if screen.width is not None:
        used = sum(width_of(text) for text, _ in cells) + GAP * len(cells)
        last = _deciding_hook(event, max(screen.width - used, _LEAST_HOOKS))
    screen.table([[*cells, last]], _COLUMNS, indent=0)
    return day


def show_event(screen: Screen, event: TracedEvent) -> None:
    """Everything that is known of one event."""
    screen.line((event.event or event.decision, "title"), (f"  {event.target}", "matcher"))
    why = f": {event.reason}" if event.reason else ""
    time = _local_time(event).isoformat(sep=" ", timespec="milliseconds")
    facts: list[Row] = [
        (("decision", "faint"), (event.decision + why, TONES.get(event.decision, ""))),
        (("time", "faint"), time),
    ]
    if event.hooks:
        together = "one after the other" if event.sequential else "at the same time"
        number = len(event.hooks)
        how = "one hook" if number == 1 else f"{count(number, 'hook')} {together}"
        facts.append((("took", "faint"), f"{duration(event.duration_ms)}, {how}"))
    facts += [(("session", "faint"), event.session_id or "–"), (("id", "faint"), event.id)]
    facts += [(("warning", "care"), warning) for warning in event.warnings]
    if not event.complete:
        facts.append((("note", "care"), "the log has only a part of this event"))
    screen.table(facts, ("keep",))
    for run in event.hooks:
        _show_run(screen, run)
    for title, value in (("input", event.input), ("output", event.output)):
        if value is not None:
            screen.line()
            screen.line((title, "title"))
            _show_json(screen, value, indent=2)


def show_latencies(screen: Screen, rows: Sequence[HookLatency]) -> None:
    """A row for each hook."""
    table: list[Row] = [
        [(title, "faint") for title in ("runs", "p50", "p95", "p99", "failed", "blocked", "hook")]
    ]
    for row in rows:
        times = [duration(time) for time in (row.p50_ms, row.p95_ms, row.p99_ms)]
        failed: Span = (str(row.failures), "bad" if row.failures else "faint")
        blocked: Span = (str(row.blocks), "" if row.blocks else "faint")
        table.append([str(row.runs), *times, failed, blocked, (row.hook, "name")])
    screen.table(table, ("right",) * 6, indent=0)


def _cells(event: TracedEvent, *, dated: bool) -> list[tuple[str, str]]:
    """All but the hooks, which take what is left of a line."""
    time = _local_time(event)
    return [
        (event.id, "name"),
        (f"{time:%m-%d %H:%M:%S}" if dated else f"{time:%H:%M:%S}", ""),
        (event.session_id[:_SHORT_SESSION], "faint"),
        (event.event or "–", ""),
        (event.target, "matcher"),
        (event.decision, TONES.get(event.decision, "")),
        (duration(event.duration_ms) if event.hooks else "", "faint"),
    ]


def _all_hooks(event: TracedEvent) -> str:
    names = (f"{r.hook} ({r.reason})" if r.failed is not None else r.hook for r in event.hooks)
    return ", ".join(names) or event.reason or ""


def _deciding_hook(event: TracedEvent, room: int) -> str:
    """The hook that matters most, cut to the room there is, and how many are beside it."""
    if not event.hooks:
        return event.reason or ""
    first = min(event.hooks, key=lambda run: _RANKS.get(run.decision, len(_RANKS)))
    mark = " ✗" if first.failed is not None else ""
    beside = f" +{len(event.hooks) - 1}" if len(event.hooks) > 1 else ""
    if room - len(mark + beside) < min(width_of(first.hook), _LEAST_NAME):
        beside = ""
    return cut(first.hook, room - len(mark + beside)) + mark + beside


def _local_time(event: TracedEvent) -> datetime:
    return datetime.fromisoformat(event.time).astimezone()


def _show_run(screen: Screen, run: HookRun) -> None:
    screen.line()
    code = "" if run.exit_code is None else f", exit {run.exit_code}"
    end = code if run.signal is None else f", {run.signal}"
    took = "async" if run.started else duration(run.duration_ms)
    facts = f"  {run.source}, {'async, ' if run.background else ''}{took}{end}  "
    word = (run.decision, TONES.get(run.decision, ""))
    why = f": {run.reason}" if run.reason else ""
    screen.line((run.hook, "name"), (facts, "faint"), word, why)
    if run.error:
        screen.line(("error", "bad"), f"   {run.error}", indent=2)
    for warning in run.warnings:
        screen.line(("warning", "care"), f" {warning}", indent=2)
    for title, text in (("stdout", run.stdout), ("stderr", run.stderr)):
        if text.strip():
            screen.line((title, "faint"), indent=2)
            for line in text.rstrip().split("\n"):
                screen.line(line, indent=4)
    if run.output is not None:
        screen.line(("output", "faint"), indent=2)
        _show_json(screen, run.output, indent=4)


def _show_json(screen: Screen, value: Any, *, indent: int) -> None:
    pretty = msgspec.json.format(codec.encode(value), indent=2).decode()
    for line in pretty.split("\n"):
        screen.line(line, indent=indent)
