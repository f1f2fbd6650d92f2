"""What ``hookline test`` expects of hooks, and where their tests happen."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import answer, command_hook, settings
from tests.cli.conftest import Call
from tests.cli.hooktesting import failures_of, with_keys
from tests.harness.scratch import Project


@pytest.fixture
def keys(project: Project) -> Project:
    return with_keys(project)


@pytest.mark.parametrize(
    ("expect", "failing"),
    [
        ({"decision": "allow", "context": "be nice", "reason": None}, []),
        ({"blocked": False, "ask": False, "stop": False, "no_hooks": False}, []),
        ({"output": {"hookSpecificOutput": {"additionalContext": {"matches": "^be"}}}}, []),
        ({"hooks": {"nice": {"exit_code": 0, "duration_ms": {"below": 60_000}}}}, []),
        ({"plan": {"hooks": ["nice"]}, "errors": [], "success": True}, []),
        ({"hooks": {"absent": None}}, []),
        ({}, []),
        ({"decision": "block"}, ["decision"]),
        ({"context": {"contains": "mean"}, "system_message": "x"}, ["context", "system_message"]),
        ({"hooks": {"nice": {"exit_code": 2}}}, ["hooks.nice.exit_code"]),
        ({"no_hooks": True}, ["no_hooks"]),
        ({"results": []}, ["results"]),
    ],
)
def test_anything_that_fire_tells_can_be_expected(
    call: Call, project: Project, expect: dict[str, Any], failing: list[str]
) -> None:
    said = answer(hookSpecificOutput={"additionalContext": "be nice"})
    project.settings(settings("BeforeAgent", command_hook(said, name="nice")))
    failures = failures_of(call, project, {"input": {"prompt": "Hi"}, "expect": expect})
    assert [failure["at"] for failure in failures] == failing


@pytest.mark.parametrize(
    ("said", "decision"),
    [
        ({"decision": "block", "reason": "no"}, "deny"),
        ({"continue": False, "stopReason": "no"}, "stop"),
        ({"decision": "ask", "reason": "no"}, "ask"),
    ],
)
def test_each_decision_has_its_word_and_its_reason(
    call: Call, project: Project, said: dict[str, Any], decision: str
) -> None:
    project.settings(settings("BeforeTool", command_hook(answer(**said))))
    test = {"event": "BeforeTool", "tool": "x", "tool_input": {}}
    right = {"decision": decision, "reason": "no"}
    assert failures_of(call, project, {**test, "expect": right}) == []
    (failure,) = failures_of(call, project, {**test, "expect": {"decision": "allow"}})
    assert failure == {"at": "decision", "expected": "allow", "actual": decision}


def test_the_tool_input_is_that_after_rewriting(call: Call, project: Project) -> None:
    change = answer(hookSpecificOutput={"tool_input": {"path": "src/a"}})
    project.settings(settings("BeforeTool", command_hook(change)))
    test = {"event": "BeforeTool", "tool": "x", "tool_input": {"path": "a", "text": "t"}}
    exactly = {"tool_input": {"equals": {"path": "src/a", "text": "t"}}}
    assert failures_of(call, project, {**test, "expect": exactly}) == []


def test_no_hook_at_all_fails_a_test_that_does_not_expect_that(call: Call, keys: Project) -> None:
    misspelt = {"event": "BeforeTool", "tool": "wrte_file", "tool_input": {}}
    (failure,) = failures_of(call, keys, {**misspelt, "expect": {"decision": "allow"}})
    assert failure["message"].startswith("no hook ran on BeforeTool of wrte_file; check the ma")
    assert failures_of(call, keys, {**misspelt, "expect": {"no_hooks": True}}) == []


@pytest.mark.parametrize(
    ("hook", "failed", "end"),
    [
        (command_hook("echo oh >&2; exit 3", name="h"), "exited with code 3: oh", {"exit_code": 3}),
        (command_hook("kill -9 $$", name="h"), "SIGKILL", {"signal": "SIGKILL"}),
        (command_hook("sleep 30", name="h", timeout=50), "timeout of 50 ms", {"failed": "timeout"}),
    ],
)
def test_a_hook_that_fails_fails_a_test_that_does_not_expect_that(
    call: Call, project: Project, hook: dict[str, Any], failed: str, end: dict[str, Any]
) -> None:
    project.settings(settings("BeforeAgent", hook))
    test = {"input": {"prompt": ""}}
    (failure,) = failures_of(call, project, {**test, "expect": {"decision": "allow"}})
    assert failure["message"].startswith("h failed: ")
    assert failed in failure["message"]
    assert failures_of(call, project, {**test, "expect": {"hooks": {"h": end}}}) == []


def test_only_the_hooks_that_are_named_take_part(call: Call, project: Project) -> None:
    hooks = [command_hook("exit 2", name="strict"), command_hook("true", name="easy")]
    data = settings("BeforeAgent", *hooks, command_hook("true", name="off"))
    data["hooks"]["disabled"] = ["off"]
    project.settings(data)
    test = {"input": {"prompt": ""}, "expect": {"decision": "allow"}}
    assert failures_of(call, project, {**test, "hooks": ["easy"]}) == []
    (unknown,) = failures_of(call, project, {**test, "hooks": ["esy"]})
    assert unknown == {"message": "no hook is named 'esy'; did you mean easy?"}
    (disabled,) = failures_of(call, project, {**test, "hooks": ["off"]})
    assert disabled == {"message": "'off' is disabled, so it did not run; enable it"}


def test_files_are_in_the_directory_hooks_run_in_and_gone_afterwards(
    call: Call, project: Project
) -> None:
    command = 'test -x run && test -d empty && ./run "$(cat)" && pwd >&2; exit 2'
    project.settings(settings("BeforeAgent", command_hook(command)))
    files = {"run": '#!/bin/sh\ncase "$1" in *"$PWD/notes"*) ;; *) exit 9;; esac\n', "empty/": ""}
    test = {"input": {"prompt": "${cwd}/notes"}, "files": files}
    assert failures_of(call, project, {**test, "expect": {"reason": "${cwd}"}}) == []
    assert list(Path(os.environ["TMPDIR"]).iterdir()) == []


def test_a_script_of_the_project_is_found_from_among_the_tests_files(
    call: Call, keys: Project
) -> None:
    test = {"event": "BeforeTool", "tool": "replace", "tool_input": {}, "files": {}}
    assert (
        failures_of(call, keys, {**test, "expect": {"hooks": {"no-keys": {"exit_code": 0}}}}) == []
    )


def test_variables_are_set_and_taken_away_for_one_test_only(
    call: Call, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GONE", "here")
    project.settings(settings("BeforeAgent", command_hook('echo "$MODE,$GONE" >&2; exit 2')))
    env = {"MODE": "strict in ${project}", "GONE": None}
    test = {"input": {"prompt": ""}, "env": env, "expect": {"reason": "strict in ${project},"}}
    assert failures_of(call, project, test) == []
    assert (os.environ["GONE"], "MODE" in os.environ) == ("here", False)


def test_model_events_are_tested_with_the_sdks_json(call: Call, project: Project) -> None:
    said = answer(hookSpecificOutput={"llm_request": {"config": {"temperature": 0}}})
    project.settings(settings("BeforeModel", command_hook(said)))
    test = {
        "event": "BeforeModel",
        "input": {"model_request": {"model": "m", "contents": "Hello"}},
        "expect": {"view": {"modified_request": {"config": {"temperature": 0}}}},
    }
    assert failures_of(call, project, test) == []


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ({"files": {"a": "", "a/b": ""}}, "the test cannot be set up: "),
        ({"env": {"A=B": "c"}}, "the test cannot be set up: "),
        ({"env": {"A": "b\0"}}, "the test cannot be set up: embedded null byte"),
    ],
)
def test_a_test_that_cannot_be_set_up_fails_by_itself(
    call: Call, keys: Project, place: dict[str, Any], problem: str
) -> None:
    test = {"event": "BeforeTool", "tool": "replace", "tool_input": {}, "expect": {}}
    (failure,) = failures_of(call, keys, {**test, **place})
    assert failure["message"].startswith(problem)
