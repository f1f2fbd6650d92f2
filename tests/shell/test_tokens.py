"""The words that a shell makes of a command, and which commands are nothing but words."""

import re
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hookline.shell.programs import plain_words, words_in
from hookline.shell.tokens import (
    Expansion,
    Pattern,
    Piece,
    Token,
    Variable,
    Word,
    expand,
    is_readable,
    quote_variables,
    read_tokens,
)

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
        ('my\\ tool a\\;b "c\\n \\$MODE"', ["my tool", "a;b", "c\\n $MODE"]),
    ],
)
def test_words_quotes_and_the_hooks_own_variables(command: str, words: list[str]) -> None:
    assert plain_words(command, VALUES) == words


@pytest.mark.parametrize(
    "command",
    [
        *("", "   ", "a; b", "a | b", "a & b", "a && b", "a > f", "a < f", "(a)", "a\nb", "{ a; }"),
        *("a `b`", "a $(b)", "a $HOME", "a $MODEX", "a ${MODE:-x}", 'a "$HOME"', "a $1", "a $"),
        *("ls *", "ls ?.py", "ls [ab]", "ls {a,b}", "ls ~", "a=1 b", "A=1", "! a"),
        *('a "b', "a 'b", "echo hi", "cd /", ". x", "exit 2", "true", "if", "[ a ]", "time a"),
        *("$EMPTY", "''", "ls é", 'a "`b`"', "a ^b", "a $'b'", 'a $"b"', "a b\\"),
    ],
)
def test_whatever_a_shell_is_needed_for_is_left_to_it(command: str) -> None:
    assert plain_words(command, VALUES) is None


def words_of_bash(command: str, **variables: str) -> list[str]:
    """What bash makes of a command that begins with ``prog``."""
    script = f"prog() {{ printf '%s\\0' prog \"$@\"; }}; {quote_variables(command, variables)}"
    env = {"LC_ALL": "C.UTF-8", **variables}
    done = subprocess.run(["bash", "--norc", "-p", "-c", script], env=env, capture_output=True)
    return done.stdout.decode(errors="surrogateescape").split("\0")[:-1]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab=-./ \t\n'\"$MODE{}~*!;\\", max_size=16))
def test_where_there_are_words_a_shell_makes_the_same_of_them(text: str) -> None:
    variables = {"MODE": "x  y", "HOME": "/h o"}
    words = plain_words(f"prog {text}", variables)
    assert words in (None, words_of_bash(f"prog {text}", **variables))


PIECES = ["a", "/", " ", r"\x41", r"\x4", r"\101", r"\n", r"\e", r"\'", r"\\", r"\q", r"\u00e9"]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*PIECES, r"\U0001f600", r"\xc3\xa9", "é", '"', r"\377", r"\cA"])))
def test_escapes_are_replaced_as_a_shell_does(pieces: list[str]) -> None:
    command = f"prog b$'{''.join(pieces)}'c"
    assert words_in(command, {}) == words_of_bash(command)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("${DIR:-x}/y", "/p q/y"),
        ('"${NONE:-x y}"', "x y"),
        ("${NONE-$DIR}/z", "/p q/z"),
        ("${NONE:-${DIR}/a}/b", "/p q/a/b"),
        ("${EMPTY:-x}", "x"),
        ("${NONE:=x}", "x"),
        ("~/x", "/h/x"),
        ("'~/x'", "~/x"),
        ("$NONE/x", "$NONE/x"),
        ("${DIR%/*}", "${DIR%/*}"),
    ],
)
def test_a_variable_is_filled_in_or_left_as_it_is_written(word: str, text: str) -> None:
    values = {"DIR": "/p q", "EMPTY": "", "HOME": "/h"}
    assert words_in(f"sh {word}", values) == ["sh", text]


@pytest.mark.parametrize(
    "command",
    [
        *("sh 'the file'", "sh the\\ file", "A='the file' B=1 x", "x | sh <'the file'"),
        *('x && (sh "the file")', "x $(sh 'the file')", "if x; then sh 'the file' 2>&1; fi"),
        *("x `sh 'the file'`", "sh the' 'file;x", "x<'the file'>y", "sh 'the file'\nx"),
    ],
)
def test_every_word_is_found_wherever_it_stands(command: str) -> None:
    words = words_in(command, {})
    assert "the file" in {word.removeprefix("A=") for word in words}
    assert not set(words) & set("2;()|<>`")


def commands_called_prog(command: str) -> int:
    """How many commands called ``prog`` are read outside of here-documents."""
    words = [token for token in read_tokens(command) if isinstance(token, Word)]
    return [word.fill({}) for word in words if not word.is_body].count("prog")


