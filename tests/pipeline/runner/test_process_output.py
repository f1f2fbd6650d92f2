"""What is kept of a stream does not depend on the pieces it arrives in."""

import os

from hypothesis import given
from hypothesis import strategies as st

from hookline.pipeline.runner.process import Outflow


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
