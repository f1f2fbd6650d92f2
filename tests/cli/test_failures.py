"""What a command that failed says on stderr, and what it exits with."""

import errno
import io
import os
import signal
import sys

import pytest

from hookline._support.problem import Problem
from hookline.cli.failures import (
    FAILED,
    CommandError,
    Interrupted,
    report,
    report_unwritten,
    tell_problems,
    unknown_verb,
)
from hookline.cli.screen import Screen
from tests.cli.test_screen import Failing, Terminal


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (SystemExit(2), 2, ""),
        (SystemExit(), 0, ""),
        (SystemExit("text"), 0, ""),
        (KeyboardInterrupt(), 128 + signal.SIGINT, ""),
        (Interrupted(signal.SIGTERM), 128 + signal.SIGTERM, ""),
        (BrokenPipeError(), FAILED, ""),
        (CommandError("no; do this"), FAILED, "hookline: no; do this\n"),
        (
            FileNotFoundError(errno.ENOENT, "No such file", "/x"),
            FAILED,
            "hookline: /x: No such file\n",
        ),
        (OSError(errno.EMFILE, "Too many"), FAILED, "hookline: cannot go on: Too many\n"),
        (
            OSError("odd"),
            FAILED,
            "hookline: internal error, please report it: OSError: odd\n",
        ),
    ],
    ids=repr,
)
def test_each_kind_of_error_has_its_status_and_sentence(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(error) == status
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(("done", "status"), [(0, 1), (2, 2), (3, 3)])
def test_output_that_is_lost_fails_a_success_and_keeps_a_block(
    done: int, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    full = OSError(errno.ENOSPC, "No space left")
    assert report_unwritten(full, done) == report(full, status_so_far=done) == status
    said = "hookline: standard output cannot be written: No space left\n"
    assert capsys.readouterr().err == said * 2


def test_a_closed_pipe_changes_no_status_and_says_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert [report(BrokenPipeError(), status_so_far=done) for done in (0, 2)] == [0, 2]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("written", ["", "text"])
@pytest.mark.parametrize("done", [None, 0])
def test_nothing_more_is_written_to_a_closed_pipe(
    written: str, done: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        closed.write(written)
        assert report(BrokenPipeError(), status_so_far=done) == (FAILED if done is None else done)
        closed.write("more")


def test_an_error_after_the_command_was_done_is_reported_as_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(CommandError("late"), status_so_far=0) == FAILED
    assert capsys.readouterr().err == "hookline: late\n"


class Unflushed(Failing):
    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left")


def test_output_lost_beside_an_error_is_told_after_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", Unflushed())
    assert report(CommandError("no")) == FAILED
    lost = "hookline: standard output cannot be written: No space left\n"
    assert capsys.readouterr().err == f"hookline: no\n{lost}"
    assert report(OSError(errno.ENOSPC, "No space left")) == FAILED
    assert capsys.readouterr().err == lost


def test_without_standard_output_an_error_is_still_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert report(CommandError("no")) == FAILED
    assert capsys.readouterr().err == "hookline: no\n"
    assert report(BrokenPipeError()) == FAILED
    assert capsys.readouterr().err == ""


def test_on_a_terminal_a_command_to_copy_has_its_own_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report(CommandError("no; try: hookline list"))
    assert capsys.readouterr().err == "hookline: no; try: hookline list\n"
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setenv("COLUMNS", "80")
    report(CommandError("no; try: hookline list"))
    assert terminal.getvalue() == "hookline: no; try:\n  hookline list\n"


def test_an_unknown_verb_names_the_nearest_one() -> None:
    said = [str(unknown_verb(verb, ["list", "fire"])) for verb in ("lst", "xyzzy", "--json")]
    assert "list" in said[0].partition(";")[2]
    assert said[1] == "'xyzzy' is not a verb; `hookline --help` lists the verbs"
    assert said[2] == "options come after the verb: hookline VERB --json"


def test_problems_are_warned_of_but_missing_trust_is_left_to_the_verb() -> None:
    untrusted = Problem(kind="untrusted", file="/x", message="review it")
    broken = Problem(kind="not-json", file="/y", message="is not JSON")
    stderr = io.StringIO()
    screen = Screen(None, stderr)
    assert not tell_problems(screen, [untrusted])
    assert stderr.getvalue() == ""
    assert tell_problems(screen, [untrusted, broken])
    assert stderr.getvalue() == f"warning: {broken}\n"
