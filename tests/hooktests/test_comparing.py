"""Expectations and what is said of those that do not hold."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from hookline import Hooks
from hookline.hooktests.comparison import (
    Failure,
    describe_failure,
    differences,
    failure_lines,
    find_bad_word,
    unmet,
)
from hookline.wire.events import HookEventName
from tests.hooktests.test_junit import case_of

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def paths(expected: Any, actual: Any) -> list[Any]:
    return [failure.at for failure in differences(expected, actual, at="it")]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": {"b": None}}, {"a": {}}),
        (None, None),
        ("text", "text\n"),
        ([{"a": 1}, 2], [{"a": 1, "x": 1}, 2]),
        ({"contains": "ey"}, "a key here"),
        ({"contains": ["a", "key"]}, "a key here"),
        ({"contains": {"name": "x"}}, [{"name": "y"}, {"name": "x", "more": 1}]),
        ({"matches": r"^a\s+\w+"}, "a key"),
        ({"below": 10, "above": 1.5}, 2),
        ({"not": "x"}, "y"),
        ({"not": {"contains": "secret"}}, "fine"),
        ({"not": None}, "there"),
        ({"equals": {"a": 1}}, {"a": 1}),
        ({"contains": "x"}, {"contains": "x", "other": 1}),
        ({"not": {"a": 2}}, {"a": 1}),
        ({"not": "x", "equals": 1}, {"not": "x", "equals": 1}),
        ({"equals": None}, None),
        ("text", "text\n\n"),
        (1, 1.0),
    ],
)
def test_these_agree(expected: Any, actual: Any) -> None:
    assert paths(expected, actual) == []


@pytest.mark.parametrize(
    ("expected", "actual", "where"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["it.a.b"]),
        ({"a": 1, "b": 2}, {}, ["it.a", "it.b"]),
        (None, "", ["it"]),
        (True, 1, ["it"]),
        (1, True, ["it"]),
        ([1, 2], [1, 3], ["it[1]"]),
        ([1], [1, 2], ["it"]),
        ("text\n", "text", ["it"]),
        ({"contains": "x"}, "y", ["it"]),
        ({"contains": "x"}, UNSET, ["it"]),
        ({"contains": "x", "matches": "z"}, "y", ["it", "it"]),
        ({"below": 3}, 3, ["it"]),
        ({"below": 3}, True, ["it"]),
        ({"below": 3}, "2", ["it"]),
        ({"above": 3}, 3, ["it"]),
        ({"above": "1"}, 3, ["it"]),
        ({"above": 0}, True, ["it"]),
        ({"contains": ["a", 1]}, "a 1", ["it"]),
        ({"matches": "x"}, 5, ["it"]),
        ({"not": {"contains": "y"}}, "y", ["it"]),
        ({"equals": {"a": 1}}, {"a": 1, "b": 2}, ["it"]),
        ({"equals": [True]}, [1], ["it"]),
        ({"equals": "text"}, "text\n", ["it"]),
        ({"equals": {"a": None}}, {}, ["it"]),
        ({"equals": {}}, {"a": None}, ["it"]),
        ({"not": {"a": 1}}, {"a": 1, "b": 2}, ["it"]),
        ({"not": "x", "equals": 1}, {"not": "y"}, ["it.not", "it.equals"]),
        ({"contains": 1}, [2, "1"], ["it"]),
        ({"contains": "y", "matches": "z"}, "y", ["it"]),
        ("", None, ["it"]),
        (0, UNSET, ["it"]),
    ],
)
def test_these_differ(expected: Any, actual: Any, where: list[str]) -> None:
    assert paths(expected, actual) == where


def test_a_misspelt_test_and_a_bad_expression_are_told() -> None:
    (misspelt,) = differences({"contain": "x"}, "x", at="reason")
    assert str(misspelt.message).startswith(
        "'contain' is not a test of a value; write one of contains"
    )
    (bad,) = differences({"matches": "("}, "x", at="reason")
    assert str(bad.message).startswith("'(' is not a regular expression: ")
    (inner,) = differences({"not": {"matches": "("}}, "x", at="reason")
    assert inner.message == bad.message
    (number,) = differences({"matches": 5}, "x", at="reason")
    assert str(number.message).startswith("5 is not a regular expression: ")


@pytest.mark.parametrize("nothing", [None, UNSET])
def test_of_what_is_not_there_it_is_told_that_alone(nothing: Any) -> None:
    (failure,) = differences({"decison": "deny"}, nothing, at="output")
    assert (failure.message, failure.actual) == (UNSET, nothing)


def test_the_top_of_a_document_needs_no_name() -> None:
    assert [each.at for each in differences({"a": {"b": 1}}, {"a": {}}, at="")] == ["a.b"]


def test_each_word_of_an_expectation_is_checked_and_told_where_it_is_valid() -> None:
    event = HookEventName.BEFORE_AGENT
    assert find_bad_word(event, {"decision": "allow", "blocked": False, "hooks": {}}) is None
    expect = {"decision": "allow", "ask": True, "hooks": [], "stop": 1}
    assert find_bad_word(event, expect) == (
        "hooks",
        "hooks must be an object of hook names, each with what is expected of its result",
    )
    bad = find_bad_word(event, {"llm_request": {}})
    events = "BeforeModel, AfterModel or BeforeToolSelection"
    assert bad == ("llm_request", f"llm_request can be expected of {events}, not of BeforeAgent")


def test_each_decision_can_be_expected_and_a_models_words_of_its_own_events() -> None:
    decisions = ("allow", "approve", "ask", "deny", "block", "stop")
    bad = [find_bad_word(HookEventName.BEFORE_TOOL, {"decision": word}) for word in decisions]
    assert bad == [None] * 6
    valid = {
        word: [event.value for event in HookEventName if find_bad_word(event, {word: []}) is None]
        for word in ("llm_request", "llm_response", "tools")
    }
    assert {word: sorted(events) for word, events in valid.items()} == {
        "llm_request": ["AfterModel", "BeforeModel", "BeforeToolSelection"],
        "llm_response": ["AfterModel", "BeforeModel"],
        "tools": ["BeforeToolSelection"],
    }


def find_unmet(expect: dict[str, Any], *, fails: bool = False) -> list[str]:
    """Where an answer is not as expected to a prompt that no hook, or one that fails, is for."""
    with Hooks() as hooks:
        if fails:
            hooks.on("BeforeAgent", name="h")(lambda event: event["x"])
        answer = hooks.sync.before_agent("Hi")
    test = msgspec.structs.replace(case_of("t"), expect=expect)
    found = unmet(test, answer, answer.document("BeforeAgent"))
    return [describe_failure(failure).partition(";")[0] for failure in found]


@pytest.mark.parametrize(
    ("expect", "fails", "told"),
    [
        ({"decision": "allow"}, False, ["no hook ran on BeforeAgent"]),
        ({"no_hooks": True}, False, []),
        ({"plan": None}, False, []),
        ({"results": []}, False, []),
        ({"decision": "approve"}, True, ["h failed: KeyError: 'x'"]),
        ({"errors": [{"hook": "h"}]}, True, []),
        ({"success": False}, True, []),
        ({"results": [{"hook": "h"}]}, True, []),
        ({"hooks": {"h": {"success": False}}}, True, []),
        ({"hooks": {"h": {"stdout": ""}}}, True, ["h failed: KeyError: 'x'"]),
        (
            {"hooks": {"h": None}},
            True,
            ["hooks.h: expected (nothing), found {", "h failed"],
        ),
    ],
)
def test_a_failure_must_be_spoken_of_to_be_expected(
    expect: dict[str, Any], fails: bool, told: list[str]
) -> None:
    found = find_unmet(expect, fails=fails)
    assert [text[: len(part)] for text, part in zip(found, told, strict=True)] == told


@given(json_values)
def test_every_value_agrees_exactly_with_itself(value: Any) -> None:
    assert paths({"equals": value}, value) == []


@given(json_values, json_values)
def test_exactly_one_of_a_test_and_its_denial_holds(expected: Any, actual: Any) -> None:
    assert bool(paths({"equals": expected}, actual)) != bool(
        paths({"not": {"equals": expected}}, actual)
    )


@pytest.mark.parametrize(
    ("expected", "actual", "lines"),
    [
        ("deny", "allow", ["- deny", "+ allow"]),
        ({"contains": "key"}, "no", ['- contains "key"', "+ no"]),
        (None, "x", ["- (nothing)", "+ x"]),
        ({"matches": "^a"}, "b\n", ['- matches "^a"', "+ b"]),
        ({"equals": "a"}, "a\n", ["- a", "+ a", "+ "]),
        (2, UNSET, ["- 2", "+ (nothing)"]),
        ("a\nb\nc", "a\nx\nc", ["  a", "- b", "+ x", "  c"]),
        (
            {"equals": {"a": 1, "b": 2}},
            {"a": 1, "b": 3},
            ["  {", '    "a": 1,', '-   "b": 2', '+   "b": 3', "  }"],
        ),
        ([1], [1, 2], ["  [", "-   1", "+   1,", "+   2", "  ]"]),
        ("a\nb", "a", ["- a", "- b", "+ a"]),
        ("a\nb\nc", "a\nb", ["  a", "  b", "- c"]),
    ],
)
def test_expected_and_found_stand_below_each_other(
    expected: Any, actual: Any, lines: list[str]
) -> None:
    failure = Failure(at="it", expected=expected, actual=actual)
    assert [f"{mark} {line}" for mark, line in failure_lines(failure)] == lines


def test_a_failure_is_told_in_one_line() -> None:
    assert describe_failure(Failure(at="it", expected="a\nb", actual=UNSET)) == (
        "it: expected a …, found (nothing)"
    )
    assert describe_failure(Failure(message="no hook ran")) == "no hook ran"
    assert list(failure_lines(Failure(message="no hook ran"))) == []


def test_a_value_of_sixty_characters_is_shown_in_one_line_and_a_longer_one_indented() -> None:
    def lines(length: int) -> list[str]:
        failure = Failure(at="it", expected={"a": "x" * (length - 8)}, actual=1)
        return [line for mark, line in failure_lines(failure) if mark == "-"]

    assert [len(line) for line in lines(59)] == [60]
    assert lines(60) == ["{", f'  "a": "{"x" * 52}"', "}"]


def test_of_a_long_text_with_many_equal_lines_only_what_differs_is_marked() -> None:
    same = "x\n" * 250
    lines = failure_lines(Failure(at="a", expected=f"{same}1", actual=f"{same}2"))
    assert [line for line in lines if line[0] != " "] == [("-", "1"), ("+", "2")]


def test_a_failure_that_is_only_a_message_has_no_lines() -> None:
    failure = Failure(message="no hook ran")
    assert ([*failure_lines(failure)], describe_failure(failure)) == ([], "no hook ran")
