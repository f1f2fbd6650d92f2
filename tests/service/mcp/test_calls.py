"""What hooks say about a tool call reaches the server and the client, in both generations."""

import asyncio
import json
import logging
from typing import Any

import pytest

from hookline import (
    Hooks,
    add_context,
    ask,
    combine,
    deny,
    message,
    replace_result,
    rewrite,
    stop,
)
from hookline.service.mcp import requests, tasks
from tests.service.mcp.sessions import (
    CLIENT,
    MODERN,
    Json,
    answer_usually,
    call,
    modern,
    play,
    text,
)


def hooks_that(event: str, reply: Any, **options: Any) -> Hooks:
    hooks = Hooks()
    hooks.on(event, **options)(lambda _event: reply)
    return hooks


def answering(result: Any) -> Any:
    return lambda request: result if request["method"] == "tools/call" else answer_usually(request)


async def test_hooks_read_the_call_and_its_result() -> None:
    hooks, seen = Hooks(), []
    hooks.on("BeforeTool")(lambda event: seen.append(dict(event)))
    hooks.on("AfterTool")(lambda event: seen.append(dict(event)))
    async with play(hooks) as session:
        assert await session.call(1, "read", {"path": "a"}) == text("ran read")
    before, after = seen
    assert before["tool_name"] == "mcp__files__read"
    assert before["tool_input"] == {"path": "a"}
    assert before["mcp_context"] == {
        "server_name": "files",
        "tool_name": "read",
        "command": "files-server",
        "args": ["--quiet"],
        "cwd": "/srv",
    }
    assert after["mcp_context"] == before["mcp_context"]
    assert after["tool_response"] == {"llmContent": "ran read"}


async def test_a_denied_call_is_a_result_that_the_model_reads() -> None:
    async with play(hooks_that("BeforeTool", deny("not that one"))) as session:
        assert await session.call(1) == text("not that one", isError=True)
        refused = (await session.request(modern(2)))["result"]
        assert refused == text("not that one", isError=True, resultType="complete")
        assert session.server.raw == []


async def test_a_rewritten_call_is_what_the_server_and_after_tool_hooks_get() -> None:
    hooks, seen = hooks_that("BeforeTool", rewrite(path="b")), []
    hooks.on("AfterTool")(lambda event: seen.append(dict(event)))
    async with play(hooks) as session:
        await session.call(1, "read", {"path": "a", "n": 2**70}, future={"x": 1.5})
        params = {"name": "read", "arguments": {"path": "b", "n": 2**70}, "future": {"x": 1.5}}
        assert session.server.calls == [params]
    assert seen[0]["tool_input"] == {"path": "b", "n": 2**70}
    assert seen[0]["original_tool_input"] == {"path": "a", "n": 2**70}


async def test_a_call_that_no_hook_changed_is_passed_on_as_it_was_meant() -> None:
    for hooks in (Hooks(), hooks_that("BeforeTool", {})):
        async with play(hooks) as session:
            session.send('{"id":1,"method":"tools\\u002fcall","params":{"name":"re\\u0061d"}}')
            assert (await session.receive())["result"] == text("ran read")
            assert session.server.calls == [{"name": "read"}]


async def test_redaction_leaves_no_trace_anywhere_in_the_result() -> None:
    secret = {
        "content": [
            {"type": "text", "text": "key s3cret", "_meta": {"a": "s3cret"}},
            {"type": "resource_link", "uri": "file:///s3cret", "name": "s3cret"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "s3cret"}},
        ],
        "structuredContent": {"key": "s3cret"},
        "_meta": {"key": "s3cret"},
        "future": "s3cret",
    }

    hooks, seen = Hooks(), []

    @hooks.on("AfterTool")
    def redact(event: Any) -> Any:
        seen.append(json.dumps(event["tool_response"]))
        return replace_result("key [hidden]")

    async with play(hooks, answering(secret)) as session:
        session.send(call(1))
        raw = await session.receive_raw()
        assert b"s3cret" not in raw
        assert json.loads(raw)["result"] == text("key [hidden]")
        session.send(modern(2))
        answer = await session.receive()
        assert answer["result"] == text("key [hidden]", resultType="complete")
    assert seen[0].count("s3cret") == 8


async def test_a_replaced_error_stays_an_error() -> None:
    hooks = hooks_that("AfterTool", replace_result("it failed"))
    async with play(hooks, answering(text("s3cret", isError=True))) as session:
        assert await session.call(1) == text("it failed", isError=True)


