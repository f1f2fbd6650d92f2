"""Claude Code as the host: the CLI that its agent SDK bundles, against a model on loopback."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import claude_agent_sdk
import pytest

from tests.cli.command import command_hook, settings
from tests.harness.loopback import LoopbackServer
from tests.harness.scratch import Project

CLI = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
SERVER = Path(__file__).parents[3] / "examples" / "mcp" / "server.py"
MAIL = "mcp__notes__send_mail"


class Model(LoopbackServer):
    """Calls a tool once, and then says that it is done."""

    def answer(self, body: Any, path: str) -> Any:
        if "count_tokens" in path:
            return {"input_tokens": 1}
        has_tool = any(tool["name"] == MAIL for tool in body.get("tools", ()))
        if has_tool and "tool_result" not in json.dumps(body["messages"]):
            used = {"type": "tool_use", "id": "toolu_1", "name": MAIL, "input": {}}
            arguments = json.dumps({"to": "eve@evil.example", "text": "hi"})
            delta = {"type": "input_json_delta", "partial_json": arguments}
            return _stream(used, delta, "tool_use")
        return _stream(
            {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
        )

    @property
    def results(self) -> list[Any]:
        """What the model was told of its calls."""
        blocks = [
            block
            for body in self.bodies
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        return [block for block in blocks if block["type"] == "tool_result"]


def _stream(block: Any, delta: Any, reason: str) -> list[Any]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


@pytest.mark.timeout(120)
@pytest.mark.skipif(not CLI.exists(), reason="the package has no CLI for this system")
def test_a_denial_reaches_the_model_of_claude_code(project: Project) -> None:
    guard = command_hook("cat > seen.json; echo not one of us >&2; exit 2", name="own-mail")
    project.settings(settings("BeforeTool", guard, matcher=f"^{MAIL}$"))
    proxy = ["-m", "hookline", "mcp", "--name", "notes", "--trust", "--", "python3", str(SERVER)]
    servers = {"notes": {"command": sys.executable, "args": proxy, "cwd": str(project.path)}}
    config = project.write("mcp.json", json.dumps({"mcpServers": servers}))
    home = project.path / "home"
    home.mkdir()
    with Model() as model:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # The model is to see the tools at once.
            "ENABLE_TOOL_SEARCH": "false",
        }
        asked = [str(CLI), "-p", "Send the mail.", "--mcp-config", str(config)]
        asked += ["--strict-mcp-config", "--allowedTools", MAIL, "--setting-sources", ""]
        done = subprocess.run(
            asked, cwd=project.path, env=environment, input="", capture_output=True, text=True
        )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr
    assert model.results[0]["is_error"] is True
    assert "not one of us" in json.dumps(model.results[0])
    seen = json.loads((project.path / "seen.json").read_text())
    assert seen["tool_input"]["to"] == "eve@evil.example"
