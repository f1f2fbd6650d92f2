"""``hookline fire`` for people and for scripts: the exit status, stdout, and stderr."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import answer, command_hook, hookline, settings, timeless
from tests.cli.conftest import Call
from tests.harness.scratch import Project

WRITE = ("fire", "BeforeTool", "--tool", "write_file", "--tool-input", '{"content": "hi"}')


def rules(project: Project, event: str, *hooks: dict[str, Any], **more: Any) -> tuple[str, str]:
    """The option for a settings file of the caller's own, which needs no trust."""
    return "--settings", str(project.settings(settings(event, *hooks, **more), file="rules.json"))


def test_an_allowed_event_exits_0_and_shows_the_hook(project: Project) -> None:
    hook = command_hook(answer(decision="allow", reason="fine by me"), name="yes")
    done = hookline(*WRITE, *rules(project, "BeforeTool", hook), cwd=project.path)
    assert (done.status, done.err) == (0, "")
    assert timeless(done.out) == (
        "BeforeTool  write_file\n  yes  user 0 ms  allow  fine by me\nallowed\n"
    )


def test_a_blocked_event_exits_2_with_the_reason_last_on_stderr(project: Project) -> None:
    hook = command_hook("echo 'not on Fridays' >&2; exit 2", name="no")
    done = hookline(*WRITE, *rules(project, "BeforeTool", hook), cwd=project.path)
    assert (done.status, done.err) == (2, "blocked: not on Fridays\n")
    assert timeless(done.out) == ("BeforeTool  write_file\n  no  user 0 ms  deny  not on Fridays\n")


@pytest.mark.parametrize(
    ("fields", "status", "out", "err"),
    [
        ({"decision": "ask", "reason": "sure?"}, 3, "", "ask: sure?\n"),
        ({"decision": "ask"}, 3, "", "ask: No reason provided\n"),
        ({"continue": False, "stopReason": "enough"}, 2, "", "stop: enough\n"),
        ({"continue": False, "decision": "deny"}, 2, "", "stop: No reason provided\n"),
        ({"decision": "block"}, 2, "", "blocked: No reason provided\n"),
        ({}, 0, "allowed\n", ""),
    ],
)
def test_the_last_line_says_what_an_agent_should_do(
    project: Project, call: Call, fields: dict[str, Any], status: int, out: str, err: str
) -> None:
    hook = command_hook(answer(**fields), name="it")
    done = call(*WRITE, *rules(project, "BeforeTool", hook))
    assert (done.status, done.err) == (status, err)
    assert done.out.endswith(out)


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize(("meaning", "status"), [("block", 2), ("allow", 0)])
def test_a_caller_that_cannot_ask_says_what_a_question_means(
    project: Project, call: Call, meaning: str, status: int, form: list[str]
) -> None:
    hook = command_hook(answer(decision="ask", reason="sure?"), name="it")
    done = call(*WRITE, *rules(project, "BeforeTool", hook), "--on-ask", meaning, *form)
    assert done.status == status
    assert done.err == ("ask: sure?\n" if status else "")
    if not form:
        assert done.out.endswith("  sure?\n" if status else "\nask: sure?\n")


@pytest.mark.parametrize("meaning", [[], ["--on-ask", "allow"]])
def test_what_a_question_means_changes_nothing_else(
    project: Project, call: Call, meaning: list[str]
) -> None:
    block = command_hook(answer(decision="deny", reason="no"), name="no")
    ask = command_hook(answer(decision="ask", reason="sure?"), name="it")
    done = call(*WRITE, *rules(project, "BeforeTool", ask, block), *meaning)
    assert done.status == 2
    assert done.err.startswith("blocked: ")


def test_a_question_where_nobody_can_be_asked_goes_on_and_says_why(
    project: Project, call: Call
) -> None:
    hook = command_hook(answer(decision="ask", reason="sure?"), name="it")
    options = rules(project, "BeforeAgent", hook)
    done = call("fire", "BeforeAgent", "--input", '{"prompt": "hi"}', *options)
    assert done.status == 0
    assert "ask for confirmation on BeforeAgent, which has no effect" in done.err


def test_an_event_that_cannot_be_blocked_goes_on_and_says_why(project: Project) -> None:
    hook = command_hook(answer(decision="deny", reason="stay out"), name="bouncer")
    options = rules(project, "SessionStart", hook)
    done = hookline("fire", "SessionStart", "--input", '{"source": "startup"}', *options)
    assert done.status == 0
    assert done.out.endswith("\nallowed\n")
    assert done.err == (
        "warning: a hook tried to block or stop SessionStart, which has no effect: stay out\n"
    )


