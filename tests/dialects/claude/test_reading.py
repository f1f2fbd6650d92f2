"""Events in Claude Code's words, read as the events that are fired here."""

import json
from typing import Any

import pytest

from hookline.dialects.claude.events import CLAUDE_EVENTS, EVENT_NAMES
from hookline.dialects.claude.inputs import write_document
from hookline.dialects.claude.payloads import read_claude_event
from hookline.dialects.claude.tools import TOOLS
from hookline.dialects.document import EventDocument
from hookline.dialects.tools import AmbiguousInputError, ToolAlias
from hookline.errors import InvalidPayloadError, UnknownEventError
from hookline.wire.fired import FiredEvent
from tests.dialects.claude.documents import BASE

CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1"}


def fields_of(fired: FiredEvent) -> dict[str, Any]:
    names = (*fired.spec.required, *fired.spec.optional)
    given = zip(names, fired.values, strict=False)
    return {name: value for name, value in given if value is not None}


@pytest.mark.parametrize(
    ("name", "fields", "event", "target", "read"),
    [
        (
            "PreToolUse",
            CALL,
            "BeforeTool",
            "run_shell_command",
            {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}},
        ),
        (
            "PreToolUse",
            {"tool_name": "Agent", "tool_input": {"prompt": "p", "subagent_type": "s"}},
            "BeforeTool",
            "task",
            {"tool_name": "task", "tool_input": {"goal_prompt": "p", "subagent_name": "s"}},
        ),
        (
            "PreToolUse",
            {
                "tool_name": "mcp__a__b__t",
                "tool_input": {},
                "mcp_server": {"name": "a__b", "source": "user"},
            },
            "BeforeTool",
            "mcp__a__b__t",
            {
                "tool_name": "mcp__a__b__t",
                "tool_input": {},
                "mcp_context": {"server_name": "a__b", "tool_name": "t"},
            },
        ),
        (
            "PostToolUse",
            {**CALL, "tool_response": {"stdout": "out", "stderr": "err"}},
            "AfterTool",
            "run_shell_command",
            {
                "tool_name": "run_shell_command",
                "tool_input": {"command": "ls"},
                "tool_response": {"llmContent": "out\nerr", "returnDisplay": "out\nerr"},
            },
        ),
        (
            "PostToolUse",
            {
                "tool_name": "mcp__s__t",
                "tool_input": {},
                "tool_response": [{"type": "text", "text": "x"}],
            },
            "AfterTool",
            "mcp__s__t",
            {
                "tool_name": "mcp__s__t",
                "tool_input": {},
                "tool_response": {"llmContent": "x", "returnDisplay": "x"},
                "mcp_context": {"server_name": "s", "tool_name": "t"},
            },
        ),
        (
            "PostToolUse",
            {"tool_name": "New", "tool_input": {}, "tool_response": {"a": 1}},
            "AfterTool",
            "New",
            {
                "tool_name": "New",
                "tool_input": {},
                "tool_response": {"llmContent": '{"a":1}', "returnDisplay": '{"a":1}'},
            },
        ),
        (
            "PostToolUseFailure",
            {**CALL, "error": "exit 1"},
            "AfterTool",
            "run_shell_command",
            {
                "tool_name": "run_shell_command",
                "tool_input": {"command": "ls"},
                "tool_response": {
                    "llmContent": "exit 1",
                    "returnDisplay": "exit 1",
                    "error": {"type": "tool_failed", "message": "exit 1"},
                },
            },
        ),
        ("UserPromptSubmit", {"prompt": "hi"}, "BeforeAgent", "", {"prompt": "hi"}),
        (
            "Stop",
            {"stop_hook_active": True, "last_assistant_message": "ho"},
            "AfterAgent",
            "",
            {"prompt": "", "prompt_response": "ho", "stop_hook_active": True},
        ),
        (
            "Stop",
            {},
            "AfterAgent",
            "",
            {"prompt": "", "prompt_response": "", "stop_hook_active": False},
        ),
        (
            "SessionStart",
            {"source": "compact"},
            "SessionStart",
            "compress",
            {"source": "compress"},
        ),
        ("SessionStart", {"source": "fork"}, "SessionStart", "resume", {"source": "resume"}),
        ("SessionStart", {"source": "new"}, "SessionStart", "startup", {"source": "startup"}),
        (
            "SessionEnd",
            {"reason": "prompt_input_exit"},
            "SessionEnd",
            "prompt_input_exit",
            {"reason": "prompt_input_exit"},
        ),
        ("SessionEnd", {"reason": "resume"}, "SessionEnd", "other", {"reason": "other"}),
        ("PreCompact", {"trigger": "auto"}, "PreCompress", "auto", {"trigger": "auto"}),
        (
            "Notification",
            {"message": "m", "notification_type": "permission_prompt"},
            "Notification",
            "ToolPermission",
            {"message": "m", "notification_type": "ToolPermission"},
        ),
        (
            "Notification",
            {"message": "m", "notification_type": "idle_prompt"},
            "Notification",
            "idle_prompt",
            {"message": "m", "notification_type": "idle_prompt"},
        ),
        ("Setup", {"trigger": "init"}, "Setup", "init", {"trigger": "init"}),
        (
            "SubagentStop",
            {"agent_id": "a", "agent_type": "Explore", "session_crons": []},
            "SubagentStop",
            "Explore",
            {
                "stop_hook_active": False,
                "agent_id": "a",
                "agent_type": "Explore",
                "agent_transcript_path": "",
                "session_crons": [],
            },
        ),
        ("PermissionRequest", CALL, "PermissionRequest", "Bash", CALL | {"tool_use_id": None}),
        (
            "FileChanged",
            {"file_path": "/a/b", "event": "add"},
            "FileChanged",
            "/a/b",
            {"file_path": "/a/b", "event": "add"},
        ),
        # Our own names are read as ours.
        ("BeforeAgent", {"prompt": "hi"}, "BeforeAgent", "", {"prompt": "hi"}),
    ],
)
def test_an_event_of_claudes_is_read_as_ours(
    name: str, fields: dict[str, Any], event: str, target: str, read: dict[str, Any]
) -> None:
    fired = read_claude_event(name, {**BASE, **fields})
    assert (fired.event, fired.target) == (event, target)
    assert fields_of(fired) == {key: value for key, value in read.items() if value is not None}
    assert (fired.session_id, fired.transcript_path) == ("s1", "/t.jsonl")


