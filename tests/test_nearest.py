"""What somebody may have meant by a misspelt word."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.nearest import ask_which, did_you_mean, name_hint, nearest, only_one

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
