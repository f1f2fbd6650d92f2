"""What a template was made from, and whether that still is so."""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hookline.runner.warm.script import PythonScript
from hookline.runner.warm.template import _Facts

AGO = time.time() - 1000
ENV = {"MODE": "fast", "OTHER": "o"}
SCRIPT = PythonScript(("python3", "hook.py"), "python3", "hook.py", ("python3",), "python3")


def write(path: str, text: str = "") -> None:
    Path(path).write_text(text)
    os.utime(path, (AGO, AGO))


def report(
    *,
    trouble: Sequence[str] = (),
    variables: Sequence[str] = (),
    directories: Sequence[str] = (),
    names: Sequence[str] = (),
    files: Sequence[str] = (),
) -> bytes:
    sections = (trouble, variables, directories, names, files)
    return "".join(f"{item}\0" for section in sections for item in (*section, "")).encode()


def facts(env: Mapping[str, str] = ENV, **told: Sequence[str]) -> _Facts:
    """What is known of a template that has reported."""
    if not Path("hook.py").exists():
        write("hook.py")
    made = _Facts(SCRIPT, cwd=os.getcwd(), env=env)
    assert made.add(report(**told)) == ""
    return made


def test_a_template_says_why_it_cannot_serve_calls() -> None:
    made = _Facts(SCRIPT, cwd="/", env={})
    assert made.add(report(trouble=["it has", "threads"])) == "it has threads"


@pytest.mark.parametrize("hello", [b"", b"\0" * 4, b"\0" * 6, b"a\0b\0"])
def test_a_report_with_more_or_less_to_it_is_refused(hello: bytes) -> None:
    with pytest.raises(ValueError, match="malformed report"):
        _Facts(SCRIPT, cwd="/", env={}).add(hello)


@pytest.mark.parametrize(
    ("env", "holds"),
    [
        ({"MODE": "fast"}, True),
        ({"MODE": "fast", "OTHER": "else"}, True),
        ({"MODE": "slow"}, False),
        ({}, False),
        ({"MODE": "fast", "UNSET": ""}, False),
    ],
)
def test_a_template_serves_calls_with_the_variables_that_its_modules_read(
    env: dict[str, str], holds: bool
) -> None:
    assert facts(variables=["MODE", "UNSET"]).hold(env) == holds


def test_a_template_serves_no_call_after_its_script_or_a_module_changed() -> None:
    write("own.py")
    for file in ("hook.py", "own.py"):
        made = facts(files=["own.py"])
        assert made.hold(ENV)
        write(file, "changed")
        assert not made.hold(ENV)
    made = facts(files=["own.py"])
    Path("own.py").unlink()
    assert not made.hold(ENV)


@pytest.mark.parametrize(
    ("name", "holds"), [("data.txt", True), ("queue.py", False), ("queue", False), ("q.py", True)]
)
def test_only_a_file_that_would_be_imported_instead_has_a_template_made_anew(
    name: str, holds: bool
) -> None:
    Path("lib").mkdir()
    made = facts(directories=["lib"], names=["json", "queue"])
    write(f"lib/{name}")
    os.utime("lib", (AGO + 1, AGO + 1))
    assert made.hold(ENV) == holds
    # It is asked again for the next call.
    assert made.hold(ENV) == holds


def test_a_directory_that_is_gone_hides_no_module() -> None:
    Path("lib").mkdir()
    made = facts(directories=["lib"], names=["queue"])
    shutil.rmtree("lib")
    assert made.hold(ENV)


def test_what_was_written_while_a_template_started_makes_it_uncertain() -> None:
    write("own.py")
    made = _Facts(SCRIPT, cwd=os.getcwd(), env=ENV)
    now = time.time_ns()
    os.utime("own.py", ns=(now, now))
    assert made.add(report(files=["own.py"])) == ""
    assert not made.hold(ENV)
