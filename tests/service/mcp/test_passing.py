"""What is not a tool call passes as it came, and no call passes as something else."""

import asyncio
import json
from typing import Any

import pytest

from hookline import Hooks, add_context, deny
from hookline.service.mcp import proxy
from hookline.service.mcp.server import ServerGone
from tests.service.mcp.sessions import Json, answer_usually, call, play, result_of, text

PASSED = [
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///a"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","name":"b"}}',
    b'  { "id" : 123456789012345678901234567890 , "method" : "x/y", "n": 1.10e5, "m": 1e999 }',
    b'{"id":"\\u00e9\\ud83d\\ude00","method":"unknown","params":{"future":[1.0,-0,"\\ud800"]}}',
    '{"id":2,"method":"caf\u00e9\u2028","params":"not an object"}'.encode(),
    b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
    b'{"id":null,"method":"ping"}',
    b'{"id":1,"method":"ping","result":null,"error":null}',
    b'{"jsonrpc":"2.0","id":5,"result":{"roots":[]}}',
]


@pytest.mark.parametrize("line", PASSED)
async def test_a_message_of_the_client_passes_byte_for_byte(line: bytes) -> None:
    async with play(answer=lambda _request: None) as session:
        session.send(line)
        await session.server.next()
        assert session.server.raw == [line]


SAID = [
    b'{"jsonrpc":"2.0","id":"a","method":"sampling/createMessage","params":{"tools":[{"a":1}]}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"method":"notifications/progress","params":{"progressToken":5,"progress":1.50}}',
    b'{"method":"notifications/tools/list_changed"}',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
]


@pytest.mark.parametrize("line", SAID)
async def test_a_message_of_the_server_passes_byte_for_byte(line: bytes) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: deny("no"))
    async with play(hooks) as session:
        session.server.say(line)
        assert await session.receive_raw() == line


async def test_an_answer_to_any_other_request_passes_byte_for_byte() -> None:
    answers = {
        1: b'{ "id":1, "result": {"contents":[], "n": 1.10, "n": 2} }',
        "1": b'{"id":"1","result":null}',
        1.5: b'{"id":1.5,"error":{"code":1,"message":"x"},"result":null}',
    }
    async with play(answer=lambda _request: None) as session:
        for id in answers:
            session.send({"id": id, "method": "resources/read"})
            await session.server.next()
        for answer in answers.values():
            session.server.say(answer)
            assert await session.receive_raw() == answer


