"""What exists after a test and did not before it fails that test, after a moment to settle."""

import asyncio
import functools
import gc
import inspect
import os
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.harness import processes, writes
from tests.harness.scratch import Ground

_SETTLE = "leak_settle_seconds"
_KINDS = frozenset({"process", "descriptor", "thread", "task"})
_LONG_COLLECTION = 0.02
_LISTING = next((path for path in ("/proc/self/fd", "/dev/fd") if os.path.isdir(path)), None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(_SETTLE, "how long a leftover may take to go by itself", default="3")


def _deadline(config: pytest.Config) -> float:
    return time.monotonic() + float(config.getini(_SETTLE))


class Snapshot(NamedTuple):
    processes: frozenset[int]
    descriptors: frozenset[tuple[int, str]]
    threads: frozenset[threading.Thread]

    @classmethod
    def take(cls) -> "Snapshot":
        return cls(processes.running(), _descriptors(), frozenset(threading.enumerate()))


class Watch:
    """One test's view: what was there when it began, and how to know its own processes."""

    def __init__(self, *roots: Path) -> None:
        self.mark = uuid.uuid4().hex
        self._roots = roots
        self._before = Snapshot.take()

    def new_processes(self) -> frozenset[int]:
        started = processes.running() - self._before.processes
        return processes.belonging_to(self.mark, roots=self._roots, among=started)

    def leaks(self) -> dict[str, list[str]]:
        descriptors = sorted(_descriptors() - self._before.descriptors)
        threads = frozenset(threading.enumerate()) - self._before.threads
        return {
            "process": [processes.describe(pid) for pid in sorted(self.new_processes())],
            "descriptor": [f"descriptor {number}: {target}" for number, target in descriptors],
            "thread": [f"thread {thread.name}" for thread in threads],
        }

    def settled_leaks(self, deadline: float, *, allowed: frozenset[str]) -> list[str]:
        found, took = _not_allowed(self.leaks(), allowed), 0.0
        while found and time.monotonic() < deadline:
            # What holds on to it may be garbage by now, or a moment later.
            started = time.monotonic()
            gc.collect()
            took = time.monotonic() - started
            time.sleep(0.01)
            found = _not_allowed(self.leaks(), allowed)
        if not found and took > _LONG_COLLECTION:
            # Nearly all that is left by now are modules; to look through them again for every test
            # took a quarter of a run.
            gc.freeze()
        return found


def _not_allowed(leaks: dict[str, list[str]], allowed: frozenset[str]) -> list[str]:
    return [leak for kind, found in leaks.items() if kind not in allowed for leak in found]


def _descriptors() -> frozenset[tuple[int, str]]:
    if _LISTING is None:
        return frozenset()
    numbers = [int(name) for name in os.listdir(_LISTING)]
    return frozenset((number, target) for number in numbers if (target := _target(number)))


def _target(number: int) -> str | None:
    try:
        return os.readlink(f"/proc/self/fd/{number}").removesuffix(" (deleted)")
    except FileNotFoundError:
        return None if _LISTING == "/proc/self/fd" else _kind_of(number)


def _kind_of(number: int) -> str | None:
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return f"device {status.st_dev}, inode {status.st_ino}"


def _left_on_purpose(item: pytest.Item) -> frozenset[str]:
    kinds = {kind for mark in item.iter_markers("leaves") for kind in mark.args}
    if unknown := kinds - _KINDS:
        raise pytest.UsageError(f"leaves() knows {sorted(_KINDS)}, not {sorted(unknown)}")
    return frozenset(kinds)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest, ground: Ground) -> Iterator[Watch]:
    """Autouse, and what every other fixture here asks for first: so it is torn down last."""
    roots = [ground.clean()]
    # Most tests write nothing, and to make and remove a directory for each takes its time.
    if "tmp_path" in request.fixturenames:
        roots.append(request.getfixturevalue("tmp_path"))
    watch = Watch(*roots)
    ground.enter(watch.mark)
    with writes.watched() as written_outside:
        yield watch
    allowed = _left_on_purpose(request.node)
    found = watch.settled_leaks(_deadline(request.config), allowed=allowed)
    if found or "process" in allowed:
        processes.kill(watch.new_processes())
    if found:
        pytest.fail("the test left behind:\n  " + "\n  ".join(found), pytrace=False)
    if written_outside:
        pytest.fail(
            "the test wrote outside its tmp dir:\n  " + "\n  ".join(written_outside), pytrace=False
        )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    # The event loop's runner cancels what is left without a word, so tasks are counted inside it.
    owner, name = _coroutine_function(item)
    if owner is None or "task" in _left_on_purpose(item):
        return (yield)
    original = getattr(owner, name)
    setattr(owner, name, _counting_tasks(original, item.config))
    try:
        return (yield)
    finally:
        setattr(owner, name, original)


def _coroutine_function(item: pytest.Item) -> tuple[Any, str]:
    """Where pytest-asyncio will look for the coroutine function of a test, if it is one."""
    test = getattr(item, "obj", None)
    if inspect.iscoroutinefunction(test):
        return item, "obj"
    property_test = getattr(test, "hypothesis", None)
    if inspect.iscoroutinefunction(getattr(property_test, "inner_test", None)):
        return property_test, "inner_test"
    return None, ""


def _counting_tasks(
    test: Callable[..., Awaitable[None]], config: pytest.Config
) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def counted(*args: Any, **kwargs: Any) -> None:
        before = asyncio.all_tasks()
        await test(*args, **kwargs)
        deadline = _deadline(config)
        while (left := asyncio.all_tasks() - before) and time.monotonic() < deadline:
            await asyncio.wait(left, timeout=deadline - time.monotonic())
        if left:
            names = "\n  ".join(f"task {task.get_name()}: {task.get_coro()}" for task in left)
            pytest.fail(f"the test left behind:\n  {names}", pytrace=False)

    return counted