def test_no_matching_hook_goes_on(project: Project) -> None:
    options = rules(project, "BeforeTool", command_hook("exit 2"), matcher="replace")
    done = hookline(*WRITE, *options)
    assert done == (0, "BeforeTool  write_file\nno hook matched\n", "")


def test_a_message_is_shown_beside_a_block(project: Project, call: Call) -> None:
    fields = {"decision": "deny", "reason": "not on Fridays", "systemMessage": "hear, hear"}
    options = rules(project, "BeforeTool", command_hook(answer(**fields), name="no"))
    done = call(*WRITE, *options)
    assert (done.status, done.err) == (2, "blocked: not on Fridays\n")
    assert timeless(done.out) == (
        "BeforeTool  write_file\n  no  user 0 ms  deny  not on Fridays\n  message:  hear, hear\n"
    )
    document = call(*WRITE, *options, "--json").document
    assert document["final_output"]["reason"] == "not on Fridays"
    assert document["system_message"] == "hear, hear"


def test_what_hooks_change_is_shown(project: Project) -> None:
    rewrite = {"tool_input": {"content": "bye"}}
    hook = command_hook(
        answer(systemMessage="hear, hear", hookSpecificOutput=rewrite), name="rewriter"
    )
    done = hookline(*WRITE, *rules(project, "BeforeTool", hook))
    assert timeless(done.out) == (
        "BeforeTool  write_file\n"
        "  rewriter  user 0 ms  rewritten\n"
        '  tool input:  {"content":"bye"}\n'
        "  message:     hear, hear\n"
        "allowed\n"
    )


@pytest.mark.parametrize(
    ("event", "specific", "why"),
    [
        ("AfterTool", {"tool_input": {"content": "bye"}}, "it is read only on BeforeTool"),
        ("BeforeTool", {"toolInput": {"content": "bye"}}, "write hookSpecificOutput.tool_input"),
        ("BeforeTool", {"tool_input": "bye"}, "must be an object; it was ignored"),
        ("BeforeTool", {"updatedToolOutput": "bye"}, "it is read only on AfterTool"),
        ("BeforeTool", {"clearContext": True}, "it is read only on AfterAgent"),
        (
            "BeforeTool",
            {"tailToolCallRequest": {"name": "ls", "args": {}}},
            "it is read only on AfterTool",
        ),
    ],
)
def test_what_is_not_applied_is_not_shown_as_a_change_but_warned_of(
    project: Project, event: str, specific: dict[str, Any], why: str
) -> None:
    hook = command_hook(answer(hookSpecificOutput=specific), name="h")
    fields = '{"tool_name": "write_file", "tool_input": {}, "tool_response": {}}'
    done = hookline("fire", event, "--input", fields, *rules(project, event, hook))
    assert timeless(done.out) == f"{event}  write_file\n  h  user 0 ms  ok\nallowed\n"
    assert why in done.err


def test_a_result_that_a_hook_updates_is_shown(project: Project) -> None:
    hook = command_hook(answer(hookSpecificOutput={"updatedToolOutput": "2 files"}), name="h")
    fields = '{"tool_name": "ls", "tool_input": {}, "tool_response": {}}'
    done = hookline("fire", "AfterTool", "--input", fields, *rules(project, "AfterTool", hook))
    assert timeless(done.out) == (
        "AfterTool  ls\n  h  user 0 ms  redacted\n  result:  2 files\nallowed\n"
    )


def test_a_tool_call_to_follow_is_shown(project: Project) -> None:
    tail = {"tailToolCallRequest": {"name": "ls", "args": {}}}
    hook = command_hook(answer(hookSpecificOutput=tail), name="h")
    fields = '{"tool_name": "write_file", "tool_input": {}, "tool_response": {}}'
    done = hookline("fire", "AfterTool", "--input", fields, *rules(project, "AfterTool", hook))
    assert "  tool call to follow:  ls {}\n" in done.out


def test_what_hooks_write_to_stderr_is_shown(project: Project) -> None:
    hook = command_hook("echo one >&2; echo >&2; printf 'two \\033[2J' >&2", name="chatty")
    done = hookline(*WRITE, *rules(project, "BeforeTool", hook))
    assert timeless(done.out) == (
        "BeforeTool  write_file\n"
        "  chatty  user 0 ms  ok\n"
        "  stderr of chatty:\n    one\n\n    two \\x1b[2J\n"
        "allowed\n"
    )


