"""OpenAI's real client over real HTTP: what the server was sent, and what came of its answers."""

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from hookline import Config, HooklineError, Hooks
from hookline.agent import Chat, FunctionCall, Media, OpenAIProvider, Text, Turn
from hookline.agent.providers.openai import OpenAIConversation
from hookline.agent.turns import Opaque
from tests.adapters.providers.running import PIXEL, SCHEMA, agent, openai_served
from tests.adapters.providers.server import (
    ModelServer,
    calling,
    completion,
    plain_completion,
)
from tests.agent.scripts import hooks, say

HELLO = completion({"content": "Hel"}, {"content": "lo"})
WRITE = calling(0, '{"te', 'xt": "hi"}', id="call_a", name="write")


async def test_a_streamed_answer_is_shown_as_it_comes_and_merged_into_the_sdks_type() -> None:
    async with openai_served(HELLO) as (server, provider):
        chat = Chat(Config(), provider)
        shown = [chunk async for chunk in chat.stream("hi")]
    assert {type(chunk) for chunk in shown} == {ChatCompletionChunk}
    assert [provider.conversation.text(chunk) for chunk in shown] == ["Hel", "lo", "", ""]
    assert chat.last_turn is not None
    response = chat.last_turn.response
    assert type(response) is ChatCompletion
    assert ChatCompletion.model_validate(response.to_dict()) == response
    assert response.choices[0].message.role == "assistant"
    assert response.choices[0].finish_reason == "stop"
    assert response.usage is not None
    assert response.usage.total_tokens == 7
    assert chat.last_turn.text == "Hello"
    assert server.bodies == [
        {
            "model": "gpt-test",
            "messages": [{"role": "user", "content": "hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ]


async def test_a_held_back_answer_is_shown_once_and_whole() -> None:
    async with openai_served(HELLO) as (_, provider):
        hooks = Hooks()
        hooks.on("AfterModel")(lambda _event: None)
        chat = Chat(hooks, provider, display="after_hooks")
        shown = [provider.conversation.text(each) async for each in chat.stream("hi")]
    assert shown == ["Hello"]


async def test_tools_in_parallel_are_declared_called_and_answered() -> None:
    """Their arguments come in fragments, one of them fails, and one answers with an image."""
    asked = completion(
        {"content": "Let me."},
        *WRITE,
        *calling(1, "", id="call_b", name="fail"),
        *calling(2, "{}", id="call_c", name="draw"),
        finish="tool_calls",
    )
    async with (
        openai_served(asked, HELLO) as (server, provider),
        agent(provider, model_config={"temperature": 0.5}) as running,
    ):
        result = await running.run("go")
    first, second = server.bodies
    assert result.text == "Hello"
    assert first["temperature"] == 0.5
    write = {"name": "write", "description": "writes", "parameters": SCHEMA}
    assert first["tools"][0] == {"type": "function", "function": write}
    assert [tool["function"]["name"] for tool in first["tools"]] == ["write", "fail", "draw"]
    user, assistant, *answers = second["messages"]
    assert (user["role"], assistant["role"], assistant["content"]) == (
        "user",
        "assistant",
        "Let me.",
    )
    calls = [
        {
            "id": f"call_{letter}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for letter, name, arguments in (
            ("a", "write", '{"text": "hi"}'),
            ("b", "fail", ""),
            ("c", "draw", "{}"),
        )
    ]
    assert assistant["tool_calls"] == calls
    assert answers[:3] == [
        {"role": "tool", "tool_call_id": "call_a", "content": "wrote hi"},
        {
            "role": "tool",
            "tool_call_id": "call_b",
            "content": "Error: fail failed: OSError: disk full",
        },
        {"role": "tool", "tool_call_id": "call_c", "content": "drawn"},
    ]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,+//+"}}
    told = {"type": "text", "text": "Part of the result of draw:"}
    assert answers[3:] == [{"role": "user", "content": [told, picture]}]


@pytest.mark.parametrize("written", ['{"text": "cut o', "[1]"])
async def test_a_call_whose_arguments_are_no_object_is_answered_and_not_run(written: str) -> None:
    asked = completion(*calling(0, written, id="call_a", name="write"), finish="length")
    async with (
        openai_served(asked, HELLO) as (server, provider),
        agent(provider, hooks("BeforeTool", "touch fired")) as running,
    ):
        await running.run("go")
    answer = server.bodies[1]["messages"][-1]
    assert answer["content"].startswith("Error: write was not called: its arguments are no")
    assert not Path("fired").exists()


async def test_a_denied_call_is_answered_with_the_reason() -> None:
    denied = hooks("BeforeTool", say({"decision": "deny", "reason": "not so"}))
    async with (
        openai_served(completion(*WRITE), HELLO) as (server, provider),
        agent(provider, denied) as running,
    ):
        await running.run("go")
    answer = {"role": "tool", "tool_call_id": "call_a", "content": "Error: not so"}
    assert server.bodies[1]["messages"][-1] == answer


async def test_reasoning_that_a_server_gives_is_fed_back_to_it_and_is_no_text() -> None:
    details = [{"type": "reasoning.encrypted", "data": "c2ln", "index": 0}]
    thought = completion(
        {"reasoning_content": "hm"},
        {"reasoning_content": "m", "reasoning_details": details},
        *WRITE,
    )
    async with openai_served(thought, HELLO) as (server, provider), agent(provider) as running:
        await running.run("go")
    fed_back = server.bodies[1]["messages"][1]
    assert fed_back["reasoning_content"] == "hmm"
    assert fed_back["reasoning_details"] == details
    assert fed_back["content"] is None
    assert running.chat.history[1].text == ""


async def test_a_refusal_is_what_the_user_reads() -> None:
    async with openai_served(completion({"refusal": "I "}, {"refusal": "won't."})) as (_, provider):
        turn = await Chat(Config(), provider).send("hi")
    assert turn.text == "I won't."


async def test_an_empty_answer_is_no_turn() -> None:
    async with openai_served(completion({"content": ""}), HELLO) as (server, provider):
        chat = Chat(Config(), provider)
        assert (await chat.send("one")).text == ""
        await chat.send("two")
    assert [said["role"] for said in server.bodies[1]["messages"]] == ["user", "user"]


def other_choice(finish: str | None) -> dict[str, Any]:
    """A chunk of a second choice."""
    choice = {"index": 1, "delta": {"content": "B"}, "finish_reason": finish}
    return {**HELLO[0], "choices": [choice]}


@pytest.mark.parametrize("finish", [None, "stop"])
async def test_a_stream_is_complete_when_all_of_its_choices_are(finish: str | None) -> None:
    async with openai_served([other_choice(finish), *HELLO]) as (_, provider):
        chat = Chat(Config(), provider)
        if finish is None:
            with pytest.raises(HooklineError, match=EARLY):
                await chat.send("hi")
        else:
            assert (await chat.send("hi")).text == "Hello"


EARLY = "the stream of gpt-test ended before the answer was complete"


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([*HELLO[:1], "break"], "Connection error"),
        (completion({"content": "Hel"}, finish=None), EARLY),
        (["[DONE]"], EARLY),
        ([*HELLO[:1], {"error": {"message": "overloaded", "code": 500}}], "overloaded"),
    ],
)
async def test_a_broken_stream_fires_no_after_model_and_leaves_the_history_alone(
    events: list[Any], said: str
) -> None:
    async with openai_served(events) as (_, provider):
        chat = Chat(Config(hooks=hooks("AfterModel", "touch fired")), provider)
        with pytest.raises(Exception, match=said):
            await chat.send("hi")
    assert chat.history == []
    assert chat.last_turn is None
    assert not Path("fired").exists()


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
async def test_an_error_of_the_api_is_the_sdks_own(status: int) -> None:
    reply = status, {"error": {"message": "no", "type": "t", "code": "c"}}
    async with openai_served(reply) as (_, provider):
        chat = Chat(Config(), provider)
        with pytest.raises(openai.APIStatusError) as caught:
            await chat.send("hi")
    assert caught.value.status_code == status
    assert chat.history == []


async def test_a_cancelled_turn_ends_the_call() -> None:
    async with openai_served([*HELLO[:1], "wait"]) as (server, provider):
        chat = Chat(Config(), provider)
        running = asyncio.create_task(chat.send("hi"))
        assert await asyncio.to_thread(server.waiting.wait, 10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await asyncio.to_thread(server.left.wait, 10)
    assert chat.history == []


async def test_a_display_that_is_closed_early_ends_the_call() -> None:
    async with openai_served([*HELLO[:1], "wait"]) as (server, provider):
        shown = Chat(Config(), provider).stream("hi")
        await anext(shown)
        await shown.aclose()
        assert await asyncio.to_thread(server.left.wait, 10)


async def test_system_messages_have_their_role_and_stand_where_they_were_said() -> None:
    developer = {"role": "developer", "content": "be brief"}
    async with openai_served(HELLO, HELLO) as (server, provider):
        chat = Chat(Config(), provider, model_config={"messages": [developer]})
        await chat.send("one", Turn("system", (Text("be kind"),)))
        await chat.send("two")
    assert server.bodies[1]["messages"] == [
        developer,
        {"role": "user", "content": "one"},
        {"role": "system", "content": "be kind"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "two"},
    ]


async def test_media_go_in_the_form_that_the_api_has_for_them() -> None:
    parts = (
        Text("see"),
        Media("image/png", PIXEL),
        Media("audio/mpeg", PIXEL),
        Media("application/pdf", PIXEL),
        Media("text/csv", b"a,b"),
        Media("video/mp4", PIXEL),
    )
    async with openai_served(HELLO) as (server, provider):
        await Chat(Config(), provider).send(Turn("user", parts))
    content = server.bodies[0]["messages"][0]["content"]
    assert [part["type"] for part in content] == [
        *("text", "image_url", "input_audio", "file", "text", "text")
    ]
    assert server.bodies[0]["messages"][0]["role"] == "user"
    assert content[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,+//+"}}
    assert content[2]["input_audio"] == {"data": "+//+", "format": "mp3"}
    assert content[3]["file"]["filename"] == "document.pdf"
    assert content[3]["file"]["file_data"] == "data:application/pdf;base64,+//+"
    assert content[4]["text"] == "a,b"
    assert content[5]["text"] == "[video/mp4, 3 bytes: this model cannot be shown it]"


async def test_compression_has_the_model_summarize_calls_and_results_included() -> None:
    replies = [completion(*WRITE), HELLO, HELLO, plain_completion(content="the gist")]
    async with openai_served(*replies) as (server, provider), agent(provider) as running:
        await running.run("a")
        await running.run("b")
        await running.compress()
    asked = server.bodies[3]
    assert "tools" not in asked
    assert [said["content"] for said in asked["messages"][:4]] == [
        "a",
        '[called write with {"text":"hi"}]',
        "[result of write: wrote hi]",
        "Hello",
    ]
    assert running.chat.history[0].text == "[Summary] the gist"


async def test_a_client_that_was_given_stays_open_and_one_made_here_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with openai_served(HELLO) as (_, provider):
        await provider.aclose()
        assert (await Chat(Config(), provider).send("hi")).text == "Hello"
    with ModelServer(HELLO) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        provider = OpenAIProvider("gpt-test")
        assert (await Chat(Config(), provider).send("hi")).text == "Hello"
        await provider.aclose()
    with pytest.raises(RuntimeError, match="the client has been closed"):
        await provider.summarize([])


def test_a_synchronous_client_is_refused() -> None:
    client: Any = openai.OpenAI(api_key="none")
    with client, pytest.raises(HooklineError, match=r"needs an openai\.AsyncOpenAI"):
        OpenAIProvider("m", client=client)


async def test_calls_of_one_answer_keep_their_ids_and_order() -> None:
    asked = completion(*WRITE, *calling(1, "{}", id="call_b", name="write"))
    async with openai_served(asked) as (_, provider):
        turn = await Chat(Config(), provider).send("hi")
    assert turn.calls == (
        FunctionCall("write", {"text": "hi"}, "call_a"),
        FunctionCall("write", {}, "call_b"),
    )


async def test_an_option_that_the_api_lacks_is_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As a hook may set it, which knows the options of all models."""
    async with openai_served(HELLO) as (server, provider):
        turn = await Chat(Config(), provider, model_config={"top_k": 3}).send("hi")
    assert turn.text == "Hello"
    assert "top_k" not in server.bodies[0]
    assert "top_k was left out of the request" in caplog.text


def read(**said: Any) -> Turn | None:
    """The turn of a response in which the model says this."""
    message = {"role": "assistant", "content": None, **said}
    return OpenAIConversation().read({"choices": [{"index": 0, "message": message}]})


def test_what_is_spoken_is_a_turn_that_is_sent_back_by_its_id() -> None:
    turn = read(audio={"id": "audio_1", "data": "eA==", "transcript": "so"})
    assert turn is not None
    assert turn.native is not None
    assert turn.native.message == {
        "role": "assistant",
        "content": None,
        "audio": {"id": "audio_1"},
    }


@pytest.mark.parametrize("said", [{}, {"content": ""}, {"tool_calls": []}])
def test_an_answer_that_says_nothing_is_no_turn(said: dict[str, Any]) -> None:
    assert read(**said) is None
    assert OpenAIConversation().read({"choices": []}) is None


@pytest.mark.parametrize(("content", "text"), [("so", "so"), (None, "no"), ("", "no")])
def test_a_refusal_is_what_the_user_reads_where_there_is_no_answer(
    content: str | None, text: str
) -> None:
    turn = read(content=content, refusal="no")
    assert turn is not None
    assert turn.text == text
    message = {"content": content, "refusal": "no"}
    for held in ("message", "delta"):
        response = {"choices": [{"index": 1, held: {}}, {"index": 0, held: message}]}
        assert OpenAIConversation().text(response) == text


@pytest.mark.parametrize(
    ("written", "args", "problem"),
    [
        ('{"a": 1}', {"a": 1}, None),
        ("", {}, None),
        (None, {}, None),
        ("[1]", {}, "its arguments are not a JSON object"),
        ('{"a"', {}, "its arguments are not JSON: "),
    ],
)
def test_arguments_that_cannot_be_read_are_a_problem_of_the_call(
    written: str | None, args: dict[str, Any], problem: str | None
) -> None:
    called = {"id": "call_1", "function": {"name": "note", "arguments": written}}
    turn = read(tool_calls=[called])
    assert turn is not None
    [asked] = turn.calls
    assert (asked.name, asked.args, asked.id) == ("note", args, "call_1")
    assert (asked.problem or "").startswith(problem or "")
    assert (asked.problem is None) == (problem is None)


def test_a_tool_that_takes_a_text_is_called_with_it() -> None:
    turn = read(tool_calls=[{"id": "call_1", "custom": {"name": "note", "input": "x"}}])
    assert turn is not None
    [asked] = turn.calls
    assert (asked.name, asked.args, asked.id) == ("note", {"input": "x"}, "call_1")


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ([Text("a")], "a"),
        ([Text("a"), Text("b")], [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ([Opaque(IMAGE)], [IMAGE]),
        ([Opaque({"type": "odd"})], '{"type":"odd"}'),
        ([Opaque(5)], "5"),
    ],
)
def test_what_a_user_says_is_one_text_or_a_list_of_parts(parts: list[Any], content: Any) -> None:
    request = OpenAIConversation().request("m", [Turn("user", tuple(parts))])
    assert request["messages"] == [{"role": "user", "content": content}]


def test_a_turn_of_another_api_is_written_with_its_text_and_its_calls() -> None:
    call = FunctionCall("note", {"a": 1}, "call_1")
    turns = [
        Turn("model", (Text("so"),)),
        Turn("model", (call,)),
        Turn("model", (Media("image/png", PIXEL),)),
    ]
    function = {"name": "note", "arguments": '{"a":1}'}
    called = {"id": "call_1", "type": "function", "function": function}
    assert OpenAIConversation().request("m", turns)["messages"] == [
        {"role": "assistant", "content": "so"},
        {"role": "assistant", "content": None, "tool_calls": [called]},
    ]
