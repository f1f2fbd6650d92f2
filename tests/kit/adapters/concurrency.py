"""Holds many conversations at once on one ``Hooks``: each event must have its own session id."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hookline.hooks import Hooks

_CONVERSATIONS = 50


async def check_sessions(
    hooks: Hooks,
    events: Collection[str],
    *,
    talk: Callable[[str], object] | None = None,
    talk_async: Callable[[str], Awaitable[object]] | None = None,
    conversations: int = _CONVERSATIONS,
) -> None:
    """Hold many conversations at once: ``talk(id)`` each in a thread of its own, ``talk_async(id)``
    all in this loop. Each must fire each of ``events`` under its own id, as often as the others,
    and its id must be in every prompt, tool input, request and response that hooks are shown, so
    that the content of an event tells which conversation it belongs to.

    Raises AssertionError if one does not.
    """
    seen: list[tuple[str, str, str]] = []

    def note(event: dict[str, Any]) -> None:
        seen.append((event["hook_event_name"], event["session_id"], str(event)))

    for event in events:
        hooks.on(event)(note)
    ways: list[tuple[str, Callable[[list[str]], Awaitable[None]]]] = []
    if talk is not None:

        async def talk_in_threads(ids: list[str]) -> None:
            loop = asyncio.get_running_loop()
            with ThreadPoolExecutor(len(ids)) as pool:
                await asyncio.gather(*(loop.run_in_executor(pool, talk, id) for id in ids))

        ways.append(("thread", talk_in_threads))
    if talk_async is not None:

        async def talk_in_loop(ids: list[str]) -> None:
            async with asyncio.TaskGroup() as group:
                for id in ids:
                    group.create_task(_settle(talk_async(id)))

        ways.append(("loop", talk_in_loop))
    for name, talk_at_once in ways:
        ids = [f"{name}-{number:03}-" for number in range(conversations)]
        seen.clear()
        await talk_at_once(ids)
        _check_seen(seen, ids, events)


async def _settle(talking: Awaitable[object]) -> None:
    await talking


def _check_seen(
    seen: Collection[tuple[str, str, str]], ids: Collection[str], events: Collection[str]
) -> None:
    counts = Counter((name, session_id) for name, session_id, _ in seen)
    for name in events:
        often = {counts[name, id] for id in ids}
        if len(often) != 1 or 0 in often:
            raise AssertionError(
                f"{name} fired {sorted(often)} times, not equally often in each conversation"
            )
    for name, session_id, shown in seen:
        if session_id not in ids:
            raise AssertionError(
                f"{name} has the session id {session_id!r}, which no conversation has"
            )
        others = [id for id in ids if id in shown and id != session_id]
        if others:
            raise AssertionError(f"{name} of {others[0]} has the session id {session_id}")
