"""The asyncio tasks of one owner: each ends with it, and an error in one is never lost."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from hookline._support.notices import warn

T = TypeVar("T")


class Work:
    """Tasks that have begun and not ended."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Begin a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    async def wait(self, seconds: float) -> None:
        """Wait for all tasks, but no longer than this."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)

    async def end(self, seconds: float | None = None) -> None:
        """Cancel all tasks, and wait until they have ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    def _forget(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            warn("internal error of the MCP proxy, please report it", error=error)


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, however often the caller is cancelled; return its result."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
        except Exception:
            break
    return task.result()
