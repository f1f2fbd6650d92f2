"""``hookline list``: what is configured, from where, and whether it will run."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import command_hook, hookline, settings
from tests.harness.scratch import Project


def user_settings(data: dict[str, Any]) -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    return write_json(file, data)


def system_settings(data: dict[str, Any]) -> Path:
    return write_json(Path(os.environ["XDG_CONFIG_DIRS"], "hookline", "settings.json"), data)


def write_json(file: Path, data: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data, indent=2))
    return file


@pytest.fixture
def layered(project: Project) -> Project:
    """A project with a hook in every layer."""
    scan = command_hook("./scan.sh", name="scan", timeout=1500)
    project.settings(settings("BeforeTool", scan, matcher="write_file"))
    user = settings("BeforeTool", command_hook("./mine.sh"), command_hook("x", name="off"))
    user["hooks"]["disabled"] = ["off"]
    user_settings(user)
    system_settings(settings("SessionEnd", command_hook("audit", name="audit", managed=True)))
    return project


def test_hooks_stand_below_their_event_with_state_matcher_and_place(layered: Project) -> None:
    done = hookline("list", cwd=layered.path)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "BeforeTool\n"
        "  scan              not trusted  write_file\n"
        "    command, 1.5 s  project      .hookline/settings.json:6\n"
        "  ./mine.sh         enabled      *\n"
        "    command, 60 s   user         ~/.config/hookline/settings.json:6\n"
        "  off               disabled     *\n"
        "    command, 60 s   user         ~/.config/hookline/settings.json:10\n"
        "\n"
        "SessionEnd\n"
        "  audit            enabled, managed  *\n"
        f"    command, 60 s  system            {os.environ['XDG_CONFIG_DIRS']}"
        "/hookline/settings.json:6\n"
        "\n"
        "4 hooks: 2 enabled, 1 disabled, 1 not trusted\n"
        "review the project's hooks; they run when fire is given --trust\n"
    )


def test_the_document_has_every_hook(layered: Project) -> None:
    document = hookline("list", "--json", cwd=layered.path).document
    names = [hook["name"] for hook in document["hooks"]]
    assert names == ["scan", "./mine.sh", "off", "audit"]
    assert document["hooks"][0] == {
        "event": "BeforeTool",
        "name": "scan",
        "matcher": "write_file",
        "type": "command",
        "source": "project",
        "file": str(layered.path / ".hookline" / "settings.json"),
        "line": 6,
        "enabled": True,
        "trusted": False,
        "managed": False,
        "sequential": False,
        "timeout": 1500,
        "on_failure": "allow",
        "command": "./scan.sh",
    }
    assert [hook["enabled"] for hook in document["hooks"]] == [True, True, False, True]
    assert [hook["managed"] for hook in document["hooks"]] == [False, False, False, True]
    assert [problem["place"] for problem in document["problems"]] == ["trust"]


def test_an_empty_project_says_what_to_do_next(project: Project) -> None:
    done = hookline("list", cwd=project.path)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        f"no hooks are configured for {project.path}\n"
        "write some into .hookline/settings.json; "
        '"hookline demo --keep DIR" makes a project to copy from\n'
    )
    assert hookline("list", "--json").document == {"hooks": [], "problems": []}


def test_given_files_are_used_instead_of_what_is_on_disk_and_need_no_trust(
    layered: Project,
) -> None:
    first = layered.settings(settings("BeforeAgent", command_hook("a")), file="a.json")
    second = layered.settings(settings("BeforeAgent", command_hook("b")), file="b.json")
    done = hookline("list", "--settings", "a.json", "--settings", "b.json", cwd=layered.path)
    assert done.err == ""
    assert [line.split() for line in done.out.splitlines()[1:5]] == [
        ["a", "enabled"],
        ["command,", "60", "s", "user", f"{first.name}:6"],
        ["b", "enabled"],
        ["command,", "60", "s", "user", f"{second.name}:6"],
    ]


def test_problems_in_settings_are_on_stderr_with_their_place(project: Project) -> None:
    project.settings('{"hooks": {"BeforeTool": [{"hooks": [{"type": "x"}]}], "Nope": []},}')
    user_settings(settings("BeforeAgent", command_hook("a")))
    done = hookline("list", cwd=project.path)
    assert done.status == 0
    assert "BeforeAgent\n  a " in done.out
    lines = done.err.splitlines()
    place = f"warning: {project.path}/.hookline/settings.json:1:"
    assert [line.startswith(place) for line in lines] == [True, True]
    assert "warning" not in done.out


def test_a_project_from_a_subdirectory_is_the_same_project(layered: Project) -> None:
    below = layered.path / "src" / "deep"
    below.mkdir(parents=True)
    done = hookline("list", "--cwd", str(below), cwd=layered.path)
    assert "scan" in done.out


def test_disabled_hooks_are_all_listed_and_said_to_be(project: Project) -> None:
    user_settings({"enableHooks": False, **settings("BeforeAgent", command_hook("a"))})
    done = hookline("list", cwd=project.path)
    assert done.out.endswith(
        "1 hook: 1 disabled\nhooks are disabled in the user's or the system's settings\n"
    )


def test_list_executes_nothing_of_a_project(project: Project) -> None:
    script = project.script("touch.sh", "#!/bin/sh\ntouch $HOOKLINE_PROJECT_DIR/ran\n")
    name = "$(touch ran)`touch ran`"
    hooks = [command_hook(str(script), name=name), command_hook("touch ran")]
    project.settings(settings("SessionStart", *hooks))
    done = hookline("list", cwd=project.path)
    assert name in done.out
    assert not (project.path / "ran").exists()


def test_names_from_an_unreviewed_project_cannot_steer_the_terminal(project: Project) -> None:
    hook = command_hook("true", name="\x1b[2J\u202egood\nenabled")
    project.settings(settings("BeforeTool", hook, matcher="\x1b]0;x\x07"))
    done = hookline("list", cwd=project.path)
    assert not set("\x1b\x07\u202e") & set(done.out)
    assert "\\x1b[2J\\u202egood" in done.out
