"""Why a test failed, in lines that a terminal, a log and pytest show."""

from typing import Any

import pytest

from hookline._support.notices import Notice
from hookline.hooktests.cases import Outcome
from hookline.hooktests.comparison import Failure
from hookline.hooktests.explanation import explain_outcome, is_difference
from hookline.wire.events import HookEventName
from hookline.wire.hooks import CommandHook, HookSource
from hookline.wire.results import HookExecutionResult
from tests.hooktests.test_junit import case_of


def explain(
    *failures: Failure, results: tuple[HookExecutionResult, ...] = (), **fields: Any
) -> list[str]:
    """The lines for a test with these failures, hooks and warnings; quoted ones have a mark."""
    warnings = fields.pop("warnings", ())
    outcome = Outcome(
        test=case_of("t"),
        status="failed" if failures else "passed",
        failures=failures,
        warnings=warnings,
        results=results,
    )
    explained = explain_outcome(outcome, say_time=lambda ms: f"{ms:g} ms", **fields)
    return [f"> {line.text}" if line.is_quoted else line.text for line in explained]


def result(**fields: Any) -> HookExecutionResult:
    hook = CommandHook(command="h", name="h", source=HookSource.USER)
    event = HookEventName.BEFORE_TOOL
    return HookExecutionResult(hook=hook, event_name=event, success=True, duration=2, **fields)


FAILED = Failure(message="no")


def test_the_signs_of_a_difference_are_explained_once() -> None:
    first = Failure(at="decision", expected="deny", actual="allow")
    second = Failure(at="reason", expected="x", actual="y")
    signs = "  (- expected, + found)"
    assert explain(first, second) == [
        *(f"decision{signs}", "> - deny", "> + allow"),
        *("reason", "> - x", "> + y"),
    ]
    assert explain(first, is_explained=True)[0] == "decision"


def test_a_message_is_shown_with_its_place_if_it_has_one() -> None:
    bad = Failure(at="reason", expected={"contain": "x"}, actual="x", message="is not a test")
    assert explain(bad)[0] == "reason: is not a test"
    assert explain(FAILED, bad)[:2] == ["no", "reason: is not a test"]
    assert [is_difference(each) for each in (FAILED, bad, Failure(at="a"), Failure())] == [
        *(False, False, True, False)
    ]


@pytest.mark.parametrize(
    ("number", "last"),
    [(39, "> + found"), (40, "> 1 more line; see the log"), (41, "> 2 more lines; see the log")],
)
def test_a_long_difference_is_cut_only_if_it_can_be_read_elsewhere(number: int, last: str) -> None:
    wanted = "\n".join(str(line) for line in range(number))
    failure = Failure(at="reason", expected=wanted, actual="found")
    shown = explain(failure, elsewhere="see the log")
    assert (len(shown), shown[-1]) == (1 + 40 + (number >= 40), last)
    assert explain(failure)[-1] == "> + found"


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"exit_code": 0}, "h: exit 0, 2 ms, printed nothing"),
        ({"exit_code": 2, "stderr": "no\n", "stdout": "x"}, "h: exit 2, 2 ms, stderr: no"),
        ({"exit_code": 1, "stderr": " ", "stdout": "x"}, "h: exit 1, 2 ms, stdout: x"),
        ({"signal": "SIGKILL", "failed": "signal"}, "h: SIGKILL, 2 ms, printed nothing"),
        ({"failed": "timeout"}, "h: timeout, 2 ms, printed nothing"),
        ({"exit_code": 0, "stdout": "x" * 400}, f"h: exit 0, 2 ms, stdout: {'x' * 400}"),
        ({"exit_code": 0, "stdout": "x" * 401}, f"h: exit 0, 2 ms, stdout: {'x' * 400}…"),
    ],
)
def test_how_each_hook_ended_and_what_it_printed_is_shown(
    fields: dict[str, Any], shown: str
) -> None:
    assert explain(FAILED, results=(result(**fields),))[1:] == [shown]


def test_warnings_are_shown_but_not_those_that_say_again_what_failed() -> None:
    warnings = ("look", Notice("listen", kind=""), Notice("h failed", kind="hook-failed"))
    assert explain(FAILED, warnings=warnings) == ["no", "warning: look", "warning: listen"]


def test_a_test_that_did_not_fail_is_not_explained() -> None:
    assert explain(results=(result(exit_code=0),), warnings=("look",)) == []
