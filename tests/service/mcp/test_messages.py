"""Laws of what is read from a line, whatever the line holds."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookline.service.mcp.messages import Fault, Message, encode, key_of, read_messages

KEYS = st.sampled_from(["id", "method", "params", "result", "Method", "a", "\u017f", "\ud800"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.dictionaries(KEYS, VALUES | st.just("tools/call"), max_size=5)


@given(st.binary(max_size=200))
@example(b"\xef\xbb\xbf\xef\xbb\xbf{}")
@example(b"[[[[")
@example(b"[{}")
def test_any_bytes_are_read_without_raising(line: bytes) -> None:
    for message in read_messages(line):
        assert isinstance(message.raw, bytes)


@given(MESSAGES, st.sampled_from([None, 1]), st.sampled_from(["", "\r", " \r "]))
def test_what_passes_is_one_line_for_every_reader_and_means_the_same(
    fields: Any, indent: int | None, end: str
) -> None:
    text = json.dumps(fields, indent=indent).replace("\n", "\r") + end
    (message,) = read_messages(text.encode())
    if isinstance(message, Message):
        assert b"\r" not in message.raw
        assert b"\n" not in message.raw
        assert json.loads(message.raw) == fields


@given(st.lists(MESSAGES, min_size=1, max_size=4))
def test_a_batch_holds_what_its_parts_hold(batch: list[Any]) -> None:
    whole = list(read_messages(json.dumps(batch).encode()))
    alone = [next(read_messages(json.dumps(part).encode())) for part in batch]
    assert whole == alone


@given(MESSAGES.filter(lambda fields: "\u017f" not in fields))
@example({"a": "one\u2028line\u2029for\x85all"})
def test_what_is_written_anew_is_one_line_and_means_the_same(fields: Any) -> None:
    try:
        line = encode(fields)
    except ValueError:
        assert "Infinity" in json.dumps(fields)
        return
    assert json.loads(line) == fields
    assert len(line.decode().splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "problem", "code", "id", "is_response"),
    [
        (b"{", "it is not JSON", -32700, None, False),
        (b'{"id":1,"n":NaN,"method":"x"}', "it is not JSON: NaN", -32700, 1, False),
        (b"5", "it is not an object", -32600, None, False),
        (b"[]", "the batch is empty", -32600, None, False),
        (b'{"id":1,"id":1,"method":"x"}', "it has a key twice", -32600, 1, False),
        (b'{"id":1,"Method":"x"}', "another key in other letters", -32600, 1, True),
        (b'{"id":1}', "neither a request nor a response", -32600, 1, True),
        (b'{"id":1,"result":1,"error":1}', "neither a request nor", -32600, 1, True),
        (b'{"id":1,"method":"x","result":1}', "both a request and a response", -32600, 1, False),
        (b'{"id":1,"method":5}', "its method is not a text", -32600, 1, False),
        (b'{"id":true,"method":5}', "its method is not a text", -32600, None, False),
        (b'{"id":1,"method":" Tools/Call"}', "there is no method", -32601, 1, False),
        (b'{"id":1,"method":"tools/call\\u0000x"}', "there is no method", -32601, 1, False),
        (b'{"id":1,"method":"tools/call","params":{"a":1,"a":2}}', "key twice", -32600, 1, False),
        (b"\xff", "it is not UTF-8 at byte 0", -32700, None, False),
    ],
)
def test_a_fault_says_what_is_wrong_and_whose_it_is(
    line: bytes, problem: str, code: int, id: Any, is_response: bool
) -> None:
    [fault] = read_messages(line)
    assert isinstance(fault, Fault)
    assert problem in fault.problem
    assert (fault.code, fault.id) == (code, id)
    if id is not None:
        assert fault.is_response is is_response


def test_a_message_is_a_request_a_notification_or_a_response() -> None:
    def kinds(line: bytes) -> tuple[bool, bool]:
        [message] = read_messages(line)
        assert isinstance(message, Message)
        return message.is_request, message.is_response

    assert kinds(b'{"id":1,"method":"x"}') == (True, False)
    assert kinds(b'{"method":"x","result":null}') == (False, False)
    assert kinds(b'{"id":1,"result":null}') == (False, True)
    assert kinds(b'{"id":1,"error":{},"result":null}') == (False, True)


def test_a_key_twice_matters_for_what_hooks_see_and_is_noted_for_the_rest() -> None:
    [twice] = read_messages(b'{"id":1,"method":"x","params":{"a":1,"a":2}}')
    [once] = read_messages(b'{"id":1,"method":"x","params":{"a":1}}')
    assert isinstance(twice, Message)
    assert isinstance(once, Message)
    assert (twice.is_doubled, once.is_doubled) == (True, False)


def test_an_id_is_a_text_or_a_number_and_the_two_differ() -> None:
    ids = [1, "1", 1.5, True, None, [], {}]
    keys = [("number", 1), ("text", "1"), ("number", 1.5), None, None, None, None]
    assert [key_of(id) for id in ids] == keys


@pytest.mark.parametrize(
    "line", [b"[1,]", b"[1 2]", b"[1]x", b"[", b"[1", b"[1,", b"[,1]", b"[1]]"]
)
def test_a_batch_that_is_no_json_is_one_fault(line: bytes) -> None:
    [fault] = read_messages(line)
    assert isinstance(fault, Fault)
    assert fault.code == -32700


def test_blanks_around_the_parts_of_a_batch_mean_nothing() -> None:
    line = b' [ {"method":"a"} ,\t{"method":"b"} ] '
    assert [getattr(part, "method", None) for part in read_messages(line)] == ["a", "b"]
