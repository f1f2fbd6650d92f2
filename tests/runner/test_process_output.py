"""What is kept of a stream does not depend on its pieces, and the pipes of a run are closed."""

import asyncio
import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.runner.process import Inflow, Outflow

fcntl = pytest.importorskip("fcntl")
needs_sizes = pytest.mark.skipif(not hasattr(fcntl, "F_GETPIPE_SZ"), reason="needs Linux")
PIPE = 65_536


@given(chunks=st.lists(st.binary(max_size=9)), limit=st.integers(0, 12))
def test_the_first_or_the_last_bytes_are_kept(chunks: list[bytes], limit: int) -> None:
    whole = b"".join(chunks)
    first, is_over = kept(chunks, first=limit)
    assert first == whole[:limit]
    assert is_over == (len(whole) > limit)
    last, _ = kept(chunks, last=limit)
    assert last == whole[max(0, len(whole) - limit) :]


def kept(chunks: list[bytes], *, first: int | None = None, last: int = 0) -> tuple[bytes, bool]:
    """What an outflow has in the end, and whether it saw more than it may keep."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    flow = Outflow(reading, on_change=lambda: None, first=first, last=last)
    for chunk in chunks:
        os.write(writing, chunk)
        flow.sweep()
    os.close(writing)
    flow.close()
    return flow.value(), flow.is_over


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends of a pipe, of which a test may close either."""
    ends = os.pipe()
    os.set_blocking(ends[0], False)
    yield ends
    for end in filter(is_open, ends):
        os.close(end)


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def size_of(fd: int) -> int:
    size: int = fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ)
    return size


@needs_sizes
@pytest.mark.parametrize(("printed", "size"), [(PIPE - 1, PIPE), (PIPE, 1_048_576)])
def test_a_pipe_that_was_full_is_made_larger(
    pipe: tuple[int, int], printed: int, size: int
) -> None:
    os.write(pipe[1], b"x" * printed)
    flow = Outflow(pipe[0], on_change=lambda: None, first=1_000_000)
    flow.sweep()
    assert (len(flow.value()), size_of(pipe[1])) == (printed, size)


@needs_sizes
@pytest.mark.parametrize(("given", "size"), [(PIPE, PIPE), (PIPE + 1, 2 * PIPE)])
async def test_a_pipe_is_made_as_large_as_the_input_needs(
    pipe: tuple[int, int], given: int, size: int
) -> None:
    Inflow(pipe[1], memoryview(b"x" * given)).start(asyncio.get_running_loop())
    assert size_of(pipe[0]) == size
    assert not is_open(pipe[1])


def test_reading_what_is_there_ends_though_a_process_prints_on(pipe: tuple[int, int]) -> None:
    def print_on() -> None:
        os.write(pipe[1], b"x" * PIPE)

    print_on()
    flow = Outflow(pipe[0], on_change=print_on, last=10)
    flow.sweep()
    assert flow.is_open
    assert flow.value() == b"x" * 10


async def test_input_that_nobody_reads_is_given_up_at_once(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    Inflow(pipe[1], memoryview(b"xx")).start(asyncio.get_running_loop())
    assert not is_open(pipe[1])
