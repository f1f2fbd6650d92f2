"""``hookline init``: from nothing to a tested, trusted, traced hook by doing what is printed."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.cli.init import LANGUAGES, make_first_hook
from hookline.cli.screen import break_command
from hookline.hooktests.schema import hooktest_schema
from hookline.settings.schema import settings_schema
from hookline.wire.events import EVENTS, HookEventName
from tests.cli.command import ESCAPE, EVERY_VERB, HOOKLINE, hookline, on_terminal
from tests.cli.conftest import Call
from tests.cli.test_imports import loaded, own, third_party
from tests.harness.scratch import Project

SCREEN = """\
made  .hookline/hooks/guard.sh
made  .hookline/settings.json
made  .hookline/tests/guard.hooktest.json
made  .hookline/settings.schema.json
made  .hookline/hooktest.schema.json

What to do next
  hookline check
    find mistakes before they matter
  hookline trust
    read what will run, and let it
  HOOKLINE_TRACE=1 hookline fire BeforeTool --tool run_shell_command \\
    --tool-input '{"command":"rm -rf /"}'
    see it decide, and record it
  hookline test
    run its tests; change the script, and run them again
  hookline trace
    look back at what was recorded
"""


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty folder, from within."""
    monkeypatch.chdir(project.path)
    return project


def files_of(project: Project) -> set[str]:
    found = (path.relative_to(project.path) for path in project.path.rglob("*") if path.is_file())
    return set(map(str, found))


def settings_of(project: Project) -> Any:
    return json.loads((project.path / ".hookline" / "settings.json").read_text())


def in_shell(command: str) -> subprocess.CompletedProcess[str]:
    """A command as somebody would paste it."""
    words = f'hookline() {{ {shlex.join(HOOKLINE)} "$@"; }}\n{command}'
    return subprocess.run(["bash", "-c", words], capture_output=True, text=True, timeout=50)


@pytest.mark.parametrize("no_color", ["1", ""], ids=["plain", "colour"])
def test_the_screen_at_80_columns(here: Project, no_color: str) -> None:
    done = on_terminal("init", NO_COLOR=no_color)
    assert done.status == 0
    assert ESCAPE.sub("", done.out) == SCREEN
    assert (ESCAPE.search(done.out) is None) == bool(no_color)
    assert os.access(here.path / ".hookline" / "hooks" / "guard.sh", os.X_OK)


def test_settings_name_the_script_by_the_project(here: Project, call: Call) -> None:
    call("init", "--name", "mine")
    hook = {
        "type": "command",
        "name": "mine",
        "command": "$HOOKLINE_PROJECT_DIR/.hookline/hooks/mine.sh",
        "timeout": 5000,
        "onFailure": "block",
    }
    definition = {"matcher": "run_shell_command|write_file|replace", "hooks": [hook]}
    assert settings_of(here) == {
        "$schema": "./settings.schema.json",
        "hooks": {"BeforeTool": [definition]},
    }
    assert next(iter(settings_of(here))) == "$schema"


def test_editors_find_the_schemas_from_the_files_that_name_them(here: Project, call: Call) -> None:
    made = call("init", "--json").document["schemas"]
    for file, schema in (
        (".hookline/settings.json", settings_schema()),
        (".hookline/tests/guard.hooktest.json", hooktest_schema()),
    ):
        path = here.path / file
        named = (path.parent / json.loads(path.read_text())["$schema"]).resolve()
        assert json.loads(named.read_text()) == schema
        assert str(named) in made


def test_schemas_and_the_name_of_one_that_are_there_stay(here: Project, call: Call) -> None:
    text = '{\n  // ours\n  "$schema": "https://example.com/other.json",\n  "hooks": {}\n}\n'
    settings = here.write(".hookline/settings.json", text)
    schema = here.write(".hookline/settings.schema.json", "{}")
    assert call("init").status == 0
    assert settings_of_jsonc(settings)["$schema"] == "https://example.com/other.json"
    assert "// ours" in settings.read_text()
    assert schema.read_text() == "{}"


