"""``hookline demo --live`` with each maker's real client, its server on loopback."""

from pathlib import Path
from typing import Any

import pytest

from hookline.agent import AnthropicProvider, OpenAIProvider
from hookline.cli.demo.models import live_model
from tests.adapters.providers.server import (
    ModelServer,
    calling,
    completion,
    message,
    text,
    tool_use,
)
from tests.cli.command import Done, answer, command_hook, hookline, settings
from tests.harness.scratch import Project

SAID = "Mail ada.lovelace@example.com"
REPLIES: dict[str, list[Any]] = {
    "openai": [
        completion(
            *calling(0, '{"command": "rm -rf ~/"}', id="call_a", name="run_shell_command"),
            finish="tool_calls",
        ),
        completion({"content": SAID[:8]}, {"content": SAID[8:]}),
    ],
    "anthropic": [
        message(tool_use("toolu_a", "run_shell_command", command="rm -rf ~/"), stop="tool_use"),
        message(text(SAID)),
    ],
}
KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
DEFAULTS = {"openai": "gpt-5.4-mini", "anthropic": "claude-sonnet-5"}


def live(server: ModelServer, *arguments: str, **environment: Any) -> Done:
    return hookline(
        "demo",
        "--live",
        "hello",
        *arguments,
        OPENAI_BASE_URL=f"{server.url}/v1",
        ANTHROPIC_BASE_URL=server.url,
        **environment,
    )


@pytest.fixture
def tool_rules(project: Project) -> str:
    """Hooks on tools alone."""
    denied = command_hook(answer(decision="deny", reason="far too much"), name="guard")
    return str(project.settings(settings("BeforeTool", denied), file="rules.json"))


@pytest.mark.parametrize("api", REPLIES)
def test_a_live_demo_takes_the_model_whose_key_is_set(
    api: str, tmp_path: Path, tool_rules: str
) -> None:
    key: dict[str, Any] = {KEYS[api]: "none"}
    with ModelServer(*REPLIES[api]) as server:
        done = live(server, "--cwd", str(tmp_path), "--settings", tool_rules, **key)
    assert (done.status, done.err) == (0, "")
    assert f"on {DEFAULTS[api]}; it runs no commands" in done.out
    assert "guard 0 ms  deny" in done.out or "deny  far too much" in done.out
    assert "=> blocked: the command does not run; the model reads the reason" in done.out
    assert f"\n   {SAID}\n" in done.out
    first, second = server.bodies
    assert first["model"] == DEFAULTS[api]
    assert len(first["tools"]) == 4
    assert first["messages"][-1]["content"].endswith("hello")
    assert "far too much" in str(second["messages"][-1])


@pytest.mark.parametrize(
    ("model", "keys", "kind", "taken"),
    [
        (None, ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], OpenAIProvider, DEFAULTS["openai"]),
        (None, ["ANTHROPIC_API_KEY"], AnthropicProvider, DEFAULTS["anthropic"]),
        ("gpt-x", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], OpenAIProvider, "gpt-x"),
        ("o9-mini", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], OpenAIProvider, "o9-mini"),
        ("llama", ["OPENAI_API_KEY", "ANTHROPIC_API_KEY"], OpenAIProvider, "llama"),
        ("llama", ["ANTHROPIC_API_KEY"], AnthropicProvider, "llama"),
    ],
)
async def test_the_name_of_a_model_chooses_among_the_keys_and_their_order_else(
    model: str | None, keys: list[str], kind: type, taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in keys:
        monkeypatch.setenv(key, "none")
    provider = live_model(model)
    await provider.aclose()
    assert isinstance(provider, kind)
    assert provider.model == taken


def test_a_live_demo_talks_to_the_model_that_is_named(tmp_path: Path, tool_rules: str) -> None:
    named = ("--model", "claude-x", "--cwd", str(tmp_path), "--settings", tool_rules)
    with ModelServer(REPLIES["anthropic"][1]) as server:
        done = live(server, *named, OPENAI_API_KEY="none", ANTHROPIC_API_KEY="none")
    assert (done.status, done.err) == (0, "")
    assert "chat/completions" not in server.paths[0]
    assert server.bodies[0]["model"] == "claude-x"


@pytest.mark.parametrize("api", REPLIES)
def test_a_model_that_refuses_is_one_sentence(api: str, tmp_path: Path, tool_rules: str) -> None:
    key: dict[str, Any] = {KEYS[api]: "none"}
    error = {"type": "error", "error": {"type": "t", "message": "no such model", "code": "c"}}
    with ModelServer((404, error)) as server:
        done = live(server, "--cwd", str(tmp_path), "--settings", tool_rules, **key)
    assert done.status == 1
    assert done.err.startswith("hookline: the model gave no answer: NotFoundError: ")
    assert "no such model" in done.err
    assert done.err.count("\n") == 1
