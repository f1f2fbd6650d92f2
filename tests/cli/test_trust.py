"""``hookline trust`` and ``untrust``: what people are shown before a project's hooks may run."""

import os
import pty
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

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
    text = re.sub(r"run by: \S+", "run by: SHELL", text)
    return re.sub(r"in ~/\S+", "in FOLDER", text).replace(str(project.path), "PROJECT")


FIRST = """\
PROJECT  1 hook, 1 file

BeforeTool  write_file
    hooks/guard.sh --strict
    MODE=hard
    name: guard
    run by: SHELL
    arguments, not covered: --strict

hooks/guard.sh  can be executed
    #!/bin/sh
    echo no >&2
    exit 2

to trust: 1 hook of PROJECT
What a script composes when it runs, no review sees.
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
    assert "trusted until anything of this changes; kept in " in done.out
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
    assert all(len(line) <= 80 for line in shown(done.out, guarded).splitlines())
    assert bool(ESCAPE.search(done.out)) is not bool(colour)


def test_the_last_lines_before_the_question_sum_up_what_a_yes_means(guarded: Project) -> None:
    piped = command_hook("hooks/guard.sh | cat", name="piped")
    guard = command_hook("hooks/guard.sh", name="guard", onFailure="block")
    old = command_hook("hooks/guard.sh -q", name="old", onFailure="block")
    guarded.settings(settings("BeforeTool", guard, old))
    hookline("trust", "--yes", cwd=guarded.path)
    guarded.settings(settings("BeforeTool", guard, piped))
    guarded.script("hooks/guard.sh", "#!/bin/sh\n" + "# a long script\n" * 50)
    done = on_terminal("trust", cwd=guarded.path, typed=b"n\n", NO_COLOR="1")
    assert re.sub(r"\s+", " ", shown(done.out, guarded)).endswith(
        " to trust: 1 guard, 1 other hook of PROJECT"
        " removed: old, which guards no more"
        " open: piped"
        " What a script composes when it runs, no review sees."
        " Let these hooks run as they are shown here? [y/N]"
        " not trusted: these hooks do not run "
    )


def test_untrust_takes_it_back(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    done = hookline("untrust", cwd=guarded.path)
    assert shown(done.out, guarded) == (
        "the hooks of PROJECT do not run any more\n`hookline trust` lets them run again\n"
    )
    assert hookline(*WRITE, cwd=guarded.path).status == 0
    assert "were not trusted" in hookline("untrust", cwd=guarded.path).out


def test_untrust_stale_forgets_the_projects_that_are_gone_and_no_others(
    guarded: Project, tmp_path: Path
) -> None:
    shutil.copytree(guarded.path, tmp_path / "gone")
    for place in (guarded.path, tmp_path / "gone"):
        assert hookline("trust", "--yes", cwd=place).status == 0
    shutil.rmtree(tmp_path / "gone")
    done = hookline("untrust", "--stale")
    gone = f"{tmp_path}/gone is gone; its review is forgotten\n1 review forgotten\n"
    assert (done.status, done.out) == (0, gone)
    assert hookline("untrust", "--stale", "--json").document == {"forgotten": []}
    assert hookline(*WRITE, cwd=guarded.path).status == 2


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
            "guard": False,
            "open": "",
            "remedy": "",
            "hints": [],
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
    assert hookline("trust", "--check", cwd=project.path).status == 0


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
    while b"[y/N]" not in shown:
        shown += os.read(master, 4096)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    shown += read_rest(master, slave)
    os.close(slave)
    os.close(master)
    assert shown.endswith(b"[y/N]\r\n\r\n")


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A strict project with a guard and another hook."""
    monkeypatch.chdir(project.path)
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 2\n")
    project.script("hooks/old.sh", "#!/bin/sh\n")
    old = command_hook("hooks/old.sh", args=["a b"], name="old")
    guard = command_hook("hooks/guard.sh", name="guard")
    project.settings({"strict": True, **settings("BeforeTool", guard, old)})
    return project


