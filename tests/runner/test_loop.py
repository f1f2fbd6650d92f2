"""The loop without asyncio: what runs on it, what wakes it, and how it gives up."""

import asyncio
import contextlib
import inspect
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from hookline.runner.loop import (
    Cancelled,
    Loop,
    PollLoop,
    gather,
    is_running_asyncio,
    running_loop,
)
from hookline.runner.process import ProcessLimits, ProcessOutcome, run_process
from tests.runner.contained import SLACK, is_running


def run(script: str, *, stdin: bytes = b"", **limits: float) -> Coroutine[Any, Any, ProcessOutcome]:
    return run_process(
        ["bash", "-c", script],
        stdin=stdin,
        cwd=os.getcwd(),
        env=os.environ,
        limits=ProcessLimits(**{"timeout": 10.0, "grace": 0.3} | limits),  # type: ignore[arg-type]
    )


async def pause(seconds: float) -> Loop:
    loop = running_loop()
    waiter = loop.create_future()
    loop.call_at(loop.time() + seconds, lambda: waiter.set_result(None))
    await waiter
    return loop


def test_a_process_is_fed_and_read_as_on_any_other_loop() -> None:
    outcome = PollLoop().run(run("cat; echo seen >&2; exit 3", stdin=b"x" * 1_000_000))
    assert (outcome.exit_code, len(outcome.stdout), outcome.stderr) == (3, 1_000_000, b"seen\n")


def test_a_process_that_takes_too_long_is_stopped_in_time() -> None:
    started = time.monotonic()
    outcome = PollLoop().run(run("trap '' TERM; while :; do sleep 1; done", timeout=0.2, grace=0.2))
    assert outcome.ended == "timeout"
    assert time.monotonic() - started < 0.4 + SLACK


def test_several_run_at_once_and_their_results_are_in_order() -> None:
    # Each waits for all the others, and the first for longest.
    meet = "touch here-{n}; until [ -e here-0 -a -e here-1 -a -e here-2 ]; do sleep 0.01; done"

    async def all_three() -> list[ProcessOutcome]:
        scripts = [f"{meet.format(n=n)}; sleep 0.{2 - n}; echo {n}" for n in range(3)]
        return await gather([run(script, timeout=30) for script in scripts])

    outcomes = PollLoop().run(all_three())
    assert [outcome.stdout for outcome in outcomes] == [b"0\n", b"1\n", b"2\n"]


def test_what_a_coroutine_raises_is_raised() -> None:
    async def fail() -> None:
        await pause(0)
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        PollLoop().run(fail())


def test_one_that_raises_ends_the_others_it_was_gathered_with(tmp_path: Any) -> None:
    async def fail() -> ProcessOutcome:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            await pause(0.01)
        raise LookupError("lost")

    async def both() -> None:
        await gather([fail(), run(f"echo $$ > {tmp_path}/pid; exec sleep 30")])

    with pytest.raises(LookupError, match="lost"):
        PollLoop().run(both())
    assert not is_running((tmp_path / "pid").read_text())


def cancel_after(file: Path, *loops: PollLoop, pause: float = 0.0) -> None:
    """Cancel from another thread once a script has written a file, each after a pause."""

    def cancel() -> None:
        while not (file.exists() and file.read_text()):
            time.sleep(0.01)
        for loop in loops:
            loop.cancel()
            time.sleep(pause)

    threading.Thread(target=cancel, daemon=True).start()


def test_another_thread_can_end_it_and_nothing_runs_on(tmp_path: Path) -> None:
    loop = PollLoop()
    cancel_after(tmp_path / "pid", loop)
    with pytest.raises(Cancelled):
        loop.run(run(f"echo $$ > {tmp_path}/pid; exec sleep 30"))
    assert not is_running((tmp_path / "pid").read_text())


def test_told_twice_to_give_up_it_does_so_at_once(tmp_path: Path) -> None:
    loop = PollLoop()
    cancel_after(tmp_path / "pid", loop, loop, pause=0.1)
    script = f"trap '' TERM; echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done"

    async def two() -> None:
        await gather([run(script), run("exec sleep 30")])

    with pytest.raises(Cancelled):
        loop.run(two())
    assert not is_running((tmp_path / "pid").read_text())


