"""Tools of a real MCP server."""

import sys
from pathlib import Path

from agents import Agent, Runner
from agents.mcp import MCPServerStdio

from hookline import Hooks, ask, deny, rewrite
from hookline.adapters.openai_agents import hooked
from tests.adapters.openai_agents.playing import call, note, results, script

SERVER = Path(__file__).with_name("mcp_server.py")


async def test_tools_of_an_mcp_server_have_hooks_that_know_the_server() -> None:
    hooks = Hooks()
    answers = {"deny": deny("too loud"), "rewrite": rewrite(text="psst"), "ask": ask("really?")}
    hooks.on("BeforeTool", matcher="shout")(lambda event: answers.get(event["tool_input"]["text"]))
    seen = note(hooks, "BeforeTool", "AfterTool")
    names = ("plain", "deny", "rewrite", "fail", "ask")
    model = script([call("shout", id=name, text=name) for name in names], "Done.")
    params = {"command": sys.executable, "args": [str(SERVER)]}
    async with MCPServerStdio(params=params, name="desk", client_session_timeout_seconds=60) as s:  # type: ignore[arg-type]
        agent = hooked(Agent(name="a", model=model, mcp_servers=[s]), hooks)
        result = await Runner.run(agent, "Go on.")
        state = result.to_state()
        (item,) = result.interruptions
        state.approve(item)
        assert (await Runner.run(agent, state)).final_output == "Done."
    said = str(results(model))
    for wanted in ("PLAIN", "too loud", "PSST", "ASK"):
        assert wanted in said
    assert {str(event["mcp_context"]) for event in seen} == {
        str({"server_name": "desk", "tool_name": "shout"})
    }
    shown = {e["tool_input"]["text"]: e for e in seen if e["hook_event_name"] == "AfterTool"}
    assert "PLAIN" in str(shown["plain"]["tool_response"])
    assert sorted(shown) == ["ask", "fail", "plain", "psst"]
