"""``hookline migrate``: a look first, then other agents' hooks among ours, and nothing lost."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ESCAPE, EVERY_VERB, hookline, on_terminal
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.harness.scratch import Project

CLAUDE = """{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {"type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.py", "timeout": 10},
          {"type": "command", "command": "exit 2", "if": "Bash(rm *)"}
        ]
      }
    ],
    "Stop": [{"hooks": [{"type": "prompt", "prompt": "Done?"}]}]
  }
}
"""
GUARD = """#!/usr/bin/env python3
import json, sys
event = json.load(sys.stdin)
print(json.dumps({"hookSpecificOutput": {"updatedInput": event["tool_input"]}}))
"""
LOCAL = {"SessionEnd": [{"hooks": [{"type": "command", "command": "./bye.sh", "timeout": 1}]}]}
OURS = """{
  // agreed on in May
  "hooks": {
    "BeforeTool": [
      {"hooks": [{"type": "command", "command": "./old.sh"}]}, // the first
    ],
  },
}
"""


@pytest.fixture
def theirs(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with hooks of Claude Code's, from within."""
    project.write(".claude/settings.json", CLAUDE)
    project.settings({"hooks": LOCAL}, file=".claude/settings.local.json")
    project.script("guard.py", GUARD)
    monkeypatch.chdir(project.path)
    return project


def read(file: Path | str) -> Any:
    return json.loads(Path(file).read_text())


def files_of(project: Project) -> set[str]:
    found = (path.relative_to(project.path) for path in project.path.rglob("*") if path.is_file())
    return set(map(str, found))


SCREEN = """\
.claude/settings.json → .hookline/settings.json
  PreToolUse Bash  →  BeforeTool run_shell_command
    $CLAUDE_PROJECT_DIR/guard.py
    timeout 10 s → 10000 ms

.claude/settings.local.json → .hookline/settings.local.json
  SessionEnd  →  SessionEnd
    ./bye.sh
    timeout 1 s → 1000 ms

What has no equivalent
  .claude/settings.json:8  PreToolUse Bash exit 2
    hooks have no condition like 'Bash(rm *)', and without it it would run too
    often; let the script look at tool_input itself and do nothing for other
    calls
  .claude/settings.json:12  Stop prompt
    hooks cannot put a prompt to a model here; ask a model from a script

What scripts must change
  guard.py
    4  updatedInput is not read here; print hookSpecificOutput.tool_input; what
       it does not name stays

What is different here
  .claude/settings.json:7
    matchers are searched in the tool's name: run_shell_command fits
    mcp__files__run_shell_command too; write ^run_shell_command$ for that one
    alone

2 hooks to add, 2 without an equivalent; 0 of 1 script can stay as written
nothing was written; to do so: hookline migrate --write
"""


@pytest.mark.parametrize("no_color", ["1", ""], ids=["plain", "colour"])
def test_the_look_at_80_columns(theirs: Project, no_color: str) -> None:
    before = files_of(theirs)
    done = on_terminal("migrate", NO_COLOR=no_color)
    assert done.status == 0
    assert ESCAPE.sub("", done.out) == SCREEN
    assert (ESCAPE.search(done.out) is None) == bool(no_color)
    assert files_of(theirs) == before


@pytest.mark.usefixtures("theirs")
def test_piped_the_lines_are_whole() -> None:
    done = hookline("migrate", "--dry-run")
    assert (done.status, done.err) == (0, "")
    assert "    4  updatedInput is not read here; print hookSpecificOutput.tool_input;" in done.out


def test_written_hooks_are_among_those_there_were_and_the_old_text_is_kept(
    theirs: Project,
) -> None:
    settings = theirs.write(".hookline/settings.json", OURS)
    done = hookline("migrate", "--write")
    assert done.out.endswith(
        "changed .hookline/settings.json; as it was: .hookline/settings.json.bak\n"
        "made .hookline/settings.local.json\n"
        "next: hookline check, then hookline trust\n"
    )
    assert Path(f"{settings}.bak").read_text() == OURS
    assert settings.read_text() == OURS.replace(
        "// the first\n",
        """// the first
      {
        "matcher": "run_shell_command",
        "hooks": [
          {"type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.py", "timeout": 10000}
        ]
      },
""",
    )
    assert (theirs.path / ".claude" / "settings.json").read_text() == CLAUDE


def test_a_second_time_adds_nothing_and_makes_no_backup(theirs: Project) -> None:
    hookline("migrate", "--write")
    before = {name: (theirs.path / name).read_text() for name in files_of(theirs)}
    done = hookline("migrate", "--write")
    assert "0 hooks added, 2 there already" in done.out
    assert {name: (theirs.path / name).read_text() for name in files_of(theirs)} == before


