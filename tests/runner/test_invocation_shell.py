"""Commands as hooks are written, run by the real shell in directories with difficult names."""

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.runner.invocation import make_shell_argv
from hookline.runner.process import ProcessLimits, ProcessOutcome, run_process
from hookline.shell.arguments import fill_arguments
from hookline.shell.programs import argv_of, hook_variables
from hookline.wire.hooks import CommandHook
from tests.harness.scratch import Project

SHOW = """#!/bin/sh\nprintf '%s\\0' "$@"\n"""


def run(argv: list[str], *, cwd: Path, env: dict[str, str]) -> ProcessOutcome:
    limits = ProcessLimits(timeout=10)
    whole = os.environ | env
    return asyncio.run(run_process(argv, stdin=b"{}", cwd=str(cwd), env=whole, limits=limits))


def run_command(command: str, cwd: Path, **own: str) -> ProcessOutcome:
    """Run a hook's command as in a project at ``cwd``."""
    variables = hook_variables(
        project_dir=str(cwd), cwd=str(cwd), session_id="abc-123", event="BeforeTool"
    )
    env = variables | own
    return run(make_shell_argv(command, env, os.environ["PATH"]), cwd=cwd, env=env)


def exec_argv(command: str, args: list[str], values: dict[str, str]) -> list[str]:
    argv = argv_of(CommandHook(name="h", command=command, args=tuple(args)), values)
    assert argv is not None
    return argv


def arguments(outcome: ProcessOutcome) -> list[str]:
    assert outcome.exit_code == 0, outcome.stderr
    return outcome.stdout.decode().split("\0")[:-1]


