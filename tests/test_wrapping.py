"""Functions that are guarded from now on."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from hookline import (
    BlockedByHook,
    Hooks,
    StoppedByHook,
    add_context,
    deny,
    replace_result,
    rewrite,
    stop,
)


def hooks_that(event: str, answer: Any) -> Hooks:
    hooks = Hooks()
    hooks.on(event)(lambda _event: answer)
    return hooks


def wrap(hooks: Any, function: Any, **options: Any) -> Any:
    """Wrapped, and of no type: what hooks make of a result may have any."""
    return hooks.wrap(function, **options)


def test_a_wrapped_function_looks_and_works_as_before() -> None:
    def shell(command: str, *, times: int = 1) -> str:
        """Run a command."""
        return command * times

    wrapped = Hooks().wrap(shell)
    assert wrapped("ls", times=2) == "lsls"
    assert inspect.signature(wrapped) == inspect.signature(shell)
    assert (wrapped.__name__, wrapped.__doc__) == ("shell", "Run a command.")
    assert wrapped.__annotations__ == shell.__annotations__


def test_hooks_see_every_argument_by_name_defaults_included() -> None:
    hooks, seen = Hooks(), []
    hooks.on("BeforeTool")(lambda event: seen.append((event["tool_name"], event["tool_input"])))

    @hooks.wrap
    def delete(path: Path, recursive: bool = True, *more: int, **flags: str) -> str:
        return f"{path} {recursive} {more} {flags}"

    assert delete(Path("/x"), False, 1, 2, dry="no") == "/x False (1, 2) {'dry': 'no'}"
    delete(Path("/y"))
    assert seen == [
        ("delete", {"path": "/x", "recursive": False, "more": [1, 2], "dry": "no"}),
        ("delete", {"path": "/y", "recursive": True, "more": []}),
    ]


def test_a_blocked_call_raises_with_its_reason() -> None:
    hooks = hooks_that("BeforeTool", deny("not here"))
    ran: list[str] = []
    with pytest.raises(BlockedByHook, match="append was blocked by a hook: not here") as raised:
        hooks.wrap(ran.append)("x")
    assert (raised.value.name, raised.value.reason, ran) == ("append", "not here", [])


def test_a_blocked_call_returns_its_reason_where_that_is_wanted() -> None:
    @hooks_that("BeforeTool", deny("not here")).wrap(on_block="return")
    def shell(command: str) -> str:
        return command

    assert shell("ls") == "not here"


@pytest.mark.parametrize("event", ["BeforeTool", "AfterTool"])
def test_a_stop_raises_always(event: str) -> None:
    wrapped = wrap(hooks_that(event, stop("enough")), lambda: "x", on_block="return")
    with pytest.raises(StoppedByHook, match="enough") as raised:
        wrapped()
    assert raised.value.reason == "enough"


def test_only_what_a_hook_rewrote_is_replaced() -> None:
    hooks = hooks_that("BeforeTool", rewrite(mode="w", extra="e"))
    path = Path("/x")

    @hooks.wrap
    def touch(path: Path, mode: str = "r", **more: str) -> tuple[Path, str, dict[str, str]]:
        return path, mode, more

    got = touch(path)
    assert got == (path, "w", {"extra": "e"})
    assert got[0] is path


async def test_an_async_function_stays_one() -> None:
    hooks = Hooks()

    @hooks.on("AfterTool")
    async def seen(_event: object) -> dict[str, Any]:
        await asyncio.sleep(0)
        return add_context("seen")

    @hooks.wrap
    async def fetch(url: str) -> str:
        await asyncio.sleep(0)
        return url

    assert inspect.iscoroutinefunction(fetch)
    assert await fetch("u") == "u\n\nseen"


def test_methods_of_every_kind_are_wrapped_without_their_self() -> None:
    hooks, seen = Hooks(), []
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_input"]))

    class Box:
        def __init__(self, name: str) -> None:
            self.name = name

        @hooks.wrap
        def put(self, thing: str) -> str:
            return f"{self.name}: {thing}"

        @hooks.wrap
        @classmethod
        def make(cls, name: str) -> "Box":
            return cls(name)

        @hooks.wrap
        @staticmethod
        def size(of: str) -> int:
            return len(of)

    box = Box.make("b")
    assert (box.put("x"), Box.size("abc")) == ("b: x", 3)
    assert hooks.wrap(box.put, name="bound")("y") == "b: y"
    assert seen[:3] == [{"name": "b"}, {"thing": "x"}, {"of": "abc"}]


def test_what_hooks_add_goes_into_texts(caplog: pytest.LogCaptureFixture) -> None:
    hooks = hooks_that("AfterTool", add_context("seen"))
    assert wrap(hooks, lambda: "x", name="t")() == "x\n\nseen"
    assert wrap(hooks, lambda: {"a": 1}, name="t", as_text=True)() == '{"a":1}\n\nseen'
    value = {"a": 1}
    assert wrap(hooks, lambda: value, name="t")() is value
    assert "a hook adds to the result of t, which is a dict and stays as it is" in caplog.text


def test_a_rejected_result_is_not_handed_on_whatever_its_type() -> None:
    hooks = hooks_that("AfterTool", replace_result("[redacted]"))
    assert wrap(hooks, lambda: "secret", name="t")() == "[redacted]"
    assert wrap(hooks, lambda: {"s": 1}, name="t", as_text=True)() == "[redacted]"
    assert wrap(hooks, lambda: {"s": 1}, name="t", on_block="return")() == "[redacted]"
    with pytest.raises(BlockedByHook, match="redacted"):
        wrap(hooks, lambda: {"s": 1}, name="t")()


def test_wrong_arguments_and_exceptions_are_the_functions_own() -> None:
    wrapped = wrap(hooks_that("BeforeTool", None), lambda x: 1 / x, name="t")
    with pytest.raises(TypeError):
        wrapped()
    with pytest.raises(ZeroDivisionError):
        wrapped(0)


async def test_a_plain_function_works_inside_a_running_loop() -> None:
    hooks = hooks_that("BeforeTool", deny("no"))
    with pytest.raises(BlockedByHook):
        wrap(hooks, lambda: "x", name="t")()


def test_a_function_wrapped_by_a_session_fires_under_its_id() -> None:
    hooks, seen = Hooks(), []
    hooks.on("BeforeTool")(lambda event: seen.append(event["session_id"]))
    wrap(hooks.session("chat-7"), lambda: "x", name="t")()
    assert seen == ["chat-7"]
