"""Lines and tables that fit any width, and lose nothing but what is cut with an ellipsis."""

import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.cli.screen import (
    DIFF_ROLES,
    Column,
    Row,
    Screen,
    break_command,
    count,
    cut,
    diff,
    duration,
    fit_line,
    fit_table,
    head,
    printable,
    shorten_path,
    shorten_place,
    terminal_width,
    width_of,
)

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Zs", "Zl", "Zp", "Cc"]))


def lines(rows: Sequence[Row], columns: list[Column], width: int | None) -> list[str]:
    fitted = fit_table(rows, columns, indent=2, width=width)
    return ["".join(text for text, _ in line).rstrip() for line in fitted]


def test_columns_stand_below_each_other_and_numbers_to_the_right() -> None:
    rows = [("a", "1 ms", "short"), ("longer", "100 ms", "two\nlines")]
    assert lines(rows, ["cut", "right"], None) == [
        "  a         1 ms  short",
        "  longer  100 ms  two",
        "                  lines",
    ]


def test_the_last_column_wraps_and_the_first_is_cut() -> None:
    rows = [("name " * 8, "ok", "a reason that is longer than what is left of the line")]
    assert lines(rows, ["cut", "keep"], 60) == [
        "  name name name name name…   ok  a reason that is longer",
        "                                  than what is left of the",
        "                                  line",
    ]


def test_the_last_column_moves_below_where_little_room_is_left() -> None:
    rows = [("command-guard", "denied", "a reason of some length"), ("b", "ok", "short")]
    assert lines(rows, ["cut", "keep"], 36) == [
        "  command-guard  denied",
        "      a reason of some length",
        "  b              ok      short",
    ]


def test_a_command_is_broken_where_a_shell_reads_it_alike() -> None:
    command = """fire --tool write --input '{"a":"b c","d":1}' --json -- x"""
    assert list(break_command(command, width=None)) == [command]
    assert list(break_command(command, width=len(command) + 1)) == [
        """fire --tool write --input '{"a":"b c","d":1}' --json -- \\""",
        "  x",
    ]
    # An option keeps its value as long as both fit into a line, and an object is broken last.
    assert list(break_command(command, width=34)) == [
        "fire --tool write \\",
        """  --input '{"a":"b c","d":1}' \\""",
        "  --json -- x",
    ]
    assert list(break_command(command, width=24))[1:] == [
        """  --input '{"a":"b c",""",
        """  "d":1}' --json -- x""",
    ]


def test_one_long_cell_does_not_push_piped_rows_apart() -> None:
    rows = [("a", "x"), ("b" * 60, "y")]
    assert lines(rows, ["cut"], None) == ["  a  x", f"  {'b' * 60}  y"]


@given(st.lists(WORDS, max_size=12), st.integers(1, 40), st.integers(0, 6))
def test_a_wrapped_line_fits_and_keeps_every_word(words: list[str], room: int, indent: int) -> None:
    text = " ".join(words)
    fitted = list(fit_line([text], indent=indent, width=indent + room))
    written = ["".join(part for part, _ in line) for line in fitted]
    # A character two columns wide does not fit into one.
    assert all(width_of(line.rstrip()) <= indent + max(room, 2) for line in written)
    assert "".join("".join(written).split()) == "".join(printable(text).split())


@given(st.text(), st.text(), st.integers(8, 90))
def test_a_table_fits_whatever_is_in_it(name: str, reason: str, width: int) -> None:
    fitted = lines([(name, "ok", reason)], ["cut", "keep"], width)
    assert all(width_of(line) <= max(width, 10) for line in fitted)


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (0.04, "0.0 ms"),
        (0.4, "0.4 ms"),
        (0.99, "1.0 ms"),
        (1, "1 ms"),
        (12.6, "13 ms"),
        (999.4, "999 ms"),
        (1000, "1 s"),
        (1234, "1.23 s"),
        (99_960, "100 s"),
        (123_400, "123 s"),
        (999_960, "1000 s"),
        (1_000_000, "1000 s"),
        (5e6, "5000 s"),
    ],
)
def test_times_are_said_as_people_say_them(milliseconds: float, said: str) -> None:
    assert duration(milliseconds) == said


@given(st.text())
def test_printable_text_has_nothing_that_steers_a_terminal(text: str) -> None:
    shown = printable(text)
    assert all(c.isprintable() or c in "\n\u200d" for c in shown)
    shown.encode("utf-8")


def wrapped(text: str, width: int, *, mark: str = "") -> list[str]:
    fitted = fit_line([text], indent=4 if mark else 0, width=width, mark=mark)
    return ["".join(part for part, _ in line).rstrip() for line in fitted]


