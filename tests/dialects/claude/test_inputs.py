"""The documents that Claude Code's hooks read, byte for byte."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookline.dialects.claude.inputs import find_failure, show_call, write_document
from hookline.dialects.claude.tools import TOOLS
from hookline.dialects.tools import AmbiguousInputError, ToolAlias, ToolResponse
from hookline.errors import HooklineError
from hookline.runner.context import InputDocument, RunContext
from hookline.runner.runner import HookRunner
from hookline.wire.events import HookEventName
from hookline.wire.fired import Facts, Original
from hookline.wire.hooks import CommandHook
from hookline.wire.results import HookExecutionPlan
from tests.dialects.claude.documents import BASE, HEAD, make_document

CALL = Facts(call_id="c1", duration_ms=12.4)
OK = {"llmContent": "done", "returnDisplay": "Done."}
NOT_IT = {"llmContent": "no", "error": {"type": "tool_failed", "message": "no such file"}}

DOCUMENTS: list[tuple[str, dict[str, Any], str]] = [
    (
        "BeforeTool",
        {"tool_name": "run_shell_command", "tool_input": {"command": "ls", "description": "d"}},
        (
            '"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash",'
            '"tool_input":{"command":"ls","description":"d"},"tool_use_id":"c1"}'
        ),
    ),
    (
        "BeforeTool",
        {
            "tool_name": "read_file",
            "tool_input": {"path": "a.py", "limit": 3},
            "original_request_name": "x",
            "permission_mode": "plan",
            "agent_id": "a7",
        },
        (
            '"permission_mode":"plan","hook_event_name":"PreToolUse","tool_name":"Read",'
            '"tool_input":{"file_path":"/repo/a.py","limit":3},"tool_use_id":"c1","agent_id":"a7"}'
        ),
    ),
    (
        "BeforeTool",
        {
            "tool_name": "read_file",
            "tool_input": {"path": "a.py"},
            "mcp_context": {"server_name": "my files", "tool_name": "read_file", "source": "user"},
        },
        (
            '"permission_mode":"default","hook_event_name":"PreToolUse",'
            '"tool_name":"mcp__my_files__read_file","tool_input":{"path":"a.py"},'
            '"tool_use_id":"c1","mcp_server":{"name":"my files","source":"user"}}'
        ),
    ),
    (
        "AfterTool",
        {
            "tool_name": "run_shell_command",
            "tool_input": {"command": "ls"},
            "tool_response": OK,
            "original_tool_input": {"command": "l"},
        },
        (
            '"permission_mode":"default","hook_event_name":"PostToolUse","tool_name":"Bash",'
            '"tool_input":{"command":"ls"},"tool_response":{"stdout":"done","stderr":"",'
            '"interrupted":false,"isImage":false},"tool_use_id":"c1","duration_ms":12}'
        ),
    ),
    (
        "AfterTool",
        {"tool_name": "write_file", "tool_input": {}, "tool_response": NOT_IT},
        (
            '"permission_mode":"default","hook_event_name":"PostToolUseFailure","tool_name":"Write",'
            '"tool_input":{},"tool_use_id":"c1","error":"no such file","duration_ms":12}'
        ),
    ),
    (
        "AfterTool",
        {
            "tool_name": "t",
            "tool_input": {},
            "tool_response": {"error": "cut"},
            "is_interrupt": True,
            "mcp_context": {"server_name": "s", "tool_name": "t"},
        },
        (
            '"permission_mode":"default","hook_event_name":"PostToolUseFailure",'
            '"tool_name":"mcp__s__t","tool_input":{},"tool_use_id":"c1","error":"cut",'
            '"is_interrupt":true,"duration_ms":12,"mcp_server":{"name":"s"}}'
        ),
    ),
    (
        "BeforeAgent",
        {"prompt": "hi", "source": "sdk"},
        (
            '"permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"hi",'
            '"source":"sdk"}'
        ),
    ),
    (
        "AfterAgent",
        {"prompt": "hi", "prompt_response": "ho", "stop_hook_active": True},
        (
            '"permission_mode":"default","hook_event_name":"Stop","stop_hook_active":true,'
            '"last_assistant_message":"ho"}'
        ),
    ),
    ("SessionStart", {"source": "startup"}, '"hook_event_name":"SessionStart","source":"startup"}'),
    (
        "SessionStart",
        {"source": "compress", "model": "m", "permission_mode": "plan"},
        '"hook_event_name":"SessionStart","source":"compact","model":"m","permission_mode":"plan"}',
    ),
    (
        "SessionStart",
        {"session_title": "t", "model": "m", "agent_type": "a", "source": "startup"},
        (
            '"hook_event_name":"SessionStart","source":"startup","agent_type":"a","model":"m",'
            '"session_title":"t"}'
        ),
    ),
    (
        "BeforeAgent",
        {"session_title": "t", "source": "sdk", "prompt": "hi"},
        (
            '"permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"hi",'
            '"source":"sdk","session_title":"t"}'
        ),
    ),
    (
        "SessionEnd",
        {"reason": "exit"},
        '"hook_event_name":"SessionEnd","reason":"prompt_input_exit"}',
    ),
    ("SessionEnd", {"reason": "clear"}, '"hook_event_name":"SessionEnd","reason":"clear"}'),
    (
        "PreCompress",
        {"trigger": "manual"},
        '"hook_event_name":"PreCompact","trigger":"manual","custom_instructions":null}',
    ),
    (
        "PreCompress",
        {"trigger": "auto", "custom_instructions": "short"},
        '"hook_event_name":"PreCompact","trigger":"auto","custom_instructions":"short"}',
    ),
    (
        "Notification",
        {
            "message": "m",
            "notification_type": "ToolPermission",
            "level": "info",
            "details": {"title": "T"},
        },
        (
            '"hook_event_name":"Notification","message":"m","title":"T",'
            '"notification_type":"permission_prompt"}'
        ),
    ),
    ("Notification", {"message": "m"}, '"hook_event_name":"Notification","message":"m"}'),
    (
        "PermissionRequest",
        {
            "tool_name": "write_file",
            "tool_input": {"file_path": "a", "content": "x"},
            "permission_suggestions": [{"type": "setMode"}],
        },
        (
            '"permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Write",'
            '"tool_input":{"file_path":"/repo/a","content":"x"},'
            '"permission_suggestions":[{"type":"setMode"}]}'
        ),
    ),
    (
        "PermissionRequest",
        {"tool_name": "Bash", "tool_input": {"command": "ls"}},
        (
            '"permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash",'
            '"tool_input":{"command":"ls"}}'
        ),
    ),
    (
        "PermissionDenied",
        {"tool_name": "glob", "tool_input": {}, "tool_use_id": "c1", "reason": "no"},
        (
            '"hook_event_name":"PermissionDenied","tool_name":"Glob","tool_input":{},'
            '"tool_use_id":"c1","reason":"no"}'
        ),
    ),
    (
        "PermissionRequest",
        {"permission_suggestions": [], "tool_input": {"command": "ls"}, "tool_name": "Bash"},
        (
            '"permission_mode":"default","hook_event_name":"PermissionRequest","tool_name":"Bash",'
            '"tool_input":{"command":"ls"},"permission_suggestions":[]}'
        ),
    ),
    (
        "PermissionDenied",
        {"reason": "no", "tool_input": {}, "tool_name": "glob"},
        (
            '"hook_event_name":"PermissionDenied","tool_name":"Glob","tool_input":{},'
            '"tool_use_id":"c1","reason":"no"}'
        ),
    ),
    (
        "PostToolBatch",
        {
            "tool_calls": [
                {
                    "tool_name": "grep",
                    "tool_input": {"include": "*.py"},
                    "tool_use_id": "c1",
                    "tool_response": "x",
                }
            ]
        },
        (
            '"hook_event_name":"PostToolBatch","tool_calls":[{"tool_name":"Grep",'
            '"tool_input":{"glob":"*.py"},"tool_use_id":"c1","tool_response":"x"}]}'
        ),
    ),
    (
        "UserPromptExpansion",
        {
            "expansion_type": "slash_command",
            "command_name": "review",
            "command_args": "",
            "prompt": "/review",
            "command_source": "user",
        },
        (
            '"hook_event_name":"UserPromptExpansion","expansion_type":"slash_command",'
            '"command_name":"review","command_args":"","command_source":"user","prompt":"/review"}'
        ),
    ),
    ("Setup", {"trigger": "init"}, '"hook_event_name":"Setup","trigger":"init"}'),
    (
        "SubagentStart",
        {"agent_id": "a1", "agent_type": "Explore"},
        '"hook_event_name":"SubagentStart","agent_id":"a1","agent_type":"Explore"}',
    ),
    (
        "SubagentStop",
        {
            "stop_hook_active": False,
            "agent_id": "a1",
            "agent_type": "Explore",
            "agent_transcript_path": "/a.jsonl",
            "last_assistant_message": "done",
        },
        (
            '"permission_mode":"default","hook_event_name":"SubagentStop","stop_hook_active":false,'
            '"last_assistant_message":"done","agent_id":"a1","agent_type":"Explore",'
            '"agent_transcript_path":"/a.jsonl"}'
        ),
    ),
    (
        "StopFailure",
        {"error": "rate_limit", "error_details": "429"},
        '"hook_event_name":"StopFailure","error":"rate_limit","error_details":"429"}',
    ),
    (
        "PostCompact",
        {"trigger": "auto", "compact_summary": "s"},
        '"hook_event_name":"PostCompact","trigger":"auto","compact_summary":"s"}',
    ),
    (
        "PreModelSwitch",
        {"from_model": "a", "to_model": "b", "requested_model": None, "source": "command"},
        (
            '"hook_event_name":"PreModelSwitch","from_model":"a","to_model":"b",'
            '"requested_model":null,"source":"command"}'
        ),
    ),
    (
        "TaskCreated",
        {"task_id": "1", "task_subject": "s", "team_name": "t"},
        '"hook_event_name":"TaskCreated","task_id":"1","task_subject":"s","team_name":"t"}',
    ),
    (
        "TaskCompleted",
        {"task_id": "1", "task_subject": "s"},
        '"hook_event_name":"TaskCompleted","task_id":"1","task_subject":"s"}',
    ),
    (
        "TeammateIdle",
        {"teammate_name": "n", "team_name": "t"},
        '"hook_event_name":"TeammateIdle","teammate_name":"n","team_name":"t"}',
    ),
    (
        "ConfigChange",
        {"source": "user_settings", "file_path": "/s"},
        '"hook_event_name":"ConfigChange","source":"user_settings","file_path":"/s"}',
    ),
    (
        "InstructionsLoaded",
        {"file_path": "/C.md", "memory_type": "Project", "load_reason": "include"},
        (
            '"hook_event_name":"InstructionsLoaded","file_path":"/C.md","memory_type":"Project",'
            '"load_reason":"include"}'
        ),
    ),
    (
        "CwdChanged",
        {"old_cwd": "/a", "new_cwd": "/b"},
        '"hook_event_name":"CwdChanged","old_cwd":"/a","new_cwd":"/b"}',
    ),
    (
        "DirectoryAdded",
        {"directory": "/d", "source": "slash_command"},
        '"hook_event_name":"DirectoryAdded","directory":"/d","source":"slash_command"}',
    ),
    (
        "FileChanged",
        {"file_path": "/f", "event": "add"},
        '"hook_event_name":"FileChanged","file_path":"/f","event":"add"}',
    ),
    ("WorktreeCreate", {"name": "w"}, '"hook_event_name":"WorktreeCreate","name":"w"}'),
    (
        "WorktreeRemove",
        {"worktree_path": "/w"},
        '"hook_event_name":"WorktreeRemove","worktree_path":"/w"}',
    ),
    (
        "Elicitation",
        {"mcp_server_name": "s", "message": "m", "mode": "form"},
        '"hook_event_name":"Elicitation","mcp_server_name":"s","message":"m","mode":"form"}',
    ),
    (
        "ElicitationResult",
        {"mcp_server_name": "s", "action": "accept", "content": {"a": 1}},
        (
            '"hook_event_name":"ElicitationResult","mcp_server_name":"s","action":"accept",'
            '"content":{"a":1}}'
        ),
    ),
    (
        "MessageDisplay",
        {"turn_id": "t", "message_id": "m", "index": 0, "final": True, "delta": "d"},
        (
            '"hook_event_name":"MessageDisplay","turn_id":"t","message_id":"m","index":0,'
            '"final":true,"delta":"d"}'
        ),
    ),
]


@pytest.mark.parametrize(("event", "fields", "written"), DOCUMENTS)
def test_each_event_is_written_as_claude_writes_it(
    event: str, fields: dict[str, Any], written: str
) -> None:
    assert write_document(make_document(event, fields, facts=CALL)).decode() == HEAD + written


def read_response(tool: str, tool_input: dict[str, Any], response: object, **extra: Any) -> Any:
    fields = {"tool_name": tool, "tool_input": tool_input, "tool_response": response, **extra}
    return json.loads(write_document(make_document("AfterTool", fields)))["tool_response"]


@pytest.mark.parametrize(
    ("tool", "tool_input", "response", "shown"),
    [
        (
            "read_file",
            {"path": "a", "offset": 5},
            {"llmContent": "x\ny"},
            {
                "type": "text",
                "file": {
                    "filePath": "/repo/a",
                    "content": "x\ny",
                    "numLines": 2,
                    "startLine": 5,
                    "totalLines": 6,
                },
            },
        ),
        (
            "write_file",
            {"file_path": "/a", "content": "x"},
            OK,
            {
                "type": "create",
                "filePath": "/a",
                "content": "x",
                "structuredPatch": [],
                "originalFile": None,
            },
        ),
        (
            "replace",
            {"file_path": "/a", "old_string": "o", "new_string": "n", "replace_all": True},
            OK,
            {
                "filePath": "/a",
                "oldString": "o",
                "newString": "n",
                "originalFile": None,
                "structuredPatch": [],
                "userModified": False,
                "replaceAll": True,
            },
        ),
        (
            "grep",
            {"pattern": "x"},
            {"llmContent": "a:1:x"},
            {
                "mode": "content",
                "numFiles": 0,
                "filenames": [],
                "content": "a:1:x",
                "numLines": 1,
            },
        ),
        (
            "glob",
            {"pattern": "*"},
            {"llmContent": "a\nb"},
            {"filenames": ["a", "b"], "durationMs": 0, "numFiles": 2, "truncated": False},
        ),
        (
            "web_fetch",
            {"url": "https://x", "prompt": "p"},
            {"llmContent": "page"},
            {
                "bytes": 4,
                "code": 200,
                "codeText": "OK",
                "result": "page",
                "durationMs": 0,
                "url": "https://x",
            },
        ),
        (
            "google_web_search",
            {"query": "q"},
            {"llmContent": "found"},
            {"query": "q", "results": ["found"], "durationSeconds": 0},
        ),
        (
            "task",
            {"goal_prompt": "p"},
            {"llmContent": [{"text": "one"}, {"text": "two"}]},
            {"content": [{"type": "text", "text": "one\ntwo"}]},
        ),
        # A response that a host has in Claude's form, or in one of its own, stays.
        ("run_shell_command", {}, {"stdout": "a", "stderr": "b"}, {"stdout": "a", "stderr": "b"}),
        ("anything", {}, {"llmContent": "x"}, {"llmContent": "x"}),
        ("anything", {}, [1, 2], [1, 2]),
        ("list_directory", {"path": "/a"}, {"llmContent": "x"}, {"llmContent": "x"}),
        ("mcp__s__t", {}, None, []),
        # The result of a tool may be a text, or have parts that are none.
        (
            "run_shell_command",
            {},
            "out",
            {"stdout": "out", "stderr": "", "interrupted": False, "isImage": False},
        ),
        (
            "run_shell_command",
            {},
            {"llmContent": [{"text": "a"}, {"inlineData": {"data": "b"}}]},
            {
                "stdout": 'a\n{"inlineData":{"data":"b"}}',
                "stderr": "",
                "interrupted": False,
                "isImage": False,
            },
        ),
        # What a server answers are blocks.
        ("mcp__s__t", {}, {"llmContent": "x"}, [{"type": "text", "text": "x"}]),
        ("mcp__s__t", {}, {"llmContent": [{"text": "x"}]}, [{"type": "text", "text": "x"}]),
        (
            "mcp__s__t",
            {},
            {"llmContent": [{"type": "image", "data": "x"}, {"inlineData": 1}]},
            [{"type": "image", "data": "x"}, {"type": "text", "text": '{"inlineData":1}'}],
        ),
        (
            "mcp__s__t",
            {},
            {"content": [{"type": "text", "text": "x"}], "isError": False},
            [{"type": "text", "text": "x"}],
        ),
    ],
)
def test_a_result_has_the_form_that_claudes_tool_gives_it(
    tool: str, tool_input: dict[str, Any], response: object, shown: object
) -> None:
    assert read_response(tool, tool_input, response) == shown


def test_a_tool_that_the_host_declares_has_the_form_of_claudes() -> None:
    odd = ToolResponse(read=str, write=lambda _old, text: {"odd": text})
    tools = {
        **TOOLS,
        "my_shell": ToolAlias("Bash", {"command": ("line",)}),
        "my_own": ToolAlias("Own", response=odd),
    }
    fields = {"tool_name": "my_shell", "tool_input": {"line": "ls"}, "tool_response": OK}
    read = json.loads(write_document(make_document("AfterTool", fields, tools=tools)))
    assert (read["tool_name"], read["tool_input"]) == ("Bash", {"command": "ls"})
    assert read["tool_response"]["stdout"] == "done"
    fields = {"tool_name": "my_own", "tool_input": {}, "tool_response": OK}
    read = json.loads(write_document(make_document("AfterTool", fields, tools=tools)))
    assert read["tool_response"] == {"odd": "done"}


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"error": "no"}, "no"),
        ({"error": {"code": 1}}, '{"code":1}'),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "no"),
        ({"llmContent": "no", "isError": True}, "no"),
        ({"error": None}, None),
        ({"llmContent": "x"}, None),
        ("error", None),
        (None, None),
    ],
)
def test_a_tool_has_failed_if_its_response_says_so(response: object, error: str | None) -> None:
    fields = {"tool_name": "t", "tool_input": {}, "tool_response": response}
    assert find_failure(make_document("AfterTool", fields)) == error


def read_call_id(event: str, **fields: Any) -> str:
    call = {"tool_name": "t", "tool_input": {"a": 1}, **fields}
    id: str = json.loads(write_document(make_document(event, call)))["tool_use_id"]
    return id


def test_a_call_without_an_id_gets_one_that_both_its_events_share() -> None:
    before = read_call_id("BeforeTool")
    assert before.startswith("toolu_")
    assert read_call_id("AfterTool", tool_response=OK) == before
    assert read_call_id("AfterTool", tool_response=NOT_IT) == before
    rewritten = {"tool_input": {"a": 2}, "original_tool_input": {"a": 1}, "tool_response": OK}
    assert read_call_id("AfterTool", **rewritten) == before
    assert read_call_id("BeforeTool", tool_input={"a": 2}) != before
    assert read_call_id("BeforeTool", tool_use_id="given") == "given"
    for no_id in ("", 5):
        assert read_call_id("BeforeTool", tool_use_id=no_id) == before


@pytest.mark.parametrize("calls", [[3], [{"tool_name": "grep", "tool_input": "x"}], "calls"])
def test_a_batch_of_calls_that_cannot_be_shown_is_written_as_it_is(calls: object) -> None:
    document = make_document("PostToolBatch", {"tool_calls": calls})
    assert json.loads(write_document(document))["tool_calls"] == calls


def test_an_event_of_claudes_own_wording_is_written_as_it_was() -> None:
    original = {
        "hook_event_name": "PreToolUse",
        "cwd": "/elsewhere",
        "tool_name": "NotebookEdit",
        "permission_mode": "acceptEdits",
        "tool_input": {"notebook_path": "n.ipynb", "new_source": "x"},
        "session_id": "theirs",
        "prompt_id": None,
    }
    fields = {"tool_name": "replace", "tool_input": {"file_path": "n.ipynb", "new_string": "x"}}
    document = make_document(
        "BeforeTool", fields, facts=Facts("c1", original=Original("claude", original))
    )
    assert write_document(document).decode() == (
        '{"session_id":"theirs","transcript_path":"/t.jsonl","cwd":"/elsewhere",'
        '"permission_mode":"acceptEdits","hook_event_name":"PreToolUse",'
        '"tool_name":"NotebookEdit","tool_input":{"notebook_path":"n.ipynb","new_source":"x"},'
        '"prompt_id":null,"tool_use_id":"c1"}'
    )
    shown = show_call(document)
    assert shown.name == "NotebookEdit"
    assert shown.restore(shown.input) == fields["tool_input"]
    assert shown.restore({"notebook_path": "m.ipynb"}) == {"file_path": "m.ipynb"}


def test_a_wording_that_lacks_fields_is_completed() -> None:
    fields = {"tool_name": "t", "tool_input": {}, "tool_response": NOT_IT}
    document = make_document(
        "AfterTool", fields, facts=Facts(original=Original("claude", {"error": "no"}))
    )
    read = json.loads(write_document(document))
    assert read["hook_event_name"] == "PostToolUseFailure"
    assert read["session_id"] == "s1"
    with pytest.raises(HooklineError):
        show_call(document)


def test_fields_of_another_event_pass_through() -> None:
    fields = {"tool_name": "t", "tool_input": {}, "level": 1, "details": 2, "prompt": "p"}
    read = json.loads(write_document(make_document("BeforeTool", fields)))
    assert [*read][-3:] == ["level", "details", "prompt"]


def test_the_input_of_a_servers_tool_is_restored_as_it_is() -> None:
    context = {"server_name": "files", "tool_name": "read_file"}
    fields = {"tool_name": "read_file", "tool_input": {"path": "a"}, "mcp_context": context}
    shown = show_call(make_document("BeforeTool", fields))
    assert shown.name == "mcp__files__read_file"
    assert shown.restore({"path": "b"}) == {"path": "b"}


@pytest.mark.parametrize("tool_input", [{"path": "/a", "absolute_path": "/b"}, "text"])
def test_what_nobody_can_show_whole_is_not_shown(tool_input: object) -> None:
    fields = {"tool_name": "read_file", "tool_input": tool_input}
    with pytest.raises(HooklineError):
        write_document(make_document("BeforeTool", fields))


def test_a_hook_that_cannot_be_shown_an_event_has_failed_as_malformed(tmp_path: Path) -> None:
    hook = CommandHook(name="guard", command="true", dialect="claude", dialect_event="PreToolUse")
    payload = {
        **BASE,
        "tool_name": "read_file",
        "tool_input": {"path": "/a", "absolute_path": "/b"},
    }
    document = InputDocument(HookEventName.BEFORE_TOOL, payload)
    context = RunContext(
        cwd=str(tmp_path),
        project_dir=str(tmp_path),
        session_id="s1",
        why_untrusted=lambda _hook: None,
    )
    runner = HookRunner()

    async def run() -> Any:
        plan = HookExecutionPlan(HookEventName.BEFORE_TOOL, (hook,))
        return await runner.execute_plan(plan, document, context)

    try:
        (result,) = asyncio.run(run())
    finally:
        runner.dispose()
    assert result.failed == "malformed"
    wanted = str(AmbiguousInputError("read_file", ("path", "absolute_path"), "file_path"))
    assert result.error == wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
PARTS = st.fixed_dictionaries({}, optional={"llmContent": JSON, "error": JSON, "isError": JSON})


@given(st.sampled_from([*TOOLS, "mcp__s__t", "x"]), PARTS | JSON)
def test_whatever_a_tool_answers_can_be_shown(tool: str, response: object) -> None:
    fields = {"tool_name": tool, "tool_input": {}, "tool_response": response}
    read = json.loads(write_document(make_document("AfterTool", fields)))
    assert read["hook_event_name"].startswith("PostToolUse")
    assert ("error" in read) is (read["hook_event_name"] == "PostToolUseFailure")
