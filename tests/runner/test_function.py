"""In-process hooks: every kind of callable, everything it can do, and the time it has for it."""

import asyncio
import contextvars
import functools
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import MappingProxyType
from typing import Any

import pytest

from hookline.wire.outputs import BeforeToolHookOutput
from tests.eleven import Json
from tests.runner.planned import function, run_one

DENY = {"decision": "deny"}


class Speaker:
    """A callable object, a plain and an async method."""

    def __call__(self, _input: Json) -> Json:
        return DENY

    def method(self, _input: Json) -> Json:
        return DENY

    async def async_method(self, _input: Json) -> Json:
        await asyncio.sleep(0)
        return DENY


class AsyncSpeaker:
    async def __call__(self, _input: Json) -> Json:
        await asyncio.sleep(0)
        return DENY


class Later:
    """An awaitable that is no coroutine."""

    def __await__(self) -> Generator[Any, None, Json]:
        yield from asyncio.sleep(0.001).__await__()
        return DENY


def plain(_input: Json) -> Json:
    return DENY


async def at_once(_input: Json) -> Json:
    return DENY


async def after_a_while(_input: Json) -> Json:
    await asyncio.sleep(0.001)
    return DENY


def with_argument(_argument: int, _input: Json) -> Json:
    return DENY


async def async_with_argument(_argument: int, _input: Json) -> Json:
    await asyncio.sleep(0)
    return DENY


def wrapped(call: Callable[[Json], Awaitable[Json]]) -> Callable[[Json], Awaitable[Json]]:
    def wrapper(given: Json) -> Awaitable[Json]:
        return call(given)

    return wrapper


@pytest.mark.parametrize(
    "call",
    [
        plain,
        at_once,
        after_a_while,
        lambda _: DENY,
        Speaker(),
        Speaker().method,
        Speaker().async_method,
        AsyncSpeaker(),
        functools.partial(with_argument, 1),
        functools.partial(async_with_argument, 1),
        wrapped(at_once),
        wrapped(after_a_while),
        lambda _: Later(),
    ],
    ids=[
        *("plain", "async at once", "async later", "lambda", "object", "method", "async method"),
        *("async object", "partial", "async partial", "returns finished", "returns coroutine"),
        "returns awaitable",
    ],
)
async def test_every_kind_of_callable_is_a_hook(call: Callable[[Json], Any]) -> None:
    result = await run_one(function(call))
    assert result.error is None
    assert result.success
    assert result.output == DENY
    assert result.output_format == "json"


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(
    ("returned", "output"),
    [
        (None, None),
        ({}, {}),
        ({"novel": [1]}, {"novel": [1]}),
        (
            BeforeToolHookOutput(decision="ask", reason="sure?"),
            {"decision": "ask", "reason": "sure?"},
        ),
        ({"decision": 7, "reason": "r"}, {"reason": "r"}),
        (MappingProxyType({"reason": "r"}), {"reason": "r"}),
    ],
)
async def test_a_hook_returns_a_mapping_an_output_or_none(
    returned: Any, output: Json | None, is_async: bool
) -> None:
    result = await run_one(function(_returning(returned, is_async)))
    assert result.success
    assert result.output == output


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("returned", ["deny", 7, True, ["deny"], [("decision", "deny")], object()])
async def test_a_hook_that_returns_anything_else_has_failed(
    returned: object, is_async: bool
) -> None:
    result = await run_one(function(_returning(returned, is_async)))
    assert (result.success, result.failed, result.output) == (False, "error", None)
    assert result.error is not None
    assert "a hook returns a mapping or None" in result.error


def _returning(value: object, is_async: bool) -> Callable[[Json], Any]:
    async def later(_input: Json) -> object:
        await asyncio.sleep(0)
        return value

    return later if is_async else lambda _: value


async def test_a_hook_that_returns_what_is_no_json_has_failed() -> None:
    result = await run_one(function(lambda _: {"reason": object()}))
    assert result.failed == "error"
    assert "no JSON form" in str(result.error)


class Mute(Exception):
    def __str__(self) -> str:
        raise Mute


def _raising(error: BaseException, moment: str) -> Callable[[Json], Any]:
    async def hook(_input: Json) -> None:
        if moment == "later":
            await asyncio.sleep(0)
        raise error

    def plain_hook(_input: Json) -> None:
        raise error

    return plain_hook if moment == "plain" else hook


@pytest.mark.parametrize("moment", ["plain", "at once", "later"])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (RuntimeError("boom"), "RuntimeError: boom"),
        (KeyError(), "KeyError"),
        (SystemExit(2), "SystemExit: 2"),
        (TimeoutError("mine"), "TimeoutError: mine"),
        (asyncio.CancelledError(), "CancelledError"),
        (Mute(), "Mute"),
    ],
    ids=repr,
)
async def test_what_a_hook_raises_is_its_own_failure(
    error: BaseException, said: str, moment: str
) -> None:
    result = await run_one(function(_raising(error, moment)))
    assert (result.success, result.failed, result.output) == (False, "error", None)
    assert said in str(result.error)


