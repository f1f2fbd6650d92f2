"""The real SDK over real HTTP: what the server was sent is what the hooks left."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.genai import types

from hookline import Config
from hookline.agent import Agent, Chat, GenAIProvider, Tool, TurnResult
from tests.agent.gemini import GeminiServer
from tests.agent.scripts import hooks, say, specific

WRITE = {"functionCall": {"name": "write", "args": {"text": "hi"}}}


@asynccontextmanager
async def served(*replies: Any) -> AsyncIterator[tuple[GeminiServer, GenAIProvider]]:
    with GeminiServer(replies) as server:
        client = server.client()
        try:
            yield server, GenAIProvider("gemini-test", client=client)
        finally:
            await client.aio.aclose()
            client.close()


def agent(settings: dict[str, Any], provider: GenAIProvider) -> Agent:
    tool = Tool(name="write", description="writes", run=lambda given: f"wrote {given['text']}")
    config = Config(hooks=settings)
    return Agent(config, provider, [tool], display="after_hooks", keep_turns=1)


async def turn(settings: dict[str, Any], *replies: Any) -> tuple[GeminiServer, TurnResult, Agent]:
    """One turn of an agent whose model is the server."""
    async with served(*replies) as (server, provider), agent(settings, provider) as running:
        result = await running.run("hello")
    return server, result, running


async def test_the_modified_request_the_tool_config_and_the_system_message_are_sent() -> None:
    narrow = specific(toolConfig={"mode": "ANY", "allowedFunctionNames": ["write"]})
    rewrite = {
        "systemMessage": "note",
        "hookSpecificOutput": {"llm_request": {"config": {"temperature": 0.25}}},
    }
    settings = {**hooks("BeforeToolSelection", narrow), **hooks("BeforeModel", say(rewrite))}
    server, result, _ = await turn(settings, [[{"text": "done"}]])
    body = server.bodies[0]
    assert body["generationConfig"] == {"temperature": 0.25}
    assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["write"]
    assert body["contents"][-1]["parts"] == [{"text": "[System] note"}]
    assert result.text == "done"


async def test_a_blocked_call_sends_nothing() -> None:
    settings = hooks("BeforeModel", say({"decision": "deny", "reason": "night"}))
    server, result, _ = await turn(settings)
    assert server.bodies == []
    assert (result.blocked, result.reason) == (True, "night")


async def test_a_synthetic_response_has_the_sdks_type() -> None:
    answer = {"candidates": [{"content": {"role": "model", "parts": ["cached"]}}]}
    async with served() as (server, provider):
        chat = Chat(Config(hooks=hooks("BeforeModel", specific(llm_response=answer))), provider)
        shown = [response async for response in chat.stream("hello")]
    assert [type(response) for response in shown] == [types.GenerateContentResponse]
    assert shown[0].text == "cached"
    assert server.bodies == []


async def test_a_streamed_turn_with_a_tool_call_goes_round() -> None:
    thought = {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}
    redact = specific(llm_response={"text": "a [x]"})
    settings = hooks("AfterModel", f"if grep -q '\"a cat\"'; then {redact}; fi")
    replies = [[thought, WRITE]], [[{"text": "a "}], [{"text": "cat"}]]
    server, result, running = await turn(settings, *replies)
    assert result.text == "a [x]"
    fed_back = server.bodies[1]["contents"]
    assert fed_back[1]["parts"][0]["thoughtSignature"] == "c2ln"
    assert fed_back[1]["parts"][1] == WRITE
    assert fed_back[2]["parts"][0]["functionResponse"]["response"] == {"output": "wrote hi"}
    assert "cat" not in repr(running.chat.history)


async def test_a_broken_stream_fires_no_after_model_and_leaves_the_history_alone() -> None:
    settings = hooks("AfterModel", "touch fired")
    async with served([[{"text": "half "}], "break"]) as (_server, provider):
        chat = Chat(Config(hooks=settings), provider)
        with pytest.raises(Exception, match=r".*"):
            await chat.send("hello")
    assert chat.history == []
    assert not Path("fired").exists()


async def test_compression_has_the_model_summarize() -> None:
    replies = [[[{"text": text}]] for text in ("one", "two", "the gist")]
    async with served(*replies) as (server, provider), agent({}, provider) as running:
        await running.run("a")
        await running.run("b")
        await running.compress()
    assert ":generateContent" in server.paths[2]
    assert "[Summary] the gist" in running.chat.history[0].text
    assert running.chat.history[1].text == "b"


async def test_system_messages_and_undeclared_names_reach_the_api_where_it_takes_them() -> None:
    told = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hello"}]
    settings = {
        **hooks(
            "BeforeToolSelection",
            specific(toolConfig={"mode": "ANY", "allowedFunctionNames": ["gone", "write"]}),
        ),
        **hooks("BeforeModel", specific(llm_request={"messages": told})),
    }
    server, result, _ = await turn(settings, [[{"text": "done"}]])
    body = server.bodies[0]
    assert body["systemInstruction"]["parts"] == [{"text": "be kind"}]
    assert [content["role"] for content in body["contents"]] == ["user"]
    assert body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"] == ["write"]
    assert result.text == "done"


async def test_no_function_calling_is_configured_for_a_request_without_functions() -> None:
    """The API refuses that, and there is nothing to restrict."""
    narrow = specific(toolConfig={"mode": "ANY", "allowedFunctionNames": ["gone"]})
    async with served([[{"text": "done"}]]) as (server, provider):
        chat = Chat(Config(hooks=hooks("BeforeToolSelection", narrow)), provider)
        turned = await chat.send("hello")
    assert "functionCallingConfig" not in json.dumps(server.bodies)
    assert turned.text == "done"
    assert turned.allowed_tools == frozenset({"gone"})
