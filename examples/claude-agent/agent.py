"""Claude Code, whose commands and their results go through the hooks of this folder.

The model is a fake one, which tries to push by force and then reads the customers' addresses.
"""

import asyncio
import tempfile
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, ToolResultBlock, UserMessage, query
from model import call, say, serve

from hookline import Hooks
from hookline.adapters.claude_agent import hooked

HERE = Path(__file__).parent
REPLIES = (
    call("Bash", command="git push --force"),
    call("Bash", command="cat customers.csv"),
    say("Ann is a customer."),
)


async def main() -> None:
    """Hold one turn, and print what the model reads of its tools, and what it says."""
    with tempfile.TemporaryDirectory() as config, serve(*REPLIES) as env:
        options = ClaudeAgentOptions(
            cwd=HERE,
            tools=["Bash"],
            setting_sources=[],
            env={**env, "CLAUDE_CONFIG_DIR": config},
        )
        # "hookline trust" would let the hooks run; here the folder is this program's own.
        async with hooked(options, Hooks.load(HERE, trusted=True)) as guarded:
            async for message in query(prompt="Who are our customers?", options=guarded):
                if isinstance(message, UserMessage):
                    results = (b for b in message.content if isinstance(b, ToolResultBlock))
                    print("\n".join(f"Bash: {result.content}" for result in results))
                elif isinstance(message, ResultMessage):
                    print(message.result)


asyncio.run(main())