def test_settings_that_are_there_get_the_name_of_their_schema(here: Project, call: Call) -> None:
    settings = here.write(".hookline/settings.json", '{\n  "hooks": {} // none\n}\n')
    call("init")
    assert settings_of_jsonc(settings)["$schema"] == "./settings.schema.json"
    assert "// none" in settings.read_text()
    assert call("check").status == 0


def test_settings_elsewhere_get_no_schema(here: Project, call: Call) -> None:
    settings = here.write("own/settings.json", "{}")
    assert call("init", "--settings", str(settings)).status == 0
    assert "$schema" not in json.loads(settings.read_text())
    assert not (here.path / "own" / "settings.schema.json").exists()


@pytest.mark.parametrize("script", [".hookline/hooks/guard.sh", ".hookline/guard.sh"])
def test_a_schema_needs_no_review(here: Project, call: Call, script: str) -> None:
    call("init")
    if script != ".hookline/hooks/guard.sh":
        here.script(script, "#!/bin/sh\n")
        hook = {"type": "command", "command": f"$HOOKLINE_PROJECT_DIR/{script}", "name": "guard"}
        here.settings({"hooks": {"BeforeTool": [{"hooks": [hook]}]}})
    assert ".schema.json" not in call("trust", "--yes").out
    here.write(".hookline/settings.schema.json", "{}")
    (here.path / ".hookline" / "hooktest.schema.json").unlink()
    assert call("trust", "--check").status == 0


@pytest.mark.usefixtures("here")
def test_what_it_prints_leads_from_nothing_to_a_tested_and_traced_hook() -> None:
    screen = on_terminal("init", NO_COLOR="1").out
    printed = screen.partition("What to do next\n")[2].replace(" \\\n  ", " \\\n")
    lines = [line[2:] for line in printed.splitlines() if not line.startswith("    ")]
    check, trust, *fire, test, trace = lines
    assert in_shell(check).returncode == 0
    held_back = in_shell("\n".join(fire))
    assert "not trusted" in held_back.stderr
    assert in_shell(f"{trust} --yes").returncode == 0
    fired = in_shell("\n".join(fire))
    assert fired.returncode == 2
    assert "blocked: this would delete everything" in fired.stderr
    tested = in_shell(test)
    assert (tested.returncode, tested.stdout.count("  pass ")) == (0, 4)
    assert "guard" in in_shell(trace).stdout


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(LANGUAGES))
@pytest.mark.parametrize("event", list(HookEventName))
@pytest.mark.usefixtures("here")
def test_the_first_hook_of_each_event_passes_its_tests(
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    event: HookEventName,
    language: str,
) -> None:
    if language == "python":
        _use_this_python(monkeypatch)
    assert call("init", language, "--event", event.value).status == 0
    done = call("test", "--trust")
    assert (done.status, done.err) == (0, "")
    assert "failed" not in done.out
    document = call("check", "--json").document
    assert (document["errors"], document["warnings"]) == (0, 0)


