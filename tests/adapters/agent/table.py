"""hookline's own agent in the table, where every event has its place."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hookline.agent import Agent, ScriptedProvider
from hookline.agent.providers.scripted import call
from hookline.agent.tools import Tool as AgentTool
from tests.kit.adapters import DELEGATE, HELPER, Harness, Limit, Message, Run, Tool

_LIVE = Limit(
    "◐",
    note='display="after_hooks"',
    why='a chat with `display="live"` shows what streams before hooks have answered',
    fails_in=("live stream",),
)


async def run(run: Run) -> None:
    provider = ScriptedProvider([partial(_reply, run)] * 20)
    tools = [_make_tool(tool) for tool in run.tools]

    async def delegate(args: Mapping[str, Any]) -> str:
        helper = Agent(run.hooks.session(run.session_id), provider, tools, name=HELPER)
        return (await helper.run(args["task"])).text

    agent = Agent(
        run.hooks.session(run.session_id),
        provider,
        [*tools, AgentTool(name=DELEGATE, run=delegate)] if run.delegates else tools,
        display="live" if run.mode == "live stream" else "after_hooks",
        show=lambda response: run.show(_text_of(response)),
        confirm=run.confirm,
        compress_above=3 if run.compresses else None,
        keep_turns=1,
    )
    async with agent:
        for prompt in run.prompts:
            turn = await agent.run(prompt)
            why = turn.reason if turn.refused or turn.blocked else turn.stop_reason
            run.finish("\n".join(filter(None, (turn.text, why))))


def _make_tool(tool: Tool) -> AgentTool:
    return AgentTool(
        name=tool.name,
        run=lambda args: tool.coroutine(**args),
        description=tool.description,
        parameters=tool.schema,
    )


def _reply(run: Run, request: Mapping[str, Any]) -> Any:
    declared = request.get("config", {}).get("tools", [])
    names = [one["name"] for tool in declared for one in tool["functionDeclarations"]]
    reply = run.next_reply([*_messages(request)], names)
    return (*reply.pieces, [call(made.name, **made.args) for made in reply.calls])


def _messages(request: Mapping[str, Any]) -> Iterator[Message]:
    for content in request["contents"]:
        for part in content["parts"]:
            if "text" in part:
                yield Message(content["role"], part["text"])
            elif "functionResponse" in part:
                yield Message("tool", str(part["functionResponse"]["response"]))


def _text_of(response: Mapping[str, Any]) -> str:
    parts = response["candidates"][0]["content"]["parts"]
    return "".join(part.get("text", "") for part in parts)


HARNESS = Harness(
    name="agent",
    title="hookline.agent",
    modes=("held back", "live stream"),
    limits={"AfterModel redact": _LIVE, "AfterModel deny": _LIVE},
    run=run,
    delegates=True,
)
