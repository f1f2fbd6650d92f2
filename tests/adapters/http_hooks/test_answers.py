"""What a hook's server is sent, and what its response does."""

import json
from typing import Any

import pytest

from hookline.wire.events import HookEventName
from tests.adapters.http_hooks.asked import answer, ask, http_hook, write
from tests.adapters.mcp_http.rawserver import RawServer
from tests.runner.planned import TOOL, run, run_one, script

DENY = {"decision": "deny", "reason": "not here"}


async def test_the_event_is_posted_as_json_with_a_fixed_set_of_headers() -> None:
    async with RawServer(answer(DENY)) as server:
        await run_one(http_hook(server.url + "?a=b#part"))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/mcp?a=b")
    assert json.loads(request.body) == TOOL
    assert request.headers == {
        "host": server.url.split("/")[2],
        "user-agent": "hookline",
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": str(len(request.body)),
    }


async def test_a_hook_of_claude_is_sent_what_its_dialect_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hookline.dialects import DIALECTS

    monkeypatch.setattr(type(DIALECTS["claude"]), "write_input", lambda *_: b'{"of": "claude"}')
    async with RawServer(answer(b"")) as server:
        result = await run_one(http_hook(server.url, dialect="claude"))
    assert result.success
    assert server.requests[0].body == b'{"of": "claude"}'


async def test_a_json_object_in_a_2xx_response_is_the_answer() -> None:
    result = await ask(answer(DENY, status=201))
    assert (result.success, result.failed, result.error) == (True, None, None)
    assert (result.output, result.output_format) == (DENY, "json")
    assert (result.exit_code, result.stdout) == (None, json.dumps(DENY))
    assert result.duration > 0


@pytest.mark.parametrize("body", [b"", b" \r\n\t", b"\xef\xbb\xbf"])
async def test_a_2xx_response_without_a_body_is_a_success_that_says_nothing(body: bytes) -> None:
    result = await ask(answer(body))
    assert (result.success, result.output, result.warnings) == (True, None, ())


async def test_no_content_is_a_success_that_says_nothing() -> None:
    result = await ask(write(b"HTTP/1.1 204 No Content\r\n\r\n"))
    assert (result.success, result.output) == (True, None)


@pytest.mark.parametrize(
    "body",
    [b"deny", b"[]", b'"deny"', b"2", b"null", b"{", b"<html>", b'{"decision": NaN}', b"\xff\xfe{}",
     b'{"decision": "deny"} {"decision": "allow"}', b'{"a":' * 100_000],
)  # fmt: skip
async def test_any_other_body_is_a_failure(body: bytes) -> None:
    result = await ask(answer(body))
    assert (result.success, result.failed, result.output) == (False, "malformed", None)
    assert result.error is not None
    assert "JSON object" in result.error


@pytest.mark.parametrize("status", [100, 199, 300, 304, 400, 402, 403, 404, 500, 503, 599, 999])
async def test_no_status_decides_by_itself_and_none_but_2xx_is_an_answer(status: int) -> None:
    extra = "connection: close\r\n"
    handler = answer(DENY, status=status, extra=extra)
    if status < 200:
        handler = write(f"HTTP/1.1 {status} X\r\n\r\n".encode())
    result = await ask(handler)
    assert (result.success, result.failed, result.output) == (False, "error", None)
    if status >= 200:
        assert f"status {status}" in str(result.error)


async def test_what_a_refusal_says_is_there_for_people_to_see() -> None:
    result = await ask(answer(b"token expired", status=401))
    assert str(result.error).endswith("answered with status 401 (Unauthorized)")
    assert result.stdout == "token expired"


async def test_a_long_refusal_is_cut_and_stays_a_refusal() -> None:
    result = await ask(answer(b"x" * 1_000_000, status=500))
    assert (result.failed, len(result.stdout)) == ("error", 64 * 1024)


@pytest.mark.parametrize("order", [("deny", "allow"), ("allow", "deny")])
async def test_of_a_field_that_is_given_twice_the_stricter_one_counts(
    order: tuple[str, str],
) -> None:
    first, second = order
    body = f'{{"decision": "{first}", "reason": "r", "decision": "{second}"}}'
    result = await ask(answer(body.encode()))
    assert result.output is not None
    assert result.output["decision"] == "deny"
    closed = await ask(answer(body.encode()), on_failure="block")
    assert closed.failed == "malformed"


async def test_an_answer_that_is_not_clear_fails_a_hook_that_fails_closed() -> None:
    unclear = {"decison": "deny"}
    assert (await ask(answer(unclear))).warnings
    assert (await ask(answer(unclear), on_failure="block")).failed == "malformed"


async def test_bytes_that_are_no_utf8_do_not_lose_a_denial() -> None:
    result = await ask(answer(b'{"decision": "deny", "reason": "caf\xe9"}'))
    assert result.output == {"decision": "deny", "reason": "caf\ufffd"}


async def test_an_answer_may_come_in_chunks() -> None:
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in json.dumps(DENY).encode())
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    assert (await ask(write(head + body + b"0\r\n\r\n"))).output == DENY


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"])
@pytest.mark.parametrize("body", [b"", b"{}", b'{"decision": "allow"}'])
async def test_a_guards_response_may_not_end_by_closing_the_connection(
    head: bytes, body: bytes
) -> None:
    assert (await ask(write(head + body))).success
    closed = await ask(write(head + body), on_failure="block")
    assert (closed.success, closed.failed, closed.output) == (False, "malformed", None)
    assert "send Content-Length or chunks" in str(closed.error)


async def test_a_guards_response_may_say_its_length_or_come_in_chunks_or_have_no_body() -> None:
    chunks = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    for handler in (answer({}), write(chunks), write(b"HTTP/1.1 204 No Content\r\n\r\n")):
        assert (await ask(handler, on_failure="block")).success


async def test_http_hooks_and_commands_share_a_plan_and_chain() -> None:
    change = {"hookSpecificOutput": {"tool_input": {"path": "b"}}}
    async with RawServer(answer(change)) as server:
        first = http_hook(server.url)
        for sequential in (True, False):
            results = await run(
                first, script("cat >&2"), event=HookEventName.BEFORE_TOOL, sequential=sequential
            )
            seen: Any = json.loads(results[1].stderr)["tool_input"]
            assert seen == {"path": "b" if sequential else "a"}
