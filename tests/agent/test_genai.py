"""The real SDK over real HTTP: what the server was sent is what the hooks left."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.genai import types

from hookline import Config
from hookline.agent import (
    Agent,
    Chat,
    FunctionCall,
    GenAIProvider,
    Media,
    Native,
    Text,
    Tool,
    TurnResult,
)
from hookline.agent.providers.genai import GenAIConversation
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


CAMEL = GenAIConversation("camel")


def chunk(*parts: Any, index: int | None = None, **more: Any) -> dict[str, Any]:
    """A chunk of a stream with one candidate; ``more`` is about the candidate."""
    given = [{"text": part} if isinstance(part, str) else part for part in parts]
    candidate = {"content": {"role": "model", "parts": given}, **more}
    return {"candidates": [candidate if index is None else {**candidate, "index": index}]}


def parts_of(*chunks: Any) -> list[Any]:
    """The parts of the one response that a stream is merged into."""
    parts: list[Any] = CAMEL.merged(chunks)["candidates"][0]["content"]["parts"]
    return parts


def test_a_stream_of_no_chunks_is_an_empty_response_and_one_chunk_is_itself() -> None:
    one = chunk("a")
    assert CAMEL.merged([]) == {"candidates": []}
    assert CAMEL.merged([one]) is one


THOUGHT = {"text": "hm", "thought": True}
SIGNED = {**THOUGHT, "thoughtSignature": "eA=="}


@pytest.mark.parametrize(
    ("streamed", "merged"),
    [
        (["a ", "cat"], [{"text": "a cat"}]),
        (["a ", "red ", "cat"], [{"text": "a red cat"}]),
        ([THOUGHT, THOUGHT], [{"text": "hmhm", "thought": True}]),
        ([THOUGHT, "a"], [THOUGHT, {"text": "a"}]),
        (["a", THOUGHT], [{"text": "a"}, THOUGHT]),
        ([THOUGHT, SIGNED], [{**SIGNED, "text": "hmhm"}]),
        ([SIGNED, THOUGHT], [SIGNED, THOUGHT]),
        (["a", WRITE, "b"], [{"text": "a"}, WRITE, {"text": "b"}]),
        ([{**WRITE, "text": "x"}, "b"], [{**WRITE, "text": "x"}, {"text": "b"}]),
    ],
)
def test_texts_of_one_kind_are_joined_and_all_else_stays_in_order(
    streamed: list[Any], merged: list[Any]
) -> None:
    assert parts_of(*map(chunk, streamed)) == merged


def test_what_only_one_chunk_says_of_a_response_is_kept() -> None:
    said = chunk("a", finishReason="STOP", avgLogprobs=1)
    first = {**said, "promptFeedback": {"x": 1}, "modelVersion": "old"}
    said = chunk("b", safetyRatings=[], avgLogprobs=2)
    last = {**said, "usageMetadata": {"n": 2}, "modelVersion": "new"}
    merged = CAMEL.merged([{**first, "usageMetadata": {"n": 1}}, last])
    [candidate] = merged["candidates"]
    assert candidate["avgLogprobs"] == 2
    assert (candidate["finishReason"], candidate["safetyRatings"]) == ("STOP", [])
    assert (merged["promptFeedback"], merged["usageMetadata"]) == ({"x": 1}, {"n": 2})
    assert merged["modelVersion"] == "new"


def test_candidates_are_merged_each_by_itself_in_the_order_of_their_index() -> None:
    merged = CAMEL.merged([chunk("b", index=1), chunk("a"), chunk("B", index=1), chunk("A")])
    texts = [candidate["content"]["parts"][0]["text"] for candidate in merged["candidates"]]
    assert texts == ["aA", "bB"]


def test_a_merged_content_is_the_models_unless_a_chunk_says_otherwise() -> None:
    bare = {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}
    none = {"candidates": [{"finishReason": "STOP"}]}
    [candidate] = CAMEL.merged([none, bare])["candidates"]
    assert candidate["content"] == {"role": "model", "parts": [{"text": "a"}]}
    own = {"candidates": [{"content": {"role": "tool", "parts": []}}]}
    assert CAMEL.merged([own, bare])["candidates"][0]["content"]["role"] == "tool"


@pytest.mark.parametrize("response", [{}, {"candidates": []}, {"candidates": [{}]}, chunk()])
def test_a_response_without_parts_adds_no_turn(response: dict[str, Any]) -> None:
    assert CAMEL.read(response) is None
    assert CAMEL.text(response) == ""


def test_a_turn_has_the_texts_calls_and_media_of_the_first_candidate() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    bare = {"functionCall": {"name": "stop"}}
    response = chunk(
        THOUGHT, "so", {"functionCall": {**WRITE["functionCall"], "id": "1"}}, bare, image
    )
    turn = CAMEL.read({"candidates": [*response["candidates"], *chunk("no")["candidates"]]})
    assert turn is not None
    assert turn.parts == (
        Text("so"),
        FunctionCall("write", {"text": "hi"}, "1"),
        FunctionCall("stop", {}),
        Media("image/png", b"x"),
    )
    assert turn.native == Native("genai", response["candidates"][0]["content"])
    assert CAMEL.text(response) == "so"


def test_the_tools_of_a_config_stay_beside_those_of_the_agent() -> None:
    tool = Tool(name="write", run=str, description="writes", parameters={"type": "object"})
    search: dict[str, Any] = {"googleSearch": {}}
    request = CAMEL.request("m", [], config={"tools": [search], "topK": 3}, tools=[tool])
    schema = {"parametersJsonSchema": {"type": "object"}}
    declared = {"functionDeclarations": [{"name": "write", "description": "writes", **schema}]}
    assert request["config"] == {"tools": [search, declared], "topK": 3}
    assert CAMEL.request("m", []) == {"model": "m", "contents": []}
    [bare] = CAMEL.request("m", [], tools=[Tool(name="a", run=str)])["config"]["tools"]
    assert bare == {"functionDeclarations": [{"name": "a", "description": ""}]}


async def test_a_client_that_was_given_stays_open() -> None:
    async with served([[{"text": "one"}]]) as (_server, provider):
        await provider.aclose()
        assert (await Chat(Config(), provider).send("hello")).text == "one"
