"""``hookline mcp --url`` as clients start it: the mcp package's client on its standard streams, the
mcp package's server behind HTTP."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestParams, ElicitResult, TextContent

from tests.adapters.mcp_http.rawserver import Request, serve
from tests.adapters.mcp_http.realserver import Seen, serve_real
from tests.harness.scratch import Project
from tests.service.mcp.processes import proxy

MODES: Any = ["legacy", "2026-07-28"]
both = pytest.mark.parametrize("mode", MODES)
ALL_TOOLS = "mcp__real__.*"


def hook(project: Project, event: str, tool: str, text: str) -> None:
    """Add a hook in Python: what it reads is ``event``, what it prints is its answer."""
    name = f"{event}-{len(list(project.path.glob('*.py')))}.py"
    project.script(name, f"import json, sys\nevent = json.load(sys.stdin)\n{text}\n")
    file = project.path / ".hookline" / "settings.json"
    settings = json.loads(file.read_text()) if file.exists() else {"hooks": {}}
    command = {"type": "command", "command": f"{sys.executable} {name}"}
    settings["hooks"].setdefault(event, []).append({"matcher": tool, "hooks": [command]})
    project.settings(settings)


@asynccontextmanager
async def connect(
    project: Project, url: str, mode: Any, *options: str, **settings: Any
) -> AsyncIterator[Client]:
    arguments = ["-m", "hookline", "mcp", "--trust", "--name", "real", "--url", url, *options]
    parameters = StdioServerParameters(
        command=sys.executable, args=arguments, cwd=project.path, env=dict(os.environ)
    )
    with (project.path / "stderr").open("a") as stderr:
        async with Client(stdio_client(parameters, stderr), mode=mode, **settings) as client:
            yield client


def stderr_of(project: Project) -> str:
    return (project.path / "stderr").read_text()


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content if isinstance(part, TextContent))


@both
async def test_calls_pass_in_parallel_and_hooks_see_them(
    mode: Any, project: Project, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    hook(
        project,
        "BeforeTool",
        "mcp__real__add",
        f"open({str(log)!r}, 'a').write(json.dumps(event['mcp_context']) + '\\n')",
    )
    seen = Seen()
    with serve_real(seen) as url:
        async with connect(project, f"{url}?key=hush", mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {"add", "hold", "deploy"} <= tools
            slow = asyncio.create_task(client.call_tool("hold", {}))
            calls = [client.call_tool("add", {"a": n, "b": 1}) for n in range(4)]
            assert [text_of(one) for one in await asyncio.gather(*calls)] == ["1", "2", "3", "4"]
            assert text_of(await client.call_tool("deploy", {"region": "eu ü"})) == "1 in eu ü"
            assert not slow.done()
            seen.release.set()
            assert text_of(await slow) == "released"
    contexts = [json.loads(line) for line in log.read_text().splitlines()]
    assert contexts == [{"server_name": "real", "tool_name": "add", "url": url}] * 4
    assert "hush" not in stderr_of(project)


@both
async def test_a_denied_call_never_reaches_the_server(mode: Any, project: Project) -> None:
    hook(
        project,
        "BeforeTool",
        ALL_TOOLS,
        "print(json.dumps({'decision': 'deny', 'reason': 'not today'}))",
    )
    seen = Seen()
    with serve_real(seen) as url:
        async with connect(project, url, mode) as client:
            result = await client.call_tool("add", {"a": 1, "b": 2})
            assert result.is_error
            assert "not today" in text_of(result)
    assert seen.calls == []


@both
async def test_a_tool_that_the_server_does_not_list_is_not_called(
    mode: Any, project: Project
) -> None:
    seen = Seen()
    with serve_real(seen) as url:
        async with connect(project, url, mode) as client:
            for name in ("Add", "add ", "add2"):
                refused = await client.call_tool(name, {"a": 1, "b": 2})
                assert refused.is_error
                assert text_of(refused) == f"{name!r} is not a tool that the MCP server lists"
    assert seen.calls == []


def test_calls_wait_for_the_name_of_the_server_behind_a_url(project: Project) -> None:
    hook(project, "BeforeTool", "^mcp__real__", "print(json.dumps({'decision': 'deny'}))")
    seen = Seen()
    start = {
        "id": "start",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    with (
        serve_real(seen) as url,
        proxy(project.path, "--url", url, server=(), name=None) as client,
    ):
        client.send_call(1, "add", a=1, b=2)
        client.send({"jsonrpc": "2.0", **start})
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": "start"}}
        client.send({"jsonrpc": "2.0", **cancelled})
        client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        client.send_call(2, "add", a=1, b=2)
        received = [client.receive() for _ in range(3)]
        answers = {answer["id"]: answer["result"] for answer in received}
        assert answers.keys() == {"start", 1, 2}
        assert answers[1]["isError"] is answers[2]["isError"] is True
        assert client.leave() == 0
    assert seen.calls == []


@both
async def test_headers_say_what_a_hook_made_of_the_call(mode: Any, project: Project) -> None:
    changed = {"hookSpecificOutput": {"tool_input": {"region": "grüße", "replicas": 7}}}
    hook(project, "BeforeTool", "mcp__real__deploy", f"print(json.dumps({changed!r}))")
    with serve_real() as url:
        async with connect(project, url, mode) as client:
            await client.list_tools()
            result = await client.call_tool("deploy", {"region": "eu"})
            assert text_of(result) == "7 in grüße"


@both
async def test_a_redacted_result_leaves_no_trace(mode: Any, project: Project) -> None:
    hook(
        project,
        "AfterTool",
        "mcp__real__person",
        "print(json.dumps({'decision': 'deny', 'reason': 'redacted'}))",
    )
    with serve_real() as url:
        async with connect(project, url, mode) as client:
            await client.list_tools()
            result = await client.call_tool("person", {})
            assert "redacted" in text_of(result)
            assert "hush-4711" not in result.model_dump_json()
    assert "hush-4711" not in stderr_of(project)


@both
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_hook_asks_the_user(mode: Any, action: Any, project: Project) -> None:
    ask = {"decision": "ask", "reason": "really add?"}
    hook(project, "BeforeTool", "mcp__real__add", f"print(json.dumps({ask!r}))")
    asked: list[str] = []

    async def answer(_: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    seen = Seen()
    with serve_real(seen) as url:
        async with connect(project, url, mode, elicitation_callback=answer) as client:
            result = await client.call_tool("add", {"a": 1, "b": 2})
    assert len(asked) == 1
    assert "really add?" in asked[0]
    assert result.is_error == (action == "decline")
    assert seen.calls == ([(1, 2)] if action == "accept" else [])


async def test_the_server_asks_the_user_through_the_proxy(project: Project) -> None:
    async def answer(*_: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"word": "yes"})

    with serve_real() as url:
        async with connect(project, url, "legacy", elicitation_callback=answer) as client:
            calls = [client.call_tool("ask_back", {}) for _ in range(3)]
            assert [text_of(one) for one in await asyncio.gather(*calls)] == ["accept yes"] * 3


@both
async def test_a_cancelled_call_ends_at_the_server(mode: Any, project: Project) -> None:
    seen = Seen()
    with serve_real(seen) as url:
        async with connect(project, url, mode) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "hold", {})
                assert await asyncio.to_thread(seen.held.wait, 10)
                group.cancel_scope.cancel()
            assert await asyncio.to_thread(seen.cancelled.wait, 10)
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"


async def test_a_server_that_restarts_is_used_again(project: Project) -> None:
    async with AsyncExitStack() as ends:
        with serve_real() as url:
            client = await ends.enter_async_context(connect(project, url, "legacy"))
            assert text_of(await client.call_tool("add", {"a": 1, "b": 2})) == "3"
        with serve_real(port=urlsplit(url).port or 0):
            assert text_of(await client.call_tool("add", {"a": 2, "b": 2})) == "4"
    assert "no longer knows the session" in stderr_of(project)


async def test_a_token_goes_to_the_server_and_nowhere_else(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "hush-4711")

    async def refuse(request: Request) -> None:
        await request.answer(status=401)

    async def list_add(request: Request) -> None:
        await request.result({"tools": [{"name": "add"}]})

    async with serve(tools_call=refuse, tools_list=list_add) as raw:
        header = ("--header", "Authorization: Bearer $TOKEN")
        async with connect(project, raw.url, "legacy", *header) as client:
            with pytest.raises(MCPError, match="give credentials with --header") as caught:
                await client.call_tool("add", {})
    assert all(r.headers["authorization"] == "Bearer hush-4711" for r in raw.requests)
    assert raw.requests[-1].method == "DELETE"
    assert "hush-4711" not in str(caught.value)
    assert "refused the request with HTTP 401" in stderr_of(project)
    assert "hush-4711" not in stderr_of(project)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--url", "http://example.com/mcp"], "--allow-http"),
        (["--url", "http://u:hush@example.com/mcp", "--allow-http"], "over https only"),
        (["--url", "ftp://u:hush@example.com/"], "write the URL of an MCP server as"),
        (["--url", "https://example.com/", "--header", "hush"], "is not a header"),
        (["--url", "https://example.com/", "--header", "Mcp-Name: hush"], "set by hookline"),
    ],
)
def test_what_cannot_be_reached_safely_is_refused_before_anything_is_sent(
    arguments: list[str], said: str, project: Project
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hookline", "mcp", *arguments],
        cwd=project.path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert said in done.stderr
    assert "hush" not in done.stderr
    assert done.stdout == ""


async def test_a_client_that_goes_away_ends_the_session(project: Project) -> None:
    listening = asyncio.Event()

    async def hang(request: Request) -> None:
        await request.begin_events()
        listening.set()
        await asyncio.sleep(60)

    async with serve(get=hang) as raw:
        async with connect(project, raw.url, "legacy"):
            await listening.wait()
        assert raw.requests[-1].method == "DELETE"
