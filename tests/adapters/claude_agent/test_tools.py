"""Project hooks and functions on the tools of Claude Code, with its real command line."""

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    SdkMcpTool,
    create_sdk_mcp_server,
)

from hookline import (
    Hooks,
    add_context,
    combine,
    deny,
    message,
    replace_result,
    rewrite,
    stop,
)
from hookline._support.notices import heard_warnings
from hookline.adapters.claude_agent import hooked
from tests.adapters.claude_agent.messages import MessagesApi, call, clean_environment
from tests.adapters.claude_agent.playing import Event, note, play
from tests.kit.adapters import Call, Reply

ALL: dict[str, Any] = {"allow": ["Bash", "Read", "Write", "Edit", "Glob", "Grep"]}
SCRIPT = """
import json, sys
event = json.load(sys.stdin)
with open({log!r}, "a") as log:
    print(json.dumps([event["hook_event_name"], event["tool_name"], event["tool_input"]]), file=log)
given = event["tool_input"]
if "secret" in given.get("command", "") or given.get("file_path", "").endswith(".env"):
    print(json.dumps({{"decision": "deny", "reason": "that is a secret"}}))
elif event["tool_name"] == "read_file":
    path = given["file_path"].replace("old", "new")
    print(json.dumps({{"hookSpecificOutput": {{"tool_input": {{"absolute_path": path}}}}}}))
elif given.get("content"):
    safe = given["content"].replace("hunter2", "***")
    print(json.dumps({{"hookSpecificOutput": {{"tool_input": {{"content": safe}}}}}}))
"""


def make_project(folder: Path) -> Path:
    """A project whose one script sees every tool call; gives the script's log."""
    log, script = folder / "calls.jsonl", folder / "hooks" / "guard.py"
    script.parent.mkdir()
    script.write_text(SCRIPT.format(log=str(log)))
    hook = {"type": "command", "command": f"{sys.executable} hooks/guard.py", "onFailure": "block"}
    matcher = "^(run_shell_command|read_file|write_file|replace|glob|search_file_content)$"
    settings = {"hooks": {"BeforeTool": [{"matcher": matcher, "hooks": [hook]}]}}
    (folder / ".hookline").mkdir()
    (folder / ".hookline" / "settings.json").write_text(json.dumps(settings))
    return log


async def test_project_hooks_guard_claude_codes_own_tools(tmp_path: Path) -> None:
    log = make_project(tmp_path)
    (tmp_path / "new.txt").write_text("the new one")
    (tmp_path / "old.txt").write_text("the old one")
    path = str(tmp_path / "a.txt")
    played = await play(
        tmp_path,
        Hooks.load(tmp_path, trusted=True),
        [
            call("Bash", command="cat secret"),
            call("Bash", command="echo fine"),
            call("Write", file_path=path, content="password=hunter2"),
            call("Write", file_path=str(tmp_path / ".env"), content="x"),
            call("Edit", file_path=path, old_string="password", new_string="key"),
            call("Read", file_path="old.txt"),
            Reply(calls=(Call("Glob", {"pattern": "*.txt"}), Call("Grep", {"pattern": "new"}))),
        ],
        rules=ALL,
    )
    assert (tmp_path / "a.txt").read_text() == "key=***"
    assert not (tmp_path / ".env").exists()
    results = played.tool_results
    assert "that is a secret" in results[0]
    assert results[1] == "fine"
    assert "that is a secret" in results[3]
    assert "the new one" in results[5]
    seen = [json.loads(line) for line in log.read_text().splitlines()]
    assert [name for _, name, _ in seen[:6]] == [
        *("run_shell_command", "run_shell_command", "write_file", "write_file"),
        *("replace", "read_file"),
    ]
    assert {name for _, name, _ in seen[6:]} == {"glob", "search_file_content"}
    assert seen[4][2] == {
        "file_path": path,
        "old_string": "password",
        "new_string": "key",
        "replace_all": False,
    }
    assert seen[5][2] == {"file_path": str(tmp_path / "old.txt")}