async def test_an_error_of_the_server_is_shown_to_hooks_and_can_be_replaced() -> None:
    hooks, seen, replies = Hooks(), [], [None, add_context("try x"), replace_result("no")]

    @hooks.on("AfterTool")
    def look(event: Any) -> Any:
        seen.append(event["tool_response"])
        return replies[len(seen) - 1]

    error = {"code": -32602, "message": "Unknown tool s3cret", "data": {"a": 1}}
    async with play(hooks, lambda _request: None) as session:
        answers = []
        for id in range(3):
            session.send(call(id))
            await session.server.next()
            session.server.say({"jsonrpc": "2.0", "id": id, "error": error})
            answers.append(await session.receive())
    assert answers[0]["error"] == error
    both = [{"type": "text", "text": "Unknown tool s3cret\n\ntry x"}]
    assert answers[1]["result"] == {"content": both, "isError": True}
    assert answers[2]["result"] == text("no", isError=True)
    assert seen[0]["error"] == {"type": "mcp_error", "message": "Unknown tool s3cret"}
    assert seen[0]["metadata"] == {"error": error}


async def test_what_hooks_add_is_one_more_text_and_nothing_hides_it() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    result = {"content": [image], "structuredContent": {"a": 1}, "_meta": {"b": 2}}
    hooks = hooks_that("AfterTool", combine(add_context("mind the gap"), message("checked")))
    async with play(hooks, answering(result)) as session:
        changed = await session.call(1)
        told = {"type": "text", "text": "mind the gap\n\n[System] checked"}
        shown = {"type": "text", "text": '{"a":1}'}
        assert changed == {"content": [image, shown, told], "_meta": {"b": 2}}


@pytest.mark.parametrize(
    ("texts", "structured", "kept"),
    [
        (['{ "a": 1 }'], {"a": 1}, ['{ "a": 1 }']),
        (["5"], {"result": 5}, ["5"]),
        (["a", "b"], {"result": ["a", "b"]}, ["a", "b"]),
        (["a"], {"result": ["a", "b"]}, ["a", '{"result":["a","b"]}']),
        (["3 people"], {"people": [1, 2, 3]}, ["3 people", '{"people":[1,2,3]}']),
        (["null"], {"other": None}, ["null", '{"other":null}']),
    ],
)
async def test_structured_content_is_not_lost_nor_repeated(
    texts: list[str], structured: Json, kept: list[str]
) -> None:
    blocks = [{"type": "text", "text": each} for each in texts]
    result = {"content": blocks, "structuredContent": structured}
    async with play(hooks_that("AfterTool", add_context("x")), answering(result)) as session:
        changed = await session.call(1)
        assert [block["text"] for block in changed["content"]] == [*kept, "x"]
        assert "structuredContent" not in changed


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (text("a"), {"llmContent": "a"}),
        ({"content": [], "structuredContent": [1]}, {"llmContent": "[1]"}),
        ({"content": [{"type": "image", "data": "x"}]}, {"llmContent": [{"type": "image"}]}),
        ({"content": "odd"}, {"llmContent": "odd"}),
        ({}, {"llmContent": ""}),
        (["odd"], {"llmContent": '["odd"]'}),
        (text("a", isError=True), {"error": {"type": "tool_failed", "message": "a"}}),
    ],
)
async def test_a_result_is_shown_whole_and_kept_where_hooks_left_it(
    result: Any, shown: Json
) -> None:
    hooks, seen = Hooks(), []
    hooks.on("AfterTool")(lambda event: seen.append(event["tool_response"]))
    async with play(hooks, answering(result)) as session:
        assert await session.call(1) == result
    for name, value in shown.items():
        if name == "llmContent" and isinstance(value, list):
            assert seen[0][name] == result["content"]
        else:
            assert seen[0][name] == value


async def test_a_stop_refuses_the_call_and_all_that_follow() -> None:
    hooks, asked = Hooks(), []

    @hooks.on("BeforeTool")
    def once(event: Any) -> Any:
        asked.append(event["tool_name"])
        return stop("enough")

    async with play(hooks) as session:
        assert await session.call(1) == text("enough", isError=True)
        assert await session.call(2, "other") == text("enough", isError=True)
        assert (await session.request({"id": 3, "method": "ping"}))["result"] == {}
        assert session.server.calls == []
    assert asked == ["mcp__files__read"]


async def test_a_stop_after_a_tool_hides_its_result() -> None:
    async with play(hooks_that("AfterTool", stop("enough"))) as session:
        assert await session.call(1) == text("enough", isError=True)
        assert await session.call(2) == text("enough", isError=True)
        assert len(session.server.calls) == 1


async def test_a_stop_refuses_what_hooks_were_still_looking_at() -> None:
    hooks, may_go_on = Hooks(), asyncio.Event()
    after: list[Any] = []

    @hooks.on("BeforeTool", matcher="slow")
    async def wait(_event: Any) -> None:
        await may_go_on.wait()

    hooks.on("BeforeTool", matcher="last")(lambda _event: stop("enough"))
    hooks.on("AfterTool")(after.append)
    async with play(hooks) as session:
        session.send(call(1, "slow"))
        assert await session.call(2, "last") == text("enough", isError=True)
        may_go_on.set()
        assert (await session.receive())["result"] == text("enough", isError=True)
        assert session.server.calls == after == []


