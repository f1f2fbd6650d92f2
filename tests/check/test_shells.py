"""Commands and scripts that cannot be parsed, and variables in code."""

import os
import stat
import sys
import time
from pathlib import Path

import pytest

from hookline.check import Finding
from hookline.check.scripts import MOST_READ
from hookline.check.shells import check_syntax
from hookline.wire.hooks import HookSource
from tests.check.review import ERROR, WARNING, check, checked, hook, on, only, review
from tests.harness.scratch import Project

REPOSITORY = Path(__file__).parents[2]


def of(findings: list[Finding], rule: str) -> list[Finding]:
    return [finding for finding in findings if finding.kind == rule]


@pytest.mark.parametrize("folder", ["examples", "src/hookline/cli"])
def test_no_script_that_comes_along_raises_an_alarm(project: Project, folder: str) -> None:
    scripts = [
        path
        for path in (REPOSITORY / folder).rglob("*")
        if path.suffix in (".sh", ".py") and path.read_bytes().startswith(b"#!")
    ]
    assert len(scripts) > 10
    hooks = [hook(str(path), name=str(number)) for number, path in enumerate(scripts)]
    findings = review(project, on("BeforeAgent", *hooks))
    assert [f for f in findings if f.kind in ("program-missing", "script-syntax")] == []


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("#!/bin/bash\nif true; then\n  echo\n", 4, "unexpected end of file"),
        ("#!/bin/bash\ntrue\nfi\n", 3, "syntax error near unexpected token"),
        ("#!/usr/bin/env bash\necho 'a\n", 2, "unexpected EOF while looking for matching"),
        ("#!/bin/sh\na=(1 2)\nx )\n", None, "nexpected"),
        ("true\n)\n", 2, "unexpected token"),
    ],
)
def test_a_script_that_a_shell_cannot_parse_is_an_error(
    project: Project, text: str, line: int | None, said: str
) -> None:
    script = project.script("x.sh", text)
    (found,) = of(review(project, on("BeforeAgent", hook("./x.sh"))), "script-syntax")
    if text.startswith("#!"):
        assert of(review(project, on("BeforeAgent", hook("cat | ./x.sh"))), "script-syntax")
    assert (found.file, found.severity) == (str(script), ERROR)
    assert line is None or found.line == line
    assert "so the script exits with 2, which blocks" in found.message
    assert said in found.message


@pytest.mark.parametrize("command", ["if true; then echo", "echo 'a", "cat | (", "a && && b"])
def test_a_command_that_a_shell_cannot_parse_is_an_error(project: Project, command: str) -> None:
    (found,) = of(review(project, on("BeforeAgent", hook(command))), "script-syntax")
    assert found.severity is ERROR
    assert found.settings == found.file


def test_patterns_that_a_script_turns_on_can_be_parsed(project: Project) -> None:
    text = "#!/bin/bash\nshopt -s extglob\ncase $1 in !(a|b)) exit 2;; esac\nrm !(x)\n"
    project.script("x.sh", text)
    assert of(review(project, on("BeforeAgent", hook("./x.sh"))), "script-syntax") == []


def test_patterns_that_a_script_does_not_turn_on_cannot_be_parsed(project: Project) -> None:
    project.script("x.sh", "#!/bin/bash\nrm !(x)\n")
    (found,) = of(review(project, on("BeforeAgent", hook("./x.sh"))), "script-syntax")
    assert found.line == 2


def test_what_a_shell_only_warns_of_is_fine(project: Project) -> None:
    """Its warning names the word that would end the text, which may look like an error."""
    project.script("x.sh", "#!/bin/bash\ncat > /dev/null <<error\nx\n")
    assert of(review(project, on("BeforeAgent", hook("./x.sh"))), "script-syntax") == []


def test_a_command_is_parsed_by_bash_where_there_is_one(project: Project) -> None:
    command = "while read -r line; do true; done < <(cat)"
    assert of(review(project, on("BeforeAgent", hook(command))), "script-syntax") == []


def test_a_script_is_parsed_by_the_shell_of_its_first_line_whatever_its_name(
    project: Project,
) -> None:
    project.script("shell.py", "#!/bin/bash\nfi\n")
    project.script("bare.py", "print('a'\n")
    hooks = on("BeforeAgent", hook("./shell.py"), hook("./bare.py"))
    found = {finding.kind: Path(finding.file).name for finding in review(project, hooks)}
    assert found == {"script-syntax": "shell.py", "script-shebang": "settings.json"}


@pytest.mark.parametrize("command", ["./x.sh", "cat | ./x.sh"])
def test_a_script_is_parsed_if_all_of_it_was_read(project: Project, command: str) -> None:
    for length, number in ((MOST_READ - 1, 1), (MOST_READ, 0)):
        project.script("x.sh", "#!/bin/bash\nfi\n".ljust(length, "#"))
        findings = review(project, on("BeforeAgent", hook(command)))
        assert len(of(findings, "script-syntax")) == number


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("#!/bin/bash\nfi\n", "./x"),
        ("#!/bin/bash\nfi\n", "cat | ./x"),
        ("#!/usr/bin/env python3\n)\n", "./x"),
    ],
)
def test_a_script_of_several_hooks_is_read_once(project: Project, text: str, command: str) -> None:
    project.script("x", text)
    hooks = [hook(command, name=name) for name in ("a", "b")]
    file = project.settings(on("BeforeAgent", *hooks))
    read = checked((file, HookSource.PROJECT), project=project)
    assert len(list(check_syntax(read))) == 1