REFUSED = [
    (b"garbage", -32700),
    (b'{"id":1,"method":"tools/call","params":{"name":"a"}', -32700),
    (b'{"id":1,"method":"ping"} {"id":2,"method":"tools/call"}', -32700),
    (b'\xff{"id":1,"method":"tools/call"}', -32700),
    (b'{"id":1,"method":"tools/call\x00"}', -32700),
    (b'{"id":NaN,"method":"tools/call"}', -32700),
    (b"[" * 100_000, -32700),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, -32700),
    (b"5", -32600),
    (b"[]", -32600),
    (b"[[]]", -32600),
    (b"[1]", -32600),
    (b'{"id":1,"method":"ping","method":"tools/call"}', -32600),
    (b'{"id":1,"method":"ping","\\u006dethod":"tools/call"}', -32600),
    (b'{"id":1,"method":"ping","Method":"tools/call"}', -32600),
    ('{"id":1,"method":"ping","param\u017f":{}}'.encode(), -32600),
    (b'{"id":1,"method\\u0000":"tools/call","method":"ping"}', -32600),
    (b'{"id":1,"method":"tools/call","result":{}}', -32600),
    (b'{"id":1,"method":["tools/call"]}', -32600),
    (b'{"id":1}', -32600),
    (b'{"id":1,"result":1,"error":2}', -32600),
    (b'{"id":1,"method":"Tools/Call"}', -32601),
    (b'{"id":1,"method":" tools/call\\n"}', -32601),
    (b'{"id":1,"method":"tools/call\\u0000x"}', -32601),
    (b'{"id":1,"method":"TASKS/RESULT"}', -32601),
    (b'{"id":1,"method":"tasks/result","params":{"taskId":"a","taskId":"b"}}', -32600),
    (b'{"id":1,"method":"initialize","params":{"capabilities":{"a":1,"a":2}}}', -32600),
    (b'{"id":null,"method":"tools/call","params":{"name":"a"}}', -32600),
    (b'{"id":1.5,"method":"tools/call","params":{"name":"a"}}', -32600),
    (b'{"id":true,"method":"tools/call","params":{"name":"a"}}', -32600),
    (b'{"id":19007199254740993,"method":"tools/call","params":{"name":"a"}}', -32600),
    (b'{"id":"\\ud800","method":"tools/call","params":{"name":"a"}}', -32600),
    (b'{"id":1,"method":"tools/call","params":{"name":"a","name":"b"}}', -32600),
    (b'{"id":1,"method":"tools/call","params":{"name":"a","x":[{"b":1,"b":2}]}}', -32600),
    (b'{"id":1,"method":"tools/call","params":{"name":"a","Name":"b"}}', -32602),
    (b'{"id":1,"method":"tools/call","params":{"name":"a","ARGUMENTS":{}}}', -32602),
    (b'{"id":1,"method":"tools/call","params":{"name":"a","name\\u0000":"b"}}', -32602),
    (b'{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":1e999}}}', -32602),
    (b'{"id":1,"method":"tools/call","params":{"name":"a","arguments":[1]}}', -32602),
    (b'{"id":1,"method":"tools/call","params":{"name":5}}', -32602),
    (b'{"id":1,"method":"tools/call","params":{}}', -32602),
    (b'{"id":1,"method":"tools/call","params":[]}', -32602),
    (b'{"id":1,"method":"tools/call"}', -32602),
]


