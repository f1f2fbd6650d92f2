"""Server-sent events, read as the HTML standard says, however the body is cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline._support.eventstream import EventReader, EventTooLarge


def read(*pieces: bytes, limit: int = 1000) -> list[tuple[str, bytes]]:
    """The events of the standard: those with data."""
    reader = EventReader(limit)
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [(event.kind, event.data) for event in events if event.data is not None]


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_line_ends_with_lf_cr_or_both(end: bytes) -> None:
    assert read(b"data: one" + end + end + b"data: two" + end + end) == [
        ("message", b"one"),
        ("message", b"two"),
    ]


def test_a_line_end_cut_in_two_is_one_line_end() -> None:
    assert read(b"data: one\r", b"\ndata: two\r", b"", b"\n\r", b"\n") == [("message", b"one\ntwo")]


def test_lines_of_data_are_joined_and_one_space_is_left_out() -> None:
    assert read(b"data:a\ndata: b\ndata:  c\ndata\n\n") == [("message", b"a\nb\n c\n")]


def test_comments_and_unknown_fields_are_left_out() -> None:
    assert read(b": ping\n\nx: y\n:\ndata: 1\n: in between\nDATA: 2\n\n") == [("message", b"1")]


def test_a_byte_order_mark_is_left_out_once_also_when_it_is_cut() -> None:
    assert read(b"\xef", b"\xbb\xbfda", b"ta: 1\n\n\xef\xbb\xbfdata: 2\n\n") == [("message", b"1")]


def test_an_event_has_a_kind_of_its_own_alone() -> None:
    assert read(b"event: endpoint\ndata: /x\n\nevent: none\n\ndata: 1\n\n") == [
        ("endpoint", b"/x"),
        ("message", b"1"),
    ]


def test_a_character_cut_in_two_is_whole() -> None:
    text = "data: grüße 🎉\n\n".encode()
    assert read(*[text[i : i + 1] for i in range(len(text))]) == [("message", "grüße 🎉".encode())]


def test_what_is_no_utf8_is_replaced() -> None:
    assert read(b"data: a\xffb\n\n") == [("message", "a\ufffdb".encode())]


def test_an_event_that_is_not_whole_at_the_end_is_none() -> None:
    assert read(b"data: 1\n\ndata: 2\n") == [("message", b"1")]


def test_an_id_counts_once_its_event_is_whole_also_without_data() -> None:
    reader = EventReader(100)
    ids = []
    for piece in (b"id: 1\n", b"\n", b"data: x\n\n", b"id: a\0b\ndata:\n\n", b"id\ndata: y\n\n"):
        list(reader.feed(piece))
        ids.append(reader.last_id)
    assert ids == ["", "1", "1", "1", ""]


@pytest.mark.parametrize(
    ("value", "retry"), [(b"250", 250), (b"-1", None), (b"1.5", None), (b"9" * 40, None)]
)
def test_retry_has_digits_alone(value: bytes, retry: int | None) -> None:
    reader = EventReader(100)
    assert list(reader.feed(b"retry: " + value + b"\n")) == []
    assert reader.retry == retry


@pytest.mark.parametrize(
    "endless",
    [b"data: " + b"x" * 50, b"data:\n", b"data: x\n", b": " + b"x" * 50, b"nonsense"],
)
def test_what_is_kept_of_a_stream_is_bounded(endless: bytes) -> None:
    reader = EventReader(1000)
    pieces = itertools.repeat(endless, 10_000)
    with pytest.raises(EventTooLarge):
        list(itertools.chain.from_iterable(map(reader.feed, pieces)))


def test_a_large_event_in_small_pieces_takes_linear_time() -> None:
    size = 8 * 2**20
    text = b"data: " + b"x" * size + b"\n\n"
    pieces = [text[i : i + 4096] for i in range(0, len(text), 4096)]
    [(_, data)] = read(*pieces, limit=2 * size)
    assert len(data) == size


@given(
    st.lists(
        st.sampled_from([b"data: x", b"data", b"id: 7", b"event: e", b":c", b"", b"\xef\xbb"])
    ),
    st.sampled_from([b"\n", b"\r", b"\r\n"]),
    st.lists(st.integers(0, 60)),
)
def test_where_the_body_is_cut_does_not_matter(
    lines: list[bytes], end: bytes, cuts: list[int]
) -> None:
    text = b"".join(line + end for line in lines)
    places = [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in itertools.pairwise(places)]
    assert read(*pieces) == read(text)


def test_an_event_of_exactly_the_limit_is_read_and_one_byte_more_is_not() -> None:
    text = b"data: " + b"x" * 100
    assert read(text + b"\n\n", limit=len(text)) == [("message", b"x" * 100)]
    for pieces in ((text + b"x\n\n",), (text, b"x"), (text[:50], text[50:] + b"x")):
        with pytest.raises(EventTooLarge):
            read(*pieces, limit=len(text))


def test_the_lines_of_an_event_count_together_and_those_of_the_next_anew() -> None:
    two = b"data: " + b"x" * 10 + b"\ndata: " + b"y" * 10 + b"\n\n"
    assert len(read(two, two, two, limit=len(two) - 2)) == 3
    with pytest.raises(EventTooLarge, match="more than 32 bytes"):
        read(two, limit=len(two) - 3)


def test_lines_without_data_and_an_end_without_an_empty_line_come_as_they_are() -> None:
    reader = EventReader(100)
    pieces = [b'\xef\xbb\xbf{"error":\r\n 1}\r\n\r\n\n: ping\n\n', b"data: 3\ndata: \xff"]
    events = [event for piece in pieces for event in reader.feed(piece)]
    assert [(event.data, event.raw) for event in events] == [
        (None, b'{"error":\r\n 1}\r\n\r\n'),
        (None, b": ping\n\n"),
    ]
    last = reader.end()
    assert last is not None
    assert (last.data, last.raw) == ("3\n\ufffd".encode(), b"data: 3\ndata: \xff")
    assert reader.end() is None


@pytest.mark.parametrize(("digits", "retry"), [(9, 999_999_999), (10, None)])
def test_a_time_to_retry_has_nine_digits_at_most(digits: int, retry: int | None) -> None:
    reader = EventReader(100)
    list(reader.feed(b"retry: " + b"9" * digits + b"\n"))
    assert reader.retry == retry
