"""Which commands are Python scripts whose interpreter can be kept waiting."""

import os
import sys
from pathlib import Path

import pytest

from hookline.runner.warm.script import PythonScript, python_script


def script_of(command: str, *, cwd: str = "/") -> PythonScript | str:
    argv = command.split()
    return python_script(argv, program=argv[0], cwd=cwd)


def executable(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("command", "path", "interpreter"),
    [
        ("python3 x.py", "x.py", ["python3"]),
        ("python x.py -c a", "x.py", ["python"]),
        ("python3.12 -u x.py", "x.py", ["python3.12", "-u"]),
        ("/usr/bin/python3 -OB -s hooks/x.py --strict", "hooks/x.py", ["-OB", "-s"]),
        ("python3 -W error -X utf8 x", "x", ["-W", "error", "-X", "utf8"]),
        ("python3 -Werror -Xutf8=1 x", "x", ["-Werror", "-Xutf8=1"]),
        ("python3 -uW error x", "x", ["-uW", "error"]),
        ("/usr/bin/env python3 x.py a", "x.py", ["/usr/bin/env", "python3"]),
    ],
)
def test_a_command_that_names_python_and_a_script_can_be_warm(
    command: str, path: str, interpreter: list[str]
) -> None:
    script = script_of(command)
    assert isinstance(script, PythonScript)
    assert script.argv == tuple(command.split())
    assert script.path == path
    assert list(script.interpreter[-len(interpreter) :]) == interpreter


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("python3", "names no script"),
        ("python3 -", "names no script"),
        ("python3 -u", "names no script"),
        ("python3 -c pass", "given with -c"),
        ("python3 -m json.tool", "a module with -m"),
        ("python3 -uc pass", "given with -c"),
        ("python3 -i x.py", "-i makes the interpreter interactive"),
        ("python3 -I x.py", "-I keeps"),
        ("python3 -E x.py", "-E keeps"),
        ("python3 -S x.py", "-S keeps"),
        ("python3 -v x.py", "-v makes"),
        ("python3 -X importtime x.py", "importtime"),
        ("python3 -X dev x.py", "dev"),
        ("python3 --version", "does not know the option --version"),
        ("env -i python3 x.py", "not a Python script"),
        ("env A=1 python3 x.py", "not a Python script"),
        ("node x.js", "not a Python script"),
        ("pythonic x.py", "not a Python script"),
        ("sh x.py", "not a Python script"),
    ],
)
def test_a_command_that_cannot_be_warm_says_why(command: str, reason: str) -> None:
    said = script_of(command)
    assert isinstance(said, str)
    assert reason in said


@pytest.mark.parametrize(
    ("first_line", "interpreter", "program"),
    [
        ("#!/usr/bin/env python3", ("/usr/bin/env", "python3"), "/usr/bin/env"),
        ("#! /usr/bin/python3 ", ("/usr/bin/python3",), "/usr/bin/python3"),
        ("#!/usr/bin/python3 -u", ("/usr/bin/python3", "-u"), "/usr/bin/python3"),
        ("#!/usr/bin/env -S python3 -u -B", ("/usr/bin/env", "python3", "-u", "-B"), None),
    ],
)
def test_a_script_that_names_python_in_its_first_line_can_be_warm(
    tmp_path: Path, first_line: str, interpreter: tuple[str, ...], program: str | None
) -> None:
    path = executable(tmp_path / "hook", f"{first_line}\nprint(1)\n")
    script = python_script([path, "a"], program=path, cwd="/")
    assert isinstance(script, PythonScript)
    assert (script.argv, script.program, script.path) == ((path, "a"), path, path)
    assert script.interpreter == interpreter
    assert script.interpreter_program == (program or interpreter[0])


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\n",
        "print(1)\n",
        "",
        "#!",
        "#!\n",
        "#!/usr/bin/python3\r\n",
        "#!/usr/bin/python3" + "x" * 300,
        "#!/usr/bin/python3 -I\n",
        "#!/usr/bin/python3 other.py\n",
        pytest.param(
            "#!/usr/bin/env python3 -u\n",
            marks=pytest.mark.skipif(sys.platform == "darwin", reason="macOS splits the line"),
        ),
        "#!/usr/bin/env -S python3 other.py\n",
        '#!/usr/bin/env -S python3 "-u"\n',
        "\x7fELF\0\0\n",
    ],
)
def test_any_other_program_cannot_be_warm(tmp_path: Path, text: str) -> None:
    path = executable(tmp_path / "hook", text)
    assert isinstance(python_script([path], program=path, cwd="/"), str)


def test_a_first_line_may_end_with_the_script(tmp_path: Path) -> None:
    path = executable(tmp_path / "hook", "#!/usr/bin/python3")
    assert isinstance(python_script([path], program=path, cwd="/"), PythonScript)


def test_the_first_line_is_read_again_when_the_script_has_changed(tmp_path: Path) -> None:
    path = executable(tmp_path / "hook", "#!/bin/sh\n")
    assert isinstance(python_script([path], program=path, cwd="/"), str)
    executable(tmp_path / "hook", "#!/usr/bin/python3\n# longer\n")
    assert isinstance(python_script([path], program=path, cwd="/"), PythonScript)


def test_a_script_is_looked_for_from_where_it_is_run(tmp_path: Path) -> None:
    executable(tmp_path / "hook", "#!/usr/bin/python3\n")
    assert isinstance(
        python_script(["./hook"], program="./hook", cwd=os.fspath(tmp_path)), PythonScript
    )
    assert isinstance(python_script(["./hook"], program="./hook", cwd="/"), str)