@pytest.mark.parametrize("is_deep", [False, True])
async def test_what_hooks_cannot_be_shown_whole_does_not_pass(is_deep: bool) -> None:
    """Hooks are shown so much of what is nested and no more; the rest could say anything."""
    deep: Any = "s3cret"
    for _ in range(300 if is_deep else 150):
        deep = [deep]
    hooks = hooks_that("BeforeTool", {}, matcher="read")
    hooks.on("AfterTool", matcher="show")(lambda _event: None)

    async with play(hooks, answering({"content": [], "structuredContent": deep})) as session:
        result = await session.call(1, "read", {"a": deep})
        assert bool(result.get("isError")) is is_deep
        assert len(session.server.calls) == (0 if is_deep else 1)
        session.send(call(2, "show"))
        answer = await session.receive()
        assert ("error" in answer) is is_deep
        assert ("s3cret" in json.dumps(answer)) is not is_deep


async def test_an_error_that_hooks_cannot_be_shown_whole_does_not_pass() -> None:
    deep: Any = "s3cret"
    for _ in range(300):
        deep = [deep]
    async with play(hooks_that("AfterTool", {}), lambda _request: None) as session:
        session.send(call(1))
        await session.server.next()
        session.server.say({"id": 1, "error": {"code": 1, "message": "m", "data": deep}})
        error = (await session.receive())["error"]
    assert error["code"] == -32603
    assert error["message"].endswith("cannot be passed on: hooks cannot read all of it")


@pytest.mark.parametrize("named", ["note", "mcp__files__note"])
async def test_another_tool_of_the_server_can_follow_through_its_own_hooks(named: str) -> None:
    hooks, seen = Hooks(), []

    @hooks.on("AfterTool", matcher="__read$")
    def follow(_event: Any) -> Any:
        return {"hookSpecificOutput": {"tailToolCallRequest": {"name": named, "args": {"a": 1}}}}

    @hooks.on("BeforeTool", matcher="__note$")
    def look(event: Any) -> None:
        seen.append((event["tool_name"], event["mcp_context"]["tool_name"]))

    meta = {"progressToken": 5, "other": 1}
    async with play(hooks) as session:
        assert await session.call(1, _meta=meta) == text("ran note")
        first, second = session.server.calls
        assert first["_meta"] == meta
        assert second == {"name": "note", "arguments": {"a": 1}, "_meta": {"other": 1}}
        assert seen == [("mcp__files__note", "note")]


async def test_a_tool_that_the_pattern_does_not_allow_cannot_follow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "note", "args": {}}}}
    async with play(hooks_that("AfterTool", tail), tools="read") as session:
        assert await session.call(1) == text("ran read")
        assert len(session.server.calls) == 1
    assert "the tail call of 'note' that a hook asked for did not run" in caplog.text


async def test_a_slow_hook_holds_up_its_own_call_alone() -> None:
    hooks, may_go_on = Hooks(), asyncio.Event()

    @hooks.on("BeforeTool", matcher="slow")
    async def wait(_event: Any) -> None:
        await may_go_on.wait()

    async with play(hooks) as session:
        session.send(call(1, "slow"))
        session.send(call(2, "read"))
        session.send(call("1", "other"))
        assert [(await session.receive())["id"] for _ in range(2)] == [2, "1"]
        assert (await session.request({"id": 3, "method": "ping"}))["id"] == 3
        may_go_on.set()
        answer = await session.receive()
        assert (answer["id"], answer["result"]) == (1, text("ran slow"))


async def test_a_hundred_calls_at_once_keep_their_ids() -> None:
    hooks = hooks_that("AfterTool", add_context("x"))

    def echo(request: Json) -> Any:
        return text(str(request["params"]["arguments"]["n"]))

    async with play(hooks, echo) as session:
        for n in range(100):
            session.send(call(f"id-{n}", arguments={"n": n}))
        for _ in range(100):
            answer = await session.receive()
            assert answer["id"] == f"id-{answer['result']['content'][0]['text']}"


@pytest.mark.slow
async def test_a_flood_of_calls_runs_few_hooks_at_once_and_is_bounded() -> None:
    """A process has so many descriptors: a hook that cannot start would let its call pass."""
    hooks, running, most, may_go_on = Hooks(), 0, 0, asyncio.Event()

    @hooks.on("BeforeTool")
    async def count(_event: Any) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await may_go_on.wait()
        running -= 1

    async with play(hooks, lambda r: None if r["method"] == "tools/call" else {}) as session:
        for n in range(1001):
            session.send(call(n))
        refused = await session.receive()
        assert (refused["id"], refused["error"]["message"][:15]) == (1000, "1000 calls are ")
        assert await session.request(call(1000)) == refused
        assert running == 16
        # Calls that the server has do not hold up those whose hooks have not run.
        may_go_on.set()
        for _ in range(1000):
            await session.server.next()
        assert most == 16


