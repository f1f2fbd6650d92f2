"""Tools are matched under the name that the server gave itself, whatever the client does first."""

import json
import sys
from typing import Any

import pytest

from hookline import Hooks, deny
from hookline.service.mcp import session as sessions
from hookline.service.mcp import toolcalls
from tests.cli.command import command_hook, hookline, settings
from tests.harness.scratch import Project
from tests.service.mcp.processes import SERVER, proxy
from tests.service.mcp.sessions import (
    MODERN,
    Json,
    answer_usually,
    call,
    modern,
    page,
    play,
    result_of,
    text,
)

INITIALIZE: Json = {"id": "start", "method": "initialize", "params": {}}
INTRODUCTION: Json = {"serverInfo": {"name": "files"}}
OWN_NAME = "io.modelcontextprotocol/serverInfo"
CANCEL: Json = {"method": "notifications/cancelled", "params": {"requestId": "start"}}
LIST: Json = {"id": "list", "method": "tools/list", "params": {}}


def hooks_for(server: str) -> Hooks:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher=f"^mcp__{server}__")(lambda _event: deny("no"))
    return hooks


def answer_late(request: Json) -> Any:
    """The test itself answers initialize."""
    if request["method"] == "tools/list":
        return page("read")
    return None if request["method"] == "initialize" else answer_usually(request)


@pytest.mark.parametrize(
    "first",
    [
        [INITIALIZE],
        [INITIALIZE, CANCEL],
        [LIST, INITIALIZE],
        [LIST, INITIALIZE, CANCEL, LIST | {"id": "again"}],
        [{"id": "d", "method": "server/discover"}, INITIALIZE],
        [{"method": "initialize"}, {"method": "notifications/initialized"}, INITIALIZE],
    ],
)
async def test_a_call_waits_for_the_name_whatever_the_client_sends_or_cancels(
    first: list[Json],
) -> None:
    async with play(hooks_for("files"), answer_late, name=None) as session:
        session.send(call(1))
        for message in first:
            session.send(message)
        session.send(call(2))
        assert (await _next_but(session, "list", "again", "d"))["id"] == "ping"
        assert session.server.calls == []
        session.server.say(result_of("start", INTRODUCTION))
        answers = [await session.receive() for _ in range(3)]
        assert {answer["id"] for answer in answers} == {"start", 1, 2}
        refused = [answer["result"] for answer in answers if answer["id"] != "start"]
        assert refused == [text("no", isError=True)] * 2
        assert session.server.calls == []


async def _next_but(session: Any, *ids: str) -> Json:
    session.send({"id": "ping", "method": "ping"})
    while (answer := await session.receive())["id"] in ids:
        pass
    return dict(answer)


async def test_a_client_that_never_initializes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "HOLD_SECONDS", 0.05)
    async with play(name=None) as session:
        error = (await session.request(call(1)))["error"]
        assert error["code"] == -32600
        assert "send initialize before calls, or start hookline mcp with --name" in error["message"]
        assert (session.server.raw, session.server.listings) == ([], [])
        await session.initialize()
        assert await session.call(1) == text("ran read")


async def test_a_client_that_leaves_without_initialize_is_told_at_once() -> None:
    async with play(name=None) as session:
        session.send(call(1))
        await _next_but(session)
        session.leave()
        assert "send initialize before calls" in (await session.receive())["error"]["message"]
        assert session.server.calls == []


async def test_a_refused_initialize_names_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "HOLD_SECONDS", 0.05)
    async with play(answer=answer_late, name=None) as session:
        session.send(INITIALIZE)
        await session.server.next()
        session.server.say({"id": "start", "error": {"code": 1, "message": "no"}})
        await session.receive()
        assert "error" in await session.request(call(1))
        assert session.server.calls == []


async def test_a_held_call_that_is_cancelled_is_never_sent() -> None:
    async with play(answer=answer_late, name=None) as session:
        session.send(call(1))
        session.send(INITIALIZE)
        session.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        session.send(call(2, "note"))
        await session.server.next()
        session.server.say(result_of("start", INTRODUCTION))
        assert [(await session.receive())["id"] for _ in range(2)] == ["start", 2]
        assert [params["name"] for params in session.server.calls] == ["note"]


