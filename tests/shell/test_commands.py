"""The simple commands of a text, with what a shell takes off before it runs each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.shell.commands import Command, split_commands


def words_in(text: str) -> list[str]:
    """The words of each command, with the depth of the parentheses around it in front."""
    return [
        "".join("." for _ in command.scope) + " ".join(word.source for word in command.words)
        for command in split_commands(text)
        if command.words and not command.is_grammar
    ]


def only(text: str) -> Command:
    (command,) = split_commands(text)
    return command


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a && b || c | d & e; f\ng", ["a", "b", "c", "d", "e", "f", "g"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("if <in a; then >out b; fi", ["a", "b"]),
        ("while a; do { b; }; done", ["a", "b"]),
        ("! a", ["a"]),
        ("case $x in a) b;; *) c;; esac; d", ["b", "c", "d"]),
        ("f() { a; }; function g { b; }; c", ["a", "b", "c"]),
        ("function g { >out a; }", ["a"]),
        ("(a; (b)) && c", [".a", "..b", "c"]),
        ('a "$(b `c`)" <(d)', ["..c", ".b `c`", ".d", 'a "$(b `c`)" <(d)']),
        ("cat <<E\n$(a)\nE\nb", ["cat", "..a", "b"]),
        ("cat <<'E'\n$(a)\nE\nb", ["cat", "b"]),
        ("A=1 B=2 a C=3", ["a C=3"]),
        ("2>out a b <in c", ["a b c"]),
        ("> $(a) b", [".a", "b"]),
        ("[[ a = b ]] && c", ["c"]),
        ("while ((x)); do a; done", ["a"]),
    ],
)
def test_every_command_is_found_once_and_inner_ones_first(text: str, commands: list[str]) -> None:
    assert words_in(text) == commands


def test_a_command_has_its_assignments_and_redirections_apart() -> None:
    command = only("A=1 B=$x a b >out 2>&1 <<E <<<text\nbody\nE\n")
    assert [word.assigned for word in command.assignments] == ["A", "B"]
    assert [word.source for word in command.words] == ["a", "b"]
    redirections = [(each.operator, each.target.source) for each in command.redirections]
    assert redirections == [(">", "out"), (">&", "1"), ("<<", "E"), ("<<<", "text")]
    bodies = [each.body.fill({}) for each in command.redirections if each.body is not None]
    assert bodies == ["body\nE\n"]


def test_each_here_document_goes_to_the_command_that_asks_for_it() -> None:
    text = "a <<A | b <<B $(c <<C\nin c\nC\n)\nin a\nA\nin b\nB\n"
    bodies = {
        command.words[0].source: each.body.fill({}).split("\n")[0]
        for command in split_commands(text)
        for each in command.redirections
        if each.body is not None
    }
    assert bodies == {"a": "in a", "b": "in b", "c": "in c"}


def test_a_command_knows_the_operators_around_it() -> None:
    ends = [(each.before, each.after) for each in split_commands("a | b &&\nc || (d); e &")]
    assert ends == [("", "|"), ("|", "&&"), ("&&", "||"), ("(", ")"), (";", "&")]


def test_two_subshells_are_two_scopes() -> None:
    first, second, third, last = (each.scope for each in split_commands("(a; b); (c); d"))
    assert first == second != third
    assert (len(third), last) == (1, ())


def test_the_name_of_a_function_is_told_from_a_command() -> None:
    names = [command.function for command in split_commands("f() { a $(); }; g () (b)\necho $()")]
    assert [name for name in names if name] == ["f", "g"]


def test_an_array_is_no_word_whose_text_is_known() -> None:
    for text in ("A=(a b)", "export A=(a b)"):
        *_, command = split_commands(text)
        assert not (*command.assignments, *command.words)[-1].is_known({})


@given(st.text("ab;&|()<>'\"`$\\\n {}=#") | st.text())
def test_any_text_is_split(text: str) -> None:
    for command in split_commands(text):
        assert command.words or command.assignments or command.redirections
