"""A command that is plain words needs no shell, and nobody can tell the difference."""

import os
from pathlib import Path

import pytest

from hookline.runner import invocation
from hookline.runner.invocation import Environment, choose_program
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionResult
from tests.harness.scratch import Project
from tests.runner.planned import run_one, script

SHOW = """#!/usr/bin/env python3
import os, signal, sys
ignored = [n for n in range(1, 32) if signal.getsignal(n) == signal.SIG_IGN]
print(sys.argv, os.getcwd(), ignored, signal.pthread_sigmask(0, ()), os.umask(0))
print(sorted(os.environ.items()))
print(os.getpgid(0) == os.getsid(0) == os.getpid(), sorted(os.listdir("/dev/fd"))[:3])
"""


@pytest.fixture
def tools(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Programs in the directory that hooks run in."""
    monkeypatch.chdir(project.path)
    project.script("show.py", SHOW)
    project.script("bin/tool", '#!/bin/sh\necho tool "$0" "$@" $PWD; exit 5\n')
    project.script("bin/no-line", "echo no line of an interpreter; exit 6\n")
    project.script("bin/lost", "#!/no/such/interpreter\n")
    project.write("bin/plain", "no program\n")
    (project.path / "bin/folder").mkdir()
    project.write("later/plain", "#!/bin/sh\necho the later one\n").chmod(0o755)
    project.script("dies", "#!/bin/sh\nkill -9 $$\n")
    return project


def command_hook(command: str) -> CommandHook:
    return CommandHook(name="h", command=command)


async def both_ways(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[HookExecutionResult, HookExecutionResult]:
    """What becomes of a command without a shell where it needs none, and with one."""
    without = await run_one(script(command))
    with monkeypatch.context() as patch:
        patch.setattr(invocation, "argv_of", lambda *_: None)
        return without, await run_one(script(command))


COMMANDS = [
    *("./show.py", "./show.py a 'b  c' \"$HOOKLINE_CWD\" $HOOKLINE_EVENT", "bin/../show.py"),
    *("$HOOKLINE_PROJECT_DIR/show.py", "tool x", "bin/tool y", "dies", "./dies"),
    *("no-such-program", "./no-such-file", "bin/none/file", "show.py/x", "folder", "bin/folder"),
    *("plain", "bin/plain", "no-line", "bin/no-line", "lost", "bin/lost", "/", ".."),
]


@pytest.mark.parametrize("command", COMMANDS)
async def test_a_hook_cannot_tell_whether_there_was_a_shell(
    tools: Project, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PATH", f"bin:{tools.path}/later:{os.environ['PATH']}")
    without, shell = await both_ways(command, monkeypatch)
    assert without.stdout == shell.stdout
    assert without.stderr == shell.stderr
    assert (without.exit_code, without.signal) == (shell.exit_code, shell.signal)
    assert (without.failed, without.error) == (shell.failed, shell.error)


@pytest.mark.parametrize(
    "variables",
    [
        {"PWD": "/", "OLDPWD": "/", "SHLVL": "4"},
        {"PWD": "relative", "OLDPWD": "/no/such/directory", "SHLVL": "x"},
        {"SHLVL": "", "IFS": ":"},
        {"RANDOM": "5"},
        {"BASH_ENV": "/no/such/file", "A-B": "odd"},
    ],
    ids=str,
)
@pytest.mark.usefixtures("tools")
async def test_its_variables_are_those_a_shell_would_hand_on(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name in ("PWD", "OLDPWD", "SHLVL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    without, shell = await both_ways("./show.py", monkeypatch)
    assert "HOOKLINE_EVENT" in without.stdout
    masked = [line for line in without.stdout.splitlines() if "RANDOM" not in line]
    assert masked == [line for line in shell.stdout.splitlines() if "RANDOM" not in line]


async def test_a_working_directory_behind_a_link_is_called_as_a_shell_calls_it(
    tools: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tools.path / "link").symlink_to(tools.path)
    for given in (str(tools.path / "link"), str(tools.path)):
        monkeypatch.setenv("PWD", given)
        without, shell = await both_ways("./show.py", monkeypatch)
        assert without.stdout == shell.stdout
        assert "HOOKLINE_EVENT" in without.stdout


def test_a_program_is_executed_directly_where_that_can_be(tools: Project) -> None:
    env = Environment({"PATH": f"/no:{tools.path}/bin"})
    program = choose_program(command_hook("tool 'a b'"), {}, cwd="/", project_dir="/", env=env)
    assert program is not None
    assert (program.file, program.argv) == (f"{tools.path}/bin/tool", ["tool", "a b"])


@pytest.mark.parametrize("env", [{}, {"PATH": ""}, {"PATH": "/bin", "SHELLOPTS": "xtrace"}])
def test_without_a_path_or_with_a_variable_of_the_shells_own_it_is_for_the_shell(
    env: dict[str, str],
) -> None:
    given = Environment(env)
    assert choose_program(command_hook("ls"), {}, cwd="/", project_dir="/", env=given) is None


async def test_a_hook_whose_directory_is_gone_says_so(tmp_path: Path) -> None:
    result = await run_one(script("ls"), cwd=str(tmp_path / "gone"))
    assert result.failed == "spawn"
    assert result.error is not None
    assert "gone' does not exist" in result.error
