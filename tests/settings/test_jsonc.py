"""JSON with comments and trailing commas, and places for everything in it."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.settings.jsonc import (
    JsoncError,
    Path,
    Span,
    parse,
    spoken,
    text_of,
    value_at,
)
from tests.arbitrary import JSON

PIECES = st.sampled_from(["{", "}", "[", "]", ",", ":", '"a"', "1", "//x\n", "/*", "*/", "\n", '"'])


def value_of(text: str) -> Any:
    return parse(text).value


def problem_of(text: str) -> JsoncError:
    with pytest.raises(JsoncError) as caught:
        parse(text)
    return caught.value


def spans(span: Span, path: Path = ()) -> Iterator[tuple[Path, Span]]:
    """Every span of a document with the path to it."""
    yield path, span
    members = span.members or ()
    for step, member in members.items() if isinstance(members, dict) else enumerate(members):
        yield from spans(member, (*path, step))


@given(JSON)
def test_plain_json_reads_as_the_standard_library_reads_it(value: Any) -> None:
    text = (
        json.dumps(value).replace("NaN", "null").replace("-Infinity", "0").replace("Infinity", "0")
    )
    assert value_of(text) == json.loads(text)


@given(st.lists(PIECES | st.text(max_size=3), max_size=12).map("".join))
def test_any_text_is_a_document_or_an_error_with_a_place_in_it(text: str) -> None:
    try:
        parse(text)
    except JsoncError as error:
        lines = text.split("\n")
        inside = (
            1 <= error.line <= len(lines) and 1 <= error.column <= len(lines[error.line - 1]) + 1
        )
        if not inside:
            pytest.fail(str(error))


def test_comments_of_both_kinds_are_white_space_anywhere() -> None:
    text = """// before
    { // after the bracket
      /* a key */ "a" /* x */ : /* y
      over lines */ [1, // one
        2 /* two */ ] // end
    } /* after */ // the end"""
    assert value_of(text) == {"a": [1, 2]}


def test_what_looks_like_a_comment_in_a_string_is_text() -> None:
    assert value_of('{"url": "https://x/*y*/", "a": "\\"//"}') == {
        "url": "https://x/*y*/",
        "a": '"//',
    }


def test_a_trailing_comma_is_accepted_in_objects_and_lists() -> None:
    assert value_of('{"a": [1, 2,], "b": {"c": 1,},}') == {"a": [1, 2], "b": {"c": 1}}


@pytest.mark.parametrize("text", ["[,]", "{,}", "[1,,2]", '{"a":1,,}', "[1 2]", '{"a" 1}'])
def test_commas_and_colons_are_needed_where_json_needs_them(text: str) -> None:
    assert "expected" in problem_of(text).problem


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3),
        ('{"a": tru}', 1, 7),
        ('{\n  "a": [1, 2\n', 3, 1),
        ('{\n  "open\n}', 2, 3),
        ("{\n\n  key: 1}", 3, 3),
        ('{"a": 1} extra', 1, 10),
        ('{"a": 01}', 1, 7),
        ('{"a": /* open', 1, 7),
        ("", 1, 1),
        ('{"a": "\\x"}', 1, 7),
        ('{"é😀": 1, x}', 1, 11),
        ("{'a': 1}", 1, 2),
        ('{"a": NaN}', 1, 7),
    ],
)
def test_a_syntax_error_says_its_line_and_column(text: str, line: int, column: int) -> None:
    problem = problem_of(text)
    assert (problem.line, problem.column) == (line, column)
    assert str(problem) == f"{line}:{column}: {problem.problem}"


def test_crlf_counts_as_one_line_end() -> None:
    problem = problem_of('{\r\n  // one\r\n  "a": 1,\r\n  b\r\n}')
    assert (problem.line, problem.column) == (4, 3)


def test_every_value_has_its_place() -> None:
    document = parse('{\n  "hooks": {\n    "A": [\n      {"x": 1}, /* c */ {"x": 2}\n]}}')
    assert document.place(()) == (1, 1)
    assert document.place(("hooks",)) == (2, 12)
    assert document.place(("hooks", "A", 1)) == (4, 25)
    assert document.place(("hooks", "A", 1, "x")) == (4, 31)