@pytest.mark.parametrize("failing", [False, True])
async def test_a_hook_that_fails_lets_the_call_pass_unless_it_fails_closed(failing: bool) -> None:
    hooks = Hooks()

    @hooks.on("BeforeTool", on_failure="block" if failing else "allow")
    def broken(_event: Any) -> None:
        raise RuntimeError("oops")

    async with play(hooks) as session:
        result = await session.call(1)
        assert bool(result.get("isError")) is failing
        assert len(session.server.calls) == (0 if failing else 1)


async def test_strict_mode_denies_what_hooks_could_not_check() -> None:
    hooks = Hooks(strict=True)

    @hooks.on("BeforeTool")
    def broken(_event: Any) -> None:
        raise RuntimeError("oops")

    async with play(hooks) as session:
        assert (await session.call(1))["isError"] is True


async def test_a_failure_of_the_engine_does_not_break_the_stream(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    hooks = hooks_that("BeforeTool", {})
    async with play(hooks) as session:
        await session.call(1)
        with monkeypatch.context() as patch:
            patch.setattr(hooks, "call_tool", None)
            answer = await session.request(call(2))
            assert answer["error"]["code"] == -32603
        assert await session.call(3) == text("ran read")
    assert "internal error of the MCP proxy" in caplog.text


async def test_a_legacy_client_is_asked_by_a_request() -> None:
    hooks, told = hooks_that("BeforeTool", combine(ask("sure?"), rewrite(path="b"))), []
    hooks.on("Notification")(lambda event: told.append(event["details"]))
    async with play(hooks) as session:
        await session.initialize(CLIENT)
        ids = set()
        for id, action in enumerate(("accept", "decline", "cancel")):
            session.send(call(id, arguments={"path": "a"}))
            asked = await session.receive()
            assert asked["method"] == "elicitation/create"
            assert asked["params"]["requestedSchema"] == {"type": "object", "properties": {}}
            assert asked["params"]["message"] == 'sure?\n\nAllow mcp__files__read {"path":"b"}?'
            ids.add(asked["id"])
            session.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action}})
            result = (await session.receive())["result"]
            assert bool(result.get("isError")) is (action != "accept")
        assert session.server.calls == [{"name": "read", "arguments": {"path": "b"}}]
        assert len(ids) == 3
        assert len(session.server.raw) == 2
    assert told[0] == {
        "type": "mcp",
        "title": "mcp__files__read",
        "serverName": "files",
        "toolName": "read",
        "toolDisplayName": "read",
    }


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"elicitation": None}])
async def test_a_client_without_forms_gets_a_denial(capabilities: Json) -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        await session.initialize(capabilities)
        denied = text("sure? (nobody can be asked to confirm it)", isError=True)
        assert await session.call(1) == denied
        meta = {**MODERN, "io.modelcontextprotocol/clientCapabilities": capabilities}
        answer = await session.request(modern(2, _meta=meta))
        assert answer["result"] == {**denied, "resultType": "complete"}


async def test_a_client_that_fails_to_ask_has_not_been_allowed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        await session.initialize(CLIENT)
        session.send(call(1))
        asked = await session.receive()
        error = {"code": -32601, "message": "no such method"}
        session.send({"jsonrpc": "2.0", "id": asked["id"], "error": error})
        assert (await session.receive())["result"]["isError"] is True
    assert "no such method" in caplog.text


@pytest.mark.parametrize(
    "result",
    [
        '{"action":"decline","action":"accept"}',
        '{"Action":"accept"}',
        '{"action":["accept"]}',
        '"accept"',
        "null",
    ],
)
async def test_what_is_no_clear_yes_is_a_no(result: str) -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        await session.initialize(CLIENT)
        session.send(call(1))
        asked = await session.receive()
        session.send(f'{{"jsonrpc":"2.0","id":"{asked["id"]}","result":{result}}}')
        assert (await session.receive())["result"]["isError"] is True
        assert session.server.calls == []


async def test_the_answer_to_a_question_of_the_server_goes_to_the_server() -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        await session.initialize(CLIENT)
        session.server.say('{"id": 1, "method": "elicitation/create", "params": {}}')
        assert (await session.receive())["id"] == 1
        session.send({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}})
        assert (await session.server.next())["result"] == {"action": "accept"}