async def test_a_replaced_result_leaves_no_trace(tmp_path: Path) -> None:
    hooks = Hooks()
    (tmp_path / "pw.txt").write_text("it is swordfish\n")
    shown: list[Event] = []

    @hooks.on("AfterTool")
    def redact(event: Event) -> Any:
        shown.append(event)
        text = event["tool_response"]["llmContent"]
        return replace_result(text.replace("swordfish", "[removed]"))

    server = create_sdk_mcp_server("host", tools=[make_tool("fetch", "it is swordfish")])
    played = await play(
        tmp_path,
        hooks,
        [
            Reply(
                calls=(
                    Call("Bash", {"command": "echo out sword''fish; echo err sword''fish >&2"}),
                    Call("Read", {"file_path": str(tmp_path / "pw.txt")}),
                    Call("Grep", {"pattern": "sword", "output_mode": "content"}),
                    Call("Glob", {"pattern": "*.txt"}),
                    Call("mcp__host__fetch", {"command": "x"}),
                )
            ),
            "Done.",
        ],
        rules={"allow": ["Bash", "Read", "Grep", "Glob", "mcp__host"]},
        options={"mcp_servers": {"host": server}},
    )
    by_name = {event["tool_name"]: event["tool_response"]["llmContent"] for event in shown}
    assert by_name == {
        "run_shell_command": "out swordfish\nerr swordfish",
        "read_file": "it is swordfish\n",
        "search_file_content": "pw.txt:1:it is swordfish",
        "glob": "pw.txt",
        "mcp__host__fetch": "it is swordfish",
    }
    results = played.tool_results
    assert len(results) == 5
    assert sum("[removed]" in result for result in results) == 4
    assert "swordfish" not in played.sent()
    assert "swordfish" not in str(played.seen)
    home = tmp_path.with_name(f"{tmp_path.name}-home")
    transcripts = [*home.rglob("*.jsonl")]
    assert transcripts
    assert all("swordfish" not in transcript.read_text() for transcript in transcripts)


async def test_a_large_result_is_replaced_whole(tmp_path: Path) -> None:
    hooks = Hooks(strict=True)

    @hooks.on("AfterTool")
    def redact(event: Event) -> Any:
        text = event["tool_response"]["llmContent"]
        return replace_result(text.replace("line", "LINE")) if "LINE" not in text else None

    # More than the SDK takes in one message where nobody says otherwise.
    lines = "".join(f"line {number}\n" for number in range(70_000))
    (tmp_path / "a.txt").write_text(lines)
    calls = (
        Call("Bash", {"command": "cat a.txt"}),
        Call("Grep", {"pattern": "line", "output_mode": "content", "head_limit": 0}),
    )
    played = await play(tmp_path, hooks, [Reply(calls=calls), "Done."], rules=ALL)
    assert played.results == ["Done."]
    assert len(played.tool_results) == 2
    for result in played.tool_results:
        assert "LINE 1\n" in result
        assert "line 1\n" not in result


