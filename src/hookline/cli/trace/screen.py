"""Events of the log for people: a table, one in full, and how long hooks take."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import msgspec

from hookline.cli.screen import (
    DIFF_ROLES,
    GAP,
    Column,
    Row,
    Screen,
    Span,
    count,
    cut,
    diff,
    measure_columns,
    measure_table,
    printable,
    width_of,
)
from hookline.pipeline.answer import EFFECTS, TONES, Change
from hookline.trace.events import HookRun, TracedEvent
from hookline.trace.queries import HookLatency
from hookline.wire import codec

# What matters most in a hook, first.
_RANKS = {word: rank for rank, word in enumerate(("stopped", "blocked", "failed", *EFFECTS))}
_HEAD = ("id", "time", "session", "event", "target", "decision", "took")
_RIGHT = "took"
# What a narrow terminal can do without, first to last: one event in full has it all.
_SPARED = ("session", "took", "time", "target")
# What a cell is cut to where the terminal is narrow, and what it takes where rows come one by one
# and nobody knows how long the next will be.
_LEAST = {"id": 8, "time": 14, "session": 8, "event": 12, "target": 8, "decision": 13, "took": 10}
_USUAL = {**_LEAST, "time": 8, "event": 19, "target": 20, "decision": 15}
_SHORT_SESSION = 8
# The least room for the hooks, and what they take of a row that comes alone; what a hook's name
# has before others are left out.
_LEAST_HOOKS = 9
_USUAL_HOOKS = 24
_LEAST_NAME = 8
# More lines than these are not compared, and of those that differ no more are shown.
_COMPARED_LINES = 2_000
_SHOWN_LINES = 200
# What a table of times can do without, first to last.
_SPARED_TIMES = ("p99", "p50")


def show_events(screen: Screen, events: Sequence[TracedEvent]) -> None:
    """A table with a row for each; on a terminal each has one line, where that can be."""
    dated = len({_read_local_time(event).date() for event in events}) > 1
    rows = [_make_cells(event, dated=dated) for event in events]
    widths = {
        title: max(width_of(title), *(width_of(row[title][0]) for row in rows)) for title in _HEAD
    }
    if screen.width is not None:
        if only_session(events):
            del widths["session"]
        hooks = max(width_of(_find_deciding_hook(event, screen.width)) for event in events)
        widths = _fit_widths(widths, hooks, screen.width)
    head = {title: (title, "faint") for title in _HEAD}
    table = [_make_row(head, "hooks" if "target" in widths else "target, hooks", widths)]
    for event, row in zip(events, rows, strict=True):
        table.append(_make_row(row, _show_hooks(event, widths, screen.width), widths))
    screen.table(table, ["right" if title == _RIGHT else "keep" for title in widths], indent=0)


def only_session(events: Sequence[TracedEvent]) -> str | None:
    """The session that all of them belong to."""
    sessions = {event.session_id for event in events}
    return sessions.pop() if len(sessions) == 1 else None


def show_row(screen: Screen, event: TracedEvent, last_day: date | None) -> date:
    """One more row of a table that has no end yet, below its day where that is another; the day."""
    day = _read_local_time(event).date()
    if day != last_day:
        screen.line((f"{day:%A %d %B %Y}", "faint"))
    widths = dict(_USUAL)
    if screen.width is not None:
        widths = _fit_widths(widths, _USUAL_HOOKS, screen.width)
    *cells, hooks = _make_row(
        _make_cells(event, dated=False), _show_hooks(event, widths, screen.width), widths
    )
    row: list[Span] = []
    for title, (text, role) in zip(widths, cells, strict=True):
        space = " " * (widths[title] - width_of(text))
        row.append((space + text if title == _RIGHT else text + space, role))
    screen.table([[*row, hooks]], ["keep"] * len(widths), indent=0)
    return day


def _fit_widths(natural: Mapping[str, int], hooks: int, width: int) -> dict[str, int]:
    """How wide each cell of a row is that fits into a terminal, beside hooks that take so much
    themselves; what does not fit is left out."""
    widths = {title: min(size, _LEAST[title]) for title, size in natural.items()}

    def left() -> int:
        return width - sum(widths.values()) - GAP * len(widths)

    for title in _SPARED:
        if left() < min(hooks, _LEAST_HOOKS):
            widths.pop(title, None)
    if "target" not in widths:
        # The hooks stand below.
        widths["event"] = max(min(natural["event"], widths["event"] + left() + GAP), 1)
        return widths
    for title in ("decision", "event"):
        room = max(left() - min(hooks, _LEAST_HOOKS), 0)
        widths[title] = min(natural[title], widths[title] + room)
    room = left() + widths["target"]
    target = max(widths["target"], room // 2, room - hooks)
    widths["target"] = min(natural["target"], target)
    return widths


def _make_row(
    cells: Mapping[str, tuple[str, str]], hooks: str, widths: Mapping[str, int]
) -> list[tuple[str, str]]:
    """The cells that have a width, cut to it, and the hooks."""
    row = [(cut(cells[title][0], width), cells[title][1]) for title, width in widths.items()]
    return [*row, (hooks, "")]


def _show_hooks(event: TracedEvent, widths: Mapping[str, int], width: int | None) -> str:
    """The hooks in what is left of a row; with the target, in a line of their own, where there is
    no room for either."""
    if width is None:
        return _list_hooks(event)
    if "target" in widths:
        return _find_deciding_hook(event, width - sum(widths.values()) - GAP * len(widths))
    room = width - 2 * GAP
    target = cut(_show_name(event.target), room // 2)
    hook = _find_deciding_hook(event, room - width_of(target) - GAP)
    return f"{target}{' ' * GAP if target and hook else ''}{hook}"


def show_event(screen: Screen, event: TracedEvent, places: Mapping[tuple[str, str], str]) -> None:
    """Everything that is known of one event; ``places`` has where its hooks are defined."""
    screen.line((event.event or event.decision, "title"), (f"  {event.target}", "matcher"))
    why = f": {event.reason}" if event.reason else ""
    time = _read_local_time(event).isoformat(sep=" ", timespec="milliseconds")
    facts: list[Row] = [
        (("decision", "faint"), (", ".join(event.words) + why, TONES.get(event.decision, ""))),
        (("time", "faint"), time),
    ]
    if event.hooks:
        together = "one after the other" if event.sequential else "at the same time"
        number = len(event.hooks)
        how = "one hook" if number == 1 else f"{count(number, 'hook')} {together}"
        facts.append((("took", "faint"), f"{milliseconds(event.duration_ms)}, {how}"))
    facts += [(("session", "faint"), event.session_id or "–"), (("id", "faint"), event.id)]
    cwd = event.input.get("cwd") if isinstance(event.input, dict) else None
    if isinstance(cwd, str):
        facts.append((("folder", "faint"), cwd))
    facts += [(("warning", "care"), warning) for warning in event.warnings]
    if not event.complete:
        facts.append((("note", "care"), "the log has only a part of this event"))
    screen.table(facts, ("keep",))
    for run in event.hooks:
        _show_run(screen, run, places.get((run.source, run.hook), ""))
    change = event.find_change()
    if change is not None:
        screen.line()
        screen.line((f"{change.what}, before and after", "title"))
        _show_change(screen, change)
    for title, value in (("input", event.input), ("output", event.output)):
        if value is not None:
            screen.line()
            screen.line((title, "title"))
            _show_json(screen, value, indent=2)


def show_latencies(screen: Screen, rows: Sequence[HookLatency]) -> None:
    """A row for each hook; on a narrow terminal its name stands above its numbers."""
    titles = ["runs", "p50", "p95", "p99", "failed", "blocked"]
    table: list[list[Span]] = [[(title, "faint") for title in titles]]
    for row in rows:
        times = [milliseconds(time) for time in (row.p50_ms, row.p95_ms, row.p99_ms)]
        failed: Span = (str(row.failures), "bad" if row.failures else "faint")
        blocked: Span = (str(row.blocks), "" if row.blocks else "faint")
        table.append([str(row.runs), *times, failed, blocked])

    longest = min(max(width_of(_show_name(row.hook)) for row in rows), _USUAL_HOOKS)
    for title in _SPARED_TIMES:
        if screen.width is not None and measure_table(table) + longest > screen.width:
            place = titles.index(title)
            del titles[place]
            for cells in table:
                del cells[place]
    kinds: list[Column] = ["right"] * len(titles)
    if screen.width is None or measure_table(table) + longest <= screen.width:
        room = screen.width and screen.width - measure_table(table)
        names = (cut(_show_name(row.hook), room) if room else row.hook for row in rows)
        hooks: list[Span] = [("hook", "faint"), *((name, "name") for name in names)]
        screen.table(
            [[*cells, hook] for cells, hook in zip(table, hooks, strict=True)], kinds, indent=0
        )
        return
    widths = measure_columns(table)

    def show_numbers(cells: Sequence[Span]) -> None:
        spans: list[Span] = []
        for cell, width in zip(cells, widths, strict=True):
            gap = " " * (width - width_of(_get_text(cell)) + (GAP if spans else 0))
            spans += [gap, cell]
        screen.line(*spans)

    show_numbers(table[0])
    for row, cells in zip(rows, table[1:], strict=True):
        screen.line((row.hook, "name"))
        show_numbers(cells)


def milliseconds(time: float) -> str:
    """A time in the one unit of the trace, so that times stand below each other and compare."""
    return f"{time:.1f} ms"


def _get_text(span: Span) -> str:
    return span if isinstance(span, str) else span[0]


def _make_cells(event: TracedEvent, *, dated: bool) -> dict[str, tuple[str, str]]:
    """All but the hooks, which take what is left of a line."""
    time = _read_local_time(event)
    return {
        "id": (_show_name(event.id), "name"),
        "time": (f"{time:%m-%d %H:%M:%S}" if dated else f"{time:%H:%M:%S}", ""),
        "session": (_show_name(event.session_id[:_SHORT_SESSION]), "faint"),
        "event": (_show_name(event.event) or "–", ""),
        "target": (_show_name(event.target), "matcher"),
        "decision": (event.decision, TONES.get(event.decision, "")),
        "took": (milliseconds(event.duration_ms) if event.hooks else "", "faint"),
    }


def _show_name(text: str) -> str:
    """A name as the screen writes it: what it writes out takes more columns."""
    return printable(text.replace("\n", "\\n"))


def _list_hooks(event: TracedEvent) -> str:
    names = (f"{r.hook} ({r.reason})" if r.failed is not None else r.hook for r in event.hooks)
    return ", ".join(names) or event.reason or ""


def _find_deciding_hook(event: TracedEvent, room: int) -> str:
    """The hook that matters most, cut to the room there is, and how many are beside it."""
    if not event.hooks:
        return event.reason or ""
    first = min(event.hooks, key=lambda run: _RANKS.get(run.words[0], len(_RANKS)))
    mark = " ✗" if first.failed is not None else ""
    beside = f" +{len(event.hooks) - 1}" if len(event.hooks) > 1 else ""
    name = _show_name(first.hook)
    if room - len(mark + beside) < min(width_of(name), _LEAST_NAME):
        beside = ""
    return cut(name, room - len(mark + beside)) + mark + beside


def _read_local_time(event: TracedEvent) -> datetime:
    return datetime.fromisoformat(event.time).astimezone()


def _show_run(screen: Screen, run: HookRun, place: str) -> None:
    screen.line()
    code = "" if run.exit_code is None else f", exit {run.exit_code}"
    end = code if run.signal is None else f", {run.signal}"
    took = "async" if run.started else milliseconds(run.duration_ms)
    facts = f"  {run.source}, {'async, ' if run.background else ''}{took}{end}  "
    word = (", ".join(run.words), TONES.get(run.words[0], ""))
    why = f": {run.reason}" if run.reason else ""
    screen.line((run.hook, "name"), (facts, "faint"), word, why)
    if place:
        screen.line(("defined in ", "faint"), (place, "name"), indent=2)
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


def _show_change(screen: Screen, change: Change) -> None:
    """The lines that differ. What is long takes too much time to compare, and is in the output."""
    before, after = _split_lines(change.before), _split_lines(change.after)
    if max(len(before), len(after)) > _COMPARED_LINES:
        how = f"{count(len(before), 'line')} before, {count(len(after), 'line')} after"
        screen.line((f"{how}: too long to compare here", "faint"), indent=2)
        return
    lines = diff(before, after, around=2)
    for line in lines[:_SHOWN_LINES]:
        screen.quote((line, DIFF_ROLES.get(line[:1], "")), indent=2)
    if len(lines) > _SHOWN_LINES:
        more = count(len(lines) - _SHOWN_LINES, "more line")
        screen.line((f"{more}; --json has all of it", "faint"), indent=2)


def _split_lines(value: Any) -> list[str]:
    """A text by its lines, names each in a line, and anything else as JSON in which the lines of a
    text are lines, too."""
    if value is None:
        return []
    if isinstance(value, str):
        return value.split("\n")
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return [_show_name(each) for each in value]
    pretty = msgspec.json.format(codec.encode(value), indent=2).decode()
    broken = re.sub(r"\\(.)", lambda match: match[0] + "\n" * (match[1] == "n"), pretty)
    return broken.split("\n")


def _show_json(screen: Screen, value: Any, *, indent: int) -> None:
    pretty = msgspec.json.format(codec.encode(value), indent=2).decode()
    for line in pretty.split("\n"):
        screen.line(line, indent=indent)
