"""``hookline trace``: what hooks did, from the log; it reads, and runs nothing."""

import os
import select
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from heapq import nlargest

from hookline.cli.failures import CommandError
from hookline.cli.options import SOURCES, Option, Options, find_sources, flag, read_event_name
from hookline.cli.screen import Screen, count, shorten_path, shorten_place
from hookline.cli.trace.screen import (
    only_session,
    show_event,
    show_events,
    show_latencies,
    show_row,
)
from hookline.errors import HooklineError
from hookline.trace.events import DECISIONS, Assembler, Entry, TracedEvent, read_entries
from hookline.trace.log import TraceLog
from hookline.trace.queries import Filter, find_entry, latencies, moment, slowest
from hookline.trace.records import default_trace_path, is_trace_wanted

_SHOWN = 20
_ON_A_PAGE = 2_000
_SLOW_MS = 500.0
_PAUSE_S = 0.2
# Agents that record write at least so often while people look at what they do.
_RECENT = timedelta(minutes=10)

EXAMPLES = (
    "hookline trace",
    "hookline trace --decision blocked --since yesterday",
    "hookline trace --failures --since 1h",
    "hookline trace --stats",
    "hookline trace --html trace.html",
)
_WHICH = "only events"
_WORDS = tuple(word.replace(" ", "-") for word in DECISIONS)
OPTIONS = (
    Option("id", "ID", "show this event in full", count="?", one_of="what"),
    flag("--follow", "show events as they happen, until Ctrl-C", one_of="what"),
    flag("--stats", "show how long each hook takes", one_of="what"),
    Option(
        "--html", "FILE", "write the events to this file as a page for the browser", one_of="what"
    ),
    Option(
        "--event",
        "NAME",
        "of this name, ours or Claude Code's; can be given more than once",
        again=True,
        group=_WHICH,
    ),
    Option(
        "--decision",
        "WORD",
        f"in which this happened: {', '.join(_WORDS)}; can be given more than once",
        choices=_WORDS,
        type=lambda word: word.replace(" ", "-"),
        again=True,
        group=_WHICH,
    ),
    Option("--hook", "NAME", "with a hook that has this in its name", group=_WHICH),
    Option("--session", "ID", "of the session whose id begins with this", group=_WHICH),
    flag("--failures", "in which something failed", group=_WHICH),
    Option(
        "--since",
        "TIME",
        "since this time: 10m, 2h or 3d ago, yesterday, 14:30, 2026-03-01T14:30",
        group=_WHICH,
    ),
    Option(
        "--slow",
        "MS",
        f"in which a hook took this long, slowest first (default: {_SLOW_MS:.0f})",
        type=float,
        count="?",
        means=_SLOW_MS,
        group=_WHICH,
    ),
    Option(
        "--limit", "N", f"at most this many, the newest (default: {_SHOWN})", type=int, group=_WHICH
    ),
    Option("--log", "FILE", "read this log instead of your own"),
    *SOURCES,
)


def run(options: Options, screen: Screen) -> int:
    """Show what was asked for; an empty log is no failure, and says how to fill it."""
    if options.limit is not None and options.limit < 1:
        raise CommandError(f"--limit: {options.limit} is not a number of events; write 1 or more")
    if options.log is not None and not os.path.exists(options.log):
        raise CommandError(f"--log: there is no file {options.log}")
    wanted = Filter(
        events=frozenset(read_event_name("--event: ", n).value for n in options.event or ()),
        decisions=frozenset(word.replace("-", " ") for word in options.decision or ()),
        hook=options.hook,
        session=options.session,
        failures=options.failures,
        since=None if options.since is None else moment(options.since, now=datetime.now(UTC)),
        slow=options.slow,
        within=None if options.cwd is None else os.path.abspath(options.cwd),
    )
    log = TraceLog(options.log or default_trace_path())
    entries = filter(wanted.accepts_entry, read_entries(log.poll()))
    try:
        if options.follow:
            _follow(options, screen, log, wanted)
            return 0
        if options.id is not None:
            event = find_entry(read_entries(log.poll()), options.id).event
            if options.json:
                screen.document(event)
            else:
                show_event(screen, event, _find_places(options, event))
        elif options.stats:
            rows = latencies(entries, hook=options.hook)
            if options.json:
                screen.document({"hooks": rows})
            elif rows:
                show_latencies(screen, rows)
            else:
                _tell_nothing(options, screen, "no hook run")
        elif options.html is not None:
            _write_page(options, screen, entries)
        else:
            _show_recent(options, screen, log, entries)
    finally:
        log.close()
    if str(log.skipped):
        screen.warning(f"{log.path}: {log.skipped}")
    return 0


def _find_places(options: Options, event: TracedEvent) -> dict[tuple[str, str], str]:
    """Where the settings of the folder that the event was fired in have its hooks today, by source
    and name; the log does not tell where they were."""
    from hookline.engine.project import Project

    cwd = event.input.get("cwd") if isinstance(event.input, dict) else None
    if not isinstance(cwd, str) or not os.path.isdir(cwd):
        return {}
    try:
        entries = Project.load(cwd, **find_sources(options)).get_settings().entries
    except (OSError, HooklineError):
        # Settings that cannot be read today tell nothing of the event.
        return {}
    places: dict[tuple[str, str], str] = {}
    for entry in entries:
        if entry.event == event.event and entry.file is not None:
            key = (entry.source.value, entry.name)
            places.setdefault(key, shorten_place(entry.file, entry.line))
    return places