def test_a_command_is_not_broken_where_it_fits_in_a_line() -> None:
    text = "review it with `hookline trust`, and then go on"
    assert wrapped(text, 28) == ["review it with", "`hookline trust`, and then", "go on"]
    assert wrapped(text, 12) == ["review it", "with", "`hookline", "trust`, and", "then go on"]


def test_what_goes_on_in_the_next_line_is_marked_where_lines_count() -> None:
    assert wrapped("# harmless; rm -rf /", 16, mark=">") == ["    # harmless;", "  > rm -rf /"]
    assert wrapped("echo a", 16, mark=">") == ["    echo a"]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Ascii(Terminal):
    """A terminal whose encoding has few characters."""

    encoding = "ascii"


class Failing(io.StringIO):
    """A stream whose writes raise one error after the other."""

    def __init__(self, *errors: OSError) -> None:
        super().__init__()
        self.troubles = list(errors)

    def write(self, _text: str) -> int:
        raise self.troubles.pop(0)


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("name", "value", "is_styled"),
    [
        ("NO_COLOR", "", True),
        ("NO_COLOR", "1", False),
        ("TERM", "DUMB", False),
        ("TERM", "unknown", False),
    ],
)
def test_only_a_terminal_that_wants_colour_gets_it(
    name: str, value: str, is_styled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    stream = Terminal()
    Screen(stream, None).line(("ok", "good"), " plain  ", ("  ", "bad"))
    assert stream.getvalue() == ("\x1b[32mok\x1b[0m plain\n" if is_styled else "ok plain\n")


def test_neighbouring_words_of_one_role_are_styled_once() -> None:
    stream = Terminal()
    Screen(stream, None).line(("two words", "good"))
    assert stream.getvalue() == "\x1b[32mtwo words\x1b[0m\n"


def test_what_an_encoding_lacks_is_written_out_and_a_cut_takes_one_column() -> None:
    stream = Ascii()
    screen = Screen(stream, None)
    screen.line("caf\u00e9")
    screen.table([("a" * 60, "b" * 60)], ["cut"])
    screen.quote("word " * 30)
    first, cell, *_, last = stream.getvalue().splitlines()
    assert first == "caf\\xe9"
    assert "a. " in cell
    assert last.startswith("\x1b[2m  > \x1b[0mword")


def test_a_quoted_line_that_goes_on_has_an_arrow_where_there_is_one() -> None:
    stream = Terminal()
    Screen(stream, None).quote("word " * 30)
    assert stream.getvalue().splitlines()[1].startswith("\x1b[2m  \u21aa \x1b[0mword")


def test_a_warning_goes_to_stderr_below_what_was_shown() -> None:
    both = io.BytesIO()
    stdout = io.TextIOWrapper(both, encoding="utf-8")
    stderr = io.TextIOWrapper(both, encoding="utf-8", write_through=True)
    screen = Screen(stdout, stderr)
    screen.line("first")
    screen.warning("look")
    assert both.getvalue() == b"first\nwarning: look\n"


def test_a_stream_that_is_missing_takes_everything_silently() -> None:
    screen = Screen(None, None)
    screen.line("a")
    screen.warning("b")
    screen.document({})
    screen.flush()
    assert (screen.is_terminal, screen.width, screen.lost) == (False, None, None)


def test_the_first_error_of_output_is_kept_and_a_closed_pipe_is_none() -> None:
    first, second = OSError(28, "full"), OSError(5, "broken")
    screen = Screen(Failing(BrokenPipeError(), first, second), None)
    screen.line("a")
    assert screen.lost is None
    screen.line("b")
    screen.line("c")
    assert screen.lost is first


def test_a_document_is_one_line_but_pretty_on_a_terminal() -> None:
    piped, terminal = io.StringIO(), Terminal()
    for stream in (piped, terminal):
        Screen(stream, None).document({"a": "\u202e\U000e0001"})
    assert piped.getvalue() == '{"a":"\\u202e\\udb40\\udc01"}\n'
    assert terminal.getvalue() == '{\n  "a": "\\u202e\\udb40\\udc01"\n}\n'


def test_a_document_follows_the_lines_before_it_in_utf_8() -> None:
    raw = io.BytesIO()
    screen = Screen(io.TextIOWrapper(raw, encoding="ascii"), None)
    screen.line("first")
    screen.document("\u00e9")
    assert raw.getvalue() == b'first\n"\xc3\xa9"\n'


def test_a_raw_line_is_neither_wrapped_nor_styled() -> None:
    stream = Terminal()
    Screen(stream, None).raw_line("x " * 100 + "\x1b[31m")
    assert stream.getvalue() == "x " * 100 + "\\x1b[31m\n"


@pytest.mark.parametrize(
    ("columns", "width"), [("100", 100), ("1", 1), ("0", 80), ("", 80), ("wide", 80), ("-5", 80)]
)
def test_columns_overrules_the_width_unless_it_is_no_number(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal_width(None) == width
    assert terminal_width(io.StringIO()) == width


@pytest.mark.parametrize(
    ("text", "width"), [("", 0), ("ab", 2), ("\u00e9", 1), ("e\u0301", 1), ("\u6f22\uff21", 4)]
)
def test_a_wide_character_takes_two_columns_and_a_combining_one_none(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize(
    ("text", "width", "first", "short"),
    [
        ("abc", 3, "abc", "abc"),
        ("abcd", 3, "abc", "ab\u2026"),
        ("a\nc", 3, "a\nc", "a c"),
        ("ab cd", 4, "ab c", "ab\u2026"),
        ("\u6f22\u6f22", 3, "\u6f22", "\u6f22\u2026"),
        ("abc", 0, "a", "a\u2026"),
    ],
)
def test_a_text_is_cut_only_if_it_does_not_fit(
    text: str, width: int, first: str, short: str
) -> None:
    assert head(text, width) == first
    assert cut(text, width) == short


def test_one_is_singular_and_none_is_plural() -> None:
    assert [count(number, "hook") for number in (0, 1, 2)] == ["0 hooks", "1 hook", "2 hooks"]


def test_a_path_is_shown_from_here_or_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "home" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    paths = [f"{here}/a/b", str(here), f"{here}after/c", f"{tmp_path}/d"]
    assert [*map(shorten_path, paths)] == ["a/b", "~/here", "~/hereafter/c", f"{tmp_path}/d"]
    assert shorten_place(os.path.join(here, "a"), 3) == "a:3"
    assert shorten_place(None, None) == ""


def test_a_diff_has_signs_and_no_file_names() -> None:
    shown = diff(["a", "b", "c", "d"], ["a", "x", "c", "d"], around=1)
    assert shown == ["@@ -1,3 +1,3 @@", " a", "-b", "+x", " c"]
    assert diff(["a"], ["a"], around=1) == []


def test_a_cell_of_the_widest_width_still_sets_its_column() -> None:
    rows = [("a" * 32, "x"), ("b", "y")]
    assert lines(rows, ["cut"], None) == [f"  {'a' * 32}  x", f"  b{' ' * 33}y"]


def test_further_lines_of_a_text_are_indented_and_a_name_has_none() -> None:
    assert wrapped("one\ntwo", 40) == ["one", "    two"]
    assert wrapped("one\ntwo", 8) == ["one", "two"]
    assert wrapped("one\ntwo", 9) == ["one", "    two"]
    (line,) = fit_line([("a\nb", "name")], indent=0, width=40)
    assert line[1:] == [("a\\nb", "name")]


@pytest.mark.parametrize(
    ("width", "first"),
    [
        (14, "  abc…  ok"),
        (20, "  abcdefghi…  ok"),
        (22, "  abcdefghija…  ok"),
        (27, "  abcdefghija…  ok"),
        (28, "  abcdefghijab…  ok"),
        (54, "  abcdefghijabcdefghijabcde…  ok"),
        (55, "  abcdefghijabcdef…  ok      some words of a reason"),
        (67, "  abcdefghijabcdefghijabcdefgh…  ok      some words of a reason"),
        (68, "  abcdefghijabcdefghijabcdefghij  ok      some words of a reason"),
    ],
)
def test_a_column_is_cut_no_more_than_the_width_asks_for(width: int, first: str) -> None:
    reason = "some words of a reason that wraps"
    rows = [("abcdefghij" * 3, "ok", reason), ("b", "denied", "x")]
    assert lines(rows, ["cut", "keep"], width)[0] == first


def test_a_command_that_just_fits_into_a_line_is_not_broken() -> None:
    text = "review it with `hookline trust`, and then go on"
    assert wrapped(text, 17) == ["review it with", "`hookline trust`,", "and then go on"]
    assert wrapped(text, 16)[1] == "`hookline"
    command = "fire --tool ab --x"
    assert list(break_command(command, width=13)) == ["fire \\", "  --tool ab \\", "  --x"]
    assert list(break_command(command, width=12)) == ["fire \\", "  --tool \\", "  ab --x"]


@pytest.mark.parametrize(
    ("role", "style"),
    [
        *(("title", "1"), ("name", "1"), ("faint", "2"), ("matcher", "36"), ("good", "32")),
        *(("bad", "1;31"), ("care", "33"), ("change", "35")),
        *((DIFF_ROLES["+"], "32"), (DIFF_ROLES["-"], "1;31"), (DIFF_ROLES["@"], "2")),
    ],
)
def test_a_role_has_its_style(role: str, style: str) -> None:
    stream = Terminal()
    Screen(stream, None).line(("x", role))
    assert stream.getvalue() == f"\x1b[{style}mx\x1b[0m\n"