@pytest.mark.parametrize("command", ["./x.py", "python3 x.py"])
def test_a_python_script_that_cannot_be_parsed_is_told(project: Project, command: str) -> None:
    script = project.script("x.py", "#!/usr/bin/env python3\nimport json\nif True print(1)\n")
    (found,) = of(review(project, on("BeforeAgent", hook(command))), "script-syntax")
    assert (found.file, found.line, found.column) == (str(script), 3, 9)
    assert "cannot parse this" in found.message


def test_only_the_python_that_checks_is_sure_what_it_cannot_parse(project: Project) -> None:
    project.script("x.py", "#!/usr/bin/env python9\n)\n")
    version = "{}.{}".format(*sys.version_info)
    (found,) = of(review(project, on("BeforeAgent", hook("./x.py"))), "script-syntax")
    assert found.severity is WARNING
    assert found.message.startswith(f"Python {version} cannot parse this: unmatched")
    findings = review(project, on("BeforeAgent", hook(f"{sys.executable} x.py")))
    (found,) = of(findings, "script-syntax")
    assert found.severity is ERROR
    assert found.message.startswith("Python cannot parse this: unmatched")


@pytest.mark.parametrize("command", ["./x.py", "python2.7 y.py"])
def test_a_script_for_an_old_python_is_not_parsed_by_a_new_one(
    project: Project, command: str
) -> None:
    project.script("x.py", "#!/usr/bin/env python2\nprint 1\n")
    project.write("y.py", "print 1\n")
    assert of(review(project, on("BeforeAgent", hook(command))), "script-syntax") == []


def test_what_python_only_warns_of_is_fine(project: Project) -> None:
    project.script("x.py", "#!/usr/bin/env python3\nx = 1 is 1\n")
    assert of(review(project, on("BeforeAgent", hook("./x.py"))), "script-syntax") == []


@pytest.mark.parametrize("content", ["(" * 100_000, "-" * 100_000 + "1", "a" + ".b" * 50_000, "\0"])
def test_no_python_script_ends_the_checking(project: Project, content: str) -> None:
    project.script("x.py", f"#!/usr/bin/env python3\n{content}\n")
    review(project, on("BeforeAgent", hook("./x.py")))


def test_parsing_executes_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the script, nor what the environment names, nor a shell of the project's."""
    ran = project.path / "ran"
    touch = f"touch {ran}"
    monkeypatch.setenv("BASH_ENV", str(project.write("env.sh", touch)))
    monkeypatch.setenv("ENV", str(project.path / "env.sh"))
    monkeypatch.setenv("BASH_FUNC_true%%", f"() {{ {touch}; }}")
    shell = project.script("bin/bash", f"#!/bin/sh\n{touch}\n")
    project.script("bin/sh", f"#!/bin/sh\n{touch}\n")
    monkeypatch.setenv("PATH", f"{shell.parent}{os.pathsep}bin{os.pathsep}{os.environ['PATH']}")
    project.script("x.sh", f"#!{shell}\n{touch}\ntrue $({touch}) `{touch}`\nset +n; {touch}\n")
    project.script("y.sh", f"#!/usr/bin/env bash\n{touch}\necho $(< {ran})\n")
    project.script("z.py", f"#!/usr/bin/env python3\nimport os\nos.system({touch!r})\n")
    commands = ("./x.sh", "./y.sh", "./z.py", f"true; {touch}", f"{shell} ./x.sh", "bin/sh x.sh")
    review(project, on("BeforeAgent", *(hook(command) for command in commands)))
    assert not ran.exists()


def test_a_script_that_becomes_a_pipe_is_not_waited_for(project: Project) -> None:
    from hookline.check.scripts import find_scripts

    script = project.script("x.sh", "#!/bin/bash\nif\n")
    file = project.settings(on("BeforeAgent", hook("./x.sh")))
    read = checked((file, HookSource.PROJECT), project=project)
    assert find_scripts(read)
    script.unlink()
    os.mkfifo(script)
    started = time.monotonic()
    assert of(check(read), "script-syntax") == []
    assert time.monotonic() - started < 4
    assert stat.S_ISFIFO(script.stat().st_mode)


def test_a_value_of_an_event_is_no_argument(project: Project) -> None:
    entry = hook("cat", args=["$HOOKLINE_SESSION_ID"])
    found = only(review(project, on("BeforeAgent", entry)), "args-shell")
    assert "variables of an event are not replaced; read it from the environment" in found.text


@pytest.mark.parametrize(
    "unit", ["(", "((\n", "$(", "`", "cat <<A\n", "$(cat <<A\n", "a;", "case x in a) "]
)
def test_no_script_keeps_the_checking_busy(project: Project, unit: str) -> None:
    for length in (60_000, 250_000):
        project.script("x.sh", "#!/bin/bash\n" + unit * (length // len(unit)))
        started = time.monotonic()
        review(project, on("BeforeAgent", hook("./x.sh")))
        assert time.monotonic() - started < 20


def test_what_a_shell_reads_as_code_may_have_everything_a_shell_knows(project: Project) -> None:
    entry = hook("bash", args=["-c", 'echo "$MINE" | cat > /dev/null', "bash"])
    assert review(project, on("BeforeAgent", entry)) == []