@given(value=JSON, indent=st.sampled_from([None, 2, "\t"]))
def test_a_span_is_where_the_key_and_the_value_stand(
    value: object, indent: int | str | None
) -> None:
    text = json.dumps({"top": value}, indent=indent).replace("NaN", "0").replace("Infinity", "0")
    document = parse(text)
    for path, span in spans(document.root):
        assert value_of(text[span.start : span.end]) == value_at(document.value, path)
        if path and isinstance(path[-1], str):
            assert value_of(text[span.key : span.key_end]) == path[-1]
        else:
            assert span.key == span.key_end == span.start
        assert document.span(path) is span
        assert document.place(path) == document.place_of(span.start)


def test_a_span_knows_nothing_of_what_is_not_there() -> None:
    document = parse('{"a": [1, {"b": 2}]}')
    for path in (("b",), ("a", 2), ("a", "b"), ("a", 0, 0), ("a", 1, "b", "c")):
        assert document.span(path) is None


def test_a_value_that_is_not_there_has_the_place_of_its_nearest_parent() -> None:
    document = parse('{\n  "hooks": {}}')
    assert document.place(("hooks", "BeforeTool", 0, "hooks")) == (2, 12)
    assert document.place(("nothing",)) == (1, 1)


def test_keys_given_twice_are_remembered_and_the_last_counts() -> None:
    document = parse('{"a": {"b": 1, "b": 2}, "a": {"c": 3}}')
    assert document.value == {"a": {"c": 3}}
    assert list(document.duplicates) == [("a", "b"), ("a",)]


def test_nesting_without_end_is_an_error_with_a_place() -> None:
    assert value_of("[" * 64 + "]" * 64)
    problem = problem_of("\n" + "[" * 5_000)
    assert (problem.kind, problem.line, problem.column) == ("too-deep", 2, 65)
    assert problem.problem == "is nested more than 64 deep, the most that is read"


def test_a_text_of_a_mebibyte_is_read_and_not_a_byte_more() -> None:
    content = b"\n" * 1024 * 1024
    assert text_of(content) == content.decode()
    with pytest.raises(JsoncError) as caught:
        text_of(content + b"{")
    assert (caught.value.kind, caught.value.line) == ("too-large", 1024 * 1024 + 1)
    told = "s.json:1048577:1: is larger than 1,048,576 bytes, the most that is read"
    assert str(caught.value.problem_of("s.json")) == told


def test_what_is_not_utf8_has_its_place() -> None:
    with pytest.raises(JsoncError) as caught:
        text_of(b'\xef\xbb\xbf{\n "\xc3\xa9\xff"}')
    assert (caught.value.line, caught.value.column) == (2, 4)


@pytest.mark.slow
@pytest.mark.parametrize("member", ['"a":1,', '"a":{"a":[1,2,3]},', '"a":"\\u0041","b":[],'])
def test_reading_is_linear_in_the_size_whatever_is_in_it(member: str) -> None:
    def seconds(characters: int) -> float:
        text = "{" + member * (characters // len(member)) + "}"
        started = time.perf_counter()
        document = parse(text)
        for path in document.duplicates:
            document.place(path)
        return time.perf_counter() - started

    small = min(seconds(50_000) for _ in range(5))
    assert min(seconds(800_000) for _ in range(2)) < 16 * 5 * small


def test_a_long_file_of_comments_is_read_in_a_moment() -> None:
    text = "// x\n" * 200_000 + "/*" + "*" * 200_000 + '*/ {"a": 1}'
    assert value_of(text) == {"a": 1}
    assert problem_of("/*" + " * /" * 200_000).problem == "this comment is not closed"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), {"a": [{"b": 1}], "text": "x"}),
        (("a", 0, "b"), 1),
        (("a", 1), None),
        (("a", "b"), None),
        (("a", 0, "b", "c"), None),
        (("text", 0), None),
        (("none",), None),
    ],
)
def test_what_is_at_a_path_is_found_and_nothing_where_nothing_is(path: Path, found: object) -> None:
    assert value_at({"a": [{"b": 1}], "text": "x"}, path) == found


def test_a_path_is_told_as_people_write_it() -> None:
    assert spoken(("hooks", "BeforeTool", 0, "timeout")) == "hooks.BeforeTool[0].timeout"
