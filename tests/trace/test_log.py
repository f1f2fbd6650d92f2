"""The log's files as one stream, whatever happens to them while they are read."""

import json
import os
from pathlib import Path

import pytest

from hookline.errors import HooklineError
from hookline.trace.log import Skipped, TraceLog, read_record, read_tail
from hookline.trace.records import JsonLinesSink
from tests.trace.logs import DAY, warned, written


def line(message: str) -> bytes:
    return json.dumps(warned("10:00:00", message)[0]).encode() + b"\n"


def messages(log: TraceLog) -> list[str]:
    return [record.message for record in log.poll()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "trace.jsonl"


def test_rotated_files_are_read_too_the_oldest_first(path: Path) -> None:
    sink = JsonLinesSink(path, max_bytes=150)
    for number in range(12):
        sink(warned("10:00:00", str(number))[0])
    log = TraceLog(path)
    read = messages(log)
    log.close()
    assert len(list(path.parent.glob("trace.jsonl*"))) == 4
    assert read == [str(number) for number in range(12 - len(read), 12)]
    assert len(read) >= 4


def test_a_log_that_is_not_there_has_no_records_until_it_is(path: Path) -> None:
    log = TraceLog(path)
    assert messages(log) == []
    written(path, warned("10:00:00", "new"))
    assert messages(log) == ["new"]
    log.close()


def test_a_half_written_line_is_read_once_it_is_whole(path: Path) -> None:
    whole = line("slow")
    path.write_bytes(line("a") + whole[:20])
    log = TraceLog(path)
    assert messages(log) == ["a"]
    with path.open("ab") as file:
        file.write(whole[20:])
    assert messages(log) == ["slow"]
    with path.open("ab") as file:
        file.write(whole[:30])
    assert messages(log) == []
    log.close()
    assert (log.skipped.torn, str(log.skipped)) == (1, "left out a line that was only half written")


@pytest.mark.parametrize(
    "foreign",
    [
        b"hello\n",
        b"[1, 2]\n",
        b'{"kind": "hook"}\n',
        b'{"kind": 5, "time": "2026-03-01T10:00:00Z"}\n',
        b'{"kind": "hook", "time": "yesterday"}\n',
        b'{"kind": "hook", "time": "2026-03-01T10:00:00Z", "duration_ms": "long"}\n',
        b'{"kind": "hook", "time": "2026-03-01T10:00:00Z", "duration_ms": 1e308}\n',
        b'{"kind": "hook", "time": "0001-01-01T00:00:00Z"}\n',
        b"\x00\x00\x00\xff\xfe\n",
        b"[" * 100_000 + b"\n",
    ],
    ids=lambda text: repr(text[:40]),
)
def test_foreign_lines_are_left_out_and_counted(path: Path, foreign: bytes) -> None:
    path.write_bytes(line("a") + foreign + b"\n" + line("b"))
    log = TraceLog(path)
    assert messages(log) == ["a", "b"]
    log.close()
    assert str(log.skipped) == "left out 1 line that is no record of hookline's"


def test_a_record_behind_a_torn_one_is_not_lost_with_it(path: Path) -> None:
    path.write_bytes(line("a") + line("torn")[:40])
    JsonLinesSink(path)(warned("10:00:00", 'says {"kind":"x"}')[0])
    log = TraceLog(path)
    assert messages(log) == ["a", 'says {"kind":"x"}']
    log.close()
    assert log.skipped.foreign == 1


def test_text_that_is_no_unicode_is_read_all_the_same(path: Path) -> None:
    JsonLinesSink(path)({"kind": "warning", "time": f"{DAY}T10:00:00.000Z", "message": "a\ud800b"})
    log = TraceLog(path)
    assert messages(log) == ["a\ud800b"]
    log.close()


def test_a_log_that_was_cut_short_is_read_from_its_new_start(path: Path) -> None:
    path.write_bytes(line("one") + line("two"))
    log = TraceLog(path)
    messages(log)
    path.write_bytes(line("3"))
    assert messages(log) == ["3"]
    log.close()
    assert str(log.skipped) == "the log was cut short while it was read"


def test_nothing_is_missed_nor_read_twice_while_the_log_rotates(path: Path) -> None:
    sink, log = JsonLinesSink(path, max_bytes=300), TraceLog(path)
    read: list[str] = []
    for number in range(40):
        sink(warned("10:00:00", str(number))[0])
        if number % 5 == 0:
            read += messages(log)
    read += messages(log)
    log.close()
    assert read == [str(number) for number in range(40)]


def test_what_is_written_between_the_last_read_and_a_rotation_is_not_missed(path: Path) -> None:
    path.write_bytes(line("a"))
    log = TraceLog(path)
    assert messages(log) == ["a"]
    with path.open("ab") as file:
        file.write(line("b"))
        file.flush()
        polled = log.poll()
        assert next(polled).message == "b"
        # The end of the file was read, and the log has not yet looked for a newer one.
        file.write(line("c"))
    path.rename(path.with_name("trace.jsonl.1"))
    path.write_bytes(line("d"))
    assert [record.message for record in polled] == ["c", "d"]
    assert messages(log) == []
    log.close()


def test_a_log_that_was_deleted_goes_on_with_the_next_one(path: Path) -> None:
    path.write_bytes(line("old"))
    log = TraceLog(path)
    assert messages(log) == ["old"]
    path.unlink()
    assert messages(log) == []
    path.write_bytes(line("new"))
    assert messages(log) == ["new"]
    log.close()


def test_what_is_no_file_is_refused_and_never_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(HooklineError, match="not a regular file"):
        list(TraceLog(path).poll())


def test_the_tail_has_the_newest_records_first_and_none_in_part(path: Path) -> None:
    written(path.with_name("trace.jsonl.1"), *(warned("10:00:00", f"old {n}") for n in range(9)))
    written(path, *(warned("10:00:00", str(n)) for n in range(9)))
    size = path.stat().st_size // 9
    assert [r.message for r in read_tail(path, max_bytes=size * 2 + 10)] == ["8", "7"]
    assert len(read_tail(path, max_bytes=10**6)) == 18
    assert read_tail(path.with_name("none"), max_bytes=100) == []


@pytest.mark.parametrize(
    ("time", "duration", "is_record"),
    [
        ("1970-01-01T00:00:00Z", 0, True),
        ("1969-12-31T23:59:59Z", 0, False),
        ("9998-12-31T23:59:59Z", 0, True),
        ("9999-01-01T00:00:00Z", 0, False),
        ("2026-03-01T10:00:00", 0, False),
        ("2026-03-01T10:00:00Z", 1e10, True),
        ("2026-03-01T10:00:00Z", 1.1e10, False),
        ("2026-03-01T10:00:00Z", -1, False),
    ],
)
def test_times_of_a_record_stay_within_the_calendar(
    time: str, duration: float, is_record: bool
) -> None:
    text = json.dumps({"kind": "hook", "time": time, "duration_ms": duration})
    assert (read_record(text.encode()) is not None) is is_record


def test_an_end_that_does_not_say_how_many_hooks_ran_had_none() -> None:
    record = read_record(b'{"kind": "batch", "time": "2026-03-01T10:00:00Z"}')
    assert record is not None
    assert (record.hook_count, record.sequential, record.started) == (0, False, False)


def test_a_file_under_two_names_is_read_once(path: Path) -> None:
    path.write_bytes(line("a"))
    os.link(path, f"{path}.1")
    log = TraceLog(path)
    assert messages(log) == ["a"]
    log.close()


def test_the_time_of_the_newest_record_is_known(path: Path) -> None:
    log = TraceLog(path)
    assert log.newest == ""
    written(path, warned("10:00:00", "a"), warned("10:00:01", "b"))
    messages(log)
    log.close()
    assert log.newest.startswith(f"{DAY}T10:00:01")


def test_the_tail_goes_on_in_the_file_before_while_there_is_room(path: Path) -> None:
    older, newer = line("a") + line("b"), line("c") + line("d")
    Path(f"{path}.1").write_bytes(older)
    path.write_bytes(newer)
    size = len(line("a"))

    def tail(max_bytes: int) -> list[str]:
        return [record.message for record in read_tail(path, max_bytes=max_bytes)]

    assert tail(4 * size) == ["d", "c", "b", "a"]
    # A line that begins before the tail is not whole, and no byte is left for the older file.
    assert tail(4 * size - 1) == ["d", "c", "b"]
    assert tail(2 * size) == ["d", "c"]
    assert tail(2 * size - 1) == ["d"]
    assert tail(0) == []


def test_what_was_skipped_is_said_in_one_line() -> None:
    assert str(Skipped()) == ""
    assert str(Skipped(foreign=2, torn=3, truncated=1)) == (
        "left out 2 lines that are no record of hookline's; "
        "left out a line that was only half written; the log was cut short while it was read"
    )


def test_blank_lines_are_no_foreign_ones(path: Path) -> None:
    path.write_bytes(b"\n  \n" + line("a") + b"\n ")
    log = TraceLog(path)
    assert messages(log) == ["a"]
    log.close()
    assert str(log.skipped) == ""
