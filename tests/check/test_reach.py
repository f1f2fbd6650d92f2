"""Hooks that do not run because settings say so, and settings that reach no hook."""

import json
from pathlib import Path
from typing import Any

import pytest

from hookline.check import Finding
from hookline.wire.hooks import HookSource
from tests.check.review import HINT, WARNING, brief, check, checked, hook, on, only, review
from tests.harness.scratch import Project


def layered(scratch: Project, **layers: Any) -> list[Finding]:
    """What is said about the settings of several layers."""
    files: list[tuple[Path, HookSource]] = []
    for name, settings in layers.items():
        file = scratch.settings(settings, file=f"{name}/settings.json")
        files.append((file, HookSource(name)))
    return check(checked(*files, project=scratch))


def test_the_same_hook_twice_is_told_with_the_place_of_the_first(project: Project) -> None:
    finding = only(review(project, on("BeforeAgent", hook(), hook())), "duplicate")
    assert finding.severity is WARNING
    assert finding.text == "the same hook is on line 6 too, and runs once; remove one of them"
    assert finding.line == 10


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (hook("true", name="other"), "runs twice"),
        (hook("true", env={"A": "b"}), None),
        (hook("true", args=[]), None),
        (hook("false"), None),
    ],
)
def test_what_makes_two_hooks_the_same(project: Project, second: Any, said: str | None) -> None:
    findings = review(project, on("BeforeAgent", hook("true"), second))
    assert [said in f.message for f in findings if said] == ([True] if said else [])
    assert len(findings) == (1 if said else 0)


def test_a_hook_for_other_names_or_another_event_is_another_hook(project: Project) -> None:
    definitions = [{"matcher": name, "hooks": [hook()]} for name in ("glob", "replace")]
    assert (
        review(project, {"hooks": {"BeforeTool": definitions, "BeforeAgent": definitions[:0]}})
        == []
    )


def test_copies_in_the_settings_of_two_hosts_are_a_hint(project: Project) -> None:
    same = on("BeforeAgent", hook())
    finding = only(layered(project, project=same, user=same), "duplicate")
    assert finding.severity is HINT
    assert "is in project/settings.json:6 too" in finding.message


def test_disabled_names_that_match_no_hook(project: Project) -> None:
    settings = on("BeforeAgent", hook(name="scan"))
    settings["hooks"]["disabled"] = ["scna", "scan", "zzzzzz"]
    findings = review(project, settings)
    assert brief(findings) == [
        ("disabled", HINT),
        ("disabled-unknown", WARNING),
        ("disabled-unknown", WARNING),
    ]
    assert findings[0].message == "the hook is disabled in line 16 and does not run"
    assert [f.text for f in findings[1:]] == [
        "no hook is called 'scna'; did you mean scan?",
        "no hook is called 'zzzzzz'; remove it",
    ]


def test_a_user_may_disable_the_hooks_of_other_projects(project: Project) -> None:
    finding = only(layered(project, user={"hooks": {"disabled": ["far"]}}), "disabled-unknown")
    assert (finding.severity, finding.remedy) == (
        HINT,
        "keep it if it is a hook of another project",
    )


def test_a_project_cannot_disable_what_is_not_its_own(project: Project) -> None:
    mine = on("BeforeAgent", hook(name="mine"))
    finding = only(
        layered(project, project={"hooks": {"disabled": ["mine"]}}, user=mine), "disables-others"
    )
    assert finding.severity is WARNING
    assert finding.text == (
        "'mine' is a hook of the user, which a project cannot disable; "
        "disable it in the user's settings"
    )


def test_nobody_disables_a_managed_hook(project: Project) -> None:
    managed = on("BeforeAgent", hook(name="audit", managed=True))
    user = {"hooks": {"disabled": ["audit"]}}
    finding = only(layered(project, user=user, system=managed), "disables-others")
    assert "the system's settings manage 'audit'" in finding.message


@pytest.mark.parametrize("settings", [{"enableHooks": False}, {"hooksConfig": {"enabled": False}}])
def test_hooks_that_are_disabled_altogether_are_told_once(
    project: Project, settings: dict[str, Any]
) -> None:
    hooks = on("BeforeAgent", hook("true"), hook("false"))
    finding = only(review(project, {**hooks, **settings}), "disabled")
    assert (finding.severity, finding.message) == (
        HINT,
        "this disables hooks: 2 hooks do not run",
    )


def test_a_project_that_disables_only_others_is_told_that_it_does_not(project: Project) -> None:
    user = on("BeforeAgent", hook())
    finding = only(layered(project, project={"enableHooks": False}, user=user), "disables-others")
    assert finding.severity is WARNING


