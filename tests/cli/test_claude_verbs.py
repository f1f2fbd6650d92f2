"""The verbs that fire events, by Claude Code's names and on its hooks."""

import json
import os
import shlex
from typing import Any

import pytest

from hookline.cli.samples import example
from hookline.dialects.claude.events import EVENT_NAMES
from tests.cli.command import Done, hookline
from tests.cli.conftest import Call
from tests.dialects.claude.claude import PROJECT_FILE, hooks, plugin
from tests.harness.scratch import Project

GUARD = "echo 'push from CI' >&2; exit 2"


def on_claude(project: Project, **events: Any) -> Project:
    """A project with Claude Code's hooks: an event, and a command or the whole definition."""
    listed = {
        event: [
            said
            if isinstance(said, dict)
            else {"hooks": [{"type": "command", "command": said, "name": event.lower()}]}
        ]
        for event, said in events.items()
    }
    project.settings({"hooks": listed}, file=PROJECT_FILE)
    os.chdir(project.path)
    return project


def fire(call: Call, event: str, *arguments: str, **fields: Any) -> Done:
    given = ["--input", json.dumps(fields)] if fields else []
    return call("fire", event, "--claude", "--trust", *given, *arguments)


def guarded(project: Project) -> Project:
    hook = {"type": "command", "command": GUARD, "name": "guard", "if": "Bash(git push:*)"}
    return on_claude(project, PreToolUse={"matcher": "Bash", "hooks": [hook]})


@pytest.mark.parametrize(
    ("event", "tool"),
    [
        ("PreToolUse", "Bash"),
        ("PreToolUse", "run_shell_command"),
        ("BeforeTool", "run_shell_command"),
    ],
)
def test_either_family_s_name_fires_the_same_hooks(
    call: Call, project: Project, event: str, tool: str
) -> None:
    guarded(project)
    done = fire(call, event, "--tool", tool, "--tool-input", '{"command": "cd x && git push"}')
    assert (done.status, done.err) == (2, "blocked: push from CI\n")
    assert done.out.startswith("BeforeTool  run_shell_command\n")
    done = fire(call, event, "--tool", tool, "--tool-input", '{"command": "git status"}', "--json")
    assert (done.status, done.document["event"]) == (0, "BeforeTool")
    assert done.document["results"] == []


def test_nothing_of_claude_codes_is_fired_unless_somebody_asks(
    call: Call, project: Project
) -> None:
    guarded(project)
    line = ["PreToolUse", "--tool", "Bash", "--tool-input", '{"command": "git push"}', "--trust"]
    assert call("fire", *line).status == 0
    project.settings({"claude": True})
    assert call("fire", *line).status == 2


def test_a_plugin_s_hooks_are_fired(call: Call, project: Project) -> None:
    plugin(project.path / "plug", hooks('echo "$CLAUDE_PLUGIN_ROOT" >&2; exit 2'))
    os.chdir(project.path)
    line = ["--tool", "Bash", "--tool-input", "{}", "--plugin", "plug"]
    done = call("fire", "PreToolUse", *line)
    assert (done.status, done.err) == (2, f"blocked: {os.path.realpath(project.path)}/plug\n")


