"""Hook tests of the model's events, in the form that hooks read and in that of an SDK."""

import json
import os
from typing import Any

import pytest

from tests.cli.command import answer, command_hook, settings
from tests.cli.conftest import Call
from tests.cli.hooktesting import failures_of, run
from tests.cli.test_test_record import fire_traced, record, recorded
from tests.harness.scratch import Project

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "config": {}}
OWN = {"llm_request": ASKED}
OWN_ANSWER = {**OWN, "llm_response": {"text": "key AKIA77"}}
GENAI = {"model_request": {"model": "m", "contents": "Hello"}}
GENAI_ANSWER = {
    **GENAI,
    "model_response": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "key AKIA77"}]}}]
    },
}
OPENAI = {
    "model_request": {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [
            {"type": "function", "function": {"name": name, "parameters": {}}}
            for name in ("read_file", "write_file")
        ],
    }
}
REDACTS = answer(hookSpecificOutput={"llm_response": {"text": "key [redacted]"}})
ANSWERS = answer(hookSpecificOutput={"llm_response": {"text": "From the cache"}})
COOLS = answer(hookSpecificOutput={"llm_request": {"config": {"temperature": 0}}})
REWRITES = answer(
    hookSpecificOutput={
        "llm_request": {
            "messages": [
                {"role": "system", "content": "Be brief"},
                {"role": "user", "content": "Hello"},
            ]
        }
    }
)
NARROWS = answer(
    hookSpecificOutput={"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["read_file"]}}
)
NO_TOOLS = answer(hookSpecificOutput={"toolConfig": {"mode": "NONE"}})
DENIES = answer(decision="deny", reason="no keys")
# Event, input, hook, and what is expected where all is well.
HOLDING = [
    ("AfterModel", OWN_ANSWER, REDACTS, {"llm_response": {"text": "key [redacted]"}}),
    ("AfterModel", GENAI_ANSWER, REDACTS, {"llm_response": {"text": "key [redacted]"}}),
    (
        "AfterModel",
        OWN_ANSWER,
        REDACTS,
        {"llm_response": {"candidates": [{"content": {"parts": ["key [redacted]"]}}]}},
    ),
    ("AfterModel", OWN_ANSWER, "true", {"llm_response": {"text": {"contains": "AKIA77"}}}),
    ("AfterModel", OWN_ANSWER, DENIES, {"blocked": True, "llm_response": {"text": "no keys"}}),
    ("BeforeModel", OWN, ANSWERS, {"blocked": True, "llm_response": {"text": "From the cache"}}),
    ("BeforeModel", GENAI, ANSWERS, {"llm_response": {"text": {"matches": "^From"}}}),
    ("BeforeModel", OWN, COOLS, {"llm_request": {"config": {"temperature": 0}}}),
    ("BeforeModel", OPENAI, COOLS, {"llm_request": {"config": {"temperature": 0}}}),
    ("BeforeModel", OWN, COOLS, {"llm_response": None, "llm_request": {"model": "m"}}),
    (
        "BeforeModel",
        OWN,
        REWRITES,
        {"llm_request": {"messages": [{"role": "system"}, {"content": "Hello"}]}},
    ),
    ("BeforeModel", OWN, "true", {"llm_request": {"equals": ASKED}}),
    (
        "BeforeToolSelection",
        {**OWN, "available_tools": ["read_file", "write_file"]},
        NARROWS,
        {"tools": ["read_file"], "llm_request": {"toolConfig": {"mode": "ANY"}}},
    ),
    ("BeforeToolSelection", OPENAI, NARROWS, {"tools": {"not": {"contains": "write_file"}}}),
    ("BeforeToolSelection", OWN, NO_TOOLS, {"tools": []}),
    ("BeforeToolSelection", OWN, "true", {"tools": None}),
]


@pytest.mark.parametrize(("event", "given", "hook", "expect"), HOLDING)
def test_what_hooks_do_to_a_model_is_expected_in_the_form_that_they_read(
    call: Call,
    project: Project,
    event: str,
    given: dict[str, Any],
    hook: str,
    expect: dict[str, Any],
) -> None:
    project.settings(settings(event, command_hook(hook)))
    assert failures_of(call, project, {"event": event, "input": given, "expect": expect}) == []


@pytest.mark.parametrize(
    ("event", "given", "hook", "expect", "differs"),
    [
        (
            "AfterModel",
            OWN_ANSWER,
            "true",
            {"llm_response": {"text": "key [redacted]"}},
            ("llm_response.text", "key [redacted]", "key AKIA77"),
        ),
        (
            "BeforeModel",
            OWN,
            "true",
            {"llm_response": {"text": "From the cache"}},
            ("llm_response", {"text": "From the cache"}, None),
        ),
        (
            "BeforeToolSelection",
            OWN,
            NARROWS,
            {"tools": ["write_file", "read_file"]},
            ("tools", ["read_file", "write_file"], ["read_file"]),
        ),
        ("BeforeToolSelection", OWN, "true", {"tools": ["a"]}, ("tools", ["a"], None)),
    ],
)
def test_what_differs_is_shown_in_that_form_too(
    call: Call,
    project: Project,
    event: str,
    given: dict[str, Any],
    hook: str,
    expect: dict[str, Any],
    differs: tuple[str, Any, Any],
) -> None:
    project.settings(settings(event, command_hook(hook)))
    (failure,) = failures_of(call, project, {"event": event, "input": given, "expect": expect})
    assert (failure["at"], failure["expected"], failure.get("actual")) == differs


def test_the_request_and_the_response_may_stand_beside_the_event(
    call: Call, project: Project
) -> None:
    project.settings(settings("AfterModel", command_hook(REDACTS)))
    tests = {
        "$schema": "./hooktest.schema.json",
        "event": "AfterModel",
        "llm_request": {"messages": [{"role": "user", "content": "Hello"}]},
        "tests": [
            {
                "name": "a key is hidden",
                "llm_response": {"text": "key AKIA77"},
                "expect": {"llm_response": {"text": "key [redacted]"}},
            }
        ],
    }
    file = project.write("t.hooktest.json", json.dumps(tests))
    done = run(call, project, str(file))
    assert (done.status, done.err) == (0, "")


def test_a_request_that_nobody_can_read_fails_its_test_with_the_reason(
    call: Call, project: Project
) -> None:
    project.settings(settings("BeforeModel", command_hook("true")))
    request = {"model": "m", "config": {}, "messages": [{"role": "user", "content": 7}]}
    test = {"event": "BeforeModel", "llm_request": request, "expect": {"llm_request": {}}}
    failures = failures_of(call, project, test)
    assert "messages[0].content must be a string, not int" in failures[0]["message"]


@pytest.mark.parametrize(
    ("event", "given", "hook", "expect"),
    [
        ("BeforeModel", OWN, COOLS, {"llm_request": {"config": {"temperature": 0}}}),
        (
            "BeforeModel",
            OWN,
            ANSWERS,
            {
                "decision": "deny",
                "llm_response": {"text": "From the cache"},
            },
        ),
        ("BeforeModel", GENAI, DENIES, {"decision": "deny", "reason": "no keys"}),
        ("AfterModel", OWN_ANSWER, REDACTS, {"llm_response": {"text": "key [redacted]"}}),
        ("AfterModel", GENAI_ANSWER, REDACTS, {"llm_response": {"text": "key [redacted]"}}),
        ("AfterModel", OWN_ANSWER, DENIES, {"decision": "deny", "reason": "no keys"}),
        (
            "AfterModel",
            OWN_ANSWER,
            answer(
                hookSpecificOutput={
                    "llm_response": {
                        "candidates": [{"content": {"parts": ["x"]}, "finishReason": "SAFETY"}]
                    }
                }
            ),
            {"llm_response": {"text": "x", "candidates": [{"finishReason": "SAFETY"}]}},
        ),
        (
            "BeforeToolSelection",
            {**OWN, "available_tools": ["read_file", "write_file"]},
            NARROWS,
            {"llm_request": {"toolConfig": {"mode": "ANY"}}, "tools": ["read_file"]},
        ),
    ],
)
def test_what_hooks_do_to_a_model_is_recorded_in_the_form_that_they_read(
    call: Call,
    project: Project,
    event: str,
    given: dict[str, Any],
    hook: str,
    expect: dict[str, Any],
) -> None:
    os.chdir(project.path)
    project.settings(settings(event, command_hook(hook, name="h")))
    done = record(call, "it", event, "--input", json.dumps(given), "--json")
    assert done.document["test"]["expect"] == {"decision": "allow", **expect}
    assert call("test", "--trust").status == 0


def test_an_event_of_the_trace_is_recorded_as_hooks_read_it(call: Call, project: Project) -> None:
    os.chdir(project.path)
    project.settings(settings("AfterModel", command_hook(REDACTS, name="redact")))
    traced = fire_traced(project, "AfterModel", "--input", json.dumps(GENAI_ANSWER))
    assert record(call, "redacted", "--from-trace", traced).status == 0
    test = recorded(project, ".hookline/tests/redacted.hooktest.json")
    assert test["llm_request"] == ASKED
    assert test["llm_response"]["text"] == "key AKIA77"
    assert test["expect"] == {"decision": "allow", "llm_response": {"text": "key [redacted]"}}
    assert call("test", "--trust").status == 0
