"""From an empty folder to a tested, trusted and traced hook, by doing what each command says."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import HOOKLINE, Done, on_terminal

_QUOTED = re.compile(r"`(hookline [^`]*)`")


class NewUser:
    """Somebody who runs commands as they were printed, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        commands = folder.parent / "bin"
        commands.mkdir()
        script = commands / "hookline"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(HOOKLINE)} "$@"\n')
        script.chmod(0o755)
        self._path = f"{commands}{os.pathsep}{os.environ['PATH']}"

    def does(self, command: str) -> Done:
        """Put a command into a shell; a question about trust is read, and answered with yes."""
        if command == "hookline trust":
            return on_terminal("trust", cwd=self._folder, typed=b"y\n", NO_COLOR="1")
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self._folder,
            env=os.environ | {"PATH": self._path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=50,
        )
        return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def user(tmp_path: Path) -> NewUser:
    (tmp_path / "empty").mkdir()
    return NewUser(tmp_path / "empty")


def steps(printed: str) -> list[str]:
    """The commands below "What to do next", put together where they were broken."""
    lines = printed.partition("What to do next\n")[2].replace("\\\n", "").splitlines()
    return [line[2:] for line in lines if not line.startswith("    ")]


def quoted(printed: str) -> list[str]:
    return _QUOTED.findall(printed)


@pytest.mark.parametrize("language", ["sh", "python"])
def test_what_is_printed_leads_from_nothing_to_a_traced_hook(user: NewUser, language: str) -> None:
    assert "`hookline init`" in user.does("hookline list").out
    check, trust, fire, test, trace = steps(user.does(f"hookline init {language}").out)
    checked = user.does(check)
    assert checked.status == 0
    assert quoted(checked.out) == [trust]
    assert (trusted := user.does(trust)).status == 0, trusted.out
    assert test in quoted(trusted.out)
    fired = user.does(fire)
    assert (fired.status, fired.err.partition(":")[0]) == (2, "blocked")
    tested = user.does(test)
    assert tested.status == 0
    assert "4 passed" in tested.out
    [whole] = quoted(user.does(trace).out)
    assert fired.err.removeprefix("blocked: ").strip() in user.does(whole).out


@pytest.mark.parametrize("command", ["fire", "test", "list", "check", "bench"])
def test_whoever_forgets_to_trust_is_led_there(user: NewUser, command: str) -> None:
    printed = user.does("hookline init").out
    asked = {
        "fire": next(step for step in steps(printed) if " fire " in step),
        "bench": "hookline bench guard",
    }
    done = user.does(asked.get(command, f"hookline {command}"))
    assert quoted(done.out + done.err) == ["hookline trust"]


def test_a_changed_script_asks_for_trust_again(user: NewUser, tmp_path: Path) -> None:
    user.does("hookline init")
    user.does("hookline trust")
    assert quoted(user.does("hookline check").out) == []
    with (tmp_path / "empty/.hookline/hooks/guard.sh").open("a") as script:
        script.write("# more\n")
    assert quoted(user.does("hookline check").out) == ["hookline trust"]
    again = user.does("hookline trust")
    assert "+# more" in again.out
    assert again.status == 0


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_steps_can_be_copied_from_a_terminal_of_any_width(
    user: NewUser, tmp_path: Path, columns: int
) -> None:
    shown = on_terminal("init", cwd=tmp_path / "empty", columns=columns, NO_COLOR="1").out
    _, _, fire, *_ = steps(shown)
    assert shlex.split(fire)[:4] == ["HOOKLINE_TRACE=1", "hookline", "fire", "BeforeTool"]
    user.does("hookline trust")
    assert user.does(fire).status == 2


def test_settings_that_nobody_can_read_lead_to_check_and_not_to_another_init(
    user: NewUser, tmp_path: Path
) -> None:
    settings = tmp_path / "empty/.hookline/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"hooks": ')
    for command in ("list", "trust", "disable guard", "bench guard"):
        done = user.does(f"hookline {command}")
        assert quoted(done.out + done.err) == ["hookline check"], command
        assert "warning: .hookline/settings.json:1:11: is not valid JSON" in done.out + done.err
    assert user.does("hookline check").status == 1
