"""``hookline migrate``: a look first, then other agents' hooks among ours, and nothing lost."""

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ESCAPE, EVERY_VERB, command_hook, hookline, on_terminal, settings
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
if "rm" in json.load(sys.stdin)["tool_input"].get("command", ""):
    print("not that", file=sys.stderr)
    sys.exit(2)
"""
LOCAL = {"SessionEnd": [{"hooks": [{"type": "command", "command": "touch bye", "timeout": 1}]}]}
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
  PreToolUse Bash  →  BeforeTool ^(?:Bash|run_shell_command)$
    $CLAUDE_PROJECT_DIR/guard.py
    timeout 10 s → 10000 ms

.claude/settings.local.json → .hookline/settings.local.json
  SessionEnd  →  SessionEnd
    touch bye
    timeout 1 s → 1000 ms

What is not moved, because it would do something else
  .claude/settings.json:8  PreToolUse Bash exit 2
    it has the condition 'Bash(rm *)'; native hooks have none
  .claude/settings.json:12  Stop prompt
    prompt hooks are not moved

2 hooks to add, 2 refused
what is refused stays with Claude Code and guards nothing here; to run all of it
unchanged: "claude": true in .hookline/settings.json, or --claude
what was moved would then run twice: take it out of Claude Code's file
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
    assert "    it has the condition 'Bash(rm *)'; native hooks have none\n" in done.out


LINED_UP = """\
.claude/settings.json → .hookline/settings.json
  PreToolUse Bash|Write|Edit|MultiEdit|Read|Glob  →  BeforeTool ^(?:NAMES)$
    exit 2
    {0}
  PreToolUse Bash                       →  BeforeTool ^(?:NAMES)$
    touch a b
    {0}
  Stop                                  →  AfterAgent
    touch x
    {0}

.claude/settings.local.json → .hookline/settings.local.json
  no hook can be migrated

What is not moved, because it would do something else
  .claude/settings.local.json:6  Stop prompt
    prompt hooks are not moved

