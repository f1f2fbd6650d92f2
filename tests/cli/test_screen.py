"""Lines and tables that fit any width, and lose nothing but what is cut with an ellipsis."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.cli.screen import (
    Column,
    Row,
    break_command,
    duration,
    fit_line,
    fit_table,
    printable,
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
        (12.6, "13 ms"),
        (999.4, "999 ms"),
        (1234, "1.23 s"),
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
