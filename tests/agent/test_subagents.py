"""An agent that another agent's tool runs is a sub-agent, and hooks are told so."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hookline import Hooks
from hookline.agent import Agent, ScriptedProvider, Tool
from hookline.agent.providers.scripted import call
from hookline.agent.turns import text_turn
from hookline.wire.events import PreCompressTrigger
from tests.harness.scratch import Project

EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"),
    *("SubagentStart", "SubagentStop", "PostCompact", "StopFailure"),
)
# What a scripted model summarizes everything as.
SUMMARY = "(summary of the conversation so far)"
SAYING = """#!/bin/sh
input=$(cat)
printf '%s\\n' "$input" >> log
case "$input" in *'"hook_event_name":"'$1'"'*) printf '%s' "$2";; esac
"""


def load(project: Project, event: str = "", answer: Any = None) -> Hooks:
    """Hooks of Claude Code's on each event that log what they read; one of them answers, unless it
    was what sent the agent back."""
    project.script("log.sh", SAYING)
    words = ["$CLAUDE_PROJECT_DIR/log.sh", event, json.dumps(answer) if answer else ""]
    hook = {"type": "command", "command": words[0], "args": words[1:]}
    settings = {"hooks": {name: [{"hooks": [hook]}] for name in EVENTS}}
    project.write(".claude/settings.json", json.dumps(settings))
    return Hooks.load(project.path, claude=True, trusted=True)


def read_log(project: Project) -> list[dict[str, Any]]:
    lines = (project.path / "log").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def make_agents(hooks: Hooks, replies: Sequence[Any]) -> tuple[Agent, ScriptedProvider]:
    """An agent whose tool runs another, with a tool of its own."""
    inner = ScriptedProvider(replies)

    async def delegate(given: dict[str, Any]) -> str:
        tools = [Tool(name="run_shell_command", run=lambda _given: "a.txt")]
        async with Agent(hooks, inner, tools, name="reviewer") as reviewer:
            return (await reviewer.run(given["prompt"])).text

    outer = ScriptedProvider([[call("task", prompt="Look.")], "done"])
    return Agent(hooks, outer, [Tool(name="task", run=delegate)]), inner


async def test_its_start_and_its_end_stand_for_those_of_a_turn(project: Project) -> None:
    agent, _ = make_agents(load(project), [[call("run_shell_command", command="ls")], "seen"])
    async with agent:
        await agent.run("go")
    log = read_log(project)
    assert [read["hook_event_name"] for read in log] == [
        *("SessionStart", "UserPromptSubmit", "PreToolUse"),
        *("SubagentStart", "PreToolUse", "PostToolUse", "SubagentStop"),
        *("PostToolUse", "Stop", "SessionEnd"),
    ]
    by = {(read["hook_event_name"], read.get("agent_type")): read for read in log}
    start, stop = by["SubagentStart", "reviewer"], by["SubagentStop", "reviewer"]
    inside = by["PreToolUse", "reviewer"]
    assert inside["agent_id"] == start["agent_id"] == stop["agent_id"]
    assert (stop["last_assistant_message"], stop["stop_hook_active"]) == ("seen", False)
    # A sub-agent's own prompt is not a new turn.
    of_turn = [read for read in log if not read["hook_event_name"].startswith("Session")]
    assert len({read["prompt_id"] for read in of_turn}) == 1


async def test_hooks_add_to_its_prompt(project: Project) -> None:
    specific = {"hookEventName": "SubagentStart", "additionalContext": "Mind the tests."}
    agent, inner = make_agents(
        load(project, "SubagentStart", {"hookSpecificOutput": specific}), ["seen"]
    )
    async with agent:
        await agent.run("go")
    [request] = inner.requests
    assert request["contents"][0]["parts"][0]["text"] == "Look.\n\nMind the tests."


async def test_hooks_send_it_back_a_few_times_at_most(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "2")
    answer = {"decision": "block", "reason": "Look again."}
    agent, inner = make_agents(load(project, "SubagentStop", answer), ["a", "b", "c"])
    async with agent:
        await agent.run("go")
    assert len(inner.requests) == 3
    active = [r["stop_hook_active"] for r in read_log(project) if "stop_hook_active" in r]
    assert active == [False, True, True, False]


async def test_native_hooks_read_the_turn_and_the_agent() -> None:
    hooks, read = Hooks(), list[Any]()
    hooks.on("BeforeTool")(lambda event: read.append((event["turn_id"], event.get("agent"))))
    agent, _ = make_agents(hooks, [[call("run_shell_command", command="ls")], "seen"])
    async with agent:
        await agent.run("go")
    (turn, outer), (same_turn, inner) = read
    assert (outer, same_turn) == (None, turn)
    assert inner == {"name": "reviewer", "id": inner["id"], "parent": "agent", "depth": 1}


async def test_two_turns_have_two_ids(project: Project) -> None:
    hooks = load(project)
    async with Agent(hooks, ScriptedProvider(["one", "two"])) as agent:
        await agent.run("a")
        await agent.run("b")
    ids = [r["prompt_id"] for r in read_log(project) if r["hook_event_name"] == "Stop"]
    assert len({*ids}) == 2


async def test_a_summary_of_the_history_is_told(project: Project) -> None:
    history = [text_turn("user", "a"), text_turn("model", "b"), text_turn("user", "c")]
    provider = ScriptedProvider([])
    agent = Agent(load(project), provider, history=history, keep_turns=1)
    async with agent:
        await agent.compress(PreCompressTrigger.AUTO)
    [told] = [r for r in read_log(project) if r["hook_event_name"] == "PostCompact"]
    assert (told["trigger"], told["compact_summary"]) == ("auto", SUMMARY)


async def test_a_model_that_cannot_be_called_is_told(project: Project) -> None:
    class Refused(Exception):
        status_code = 429

    class Failing(ScriptedProvider):
        def stream(self, *_arguments: Any, **_options: Any) -> Any:
            raise Refused("slow down")

    async with Agent(load(project), Failing([])) as agent:
        with pytest.raises(Refused):
            await agent.run("go")
    [told] = [r for r in read_log(project) if r["hook_event_name"] == "StopFailure"]
    assert (told["error"], told["error_details"]) == ("rate_limit", "Refused: slow down")


@pytest.mark.parametrize(
    "config", [{"reasoning_effort": "high"}, {"reasoning": {"effort": "high"}}]
)
async def test_hooks_read_how_hard_the_model_is_to_think(project: Project, config: Any) -> None:
    async with Agent(load(project), ScriptedProvider(["ok"]), model_config=config) as agent:
        await agent.run("go")
    assert {json.dumps(read["effort"]) for read in read_log(project)} == {'{"level": "high"}'}