async def test_reports_of_subagents_and_searches_are_replaced_too(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("AfterTool", matcher="task|search")(lambda _event: replace_result("[removed]"))
    played = await play(
        tmp_path,
        hooks,
        [
            # Claude Code would have it work in the background, and tell of it in a prompt.
            call("Agent", description="d", prompt="Look."),
            "the report is swordfish",
            call("WebSearch", query="fish"),
            "the page is swordfish",
            "Done.",
        ],
        rules={"allow": ["Agent", "WebSearch"]},
        options={"tools": ["Agent", "WebSearch"]},
    )
    assert played.results == ["Done."]
    assert played.sent().count("[removed]") == 2
    assert "swordfish" not in played.sent(role="tool")


async def test_what_comes_from_the_background_comes_to_before_agent_hooks(tmp_path: Path) -> None:
    hooks, is_idle = Hooks(), threading.Event()
    noted = note(hooks, "AfterTool")

    @hooks.on("BeforeAgent")
    def before(event: Event) -> Any:
        return deny("no passwords here") if "swordfish" in event["prompt"] else None

    def reply(messages: Any, _tools: Any) -> Reply:
        if not any("Main." in m.text for m in messages):
            is_idle.wait(10)
            return Reply("it is swordfish")
        is_first = not any(m.role == "tool" for m in messages)
        spying = call("Agent", description="d", prompt="Look.", subagent_type="spy")
        return spying if is_first else Reply("Done.")

    with MessagesApi(reply) as api, heard_warnings() as warnings:
        options = ClaudeAgentOptions(
            cwd=tmp_path,
            env=clean_environment(api, tmp_path),
            tools=["Agent"],
            setting_sources=[],
            agents={"spy": AgentDefinition(description="d", prompt="Spy.", background=True)},
        )
        async with ClaudeSDKClient(hooked(options, hooks)) as client:
            await client.query("Main.")
            seen = [message async for message in client.receive_response()]
            is_idle.set()
            seen += [message async for message in client.receive_response()]
        assert len(api.bodies) == 3
        assert "it is swordfish" not in json.dumps(api.bodies)
    assert any("no passwords here" in str(message) for message in seen)
    assert [event["tool_name"] for event in noted] == ["task"]
    assert any("do not see the background output of Agent" in w for w in warnings)


async def test_a_result_that_cannot_be_replaced_has_the_reason_beside_it(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: replace_result("the tests fail now"))
    write = call("Write", file_path=str(tmp_path / "a"), content="x")
    with heard_warnings() as warnings:
        played = await play(tmp_path, hooks, [write, write, "Done."], rules=ALL)
    assert "the tests fail now" in played.sent()
    told = [w for w in warnings if "cannot replace" in w]
    assert len(told) == 1
    assert told[0].startswith("hooks replaced a result of write_file, which Claude Code cannot")


async def test_what_hooks_say_beside_a_result_reaches_the_model_but_for_a_tail_call(
    tmp_path: Path,
) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: combine(rewrite(command="echo b"), message("be brief")))
    hooks.on("AfterTool")(lambda _event: add_context("this is a sandbox"))
    wanted = {"tailToolCallRequest": {"name": "read_file", "args": {}}}
    hooks.on("AfterTool")(lambda _event: {"hookSpecificOutput": wanted})
    noted = note(hooks, "AfterTool")
    with heard_warnings() as warnings:
        played = await play(tmp_path, hooks, [call("Bash", command="echo a"), "Done."], rules=ALL)
    assert any(
        "the tail call of 'read_file' that a hook asked for did not run" in w for w in warnings
    )
    assert played.tool_results == ["b"]
    assert "this is a sandbox" in played.sent()
    assert "[System] be brief" in played.sent()
    (after,) = noted
    assert after["tool_input"] == {"command": "echo b"}
    assert after["original_tool_input"] == {"command": "echo a"}
    assert after["session_id"] == played.session_id
    assert Path(after["transcript_path"]).name == f"{played.session_id}.jsonl"


@pytest.mark.parametrize("strict", [False, True])
async def test_an_error_is_shown_to_hooks_and_one_that_they_replace_ends_a_strict_turn(
    tmp_path: Path, strict: bool
) -> None:
    hooks = Hooks(strict=strict)

    @hooks.on("AfterTool")
    def after(event: Event) -> Any:
        said = event["tool_response"]["llmContent"]
        return add_context("try again") if "oops" in said else replace_result("[removed]")

    noted = note(hooks, "AfterTool")
    calls = [call("Bash", command=command) for command in ("echo oops; exit 3", "exit 4")]
    with heard_warnings() as warnings:
        played = await play(tmp_path, hooks, [*calls, "Done."], rules=ALL)
    assert noted[0]["tool_name"] == "run_shell_command"
    assert noted[0]["tool_response"]["error"] == {
        "type": "tool_failed",
        "message": "Exit code 3\noops",
    }
    assert "try again" in played.sent(1)
    assert any("replaced an error, which Claude Code cannot replace" in w for w in warnings)
    assert len(played.requests) == (2 if strict else 3)
    assert ("[removed]" in played.sent()) is not strict