def change(project: Project) -> None:
    """Another script, another hook, and another demand."""
    project.script("hooks/guard.sh", "#!/bin/sh\nexit 1\n")
    project.script("hooks/new.sh", "#!/bin/sh\n")
    new = command_hook("hooks/new.sh", name="new")
    hooks = settings("BeforeTool", command_hook("hooks/guard.sh", name="guard", timeout=7), new)
    project.settings({"hooks": {"required": ["new"], **hooks["hooks"]}})
    (project.path / "hooks/old.sh").unlink()


TO_REVIEW = """\
PROJECT: 4 things to review
    BeforeTool guard: its entry in the settings has changed since it was reviewed
    BeforeTool new: nobody has reviewed it
    BeforeTool old: it is no longer in the settings
    strict or required: the project's settings have changed
`hookline trust` shows them, and asks
"""
SECOND = """\
PROJECT  2 hooks, 2 files

  changed since it was trusted on TIME:
    BeforeTool guard: its entry in the settings has changed since it was reviewed
    BeforeTool new: nobody has reviewed it
    BeforeTool old: it is no longer in the settings
    strict or required: the project's settings have changed

BeforeTool guard  changed
    @@ -2,3 +2,4 @@
     hooks/guard.sh
     name: guard
    +timeout: 7
     run by: SHELL

BeforeTool new  new
    @@ -0,0 +1,5 @@
    +matcher: *
    +hooks/new.sh
    +name: new
    +run by: SHELL
    +runs from the copy that this review makes

BeforeTool old  removed
    @@ -1,5 +0,0 @@
    -matcher: *
    -hooks/old.sh 'a b'
    -name: old
    -run by: SHELL
    -arguments, not covered: a b

    @@ -1 +1 @@
    -the project is strict
    +the project requires new

hooks/guard.sh
    @@ -1,2 +1,2 @@
     #!/bin/sh
    -exit 2
    +exit 1

hooks/new.sh  new
    @@ -0,0 +1 @@
    +#!/bin/sh

hooks/old.sh  leaves
    @@ -1 +0,0 @@
    -#!/bin/sh

to trust: 1 guard, 1 other hook of PROJECT
What a script composes when it runs, no review sees.
trusted until anything of this changes; kept in FOLDER
`hookline untrust --cwd .` takes it back
the guards have no tests; `hookline test --record` writes one
"""


def test_what_is_to_review_is_named_and_then_shown_as_changes(here: Project, call: Call) -> None:
    first = shown(call("trust", "--yes").out, here)
    assert "    arguments, not covered: a b\n    the project is strict\n\nhooks/guard.sh" in first
    assert first.endswith("kept in FOLDER\n`hookline untrust` takes it back\n")
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
    assert (document["strict"], document["required"]) == (False, ["new"])
    assert [hook["guard"] for hook in document["hooks"]] == [False, True]
    assert document["files"].keys() == {"hooks/guard.sh", "hooks/new.sh"}
    assert document["changed_files"] == ["hooks/guard.sh", "hooks/new.sh"]
    assert call("trust", "--json", "--yes", "--check").document["trusted"] is False


def test_the_document_of_a_review_has_its_own_time(here: Project, call: Call) -> None:
    first = call("trust", "--yes", "--json").document
    assert (first["trusted"], first["trusted_at"][:2]) == (True, "20")
    change(here)
    again = call("trust", "--yes", "--json").document
    assert again["trusted_at"] > first["trusted_at"]


@pytest.mark.parametrize(
    ("hook", "lines"),
    [
        (command_hook("./a", args=["b c"]), ["./a 'b c'"]),
        ({"type": "prompt", "prompt": "Is it\nsafe?"}, ["asks a model:", "Is it", "safe?"]),
        (
            {
                "type": "http",
                "url": "https://x",
                "headers": {"K": "$V"},
                "allowedEnvVars": ["V", "W"],
            },
            ["sends the event to https://x", "K: $V", "its headers may name V, W"],
        ),
        (
            command_hook("a", timeout=5, **{"if": "Bash(x)", "async": True}),
            ["a", "timeout: 5000", "if: Bash(x)", "async: True"],
        ),
    ],
    ids=["arguments", "prompt", "http", "fields"],
)
def test_all_that_a_hook_would_do_is_described(
    here: Project, call: Call, hook: dict[str, Any], lines: list[str]
) -> None:
    data = settings("PreToolUse", {"name": "h", **hook})
    here.settings({})
    here.settings(data, file=".claude/settings.json")
    out = call("trust", "--claude").out
    assert [line for line in lines if f"\n    {line}\n" not in out] == []
    here.settings({**data, "disableAllHooks": True}, file=".claude/settings.json")
    assert "\n    disabled: by the project\n" in call("trust", "--claude").out