def test_what_was_written_fires(theirs: Project) -> None:
    theirs.script("guard.py", "#!/bin/sh\necho 'not that' >&2\nexit 2\n")
    hookline("migrate", "--write")
    asked = ["--tool", "run_shell_command", "--tool-input", "{}", "--trust"]
    done = hookline("fire", "BeforeTool", *asked)
    assert (done.status, done.err) == (2, "blocked: not that\n")


def test_an_async_hook_reads_the_whole_event_after_the_answer(project: Project) -> None:
    command = "cat > event.json && mv event.json done.json # at leisure"
    hook = {"type": "command", "command": command, "async": True}
    project.settings({"hooks": {"Stop": [{"hooks": [hook]}]}}, file=".claude/settings.json")
    hookline("migrate", "--write", cwd=project.path)
    fields = {"prompt": "p", "prompt_response": "it's " * 40_000}
    source = project.settings(fields, file="event.in")
    done = hookline("fire", "AfterAgent", "--trust", "--input", f"@{source}", cwd=project.path)
    assert done.status == 0
    written = project.path / "done.json"
    while not written.exists():
        time.sleep(0.01)
    assert read(written)["prompt_response"] == fields["prompt_response"]


def test_the_home_goes_into_the_user_s_settings(project: Project, call: Call) -> None:
    home = Path(os.environ["HOME"], ".claude")
    home.mkdir()
    (home / "settings.json").write_text(CLAUDE)
    (home / "settings.local.json").write_text(json.dumps({"hooks": LOCAL}))
    assert call("migrate", "--write", "--cwd", str(project.path)).status == 0
    config = Path(os.environ["XDG_CONFIG_HOME"], "hookline")
    assert set(read(config / "settings.json")["hooks"]) == {"BeforeTool"}
    assert set(read(config / "settings.local.json")["hooks"]) == {"SessionEnd"}
    assert files_of(project) == set()


@pytest.mark.usefixtures("theirs")
def test_only_one_layer_if_that_is_asked_for(call: Call) -> None:
    home = Path(os.environ["HOME"], ".claude")
    home.mkdir()
    (home / "settings.json").write_text(CLAUDE)
    document = call("migrate", "--json", "--only", "user").document
    assert [source["layer"] for source in document["sources"]] == ["user"]
    assert document["next"][0] == "hookline migrate --write --only user"
    document = call("migrate", "--json", "--only", "project").document
    assert [source["layer"] for source in document["sources"]] == ["project", "project"]


def test_a_subfolder_belongs_to_the_project_above(theirs: Project, call: Call) -> None:
    below = theirs.path / "src" / "deep"
    below.mkdir(parents=True)
    document = call("migrate", "--json", "--cwd", str(below)).document
    assert document["targets"][0]["file"] == str(theirs.path / ".hookline" / "settings.json")


def test_the_document_has_before_and_after(theirs: Project, call: Call) -> None:
    document = call("migrate", "--json").document
    assert document["written"] is False
    assert document["hooks"][0]["before"] == {
        "event": "PreToolUse",
        "matcher": "Bash",
        "hook": {"type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.py", "timeout": 10},
    }
    assert document["hooks"][0]["after"] == {
        "event": "BeforeTool",
        "matcher": "run_shell_command",
        "hook": {"type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.py", "timeout": 10000},
    }
    assert [(f["kind"], f["line"]) for f in document["findings"]] == [
        ("lost", 8),
        ("lost", 12),
        ("script", 4),
        ("note", 7),
    ]
    assert document["scripts"] == [str(theirs.path / "guard.py")]
    assert document["next"][0] == "hookline migrate --write"


def test_gemini_settings_are_moved_where_there_are_no_others(project: Project, call: Call) -> None:
    hook = {"type": "command", "command": "./a.sh", "timeout": 500}
    settings = {"hooks": {"BeforeTool": [{"hooks": [hook]}], "disabled": ["./a.sh"]}}
    project.settings(settings, file=".gemini/settings.json")
    project.settings(settings, file=".llxprt/settings.json")
    at = ("--cwd", str(project.path))
    done = call("migrate", "--write", *at)
    assert "hookline reads this file as it is, so its hooks run without being moved" in done.out
    assert read(project.path / ".hookline" / "settings.json") == settings
    assert "stays switched off: ./a.sh\n" in done.out
    project.settings(CLAUDE, file=".claude/settings.json")
    assert "--from gemini moves it all the same" in call("migrate", *at).out
    sources = call("migrate", "--json", *at).document["sources"]
    assert {source["agent"] for source in sources} == {"claude"}
    sources = call("migrate", "--json", "--from", "gemini", *at).document["sources"]
    assert {source["agent"] for source in sources} == {"gemini"}


