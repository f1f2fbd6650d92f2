"""Hooks on model events, with each SDK's own types: what they change is all that is left.

Everything here goes over HTTP with the real client; the address that a hook redacts must be
neither in what is shown, nor in the history, nor in what the server is sent again.
"""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, NamedTuple

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion

from hookline import Config
from hookline.agent import Chat
from tests.adapters.providers.running import agent, anthropic_served, openai_served
from tests.adapters.providers.server import (
    ModelServer,
    calling,
    completion,
    message,
    text,
    tool_use,
)
from tests.adapters.providers.test_live_demo import DEFAULTS, KEYS, REPLIES, live
from tests.agent.scripts import hooks, say, specific

EMAIL = "ada@example.com"
REDACT = (
    "python3 -c 'import json, re, sys;"
    ' said = json.load(sys.stdin)["llm_response"];'
    ' text = re.sub("[^ ]+@[^ ]+", "[EMAIL]", said.get("text", ""));'
    ' print(json.dumps({"hookSpecificOutput": {"llm_response": {"text": text}}}))\''
)


class Api(NamedTuple):
    """One maker's API: a server for it, its type, and a reply that says this and calls write."""

    served: Callable[..., AbstractAsyncContextManager[tuple[ModelServer, Any]]]
    response: type
    say: Callable[[str], list[Any]]
    call: Callable[[str], list[Any]]


def _say_in_halves(said: str) -> list[Any]:
    return completion({"content": said[:6]}, {"content": said[6:]})


def _say_and_call(said: str) -> list[Any]:
    asked = calling(0, '{"text": "hi"}', id="call_a", name="write")
    return completion({"content": said, "reasoning_content": "hm"}, *asked)


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
APIS = {
    "openai": Api(openai_served, ChatCompletion, _say_in_halves, _say_and_call),
    "anthropic": Api(
        anthropic_served,
        Message,
        lambda said: message(text(said)),
        lambda said: message(
            THOUGHT, text(said), tool_use("toolu_a", "write", text="hi"), stop="tool_use"
        ),
    ),
}
every_api = pytest.mark.parametrize("api", APIS.values(), ids=APIS)


@every_api
async def test_a_redacted_address_leaves_no_trace(api: Api) -> None:
    shown: list[Any] = []
    replies = api.call(f"Mail {EMAIL} now"), api.say(f"Or {EMAIL}"), api.say("Done")
    async with api.served(*replies) as (server, provider):
        settings = hooks("AfterModel", REDACT)
        async with agent(provider, settings, display="after_hooks", show=shown.append) as running:
            result = await running.run("how do I reach Ada?")
            await running.run("thanks")
    assert result.text == "Or [EMAIL]"
    assert {type(response) for response in shown} == {api.response}
    assert provider.conversation.text(shown[0]) == "Mail [EMAIL] now"
    for trace in (server.bodies, running.chat.history, shown):
        assert EMAIL not in repr(trace)
    fed_back = json.dumps(server.bodies[1]["messages"])
    assert "Mail [EMAIL] now" in fed_back
    assert "wrote hi" in fed_back
    assert "hm" in fed_back


@every_api
async def test_a_word_in_the_prompt_is_seen_and_denied_before_the_call(api: Api) -> None:
    deny = say({"decision": "deny", "reason": "not that"})
    settings = hooks("BeforeModel", f"if grep -q launch; then {deny}; fi")
    shown: list[Any] = []
    async with (
        api.served(api.say("ok")) as (server, provider),
        agent(provider, settings, show=shown.append) as running,
    ):
        result = await running.run("launch it")
    assert server.bodies == []
    assert (result.blocked, result.reason) == (True, "not that")
    assert [type(response) for response in shown] == [api.response]


@every_api
async def test_a_hooks_own_answer_has_the_sdks_type_and_opens_no_stream(api: Api) -> None:
    cached = {"candidates": [{"content": {"role": "model", "parts": ["cached"]}}]}
    async with api.served() as (server, provider):
        chat = Chat(Config(hooks=hooks("BeforeModel", specific(llm_response=cached))), provider)
        shown = [response async for response in chat.stream("hello")]
    assert [type(response) for response in shown] == [api.response]
    assert chat.last_turn is not None
    assert (chat.last_turn.text, chat.last_turn.blocked) == ("cached", False)
    assert server.bodies == []


