"""What ``hookline trace`` shows in so many columns: which cells are cut, and which are left out."""

import io
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from hookline.cli.screen import Screen
from hookline.cli.trace.screen import show_event, show_events, show_latencies, show_row
from hookline.trace.events import TracedEvent
from hookline.trace.queries import latencies
from tests.cli.test_screen import Terminal
from tests.trace.logs import Json, fired, ran, session, warned
from tests.trace.test_events import assembled

CLEARED = {"hookSpecificOutput": {"clearContext": True}}
LONG = fired(
    "longid-0001",
    "15:00:01",
    "BeforeToolSelection",
    ran("first-of-the-many-hooks-here.py", 61_000.4),
    ran("second"),
    target="mcp__github__create_pull_request",
    session="session-0001",
)
CLEAR = fired(
    "clear2",
    "15:00:09",
    "AfterAgent",
    ran("forgetful", 3.0, output=CLEARED),
    output=CLEARED,
    session="session-0002",
)
WIDE = """\
id        time      session   event                target               decision               took  hooks
block2    14:03:08  s-1       BeforeTool           write_file           blocked             12.4 ms  secret-scan +1
longid-…  14:58:59  session-  BeforeToolSelection  mcp__github__creat…  allowed          61000.4 ms  first-of-the-ma… +1
clear2    15:00:08  session-  AfterAgent                                history cleared      3.0 ms  forgetful
"""  # noqa: E501  as it is printed
MIDDLE = """\
id        time      event         target    decision             took  hooks
block2    14:03:08  BeforeTool    write_f…  blocked           12.4 ms  secret-s…
longid-…  14:58:59  BeforeToolS…  mcp__gi…  allowed        61000.4 ms  first-of…
clear2    15:00:08  AfterAgent              history clea…      3.0 ms  forgetful
"""
SMALL = """\
id        event            decision
    target, hooks
block2    BeforeTool       blocked
    write_file  secret-scan +1
longid-…  BeforeToolSele…  allowed
    mcp__github__crea…  first-of-the… +1
clear2    AfterAgent       history clea…
    forgetful
"""
KILLED = """\
BeforeTool  w
  decision  allowed
  time      2026-03-01 10:00:04.997+00:00
  took      3.0 ms, 3 hooks one after the other
  session   s-1
  id        three2
  folder    /home/ada/project
  warning   whole event

killed  project, 1.0 ms, SIGKILL  failed: SIGKILL
  defined in a.json:3
  error   was killed
  stderr
    oh
    no

later  project, async  started

wary  project, 2.0 ms, exit 0  ok
  warning look out

input
"""
PART = """\
BeforeAgent
  decision  allowed
  time      2026-03-01 09:59:59.995+00:00
  took      5.0 ms, one hook
  session   –
  id        part22
  note      the log has only a part of this event

h  project, 5.0 ms, exit 0  ok

input
"""
WARNING = """\
warning
  decision  warning: look
  time      2026-03-01 10:00:00.000+00:00
  session   –
  id        warn22
"""


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def events() -> list[TracedEvent]:
    return assembled(session()[2], LONG, CLEAR)


def shown(show: Callable[..., object], *given: Any, width: int | None = None) -> str:
    out = io.StringIO()
    screen = Screen(out, None)
    screen.width = width
    show(screen, *given)
    return out.getvalue()


def find_widths(show: Callable[..., object], given: object, *titles: str) -> dict[str, int]:
    """The number of columns from which on the table has a title beside the others."""
    heads = {n: shown(show, given, width=n).split("\n")[0].split() for n in range(28, 130)}
    return {title: min(n for n in heads if title in heads[n]) for title in titles}


@pytest.mark.parametrize(("width", "table"), [(120, WIDE), (80, MIDDLE), (40, SMALL)])
def test_a_table_is_cut_to_the_terminal(events: list[TracedEvent], width: int, table: str) -> None:
    assert shown(show_events, events, width=width) == table


def test_a_cell_is_left_out_only_where_the_others_leave_no_room(events: list[TracedEvent]) -> None:
    titles = find_widths(show_events, events, "session", "took", "time", "target", "hooks")
    assert titles == {"session": 90, "took": 80, "time": 68, "target": 58, "hooks": 58}


def test_times_are_left_out_only_where_the_names_leave_no_room(events: list[TracedEvent]) -> None:
    rows = latencies(events)
    titles = find_widths(show_latencies, rows, "p99", "p50", "hook")
    assert titles == {"p99": 83, "p50": 71, "hook": 59}
    line = "   1  61000.0 ms       0        0  first-of-the-many-hooks…"
    assert shown(show_latencies, rows, width=59).split("\n")[1] == line
    assert len(line) == 59


