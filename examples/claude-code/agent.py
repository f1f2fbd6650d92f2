"""An agent of one's own that runs the hooks of Claude Code which this folder has.

The model is a fake one, which pushes, writes a file, and has to be sent back to test it.
"""

import asyncio
import tempfile
from pathlib import Path

from hookline import Hooks
from hookline.agent import Agent, ScriptedProvider, Tool
from hookline.agent.providers.scripted import call

HERE = Path(__file__).parent


def write_file(given: dict[str, str]) -> str:
    """Write a file."""
    Path(given["file_path"]).write_text(given["content"], encoding="utf-8")
    return "written"


async def main() -> None:
    """Hold one turn, and print what the model was sent, and what the user was told."""
    # "hookline trust" would let the hooks run; here the folder is this program's own.
    hooks = Hooks.load(HERE, trusted=True)
    with tempfile.TemporaryDirectory() as folder, hooks:
        model = ScriptedProvider(
            [
                call("run_shell_command", command="git commit -am 'Sell' && git push"),
                call("write_file", file_path=f"{folder}/cart.py", content="breakpoint()\n"),
                "The cart is done.",
                call("run_shell_command", command="pytest"),
                "The cart is done, and tested.",
            ]
        )
        tools = [
            Tool(name="run_shell_command", run=lambda given: f"ran {given['command']}"),
            Tool(name="write_file", run=write_file),
        ]
        agent = Agent(
            hooks,
            model,
            tools,
            notify=lambda text: print(f"{text}\n"),
            transcript=f"{folder}/transcript.jsonl",
        )
        async with agent:
            result = await agent.run("Sell things.")
        for turn in model.requests[-1]["contents"]:
            for part in turn["parts"]:
                if "text" in part:
                    print(f"{turn['role']}: {part['text']}")
                elif "functionResponse" in part:
                    print("tool:", *part["functionResponse"]["response"].values())
        print(f"model: {result.text}")


asyncio.run(main())