def test_what_a_call_was_is_kept_beside_what_native_hooks_read() -> None:
    given = {**CALL, "tool_response": {"stdout": "x"}, "duration_ms": 7, "prompt_id": "p"}
    fired = read_claude_event("PostToolUse", given)
    assert (fired.facts.call_id, fired.facts.duration_ms) == ("toolu_1", 7)
    assert fired.facts.original == {**given, "hook_event_name": "PostToolUse"}
    assert fired.extra == {"tool_use_id": "toolu_1", "duration_ms": 7, "turn_id": "p"}


def test_native_hooks_read_which_subagent_acts() -> None:
    given = {**CALL, "agent_id": "a-1", "agent_type": "reviewer"}
    fired = read_claude_event("PreToolUse", given)
    assert fired.extra["agent"] == {"name": "reviewer", "id": "a-1", "depth": 1}
    assert "agent_id" not in fired.extra


@pytest.mark.parametrize("name", ["PreToolUse", "PermissionDenied"])
def test_facts_of_the_wrong_type_are_none(name: str) -> None:
    given = {**CALL, "reason": "no", "tool_use_id": 7, "duration_ms": "long"}
    facts = read_claude_event(name, given).facts
    assert (facts.call_id, facts.duration_ms) == (None, None)
    known = read_claude_event(name, {**given, "tool_use_id": "c1"})
    assert known.facts.call_id == "c1"