@pytest.mark.parametrize(("line", "code"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
async def test_a_line_that_two_readers_could_read_as_two_things_is_refused(
    line: bytes, code: int
) -> None:
    async with play() as session:
        answer = await session.request(line)
        assert answer["error"]["code"] == code
        has_id = code != -32700 and line.startswith((b'{"id":1', b'{"id":"')) and b"method" in line
        assert answer["id"] == (json.loads(line)["id"] if has_id else None)
        assert session.server.raw == []
        # The session goes on.
        assert await session.call(1) == text("ran read")


async def test_an_introduction_that_cannot_be_answered_holds_no_call_up() -> None:
    async with play() as session:
        session.send('{"method":"initialize"}')
        session.send('{"id":{},"method":"server/discover"}')
        assert await session.call(1) == text("ran read")


async def test_a_call_without_an_id_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    async with play() as session:
        session.send('{"method":"tools/call","params":{"name":"read"}}')
        assert (await session.request({"id": 1, "method": "ping"}))["result"] == {}
        assert session.server.calls == []
    assert "a tools/call of the MCP client has no id, so it was dropped" in caplog.text


async def test_a_carriage_return_ends_no_line_for_the_server_either() -> None:
    """A server in Python's text mode would read the middle of this as a line of its own."""
    hidden = b'{"id":2,"method":"tools/call","params":{"name":"a"}}'
    async with play(answer=lambda _request: None) as session:
        session.send(b'{"id":1,"method":"x","params":{"a":\r' + hidden + b"\r}}\r")
        await session.server.next()
        assert session.server.raw == [b'{"id":1,"method":"x","params":{"a": ' + hidden + b" }}"]


async def test_line_ends_of_windows_blank_lines_and_a_byte_order_mark_are_taken() -> None:
    async with play(answer=lambda _request: None) as session:
        session.send(b'\xef\xbb\xbf{"id":1,"method":"ping"}\r')
        session.send(b"\r")
        session.send(b"  ")
        session.send(b'{"id":2,"method":"ping"}\r')
        await session.server.next()
        await session.server.next()
        assert session.server.raw == [b'{"id":1,"method":"ping"}', b'{"id":2,"method":"ping"}']


async def test_a_batch_is_split_and_a_call_in_it_meets_its_hooks() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="rm")(lambda _event: deny("no"))
    ping = b'{"id":1,"method":"ping","n":1.10}'
    hidden = json.dumps(call(2, "rm")).encode()
    async with play(hooks) as session:
        session.send(b" [ " + ping + b" ,\t" + hidden + b' , {"id":3,"id":4,"method":"x"} ,5] ')
        answers = [await session.receive() for _ in range(4)]
        assert session.server.raw == [ping]
        assert {answer["id"] for answer in answers} == {1, 2, 4, None}
        (refused,) = [answer["result"] for answer in answers if answer["id"] == 2]
        assert refused == text("no", isError=True)
        session.server.say(b'[{"method":"a"},{"method":"b"}]')
        assert [(await session.receive())["method"] for _ in range(2)] == ["a", "b"]


@pytest.mark.parametrize("line", [b'[{"id":1,"method":"x"}', b'[{"id":1} 5]', b"[,]", b"[1]]"])
async def test_a_broken_batch_is_refused_whole(line: bytes) -> None:
    async with play() as session:
        assert (await session.request(line))["error"]["code"] == -32700
        assert session.server.raw == []


async def test_ids_are_told_apart_and_one_that_is_open_cannot_be_taken_again() -> None:
    async with play(answer=lambda _request: None) as session:
        for id in (1, "1", 0, ""):
            session.send(call(id))
            await session.server.next()
        for again in (call(1), {"id": 1, "method": "ping"}):
            answer = await session.request(again)
            assert (answer["id"], answer["error"]["code"]) == (1, -32600)
        for id in ("", 0, "1", 1):
            session.server.say({"id": id, "result": text(repr(id))})
            answer = await session.receive()
            assert (answer["id"], answer["result"]) == (id, text(repr(id)))
            assert type(answer["id"]) is type(id)
        # Once it is answered, it is free.
        session.send(call(1))
        await session.server.next()


async def test_the_id_of_a_request_that_was_answered_is_free() -> None:
    async with play() as session:
        for _ in range(2):
            assert (await session.request({"id": 1, "method": "ping"}))["result"] == {}


async def test_a_request_of_the_server_that_is_refused_answers_nothing() -> None:
    async with play(answer=lambda _request: None) as session:
        session.send(call(1))
        await session.server.next()
        session.server.say(b'{"id":1,"method":"x","Method":"y"}')
        session.server.say({"id": 1, "result": text("done")})
        assert await session.receive() == result_of(1, text("done"))


async def test_of_a_line_that_is_no_message_five_hundred_bytes_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with play() as session:
        session.server.say("x" * 501)
        await session.request({"id": 1, "method": "ping"})
    assert f" {'x' * 500}\n" in caplog.text


async def test_a_request_that_the_server_no_longer_takes_is_answered_and_its_id_is_free() -> None:
    async with play() as session:
        session.server.is_gone = True
        error = {"code": -32000, "message": "the MCP server takes no more messages"}
        session.send({"method": "notifications/x"})
        for request in (call("a"), {"id": 1, "method": "ping"}):
            assert await session.request(request) == {
                "jsonrpc": "2.0",
                "id": request["id"],
                "error": error,
            }
        session.server.is_gone = False
        assert (await session.request({"id": 1, "method": "ping"}))["result"] == {}


async def test_a_call_that_waits_for_hooks_is_told_when_the_server_takes_no_more() -> None:
    hooks = Hooks()
    hooks.on("BeforeTool")(lambda _event: None)
    async with play(hooks) as session:
        session.server.is_gone = True
        answer = await session.request(call(1))
        assert answer["error"]["message"] == "the MCP server takes no more messages"
        assert answer["error"]["code"] == -32000


async def test_a_server_that_says_too_much_ends_the_session_and_who_waits_is_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> Any:
        raise ServerGone("the MCP server sent too much")

    async with play(answer=lambda _request: None) as session:
        session.send({"id": 1, "method": "ping"})
        await session.server.next()
        monkeypatch.setattr(session.server, "receive", fail)
        session.server.say({"method": "n"})
        assert (await session.receive())["method"] == "n"
        assert (await session.receive())["error"]["message"] == "the MCP server has ended"
        assert await session.end() == 1
    assert "the MCP server sent too much; the session ends" in caplog.text


async def test_a_failure_to_read_the_server_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail() -> Any:
        raise OSError("broken")

    async with play() as session:
        monkeypatch.setattr(session.server, "receive", fail)
        with pytest.raises(OSError, match="broken"):
            await session.end()
        session.running = asyncio.create_task(asyncio.sleep(0, 1))


async def test_a_result_that_nobody_asked_for_or_had_already_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with play() as session:
        assert await session.call(1) == text("ran read")
        session.server.say({"id": 1, "result": text("s3cret")})
        session.server.say({"id": 77, "result": text("s3cret")})
        session.server.say({"id": None, "result": text("s3cret")})
        session.server.say({"id": "hookline-1", "result": text("s3cret")})
        assert (await session.request({"id": 2, "method": "ping"}))["id"] == 2
    assert caplog.text.count("the MCP server answered a request that is not open") == 4
    assert "s3cret" not in caplog.text


async def test_a_server_cannot_answer_before_hooks_let_it_have_the_call_nor_twice(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks, begun, may_go_on = Hooks(), asyncio.Event(), asyncio.Event()

    @hooks.on("BeforeTool")
    async def wait(_event: Any) -> Any:
        begun.set()
        await may_go_on.wait()
        return deny("no")

    async with play(hooks) as session:
        session.send(call(1))
        await begun.wait()
        session.server.say({"id": 1, "result": text("s3cret")})
        assert (await session.request({"id": 2, "method": "ping"}))["id"] == 2
        may_go_on.set()
        assert (await session.receive())["result"] == text("no", isError=True)
    assert "answered a request that is not open" in caplog.text


async def test_garbage_of_the_server_is_told_and_the_session_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    raw_tab = b'{"id":1,"result":{"content":[{"type":"text","text":"s3cret\t"}]}}'
    async with play() as session:
        for line in (b"Listening on 8080", b"\xff\xfe", b"{", b"[" * 100_000, b'{"Method":"x"}'):
            session.server.say(line)
        session.server.say(raw_tab)
        assert await session.call(1) == text("ran read")
    assert "not a message: it is not JSON: Expecting value" in caplog.text
    assert "Listening on 8080" in caplog.text
    assert caplog.text.count("the MCP server wrote a line that is not a message") == 6
    # A result that only some readers can read is in no log.
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize(
    "answer",
    [
        b'{"id":1,"result":{"n":NaN,"s":"s3cret"}}',
        b'{"id":1,"result":{},"Result":{"s":"s3cret"}}',
        b'{"id":1,"result":{},"result":{"s":"s3cret"}}',
        b'{"id":1,"result":{"s":"s3cret"},"error":{"code":1,"message":"s3cret"}}',
    ],
)
async def test_an_answer_that_is_refused_is_an_error_of_its_request(
    answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with play(answer=lambda _request: None) as session:
        for request in (call(1), {"id": 1, "method": "ping"}):
            session.send(request)
            await session.server.next()
            session.server.say(answer)
            received = await session.receive()
            assert received["id"] == 1
            assert "the MCP server's answer was refused" in received["error"]["message"]
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("has_hooks", [False, True])
async def test_a_result_with_a_key_twice_is_an_error(has_hooks: bool) -> None:
    hooks, seen = Hooks(), []
    if has_hooks:
        hooks.on("AfterTool")(lambda event: seen.append(event["tool_response"]))
    async with play(hooks, lambda _request: None) as session:
        session.send(call(1))
        await session.server.next()
        session.server.say(b'{"id":1,"result":{"content":[],"_meta":{"a":1,"a":"s3cret"}}}')
        answer = await session.receive()
        assert "has a key twice" in answer["error"]["message"]
    assert "s3cret" not in json.dumps(seen)


@pytest.mark.parametrize("has_hooks", [False, True])
async def test_a_result_that_has_no_json_is_an_error_of_that_call(has_hooks: bool) -> None:
    hooks = Hooks()
    if has_hooks:
        hooks.on("AfterTool")(lambda _event: None)
    async with play(hooks, lambda _request: None) as session:
        session.send(call(1))
        await session.server.next()
        session.server.say(b'{"id":1,"result":{"content":[],"n":1e999}}')
        assert "cannot be passed on" in (await session.receive())["error"]["message"]


async def test_half_a_character_and_large_numbers_reach_the_other_side() -> None:
    hooks, seen = Hooks(), []
    hooks.on("AfterTool")(lambda event: seen.append(event["tool_input"]))
    odd = {"a": "\ud800", "n": -(10**40), "f": 0.1, "u": "\u2028\u00e9"}
    async with play(hooks, lambda r: text("x", echo=r["params"]["arguments"])) as session:
        assert (await session.call(1, arguments=odd))["echo"] == odd
    assert seen[0]["n"] == -(10**40)


TOOLS: list[Json] = [
    {"name": "read_file", "inputSchema": {}, "outputSchema": {"type": "object"}},
    {"name": "read_all_files", "inputSchema": {}, "future": 1},
    {"name": "write_file", "inputSchema": {}, "outputSchema": {"type": "object"}},
]


def list_tools(request: Json) -> Any:
    if request["method"] == "tools/list":
        return {"tools": TOOLS, "nextCursor": "more", "ttlMs": 5}
    return answer_usually(request)


def list_all(_params: Json) -> Any:
    return {"result": {"tools": TOOLS}}


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("read_file", ["read_file"]),
        ("read", []),
        ("read_file|write_file", ["read_file", "write_file"]),
        ("read_.*", ["read_file", "read_all_files"]),
        ("^.*_files?$", ["read_file", "read_all_files", "write_file"]),
        ("*", ["read_file", "read_all_files", "write_file"]),
    ],
)
async def test_a_pattern_must_match_the_whole_name_of_a_tool(
    pattern: str, names: list[str]
) -> None:
    async with play(answer=list_tools, tools=pattern, listed=list_all) as session:
        for id in range(2):
            answer = await session.request({"id": id, "method": "tools/list", "params": {}})
            assert [tool["name"] for tool in answer["result"]["tools"]] == names
            assert answer["result"]["nextCursor"] == "more"
            session.server.say(b'{"method":"notifications/tools/list_changed"}')
            await session.receive()
        for tool in TOOLS:
            result = await session.call(7, tool["name"])
            assert bool(result.get("isError")) is (tool["name"] not in names)
        called = [params["name"] for params in session.server.calls]
        assert called == names


@pytest.mark.parametrize("name", ["read_file\n", " read_file", "read_file\0", "READ_FILE"])
async def test_a_name_that_only_looks_allowed_is_not(name: str) -> None:
    async with play(tools="read_file") as session:
        assert (await session.call(1, name))["isError"] is True
        assert session.server.calls == []


@pytest.mark.parametrize("name", ["write\nfile", "write\u2028file", "write_file\0", "write\ud800"])
async def test_a_name_that_matchers_could_miss_is_neither_listed_nor_called(name: str) -> None:
    hooks = Hooks()
    hooks.on("BeforeTool", matcher="^mcp__files__.*file$")(lambda _event: deny("no"))
    named = {"tools": [{"name": name}, {"name": "read_file"}]}
    async with play(hooks, lambda _request: named) as session:
        answer = await session.request({"id": 1, "method": "tools/list"})
        assert [tool["name"] for tool in answer["result"]["tools"]] == ["read_file"]
        assert (await session.call(1, name))["isError"] is True
        assert session.server.calls == []


async def test_a_pattern_that_takes_too_long_allows_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with play(tools="(a|aa)+") as session:
        assert (await session.call(1, "a" * 60 + "b"))["isError"] is True
    assert "took too long" in caplog.text


async def test_a_list_with_nothing_to_change_passes_byte_for_byte() -> None:
    line = b'{ "id":1, "result": {"tools": [{"name":"a","outputSchema":{"x":1.10}}, 5], "n": 1} }'
    hooks = Hooks()
    hooks.on("AfterTool", matcher="b")(lambda _event: None)
    async with play(hooks, lambda _request: None) as session:
        session.send({"id": 1, "method": "tools/list"})
        await session.server.next()
        session.server.say(line)
        assert await session.receive_raw() == line


async def test_a_list_that_has_no_json_is_an_error_of_its_request() -> None:
    async with play(answer=lambda _request: None, tools="a") as session:
        session.send({"id": 1, "method": "tools/list"})
        await session.server.next()
        session.server.say(b'{"id":1,"result":{"tools":[{"name":"b"},{"name":"a","most":1e999}]}}')
        assert "cannot be passed on" in (await session.receive())["error"]["message"]


@pytest.mark.parametrize("event", ["AfterTool", "BeforeTool"])
async def test_no_schema_is_promised_where_hooks_may_make_a_text_of_a_result(event: str) -> None:
    hooks = Hooks()
    hooks.on(event, matcher="read_file")(lambda _event: add_context("x"))
    async with play(hooks, list_tools) as session:
        answer = await session.request({"id": 1, "method": "tools/list"})
        assert [("outputSchema" in tool) for tool in answer["result"]["tools"]] == [
            False,
            False,
            True,
        ]


async def test_the_server_dies_and_every_open_request_is_answered_first() -> None:
    hooks, after = Hooks(), []
    hooks.on("AfterTool")(lambda event: after.append(event["tool_response"]["error"]))
    began = asyncio.Event()

    @hooks.on("BeforeTool", matcher="slow")
    async def wait(_event: Any) -> None:
        began.set()
        await asyncio.sleep(0.1)

    ended: list[str] = []
    hooks.on("SessionEnd")(lambda event: ended.append(event["reason"]))
    async with play(hooks, lambda _request: None) as session:
        session.send(call(1))
        session.send({"id": 2, "method": "resources/read"})
        await session.server.next()
        await session.server.next()
        session.send(call(3, "slow"))
        await began.wait()
        session.server.die()
        answers = [await session.receive() for _ in range(3)]
        assert {answer["id"]: answer["error"]["code"] for answer in answers} == {
            1: -32000,
            2: -32000,
            3: -32000,
        }
        assert await session.end() == 7
        assert session.server.is_closed
    assert len(after) == 2
    assert ended == ["other"]


async def test_a_hook_that_has_the_last_result_is_waited_for_when_the_server_ends() -> None:
    hooks = Hooks()

    @hooks.on("AfterTool")
    async def wait(_event: Any) -> Any:
        await asyncio.sleep(0.1)
        return add_context("seen")

    async with play(hooks) as session:
        session.send(call(1))
        await session.server.next()
        session.server.die()
        assert (await session.receive())["result"]["content"][1]["text"] == "seen"


async def test_a_client_that_sends_no_more_still_has_its_answers() -> None:
    hooks = Hooks()

    @hooks.on("BeforeTool")
    async def wait(_event: Any) -> None:
        await asyncio.sleep(0.1)

    async with play(hooks) as session:
        session.send(call(1))
        session.leave()
        assert (await session.receive())["result"] == text("ran read")
        assert await session.end() == 7


async def test_the_session_ends_as_soon_as_the_last_answer_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxy, "LAST_CALLS", 60.0)
    async with play(answer=lambda _request: None) as session:
        for request in ({"id": "s", "method": "subscriptions/listen"}, call(1)):
            session.send(request)
            await session.server.next()
        session.leave()
        session.server.say({"id": 1, "result": text("done")})
        assert (await session.receive())["result"] == text("done")
        ended = await session.receive()
        assert (ended["id"], ended["error"]["code"]) == ("s", -32000)
        assert await session.end() == 7


