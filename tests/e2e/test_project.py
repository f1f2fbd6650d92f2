"""One project with real scripts and settings on disk, from the first event to the last."""

import json
import sys
from pathlib import Path

import pytest

from hookline import (
    Config,
    DebugLogger,
    HookSystem,
    InProcessMessageBus,
    SessionEndReason,
    SessionStartSource,
)
from hookline.bus import request_hook_execution
from hookline.trace.records import JsonLinesSink
from hookline.translate.genai import GenAITranslator
from hookline.wire.outputs import (
    AfterModelHookOutput,
    BeforeModelHookOutput,
    BeforeToolHookOutput,
    BeforeToolSelectionHookOutput,
)
from tests.eleven import RESPONSE, WITH_TOOLS, Json
from tests.harness.scratch import Project

SETTINGS = """
{
  // Comments and trailing commas are fine.
  "hooks": {
    "SessionStart": [{"matcher": "startup|resume", "hooks": [
      {"type": "command", "command": "echo welcome", "name": "greeter"}]}],
    "BeforeAgent": [{"sequential": true, "hooks": [
      {"type": "command", "command": "$HOOKLINE_PROJECT_DIR/hooks/context", "name": "context"},
      {"type": "command", "command": "\\"$LLXPRT_PROJECT_DIR\\"/hooks/journal", "name": "journal"},
    ]}],
    "BeforeModel": [{"hooks": [
      {"type": "command", "command": "hooks/temperature", "args": [], "name": "temperature"}]}],
    "AfterModel": [{"hooks": [
      {"type": "command", "command": "PYTHON hooks/redact.py", "name": "redact"}]}],
    "BeforeToolSelection": [{"hooks": [
      {"type": "command", "command": "hooks/narrow", "name": "narrow"}]}],
    "BeforeTool": [
      {"matcher": "write_file|replace", "hooks": [
        {"type": "command", "command": "PYTHON hooks/secrets.py", "name": "secret-scan"}]},
      {"matcher": "shell", "hooks": [
        {"type": "command", "command": "hooks/guard", "name": "guard", "timeout": 5000}]},
    ],
    "AfterTool": [{"hooks": [{"type": "command", "command": "hooks/journal", "name": "journal"}]}],
    "SessionEnd": [{"hooks": [{"type": "command", "command": "hooks/journal", "name": "journal"}]}],
  },
}
"""

SCRIPTS = {
    "context": """#!/bin/sh
printf '{"hookSpecificOutput":{"additionalContext":"the branch is main"}}'
""",
    "journal": """#!/bin/sh
cat >> "$HOOKLINE_CWD/journal.jsonl"; echo >> "$HOOKLINE_CWD/journal.jsonl"
""",
    "temperature": """#!/bin/sh
printf '{"hookSpecificOutput":{"llm_request":{"config":{"temperature":0}}}}'
""",
    "narrow": """#!/bin/sh
printf '{"hookSpecificOutput":{"toolConfig":{"mode":"ANY","allowedFunctionNames":["read"]}}}'
""",
    "guard": """#!/bin/sh
if grep -q 'rm -rf'; then echo 'that deletes everything' >&2; exit 2; fi
""",
    "secrets.py": """
import json, sys
event = json.load(sys.stdin)
text = event["tool_input"].get("content", "")
if "AKIA" in text:
    print("scanning", file=sys.stderr)
    print("found one")
    print(json.dumps({"decision": "deny", "reason": "a key in " + event["tool_input"]["path"]}))
else:
    print(json.dumps({"hookSpecificOutput": {"tool_input": {"content": text.rstrip() + "\\n"}}}))
""",
    "redact.py": """
import json, sys
response = json.load(sys.stdin)["llm_response"]
for candidate in response["candidates"]:
    candidate["content"]["parts"] = ["[" + p + "]" for p in candidate["content"]["parts"]]
print(json.dumps({"hookSpecificOutput": {"llm_response": {"candidates": response["candidates"]}}}))
""",
}


@pytest.fixture
def scripted(project: Project) -> Project:
    project.settings(SETTINGS.replace("PYTHON", f"{sys.executable} -S"))
    for name, text in SCRIPTS.items():
        project.script(f"hooks/{name}", text)
    return project


def system_of(project: Project, trace: Path) -> HookSystem:
    logger = DebugLogger(JsonLinesSink(trace))
    system = Config.load(project.path, trusted=True, debug_logger=logger).get_hook_system()
    assert system is not None
    return system


