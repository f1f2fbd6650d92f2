"""The verbs on hooks of Claude Code's: from its settings, and from folders of its plugins."""

import json
from pathlib import Path

import pytest

from tests.cli.command import hookline
from tests.cli.conftest import Call
from tests.dialects.claude.claude import (
    PROJECT_FILE,
    hooks,
    http,
    managed_file,
    own_user_file,
    plugin,
    user_file,
    write,
)
from tests.harness.scratch import Project

COMMAND = {"type": "command", "timeout": 1}
GUARD = {
    "type": "command",
    "command": "./guard.sh",
    "if": "Bash(git push:*)",
    "async": True,
    "timeout": 5,
}
PROMPT = {"type": "prompt", "prompt": "Is this\nsafe?", "name": "safety", "timeout": 1}

SENT = http(name="sent", timeout=1)


@pytest.fixture
def claude(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    data = {
        "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [GUARD, SENT, PROMPT]}],
            "SubagentStop": [{"hooks": [{**COMMAND, "command": "count"}]}],
            "WorktreeCreate": [{"hooks": [{**COMMAND, "command": "tree"}]}],
        }
    }
    project.settings(data, file=PROJECT_FILE)
    monkeypatch.chdir(project.path)
    return project


def test_list_shows_them_as_native_ones_with_what_is_their_own(call: Call, claude: Project) -> None:
    plugin(
        claude.path.parent / "plug",
        hooks({**COMMAND, "command": "./formatted"}, event="PostToolUse"),
    )
    done = call("list", "--claude", "--plugin", "../plug")
    assert done.status == 0
    assert "prompt hook 'safety' asks a model, and no judge was given" in done.err
    root = claude.path.parent / "plug"
    expected = f"""\
BeforeTool
  ./guard.sh             not trusted  Bash
    command, async, 5 s  project      .claude/settings.json:7
    PreToolUse           claude       if Bash(git push:*)
  sent                   not trusted  Bash
    http, 1 s            project      .claude/settings.json:14
    PreToolUse           claude       https://example.org/hook
  safety                 not trusted  Bash
    prompt, 1 s          project      .claude/settings.json:20
    PreToolUse           claude       Is this safe?

AfterTool
  ./formatted     enabled  *
    command, 1 s  user     {root}/hooks/hooks.json:1
    PostToolUse   claude   plugin {root}

SubagentStop
  count           not trusted  *
    command, 1 s  project      .claude/settings.json:32
    SubagentStop  claude

WorktreeCreate
  tree                      not trusted
    command, 1 s            project      .claude/settings.json:43
    WorktreeCreate          claude
    not fired by this host

6 hooks: 1 enabled, 5 not trusted
review the project's hooks with `hookline trust --claude`; they run after you trust them
"""
    assert done.out == expected


@pytest.mark.usefixtures("claude")
def test_the_document_has_what_is_their_own(call: Call) -> None:
    found = call("list", "--json", "--claude").document["hooks"]
    by_name = {hook["name"]: hook for hook in found}
    guard = by_name["./guard.sh"]
    assert (guard["dialect"], guard["dialect_event"], guard["if"]) == (
        *("claude", "PreToolUse", "Bash(git push:*)"),
    )
    assert (guard["event"], guard["async"], guard["fired"]) == ("BeforeTool", True, True)
    assert by_name["sent"]["url"] == "https://example.org/hook"
    assert by_name["safety"]["prompt"] == "Is this\nsafe?"
    assert [by_name[name]["fired"] for name in ("count", "tree")] == [True, False]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("PreToolUse", ["./guard.sh", "sent", "safety"]),
        ("BeforeTool", ["./guard.sh", "sent", "safety"]),
        ("SubagentStop", ["count"]),
        ("PostToolUse", []),
    ],
)
@pytest.mark.usefixtures("claude")
def test_list_knows_events_by_either_name(call: Call, event: str, expected: list[str]) -> None:
    found = call("list", "--json", "--claude", "--event", event).document["hooks"]
    assert [hook["name"] for hook in found] == expected


def test_list_mentions_files_that_are_there_and_not_read(call: Call, claude: Project) -> None:
    done = call("list")
    told = ".claude/settings.json is not read; pass --claude, or"
    assert done.out.splitlines()[-1].startswith(told)
    assert call("list", "--json").document["unread"] == [str(claude.path / PROJECT_FILE)]
    assert "not read" not in call("list", "--claude").out
    write(own_user_file(), {"claude": False})
    assert "not read" not in call("list").out


@pytest.mark.usefixtures("claude")
def test_a_plugin_that_is_no_directory_is_bad_usage(call: Call) -> None:
    done = call("list", "--plugin", "nowhere")
    assert (done.status, done.err) == (1, "hookline: --plugin: nowhere is not a directory\n")


