"""``hookline migrate``: a look first, then other agents' hooks among ours, and nothing lost."""

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import ESCAPE, EVERY_VERB, hookline, on_terminal
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.harness.scratch import Project

GEMINI = """{
  "hooks": {
    "BeforeTool": [
      {
        "matcher": "run_shell_command",
        "hooks": [
          {"type": "command", "command": "$GEMINI_PROJECT_DIR/guard.sh", "timeout": 10000},
          {"type": "command"}
        ]
      }
    ]
  }
}
"""
GUARD = "#!/bin/sh\necho 'not that' >&2\nexit 2\n"
LLXPRT = {"SessionEnd": [{"hooks": [{"type": "command", "command": "touch bye"}]}]}
OURS = """{
  // agreed on in May
  "hooks": {
    "BeforeTool": [
      {"hooks": [{"type": "command", "command": "./old.sh"}]}, // the first
    ],
  },
}
"""
CLAUDE = {"Stop": [{"hooks": [{"type": "command", "command": "touch bye"}]}]}


@pytest.fixture
def theirs(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with hooks of Gemini CLI's and LLxprt Code's, from within."""
    project.write(".gemini/settings.json", GEMINI)
    project.settings({"hooks": LLXPRT}, file=".llxprt/settings.json")
    project.script("guard.sh", GUARD)
    monkeypatch.chdir(project.path)
    return project


def read(file: Path | str) -> Any:
    return json.loads(Path(file).read_text())


def files_of(project: Project) -> set[str]:
    found = (path.relative_to(project.path) for path in project.path.rglob("*") if path.is_file())
    return set(map(str, found))


def write_at_home(text: str) -> None:
    folder = Path(os.environ["HOME"], ".gemini")
    folder.mkdir()
    (folder / "settings.json").write_text(text)


SCREEN = """\
.gemini/settings.json → .hookline/settings.json
  BeforeTool run_shell_command
    $GEMINI_PROJECT_DIR/guard.sh

.llxprt/settings.json → .hookline/settings.json
  SessionEnd
    touch bye

What is not moved
  .gemini/settings.json:8
    BeforeTool[0].hooks[1]: a command hook needs a command; it was skipped

What to know
  .gemini/settings.json:7
    hookline reads this file itself, so its hooks run without being moved; each
    moved hook runs once while both files have it
  .llxprt/settings.json:6
    hookline reads this file itself, so its hooks run without being moved; each
    moved hook runs once while both files have it

2 hooks to add, 1 refused
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
    assert "without being moved; each moved hook runs once while both files have it\n" in done.out


def test_a_file_that_was_written_before_one_that_cannot_be_is_named(
    theirs: Project, call: Call
) -> None:
    write_at_home(json.dumps({"hooks": LLXPRT}))
    Path(os.environ["XDG_CONFIG_HOME"]).mkdir()
    Path(os.environ["XDG_CONFIG_HOME"], "hookline").write_text("a file")
    done = call("migrate", "--write")
    assert done.status == 1
    written = theirs.path / ".hookline" / "settings.json"
    assert done.err.endswith(f" ({written} was written before)\n")


def test_written_hooks_are_among_those_there_were_and_the_old_text_is_kept(
    theirs: Project,
) -> None:
    (theirs.path / ".llxprt" / "settings.json").unlink()
    settings = theirs.write(".hookline/settings.json", OURS)
    done = hookline("migrate", "--write")
    assert done.out.endswith(
        "changed .hookline/settings.json; as it was: .hookline/settings.json.bak\n"
        "next: hookline check, then hookline trust\n"
    )
    assert Path(f"{settings}.bak").read_text() == OURS
    assert settings.read_text() == OURS.replace(
        "// the first\n",
        """// the first
      {
        "matcher": "run_shell_command",
        "hooks": [
          {"type": "command", "command": "$GEMINI_PROJECT_DIR/guard.sh", "timeout": 10000}
        ]
      },
""",
    )
    assert (theirs.path / ".gemini" / "settings.json").read_text() == GEMINI


def test_a_second_time_adds_nothing_and_makes_no_backup(theirs: Project) -> None:
    hookline("migrate", "--write")
    before = {name: (theirs.path / name).read_text() for name in files_of(theirs)}
    done = hookline("migrate", "--write")
    assert "already there\n" in done.out
    assert "0 hooks added, 2 already there" in done.out
    assert {name: (theirs.path / name).read_text() for name in files_of(theirs)} == before


def test_what_was_written_fires(theirs: Project) -> None:
    hookline("migrate", "--write")
    (theirs.path / ".gemini" / "settings.json").unlink()
    asked = ["--tool", "run_shell_command", "--tool-input", "{}", "--trust"]
    done = hookline("fire", "BeforeTool", *asked)
    assert (done.status, done.err) == (2, "blocked: not that\n")


def test_the_home_goes_into_the_user_s_settings(project: Project, call: Call) -> None:
    write_at_home(GEMINI)
    assert call("migrate", "--write", "--cwd", str(project.path)).status == 0
    config = Path(os.environ["XDG_CONFIG_HOME"], "hookline")
    assert set(read(config / "settings.json")["hooks"]) == {"BeforeTool"}
    assert files_of(project) == set()


def test_llxprt_s_file_in_the_config_folder_is_found(project: Project, call: Call) -> None:
    folder = Path(os.environ["HOME"], ".config/llxprt-code")
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text(GEMINI)
    document = call("migrate", "--json", "--cwd", str(project.path)).document
    assert [source["file"] for source in document["sources"]] == [str(folder / "settings.json")]


@pytest.mark.usefixtures("theirs")
def test_only_one_layer_if_that_is_asked_for(call: Call) -> None:
    write_at_home(GEMINI)
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


def test_the_document_says_where_each_hook_goes_and_what_becomes_of_the_file(
    theirs: Project, call: Call
) -> None:
    target = str(theirs.write(".hookline/settings.json", OURS))
    source = str(theirs.path / ".gemini" / "settings.json")
    document = call("migrate", "--json").document
    first = document["hooks"][0]
    assert (first["file"], first["line"], first["target"]) == (source, 7, target)
    assert (first["event"], first["matcher"]) == ("BeforeTool", "run_shell_command")
    assert first["hook"]["command"] == "$GEMINI_PROJECT_DIR/guard.sh"
    assert (first["column"] > 1, first["is_new"]) == (True, True)
    about = {"file": target, "exists": True, "add": 2, "disabled": [], "backup": None}
    assert document["targets"][0] == about
    written = call("migrate", "--json", "--write").document
    assert written["targets"][0]["backup"] == f"{target}.bak"
    assert written["next"] == document["next"][1:]
    again = call("migrate", "--json").document
    assert (again["hooks"][0]["is_new"], again["targets"][0]["add"]) == (False, 0)


def test_the_command_that_writes_has_the_options_of_the_one_that_shows(
    project: Project, call: Call
) -> None:
    file = str(project.settings({"hooks": {"BeforeTool": []}}, file="b.json"))
    given = ["--cwd", str(project.path), "--settings", file]
    assert call("migrate", "--json", *given).document["next"][0] == shlex.join(
        ["hookline", "migrate", "--write", *given]
    )


def test_two_files_with_the_same_hook_move_it_once_and_disabled_ones_stay_so(
    project: Project, call: Call
) -> None:
    hook = {"type": "command", "command": "./a.sh", "timeout": 500}
    settings = {"hooks": {"BeforeTool": [{"hooks": [hook]}], "disabled": ["./a.sh"]}}
    project.settings(settings, file=".gemini/settings.json")
    project.settings(settings, file=".llxprt/settings.json")
    done = call("migrate", "--write", "--cwd", str(project.path))
    assert read(project.path / ".hookline" / "settings.json") == settings
    assert "stays switched off: ./a.sh\n" in done.out


def test_hooks_of_claude_code_are_named_with_the_option_that_runs_them(
    project: Project, call: Call
) -> None:
    file = project.settings({"hooks": CLAUDE}, file=".claude/settings.json")
    at = ("--cwd", str(project.path))
    assert "Claude Code's hooks run as they are with --claude\n" in call("migrate", *at).out
    done = call("migrate", "--write", "--settings", str(file), *at)
    assert "settings of Claude Code, whose hooks run as they are with --claude" in done.out
    assert files_of(project) == {".claude/settings.json"}


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        (".gemini/settings.json", "{", ":1:2: is not valid JSON: the file ends here, but"),
        (".hookline/settings.json", '{"hooks": 1}', ":1:11: hooks must be an object, {…}; fix"),
        (".hookline/settings.json", "[]", ":1:1: must hold an object, {…}; fix it first"),
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
        "there are no settings of Gemini CLI or LLxprt Code to migrate here\n"
        "name a file: hookline migrate --settings FILE\n"
        "Claude Code's hooks run as they are with --claude\n"
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


def test_migrate_executes_nothing(theirs: Project) -> None:
    commands = ["touch ran", "$(touch ran)", "`touch ran`", "./guard.sh; touch ran"]
    hooks = [{"type": "command", "command": command} for command in commands]
    settings = {"hooks": {"BeforeTool": [{"matcher": "$(touch ran)", "hooks": hooks}]}}
    theirs.settings(settings, file=".gemini/settings.json")
    assert hookline("migrate", "--write").status == 0
    assert not (theirs.path / "ran").exists()


def test_names_from_an_unreviewed_project_cannot_steer_the_terminal(
    theirs: Project, call: Call
) -> None:
    hook = {"type": "command", "command": "\x1b[2Jtrue\u202e"}
    settings = {"hooks": {"\x1b]0;x\x07": [], "AfterAgent": [{"hooks": [hook]}]}}
    theirs.settings(settings, file=".gemini/settings.json")
    assert not set("\x1b\x07\u202e") & set(call("migrate").out)


def test_migrate_loads_no_terminal_no_engine_and_no_regex(theirs: Project) -> None:
    modules = loaded(theirs, "migrate", "--write")
    assert own(modules) == EVERY_VERB | {"migrate"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert not modules & {"asyncio", "subprocess", "pathlib", "tempfile", "logging", "json"}
    assert "hookline.engine.engine" not in modules
