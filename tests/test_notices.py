"""Warnings reach Python's logging, unless a command hears them itself."""

import subprocess
import sys

import pytest

from hookline.notices import Notice, heard_warnings, warn


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


def test_logging_is_loaded_by_the_first_warning_only() -> None:
    code = """
import sys
from hookline.notices import heard_warnings, warn
with heard_warnings():
    warn("heard")
print("logging" in sys.modules)
warn("logged")
print("logging" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["False", "True"], "logged\n")
