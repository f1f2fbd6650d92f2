"""``hookline enable`` and ``disable``: what is switched stays so, and nothing else changes."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookline._support.places import system_settings_file
from tests.cli.command import (
    ESCAPE,
    EVERY_VERB,
    HOOKLINE,
    command_hook,
    hookline,
    on_terminal,
    settings,
)
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.harness.scratch import Project

COMMENTED = """\
// mine
{
  "hooks": {
    "disabled": [
      "old", // noisy
    ],
    /* nothing yet */
  },
}
"""


@pytest.fixture(autouse=True)
def guarded(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with a hook of its own, a hook of the user's and a managed one."""
    project.settings(settings("BeforeTool", command_hook("./scan.sh", name="scan")))
    write(user_file(), settings("BeforeAgent", command_hook("mine", name="mine")))
    audit = command_hook("audit", name="audit", managed=True)
    write(system_file(), settings("SessionEnd", audit))
    monkeypatch.chdir(project.path)
    return project


def user_file(name: str = "settings.json") -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"], "hookline", name)


def system_file() -> Path:
    return Path(system_settings_file())


def write(file: Path, content: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    return file


def is_enabled(call: Call, name: str) -> bool:
    hooks = call("list", "--json").document["hooks"]
    return all(hook["enabled"] for hook in hooks if hook["name"] == name)


def test_a_hook_is_switched_off_and_on_again(call: Call) -> None:
    done = call("disable", "scan")
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "scan is disabled in every project (BeforeTool)\n"
        "written to ~/.config/hookline/settings.json; `hookline enable scan` takes it back\n"
    )
    assert not is_enabled(call, "scan")
    done = call("enable", "scan")
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "scan is enabled (BeforeTool)\n"
        "its name was taken out of ~/.config/hookline/settings.json\n"
        "it runs after you trust the project's hooks with `hookline trust`\n"
    )
    assert is_enabled(call, "scan")


def test_for_one_project_it_is_kept_in_its_local_settings(call: Call, guarded: Project) -> None:
    done = call("disable", "--project", "scan")
    assert done.out == (
        "scan is disabled in this project (BeforeTool)\n"
        "written to .hookline/settings.local.json; "
        "`hookline enable --project scan` takes it back\n"
    )
    local = guarded.path / ".hookline" / "settings.local.json"
    assert json.loads(local.read_text()) == {"hooks": {"disabled": ["scan"]}}
    assert call("enable", "--project", "scan").status == 0
    assert json.loads(local.read_text()) == {"hooks": {"disabled": []}}


@pytest.mark.parametrize("verb", ["disable", "enable"])
def test_what_is_so_already_is_said_and_fine(call: Call, verb: str) -> None:
    call("disable", "mine")
    if verb == "enable":
        call("enable", "mine")
    before = user_file().read_bytes()
    done = call(verb, "mine")
    assert (done.status, done.err) == (0, "")
    where = ", in ~/.config/hookline/settings.json:14" if verb == "disable" else " (BeforeAgent)"
    assert done.out == f"mine is {verb}d already{where}\n"
    assert user_file().read_bytes() == before


def test_comments_and_layout_of_the_file_are_kept(call: Call) -> None:
    write(user_file(), COMMENTED)
    call("disable", "scan")
    added = '      "old", // noisy\n      "scan",\n'
    assert user_file().read_text() == COMMENTED.replace('      "old", // noisy\n', added)
    call("enable", "scan")
    assert user_file().read_text() == COMMENTED


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["disable", "scna"], "no hook is named 'scna'; did you mean scan?"),
        (["enable", "zzz"], "no hook is named 'zzz'; `hookline list` shows the names"),
        (
            ["disable", "--project", "mine"],
            (
                "mine is a hook of the user settings, and a project switches only its own; "
                "leave --project out"
            ),
        ),
        (
            ["disable", "--project", "--settings", ".hookline/settings.json", "scan"],
            "--project is about the project's settings; leave --settings out",
        ),
    ],
)
def test_what_cannot_be_switched_is_an_error_with_a_remedy(
    call: Call, arguments: list[str], error: str
) -> None:
    assert call(*arguments) == (1, "", f"hookline: {error}\n")


def test_settings_that_cannot_be_read_are_told_where_a_name_is_missing(
    call: Call, guarded: Project
) -> None:
    guarded.settings('{"hooks": ')
    warning, error = call("disable", "scan").err.splitlines()
    assert ".hookline/settings.json:1:11: is not valid JSON" in warning
    assert error == "hookline: no hook is named 'scan'; `hookline list` shows the names"