async def test_a_server_cannot_have_its_own_question_taken_for_that_of_a_hook() -> None:
    hooks = hooks_that("BeforeTool", ask("sure?"), matcher="rm")
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "note", "args": {}}}}
    hooks.on("AfterTool", matcher="read")(lambda _event: tail)
    async with play(hooks) as session:
        await session.initialize(CLIENT)
        await session.call(1)
        session.send(call(2, "rm"))
        asked = await session.receive()
        # What the server has seen of our ids tells it nothing about that of the question.
        prefix, _, _ = asked["id"].rpartition("-")
        assert prefix.encode() not in b"".join(session.server.raw)
        session.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
        assert (await session.receive())["id"] == 2


async def accept(
    session: Any, asked: Json, id: Any = 2, action: str = "accept", **more: Any
) -> Any:
    """Send the call again with the user's answer."""
    state = {"requestState": asked["requestState"]}
    responses = {"inputResponses": {"hookline-confirm": {"action": action}}}
    return (await session.request(modern(id, **{**responses, **state, **more})))["result"]


async def test_a_modern_client_is_asked_by_a_result_and_calls_again() -> None:
    hooks, fired = Hooks(), []

    @hooks.on("BeforeTool")
    def question(event: Any) -> Any:
        fired.append(event["tool_input"])
        return combine(ask("sure?"), rewrite(path="b"), message("noted"))

    @hooks.on("AfterTool")
    def look(event: Any) -> None:
        fired.append((event["tool_input"], event["original_tool_input"]))

    async with play(hooks) as session:
        arguments = {"path": "a"}
        asked = (await session.request(modern(1, arguments=arguments)))["result"]
        assert asked["resultType"] == "input_required"
        request = asked["inputRequests"]["hookline-confirm"]
        assert request["method"] == "elicitation/create"
        assert request["params"]["mode"] == "form"
        result = await accept(session, asked, arguments=arguments)
        assert [block["text"] for block in result["content"]] == ["ran read", "[System] noted"]
        params = {"name": "read", "arguments": {"path": "b"}, "_meta": MODERN}
        assert session.server.calls == [params]
    assert fired == [{"path": "a"}, ({"path": "b"}, {"path": "a"})]


async def test_a_modern_client_that_declines_gets_a_denial() -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        for action in ("decline", "cancel", "ACCEPT"):
            asked = (await session.request(modern(1)))["result"]
            result = await accept(session, asked, action=action)
            assert result["isError"] is True
        asked = (await session.request(modern(1)))["result"]
        assert (await accept(session, asked, inputResponses={}))["isError"] is True
        assert session.server.calls == []


@pytest.mark.parametrize(
    "forged",
    [
        {"arguments": {"n": True}},
        {"arguments": {"n": 1.0}},
        {"tool": "other", "arguments": {"n": 1}},
        {"arguments": {"n": 1}, "requestState": "hookline-0-1"},
        {"arguments": {"n": 1}, "requestState": None},
    ],
)
async def test_an_approval_holds_for_the_very_call_it_was_asked_about(forged: Json) -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        asked = (await session.request(modern(1, arguments={"n": 1})))["result"]
        result = await accept(session, asked, **forged)
        assert result["resultType"] == "input_required"
        assert session.server.calls == []


async def test_an_approval_holds_once() -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        asked = (await session.request(modern(1)))["result"]
        assert await accept(session, asked) == text("ran read")
        assert (await accept(session, asked, id=3))["resultType"] == "input_required"
        assert len(session.server.calls) == 1


async def test_an_approval_survives_a_question_of_the_server_itself() -> None:
    """Both want input for one call: each gets its own answers, and nobody is asked twice."""
    question = {"method": "elicitation/create", "params": {"message": "how many?"}}

    def answer(request: Json) -> Any:
        if "inputResponses" in request["params"]:
            return text("done", resultType="complete")
        asked = {"resultType": "input_required", "inputRequests": {"q": question}}
        return {**asked, "requestState": "S", "content": ["s3cret"], "structuredContent": "s3cret"}

    hooks, fired = hooks_that("BeforeTool", ask("sure?")), []
    hooks.on("AfterTool")(lambda event: fired.append(event["tool_response"]["llmContent"]))
    async with play(hooks, answer) as session:
        asked = (await session.request(modern(1)))["result"]
        wanted = await accept(session, asked)
        assert wanted == {
            "resultType": "input_required",
            "inputRequests": {"q": question},
            "requestState": "S",
        }
        more: Json = {"inputResponses": {"q": {"action": "accept"}}, "requestState": "S"}
        done = (await session.request(modern(3, **more)))["result"]
        assert done == text("done", resultType="complete")
        assert session.server.calls[1]["requestState"] == "S"
        # The approval was for that call; the next one is asked about again, and keeps what the
        # client has to say to the server.
        asked = (await session.request(modern(4, **more)))["result"]
        assert "hookline-confirm" in asked["inputRequests"]
        assert (await accept(session, asked, id=5))["resultType"] == "complete"
        assert session.server.calls[2]["inputResponses"] == more["inputResponses"]
        assert session.server.calls[2]["requestState"] == "S"
    assert fired == ["done", "done"]


