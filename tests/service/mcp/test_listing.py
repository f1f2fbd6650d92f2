"""A call of a tool that the server does not list is refused, however the list is learned."""

import sys
from typing import Any

import pytest

from hookline import Hooks
from hookline.service.mcp import catalog as listing
from tests.harness.scratch import Project
from tests.service.mcp.processes import SERVER, proxy
from tests.service.mcp.sessions import MODERN, Json, call, modern, page, play, text

CHANGED = b'{"method":"notifications/tools/list_changed"}'


def refusal(tool: str) -> Json:
    return text(f"{tool!r} is not a tool that the MCP server lists", isError=True)


@pytest.mark.parametrize("tool", ["Read", "READ", "read ", " read", "re\u0301ad", "ｒead", "re"])
@pytest.mark.parametrize("has_hooks", [False, True])
async def test_names_are_compared_as_they_are(tool: str, has_hooks: bool) -> None:
    """A server that folds or trims would run ``read``, which a matcher had not seen."""
    hooks, seen = Hooks(), list[Any]()
    if has_hooks:
        hooks.on("BeforeTool")(seen.append)
    async with play(hooks) as session:
        assert await session.call(1, tool) == refusal(tool)
        assert session.server.calls == seen == []
        assert await session.call(2, "read") == text("ran read")


async def test_the_proxy_asks_once_where_the_client_did_not() -> None:
    async with play() as session:
        for id in range(20):
            session.send(call(id))
        for _ in range(20):
            assert (await session.receive())["result"] == text("ran read")
        assert session.server.listings == [{}]


async def test_what_the_client_listed_is_not_asked_again() -> None:
    async with play(answer=_answer_lists(page("mine"))) as session:
        await session.request({"id": 0, "method": "tools/list"})
        assert await session.call(1, "mine") == text("ran mine")
        assert session.server.listings == []


def _answer_lists(*pages: Json) -> Any:
    left = iter(pages)

    def answer(request: Json) -> Any:
        if request["method"] == "tools/list":
            return next(left)
        return text(f"ran {request['params']['name']}")

    return answer


async def test_a_list_has_all_of_its_pages() -> None:
    def turn(params: Json) -> Json:
        number = int(params.get("cursor", 0))
        more = {} if number == 3 else {"nextCursor": str(number + 1)}
        return {"result": page(f"tool{number}", **more)}

    async with play(listed=turn) as session:
        assert await session.call(1, "tool3") == text("ran tool3")
        cursors = [params.get("cursor") for params in session.server.listings]
        assert cursors == [None, "1", "2", "3"]
        assert await session.call(2, "tool0") == text("ran tool0")
        assert len(session.server.listings) == 4


async def test_a_client_that_reads_one_page_can_call_a_tool_of_the_next() -> None:
    first = page("a", nextCursor="2")
    async with play(answer=_answer_lists(first), listed=lambda _: {"result": page("a", "b")}) as s:
        await s.request({"id": 0, "method": "tools/list"})
        assert await s.call(1, "a") == text("ran a")
        assert s.server.listings == []
        assert await s.call(2, "b") == text("ran b")


async def test_a_list_that_changed_is_asked_for_again() -> None:
    lists = iter([page("old"), page("new"), page("new")])
    async with play(listed=lambda _: {"result": next(lists)}) as session:
        assert await session.call(1, "old") == text("ran old")
        session.server.say(CHANGED)
        await session.receive()
        assert await session.call(2, "old") == refusal("old")
        assert await session.call(3, "new") == text("ran new")


async def test_a_server_may_list_more_without_saying_so() -> None:
    lists = iter([page("old"), page("old", "new")])
    async with play(listed=lambda _: {"result": next(lists)}) as session:
        assert await session.call(1, "old") == text("ran old")
        assert await session.call(2, "new") == text("ran new")