def test_a_managed_hook_is_refused_and_who_manages_it_is_said(call: Call) -> None:
    done = call("disable", "audit")
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        f"hookline: audit is managed by the system's settings ({system_file()}:6) and cannot be "
        "disabled; ask the administrator of this machine\n"
    )
    assert "disabled" not in user_file().read_text()


def test_a_hook_of_the_same_name_is_disabled_beside_a_managed_one(
    call: Call, guarded: Project
) -> None:
    guarded.settings(settings("BeforeTool", command_hook("./scan.sh", name="audit")))
    done = call("disable", "audit")
    assert (done.status, done.err) == (
        0,
        "warning: audit of the system's settings is managed and stays enabled\n",
    )
    states = {h["source"]: h["enabled"] for h in call("list", "--json").document["hooks"]}
    assert (states["project"], states["system"]) == (False, True)


def test_enable_says_who_else_keeps_a_hook_off(call: Call, guarded: Project) -> None:
    def why(*arguments: str) -> str:
        done = call("enable", *arguments, "scan")
        assert (done.status, done.out) == (1, "")
        return done.err.removeprefix("hookline: scan stays disabled: ").strip()

    off = {"hooks": {"disabled": ["scan"]}}
    local = guarded.settings(off, file=".hookline/settings.local.json")
    assert why() == (
        ".hookline/settings.local.json:4 says so; `hookline enable --project scan` takes that back"
    )
    local.unlink()
    guarded.settings(off, file=".gemini/settings.json")
    assert why("--project") == ".gemini/settings.json:4 says so; take its name out there"
    write(user_file(), off)
    said = "~/.config/hookline/settings.json:4 says so"
    assert why("--project") == f"{said}; `hookline enable scan` takes that back"
    write(user_file(), {"enableHooks": False})
    said = "~/.config/hookline/settings.json:2"
    assert why() == f"all hooks are switched off in {said}; set that to true"
    write(system_file(), off)
    said = f"the system's settings say so ({system_file()}:4)"
    assert why() == f"{said}; ask the administrator of this machine"


def test_what_was_taken_out_is_said_though_the_hook_stays_disabled(
    call: Call, guarded: Project
) -> None:
    off = {"hooks": {"disabled": ["scan"]}}
    guarded.settings(off, file=".hookline/settings.local.json")
    write(user_file(), off)
    done = call("enable", "scan")
    assert done.status == 1
    assert done.out == "its name was taken out of ~/.config/hookline/settings.json\n"
    assert done.err.startswith("hookline: scan stays disabled: .hookline/settings.local.json:4 ")


def test_a_name_that_no_hook_has_any_more_can_be_taken_out(call: Call) -> None:
    write(user_file(), {"hooks": {"disabled": ["gone"]}, "hooksConfig": {"disabled": ["gone"]}})
    done = call("enable", "gone")
    assert done.out == (
        "no hook is named gone any more\n"
        "its name was taken out of ~/.config/hookline/settings.json\n"
    )
    assert "gone" not in user_file().read_text()


def test_given_settings_are_the_ones_that_are_changed(call: Call) -> None:
    write(Path("a.json"), settings("BeforeTool", command_hook("x", name="two words")))
    done = call("disable", "--settings", "a.json", "two words")
    assert done.out == (
        "two words is disabled (BeforeTool)\n"
        "written to a.json; `hookline enable --settings a.json 'two words'` takes it back\n"
    )
    assert json.loads(Path("a.json").read_text())["hooks"]["disabled"] == ["two words"]


def test_the_command_that_takes_it_back_finds_the_hook_from_anywhere(
    call: Call, guarded: Project
) -> None:
    given = ["--cwd", str(guarded.path), "--claude", "--plugin", str(guarded.path / ".hookline")]
    done = call("disable", *given, "--project", "scan")
    assert f"`hookline enable {' '.join(given)} --project scan` takes it back" in done.out
    guarded.settings(settings("BeforeTool", command_hook("./scan.sh", name="-x")))
    done = call("disable", "--", "-x")
    assert "`hookline enable -- -x` takes it back" in done.out


def test_as_a_document(call: Call) -> None:
    done = call("disable", "--json", "mine").document
    assert done == {
        "name": "mine",
        "changed": [str(user_file())],
        "hooks": [
            {
                "event": "BeforeAgent",
                "source": "user",
                "file": str(user_file()),
                "line": 6,
                "enabled": False,
                "managed": False,
                "disabled_by": {"source": "user", "file": str(user_file()), "line": 14},
            }
        ],
    }
    again = call("disable", "--json", "mine").document
    assert again == {**done, "changed": []}


