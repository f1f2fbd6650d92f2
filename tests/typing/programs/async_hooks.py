"""Async functions as hooks, and events that are awaited."""

import asyncio

from hookline import AfterAgentEvent, BeforeAgentEvent, Hooks, Reply, add_context, deny

hooks = Hooks()


@hooks.on("BeforeAgent")
async def add_time(event: BeforeAgentEvent) -> Reply:
    await asyncio.sleep(0)
    turn: str = event.get("turn_id", "unknown")
    return add_context(f"this is turn {turn}")


@hooks.on("AfterAgent")
async def demand_tests(event: AfterAgentEvent) -> Reply | None:
    is_done = event["stop_hook_active"] or "tests pass" in event["prompt_response"]
    return None if is_done else deny("run the tests")


async def main() -> list[str | None]:
    async with hooks:
        before = await hooks.before_agent("fix the bug")
        after = await hooks.after_agent("fix the bug", "done")
        return [before.context, after.send_back]


assert asyncio.run(main()) == ["this is turn unknown", "run the tests"]
