"""``hookline fire --json``: one document on stdout, whatever happened."""

import json
import shlex
from typing import Any

import pytest

from hookline.cli.samples import example
from hookline.wire.events import HookEventName
from tests.cli.command import Done, answer, command_hook, hookline, settings
from tests.cli.conftest import Call
from tests.harness.scratch import Project

KEYS = [
    *("event", "plan", "results", "success", "errors", "all_outputs", "final_output", "view"),
    *("should_stop", "stop_reason", "system_message", "suppress_output", "total_duration_ms"),
]
VIEW = ["blocked", "ask", "stop", "effective_reason", "additional_context", "clear_context"]
# The events whose outputs say more.
SPECIFIC = ("BeforeTool", "BeforeModel", "AfterModel", "BeforeToolSelection")
WRITE = ("--tool", "write_file", "--tool-input", '{"content": "hi"}')
REQUEST = {"model": "m1", "contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
NONE_OF_THEM = {"mode": "NONE", "allowedFunctionNames": []}
RESPONSE = {"candidates": [{"content": {"role": "model", "parts": [{"text": "hello"}]}}]}
MODEL = json.dumps({"model_request": REQUEST, "model_response": RESPONSE})


def fired_in_process(
    project: Project, call: Call, event: str, *arguments: str, hooks: list[dict[str, Any]]
) -> Done:
    file = project.settings(settings(event, *hooks), file="rules.json")
    return call("fire", event, *arguments, "--json", "--settings", str(file))


def fired(project: Project, event: str, *arguments: str, hooks: list[dict[str, Any]]) -> Done:
    file = project.settings(settings(event, *hooks), file="rules.json")
    return hookline("fire", event, *arguments, "--json", "--settings", str(file), cwd=project.path)


def test_the_document_has_everything_about_a_block(project: Project) -> None:
    hook = command_hook("echo 'too late' >&2; echo out; exit 2", name="clock")
    done = fired(project, "BeforeTool", *WRITE, hooks=[hook])
    document = done.document
    assert (done.status, done.err) == (2, "blocked: too late\n")
    assert list(document) == KEYS
    assert document["results"][0].pop("duration_ms") == document["total_duration_ms"] > 0
    assert document["results"] == [
        {
            "hook": "clock",
            "type": "command",
            "source": "user",
            "success": False,
            "stdout": "out\n",
            "stderr": "too late\n",
            "exit_code": 2,
            "output": {"decision": "deny", "reason": "too late"},
        }
    ]
    assert document["plan"] == {"sequential": False, "hooks": ["clock"]}
    assert (document["success"], document["errors"]) == (False, [])
    assert document["final_output"]["decision"] == "deny"
    assert document["view"] == {
        "blocked": True,
        "ask": False,
        "stop": False,
        "effective_reason": "too late",
        "additional_context": None,
        "clear_context": False,
        "tail_tool_call": None,
        "tool_input": None,
    }


def test_it_is_one_line_when_piped(project: Project) -> None:
    hook = command_hook(answer(systemMessage="zwei\nZeilen"), name="h")
    done = fired(project, "BeforeTool", *WRITE, hooks=[hook])
    assert done.out.count("\n") == 1
    assert done.document["system_message"] == "zwei\nZeilen"


def test_failures_and_warnings_are_in_the_document_and_on_stderr(project: Project) -> None:
    hooks = [
        command_hook("exit 7", name="seven"),
        command_hook("kill -9 $$", name="shot"),
        command_hook(answer(decision="maybe"), name="vague"),
    ]
    done = fired(project, "BeforeTool", *WRITE, hooks=hooks)
    seven, shot, vague = done.document["results"]
    assert (seven["failed"], seven["exit_code"]) == ("exit", 7)
    assert (shot["failed"], shot["signal"], "exit_code" in shot) == ("signal", "SIGKILL", False)
    assert len(vague["warnings"]) == 1
    error = done.document["errors"][0]
    assert list(error) == ["code", "message", "stage", "hook"]
    assert (error["code"], error["stage"], error["hook"]) == ("hook_exit", "execution", "seven")
    assert done.err.count("warning: hook ") == 3
    assert done.status == 0


@pytest.mark.parametrize("event", HookEventName)
def test_there_is_a_view_even_when_no_hook_answered(call: Call, event: HookEventName) -> None:
    done = call(*shlex.split(example(event))[1:], "--json")
    assert (done.status, done.err) == (0, "")
    assert (done.document["event"], done.document["plan"]) == (event.value, None)
    assert (done.document["success"], done.document["final_output"]) == (True, None)
    assert list(done.document["view"])[:6] == VIEW
    assert (len(done.document["view"]) > 7) is (event in SPECIFIC)


@pytest.mark.parametrize(
    ("event", "specific", "view"),
    [
        (
            "BeforeModel",
            {"llm_request": {"model": "m2"}},
            {"modified_request": {**REQUEST, "model": "m2"}, "synthetic_response": None},
        ),
        ("BeforeModel", {}, {"modified_request": REQUEST, "synthetic_response": None}),
        ("AfterModel", {}, {"modified_response": None}),
        (
            "BeforeToolSelection",
            {"toolConfig": {"mode": "NONE"}},
            {"tool_selection": {"toolConfig": {"functionCallingConfig": NONE_OF_THEM}}},
        ),
        ("BeforeTool", {"tool_input": {"a": 1}}, {"tool_input": {"a": 1}}),
        ("AfterAgent", {"clearContext": True}, {"clear_context": True}),
    ],
)
def test_the_view_is_in_the_callers_own_terms(
    project: Project, call: Call, event: str, specific: dict[str, Any], view: dict[str, Any]
) -> None:
    fields = {"prompt": "p", "prompt_response": "r", **json.loads(MODEL)}
    tool = WRITE if event == "BeforeTool" else ()
    hook = command_hook(answer(hookSpecificOutput=specific), name="h")
    arguments = ("--input", json.dumps(fields), *tool)
    done = fired_in_process(project, call, event, *arguments, hooks=[hook])
    assert {name: done.document["view"][name] for name in view} == view


RESPONSE_OF_HOOK = {"candidates": [{"content": {"role": "model", "parts": ["cached"]}}]}


def test_a_response_given_by_a_hook_answers_the_call(project: Project) -> None:
    hook = command_hook(answer(hookSpecificOutput={"llm_response": RESPONSE_OF_HOOK}), name="h")
    done = fired(project, "BeforeModel", "--input", MODEL, hooks=[hook])
    assert (done.status, done.err) == (2, "blocked: a hook answers in the model's place\n")
    response = done.document["view"]["synthetic_response"]
    assert response["candidates"][0]["content"]["parts"] == [{"text": "cached"}]


def test_a_request_that_cannot_be_translated_is_a_failure_envelope(project: Project) -> None:
    fields = json.dumps({"model_request": {"contents": 5}})
    done = fired(project, "BeforeModel", "--input", fields, hooks=[command_hook("true")])
    assert done.status == 1
    assert (done.document["success"], done.document["results"]) == (False, [])
    (error,) = done.document["errors"]
    assert (error["code"], error["stage"]) == ("translation_failed", "translation")
    assert done.err == f"failed: {error['message']}\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["BeforTool"], "unsupported_event"),
        (["BeforeAgent"], "invalid_payload"),
        (["BeforeToolSelection", "--input", '{"model_request": 1}'], "invalid_payload"),
        (["BeforeAgent", "--input", "{"], "invalid_payload"),
    ],
)
def test_an_event_that_cannot_be_fired_is_a_failure_envelope(
    call: Call, arguments: list[str], code: str
) -> None:
    done = call("fire", *arguments, "--json")
    assert done.status == 1
    assert list(done.document) == KEYS
    (error,) = done.document["errors"]
    assert (error["code"], error["stage"]) == (code, "validation")
    assert done.document["view"]["blocked"] is False
    assert error["message"] in done.err


def test_disabled_hooks_are_an_empty_success(project: Project) -> None:
    file = project.settings({"enableHooks": False}, file="rules.json")
    done = hookline("fire", "BeforeTool", *WRITE, "--json", "--settings", str(file))
    assert (done.status, done.document["plan"], done.document["success"]) == (0, None, True)
    assert "hooks are disabled" in done.err


def test_untrusted_hooks_are_not_in_the_plan_and_stderr_says_so(project: Project) -> None:
    project.settings(settings("BeforeTool", command_hook("exit 2")))
    done = hookline("fire", "BeforeTool", *WRITE, "--json", cwd=project.path)
    assert (done.status, done.document["plan"]) == (0, None)
    assert (
        "1 project hook is not trusted and did not run; review it with `hookline trust`" in done.err
    )