async def test_a_subscription_alone_does_not_keep_a_session_that_the_client_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxy, "LAST_CALLS", 60.0)
    async with play(answer=lambda _request: None) as session:
        session.send({"id": "s", "method": "subscriptions/listen"})
        await session.server.next()
        session.leave()
        assert (await session.receive())["id"] == "s"
        assert await session.end() == 7


async def test_a_request_has_one_answer_also_when_the_server_answers_at_its_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with play(answer=lambda _request: None, limit=100) as session:

        async def answer_late() -> int:
            session.server.say({"id": 1, "result": {}})
            session.server.say({"method": "last"})
            while session.server.outbox.qsize():
                await asyncio.sleep(0)
            session.server.die()
            return 0

        session.send({"id": 1, "method": "ping"})
        await session.server.next()
        monkeypatch.setattr(session.server, "close", answer_late)
        session.send(b" " * 101)
        assert (await session.receive())["error"]["message"] == "the session has ended"
        assert (await session.receive())["method"] == "last"
        assert await session.end() == 1
    assert "answered a request that is not open (id 1)" in caplog.text


async def test_a_client_that_reads_no_message_of_the_server_holds_it_up() -> None:
    async with play() as session:
        for _ in range(1000):
            session.server.say({"method": "n", "params": "x" * 1000})
        for _ in range(100):
            await asyncio.sleep(0)
        assert session.server.outbox.qsize() > 500
        session.lines.close()


