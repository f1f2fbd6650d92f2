"""One ``.claude/settings.json`` guards one tool, whoever calls it: every adapter in every mode, the
agent loop, plain functions and the MCP proxy come to the same decisions."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from hookline import Hooks, ToolAlias
from hookline._support.notices import heard_warnings
from hookline.calls.tool import ConfirmationRequest
from tests.adapters.harnesses import HARNESSES
from tests.adapters.mcp.test_proxy import User
from tests.adapters.test_policy import SERVER
from tests.kit.adapters import Call, Harness, Observed, Reply, Run

# Command -> what hooks answer to it, by the event. Each tells the user something as well.
ANSWERS: dict[str, dict[str, dict[str, Any]]] = {
    "rm x": {"PreToolUse": {"permissionDecision": "deny", "permissionDecisionReason": "no rm"}},
    "deploy": {
        "PreToolUse": {
            "updatedInput": {"command": "deploy --dry-run"},
            "additionalContext": "there are dry runs only",
        }
    },
    "deploy --dry-run": {"PostToolUse": {"additionalContext": "mind the lint"}},
    **{
        command: {
            "PreToolUse": {"permissionDecision": "ask", "permissionDecisionReason": "really?"},
            "PermissionRequest": {"decision": decision} if decision else {},
        }
        for command, decision in (
            ("push", {"behavior": "deny", "message": "no pushing"}),
            ("pull", {"behavior": "allow"}),
            ("merge", None),
        )
    },
}
RAN = ["deploy --dry-run", "pull", "merge"]
TOLD = "only for the user"
READ = ("no rm", "there are dry runs only", "mind the lint", "no pushing", "output of merge")
# A host calls it by a name of its own; an MCP server's has its own at Claude Code too.
MATCHER = "^(Bash|mcp__\\w+__shell)$"


SCRIPT = """
given=$(cat) command=
case $given in
  *'"stop_hook_active":true'*) exit ;;
  *'"command":"'*) command=${given#*'"command":"'} command=" ${command%%'"'*}" ;;
esac
cat "$CLAUDE_PROJECT_DIR/.claude/answers/$1$command" 2>/dev/null || exit 0
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a hook of Claude Code's, which answers from a file for each command."""
    here = tmp_path_factory.mktemp("project")
    answers = here / ".claude" / "answers"
    answers.mkdir(parents=True)
    for command, by_event in ANSWERS.items():
        for event, fields in by_event.items():
            specific = {"hookEventName": event, **fields}
            said = {"systemMessage": f"{TOLD}: {event}", "hookSpecificOutput": specific}
            (answers / f"{event} {command}").write_text(json.dumps(said))
    (answers / "UserPromptSubmit").write_text("the sprint ends today")
    blocked = {"decision": "block", "reason": "run the tests", "systemMessage": f"{TOLD}: Stop"}
    (answers / "Stop").write_text(json.dumps(blocked))
    script = here / ".claude" / "hook.sh"
    script.write_text(SCRIPT)

    def hook(event: str) -> list[dict[str, Any]]:
        command = f'sh "$CLAUDE_PROJECT_DIR"/.claude/hook.sh {event}'
        return [{"matcher": MATCHER, "hooks": [{"type": "command", "command": command}]}]

    events = ("PreToolUse", "PostToolUse", "PermissionRequest", "UserPromptSubmit", "Stop")
    export = {"type": "command", "command": 'echo export MODE=ci >> "$CLAUDE_ENV_FILE"'}
    started = {"SessionStart": [{"hooks": [export]}]}
    settings = {"hooks": {**started, **{event: hook(event) for event in events}}}
    (here / ".claude" / "settings.json").write_text(json.dumps(settings))
    return here


def load(project: Path) -> Hooks:
    return Hooks.load(project, claude=True, trusted=True, tools={"shell": ToolAlias("Bash")})


@pytest.mark.parametrize(
    ("harness", "mode"),
    [
        pytest.param(harness, mode, id=f"{harness.name}-{mode}")
        for harness in HARNESSES
        for mode in harness.modes
    ],
)
async def test_an_adapter_does_as_hooks_of_claude_code_say(
    project: Path, harness: Harness, mode: str
) -> None:
    observed = Observed(mode=mode, session_id=f"claude-{mode}")
    calls = [
        Reply("Look.", (Call("shell", {"command": command}),))
        for command in ("rm x", "deploy", "push", "pull", "merge")
    ]
    replies = [*calls, Reply("All is done."), Reply("It is tested.")]
    with heard_warnings() as warnings, load(project) as hooks:
        await harness.run(Run(hooks, observed, prompts=["Go on."], replies=replies, approves=True))
    assert [given["command"] for given in observed.inputs("shell")] == RAN
    assert len(observed.questions) == 1
    assert "merge" in observed.questions[0] or "really?" in observed.questions[0]
    read = "\n".join(observed.sent(number) for number in range(len(observed.requests)))
    assert [text for text in READ if text not in read] == []
    assert TOLD not in read
    told = "\n".join([observed.seen, *warnings])
    assert f"{TOLD}: PreToolUse" in told
    assert f"{TOLD}: PostToolUse" in told
    # Once for each question, also where the answer comes in another run.
    assert told.count(f"{TOLD}: PermissionRequest") == 3
    if harness.name != "plain":
        assert "the sprint ends today" in observed.sent(0)
        assert f"{TOLD}: Stop" in told
        # The agent loop has them for its tools.
        assert ("hooks export MODE" in told) == (harness.name != "agent")
    # There the result is out before the turn is over.
    if harness.name != "plain" and mode != "async run_stream":
        assert "run the tests" in observed.sent(-1)
        assert observed.answer.endswith("It is tested.")


@pytest.mark.parametrize("is_sync", [True, False], ids=["sync", "async"])
async def test_run_tool_does_as_hooks_of_claude_code_say(project: Path, is_sync: bool) -> None:
    asked: list[str] = []
    ran: list[str] = []

    def shell(command: str) -> str:
        ran.append(command)
        return f"output of {command}"

    def confirm(request: ConfirmationRequest) -> bool:
        asked.append(request.tool_input["command"])
        return True

    read: list[str] = []
    with heard_warnings() as warnings, load(project) as hooks:
        for command in ("rm x", "deploy", "push", "pull", "merge"):
            given = {"command": command}
            if is_sync:
                result = hooks.sync.run_tool(shell, given, confirm=confirm)
            else:
                result = await hooks.run_tool(shell, given, confirm=confirm)
            read.append(str(result))
    assert (ran, asked) == (RAN, ["merge"])
    assert [text for text in READ if text not in "".join(read)] == []
    assert TOLD not in "".join(read)
    assert [warning.rpartition(": ")[2] for warning in warnings] == [
        *("PreToolUse", "PreToolUse", "PostToolUse"),
        *("PreToolUse", "PermissionRequest") * 3,
    ]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("generation", ["legacy", "2026-07-28"])
async def test_the_mcp_proxy_does_as_hooks_of_claude_code_say(
    project: Path, tmp_path: Path, generation: Any
) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    log, user, read = tmp_path / "log", User(), ""
    server = ["--", sys.executable, str(tmp_path / "server.py"), str(log)]
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hookline", "mcp", "--claude", "--trust", "--name", "box", *server],
        cwd=project,
        env=dict(os.environ),
    )
    with (tmp_path / "stderr").open("w+") as stderr:
        connected = stdio_client(started, stderr)
        async with Client(connected, mode=generation, elicitation_callback=user) as client:
            for command in ("rm x", "deploy", "push", "pull", "merge"):
                read += (await client.call_tool("shell", {"command": command})).model_dump_json()
        stderr.seek(0)
        told = stderr.read()
    assert log.read_text().splitlines() == RAN
    assert len(user.questions) == 1
    assert [text for text in READ if text not in read] == []
    assert TOLD not in read
    assert f"{TOLD}: PreToolUse" in told
    assert f"{TOLD}: PermissionRequest" in told
