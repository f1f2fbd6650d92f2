"""What scripts written for Claude Code must change, from their text alone."""

import pytest

from hookline.migrate.claude_scripts import demands


def messages(text: str, event: str = "PreToolUse") -> list[str]:
    return [f"{demand.line}: {demand.message}" for demand in demands(text, event)]


GUARD = """#!/usr/bin/env python3
import json, sys
event = json.load(sys.stdin)
if event["tool_name"] != "Bash":
    sys.exit(0)
print(json.dumps({"hookSpecificOutput": {
    "hookEventName": "PreToolUse", "permissionDecision": "allow",
    "updatedInput": {"command": "ls"}, "additionalContext": "x"}}))
"""


def test_each_change_has_its_line() -> None:
    assert messages(GUARD) == [
        "4: the tool Bash is called run_shell_command here",
        "8: updatedInput is not read here",
        "8: additionalContext is not read on BeforeTool",
    ]


@pytest.mark.parametrize(
    "script",
    [
        '#!/bin/sh\necho "no" >&2\nexit 2\n',
        "import json\nprint(json.dumps({'decision': 'block', 'reason': 'no'}))\n",
        'echo \'{"hookSpecificOutput": {"permissionDecision": "deny"}}\'\n',
        "# updatedInput would be nice\n// tool_use_id\nexit 0\n",
        "echo 'Read the docs (Edit them)' # tool_name\n",
    ],
)
def test_what_means_the_same_here_can_stay(script: str) -> None:
    assert messages(script) == []


@pytest.mark.parametrize(
    ("event", "script", "message"),
    [
        ("PreToolUse", "case $tool_name in Write) ;; esac", "the tool Write is called write_file"),
        ("PreToolUse", 'if [ "$tool_name" = Bash ]', "the tool Bash is called"),
        ("PreToolUse", "re.match('^(Read|Edit)$', tool_name)", "the tool Edit is called replace"),
        ("PreToolUse", "jq .hook_event_name | grep PreToolUse", "the event PreToolUse is called"),
        ("PreToolUse", "print('defer')", "there is no decision defer here"),
        ("PostToolUse", "jq .tool_response.stdout", "tool_response is what your agent's tool"),
        ("PostToolUse", "exit 2", "a block takes the place of the tool's result"),
        ("PostToolUse", "{'updatedToolOutput': 1}", "updatedToolOutput is not read here"),
        ("Stop", "jq .last_assistant_message", "it is called prompt_response here"),
        ("Stop", "cat $transcript_path", 'transcript_path may be ""'),
        ("PreCompact", "sys.exit(2)", "PreCompress cannot be blocked"),
        ("SessionStart", "echo export A=1 >> $CLAUDE_ENV_FILE", "CLAUDE_ENV_FILE is not set here"),
        ("UserPromptSubmit", "echo 'be brief'", "text on stdout is a message here"),
    ],
)
def test_what_means_something_else_is_found(event: str, script: str, message: str) -> None:
    assert any(message in found for found in messages(script, event))


def test_text_for_the_context_is_seen_in_a_command_whatever_prints_it() -> None:
    assert demands("git status", "SessionStart", is_command=True) != []
    assert demands("git status", "SessionStart") == []
    assert demands("git status", "PreToolUse", is_command=True) == []
