"""Coroutines are awaited in the caller's own task, bounded, and abandoned if they will not end."""

import asyncio
from collections.abc import Generator
from typing import Any

import pytest

from hookline._support.waits import TimedOut, first_step, go_on


async def drive(coroutine: Any, *, seconds: float = 5, grace: float = 0.01) -> Any:
    waiting, value = first_step(coroutine)
    return value if waiting is None else await go_on(waiting, value, seconds, grace)


class Later:
    """An awaitable that is no coroutine."""

    def __await__(self) -> Generator[Any, None, str]:
        return asyncio.sleep(0, "late").__await__()


async def give(value: Any) -> Any:
    return value


async def cancel_itself() -> None:
    raise asyncio.CancelledError


async def cancel_itself_later() -> None:
    await asyncio.sleep(0)
    raise asyncio.CancelledError


async def resist() -> None:
    """Ignore every cancellation."""
    while True:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            continue


async def swallow() -> str:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        return "unmoved"
    return "done"


async def wait_inside(seconds: float) -> str:
    try:
        async with asyncio.timeout(seconds):
            await asyncio.sleep(30)
    except TimeoutError:
        return "its own time is up"
    return "done"


async def group() -> list[int]:
    async with asyncio.TaskGroup() as tasks:
        made = [tasks.create_task(asyncio.sleep(0, number)) for number in range(3)]
    return [task.result() for task in made]


def test_what_does_not_wait_is_done_with_its_first_step() -> None:
    assert first_step(give("now")) == (None, "now")
    with pytest.raises(LookupError):
        first_step(fail())


async def fail() -> None:
    raise LookupError


async def test_what_waits_goes_on_in_the_same_task() -> None:
    assert await drive(Later()) == "late"
    assert await drive(asyncio.sleep(0, 5)) == 5
    assert await drive(group()) == [0, 1, 2]
    assert await drive(wait_inside(0)) == "its own time is up"
    assert await drive(wait_inside(0.01)) == "its own time is up"


@pytest.mark.parametrize("coroutine", [cancel_itself, cancel_itself_later])
async def test_what_cancels_itself_has_failed_and_cancels_nobody_else(coroutine: Any) -> None:
    with pytest.raises(RuntimeError, match="CancelledError without having been cancelled"):
        await drive(coroutine())


@pytest.mark.parametrize("coroutine", [swallow, resist, lambda: asyncio.sleep(30)])
async def test_what_takes_too_long_is_timed_out_whatever_it_makes_of_it(coroutine: Any) -> None:
    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(TimedOut):
        await drive(coroutine(), seconds=0.01)
    assert task.cancelling() == 0


@pytest.mark.parametrize("coroutine", [swallow, resist, lambda: asyncio.sleep(30)])
async def test_a_caller_who_is_cancelled_is_cancelled_whatever_it_makes_of_it(
    coroutine: Any,
) -> None:
    task = asyncio.create_task(drive(coroutine()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (task.cancelled(), task.cancelling()) == (True, 1)


async def test_what_ends_within_its_grace_may_clean_up() -> None:
    ended: list[str] = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.01)
            ended.append("cleaned up")

    with pytest.raises(TimedOut):
        await drive(clean_up(), seconds=0.01, grace=5)
    assert ended == ["cleaned up"]


@pytest.mark.parametrize("error", [LookupError, SystemExit])
async def test_what_it_raises_is_raised_unless_its_time_was_up(error: Any) -> None:
    async def raise_later(seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        finally:
            raise error

    with pytest.raises(error):
        await drive(raise_later(0))
    with pytest.raises(TimedOut):
        await drive(raise_later(30), seconds=0.01)
