"""A plain function that is quick, or a guard, runs where it is called."""

import asyncio
import contextvars
import threading
import time
from typing import Any

import pytest

from hookline import DebugLogger, Hooks, deny
from hookline.errors import InvalidHookError

REQUEST_ID = contextvars.ContextVar("request_id", default="none")


class Threads:
    """A hook that notes the thread it runs on, and the caller's request."""

    def __init__(self, reply: Any = None) -> None:
        self.names: list[str] = []
        self.requests: list[str] = []
        self._reply = reply

    def __call__(self, _event: dict[str, Any]) -> Any:
        self.names.append(threading.current_thread().name)
        self.requests.append(REQUEST_ID.get())
        return self._reply


@pytest.mark.parametrize("options", [{"inline": True}, {"on_failure": "block"}])
async def test_it_runs_on_the_thread_of_its_caller(options: Any) -> None:
    hooks, hook = Hooks(), Threads(deny("no"))
    hooks.on("BeforeTool", **options)(hook)
    here = threading.current_thread().name
    assert (await hooks.before_tool("shell", {})).reason == "no"
    assert hooks.sync.before_tool("shell", {}).reason == "no"
    assert hook.names == [here, here]


def test_it_needs_no_loop_where_none_runs() -> None:
    hooks, hook = Hooks(), Threads(deny("no"))
    hooks.on("BeforeTool", inline=True)(hook)
    assert hooks.sync.before_tool("shell", {}).reason == "no"
    assert hook.names == [threading.current_thread().name]


def test_without_it_a_plain_function_has_a_thread_of_its_own() -> None:
    for strict in (False, True):  # strict mode makes no guards
        hooks, hook = Hooks(strict=strict), Threads()
        hooks.on("BeforeTool")(hook)
        hooks.sync.before_tool("shell", {})
        assert hook.names != [threading.current_thread().name]


@pytest.mark.parametrize("options", [{}, {"inline": True}])
def test_the_callers_context_variables_reach_it(options: Any) -> None:
    hooks, hook = Hooks(), Threads()
    hooks.on("BeforeTool", **options)(hook)

    @hooks.on("BeforeTool")
    async def waiting(_event: Any) -> None:
        await asyncio.sleep(0)
        hook.requests.append(REQUEST_ID.get())

    async def fire() -> None:
        REQUEST_ID.set("r-7")
        await hooks.before_tool("shell", {})
        hooks.sync.before_tool("shell", {})

    asyncio.run(fire())
    token = REQUEST_ID.set("r-7")
    hooks.sync.before_tool("shell", {})
    REQUEST_ID.reset(token)
    assert hook.requests == ["r-7"] * 6


async def test_a_slow_one_is_told_and_its_answer_counts() -> None:
    told: list[str] = []
    hooks = Hooks(debug_logger=DebugLogger(warn=told.append))

    @hooks.on("BeforeTool", inline=True, timeout=5)
    def slow(_event: Any) -> Any:
        time.sleep(0.02)
        return deny("no")

    answer = await hooks.before_tool("shell", {})
    assert (answer.blocked, answer.reason, answer.results[0].failed) == (True, "no", None)
    [warning] = told
    assert "longer than its timeout of 5 ms" in warning


def test_a_slow_one_that_says_nothing_is_told_too() -> None:
    told: list[str] = []
    hooks = Hooks(debug_logger=DebugLogger(warn=told.append))
    hooks.on("BeforeTool", inline=True, timeout=5)(lambda _event: time.sleep(0.02))
    assert not hooks.sync.before_tool("shell", {}).blocked
    assert len(told) == 1


def test_a_guard_that_is_late_has_failed_and_blocks() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", on_failure="block", timeout=5)(lambda _event: time.sleep(0.02))
    answer = hooks.sync.before_tool("shell", {})
    assert answer.blocked
    assert answer.results[0].failed == "timeout"
    assert "nothing can stop it" in (answer.reason or "")


@pytest.mark.parametrize(
    "raised", [ValueError("broken"), SystemExit(0), asyncio.CancelledError(), GeneratorExit()]
)
async def test_whatever_a_guard_raises_blocks_and_goes_no_further(raised: BaseException) -> None:
    hooks = Hooks()

    @hooks.on("BeforeTool", on_failure="block")
    def guard(_event: Any) -> None:
        raise raised

    assert (await hooks.before_tool("shell", {})).blocked
    assert hooks.sync.before_tool("shell", {}).blocked


def test_an_interrupt_of_the_user_goes_on_to_the_program() -> None:
    hooks = Hooks()

    @hooks.on("BeforeTool", inline=True)
    def interrupted(_event: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hooks.sync.before_tool("shell", {})


@pytest.mark.parametrize("running", [False, True])
def test_a_guard_that_returns_an_awaitable_is_awaited(running: bool) -> None:
    hooks = Hooks()

    async def check(event: Any) -> Any:
        await asyncio.sleep(0.001)
        # A hook may fire events of its own.
        assert not (await hooks.before_agent(event["tool_name"])).blocked
        return deny("no")

    hooks.on("BeforeTool", on_failure="block")(lambda event: check(event))
    hooks.on("BeforeAgent")(lambda _event: None)

    async def fire() -> list[str | None]:
        awaited = await hooks.before_tool("shell", {})
        return [awaited.reason, hooks.sync.before_tool("shell", {}).reason]

    reasons = asyncio.run(fire()) if running else [hooks.sync.before_tool("shell", {}).reason]
    assert {*reasons} == {"no"}


async def test_an_awaitable_of_a_guard_has_the_guards_timeout() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", on_failure="block", timeout=20)(lambda _event: asyncio.sleep(60))
    assert (await hooks.before_tool("shell", {})).blocked


def test_several_run_in_turn_and_chained() -> None:
    hooks, seen = Hooks(), list[Any]()
    change = {"hookSpecificOutput": {"tool_input": {"command": "ls -l"}}}
    hooks.on("BeforeTool", inline=True, sequential=True)(lambda _event: change)
    hooks.on("BeforeTool", inline=True)(lambda event: seen.append(event["tool_input"]))
    hooks.sync.before_tool("shell", {"command": "ls"})
    assert seen == [{"command": "ls -l"}]


def test_a_hook_that_fires_events_itself_does_not_hang() -> None:
    hooks = Hooks()
    hooks.on("BeforeAgent")(lambda _event: None)

    @hooks.on("BeforeTool", inline=True)
    def ask(_event: Any) -> None:
        assert not hooks.sync.before_agent("p").blocked

    assert hooks.sync.before_tool("shell", {}).success


def test_only_a_plain_function_can_be_inline() -> None:
    hooks = Hooks()

    async def later(_event: Any) -> None:
        return None

    with pytest.raises(InvalidHookError, match="inline is for plain functions"):
        hooks.on("BeforeTool", inline=True)(later)
    with pytest.raises(InvalidHookError, match="inline is for functions"):
        hooks.config.register_hook(
            "BeforeTool",
            {"type": "command", "command": "true"},  # type: ignore[arg-type]
            inline=True,
        )