@pytest.mark.parametrize("is_servers", [True, False])
async def test_a_client_that_reads_no_more_has_left(is_servers: bool) -> None:
    hooks, ended = Hooks(), []
    hooks.on("SessionEnd")(lambda event: ended.append(event["reason"]))
    async with play(hooks) as session:
        await session.initialize()
        session.lines.close()
        if is_servers:
            session.server.say(b'{"method":"notifications/x"}')
        else:
            session.send(b"refused")
        assert await session.end() == 7
    assert ended == ["exit"]


async def test_a_message_beyond_the_maximum_ends_the_session_with_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with play(limit=1000) as session:
        session.send(call(1, arguments={"a": "x" * 2000}))
        assert await session.end() == 1
    assert "the MCP client sent a message of more than 1,000 bytes" in caplog.text


async def test_ten_megabytes_go_both_ways_through_hooks() -> None:
    hooks, sizes = Hooks(), []
    hooks.on("AfterTool")(lambda event: sizes.append(len(event["tool_response"]["llmContent"])))
    large = "é" * 5_000_000
    echo = lambda request: text(request["params"]["arguments"]["a"])  # noqa: E731
    async with play(hooks, echo, limit=64_000_000) as session:
        assert await session.call(1, arguments={"a": large}) == text(large)
    assert sizes == [5_000_000]