def test_much_of_what_hooks_write_is_left_to_the_document(project: Project, call: Call) -> None:
    hook = command_hook("seq 100 >&2", name="chatty")
    done = call(*WRITE, *rules(project, "BeforeTool", hook))
    lines = done.out.splitlines()
    assert lines[3:5] == ["    1", "    2"]
    assert lines[22:] == ["    20", "    80 more lines; --json has them all", "allowed"]


def test_stderr_that_is_the_reason_or_told_with_a_failure_is_shown_once(
    project: Project, call: Call
) -> None:
    hooks = [
        command_hook("echo not today >&2; exit 2", name="no"),
        command_hook("echo boom >&2; exit 3", name="broken"),
    ]
    done = call(*WRITE, *rules(project, "BeforeTool", *hooks))
    assert "stderr of" not in done.out
    assert (done.out + done.err).count("boom") == 1


def test_added_context_and_a_cleared_one_are_shown(project: Project) -> None:
    fields = '{"prompt": "a", "prompt_response": "b"}'
    for event, specific, line in (
        (
            "BeforeAgent",
            {"additionalContext": "use tabs\nnot spaces"},
            "  context added:  use tabs\n                  not spaces\n",
        ),
        (
            "AfterAgent",
            {"clearContext": True},
            "  context:  cleared\n  output:   not to be shown\n",
        ),
    ):
        hook = command_hook(answer(suppressOutput=True, hookSpecificOutput=specific), name="h")
        done = hookline("fire", event, "--input", fields, *rules(project, event, hook))
        assert line in done.out


@pytest.mark.parametrize(
    ("event", "specific", "line"),
    [
        ("BeforeModel", {"llm_request": {"model": "m2"}}, "request:  model changed"),
        (
            "BeforeModel",
            {"llm_request": {"config": {"temperature": 0.5}}},
            "request:  config.temperature changed",
        ),
        ("BeforeModel", {"llm_response": {"text": "cached"}}, "answer:  cached"),
        ("AfterModel", {"llm_response": {"text": "polite"}}, "response:  polite"),
        (
            "BeforeToolSelection",
            {"toolConfig": {"mode": "ANY", "allowedFunctionNames": ["ls"]}},
            "tools:  mode ANY, only ls",
        ),
    ],
)
def test_changes_to_a_model_call_are_shown(
    project: Project, call: Call, event: str, specific: dict[str, Any], line: str
) -> None:
    options = rules(project, event, command_hook(answer(hookSpecificOutput=specific), name="h"))
    parts = '{"candidates": [{"content": {"role": "model", "parts": [{"text": "rude"}]}}]}'
    request = '{"model": "m1", "contents": "hi", "config": {"temperature": 1}}'
    fields = f'{{"model_request": {request}, "model_response": {parts}}}'
    done = call("fire", event, "--input", fields, *options)
    assert f"  {line}\n" in done.out


def test_every_failure_is_on_stderr_and_the_others_count(project: Project) -> None:
    hooks = [
        command_hook("echo boom >&2; exit 3", name="broken"),
        command_hook("sleep 30", name="slow", timeout=50),
        command_hook("kill -9 $$", name="shot"),
        command_hook(answer(decision="maybe"), name="vague"),
    ]
    done = hookline(*WRITE, *rules(project, "BeforeTool", *hooks))
    assert done.status == 0
    assert timeless(done.out).splitlines()[1:5] == [
        "  broken  user 0 ms  failed  exit 3",
        "  slow    user 0 ms  failed  timeout",
        "  shot    user 0 ms  failed  SIGKILL",
        "  vague   user 0 ms  ok",
    ]
    assert "warning: hook 'broken' on BeforeTool failed: exited with code 3: boom\n" in done.err
    assert "warning: hook 'slow' on BeforeTool failed: ran longer than its timeout" in done.err
    assert "warning: hook 'shot' on BeforeTool failed: was killed by SIGKILL" in done.err
    assert "warning: hook 'vague' on BeforeTool: " in done.err


def test_a_hook_that_fails_closed_blocks(project: Project) -> None:
    hook = command_hook("exit 9", name="scan", onFailure="block")
    done = hookline(*WRITE, *rules(project, "BeforeTool", hook))
    assert done.status == 2
    assert done.err.splitlines()[-1].startswith("blocked: scan failed: exited with code 9")


