"""A tool call through ``hooks.run_tool``, with a hook that is a function in the same process."""

import asyncio

from hookline import Hooks
from hookline.replies import Reply
from hookline.wire.inputs import BeforeToolEvent
from tools.walks import walking

hooks = Hooks()


@hooks.on("BeforeTool", matcher="shell")
def guard(event: BeforeToolEvent) -> Reply:
    return {"decision": "deny" if "push" in event["tool_input"]["command"] else "allow"}


def shell(command: str) -> str:
    return f"ran {command}"


async def main() -> None:
    with walking():
        result = await hooks.run_tool(
            lambda command: f"ran {command}", {"command": "ls"}, name="shell"
        )
    print(result.llm_content)


asyncio.run(main())