def test_what_a_project_asks_for_and_says_of_tools_is_described(here: Project, call: Call) -> None:
    put: dict[str, Any] = {"name": "Write", "fields": {"path": "file_path"}}
    here.settings({"hooks": {"required": ["a", "b"], "tools": {"sh": "Bash", "put": put}}})
    say = "    the project says that the tool"
    out = call("trust").out
    assert (
        "    the project requires a, b\n"
        f"{say} sh is Bash in Claude Code\n"
        f"{say} put is Write in Claude Code, fields {{'path': ['file_path']}}\n"
    ) in out


@pytest.mark.parametrize(
    ("asked", "unreviewed"),
    [
        ({"strict": True}, "strict or required: nobody has reviewed what the project asks for"),
        (
            {"hooks": {"required": ["a"]}},
            "strict or required: nobody has reviewed what the project asks for",
        ),
        (
            {"hooks": {"tools": {"sh": "Bash"}}},
            "hooks.tools: nobody has reviewed what the project says of the host's tools",
        ),
    ],
)
def test_whatever_a_project_asks_for_is_listed(
    here: Project, call: Call, asked: dict[str, Any], unreviewed: str
) -> None:
    here.settings(asked)
    assert call("trust", "--json").document["to_review"] == [unreviewed]


def test_lines_that_went_and_came_have_their_colours(guarded: Project) -> None:
    hookline("trust", "--yes", cwd=guarded.path)
    guarded.script("hooks/guard.sh", "#!/bin/sh\necho never >&2\nexit 2\n")
    done = on_terminal("trust", cwd=guarded.path, typed=b"n\n")
    assert "\x1b[1;31m-echo no >&2\x1b[0m\n" in done.out
    assert "\x1b[32m+echo never >&2\x1b[0m\n" in done.out


def test_a_test_that_brings_code_is_reviewed_and_no_other(here: Project, call: Call) -> None:
    test = {"event": "BeforeTool", "tool": "x", "tool_input": {}, "expect": {}}
    here.settings(test, file="a.hooktest.json")
    here.settings(test | {"env": {"PATH": "bin"}}, file="b.hooktest.json")
    document = call("trust", "--json").document
    assert document["tests"] == ["b.hooktest.json"]
    assert "b.hooktest.json: nobody has reviewed this test" in document["to_review"]


def test_nobody_is_asked_where_nobody_can_type(guarded: Project) -> None:
    done = hookline("trust", cwd=guarded.path, stdin="y\n")
    assert (done.status, "nobody can be asked without a terminal" in done.err) == (1, True)
    assert hookline(*WRITE, cwd=guarded.path).status == 0


def test_files_that_scripts_name_outside_the_review_are_pointed_at(
    here: Project, call: Call
) -> None:
    here.write("data/rules.json", "{}")
    here.script("hooks/guard.sh", "#!/bin/sh\ngrep -q x data/rules.json\n")
    hint = "hooks/guard.sh, line 2, names data/rules.json: not covered; `covers` adds it"
    assert f"look at: {hint}\n" in call("trust").out
    assert call("trust", "--json").document["hooks"][0]["hints"] == [hint]
    guard = command_hook("hooks/guard.sh", name="guard", covers=["data/*.json"])
    here.settings(settings("BeforeTool", guard))
    document = call("trust", "--json").document
    assert (document["hooks"][0]["hints"], "data/rules.json" in document["files"]) == ([], True)
