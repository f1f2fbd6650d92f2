"""Expressions that can take for ever, and those that only look like it."""

import pytest

from hookline.check.matchers import find_exploding_name


@pytest.mark.parametrize(
    "expression",
    [
        *(r"(a+)+$", r"^(\w+_?)*$", r"(\w+\s?)*!x", r"([a-z]+)*_tool", r"(.*)*x", r"((a*)*)*b"),
        *(r"(?P<n>a+)+$", r"(?:a+)+$", r"(x+x+)+y", r"((a+))+$", r"(a+|b)*c", r"(a{2,})+$"),
        *(r"(a|aa)+$", r"^(a|a)*b$", r"^(a|b|ab)*c$"),
    ],
)
def test_a_repetition_that_can_be_read_in_many_ways_is_found(expression: str) -> None:
    name = find_exploding_name(expression, search=True)
    assert name is not None
    assert len(name) > 40


@pytest.mark.parametrize(
    "expression",
    [
        *(r"write_(file|dir)+", r"(?:foo_[a-z]+_)*bar", r"(?:_[a-z]+)*", r"(a+b+)*c", r"(a|b)*"),
        *(r"^(run_(shell|bash)_?)+$", r"mcp__.*__(write|edit).*", r"([a-z]_)+", r"(ab?)+", r"a+b*"),
        *(r"(?>a+)+", r"(a++)+", r"(?=a+)b", r"([)]|x)+", r"\(a+\)+", r"[(a+)]+", r"(a{2})+"),
    ],
)
def test_a_repetition_with_one_reading_is_fine(expression: str) -> None:
    assert find_exploding_name(expression, search=True) is None


@pytest.mark.parametrize("text", ["(", "[", "(x", "a{2,}(", "x)y(", "(?", "(?P<", "\\", "[^", ""])
def test_what_is_no_expression_is_not_its_business(text: str) -> None:
    find_exploding_name(text, search=True)
