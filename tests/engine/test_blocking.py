"""Synchronous callers, and one system for several threads and event loops at once."""

import asyncio
import contextvars
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hookline.contract import Config, HookSystem
from hookline.pipeline.answer import Answer, ProcessedHookResult
from tests.eleven import FIRINGS, Firing, Json, command, label, on_every_event

TOOL: Json = {"tool_name": "read", "tool_input": {}}
DENYING = command('cat >/dev/null; printf \'{"decision":"deny","reason":"%s"}\' $$')


def make(tmp_path: Path, *hooks: Json) -> HookSystem:
    return HookSystem(Config(working_dir=tmp_path, hooks=on_every_event(*hooks)))


def is_denied(processed: ProcessedHookResult) -> bool:
    output = processed.final_output
    return processed.success and output is not None and output.is_blocking_decision()


@pytest.mark.parametrize("firing", FIRINGS, ids=label)
def test_without_a_loop_every_event_is_fired_and_answered(tmp_path: Path, firing: Firing) -> None:
    system = make(tmp_path)
    seen: list[Json] = []
    system.register_hook(firing.event, seen.append, name="see")
    assert system.fire_blocking(firing.event, firing.payload).success is True
    assert list(seen[0].items())[5:] == list(firing.own.items())


def test_a_system_that_was_not_initialized_is_by_the_first_event(tmp_path: Path) -> None:
    system = make(tmp_path, DENYING)
    assert is_denied(system.fire_blocking("BeforeTool", TOOL))
    assert system.get_status().initialized is True


def test_what_is_wrong_is_a_failure_envelope_here_too(tmp_path: Path) -> None:
    processed = make(tmp_path).fire_blocking("BeforeTol", TOOL)
    assert processed.errors[0].code == "unsupported_event"


async def test_in_a_pool_thread_of_a_running_loop(tmp_path: Path) -> None:
    waiting = "until [ -e beaten ]; do sleep 0.01; done; "
    system = make(tmp_path, {**DENYING, "command": waiting + DENYING["command"]})
    with ThreadPoolExecutor(2) as pool:
        loop = asyncio.get_running_loop()
        firing = [
            loop.run_in_executor(pool, system.fire_blocking, "BeforeTool", TOOL) for _ in range(4)
        ]
        for _ in range(10):
            await asyncio.sleep(0.001)
        # A loop that were held up would not come to this, and the hooks would wait for ever.
        (tmp_path / "beaten").touch()
        assert all(map(is_denied, await asyncio.gather(*firing)))


async def test_in_the_thread_of_the_loop_itself(tmp_path: Path) -> None:
    system = make(tmp_path, DENYING)
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="lost")
    variable.set("kept")
    system.register_hook("BeforeTool", lambda _document: {"reason": variable.get()}, name="see")
    processed = system.fire_blocking("BeforeTool", TOOL)
    assert is_denied(processed)
    assert processed.all_outputs[0] == {"reason": "kept"}
    assert (await system.get_event_handler().fire("BeforeTool", TOOL)).success is True


def test_from_eight_threads_at_once(tmp_path: Path) -> None:
    system = make(tmp_path, DENYING)
    gate = threading.Barrier(8)

    def work(_number: int) -> bool:
        gate.wait()
        return all(is_denied(system.fire_blocking("BeforeTool", TOOL)) for _ in range(3))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8


def test_threads_wait_for_their_hooks_side_by_side(tmp_path: Path) -> None:
    # Each waits for all the others.
    meet = "touch here-$$; until [ $(ls here-* | wc -l) -eq 6 ]; do sleep 0.01; done"
    system = make(tmp_path, command(meet))
    with ThreadPoolExecutor(6) as pool:
        fired = pool.map(lambda _n: system.fire_blocking("BeforeTool", TOOL), range(6))
        assert all(processed.success for processed in fired)


def test_the_threads_own_event_loop_is_untouched(tmp_path: Path) -> None:
    system = make(tmp_path, DENYING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        policy = asyncio.get_event_loop_policy()
    own = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(own)
        assert is_denied(system.fire_blocking("BeforeTool", TOOL))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            assert asyncio.get_event_loop_policy() is policy
            assert asyncio.get_event_loop() is own
        assert own.run_until_complete(asyncio.sleep(0, "still works")) == "still works"
    finally:
        asyncio.set_event_loop(None)
        own.close()


def test_a_hook_may_itself_fire_an_event(tmp_path: Path) -> None:
    system = make(tmp_path)

    async def nested(_document: Json) -> Json:
        inner = system.fire_blocking("Notification", {"message": "m"})
        return {"reason": inner.system_message}

    system.register_hook("BeforeTool", nested)
    system.register_hook("Notification", lambda _document: {"systemMessage": "inner"})
    assert system.fire_blocking("BeforeTool", TOOL).all_outputs == [{"reason": "inner"}]


def test_an_exception_of_the_load_is_a_failed_event_in_either_place(tmp_path: Path) -> None:
    def lost() -> bool:
        raise LookupError("where am I")

    hooks = on_every_event(DENYING)
    system = HookSystem(Config(working_dir=tmp_path, hooks=hooks, trusted=lost))

    async def inside() -> Answer:
        return system.fire_blocking("BeforeTool", TOOL)

    for answer in (system.fire_blocking("BeforeTool", TOOL), asyncio.run(inside())):
        assert answer.word == "failed"
        (failure,) = answer.failures
        assert (failure.stage, failure.message) == ("planning", "where am I")


def test_one_system_serves_several_loops_at_once(tmp_path: Path) -> None:
    system = make(tmp_path, DENYING)

    together = threading.Barrier(20)

    async def waiting(document: Json) -> Json:
        await asyncio.to_thread(together.wait, 30)
        return {"reason": document["tool_name"]}

    system.register_hook("BeforeTool", waiting, name="async")
    gate = threading.Barrier(4)

    async def fire(number: int) -> list[str]:
        await system.initialize()
        handler = system.get_event_handler()
        tools = [f"{number}-{n}" for n in range(5)]
        fired = await asyncio.gather(*(handler.fire_before_tool_event(t, {}) for t in tools))
        assert all(map(is_denied, fired))
        return [processed.all_outputs[0]["reason"] for processed in fired]

    def work(number: int) -> list[str]:
        gate.wait()
        return asyncio.run(fire(number))

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, range(4)))
    assert answers == [[f"{number}-{n}" for n in range(5)] for number in range(4)]


_COUNT_REPRS = """
from hookline import Answer, Hooks

written = []
Answer.__repr__ = lambda answer: written.append(answer) or "an answer"
hooks = Hooks()
hooks.on("BeforeTool")(lambda _event: None)
assert hooks.sync.before_tool("read", {}).results
print(len(written))
"""


def test_a_blocking_call_on_the_main_thread_writes_its_answer_out_for_nobody() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _COUNT_REPRS], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0\n"
