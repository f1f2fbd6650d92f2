"""Failures in words: a line each where that is enough, and a diff where it is not."""

from typing import Any

import pytest
from msgspec import UNSET

from hookline.hooktests.cases import Failure
from hookline.hooktests.wording import failure_lines, told


@pytest.mark.parametrize(
    ("expected", "actual", "lines"),
    [
        ("deny", "allow", ["- deny", "+ allow"]),
        ({"contains": "key"}, "no", ['- contains "key"', "+ no"]),
        (None, "x", ["- (nothing)", "+ x"]),
        (2, UNSET, ["- 2", "+ (nothing)"]),
        ("a\nb\nc", "a\nx\nc", ["  a", "- b", "+ x", "  c"]),
        (
            {"equals": {"a": 1, "b": 2}},
            {"a": 1, "b": 3},
            ["  {", '    "a": 1,', '-   "b": 2', '+   "b": 3', "  }"],
        ),
        ([1], [1, 2], ["  [", "-   1", "+   1,", "+   2", "  ]"]),
    ],
)
def test_expected_and_found_stand_below_each_other(
    expected: Any, actual: Any, lines: list[str]
) -> None:
    failure = Failure(at="it", expected=expected, actual=actual)
    assert [f"{mark} {line}" for mark, line in failure_lines(failure)] == lines


def test_a_failure_is_told_in_one_line() -> None:
    assert told(Failure(at="it", expected="a\nb", actual=UNSET)) == (
        "it: expected a …, found (nothing)"
    )
    assert told(Failure(message="no hook ran")) == "no hook ran"
    assert list(failure_lines(Failure(message="no hook ran"))) == []
