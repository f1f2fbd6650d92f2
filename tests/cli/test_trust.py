"""``hookline trust`` and ``untrust``: what people are shown before a project's hooks may run."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hookline.cli.failures import CommandError
from hookline.cli.screen import Screen
from hookline.cli.trust import (
    _agrees,
    _describe_hook,
    _describe_project,
    _list_unreviewed,
    _show_diff,
)
from hookline.trust.review import Review, ReviewedHook
from tests.cli.command import (
    ESCAPE,
    HOOKLINE,
    command_hook,
    hookline,
    on_terminal,
    read_rest,
    settings,
)
from tests.cli.conftest import Call
from tests.cli.test_screen import Terminal
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")


@pytest.fixture
def guarded(project: Project) -> Project:
    project.script("hooks/guard.sh", "#!/bin/sh\necho no >&2\nexit 2\n")
    hook = command_hook("hooks/guard.sh --strict", name="guard", env={"MODE": "hard"})
    project.settings(settings("BeforeTool", hook, matcher="write_file"))
    return project


def shown(text: str, project: Project) -> str:
    text = re.sub(r"\d{4}-[\d-]+T[\d:.]+Z", "TIME", ESCAPE.sub("", text))
    return re.sub(r"in ~/\S+", "in FILE", text).replace(str(project.path), "PROJECT")


FIRST = """\
PROJECT  1 hook, which name 1 file of the project

BeforeTool  write_file
    hooks/guard.sh --strict
    MODE=hard

hooks/guard.sh
    #!/bin/sh
    echo no >&2
    exit 2

"""


def test_a_first_look_shows_commands_and_scripts_whole(guarded: Project) -> None:
    done = hookline("trust", cwd=guarded.path)
    assert (done.status, shown(done.out, guarded)) == (1, FIRST)
    assert done.err == (
        "hookline: nobody can be asked without a terminal; review this and pass --yes to trust it\n"
    )


def test_with_yes_it_is_recorded_and_the_hooks_run(guarded: Project) -> None:
    done = hookline("trust", "--yes", cwd=guarded.path)
    assert done.status == 0
    assert "trusted until anything of this changes; recorded in " in done.out
    assert hookline(*WRITE, cwd=guarded.path).status == 2
    again = hookline("trust", cwd=guarded.path)
    assert (again.status, "nothing has changed since" in again.out) == (0, True)


CHANGED = """\
hooks/guard.sh
    @@ -1,3 +1,3 @@
     #!/bin/sh
    -echo no >&2
    +echo never >&2
     exit 2