def _use_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts ask env for python3, which may be slow to start, or missing, on this machine."""
    bin_dir = Path.home() / "bin"
    bin_dir.mkdir()
    (bin_dir / "python3").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{bin_dir}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("columns", [None, 100, 80, 60])
@pytest.mark.parametrize("event", list(HookEventName))
def test_a_command_in_several_lines_is_the_same_command(
    event: HookEventName, columns: int | None
) -> None:
    words = make_first_hook(event, "sh", None).fire
    lines = list(break_command(shlex.join(words), width=columns))
    pasted = shlex.split("\n  ".join(lines).replace("\\\n", ""))
    assert [_without_blanks(word) for word in pasted] == [_without_blanks(word) for word in words]


def _without_blanks(word: str) -> Any:
    return json.loads(word) if word.startswith("{") else word


def test_a_second_hook_is_put_beside_the_first_and_comments_stay(here: Project, call: Call) -> None:
    text = '{\n  // ours\n  "hooks": {"BeforeTool": []}, // none yet\n}\n'
    settings = here.write(".hookline/settings.json", text)
    done = call("init", "python", "--name", "first")
    assert "added it to  .hookline/settings.json" in done.out
    call("init", "--event", "SessionStart")
    assert set(settings_of_jsonc(settings)["hooks"]) == {"BeforeTool", "SessionStart"}
    assert "// ours" in settings.read_text()
    assert "// none yet" in settings.read_text()
    assert not [*settings.parent.glob("*.bak")]


def settings_of_jsonc(file: Path) -> Any:
    from hookline.settings.jsonc import parse

    return parse(file.read_text()).value


@pytest.mark.parametrize(
    "taken", [".hookline/hooks/guard.sh", ".hookline/tests/guard.hooktest.json"]
)
def test_nothing_is_overwritten(here: Project, call: Call, taken: str) -> None:
    here.write(taken, "mine")
    done = call("init")
    assert done.status == 1
    assert done.err == (f"hookline: {taken} already exists; choose another name with --name\n")
    assert (files_of(here), (here.path / taken).read_text()) == ({taken}, "mine")


def test_a_name_that_the_settings_have_is_taken(here: Project, call: Call) -> None:
    hook = {"type": "command", "command": "x", "name": "guard"}
    here.settings({"hooks": {"BeforeAgent": [{"hooks": [hook]}]}})
    done = call("init")
    assert done.err == (
        "hookline: .hookline/settings.json already has a hook guard; "
        "choose another name with --name\n"
    )
    assert files_of(here) == {".hookline/settings.json"}


@pytest.mark.parametrize("link", [".hookline", ".hookline/hooks", ".hookline/settings.json"])
def test_a_link_out_of_the_project_is_not_followed(here: Project, call: Call, link: str) -> None:
    outside = here.path.parent / "outside"
    outside.mkdir()
    (here.path / link).parent.mkdir(exist_ok=True)
    (here.path / link).symlink_to(outside)
    done = call("init")
    assert done.status == 1
    assert "leads out of the project" in done.err
    assert list(outside.iterdir()) == []


def test_settings_that_cannot_be_added_to_leave_no_files_behind(here: Project, call: Call) -> None:
    here.settings('{"hooks": {"BeforeTool": {}}}')
    done = call("init")
    assert done.status == 1
    assert "hooks.BeforeTool must be a list, […]; fix it first" in done.err
    assert files_of(here) == {".hookline/settings.json"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--name", "../up"], "--name: '../up' cannot be a file's name"),
        (["--event", "BeforeTol"], "--event: 'BeforeTol' is not a hook event; did you mean"),
        (["--event", "x"], "'x' is not a hook event; the events are BeforeTool, AfterTool,"),
        (["perl"], "invalid choice: 'perl'"),
        (["--event", "SubagentStop"], "SubagentStop is Claude Code's; write its hooks into"),
        (["--name", "a" * 101], "cannot be a file's name; use letters, digits"),
    ],
)
def test_bad_usage_says_what_would_do(
    here: Project, call: Call, arguments: list[str], problem: str
) -> None:
    done = call("init", *arguments)
    assert done.status == 1
    assert problem in done.err
    assert files_of(here) == set()


def test_below_a_project_the_hook_is_the_project_s(here: Project, call: Call) -> None:
    here.settings({})
    below = here.path / "src"
    below.mkdir()
    document = call("init", "--json", "--cwd", str(below)).document
    assert document["project"] == str(here.path)
    assert document["script"] == str(here.path / ".hookline" / "hooks" / "guard.sh")
    assert document["settings"]["created"] is False
    assert document["next"][0] == f"hookline check --cwd {below}"


def test_named_settings_get_the_hook_and_need_no_trust(here: Project, call: Call) -> None:
    here.write("mine.json", "{}")
    document = call("init", "--json", "--settings", "mine.json").document
    assert json.loads((here.path / "mine.json").read_text())["hooks"].keys() == {"BeforeTool"}
    assert not any("trust" in command for command in document["next"])
    fired = in_shell(document["next"][1])
    assert fired.returncode == 2


def test_a_hook_goes_into_one_file_of_settings(here: Project, call: Call) -> None:
    given = [word for name in ("a.json", "b.json") for word in ("--settings", name)]
    for name in ("a.json", "b.json"):
        here.write(name, "{}")
    done = call("init", *given)
    assert done.err == "hookline: --settings: the hook goes into one file; name only one\n"
    assert files_of(here) == {"a.json", "b.json"}


def test_the_document_names_all_that_was_made(here: Project, call: Call) -> None:
    document = call("init", "python", "--event", "SessionStart", "--json").document
    ours = here.path / ".hookline"
    steps = document.pop("next")
    assert document == {
        "project": str(here.path),
        "hook": "welcome",
        "event": "SessionStart",
        "script": str(ours / "hooks" / "welcome.py"),
        "test": str(ours / "tests" / "welcome.hooktest.json"),
        "settings": {"file": str(ours / "settings.json"), "created": True},
        "schemas": [str(ours / "settings.schema.json"), str(ours / "hooktest.schema.json")],
    }
    assert [step.split()[1] for step in steps] == ["check", "trust", "hookline", "test", "trace"]
    (definition,) = settings_of(here)["hooks"]["SessionStart"]
    assert definition.keys() == {"hooks"}
    assert definition["hooks"][0]["warm"] is True


def test_two_at_once_both_have_their_hook(here: Project) -> None:
    commands = [[*HOOKLINE, "init", "--name", name] for name in ("a", "b", "c")]
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    assert [process.wait(50) for process in processes] == [0, 0, 0]
    definitions = settings_of(here)["hooks"]["BeforeTool"]
    assert sorted(each["hooks"][0]["name"] for each in definitions) == ["a", "b", "c"]


def test_init_loads_no_terminal_and_no_engine(here: Project) -> None:
    modules = loaded(here, "init")
    assert own(modules) == EVERY_VERB | {"init"}
    assert third_party(modules) <= {"msgspec", "platformdirs", "typing_extensions"}
    assert not modules & {"asyncio", "subprocess", "pathlib", "tempfile", "logging", "json"}
    assert "hookline.engine.engine" not in modules
    assert hookline("init", "--help").status == 0


@pytest.mark.parametrize("event", HookEventName)
def test_its_hooks_fail_closed_where_the_event_can_be_blocked(
    here: Project, call: Call, event: HookEventName
) -> None:
    call("init", "--event", event.value, "--name", "mine")
    (definition,) = settings_of(here)["hooks"][event.value]
    closed = "block" if EVENTS[event].blockable else None
    assert definition["hooks"][0].get("onFailure") == closed
    assert call("check").status == 0


@pytest.mark.parametrize("event", ["BeforeTool", "BeforeAgent", "BeforeModel", "AfterModel"])
def test_a_guard_without_its_grep_blocks(
    here: Project, monkeypatch: pytest.MonkeyPatch, event: str
) -> None:
    hookline("init", "--event", event, "--name", "mine", cwd=here.path)
    here.script("bin/grep", "#!/bin/sh\nexit 127\n")
    monkeypatch.setenv("PATH", f"{here.path}/bin:{os.environ['PATH']}")
    fields = {
        "BeforeTool": {"tool_name": "write_file", "tool_input": {}},
        "BeforeAgent": {"prompt": "hi"},
        "BeforeModel": {"llm_request": {"model": "m", "contents": "hi"}},
        "AfterModel": {
            "llm_request": {"model": "m", "contents": "hi"},
            "llm_response": {"candidates": []},
        },
    }
    done = hookline("fire", event, "--trust", "--input", json.dumps(fields[event]), cwd=here.path)
    assert done.status == 2, done.err
    assert "mine failed: " in done.err


def test_a_folder_inside_a_project_says_first_where_the_hook_goes(
    here: Project, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.path / ".hookline").mkdir()
    (here.path / "part").mkdir()
    monkeypatch.chdir(here.path / "part")
    lines = call("init").out.splitlines()
    assert lines[0].startswith(f"{here.path}/part is inside the project {here.path}, so the hook")
    assert f"goes into {here.path}/.hookline/settings.json; " in lines[0]
    assert (here.path / ".hookline" / "settings.json").exists()