async def test_an_approval_needs_no_form_in_the_call_that_brings_it() -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        asked = (await session.request(modern(1)))["result"]
        bare = {name: it for name, it in MODERN.items() if name.endswith("protocolVersion")}
        assert await accept(session, asked, _meta=bare) == text("ran read")


async def test_a_tool_that_answers_later_or_asks_cannot_follow() -> None:
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "note", "args": {}}}}

    def answer(request: Json) -> Any:
        return TASK if request["params"]["name"] == "note" else text("ran read")

    async with play(hooks_that("AfterTool", tail, matcher="read"), answer) as session:
        problem = "note wants input or gives its result later, so it cannot follow a call"
        assert await session.call(1) == text(problem, isError=True)


async def test_a_modern_call_that_follows_cannot_ask(caplog: pytest.LogCaptureFixture) -> None:
    hooks = hooks_that("BeforeTool", ask("sure?"), matcher="note")
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "note", "args": {}}}}
    hooks.on("AfterTool", matcher="read")(lambda _event: tail)
    async with play(hooks) as session:
        assert (await session.request(modern(1)))["result"]["isError"] is True
        assert [called["name"] for called in session.server.calls] == ["read"]
    assert "cannot ask the user about" in caplog.text


async def test_a_call_is_cancelled_while_a_hook_runs() -> None:
    hooks, began, ended = Hooks(), asyncio.Event(), asyncio.Event()

    @hooks.on("BeforeTool", matcher="slow")
    async def wait(_event: Any) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with play(hooks) as session:
        session.send(call(1, "slow"))
        await began.wait()
        session.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        await asyncio.wait_for(ended.wait(), 10)
        # The server has never heard of it; its id is free again.
        assert await session.call(1) == text("ran read")
        assert [called["name"] for called in session.server.calls] == ["read"]
        assert len(session.server.raw) == 1


async def test_a_call_is_cancelled_while_the_user_is_asked() -> None:
    async with play(hooks_that("BeforeTool", ask("sure?"))) as session:
        await session.initialize(CLIENT)
        session.send(call(1))
        asked = await session.receive()
        session.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        withdrawn = await session.receive()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"]["requestId"] == asked["id"]
        session.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}})
        # A late answer is nobody's; the tool does not run.
        await session.request({"id": 2, "method": "ping"})
        assert len(session.server.raw) == 2
        assert session.server.calls == []


@pytest.mark.parametrize("event", ["AfterTool", "SessionEnd"])
async def test_a_call_is_cancelled_while_the_server_works(
    event: str, caplog: pytest.LogCaptureFixture
) -> None:
    fired: list[Any] = []
    hooks = Hooks()
    hooks.on(event)(fired.append)
    cancel = b'{"method": "notifications/cancelled", "params": {"requestId": 1}}'
    async with play(hooks, lambda r: None if r["method"] == "tools/call" else {}) as session:
        session.send(call(1))
        await session.server.next()
        session.send(cancel)
        await session.server.next()
        assert session.server.raw[-1] == cancel
        # Its id is not free: a late result would be taken for the answer to something else.
        assert (await session.request({"id": 1, "method": "ping"}))["error"]["code"] == -32600
        session.server.say({"jsonrpc": "2.0", "id": 1, "result": text("too late")})
        assert (await session.request({"id": 2, "method": "ping"}))["id"] == 2
        assert (await session.request({"id": 1, "method": "ping"}))["result"] == {}
    assert len(fired) == (1 if event == "SessionEnd" else 0)
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


async def test_a_call_is_cancelled_while_the_server_runs_one_that_follows_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tail = {"hookSpecificOutput": {"tailToolCallRequest": {"name": "note", "args": {}}}}

    def answer(request: Json) -> Any:
        return None if request.get("params", {}).get("name") == "note" else text("ran read")

    async with play(hooks_that("AfterTool", tail), answer) as session:
        session.send(call(1))
        await session.server.next()
        following = await session.server.next()
        params = {"requestId": 1, "reason": "enough"}
        session.send({"method": "notifications/cancelled", "params": params})
        cancelled = await session.server.next()
        assert cancelled["params"] == {**params, "requestId": following["id"]}
        session.server.say({"jsonrpc": "2.0", "id": following["id"], "result": text("too late")})
        assert (await session.request({"id": 1, "method": "ping"}))["id"] == 1
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


async def test_what_the_client_cancels_and_nobody_has_open_is_for_the_server() -> None:
    async with play() as session:
        for params in ({"requestId": 5}, {"requestId": None}, {}):
            session.send({"method": "notifications/cancelled", "params": params})
            assert (await session.server.next())["params"] == params


