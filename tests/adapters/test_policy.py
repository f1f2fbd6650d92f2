"""One project's hooks guard one tool, whoever calls it: every adapter in every mode, the agent
loop, the MCP proxy and the command line come to the same decisions."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from hookline import Hooks
from tests.adapters.harnesses import HARNESSES
from tests.kit.adapters import Call, Harness, Observed, Reply, Run

GUARD = """
import json, sys

command = json.load(sys.stdin)["tool_input"]["command"]
if command == "crash":
    sys.exit("the guard broke")
answers = {
    "rm": {"decision": "deny", "reason": "rm is not allowed"},
    "halt": {"continue": False, "stopReason": "office hours are over"},
    "deploy": {"hookSpecificOutput": {"tool_input": {"command": "deploy --dry-run"}}},
}
print(json.dumps(answers.get(command, {})))
"""
REDACT = """
import json, sys

event = json.load(sys.stdin)
found = "swordfish" in json.dumps(event["tool_response"])
answer = {"decision": "deny", "reason": "the output had a [secret]"} if found else {}
print(json.dumps(answer))
"""


class Decision(NamedTuple):
    """What came of a call: the command that the tool ran, and which texts somebody could read."""

    ran: str | None
    read: frozenset[str]


# Everything that the model, the user or a caller may read of a call.
TEXTS = (
    "rm is not allowed",
    "office hours are over",
    "guard broke",
    "[secret]",
    "swordfish",
    *(f"output of {command}" for command in ("ls", "rm", "halt", "crash", "cat", "deploy --dry")),
)
POLICY = {
    "ls": Decision("ls", frozenset({"output of ls"})),
    "rm": Decision(None, frozenset({"rm is not allowed"})),
    "halt": Decision(None, frozenset({"office hours are over"})),
    "deploy": Decision("deploy --dry-run", frozenset({"output of deploy --dry"})),
    "cat swordfish": Decision("cat swordfish", frozenset({"[secret]"})),
    "crash": Decision(None, frozenset({"guard broke"})),
}


def decide(ran: list[str], text: str) -> Decision:
    assert len(ran) < 2, f"it ran more than once: {ran}"
    return Decision(ran[0] if ran else None, frozenset(t for t in TEXTS if t in text))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a guard that fails closed, and one that reads what a tool returned."""
    here = tmp_path_factory.mktemp("project")
    (here / "guard.py").write_text(GUARD)
    (here / "redact.py").write_text(REDACT)

    def hook(script: str, **more: str) -> list[dict[str, Any]]:
        command = {"type": "command", "command": f"{sys.executable} {here / script}", **more}
        return [{"matcher": "shell", "hooks": [command]}]

    (here / ".hookline").mkdir()
    (here / ".hookline" / "settings.json").write_text(
        json.dumps(
            {
                "hooks": {
                    "BeforeTool": hook("guard.py", onFailure="block"),
                    "AfterTool": hook("redact.py", onFailure="block"),
                }
            }
        )
    )
    return here


every_command = pytest.mark.parametrize("command", POLICY)


@every_command
@pytest.mark.parametrize(
    ("harness", "mode"),
    [
        pytest.param(harness, mode, id=f"{harness.name}-{mode}")
        for harness in HARNESSES
        for mode in harness.modes
    ],
)
async def test_an_adapter_decides_as_the_policy_says(
    project: Path, harness: Harness, mode: str, command: str
) -> None:
    observed = Observed(mode=mode, session_id=f"policy-{mode}")
    call = Reply("Let me look.", (Call("shell", {"command": command}),))
    with Hooks.load(project, trusted=True) as hooks:
        await harness.run(
            Run(hooks, observed, prompts=["Go on."], replies=[call, Reply("All is done.")])
        )
    ran = [given["command"] for given in observed.inputs("shell")]
    read = "\n".join([observed.seen, *(observed.sent(n, role="tool") for n in range(3))])
    assert decide(ran, read) == POLICY[command]


def fire(project: Path, event: str, fields: dict[str, Any]) -> dict[str, Any]:
    argv = [sys.executable, "-m", "hookline", "fire", event, "--json", "--trust"]
    given = ["--cwd", str(project), "--input", json.dumps({"tool_name": "shell", **fields})]
    done = subprocess.run([*argv, *given], capture_output=True, text=True)
    assert done.returncode in (0, 2), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@every_command
async def test_the_command_line_decides_as_the_policy_says(project: Path, command: str) -> None:
    """As a loop in another language uses it: fire, run the tool, fire again."""
    before = fire(project, "BeforeTool", {"tool_input": {"command": command}})
    view = before["view"]
    if view["blocked"] or view["stop"]:
        assert decide([], view["effective_reason"]) == POLICY[command]
        return
    changed = (before["final_output"] or {}).get("hookSpecificOutput", {}).get("tool_input", {})
    ran = {"command": command, **changed}["command"]
    result = f"output of {ran}"
    response = {"tool_input": {"command": ran}, "tool_response": {"llmContent": result}}
    after = fire(project, "AfterTool", response)["view"]
    read = after["effective_reason"] if after["blocked"] else result
    assert decide([ran], read) == POLICY[command]


SERVER = """
import sys
from mcp.server.mcpserver import MCPServer

server = MCPServer("box")

@server.tool()
def shell(command: str) -> str:
    with open(sys.argv[1], "a") as log:
        log.write(f"{command}\\n")
    return f"output of {command}"

server.run("stdio")
"""


@pytest.mark.timeout(120)
@pytest.mark.parametrize("generation", ["legacy", "2026-07-28"])
async def test_the_mcp_proxy_decides_as_the_policy_says(
    project: Path, tmp_path: Path, generation: Any
) -> None:
    """In one session, which a stop ends."""
    (tmp_path / "server.py").write_text(SERVER)
    log = tmp_path / "log"
    proxy = ["-m", "hookline", "mcp", "--trust", "--", sys.executable, str(tmp_path / "server.py")]
    started = StdioServerParameters(
        command=sys.executable, args=[*proxy, str(log)], cwd=project, env=dict(os.environ)
    )
    decisions: dict[str, Decision] = {}
    with (tmp_path / "stderr").open("w") as stderr:
        async with Client(stdio_client(started, stderr), mode=generation) as client:
            for command in sorted(POLICY, key=lambda command: command == "halt"):
                log.write_text("")
                result = await client.call_tool("shell", {"command": command})
                ran = log.read_text().splitlines()
                decisions[command] = decide(ran, result.model_dump_json())
            again = await client.call_tool("shell", {"command": "ls"})
    assert decisions == POLICY
    assert decide(log.read_text().splitlines(), again.model_dump_json()) == POLICY["halt"]
