"""A reviewed guard goes on guarding as it was reviewed, whatever happens inside the project."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hookline._support.places import project_key, user_state_dir
from hookline.contract import Config
from hookline.trust.store import TrustStore
from tests.guards.project import (
    DENYING,
    PASSING,
    TOOL,
    find_notices,
    fire,
    guard_project,
    hook,
    running,
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
def test_a_reviewed_guard_goes_on_after(
    guarded: Project, attack: Callable[[Project], None]
) -> None:
    attack(guarded)
    answer = fire(guarded.path)
    assert (answer.blocked, answer.reason) == (True, "no")
    assert [result.failed for result in answer.results if result.hook.name == "guard"] == [None]
    # People are told, and the user's word ends it.
    assert "guard: " in " ".join(find_notices(guarded.path))
    TrustStore().forget(str(guarded.path))
    assert not fire(guarded.path).blocked


@each_attack
def test_from_a_subfolder_it_goes_on_after(
    guarded: Project, attack: Callable[[Project], None]
) -> None:
    below = guarded.path / "a/b"
    below.mkdir(parents=True)
    attack(guarded)
    assert fire(below).reason == "no"


@each_attack
def test_in_a_process_that_runs_it_goes_on_after(
    guarded: Project, attack: Callable[[Project], None]
) -> None:
    with running(guarded.path) as system:
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
        attack(guarded)
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
        system.reload_blocking()
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"


@pytest.mark.parametrize("planted", [".gemini", ".llxprt", ".hookline"])
def test_a_settings_folder_below_does_not_hide_the_guard(guarded: Project, planted: str) -> None:
    below = guarded.path / "pkg"
    (below / planted).mkdir(parents=True)
    assert fire(below).reason == "no"
    assert str(guarded.path) in " ".join(find_notices(below))


def test_a_reviewed_project_below_adds_to_the_guard_and_takes_nothing_away(
    guarded: Project,
) -> None:
    below = Project(guarded.path / "pkg")
    guard_project(below)
    below.script("hooks/guard.sh", PASSING)
    trust(below.path)
    answer = fire(below.path)
    assert answer.reason == "no"
    assert len(answer.results) == 2


def test_a_project_that_is_gone_still_guards_its_folders(guarded: Project) -> None:
    below = guarded.path / "pkg"
    below.mkdir()
    for name in (".hookline", "hooks"):
        shutil.rmtree(guarded.path / name)
    assert fire(below).reason == "no"


@pytest.mark.parametrize("fault", ["lost", "edited", "another version"])
def test_a_damaged_copy_blocks_instead(guarded: Project, fault: str) -> None:
    kept = TrustStore().read(str(guarded.path))
    assert kept is not None
    copy, document = Path(kept.root, "hooks/guard.sh"), Path(kept.folder, "review.json")
    for file in (copy, document):
        file.chmod(0o700)
    if fault == "lost":
        copy.unlink()
    elif fault == "edited":
        copy.write_text(PASSING)
    else:
        document.write_text(document.read_text().replace('"version":3', '"version":99'))
    answer = fire(guarded.path)
    assert answer.blocked
    assert answer.reason != "no"
    assert "`hookline trust`" in str(answer.reason)


@pytest.mark.parametrize(
    ("before", "after", "is_blocked"),
    [
        ('"command":"', '"wrong":"', True),
        ('"name":"guard"', '"name":"guard","type":"daemon"', True),
        ('"event":"BeforeTool"', '"event":"OfAnotherVersion"', False),
    ],
)
def test_a_review_that_no_guard_can_be_made_from_blocks_instead(
    guarded: Project, before: str, after: str, is_blocked: bool
) -> None:
    """A guard is never dropped in silence, unless nobody fires its event here."""
    kept = TrustStore().read(str(guarded.path))
    assert kept is not None
    document = Path(kept.folder, "review.json")
    document.chmod(0o700)
    text = document.read_text()
    assert before in text
    document.write_text(text.replace(before, after, 1))
    delete_the_entry(guarded)
    answer = fire(guarded.path)
    assert answer.blocked is is_blocked
    assert not is_blocked or "cannot be used" in str(answer.reason)


def test_other_events_and_tools_go_on(guarded: Project) -> None:
    delete_the_entry(guarded)
    assert not fire(guarded.path, "BeforeAgent").blocked
    with running(guarded.path) as system:
        assert not system.fire_blocking("BeforeTool", {**TOOL, "tool_name": "read"}).blocked


def test_what_nobody_has_reviewed_does_not_run_beside_it(guarded: Project) -> None:
    new = hook(f"touch {guarded.path}/ran", name="new")
    guarded.settings(settings_of(hook(), new))
    assert fire(guarded.path).reason == "no"
    assert not (guarded.path / "ran").exists()


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


def test_the_user_may_switch_it_off(guarded: Project) -> None:
    delete_the_entry(guarded)
    off = {"hooks": {"disabled": ["guard"]}}
    write_user_settings(Path.home(), off)
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


@pytest.mark.parametrize("strict", [False, True])
def test_listed_twice_it_is_the_guard_that_runs(project: Project, strict: bool) -> None:
    guard_project(project, hook(onFailure="allow"), hook())
    trust(project.path)
    with running(project.path, strict=strict) as system:
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
        project.script("hooks/guard.sh", "#!/bin/sh\ntouch ran\n")
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
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
        (Path.home() / ".claude").mkdir()
        (Path.home() / file).write_text(json.dumps(settings))
    elif whose == "user":
        write_user_settings(Path.home(), settings)
    else:
        options = {"hooks": settings["hooks"]}
    for listed in ({}, settings):
        project.settings(listed, file=file)
        assert fire(project.path, **options).reason == "no"


def test_a_script_that_changes_while_settings_are_read_again_is_noticed(project: Project) -> None:
    guard_project(project, hook(onFailure="allow"))
    trust(project.path)
    script = project.path / "hooks/guard.sh"
    with running(project.path) as system:
        for _ in range(20):
            # Within one tick of the clock, with the same size.
            script.write_text(DENYING)
            system.reload_blocking()
            script.write_text(DENYING.replace("no", "na"))
            answer = system.fire_blocking("BeforeTool", TOOL)
            assert [result.failed for result in answer.results] == ["untrusted"]
            script.write_text(DENYING)
            assert system.fire_blocking("BeforeTool", TOOL).reason == "no"


def test_a_project_reached_through_a_link_that_moves(guarded: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "other")
    other.script("hooks/guard.sh", "#!/bin/sh\ntouch ran\n")
    other.settings(settings_of(hook()))
    link = tmp_path / "link"
    link.symlink_to(guarded.path)
    with running(link) as system:
        assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
        link.unlink()
        link.symlink_to(other.path)
        assert system.fire_blocking("BeforeTool", TOOL).blocked
    assert not list(tmp_path.rglob("ran"))


def test_a_record_of_an_earlier_version_is_explained_and_nothing_runs_on_it(
    guarded: Project, caplog: pytest.LogCaptureFixture
) -> None:
    TrustStore().forget(str(guarded.path))
    state = user_state_dir()
    assert state is not None
    old = Path(state, "trust", f"{project_key(str(guarded.path))}.json")
    old.parent.mkdir(parents=True)
    old.write_text(json.dumps({"version": 2, "project": str(guarded.path), "hooks": []}))
    answer = fire(guarded.path)
    assert (answer.blocked, answer.reason == "no") == (True, False)
    assert "with an earlier version of hookline" in caplog.text
    assert "`hookline trust`" in caplog.text
    trust(guarded.path)
    assert fire(guarded.path).reason == "no"


def test_while_settings_are_read_again_and_again_no_gap_opens(guarded: Project) -> None:
    script, is_over = guarded.path / "hooks/guard.sh", threading.Event()

    def reload() -> None:
        while not is_over.is_set():
            system.reload_blocking()

    with running(guarded.path) as system:
        system.initialize_blocking()
        reloading = threading.Thread(target=reload)
        reloading.start()
        try:
            for _ in range(30):
                script.write_text(f"#!/bin/sh\ntouch {guarded.path}/ran\n")
                assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
                script.write_text(DENYING)
                assert system.fire_blocking("BeforeTool", TOOL).reason == "no"
        finally:
            is_over.set()
            reloading.join()
    assert not (guarded.path / "ran").exists()
