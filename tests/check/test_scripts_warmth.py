"""Which hooks could be warm, and which only ask for it."""

import pytest

from tests.check.review import HINT, WARNING, hook, on, only, review
from tests.harness.scratch import Project

PYTHON = "#!/usr/bin/env python3\nimport sys\nsys.stdin.read()\n"


@pytest.mark.parametrize(
    "command",
    ["python3 hooks/x.py", "hooks/x.py --strict", "python3 -u $HOOKLINE_PROJECT_DIR/hooks/x.py"],
)
def test_a_python_script_could_be_warm(project: Project, command: str) -> None:
    project.script("hooks/x.py", PYTHON)
    finding = only(review(project, on("BeforeAgent", hook(command))), "warm")
    assert finding.severity is HINT
    assert finding.remedy == 'add "warm": true'


def test_scripts_that_could_be_warm_are_one_hint_a_file(project: Project) -> None:
    project.script("hooks/x.py", PYTHON)
    hooks = [hook("python3 hooks/x.py", name="scan"), hook("hooks/x.py --log"), hook("true")]
    finding = only(review(project, on("BeforeAgent", *hooks)), "warm")
    assert finding.text == (
        "Python scripts that would start in a millisecond or two if kept warm: scan (line 6), "
        'hooks/x.py --log (line 11); add "warm": true to each'
    )


@pytest.mark.parametrize("warm", [True, False])
def test_a_choice_that_was_made_is_left_alone(project: Project, warm: bool) -> None:
    project.script("hooks/x.py", PYTHON)
    assert review(project, on("BeforeAgent", hook("python3 hooks/x.py", warm=warm))) == []


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("hooks/x.sh", "it is not a Python script"),
        ("python3 hooks/x.py | cat", "its command needs a shell"),
        ("python3 -m json.tool", "it runs a module with -m"),
        ("true", "its command needs a shell"),
    ],
)
def test_a_hook_that_asks_to_be_warm_and_cannot_be_says_why(
    project: Project, command: str, why: str
) -> None:
    project.script("hooks/x.py", PYTHON)
    project.script("hooks/x.sh", "#!/bin/sh\n")
    findings = review(project, on("BeforeAgent", hook(command, warm=True)))
    finding = only(findings, "warm")
    assert finding.severity is WARNING
    assert finding.message == f"the hook cannot start warm, so it runs cold: {why}"


def test_a_script_that_needs_a_shell_is_not_told_to_be_warm(project: Project) -> None:
    project.script("hooks/x.py", PYTHON)
    assert review(project, on("BeforeAgent", hook("python3 hooks/x.py 2>>log"))) == []
