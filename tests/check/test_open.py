"""Open commands: how much that matters, which form would be closed, and the one fix there is."""

import json
import subprocess

import pytest

from hookline.check import Finding
from hookline.check import check as check_all
from hookline.check.fixes import carry_out, changes
from hookline.wire.hooks import HookSource
from tests.check.review import ERROR, HINT, WARNING, checked, hook, on
from tests.harness.scratch import Project

SH = "#!/bin/sh\nexit 0\n"
GUARD = {"onFailure": "block"}


def find_open(project: Project, settings: object) -> list[Finding]:
    file = project.settings(settings)
    findings = check_all(checked((file, HookSource.PROJECT), project=project))
    return [finding for finding in findings if finding.kind == "open"]


@pytest.mark.parametrize(
    ("command", "form"),
    [
        ("hooks/ok.sh | cat", "hooks/ok.sh"),
        ('"$(git rev-parse --show-toplevel)"; hooks/ok.sh', "hooks/ok.sh"),
        ("timeout 5 python3 hooks/ok.py", "python3 hooks/ok.py"),
        ("cd hooks && ./ok.sh", "hooks/ok.sh"),
    ],
)
def test_one_that_names_a_script_is_told_with_the_closed_form(
    project: Project, command: str, form: str
) -> None:
    project.script("hooks/ok.sh", SH)
    project.script("hooks/ok.py", "")
    for fields, severity in (({}, HINT), (GUARD, ERROR)):
        (found,) = find_open(project, on("BeforeAgent", hook(command, **fields)))
        assert (found.severity, found.remedy) == (severity, form)
        assert found.message.startswith("no review vouches for what it starts: ")


@pytest.mark.parametrize("command", ["make guard", "gitleaks git", "npx check", "exit 2"])
def test_one_that_names_nothing_of_the_project_is_less(project: Project, command: str) -> None:
    (found,) = find_open(project, on("BeforeAgent", hook(command, **GUARD)))
    assert found.severity is WARNING
    assert "a script in a folder called hooks" in found.remedy
    assert find_open(project, on("BeforeAgent", hook(command))) == []


def test_a_required_hook_is_a_guard(project: Project) -> None:
    settings = on("BeforeAgent", hook("make guard", name="made"))
    settings["hooks"]["required"] = ["made"]
    (found,) = find_open(project, settings)
    assert found.severity is WARNING


@pytest.mark.parametrize("command", ["hooks/ok.sh -x src/", "sh hooks/ok.sh", "./hooks/ok.sh"])
def test_a_closed_one_is_none(project: Project, command: str) -> None:
    project.script("hooks/ok.sh", SH)
    assert find_open(project, on("BeforeAgent", hook(command, **GUARD))) == []


def test_a_guard_that_looks_for_the_project_from_its_own_place_is_an_error(
    project: Project,
) -> None:
    project.script("hooks/up.sh", '#!/bin/sh\ncd "$(dirname "$0")/.."\nexit 2\n')
    (found,) = find_open(project, on("BeforeAgent", hook("hooks/up.sh", **GUARD)))
    assert found.severity is ERROR
    assert "hooks/up.sh, line 2, looks for the project" in found.message
    assert "HOOKLINE_PROJECT_DIR" in found.message
    assert find_open(project, on("BeforeAgent", hook("hooks/up.sh"))) == []


def test_a_users_hook_is_the_users(project: Project) -> None:
    file = project.settings(on("BeforeAgent", hook("make guard", **GUARD)))
    findings = check_all(checked((file, HookSource.USER), project=project))
    assert [finding for finding in findings if finding.kind == "open"] == []


def test_a_one_line_guard_is_moved_into_a_script_that_does_the_same(project: Project) -> None:
    told = hook("cat >/dev/null; echo $HOOKLINE_PROJECT_DIR >&2; exit 2", name="say no", **GUARD)
    file = project.settings(on("BeforeAgent", told))
    reviewed = checked((file, HookSource.PROJECT), project=project)
    for change in changes(check_all(reviewed), reviewed):
        carry_out(change)
    (definition,) = json.loads(file.read_text())["hooks"]["BeforeAgent"]
    (moved,) = definition["hooks"]
    assert moved == {**told, "command": ".hookline/hooks/say-no.sh"}
    done = subprocess.run(
        [project.path / moved["command"]],
        input="{}",
        env={"HOOKLINE_PROJECT_DIR": "/a  b", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert (done.returncode, done.stderr) == (2, "/a  b\n")
    assert check_all(checked((file, HookSource.PROJECT), project=project)) == []


def test_two_guards_get_a_script_each_and_no_file_is_replaced(project: Project) -> None:
    project.script("hooks/a---b.sh", SH)
    hooks = [hook("a | b", **GUARD), hook("a & b", **GUARD)]
    file = project.settings(on("BeforeAgent", *hooks))
    reviewed = checked((file, HookSource.PROJECT), project=project)
    for change in changes(check_all(reviewed), reviewed):
        carry_out(change)
    (definition,) = json.loads(file.read_text())["hooks"]["BeforeAgent"]
    commands = [each["command"] for each in definition["hooks"]]
    assert commands == ["hooks/a---b2.sh", "hooks/a---b3.sh"]
    texts = [(project.path / name).read_text() for name in ("hooks/a---b.sh", *commands)]
    assert texts == [SH, "#!/usr/bin/env bash\na | b\n", "#!/usr/bin/env bash\na & b\n"]


def test_a_guard_that_names_something_of_the_project_is_for_a_person(project: Project) -> None:
    project.script("hooks/ok.sh", SH)
    file = project.settings(on("BeforeAgent", hook("hooks/ok.sh | cat", **GUARD)))
    reviewed = checked((file, HookSource.PROJECT), project=project)
    assert changes(check_all(reviewed), reviewed) == []