async def test_a_message_of_exactly_the_maximum_passes_and_one_byte_more_ends_the_session() -> None:
    async with play(limit=1000) as session:
        line = b'{"id":1,"method":"ping"}'.ljust(1000)
        assert (await session.request(line))["result"] == {}
        assert session.server.raw == [line]
        session.send(line + b" ")
        assert await session.end() == 1
    assert len(session.server.raw) == 1


async def test_a_failure_within_the_proxy_is_reported_and_answered_and_the_session_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail_once(request: Json) -> Any:
        if request["id"] == 1:
            raise RuntimeError("odd")
        return {}

    async with play(answer=fail_once) as session:
        for _ in range(2):
            answer = await session.request({"id": 1, "method": "resources/read"})
            assert answer["error"] == {"code": -32603, "message": "internal error of hookline mcp"}
        assert (await session.request({"id": 2, "method": "resources/read"}))["result"] == {}
    assert "internal error of the MCP proxy, please report it" in caplog.text


async def test_a_server_that_fails_to_close_is_told_and_ends_the_session_with_an_error(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> int:
        raise OSError("stuck")

    async with play() as session:
        monkeypatch.setattr(session.server, "close", fail)
        session.leave()
        assert await session.end() == 1
    assert "the MCP server did not end well: OSError: stuck" in caplog.text
