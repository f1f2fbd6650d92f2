"""What holds for the command whatever the verb."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import hookline as package
from hookline.cli import VERBS, main
from tests.cli.command import hookline
from tests.cli.conftest import Call
from tests.harness.scratch import Project


def test_the_bare_command_shows_the_verbs_and_an_example() -> None:
    done = hookline()
    assert (done.status, done.err) == (0, "")
    for verb in VERBS:
        assert f"\n  {verb} " in done.out
    assert "hookline fire BeforeTool" in done.out
    assert hookline("--help") == done
    assert hookline("help") == done


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_one_line(option: str) -> None:
    assert hookline(option) == (0, f"hookline {package.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fier"], "'fier' is not a verb; did you mean fire?"),
        (["xyzzy"], "'xyzzy' is not a verb; `hookline --help` lists the verbs"),
        (["--json", "list"], "options come after the verb: hookline VERB --json"),
        (["fire"], "arguments are required: EVENT; `hookline fire --help` shows how"),
        (["list", "--jso"], "hookline list has no option --jso; did you mean --json?"),
        (["list", "--xyz=1"], "hookline list has no option --xyz; `hookline list --help` lists"),
        (["fire", "--tol", "x"], "hookline fire has no option --tol; did you mean --tool?"),
        (["list", "more"], "unrecognized arguments: more; `hookline list --help` shows how"),
        (["list", "--cwd"], "hookline: --cwd: expected one argument"),
        (["help", "fier"], "'fier' is not a verb; did you mean fire?"),
        (["list", "--cwd", "nowhere"], "--cwd: nowhere is not a directory"),
        (["list", "--settings", "none.json"], "--settings: there is no file none.json"),
        (["fire", "BeforeAgent", "--trust", "--no-trust"], "not allowed with argument --trust"),
        (["demo", "--keep", "/dev/null"], "--keep: /dev/null is not empty; name a new directory"),
    ],
)
def test_bad_usage_is_one_sentence_on_stderr_and_never_looks_like_a_block(
    call: Call, arguments: list[str], sentence: str
) -> None:
    done = call(*arguments)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("hookline: ")
    assert done.err.count("\n") == 1
    assert sentence in done.err


def test_help_and_a_verb_explain_the_verb(call: Call) -> None:
    assert call("help", "list") == call("list", "--help")


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_explains_itself_with_examples(call: Call, verb: str) -> None:
    done = call(verb, "--help")
    assert (done.status, done.err) == (0, "")
    for option in ("--json", "--cwd DIR", "--settings FILE"):
        assert option in done.out
    assert f"hookline {verb}" in done.out.partition("examples:")[2]


# One measures for as long as it takes by itself, ten seconds an example.
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_of_a_verb_work_as_they_stand(call: Call, verb: str, project: Project) -> None:
    help_text = call(verb, "--help").out
    tool = project.script("bin/hookline", f'#!/bin/sh\nexec {sys.executable} -m hookline "$@"\n')
    examples = help_text.partition("examples:\n")[2].splitlines()
    if verb == "check":
        # Where there is nothing to check, it fails.
        project.settings({})
    # What needs a bus or an MCP server is tried beside one, in the tests of serve and mcp.
    needs = ("nats://", "https://", " -- ")
    for line in (example for example in examples if not any(need in example for need in needs)):
        script = f'PATH="{tool.parent}:$PATH"; {line}'
        done = subprocess.run(["sh", "-c", script], cwd=project.path, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")


def test_an_internal_error_is_a_sentence_with_its_place_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = "EXAMPLES = ()\nOPTIONS = ()\ndef run(options, screen): 1 / 0\n"
    (tmp_path / "verb_that_breaks.py").write_text(broken)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("verb_that_breaks")
    monkeypatch.setitem(sys.modules, "hookline.cli.break", module)
    monkeypatch.setitem(VERBS, "break", "break")
    assert main(["break"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "hookline: internal error, please report it: "
        "ZeroDivisionError: division by zero (verb_that_breaks.py:3)\n"
    )


def test_bad_usage_exits_1_in_a_process_of_its_own_too() -> None:
    done = hookline("fire")
    assert done == (
        1,
        "",
        "hookline: the following arguments are required: EVENT; `hookline fire --help` shows how\n",
    )


def test_a_control_character_in_an_argument_does_not_reach_the_terminal(call: Call) -> None:
    done = call("fire", "Before\x1b[31mTool\x07")
    assert done.status == 1
    assert "\x1b" not in done.err
    assert "\x07" not in done.err