@pytest.mark.parametrize(
    ("document", "count"),
    [
        (": <<E\na\\\nE\nprog in\nE\nprog out", 1),  # joined to the line before: no delimiter
        (": <<'E'\na\\\nE\nprog out", 1),
        (": <<E\na\\\\\nE\nprog out", 1),
        (": <<E\na\\\\\\\nE\nprog in\nE", 0),
        (": <<E\n\\\nE\nprog out\nE", 1),  # joined to an empty line: the delimiter
        (": <<EE\nE\\\nE\nprog out\nEE", 1),
        (": <<-E\n\ta\\\n\tE\nprog in\n\tE\nprog out", 1),
        (": <<-E\n\t\\\n\tE\nprog out\n\tE", 1),
        (": $(: <<EE\nE\\\nE)\nprog out", 1),
        (": <<E\nE\\", 0),
    ],
)
def test_a_backslash_joins_lines_of_a_here_document_unless_its_delimiter_is_quoted(
    document: str, count: int
) -> None:
    assert commands_called_prog(document) == count == words_of_bash(document).count("prog")


LINES = ["a\\", "a\\\\", "\\", "E", "\tE", "E\\", " E", "E ", "prog x", ""]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["<<E", "<<'E'", "<<-E", "<<-\\E", "<<E <<E", "<<'E' <<E"]),
    st.lists(st.sampled_from(LINES), max_size=8),
)
def test_a_here_document_ends_where_bash_ends_it(opening: str, lines: list[str]) -> None:
    document = "\n".join([f": {opening}", *lines])
    assert commands_called_prog(document) == words_of_bash(document).count("prog")