def test_named_files_are_told_apart_by_their_events(project: Project, call: Call) -> None:
    gemini = project.settings({"hooks": {"BeforeTool": []}}, file="a.json")
    claude = project.settings({"hooks": {"PreToolUse": []}}, file="b.json")
    done = call("migrate", "--json", "--settings", str(gemini), "--settings", str(claude))
    assert [source["agent"] for source in done.document["sources"]] == ["gemini", "claude"]


def test_hooks_that_were_off_stay_off(theirs: Project, call: Call) -> None:
    off = {"disableAllHooks": True, "hooks": LOCAL}
    theirs.settings(off, file=".claude/settings.local.json")
    call("migrate", "--write")
    hooks = read(theirs.path / ".hookline" / "settings.local.json")["hooks"]
    assert hooks["disabled"] == ["./bye.sh"]


def test_variables_of_the_settings_that_a_hook_reads_are_pointed_out(
    theirs: Project, call: Call
) -> None:
    theirs.script("guard.py", "import os\nprint(os.environ['TEAM'])\n")
    settings = {"env": {"TEAM": "blue", "OTHER": "x"}, **json.loads(CLAUDE)}
    theirs.settings(settings, file=".claude/settings.json")
    findings = call("migrate", "--json").document["findings"]
    messages = [finding["message"] for finding in findings]
    assert "TEAM is not set here by the settings" in messages
    assert not any("OTHER" in message for message in messages)


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        (".claude/settings.json", "{", ":1:2: is not valid JSON: the file ends here, but"),
        (".hookline/settings.json", '{"hooks": 1}', ":1:11: hooks must be an object, {…}; mend"),
        (".hookline/settings.local.json", "[]", ":1:1: must hold an object, {…}; mend it first"),
    ],
)
def test_a_bad_file_is_named_with_its_place_and_nothing_is_written(
    theirs: Project, call: Call, file: str, text: str, problem: str
) -> None:
    theirs.write(file, text)
    before = files_of(theirs)
    done = call("migrate", "--write")
    assert done.status == 1
    assert done.err.startswith(f"hookline: {theirs.path / file}{problem}")
    assert files_of(theirs) == before


def test_a_folder_that_cannot_be_made_is_one_sentence(theirs: Project, call: Call) -> None:
    theirs.write(".hookline", "a file")
    done = call("migrate", "--write")
    assert done.status == 1
    assert done.err.count("\n") == 1
    assert done.err.startswith(f"hookline: {theirs.path / '.hookline' / 'settings.json'}: cannot")


def test_nothing_to_migrate_says_what_else_to_do(project: Project, call: Call) -> None:
    done = call("migrate", "--cwd", str(project.path))
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "there are no settings of Claude Code, Gemini CLI or LLxprt Code to migrate here\n"
        "name a file: hookline migrate --settings FILE\n"
        "or start anew: hookline init\n"
    )
    assert call("migrate", "--json", "--cwd", str(project.path)).document["hooks"] == []


def test_a_link_cannot_carry_a_project_s_hooks_into_the_user_s_settings(
    theirs: Project, call: Call
) -> None:
    config = Path(os.environ["XDG_CONFIG_HOME"], "hookline")
    config.mkdir(parents=True)
    (theirs.path / ".hookline").symlink_to(config)
    done = call("migrate", "--write")
    assert done.status == 1
    assert f"leads out of the project, to {config}/settings.json; take the link away" in done.err
    assert list(config.iterdir()) == []


def test_migrate_executes_nothing_and_waits_for_nothing(theirs: Project) -> None:
    theirs.script("guard.py", "#!/bin/sh\ntouch ran\n")
    os.mkfifo(theirs.path / "pipe")
    commands = ["touch ran", "$(touch ran)", "`touch ran`", "./pipe", "./guard.py; touch ran"]
    hooks = [{"type": "command", "command": command} for command in commands]
    settings = {"hooks": {"PreToolUse": [{"matcher": "$(touch ran)", "hooks": hooks}]}}
    theirs.settings(settings, file=".claude/settings.json")
    assert hookline("migrate", "--write").status == 0
    assert not (theirs.path / "ran").exists()


def test_names_from_an_unreviewed_project_cannot_steer_the_terminal(
    theirs: Project, call: Call
) -> None:
    hook = {"type": "command", "command": "\x1b[2Jtrue\u202e"}
    settings = {"hooks": {"\x1b]0;x\x07": [], "Stop": [{"hooks": [hook]}]}}
    theirs.settings(settings, file=".claude/settings.json")
    assert not set("\x1b\x07\u202e") & set(call("migrate").out)


def test_migrate_loads_no_terminal_no_engine_and_no_regex(theirs: Project) -> None:
    modules = loaded(theirs, "migrate", "--write")
    assert own(modules) == EVERY_VERB | {"migrate"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert not modules & {"asyncio", "subprocess", "pathlib", "tempfile", "logging", "json"}
    assert "hookline.system" not in modules
