"""The quick way to read a command line, and that argparse would read the same."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.cli import VERBS
from hookline.cli.failures import CommandError
from hookline.cli.options import (
    COMMON,
    Option,
    explain_unread,
    flag,
    load_verb,
    make_parser,
    read_event_name,
    read_quickly,
    run_verb,
)

OTHER_WORDS = ["BeforeTool", "-", "--", "-x", "--tool=x", "", "{}", "a b", "user", "block", "7"]


def quickly(verb: str, words: list[str]) -> dict[str, Any] | None:
    options = read_quickly((*load_verb(verb).OPTIONS, *COMMON), words)
    return None if options is None else vars(options)


def by_argparse(verb: str, words: list[str]) -> dict[str, Any] | None:
    try:
        return vars(make_parser(verb, load_verb(verb), VERBS[verb]).parse_args(words))
    except CommandError:
        return None


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    verb = draw(st.sampled_from([*VERBS, "fire"]))
    names = [option.name for option in (*load_verb(verb).OPTIONS, *COMMON)]
    return verb, draw(st.lists(st.sampled_from([*names, *OTHER_WORDS]), max_size=7))


@given(command_lines())
def test_whatever_it_reads_argparse_reads_alike(line: tuple[str, list[str]]) -> None:
    read = quickly(*line)
    if read is not None:
        assert read == by_argparse(*line)


@pytest.mark.parametrize(
    "words",
    [
        ["BeforeTool"],
        ["BeforeTool", "--tool", "x", "--tool-input", "{}", "--trust"],
        ["--input", "-", "BeforeAgent", "--json", "--no-trust", "--session-id", "s"],
        ["BeforeTool", "--settings", "a", "--settings", "b", "--cwd", "/"],
        ["BeforeTool", "--tool", "x", "--tool", "y", "--json", "--json"],
        ["BeforeTool", "--bus", "nats://x", "--on-unavailable", "block", "--on-ask", "allow"],
    ],
)
def test_the_usual_command_lines_are_read_quickly(words: list[str]) -> None:
    read = quickly("fire", words)
    assert read is not None
    assert read == by_argparse("fire", words)


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in ("serve", "bench")])
def test_every_verb_is_read_quickly_without_options(verb: str) -> None:
    words = ["x"] if verb in ("fire", "enable", "disable") else []
    read = quickly(verb, words)
    assert read is not None
    assert read == by_argparse(verb, words)


@pytest.mark.parametrize(
    "words",
    [
        *([], ["-h"], ["BeforeTool", "--help"], ["BeforeTool", "AfterTool"], ["BeforeTool", "-x"]),
        *(["BeforeTool", "--tool"], ["BeforeTool", "--tool", "--json"], ["--tool=x", "BeforeTool"]),
        *(
            ["BeforeTool", "--trust", "--no-trust"],
            ["BeforeTool", "--on-ask", "perhaps"],
            ["--", "x"],
        ),
    ],
)
def test_whatever_leaves_a_question_is_left_to_argparse(words: list[str]) -> None:
    assert quickly("fire", words) is None


def test_an_option_that_must_be_given_is_asked_for_by_argparse() -> None:
    assert quickly("serve", ["--stats"]) is None
    assert quickly("serve", ["--stats", "--bus", "nats://x"]) is not None


def test_a_value_of_another_type_is_left_to_argparse() -> None:
    table = (Option("--runs", "N", "how often", type=int),)
    assert read_quickly(table, []) is not None
    assert read_quickly(table, ["--runs", "3"]) is None


def test_a_flag_is_false_until_it_is_given() -> None:
    table = (flag("--json", ""),)
    read = [read_quickly(table, words) for words in ([], ["--json"])]
    assert [options and options.json for options in read] == [False, True]


def test_an_option_has_its_attribute_by_name_unless_one_is_given() -> None:
    assert Option("--tool-input", "JSON", "").key == "tool_input"
    assert Option("-k", "TEXT", "", attribute="pattern").key == "pattern"


def test_a_command_line_that_names_what_is_not_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text("{}")
    for words, said in (
        (["--cwd", str(file)], f"--cwd: {file} is not a directory"),
        (["--settings", str(tmp_path)], f"--settings: {tmp_path} is a directory; name the file in"),
        (["--settings", f"{file}x"], f"--settings: there is no file {file}x"),
        (["--plugin", str(file)], f"--plugin: {file} is not a directory"),
    ):
        with pytest.raises(CommandError) as raised:
            run_verb("list", "", words)
        assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["BeforeTool", "--tol=x"], "hookline fire has no option --tol; did you mean --tool?"),
        (["BeforeTool", "--zzzzz"], "has no option --zzzzz; `hookline fire --help` lists them"),
        (["BeforeTool", "--", "--zzzzz"], "unrecognized arguments"),
        (["BeforeTool", "--a b"], "unrecognized arguments"),
        (["--no-trust", "--trust", "x"], "--trust: not allowed with"),
    ],
)
def test_an_unknown_option_is_named_before_all_else(words: list[str], said: str) -> None:
    with pytest.raises(CommandError) as raised:
        make_parser("fire", load_verb("fire"), "").parse_args(words)
    assert said in str(raised.value)


def test_one_file_of_claude_codes_is_it_and_several_are_them() -> None:
    assert explain_unread(["/a"]).startswith("/a is not read; ")
    assert explain_unread(["/a"]).endswith(" to read it")
    assert explain_unread(["/a", "/b"]).startswith("/a, /b are not read; ")
    assert explain_unread(["/a", "/b"]).endswith(" to read them")


def test_an_unknown_event_names_the_nearest_of_either_family_or_all() -> None:
    with pytest.raises(CommandError, match=r"^--event: .*did you mean BeforeTool"):
        read_event_name("--event: ", "BeforeTol")
    with pytest.raises(CommandError, match=r"did you mean PreToolUse"):
        read_event_name("", "PreToolUs")
    with pytest.raises(CommandError, match=r"the events are .*Notification, and Claude Code's"):
        read_event_name("", "xyzzy")
