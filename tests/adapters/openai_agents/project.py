"""A program of two processes: ``run`` stores a run that was interrupted, ``resume`` goes on with
it, in another process if this is run as a script. Its hooks are those of the project's folder."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agents import Agent, Runner, RunState, Tool, function_tool, set_tracing_disabled

from hookline import Hooks
from hookline.adapters.openai_agents import close, hooked, read_question
from tests.adapters.openai_agents.playing import call, results, script


def make_agent(project: Path, hooks: Hooks, model: Any) -> Agent[Any]:
    @function_tool
    def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        with (project / "paid").open("a") as file:
            file.write(f"{amount} to {to}\n")
        return f"paid {amount} to {to}"

    expert: Agent[Any] = Agent(name="expert", model=model, tools=[pay])
    tools: list[Tool] = [pay, expert.as_tool("ask_expert", "Ask an expert.")]
    clerk: Agent[Any] = Agent(name="clerk", model=model, tools=tools)
    clerk.handoffs = [Agent(name="cashier", model=model, tools=[pay], handoffs=[clerk])]
    return hooked(clerk, hooks)


async def run(project: Path, way: str) -> None:
    with Hooks.load(project, trusted=True) as hooks:
        agent = make_agent(project, hooks, script(*REPLIES[way]))
        result = await Runner.run(agent, "Pay them.")
        (project / "state.json").write_text(result.to_state().to_string())
        close(agent)


async def resume(project: Path, answers: dict[str, bool | str]) -> dict[str, Any]:
    with Hooks.load(project, trusted=True) as hooks:
        model = script("Done.", "All done.")
        agent = make_agent(project, hooks, model)
        state = await RunState.from_string(agent, (project / "state.json").read_text())
        asked = {}
        for item in state.get_interruptions():
            question = read_question(item)
            assert question is not None
            asked[item.call_id] = [question.tool_name, question.tool_input, question.reason]
            answer = answers.get(item.call_id or "")
            if answer is True:
                state.approve(item)
            elif isinstance(answer, str):
                state.reject(item, rejection_message=answer)
        result = await Runner.run(agent, state)
        left = [item.call_id for item in result.interruptions]
        (project / "state.json").write_text(result.to_state().to_string())
        close(agent)
        return {
            "asked": asked,
            "left": left,
            "output": result.final_output,
            "read": [results(model, n) for n in range(len(model.calls))],
            "sent": json.dumps([each.input for each in model.calls]),
        }


REPLIES: dict[str, list[Any]] = {
    "pay": [call("pay", id="1", to="ann", amount=5)],
    "two": [
        [
            call("pay", id="1", to="ann", amount=5),
            call("pay", id="2", to="bob", amount=6),
            call("pay", id="3", to="mallory", amount=7),
        ]
    ],
    "handoff": [call("transfer_to_cashier"), call("pay", id="1", to="ann", amount=5)],
    "nested": [call("ask_expert", id="0", input="Pay."), call("pay", id="1", to="ann", amount=5)],
}

if __name__ == "__main__":
    set_tracing_disabled(True)
    answered = [
        asyncio.run(resume(Path(place), answers)) for place, answers in json.loads(sys.argv[1])
    ]
    json.dump(answered, sys.stdout)