@every_api
async def test_a_changed_request_and_a_system_message_are_sent(api: Api) -> None:
    told = [{"role": "user", "content": "hello, politely"}]
    rewrite = {
        "systemMessage": "note",
        "hookSpecificOutput": {
            "llm_request": {"messages": told, "config": {"stopSequences": ["END"]}}
        },
    }
    async with (
        api.served(api.say("ok")) as (server, provider),
        agent(provider, hooks("BeforeModel", say(rewrite))) as running,
    ):
        await running.run("hello")
    [body] = server.bodies
    assert (body.get("stop") or body.get("stop_sequences")) == ["END"]
    assert "hello, politely" in json.dumps(body["messages"][0])
    last = body["messages"][-1]
    assert (last["role"], last["content"]) in [("system", "note"), ("user", "[System] note")]
    assert "note" not in repr(running.chat.history)


@every_api
async def test_an_option_that_the_api_lacks_does_not_break_the_call(api: Api) -> None:
    cold = specific(llm_request={"config": {"temperature": 0.25, "topK": 3}})
    async with (
        api.served(api.say("ok")) as (server, provider),
        agent(provider, hooks("BeforeModel", cold)) as running,
    ):
        assert (await running.run("hello")).text == "ok"
    assert (server.bodies[0].get("temperature") == 0.25) == (api.response is ChatCompletion)


@every_api
async def test_tools_that_hooks_leave_are_enforced_on_what_comes_back(api: Api) -> None:
    narrow = specific(toolConfig={"mode": "AUTO", "allowedFunctionNames": ["draw"]})
    replies = api.call("I write."), api.say("ok")
    async with (
        api.served(*replies) as (server, provider),
        agent(provider, hooks("BeforeToolSelection", narrow)) as running,
    ):
        await running.run("go")
    assert "The tool write is not allowed in this call." in json.dumps(server.bodies[1])
    assert "wrote hi" not in json.dumps(server.bodies[1])


@every_api
async def test_a_denied_answer_is_discarded_with_its_calls(api: Api) -> None:
    deny = say({"decision": "deny", "reason": "not so"})
    async with (
        api.served(api.call("the secret")) as (server, provider),
        agent(provider, hooks("AfterModel", deny)) as running,
    ):
        result = await running.run("go")
    assert (result.blocked, result.reason) == (True, "not so")
    assert len(server.bodies) == 1
    assert "secret" not in repr(running.chat.history)


@every_api
async def test_an_answer_that_is_blanked_is_no_turn(api: Api) -> None:
    """The APIs refuse an empty text when it is fed back."""
    blank = {"candidates": [{"content": {"role": "model", "parts": []}}]}
    settings = hooks("AfterModel", specific(llm_response=blank))
    async with api.served(api.say("a word"), api.say("a word")) as (server, provider):
        chat = Chat(Config(hooks=settings), provider)
        assert (await chat.send("one")).text == ""
        await chat.send("two")
    assert [said["role"] for said in server.bodies[1]["messages"]] == ["user", "user"]


async def test_a_refusal_of_openais_models_is_text_that_hooks_read() -> None:
    refused = completion({"refusal": f"I won't mail {EMAIL}"})
    async with openai_served(refused) as (_, provider):
        chat = Chat(Config(hooks=hooks("AfterModel", "cat > seen.json", REDACT)), provider)
        turn = await chat.send("one")
    assert turn.text == "I won't mail [EMAIL]"
    assert EMAIL not in repr(chat.history)


@pytest.mark.parametrize("api", REPLIES)
def test_the_live_demo_shows_and_keeps_nothing_personal(api: str, tmp_path: Any) -> None:
    key: dict[str, Any] = {KEYS[api]: "none"}
    with ModelServer(*REPLIES[api]) as server:
        done = live(server, "--cwd", str(tmp_path), **key)
    assert (done.status, done.err) == (0, "")
    assert "\n   Mail [EMAIL]\n" in done.out
    assert "=> restricted: the model may not use web_fetch" in done.out
    assert server.bodies[0]["model"] == DEFAULTS[api]