async def test_a_stop_after_a_tool_ends_the_turn_whether_it_failed_or_not(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("AfterTool")(lambda _event: stop("enough"))
    calls = [call("Bash", command=command) for command in ("exit 3", "echo hi")]
    played = await play(tmp_path, hooks, [*calls, "Never."], prompts=["One.", "Two."], rules=ALL)
    assert len(played.requests) == 2
    assert sum("enough" in notice for notice in played.notices) == 2
    assert "hi" not in played.tool_results


async def test_a_stop_holds_for_the_other_calls_of_the_turn_and_not_for_the_next(
    tmp_path: Path,
) -> None:
    hooks, ran = Hooks(), tmp_path / "ran"

    @hooks.on("BeforeTool")
    def before(event: Event) -> Any:
        return stop("enough") if event["tool_input"]["command"] == "halt" else None

    calls = [Call("Bash", {"command": c}) for c in ("halt", f"touch {ran}")]
    replies: list[str | Reply] = [
        Reply(calls=(calls[0], calls[1])),
        call("Bash", command="echo later"),
        "Done.",
    ]
    played = await play(tmp_path, hooks, replies, prompts=["One.", "Two."], rules=ALL)
    assert not ran.exists()
    assert played.results == ["", "Done."]
    assert played.tool_results[-1] == "later"
    assert len(played.requests) == 3


async def test_the_tools_of_subagents_are_guarded(tmp_path: Path) -> None:
    hooks = Hooks()

    @hooks.on("BeforeTool", matcher="run_shell_command")
    def before(_event: Event) -> Any:
        return deny("not in here")

    noted, prompts = note(hooks, "BeforeTool"), note(hooks, "BeforeAgent")
    agent = call("Agent", description="d", prompt="Look.", run_in_background=False)
    played = await play(
        tmp_path,
        hooks,
        [agent, call("Bash", command="touch a"), "I could not.", "Done."],
        rules={"allow": ["Agent", "Bash"]},
        options={"tools": ["Agent", "Bash"]},
    )
    assert not (tmp_path / "a").exists()
    assert "not in here" in played.sent(2, role="tool")
    assert [event["tool_name"] for event in noted] == ["task", "run_shell_command"]
    assert noted[0]["tool_input"]["goal_prompt"] == "Look."
    assert {event["session_id"] for event in noted} == {played.session_id}
    assert [event["prompt"] for event in prompts] == ["Go on."]
    assert len({event["turn_id"] for event in (*prompts, *noted)}) == 1
    assert "agent" not in noted[0]
    assert (noted[1]["agent"]["name"], noted[1]["agent"]["depth"]) == ("general-purpose", 1)


async def test_a_stop_in_a_subagent_ends_the_whole_turn(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="run_shell_command")(lambda _event: stop("enough"))
    agent = call("Agent", description="d", prompt="Look.", run_in_background=False)
    played = await play(
        tmp_path,
        hooks,
        [agent, call("Bash", command="touch a"), "Never said.", "Never said."],
        rules={"allow": ["Agent", "Bash"]},
        options={"tools": ["Agent", "Bash"]},
    )
    assert len(played.requests) == 2
    assert any("enough" in notice for notice in played.notices)


async def test_a_notebook_is_guarded_as_any_file_is(tmp_path: Path) -> None:
    hooks = Hooks()
    cell = {"cell_type": "code", "source": "1", "metadata": {}, "outputs": []}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "n.ipynb").write_text(json.dumps(book))

    @hooks.on("BeforeTool", matcher="replace")
    def before(event: Event) -> Any:
        safe = event["tool_input"]["new_string"].replace("hunter2", "***")
        return rewrite(new_string=safe) if event["tool_input"]["file_path"].endswith("b") else None

    path = str(tmp_path / "n.ipynb")
    edit = call("NotebookEdit", notebook_path=path, new_source="pw = 'hunter2'", cell_id="cell-0")
    await play(
        tmp_path,
        hooks,
        [call("Read", file_path=path), edit, "Done."],
        rules={"allow": ["Read", "Edit", "NotebookEdit"]},
        options={"tools": ["Read", "NotebookEdit"]},
    )
    assert "hunter2" not in (tmp_path / "n.ipynb").read_text()
    assert "***" in (tmp_path / "n.ipynb").read_text()


