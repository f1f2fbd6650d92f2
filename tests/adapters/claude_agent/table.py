"""The Claude Agent SDK in the table, with the command line that it brings along and a Messages API
on loopback in the model's place."""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    SdkMcpTool,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolPermissionContext,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
)
from msgspec.structs import replace

from hookline.adapters.claude_agent import hooked
from tests.adapters.claude_agent.messages import MessagesApi, clean_environment, read_result
from tests.kit.adapters import DELEGATE, HELPER, Call, Harness, Limit, Message, Reply, Run, Tool

_PREFIX = "mcp__host__"


async def run(run: Run) -> None:
    def reply(messages: Any, tools: Any) -> Reply:
        names = [name.removeprefix(_PREFIX) for name in tools]
        said = run.next_reply([Message(m.role, m.text) for m in messages], names)
        return replace(said, calls=tuple(map(_as_claudes, said.calls)))

    async def can_use_tool(
        name: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        if run.approve(f"{name} {given}: {context.decision_reason}"):
            return PermissionResultAllow()
        return PermissionResultDeny(message=f"no: {context.decision_reason}")

    with tempfile.TemporaryDirectory() as folder, MessagesApi(reply) as api:
        options = ClaudeAgentOptions(
            cwd=folder,
            env=clean_environment(api, Path(folder)),
            tools=["Agent"] if run.delegates else [],
            agents={HELPER: AgentDefinition(description="Helps.", prompt="You help.")},
            mcp_servers={"host": create_sdk_mcp_server("host", tools=_make_tools(run.tools))},
            settings=json.dumps({"permissions": {"allow": [_PREFIX[:-2], "Agent"]}}),
            setting_sources=[],
            system_prompt="You are a clerk.",
            can_use_tool=can_use_tool,
            include_partial_messages=run.streams,
        )
        async with hooked(options, run.hooks.session(run.session_id)) as guarded:
            prompts = [*run.prompts]
            if run.compresses:
                prompts.insert(-1, "/compact")
            await _MODES[run.mode](run, guarded, prompts)


def _as_claudes(call: Call) -> Call:
    """A call with Claude Code's names."""
    if call.name != DELEGATE:
        return replace(call, name=_PREFIX + call.name)
    args = {"description": "help", "prompt": call.args["task"], "subagent_type": HELPER}
    return replace(call, name="Agent", args={**args, "run_in_background": False})


def _make_tools(tools: list[Tool]) -> list[SdkMcpTool[Any]]:
    def make(tool: Tool) -> SdkMcpTool[Any]:
        async def call(args: dict[str, Any]) -> dict[str, Any]:
            return {"content": [{"type": "text", "text": await tool.coroutine(**args)}]}

        return SdkMcpTool(tool.name, tool.description, tool.schema, call)

    return [make(tool) for tool in tools]


async def _query(run: Run, options: ClaudeAgentOptions, prompts: list[str]) -> None:
    is_over = asyncio.Event()

    async def talk() -> AsyncIterator[dict[str, Any]]:
        for prompt in prompts:
            is_over.clear()
            yield {"type": "user", "message": {"role": "user", "content": prompt}}
            await is_over.wait()

    async for message in query(prompt=talk(), options=options):
        _show(run, message)
        if isinstance(message, ResultMessage):
            is_over.set()


async def _client(run: Run, options: ClaudeAgentOptions, prompts: list[str]) -> None:
    async with ClaudeSDKClient(options) as client:
        for prompt in prompts:
            await client.query(prompt)
            async for message in client.receive_response():
                _show(run, message)


_MODES: dict[str, Any] = {"query": _query, "client, stream": _client}


def _show(run: Run, message: object) -> None:
    if isinstance(message, StreamEvent):
        delta = message.event.get("delta", {})
        run.show(delta.get("text", ""))
    elif isinstance(message, AssistantMessage | UserMessage) and not isinstance(
        message.content, str
    ):
        for block in message.content:
            if isinstance(block, TextBlock) and not run.streams:
                run.show(block.text)
            elif isinstance(block, ToolResultBlock):
                run.show(read_result(block.content))
    elif isinstance(message, SystemMessage):
        run.show(str(message.data.get("content", "")))
    elif isinstance(message, ResultMessage):
        run.finish(message.result or "")


_NO_MODEL = "Claude Code calls its model itself, and has no seam there; such hooks are warned of"
_SOME_TOOLS = Limit(
    "◐",
    note="MCP tools, Bash, Read, Grep, Glob, WebSearch, Agent",
    why="of its other tools, and of tools that failed, Claude Code lets nobody replace "
    "the result: the model reads the hooks' reason beside it",
)
HARNESS = Harness(
    name="claude_agent",
    title="Claude SDK 0.2",
    modes=tuple(_MODES),
    limits={
        "ask": Limit("✓", note="can_use_tool"),
        "stop before a model call": Limit("✗", note="not at model calls", why=_NO_MODEL),
        "stop after a model call": Limit("✗", note="not at model calls", why=_NO_MODEL),
        **dict.fromkeys(("AfterTool replace", "AfterTool update"), _SOME_TOOLS),
        "AfterTool tail call": Limit(
            "✗", note="no tail call", why="Claude Code runs its tools itself"
        ),
        "BeforeModel, AfterModel, also streamed": Limit("✗", why=_NO_MODEL),
        "BeforeToolSelection, enforced": Limit("✗", why=_NO_MODEL),
        "SessionStart": Limit(
            "◐", note="first use", why="Claude Code calls nobody when a session starts"
        ),
        "SessionEnd": Limit(
            "◐", note="close()", why="Claude Code tells of the end of a session on /clear alone"
        ),
    },
    run=run,
    conversations=6,
    delegates=True,
)
