"""How long a transport waits before it asks for the rest of a stream, and from where."""

import pytest

from hookline.service.mcp.events import EventParser
from hookline.service.mcp.http import _Position


@pytest.mark.parametrize(
    ("retry", "failures", "seconds"),
    [
        (None, 0, 1.0),
        (None, 1, 2.0),
        (None, 5, 32.0),
        (None, 6, 60.0),
        (None, 2000, 60.0),
        (250, 0, 0.25),
        (250, 2, 1.0),
        (100, 0, 0.1),
        (99, 0, 0.1),
        (0, 0, 0.1),
        (0, 20, 60.0),
        (60_000, 0, 60.0),
        (60_001, 0, 60.0),
    ],
)
def test_the_wait_doubles_between_a_tenth_of_a_second_and_a_minute(
    retry: int | None, failures: int, seconds: float
) -> None:
    assert _Position(retry=retry).delay(failures) == pytest.approx(seconds)


def read(position: _Position, stream: bytes) -> None:
    parser = EventParser(10_000)
    list(parser.feed(stream))
    position.read_from(parser)


def test_a_place_in_a_stream_is_kept_until_there_is_another() -> None:
    position = _Position()
    assert position.headers() == {}
    read(position, b"retry: 300\nid: 7\ndata: x\n\n")
    read(position, b"data: y\n\n")
    assert (position.last_id, position.retry) == ("7", 300)
    read(position, b"retry: 0\nid: 8\n\n")
    assert (position.headers(), position.retry) == ({"last-event-id": "8"}, 0)


@pytest.mark.parametrize(
    ("id", "is_kept"),
    [("a" * 4096, True), ("a" * 4097, False), ("a b", False), ("é", False), ("~!", True)],
)
def test_an_id_that_cannot_be_a_header_is_not_kept(id: str, is_kept: bool) -> None:
    position = _Position(last_id="before")
    read(position, f"id: {id}\ndata: x\n\n".encode())
    assert position.last_id == (id if is_kept else "before")