"""


def test_a_second_look_shows_what_has_changed(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    guarded.script("hooks/guard.sh", "#!/bin/sh\necho never >&2\nexit 2\n")
    fired = hookline(*WRITE, cwd=guarded.path)
    assert (fired.status, fired.err) == (
        0,
        "warning: 1 project hook is not trusted and did not run; review it with `hookline trust`\n",
    )
    done = hookline("trust", "--yes", cwd=guarded.path)
    assert CHANGED in done.out
    assert hookline(*WRITE, cwd=guarded.path).status == 2


@pytest.mark.parametrize(("answer", "status"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1), (b"\x04", 1)])
def test_on_a_terminal_it_asks(guarded: Project, answer: bytes, status: int) -> None:
    done = on_terminal("trust", cwd=guarded.path, typed=answer)
    assert done.status == status
    assert "Let these hooks run as they are shown here? [y/N]" in done.out
    assert hookline(*WRITE, cwd=guarded.path).status == (0 if status else 2)


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}], ids=["colour", "plain"])
def test_the_screen_fits_and_nothing_in_a_script_steers_the_terminal(
    guarded: Project, colour: dict[str, Any]
) -> None:
    guarded.script("hooks/guard.sh", f"#!/bin/sh\n# {'long ' * 40}\n# \x1b[2J\x1b]0;x\x07\n")
    done = on_terminal("trust", cwd=guarded.path, typed=b"n\n", **colour)
    assert "\x1b[2J" not in done.out
    assert "\\x1b[2J" in done.out
    assert all(len(line) <= 80 for line in shown(done.out, guarded).splitlines()[3:-2])
    assert bool(ESCAPE.search(done.out)) is not bool(colour)


def test_untrust_takes_it_back(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    done = hookline("untrust", cwd=guarded.path)
    assert shown(done.out, guarded) == (
        "the hooks of PROJECT do not run any more\n`hookline trust` lets them run again\n"
    )
    assert hookline(*WRITE, cwd=guarded.path).status == 0
    assert "were not trusted" in hookline("untrust", cwd=guarded.path).out


def test_as_a_document(guarded: Project) -> None:
    before = hookline("trust", "--json", cwd=guarded.path)
    assert (before.status, before.document["trusted"]) == (1, False)
    assert before.document["hooks"] == [
        {
            "event": "BeforeTool",
            "name": "guard",
            "command": "hooks/guard.sh --strict",
            "matcher": "write_file",
            "env": {"MODE": "hard"},
            "files": ["hooks/guard.sh"],
            "uncovered": [],
            "remarks": [],
        }
    ]
    assert before.document["changed_files"] == ["hooks/guard.sh"]
    after = hookline("trust", "--json", "--yes", cwd=guarded.path)
    assert (after.status, after.document["trusted"]) == (0, True)
    assert hookline("untrust", "--json", cwd=guarded.path).document["was_trusted"] is True


def test_a_home_that_cannot_be_written_is_an_error_with_a_remedy(
    guarded: Project, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = hookline("trust", "--yes", cwd=guarded.path, XDG_STATE_HOME=str(tmp_path / "file"))
    assert done.status == 1
    assert "cannot be written (Not a directory); nothing was changed" in done.err


def test_a_project_without_hooks_has_nothing_to_trust(project: Project) -> None:
    done = hookline("trust", cwd=project.path)
    assert (done.status, done.out.splitlines()[1]) == (0, "`hookline init` makes a first one")


def test_files_of_ones_own_need_no_trust(guarded: Project) -> None:
    file = guarded.path / ".hookline/settings.json"
    done = hookline("trust", "--settings", str(file), cwd=guarded.path)
    assert (done.status, done.err) == (
        1,
        "hookline: files given with --settings are your own and need no trust\n",
    )


def test_a_line_that_has_to_be_wrapped_is_not_taken_for_two(guarded: Project) -> None:
    guarded.script("hooks/guard.sh", f"#!/bin/sh\n# {'so ' * 23}on; rm -rf /\n")
    done = on_terminal("trust", cwd=guarded.path, typed=b"n\n", NO_COLOR="1")
    assert f"    # {'so ' * 23}on;\n  ↪ rm -rf /\n" in done.out


def test_the_question_ends_its_line_when_somebody_gives_up(guarded: Project) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*HOOKLINE, "trust"], cwd=guarded.path, stdin=slave, stdout=slave, stderr=slave
    )
    shown = b""
    while b"[y/N] " not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    shown += read_rest(master, slave)
    os.close(slave)
    os.close(master)
    assert shown.endswith(b"[y/N] \r\n")


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A strict project with two hooks."""
    monkeypatch.chdir(project.path)
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 2\n")
    project.script("hooks/old.sh", "#!/bin/sh\n")
    old = command_hook("hooks/old.sh", args=["a b"], name="old")
    hooks = settings("BeforeTool", command_hook("hooks/guard.sh", name="guard"), old)
    project.settings({"strict": True, **hooks})
    return project


def change(project: Project) -> None:
    """Another script, another hook, and another demand."""
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 1\n")
    project.script("hooks/new.sh", "#!/bin/sh\n")
    new = command_hook("hooks/new.sh", name="new")
    hooks = settings("BeforeTool", command_hook("hooks/guard.sh", name="guard"), new)["hooks"]
    project.settings({"hooks": {"required": ["guard"], **hooks}})
    (project.path / "hooks/old.sh").unlink()
    project.write(".hookline/tests/guard.hooktest.json", "{}")


