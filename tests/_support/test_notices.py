"""Warnings reach Python's logging, unless a command hears them itself."""

import logging
import subprocess
import sys

import pytest

from hookline._support.escapes import one_line
from hookline._support.notices import Notice, describe_traceback, heard_warnings, warn


def test_a_warning_is_logged_with_the_error_it_comes_from(caplog: pytest.LogCaptureFixture) -> None:
    cause = OSError("disk full")
    warn("the trace stops at 100%", error=cause)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("hookline", "WARNING")
    assert record.getMessage() == "the trace stops at 100%"
    assert record.exc_info is not None
    assert record.exc_info[1] is cause


def test_whoever_listens_hears_the_warnings_instead(caplog: pytest.LogCaptureFixture) -> None:
    with heard_warnings() as outer:
        warn("first")
        with heard_warnings() as inner:
            warn("second", error=OSError("disk full"))
        warn("third")
    assert (outer, inner) == (["first", "third"], ["second: disk full"])
    assert caplog.records == []
    warn("fourth")
    assert caplog.messages == ["fourth"]


def test_a_notice_is_heard_as_what_it_is_and_logged_as_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    notice = Notice("BeforeTool failed", "event-failed")
    with heard_warnings() as heard:
        warn(notice)
    assert heard == ["BeforeTool failed"]
    assert isinstance(heard[0], Notice)
    assert heard[0].kind == "event-failed"
    assert type(str(notice)) is str
    warn(notice)
    assert caplog.messages == ["BeforeTool failed"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain, é, 日本", "plain, é, 日本"),
        ("two\nlines\r", r"two\nlines\r"),
        ("\x1b[2Jx\x00", r"\x1b[2Jx\x00"),
        ("\u2028\u202e", r"\u2028\u202e"),
        ("👩\u200d🚀\n", "👩\u200d🚀\\n"),
        ("", ""),
    ],
)
def test_what_ends_a_line_or_steers_a_terminal_is_written_out(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_traceback_has_a_line_for_each_place_and_one_for_the_message() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        first, place, code, *rest = describe_traceback(error).splitlines()
    assert first == "Traceback (most recent call last):"
    assert place.startswith(f'  File "{__file__}", line ')
    assert code.strip() == 'raise ValueError("two\\nlines")'
    assert rest[-1] == r"ValueError: two\nlines"


def test_a_message_of_an_error_cannot_forge_a_line_of_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warn("one\ntwo", error=OSError("three\nWARNING forged"))
    assert caplog.messages == [r"one\ntwo"]
    assert caplog.text.splitlines()[-1] == r"OSError: three\nWARNING forged"
    caplog.clear()
    warn("one\ntwo")
    assert caplog.messages == [r"one\ntwo"]


def test_a_program_without_logging_reads_warnings_on_stderr_and_loads_nothing() -> None:
    code = """
import sys
from hookline._support.notices import heard_warnings, warn
with heard_warnings():
    warn("heard")
before = set(sys.modules)
warn("one\\ntwo")
warn("cannot write", error=OSError("disk full"))
print(set(sys.modules) - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
    assert done.stderr == "one\\ntwo\ncannot write: OSError: disk full\n"


def test_a_log_that_cannot_be_written_raises_nothing() -> None:
    class Broken(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> None:
            raise OSError("no descriptor left")

    logger, broken = logging.getLogger("hookline"), Broken()
    logger.addHandler(broken)
    try:
        warn("a hook failed")
        warn("a hook failed", error=OSError("disk full"))
    finally:
        logger.removeHandler(broken)