def test_fields_that_count_only_elsewhere(project: Project) -> None:
    redaction = {"security": {"environmentVariableRedaction": {"enabled": False}}}
    trace = {"hookline": {"trace": True}}
    settings = {**on("BeforeAgent", hook(managed=True)), **redaction, **trace}
    findings = review(project, settings)
    assert brief(findings) == [("overreach", WARNING)] * 3
    assert [(finding.line, finding.column) for finding in findings] == [(9, 24), (16, 37), (21, 14)]


def test_the_user_may_say_that_too_of_all_hooks(project: Project) -> None:
    redaction = {"security": {"environmentVariableRedaction": {"enabled": True}}}
    assert layered(project, user={**redaction, "hookline": {"trace": True}}) == []
    finding = only(layered(project, user={"enableHooks": False}), "disabled")
    assert finding.message == "this disables hooks"


def test_each_switch_of_a_project_that_reaches_nothing_is_told(project: Project) -> None:
    off = {"enableHooks": False, "hooksConfig": {"enabled": False}}
    findings = layered(project, project=off, user=on("BeforeAgent", hook()))
    assert brief(findings) == [("disables-others", WARNING)] * 2


def test_the_system_may_say_all_that(project: Project) -> None:
    redaction = {"security": {"environmentVariableRedaction": {"enabled": True}}}
    settings = {**on("BeforeAgent", hook(managed=True)), **redaction, "hookline": {"trace": True}}
    assert layered(project, system=settings) == []


def test_a_project_without_hooks_may_disable_them_with_no_more_than_a_hint(
    project: Project,
) -> None:
    finding = only(review(project, {"enableHooks": False}), "disabled")
    assert (finding.severity, finding.message) == (HINT, "this disables hooks")


def test_a_hook_that_is_skipped_does_not_move_findings_to_another(project: Project) -> None:
    nameless = {"type": "command", "command": " ", "timeout": 7}
    strange = {"type": "commnd", "command": "true", "timeout": 8}
    findings = review(project, on("BeforeAgent", nameless, strange, hook(timeout=5)))
    (found,) = [each for each in findings if each.kind == "timeout-seconds"]
    assert found.path[-3:] == ("hooks", 2, "timeout")
    assert found.message.startswith("timeout 5 ")


def test_a_star_and_no_matcher_are_the_same_names(project: Project) -> None:
    definitions: list[dict[str, Any]] = [{"matcher": name, "hooks": [hook()]} for name in ("*", "")]
    only(review(project, {"hooks": {"BeforeTool": definitions}}), "duplicate")


def test_a_user_may_have_misspelt_the_name_of_a_hook(project: Project) -> None:
    scan = on("BeforeAgent", hook(name="secret-scan"))
    user = {"hooks": {"disabled": ["secret-scann"]}}
    finding = only(layered(project, project=scan, user=user), "disabled-unknown")
    assert (finding.severity, finding.fixes) == (WARNING, ())
    assert finding.text == "no hook is called 'secret-scann' here; did you mean secret-scan?"


def test_a_hook_that_is_disabled_twice_is_told_once(project: Project) -> None:
    scan = on("BeforeAgent", hook(name="scan"))
    off = {"hooks": {"disabled": ["scan"]}, "hooksConfig": {"disabled": ["scan"]}}
    findings = layered(project, project=scan, user=off)
    assert brief(findings) == [("disabled", HINT)]
    assert "user/settings.json:4 and does not run" in findings[0].message


def test_one_hook_that_is_disabled_is_one(project: Project) -> None:
    settings = {**on("BeforeAgent", hook()), "hooksConfig": {"enabled": False}}
    finding = only(review(project, settings), "disabled")
    assert finding.message == "this disables hooks: 1 hook does not run"


def test_hooks_on_one_line_are_told_apart(project: Project) -> None:
    skipped = {"type": "zzz", "command": "true", "timeout": 8}
    text = json.dumps(on("BeforeAgent", skipped, hook("ls", timeout=5)))
    (found,) = [each for each in review(project, text) if each.kind == "timeout-seconds"]
    assert found.path[-3:] == ("hooks", 1, "timeout")


def test_what_no_rule_knows_is_told_after_what_one_does(project: Project) -> None:
    settings = {"hooks": {"BeforeAgent": [{"hooks": [{"command": "true"}]}], "AfterAgent": 1}}
    assert [finding.kind for finding in review(project, settings)] == ["type", "settings"]
