"""Which commands are nothing but words, and that a shell makes the same words of them."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.pipeline.runner.words import plain_words

VALUES = {"HOOKLINE_CWD": "/a b/*$(x)", "EMPTY": "", "MODE": "-v"}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("./check.sh", ["./check.sh"]),
        ("  python3\t-u hook.py  --level=2 ", ["python3", "-u", "hook.py", "--level=2"]),
        ("check 'a b' \"c d\" e''f", ["check", "a b", "c d", "ef"]),
        ('"$HOOKLINE_CWD"/x.sh $MODE', ["/a b/*$(x)/x.sh", "-v"]),
        ("$HOOKLINE_CWD/x.sh ${MODE}x '$MODE'", ["/a b/*$(x)/x.sh", "-vx", "$MODE"]),
        ('x $EMPTY ""', ["x", "", ""]),
        ("tool 'it is; fine' \"#!*?\"", ["tool", "it is; fine", "#!*?"]),
    ],
)
def test_words_quotes_and_the_hooks_own_variables(command: str, words: list[str]) -> None:
    assert plain_words(command, VALUES) == words


@pytest.mark.parametrize(
    "command",
    [
        *("", "   ", "a; b", "a | b", "a & b", "a && b", "a > f", "a < f", "(a)", "a\nb", "{ a; }"),
        *("a `b`", "a $(b)", "a $HOME", "a $MODEX", "a ${MODE:-x}", 'a "$HOME"', "a $1", "a $"),
        *("ls *", "ls ?.py", "ls [ab]", "ls {a,b}", "ls ~", "a=1 b", "A=1", "a \\b", "a #b", "! a"),
        *('a "b', "a 'b", "echo hi", "cd /", ". x", "exit 2", "true", "if", "[ a ]", "time a"),
        *("$EMPTY", "''", "ls é", 'a "`b`"', 'a "\\n"', "a ^b"),
    ],
)
def test_whatever_a_shell_is_needed_for_is_left_to_it(command: str) -> None:
    assert plain_words(command, VALUES) is None


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab=-./ \t'\"$MODE{}~*!;\\", max_size=16))
def test_where_there_are_words_a_shell_makes_the_same_of_them(text: str) -> None:
    words = plain_words(f"prog {text}", {"MODE": "x  y"})
    if words is None:
        return
    script = f"prog() {{ printf '%s\\0' prog \"$@\"; }}; prog {_quoted(text)}"
    done = subprocess.run(
        ["bash", "--norc", "-p", "-c", script], env={"MODE": "x  y"}, capture_output=True
    )
    assert done.stdout.decode().split("\0")[:-1] == words, done.stderr


def _quoted(text: str) -> str:
    from hookline.pipeline.runner.quoting import quote_variables

    return quote_variables(f"prog {text}", {"MODE"}).removeprefix("prog ")