def test_timers_fire_in_order_and_cancelled_ones_do_not() -> None:
    fired: list[int] = []

    async def three() -> None:
        loop = running_loop()
        for number, seconds in enumerate((0.03, 0.01, 0.02)):
            timer = loop.call_at(loop.time() + seconds, lambda number=number: fired.append(number))  # type: ignore[misc]
            if number == 2:
                timer.cancel()
        await pause(0.05)

    PollLoop().run(three())
    assert fired == [1, 0]


def test_it_is_told_from_a_loop_of_asyncio() -> None:
    async def look() -> tuple[bool, bool]:
        return isinstance(running_loop(), PollLoop), is_running_asyncio()

    assert PollLoop().run(look()) == (True, False)


async def test_it_runs_within_a_loop_of_asyncio_too() -> None:
    async def look() -> bool:
        return isinstance(running_loop(), PollLoop)

    assert is_running_asyncio()
    assert PollLoop().run(look())
    assert not isinstance(running_loop(), PollLoop)


def test_after_its_end_nobody_can_call_it() -> None:
    loop = PollLoop()
    loop.run(pause(0))
    with pytest.raises(RuntimeError, match="ended"):
        loop.call_soon_threadsafe(lambda: None)


@pytest.mark.parametrize("seconds", [1e9, 1e300])
def test_a_timeout_may_be_longer_than_any_wait(seconds: float) -> None:
    outcome = PollLoop().run(run("exit 4", timeout=seconds))
    assert (outcome.ended, outcome.exit_code) == ("exit", 4)


def test_an_interrupt_ends_all_that_was_gathered_at_once(tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.pid" for n in range(2)]
    loop = PollLoop()

    def interrupt() -> None:
        if all(file.exists() and file.read_text() for file in files):
            raise KeyboardInterrupt
        loop.call_at(loop.time() + 0.01, interrupt)

    async def two() -> None:
        interrupt()
        await gather([run(f"echo $$ > {file}; sleep 30") for file in files])

    with pytest.raises(KeyboardInterrupt):
        loop.run(two())
    deadline = time.monotonic() + SLACK
    while any(is_running(file.read_text()) for file in files):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_interrupt_in_one_of_several_does_not_wait_for_the_others() -> None:
    async def interrupted() -> ProcessOutcome:
        raise KeyboardInterrupt

    async def both() -> None:
        await gather([run("exec sleep 30"), interrupted()])

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        PollLoop().run(both())
    assert time.monotonic() - started < SLACK


def test_it_can_be_told_to_give_up_before_it_has_begun_and_when_it_is_over(tmp_path: Any) -> None:
    loop = PollLoop()
    loop.cancel()
    with pytest.raises(Cancelled):
        loop.run(run(f"touch {tmp_path}/begun; exec sleep 30"))
    loop.cancel()


def test_threads_that_call_it_to_its_end_write_to_no_other_file(tmp_path: Any) -> None:
    is_over = threading.Event()
    loops = [PollLoop()]
    # Otherwise each thread has the interpreter for five milliseconds at a time.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0001)

    def ring() -> None:
        while not is_over.is_set():
            with contextlib.suppress(RuntimeError):
                loops[-1].call_soon_threadsafe(lambda: None)

    thread = threading.Thread(target=ring)
    thread.start()
    try:
        for number in range(100):
            loops[-1].run(pause(0))
            # They have the numbers that the loop had.
            with open(tmp_path / f"{number}a", "wb"), open(tmp_path / f"{number}b", "wb"):
                loops.append(PollLoop())
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)
    loops[-1].run(pause(0))
    assert [file.name for file in tmp_path.glob("*[ab]") if file.stat().st_size] == []


def test_a_signal_ends_a_wait_however_shortly_before_it_comes() -> None:
    async def work() -> int:
        bell = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(bell)
        return bell

    assert PollLoop().run(work()) != -1
    assert signal.set_wakeup_fd(-1) == -1


def test_signals_that_somebody_else_waits_for_are_left_alone() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)

    async def work() -> int:
        return signal.set_wakeup_fd(writing)

    assert PollLoop().run(work()) == writing
    assert signal.set_wakeup_fd(-1) == writing
    os.close(reading)
    os.close(writing)


async def test_on_asyncio_other_tasks_run_between_the_starts_of_what_is_gathered() -> None:
    log: list[str] = []

    async def tick() -> None:
        while True:
            log.append("tick")
            await asyncio.sleep(0)

    async def start(name: str) -> str:
        log.append(name)
        return name

    ticking = asyncio.create_task(tick())
    assert await gather([start("a"), start("b")]) == ["a", "b"]
    ticking.cancel()
    assert "tick" in log[log.index("a") : log.index("b")]


