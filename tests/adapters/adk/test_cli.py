"""The real ``adk`` command line with a project's hooks; its agent's model is a scripted one."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ADK = Path(sys.executable).parent / "adk"
PLUGIN = "hookline.adapters.adk.HooklinePlugin"
AGENT = '''
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Script(BaseLlm):
    model: str = "script"

    async def generate_content_async(self, llm_request, stream=False):
        results = [p.function_response for c in llm_request.contents for p in c.parts]
        results = [r.response for r in results if r]
        part = types.Part(function_call=types.FunctionCall(name="shell", args={"command": "ls"}))
        if results:
            part = types.Part(text=f"It says: {results[-1]}")
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def shell(command: str) -> str:
    """Run a command."""
    return f"output of {command}"


root_agent = LlmAgent(name="clerk", model=Script(), tools=[shell])
'''
APP = """
from hookline.adapters.adk import HooklinePlugin
app = App(name="clerk", root_agent=root_agent, plugins=[HooklinePlugin()])
"""
DENY = "echo 'not on Sundays' >&2; exit 2"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with an agent, and a hook that is trusted."""
    agent = tmp_path / "agents" / "clerk"
    agent.mkdir(parents=True)
    (agent / "__init__.py").write_text("from . import agent\n")
    (agent / "agent.py").write_text(AGENT)
    hook = {"matcher": "shell", "hooks": [{"type": "command", "name": "no", "command": DENY}]}
    settings = tmp_path / ".hookline" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"BeforeTool": [hook]}}))
    subprocess.run(
        [sys.executable, "-m", "hookline", "trust", "--yes", "--accept-open", "no"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    return tmp_path


@contextlib.contextmanager
def serve(project: Path, *arguments: str) -> Iterator[str]:
    """An ``adk`` server of the project's agents; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (project / "log").open("wb") as log:
        server = subprocess.Popen(
            [str(ADK), *arguments, "--port", str(port), "--no-reload", "agents"],
            cwd=project,
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def post(url: str, body: Any) -> Any:
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    for attempt in range(300):
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError:
            raise
        except OSError:
            if attempt == 299:
                raise
            time.sleep(0.1)
    return None


def say(address: str) -> str:
    """All that comes of a message to the agent."""
    post(f"{address}/apps/clerk/users/u/sessions/s", {})
    message = {"role": "user", "parts": [{"text": "Go on."}]}
    given = {"appName": "clerk", "userId": "u", "sessionId": "s", "newMessage": message}
    return json.dumps(post(f"{address}/run", given))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("verb", ["api_server", "web"])
def test_a_projects_hook_blocks_in_a_server_with_extra_plugins(project: Path, verb: str) -> None:
    with serve(project, verb, "--extra_plugins", PLUGIN) as address:
        said = say(address)
    assert "not on Sundays" in said, (project / "log").read_text()
    assert "output of ls" not in said


@pytest.mark.timeout(120)
@pytest.mark.parametrize("has_hooks", [True, False])
def test_adk_run_runs_the_hooks_of_the_apps_own_plugin(project: Path, has_hooks: bool) -> None:
    (project / "agents" / "clerk" / "agent.py").write_text(AGENT + (APP if has_hooks else ""))
    done = subprocess.run(
        [str(ADK), "run", "--in_memory", "agents/clerk", "Go on."],
        cwd=project,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    said = done.stdout + done.stderr
    assert ("not on Sundays" in said) is has_hooks, said
    assert ("output of ls" in said) is not has_hooks