"""
STAYS = """\
what is refused stays with Claude Code and guards nothing here; to run all of it unchanged: \
"claude": true in .hookline/settings.json, or --claude
what was moved would then run twice: take it out of Claude Code's file
"""
GEMINI = ".gemini/settings.json is read as it is; --from gemini moves it all the same\n"


def test_hooks_are_lined_up_and_said_to_be_there_already_the_next_time(
    theirs: Project, call: Call
) -> None:
    named = "Bash|Write|Edit|MultiEdit|Read|Glob"
    before = [
        {"matcher": named, "hooks": [command_hook("exit 2")]},
        {"matcher": "Bash", "hooks": [command_hook("touch", args=["a b"])]},
    ]
    stop = [{"hooks": [command_hook("touch x")]}]
    theirs.settings({"hooks": {"PreToolUse": before, "Stop": stop}}, file=".claude/settings.json")
    asking = settings("Stop", {"type": "prompt", "prompt": "x"})
    theirs.settings(asking, file=".claude/settings.local.json")
    theirs.settings({"hooks": {}}, file=".gemini/settings.json")

    def show(*arguments: str) -> str:
        return re.sub(r"\^\(\?:[^)]*", "^(?:NAMES", call("migrate", *arguments).out)

    new, there = LINED_UP.format("timeout 600 s → 600000 ms"), LINED_UP.format("already there")
    to_do = "nothing was written; to do so: hookline migrate --write\n"
    assert show() == f"{new}3 hooks to add, 1 refused\n{STAYS}{to_do}{GEMINI}"
    made = "made .hookline/settings.json\nnext: hookline check, then hookline trust\n"
    assert show("--write") == f"{new}3 hooks added, 1 refused\n{STAYS}{made}{GEMINI}"
    after = "next: hookline check, then hookline trust\n"
    assert show() == f"{there}0 hooks to add, 3 already there, 1 refused\n{STAYS}{after}{GEMINI}"


def test_where_nothing_moves_nothing_would_run_twice(theirs: Project, call: Call) -> None:
    asking = settings("Stop", {"type": "prompt", "prompt": "x"})
    theirs.settings(asking, file=".claude/settings.json")
    (theirs.path / ".claude/settings.local.json").unlink()
    done = call("migrate")
    assert done.out.endswith(
        "0 hooks to add, 1 refused\nwhat is refused stays with Claude Code and guards nothing "
        'here; to run all of it unchanged: "claude": true in .hookline/settings.json, or --claude\n'
    )


def test_a_file_that_was_written_before_one_that_cannot_be_is_named(
    theirs: Project, call: Call
) -> None:
    home = Path(os.environ["HOME"], ".claude")
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"hooks": LOCAL}))
    Path(os.environ["XDG_CONFIG_HOME"]).mkdir()
    Path(os.environ["XDG_CONFIG_HOME"], "hookline").write_text("a file")
    done = call("migrate", "--write")
    assert done.status == 1
    ours = theirs.path / ".hookline"
    written = f"{ours / 'settings.json'}, {ours / 'settings.local.json'}"
    assert done.err.endswith(f" ({written} was written before)\n")


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
        "matcher": "^(?:Bash|run_shell_command)$",
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
    assert "0 hooks added, 2 already there" in done.out
    assert {name: (theirs.path / name).read_text() for name in files_of(theirs)} == before


def test_what_was_written_fires(theirs: Project) -> None:
    theirs.script("guard.py", "#!/bin/sh\necho 'not that' >&2\nexit 2\n")
    hookline("migrate", "--write")
    asked = ["--tool", "run_shell_command", "--tool-input", "{}", "--trust"]
    done = hookline("fire", "BeforeTool", *asked)
    assert (done.status, done.err) == (2, "blocked: not that\n")


def test_the_home_goes_into_the_user_s_settings(project: Project, call: Call) -> None:
    home = Path(os.environ["HOME"], ".claude")
    home.mkdir()
    (home / "settings.json").write_text(CLAUDE.replace("$CLAUDE_PROJECT_DIR", "~/.claude"))
    (home / "settings.local.json").write_text(json.dumps({"hooks": LOCAL}))
    (home / "guard.py").write_text(GUARD)
    (home / "guard.py").chmod(0o755)
    assert call("migrate", "--write", "--cwd", str(project.path)).status == 0
    config = Path(os.environ["XDG_CONFIG_HOME"], "hookline")
    assert set(read(config / "settings.json")["hooks"]) == {"BeforeTool"}
    assert set(read(config / "settings.local.json")["hooks"]) == {"SessionEnd"}
    assert files_of(project) == set()


@pytest.mark.parametrize("command", ["$CLAUDE_PROJECT_DIR/guard.py", "./guard.py", "sh guard.py"])
def test_a_hook_of_the_user_s_that_is_another_script_in_each_project_stays(
    theirs: Project, call: Call, command: str
) -> None:
    home = Path(os.environ["HOME"], ".claude")
    home.mkdir()
    (home / "settings.json").write_text(CLAUDE.replace("$CLAUDE_PROJECT_DIR/guard.py", command))
    at = ("--only", "user", "--cwd", str(theirs.path))
    assert call("migrate", "--json", *at).document["hooks"] == []


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


@pytest.mark.usefixtures("theirs")
def test_the_document_has_before_and_after(call: Call) -> None:
    document = call("migrate", "--json").document
    assert document["written"] is False
    assert document["hooks"][0]["before"] == {
        "event": "PreToolUse",
        "matcher": "Bash",
        "hook": {"type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.py", "timeout": 10},
    }
    assert document["hooks"][0]["after"] == {
        "event": "BeforeTool",
        "matcher": "^(?:Bash|run_shell_command)$",
        "hook": {"type": "command", "command": "$CLAUDE_PROJECT_DIR/guard.py", "timeout": 10000},
    }
    assert [(f["kind"], f["line"]) for f in document["findings"]] == [
        ("refused", 8),
        ("refused", 12),
    ]
    assert document["unchanged"] == '"claude": true in .hookline/settings.json, or --claude'
    assert document["next"][0] == "hookline migrate --write"


def test_the_document_says_where_each_hook_goes_and_what_becomes_of_the_file(
    theirs: Project, call: Call
) -> None:
    target = str(theirs.write(".hookline/settings.json", OURS))
    source = str(theirs.path / ".claude" / "settings.json")
    document = call("migrate", "--json").document
    first = document["hooks"][0]
    assert (first["file"], first["line"], first["target"]) == (source, 7, target)
    assert (first["column"] > 1, first["is_new"]) == (True, True)
    assert any("10000" in change for change in first["changes"])
    about = {"file": target, "exists": True, "add": 1, "disabled": [], "backup": None}
    assert document["targets"][0] == about
    written = call("migrate", "--json", "--write").document
    assert written["targets"][0]["backup"] == f"{target}.bak"
    assert written["next"] == document["next"][1:]
    again = call("migrate", "--json").document
    assert (again["hooks"][0]["is_new"], again["targets"][0]["add"]) == (False, 0)


def test_the_command_that_writes_has_the_options_of_the_one_that_shows(
    project: Project, call: Call
) -> None:
    file = str(project.settings({"hooks": {"PreToolUse": []}}, file="b.json"))
    folder = str(project.path)
    given = ["--from", "claude", "--cwd", folder, "--settings", file]
    assert call("migrate", "--json", *given).document["next"][0] == shlex.join(
        ["hookline", "migrate", "--write", *given]
    )


def test_gemini_settings_are_moved_where_there_are_no_others(project: Project, call: Call) -> None:
    hook = {"type": "command", "command": "./a.sh", "timeout": 500}
    settings = {"hooks": {"BeforeTool": [{"hooks": [hook]}], "disabled": ["./a.sh"]}}
    project.settings(settings, file=".gemini/settings.json")
    project.settings(settings, file=".llxprt/settings.json")
    at = ("--cwd", str(project.path))
    done = call("migrate", "--write", *at)
    assert "hookline reads this file itself, so its hooks run without being moved" in done.out
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


@pytest.mark.parametrize("at_home", [True, False])
def test_hooks_that_were_off_stay_off(theirs: Project, call: Call, at_home: bool) -> None:
    """One file switches off the hooks of all, and nothing that was off is written."""
    home = Path(os.environ["HOME"], ".claude")
    home.mkdir()
    file = home / "settings.json" if at_home else theirs.path / ".claude/settings.local.json"
    file.write_text('{"disableAllHooks": true}')
    before = files_of(theirs)
    done = call("migrate", "--write")
    assert "this disables all of Claude Code's hooks, so none is moved" in done.out
    assert files_of(theirs) == before


def test_variables_come_along_but_not_from_a_file_that_fewer_people_read(
    theirs: Project, call: Call
) -> None:
    project = {"env": {"TEAM": "a=b", "LEVEL": 2}, **json.loads(CLAUDE)}
    theirs.settings(project, file=".claude/settings.json")
    local = {"env": {"TOKEN": "secret"}, "hooks": LOCAL}
    theirs.settings(local, file=".claude/settings.local.json")
    home = Path(os.environ["HOME"], ".claude")
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"env": {"KEY": "secret"}, "hooks": LOCAL}))
    hooks = call("migrate", "--json").document["hooks"]
    assert [hook["after"]["hook"]["env"] for hook in hooks] == [
        {"TEAM": "a=b", "LEVEL": "2"},
        {"TEAM": "a=b", "LEVEL": "2", "TOKEN": "secret"},
        {"KEY": "secret"},
    ]
    theirs.script("guard.py", '#!/bin/sh\n[ -n "$KEY" ] || exit 2\n')
    findings = call("migrate", "--json").document["findings"]
    message = f"it depends on KEY, which {home / 'settings.json'} sets"
    assert message in [finding["message"] for finding in findings]


def test_a_variable_that_a_stronger_file_sets_has_no_weaker_value(
    theirs: Project, call: Call
) -> None:
    project = {"env": {"TEAM": "blue"}, **json.loads(CLAUDE)}
    theirs.settings(project, file=".claude/settings.json")
    local = {"env": {"TEAM": "red"}, "hooks": LOCAL}
    theirs.settings(local, file=".claude/settings.local.json")
    hooks = call("migrate", "--json").document["hooks"]
    envs = [hook["after"]["hook"].get("env") for hook in hooks]
    assert envs == [None, {"TEAM": "red"}]


def make_plugin(project: Project, command: str) -> Path:
    hooks = {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]
    }
    project.settings({"name": "guard"}, file="plugin/.claude-plugin/plugin.json")
    project.settings({"hooks": hooks}, file="plugin/hooks/hooks.json")
    project.script("plugin/guard.py", GUARD)
    return project.path / "plugin"


@pytest.mark.parametrize("layer", ["project", "user"])
def test_a_plugin_that_was_named_comes_with_its_folders(
    project: Project, call: Call, layer: str
) -> None:
    root = make_plugin(project, "python3 ${CLAUDE_PLUGIN_ROOT}/guard.py")
    at = ["--plugin", str(root), "--only", layer, "--cwd", str(project.path)]
    done = call("migrate", "--write", *at)
    assert "1 hook added" in done.out
    config = Path(os.environ["XDG_CONFIG_HOME"], "hookline")
    ours = config if layer == "user" else project.path / ".hookline"
    (definition,) = read(ours / "settings.json")["hooks"]["BeforeTool"]
    env = definition["hooks"][0]["env"]
    data = config / "plugins" / "guard"
    assert env == {"CLAUDE_PLUGIN_ROOT": str(root), "CLAUDE_PLUGIN_DATA": str(data)}
    assert data.is_dir()
    call_ = ["--tool", "run_shell_command", "--tool-input", '{"command": "rm x"}', "--trust"]
    assert call("fire", "BeforeTool", *call_, "--cwd", str(project.path)).status == 2


def test_the_command_that_writes_names_the_plugin_again(project: Project, call: Call) -> None:
    given = ["--cwd", str(project.path), "--plugin", str(make_plugin(project, "./guard.py"))]
    done = call("migrate", "--json", *given)
    assert done.document["next"][0] == shlex.join(["hookline", "migrate", "--write", *given])


def test_a_plugin_finds_the_data_that_it_has(project: Project, call: Call) -> None:
    root = make_plugin(project, "touch ${CLAUDE_PLUGIN_DATA}/ran")
    data = Path(os.environ["HOME"], ".claude/plugins/data/guard-market")
    data.mkdir(parents=True)
    hooks = call("migrate", "--json", "--plugin", str(root)).document["hooks"]
    assert hooks[0]["after"]["hook"]["env"]["CLAUDE_PLUGIN_DATA"] == str(data)


def test_what_a_plugin_cannot_move_runs_unchanged_by_its_folder(
    project: Project, call: Call
) -> None:
    root = make_plugin(project, "node ${CLAUDE_PLUGIN_ROOT}/guard.js")
    document = call("migrate", "--json", "--plugin", str(root)).document
    assert document["hooks"] == []
    assert document["findings"][0]["message"].startswith("it starts node")
    assert document["unchanged"] == f"--plugin {root}"


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({"hooks": "../x.json"}, "leads out of the project"),
        ({"hooks": "./none.json"}, "does not exist, so this folder is not a plugin with hooks"),
    ],
)
def test_a_plugin_s_hooks_must_be_in_it(
    project: Project, call: Call, manifest: Any, problem: str
) -> None:
    project.settings(manifest, file="plugin/.claude-plugin/plugin.json")
    project.settings({}, file="x.json")
    done = call("migrate", "--plugin", str(project.path / "plugin"))
    assert (done.status, problem in done.err) == (1, True)


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        (".claude/settings.json", "{", ":1:2: is not valid JSON: the file ends here, but"),
        (".hookline/settings.json", '{"hooks": 1}', ":1:11: hooks must be an object, {…}; fix"),
        (".hookline/settings.local.json", "[]", ":1:1: must hold an object, {…}; fix it first"),
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
    assert f"leads out of the project, to {config}/settings.json; remove the link" in done.err
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