async def test_so_many_calls_are_held_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolcalls, "MOST_CALLS", 3)
    async with play(answer=answer_late, name=None) as session:
        for id in range(4):
            session.send(call(id))
        refused = await session.receive()
        assert (refused["id"], refused["error"]["message"][:16]) == (3, "3 calls are open")
        session.send(INITIALIZE)
        await session.server.next()
        session.server.say(result_of("start", INTRODUCTION))
        ids = [(await session.receive())["id"] for _ in range(4)]
        assert sorted(ids, key=str) == [0, 1, 2, "start"]


async def test_a_server_that_renames_itself_keeps_its_hooks_and_people_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = iter(["files", "harmless", "other\n\u202e\x9bm"])

    def answer(request: Json) -> Any:
        if request["method"] == "initialize":
            return {"serverInfo": {"name": next(names)}}
        return answer_usually(request)

    async with play(hooks_for("files"), answer, name=None) as session:
        for id in range(3):
            await session.request(INITIALIZE)
            assert await session.call(id) == text("no", isError=True)
    told = "the MCP server now calls itself 'harmless'; hooks still match its tools as those of"
    assert caplog.text.count(told) == 1
    assert all(mark not in caplog.text for mark in ("\u202e", "\x9b"))


@pytest.mark.parametrize("says_it_in", ["tools/list", "server/discover"])
async def test_without_a_handshake_the_proxy_asks_for_the_name(says_it_in: str) -> None:
    named = {"_meta": {OWN_NAME: {"name": "files"}}}

    def answer(request: Json) -> Any:
        is_asked = request["method"] == says_it_in == "server/discover"
        return named if is_asked else answer_usually(request)

    listed = page("read", **(named if says_it_in == "tools/list" else {}))
    async with play(
        hooks_for("files"), answer, name=None, listed=lambda _params: {"result": listed}
    ) as session:
        refused = (await session.request(modern(1)))["result"]
        assert refused == text("no", isError=True, resultType="complete")
        asked = [json.loads(raw) for raw in session.server.raw]
        has_asked = [each["method"] for each in asked] == ["server/discover"]
        assert has_asked is (says_it_in == "server/discover")
        assert all(each["params"]["_meta"] == MODERN for each in asked)


async def test_a_server_that_does_not_say_its_name_runs_no_tool() -> None:
    async with play(answer=lambda _request: None, name=None) as session:
        session.send(modern(1))
        asked = await session.server.next()
        session.server.say({"id": asked["id"], "error": {"code": -32601, "message": "what?"}})
        refused = (await session.receive())["result"]
        assert refused["isError"] is True
        assert "start hookline mcp with --name" in refused["content"][0]["text"]
        assert session.server.calls == []


@pytest.mark.parametrize(
    ("options", "variable", "in_settings"),
    [(["--strict"], "", False), ([], "1", False), (["--trust"], "", True)],
)
def test_strict_mode_does_not_start_without_a_name(
    project: Project, options: list[str], variable: str, in_settings: bool
) -> None:
    project.settings({"strict": in_settings})
    marker = project.path / "started"
    command = ["mcp", *options, "--", "touch", str(marker)]
    done = hookline(*command, cwd=project.path, HOOKLINE_STRICT=variable)
    assert (done.status, done.out) == (1, "")
    assert "strict mode needs --name" in done.err
    assert done.err.count("\n") == 1
    assert not marker.exists()


def test_a_real_server_is_guarded_under_its_own_name_from_the_first_line(
    project: Project,
) -> None:
    """The tool is called before, within and after the handshake, which the client cancels."""
    guard = command_hook("echo not that >&2; exit 2", name="guard")
    project.settings(settings("BeforeTool", guard, matcher="^mcp__plain__"))
    log = project.path / "log"
    server = (sys.executable, str(SERVER), "--log", str(log))
    with proxy(project.path, name=None, server=server) as client:
        client.send_call(1, "echo")
        client.send(INITIALIZE)
        client.send(CANCEL)
        client.send_call(2, "echo")
        answers = [client.receive() for _ in range(3)]
        client.send_call(3, "echo")
        answers.append(client.receive())
        assert client.leave() == 0
    told = {each["id"]: each["result"] for each in answers}
    assert told["start"]["serverInfo"]["name"] == "plain"
    assert [told[id] for id in (1, 2, 3)] == [text("not that", isError=True)] * 3
    assert b"tools/call" not in log.read_bytes()