@pytest.mark.requirement("INV-4", "INV-6")
async def test_a_whole_session(scripted: Project, tmp_path: Path) -> None:
    async with system_of(scripted, tmp_path / "trace.jsonl") as system:
        fire = system.get_event_handler()
        start = await fire.fire_session_start_event(SessionStartSource.STARTUP)
        assert start.system_message == "welcome"
        agent = await fire.fire_before_agent_event("fix the bug")
        assert agent.final_output is not None
        assert agent.final_output.get_additional_context() == "the branch is main"
        await model_call(system)
        await tool_calls(system)
        assert (await fire.fire_after_agent_event("fix the bug", "done")).plan is None
        await fire.fire_session_end_event(SessionEndReason.EXIT)
    journal = [
        json.loads(line) for line in (scripted.path / "journal.jsonl").read_text().splitlines()
    ]
    assert [entry["hook_event_name"] for entry in journal] == [
        *("BeforeAgent", "AfterTool", "SessionEnd"),
    ]
    assert journal[0]["prompt"] == "fix the bug\n\nthe branch is main"
    trace = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    assert [line["event"] for line in trace if line["kind"] == "batch"] == [
        *("SessionStart", "BeforeAgent", "BeforeModel", "BeforeToolSelection", "AfterModel"),
        *("BeforeTool", "BeforeTool", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"),
    ]


async def model_call(system: HookSystem) -> None:
    fire = system.get_event_handler()
    before = (await fire.fire_before_model_event(WITH_TOOLS)).final_output
    assert isinstance(before, BeforeModelHookOutput)
    changed = before.apply_llm_request_modifications(WITH_TOOLS)
    assert changed["config"] == {**WITH_TOOLS["config"], "temperature": 0}
    selection = (await fire.fire_before_tool_selection_event(changed)).final_output
    assert isinstance(selection, BeforeToolSelectionHookOutput)
    tool_config, tools = GenAITranslator().tool_selection(changed)
    chosen = selection.apply_tool_config_modifications(tool_config, tools)
    assert chosen.tool_config["functionCallingConfig"]["allowedFunctionNames"] == ["read"]
    after = (await fire.fire_after_model_event(changed, RESPONSE)).final_output
    assert isinstance(after, AfterModelHookOutput)
    [candidate] = after.get_modified_response(RESPONSE)["candidates"]
    assert candidate["content"]["parts"] == [{"text": "[hi]"}]


async def tool_calls(system: HookSystem) -> None:
    fire = system.get_event_handler()
    leak: Json = {"path": "a.py", "content": "key = 'AKIA'"}
    denied = (await fire.fire_before_tool_event("write_file", leak)).final_output
    assert denied is not None
    assert denied.get_blocking_error().reason == "a key in a.py"
    clean: Json = {"path": "a.py", "content": "x = 1   "}
    allowed = (await fire.fire_before_tool_event("write_file", clean)).final_output
    assert isinstance(allowed, BeforeToolHookOutput)
    assert allowed.get_modified_tool_input() == {"content": "x = 1\n"}
    shell = await fire.fire_before_tool_event("shell", {"command": "rm -rf /"})
    assert shell.final_output is not None
    assert shell.final_output.get_blocking_error().reason == "that deletes everything"
    assert (shell.success, shell.errors) == (False, [])
    await fire.fire_after_tool_event("shell", {"command": "ls"}, {"llmContent": "a.py"})


async def test_the_same_project_serves_a_bus(scripted: Project) -> None:
    bus = InProcessMessageBus()
    config = Config.load(scripted.path, trusted=True, message_bus=bus)
    assert config.get_hook_system() is not None
    response = await request_hook_execution(
        bus, "BeforeTool", {"tool_name": "shell", "tool_input": {"command": "rm -rf /"}}
    )
    assert response["success"] is True
    assert response["output"]["finalOutput"] == {
        "continue": True,
        "suppressOutput": False,
        "decision": "deny",
        "reason": "that deletes everything",
    }


async def test_an_untrusted_project_runs_none_of_its_scripts(scripted: Project) -> None:
    async with HookSystem(Config.load(scripted.path)) as system:
        processed = await system.get_event_handler().fire_before_agent_event("p")
        assert (processed.plan, processed.success) == (None, True)
        assert not any(entry.trusted for entry in system.get_all_hooks())
    assert not (scripted.path / "journal.jsonl").exists()
