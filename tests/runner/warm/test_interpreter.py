"""A fork of a template as the agent sees it: how it is told to run, and how its end is heard."""

import asyncio
import os
import socket
from collections.abc import Iterator

import pytest

from hookline.runner.warm.interpreter import WarmChild


@pytest.fixture
def ends() -> Iterator[tuple[WarmChild, socket.socket]]:
    """A fork, and the template's end of its channel."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    child = WarmChild(1234, ours)
    yield child, theirs
    child.close()
    theirs.close()


@pytest.mark.parametrize(
    ("said", "status"), [(b"\0\0\2\1", 513), (b"\0\0\0\0", 0), (b"\0\0\0", None), (b"", None)]
)
async def test_its_status_is_reported_and_a_part_of_one_is_none(
    ends: tuple[WarmChild, socket.socket], said: bytes, status: int | None
) -> None:
    child, theirs = ends
    reported = asyncio.get_running_loop().create_future()
    child.watch(reported.get_loop(), reported.set_result)
    child.poll()
    assert not reported.done()
    theirs.send(said)
    theirs.shutdown(socket.SHUT_RDWR)
    assert await reported == status
    # Nobody is told twice.
    child.poll()


async def test_a_fork_that_is_closed_reports_nothing_and_has_ended_once(
    ends: tuple[WarmChild, socket.socket],
) -> None:
    child, theirs = ends
    reports: list[int | None] = []
    ended: list[str] = []
    child.begin(b"x", on_end=lambda: ended.append("ended"))
    child.watch(asyncio.get_running_loop(), reports.append)
    child.abandon()
    child.close()
    child.poll()
    assert (reports, ended, theirs.recv(5)) == ([], ["ended"], b"\0\0\0\1x")
    for stream in (child.stdin, child.stdout, child.stderr):
        os.close(stream)


def test_a_fork_has_its_request_and_the_other_ends_of_three_pipes(
    ends: tuple[WarmChild, socket.socket],
) -> None:
    child, theirs = ends
    child.begin(b"request", on_end=lambda: None)
    message, fds, _, _ = socket.recv_fds(theirs, 100, 9)
    assert message == b"\0\0\0\7request"
    stdin, stdout, stderr = fds
    os.write(child.stdin, b"in")
    os.write(stdout, b"out")
    os.write(stderr, b"err")
    read = [os.read(stdin, 9), os.read(child.stdout, 9), os.read(child.stderr, 9)]
    assert read == [b"in", b"out", b"err"]
    for stream in (*fds, child.stdin, child.stdout, child.stderr):
        os.close(stream)


def test_a_request_that_cannot_be_sent_whole_is_refused(
    ends: tuple[WarmChild, socket.socket],
) -> None:
    child, _ = ends
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(OSError, match="too long for a warm hook"):
        child.begin(b"x" * 10_000_000, on_end=lambda: None)
    assert len(os.listdir("/dev/fd")) == before
