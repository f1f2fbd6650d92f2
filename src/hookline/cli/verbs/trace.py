"""``hookline trace``: what hooks did, from the log; it reads, and runs nothing."""

import argparse
import os
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from hookline.cli.failures import CommandError
from hookline.cli.screen import Screen
from hookline.cli.text import count
from hookline.cli.trace_screen import only_session, show_event, show_events, show_latencies
from hookline.debuglog import default_trace_path, is_trace_wanted
from hookline.trace.events import Assembler, TracedEvent
from hookline.trace.log import TraceLog
from hookline.trace.queries import Filter, latencies, moment, slowest

EXAMPLES = (
    "hookline trace",
    "hookline trace --failures --since 1h",
    "hookline trace --stats",
    "hookline trace --html trace.html",
)

_SHOWN = 20
_ON_A_PAGE = 2_000
_SLOW_MS = 500.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is trace's own."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("id", metavar="ID", nargs="?", help="show this event in full")
    what.add_argument("--follow", action="store_true", help="show events as they come, until ^C")
    what.add_argument("--stats", action="store_true", help="show how long each hook takes")
    what.add_argument("--html", metavar="FILE", help="write one page to look at in a browser")
    which = parser.add_argument_group("which events")
    which.add_argument("--event", metavar="NAME", action="append", help="again for more of them")
    which.add_argument("--hook", metavar="NAME", help="with a hook of this name, or part of it")
    which.add_argument("--session", metavar="ID", help="of a session, by the beginning of its id")
    which.add_argument("--failures", action="store_true", help="where something went wrong")
    which.add_argument("--since", metavar="TIME", help="10m, 2h, 3d; 14:30; 2026-03-01T14:30")
    which.add_argument(
        "--slow",
        metavar="MS",
        nargs="?",
        type=float,
        const=_SLOW_MS,
        help=f"where a hook took as long, slowest first (default: {_SLOW_MS:.0f})",
    )
    which.add_argument(
        "--limit", metavar="N", type=int, help=f"at most so many, the newest (default: {_SHOWN})"
    )
    parser.add_argument("--log", metavar="FILE", help="read this log instead of the user's own")


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Show what was asked for; an empty log is no failure, and says how to fill it."""
    if options.limit is not None and options.limit < 1:
        raise CommandError(f"--limit: {options.limit} is not a number of events; write 1 or more")
    if options.log is not None and not os.path.exists(options.log):
        raise CommandError(f"--log: there is no file {options.log}")
    wanted = _filter(options)
    log = TraceLog(options.log or default_trace_path())
    try:
        if options.follow:
            from hookline.cli.trace_follow import follow

            _tell_if_off(options, screen)
            return follow(log, wanted, screen, limit=options.limit or _SHOWN, json=options.json)
        _show(options, screen, log, wanted)
    finally:
        log.close()
    if said := str(log.skipped):
        screen.warning(f"{log.path}: {said}")
    return 0


def _filter(options: argparse.Namespace) -> Filter:
    from hookline.wire.events import narrow_event

    since = None if options.since is None else moment(options.since, now=datetime.now(UTC))
    return Filter(
        events=frozenset(narrow_event(name).value for name in options.event or ()),
        hook=options.hook,
        session=options.session,
        failures=options.failures,
        since=since,
        slow=options.slow,
        within=None if options.cwd is None else os.path.abspath(options.cwd),
    )


def _show(options: argparse.Namespace, screen: Screen, log: TraceLog, wanted: Filter) -> None:
    events = _read(log)
    if options.id is not None:
        _show_one(options, screen, events)
    elif options.stats:
        _show_statistics(options, screen, filter(wanted.accepts, events))
    elif options.html is not None:
        _write_page(options, screen, filter(wanted.accepts, events))
    else:
        _show_recent(options, screen, log, wanted, events)


def _read(log: TraceLog) -> Iterator[TracedEvent]:
    assembler = Assembler()
    for record in log.poll():
        event = assembler.add(record)
        if event is not None:
            yield event
    yield from assembler.unfinished()


def _show_one(options: argparse.Namespace, screen: Screen, events: Iterable[TracedEvent]) -> None:
    found = {event.id: event for event in events if event.id.startswith(options.id)}
    event = found.get(options.id) or (next(iter(found.values())) if len(found) == 1 else None)
    if event is not None:
        screen.document(event) if options.json else show_event(screen, event)
    elif found:
        ids = ", ".join([*found][:5]) + (", …" if len(found) > 5 else "")
        raise CommandError(f"{options.id} is the beginning of {ids}; write more of it")
    else:
        raise CommandError(
            f"there is no event {options.id} in the log; `hookline trace` lists the newest by id"
        )


def _show_statistics(
    options: argparse.Namespace, screen: Screen, events: Iterable[TracedEvent]
) -> None:
    rows = latencies(events, hook=options.hook)
    if options.json:
        screen.document({"hooks": rows})
    elif rows:
        show_latencies(screen, rows)
    else:
        _tell_nothing(options, screen, "no hook run")


def _write_page(options: argparse.Namespace, screen: Screen, events: Iterable[TracedEvent]) -> None:
    from urllib.parse import quote

    from hookline.files import write_atomically
    from hookline.trace.html import page

    shown, total = _newest(events, options.limit or _ON_A_PAGE)
    write_atomically(options.html, page(shown, total=total), mode=0o600)
    where = os.path.abspath(options.html)
    if options.json:
        screen.document({"file": where, "events": len(shown), "total": total})
        return
    left_out = f" of {total}; --limit {total} takes all" if total > len(shown) else ""
    screen.line(f"wrote {count(len(shown), 'event')}{left_out}")
    screen.line("open ", (f"file://{quote(where)}", "name"))


def _show_recent(
    options: argparse.Namespace,
    screen: Screen,
    log: TraceLog,
    wanted: Filter,
    events: Iterable[TracedEvent],
) -> None:
    limit = options.limit or _SHOWN
    matching = filter(wanted.accepts, events)
    if options.slow is None:
        shown, total = _newest(matching, limit)
    else:
        shown, total = _slowest(matching, limit)
    if options.json:
        screen.document(_document(options, log, shown, total))
    elif shown:
        show_events(screen, shown)
        screen.line()
        _conclude(screen, shown, total, slow=options.slow is not None)
        _tell_if_off(options, screen)
    else:
        _tell_nothing(options, screen, "no event")


def _newest(events: Iterable[TracedEvent], limit: int) -> tuple[list[TracedEvent], int]:
    kept: deque[TracedEvent] = deque(maxlen=limit)
    total = 0
    for event in events:
        kept.append(event)
        total += 1
    return sorted(kept, key=lambda event: event.time), total


def _slowest(events: Iterable[TracedEvent], limit: int) -> tuple[list[TracedEvent], int]:
    found = sorted(events, key=slowest, reverse=True)
    return found[:limit], len(found)


def _document(
    options: argparse.Namespace, log: TraceLog, shown: list[TracedEvent], total: int
) -> dict[str, Any]:
    skipped = log.skipped
    return {
        "file": log.path,
        "tracing": _is_on(options),
        "events": shown,
        "total": total,
        "skipped": {"foreign": skipped.foreign, "torn": skipped.torn},
    }


def _conclude(screen: Screen, shown: list[TracedEvent], total: int, *, slow: bool) -> None:
    which = "slowest" if slow else "newest"
    of = f"the {len(shown)} {which} of {total} events"
    what = of if len(shown) < total else count(total, "event")
    session = only_session(shown)
    where = f", session {session}" if session else ""
    screen.line((f"{what}{where}", "faint"))
    screen.line((f"`hookline trace {shown[-1].id}` shows the last in full", "faint"))


def _tell_nothing(options: argparse.Namespace, screen: Screen, what: str) -> None:
    asked = ("event", "hook", "session", "failures", "since", "slow", "cwd")
    if any(getattr(options, name) for name in asked):
        screen.line(f"{what} matches; `hookline trace` shows the newest of all")
    elif _is_on(options):
        screen.line(f"{what} was recorded yet; tracing is on, so the next one will be")
    else:
        screen.line(f"{what} was recorded, as tracing is off")
        _tell_how(screen)


def _tell_if_off(options: argparse.Namespace, screen: Screen) -> None:
    if options.log is None and not options.json and not _is_on(options):
        screen.warning("tracing is off, so nothing new is recorded; HOOKLINE_TRACE=1 turns it on")


def _tell_how(screen: Screen) -> None:
    from hookline.cli.paths import shown
    from hookline.places import user_config_dir

    screen.line("to record what hooks do, set HOOKLINE_TRACE=1 where the agent starts, as in")
    screen.line('HOOKLINE_TRACE=1 hookline fire BeforeAgent --input \'{"prompt": "hi"}\'', indent=2)
    directory = user_config_dir()
    if directory is not None:
        settings = (shown(os.path.join(directory, "settings.json")), "name")
        screen.line('or, to keep it on, write {"hookline": {"trace": true}} into ', settings)


def _is_on(options: argparse.Namespace) -> bool:
    from hookline.config import Config

    settings = Config.load(options.cwd, settings_files=options.settings).get_settings()
    return is_trace_wanted(default=settings.trace)
