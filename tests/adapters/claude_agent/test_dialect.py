"""Hooks of Claude Code's own dialect, run by hookline in an agent of its SDK, with the real
command line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    PermissionResultAllow,
    ToolPermissionContext,
)

from hookline import Hooks, ToolAlias
from hookline._support.notices import heard_warnings
from hookline.adapters.claude_agent import hooked
from tests.adapters.claude_agent.messages import call
from tests.adapters.claude_agent.playing import Event, play
from tests.kit.adapters import Reply

# It writes down what it reads, and says what the file of its event's name holds for a text in it.
SCRIPT = """
import json, os, sys
text = sys.stdin.read()
event = json.loads(text)
here = os.path.join(os.environ["CLAUDE_PROJECT_DIR"], ".claude")
with open(os.path.join(here, "seen.jsonl"), "a") as seen:
    seen.write(text + "\\n")
with open(os.path.join(here, "answers.json")) as answers:
    for part, said in json.load(answers).get(event["hook_event_name"], {}).items():
        if part in text:
            print(said if isinstance(said, str) else json.dumps(said))
            sys.exit()
"""


class Project:
    """A project whose one hook, of all events, answers as it is told."""

    def __init__(self, folder: Path) -> None:
        self.path, self._own = folder, folder / ".claude"
        self._own.mkdir()
        (self._own / "hook.py").write_text(SCRIPT)

    def hook(self, answers: dict[str, dict[str, Any]], *, matcher: str = "") -> Hooks:
        command = f'"{sys.executable}" "$CLAUDE_PROJECT_DIR"/.claude/hook.py'
        group = {"matcher": matcher, "hooks": [{"type": "command", "command": command}]}
        settings = {"hooks": {event: [group] for event in answers}}
        (self._own / "settings.json").write_text(json.dumps(settings))
        (self._own / "answers.json").write_text(json.dumps(answers))
        self.hooks = Hooks.load(self.path, claude=True, trusted=True)
        return self.hooks

    def seen(self, event: str | None = None) -> list[Event]:
        read = map(json.loads, (self._own / "seen.jsonl").read_text().splitlines())
        return [each for each in read if event in (None, each["hook_event_name"])]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    folder = tmp_path / "project"
    folder.mkdir()
    project = Project(folder)
    yield project
    project.hooks.close()


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


async def test_hooks_read_what_claude_code_says_and_decide_about_its_tools(
    project: Project,
) -> None:
    book = project.path / "a.ipynb"
    book.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    rewrite = specific("PreToolUse", updatedInput={"command": "echo dry"})
    rewrite["hookSpecificOutput"]["additionalContext"] = "there are dry runs only"
    denial = specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="no books")
    hooks = project.hook(
        {
            "PreToolUse": {
                "rm -r": {"decision": "block", "reason": "no rm", "systemMessage": "it tried rm"},
                "deploy": rewrite,
                "a.ipynb": denial,
            },
            "PostToolUse": {
                "echo dry": {"decision": "block", "reason": "lint it", "systemMessage": "unlinted"},
                "hunter2": specific("PostToolUse", updatedToolOutput="[removed]"),
            },
            "PostToolUseFailure": {"exit 3": specific("PostToolUseFailure", additionalContext="3")},
        },
        matcher="Bash|NotebookEdit",
    )
    played = await play(
        project.path,
        hooks,
        [
            call("Bash", command="rm -r x"),
            call("Bash", command="deploy", description="Deploy it"),
            call("Bash", command="echo hunter2"),
            call("Bash", command="exit 3"),
            call("Read", file_path=str(book)),
            call(
                "NotebookEdit",
                notebook_path=str(book),
                new_source="1",
                cell_type="code",
                edit_mode="insert",
            ),
            "Done.",
        ],
        rules={"allow": ["Bash", "Read", "NotebookEdit"]},
        options={"tools": ["Bash", "Read", "NotebookEdit"]},
    )
    removed, dry, secret, failed, _, denied = played.tool_results
    assert removed == "PreToolUse:Bash hook error: no rm"
    assert (dry, secret, failed) == ("dry", "[removed]", "Exit code 3")
    assert denied == "PreToolUse:NotebookEdit hook error: no books"
    sent = played.sent()
    assert "there are dry runs only\n\nlint it" in sent
    assert "PostToolUseFailure:Bash hook additional context: 3" in sent
    assert played.notices == [
        "PreToolUse:Bash says: it tried rm",
        "PostToolUse:Bash says: unlinted",
    ]
    assert "it tried rm" not in sent
    assert "unlinted" not in sent
    before, after = project.seen("PreToolUse")[1], project.seen("PostToolUse")[0]
    assert before["tool_input"] == {"command": "deploy", "description": "Deploy it"}
    assert after["tool_input"] == {"command": "echo dry"}
    assert after["tool_response"] == {
        "stdout": "dry",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }
    for event in (before, after):
        assert event["session_id"] == played.session_id
        assert event["transcript_path"].endswith(f"{played.session_id}.jsonl")
        assert (event["cwd"], event["permission_mode"]) == (str(project.path), "default")
        assert (event["tool_name"], event["tool_use_id"]) == ("Bash", "toolu_0002")
    (failure,) = project.seen("PostToolUseFailure")
    assert (failure["error"], failure["is_interrupt"]) == ("Exit code 3", False)
    assert project.seen("PreToolUse")[-1]["tool_input"]["notebook_path"] == str(book)


PERMITTING = {
    "PermissionRequest": {
        "touch yes": specific("PermissionRequest", decision={"behavior": "allow"}),
        "touch other": specific(
            "PermissionRequest",
            decision={"behavior": "allow", "updatedInput": {"command": "touch another"}},
        ),
        "touch no": {
            "systemMessage": "it wanted a no",
            **specific("PermissionRequest", decision={"behavior": "deny", "message": "not that"}),
        },
    }
}


@pytest.mark.parametrize("is_asked", [True, False], ids=["can_use_tool", "nobody"])
async def test_hooks_answer_a_question_before_the_user_does_and_once(
    project: Project, is_asked: bool
) -> None:
    asked: list[str] = []

    async def can_use_tool(
        _name: str, given: dict[str, Any], _context: ToolPermissionContext
    ) -> PermissionResultAllow:
        asked.append(given["command"])
        return PermissionResultAllow()

    commands = ["touch yes", "touch other", "touch no", "touch ask"]
    calls: list[str | Reply] = [call("Bash", command=command) for command in commands]
    options = {"can_use_tool": can_use_tool} if is_asked else {}
    with heard_warnings() as warnings:
        hooks = project.hook(PERMITTING, matcher="Bash")
        played = await play(project.path, hooks, [*calls, "Done."], options=options)
    made = {path.name for path in project.path.glob("[!.]*")}
    assert made == {"yes", "another", *(["ask"] if is_asked else [])}
    assert asked == (["touch ask"] if is_asked else [])
    assert played.tool_results[2] == "not that"
    seen = project.seen()
    assert [event["tool_input"]["command"] for event in seen] == commands
    assert seen[0].keys() >= {"session_id", "transcript_path", "cwd", "permission_suggestions"}
    assert seen[0]["permission_mode"] == "default"
    assert "it wanted a no" not in played.sent()
    assert "it wanted a no" in "\n".join([*played.notices, *warnings])


async def test_hooks_hear_of_subagents_and_send_them_and_the_agent_back(project: Project) -> None:
    not_again = '"stop_hook_active":false'
    hooks = project.hook(
        {
            "SubagentStart": {"scout": specific("SubagentStart", additionalContext="be brief")},
            "SubagentStop": {not_again: {"decision": "block", "reason": "look again"}},
            "Stop": {not_again: {"decision": "block", "reason": "run the tests"}},
            # So that the agent does not run in the background.
            "PostToolUse": {},
        }
    )
    scout = AgentDefinition(description="A scout", prompt="You look.")
    played = await play(
        project.path,
        hooks,
        [
            call("Agent", prompt="Look.", description="Look", subagent_type="scout"),
            *("Found one.", "Found two.", "Done.", "Tested."),
        ],
        rules={"allow": ["Agent"]},
        options={"tools": ["Agent"], "agents": {"scout": scout}},
    )
    assert "be brief" in played.sent(1)
    assert "look again" in played.sent(2)
    assert "Found two." in played.tool_results[0]
    assert "run the tests" in played.sent(4)
    assert played.results == ["Tested."]
    assert [event["stop_hook_active"] for event in project.seen("Stop")] == [False, True]
    (start,), (_, stop) = project.seen("SubagentStart"), project.seen("SubagentStop")
    assert start["agent_type"] == stop["agent_type"] == "scout"
    assert start["agent_id"] == stop["agent_id"]
    assert stop["last_assistant_message"] == "Found two."
    assert Path(stop["agent_transcript_path"]).is_file()


async def test_hooks_add_to_prompts_refuse_them_and_keep_the_history(project: Project) -> None:
    hooks = project.hook(
        {
            "SessionStart": {"startup": "two files are open"},
            "UserPromptSubmit": {
                "hunter2": {"decision": "block", "reason": "no passwords"},
                "Go on.": "the sprint ends today",
            },
            "PreCompact": {"manual": {"decision": "block", "reason": "keep it all"}},
        }
    )
    prompts = ["It is hunter2.", "Go on.", "/compact"]
    played = await play(project.path, hooks, ["Hello."], prompts=prompts)
    assert "no passwords" in played.results[0]
    assert played.results[1] == "Hello."
    assert "keep it all" in played.results[2]
    sent = played.sent()
    assert "two files are open" in sent
    assert "the sprint ends today" in sent
    assert "hunter2" not in sent
    assert [event["trigger"] for event in project.seen("PreCompact")] == ["manual"]


async def test_a_rewrite_is_in_claude_codes_words_whatever_other_agents_call_the_tool(
    project: Project,
) -> None:
    rewrite = specific("PreToolUse", updatedInput={"command": "echo dry"})
    project.hook({"PreToolUse": {"deploy": rewrite}}, matcher="Bash").close()
    tools = {"shell": ToolAlias("Bash", {"command": ("cmd",)})}
    project.hooks = Hooks.load(project.path, claude=True, trusted=True, tools=tools)
    (matcher,) = (hooked(None, project.hooks).hooks or {})["PreToolUse"]
    given: Any = {
        "hook_event_name": "PreToolUse",
        "session_id": "s",
        "transcript_path": "",
        "cwd": str(project.path),
        "tool_name": "Bash",
        "tool_input": {"command": "deploy"},
        "tool_use_id": "1",
    }
    output: Any = await matcher.hooks[0](given, "1", {"signal": None})
    assert output["hookSpecificOutput"]["updatedInput"] == {"command": "echo dry"}


def test_a_file_whose_hooks_claude_code_runs_as_well_is_warned_of(project: Project) -> None:
    hooks = project.hook({"Stop": {}})
    warned: list[bool] = []
    given: tuple[Any, ...] = (None, ["project"], ["user"], [])
    for sources in given:
        with heard_warnings() as warnings:
            hooked(ClaudeAgentOptions(cwd=project.path, setting_sources=sources), hooks)
        warned.append(f"{project.path}/.claude/settings.json itself" in "\n".join(warnings))
    assert warned == [True, True, False, False]
