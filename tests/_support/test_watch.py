"""Files that change, come and go are noticed, and a system that watches takes them over."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookline import Config, HookSystem
from hookline._support.watch import FileWatch, WatchError
from hookline.engine.engine import ReloadReport
from tests.harness.scratch import Project


class Bell:
    """Counts the calls of a watch."""

    def __init__(self) -> None:
        self.rung = threading.Semaphore(0)

    def __call__(self) -> None:
        self.rung.release()

    def rings(self, seconds: float = 10) -> bool:
        return self.rung.acquire(timeout=seconds)


@pytest.fixture
def watch() -> Iterator[Callable[[Path], Bell]]:
    started: list[FileWatch] = []

    def start(file: Path) -> Bell:
        bell = Bell()
        started.append(FileWatch([str(file)], bell, lambda said: pytest.fail(said)))
        return bell

    yield start
    for one in started:
        one.stop()


def test_a_file_that_is_written_replaced_and_removed(
    tmp_path: Path, watch: Callable[[Path], Bell]
) -> None:
    file = tmp_path / "settings.json"
    file.write_text("1")
    bell = watch(file)
    file.write_text("22")
    assert bell.rings()
    (tmp_path / "new").write_text("333")
    os.replace(tmp_path / "new", file)
    assert bell.rings()
    file.unlink()
    assert bell.rings()


def test_a_file_in_a_directory_that_comes_later(
    tmp_path: Path, watch: Callable[[Path], Bell]
) -> None:
    bell = watch(tmp_path / "a/b/settings.json")
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/settings.json").write_text("{}")
    assert bell.rings()
    (tmp_path / "a/b/settings.json").write_text('{"hooks": {}}')
    assert bell.rings()


def test_other_files_beside_it_are_nobodys_business(
    tmp_path: Path, watch: Callable[[Path], Bell]
) -> None:
    bell = watch(tmp_path / "settings.json")
    (tmp_path / "other.json").write_text("{}")
    assert not bell.rings(0.8)


def test_a_callback_that_raises_is_told_and_hears_of_the_next_change(tmp_path: Path) -> None:
    bell, said = Bell(), list[str]()

    def fail_once() -> None:
        bell()
        if not said:
            raise LookupError("not now")

    file = tmp_path / "settings.json"
    watch = FileWatch([str(file)], fail_once, said.append)
    try:
        for text in ("1", "22"):
            file.write_text(text)
            assert bell.rings()
    finally:
        watch.stop()
    assert said == ["cannot watch the settings for changes, trying again: not now"]


def test_a_callback_may_end_its_own_watch(tmp_path: Path) -> None:
    bell, watches = Bell(), list[FileWatch]()

    def end() -> None:
        watches[0].stop()
        bell()

    watches.append(FileWatch([str(tmp_path / "settings.json")], end, pytest.fail))
    (tmp_path / "settings.json").write_text("{}")
    assert bell.rings()
    watches[0].stop()
    assert not any(thread.name == "hookline watch" for thread in threading.enumerate())


def test_without_watchfiles_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(WatchError, match=r"pip install 'hookline\[watch\]'"):
        FileWatch([], Bell(), pytest.fail)


def hooks(*names: str) -> str:
    listed = [{"type": "command", "command": "true", "name": name} for name in names]
    return json.dumps({"hooks": {"BeforeTool": [{"hooks": listed}]}})


def names(system: HookSystem) -> list[str]:
    return [entry.name for entry in system.get_all_hooks()]


def comes_true(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_a_system_that_watches_reloads_and_keeps_its_hooks_when_a_file_breaks(
    project: Project,
) -> None:
    file = project.write("rules.json", hooks("one"))
    told: list[tuple[int, bool]] = []

    def hear(report: ReloadReport) -> None:
        told.append((report.total_hooks, bool(report.problems)))
        raise LookupError("and fails")

    config = Config.load(settings_files=[file])
    system = HookSystem(config, watch=True, on_reload=hear)
    system.initialize_blocking()
    try:
        assert names(system) == ["one"]
        file.write_text(hooks("one", "two"))
        assert comes_true(lambda: names(system) == ["one", "two"])
        file.write_text("{ broken")
        assert comes_true(lambda: bool(system.get_problems()))
        assert names(system) == ["one", "two"]
        file.write_text(hooks("three"))
        assert comes_true(lambda: names(system) == ["three"])
        assert comes_true(lambda: told[-1:] == [(1, False)])
    finally:
        system.dispose()
    assert {(2, False), (2, True)} <= {*told}


def test_a_system_that_nobody_disposed_takes_its_watch_with_it(project: Project) -> None:
    file = project.write("rules.json", hooks("one"))
    system = HookSystem(Config.load(settings_files=[file]), watch=True)
    system.initialize_blocking()
    assert any(thread.name == "hookline watch" for thread in threading.enumerate())
    del system


def test_disposed_before_it_was_initialized_a_system_watches_nothing(project: Project) -> None:
    system = HookSystem(Config.load(project.path), watch=True)
    system.dispose()
    system.initialize_blocking()
    assert not any(thread.name == "hookline watch" for thread in threading.enumerate())
