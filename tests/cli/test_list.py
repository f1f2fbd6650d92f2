"""``hookline list``: what is configured, from where, and whether it will run."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from hookline._support.places import system_settings_file
from tests.cli.command import ESCAPE, command_hook, hookline, on_terminal, settings, timeless
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded
from tests.harness.scratch import Project


def user_settings(data: dict[str, Any]) -> Path:
    file = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    return write_json(file, data)


def system_settings(data: dict[str, Any]) -> Path:
    return write_json(Path(system_settings_file()), data)


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


def test_hooks_stand_below_their_event_with_state_matcher_and_place(
    layered: Project, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(layered.path)
    done = call("list")
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "BeforeTool\n"
        "  scan              not trusted  write_file\n"
        "    command, 1.5 s  project      .hookline/settings.json:6\n"
        "  ./mine.sh         enabled      *\n"
        "    command, 60 s   user         ~/.config/hookline/settings.json:6\n"
        "  off               disabled     *\n"
        "    command, 60 s   user         ~/.config/hookline/settings.json:10\n"
        "    disabled by     user         ~/.config/hookline/settings.json:19\n"
        "\n"
        "SessionEnd\n"
        "  audit            enabled, managed  *\n"
        f"    command, 60 s  system            {system_settings_file()}:6\n"
        "\n"
        "4 hooks: 2 enabled, 1 disabled, 1 not trusted\n"
        "neither the user nor a project can disable a managed hook\n"
        "review the project's hooks with `hookline trust`; they run after you trust them\n"
    )


def test_the_document_has_every_hook(layered: Project, call: Call) -> None:
    document = call("list", "--json", "--cwd", str(layered.path)).document
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
        "disabled_by": None,
        "trusted": False,
        "open": "",
        "from_copy": False,
        "managed": False,
        "sequential": False,
        "timeout": 1500,
        "on_failure": "allow",
        "last": None,
        "command": "./scan.sh",
        "warm": False,
    }
    assert [hook["enabled"] for hook in document["hooks"]] == [True, True, False, True]
    assert [hook["managed"] for hook in document["hooks"]] == [False, False, False, True]
    assert [problem["place"] for problem in document["problems"]] == ["trust"]


def test_an_empty_project_says_what_to_do_next(project: Project) -> None:
    done = hookline("list", cwd=project.path)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        f"no hooks are configured for {project.path}\n"
        "`hookline init` makes a first one, `hookline demo` shows some at work\n"
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
    place = "warning: .hookline/settings.json:1:"
    assert [line.startswith(place) for line in lines] == [True, True]
    assert "warning" not in done.out


def test_hooks_that_were_skipped_are_to_be_mended(project: Project, call: Call) -> None:
    project.settings('{"hooks": {"BeforeTool": [{"hooks": [{"type": "x"}]}]}}')
    done = call("list", "--cwd", str(project.path))
    assert done.out.endswith("\n`hookline check` says what to fix\n")
    (hint,) = call("disable", "h", "--cwd", str(project.path)).err.splitlines()[1:]
    assert hint.endswith("as no hooks are configured; `hookline check` says what to fix")


def test_a_name_that_is_no_event_is_answered_with_the_nearest(call: Call) -> None:
    done = call("list", "--event", "BeforeTol")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("hookline: --event: 'BeforeTol' is not a hook event; did you mean ")


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


def test_only_the_hooks_of_an_event_or_of_some_settings(call: Call, layered: Project) -> None:
    def names(*arguments: str) -> list[str]:
        document = call("list", "--json", "--cwd", str(layered.path), *arguments).document
        return [hook["name"] for hook in document["hooks"]]

    assert names("--event", "SessionEnd") == ["audit"]
    assert names("--source", "user") == ["./mine.sh", "off"]
    assert names("--source", "project", "--event", "BeforeTool") == ["scan"]
    shown = call("list", "--cwd", str(layered.path), "--event", "PreCompress")
    assert shown.out == "0 of 4 hooks\n"
    wrong = call("list", "--event", "BeforTool")
    assert "'BeforTool' is not a hook event; did you mean BeforeTool" in wrong.err


def off(name: str) -> dict[str, Any]:
    return {"hooks": {"disabled": [name]}}


def test_who_disables_a_hook_is_said_with_the_place(call: Call, project: Project) -> None:
    def disabled_by() -> tuple[str, str, int]:
        (hook,) = call("list", "--json", "--cwd", str(project.path)).document["hooks"]
        by = hook["disabled_by"]
        return by["source"], Path(by["file"]).name, by["line"]

    project.settings(settings("BeforeTool", command_hook("x", name="scan")))
    project.settings(off("scan"), file=".hookline/settings.local.json")
    assert disabled_by() == ("project", "settings.local.json", 4)
    user_settings({"hooksConfig": {"enabled": False}})
    assert disabled_by() == ("user", "settings.json", 3)
    system_settings(off("scan"))
    assert disabled_by() == ("system", "settings.json", 4)


def test_a_managed_hook_is_enabled_whatever_the_user_says(call: Call, project: Project) -> None:
    system_settings(settings("SessionEnd", command_hook("audit", name="audit", managed=True)))
    user_settings(off("audit"))
    done = call("list", "--cwd", str(project.path))
    assert done.out.splitlines()[1].split() == ["audit", "enabled,", "managed", "*"]
    assert done.out.endswith(
        "1 hook: 1 enabled\nneither the user nor a project can disable a managed hook\n"
    )


def test_what_a_hook_did_last_is_shown_where_a_trace_is_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = command_hook("echo no keys here >&2; exit 2", name="no-keys")
    project.settings(settings("BeforeTool", refusing, command_hook("true", name="other")))
    accepted = ("--accept-open", "no-keys", "--accept-open", "other")
    assert hookline("trust", "--yes", *accepted, cwd=project.path).status == 0
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    fired = ("fire", "BeforeTool", "--tool", "x", "--tool-input", "{}")
    assert hookline(*fired, cwd=project.path).status == 2
    done = hookline("list", cwd=project.path)
    assert re.search(
        r"^    last run +deny +(just now|\d+ seconds? ago), 0 ms: no keys here$",
        timeless(done.out),
        re.MULTILINE,
    )
    last = hookline("list", "--json", cwd=project.path).document["hooks"][0]["last"]
    assert (last["decision"], last["reason"]) == ("deny", "no keys here")
    monkeypatch.setenv("HOOKLINE_TRACE", "0")
    assert "last run" not in hookline("list", cwd=project.path).out


def test_the_trace_of_another_project_says_nothing_of_this_one(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Project(tmp_path / "other")
    for each in (project, other):
        each.settings(settings("SessionEnd", command_hook("true", name="same")))
    user_settings({"hookline": {"trace": True}})
    monkeypatch.chdir(other.path)
    hookline("fire", "SessionEnd", "--input", '{"reason": "exit"}', "--trust")
    assert "last run" in hookline("list").out
    assert "last run" not in hookline("list", cwd=project.path).out


@pytest.mark.parametrize("folder", [".gemini", ".llxprt"])
def test_a_home_that_is_the_project_counts_its_files_once_and_for_the_user(
    call: Call, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    home = Path(os.environ["HOME"])
    write_json(home / folder / "settings.json", settings("BeforeTool", command_hook("x")))
    monkeypatch.chdir(home)
    (hook,) = call("list", "--json").document["hooks"]
    assert (hook["source"], hook["trusted"]) == ("user", True)


def test_a_file_reached_by_a_link_counts_once(call: Call, project: Project) -> None:
    real = project.settings(settings("BeforeTool", command_hook("x", name="one")))
    (project.path / ".gemini").mkdir()
    (project.path / ".gemini" / "settings.json").symlink_to(real)
    (project.path / ".llxprt").symlink_to(".gemini")
    user = Path(os.environ["XDG_CONFIG_HOME"], "hookline", "settings.json")
    write_json(user, settings("BeforeTool", command_hook("y", name="two")))
    (user.parent / "settings.local.json").symlink_to(user)
    hooks = call("list", "--json", "--cwd", str(project.path)).document["hooks"]
    assert [(hook["name"], hook["source"]) for hook in hooks] == [
        ("one", "project"),
        ("two", "user"),
    ]


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}], ids=["colour", "plain"])
def test_disabled_and_managed_hooks_at_80_columns(layered: Project, colour: dict[str, Any]) -> None:
    done = on_terminal("list", cwd=layered.path, **colour)
    assert bool(ESCAPE.search(done.out)) is not bool(colour)
    lines = ESCAPE.sub("", done.out).splitlines()
    assert lines[5:8] == [
        "  off               disabled     *",
        "    command, 60 s   user         ~/.config/hookline/settings.json:10",
        "    disabled by     user         ~/.config/hookline/settings.json:19",
    ]
    assert max(map(len, lines)) <= 80


def test_a_trace_is_read_only_where_it_is_on(
    project: Project,
) -> None:
    project.settings(settings("BeforeTool", command_hook("x", name="scan")))
    more = {"hookline.trace.queries", "hookline.trace.records"}
    assert loaded(project, "list").isdisjoint(more)
    user_settings({"hookline": {"trace": True}})
    assert more <= loaded(project, "list")


def test_the_document_has_the_arguments_and_the_description_of_a_hook(
    project: Project, call: Call
) -> None:
    hook = command_hook("scan", name="scan", args=["--all"], description="finds keys")
    project.settings(settings("BeforeTool", hook))
    (found,) = call("list", "--json", "--cwd", str(project.path)).document["hooks"]
    assert (found["command"], found["args"], found["description"]) == (
        *("scan", ["--all"], "finds keys"),
    )
    assert not {"async", "plugin", "url", "prompt", "if", "why"} & found.keys()


@pytest.mark.parametrize("length", [200, 201])
def test_a_prompt_is_shown_up_to_a_length(project: Project, call: Call, length: int) -> None:
    asking = {"type": "prompt", "prompt": "x" * length, "name": "ask", "onFailure": "block"}
    project.settings(settings("BeforeTool", asking))
    shown = f"{'x' * 200}\n" if length == 200 else f"{'x' * 200}…\n"
    assert shown in call("list", "--cwd", str(project.path)).out


def test_the_document_says_why_a_hook_blocks(project: Project, call: Call) -> None:
    """A user's guard that would start a file of the project that nobody has reviewed."""
    project.script("guard.sh", "#!/bin/sh\n")
    guard = command_hook(f"{project.path}/guard.sh", name="guard", onFailure="block")
    user_settings(settings("BeforeTool", guard))
    hooks = call("list", "--json", "--cwd", str(project.path)).document["hooks"]
    (withheld,) = [hook for hook in hooks if hook["type"] == "withheld"]
    assert "command" not in withheld
    assert "it starts a file of the project, and nobody has reviewed it" in withheld["why"]
    shown = call("list", "--cwd", str(project.path)).out
    lines = [line.split() for line in shown.splitlines()]
    assert ["why", "user", *withheld["why"].split()] in lines
    assert shown.splitlines()[-2:] == [
        "2 hooks: 1 not trusted, 1 blocks",
        "review the project's hooks with `hookline trust`; they run after you trust them",
    ]


def test_the_document_has_the_problems_of_the_settings(project: Project, call: Call) -> None:
    file = project.settings('{"hooks": {"BeforeTool": 1}}')
    (problem,) = call("list", "--json", "--cwd", str(project.path)).document["problems"]
    assert problem.keys() == {"place", "message", "broken"}
    assert (problem["place"], problem["broken"]) == (f"{file}:1:26", False)
    file.write_text("{")
    (problem,) = call("list", "--json", "--cwd", str(project.path)).document["problems"]
    assert problem["broken"] is True
    assert "is not valid JSON" in problem["message"]


def test_hooks_of_claude_codes_skills_are_listed_as_not_run(project: Project) -> None:
    project.settings({"hooks": {}}, file=".claude/settings.json")
    project.write(".claude/skills/x/SKILL.md", "---\nname: x\nhooks:\n---\n")
    told = ".claude/skills/x/SKILL.md:3:1: hooks: hooks of a skill run inside Claude Code only"
    assert told not in hookline("list", cwd=project.path).err
    assert told in hookline("list", "--claude", cwd=project.path).err
    (problem,) = hookline("list", "--claude", "--json", cwd=project.path).document["problems"]
    assert problem["message"].endswith(
        "they are not run; write them into settings, if they must run"
    )
