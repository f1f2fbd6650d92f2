"""Which names a matcher picks, and in what time."""

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects import DIALECTS
from hookline.dialects.matcher import Match, MatchTimeout, compile_matcher
from hookline.wire.events import EVENTS, HookEventName

WORDS = st.text("abcAB01_-", min_size=1, max_size=4)
EXPLOSIVE = "(a|aa)+$"


def search(text: str | None) -> Match:
    match, problem = compile_matcher(text, search=True)
    assert problem is None
    return match


def whole(text: str | None) -> Match:
    match, problem = compile_matcher(text, search=False)
    assert problem is None
    return match


@pytest.mark.parametrize(
    ("matcher", "name", "matched"),
    [
        ("write", "fs_write_file", True),
        ("write_file|replace", "replace", True),
        ("write_file|replace", "read_file", False),
        ("read|read", "fs_read", True),
        ("^fs_", "fs_read", True),
        ("^fs_", "my_fs_read", False),
        ("read$", "fs_read", True),
        ("Write", "write", False),
        ("(?i)Write", "fs_write", True),
        ("(?<name>w).*e", "write", True),
        ("(?<=^f.*_)read", "fs_read", True),
        ("(?<=^g.*_)read", "fs_read", False),
        ("  write  ", "write", True),
        ("mcp__.*__delete", "mcp__db__delete_row", True),
        (".", "", False),
        ("^$", "", True),
        ("^fs_", "", False),
        ("a+b", "a+b", False),
    ],
)
def test_a_tool_matcher_is_an_expression_searched_in_the_name(
    matcher: str, name: str, matched: bool
) -> None:
    assert search(matcher)(name) is matched


@pytest.mark.parametrize(
    ("matcher", "name", "matched"),
    [
        ("startup", "startup", True),
        ("startup|resume", "resume", True),
        ("start", "startup", False),
        ("start.*", "startup", True),
        (" startup ", "startup", True),
        ("Startup", "startup", False),
        ("a+b", "a+b", True),
        ("a+b", "aab", True),
        ("startup", "", False),
    ],
)
def test_a_trigger_matcher_equals_the_trigger_or_matches_it_whole(
    matcher: str, name: str, matched: bool
) -> None:
    assert whole(matcher)(name) is matched


@pytest.mark.parametrize("matcher", [None, "", "   ", "*", " * ", "\t\n"])
@pytest.mark.parametrize("name", ["", "write_file", "\n", "é"])
def test_no_matcher_a_blank_one_and_a_star_match_all(matcher: str | None, name: str) -> None:
    assert search(matcher)(name)
    assert whole(matcher)(name)


@pytest.mark.parametrize("text", ["[grid", "(", "a{2,1}", "*x", "\\", "(?P<a", "(?a)(?u)b"])
@pytest.mark.parametrize("is_search", [True, False])
def test_what_does_not_compile_must_equal_the_whole_name_and_is_warned_of(
    text: str, is_search: bool
) -> None:
    match, problem = compile_matcher(f" {text} ", search=is_search)
    assert match(text)
    assert not match(f"x{text}")
    assert problem is not None
    assert "is not a regular expression" in str(problem)
    assert repr(text) in str(problem)


@given(st.text(max_size=12), st.booleans())
def test_any_text_is_a_matcher(text: str, is_search: bool) -> None:
    match, _ = compile_matcher(text, search=is_search)
    assert match("name") in (True, False)


@given(st.lists(WORDS, min_size=1, max_size=3), st.text("abcAB01_-|", max_size=8), st.booleans())
def test_plain_words_match_exactly_as_the_regex_package_would(
    words: list[str], name: str, is_search: bool
) -> None:
    text = "|".join(words)
    pattern = regex.compile(text)
    expected = pattern.search(name) if is_search else pattern.fullmatch(name) or name == text
    assert compile_matcher(text, search=is_search)[0](name) is bool(expected)


def test_an_expression_that_explodes_is_cut_off_after_a_tenth_of_a_second() -> None:
    match = search(EXPLOSIVE)
    started = time.process_time()
    with pytest.raises(MatchTimeout):
        match("a" * 80 + "!")
    assert time.process_time() - started < 1
    assert match("aaa")


@pytest.mark.parametrize(
    "text", ["(b+){1000000}", "((a{999}){999}){999}", "(a{1,99999}b){2}", "a{99999999999999}"]
)
def test_repetitions_that_would_fill_the_memory_do_not_compile(text: str) -> None:
    started = time.process_time()
    match, problem = compile_matcher(text, search=True)
    assert time.process_time() - started < 1
    assert problem is not None
    assert match(text)
    assert not match("b")


@pytest.mark.parametrize("text", ["^x{3}$", "^x{1,3}$", "^x{,3}$", "^(x{2,300}){1,}$", "^x{3,}$"])
def test_modest_repetitions_are_expressions_as_ever(text: str) -> None:
    assert search(text)("xxx")
    assert not search(text)("y")


@pytest.mark.parametrize("event", HookEventName)
def test_an_event_with_nothing_to_compare_ignores_the_matcher(event: HookEventName) -> None:
    match, problem = DIALECTS["native"].compile_matcher(event, "[never")
    ignores = EVENTS[event].target is None
    assert match("anything") is ignores
    assert (problem is None) is ignores


@pytest.mark.parametrize(
    ("event", "compared"),
    [
        ("BeforeTool", "tool_name"),
        ("AfterTool", "tool_name"),
        ("BeforeAgent", None),
        ("AfterAgent", None),
        ("BeforeModel", None),
        ("AfterModel", None),
        ("BeforeToolSelection", None),
        ("SessionStart", "source"),
        ("SessionEnd", "reason"),
        ("PreCompress", "trigger"),
        ("Notification", "notification_type"),
    ],
)
def test_each_event_says_what_its_matchers_are_compared_with(
    event: str, compared: str | None
) -> None:
    spec = EVENTS[HookEventName(event)]
    assert spec.target == compared
    assert spec.search is (compared == "tool_name")


@pytest.mark.parametrize("text", ["a{%d}", "(a{0}b){%d}", "x{,%d}", "((a{2}){%d}){0}"])
def test_ten_thousand_repetitions_are_the_most(text: str) -> None:
    most = 5_000 if "{2}" in text else 10_000
    search(text % most)
    _, problem = compile_matcher(text % (most + 1), search=True)
    assert problem is not None
    assert "it repeats more than 10000 times" in problem.message