def test_project_hooks_wait_for_trust_and_the_output_says_so(project: Project) -> None:
    hooks = [command_hook("exit 2", name="a"), command_hook("exit 2", name="b")]
    project.settings(settings("BeforeTool", *hooks))
    for option in ((), ("--no-trust",)):
        done = hookline(*WRITE, *option, cwd=project.path)
        assert (done.status, done.out) == (0, "BeforeTool  write_file\nno hook matched\n")
        assert done.err == (
            "warning: 2 project hooks are not trusted and did not run; "
            "review them with `hookline trust`\n"
        )
    done = hookline(*WRITE, "--trust", cwd=project.path)
    assert (done.status, "not trusted" in done.err) == (2, False)


def test_a_broken_settings_file_is_named_with_its_place_and_the_others_work(
    project: Project,
) -> None:
    project.settings('{\n  "hooks": {,}\n}', file=".hookline/settings.local.json")
    project.settings(settings("BeforeTool", command_hook("exit 2", name="still-here")))
    done = hookline(*WRITE, "--trust", cwd=project.path)
    assert done.status == 2
    warning = done.err.splitlines()[0]
    assert warning.startswith("warning: .hookline/settings.local.json:2:13: is not valid JSON")
    assert done.err.splitlines()[-1] == "blocked: Blocked by hook still-here"


def test_a_bad_entry_is_named_and_its_neighbours_run(project: Project) -> None:
    project.settings(
        {
            "hooks": {
                "BeforTool": [],
                "BeforeTool": [{"hooks": [{"type": "comand"}, command_hook("exit 2", name="ok")]}],
            }
        }
    )
    done = hookline(*WRITE, "--trust", cwd=project.path)
    assert done.status == 2
    assert "BeforTool: is not a hook event and was skipped; did you mean BeforeTool" in done.err
    assert "BeforeTool[0].hooks[0]: has the unknown type 'comand'" in done.err


def test_disabled_hooks_are_said_to_be_and_the_event_goes_on(project: Project) -> None:
    rules = settings("BeforeTool", command_hook("exit 2"))
    file = project.settings({"enableHooks": False, **rules}, file="rules.json")
    done = hookline(*WRITE, "--settings", str(file))
    assert (done.status, done.out) == (0, "BeforeTool  write_file\nno hook matched\n")
    assert done.err == (
        "warning: hooks are disabled in the user's or the system's settings, so none ran\n"
    )


def test_no_interpreter_is_kept_warm_for_one_event(project: Project, call: Call) -> None:
    script = project.write("x.py", "import os\nprint(os.getppid(), file=open('parent', 'w'))\n")
    hook = command_hook(f"{sys.executable} {script}", name="x", warm=True)
    done = call(*WRITE, *rules(project, "BeforeTool", hook), "--cwd", str(project.path))
    assert (done.status, done.err) == (0, "")
    assert (project.path / "parent").read_text() == f"{os.getpid()}\n"


def test_hooks_run_in_the_directory_that_is_asked_for(project: Project, tmp_path: Path) -> None:
    hook = command_hook("pwd -P > where", name="where")
    options = rules(project, "BeforeTool", hook)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert hookline(*WRITE, *options, "--cwd", str(elsewhere)).status == 0
    assert (elsewhere / "where").read_text() == f"{elsewhere.resolve()}\n"


def test_text_of_hooks_cannot_steer_the_terminal(project: Project) -> None:
    hook = command_hook(r"printf '\033[2Jgone\007\302\233\342\200\256x' >&2; exit 2", name="evil")
    done = hookline(*WRITE, *rules(project, "BeforeTool", hook))
    assert done.err == "blocked: \\x1b[2Jgone\\x07\\x9b\\u202ex\n"
    assert done.out.isascii()
    assert "\x1b" not in done.out


def test_hooks_one_after_the_other_are_said_to_be(project: Project) -> None:
    definition = {"sequential": True, "hooks": [command_hook("true", name=n) for n in "ab"]}
    file = project.settings({"hooks": {"BeforeTool": [definition]}}, file="rules.json")
    done = hookline(*WRITE, "--settings", str(file))
    assert done.out.startswith("BeforeTool  write_file  one after the other\n  a  user")


def test_a_terminal_without_unicode_gets_the_text_all_the_same(project: Project) -> None:
    hook = command_hook(answer(decision="allow", reason="déjà vu"), name="h")
    options = rules(project, "BeforeTool", hook)
    done = hookline(*WRITE, *options, PYTHONIOENCODING="ascii")
    assert (done.status, "d\\xe9j\\xe0 vu" in done.out) == (0, True)
