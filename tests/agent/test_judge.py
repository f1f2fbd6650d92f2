"""The agent's own model answers prompt hooks, outside of the conversation."""

from pathlib import Path
from typing import Any

from hookline import Config
from hookline.agent import Agent, ScriptedProvider, Tool
from hookline.agent.providers.scripted import call
from tests.agent.scripts import say

ASKS: dict[str, Any] = {"BeforeTool": [{"hooks": [{"type": "prompt", "prompt": "Fine?"}]}]}


def agent_of(replies: list[Any], **options: Any) -> tuple[Agent, ScriptedProvider, list[Any]]:
    notes: list[Any] = []
    provider = ScriptedProvider(replies)
    config = Config(working_dir=Path.cwd(), **{"hooks": ASKS, **options})
    return Agent(config, provider, [Tool(name="note", run=notes.append)]), provider, notes


async def test_the_provider_is_asked_and_its_no_blocks_the_tool() -> None:
    agent, provider, notes = agent_of(
        [[call("note", text="x")], '{"ok": false, "reason": "not today"}', "done"]
    )
    async with agent:
        assert (await agent.run("go")).text == "done"
    assert notes == []
    _, question, last = provider.requests
    assert "tools" not in question.get("config", {})
    assert "Fine?" in str(question)
    assert '"tool_input":{"text":"x"}' in str(question)
    # The conversation knows nothing of it but the reason.
    assert "Fine?" not in str(last)
    assert "not today" in str(last)


async def test_no_hook_hears_of_the_question() -> None:
    counting = {"type": "command", "command": f"echo x >> calls; {say({})}"}
    hooks = {**ASKS, "BeforeModel": [{"hooks": [counting]}], "AfterModel": [{"hooks": [counting]}]}
    agent, provider, notes = agent_of(
        [[call("note", text="x")], '{"ok": true}', "done"], hooks=hooks
    )
    async with agent:
        await agent.run("go")
    assert (len(provider.requests), len(notes)) == (3, 1)
    assert Path("calls").read_text().split() == ["x"] * 4


async def test_a_judge_of_the_configuration_is_asked_instead() -> None:
    agent, provider, notes = agent_of(
        [[call("note", text="x")], "done"],
        judge=lambda _question: '{"ok": false, "reason": "no"}',
    )
    async with agent:
        await agent.run("go")
    assert (len(provider.requests), notes) == (2, [])
