"""Lines over descriptors: how long one may be, how the last one ends, and what is lost is told."""

import asyncio
import os

import pytest

from hookline.service.mcp.lines import Lines, MessageTooLong, Outlet


async def read_all(data: bytes, *, limit: int) -> list[bytes]:
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    lines = Lines(reading, limit=limit)
    try:
        found = []
        while (line := await lines.next()) is not None:
            found.append(line)
        return found
    finally:
        lines.close()


@pytest.mark.parametrize("end", [b"\n", b""])
async def test_a_line_of_exactly_the_limit_is_read_and_one_byte_more_is_not(end: bytes) -> None:
    assert await read_all(b"x" * 100 + end, limit=100) == [b"x" * 100]
    with pytest.raises(MessageTooLong, match="more than 100 bytes") as caught:
        await read_all(b"x" * 101 + end, limit=100)
    assert caught.value.limit == 100


async def test_the_limit_is_for_each_line_not_for_all() -> None:
    line = b"x" * 100
    assert await read_all(b"\n".join([line] * 5), limit=100) == [line] * 5
    with pytest.raises(MessageTooLong):
        await read_all(b"ok\n" + line + b"x\n", limit=100)


async def test_blank_lines_are_no_messages_and_a_line_is_not_stripped() -> None:
    assert await read_all(b"\n  \n a \n\r\n\tb", limit=100) == [b" a ", b"\tb"]
    assert await read_all(b"", limit=100) == []
    assert await read_all(b" ", limit=100) == []


async def test_a_line_that_comes_in_pieces_is_one_line() -> None:
    reading, writing = os.pipe()
    lines = Lines(reading, limit=6)
    found = asyncio.create_task(lines.next())
    for piece in (b"on", b"e ", b"2\nrest"):
        await asyncio.sleep(0)
        os.write(writing, piece)
        await asyncio.sleep(0.001)
    assert await found == b"one 2"
    os.close(writing)
    assert await lines.next() == b"rest"
    assert await lines.next() is None
    lines.close()


async def test_closing_ends_who_waits_and_keeps_what_was_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo\n")
    lines = Lines(reading)
    assert await lines.next() == b"one"
    lines.close()
    assert await lines.next() == b"two"
    assert await lines.next() is None
    lines.close()
    os.close(writing)


@pytest.mark.parametrize("end", ["close", "abandon"])
async def test_who_waits_for_a_line_is_told_that_there_will_be_none(end: str) -> None:
    reading, writing = os.pipe()
    lines = Lines(reading)
    waiting = asyncio.create_task(lines.next())
    await asyncio.sleep(0)
    getattr(lines, end)()
    async with asyncio.timeout(10):
        assert await waiting is None
    lines.close()
    os.close(writing)


async def test_what_is_left_in_a_pipe_is_read_after_it_is_closed() -> None:
    reading, writing = os.pipe()
    lines = Lines(reading)
    os.write(writing, b"last words\nand half a line")
    lines.finish()
    async with asyncio.timeout(10):
        assert [await lines.next() for _ in range(3)] == [b"last words", b"and half a line", None]
    # Another process may hold the other side open.
    os.close(writing)


async def test_an_abandoned_descriptor_gives_what_is_in_it_and_then_its_end() -> None:
    reading, writing = os.pipe()
    lines = Lines(reading)
    os.write(writing, b"last words\nand half a line")
    lines.abandon()
    async with asyncio.timeout(10):
        found = [await lines.next() for _ in range(3)]
    assert found == [b"last words", b"and half a line", None]
    lines.close()
    os.close(writing)


async def test_what_the_reader_has_not_taken_goes_out_in_order_when_it_does() -> None:
    reading, writing = os.pipe()
    outlet, lines = Outlet(writing), Lines(reading)
    sent = [bytes([65 + number]) * 50_000 for number in range(20)]
    for line in sent:
        outlet.write(line)
    draining = asyncio.create_task(outlet.drain(below=0))
    assert [await lines.next() for _ in sent] == sent
    async with asyncio.timeout(10):
        await draining
    assert outlet.lost is None
    outlet.close()
    assert await lines.next() is None
    lines.close()


async def test_a_reader_that_is_gone_is_told_and_keeps_nobody_waiting() -> None:
    reading, writing = os.pipe()
    outlet = Outlet(writing)
    outlet.write(b"x" * 1_000_000)
    draining = asyncio.create_task(outlet.drain(below=0))
    await asyncio.sleep(0)
    os.close(reading)
    async with asyncio.timeout(10):
        await draining
    assert isinstance(outlet.lost, BrokenPipeError)
    outlet.write(b"more")
    outlet.close()


@pytest.mark.parametrize("blocking", [True, False])
async def test_a_descriptor_is_left_as_blocking_as_it_was(blocking: bool) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    others = os.dup(writing)
    outlet = Outlet(writing)
    assert os.get_blocking(others) is False
    outlet.close()
    outlet.close()
    assert os.get_blocking(others) is blocking
    assert outlet.lost is not None
    for fd in (reading, others):
        os.close(fd)
