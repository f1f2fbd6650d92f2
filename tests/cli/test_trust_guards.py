"""What ``trust``, ``list`` and ``fire`` say about guards, and about what no review covers."""

import os
from pathlib import Path

import pytest

from tests.cli.command import hookline, on_terminal
from tests.cli.conftest import Call
from tests.guards.project import DENYING, PASSING, guard_project, hook, settings_of
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")
UNCOVERED = '"$(git rev-parse --show-toplevel)/hooks/guard.sh"'


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


def test_a_project_without_hooks_passes_the_check(project: Project) -> None:
    assert hookline("trust", "--check", cwd=project.path).status == 0


def test_fire_blocks_for_a_guard_that_was_deleted_and_says_what_to_do(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    guarded.settings({"hooks": {}})
    done = hookline(*WRITE, cwd=guarded.path)
    assert done.status == 2
    assert "is no longer in the project's settings" in done.err
    listed = hookline("list", cwd=guarded.path)
    assert "guard" in listed.out
    assert "blocks" in listed.out
    assert hookline("trust", "--check", cwd=guarded.path).status == 1
    reviewed = hookline("trust", "--yes", cwd=guarded.path)
    assert (reviewed.status, "it is no longer there" in reviewed.out) == (0, True)
    assert hookline(*WRITE, cwd=guarded.path).status == 0


def test_what_is_not_covered_is_named_and_asked_for_by_itself(guarded: Project) -> None:
    guarded.script("hooks/other.sh", DENYING)
    covered = hook("hooks/other.sh", name="other")
    guarded.settings(settings_of(hook(UNCOVERED, onFailure="allow"), covered))
    done = hookline("trust", "--yes", cwd=guarded.path)
    assert done.status == 1
    assert "not covered" in done.out
    assert "$(git rev-parse --show-toplevel)/hooks/guard.sh" in done.out
    assert "--accept-uncovered" in done.err
    listed = {h["name"]: h["trusted"] for h in _listed(guarded)}
    assert listed == {"guard": False, "other": True}
    done = hookline("trust", "--yes", "--accept-uncovered", cwd=guarded.path)
    assert done.status == 0
    assert {h["name"]: h["trusted"] for h in _listed(guarded)} == {"guard": True, "other": True}
    assert "trusted, not all covered" in hookline("list", cwd=guarded.path).out
    assert hookline("trust", "--check", cwd=guarded.path).status == 0


def _listed(project: Project) -> list[dict[str, object]]:
    hooks: list[dict[str, object]] = hookline("list", "--json", cwd=project.path).document["hooks"]
    return hooks


@pytest.mark.parametrize(("typed", "status"), [(b"y\ny\n", 0), (b"y\nn\n", 1), (b"n\n", 1)])
def test_on_a_terminal_there_is_a_second_question(
    guarded: Project, typed: bytes, status: int
) -> None:
    guarded.settings(settings_of(hook(UNCOVERED)))
    done = on_terminal("trust", cwd=guarded.path, typed=typed)
    assert done.status == status
    assert _listed(guarded)[0]["trusted"] is (status == 0)


def test_a_guard_that_gives_way_to_what_nobody_can_review_stays_in_force(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    guarded.settings(settings_of(hook("make guard", onFailure="allow")))
    assert hookline("trust", "--yes", cwd=guarded.path).status == 1
    assert hookline(*WRITE, cwd=guarded.path).status == 2


@pytest.mark.parametrize("where", ["state", "../PROJECT/state", "."])
def test_a_store_inside_the_project_is_refused(guarded: Project, where: str) -> None:
    place = os.path.join(guarded.path, where.replace("PROJECT", guarded.path.name))
    for variables in ({"HOOKLINE_STATE_DIR": place}, {"XDG_STATE_HOME": place}):
        done = hookline("trust", "--yes", cwd=guarded.path, **variables)
        assert done.status == 1
        assert "set HOOKLINE_STATE_DIR to a directory outside the project" in done.err
        fired = hookline(*WRITE, cwd=guarded.path, **variables)
        assert fired.status == 0
        assert "not trusted and did not run" in fired.err
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
    assert call(*WRITE, *own, "--require", "guard").status == 2
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


def test_disabling_a_reviewed_guard_in_its_project_says_what_that_means(
    guarded: Project, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(guarded.path)
    assert call("trust", "--yes").status == 0
    done = call("disable", "--project", "guard")
    assert "what it guards is blocked now" in done.err
    assert call(*WRITE).status == 2
    assert call("trust", "--yes").status == 0
    assert call(*WRITE).status == 0


def test_check_shows_the_form_that_a_review_covers(guarded: Project, call: Call) -> None:
    guarded.settings(settings_of(hook(UNCOVERED)))
    done = call("check", "--cwd", str(guarded.path))
    assert "a review cannot cover" in done.out
    assert '"$HOOKLINE_PROJECT_DIR/hooks/guard.sh"' in done.out


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
