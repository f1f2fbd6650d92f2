"""Functions that are guarded from now on."""

import asyncio
import inspect
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hookline import (
    BlockedByHook,
    Hooks,
    Reply,
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


def test_a_keyword_cannot_hide_the_value_of_a_parameter_of_its_name() -> None:
    hooks, seen = Hooks(), []
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_input"]))

    def shell(command: str, /, *args: str, **more: Any) -> Any:
        return command, args, more

    more = {"command": "ls", "args": "-l", "more": 1, "dry": True}
    assert hooks.wrap(shell)("rm", "-rf", **more) == ("rm", ("-rf",), more)
    hiding = {"command": "ls", "args": "-l", "more": 1}
    assert seen == [{"command": "rm", "args": ["-rf"], "dry": True, "more": hiding}]
    hooks = hooks_that("BeforeTool", rewrite(command="cat", more={**hiding, "args": "-a"}))
    assert hooks.wrap(shell)("rm", **more) == ("cat", (), {**more, "args": "-a"})
    hooks = hooks_that("BeforeTool", rewrite(more="text"))
    assert hooks.wrap(shell)("rm") == ("rm", (), {"more": "text"})


def test_hooks_cannot_put_another_object_in_the_place_of_self() -> None:
    hooks = hooks_that("BeforeTool", rewrite(self="another"))

    class Shell:
        @hooks.wrap
        def run(self, command: str) -> str:
            raise AssertionError(self, command)

    with pytest.raises(TypeError, match="self"):
        Shell().run("ls")


def test_a_partial_function_is_guarded_by_the_name_of_its_function() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="^shell$")(lambda _event: deny("not here"))

    def shell(directory: str, command: str) -> str:
        raise AssertionError(directory, command)

    class Shell:
        name = "shell"

        def __call__(self, command: str) -> str:
            raise AssertionError(self, command)

    for tool in (partial(shell, "/tmp"), partial(partial(shell, "/tmp")), Shell()):
        guarded = wrap(hooks, tool)
        assert guarded.__name__ == "shell"
        with pytest.raises(BlockedByHook, match="not here"):
            guarded("ls")


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


@pytest.mark.parametrize(
    ("removed", "left"),
    [
        (["mode"], ("x", "r", 2, {"dry": True})),
        (["times", "dry"], ("x", "w", 1, {})),
        (["mode", "times"], ("x", "r", 1, {"dry": True})),
    ],
)
def test_an_argument_that_a_hook_removed_has_its_default(removed: list[str], left: Any) -> None:
    hooks = hooks_that("BeforeTool", {"hookSpecificOutput": {"removeToolInput": removed}})

    @hooks.wrap
    def touch(path: str, mode: str = "r", times: int = 1, **more: bool) -> Any:
        return path, mode, times, more

    assert touch("x", "w", 2, dry=True) == left


async def test_an_async_function_stays_one() -> None:
    hooks = Hooks()

    @hooks.on("AfterTool")
    async def seen(_event: object) -> Reply:
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


async def test_async_methods_of_every_kind_stay_async() -> None:
    hooks, seen = Hooks(), []
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_input"]))

    class Box:
        @hooks.wrap
        async def put(self, thing: str) -> str:
            return thing

        @classmethod
        @hooks.wrap
        async def make(cls, name: str) -> str:
            return f"{cls.__name__} {name}"

        @staticmethod
        @hooks.wrap
        async def size(of: str) -> int:
            return len(of)

        async def __call__(self, thing: str) -> str:
            return f"called with {thing}"

    guarded = wrap(hooks, Box())
    assert inspect.iscoroutinefunction(guarded)
    results = [await Box().put("x"), await Box.make("b"), await Box.size("abc"), await guarded("y")]
    assert results == ["x", "Box b", 3, "called with y"]
    assert seen == [{"thing": "x"}, {"name": "b"}, {"of": "abc"}, {"thing": "y"}]


def test_methods_keep_their_signature_and_docstring() -> None:
    class Box:
        def put(self, thing: str, *, twice: bool = False) -> str:
            """Put a thing into the box."""
            return thing * (1 + twice)

    wrapped = Hooks().wrap(Box.put)
    assert inspect.signature(wrapped) == inspect.signature(Box.put)
    assert inspect.getdoc(wrapped) == "Put a thing into the box."
    bound = Box()
    assert inspect.signature(Hooks().wrap(bound.put)) == inspect.signature(bound.put)


class Unlike:
    """Its copies are other objects, and it has no JSON."""


def test_arguments_that_no_hook_changed_stay_the_callers_very_objects() -> None:
    hooks = hooks_that("BeforeTool", rewrite(changed="new"))

    @hooks.wrap
    def keep(first: object, /, given: object, *more: object, changed: str, **named: object) -> Any:
        return first, given, more, changed, named

    first, given, more, named = Unlike(), [Unlike()], {1, 2}, {"x": Unlike()}
    got = keep(first, given, more, changed="old", named=named)
    assert got[0] is first
    assert got[1] is given
    assert got[2][0] is more
    assert got[3] == "new"
    assert got[4]["named"] is named


