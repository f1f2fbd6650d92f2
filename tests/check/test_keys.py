"""Keys and events that nobody reads."""

from typing import Any

import pytest

from hookline.check import check
from hookline.wire.hooks import HookSource
from tests.check.review import ERROR, WARNING, brief, checked, hook, on, only, review
from tests.harness.scratch import Project


@pytest.mark.parametrize(
    ("event", "remedy"),
    [
        ("BeforTool", "did you mean BeforeTool?"),
        ("before_tool", "did you mean BeforeTool?"),
        ("sessionstart", "did you mean SessionStart?"),
        ("PreToolUse", "call it BeforeTool, and write timeouts in milliseconds"),
        ("Stop", "call it AfterAgent, and write timeouts in milliseconds"),
        ("Zzz", "the events are BeforeTool, AfterTool, BeforeAgent, AfterAgent, BeforeModel"),
    ],
)
def test_an_unknown_event_is_an_error_with_the_nearest_name(
    project: Project, event: str, remedy: str
) -> None:
    finding = only(review(project, on(event, hook())), "unknown-event")
    assert finding.severity is ERROR
    assert finding.remedy.startswith(remedy)
    assert (finding.line, finding.column) == (3, 5)


def test_an_event_beside_its_misspelling_is_where_to_put_the_hooks(project: Project) -> None:
    settings: dict[str, Any] = {"hooks": {"BeforTool": [], "BeforeTool": []}}
    finding = only(review(project, settings), "unknown-event")
    assert finding.remedy == "move what is in it into BeforeTool, which is there too"
    assert finding.fixes == ()


@pytest.mark.parametrize(
    ("settings", "rule", "severity", "said"),
    [
        ({"enableHook": True}, "unknown-key", WARNING, "did you mean enableHooks?"),
        ({"colour": 1}, "unknown-key", WARNING, "the keys are $schema, enableHooks"),
        ({"BeforeTool": []}, "misplaced-key", ERROR, 'put it into "hooks"'),
        ({"hooksConfig": {"enable": True}}, "unknown-key", WARNING, "did you mean enabled?"),
        ({"security": {"redaction": {}}}, "unknown-key", WARNING, "of security"),
        (on("BeforeAgent", hook(), matchers="x"), "unknown-key", WARNING, "did you mean matcher?"),
        (on("BeforeAgent", hook(), timeout=1), "misplaced-key", WARNING, 'object of "hooks"'),
        (on("BeforeAgent", hook(matcher="x")), "misplaced-key", WARNING, 'beside "hooks"'),
        (on("BeforeAgent", hook(on_failure="block")), "unknown-key", WARNING, "mean onFailure?"),
        (on("BeforeAgent", hook(once=True)), "misplaced-key", WARNING, "Claude Code's"),
        ({"hooks": {"BeforeAgent": [hook()]}}, "flat-definition", ERROR, "put it into a list"),
    ],
)
def test_a_key_that_means_nothing_is_told_with_what_does(
    project: Project, settings: Any, rule: str, severity: str, said: str
) -> None:
    finding = only(review(project, settings), rule)
    assert finding.severity is severity
    assert said in finding.text


def test_the_keys_of_other_programs_are_theirs(project: Project) -> None:
    settings = {"theme": "dark", "security": {"auth": {}}, **on("BeforeAgent", hook(timout=1))}
    file = project.settings(settings, file=".gemini/settings.json")
    finding = only(check(checked((file, HookSource.PROJECT), project=project)), "unknown-key")
    assert finding.remedy == "did you mean timeout?"


def test_every_key_of_the_protocol_is_known(project: Project) -> None:
    everything = {
        "$schema": "x",
        "enableHooks": True,
        "hooksConfig": {"enabled": True, "disabled": [], "notifications": True},
        **on(
            "BeforeTool",
            hook(name="n", description="d", timeout=5000, env={"MODE": "x"}, onFailure="block"),
            hook(args=["--strict"], managed=False, warm=False),
            matcher="write_file",
            sequential=True,
        ),
    }
    assert brief(review(project, everything)) == []


def test_what_the_engine_warns_of_and_no_rule_knows_is_an_error(project: Project) -> None:
    text = (
        '{"hooks": {"BeforeTool": 1, "BeforeAgent": [1]},\n "enableHooks": 1,\n "hooksConfig": 2}'
    )
    findings = review(project, text)
    assert brief(findings) == [("settings", ERROR)] * 4
    assert [(f.line, f.column) for f in findings] == [(1, 26), (1, 45), (2, 17), (3, 17)]
    assert "must be a list of definitions, not a number" in findings[0].message


def test_a_key_given_twice_is_told_where_it_counts(project: Project) -> None:
    finding = only(review(project, '{"hooks": {},\n"hooks": {}}'), "settings")
    assert "given twice; only the last counts" in finding.message
    assert (finding.line, finding.column) == (2, 10)


def test_a_file_that_is_no_json_is_an_error_at_its_place(project: Project) -> None:
    finding = only(review(project, '{"hooks": {\n  "a" 1}}'), "syntax")
    assert (finding.severity, finding.line, finding.column) == (ERROR, 2, 7)
    assert finding.message == "the file is not valid JSON: expected ':' after the key"
