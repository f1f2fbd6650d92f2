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


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (r"x(a+)+", "x" + "a" * 48),
        (r"y?z*(a{2,})+", "a" * 48),
        (r"(\d+)+$", "0" * 48),
        (r"(\s*)*x", " " * 48),
        (r"([\w]+)*x", "a" * 48),
        (r"([]b]+)+", "]" * 48),
        (r"([bc]+)+", "b" * 48),
        (r"([\dx]+)+", "0" * 48),
        (r"([\.x]+)+", "." * 48),
        (r"(\W+)+", "-" * 48),
        (r"(\D+)+", "a" * 48),
        (r"(\S+)+", "a" * 48),
        (r"^x$(.+)+", "x" + "a" * 48),
        (r"([^a]+)*x", "0" * 48),
        (r"([^a0_-]+)+", "x" * 48),
        (r"(a?b*)+", "b" * 48),
        (r"(a+){2,}", "a" * 48),
        (r"(\.+?)+x", "." * 48),
        (r"x(?:b|bb)+$", "x" + "b" * 49),
        (r"^(a|b|ab)*c$", "ab" * 25),
    ],
)
def test_a_name_is_made_of_what_is_before_and_what_repeats(expression: str, name: str) -> None:
    found = find_exploding_name(expression, search=True)
    assert found is not None
    assert found.partition("!")[0] == name


@pytest.mark.parametrize(
    "expression", [r"(a+){2}", r"(a+)?", r"(a{,3})+", r"((a+)b)+", r"(\Aab+)+"]
)
def test_a_repetition_with_a_limit_or_something_beside_it_is_fine(expression: str) -> None:
    assert find_exploding_name(expression, search=True) is None