async def test_so_many_cancelled_requests_are_remembered_and_the_oldest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "MOST_CANCELLED", 2)
    async with play(answer=lambda _request: None) as session:
        for id in range(3):
            session.send({"id": id, "method": "x"})
            session.send({"method": "notifications/cancelled", "params": {"requestId": id}})
        for id in (1, 2):
            assert (await session.request({"id": id, "method": "x"}))["error"]["code"] == -32600
        session.send({"id": 0, "method": "again"})
        sent = [await session.server.next() for _ in range(7)]
        assert (sent[-1]["id"], sent[-1]["method"]) == (0, "again")


async def test_session_hooks_hear_of_the_beginning_and_the_end_once() -> None:
    hooks, fired = Hooks(), []

    @hooks.on("SessionStart")
    async def start(event: Any) -> Any:
        await asyncio.sleep(0.05)
        fired.append((event["hook_event_name"], event["source"]))
        return add_context("be nice")

    hooks.on("BeforeTool")(lambda event: fired.append(("BeforeTool", event["tool_name"])))
    hooks.on("SessionEnd")(lambda event: fired.append(("SessionEnd", event["reason"])))
    async with play(hooks) as session:
        session.send({"id": 0, "method": "initialize", "params": {}})
        session.send(call(1))
        answer = await session.receive()
        assert answer["result"]["instructions"] == "be nice"
        assert (await session.receive())["id"] == 1
        await session.request({"id": 2, "method": "initialize", "params": {}})
    assert fired == [
        ("SessionStart", "startup"),
        ("BeforeTool", "mcp__files__read"),
        ("SessionEnd", "exit"),
    ]


async def test_a_hook_on_the_beginning_holds_up_nothing_but_calls() -> None:
    hooks, may_go_on = Hooks(), asyncio.Event()

    @hooks.on("SessionStart")
    async def wait(_event: Any) -> None:
        await may_go_on.wait()

    async with play(hooks) as session:
        session.send(call(1))
        assert (await session.request({"id": 2, "method": "ping"}))["id"] == 2
        assert session.server.calls == []
        may_go_on.set()
        assert (await session.receive())["result"] == text("ran read")


async def test_what_the_server_says_of_itself_stays_before_what_hooks_add() -> None:
    given = iter(["ask first", "", 5])
    hooks = hooks_that("SessionStart", add_context("be nice"))
    async with play(hooks, lambda _request: {"instructions": next(given)}) as session:
        said = [(await session.initialize())["result"]["instructions"] for _ in range(3)]
    assert said == ["ask first\n\nbe nice", "be nice", "be nice"]


async def test_an_answer_of_the_user_is_not_one_about_other_arguments_of_the_same_id() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda event: ask(f"read {event['tool_input']['path']}?"))
    async with play(hooks) as session:
        await session.initialize(CLIENT)
        for path, action in (("a", "accept"), ("b", "decline")):
            session.send(call(1, arguments={"path": path}))
            asked = await session.receive()
            assert asked["params"]["message"].startswith(f"read {path}?")
            session.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": action}})
            await session.receive()
        assert [params["arguments"] for params in session.server.calls] == [{"path": "a"}]


async def test_a_session_without_a_handshake_begins_with_its_first_call() -> None:
    hooks, fired = Hooks(), []
    for event in ("SessionStart", "SessionEnd"):
        hooks.on(event)(lambda event: fired.append(event["hook_event_name"]))
    async with play(hooks) as session:
        await session.request(modern(1))
        await session.request({"id": 2, "method": "server/discover", "params": {"_meta": MODERN}})
    assert fired == ["SessionStart", "SessionEnd"]


async def test_a_server_that_nobody_spoke_to_had_no_session() -> None:
    hooks = Hooks()
    fired: list[Any] = []
    hooks.on("SessionEnd")(fired.append)
    async with play(hooks):
        pass
    assert fired == []


@pytest.mark.parametrize(
    ("introduction", "name"),
    [
        ({"serverInfo": {"name": "My Server!"}}, "mcp__My_Server___read"),
        ({"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new"}}}, "mcp__new__read"),
        ({"serverInfo": {"name": 5}}, "mcp__files-server__read"),
        ({}, "mcp__files-server__read"),
    ],
)
async def test_without_a_name_the_server_has_its_own(introduction: Json, name: str) -> None:
    hooks, seen = Hooks(), []
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_name"]))
    done = text("done")

    def answer(request: Json) -> Any:
        return done if request["method"] == "tools/call" else introduction

    for method, request in (("initialize", call(1)), ("server/discover", modern(1))):
        async with play(hooks, answer, name=None) as session:
            # The call does not wait for the answer, and still has the name.
            session.send({"id": 0, "method": method, "params": {"_meta": MODERN}})
            await session.request(request)
            await session.receive()
    assert seen == [name] * 2


