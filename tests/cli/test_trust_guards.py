"""What ``trust``, ``list``, ``fire`` and ``disable`` say about guards and their reviews."""

import os
import re
from pathlib import Path

import pytest

from tests.cli.command import hookline
from tests.cli.conftest import Call
from tests.guards.project import PASSING, guard_project, hook, settings_of
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")


@pytest.fixture
def guarded(project: Project) -> Project:
    guard_project(project)
    return project


def test_check_tells_whether_anything_needs_a_review(guarded: Project) -> None:
    first = hookline("trust", "--check", cwd=guarded.path)
    assert first.status == 1
    assert "BeforeTool guard: nobody has reviewed it" in first.out
    assert hookline("trust", "--yes", cwd=guarded.path).status == 0
    assert hookline("trust", "--check", cwd=guarded.path).status == 0
    guarded.script("hooks/guard.sh", PASSING)
    done = hookline("trust", "--check", cwd=guarded.path)
    assert done.status == 1
    assert "hooks/guard.sh has changed since it was reviewed" in done.out
    document = hookline("trust", "--check", "--json", cwd=guarded.path)
    assert (document.status, document.document["trusted"]) == (1, False)
    # It changed nothing.
    assert hookline(*WRITE, cwd=guarded.path).status == 2
    assert hookline("trust", "--check", "--yes", cwd=guarded.path).status == 1


def test_a_guard_that_was_deleted_goes_on_until_a_review_without_it(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    guarded.settings({"hooks": {}})
    done = hookline(*WRITE, cwd=guarded.path)
    assert done.status == 2
    assert "guard: it is no longer in the project's settings; it goes on guarding" in done.err
    assert "`hookline trust` decides about the change" in done.err
    listed = hookline("list", cwd=guarded.path)
    assert "runs from its reviewed copy" in listed.out
    assert "it is no longer in the project's settings" in listed.err
    assert hookline("trust", "--check", cwd=guarded.path).status == 1
    reviewed = hookline("trust", "--yes", cwd=guarded.path)
    assert reviewed.status == 0
    assert "BeforeTool guard  removed\n" in reviewed.out
    assert "  removed: guard, which guards no more\n" in reviewed.out
    assert hookline(*WRITE, cwd=guarded.path).status == 0


def test_list_tells_what_changed_since_when_and_who_decides(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    guarded.script("hooks/guard.sh", PASSING)
    done = hookline("list", cwd=guarded.path)
    assert "  guard                          enabled  write_file\n" in done.out
    assert re.search(
        r"guard: hooks/guard.sh has changed since it was reviewed \(changed 20[\d: -]+\); "
        r"it goes on guarding as it was reviewed on 20\S+; `hookline trust` decides about "
        r"the change, `hookline untrust` ends the review\n",
        done.err,
    )
    (entry,) = hookline("list", "--json", cwd=guarded.path).document["hooks"]
    assert (entry["trusted"], entry["from_copy"]) == (True, True)


def test_after_a_review_the_guards_tests_run_from_the_copy(guarded: Project) -> None:
    test = {"event": "BeforeTool", "tool": "write_file", "tool_input": {}}
    guarded.settings({**test, "expect": {"decision": "deny"}}, file="guard.hooktest.json")
    done = hookline("trust", "--yes", cwd=guarded.path)
    assert (done.status, "\n1 test passed, from the copy; " in done.out) == (0, True)
    guarded.script("hooks/guard.sh", PASSING)
    done = hookline("trust", "--yes", cwd=guarded.path)
    assert "of 1 test from the copy these fail: guard" in done.err
    assert "`hookline test` shows why" in done.out


@pytest.mark.parametrize("where", ["state", "../PROJECT/state", "."])
def test_a_store_inside_the_project_is_refused(guarded: Project, where: str) -> None:
    place = os.path.join(guarded.path, where.replace("PROJECT", guarded.path.name))
    for variables in ({"HOOKLINE_STATE_DIR": place}, {"XDG_STATE_HOME": place}):
        done = hookline("trust", "--yes", cwd=guarded.path, **variables)
        assert done.status == 1
        assert "set HOOKLINE_STATE_DIR to a directory outside the project" in done.err
    assert not (guarded.path / "state").exists()


def test_a_store_may_be_elsewhere(guarded: Project, tmp_path: Path) -> None:
    elsewhere = {"HOOKLINE_STATE_DIR": str(tmp_path / "elsewhere")}
    assert hookline("trust", "--yes", cwd=guarded.path, **elsewhere).status == 0
    assert hookline(*WRITE, cwd=guarded.path, **elsewhere).status == 2
    assert hookline(*WRITE, cwd=guarded.path).status == 0
    done = hookline("trust", "--yes", cwd=guarded.path, HOOKLINE_STATE_DIR="relative")
    assert (done.status, "must be an absolute path" in done.err) == (1, True)


def test_strict_and_required_on_the_command_line(project: Project, call: Call) -> None:
    project.settings(settings_of(hook("exit 1", onFailure="allow")), file="own.json")
    own = ("--settings", str(project.path / "own.json"), "--cwd", str(project.path))
    assert call(*WRITE, *own).status == 0
    strict = call(*WRITE, *own, "--strict")
    assert (strict.status, "guard failed: exited with code 1" in strict.err) == (2, True)
    required = call(*WRITE, *own, "--require", "guard")
    assert (required.status, "guard failed: exited with code 1" in required.err) == (2, True)
    missing = call(*WRITE, *own, "--require", "guard", "--require", "project:guard")
    assert missing.status == 2
    assert "required hook 'guard' is not in force" in missing.err


def test_the_environment_makes_it_strict(project: Project) -> None:
    project.settings(settings_of(hook("exit 1", onFailure="allow")), file="own.json")
    own = (*WRITE, "--settings", "own.json")
    assert hookline(*own, cwd=project.path, HOOKLINE_STRICT="1").status == 2


def test_a_script_with_a_byte_that_is_no_text_is_shown_all_the_same(guarded: Project) -> None:
    (guarded.path / "hooks/guard.sh").write_bytes(b"#!/bin/sh\n# \xff\nrm -rf /\n")
    done = hookline("trust", cwd=guarded.path)
    assert "rm -rf /" in done.out
    assert "\\xff" in done.out


def test_disabling_a_reviewed_guard_in_its_project_does_not_end_it_and_says_so(
    guarded: Project, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(guarded.path)
    assert call("trust", "--yes").status == 0
    done = call("disable", "--project", "guard")
    assert "guard was reviewed as a guard and goes on guarding" in done.err
    fired = call(*WRITE)
    assert (fired.status, "the project's settings disable it" in fired.err) == (2, True)
    # A review without it ends it.
    assert call("trust", "--yes").status == 0
    assert call(*WRITE).status == 0


def test_the_user_ends_a_guard_by_disabling_it(
    guarded: Project, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(guarded.path)
    assert call("trust", "--yes").status == 0
    done = call("disable", "guard")
    assert (done.status, done.err) == (0, "")
    assert call(*WRITE).status == 0
    guarded.settings({"hooks": {}})
    assert call(*WRITE).status == 0


def test_settings_that_nobody_can_read_are_not_reviewed_away(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    file = guarded.path / ".hookline/settings.json"
    file.write_text(file.read_text() + "{")
    for options in (("--yes",), ("--yes", "--json")):
        done = hookline("trust", *options, cwd=guarded.path)
        assert (done.status, "fix it first" in done.err) == (1, True)
        assert hookline(*WRITE, cwd=guarded.path).status == 2
    assert hookline("untrust", cwd=guarded.path).status == 0
    assert hookline(*WRITE, cwd=guarded.path).status == 0