@pytest.fixture(params=["my project", 'o\'neil $5 "q"', "it's fun!", "$(exit 3) `x` *", "ü\nß"])
def difficult(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    directory = tmp_path / str(request.param)
    directory.mkdir()
    (directory / "show").write_text(SHOW)
    (directory / "show").chmod(0o755)
    return directory


def test_exclamation_mark_in_path_and_other_characters_arrive_unchanged(difficult: Path) -> None:
    command = "$GEMINI_PROJECT_DIR/show $GEMINI_CWD ${CLAUDE_PROJECT_DIR}/x"
    assert arguments(run_command(command, difficult)) == [str(difficult), f"{difficult}/x"]


def test_quoted_variable_breaks_on_space_no_longer(difficult: Path) -> None:
    command = '"$GEMINI_PROJECT_DIR/show" "${HOOKLINE_CWD}" ok'
    assert arguments(run_command(command, difficult)) == [str(difficult), "ok"]


def test_longer_variable_name_is_eaten_no_longer(difficult: Path) -> None:
    command = "./show $GEMINI_CWD_BACKUP $HOOKLINE_EVENT"
    env = {"GEMINI_CWD_BACKUP": "backup", "HOOKLINE_EVENT": "BeforeTool"}
    argv = make_shell_argv(command, ["GEMINI_CWD", "HOOKLINE_EVENT"], os.environ["PATH"])
    outcome = run(argv, cwd=difficult, env=env)
    assert arguments(outcome) == ["backup", "BeforeTool"]


def test_a_variable_of_the_hook_itself_is_one_word_too(difficult: Path) -> None:
    outcome = run_command("./show $MODE", difficult, MODE="a  *  b")
    assert arguments(outcome) == ["a  *  b"]


def test_single_quotes_and_backslashes_keep_a_variable_as_written(difficult: Path) -> None:
    outcome = run_command(r"./show '$GEMINI_CWD' \$GEMINI_CWD", difficult)
    assert arguments(outcome) == ["$GEMINI_CWD", "$GEMINI_CWD"]


def test_the_tilde_works_as_the_shell_has_it(project: Project) -> None:
    project.script("show", SHOW)
    outcome = run_command("./show ~ ~/$GEMINI_SESSION_ID '~'", project.path)
    assert arguments(outcome) == [os.environ["HOME"], f"{os.environ['HOME']}/abc-123", "~"]


def test_commands_are_run_by_bash(tmp_path: Path) -> None:
    outcome = run_command("a=(x y z); echo ${#a[@]} ${a[1]}", tmp_path)
    assert outcome.stdout == b"3 y\n"


@pytest.mark.parametrize(
    "provocation",
    [{"SHLVL": ""}, {"SHLVL": "", "SSH_CLIENT": "::1 1 22"}, {"BASH_ENV": "rc"}, {"ENV": "rc"}],
)
def test_bashrc_is_sourced_by_no_means(project: Project, provocation: dict[str, str]) -> None:
    for name in (".bashrc", ".bash_profile", ".profile", "rc"):
        project.write(name, "echo greetings\n")
    outcome = run_command("echo $0 hook", project.path, HOME=str(project.path), **provocation)
    assert outcome.stdout.endswith(b" hook\n")
    assert b"greetings" not in outcome.stdout


def test_functions_and_options_of_the_callers_shell_do_not_change_a_hook(tmp_path: Path) -> None:
    env = {"BASH_FUNC_echo%%": "() { printf fake; }", "SHELLOPTS": "errexit:noglob"}
    outcome = run_command("false; echo real; set -o | grep -c 'errexit.*on'", tmp_path, **env)
    assert outcome.stdout == b"real\n0\n"


def test_a_command_that_looks_like_an_option_is_still_a_command(project: Project) -> None:
    project.script("bin/-x", "#!/bin/sh\necho $1\n")
    path = f"{project.path}/bin:{os.environ['PATH']}"
    assert run_command("-x one", project.path, PATH=path).stdout == b"one\n"


def test_the_shell_is_bash_from_the_path_or_else_sh(project: Project) -> None:
    bash = project.script("bin/bash", "#!/bin/sh\n")
    assert make_shell_argv("true", [], str(bash.parent))[0] == str(bash)
    assert make_shell_argv("true", [], None)[0].endswith("/bash")
    assert make_shell_argv("true", [], "bin:.")[0].startswith("/")
    assert make_shell_argv("true", [], None)[-1] == "true"


def test_where_there_is_no_bash_sh_runs_the_command(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.path / "sh").symlink_to("/bin/sh")
    monkeypatch.setattr(os, "defpath", str(project.path))
    argv = make_shell_argv("echo $HOOKLINE_CWD", ["HOOKLINE_CWD"], str(project.path))
    assert argv[0] == f"{project.path}/sh"
    assert run(argv, cwd=project.path, env={"HOOKLINE_CWD": "a  b"}).stdout == b"a  b\n"


def test_the_exec_form_passes_directories_as_text_without_a_shell(difficult: Path) -> None:
    args = ["$DIR/x", "a${DIR}b", "$DIRECTORY ${DIR%/*} \\$DIR '$DIR'", "*"]
    written = [word.replace("DIR", "LLXPRT_PROJECT_DIR") for word in ["${DIR}/show", *args]]
    argv = exec_argv(written[0], written[1:], {"LLXPRT_PROJECT_DIR": str(difficult)})
    assert arguments(run(argv, cwd=difficult, env={})) == [
        f"{difficult}/x",
        f"a{difficult}b",
        f"$LLXPRT_PROJECT_DIRECTORY ${{LLXPRT_PROJECT_DIR%/*}} \\{difficult} '{difficult}'",
        "*",
    ]


@given(value=st.text("$AB{} x"), other=st.text("$AB{} x"))
def test_the_exec_form_substitutes_once(value: str, other: str) -> None:
    values = {"A": f"$B{value}", "B": other, "AB": f"${{A}}{value}"}
    assert fill_arguments(["$A", "$B-${AB}$A"], values) == [
        values["A"],
        f"{other}-{values['AB']}{values['A']}",
    ]
