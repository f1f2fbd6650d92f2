"""A caller's cancellation gets through any hook; a hook's own timeouts and groups stay its own."""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.eleven import Json, until
from tests.runner.planned import GRACE, function, run, run_one, script


async def cancelled_when(began: asyncio.Event, call: Awaitable[Any]) -> "asyncio.Task[Any]":
    """The task of a call that was cancelled once its hook had begun."""
    task = asyncio.ensure_future(call)
    await asyncio.wait_for(began.wait(), 10)
    task.cancel()
    await asyncio.wait([task], timeout=10)
    assert isinstance(task, asyncio.Task)
    return task


def hook_that(began: asyncio.Event, react: Callable[[], Awaitable[Any]]) -> Any:
    async def hook(_input: Json) -> Any:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return await react()

    return function(hook)


async def _reraise() -> None:
    raise asyncio.CancelledError


async def _answer() -> Json:
    return {"decision": "allow"}


async def _raise_another() -> None:
    raise ValueError("while cleaning up")


async def _clean_up() -> None:
    await asyncio.sleep(0.01)


async def _never_end() -> None:
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


@pytest.mark.parametrize(
    "react", [_reraise, _answer, _raise_another, _clean_up, _never_end], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("beside", [0, 1])
async def test_a_callers_cancellation_propagates_whatever_the_hook_does_with_it(
    react: Callable[[], Awaitable[Any]], beside: int
) -> None:
    began = asyncio.Event()
    others = [function(lambda _: None, name="other")] * beside
    task = await cancelled_when(began, run(hook_that(began, react), *others))
    assert task.cancelled()


async def test_a_cancelled_plain_function_is_not_waited_for() -> None:
    began = asyncio.Event()
    loop = asyncio.get_running_loop()
    go, finished = threading.Event(), threading.Event()

    def slow(_input: Json) -> None:
        loop.call_soon_threadsafe(began.set)
        go.wait(30)
        finished.set()

    task = await cancelled_when(began, run_one(function(slow)))
    assert task.cancelled()
    assert not finished.is_set()
    go.set()
    await until(finished.is_set)


async def test_a_cancelled_command_leaves_no_process(tmp_path: Path) -> None:
    began = asyncio.Event()
    hook = script(f"cat >/dev/null; touch {tmp_path}/began; sleep 60 & sleep 60")
    task = asyncio.create_task(run_one(hook))
    await until((tmp_path / "began").exists)
    began.set()
    assert (await cancelled_when(began, task)).cancelled()


async def test_cancelling_one_event_leaves_another_alone() -> None:
    began, is_cancelled = asyncio.Event(), asyncio.Event()

    async def slow(_input: Json) -> Json:
        await is_cancelled.wait()
        return {"reason": "done"}

    other = asyncio.create_task(run_one(function(slow)))
    assert (await cancelled_when(began, run_one(hook_that(began, _reraise)))).cancelled()
    is_cancelled.set()
    assert (await other).output == {"reason": "done"}


async def test_a_timeout_of_the_hooks_own_works_across_its_first_suspension() -> None:
    async def hook(_input: Json) -> Json:
        try:
            async with asyncio.timeout(0.02):
                await asyncio.sleep(60)
        except TimeoutError:
            await asyncio.sleep(0.01)
            return {"reason": "gave up by itself"}
        return {}

    result = await run_one(function(hook))
    assert result.error is None
    assert result.output == {"reason": "gave up by itself"}


async def test_a_hook_may_go_on_after_its_own_timeout_for_longer_than_the_grace() -> None:
    async def hook(_input: Json) -> Json:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.sleep(60)
        await asyncio.sleep(GRACE * 2)
        return {"reason": "done"}

    result = await run_one(function(hook))
    assert result.error is None
    assert result.output == {"reason": "done"}


async def test_a_slow_clean_up_within_the_hooks_own_timeout_is_not_cut_off() -> None:
    async def hook(_input: Json) -> Json:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                try:
                    await asyncio.sleep(60)
                finally:
                    await asyncio.sleep(GRACE / 2)
        await asyncio.sleep(GRACE)
        return {"reason": "done"}

    assert (await run_one(function(hook))).output == {"reason": "done"}


async def test_a_task_group_of_the_hooks_own_works_across_its_first_suspension() -> None:
    async def child(seconds: float) -> None:
        await asyncio.sleep(seconds)
        raise KeyError("child")

    async def hook(_input: Json) -> Json:
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(child(0.01))
                await asyncio.sleep(60)
        except* KeyError:
            pass
        await asyncio.sleep(GRACE * 2)
        return {"reason": "the group is over"}

    result = await run_one(function(hook))
    assert result.error is None
    assert result.output == {"reason": "the group is over"}


async def test_a_callers_timeout_around_an_event_is_the_callers() -> None:
    async def hook(_input: Json) -> None:
        await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await run_one(function(hook))
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