def test_list_says_who_disables_them(call: Call, claude: Project) -> None:
    claude.settings({"disableAllHooks": True}, file=".claude/settings.local.json")
    native = {"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "own"}]}]}}
    claude.settings(native)
    found = call("list", "--json", "--claude").document["hooks"]
    by_name = {hook["name"]: hook["disabled_by"] for hook in found}
    local = str(claude.path / ".claude/settings.local.json")
    assert by_name["own"] is None
    assert by_name["sent"] == {"source": "project", "file": local, "line": 2}
    write(managed_file(), {"allowManagedHooksOnly": True})
    found = call("list", "--json", "--claude", "--event", "PreToolUse").document["hooks"]
    assert {hook["disabled_by"]["file"] for hook in found} == {str(managed_file())}


def test_trust_shows_what_would_be_sent_and_asked(call: Call, claude: Project) -> None:
    claude.script("guard.sh", "#!/bin/sh\n")
    hook = http(name="sent", headers={"X-Key": "$KEY"}, allowedEnvVars=["KEY"])
    claude.settings(hooks(hook, PROMPT, GUARD, env={"A": "1"}), file=PROJECT_FILE)
    done = call("trust", "--claude", "--yes")
    assert done.status == 0, done.err
    for shown in (
        "sends the event to https://example.org/hook",
        "X-Key: $KEY",
        "its headers may name KEY",
        "asks a model:",
        "if: Bash(git push:*)",
        "async: True",
        "A=1",
        "event in Claude Code: PreToolUse",
    ):
        assert shown in done.out, shown
    states = {hook["trusted"] for hook in call("list", "--json", "--claude").document["hooks"]}
    assert states == {True}
    assert call("trust", "--claude", "--check").status == 0


def test_trust_shows_every_file_of_a_plugin_that_the_project_names(
    call: Call, claude: Project
) -> None:
    files = {"run": "", "lib/deep.py": "x = 1\n"}
    folder = plugin(claude.path.parent / "plug", hooks("${CLAUDE_PLUGIN_ROOT}/run"), files=files)
    claude.settings({"plugins": ["../plug"], "hooks": {"tools": {"my_shell": "Bash"}}})
    done = call("trust", "--yes")
    assert done.status == 0
    assert "the tool my_shell is Bash in Claude Code" in done.out
    assert str(folder / "lib/deep.py") in done.out
    assert "x = 1" in done.out


def test_a_plugin_that_cannot_be_read_cannot_be_reviewed(call: Call, claude: Project) -> None:
    claude.settings({"plugins": ["nowhere"]})
    native = {"BeforeTool": [{"hooks": [{"type": "command", "command": "own"}]}]}
    claude.settings({"plugins": ["nowhere"], "hooks": native})
    done = call("trust", "--yes")
    assert done.status == 1
    assert "cannot be reviewed" in done.err


@pytest.mark.usefixtures("claude")
def test_trust_mentions_files_that_are_not_read(call: Call) -> None:
    assert ".claude/settings.json is not read" in call("trust", "--check").out


def test_disable_and_enable_write_to_our_settings_alone(call: Call, claude: Project) -> None:
    before = (claude.path / PROJECT_FILE).read_text()
    write(user_file(), hooks("mine"))
    for project in ([], ["--project"]):
        done = call("disable", "--claude", *project, "sent")
        assert done.status == 0, done.err
        assert "enable --claude" in done.out
        found = call("list", "--json", "--claude").document["hooks"]
        assert [hook["name"] for hook in found if not hook["enabled"]] == ["sent"]
        assert call("enable", "--claude", *project, "sent").status == 0
    assert call("disable", "--claude", "mine").status == 0
    assert json.loads(own_user_file().read_text())["hooks"]["disabled"] == ["mine"]
    assert (claude.path / PROJECT_FILE).read_text() == before
    assert user_file().read_text() == json.dumps(hooks("mine"))


def test_a_hook_of_a_plugin_is_disabled_by_name(call: Call, claude: Project) -> None:
    plugin(claude.path.parent / "plug", hooks("formatted"))
    assert call("disable", "--plugin", "../plug", "formatted").status == 0
    (hook,) = call("list", "--json", "--plugin", "../plug").document["hooks"]
    assert hook["enabled"] is False
    assert hook["plugin"] == str(claude.path.parent / "plug")


def test_settings_of_claude_codes_that_are_given_stay_as_they_are(
    call: Call, claude: Project
) -> None:
    before = (claude.path / PROJECT_FILE).read_text()
    done = call("disable", "--settings", PROJECT_FILE, "sent")
    assert done.status == 1
    assert "is Claude Code's and stays as it is" in done.err
    (claude.path / "ours.json").write_text("{}")
    given = ("--settings", "ours.json", "--settings", PROJECT_FILE)
    assert call("disable", *given, "sent").status == 0
    assert json.loads((claude.path / "ours.json").read_text()) == {"hooks": {"disabled": ["sent"]}}
    assert (claude.path / PROJECT_FILE).read_text() == before


def test_untrust_finds_a_project_of_claude_codes_from_below(call: Call, claude: Project) -> None:
    below = claude.path / "src"
    below.mkdir()
    call("trust", "--claude", "--yes")
    done = call("untrust", "--claude", "--json", "--cwd", str(below))
    assert done.document == {"project": str(claude.path), "was_trusted": True}


@pytest.mark.usefixtures("claude")
def test_names_are_completed(call: Call) -> None:
    def complete(*words: str) -> list[str]:
        return call("completion", "--names", "--", "disable", *words).out.splitlines()

    assert complete() == []
    assert complete("--claude") == ["./guard.sh", "sent", "safety", "count", "tree"]


def test_fire_runs_a_plugins_hook(tmp_path: Path, project: Project) -> None:
    folder = plugin(tmp_path / "plug", hooks("echo no >&2; exit 2"))
    asked = ("--tool", "x", "--tool-input", "{}", "--plugin", str(folder))
    done = hookline("fire", "BeforeTool", *asked, cwd=project.path)
    assert (done.status, "no" in done.err) == (2, True)
