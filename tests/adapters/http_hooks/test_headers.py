"""Headers bring secrets to the hook's server, and to nobody else."""

import json
import logging

import pytest

from hookline.wire.hooks import Redaction
from tests.adapters.http_hooks.asked import answer, ask, http_hook
from tests.adapters.mcp_http.rawserver import RawServer, Request
from tests.runner.planned import run_one

SECRET = "hush-hush-hush-1"


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_TOKEN", SECRET)
    monkeypatch.setenv("HOOK_PLAIN", "p")
    monkeypatch.delenv("HOOK_NONE", raising=False)
    monkeypatch.delenv("GITHUB_SHA", raising=False)


async def test_variables_are_put_in_only_where_the_hook_allows_them() -> None:
    headers = {
        "Authorization": "Bearer ${HOOK_TOKEN}",
        "X-Both": "$HOOK_PLAIN/$HOOK_TOKEN.",
        "X-Other": "a${PATH}b",
        "X-None": "[$HOOK_NONE]",
        "X-Text": "5$ $1 ${} ${A-B} $$",
    }
    allowed = ("HOOK_TOKEN", "HOOK_PLAIN", "HOOK_NONE")
    async with RawServer(answer(b"")) as server:
        result = await run_one(http_hook(server.url, headers=headers, allowed_env=allowed))
    sent = server.requests[0].headers
    assert sent["authorization"] == f"Bearer {SECRET}"
    assert sent["x-both"] == f"p/{SECRET}."
    assert (sent["x-other"], sent["x-none"]) == ("ab", "[]")
    assert sent["x-text"] == headers["X-Text"]
    assert result.warnings == (
        "the header X-Other lacks the variable PATH: allowedEnvVars does not list it",
        "the header X-None lacks the variable HOOK_NONE: it is not set",
    )


async def test_the_value_of_a_variable_is_no_reference_to_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOK_PLAIN", "$HOOK_TOKEN")
    async with RawServer(answer({})) as server:
        await run_one(
            http_hook(
                server.url,
                headers={"X-A": "$HOOK_PLAIN"},
                allowed_env=("HOOK_PLAIN", "HOOK_TOKEN"),
            )
        )
    assert server.requests[0].headers["x-a"] == "$HOOK_TOKEN"


async def test_what_redaction_keeps_from_hooks_is_kept_from_headers() -> None:
    async with RawServer(answer({})) as server:
        hook = http_hook(server.url, headers={"X-A": "$HOOK_TOKEN;"}, allowed_env=("HOOK_TOKEN",))
        result = await run_one(hook, redaction=Redaction(enabled=True))
        allowed = Redaction(enabled=True, allowed=("HOOK_TOKEN",))
        await run_one(hook, redaction=allowed)
        changed = (("HOOK_TOKEN", "other"),)
        await run_one(hook, inherited=changed)
    assert [request.headers["x-a"] for request in server.requests] == [";", f"{SECRET};", "other;"]
    assert "redaction" in result.warnings[0]


async def test_variables_that_settings_give_claudes_hooks_are_found_by_them_alone() -> None:
    async with RawServer(answer({})) as server:
        hook = http_hook(server.url, headers={"X-A": "$HOOK_PLAIN"}, allowed_env=("HOOK_PLAIN",))
        await run_one(hook, shared_env={"HOOK_PLAIN": "shared"})
    assert server.requests[0].headers["x-a"] == "p"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "a\r\nX-Evil: 1"),
        ("X-A", "a\nX-Evil: 1"),
        ("X-A", "a\x00b"),
        ("X-A", "ü"),
        ("X-A\r\nX-Evil", "1"),
        ("X A", "1"),
        ("", "1"),
        ("X-A:", "1"),
    ],
)
async def test_a_header_that_would_be_more_than_one_is_not_sent_nor_shown(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_possible = "\0" not in value  # as a variable
    monkeypatch.setenv("HOOK_TOKEN", f"{SECRET}{value}" if is_possible else SECRET)
    written = "$HOOK_TOKEN" if is_possible else f"$HOOK_TOKEN{value}"
    async with RawServer(answer({})) as server:
        hook = http_hook(server.url, headers={name: written}, allowed_env=("HOOK_TOKEN",))
        result = await run_one(hook)
    assert result.failed == "error"
    assert "header" in str(result.error)
    assert SECRET not in str(result.error)
    assert "Evil" not in str(result.error)
    assert server.requests == []


@pytest.mark.parametrize(
    "name",
    ["Host", "CONTENT-LENGTH", "transfer-encoding", "Connection", "Content-Encoding", "Expect",
     "Accept-Encoding", "Upgrade", "TE", "Content-Type"],
)  # fmt: skip
async def test_headers_of_the_transport_are_not_the_hooks_to_set(name: str) -> None:
    async with RawServer(answer(b"")) as server:
        result = await run_one(http_hook(server.url, headers={name: "evil.example"}))
    (request,) = server.requests
    assert "evil.example" not in request.headers.values()
    assert request.headers["content-length"] == str(len(request.body))
    assert result.success
    assert result.warnings == (f"hookline sets the header {name} itself; remove it",)


async def test_headers_that_say_what_is_sent_anyway_are_not_worth_a_word() -> None:
    headers = {"content-type": "application/json; charset=utf-8", "Accept": "application/json"}
    headers["User-Agent"] = "mine"
    async with RawServer(answer({"reason": "r"})) as server:
        result = await run_one(http_hook(server.url, headers=headers))
    assert result.warnings == ()
    assert server.requests[0].headers["user-agent"] == "mine"


@pytest.mark.parametrize("status", [200, 500])
async def test_a_secret_that_the_server_repeats_is_in_no_result(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def repeat(request: Request) -> None:
        sent = request.headers["authorization"]
        quoted = sent.replace("h", "\\u0068")
        body = json.dumps({"reason": sent, sent: [sent]})[:-1] + f', "again": "{quoted}"}}'
        await request.answer(body.encode(), status=status, extra=f"x-again: {sent}\r\n")

    result = await ask(
        repeat,
        headers={"Authorization": "Bearer $HOOK_TOKEN"},
        allowed_env=("HOOK_TOKEN",),
    )
    shown = f"{result!r}\n{result.output}"
    assert SECRET not in shown
    assert "\\u0068" not in result.stdout
    assert "HOOK_TOKEN hidden" in result.stdout
    ours = [record for record in caplog.records if record.name.startswith("hookline")]
    assert not any(SECRET in record.getMessage() for record in ours)


async def test_nor_is_one_that_stands_in_the_settings_themselves() -> None:
    headers = {"Authorization": f"Bearer {SECRET}", "X-Place": "somewhere"}
    result = await ask(answer({"reason": f"{SECRET} at somewhere"}), headers=headers)
    assert result.output == {"reason": "[Authorization hidden] at somewhere"}
    assert SECRET not in result.stdout


async def test_what_is_no_secret_stays_in_an_answer_as_it_is() -> None:
    change = {"hookSpecificOutput": {"tool_input": {"path": "/home/somebody/x"}}}
    result = await ask(answer(change), headers={"X-Place": "$HOME"}, allowed_env=("HOME",))
    assert result.output == change


async def test_no_cookie_is_kept_for_the_next_call() -> None:
    async with RawServer(answer({}, extra="set-cookie: a=b\r\n")) as server:
        for _ in range(2):
            await run_one(http_hook(server.url))
    assert all("cookie" not in request.headers for request in server.requests)
