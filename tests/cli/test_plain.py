"""The quick way to read ``fire``'s command line, and that argparse would read the same."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.cli import VERBS
from hookline.cli.arguments import Verb
from hookline.cli.failures import CommandError
from hookline.cli.parsing import parser_of
from hookline.cli.verbs import fire

WORDS = [
    *("BeforeTool", "--input", "--tool", "--tool-input", "--session-id", "--cwd", "--settings"),
    *("--json", "--trust", "--no-trust", "--bus", "-", "--", "-x", "--tool=x", "", "{}", "a b"),
]


def by_argparse(words: list[str]) -> dict[str, object] | None:
    try:
        return vars(parser_of("fire", cast(Verb, fire), VERBS["fire"][1]).parse_args(words))
    except CommandError:
        return None


@given(st.lists(st.sampled_from(WORDS), max_size=7))
def test_whatever_it_reads_argparse_reads_alike(words: list[str]) -> None:
    quickly = fire.PLAIN.read(words)
    if quickly is not None:
        assert vars(quickly) == by_argparse(words)


@pytest.mark.parametrize(
    "words",
    [
        ["BeforeTool"],
        ["BeforeTool", "--tool", "x", "--tool-input", "{}", "--trust"],
        ["--input", "-", "BeforeAgent", "--json", "--no-trust", "--session-id", "s"],
        ["BeforeTool", "--settings", "a", "--settings", "b", "--cwd", "/"],
        ["BeforeTool", "--tool", "x", "--tool", "y", "--json", "--json"],
    ],
)
def test_the_usual_command_lines_are_read_quickly(words: list[str]) -> None:
    quickly = fire.PLAIN.read(words)
    assert quickly is not None
    assert vars(quickly) == by_argparse(words)


@pytest.mark.parametrize(
    "words",
    [
        *([], ["-h"], ["BeforeTool", "--help"], ["BeforeTool", "AfterTool"], ["BeforeTool", "-x"]),
        *(["BeforeTool", "--tool"], ["BeforeTool", "--tool", "--json"], ["--tool=x", "BeforeTool"]),
        *(
            ["BeforeTool", "--trust", "--no-trust"],
            ["BeforeTool", "--bus", "nats://x"],
            ["--", "x"],
        ),
    ],
)
def test_whatever_leaves_a_question_is_left_to_argparse(words: list[str]) -> None:
    assert fire.PLAIN.read(words) is None