async def test_what_the_client_lists_later_replaces_what_it_listed_before() -> None:
    async with play(
        answer=_answer_lists(page("old"), page("new")), listed=lambda _: {"result": page("new")}
    ) as session:
        for id in range(2):
            await session.request({"id": id, "method": "tools/list"})
        assert await session.call(2, "old") == refusal("old")
        assert session.server.calls == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (
            {"error": {"code": -32601, "message": "Method not found"}},
            "does not list its tools: Method not found",
        ),
        ({"error": 5}, "does not list its tools: its answer is not a list"),
        ({"result": []}, "does not list its tools: its answer is not a list"),
        ({"result": page("read", nextCursor="x")}, "list of tools has no end"),
        ({"result": {"tools": "read"}}, "is not a tool that the MCP server lists"),
        ({"result": {"tools": ["read", {"name": ["read"]}]}}, "is not a tool that the MCP"),
        ({"result": {}}, "is not a tool that the MCP server lists"),
    ],
)
async def test_a_server_without_a_list_has_no_tool_to_call(
    answer: Json, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A server without the capability of tools answers so too."""
    async with play(listed=lambda _params: answer) as session:
        refused = await session.call(1)
        assert problem in refused["content"][0]["text"]
        assert refused["isError"] is True
        assert session.server.calls == []
        assert (await session.request({"id": 2, "method": "ping"}))["id"] == 2
    assert ("its tools cannot be called" in caplog.text) is ("is not a tool" not in problem)


async def test_a_server_that_does_not_answer_is_waited_for_so_long(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(listing, "LIST_SECONDS", 0.05)
    async with play(listed=lambda _params: None) as session:
        refused = await session.call(1)
        assert "did not list its tools within" in refused["content"][0]["text"]
        withdrawn = await session.server.next()
        assert withdrawn["method"] == "notifications/cancelled"
        # Its late answer is nobody's.
        session.server.say({"id": withdrawn["params"]["requestId"], "result": page("read")})
        assert (await session.request({"id": 2, "method": "ping"}))["id"] == 2
        assert session.server.calls == []
    assert "answered a request that is not open" not in caplog.text


async def test_an_unlisted_tool_cannot_follow_another(caplog: pytest.LogCaptureFixture) -> None:
    hooks = Hooks()
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "Note", "args": {}}}}
    hooks.on("AfterTool")(lambda _event: tail)
    async with play(hooks) as session:
        assert await session.call(1) == text("ran read")
        assert len(session.server.calls) == 1
    assert "the tail call of 'Note' that a hook asked for did not run" in caplog.text


async def test_a_task_of_an_unlisted_tool_is_refused_too() -> None:
    async with play() as session:
        assert await session.call(1, "Read", task={"ttl": 1}) == refusal("Read")
        answer = await session.request(modern(2, "Read"))
        assert answer["result"] == {**refusal("Read"), "resultType": "complete"}
        assert session.server.calls == []


async def test_without_a_handshake_the_question_has_what_each_request_has() -> None:
    async with play() as session:
        await session.request(modern(1, _meta={**MODERN, "progressToken": 1}))
        assert session.server.listings == [{"_meta": MODERN}]


def test_a_real_server_runs_what_it_lists_and_nothing_else(project: Project) -> None:
    log = project.path / "log"
    with proxy(project.path, server=(sys.executable, str(SERVER), "--log", str(log))) as client:
        client.initialize()
        assert client.call(1, "Echo", a=1)["result"] == refusal("Echo")
        assert client.call(2, "echo", a=1)["result"] == text('{"a": 1}')
        assert client.leave() == 0
    assert b"Echo" not in log.read_bytes()


async def test_a_new_session_of_the_server_may_list_other_tools() -> None:
    lists = iter([page("old"), page("new")])
    async with play(listed=lambda _: {"result": next(lists)}) as session:
        assert await session.call(1, "old") == text("ran old")
        session.server.lost_sessions += 1
        assert await session.call(2, "old") == refusal("old")
