"""``hookline mcp`` between the ``mcp`` package's own client and server, in both generations of the
protocol."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError

from tests.cli.command import answer, command_hook
from tests.harness.scratch import Project

SERVER = Path(__file__).with_name("server.py")
HANDSHAKE, MODERN = "legacy", "2026-07-28"
MODES = (HANDSHAKE, MODERN)


def specific(**fields: Any) -> str:
    return answer(hookSpecificOutput=fields)


def arm(project: Project, **events: tuple[str, str]) -> None:
    """Give the project a hook for each event: a matcher and a command."""
    project.settings(
        {
            "hooks": {
                event: [{"matcher": matcher, "hooks": [command_hook(command, name=event)]}]
                for event, (matcher, command) in events.items()
            }
        }
    )


class User:
    """Who is asked: keeps the questions, and answers as a test says."""

    def __init__(self, action: Any = "accept", **content: Any) -> None:
        self.questions: list[str] = []
        self._action = action
        self._content = content

    async def __call__(
        self,
        context: ClientRequestContext,  # noqa: ARG002  # the package calls it by name
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        self.questions.append(params.message)
        assert isinstance(params, types.ElicitRequestFormParams)
        fields = params.requested_schema["properties"]
        return types.ElicitResult(action=self._action, content=self._content if fields else {})


@asynccontextmanager
async def connect(
    project: Project, mode: str, *options: str, user: User | None = None
) -> AsyncIterator[Client]:
    proxy = ["-m", "hookline", "mcp", "--trust", *options, "--", sys.executable, str(SERVER)]
    parameters = StdioServerParameters(
        command=sys.executable, args=proxy, cwd=project.path, env=dict(os.environ)
    )
    async with Client(parameters, mode=mode, elicitation_callback=user) as client:
        yield client


def texts(result: types.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


@pytest.mark.parametrize("mode", [*MODES, "auto"])
async def test_everything_but_tools_passes(project: Project, mode: str) -> None:
    async with connect(project, mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == HANDSHAKE else MODERN)
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} >= {"person", "echo", "order"}
        assert next(tool for tool in tools if tool.name == "person").output_schema is not None
        contents = (await client.read_resource("memo://a")).contents
        assert isinstance(contents[0], types.TextResourceContents)
        assert contents[0].text == "memo a"
        prompt = await client.get_prompt("review", {"code": "x"})
        assert "Review x" in str(prompt.messages[0].content)
        result = await client.call_tool("person", {"name": "ann"})
        assert result.structured_content == {"name": "ann", "mail": "ann@example.org"}
        with pytest.raises(MCPError):
            await client.read_resource("nothing://here")


@pytest.mark.parametrize("mode", MODES)
async def test_block_rewrite_and_context(project: Project, mode: str) -> None:
    arm(
        project,
        BeforeTool=("__echo$", specific(tool_input={"text": "rewritten"})),
        AfterTool=("__echo$", specific(additionalContext="mind the gap")),
    )
    async with connect(project, mode, "--name", "real") as client:
        assert texts(await client.call_tool("echo", {"text": "x"})) == ["rewritten", "mind the gap"]
    arm(project, BeforeTool=("^mcp__real__echo$", "echo no echo here >&2; exit 2"))
    async with connect(project, mode, "--name", "real") as client:
        denied = await client.call_tool("echo", {"text": "x"})
        assert (denied.is_error, texts(denied)) == (True, ["no echo here"])
        assert texts(await client.call_tool("fail", {})) != []


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_is_matched_under_its_own_name_and_by_the_tools_that_it_lists(
    project: Project, mode: str
) -> None:
    arm(project, BeforeTool=("^mcp__real__echo$", "echo no echo here >&2; exit 2"))
    async with connect(project, mode) as client:
        assert texts(await client.call_tool("echo", {"text": "x"})) == ["no echo here"]
        for name in ("Echo", "echo ", "ECHO"):
            refused = await client.call_tool(name, {"text": "x"})
            assert refused.is_error
            assert texts(refused) == [f"{name!r} is not a tool that the MCP server lists"]


@pytest.mark.parametrize("mode", MODES)
async def test_redaction_reaches_the_structured_content_that_hosts_show(
    project: Project, mode: str
) -> None:
    arm(project, AfterTool=("person", answer(decision="deny", reason="ann [hidden]")))
    async with connect(project, mode) as client:
        # A client that knows a schema would reject a result without structured content.
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["person"].output_schema is None
        assert tools["echo"].output_schema is not None
        result = await client.call_tool("person", {"name": "ann"})
        assert (texts(result), result.structured_content) == (["ann [hidden]"], None)
        assert "example.org" not in result.model_dump_json()
        assert not result.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_errors_and_pictures_are_seen_and_kept(project: Project, mode: str) -> None:
    arm(project, AfterTool=("", "cat >> seen.jsonl; echo >> seen.jsonl"))
    async with connect(project, mode) as client:
        failed = await client.call_tool("fail", {})
        assert failed.is_error
        assert "s3cret" in texts(failed)[0]
        picture = await client.call_tool("picture", {})
        assert isinstance(picture.content[0], types.ImageContent)
    seen = [json.loads(line) for line in (project.path / "seen.jsonl").read_text().splitlines()]
    assert "s3cret" in seen[0]["tool_response"]["error"]["message"]
    assert seen[1]["tool_response"]["llmContent"][0]["mimeType"] == "image/png"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_question_of_a_hook_reaches_the_user(
    project: Project, mode: str, action: str
) -> None:
    ask = {"decision": "ask", "reason": "sure?"}
    rewritten = answer(**ask, hookSpecificOutput={"tool_input": {"text": "rewritten"}})
    arm(project, BeforeTool=("echo", f"echo >> fired; {rewritten}"))
    user = User(action)
    async with connect(project, mode, user=user) as client:
        result = await client.call_tool("echo", {"text": "x"})
    assert len(user.questions) == 1
    assert user.questions[0].startswith("sure?\n\nAllow mcp__")
    if action == "accept":
        assert texts(result) == ["rewritten"]
    else:
        assert result.is_error
        assert "did not allow" in texts(result)[0]
    # The call that comes again with the answer is not asked about again.
    assert (project.path / "fired").read_text() == "\n"


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_ask_gets_a_denial(project: Project, mode: str) -> None:
    arm(project, BeforeTool=("echo", answer(decision="ask", reason="sure?")))
    async with connect(project, mode) as client:
        denied = await client.call_tool("echo", {"text": "x"})
        assert denied.is_error
        assert texts(denied) == ["sure? (nobody can be asked to confirm it)"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_question_of_the_tool_itself_is_asked_beside_that_of_a_hook(
    project: Project, mode: str
) -> None:
    arm(
        project,
        BeforeTool=("order", answer(decision="ask", reason="sure?")),
        AfterTool=("order", specific(additionalContext="checked")),
    )
    user = User(number=3)
    async with connect(project, mode, user=user) as client:
        result = await client.call_tool("order", {"what": "tea"})
    assert texts(result) == ["3 of tea", "checked"]
    assert [question.partition("\n")[0] for question in user.questions] == ["sure?", "How many?"]


@pytest.mark.parametrize("mode", MODES)
async def test_progress_comes_before_the_result(project: Project, mode: str) -> None:
    arm(project, AfterTool=("", "cat > /dev/null"))
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with connect(project, mode) as client:
        result = await client.call_tool("steps", {"count": 3}, progress_callback=note)
        assert texts(result) == ["done"]
    assert seen == [(1, 3, None), (2, 3, None), (3, 3, None)]


@pytest.mark.parametrize("mode", MODES)
async def test_parallel_calls_do_not_wait_for_each_other(project: Project, mode: str) -> None:
    wait = "cat > /dev/null; while [ ! -e go ]; do sleep 0.05; done"
    arm(project, BeforeTool=("wait", wait))
    order: list[str] = []

    async with connect(project, mode) as client:

        async def call(tool: str, **arguments: Any) -> None:
            result = await client.call_tool(tool, arguments)
            order.append(texts(result)[0])
            if len(order) == 20:
                project.write("go", "")

        await asyncio.gather(
            call("wait", seconds=0), *(call("echo", text=str(n)) for n in range(20))
        )
    assert order[-1] == "waited"
    assert sorted(order[:-1]) == sorted(map(str, range(20)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("slow", ["hook", "server"])
async def test_a_cancelled_call_is_over_on_both_sides(
    project: Project, mode: str, slow: str
) -> None:
    if slow == "hook":
        arm(project, BeforeTool=("wait", "cat > /dev/null; sleep 60"))
    async with connect(project, mode) as client:
        with anyio.move_on_after(0.3) as scope:
            await client.call_tool("wait", {"seconds": 60})
        assert scope.cancelled_caught
        # The server is free, and so is the proxy.
        assert texts(await client.call_tool("echo", {"text": "x"})) == ["x"]


@pytest.mark.parametrize("mode", MODES)
async def test_a_pattern_narrows_what_there_is(project: Project, mode: str) -> None:
    async with connect(project, mode, "--tools", "echo|p.*") as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert sorted(tools) == ["echo", "person", "picture"]
        assert (await client.call_tool("steps", {"count": 1})).is_error


@pytest.mark.parametrize("mode", MODES)
async def test_ten_megabytes_both_ways(project: Project, mode: str) -> None:
    arm(project, AfterTool=("", "cat > /dev/null"))
    large = "é" * 5_000_000
    async with connect(project, mode) as client:
        assert texts(await client.call_tool("echo", {"text": large})) == [large]


@pytest.mark.parametrize("mode", [*MODES, "auto"])
async def test_the_session_has_a_beginning_and_an_end(project: Project, mode: str) -> None:
    arm(
        project,
        SessionStart=("startup", specific(additionalContext="be nice") + "; echo start >> log"),
        SessionEnd=("", "echo end >> log"),
    )
    async with connect(project, mode) as client:
        await client.call_tool("echo", {"text": "x"})
        if mode != MODERN:
            # Pinned to a version, a client never asks for an introduction.
            assert client.instructions == "Ask before you write.\n\nbe nice"
    deadline = asyncio.get_running_loop().time() + 10
    log = project.path / "log"
    while "end" not in log.read_text() and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.02)
    assert log.read_text() == "start\nend\n"


async def test_the_agents_sdk_takes_it_as_the_command_of_a_server(project: Project) -> None:
    from agents.mcp import MCPServerStdio, MCPServerStdioParams

    arm(project, BeforeTool=("__fail$", "echo not that >&2; exit 2"))
    proxy = ["-m", "hookline", "mcp", "--trust", "--", sys.executable, str(SERVER)]
    parameters: MCPServerStdioParams = {
        "command": sys.executable,
        "args": proxy,
        "cwd": project.path,
        "env": dict(os.environ),
    }
    async with MCPServerStdio(parameters, client_session_timeout_seconds=30) as server:
        assert "echo" in {tool.name for tool in await server.list_tools()}
        assert texts(await server.call_tool("echo", {"text": "x"})) == ["x"]
        denied = await server.call_tool("fail", {})
        assert (denied.is_error, texts(denied)) == (True, ["not that"])
