"""One conversation and three APIs: each model goes on with what another said."""

import msgspec
import pytest
from google.genai import types

from hookline import Config
from hookline.agent import Agent, FunctionCall, GenAIProvider, Native, ScriptedProvider, Tool, Turn
from hookline.agent.providers.anthropic import AnthropicConversation
from hookline.agent.providers.openai import OpenAIConversation
from hookline.agent.providers.scripted import call
from hookline.agent.turns import CallResult, Text
from tests.adapters.providers.running import agent, anthropic_served, openai_served
from tests.adapters.providers.server import calling, completion, message, text, tool_use
from tests.agent.gemini import GeminiServer

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SIGNED = {"text": "hm", "thought": True, "thoughtSignature": "c2ln"}


async def test_an_agent_goes_from_one_api_to_the_next_and_back() -> None:
    """Calls and their results stay together though Gemini gave no ids; each API gets its own
    messages back as they were, thoughts and signatures included, and no other API's."""
    gemini = GeminiServer([[[SIGNED, call("write", text="g")]], [[{"text": "Gemini."}]]])
    gpt = completion(
        {"reasoning_content": "secret"},
        *calling(0, '{"text": "o"}', id="functions.write:0", name="write"),
    )
    claude = message(THOUGHT, tool_use("toolu_1", "write", text="c"), stop="tool_use")
    openai = openai_served(gpt, completion({"content": "GPT."}), completion({"content": "Back."}))
    anthropic = anthropic_served(claude, message(text("Claude.")))
    with gemini:
        client = gemini.client()
        first = GenAIProvider("gemini-test", client=client)
        async with (
            openai as (openai_server, second),
            anthropic as (anthropic_server, third),
            agent(first) as running,
        ):
            await running.run("one")
            running.chat.switch(second, model_config={"temperature": 0})
            await running.run("two")
            running.chat.switch(third)
            await running.run("three")
            running.chat.switch(second)
            result = await running.run("four")
        await client.aio.aclose()
        client.close()
    assert result.text == "Back."
    assert "temperature" not in openai_server.bodies[2]

    asked = openai_server.bodies[0]["messages"]
    [made] = asked[1]["tool_calls"]
    assert made["function"] == {"name": "write", "arguments": '{"text":"g"}'}
    assert asked[2] == {"role": "tool", "tool_call_id": made["id"], "content": "wrote g"}
    assert asked[3] == {"role": "assistant", "content": "Gemini."}
    assert openai_server.bodies[1]["messages"][5]["reasoning_content"] == "secret"

    told = anthropic_server.bodies[0]["messages"]
    [used], [answered] = told[5]["content"], told[6]["content"]
    assert (used["type"], used["input"]) == ("tool_use", {"text": "o"})
    # The API takes letters, digits, _ and - alone.
    assert used["id"] == answered["tool_use_id"] == "call_5_0"
    assert anthropic_server.bodies[1]["messages"][-2]["content"][0] == THOUGHT

    back = openai_server.bodies[2]["messages"]
    assert back[5]["reasoning_content"] == "secret"
    assert back[5]["tool_calls"][0]["id"] == back[6]["tool_call_id"] == "functions.write:0"
    assert back[9]["tool_calls"][0]["id"] == back[10]["tool_call_id"] == "toolu_1"
    assert "c2ln" not in str(back)
    assert [said["content"] for said in back if said["role"] == "user"] == [
        *("one", "two", "three", "four")
    ]


async def test_gemini_goes_on_with_what_others_said() -> None:
    asked = completion(*calling(0, '{"text": "o"}', id="call_1", name="write"))
    gemini = GeminiServer([[[{"text": "Gemini."}]]])
    openai = openai_served(asked, completion({"content": "GPT."}))
    async with openai as (_, provider), agent(provider) as running:
        await running.run("one")
        with gemini:
            client = gemini.client()
            running.chat.switch(GenAIProvider("gemini-test", client=client))
            assert (await running.run("two")).text == "Gemini."
            await client.aio.aclose()
            client.close()
    contents = gemini.bodies[0]["contents"]
    assert contents[1]["parts"][0]["functionCall"]["args"] == {"text": "o"}
    answer = contents[2]["parts"][0]["functionResponse"]
    assert (answer["name"], answer["response"]) == ("write", {"output": "wrote o"})
    assert contents[3] == {"role": "model", "parts": [{"text": "GPT."}]}


async def test_a_history_from_a_file_goes_on_with_another_api() -> None:
    note = Tool(name="note", run=lambda _given: "noted")
    async with Agent(Config(), ScriptedProvider([[call("note", x=1)], "ok"]), [note]) as first:
        await first.run("go")
    stored = msgspec.json.encode(first.chat.history)
    history = msgspec.json.decode(stored, type=list[Turn])
    async with (
        anthropic_served(message(text("Claude."))) as (server, provider),
        Agent(Config(), provider, [note], history=history) as second,
    ):
        await second.run("on")
    roles = [said["role"] for said in server.bodies[0]["messages"]]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert server.bodies[0]["messages"][1]["content"][0]["input"] == {"x": 1}


@pytest.mark.parametrize("conversation", [OpenAIConversation(), AnthropicConversation()])
def test_equal_calls_without_ids_have_an_answer_each(
    conversation: OpenAIConversation | AnthropicConversation,
) -> None:
    twice = FunctionCall("note", {})
    turns = [
        Turn("model", (twice, twice)),
        Turn("user", (CallResult(twice, "one"), CallResult(twice, "two"))),
    ]
    said = str(conversation.request("m", turns)["messages"])
    assert (said.count("call_0_0"), said.count("call_0_1")) == (2, 2)


@pytest.mark.parametrize("conversation", [OpenAIConversation(), AnthropicConversation()])
def test_a_turn_of_which_another_api_has_nothing_is_left_out(
    conversation: OpenAIConversation | AnthropicConversation,
) -> None:
    only_native = Native("genai", {"role": "model", "parts": [{"executableCode": {}}]})
    turns = [Turn("user", (Text("hi"),)), Turn("model", (), only_native)]
    assert len(conversation.request("m", turns)["messages"]) == 1


def test_parts_in_geminis_types_are_shown_to_the_others() -> None:
    from hookline.agent.turns import result_of

    image = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"x"))
    result = result_of(FunctionCall("draw", {}, "a"), [image], is_error=False)
    turns = [Turn("user", (result,))]
    [block] = AnthropicConversation().request("m", turns)["messages"][0]["content"]
    assert block["content"][0]["source"]["data"] == "eA=="
    shown = OpenAIConversation().request("m", turns)["messages"][1]["content"][1]
    assert shown["image_url"]["url"] == "data:image/png;base64,eA=="
