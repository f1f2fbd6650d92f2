"""What sets off another run: tests, settings, and what hooks are made of."""

import json
import os
from pathlib import Path

import pytest

from hookline.hooktests.watch import Watched
from tests.cli.command import command_hook, settings
from tests.harness.scratch import Project


@pytest.fixture
def watched(project: Project) -> Watched:
    project.script("hooks/scan.py", "import rules\n")
    project.script("bin/check.sh", "#!/bin/sh\n")
    hooks = [
        command_hook('python3 "$HOOKLINE_PROJECT_DIR/hooks/scan.py" --strict'),
        command_hook("bin/check.sh | cat 'unclosed"),
    ]
    project.settings(settings("BeforeTool", *hooks))
    return Watched([str(project.path)], test_files=["special.json"])


@pytest.mark.parametrize(
    "file",
    [
        ".hookline/settings.json",
        ".hookline/settings.local.json",
        ".gemini/settings.json",
        "deep/down/x.hooktest.json",
        "hooks/scan.py",
        "hooks/rules.py",
        "bin/check.sh",
    ],
)
def test_tests_settings_scripts_and_what_stands_beside_them_matter(
    watched: Watched, project: Project, file: str
) -> None:
    assert watched.matters(str(project.path / file))


@pytest.mark.parametrize("file", ["README.md", "hooks/audit.log", "other.py", "settings.json"])
def test_other_files_of_a_project_do_not(watched: Watched, project: Project, file: str) -> None:
    assert not watched.matters(str(project.path / file))


def test_the_users_settings_and_a_test_file_that_was_named_matter(watched: Watched) -> None:
    mine = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    assert watched.matters(str(mine))
    assert watched.matters(os.path.abspath("special.json"))


def test_a_hook_that_is_new_in_the_settings_matters_once_they_were_looked_at(
    watched: Watched, project: Project
) -> None:
    script = project.script("late/new.rb", "")
    project.settings(settings("BeforeTool", command_hook("late/new.rb")))
    assert not watched.matters(str(script))
    watched.look()
    assert watched.matters(str(script))
    assert str(project.path) in watched.roots()


def test_where_settings_are_given_those_of_the_project_do_not_matter(project: Project) -> None:
    given = project.write("own/given.json", json.dumps(settings("BeforeTool")))
    watched = Watched([str(project.path)], settings_files=[str(given)])
    own = str(project.path / ".hookline/settings.json")
    assert [watched.matters(str(given)), watched.matters(own)] == [True, False]
    missing = Watched([str(project.path)], test_files=[str(project.path / "none/t.json")])
    assert str(project.path / "own") in watched.roots()
    assert str(project.path / "none") not in missing.roots()
