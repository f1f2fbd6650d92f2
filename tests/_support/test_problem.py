"""Something wrong in settings: facts to go by, and one sentence for people."""

import pytest

from hookline._support.problem import Problem


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (Problem(kind="x", message="is wrong"), "is wrong"),
        (Problem(kind="x", message="is wrong", file="s.json"), "s.json: is wrong"),
        (
            Problem(
                kind="x",
                message="is wrong",
                file="s.json",
                line=3,
                column=1,
                consequence="it was skipped",
                remedy="correct it",
            ),
            "s.json:3:1: is wrong; it was skipped; correct it",
        ),
        (
            Problem(kind="x", message="is wrong", file="Config(hooks=…)", remedy="correct it"),
            "Config(hooks=…): is wrong; correct it",
        ),
    ],
)
def test_a_problem_is_told_with_its_place_what_was_done_and_what_to_do(
    problem: Problem, told: str
) -> None:
    assert str(problem) == told


@pytest.mark.parametrize(
    ("kind", "broken", "skipped"),
    [
        ("unreadable", True, False),
        ("not-json", True, False),
        ("too-large", True, False),
        ("too-deep", True, False),
        ("not-an-object", True, False),
        ("skipped", False, True),
        ("unknown-event", False, True),
        ("bad-field", False, False),
        ("untrusted", False, False),
    ],
)
def test_its_kind_says_whether_hooks_may_be_missing(kind: str, broken: bool, skipped: bool) -> None:
    problem = Problem(kind=kind, message="")
    assert (problem.broken, problem.skipped) == (broken, skipped)