def _write_page(options: Options, screen: Screen, entries: Iterable[Entry]) -> None:
    from urllib.parse import quote

    from hookline._support.files import write_atomically
    from hookline.trace.html import page

    events, total = _take_newest(entries, options.limit or _ON_A_PAGE)
    write_atomically(options.html, page(events, total=total), mode=0o600)
    where = os.path.abspath(options.html)
    if options.json:
        screen.document({"file": where, "events": len(events), "total": total})
        return
    left_out = f" of {total}; --limit {total} takes all" if total > len(events) else ""
    screen.line(f"wrote {count(len(events), 'event')}{left_out}")
    screen.line("open ", (f"file://{quote(where)}", "name"))
    if not events:
        _tell_nothing(options, screen, "no event")


def _show_recent(options: Options, screen: Screen, log: TraceLog, entries: Iterable[Entry]) -> None:
    limit = options.limit or _SHOWN
    if options.slow is None:
        events, total = _take_newest(entries, limit)
    else:
        events, total = _take_slowest(entries, limit)
    if options.json:
        # Only now is it known whether the last line is whole.
        log.close()
        screen.document(
            {
                "file": log.path,
                "tracing": _is_on(options),
                "events": events,
                "total": total,
                "skipped": {"foreign": log.skipped.foreign, "torn": log.skipped.torn},
            }
        )
        return
    if not events:
        _tell_nothing(options, screen, "no event")
        return
    show_events(screen, events)
    screen.line()
    which = "newest" if options.slow is None else "slowest"
    of = f"the {len(events)} {which} of {total} events"
    what = of if len(events) < total else count(total, "event")
    session = only_session(events)
    screen.line((f"{what}, session {session}" if session else what, "faint"))
    screen.line((f"`hookline trace {events[-1].id}` shows the last in full", "faint"))
    _warn_if_off(options, screen, log)


def _take_newest(entries: Iterable[Entry], limit: int) -> tuple[list[TracedEvent], int]:
    newest: deque[Entry] = deque(maxlen=limit)
    total = 0
    for entry in entries:
        newest.append(entry)
        total += 1
    return sorted((entry.event for entry in newest), key=lambda event: event.time), total


def _take_slowest(entries: Iterable[Entry], limit: int) -> tuple[list[TracedEvent], int]:
    total = 0

    def put_together() -> Iterator[TracedEvent]:
        nonlocal total
        for entry in entries:
            total += 1
            yield entry.event

    return nlargest(limit, put_together(), key=slowest), total


def _tell_nothing(options: Options, screen: Screen, what: str) -> None:
    filters = ("event", "decision", "hook", "session", "failures", "since", "slow", "cwd")
    if any(getattr(options, name) for name in filters):
        screen.line(f"{what} matches; `hookline trace` shows the newest of all")
        return
    if options.log is not None:
        screen.line(f"{what} is in ", (shorten_path(options.log), "name"))
        return
    if _is_on(options):
        screen.line(f"{what} was recorded yet; tracing is on, so the next one will be")
        return
    from hookline._support.places import user_config_dir

    screen.line(f"{what} was recorded, as tracing is off")
    screen.line("to record what hooks do, set HOOKLINE_TRACE=1 where the agent starts, as in")
    screen.line('HOOKLINE_TRACE=1 hookline fire BeforeAgent --input \'{"prompt": "hi"}\'', indent=2)
    directory = user_config_dir()
    if directory is not None:
        settings = (shorten_path(os.path.join(directory, "settings.json")), "name")
        screen.line('or, to keep it on, write {"hookline": {"trace": true}} into ', settings)


def _warn_if_off(options: Options, screen: Screen, log: TraceLog) -> None:
    """Warn if nothing seems to be recorded: agents elsewhere may write into this log, whatever is
    set here."""
    if options.log is not None or options.json:
        return
    now = datetime.now(UTC)
    if log.newest and now - datetime.fromisoformat(log.newest) < _RECENT:
        return
    if not _is_on(options):
        minutes = int(_RECENT.total_seconds() // 60)
        screen.warning(
            f"nothing was recorded in the last {minutes} minutes, and tracing is off here; "
            "set HOOKLINE_TRACE=1 where the agent starts"
        )


def _is_on(options: Options) -> bool:
    from hookline.engine.project import Project

    settings = Project.load(options.cwd, **find_sources(options)).get_settings()
    return is_trace_wanted(default=settings.trace)


def _follow(options: Options, screen: Screen, log: TraceLog, wanted: Filter) -> None:
    """Show the newest events, then each new one, until an interrupt, or until the reader of the
    output is gone."""
    assembler, day = Assembler(), None
    most: int | None = options.limit or _SHOWN
    reader = select.poll()
    try:
        descriptor: int | None = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        descriptor = None
    if descriptor is not None:
        file = os.fstat(descriptor)
        reader.register(descriptor, 0)
    while True:
        gathered = filter(None, map(assembler.gather, log.poll()))
        for entry in deque(filter(wanted.accepts_entry, gathered), maxlen=most):
            if options.json:
                screen.document(entry.event)
            else:
                day = show_row(screen, entry.event, day)
        if most is not None:
            _warn_if_off(options, screen, log)
        screen.flush()
        if descriptor is not None and not os.path.samestat(os.fstat(descriptor), file):
            return
        if reader.poll(_PAUSE_S * 1000):
            return
        most = None
