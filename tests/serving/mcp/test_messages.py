"""Laws of what is read from a line, whatever the line holds."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hookline.serving.mcp.messages import Message, encode, read_messages

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