def test_how_many_hooks_are_beside_is_left_out_for_the_name(events: list[TracedEvent]) -> None:
    def hooks(width: int) -> list[str]:
        return shown(show_events, events[:1], width=width).split("\n")[3].split()

    cut = [["write_file", "secret-sc…"], ["write_file", "secret-…", "+1"]]
    assert [hooks(width) for width in (26, 27)] == cut


def test_days_are_named_where_there_is_more_than_one(events: list[TracedEvent]) -> None:
    (later,) = assembled([{**record, "time": "2026-03-02T01:00:00.000Z"} for record in CLEAR])
    times = [line[13:27] for line in shown(show_events, [*events, later]).split("\n")]
    assert times == [
        *("time          ", "03-01 14:03:08", "03-01 14:58:59", "03-01 15:00:08"),
        *("03-02 00:59:59", ""),
    ]


def test_a_row_that_comes_alone_is_below_its_day_unless_that_stands_there(
    events: list[TracedEvent],
) -> None:
    day = date(2026, 3, 1)
    _, first, *_ = WIDE.split("\n")
    assert shown(show_row, events[0], None, width=120) == f"Sunday 01 March 2026\n{first}\n"
    assert shown(show_row, events[0], day, width=120) == f"{first}\n"
    assert show_row(Screen(io.StringIO(), None), events[0], None) == day
    narrow = "\n".join(shown(show_row, event, day, width=80).rstrip() for event in events)
    assert narrow == MIDDLE.partition("\n")[2].rstrip()


def test_of_an_event_is_told_how_each_hook_ended() -> None:
    facts: Json = {"exit_code": None, "signal": "SIGKILL", "failed": "signal"}
    hooks = (
        ran("killed", 1.0, error="was killed", stderr="oh\nno\n", **facts),
        ran("later", 0.0, started=True, exit_code=None),
        ran("wary", 2.0, stdout=" \n"),
    )
    three = fired("three2", "10:00:05", "BeforeTool", *hooks, sequential=True, target="w")
    about: Json = {"id": "three2", "event": "BeforeTool"}
    warnings = [
        *warned("10:00:05", "look out", hook="wary", **about),
        *warned("10:00:05", "whole event", **about),
    ]
    (event,) = assembled(warnings, three)
    assert shown(show_event, event, {("project", "killed"): "a.json:3"}).startswith(KILLED)


def test_what_is_not_known_of_an_event_is_not_told() -> None:
    part = fired("part22", "10:00:00", "BeforeAgent", ran("h"), session="", cwd=7)[:-1]  # type: ignore[arg-type]
    assert shown(show_event, assembled(part)[0], {}).startswith(PART)
    (warning,) = assembled(warned("10:00:00", "look", id="warn22"))
    assert shown(show_event, warning, {}) == WARNING


def replaced(before: str, after: str) -> TracedEvent:
    """An event whose hook puts another result in place of a tool's."""
    output = {"hookSpecificOutput": {"updatedToolOutput": after}}
    response: Json = {"tool_name": "t", "tool_response": {"llmContent": before}}
    (event,) = assembled(
        fired("change", "10:00:00", "AfterTool", ran("h", output=output), output=output, **response)
    )
    return event


def lines(start: str, number: int) -> str:
    return "\n".join(f"{start}{place}" for place in range(number))


@pytest.mark.parametrize(
    ("before", "after", "last"),
    [
        (100, 99, (200, "  +b98")),
        (100, 100, (201, "  1 more line; --json has all of it")),
        (2000, 1, (201, "  1802 more lines; --json has all of it")),
        (2001, 1, (1, "  2001 lines before, 1 line after: too long to compare here")),
    ],
)
def test_of_a_long_change_a_part_is_shown(before: int, after: int, last: tuple[int, str]) -> None:
    text = shown(show_event, replaced(lines("a", before), lines("b", after)), {})
    change = text.partition("before and after\n")[2].partition("\ninput\n")[0].rstrip().split("\n")
    assert (len(change), change[-1]) == last


def test_what_went_and_what_came_have_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    show_event(Screen(out, None), replaced("a\nb", "a\nc"), {})
    change = out.getvalue().partition("before and after")[2].split("\n")[1:5]
    faint, red, green = "\x1b[2m", "\x1b[1;31m", "\x1b[32m"
    assert change == [
        f"  {faint}@@ -1,2 +1,2 @@\x1b[0m",
        "   a",
        f"  {red}-b\x1b[0m",
        f"  {green}+c\x1b[0m",
    ]
