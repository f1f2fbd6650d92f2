"""Fields whose values were hardly meant."""

from typing import Any

import pytest

from tests.check.review import ERROR, HINT, WARNING, brief, hook, on, only, review
from tests.harness.scratch import Project


def test_a_hook_without_a_type_is_skipped_and_says_so(project: Project) -> None:
    finding = only(review(project, on("BeforeAgent", {"command": "true"})), "type")
    assert finding.severity is ERROR
    assert finding.text == 'the hook has no type and is skipped; add "type": "command"'


@pytest.mark.parametrize("kind", ["Command", "comand", "commands"])
def test_a_misspelt_type_is_put_right(project: Project, kind: str) -> None:
    finding = only(review(project, on("BeforeAgent", {"type": kind, "command": "true"})), "type")
    assert finding.remedy == 'write "command"'
    assert finding.fixes


def test_a_type_of_another_program_is_left_to_the_author(project: Project) -> None:
    findings = review(project, on("BeforeAgent", {"type": "http", "url": "x"}))
    assert brief(findings) == [("settings", ERROR), ("misplaced-key", WARNING)]
    assert "has the unknown type 'http'; the type must be \"command\"" in findings[0].message


@pytest.mark.parametrize(
    ("value", "expected", "certain"),
    [
        (5, [("timeout-seconds", WARNING)], True),
        (60, [("timeout-seconds", WARNING)], True),
        (0.5, [("timeout-seconds", WARNING)], True),
        (90, [("timeout-seconds", WARNING)], False),
        (300, [("timeout-seconds", HINT)], False),
        (250, [], False),
        (5000, [], False),
        (600_000, [], False),
        (36_000_000, [("timeout-long", HINT)], False),
        (0, [("settings", ERROR)], False),
        ("5s", [("settings", ERROR)], False),
        (True, [("settings", ERROR)], False),
    ],
)
def test_a_timeout_that_looks_like_seconds(
    project: Project, value: Any, expected: Any, certain: bool
) -> None:
    findings = review(project, on("BeforeAgent", hook(timeout=value)))
    assert brief(findings) == expected
    assert any(finding.fixes for finding in findings) is certain


def test_a_timeout_of_five_names_what_was_meant(project: Project) -> None:
    finding = only(review(project, on("BeforeAgent", hook(timeout=5))), "timeout-seconds")
    assert finding.text == (
        "timeout 5 is in milliseconds, and looks like seconds; write 5000 for 5 s"
    )
    assert (finding.line, finding.column) == (9, 24)


@pytest.mark.parametrize(
    ("env", "severity", "said"),
    [
        ({"PATH": "$PATH:/opt/bin"}, WARNING, "PATH gets $PATH as it stands"),
        ({"X": "${HOME}/x"}, WARNING, "X gets ${HOME} as it stands"),
        ({"X": "~/x"}, WARNING, "X gets ~ as it stands"),
        ({"my-mode": "x"}, HINT, "no shell can read a variable called 'my-mode'"),
        ({"HOOKLINE_PROJECT_DIR": "x"}, WARNING, "is set for every hook"),
    ],
)
def test_a_variable_that_will_not_hold_what_is_written(
    project: Project, env: dict[str, str], severity: str, said: str
) -> None:
    finding = only(review(project, on("BeforeAgent", hook(env=env))), "env")
    assert finding.severity is severity
    assert said in finding.message


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("$HOME/x", "only the hook's own variables are put in"),
        ("|", "there is no shell"),
        (">log.txt", "there is no shell"),
        ("2>&1", "there is no shell"),
        ("~/x", "there is no shell"),
        ("$(date)", "there is no shell"),
        ("src/*.py", "no shell to look for files"),
    ],
)
def test_args_have_no_shell(project: Project, word: str, said: str) -> None:
    finding = only(review(project, on("BeforeAgent", hook(args=["--ok", word]))), "args-shell")
    assert said in finding.message
    assert finding.path[-2:] == ("args", 1)


@pytest.mark.parametrize(
    "word", ["--strict", "$HOOKLINE_PROJECT_DIR/x", "${MODE}", "a*b", "x=1", "-", "a > b"]
)
def test_args_that_mean_what_they_say(project: Project, word: str) -> None:
    assert review(project, on("BeforeAgent", hook(args=[word], env={"MODE": "x"}))) == []
