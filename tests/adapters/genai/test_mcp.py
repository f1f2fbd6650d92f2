"""Sessions of MCP servers among the tools of a config, which the SDK takes in async methods."""

from typing import Any

import pytest

from hookline import Hooks, add_context, ask, deny, replace_result, rewrite, stop
from tests.adapters.genai.playing import PLAYS, Script, call, note, play_async_models, reply

mcp: Any = pytest.importorskip("mcp")

ASYNC = {name: play for name, play in PLAYS.items() if "async" in name}
every_play = pytest.mark.parametrize("play", ASYNC.values(), ids=ASYNC)


def make_server(ran: list[str]) -> Any:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError

    server = MCPServer("library")

    @server.tool()
    def borrow(book: str) -> str:
        """Borrow a book."""
        ran.append(book)
        if book == "burnt":
            raise ToolError("it is burnt")
        return f"borrowed {book}"

    return server


async def play_with(
    hooks: Hooks, play: Any, ran: list[str], *replies: Any, **options: Any
) -> tuple[Script, Any]:
    from google.genai import types
    from mcp import Client

    script = Script(*replies)
    async with Client(make_server(ran)) as connected:
        with script.client(hooks, **options) as client:
            config = types.GenerateContentConfig(tools=[connected.session])
            played = await play(client, "Borrow it.", config)
            await client.aio.aclose()
    return script, played


def text_in(result: dict[str, Any]) -> str:
    (content,) = [held["content"] for held in result.values()]
    return "\n".join(block["text"] for block in content)


@every_play
async def test_calls_of_a_session_go_through_hooks(play: Any) -> None:
    hooks, ran = Hooks(), list[str]()
    seen = note(hooks, "BeforeTool", "AfterTool")
    hooks.on("BeforeTool", matcher="borrow")(
        lambda event: (
            deny("not that one")
            if event["tool_input"]["book"] == "a"
            else rewrite(book=event["tool_input"]["book"].upper())
        )
    )
    script, _ = await play_with(
        hooks, play, ran, reply(call("borrow", book="a"), call("borrow", book="b")), reply("Done.")
    )
    assert ran == ["B"]
    refused, borrowed = script.results()
    assert text_in(refused) == "not that one"
    assert "error" in refused
    assert "borrowed B" in text_in(borrowed)
    assert seen[0]["mcp_context"] == {"server_name": "library", "tool_name": "borrow"}
    assert "borrowed B" in str(seen[-1]["tool_response"]["llmContent"])


@every_play
async def test_results_of_a_session_are_what_after_tool_leaves_of_them(play: Any) -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("AfterTool")(
        lambda event: (
            replace_result("[removed]")
            if event["tool_input"]["book"] == "secret"
            else add_context("bring it back")
        )
    )
    calls = call("borrow", book="secret"), call("borrow", book="b")
    script, played = await play_with(hooks, play, ran, reply(*calls), reply("Done."))
    removed, added = script.results()
    assert text_in(removed) == "[removed]"
    assert "borrowed b" in text_in(added)
    assert "bring it back" in text_in(added)
    assert "borrowed secret" not in played.everything
    assert "borrowed secret" not in str(script.bodies)


@every_play
async def test_a_session_ends_with_a_stop(play: Any) -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda _event: stop("enough"))
    calls = call("borrow", book="a"), call("borrow", book="b")
    script, played = await play_with(hooks, play, ran, reply(*calls))
    assert (ran, len(script.bodies)) == ([], 1)
    assert played.text == "enough"


async def test_a_failing_tool_of_a_session_tells_hooks_its_error() -> None:
    hooks, ran = Hooks(), list[str]()
    seen = note(hooks, "AfterTool")
    call_it = reply(call("borrow", book="burnt"))
    await play_with(hooks, play_async_models, ran, call_it, reply("Done."))
    assert "it is burnt" in seen[0]["tool_response"]["error"]["message"]


async def test_a_question_about_a_session_is_put() -> None:
    hooks, ran = Hooks(), list[str]()
    hooks.on("BeforeTool")(lambda _event: ask("really?"))
    asked: list[str] = []

    def confirm(request: Any) -> bool:
        asked.append(f"{request.tool_name} {request.tool_input}")
        return True

    call_it = reply(call("borrow", book="a"))
    await play_with(hooks, play_async_models, ran, call_it, reply("Done."), confirm=confirm)
    assert (asked, ran) == (["borrow {'book': 'a'}"], ["a"])


async def test_a_tail_call_may_be_one_of_a_session() -> None:
    hooks, ran = Hooks(), list[str]()
    seen = note(hooks, "BeforeTool")
    wanted = {"name": "borrow", "args": {"book": "second"}}

    @hooks.on("AfterTool")
    def follow(event: dict[str, Any]) -> dict[str, Any] | None:
        if event["tool_input"] == {"book": "first"}:
            return {"hookSpecificOutput": {"tailToolCallRequest": wanted}}
        return None

    call_it = reply(call("borrow", book="first"))
    script, _ = await play_with(hooks, play_async_models, ran, call_it, reply("Done."))
    assert ran == ["first", "second"]
    assert [event["mcp_context"]["tool_name"] for event in seen] == ["borrow", "borrow"]
    assert "borrowed second" in text_in(script.results()[0])


async def test_without_hooks_a_session_is_called_as_ever() -> None:
    ran: list[str] = []
    call_it = reply(call("borrow", book="a"))
    script, _ = await play_with(Hooks(), play_async_models, ran, call_it, reply("Done."))
    assert "borrowed a" in text_in(script.results()[0])
