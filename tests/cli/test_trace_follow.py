"""``hookline trace --follow``: events as they come, for as long as somebody looks."""

import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from hookline.cli.screen import Screen, width_of
from hookline.cli.trace.screen import show_row
from hookline.trace.events import DECISIONS
from hookline.trace.records import JsonLinesSink, default_trace_file
from hookline.wire import codec
from tests.cli.command import HOOKLINE, hookline
from tests.trace.logs import Json, effects, fired, ran, session, written
from tests.trace.test_events import assembled

NEWEST = """\
Sunday 01 March 2026
after2    14:03:10  s-1       AfterTool            write_file            allowed            210.0 ms  format (exit 3)
agent2    14:03:18  s-2       BeforeAgent                                allowed           1507.0 ms  budget, rules
"""  # noqa: E501  as it is printed


@contextmanager
def following(
    *arguments: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    process = subprocess.Popen(
        [*HOOKLINE, "trace", "--follow", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TZ": "UTC", "HOOKLINE_TRACE": "1"} | environment,
    )
    assert process.stdout is not None
    with process:
        try:
            yield process, process.stdout
        finally:
            process.kill()


def append(*events: list[Json], sink: JsonLinesSink | None = None) -> None:
    sink = sink or JsonLinesSink(default_trace_file())
    for records in events:
        for record in records:
            sink(record)


def test_the_newest_events_come_first_then_each_as_it_is_written() -> None:
    written(default_trace_file(), *session())
    with following("--limit", "2") as (process, out):
        assert "".join(out.readline() for _ in range(3)) == NEWEST
        append(fired("new222", "14:09:00", "BeforeAgent", ran("h")))
        assert out.readline().startswith(
            "new222    14:08:59  s-1       BeforeAgent                                allowed     "
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_as_json_it_is_a_line_for_each_event_that_is_asked_for() -> None:
    with following("--json", "--failures") as (_, out):
        append(*session())
        event = json.loads(out.readline())
        assert (event["id"], event["hooks"][0]["failed"]) == ("after2", "exit")


def test_rotation_neither_loses_nor_repeats_an_event(tmp_path: Path) -> None:
    path = written(tmp_path / "log")
    sink = JsonLinesSink(path, max_bytes=1_500)
    with following("--json", "--log", str(path)) as (_, out):
        for number in range(8):
            append(fired(f"id{number:04}", "14:00:00", "BeforeAgent", ran("h")), sink=sink)
            assert json.loads(out.readline())["id"] == f"id{number:04}"
    assert (tmp_path / "log.1").exists()


def test_it_ends_when_nobody_reads_any_more() -> None:
    written(default_trace_file(), *session())
    with following() as (process, out):
        assert out.readline() == "Sunday 01 March 2026\n"
        out.close()
        assert process.wait(20) == 0


def test_it_says_that_it_would_wait_for_ever() -> None:
    with following(HOOKLINE_TRACE="0") as (process, _):
        assert process.stderr is not None
        said = process.stderr.readline()
        assert said == (
            "warning: nothing was recorded in the last 10 minutes, and tracing is off here; "
            "set HOOKLINE_TRACE=1 where the agent starts\n"
        )
    assert hookline("trace", "--follow", "some-id").status == 1


def test_it_says_nothing_of_the_kind_while_agents_elsewhere_record() -> None:
    now = [{**record, "time": codec.timestamp()} for record in session()[2]]
    written(default_trace_file(), now)
    with following(HOOKLINE_TRACE="0") as (process, out):
        assert [out.readline(), out.readline()][1].startswith("block2")
        append(fired("new222", "14:09:00", "BeforeAgent", ran("h")))
        while not out.readline().startswith("new222"):
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == ""


@pytest.mark.parametrize("columns", [40, 60, 80, 120, None])
def test_rows_that_come_one_by_one_stand_below_each_other(columns: int | None) -> None:
    wide = fired(
        "日本語のとても長いid",
        "15:00:01",
        "BeforeToolSelection",
        ran("とても長いフックの名前.py", 61_000.4),
        target="mcp__github__create_pull_request\n\x1b[2Jx",
        session="日本語セッション識別子",
    )
    bare = fired("", "15:00:02", "BeforeModel")
    out = io.StringIO()
    screen, day = Screen(out, None), None
    screen.width = columns
    for event in assembled(*session(), *effects(), wide, bare):
        day = show_row(screen, event, day)
    _, *lines = out.getvalue().splitlines()
    rows = [line for line in lines if not line.startswith(" ")]
    assert len(rows) == 5 + len(effects()) + 2
    assert columns is None or max(map(width_of, lines)) <= columns
    # A decision begins in the same column of every row.
    words = "|".join(sorted((word[:12] for word in DECISIONS), key=len, reverse=True))
    places = {
        width_of(row[: found.start()])
        for row in rows
        if (found := re.search(rf"(?<=  )({words})", row))
    }
    assert len(places) == 1
    ends = {width_of(row[: found.end()]) for row in rows if (found := re.search(r"\.\d ms", row))}
    assert len(ends) == (1 if columns is None or columns >= 80 else 0)


def test_the_end_of_an_async_hook_comes_as_a_row_of_its_own() -> None:
    written(default_trace_file(), fired("began2", "14:03:09", "AfterTool", ran("lint", 0)))
    ended = [
        {**record, "async": True}
        for record in fired("ended2", "14:03:11", "AfterTool", ran("lint", 2000.0))
    ]
    with following() as (process, out):
        assert [out.readline(), out.readline()][1].startswith("began2")
        append(ended)
        assert out.readline() == (
            "ended2    14:03:09  s-1       AfterTool                                  async       "
            "      2000.0 ms  lint\n"
        )
        process.send_signal(signal.SIGINT)
