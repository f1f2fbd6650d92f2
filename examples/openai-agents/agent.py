"""A clerk of OpenAI's Agents SDK, whose mail and answers go through the hooks of this folder.

The clerk hands over to a secretary, who has the same hooks. The model is a scripted one: the
secretary tries to write to a stranger, and then tells whom it wrote to.
"""

import asyncio
from pathlib import Path
from typing import Any

from agents import Agent, Runner, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from hookline import Hooks
from hookline.adapters.openai_agents import close, hooked

HERE = Path(__file__).parent
MODEL = ScriptedModel(
    [
        [function_call("transfer_to_secretary", {}, call_id="1")],
        [function_call("send_mail", {"to": "x@elsewhere.net", "text": "Hi."}, call_id="2")],
        [function_call("send_mail", {"to": "ann@example.org", "text": "Hi."}, call_id="3")],
        [assistant_message("I wrote to ann@example.org.")],
    ]
)


@function_tool
def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    print(f"sending to {to}: {text}")
    return "sent"


async def main() -> None:
    """Have the clerk say hello."""
    set_tracing_disabled(True)
    secretary: Agent[Any] = Agent(name="secretary", model=MODEL, tools=[send_mail])
    # "hookline trust" would let the hooks run; here the folder is this program's own.
    with Hooks.load(HERE, trusted=True) as hooks:
        clerk = hooked(Agent(name="clerk", model=MODEL, handoffs=[secretary]), hooks)
        result = await Runner.run(clerk, "Say hello.")
        print(result.final_output)
        close(clerk)


asyncio.run(main())
