"""``hookline trust`` and ``untrust``: what people are shown before a project's hooks may run."""

import os
import pty
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
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", "{}")


@pytest.fixture
def guarded(project: Project) -> Project:
    project.script("hooks/guard.sh", "#!/bin/sh\necho no >&2\nexit 2\n")
    hook = command_hook("hooks/guard.sh --strict", name="guard", env={"MODE": "hard"})
    project.settings(settings("BeforeTool", hook, matcher="write_file"))
    return project


def shown(text: str, project: Project) -> str:
    return ESCAPE.sub("", text).replace(str(project.path), "PROJECT")


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
