"""What a hook printed: an object, text, or an object among noise, in bounded time."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects.stdout import StdoutContent, parse_strictly, read_whole_object, trim
from hookline.dialects.stdout import parse_stdout as parse
from hookline.wire.outputs import TOP_LEVEL_FIELDS
from tests.arbitrary import JSON
from tests.eleven import Json

DENY: Json = {"decision": "deny", "reason": "no"}
MEGABYTE = 1024 * 1024
NOISE = st.lists(
    st.sampled_from(
        [
            *("log line", "{", "}", "[1]", "{not json}", "{'a': 1}", '{"x": 1}', "", "\r"),
            *('{"decision": "allow"}', '{"reason": "r"', '{"decision": "ask",}'),
        ]
    )
    | st.text(max_size=6),
    max_size=5,
).map("\n".join)
PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', '"decision"', '"deny"', "\n", "\r\n", " ", "x", "NaN", "1"]
)


def strictness(answer: Json) -> int:
    if answer.get("decision") in ("deny", "block") or answer.get("continue") is False:
        return 3
    return 2 if answer.get("decision") == "ask" else int("hookSpecificOutput" in answer)


def parse_stdout(text: str) -> StdoutContent:
    return parse(text, strictness)


def object_in(text: str) -> Json | None:
    return parse_stdout(text.strip()).object


def text_in(text: str) -> str | None:
    said = parse_stdout(text)
    assert (said.object, said.garbled) == (None, None)
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
    assert (said.object, said.text, said.garbled) == (None, None, None)
    [warning] = said.warnings
    assert "not an object" in warning


@pytest.mark.parametrize(
    "text",
    [
        *("hello", "two\nlines", "{}{}", "{a}", '{"level": "info"', "{'a': 'decision'}"),
        'the "decision": {yes}',
        'first {"decision": "deny"}\nall fine',
        'decision: deny, "continue"',
    ],
)
def test_other_text_is_text(text: str) -> None:
    assert text_in(text) == text
    assert not warned(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_not_json(number: str) -> None:
    text = f'{{"decision": "deny", "score": {number}}}'
    assert f"{number} is not JSON" in (parse_stdout(text).garbled or "")
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
        'x {"reason": "no"}',
        'x\n{"reason": "no"} x',
        'x\n{"level": "info"}',
        'x\n["reason", {"reason": "no"}]',
        'x\n"{}"',
        "x\n{}",
    ],
)
def test_an_object_within_a_line_or_without_a_known_field_is_part_of_the_text(text: str) -> None:
    assert text_in(text) == text
    assert not warned(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"decision": "deny"', "Expecting ',' delimiter (line 1, column 20)"),
        ('{"decision": "deny", "reason": "n', "Unterminated string"),
        ('{"decision":', "Expecting value (line 1, column 13)"),
        ('log\n{\n  "decision": "deny",', "(line 3, column "),
        ("{'decision': 'deny', 'reason': None}", "double quotes (line 1, column 2)"),
        ('{"decision": "deny",}', "(line 1, column "),
        ('{"continue": False}', "Expecting value (line 1, column 14)"),
        ('{"decision": "deny"} done', "Extra data (line 1, column 22)"),
        ('{"decision": "deny"}{"decision": "allow"}', "Extra data"),
        ('{"decision": "deny"}\0', "Extra data"),
        ('INFO scan {"decision": "deny"}', "Expecting value (line 1, column 1)"),
        ('log\r\nINFO:root:{"continue": false}', "Expecting value (line 2, column 1)"),
        ('INFO {"hookSpecificOutput": {"permissionDecision": "deny"}}', "Expecting value"),
        ('x\n["decision", {"decision": "deny"}]', "no field of an answer"),
        ('x\n{"verdict": {"decision": "deny"}}', "at its top (line 2, column 1)"),
        ('{"decision": "deny",}\nbye\n', "(line 1, column "),
        ('{"decision": "deny", "n": %s}' % ("9" * 5_000), "cannot be read"),
        (json.dumps('{"decision": "deny"'), "Expecting ',' delimiter"),
        ("[" * 100_000 + '\n{"decision": "deny",' + '{"a":' * 100_000, ""),
    ],
)
def test_text_that_was_meant_as_an_answer_is_a_garbled_one(text: str, problem: str) -> None:
    said = parse_stdout(text)
    assert said.object is None
    assert said.garbled is not None
    assert problem in said.garbled


@pytest.mark.parametrize(
    ("documents", "counts"),
    [
        ([{"decision": "deny", "reason": "no"}, {"decision": "allow"}], 0),
        ([{"decision": "deny", "reason": "no"}, {"level": "info", "reason": "done"}], 0),
        ([{"continue": False}, {"decision": "ask"}, {"continue": True}], 0),
        ([{"decision": "deny", "reason": "1"}, {"decision": "block", "reason": "2"}, {}], 1),
        ([{"decision": "ask"}, {"hookSpecificOutput": {}}, {"reason": "r"}], 0),
        ([{"hookSpecificOutput": {}}, {"decision": "allow"}, {"reason": "r"}], 0),
        ([{"decision": "allow"}, {"reason": "r"}, {"level": "info"}], 1),
    ],
)
def test_of_several_documents_the_last_of_the_strictest_counts(
    documents: list[Json], counts: int
) -> None:
    for indent, end in ((None, "\n"), (None, "\r\n"), (2, "\nlog\n")):
        text = end.join(json.dumps(document, indent=indent) for document in documents)
        assert object_in(text) == documents[counts]
        assert warned(text)


@pytest.mark.parametrize("character", ["\n", "\r\n", "\t", "\0", "\x1b[31m"])
def test_control_characters_in_strings_are_read_as_what_they_are(character: str) -> None:
    text = f'{{"decision": "deny", "reason": "one{character}two"}}'
    for printed in (text, f"log\n{text}", f"{text}\nlog"):
        assert object_in(printed) == {"decision": "deny", "reason": f"one{character}two"}
        assert warned(printed)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('{"decision":"deny","reason":"","decision":"allow","x":""}', {"decision": "deny"}),
        ('{"decision":"deny","\\u0064ecision":"allow"}', {"decision": "deny"}),
        ('{"continue":true,"decision":"ask","continue":false}', {"continue": False}),
        ('{"decision":"allow","decision":"deny"}', {"decision": "deny"}),
        (
            '{"hookSpecificOutput":{},"hookSpecificOutput":{"a":1}}',
            {"hookSpecificOutput": {"a": 1}},
        ),
    ],
)
def test_of_a_field_that_is_given_twice_the_stricter_one_counts(text: str, read: Json) -> None:
    """What a guard quotes in its reason without escaping it must not undo what it decides."""
    for printed in (text, f"log\n{text}\nlog"):
        found = object_in(printed)
        assert found is not None
        assert found.items() >= read.items()
        warnings = parse_stdout(printed).warnings
        assert [
            each for each in warnings if each.endswith("is given twice; the stricter one counts")
        ]


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


@pytest.mark.slow
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
        '{"decision":"allow"}\n' * (MEGABYTE // 2),
        "{" + ",".join(['"decision":"allow"'] * (MEGABYTE // 2)) + "}",
        '{ "decision":\n' * (MEGABYTE // 2),
        "{" + "," * (10 * MEGABYTE),
        '"' + "\\" * (10 * MEGABYTE),
    ],
    ids=[
        *("braces", "open", "lists", "quotes", "strings", "numbers", "nested", "records"),
        *("answers", "repeated", "fields", "commas", "escapes"),
    ],
)
def test_megabytes_of_hostile_text_are_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    said = parse_stdout(text + '\n{"decision": "deny", "reason": "no"}')
    assert time.process_time() - started < 5
    assert said.object == DENY or said.garbled is not None


@pytest.mark.parametrize(
    "text", ["{" + "," * (10 * MEGABYTE), '"' + "\\" * (10 * MEGABYTE)], ids=["commas", "escapes"]
)
def test_megabytes_that_hold_no_answer_are_too(text: str) -> None:
    started = time.process_time()
    parse_stdout(text)
    assert time.process_time() - started < 5


@given(NOISE, NOISE, st.sampled_from([None, 1]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_no_noise_around_a_denial_turns_it_into_an_allowance(
    before: str, after: str, indent: int | None, end: str
) -> None:
    text = f"{before}{end}{json.dumps(DENY, indent=indent)}{end}{after}"
    assert object_in(text) == DENY


@given(st.integers(0, 120), NOISE)
def test_no_part_of_a_denial_is_an_allowance(length: int, before: str) -> None:
    denial = json.dumps({"decision": "deny", "reason": "no", "hookSpecificOutput": {"a": [1]}})
    said = parse_stdout(f"{before}\n{denial[:length]}".strip())
    if said.object is None and length > len('{"decision":'):
        assert said.garbled is not None


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


@pytest.mark.parametrize(
    "printed",
    [
        *("{}", " \n{}\r\n ", "\ufeff{}", "\ufeff \n{}", "\x1b[32m{}\x1b[0m", "\x1b[m\x1b[K{}\n"),
        "\x1b[1;31m \ufeff{}\n\x1b(B\x1b[m\n",
    ],
)
def test_blanks_and_colours_at_both_ends_are_trimmed(printed: str) -> None:
    assert trim(printed) == "{}"


def test_nothing_within_an_answer_is_trimmed_though_it_looks_like_a_colour() -> None:
    for text in ('{"reason":"\x1b[31"}', '{"reason":"\x1b[31m"}', "a\x1b[0mb", "\x1b[2"):
        assert trim(text) == text


@pytest.mark.slow
@pytest.mark.parametrize("text", ["\x1b[0m", " ", "\x1b[", "\x1b[0;", "m"])
def test_megabytes_at_both_ends_are_trimmed_in_bounded_time(text: str) -> None:
    started = time.process_time()
    trim(text * MEGABYTE + "{}\x1b" + text * MEGABYTE)
    assert time.process_time() - started < 5


@given(JSON)
def test_a_guards_object_is_read_as_it_is(value: Any) -> None:
    text = json.dumps({"reason": value}).replace("NaN", "0").replace("Infinity", "0")
    for printed in (text, json.dumps(json.loads(text), indent=1, ensure_ascii=False)):
        assert read_whole_object(printed) == json.loads(text)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", '"', "\\"]), JSON), min_size=2, max_size=4))
def test_a_key_that_stands_twice_is_found_at_any_depth(pairs: list[tuple[str, Any]]) -> None:
    written = ",".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in pairs)
    text = f'{{"reason": [{{{written}}}]}}'.replace("NaN", "0").replace("Infinity", "0")
    is_repeated = len({key for key, _ in pairs}) < len(pairs)
    found = read_whole_object(text)
    assert (isinstance(found, str) and "twice" in found) is is_repeated


@given(NOISE, NOISE, st.sampled_from(["\n", " ", ""]))
def test_no_text_around_the_object_of_a_guard_is_read(before: str, after: str, end: str) -> None:
    text = trim(f"{before}{end}{json.dumps(DENY)}{end}{after}")
    said = parse_strictly(text)
    assert said.garbled is not None or said.object == DENY