async def test_an_mcp_tool_keeps_its_name_and_hooks_are_told_its_server(tmp_path: Path) -> None:
    hooks = Hooks()
    noted = note(hooks, "BeforeTool", "AfterTool")
    server = create_sdk_mcp_server("host", tools=[make_tool("shell", "done")])
    await play(
        tmp_path,
        hooks,
        [call("mcp__host__shell", command="ls"), "Done."],
        rules={"allow": ["mcp__host"]},
        options={"tools": [], "mcp_servers": {"host": server}},
    )
    assert [event["tool_name"] for event in noted] == ["mcp__host__shell"] * 2
    contexts = [event["mcp_context"] for event in noted]
    assert contexts == [{"server_name": "host", "tool_name": "shell"}] * 2


async def test_a_rewrite_that_cannot_be_made_is_not_run(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="run")(lambda _event: rewrite(command=5))
    hooks.on("BeforeTool", matcher="read")(lambda _event: rewrite(path="/b", absolute_path="/c"))
    calls = (call("Bash", command="touch a"), call("Read", file_path="/a"), "Done.")
    played = await play(tmp_path, hooks, calls, rules=ALL)
    assert not (tmp_path / "a").exists()
    assert "failed schema validation" in played.tool_results[0]
    assert "absolute_path and file_path and path" in played.tool_results[1]


async def test_a_path_may_be_rewritten_under_any_of_its_names(tmp_path: Path) -> None:
    hooks = Hooks()
    for name in ("old", "new"):
        (tmp_path / name).write_text(f"the {name} one")
    hooks.on("BeforeTool")(lambda _event: rewrite(absolute_path=str(tmp_path / "new")))
    noted = note(hooks, "AfterTool")
    with heard_warnings() as warnings:
        played = await play(
            tmp_path, hooks, [call("Read", file_path=str(tmp_path / "old")), "Done."], rules=ALL
        )
    assert "the new one" in played.tool_results[0]
    assert noted[0]["tool_input"] == {"file_path": str(tmp_path / "new")}
    assert noted[0]["original_tool_input"] == {"file_path": str(tmp_path / "old")}
    assert not warnings


async def test_callbacks_of_the_users_own_keep_working_and_allow_nothing_that_hooks_deny(
    tmp_path: Path,
) -> None:
    hooks, called = Hooks(), list[str]()
    hooks.on("BeforeTool", matcher="run_shell_command")(lambda _event: deny("not on Sundays"))

    async def own(given: Any, _id: str | None, _context: Any) -> Any:
        called.append(given["hook_event_name"])
        if given["hook_event_name"] != "PreToolUse":
            return {}
        return {
            "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "additionalContext": "from a callback",
            }
        }

    events: Any = ("PreToolUse", "Stop", "SubagentStop")
    played = await play(
        tmp_path,
        hooks,
        [call("Bash", command="touch a"), "Done."],
        options={"hooks": {event: [HookMatcher(hooks=[own])] for event in events}},
    )
    assert called == ["PreToolUse", "Stop"]
    assert not (tmp_path / "a").exists()
    assert "not on Sundays" in played.tool_results[0]


async def test_a_rewrite_that_another_callback_overrides_is_warned_of(tmp_path: Path) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: rewrite(command="echo safe"))
    noted = note(hooks, "AfterTool")

    async def own(_given: Any, _id: str | None, _context: Any) -> Any:
        await asyncio.sleep(0.3)
        updated = {"command": "echo other"}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": updated}}

    with heard_warnings() as warnings:
        await play(
            tmp_path,
            hooks,
            [call("Bash", command="echo a"), "Done."],
            rules=ALL,
            options={"hooks": {"PreToolUse": [HookMatcher(hooks=[own])]}},
        )
    assert noted[0]["tool_input"] == {"command": "echo other"}
    assert any("ran with another command than hooks had rewritten" in w for w in warnings)


def make_tool(name: str, text: str) -> SdkMcpTool[Any]:
    async def run(_args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": text}]}

    return SdkMcpTool(name, name, {"command": str}, run)
