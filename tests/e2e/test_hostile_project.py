"""A folder somebody merely opened: whatever is in it, looking at it executes and writes nothing."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.cli import VERBS
from tests.cli.command import Done, on_terminal
from tests.harness.scratch import Project

pytestmark = pytest.mark.slow

# As the installed script is: without the working directory among the places of modules.
_INSTALLED = (sys.executable, "-P", "-m", "hookline")
_NAMES = (
    *("$(touch executed)", "`touch executed`", "; touch executed #", "-rf", "--fix", "%s%n"),
    *("\x1b]0;owned\x07\x1b[2J", "a\rb", "two\nlines", "\u202egnp.exe", "../../outside", ""),
)
_PROGRAMS = ("hookline", "git", "python3", "python", "sh", "bash", "env", "less", "id", "uname")
_MODULES = ("sitecustomize", "usercustomize", "msgspec", "regex", "platformdirs", "json")
# What must not execute, with what it is called with.
_LOOKING = (
    "list",
    "list --json",
    "check",
    "check --json",
    "check --diff",
    "trace",
    "trace --log evil.jsonl",
    "trace --log evil.jsonl evil-1",
    "trace --log evil.jsonl --stats",
    "migrate",
    "migrate --json",
    "completion bash",
    "completion zsh",
    "completion fish",
    "completion --names -- disable",
    "trust",
    "trust --json",
    "untrust",
    "disable nobody",
    "bench nobody",
    "test",
    "fire BeforeTool --tool write_file --tool-input {}",
    "--help",
    *(f"{verb} --help" for verb in VERBS),
)


def hostile_settings(*, event: str = "BeforeTool") -> dict[str, Any]:
    hooks = [
        {
            "type": "command",
            "name": name,
            "command": f"touch executed; {name}",
            "args": None if number % 2 else [name, "$(touch executed)"],
            "env": {"BASH_ENV": "./sh", "LD_PRELOAD": "./evil.so", "PATH": "."},
            "warm": True,
            "description": "\x1b[31m",
        }
        for number, name in enumerate(_NAMES)
    ]
    matchers = ("$(touch executed)", "(a+)+$", "\x1b[2J", "(", "*", "write_file")
    return {
        "hooks": {
            event: [{"matcher": matcher, "hooks": hooks} for matcher in matchers],
            "\x1b[2J": [{"hooks": hooks}],
            "disabled": ["\x1b[2J", 7, None],
        },
        "hookline": {"trace": True, "redaction": {"enabled": False}},
    }


@pytest.fixture
def evil(project: Project, tmp_path: Path) -> Project:
    touch = f"#!{sys.executable}\nopen({str(tmp_path / 'executed')!r}, 'w').close()\n"
    for program in _PROGRAMS:
        project.script(program, touch)
    for module in _MODULES:
        project.write(f"{module}.py", touch)
    project.settings(hostile_settings())
    project.settings("[" * 100_000, file=".hookline/settings.local.json")
    project.settings(hostile_settings(), file=".gemini/settings.json")
    project.settings(hostile_settings(event="PreToolUse"), file=".claude/settings.json")
    project.settings({"hooks": "x" * 3_000_000}, file=".llxprt/settings.json")
    project.write(".hookline/tests/evil.hooktest.json", json.dumps({"event": "\x1b[2J"}))
    record: dict[str, Any] = {
        "time": "2026-03-01T10:00:00.000Z",
        "event": "\x1b[2J",
        "id": "evil-1",
    }
    project.write("evil.jsonl", "\n".join(map(json.dumps, (record, [], _NAMES))))
    return project


def look(evil: Project, command: str) -> Done:
    done = subprocess.run(
        [*_INSTALLED, *shlex.split(command)],
        cwd=evil.path,
        env=os.environ | {"PATH": f".{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=50,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def everything(root: Path) -> dict[str, bytes]:
    """Every file below a directory with its content, and every link with where it points to."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.fsencode(os.readlink(path))
        elif path.is_file():
            found[str(path)] = path.read_bytes()
    return found


@pytest.mark.parametrize("command", _LOOKING)
def test_looking_executes_nothing_and_writes_nothing(
    evil: Project, tmp_path: Path, command: str
) -> None:
    before = everything(tmp_path)
    done = look(evil, command)
    assert everything(tmp_path) == before
    assert done.status in (0, 1)
    assert "internal error" not in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "command", [c for c in _LOOKING if "--json" not in c and "--help" not in c]
)
def test_nothing_in_it_steers_a_terminal(evil: Project, command: str) -> None:
    done = look(evil, command)
    steering = {c for c in done.out + done.err if c != "\n" and not c.isprintable()}
    # A script for a shell is ours to the last character, and is set with tabs.
    assert steering <= ({"\t"} if command.startswith("completion") else set())


def test_nor_does_it_where_colours_are_off(evil: Project) -> None:
    for command in ("list", "check", "trust", "migrate", "list --json", "trust --json"):
        words = command.split()
        shown = on_terminal(*words, cwd=evil.path, typed=b"n\n", NO_COLOR="1", PYTHONSAFEPATH="1")
        assert {c for c in shown.out if c != "\n" and not c.isprintable()} == set()


@pytest.mark.parametrize("link", [".hookline", ".hookline/hooks", ".hookline/settings.json"])
def test_links_lead_no_command_out_of_the_project(
    project: Project, tmp_path: Path, link: str
) -> None:
    outside = tmp_path / "outside"
    (outside / "tests").mkdir(parents=True)
    (outside / "settings.json").write_text(json.dumps(hostile_settings()))
    target = outside / "settings.json" if link.endswith("json") else outside
    (project.path / link).parent.mkdir(exist_ok=True)
    (project.path / link).symlink_to(target)
    project.settings(hostile_settings(event="PreToolUse"), file=".claude/settings.json")
    before = everything(outside)
    for command in ("init", "check --fix", "migrate --write", "disable --project -- --fix"):
        look(project, command)
        assert everything(outside) == before, command
    assert not list(tmp_path.rglob("executed"))


@pytest.mark.parametrize("link", ["settings.json", "settings.local.json"])
def test_settings_that_are_a_ring_of_links_are_one_sentence(project: Project, link: str) -> None:
    (project.path / ".hookline").mkdir()
    (project.path / ".hookline" / link).symlink_to(link)
    for command in ("list", "check", "trust", "migrate", "init"):
        done = look(project, command)
        assert "Traceback" not in done.err
        assert "internal error" not in done.err
