"""What a hook printed: an object, text, or an object among noise, in bounded time."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.pipeline.dialects.stdout import parse_stdout
from hookline.wire.outputs import TOP_LEVEL_FIELDS
from tests.arbitrary import JSON
from tests.eleven import Json

DENY: Json = {"decision": "deny", "reason": "no"}
MEGABYTE = 1024 * 1024
NOISE = st.lists(
    st.sampled_from(["log line", "{", "}", "[1]", "{not json}", "{'a': 1}", '{"x": 1}', "", "\r"])
    | st.text(max_size=6),
    max_size=5,
).map("\n".join)
PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', '"decision"', '"deny"', "\n", "\r\n", " ", "x", "NaN", "1"]
)


def object_in(text: str) -> Json | None:
    return parse_stdout(text.strip()).object


def text_in(text: str) -> str | None:
    said = parse_stdout(text)
    assert said.object is None
    return said.text


def warned(text: str) -> bool:
    return bool(parse_stdout(text).warnings)


def test_nothing_printed_is_nothing_said() -> None:
    said = parse_stdout("")
    assert (said.object, said.text, said.warnings) == (None, None, ())


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("answer", [{}, DENY, {"novel": [1, {"a": None}]}])
def test_a_json_object_is_the_answer(answer: Json, indent: int | None) -> None:
    text = json.dumps(answer, indent=indent)
    assert object_in(text) == answer
    assert not warned(text)


def test_a_json_string_is_decoded_once_more() -> None:
    once = json.dumps(json.dumps(DENY))
    assert object_in(once) == DENY
    assert parse_stdout(json.dumps(once)).object is None


def test_a_json_string_that_holds_no_json_is_text_quotes_included() -> None:
    assert text_in('"just words"') == '"just words"'


@pytest.mark.parametrize(
    "text", ["42", "-1.5e3", "true", "false", "null", "[]", '[{"decision": "deny"}]', '"7"', '"[]"']
)
def test_any_other_json_value_is_ignored_with_a_warning(text: str) -> None:
    said = parse_stdout(text)
    assert (said.object, said.text) == (None, None)
    assert "not an object" in said.warnings[0]


@pytest.mark.parametrize("text", ["hello", "two\nlines", '{"decision": "deny"', "{}{}", "{a}"])
def test_other_text_is_text(text: str) -> None:
    assert text_in(text) == text
    assert not warned(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_not_json(number: str) -> None:
    text = f'{{"decision": "deny", "score": {number}}}'
    assert text_in(text) == text
    assert object_in(f'{text}\n{{"decision": "ask"}}') == {"decision": "ask"}


@pytest.mark.parametrize(
    "text",
    [
        'starting\n{"decision": "deny", "reason": "no"}',
        '{"decision": "deny", "reason": "no"}\nbye',
        'a\nb\n  {"decision": "deny", "reason": "no"}  \nc\n',
        'a\r\n{"decision": "deny", "reason": "no"}\r\nc',
        'working 10%\rworking 100%\r{"decision": "deny", "reason": "no"}',
        '{"decision": "allow"}\n{"decision": "deny", "reason": "no"}',
        '{"level": "info"}\n{"decision": "deny", "reason": "no"}\n{"level": "info"}',
        '{"decision": "deny", "reason": "no"}\n{"decision": "allow"',
        '{"decision": "deny", "reason": "no"}\n{"decision": "allow"} done',
        '{"decision": "deny", "reason": "no"}\ndone {"decision": "allow"}',
        'x\n{\n  "decision": "deny",\n  "reason": "no"\n}\ny',
        '{not json\n{"decision": "deny", "reason": "no"}\n}',
    ],
)
def test_among_noise_the_last_object_on_lines_of_its_own_with_a_known_field_counts(
    text: str,
) -> None:
    assert object_in(text) == DENY
    assert warned(text)


@pytest.mark.parametrize(
    "text",
    [
        'x {"decision": "deny"}',
        'x\n{"decision": "deny"} x',
        'x\n{"level": "info"}',
        'x\n["decision", {"decision": "deny"}]',
        'x\n"{}"',
        "x\n{}",
    ],
)
def test_an_object_within_a_line_or_without_a_known_field_is_part_of_the_text(text: str) -> None:
    assert text_in(text) == text
    assert not warned(text)


@pytest.mark.parametrize("field", TOP_LEVEL_FIELDS)
def test_each_of_the_seven_fields_is_known(field: str) -> None:
    assert object_in(f'log\n{{"{field}": null}}') == {field: None}


def test_of_objects_within_each_other_the_outer_one_counts() -> None:
    inner = {"decision": "allow", "reason": "quoted"}
    answer = {**DENY, "hookSpecificOutput": {"list": [inner, inner], "object": inner}}
    for indent in (1, 2, "\t"):
        text = json.dumps(answer, indent=indent)
        assert object_in(f"log\n{text}\nlog") == answer


def test_of_objects_within_one_that_is_no_answer_the_last_counts() -> None:
    record = json.dumps({"level": "info", "items": [{"a": 1}, DENY]}, indent=2)
    assert object_in(f"log\n{record}\nlog") == DENY


def test_a_long_pretty_printed_answer_after_a_log_line_is_found_whole() -> None:
    messages = [{"role": "user", "content": "x" * 40} for _ in range(5_000)]
    answer = {**DENY, "hookSpecificOutput": {"llm_request": {"messages": messages}}}
    assert object_in("log\n" + json.dumps(answer, indent=2) + "\nlog") == answer


def test_an_answer_at_the_end_of_a_long_log_is_found() -> None:
    log = '{\'a\': 1}\n{"level": "info", \n' * 100_000
    assert object_in(log + json.dumps(DENY)) == DENY


def test_lone_surrogates_and_deep_nesting_do_not_hide_an_answer() -> None:
    assert object_in('x\n{"decision": "deny", "reason": "\\ud800"}') == {
        "decision": "deny",
        "reason": "\ud800",
    }
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert object_in(f'{deep}\n{{"decision": "deny", "reason": "no"}}') == DENY


@pytest.mark.parametrize(
    "text",
    [
        "{\n" * (5 * MEGABYTE),
        '{"a":\n' * MEGABYTE,
        '{"a":[' + '1,\n{"a":[' * (MEGABYTE // 2),
        '{"\n' * MEGABYTE,
        ('{"a":"' + "x" * 5_000 + "\n") * 2_000,
        "\n".join('{"a":[' + "1," * 2_500 for _ in range(1_000)),
        "x\n" + '{"a":\n' * 900 + '"' + "x" * (9 * MEGABYTE) + '"' + "}\n" * 900,
        '{"a": 1}\n' * (MEGABYTE // 2),
    ],
    ids=["braces", "open", "lists", "quotes", "strings", "numbers", "nested", "records"],
)
def test_megabytes_of_hostile_text_are_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    parse_stdout(text)
    assert time.process_time() - started < 5


@given(NOISE, NOISE)
def test_no_noise_around_a_denial_turns_it_into_an_allowance(before: str, after: str) -> None:
    text = f"{before}\n{json.dumps(DENY)}\n{after}"
    assert object_in(text) == DENY


@given(st.text(max_size=60) | st.lists(PIECES, max_size=25).map("".join))
def test_any_text_whatever_is_survived(text: str) -> None:
    said = parse_stdout(text.strip())
    assert said.object is None or said.text is None
    assert said.text is None or said.text == text.strip()


@given(st.binary(max_size=60))
def test_any_bytes_whatever_are_survived(content: bytes) -> None:
    assert parse_stdout(content.decode("utf-8", "replace")) is not None


@given(JSON)
def test_a_json_document_is_an_answer_if_it_is_an_object_and_else_none(value: Any) -> None:
    text = json.dumps(value).replace("NaN", "0").replace("Infinity", "0")
    assert (object_in(text) is not None) is isinstance(value, dict)
