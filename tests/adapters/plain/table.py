"""Plain functions in the table: a loop of one's own whose tools are wrapped, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from hookline import StoppedByHook
from tests.kit.adapters import Call, Harness, Limit, Message, Reply, Run

_NO_SEAM = Limit("–", why="a function knows nothing of the turn or the model that calls it")


async def run(run: Run) -> None:
    loop = _Loop(run)
    for prompt in run.prompts:
        if run.mode == "sync":
            await asyncio.to_thread(loop.turn, prompt)
        else:
            await loop.turn_async(prompt)


class _Loop:
    """The agent that somebody wrote without a framework."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._history: list[Message] = []
        hooks = run.hooks.session(run.session_id)
        options: Any = {"on_block": "return", "confirm": run.confirm}
        self._functions: dict[str, Callable[..., str]] = {
            tool.name: hooks.wrap(tool.function, **options) for tool in run.tools
        }
        self._coroutines: dict[str, Callable[..., Awaitable[str]]] = {}
        if run.mode != "sync":
            self._coroutines = {
                tool.name: hooks.wrap(tool.coroutine, **options) for tool in run.tools
            }

    def turn(self, prompt: str) -> None:
        calls = self._say(Message("user", prompt))
        try:
            while calls:
                results = [self._functions[call.name](**call.args) for call in calls]
                calls = self._say(*(Message("tool", result) for result in results))
        except StoppedByHook as stopped:
            self._run.finish(stopped.reason)

    async def turn_async(self, prompt: str) -> None:
        calls = self._say(Message("user", prompt))
        try:
            while calls:
                running = [self._coroutines[call.name](**call.args) for call in calls]
                if self._run.mode == "async":
                    results = [await one for one in running]
                else:
                    results = await asyncio.gather(*running)
                calls = self._say(*(Message("tool", result) for result in results))
        except StoppedByHook as stopped:
            self._run.finish(stopped.reason)

    def _say(self, *messages: Message) -> tuple[Call, ...]:
        """Send the model something; its calls, if the turn is not over."""
        self._history += messages
        reply: Reply = self._run.next_reply(self._history, [*self._functions])
        self._history.append(Message("model", reply.text))
        self._run.show(reply.text)
        if not reply.calls:
            self._run.finish(reply.text)
        return reply.calls


HARNESS = Harness(
    name="plain",
    title="plain functions",
    modes=("sync", "async", "async parallel"),
    limits={
        "ask": Limit(
            "◐", note="callback", why="`confirm=` asks at once: a function cannot wait for later"
        ),
        "stop": Limit(
            "◐", note="raises", why="`StoppedByHook` is raised: your loop ends when you catch it"
        ),
        "stop before a model call": _NO_SEAM,
        "stop after a model call": _NO_SEAM,
        "BeforeAgent block / context": _NO_SEAM,
        "AfterAgent send back": _NO_SEAM,
        "BeforeModel, AfterModel, also streamed": _NO_SEAM,
        "BeforeToolSelection, enforced": _NO_SEAM,
        "SessionStart, SessionEnd": _NO_SEAM,
        "PreCompress, Notification": _NO_SEAM,
    },
    run=run,
)