TO_REVIEW = """\
PROJECT: 4 things to review
    BeforeTool guard: hooks/guard.sh has changed since it was reviewed
    BeforeTool new: nobody has reviewed it
    BeforeTool old: it is no longer there
    strict or required: the project's settings have changed
`hookline trust` shows them, and asks
"""
SECOND = """\
PROJECT  2 hooks, which name 2 files of the project

  changed since it was trusted on TIME:
    BeforeTool guard: hooks/guard.sh has changed since it was reviewed
    BeforeTool new: nobody has reviewed it
    BeforeTool old: it is no longer there
    strict or required: the project's settings have changed

    @@ -2,4 +2,4 @@
     hooks/guard.sh
     BeforeTool
    -hooks/old.sh 'a b'
    -the project is strict
    +hooks/new.sh
    +the project requires guard

hooks/guard.sh
    @@ -1,2 +1,2 @@
     #!/bin/sh
    -exit 2
    +exit 1

hooks/old.sh  gone
    @@ -1 +0,0 @@
    -#!/bin/sh

hooks/new.sh  new
    @@ -0,0 +1 @@
    +#!/bin/sh

trusted until anything of this changes; recorded in FILE
`hookline untrust --cwd .` takes it back
`hookline test --cwd .` runs their tests
"""


def test_what_is_to_review_is_named_and_then_shown_as_changes(here: Project, call: Call) -> None:
    first = shown(call("trust", "--yes").out, here)
    assert "    hooks/old.sh 'a b'\n    the project is strict\n\nhooks/guard.sh\n" in first
    assert first.endswith("recorded in FILE\n`hookline untrust` takes it back\n")
    change(here)
    done = call("trust", "--check")
    assert (done.status, shown(done.out, here)) == (1, TO_REVIEW)
    done = call("trust", "--yes", "--cwd", ".")
    assert (done.status, shown(done.out, here), done.err) == (0, SECOND, "")
    again = "PROJECT: 2 hooks\ntrusted on TIME; nothing has changed since\n"
    assert shown(call("trust").out, here) == again


def test_the_document_has_all_that_is_to_review(here: Project, call: Call) -> None:
    first = call("trust", "--json").document
    assert (first["trusted_at"], first["strict"], first["required"]) == (None, True, [])
    assert first["hooks"][1]["args"] == ["a b"]
    call("trust", "--yes")
    change(here)
    done = call("trust", "--json")
    document = done.document
    assert (done.status, document["project"]) == (1, str(here.path))
    assert (document["trusted"], len(document["to_review"])) == (False, 4)
    assert document["trusted_at"].startswith("20")
    assert (document["strict"], document["required"]) == (False, ["guard"])
    assert document["files"].keys() == {"hooks/guard.sh", "hooks/new.sh"}
    assert document["changed_files"] == ["hooks/guard.sh", "hooks/new.sh"]
    assert call("trust", "--json", "--yes", "--check").document["trusted"] is False


def test_the_document_of_a_review_has_its_own_time(here: Project, call: Call) -> None:
    first = call("trust", "--yes", "--json").document
    assert (first["trusted"], first["trusted_at"][:2]) == (True, "20")
    change(here)
    again = call("trust", "--yes", "--json").document
    assert again["trusted_at"] > first["trusted_at"]


UNCOVERED = """\
not covered: nobody can say beforehand what these run
  BeforeTool  all
    make all: what it runs is in other files
    to have it covered, name the script itself

"""


def test_what_nobody_can_review_is_shown_with_what_to_do(here: Project, call: Call) -> None:
    here.settings(settings("BeforeTool", command_hook("make all", name="all")))
    done = call("trust", "--yes")
    assert done.status == 1
    assert f"\n    make all\n\n{UNCOVERED}trusted until" in done.out
    assert done.err == (
        "warning: all does not run: what it runs is not covered; "
        "look at it and pass --accept-uncovered with --yes\n"
    )
    done = call("trust", "--yes", "--json")
    assert (done.status, done.document["hooks"][0]["uncovered"]) == (1, ["make all"])
    assert done.err == (
        "warning: what is not covered was not trusted; look at it, pass --accept-uncovered\n"
    )
    assert call("trust", "--yes", "--json", "--accept-uncovered")[0::2] == (0, "")
    assert call("trust").out.endswith(f"nothing has changed since\n{UNCOVERED}")


