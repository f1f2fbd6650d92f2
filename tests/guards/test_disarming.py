"""A reviewed guard that fails closed cannot be switched off from inside the project."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline.config import Config
from hookline.trust.store import TrustStore
from tests.guards.project import (
    DENYING,
    PASSING,
    TOOL,
    fire,
    guard_project,
    hook,
    settings_of,
    trust,
    write_user_settings,
)
from tests.harness.scratch import Project


@pytest.fixture
def guarded(project: Project) -> Project:
    guard_project(project)
    trust(project.path)
    answer = fire(project.path)
    assert (answer.blocked, answer.reason) == (True, "no")
    return project


def edit_the_script(project: Project) -> None:
    project.script("hooks/guard.sh", PASSING)


def delete_the_script(project: Project) -> None:
    (project.path / "hooks/guard.sh").unlink()


def take_its_mode(project: Project) -> None:
    (project.path / "hooks/guard.sh").chmod(0o644)


def delete_the_entry(project: Project) -> None:
    project.settings({"hooks": {}})


def delete_the_settings(project: Project) -> None:
    (project.path / ".hookline/settings.json").unlink()


def delete_the_folder(project: Project) -> None:
    shutil.rmtree(project.path / ".hookline")


def disable_it(project: Project) -> None:
    project.settings({"hooks": {"disabled": ["guard"]}}, file=".hookline/settings.local.json")


def disable_it_elsewhere(project: Project) -> None:
    project.settings({"hooksConfig": {"disabled": ["guard"]}}, file=".gemini/settings.json")


def disable_all(project: Project) -> None:
    project.settings({**settings_of(hook()), "enableHooks": False})


def drop_on_failure(project: Project) -> None:
    edit_the_script(project)
    project.settings(settings_of({**hook(), "onFailure": "allow"}))


def match_something_else(project: Project) -> None:
    project.settings(settings_of(hook(), matcher="nothing"))


def move_it_to_another_event(project: Project) -> None:
    project.settings({"hooks": {"AfterTool": [{"hooks": [hook()]}]}})


def rename_it(project: Project) -> None:
    project.settings(settings_of(hook("true", name="other")))


def run_something_else(project: Project) -> None:
    project.settings(settings_of(hook("true")))


def give_it_no_time(project: Project) -> None:
    project.settings(settings_of(hook(timeout=1)))


def set_a_variable(project: Project) -> None:
    project.settings(settings_of(hook(env={"PATH": "."})))


def add_a_stray_brace(project: Project) -> None:
    file = project.path / ".hookline/settings.json"
    file.write_text(file.read_text() + "{")


def make_the_settings_a_folder(project: Project) -> None:
    delete_the_settings(project)
    (project.path / ".hookline/settings.json").mkdir()


def make_the_settings_a_pipe(project: Project) -> None:
    delete_the_settings(project)
    os.mkfifo(project.path / ".hookline/settings.json")


def make_the_script_a_folder(project: Project) -> None:
    delete_the_script(project)
    project.write("hooks/guard.sh/__main__.py", "")


def make_the_script_a_pipe(project: Project) -> None:
    delete_the_script(project)
    os.mkfifo(project.path / "hooks/guard.sh")


def lead_it_elsewhere(project: Project) -> None:
    delete_the_script(project)
    project.script("elsewhere.sh", PASSING)
    (project.path / "hooks/guard.sh").symlink_to("../elsewhere.sh")


def lead_it_to_the_same_content(project: Project) -> None:
    script = project.path / "hooks/guard.sh"
    script.rename(project.path / "moved.sh")
    script.symlink_to("../moved.sh")


ATTACKS = [
    *(edit_the_script, delete_the_script, take_its_mode, delete_the_entry, delete_the_settings),
    *(delete_the_folder, disable_it, disable_it_elsewhere, disable_all, drop_on_failure),
    *(match_something_else, move_it_to_another_event, rename_it, run_something_else),
    *(give_it_no_time, set_a_variable, add_a_stray_brace, make_the_settings_a_folder),
    *(make_the_settings_a_pipe, make_the_script_a_folder, make_the_script_a_pipe),
    *(lead_it_elsewhere, lead_it_to_the_same_content),
]
each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)


@each_attack
def test_a_reviewed_guard_blocks_after(guarded: Project, attack: Callable[[Project], None]) -> None:
    attack(guarded)
    answer = fire(guarded.path)
    assert answer.blocked
    assert "guard failed: " in str(answer.reason)
    assert "`hookline trust`" in str(answer.reason)
    assert [result.failed for result in answer.results] == ["untrusted"]
    # Whoever reviews the project as it is now, or takes the review back, decides anew.
    TrustStore().forget(str(guarded.path))
    assert not fire(guarded.path).blocked


@each_attack
def test_from_a_subfolder_it_blocks_as_well_after(
    guarded: Project, attack: Callable[[Project], None]
) -> None:
    below = guarded.path / "a/b"
    below.mkdir(parents=True)
    attack(guarded)
    assert fire(below).blocked


@pytest.mark.parametrize(
    "attack",
    [edit_the_script, delete_the_script, make_the_script_a_folder, lead_it_elsewhere],
    ids=lambda attack: attack.__name__,
)
def test_it_blocks_in_a_process_that_has_run_it_before(
    guarded: Project, attack: Callable[[Project], None]
) -> None:
    system = Config.load(guarded.path).get_hook_system()
    assert system is not None
    assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
    attack(guarded)
    answer = system.fire_blocking("BeforeTool", TOOL)
    assert answer.blocked
    assert [result.failed for result in answer.results] == ["untrusted"]
    # As it was reviewed it runs again.
    script = guarded.path / "hooks/guard.sh"
    if script.is_dir():
        shutil.rmtree(script)
    script.unlink(missing_ok=True)
    guarded.script("hooks/guard.sh", DENYING)
    assert system.fire_blocking("BeforeTool", TOOL).reason == "no"


@pytest.mark.parametrize("planted", [".gemini", ".llxprt", ".hookline"])
def test_a_settings_folder_below_does_not_hide_the_guard(guarded: Project, planted: str) -> None:
    below = guarded.path / "pkg"
    (below / planted).mkdir(parents=True)
    answer = fire(below)
    assert answer.blocked
    assert "hides the settings" in str(answer.reason)
    # A project of its own that somebody has reviewed is one.
    trust(below)
    assert not fire(below).blocked


def test_other_events_and_tools_go_on(guarded: Project) -> None:
    delete_the_entry(guarded)
    assert not fire(guarded.path, "BeforeAgent").blocked
    system = Config.load(guarded.path).get_hook_system()
    assert system is not None
    assert not system.fire_blocking("BeforeTool", {**TOOL, "tool_name": "read"}).blocked


def test_a_change_of_one_hook_leaves_the_others_trusted(project: Project) -> None:
    project.script("tools/other.sh", PASSING)
    guard_project(project, hook(), hook("tools/other.sh", name="other", onFailure="allow"))
    trust(project.path)
    project.script("tools/other.sh", "#!/bin/sh\ntouch ran\n")
    answer = fire(project.path)
    assert (answer.reason, [r.hook.name for r in answer.results]) == ("no", ["guard"])
    assert not (project.path / "ran").exists()


def test_a_hook_that_fails_open_is_only_held_back(project: Project) -> None:
    guard_project(project, hook(onFailure="allow"))
    trust(project.path)
    edit_the_script(project)
    answer = fire(project.path)
    assert (answer.blocked, answer.results) == (False, ())


def test_what_nobody_has_reviewed_guards_nothing(project: Project) -> None:
    guard_project(project)
    assert not fire(project.path).blocked


def test_the_user_may_switch_it_off(guarded: Project, tmp_path: Path) -> None:
    delete_the_entry(guarded)
    off = {"hooks": {"disabled": ["guard"]}}
    write_user_settings(tmp_path / ".test/home", off)
    assert not fire(guarded.path).blocked


def test_one_that_was_disabled_when_it_was_reviewed_is_no_guard(project: Project) -> None:
    guard_project(project)
    disable_it(project)
    trust(project.path)
    assert not fire(project.path).blocked
    # Switched on afterwards it would run what was reviewed, but nobody agreed to that.
    (project.path / ".hookline/settings.local.json").unlink()
    assert fire(project.path).results == ()


def test_a_strict_project_cannot_take_that_back(project: Project) -> None:
    guard_project(project, hook(onFailure="allow"))
    project.settings({**settings_of(hook(onFailure="allow")), "strict": True})
    trust(project.path)
    project.settings(settings_of(hook("false", onFailure="allow")))
    answer = fire(project.path)
    assert answer.blocked
    assert Config.load(project.path).get_settings().strict


def test_listed_twice_the_copy_that_fails_closed_is_checked_as_well(project: Project) -> None:
    guard_project(project, hook(onFailure="allow"), hook())
    trust(project.path)
    system = Config.load(project.path).get_hook_system()
    assert system is not None
    assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
    project.script("hooks/guard.sh", "#!/bin/sh\ntouch ran\n")
    answer = system.fire_blocking("BeforeTool", TOOL)
    assert answer.blocked
    assert not (project.path / "ran").exists()


@pytest.mark.parametrize("whose", ["user", "claude", "code"])
def test_a_guard_of_others_runs_whatever_project_lists_the_same(
    project: Project, tmp_path: Path, whose: str
) -> None:
    script = tmp_path / "guard.sh"
    script.write_text(DENYING)
    script.chmod(0o755)
    guard = {"type": "command", "command": str(script)}
    settings, file = settings_of(guard), ".hookline/settings.json"
    options: dict[str, Any] = {}
    if whose == "claude":
        options, file = {"claude": True}, ".claude/settings.json"
        settings = {"hooks": {"PreToolUse": [{"hooks": [guard]}]}}
        (tmp_path / ".test/home/.claude").mkdir()
        (tmp_path / ".test/home" / file).write_text(json.dumps(settings))
    elif whose == "user":
        write_user_settings(tmp_path / ".test/home", settings)
    else:
        options = {"hooks": settings["hooks"]}
    for listed in ({}, settings):
        project.settings(listed, file=file)
        system = Config.load(project.path, **options).get_hook_system()
        assert system is not None
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"


def test_a_script_that_changes_while_settings_are_read_again_is_noticed(guarded: Project) -> None:
    system = Config.load(guarded.path).get_hook_system()
    assert system is not None
    script = guarded.path / "hooks/guard.sh"
    for _ in range(20):
        # Within one tick of the clock, with the same size.
        script.write_text(DENYING)
        system.reload_blocking()
        script.write_text(DENYING.replace("exit 2", "exit 0"))
        assert system.fire_blocking("BeforeTool", TOOL).blocked
        script.write_text(DENYING)
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"


def test_a_project_reached_through_a_link_that_moves(guarded: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "other")
    other.script("hooks/guard.sh", "#!/bin/sh\ntouch ran\n")
    other.settings(settings_of(hook()))
    link = tmp_path / "link"
    link.symlink_to(guarded.path)
    system = Config.load(link).get_hook_system()
    assert system is not None
    assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
    link.unlink()
    link.symlink_to(other.path)
    assert system.fire_blocking("BeforeTool", TOOL).blocked
    assert not list(tmp_path.rglob("ran"))


def test_a_record_of_an_earlier_version_is_explained_and_nothing_runs_on_it(
    guarded: Project, caplog: pytest.LogCaptureFixture
) -> None:
    file = TrustStore().file_of(str(guarded.path))
    assert file is not None
    old = {
        "project": str(guarded.path),
        "hooks": [{"event": "BeforeTool", "command": "hooks/guard.sh", "matcher": "write_file"}],
        "files": {"hooks/guard.sh": f"text:{DENYING}"},
        "trusted_at": "2026-01-01T00:00:00.000Z",
    }
    Path(file).write_text(json.dumps(old))
    answer = fire(guarded.path)
    assert answer.results == ()
    assert "another version of hookline, which reviewed less" in caplog.text
    assert "`hookline trust`" in caplog.text
    trust(guarded.path)
    assert fire(guarded.path).reason == "no"


def test_while_settings_are_read_again_and_again_no_gap_opens(guarded: Project) -> None:
    system = Config.load(guarded.path).get_hook_system()
    assert system is not None
    system.initialize_blocking()
    script, is_over = guarded.path / "hooks/guard.sh", threading.Event()

    def reload() -> None:
        while not is_over.is_set():
            system.reload_blocking()

    reloading = threading.Thread(target=reload)
    reloading.start()
    try:
        for _ in range(60):
            script.write_text(f"#!/bin/sh\ntouch {guarded.path}/ran\n")
            assert system.fire_blocking("BeforeTool", TOOL).blocked
            script.write_text(DENYING)
            assert system.fire_blocking("BeforeTool", TOOL).blocked
    finally:
        is_over.set()
        reloading.join()
    assert not (guarded.path / "ran").exists()