@pytest.mark.parametrize("first", ["initialize", "tools/list"])
async def test_a_task_does_not_settle_the_name_before_the_server_has_said_it(first: str) -> None:
    hooks, seen = hooks_that("AfterTool", {}, matcher="mcp__own__"), []
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_name"]))
    info = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "own"}}, "tools": []}
    async with play(hooks, lambda _request: info, name=None) as session:
        session.send({"id": 0, "method": first, "params": {"_meta": MODERN}})
        if first == "tools/list":
            await session.receive()
        session.send(modern(1, task={}))
        answers = [await session.receive() for _ in range(2 if first == "initialize" else 1)]
        assert answers[-1]["result"]["isError"] is True
    assert seen == []


async def test_a_server_cannot_change_its_name_afterwards() -> None:
    names, seen = iter(["one", "two"]), []
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda event: seen.append(event["tool_name"]))

    def answer(request: Json) -> Any:
        if request["method"] == "tools/call":
            return text("done")
        return {"serverInfo": {"name": next(names)}}

    async with play(hooks, answer, name=None) as session:
        for id in range(2):
            await session.request({"id": f"s{id}", "method": "initialize", "params": {}})
            await session.request(call(id))
    assert seen == ["mcp__one__read"] * 2


TASK = {"task": {"taskId": "t1", "status": "working"}}


async def test_a_task_is_refused_where_hooks_must_see_its_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = hooks_that("AfterTool", {}, matcher="read")
    async with play(hooks, lambda _request: TASK) as session:
        refused = await session.call(1, task={"ttl": 1})
        assert refused["isError"] is True
        assert "without a task" in refused["content"][0]["text"]
        assert session.server.calls == []
        # One that the server makes by itself is no way around either.
        assert (await session.call(2))["isError"] is True
        later = {"resultType": "task", "taskId": "t2", "content": ["s3cret"]}
        session.server.answer = lambda _request: later
        assert "s3cret" not in json.dumps(await session.call(3))
        # Its result could be of any tool.
        for method in ("tasks/result", "tasks/get"):
            fetch = {"id": 4, "method": method, "params": {"taskId": "t1"}}
            assert "error" in await session.request(fetch)
        assert await session.call(5, "write") == later
    assert caplog.text.count("the MCP server made a task of read: hooks must see the result") == 2


async def test_of_so_many_tasks_the_tool_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "MOST_TASKS", 1)
    ids = iter(["t1", "t2"])
    hooks = hooks_that("AfterTool", {}, matcher="read")
    async with play(hooks, lambda _request: {"task": {"taskId": next(ids)}}) as session:
        for id in range(2):
            await session.call(id, "write")
        session.server.answer = lambda _request: text("done")
        for task, is_known in (("t1", True), ("t2", False)):
            fetch = {"id": task, "method": "tasks/result", "params": {"taskId": task}}
            assert ("result" in await session.request(fetch)) is is_known


async def test_a_task_passes_where_no_hook_would_see_its_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = hooks_that("AfterTool", {}, matcher="read")
    hooks.on("BeforeTool")(lambda _event: rewrite(n=2))
    async with play(hooks, lambda _request: TASK) as session:
        assert await session.call(1, "write", {"n": 1}, task={"ttl": 1}) == TASK
        assert session.server.calls == [
            {"name": "write", "arguments": {"n": 2}, "task": {"ttl": 1}}
        ]
        session.server.answer = lambda _request: text("done")
        fetch = {"id": 2, "method": "tasks/result", "params": {"taskId": "t1"}}
        assert (await session.request(fetch))["result"] == text("done")
        for params in ({"taskId": "t9"}, {"taskId": "t1", "TaskId": "t9"}, {}):
            unknown = {"id": 3, "method": "tasks/result", "params": params}
            assert "error" in await session.request(unknown)
        told = {"method": "notifications/tasks", "params": {"taskId": "t9", "result": "s3cret"}}
        session.server.say(told)
        session.server.say({**told, "params": {"taskId": "t1", "result": "fine"}})
        assert (await session.receive())["params"]["result"] == "fine"
    dropped = "the result of a task was dropped, as hooks must see the results of tools"
    assert caplog.text.count(dropped) == 1


@pytest.mark.parametrize("is_off", [False, True])
async def test_without_hooks_on_results_tasks_pass_untouched(is_off: bool) -> None:
    hooks = Hooks(enable_hooks=not is_off)
    async with play(hooks, lambda _request: TASK) as session:
        assert await session.call(1, task={"ttl": 1}) == TASK
        fetch = {"id": 2, "method": "tasks/result", "params": {"taskId": "t7"}}
        assert (await session.request(fetch))["result"] == TASK