def test_what_a_hook_hands_to_the_session_is_shown(call: Call, project: Project) -> None:
    specific = {"hookEventName": "PreToolUse", "updatedInput": {}}
    rewritten = {"hookSpecificOutput": specific}
    on_claude(
        project,
        SessionStart='echo "export MODE=hard" >> "$CLAUDE_ENV_FILE"',
        PreCompact="exit 2",
        PreToolUse=f"echo '{json.dumps(rewritten)}'",
    )
    started = fire(call, "SessionStart", source="startup")
    assert "variables:" in started.out
    assert "MODE" in started.out
    assert "hard" not in started.out
    assert "kept as it is" in fire(call, "PreCompact", trigger="auto").out
    called = fire(call, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert "taken out of the input:" in called.out
    assert "command" in called.out


@pytest.mark.parametrize(
    ("event", "fields", "read"),
    [
        (
            "PostToolUse",
            {
                "tool_name": "Bash",
                "tool_input": {"command": "ls"},
                "tool_response": {"stdout": "a"},
            },
            {
                "hook_event_name": "PostToolUse",
                "tool_name": "Bash",
                "tool_response": {"stdout": "a"},
            },
        ),
        (
            "PostToolUseFailure",
            {"tool_name": "Write", "tool_input": {"file_path": "/a"}, "error": "disk full"},
            {"hook_event_name": "PostToolUseFailure", "tool_name": "Write", "error": "disk full"},
        ),
        ("UserPromptSubmit", {"prompt": "hi"}, {"hook_event_name": "UserPromptSubmit"}),
        ("Stop", {"stop_hook_active": True}, {"stop_hook_active": True}),
        ("SessionStart", {"source": "compact"}, {"source": "compact"}),
        ("PreCompact", {"trigger": "auto"}, {"trigger": "auto"}),
        (
            "SubagentStop",
            {"agent_id": "a-1", "agent_type": "Explore"},
            {"agent_id": "a-1", "agent_type": "Explore", "stop_hook_active": False},
        ),
    ],
)
def test_a_hook_reads_the_event_in_its_own_words(
    call: Call, project: Project, event: str, fields: dict[str, Any], read: dict[str, Any]
) -> None:
    on_claude(project, **{event: "cat > got.json"})
    assert fire(call, event, **fields).status == 0
    got = json.loads((project.path / "got.json").read_text())
    assert {name: got[name] for name in read} == read


def test_an_input_says_itself_in_whose_words_it_is(call: Call, project: Project) -> None:
    guarded(project)
    claudes = {"tool_name": "Bash", "hook_event_name": "PreToolUse"}
    ours = {"tool_name": "run_shell_command", "hook_event_name": "BeforeTool"}
    for event in ("BeforeTool", "PreToolUse"):
        for said in (claudes, ours):
            assert fire(call, event, **said, tool_input={"command": "git push"}).status == 2
    done = fire(call, "PostToolUse", hook_event_name="PostToolUseFailure")
    assert "fire PostToolUseFailure, or leave it out" in done.err


def test_a_permission_request_is_settled_by_hooks(call: Call, project: Project) -> None:
    said = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no"}}
    on_claude(project, PermissionRequest=f"echo '{json.dumps({'hookSpecificOutput': said})}'")
    done = fire(call, "PermissionRequest", "--tool", "Bash", "--tool-input", "{}")
    assert (done.status, done.err) == (2, "blocked: no\n")


def test_every_event_of_claude_codes_has_a_command_line_that_works(
    call: Call, project: Project
) -> None:
    os.chdir(project.path)
    for event in EVENT_NAMES:
        done = call(*shlex.split(example(event))[1:])
        assert (done.status, done.err) == (0, ""), event
        assert "no hook matched" in done.out


def test_a_missing_field_is_named_with_such_a_command_line(call: Call) -> None:
    done = call("fire", "SubagentStart", "--input", "{}")
    assert done.status == 1
    assert "SubagentStart input: agent_id" in done.err
    assert f"try: {example('SubagentStart')}" in done.err
    document = call("fire", "PreToolUse", "--tool", "Bash", "--json").document
    assert document["errors"][0]["code"] == "invalid_payload"


@pytest.mark.parametrize(
    ("name", "said"),
    [("PreToolUs", "did you mean PreToolUse or"), ("xyzzy", "and Claude Code's (PreToolUse, …)")],
)
def test_a_name_of_neither_family_is_told_with_both(call: Call, name: str, said: str) -> None:
    done = call("fire", name)
    assert done.status == 1
    assert said in done.err


def test_two_fields_for_one_of_the_host_s_are_no_event(call: Call, project: Project) -> None:
    os.chdir(project.path)
    called = json.dumps({"file_path": "a", "absolute_path": "b"})
    done = call("fire", "PreToolUse", "--tool", "Read", "--tool-input", called, "--json")
    assert done.status == 1
    assert "absolute_path" in done.document["errors"][0]["message"]


def test_check_reads_claude_codes_files_when_asked(call: Call, project: Project) -> None:
    project.script("hooks/ok.sh", "#!/bin/sh\n")
    hook = {"type": "command", "command": "hooks/ok.sh", "tiemout": 5}
    on_claude(project, PreToolUse={"matcher": "Bash", "hooks": [hook]}, TaskCreated="hooks/ok.sh")
    place = ".claude/settings.json"
    done = call("check")
    assert (done.status, done.err) == (1, "")
    assert done.out.splitlines()[0] == (
        f"{place}:2:12: hint: the Claude Code hooks in this file are not read; "
        'pass --claude, or write "claude": true into your settings'
    )
    done = call("check", "--claude")
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines() == [
        (
            f"{place}:10:13: warning: 'tiemout' is not a key of a hook and has no effect; "
            "did you mean timeout?"
        ),
        (
            f"{place}:15:5: warning: this host does not fire TaskCreated unless the agent fires "
            'it by name; call hooks.fire_claude_event("TaskCreated", …) in the agent'
        ),
        "",
        "2 hooks in 1 file: 2 warnings",
        "`hookline check --fix` fixes 1 of these; --diff shows how",
        "the project's hooks run after you trust them with `hookline trust --claude`",
    ]
    assert call("check", "--claude", "--fix").status == 0
    assert '"timeout": 5' in (project.path / place).read_text()
    assert call("trust", "--claude", "--yes").status == 0
    assert "after you trust them" not in call("check", "--claude").out


def test_check_reads_a_plugin_and_a_file_that_is_given(call: Call, project: Project) -> None:
    plugin(project.path / "plug", hooks("python3 $CLAUDE_PLUGIN_ROOT/gone.py"))
    os.chdir(project.path)
    done = call("check", "--plugin", "plug", "--json")
    assert done.status == 1
    (finding,) = done.document["findings"]
    assert (finding["rule"], finding["event"]) == ("script-missing", "PreToolUse")
    given = project.settings(hooks("true", event="BeforeTool"), file="other/.claude/settings.json")
    done = call("check", "--settings", str(given), "--json")
    assert [each["rule"] for each in done.document["findings"]] == ["unknown-event"]


def test_bench_measures_a_hook_whatever_calls_it_is_for(call: Call, project: Project) -> None:
    guarded(project)
    for event in ("PreToolUse", "BeforeTool"):
        done = call(
            "bench", "guard", "--claude", "--trust", "--runs", "1", "--event", event, "--json"
        )
        assert (done.status, done.err) == (0, "")
        assert done.document["event"] == "BeforeTool"
        assert done.document["input"]["tool_name"] == "Bash"
        assert done.document["times"]["hook"]["failed_runs"] == 0
    done = call("bench", "guard", "--claude", "--trust", "--event", "PostToolUse")
    assert done.err == "hookline: guard is not for PostToolUse but for PreToolUse\n"


@pytest.mark.parametrize(
    ("event", "matcher"),
    [
        ("PostToolUse", "mcp__github__push"),
        ("SessionStart", "compact"),
        ("SubagentStop", "Explore"),
        ("Notification", "idle_prompt"),
    ],
)
def test_bench_makes_up_an_event_that_the_matcher_matches(
    call: Call, project: Project, event: str, matcher: str
) -> None:
    hook = {"type": "command", "command": "true", "name": "it"}
    on_claude(project, **{event: {"matcher": matcher, "hooks": [hook]}})
    done = call("bench", "it", "--claude", "--trust", "--runs", "1", "--json")
    assert (done.status, done.err) == (0, "")
    assert matcher in done.document["input"].values()


@pytest.mark.parametrize(
    "hook",
    [{"type": "http", "url": "https://example.org/"}, {"type": "prompt", "prompt": "Safe?"}],
)
def test_bench_measures_processes_alone(call: Call, project: Project, hook: Any) -> None:
    on_claude(project, Stop={"hooks": [{**hook, "name": "it"}]})
    done = call("bench", "it", "--claude", "--trust")
    assert done.status == 1
    assert f"it is a hook of type {hook['type']}, which starts no process to measure" in done.err


def test_trace_finds_events_by_either_name(
    call: Call, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_TRACE", "1")
    guarded(project)
    settings = json.loads((project.path / PROJECT_FILE).read_text())
    settings["hooks"] |= hooks("echo stay >&2; exit 2", event="SubagentStop")["hooks"]
    project.settings(settings, file=PROJECT_FILE)
    fire(call, "PreToolUse", "--tool", "Bash", "--tool-input", '{"command": "git push"}')
    fire(call, "SubagentStop", agent_id="a", agent_type="Explore")
    for name in ("PreToolUse", "BeforeTool"):
        (event,) = call("trace", "--event", name, "--json").document["events"]
        assert (event["event"], event["decision"]) == ("BeforeTool", "blocked")
    (event,) = call("trace", "--event", "SubagentStop", "--json").document["events"]
    assert (event["target"], event["decision"], event["reason"]) == ("Explore", "blocked", "stay")
    assert call("trace", "--event", "PreToolUs").status == 1


TESTS = """{
  "claude": true,
  "event": "PreToolUse",
  "tool": "Bash",
  "tests": [
    {"name": "a push", "tool_input": {"command": "git push"},
     "expect": {"decision": "deny", "reason": "push from CI"}},
    {"name": "a look", "tool_input": {"command": "git log"}, "expect": {"no_hooks": true}},
    {"name": "ours", "event": "BeforeTool", "tool": "run_shell_command",
     "tool_input": {"command": "git push"}, "expect": {"blocked": true}},
    {"name": "a result", "event": "PostToolUse", "tool_input": {"command": "ls"},
     "input": {"tool_response": {}}, "expect": {"no_hooks": true}},
    {"name": "off", "claude": false, "tool_input": {"command": "git push"},
     "expect": {"no_hooks": true}}
  ]
}"""


REDACTED = {
    "hookEventName": "PostToolUse",
    "updatedToolOutput": {"stdout": "***", "stderr": "", "interrupted": False},
}


def test_hook_tests_are_worded_in_either_family_s_names(call: Call, project: Project) -> None:
    guarded(project).write("claude.hooktest.json", TESTS)
    done = call("test", "--trust", "--json")
    assert done.status == 0, done.out
    assert done.document["summary"]["passed"] == 5


def test_a_hook_that_nobody_trusts_fails_the_test_that_needs_it(
    call: Call, project: Project
) -> None:
    on_failure = {"hooks": [{"type": "command", "command": "true"}]}
    hook = {"type": "command", "command": GUARD, "name": "guard", "if": "Bash(git push:*)"}
    guard = {"matcher": "Bash", "hooks": [hook]}
    on_claude(project, PreToolUse=guard, PostToolUseFailure=on_failure)
    project.write("claude.hooktest.json", TESTS)
    done = call("test", "--json")
    statuses = {test["name"]: test["status"] for test in done.document["tests"]}
    passed = {name for name, status in statuses.items() if status == "passed"}
    assert passed == {"off", "a result"}
    assert len(statuses) == 5


@pytest.mark.parametrize(
    ("event", "command", "fields", "expect"),
    [
        ("UserPromptSubmit", "echo 'two files'", {"prompt": "x"}, {"context": "two files"}),
        (
            "SessionStart",
            """echo 'export A=1' >> "$CLAUDE_ENV_FILE" """,
            {"source": "startup"},
            {"exports": {"A": "1"}},
        ),
        ("PreCompact", "exit 2", {"trigger": "manual"}, {"keep_history": True}),
        (
            "PostToolUse",
            f"echo '{json.dumps({'hookSpecificOutput': REDACTED})}'",
            {"tool_name": "Bash", "tool_input": {}, "tool_response": {"stdout": "secret"}},
            {"tool_output": "***"},
        ),
    ],
)
def test_what_hooks_of_claude_codes_do_can_be_expected_and_is_recorded(
    call: Call, project: Project, event: str, command: str, fields: Any, expect: Any
) -> None:
    on_claude(project, **{event: command})
    line = [event, "--claude", "--trust", "--input", json.dumps(fields)]
    done = call("test", "--record", "it", *line, "--json")
    assert (done.status, done.err) == (0, "")
    test = done.document["test"]
    assert (test["event"], test["claude"]) == (event, True)
    project.write("more.hooktest.json", json.dumps({**test, "expect": expect}))
    done = call("test", "--trust", "--json")
    assert done.document["summary"]["passed"] == 2, done.out


def test_a_recorded_test_of_a_plugin_is_run_with_it(project: Project) -> None:
    plugin(project.path / "plug", hooks("exit 2"))
    line = ["PreToolUse", "--plugin", "plug", "--tool", "Bash", "--tool-input", "{}"]
    done = hookline("test", "--record", "it", *line, cwd=project.path)
    assert done.status == 0
    last = done.out.splitlines()[-1].partition("run it: hookline ")[2]
    assert "--plugin plug" in last
    assert hookline(*shlex.split(last), cwd=project.path).status == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"event": "PreToolUs"}, "did you mean"),
        ({"event": "Zzz"}, "and Claude Code's (PreToolUse, …)"),
        ({"event": "PreToolUse", "tool": "Bash"}, "PreToolUse input: tool_input must be an object"),
        ({"event": "Stop", "tool": "Bash"}, "not for Stop"),
        ({"event": "Stop", "plugins": ["x"]}, "'plugins' has no meaning in a test"),
        ({"event": "Stop", "claude": 1}, "claude must be true or false"),
    ],
)
def test_what_is_wrong_in_such_a_test_gets_its_place(
    call: Call, project: Project, fields: Any, said: str
) -> None:
    project.write("x.hooktest.json", json.dumps({"expect": {}, **fields}))
    os.chdir(project.path)
    assert said in call("test").err