@pytest.mark.parametrize(
    ("entry", "lines"),
    [
        ({"command": "./a", "args": ["b c"], "type": "command"}, ["./a 'b c'"]),
        ({"prompt": "Is it\nsafe?"}, ["asks a model:", "Is it", "safe?"]),
        (
            {"url": "https://x", "headers": {"K": "$V"}, "allowed_env": ["V", "W"]},
            ["sends the event to https://x", "K: $V", "its headers may name V, W"],
        ),
        ({"url": "https://x"}, ["sends the event to https://x"]),
        (
            {"command": "a", "env": {"B": "1"}, "timeout": 5, "condition": "Bash(x)"},
            ["a", "B=1", "timeout: 5", "if: Bash(x)"],
        ),
        (
            {"command": "a", "background": True, "plugin_root": "/p", "continue_on_block": True},
            ["a", "async: True", "plugin: /p", "continueOnBlock: True"],
        ),
    ],
)
def test_all_that_a_hook_would_do_is_described(entry: dict[str, Any], lines: list[str]) -> None:
    named = {"event": "BeforeTool", "matcher": "x", "name": "h"}
    assert _describe_hook(ReviewedHook(entry=named | entry)) == lines
    disabled = _describe_hook(ReviewedHook(entry=named | entry, enabled=False))
    assert disabled == [*lines, "disabled: by the project"]


def test_what_a_project_asks_for_and_says_of_tools_is_described() -> None:
    put: dict[str, Any] = {"name": "Write", "fields": {"path": "file_path"}}
    tools = {"sh": {"name": "Bash"}, "put": put}
    review = Review(project="/p", hooks=(), files={}, required=("a", "b"), tools=tools)
    say = "the project says that the tool"
    assert _describe_project(review) == [
        "the project requires a, b",
        f"{say} sh is Bash in Claude Code",
        f"{say} put is Write in Claude Code, fields {{'path': 'file_path'}}",
    ]
    strict = Review(project="/p", hooks=(), files={}, strict=True)
    assert _describe_project(strict) == ["the project is strict"]


@pytest.mark.parametrize(
    ("asked", "unreviewed"),
    [
        ({}, []),
        ({"strict": True}, ["strict or required: nobody has reviewed what the project asks for"]),
        (
            {"required": ("a",)},
            ["strict or required: nobody has reviewed what the project asks for"],
        ),
        (
            {"tools": {"sh": {"name": "Bash"}}},
            ["hooks.tools: nobody has reviewed what the project says of the host's tools"],
        ),
        ({"tests": ("t.json",)}, ["t.json: nobody has reviewed this test"]),
    ],
)
def test_whatever_nobody_has_reviewed_is_listed(
    asked: dict[str, Any], unreviewed: list[str]
) -> None:
    assert [*_list_unreviewed(Review(project="/p", hooks=(), files={}, **asked))] == unreviewed


def test_lines_that_went_and_came_have_their_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    _show_diff(Screen(terminal, None), ["a"], ["b"])
    assert "\x1b[1;31m-a\x1b[0m\n" in terminal.getvalue()
    assert "\x1b[32m+b\x1b[0m\n\n" in terminal.getvalue()


def test_a_test_that_brings_code_is_reviewed_and_no_other(here: Project, call: Call) -> None:
    test = {"event": "BeforeTool", "tool": "x", "tool_input": {}, "expect": {}}
    here.settings(test, file="a.hooktest.json")
    here.settings(test | {"env": {"PATH": "bin"}}, file="b.hooktest.json")
    document = call("trust", "--json").document
    assert document["tests"] == ["b.hooktest.json"]
    assert "b.hooktest.json: nobody has reviewed this test" in document["to_review"]


@pytest.mark.parametrize("stdin", [None, io.StringIO("y\n")])
def test_nobody_is_asked_where_nobody_can_type(
    stdin: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(CommandError, match="nobody can be asked without a terminal"):
        _agrees(Screen(Terminal(), None), "Let them run?")
