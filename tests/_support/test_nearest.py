"""What somebody may have meant by a misspelt word."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline._support.nearest import (
    LONGEST_NAME,
    ask_which,
    describe_unread,
    did_you_mean,
    is_slip,
    join_names,
    name_hint,
    nearest,
    only_one,
)

TOOLS = ["write_file", "read_file", "replace", "glob"]


@pytest.mark.parametrize("word", ["wirte_file", "WriteFile", "write-file", "writefile"])
def test_case_dashes_and_a_slip_do_not_hide_what_is_meant(word: str) -> None:
    assert nearest(word, TOOLS)[0] == "write_file"
    assert only_one(word, TOOLS) == "write_file"
    assert ask_which(word, TOOLS) == "did you mean write_file?"


def test_two_that_are_as_near_are_both_asked_for() -> None:
    words = ["deny-all", "deny-ill"]
    assert only_one("deny-all!", ["deny-alla", "deny-allb"]) is None
    assert did_you_mean(nearest("deny-all", words)) == "did you mean deny-all or deny-ill?"


def test_for_a_word_like_no_other_all_are_named() -> None:
    assert nearest("zzz", TOOLS) == []
    assert ask_which("zzz", TOOLS) == ""
    assert name_hint("zzz", TOOLS) == "there are write_file, read_file, replace, glob"


def test_no_more_than_two_are_named_however_many_are_like_it() -> None:
    assert len(nearest("name", ["name1", "name2", "name3"])) == 2
    assert len(nearest("write_file", ["write_file", "write-file", "writefile"])) == 2


def test_one_is_certain_only_if_it_is_near_and_no_other_is_nearly_as_near() -> None:
    assert only_one("decison", ["decision", "reason"]) == "decision"
    assert only_one("decide", ["decision", "reason"]) is None
    assert only_one("mode1", ["mode2", "mode3", "other"]) is None


@pytest.mark.parametrize("length", [200, 201])
def test_a_word_of_two_hundred_letters_is_the_longest_that_is_compared(length: int) -> None:
    word = "x" * length
    assert nearest(word, [word]) == ([word] if length == 200 else [])
    assert only_one(word, [word]) == (word if length == 200 else None)


def test_a_word_is_compared_with_the_first_five_hundred_names() -> None:
    names = [f"{number:03}{'ab' * 9}" for number in range(499)]
    assert only_one("decision", [*names, "decision"]) == "decision"
    assert only_one("decision", [*names, names[0], "decision"]) is None
    assert nearest("decision", [*names, names[0], "decision"]) == []


@pytest.mark.parametrize(
    ("word", "name", "is_meant"),
    [
        ("Tool_Name", "toolname", True),  # case and underscores
        ("decisio", "decision", True),  # one left out at the end
        ("decis", "decision", True),  # three left out at the end
        ("deci", "decision", False),  # four
        ("reas", "reason", False),  # begun with fewer than five letters
        ("dcision", "decision", True),
        ("desision", "decision", True),
        ("dezzsion", "decision", True),  # two wrong in a long name
        ("dezzzion", "decision", False),  # three wrong
        ("reosan", "reason", False),  # in six letters two apart are too many
        ("raeson", "reason", True),  # but two may be turned round
        ("reazzn", "reason", False),
        ("mdoe", "mode", False),  # in four letters none may be wrong
        ("mode", "mode", True),
        ("levle", "level", True),  # five letters
        ("levxl", "level", True),
        ("lexxl", "level", False),
        ("sourcing", "source", False),
        ("", "mode", False),
    ],
)
def test_a_slip_is_a_letter_or_two_at_one_place(word: str, name: str, is_meant: bool) -> None:
    assert is_slip(word, name) is is_meant


def test_five_names_are_listed_and_more_are_counted() -> None:
    assert join_names([]) == ""
    assert join_names(["a"], "x.") == "x.a"
    assert join_names([*"abcde"]) == "a, b, c, d, e"
    assert join_names([*"abcdef"], "x.") == "x.a, x.b, x.c, x.d, x.e and 1 more"


def test_names_that_could_be_misread_are_quoted_and_cut() -> None:
    longest = "x" * LONGEST_NAME
    assert join_names([longest, f"{longest}y"]) == f"{longest}, {longest!r}"
    assert join_names(["", "a b", "a\nb"]) == "'', 'a b', 'a\\nb'"


def test_fields_that_are_not_read_are_told_with_what_was_meant() -> None:
    known = ["decision", "reason", "systemMessage"]
    assert describe_unread([], known) == ([], [])
    assert describe_unread(["note"], known) == ([], ["note is not read; it has no effect"])
    assert describe_unread(["note", "decison", "x"], known, where="on BeforeTool") == (
        ["decison is not read on BeforeTool, did you mean decision?; it has no effect"],
        ["note, x are not read on BeforeTool; they have no effect"],
    )
    assert describe_unread(["messageSystem"], known, prefix="out.") == (
        ["out.messageSystem is not read, did you mean systemMessage?; it has no effect"],
        [],
    )


@pytest.mark.parametrize(
    ("name", "others", "is_found"),
    [
        ("sysMessage", 4, True),
        ("sysMessage", 5, False),
        ("decison", 49, True),
        ("decison", 50, False),
    ],
)
def test_a_slip_is_looked_for_in_fifty_fields_and_likeness_in_five(
    name: str, others: int, is_found: bool
) -> None:
    names = [*(f"z{number}" for number in range(others)), name]
    slips, _ = describe_unread(names, ["decision", "systemMessage"])
    assert bool(slips) is is_found


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=5))
def test_whatever_is_written_only_known_words_are_named(word: str, known: list[str]) -> None:
    assert set(nearest(word, known)) <= set(known)
    assert only_one(word, known) in {None, *known}


def test_a_word_that_nobody_types_and_a_thousand_names_take_no_time() -> None:
    names = [f"name-{number}" for number in range(100_000)]
    assert nearest("x" * 100_000, names) == []
    assert only_one("x" * 100_000, names) is None
    assert len(nearest("name-1", names)) == 2


def test_difflib_is_loaded_by_the_first_misspelt_word_only() -> None:
    code = "import sys, hookline; print('difflib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("word", "name", "slip"),
    [
        ("decis", "decision", True),  # three letters are missing
        ("sessions", "sessionstart", False),  # four
        ("maxxher", "matcher", True),  # two wrong letters of seven
        ("rexxon", "reason", False),  # of six
        ("rexson", "reason", True),
    ],
)
def test_a_slip_leaves_out_three_letters_or_has_two_wrong_ones_in_a_long_name(
    word: str, name: str, slip: bool
) -> None:
    assert is_slip(word, name) is slip


def test_four_letters_of_five_are_enough_to_be_certain() -> None:
    assert only_one("abcdx", ["abcde"]) == "abcde"
    assert only_one("abcxy", ["abcde"]) is None


def test_a_name_of_eighty_letters_is_shown_as_it_is_and_no_longer_one() -> None:
    assert join_names(["n" * 80]) == "n" * 80
    assert join_names(["n" * 81]) == repr("n" * 80)