def test_what_a_generator_yields_flows_where_no_hook_looks_at_it() -> None:
    begun: list[int] = []

    @hooks_that("BeforeTool", None).wrap
    def count() -> Iterator[int]:
        for number in itertools.count():
            begun.append(number)
            yield number

    assert inspect.isgeneratorfunction(count)
    assert [*itertools.islice(count(), 2)] == [0, 1]
    assert begun == [0, 1]


def test_a_generator_that_flows_is_sent_values_and_returns_its_own() -> None:
    @Hooks().wrap
    def add() -> Generator[int, int, str]:
        total = 0
        while total < 3:
            total += yield total
        return "enough"

    adding = add()
    assert [next(adding), adding.send(2)] == [0, 2]
    with pytest.raises(StopIteration) as ended:
        adding.send(2)
    assert ended.value.value == "enough"


async def test_an_async_generator_that_flows_is_sent_values_and_closed() -> None:
    closed = []

    @Hooks().wrap
    async def echo() -> AsyncGenerator[str, str]:
        said = "hello"
        try:
            while said != "bye":
                said = yield said
        finally:
            closed.append(said)

    echoing = echo()
    assert [await anext(echoing), await echoing.asend("you")] == ["hello", "you"]
    with pytest.raises(StopAsyncIteration):
        await echoing.asend("bye")
    await anext(early := echo())
    await early.aclose()
    assert closed == ["bye", "hello"]


def test_a_blocked_generator_does_not_begin() -> None:
    begun: list[str] = []

    def lines() -> Iterator[str]:
        begun.append("begun")
        yield "x"

    hooks = hooks_that("BeforeTool", deny("not here"))
    with pytest.raises(BlockedByHook, match="not here"):
        list(wrap(hooks, lines)())
    assert list(wrap(hooks, lines, on_block="return")()) == ["not here"]
    assert not begun


def redact_password(event: dict[str, Any]) -> Reply | None:
    """A hook that must be shown the whole text to find the word in it."""
    text = str(event["tool_response"]["llmContent"])
    return replace_result("[redacted]") if "swordfish" in text else None


def test_hooks_see_all_that_a_generator_yields_before_anybody_else() -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(redact_password)

    def say(*pieces: object) -> Iterator[object]:
        yield from pieces

    assert list(wrap(hooks, say)("all ", "is well")) == ["all ", "is well"]
    assert list(wrap(hooks, say)("sword", "fish")) == ["[redacted]"]
    assert list(wrap(hooks, say, on_block="return")(1, "swordfish")) == ["[redacted]"]
    with pytest.raises(BlockedByHook):
        list(wrap(hooks, say)(1, "swordfish"))


async def test_async_generators_are_guarded_in_the_same_way() -> None:
    async def say(*pieces: object) -> AsyncIterator[object]:
        for piece in pieces:
            await asyncio.sleep(0)
            yield piece

    async def collect(hooks: Hooks, *pieces: object) -> list[object]:
        guarded = wrap(hooks, say)
        assert inspect.isasyncgenfunction(guarded)
        return [piece async for piece in guarded(*pieces)]

    hooks = Hooks()
    hooks.on("AfterTool")(redact_password)
    assert await collect(hooks, "all ", "is well") == ["all ", "is well"]
    assert await collect(hooks, "sword", "fish") == ["[redacted]"]
    assert await collect(hooks_that("AfterTool", add_context("seen")), "a", "b") == ["ab\n\nseen"]
    assert await collect(Hooks(), "sword", "fish") == ["sword", "fish"]
    with pytest.raises(BlockedByHook):
        await collect(hooks_that("BeforeTool", deny("no")), "x")


def test_a_generator_that_raises_fires_after_tool_with_the_error() -> None:
    hooks, seen = Hooks(), []
    hooks.on("AfterTool")(lambda event: seen.append(event["tool_response"]["error"]["message"]))

    @hooks.wrap
    def lines() -> Iterator[str]:
        yield "x"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        list(lines())
    assert len(seen) == 1
    assert "the disk is full" in seen[0]


def test_what_hooks_add_goes_into_texts(caplog: pytest.LogCaptureFixture) -> None:
    hooks = hooks_that("AfterTool", add_context("seen"))
    assert wrap(hooks, lambda: "x", name="t")() == "x\n\nseen"
    assert wrap(hooks, lambda: {"a": 1}, name="t", as_text=True)() == '{"a":1}\n\nseen'
    value = {"a": 1}
    assert wrap(hooks, lambda: value, name="t")() is value
    assert "cannot add a hook's text to the result of t, which is a dict; wrap" in caplog.text


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
