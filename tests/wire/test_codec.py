"""JSON as the wire has it: fast where msgspec reads it, and complete where it does not."""

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.errors import PayloadEncodingError
from hookline.wire import codec
from tests.arbitrary import JSON


@given(JSON)
def test_what_is_written_reads_back_the_same_but_for_numbers_json_does_not_have(
    value: Any,
) -> None:
    standard = json.loads(json.dumps(value), parse_constant=lambda _: None)
    assert codec.copy(value) == standard


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_text_is_a_document_or_a_decode_error(text: bytes | str) -> None:
    with contextlib.suppress(codec.DecodeError):
        codec.decode(text)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", '{"a": NaN}', "[Infinity]"])
def test_nan_and_infinity_are_not_json(text: str) -> None:
    with pytest.raises(codec.DecodeError):
        codec.decode(text)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("beside", ["text", "\ud800"])
def test_a_number_json_does_not_have_is_written_as_null(value: float, beside: str) -> None:
    written = codec.encode({"number": value, "text": beside})
    assert codec.decode(written) == {"number": None, "text": beside}


def test_lone_surrogates_pass_both_ways_in_keys_and_values() -> None:
    value = {"\ud800": "a\udfffb", "plain": "é😀"}
    written = codec.encode(value)
    assert written.isascii()
    assert codec.decode(written) == value
    assert codec.decode('{"a": "\ud800"}') == {"a": "\ud800"}


@pytest.mark.parametrize("number", [2**64, -(2**70), 10**400])
def test_integers_of_any_size_keep_their_value(number: int) -> None:
    assert codec.copy({"number": number}) == {"number": number}


def test_numbers_beyond_a_double_are_read_and_not_refused() -> None:
    assert codec.decode('{"decision": "deny", "number": 1e999}')["decision"] == "deny"


@pytest.mark.parametrize(
    "value",
    [object(), {"a": print}, {None: 1}, {(1, 2): 3}, 1j],
    ids=["object", "function", "null key", "tuple key", "complex"],
)
def test_what_has_no_json_form_is_an_error_that_says_so(value: object) -> None:
    with pytest.raises(PayloadEncodingError, match="no JSON form"):
        codec.encode(value)
    with pytest.raises(PayloadEncodingError, match="no JSON form"):
        codec.encode(["\ud800", value])


def test_a_value_that_contains_itself_is_an_error_and_not_a_crash() -> None:
    value: list[Any] = ["\ud800"]
    value.append(value)
    with pytest.raises(PayloadEncodingError, match="contains itself"):
        codec.encode(value)
    with pytest.raises(PayloadEncodingError, match="contains itself"):
        codec.encode(value[1:])


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000 + "1" + "}" * 50_000])
def test_nesting_too_deep_to_read_is_a_decode_error(text: str) -> None:
    with pytest.raises(codec.DecodeError):
        codec.decode(text)


def test_a_copy_shares_nothing_with_its_original() -> None:
    original: dict[str, Any] = {"list": [1], "object": {"key": "value"}}
    copy = codec.copy(original)
    copy["list"].append(2)
    copy["object"]["key"] = "changed"
    assert original == {"list": [1], "object": {"key": "value"}}


def test_bytes_that_are_not_utf_8_are_a_decode_error() -> None:
    with pytest.raises(codec.DecodeError):
        codec.decode(b'{"a": "\xff\xfe"}')