async def test_on_asyncio_what_was_not_started_before_a_failure_is_closed() -> None:
    async def fail() -> None:
        raise ValueError("first")

    started: list[int] = []

    async def start(number: int) -> None:
        started.append(number)

    waiting = [fail(), *(start(number) for number in range(5))]
    with pytest.raises(ExceptionGroup, match="unhandled errors"):
        await gather(waiting)
    assert [inspect.getcoroutinestate(each) for each in waiting] == [inspect.CORO_CLOSED] * 6
    assert len(started) < 5


def test_more_calls_than_its_pipe_holds_are_all_made_and_block_nobody() -> None:
    made: list[int] = []
    loop = PollLoop()

    async def call_often() -> None:
        for number in range(100_000):
            loop.call_soon_threadsafe(lambda number=number: made.append(number))  # type: ignore[misc]
        await pause(0)

    loop.run(call_often())
    assert made == list(range(100_000))


def test_after_its_end_signals_wake_it_no_more() -> None:
    PollLoop().run(pause(0))
    assert signal.set_wakeup_fd(-1) == -1


def test_a_descriptor_has_a_reader_and_a_writer_of_its_own() -> None:
    ours, theirs = socket.socketpair()
    seen: list[str] = []

    async def watch() -> None:
        loop = running_loop()
        done = loop.create_future()

        def read() -> None:
            seen.append("reads")
            done.set_result(None)

        loop.add_writer(ours.fileno(), lambda: seen.append("writes"))
        loop.add_reader(ours.fileno(), read)
        await pause(0.01)
        assert set(seen) == {"writes"}
        loop.remove_writer(ours.fileno())
        seen.clear()
        await pause(0.01)
        assert seen == []
        theirs.send(b"x")
        await done
        loop.remove_reader(ours.fileno())
        seen.clear()
        await pause(0.01)
        assert seen == []
        loop.remove_reader(ours.fileno())

    with ours, theirs:
        PollLoop().run(watch())


def test_a_writer_hears_that_the_other_end_of_a_full_pipe_was_closed() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 65_536)

    async def watch() -> None:
        loop = running_loop()
        closed = loop.create_future()
        loop.add_writer(writing, lambda: closed.set_result(None))
        await pause(0)
        assert not closed.done()
        os.close(reading)
        await closed
        loop.remove_writer(writing)

    PollLoop().run(watch())
    os.close(writing)


def test_told_twice_to_give_up_so_is_all_that_was_gathered() -> None:
    loop = PollLoop()
    told: list[str] = []

    async def take_leave() -> None:
        for _ in range(2):
            try:
                await pause(5)
            except Cancelled:
                told.append("again")
                loop.call_at(loop.time(), loop.cancel)

    async def both() -> None:
        loop.call_at(loop.time(), loop.cancel)
        await gather([take_leave()])

    with pytest.raises(Cancelled):
        loop.run(both())
    assert told == ["again", "again"]


def test_timers_of_the_same_time_fire_in_the_order_they_were_set() -> None:
    fired: list[int] = []

    async def three() -> None:
        loop = running_loop()
        when = loop.time() + 0.005
        for number in range(3):
            loop.call_at(when, lambda number=number: fired.append(number))  # type: ignore[misc]
        await pause(0.01)

    PollLoop().run(three())
    assert fired == [0, 1, 2]


def test_a_loop_in_a_loop_gives_way_to_it_again() -> None:
    async def outer() -> tuple[bool, bool]:
        here = running_loop()
        inner = PollLoop().run(pause(0))
        return inner is not here, running_loop() is here

    assert PollLoop().run(outer()) == (True, True)


def test_to_remove_what_was_never_added_is_fine() -> None:
    async def remove() -> None:
        loop = running_loop()
        loop.remove_reader(0)
        loop.remove_writer(0)

    PollLoop().run(remove())


def test_without_asyncio_no_loop_of_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "asyncio")
    assert not is_running_asyncio()


def test_a_loop_that_cannot_be_made_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(os.listdir("/dev/fd"))

    def refuse(_fd: int, _blocking: bool) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "set_blocking", refuse)
    with pytest.raises(OSError, match="no"):
        PollLoop()
    assert len(os.listdir("/dev/fd")) == before
