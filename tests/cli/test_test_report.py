"""What ``hookline test`` shows of tests that have ended, and the sum of them."""

import io
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hookline._support.notices import Notice
from hookline._support.problem import Problem
from hookline.cli.screen import Screen
from hookline.cli.test.report import make_document, show_outcome, show_sum
from hookline.hooktests.cases import HookTestFile, Outcome
from hookline.hooktests.comparison import Failure
from tests.cli.test_screen import Terminal
from tests.hooktests.test_junit import case_of

DIFFERENT = Failure(at="reason", expected="x", actual="y")
PASSED = Outcome(test=case_of("good"), status="passed", duration=1.0)
FAILED = Outcome(test=case_of("bad"), status="failed", failures=(DIFFERENT,), duration=2.0)
SKIPPED = Outcome(test=case_of("later", skip="no git"), status="skipped", duration=3.0)
BAD = Problem(kind="bad-test", message="is none", file="a", line=1, column=2)


def of_file(outcome: Outcome, file: str) -> Outcome:
    test = msgspec.structs.replace(outcome.test, file=file)
    return msgspec.structs.replace(outcome, test=test)


def shown(show: Callable[..., None], *given: Any, **options: Any) -> list[str]:
    out = io.StringIO()
    show(Screen(out, None), *given, **options)
    return out.getvalue().splitlines()


def test_each_file_is_named_once_above_its_tests() -> None:
    outcomes = [PASSED, SKIPPED, of_file(PASSED, "b"), of_file(SKIPPED, "b")]
    lines = [shown(show_outcome, each, outcomes[:n]) for n, each in enumerate(outcomes)]
    good, later = "  pass     1 ms  good", "  skip           later  (no git)"
    assert lines == [["a.hooktest.json", good], [later], ["b", good], [later]]


def test_the_signs_of_a_difference_are_explained_in_the_first_test_that_has_one() -> None:
    message = Outcome(test=case_of("no"), status="failed", failures=(Failure(message="no"),))
    heads = [
        shown(show_outcome, FAILED, before)[-3] for before in ([], [PASSED, message], [FAILED])
    ]
    assert heads == [f"      reason{signs}" for signs in ("  (- expected, + found)",) * 2 + ("",)]


def test_a_long_difference_is_cut_and_stands_further_in() -> None:
    long = Failure(at="reason", expected="\n".join(map(str, range(50))), actual="y")
    *_, last, more = shown(
        show_outcome, Outcome(test=case_of("t"), status="failed", failures=(long,)), []
    )
    assert (last, more) == ("        - 39", "        11 more lines; --json has them all")


@pytest.mark.parametrize(
    ("outcomes", "problems", "left", "told"),
    [
        ([PASSED], 0, 0, "1 test in 1 ms: 1 passed"),
        ([PASSED, FAILED, SKIPPED], 0, 0, "3 tests in 6 ms: 1 passed, 1 failed, 1 skipped"),
        ([PASSED], 1, 2, "1 test in 1 ms: 1 passed, 1 test could not be read, 2 not run"),
        ([FAILED], 2, 0, "1 test in 2 ms: 1 failed, 2 tests could not be read"),
    ],
)
def test_the_sum_has_what_there_was(
    outcomes: list[Outcome], problems: int, left: int, told: str
) -> None:
    files = [HookTestFile("a", (), (BAD,) * problems), HookTestFile("b")]
    assert shown(show_sum, files, outcomes, left=left) == ["", told]


def test_what_to_do_about_hooks_that_nobody_trusts_is_told_once() -> None:
    held_back = msgspec.structs.replace(FAILED, untrusted=True)
    _, _, advice = shown(show_sum, [], [PASSED, held_back, held_back], left=0)
    assert advice == "review the project's hooks with `hookline trust`, or pass --trust"


def test_what_counts_has_a_colour_and_what_stands_between_has_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Terminal()
    show_sum(Screen(out, None), [HookTestFile("a", (), (BAD,))], [PASSED], left=1)
    green, red, yellow, end = "\x1b[32m", "\x1b[1;31m", "\x1b[33m", "\x1b[0m"
    parts = f"{green}1 passed{end}, {red}1 test could not be read{end}, {yellow}1 not run{end}"
    assert out.getvalue() == f"\n1 test in 1 ms: {parts}\n"


def test_only_the_document_of_a_failed_test_has_what_was_fired() -> None:
    fired: dict[str, Any] = {"results": []}
    told = (Notice("look", kind="told"), "there")
    failed = msgspec.structs.replace(FAILED, warnings=told, document=fired, duration=2.00049)
    passed = msgspec.structs.replace(PASSED, warnings=told, document=fired)
    document = make_document([HookTestFile("a", (), (BAD,))], [passed, failed, SKIPPED], [BAD])
    common = {"file": "a.hooktest.json", "line": 3, "event": "BeforeAgent"}
    assert document["tests"] == [
        {**common, "name": "good", "status": "passed", "duration_ms": 1.0},
        {
            **common,
            "name": "bad",
            "status": "failed",
            "duration_ms": 2.0,
            "failures": (DIFFERENT,),
            "warnings": ["look", "there"],
            "fired": fired,
        },
        {**common, "name": "later", "status": "skipped", "duration_ms": 3.0, "skip": "no git"},
    ]
    assert document["errors"] == document["problems"] == [{"place": "a:1:2", "message": "is none"}]
    counts = {"tests": 3, "passed": 1, "failed": 1, "skipped": 1, "errors": 1, "duration_ms": 6.0}
    assert document["summary"] == counts