UNITS = ["${a:-", "${a-{", "''", "$'", "${a", "\\", "~ ", "2>", "$(", '"', "a=1 ", "${a:-${b"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_long_command_is_read_in_a_moment(unit: str) -> None:
    # Of this process alone, as others may keep the machine busy.
    started = time.process_time()
    words_in(unit * (300_000 // len(unit)) + "}", {"a": "1"})
    assert time.process_time() - started < 3


@given(
    text=st.text("$AB{}1é_ -\n"),
    values=st.dictionaries(st.text("AB1é_ -$}", max_size=3), st.text("$AB{}")),
)
def test_what_a_shell_would_call_a_variable_is_replaced_once(
    text: str, values: dict[str, str]
) -> None:
    name = "([A-Za-z_][A-Za-z0-9_]*)"
    variable = re.compile(rf"\${name}|\${{{name}}}")
    expected = variable.sub(lambda found: values.get(found[1] or found[2], found[0]), text)
    assert expand(text, values) == expected


def show(part: Token | Piece) -> str:
    """A token as one text: = before an exact word, ^ where a command may begin, and its pieces."""
    if isinstance(part, str):
        return part.replace("\n", "\\n").replace("\t", "\\t").replace(" ", "·")
    if isinstance(part, Pattern):
        return f"‹{part.text}›"
    if isinstance(part, Expansion):
        return f"[{part.kind}·{show(part.source)}]"
    if isinstance(part, Variable):
        other = "" if part.other is None else ":" + "".join(map(show, part.other.pieces))
        return f"({part.name}{other}{'·quoted' if part.is_quoted else ''})"
    marks = ("=" if part.is_exact else "~") + ("^" if part.begins else "")
    marks += f"{part.assigned}:" * bool(part.assigned) + "body:" * part.is_body
    return marks + "".join(map(show, part.pieces))


@pytest.mark.parametrize(
    ("command", "tokens"),
    [
        ("a;b & c|d", "=^a ; =^b & =^c | =^d"),
        ("a\\ b 'c d' \"e f\"", "=^a·b =c·d =e·f"),
        ("a\\", "~^a\\"),
        ("'$V' \"$V\" $V ${V}", "=^$V =(V·quoted) =(V) =(V)"),
        ('${V:-a $B} "${V:=x}" ${V:?no} ${V-}', "~^(V:a·(B)) ~(V:x·quoted) ~(V) ~(V:)"),
        (
            "${V:+x} ${#V} ${!V} ${V[0]} ${V:1:2}",
            "~^[value·${V:+x}] ~[number·${#V}] ~[value·${!V}] ~[value·${V[0]}] ~[value·${V:1:2}]",
        ),
        (
            "$1 $@ $? $$ $! $#",
            "~^[value·$1] ~[value·$@] ~[number·$?] ~[number·$$] ~[number·$!] ~[number·$#]",
        ),
        ('$ "$" a$', "~^$ ~$ ~a$"),
        (
            "$((1+2)) $[1] $((a)b)",
            "~^[number·$((1+2))] ~[number·$[1]] ( ( =^a ) =^b ) ~[output·$((a)b)]",
        ),
        ("`a \\`b\\``", "( =^a ( =^b ) ~[output·`b`] ) ~^[output·`a·\\`b\\``]"),
        ('"`a \\"b\\"`"', '( =^a =b ) ~^[output·`a·\\"b\\"`]'),
        (
            "$(a b) <(a) >(b)",
            "( =^a =b ) ~^[output·$(a·b)] ( =^a ) ~[output·<(a)] ( =^b ) ~[output·>(b)]",
        ),
        ("a <in >out 2>&1 3<>x &>y", "=^a < =in > =out >& =1 <> =x &> =y"),
        ("a >>z >|w <&3 &>>v <<<t", "=^a >> =z >| =w <& =3 &>> =v <<< =t"),
        ("2>a b", "> =a =^b"),
        ("if <in a", "=^if < =in =^a"),
        ("2 >a b", "=^2 > =a =b"),
        ('~ ~/a ~b a~ "~"', "=^(HOME) =(HOME)/a ~~b ~a~ =~"),
        ("{a,b} {a {} a,b }", "~^‹{›a‹,›b‹}› ~‹{›a ~‹{›‹}› =a,b ~‹}›"),
        ("*.x [a] ?", "~^‹*›.x ~‹[›a‹]› ~‹?›"),
        ("A=1 B=$V c D=2 1A=x A+=y", "=^A:A=1 =B:B=(V) =c =D:D=2 =1A=x =A:A+=y"),
        ("if a; then b; else c; fi", "=^if =^a ; =^then =^b ; =^else =^c ; =^fi"),
        ("{ a; }", "~^‹{› =^a ; ~^‹}›"),
        ("! a", "~^! =^a"),
        ("(a; b)", "( =^a ; =^b )"),
        ("((1+1)) && a", "( ) & & =^a"),
        ("( (a) )", "( ( =^a ) )"),
        ("case $x in a|b) c;; (d) e;& *) f; esac", "case =(x) ; =^c ; =^e ; =^f ;"),
        ("case x in esac", "case =x"),
        ("[[ a < b && $x =~ ^(a b)$ ]] c", "[[ =a =b =(x) ~=~ ~‹]›‹]› =c"),
        ("a # b", "=^a"),
        ("a#b", "~^a#b"),
        ("$'a\tb' $\"c\"", "~^a\\tb ~c"),
        ("cat <<E\nx $(y)\nE", "=^cat << =E \\n ~body:x·$(y)\\nE ( ( =^y ) )"),
        ("cat <<'E'\nx $(y)\nE", "=^cat << =E \\n ~body:x·$(y)\\nE"),
        (
            "cat <<-E <<F\n\tx\n\tE\ny\nF\nz",
            "=^cat << =E << =F \\n ~body:\\tx\\n\\tE\\n ( ) ~body:y\\nF\\n ( ) =^z",
        ),
        ("f() { a; }", "=^f ( ) ~^‹{› =^a ; ~^‹}›"),
        ("for i in a; do b; done", "=^for =^i =in =a ; =^do =^b ; =^done"),
        ("a=(b c)", "=^a:a= ( =^b =c )"),
    ],
)
def test_a_command_is_read_as_these_words_and_operators(command: str, tokens: str) -> None:
    assert " ".join(map(show, read_tokens(command))) == tokens
    assert is_readable(command)


@pytest.mark.parametrize(
    "command",
    [
        "'a",
        '"a',
        "$(a",
        "`a",
        "${a",
        "(a",
        "case x in a) b",
        "$'a",
        '"$(a"',
        "$((1",
        "$[1",
        "[[ a",
        "${a[1",
        "{ (a; }",
    ],
)
def test_a_command_in_which_something_is_not_closed_is_not_readable(command: str) -> None:
    assert not is_readable(command)


def test_a_word_is_exact_if_every_shell_makes_the_same_of_it() -> None:
    exact = ["'a é'", '"a é"', "a\\b", "\\é", '"a\\b"', "a\\\nb", "a,b", '"$V"', "a:b@c%d+e=f"]
    doubtful = ["é", "{a,b", "$'a'", '$"a"', "a^b", "a!b", '"a', "'a", "a\\", "*", "~b"]
    with_nul = ["a\\\0", "'a\0'", '"a\0"', '"\\\0"', "a\0"]
    for word in (*exact, *doubtful, *with_nul):
        (token,) = read_tokens(word)
        assert isinstance(token, Word)
        assert token.is_exact is (word in exact), word


def test_escapes_that_are_cut_short_or_out_of_range_are_replaced_as_far_as_they_go() -> None:
    escapes = [
        *((r"\x", r"\x"), (r"\x1", "\x01"), (r"\x414", "A4"), (r"\u41", "A"), (r"\1234", "S4")),
        *((r"\777", "\udcff"), (r"\U110000", "\U0010ffff"), (r"\ud800", "?"), (r"\ca", "\x01")),
        *((r"\c", r"\c"), (r"\q", r"\q"), (r"\a\b\e\E\f\n\r\t\v\?", "\a\b\x1b\x1b\f\n\r\t\v?")),
    ]
    for written, made in escapes:
        assert words_in(f"$'{written}'", {}) == [made]


@pytest.mark.parametrize(
    ("vain", "kind"),
    [
        ("$((a)b) " * 50, "number"),
        ("$((a)b) " * 51, "output"),
        (f"$(({'b' * 399_999})x) ", "number"),
        (f"$(({'b' * 400_000})x) ", "output"),
    ],
    ids=["50 times", "51 times", "400,000 characters", "one more"],
)
def test_after_too_many_vain_guesses_nothing_is_taken_for_arithmetic(vain: str, kind: str) -> None:
    last = read_tokens(f"{vain}$((1))")[-1]
    assert isinstance(last, Word)
    assert last.pieces == (Expansion("$((1))", kind),)
