"""What is kept of a stream does not depend on the pieces it arrives in."""

from hypothesis import given
from hypothesis import strategies as st

from hookline.pipeline.runner.pipes import Head, Tail


@given(chunks=st.lists(st.binary(max_size=9)), limit=st.integers(0, 12))
def test_head_and_tail_keep_the_first_and_the_last_bytes(chunks: list[bytes], limit: int) -> None:
    head, tail, whole = Head(limit), Tail(limit), b"".join(chunks)
    for chunk in chunks:
        head.add(chunk)
        tail.add(chunk)
    assert head.value() == whole[:limit]
    assert head.is_over == (len(whole) > limit)
    assert tail.value() == whole[max(0, len(whole) - limit) :]