@pytest.mark.parametrize(("id", "read"), [("s1", "s1"), (7, None)])
def test_an_event_that_only_claude_has_keeps_the_session_it_names(
    id: object, read: str | None
) -> None:
    agent = {"agent_id": "a", "agent_type": "Explore"}
    fired = read_claude_event("SubagentStart", {**agent, "session_id": id, "transcript_path": id})
    assert (fired.session_id, fired.transcript_path) == (read, read)


def test_native_hooks_are_shown_the_tool_that_the_host_has_declared() -> None:
    tools = {**TOOLS, "my_shell": ToolAlias("Bash", {"command": ("line", "cmd")})}
    fired = read_claude_event("PreToolUse", CALL, tools)
    assert fired.target == "my_shell"
    assert fired.field("tool_input") == {"line": "ls"}
    after = {**CALL, "tool_response": {"stdout": "out"}}
    response = read_claude_event("PostToolUse", after, tools).field("tool_response")
    assert response["llmContent"] == "out"


def test_a_host_may_fire_claudes_events_with_tools_of_its_own() -> None:
    fields = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
    fired = read_claude_event("PreToolUse", fields)
    assert fired.target == "run_shell_command"
    payload = {**BASE, "tool_name": fired.target, "tool_input": fields["tool_input"]}
    written = write_document(EventDocument(fired.event, payload, fired.facts))
    assert json.loads(written)["tool_name"] == "Bash"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("SessionStart", {"source": "compress"}),
        ("SessionEnd", {"reason": "exit"}),
        ("Notification", {"message": "m", "notification_type": "ToolPermission"}),
    ],
)
def test_a_host_may_fire_claudes_events_in_words_of_its_own(
    name: str, fields: dict[str, Any]
) -> None:
    fired = read_claude_event(name, fields)
    assert fields_of(fired) == fields
    assert fired.facts.original is None


@pytest.mark.parametrize("name", [each for each in EVENT_NAMES if each not in ("Stop",)])
def test_every_event_says_which_field_it_lacks(name: str) -> None:
    with pytest.raises(InvalidPayloadError, match=rf"^{name} input: \w+ "):
        read_claude_event(name, {})


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("PreToolUse", {"tool_name": 3, "tool_input": {}}),
        ("PreToolUse", {"tool_name": "Bash", "tool_input": "ls"}),
        ("PermissionRequest", {"tool_name": "Bash", "tool_input": "ls"}),
        ("SubagentStart", {"agent_id": "a", "agent_type": 3}),
        ("PreCompact", {"trigger": "never"}),
        ("Stop", {"stop_hook_active": "no"}),
    ],
)
def test_a_field_of_the_wrong_type_is_refused(name: str, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayloadError, match=f"^{name} input"):
        read_claude_event(name, fields)


def test_a_call_that_hosts_could_not_be_shown_is_refused() -> None:
    fields = {"tool_name": "Read", "tool_input": {"file_path": "a", "path": "b"}}
    with pytest.raises(AmbiguousInputError):
        read_claude_event("PreToolUse", fields)


def test_claudes_own_events_have_their_fields_in_order_and_the_others_beside_them() -> None:
    fields = {"agent_type": "Explore", "agent_id": "a", "new": 1, "cwd": "/x"}
    fired = read_claude_event("SubagentStart", fields)
    assert fired.values == ("a", "Explore")
    assert fired.extra == {"new": 1}
    for event, spec in CLAUDE_EVENTS.items():
        names = (*spec.required, *spec.optional)
        given = {name: {} if name == "tool_input" else name for name in reversed(names)}
        assert read_claude_event(str(event), given).values == tuple(given[n] for n in names)


@pytest.mark.parametrize(
    ("name", "meant"), [("PreToolUsed", "PreToolUse"), ("BeforeTol", "BeforeTool")]
)
def test_an_unknown_name_is_told_the_nearest_of_both_families(name: str, meant: str) -> None:
    with pytest.raises(UnknownEventError) as raised:
        read_claude_event(name, {})
    assert meant in raised.value.nearest
