"""``hookline test --record``: a test of what hooks say, now or in the trace."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import Done, answer, command_hook, hookline, on_terminal, settings
from tests.cli.conftest import Call
from tests.harness.scratch import Project

WRITE = ("BeforeTool", "--tool", "write_file", "--tool-input")
REFUSED = ".hookline/tests/a-key-is-refused.hooktest.json"


@pytest.fixture
def keys(project: Project) -> Project:
    hook = command_hook('grep -q AKIA || exit 0; echo "no keys in $PWD" >&2; exit 2', name="keys")
    project.settings(settings("BeforeTool", hook))
    os.chdir(project.path)
    return project


def record(call: Call, *arguments: str) -> Done:
    return call("test", "--trust", "--record", *arguments)


def recorded(project: Project, file: str) -> Any:
    return json.loads((project.path / file).read_text())


def test_it_writes_what_the_hooks_said_and_says_what_it_expects(call: Call, keys: Project) -> None:
    text = json.dumps({"content": "AKIA77", "path": f"{keys.path}/a"})
    done = record(call, "A key is refused", *WRITE, text)
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        f"wrote {REFUSED}\n"
        "  expects decision: deny\n"
        "  expects reason: no keys in ${project}\n"
        f"read it, keep what matters, and run it: hookline test --trust {REFUSED}\n"
    )
    assert recorded(keys, REFUSED) == {
        "name": "A key is refused",
        "event": "BeforeTool",
        "tool": "write_file",
        "tool_input": {"content": "AKIA77", "path": "${project}/a"},
        "hooks": ["keys"],
        "expect": {"decision": "deny", "reason": "no keys in ${project}"},
    }
    assert call("test", "--trust").status == 0


@pytest.mark.parametrize(
    ("event", "given", "hook", "expect"),
    [
        (
            "BeforeAgent",
            {"prompt": "Hi"},
            answer(systemMessage="m", hookSpecificOutput={"additionalContext": "c"}),
            {"decision": "allow", "context": "c", "system_message": "m"},
        ),
        (
            "AfterTool",
            {"tool_name": "x", "tool_input": {}, "tool_response": {"llmContent": "y"}},
            answer(suppressOutput=True),
            {"decision": "allow", "suppress_output": True},
        ),
        (
            "PreCompress",
            {"trigger": "manual"},
            answer(hookSpecificOutput={"keepHistory": True}),
            {"decision": "allow", "keep_history": True},
        ),
        (
            "BeforeTool",
            {"tool_name": "x", "tool_input": {"a": 1}},
            answer(decision="ask", hookSpecificOutput={"tool_input": {"a": 2}}),
            {"decision": "ask", "tool_input": {"a": 2}},
        ),
        (
            "SessionStart",
            {"source": "startup"},
            "exit 7",
            {"decision": "allow", "hooks": {"h": {"failed": "exit", "exit_code": 7}}},
        ),
        (
            "BeforeToolSelection",
            {"model_request": {"model": "m", "contents": "Hi"}},
            answer(hookSpecificOutput={"toolConfig": {"mode": "NONE"}}),
            {
                "decision": "allow",
                "llm_request": {"toolConfig": {"mode": "NONE"}},
                "tools": [],
            },
        ),
    ],
)
def test_what_was_recorded_passes(
    call: Call, keys: Project, event: str, given: Any, hook: str, expect: Any
) -> None:
    keys.settings(settings(event, command_hook(hook, name="h")))
    done = record(call, "it", event, "--input", json.dumps(given), "--json")
    assert done.document["test"]["expect"] == expect
    assert call("test", "--trust").status == 0


def test_an_event_without_hooks_is_recorded_as_that(call: Call, project: Project) -> None:
    os.chdir(project.path)
    assert record(call, "alone", *WRITE, "{}").status == 0
    assert recorded(project, ".hookline/tests/alone.hooktest.json")["expect"] == {"no_hooks": True}
    assert call("test").status == 0


def test_at_80_columns_the_command_to_run_it_has_its_own_line(keys: Project) -> None:
    recording = ("test", "--trust", "--record", "a key is refused", *WRITE, "{}")
    done = on_terminal(*recording, cwd=keys.path, NO_COLOR="1")
    assert done.out.endswith(
        f"read it, keep what matters, and run it:\n  hookline test --trust {REFUSED}\n"
    )


def test_a_file_is_never_replaced_unasked(call: Call, keys: Project) -> None:
    keys.write(REFUSED, "mine")
    done = record(call, "a key is refused", *WRITE, "{}")
    assert done.status == 1
    assert done.err == (
        f"hookline: {REFUSED} already exists; pass --force to replace it, or another name\n"
    )
    assert (keys.path / REFUSED).read_text() == "mine"
    done = record(call, "a key is refused", *WRITE, "{}", "--force")
    assert done.out.startswith(f"replaced {REFUSED}\n")


def test_the_document_says_which_file_was_written_and_whether_another_was_replaced(
    call: Call, keys: Project
) -> None:
    for more, replaced in (((), False), (("--force",), True)):
        document = record(call, "a key is refused", *WRITE, "{}", "--json", *more).document
        assert (document["file"], document["replaced"]) == (str(keys.path / REFUSED), replaced)


def test_a_name_may_be_a_path(call: Call, keys: Project) -> None:
    assert record(call, "checks/keys", *WRITE, "{}").status == 0
    assert recorded(keys, "checks/keys.hooktest.json")["name"] == "keys"


def test_hooks_nobody_trusts_are_not_recorded(call: Call, keys: Project) -> None:
    done = call("test", "--record", "x", *WRITE, "{}")
    assert done.status == 1
    assert done.err == (
        "hookline: keys is not trusted and did not run; "
        "review the project's hooks with `hookline trust`, or pass --trust\n"
    )
    assert not (keys.path / ".hookline/tests").exists()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["--record", "x"],
            "--record needs one event, as fire does; try: hookline test --record x B",
        ),
        (
            ["--record", "x", "BeforTool"],
            "'BeforTool' is not a hook event; did you mean BeforeTool",
        ),
        (["--record", "x", "BeforeAgent"], "prompt is missing; try: hookline fire BeforeAgent"),
        (["--record", "!", "BeforeAgent"], "'!' cannot be the name of a test; use letters"),
        (
            ["--record", "x", "--watch"],
            "--record only writes a test; pass the options for a run when",
        ),
        (["--record", "x", "--junit", "out.xml"], "--record only writes a test"),
        (["--record", "x", "-k", "key"], "--record only writes a test"),
        (["--record", "x", "--fail-fast"], "--record only writes a test"),
        (["--record", "x", "--from-trace", "abc"], "there is no event abc in the log; `hookline"),
        (["--record", "x", "A", "--from-trace", "a"], "--from-trace has the event and its input"),
        (
            ["--record", "x", "--input", "{}", "--from-trace", "a"],
            "--from-trace has the event and its input",
        ),
        (["--record", "x", "--tool", "t", "--from-trace", "a"], "--from-trace has the event and"),
        (
            ["--record", "x", "--tool-input", "{}", "--from-trace", "a"],
            "--from-trace has the event and its input",
        ),
        (["--tool", "x"], "--tool is for --record NAME; add that"),
        (["--input", "{}"], "--input is for --record NAME; add that"),
        (["--force"], "--force is for --record NAME; add that"),
        (["--watch", "--json"], "--json prints one document"),
    ],
)
@pytest.mark.usefixtures("keys")
def test_bad_usage_says_what_to_do(call: Call, arguments: list[str], problem: str) -> None:
    done = call("test", *arguments)
    assert (done.status, done.out) == (1, "")
    assert problem in done.err


def fire_traced(project: Project, *arguments: str) -> str:
    """The id of an event that was fired with a trace."""
    done = hookline("fire", *arguments, "--trust", cwd=project.path, HOOKLINE_TRACE="1")
    assert done.status in (0, 2), done.err
    trace = Path(os.environ["XDG_STATE_HOME"], "hookline", "trace.jsonl")
    return str(json.loads(trace.read_text().splitlines()[-1])["id"])


def test_an_event_of_the_trace_becomes_a_test(call: Call, keys: Project) -> None:
    fire_traced(keys, *WRITE, '{"content": "fine"}')
    traced = fire_traced(keys, *WRITE, '{"content": "AKIA77"}')
    done = record(call, "a key is refused", "--from-trace", traced)
    assert (done.status, done.err) == (0, "")
    assert recorded(keys, REFUSED) == {
        "name": "a key is refused",
        "event": "BeforeTool",
        "tool": "write_file",
        "tool_input": {"content": "AKIA77"},
        "hooks": ["keys"],
        "expect": {"decision": "deny", "reason": "no keys in ${project}"},
    }
    assert call("test", "--trust").status == 0


def test_a_model_request_of_the_trace_is_one_that_can_be_fired(call: Call, keys: Project) -> None:
    change = answer(hookSpecificOutput={"llm_request": {"config": {"temperature": 0}}})
    keys.settings(settings("BeforeModel", command_hook(change, name="cool")))
    request = {"model_request": {"model": "m", "contents": "Hello"}}
    traced = fire_traced(keys, "BeforeModel", "--input", json.dumps(request))
    assert record(call, "cool", "--from-trace", traced).status == 0
    assert call("test", "--trust").status == 0


def test_what_the_trace_has_clipped_is_refused(call: Call, keys: Project) -> None:
    traced = fire_traced(keys, *WRITE, json.dumps({"content": "x" * 20_000}))
    done = record(call, "long", "--from-trace", traced)
    assert done.status == 1
    assert "has values too long for the trace" in done.err


def test_the_beginning_of_an_id_is_enough_if_only_one_event_has_it(
    call: Call, keys: Project
) -> None:
    traced = fire_traced(keys, *WRITE, '{"content": "AKIA77"}')
    trace = Path(os.environ["XDG_STATE_HOME"], "hookline", "trace.jsonl")
    lines = trace.read_text()
    trace.write_text("".join(lines.replace(traced, id) for id in ("ab", "ab1", "cd23")))
    done = record(call, "short", "--from-trace", "a")
    assert (done.status, "a is the beginning of a" in done.err) == (1, True)
    for number, id in enumerate(("ab", "ab1", "cd", "cd23")):
        assert record(call, f"of {number}", "--from-trace", id).status == 0


def test_an_event_that_no_hook_ran_on_cannot_become_a_test(call: Call, keys: Project) -> None:
    keys.settings(settings("BeforeTool", command_hook("true"), matcher="read_file"))
    traced = fire_traced(keys, *WRITE, '{"content": "fine"}')
    done = record(call, "none", "--from-trace", traced)
    assert done.status == 1
    assert f"no hook ran on {traced}, so its input is not in the trace" in done.err