async def test_a_hook_reads_its_own_copy_of_the_input() -> None:
    payload: Json = {"tool_name": "read", "tool_input": {"path": ["a"]}}

    def vandal(given: Json) -> None:
        assert given == payload
        given["tool_input"]["path"].append("b")
        given.clear()

    await run_one(function(vandal), payload=payload)
    assert payload == {"tool_name": "read", "tool_input": {"path": ["a"]}}


async def test_the_output_is_a_copy_of_what_the_hook_returned() -> None:
    kept: Json = {"hookSpecificOutput": {"tool_input": {"path": "a"}}}
    result = await run_one(function(lambda _: kept))
    kept["hookSpecificOutput"]["tool_input"]["path"] = "changed"
    assert result.output == {"hookSpecificOutput": {"tool_input": {"path": "a"}}}


@pytest.mark.parametrize("text", ["short", "long" * 10_000])
async def test_what_is_done_to_one_output_does_not_reach_the_next(text: str) -> None:
    answer = {"reason": text, "hookSpecificOutput": {"tool_input": {"list": ["a"]}}}
    hook = function(lambda _: answer)
    first, second = await run_one(hook), await run_one(hook)
    assert first.output is not None
    first.output["hookSpecificOutput"]["tool_input"]["list"].append("b")
    first.output["decision"] = "deny"
    third = await run_one(hook)
    assert second.output == third.output == answer


@pytest.mark.parametrize("call", ["plain", "at once", "later"])
async def test_the_callers_context_variables_are_visible(call: str) -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    async def async_hook(_input: Json) -> Json:
        if call == "later":
            await asyncio.sleep(0)
        return {"reason": variable.get()}

    variable.set("set by the caller")
    hook = (lambda _: {"reason": variable.get()}) if call == "plain" else async_hook
    result = await run_one(function(hook))
    assert result.output == {"reason": "set by the caller"}


async def test_a_plain_function_runs_off_the_event_loop_on_a_thread_that_ends_with_it() -> None:
    seen: list[threading.Thread] = []
    go = threading.Event()

    def blocking(_input: Json) -> Json:
        seen.append(threading.current_thread())
        return {"reason": str(go.wait(30))}

    call = asyncio.create_task(run_one(function(blocking)))
    while not seen:
        await asyncio.sleep(0.005)
    go.set()
    assert (await call).output == {"reason": "True"}
    assert seen[0] is not threading.main_thread()
    assert not seen[0].is_alive()


async def test_an_async_hook_over_its_time_has_timed_out() -> None:
    cleaned_up = False

    async def slow(_input: Json) -> None:
        nonlocal cleaned_up
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            cleaned_up = True

    result = await run_one(function(slow, timeout=30))
    assert (result.success, result.failed, result.output) == (False, "timeout", None)
    assert "30 ms" in str(result.error)
    assert cleaned_up


async def test_a_plain_function_over_its_time_has_timed_out_though_it_cannot_be_stopped() -> None:
    release = threading.Event()
    started = time.monotonic()
    result = await run_one(function(lambda _: release.wait(30), timeout=30))
    assert time.monotonic() - started < 10
    assert result.failed == "timeout"
    assert "cannot be stopped" in str(result.error)
    release.set()


async def test_a_plain_function_and_the_awaitable_it_returns_share_one_time() -> None:
    async def rest() -> None:
        await asyncio.sleep(0.4)

    def half(_input: Json) -> Coroutine[Any, Any, None]:
        time.sleep(0.4)
        return rest()

    result = await run_one(function(half, timeout=600))
    assert result.failed == "timeout"


async def _raises_another() -> None:
    raise ValueError("while cleaning up")


async def _returns_an_answer() -> Json:
    return DENY


async def _swallows_it() -> None:
    await asyncio.sleep(60)


async def _ignores_even_its_end() -> None:
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(60)


async def _raises_at_its_end() -> None:
    try:
        await asyncio.sleep(60)
    finally:
        raise ValueError("not even now")


@pytest.mark.parametrize(
    "react",
    [
        *(_raises_another, _returns_an_answer, _swallows_it),
        *(_ignores_even_its_end, _raises_at_its_end),
    ],
    ids=lambda react: react.__name__,
)
async def test_however_a_hook_takes_its_timeout_it_has_timed_out(
    react: Callable[[], Awaitable[Any]],
) -> None:
    async def stubborn(_input: Json) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return await react()

    started = time.monotonic()
    result = await run_one(function(stubborn, timeout=20))
    assert (result.failed, result.output) == ("timeout", None)
    assert time.monotonic() - started < 10


async def test_a_hook_that_swallows_cancellation_again_and_again_is_abandoned() -> None:
    swallowed = 0

    async def stubborn(_input: Json) -> None:
        nonlocal swallowed
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                swallowed += 1

    result = await run_one(function(stubborn, timeout=20))
    assert result.failed == "timeout"
    assert swallowed == 1
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