def test_a_new_settings_file_is_like_any_file_of_the_user(call: Call) -> None:
    user_file().unlink()
    user_file().parent.rmdir()
    assert call("disable", "scan").status == 0
    assert user_file().read_text() == '{\n  "hooks": {"disabled": ["scan"]}\n}\n'
    assert [file.name for file in user_file().parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"hooks": ', ":1:11: is not valid JSON: the file ends here; fix it first"),
        (
            '{"hooks": {"disabled": "x"}}',
            ":1:24: hooks.disabled must be a list, […]; fix it first",
        ),
        ("[]", ":1:1: must hold an object, {…}; fix it first"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(
    call: Call, content: str, problem: str
) -> None:
    write(user_file(), content)
    done = call("disable", "scan")
    assert (done.status, done.err) == (1, f"hookline: {user_file()}{problem}\n")
    assert user_file().read_text() == content


def test_a_full_disk_is_an_error_and_the_old_file_stays() -> None:
    old = "// long\n" * 1000 + '{"hooks": {}}\n'
    write(user_file(), old)
    line = 'ulimit -f 1; exec "$@"'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *HOOKLINE, "disable", "scan"], capture_output=True, text=True
    )
    assert done.returncode == 1
    said = "cannot be written: File too large; nothing in it was changed"
    assert done.stderr == f"hookline: {user_file()}: {said}\n"
    assert user_file().read_text() == old
    assert [file.name for file in user_file().parent.iterdir()] == ["settings.json"]


def test_a_home_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = hookline("disable", "scan", XDG_CONFIG_HOME=str(tmp_path / "file"))
    assert (done.status, done.out) == (1, "")
    assert "cannot be written: Not a directory; nothing in it was changed" in done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_read_only_home_is_an_error(call: Call) -> None:
    before = user_file().read_text()
    user_file().parent.chmod(0o500)
    done = call("disable", "scan")
    user_file().parent.chmod(0o700)
    assert "cannot be written: Permission denied; nothing in it was changed" in done.err
    assert user_file().read_text() == before


def test_commands_at_once_lose_no_name(guarded: Project) -> None:
    names = [f"hook-{number}" for number in range(6)]
    hooks = [command_hook("true", name=name) for name in names]
    guarded.settings(settings("BeforeTool", *hooks))
    running = [
        subprocess.Popen([*HOOKLINE, "disable", n], stdout=subprocess.DEVNULL) for n in names
    ]
    assert [process.wait(50) for process in running] == [0] * len(names)
    disabled = json.loads(user_file().read_text())["hooks"]["disabled"]
    assert sorted(disabled) == names


def test_a_link_of_a_project_leads_nowhere_else(call: Call, guarded: Project) -> None:
    before = user_file().read_text()
    local = guarded.path / ".hookline" / "settings.local.json"
    local.symlink_to(user_file())
    done = call("disable", "--project", "scan")
    assert (done.status, done.out) == (1, "")
    assert f"leads out of the project, to {user_file()}; remove the link" in done.err
    assert user_file().read_text() == before


def test_nothing_of_a_project_is_executed(call: Call, guarded: Project) -> None:
    name = "$(touch ran)`touch ran`"
    guarded.settings(settings("BeforeTool", command_hook("touch ran", name=name)))
    assert call("disable", name).status == call("enable", name).status == 0
    assert not Path("ran").exists()


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}], ids=["colour", "plain"])
def test_on_a_terminal(colour: dict[str, Any]) -> None:
    done = on_terminal("disable", "--project", "scan", **colour)
    assert bool(ESCAPE.search(done.out)) is not bool(colour)
    assert ESCAPE.sub("", done.out) == (
        "scan is disabled in this project (BeforeTool)\n"
        "written to .hookline/settings.local.json; `hookline enable --project scan` takes\n"
        "it back\n"
    )


@pytest.mark.parametrize("verb", ["disable", "enable"])
def test_they_load_no_engine_and_no_terminal(guarded: Project, verb: str) -> None:
    modules = loaded(guarded, verb, "scan")
    assert own(modules) <= EVERY_VERB | {"enable", verb}
    assert third_party(modules) <= {"msgspec", "platformdirs"}
    engine = "hookline.engine.engine"
    assert modules.isdisjoint({engine, "asyncio", "subprocess", "tempfile", "logging"})
